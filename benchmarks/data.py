"""Simulated problems of the sizes that the targets name: the same records on every machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["PROBLEMS", "Problem", "Records", "make_problem", "make_records"]

Floats = NDArray[np.float64]

# Enough for the difference of two AUCs to mean something where positives are rare.
TEST_RECORDS = 100_000
# Scores are worked out in blocks, so that ten million records need little more memory than their features.
BLOCK = 500_000


@dataclass(frozen=True)
class Records:
    """Records of two classes, with what a mistake costs for each of them."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    fp: Floats
    fn: Floats

    def __len__(self) -> int:
        return self.y.size

    def part(self, rows: slice | NDArray[np.intp]) -> Self:
        """Return some of the records; those of a slice without a copy."""
        return type(self)(self.X[rows], self.y[rows], self.fp[rows], self.fn[rows])

    @property
    def costs(self) -> dict[str, Floats]:
        """The costs as keyword arguments of fit and predict."""
        return {"fp_cost": self.fp, "fn_cost": self.fn}


def _fraud(amount: Floats) -> tuple[Floats, Floats]:
    """An alarm costs a phone call, a missed fraud its amount."""
    return np.full(amount.size, 5.0), amount


def _churn(amount: Floats) -> tuple[Floats, Floats]:
    """A needless offer costs two months' charges, a lost customer twelve."""
    return 2.0 * amount, 12.0 * amount


@dataclass(frozen=True)
class Problem:
    """A kind of data: how many records and features, how rare and how predictable the positives are."""

    rows: int
    features: int
    rate: float
    noise: float
    costs: Callable[[Floats], tuple[Floats, Floats]]


PROBLEMS = {
    "churn": Problem(4_500, 20, rate=0.27, noise=1.0, costs=_churn),
    "rare": Problem(110_000, 30, rate=0.005, noise=0.5, costs=_fraud),
    "noisy": Problem(110_000, 30, rate=0.27, noise=1.0, costs=_churn),
    "big": Problem(1_000_000, 30, rate=0.27, noise=1.0, costs=_churn),
}


def make_problem(name: str, rows: int | None = None) -> tuple[Records, Records]:
    """Return the training and test records of a problem, with at most `rows` in each."""
    n = PROBLEMS[name].rows
    n_test = TEST_RECORDS
    if rows is not None:
        n, n_test = min(n, rows), min(n_test, rows)
    records = make_records(name, n + n_test)
    return records.part(slice(n)), records.part(slice(n, None))


def make_records(name: str, n: int) -> Records:
    """Return any number of records of a problem's kind."""
    problem = PROBLEMS[name]
    rng = np.random.default_rng([n, *name.encode()])
    X = rng.standard_normal((n, problem.features), dtype=np.float32)
    score = np.empty(n)
    for start in range(0, n, BLOCK):
        block = slice(start, start + BLOCK)
        score[block] = _signal(X[block])
    score += rng.logistic(scale=problem.noise, size=n)
    n_positive = max(1, round(problem.rate * n))
    y = (score >= np.partition(score, n - n_positive)[n - n_positive]).astype(np.int64)
    amount = np.exp(4.0 + 0.5 * X[:, 7] + 0.5 * rng.standard_normal(n)).round(2)
    return Records(X, y, *problem.costs(amount))


def _signal(X: NDArray[np.float32]) -> Floats:
    """Waves, a product, a step and a kink: nothing that a single split or a straight line can tell."""
    x = X.T.astype(np.float64)
    return (
        1.5 * np.sin(2.0 * x[0])
        + x[1] * x[2]
        + np.abs(x[3])
        + 1.5 * (x[4] > 0.5) * x[5]
        + 0.8 * x[6]
        + 0.4 * x[7]
        + 0.2 * x[8:12].sum(axis=0)
    )
