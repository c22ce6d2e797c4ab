"""AdaBoost of stumps on 110,000 x 30 against scikit-learn's, in one process.

    python benchmarks/boosting.py

scikit-learn gets a tenth of the rounds, and its time is multiplied by ten: all of its rounds cost the same, and there
is nothing before the first. Ours is the whole `fit` of 100 rounds, binning included, after one to compile.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from stakes import Decision
from stakes.boosting import CostBoostClassifier

ROUNDS = 100
SCALED_BY = 10


def make_records(positives: float, n: int = 110_000, d: int = 30) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return records of which stumps learn something, but not all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    score = X[:, :6].sum(axis=1) + X[:, 6] * X[:, 7] + rng.logistic(size=n)
    return X, (score > np.quantile(score, 1 - positives)).astype(np.int64)


def seconds(work: Callable[[], object], times: int = 1) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def compare(name: str, positives: float, n_jobs: int) -> None:
    X, y = make_records(positives)
    ours = CostBoostClassifier(n_estimators=ROUNDS, decision=Decision(threshold="half"), n_jobs=n_jobs).fit(X, y)
    fast = seconds(lambda: ours.fit(X, y), times=3)
    rounds = ROUNDS // SCALED_BY
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=rounds)
    slow = SCALED_BY * seconds(lambda: theirs.fit(X, y))
    print(
        f"{name} ({y.mean():.1%} positive): ours {fast:.2f} s for {ours.n_rounds_} rounds, "
        f"scikit-learn {slow:.1f} s ({SCALED_BY} x {rounds} rounds), ratio {slow / fast:.0f}; "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads for ours; scikit-learn's AdaBoost has one")
    options = parser.parse_args()
    compare("noisy", 0.27, options.n_jobs)
    compare("rare", 0.005, options.n_jobs)


if __name__ == "__main__":
    main()
