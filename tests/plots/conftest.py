"""Figures are closed after each test, and none is shown."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")  # those of other tests, doctests among them
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def scored(complete_sample):
    """Classes, probabilities and record-dependent costs."""
    X, y, costs = complete_sample
    return y, LogisticRegression().fit(X, y).predict_proba(X)[:, 1], costs


@pytest.fixture(scope="module")
def complete_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 1).astype(int)
    return X, y, {"fp_cost": rng.integers(1, 5, 300).astype(float), "fn_cost": rng.integers(2, 30, 300).astype(float)}
