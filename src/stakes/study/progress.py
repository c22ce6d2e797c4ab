"""Progress that a person can follow, or that a log can hold."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from stakes.exceptions import StudyError
from stakes.measures import MEASURES
from stakes.study.columns import OUT_OF_FOLD
from stakes.study.plan import Config

__all__ = ["Progress"]

# Seconds between two lines of a log.
EVERY = 10.0
# Ensembles that are finished before the time left is told.
FIRST = 4


class Progress:
    """How far a study is, how long it will take, and the best model so far.

    By `mode` it shows a bar ("live"), lines now and then ("plain"), or nothing ("quiet").
    """

    def __init__(self, mode: str, total: int, config: Config) -> None:
        if mode not in ("live", "plain", "quiet"):
            raise StudyError(f"progress is {mode!r}: choose from live, plain, quiet")
        self.mode = mode
        self.total = total
        self.config = config
        self._measure = MEASURES[config.measure]
        self.finished = 0
        self.resumed = 0
        self.best: tuple[float, str] | None = None
        self._bar: Bar | None = None
        self._task: Any = None
        self._started = self._said = time.monotonic()

    def __enter__(self) -> Self:
        if self.mode == "live":
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[best]}"),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task("ensembles", total=self.total, best="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self.mode == "plain" and kind is None:
            self._say()

    def done(self, results: pl.DataFrame, *, again: bool = False) -> None:
        """Count a unit that is finished, or (`again`) was finished by an earlier run."""
        self.finished += 1
        self.resumed += again
        self._look(results)
        if self._bar is not None:
            self._bar.update(self._task, advance=1, best=self._best())
        elif self.mode == "plain" and time.monotonic() - self._said >= EVERY:
            self._say()

    def _look(self, results: pl.DataFrame) -> None:
        measure = f"{OUT_OF_FOLD}_{self.config.measure}"
        sign = 1 if self.config.higher_is_better else -1
        limits = [pl.col(f"{OUT_OF_FOLD}_{name}") <= limit for name, limit in self.config.limits.items()]
        for row in results.filter(pl.lit(True), *limits).select("name", measure).iter_rows(named=True):
            if self.best is None or sign * row[measure] > sign * self.best[0]:
                self.best = row[measure], row["name"]

    def _best(self) -> str:
        if self.best is None:
            return ""
        value, name = self.best
        measure = MEASURES[self.config.measure]
        return f"best so far {name} ({measure.words} {measure.write(value)})"

    def _say(self) -> None:
        self._said = time.monotonic()
        run = self.finished - self.resumed
        said = f"{self.finished} of {self.total} ensembles"
        # The first ones tell little: the engine is compiled, and the fastest are finished first.
        if run >= FIRST or self.finished == self.total:
            seconds = (self._said - self._started) / max(1, run) * (self.total - self.finished)
            said += f", {seconds:.0f} s left"
        best = self._best()
        print(said + (f", {best}" if best else ""), file=sys.stderr, flush=True)
