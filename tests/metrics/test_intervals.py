"""Confidence intervals of costs and of their differences."""

import time

import numpy as np
import pytest
from six_records import COSTS, Y_PRED, Y_TRUE

from stakes.metrics import (
    Interval,
    cost_difference_interval,
    cost_interval,
    total_cost,
)


def some_decisions(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    cost = rng.lognormal(2, 1, size=n).round(1)
    return y, rng.random(n) < 0.2 + 0.5 * y, rng.random(n) < 0.2 + 0.4 * y, cost


def plain_bootstrap(values, level=0.95):
    rows = np.random.default_rng(99).integers(values.size, size=(20_000, values.size))
    return np.quantile(values[rows].sum(axis=1), [(1 - level) / 2, (1 + level) / 2])


def assert_bootstrapped(interval, values):
    low, high = plain_bootstrap(values)
    assert interval.estimate == pytest.approx(values.sum())
    assert interval.low == pytest.approx(low, abs=0.03 * (high - low))
    assert interval.high == pytest.approx(high, abs=0.03 * (high - low))


def test_interval_agrees_with_a_plain_bootstrap():
    y, pred, _, cost = some_decisions()
    interval = cost_interval(y, pred, fp_cost=2, fn_cost=cost, n_resamples=20_000, random_state=0)
    assert_bootstrapped(interval, (y != pred) * np.where(y, cost, 2))


def test_difference_is_paired():
    y, one, other, cost = some_decisions()
    interval = cost_difference_interval(y, one, other, fp_cost=2, fn_cost=cost, n_resamples=20_000, random_state=0)
    assert_bootstrapped(interval, ((y != one).astype(int) - (y != other)) * np.where(y, cost, 2))


def test_equal_decisions_differ_by_exactly_nothing():
    y, one, _, cost = some_decisions()
    assert cost_difference_interval(y, one, one, fp_cost=2, fn_cost=cost) == Interval(0.0, 0.0, 0.0)


def test_difference_changes_its_sign_with_the_order():
    y, one, other, cost = some_decisions()
    forth = cost_difference_interval(y, one, other, fp_cost=2, fn_cost=cost, n_resamples=20_000, random_state=0)
    back = cost_difference_interval(y, other, one, fp_cost=2, fn_cost=cost, n_resamples=20_000, random_state=0)
    assert forth.estimate == -back.estimate
    assert forth.low == pytest.approx(-back.high, abs=0.05 * (forth.high - forth.low))


def test_intervals_contain_the_expected_cost_as_often_as_they_say():
    expected = 200 * (0.3 * 0.4 * 5 + 0.7 * 0.2 * 1)
    inside = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        y = rng.random(200) < 0.3
        pred = np.where(y, rng.random(200) < 0.6, rng.random(200) < 0.2)
        interval = cost_interval(
            y, pred, fp_cost=1, fn_cost=5, confidence_level=0.9, n_resamples=500, random_state=seed
        )
        inside += interval.low <= expected <= interval.high
    assert 0.85 < inside / 300 < 0.95


def test_seeds_fix_the_interval_and_leave_the_global_state_alone():
    y, pred, other, cost = some_decisions()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    for interval in (
        lambda seed: cost_interval(y, pred, fp_cost=2, fn_cost=cost, random_state=seed),
        lambda seed: cost_difference_interval(y, pred, other, fp_cost=2, fn_cost=cost, random_state=seed),
    ):
        assert interval(3) == interval(3) == interval(np.random.default_rng(3))
        assert interval(3) != interval(4)
        interval(None)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_more_confidence_is_a_wider_interval():
    y, pred, _, cost = some_decisions()
    widths = [
        high - low
        for level in (0.5, 0.9, 0.99)
        for _, low, high in [cost_interval(y, pred, fp_cost=2, fn_cost=cost, confidence_level=level, random_state=0)]
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_intervals_take_weights_and_costs_of_right_decisions():
    y, pred, _, cost = some_decisions()
    given = {"fp_cost": 2, "fn_cost": cost, "tp_cost": -1, "tn_cost": 0.5, "sample_weight": cost}
    interval = cost_interval(y, pred, **given, random_state=0)
    assert interval.estimate == pytest.approx(total_cost(y, pred, **given))
    assert interval.low < interval.estimate < interval.high


def test_interval_arguments_are_checked():
    for bad, message in (
        ({"confidence_level": 95}, "confidence_level must be between 0 and 1, got 95"),
        ({"n_resamples": 0}, "n_resamples=0 is not valid: give a whole number of at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            cost_interval(Y_TRUE, Y_PRED, **COSTS, **bad)
    with pytest.raises(ValueError, match="at least one record"):
        cost_interval([], [], fp_cost=1, fn_cost=1)
    with pytest.raises(ValueError, match="y_true has 6, y_pred has 6, y_pred_other has 2"):
        cost_difference_interval(Y_TRUE, Y_PRED, [0, 1], **COSTS)


def test_intervals_of_large_sets_are_quick():
    y, one, other, cost = some_decisions(200_000)
    start = time.perf_counter()
    cost_difference_interval(y, one, other, fp_cost=2, fn_cost=cost.round(), random_state=0)
    assert time.perf_counter() - start < 5
