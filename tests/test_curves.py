"""The arrays behind plots and reports, against plain loops and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_curve

from stakes.curves import (
    cost_curve,
    decide_by_costs,
    gain_curve,
    iso_cost_lines,
    operating_point,
    reliability_curve,
    roc_points,
    savings_of,
    sensitivity_curve,
)
from stakes.exceptions import CostsError
from stakes.metrics import profit, savings_score, total_cost, tuned_threshold


def draw(seed, n=40):
    """Return classes of both kinds, scores with ties, costs and weights; whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    score = rng.integers(0, 17, n) / 16
    costs = {"fp_cost": rng.integers(1, 9, n), "fn_cost": rng.integers(5, 40, n)}
    return y, score, costs, rng.integers(0, 4, n)


seeds = pytest.mark.parametrize("seed", range(5))
RIGHT = {"tp_cost": -3, "tn_cost": 1}


# Cost against the threshold


@seeds
def test_cost_curve_is_the_total_cost_of_each_threshold(seed):
    y, score, costs, weight = draw(seed)
    curve = cost_curve(y, score, **costs, **RIGHT, sample_weight=weight)
    assert curve.thresholds.tolist() == [-np.inf, *np.unique(score)]
    expected = [total_cost(y, score > t, **costs, **RIGHT, sample_weight=weight) for t in curve.thresholds]
    np.testing.assert_array_equal(curve.cost, expected)


@seeds
def test_savings_of_the_cost_curve_are_the_savings_score(seed):
    y, score, costs, weight = draw(seed)
    curve = cost_curve(y, score, **costs, sample_weight=weight)
    expected = [savings_score(y, score > t, **costs, sample_weight=weight) for t in curve.thresholds]
    np.testing.assert_allclose(curve.savings, expected)
    assert curve.baseline == min(
        total_cost(y, np.full(y.size, acted), **costs, sample_weight=weight) for acted in (0, 1)
    )


@given(st.integers(0, 10**6), st.floats(-0.5, 1.5))
def test_cost_at_any_threshold_is_that_of_deciding_by_it(seed, threshold):
    y, score, costs, _ = draw(seed, n=12)
    assert cost_curve(y, score, **costs).cost_at(threshold) == total_cost(y, score > threshold, **costs)


@seeds
def test_tuned_threshold_is_at_the_lowest_point_of_the_cost_curve(seed):
    y, score, costs, _ = draw(seed)
    curve = cost_curve(y, score, **costs)
    assert curve.cost_at(tuned_threshold(y, score, **costs)) == curve.cost.min()


def test_cost_curve_of_one_record():
    curve = cost_curve([1], [0.3], fp_cost=5, fn_cost=7)
    assert curve.thresholds.tolist() == [-np.inf, 0.3]
    assert curve.cost.tolist() == [0, 7]


def test_cost_curve_takes_any_labels_and_scores():
    curve = cost_curve(["no", "yes", "no"], np.array([-3, 8, 2], np.float32), fp_cost=1, fn_cost=10, pos_label="yes")
    assert curve.thresholds.tolist() == [-np.inf, -3, 2, 8]
    assert curve.cost.tolist() == [2, 1, 0, 10]


def test_curves_leave_the_arrays_of_the_caller_alone():
    y, score, costs, weight = draw(0)
    arrays = [y, score, weight, *costs.values()]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    cost_curve(y, score, **costs, sample_weight=weight)
    gain_curve(y, score, **costs, sample_weight=weight, order="expected_saving")
    sensitivity_curve(y, y_score=score, **costs, sample_weight=weight)
    reliability_curve(y, score, **costs, sample_weight=weight)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


# ROC


@seeds
def test_roc_points_are_those_of_scikit_learn(seed):
    y, score, _, weight = draw(seed)
    fpr, tpr, thresholds = roc_points(y, score, sample_weight=weight)
    expected_fpr, expected_tpr, _ = roc_curve(y, score, sample_weight=weight, drop_intermediate=False)
    points, expected = (
        {*zip(x.round(12), y.round(12), strict=True)} for x, y in ((fpr, tpr), (expected_fpr, expected_tpr))
    )
    assert points == expected
    np.testing.assert_array_equal(thresholds, cost_curve(y, score, fp_cost=1, fn_cost=1).thresholds)


@seeds
def test_roc_points_are_the_operating_points_of_their_thresholds(seed):
    y, score, _, weight = draw(seed)
    for fpr, tpr, threshold in zip(*roc_points(y, score, sample_weight=weight), strict=True):
        assert operating_point(y, score > threshold, sample_weight=weight) == pytest.approx((fpr, tpr))


def test_operating_point_by_hand():
    assert operating_point(list("aabbb"), list("abbba"), pos_label="b") == pytest.approx((1 / 2, 2 / 3))
    assert operating_point([0, 0, 1, 1], [1, 0, 1, 0], sample_weight=[3, 1, 1, 4]) == pytest.approx((3 / 4, 1 / 5))


@pytest.mark.parametrize(("y", "missing"), [([0, 0], "positive"), ([1, 1], "negative")])
def test_rates_need_both_classes(y, missing):
    with pytest.raises(ValueError, match=f"no {missing} records"):
        roc_points(y, [0.1, 0.2])
    with pytest.raises(ValueError, match=f"no {missing} records"):
        operating_point(y, [0, 1])


@seeds
def test_decisions_lie_on_the_iso_cost_line_of_their_cost(seed):
    y, score, _, weight = draw(seed)
    costs = {"fp_cost": 3, "fn_cost": 11, "tp_cost": -2, "tn_cost": 1}
    fpr, tpr, thresholds = roc_points(y, score, sample_weight=weight)
    for x0, y0, threshold in zip(fpr, tpr, thresholds, strict=True):
        cost = total_cost(y, score > threshold, **costs, sample_weight=weight)
        lines = iso_cost_lines(y, **costs, sample_weight=weight, cost=cost)
        (xa, xb), (ya, yb) = lines.fpr[0], lines.tpr[0]
        assert xa - 1e-9 <= x0 <= xb + 1e-9
        assert (xb - xa) * (y0 - ya) == pytest.approx((yb - ya) * (x0 - xa), abs=1e-9)


@given(st.integers(0, 10**6))
def test_iso_cost_lines_run_from_edge_to_edge_of_the_unit_square(seed):
    y, _, costs, _ = draw(seed, n=15)
    everything = total_cost(y, 1 - y, **costs)
    for x, height in zip(*iso_cost_lines(y, **costs, cost=np.linspace(0, everything, 7))[1:], strict=True):
        assert ((x >= 0) & (x <= 1 + 1e-12) & (height >= -1e-12) & (height <= 1)).all()
        assert x[0] == pytest.approx(0) or height[0] == pytest.approx(0)
        assert x[1] == pytest.approx(1) or height[1] == pytest.approx(1)


@seeds
def test_iso_cost_lines_take_class_means(seed):
    y, _, costs, _ = draw(seed)
    means = {"fp_cost": costs["fp_cost"][y == 0].mean(), "fn_cost": costs["fn_cost"][y == 1].mean()}
    for one, other in zip(iso_cost_lines(y, **costs), iso_cost_lines(y, **means), strict=True):
        np.testing.assert_allclose(one, other)


def test_dearest_default_iso_cost_line_goes_through_the_cheaper_trivial_decision():
    lines = iso_cost_lines([1, 0, 0, 0], fp_cost=5, fn_cost=100)
    assert lines.cost.tolist() == [3.75, 7.5, 11.25, 15]
    assert (lines.fpr[-1, 1], lines.tpr[-1, 1]) == (1, 1)  # acting on all
    lines = iso_cost_lines([1, 0, 0, 0], fp_cost=5, fn_cost=10)
    assert (lines.fpr[-1, 0], lines.tpr[-1, 0]) == (0, 0)  # acting on nobody


def test_costs_that_no_decisions_have_get_no_line():
    lines = iso_cost_lines([1, 0], fp_cost=5, fn_cost=10, cost=[-1, 0, 15, 16])
    assert lines.cost.tolist() == [0, 15]
    assert iso_cost_lines([1, 0], fp_cost=0, fn_cost=0).cost.size == 0


def test_iso_cost_lines_where_one_mistake_is_free():
    upright = iso_cost_lines([1, 0], fp_cost=4, fn_cost=0, cost=1)
    np.testing.assert_array_equal(upright.fpr, [[0.25, 0.25]])
    np.testing.assert_array_equal(upright.tpr, [[0, 1]])
    level = iso_cost_lines([1, 0], fp_cost=0, fn_cost=4, cost=1)
    np.testing.assert_array_equal(level.fpr, [[0, 1]])
    np.testing.assert_array_equal(level.tpr, [[0.75, 0.75]])


# Gain


@seeds
def test_gain_curve_is_what_acting_on_the_highest_scores_saves(seed):
    y, score, costs, weight = draw(seed)
    curve = gain_curve(y, score, **costs, **RIGHT, sample_weight=weight)
    nothing = total_cost(y, np.zeros_like(y), **costs, **RIGHT, sample_weight=weight)
    for k, threshold in enumerate([np.inf, *np.unique(score)[::-1]]):
        acted = score >= threshold
        assert curve.share[k] == pytest.approx(weight[acted].sum() / weight.sum())
        settings = {**costs, **RIGHT, "sample_weight": weight}
        assert curve.profit[k] == pytest.approx(nothing - total_cost(y, acted, **settings))
        assert curve.savings[k] == pytest.approx(savings_score(y, acted, **settings))
    assert curve.share.size == k + 1


def test_gain_is_the_profit_of_a_campaign():
    # FRAMEWORK 12: a letter costs 0.68, a missed donor the donation less that.
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 50), rng.random(50)
    donation = rng.integers(1, 30, 50).astype(float)
    curve = gain_curve(y, score, fp_cost=0.68, fn_cost=donation - 0.68)
    for k in (0, 1, 17, 50):
        contacted = np.zeros(50, int)
        contacted[np.argsort(-score)[:k]] = 1
        assert curve.profit[k] == pytest.approx(profit(y, contacted, benefit=donation, contact_cost=0.68))


@seeds
def test_gain_by_expected_saving_acts_first_where_most_is_to_be_saved(seed):
    y, score, costs, _ = draw(seed)
    curve = gain_curve(y, score, **costs, order="expected_saving")
    expected = score * costs["fn_cost"] - (1 - score) * costs["fp_cost"]
    by_hand = gain_curve(y, expected, **costs)
    for one, other in zip(curve, by_hand, strict=True):
        np.testing.assert_array_equal(one, other)
    realised = np.where(y == 1, costs["fn_cost"], -costs["fp_cost"])
    assert curve.profit[1] == realised[expected == expected.max()].sum()


@seeds
def test_order_by_expected_saving_is_that_by_score_for_constant_costs(seed):
    y, score, _, _ = draw(seed)
    for one, other in zip(
        gain_curve(y, score, fp_cost=2, fn_cost=8),
        gain_curve(y, score, fp_cost=2, fn_cost=8, order="expected_saving"),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


# Reliability


@seeds
@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_reliability_is_that_of_scikit_learn(seed, strategy):
    y, score, _, _ = draw(seed, n=200)
    observed, predicted = calibration_curve(y, score, n_bins=6, strategy=strategy)
    curve = reliability_curve(y, score, n_bins=6, strategy=strategy)
    np.testing.assert_allclose(curve.predicted, predicted)
    np.testing.assert_allclose(curve.observed, observed)
    assert curve.counts.sum() == 200


@seeds
def test_weight_in_reliability_is_repetition(seed):
    y, score, _, weight = draw(seed)
    settings = {"n_bins": 5, "strategy": "uniform"}
    weighted = reliability_curve(y, score, sample_weight=weight, **settings)
    repeated = reliability_curve(np.repeat(y, weight), np.repeat(score, weight), **settings)
    np.testing.assert_allclose(weighted.predicted, repeated.predicted)
    np.testing.assert_allclose(weighted.observed, repeated.observed)
    assert weighted.counts.sum() <= repeated.counts.sum()


@seeds
def test_costs_in_reliability_weigh_records_by_what_is_at_stake(seed):
    y, score, costs, weight = draw(seed)
    by_cost = reliability_curve(y, score, **costs, **RIGHT, sample_weight=weight)
    stake = costs["fp_cost"] - RIGHT["tn_cost"] + costs["fn_cost"] - RIGHT["tp_cost"]
    by_weight = reliability_curve(y, score, sample_weight=weight * stake)
    for one, other in zip(by_cost, by_weight, strict=True):
        np.testing.assert_array_equal(one, other)


def test_reliability_weighted_by_costs_keeps_true_probabilities_on_the_diagonal():
    rng = np.random.default_rng(0)
    p, amount = rng.random(200_000), rng.lognormal(size=200_000)
    p = p / (1 + amount)  # the dearer the rarer
    predicted, observed, _ = reliability_curve(rng.random(p.size) < p, p, fp_cost=1, fn_cost=amount, pos_label=True)
    np.testing.assert_allclose(observed, predicted, atol=0.01)


def test_reliability_wants_both_costs_or_none():
    with pytest.raises(CostsError, match="give both, or neither"):
        reliability_curve([0, 1], [0.1, 0.9], fp_cost=1)


# Sensitivity


@seeds
@pytest.mark.parametrize("vary", ["fn_cost", "fp_cost"])
def test_adapted_sensitivity_is_the_savings_of_deciding_by_the_changed_costs(seed, vary):
    y, score, costs, weight = draw(seed)
    factors, savings = sensitivity_curve(y, y_score=score, **costs, vary=vary, sample_weight=weight)
    assert (factors.min(), factors.max()) == pytest.approx((0.1, 10))
    for factor, saved in zip(factors, savings, strict=True):
        changed = costs | {vary: factor * costs[vary]}
        acted = score > changed["fp_cost"] / (changed["fp_cost"] + changed["fn_cost"])
        assert saved == pytest.approx(savings_score(y, acted, **changed, sample_weight=weight))


@seeds
@pytest.mark.parametrize("vary", ["fn_cost", "fp_cost"])
def test_kept_sensitivity_is_the_savings_of_the_same_decisions_at_the_changed_costs(seed, vary):
    y, score, costs, weight = draw(seed)
    acted = score > 0.5
    factors, savings = sensitivity_curve(y, y_pred=acted, **costs, vary=vary, factors=[0.2, 1, 7], sample_weight=weight)
    assert factors.tolist() == [0.2, 1, 7]
    for factor, saved in zip(factors, savings, strict=True):
        changed = costs | {vary: factor * costs[vary]}
        assert saved == pytest.approx(savings_score(y, acted, **changed, sample_weight=weight))


@seeds
def test_only_the_ratio_of_costs_matters_for_savings(seed):
    y, score, costs, _ = draw(seed)
    dearer_miss = sensitivity_curve(y, y_score=score, **costs, factors=[0.25, 0.5, 2, 4])
    cheaper_alarm = sensitivity_curve(y, y_score=score, **costs, vary="fp_cost", factors=[4, 2, 0.5, 0.25])
    np.testing.assert_allclose(dearer_miss.savings, cheaper_alarm.savings)


def test_sensitivity_decides_ties_as_predict_does():
    # A leaf of 1 in 7 against costs of 2 and 12: p = T_cs, and p > T_cs is false. Acting would cost 40.
    curve = sensitivity_curve([1] + [0] * 20, y_score=[1 / 7] * 21, fp_cost=2, fn_cost=12, factors=[0.99, 1, 1.01])
    np.testing.assert_allclose(curve.savings, [0, 0, 1 - 40 / 12.12])


def test_sensitivity_reduces_costs_before_changing_them():
    y, score, costs, _ = draw(3)
    right = {"tp_cost": 2, "tn_cost": -1}
    reduced = {"fp_cost": costs["fp_cost"] + 1, "fn_cost": costs["fn_cost"] - 2}
    np.testing.assert_array_equal(
        sensitivity_curve(y, y_score=score, **costs, **right).savings,
        sensitivity_curve(y, y_score=score, **reduced).savings,
    )


def test_decide_by_costs_compares_with_each_threshold():
    _, score, costs, _ = draw(1)
    fp, fn = costs["fp_cost"], costs["fn_cost"]
    np.testing.assert_array_equal(decide_by_costs(score, **costs), score > fp / (fp + fn))


def test_savings_of_a_free_baseline():
    assert savings_of([0.0, 1.0], 0.0).tolist() == [0, -np.inf]
    assert savings_of([0.0, 1.0, 5.0], 0.0, 4.0).tolist() == [0, -0.25, -1.25]
    assert savings_of([-150.0, -100.0, 0.0], -100.0).tolist() == [0.5, 0, -1]


# Errors

Y, P, COSTS = [0, 1, 1], [0.1, 0.6, 0.9], {"fp_cost": 1, "fn_cost": 5}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost_curve(Y, [0.1, 0.2], **COSTS), "y_score has 2 records, y_true has 3"),
        (lambda: cost_curve(Y, [0.1, np.nan, 0.2], **COSTS), "y_score is not finite"),
        (lambda: cost_curve(Y, np.eye(3), **COSTS), "give the positive class only"),
        (lambda: cost_curve([], [], **COSTS), "y_score is empty, .* give at least one record"),
        (lambda: reliability_curve([], []), "y_prob is empty: give at least one record"),
        (lambda: reliability_curve(Y, [0.1, 0.2]), "y_prob has 2 records, y_true has 3"),
        (lambda: cost_curve([0, 1, 2], P, **COSTS), "two classes"),
        (lambda: cost_curve(["a", "b", "b"], P, **COSTS), "pos_label=1 is not a label"),
        (lambda: gain_curve(Y, P, **COSTS, order="size"), "order='size' is not known: choose from 'score'"),
        (lambda: gain_curve(Y, [1, 2, 3], **COSTS, order="expected_saving"), "not a probability in row 1, 2"),
        (lambda: reliability_curve(Y, [-0.1, 0.5, 1]), "y_prob is not a probability in row 0"),
        (lambda: reliability_curve(Y, P, n_bins=0), "n_bins=0 is not valid: give a whole number of at least 1"),
        (lambda: reliability_curve(Y, P, strategy="kmeans"), "strategy='kmeans' is not known"),
        (lambda: sensitivity_curve(Y, **COSTS), "give either y_score"),
        (lambda: sensitivity_curve(Y, y_score=P, y_pred=Y, **COSTS), "give either y_score"),
        (lambda: sensitivity_curve(Y, y_score=P, **COSTS, vary="tp_cost"), "vary='tp_cost' is not known"),
        (lambda: sensitivity_curve(Y, y_score=P, **COSTS, factors=[1, 0]), "factors must be finite numbers above 0"),
        (lambda: sensitivity_curve(Y, y_score=[5, 0, 0], **COSTS), "y_score is not a probability in row 0, 5"),
        (lambda: decide_by_costs(P, fp_cost=1, fn_cost=[1, 2]), "fn_cost has 2 records, y_score has 3"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
