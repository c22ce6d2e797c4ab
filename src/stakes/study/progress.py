"""Progress that a person can follow, or that a log can hold."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any, Self

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from stakes.exceptions import StudyError
from stakes.measures import MEASURES
from stakes.study.columns import OUT_OF_FOLD
from stakes.study.plan import Config, Unit

__all__ = ["Progress"]

# Seconds between two lines of a log.
EVERY = 10.0
# Ensembles that are finished before the time left is told.
FIRST = 4


class Progress:
    """How far a study is, how long it will take, and the best model so far.

    By `mode` it shows a bar ("live"), lines now and then ("plain"), or nothing ("quiet"). `workers` units run at a
    time, and none is started after `time_limit` seconds.
    """

    def __init__(
        self, mode: str, units: Sequence[Unit], config: Config, *, workers: int = 1, time_limit: float | None = None
    ) -> None:
        if mode not in ("live", "plain", "quiet"):
            raise StudyError(f"--progress is {mode!r}: choose from live, plain, quiet")
        self.mode = mode
        self.total = len(units)
        self.config = config
        self.workers = workers
        self.time_limit = time_limit
        self.finished = 0
        self._waiting = Counter(unit.family for unit in units)
        self._seconds: dict[str, list[float]] = defaultdict(list)  # that units took, by family
        self.best: tuple[float, str] | None = None
        self._bar: Bar | None = None
        self._task: Any = None
        self._started = self._said = time.monotonic()

    def __enter__(self) -> Self:
        if self.mode == "live":
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[said]}"),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task("ensembles", total=self.total, said="")
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self.mode == "plain" and kind is None:
            self._say()

    def done(self, unit: Unit, results: pl.DataFrame, seconds: float | None = None) -> None:
        """Count a unit that is finished, and the time it took; None if an earlier run has finished it.

        There are no results where it could not be trained.
        """
        self.finished += 1
        self._waiting[unit.family] -= 1
        if seconds is not None:
            self._seconds[unit.family].append(seconds)
        if len(results):
            self._look(results)
        if self._bar is not None:
            self._bar.update(self._task, advance=1, said=", ".join(filter(None, (self._left(), self._best()))))
        elif self.mode == "plain" and self.finished < self.total and time.monotonic() - self._said >= EVERY:
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

    def _left(self) -> str:
        """Return how long it will take; nothing as long as that cannot be known."""
        taken = [seconds for family in self._seconds.values() for seconds in family]
        if len(taken) < FIRST or self.finished == self.total:
            return ""
        # Families take different times, the slow ones come first, and the first unit of a process may have to compile.
        usual = median(taken)
        waiting = sum(n * median(self._seconds.get(family) or [usual]) for family, n in self._waiting.items())
        left = waiting / self.workers
        if self.time_limit is not None:
            left = min(left, max(0.0, self.time_limit - self._elapsed()))
        return f"about {_time(left)} left"

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _say(self) -> None:
        self._said = time.monotonic()
        counted = f"{self.finished} of {self.total} ensembles"
        if self.finished == self.total:
            counted += f" in {_time(self._elapsed())}; now the choice and the report"
        print(", ".join(filter(None, (counted, self._left(), self._best()))), file=sys.stderr, flush=True)


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
