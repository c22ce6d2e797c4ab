"""Trees grown from records that the reference makes, and records that no tree fits exactly."""

import numpy as np
import pytest
from reference import (
    fit_tree,
    table_of,
)

from stakes.tree.criteria import CRITERIA

criteria = pytest.mark.parametrize("criterion", CRITERIA)
WEIGHTS = ("none", "whole", "real")


def fit(problem, weights="whole", **how):
    table = table_of(problem.columns)
    weight = None if weights == "none" else problem.weight
    return table, fit_tree(table, problem.y, weight=weight, multiplicity=problem.multiplicity, **how)


def make_noisy(seed, n, d=6, n_values=60, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n, d)).astype(float)
    z = X / n_values
    p = 1 / (1 + np.exp(-4 * (z[:, 0] - z[:, 1]) - 3 * z[:, 2] * (z[:, 3] > 0.5) + 1))
    y = (rng.random(n) < p).astype(int)
    if missing:
        X[rng.random((n, d)) < 0.1] = np.nan
    return X, y, rng
