"""How time and memory of a fit grow with records, trees and the type of the input: ours alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import Limits
from benchmarks.contenders import OURS, Setting
from benchmarks.data import Records, make_records
from benchmarks.measure import Run, figures, measure, resident_peak

__all__ = ["GROWTH", "Growth"]

THREADS = 2
ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
TREES = (10, 30, 100, 300)
INPUTS = {"float32": np.float32, "float64": np.float64, "int32": np.int32, "int64": np.int64}
TEST_RECORDS = 20_000


@dataclass(frozen=True)
class Growth:
    """Fits of one size, in a process of their own: what others left in memory would be used again."""

    series: str
    ours: str
    rows: int
    trees: int
    dtype: str = "float32"

    environment = "peers"
    threads = THREADS

    @property
    def name(self) -> str:
        """What grows, and how far it has grown."""
        at = {"rows": self.rows, "trees": self.trees, "input": self.dtype}.get(self.series)
        return f"{self.series}/{self.ours}" if at is None else f"growth/{self.series}/{self.ours}/{at}"

    @property
    def quick(self) -> bool:
        """The quick run stops at a million records."""
        return self.rows <= 1_000_000 and self.ours == "forest" and self.series in ("rows", "trees")

    def run(self, limits: Limits) -> dict[str, Any]:
        """Return time and memory of fitting."""
        n, trees, ours = limits.of_rows(self.rows), limits.of_trees(self.trees), OURS[self.ours]
        records = make_records("noisy", n + limits.of_rows(TEST_RECORDS))
        records = Records(_as(records.X, self.dtype), records.y, records.fp, records.fn)
        train, test = records.part(slice(n)), records.part(slice(n, None))
        ours.fit(train.part(slice(2_000)), Setting(2, THREADS))  # compiles
        runs: list[Run] = []
        while not limits.effort.enough(len(runs), sum(run.seconds for run in runs)):
            run = measure(lambda seed: ours.fit(train, Setting(trees, THREADS, seed)), len(runs))
            model = sum(array.nbytes for array in run.result.members_.trees.nodes)
            at_peak = resident_peak()
            quality = ours.quality(run.result, test)
            runs.append(run._replace(result=None))
        took = figures(runs)
        return {
            "kind": "growth",
            "series": self.series,
            "ours_name": self.ours,
            "rows": n,
            "trees": trees,
            "dtype": self.dtype,
            "threads": THREADS,
            **took,
            **quality,
            "input_megabytes": train.X.nbytes / 2**20,
            "model_megabytes": model / 2**20,
            "process_megabytes": at_peak,
            "figures": {"megabytes": took["megabytes"]}
            if took["megabytes"] is not None and self.series == "memory"
            else {},
        }


def _as(X: np.ndarray, dtype: str) -> np.ndarray:
    """Return the features in another type; whole numbers keep three digits."""
    return X if X.dtype == dtype else (np.rint(1000 * X) if dtype.startswith("int") else X).astype(dtype)


def _cases() -> Iterator[Growth]:
    for ours in ("forest", "bagging", "AdaBoost"):
        for rows in ROWS:
            yield Growth("rows", ours, rows, trees=10)
        for trees in TREES:
            yield Growth("trees", ours, 100_000, trees)
    for dtype in INPUTS:
        yield Growth("input", "forest", 1_000_000, 10, dtype)
    yield Growth("memory", "forest", 1_000_000, 20)
    yield Growth("memory", "bagging", 1_000_000, 20)


#: All benchmarks of growth by name.
GROWTH = {case.name: case for case in _cases()}
