"""Small records that many tests share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Records:
    """Records with costs that differ from one to the next: whole numbers, so that all sums of them are exact."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    fp: NDArray[np.float64]
    fn: NDArray[np.float64]

    def __len__(self) -> int:
        return self.y.size

    def take(self, rows: Any) -> Records:
        return Records(self.X[rows], self.y[rows], self.fp[rows], self.fn[rows])

    @property
    def costs(self) -> dict[str, NDArray[np.float64]]:
        return {"fp_cost": self.fp, "fn_cost": self.fn}


def make_records(n: int, *, seed: int, missing: float = 0.0) -> Records:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1)
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) > 0.8).astype(np.int64)
    X[rng.random(X.shape) < missing] = np.nan
    return Records(X, y, rng.integers(1, 5, n).astype(float), rng.integers(1, 20, n).astype(float))
