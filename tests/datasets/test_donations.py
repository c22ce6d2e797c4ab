import numpy as np
import polars as pl
import pytest

from stakes.datasets.donations import donation_costs


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    n = 300
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n), "c": ["x"] * n}).with_columns(
        pl.when(pl.int_range(n) % 7 == 0).then(None).otherwise(pl.col("a")).alias("a")
    )
    donation = np.where(rng.random(n) < 0.4, np.round(10 + 3 * rng.normal(size=n) + frame["b"].to_numpy(), 1), 0.0)
    return frame, donation


def least_squares(frame, donation, train):
    """The regression by the normal equations, on training donors, gaps filled by their medians."""
    donors = np.array([i for i in train if donation[i] > 0])
    X = np.column_stack([frame["a"].to_numpy(), frame["b"].to_numpy().astype(float), np.ones(frame.height)])
    X[np.isnan(X[:, 0]), 0] = np.nanmedian(X[donors, 0])
    beta = np.linalg.solve(X[donors].T @ X[donors], X[donors].T @ donation[donors])
    return np.clip(X @ beta, donation[donors].min(), donation[donors].max())


def test_estimates_are_least_squares_on_training_donors(people):
    frame, donation = people
    train = np.arange(0, 300, 2)
    afterwards, before = donation_costs(frame, donation, train, ["a", "b"])
    expected = least_squares(frame, donation, train)
    np.testing.assert_allclose(before.fn, np.maximum(expected - 0.68, 0))
    np.testing.assert_allclose(afterwards.fn, np.maximum(np.where(donation > 0, donation, expected) - 0.68, 0))
    assert afterwards.fp == before.fp == 0.68


def test_donations_outside_the_training_set_do_not_enter_the_estimates(people):
    frame, donation = people
    train, others = np.arange(0, 300, 2), np.arange(1, 300, 2)
    other_donations = donation.copy()
    other_donations[others] = 1000.0
    costs, same = (donation_costs(frame, each, train, ["a", "b"]) for each in (donation, other_donations))
    assert costs[1] == same[1]


def test_a_donation_below_the_postage_costs_nothing_to_miss():
    frame = pl.DataFrame({"a": [0.0, 0.0, 0.0]})
    afterwards, before = donation_costs(frame, np.array([0.5, 0.5, 0.0]), np.arange(3), ["a"])
    assert afterwards.fn.tolist() == before.fn.tolist() == [0.0, 0.0, 0.0]


def test_no_donors_to_learn_from_is_an_error():
    with pytest.raises(ValueError, match="no donors among the 2 training records"):
        donation_costs(pl.DataFrame({"a": [1.0, 2.0, 3.0]}), np.array([0.0, 0.0, 9.0]), np.arange(2), ["a"])
