"""Money measures, their intervals, and scorers that choose by them."""

import os
import pickle
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.decision import thresholds
from stakes.exceptions import CostsError, CostsNeededError
from stakes.metrics import (
    Interval,
    amount_detected,
    cost_difference_interval,
    cost_interval,
    cost_reduction,
    g_mean,
    make_cost_scorer,
    profit,
    roi,
    savings_score,
    total_cost,
    tuned_threshold,
)

DATA = Path(os.environ.get("STAKES_DATA", Path(__file__).parents[2] / "shared" / "data"))

# Six records: two true positives, one false negative, one false positive, two true negatives
Y_TRUE = [1, 1, 1, 0, 0, 0]
Y_PRED = [1, 1, 0, 1, 0, 0]
FP = [1, 2, 4, 8, 16, 32]
FN = [100, 200, 400, 800, 1600, 3200]
COSTS = {"fp_cost": FP, "fn_cost": FN}
AMOUNT = {"amount": [10, 20, 30, 40, 50, 60]}
CAMPAIGN = {"benefit": [10, 20, 30, 40, 50, 60], "contact_cost": [1, 2, 3, 4, 5, 6]}
ARGUMENTS = {
    total_cost: COSTS,
    savings_score: COSTS,
    cost_reduction: COSTS,
    amount_detected: AMOUNT,
    profit: CAMPAIGN,
    roi: CAMPAIGN,
    g_mean: {},
}
every_metric = pytest.mark.parametrize("metric", ARGUMENTS, ids=lambda metric: metric.__name__)


# Hand-computed numbers


def test_total_cost_charges_each_mistake_with_its_own_cost():
    assert total_cost(Y_TRUE, Y_PRED, **COSTS) == 400 + 8
    assert total_cost(Y_TRUE, Y_PRED, fp_cost=5, fn_cost=50) == 55
    assert total_cost(Y_TRUE, Y_TRUE, **COSTS) == 0


def test_total_cost_charges_right_decisions_too():
    assert total_cost(Y_TRUE, Y_PRED, fp_cost=5, fn_cost=50, tp_cost=3, tn_cost=[0, 0, 0, 0, 1, 2]) == 55 + 6 + 3
    assert total_cost(Y_TRUE, Y_PRED, fp_cost=5, fn_cost=50, tp_cost=-10) == 55 - 20


def test_savings_compare_with_the_cheaper_trivial_decision():
    # All positive costs 8 + 16 + 32 = 56, all negative 700.
    assert savings_score(Y_TRUE, Y_PRED, **COSTS) == pytest.approx(1 - 408 / 56)
    # All negative costs 3, all positive 3 x 50.
    assert savings_score(Y_TRUE, Y_PRED, fp_cost=50, fn_cost=1) == pytest.approx(1 - 51 / 3)


def test_savings_of_trivial_and_perfect_decisions():
    zeros, ones = np.zeros(6), np.ones(6)
    assert savings_score(Y_TRUE, ones, **COSTS) == 0
    assert savings_score(Y_TRUE, zeros, **COSTS) == pytest.approx(1 - 700 / 56)
    assert savings_score(Y_TRUE, zeros, fp_cost=50, fn_cost=1) == 0
    assert savings_score(Y_TRUE, Y_TRUE, **COSTS) == 1


def test_cost_reduction_compares_with_doing_nothing():
    assert cost_reduction(Y_TRUE, Y_PRED, **COSTS) == pytest.approx(1 - 408 / 700)
    assert cost_reduction(Y_TRUE, np.zeros(6), **COSTS) == 0
    assert cost_reduction(Y_TRUE, np.ones(6), **COSTS) == pytest.approx(1 - 56 / 700)
    assert cost_reduction(Y_TRUE, Y_TRUE, **COSTS) == 1


def test_cost_reduction_is_the_printed_churn_measure():
    # FRAMEWORK 11.9: 1 - (C_FN of missed churners + C_FP of the needlessly contacted) / C_FN of all churners
    monthly = np.array([50.0, 80.0, 20.0, 60.0])
    churn, contacted = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    expected = 1 - (12 * 80 + 2 * 20) / (12 * (50 + 80))
    assert cost_reduction(churn, contacted, fp_cost=2 * monthly, fn_cost=12 * monthly) == pytest.approx(expected)


def test_amount_detected_is_a_share_of_the_amount_of_positives():
    assert amount_detected(Y_TRUE, Y_PRED, **AMOUNT) == pytest.approx((10 + 20) / (10 + 20 + 30))
    assert amount_detected(Y_TRUE, Y_PRED, amount=7) == pytest.approx(2 / 3)


def test_profit_and_roi_of_those_contacted():
    assert profit(Y_TRUE, Y_PRED, **CAMPAIGN) == (10 + 20) - (1 + 2 + 4)
    assert roi(Y_TRUE, Y_PRED, **CAMPAIGN) == pytest.approx(23 / 7)
    assert profit(Y_TRUE, Y_PRED, benefit=10, contact_cost=2) == 20 - 6


def test_profit_of_a_failed_campaign_is_a_loss():
    assert profit([0, 0], [1, 1], benefit=10, contact_cost=2) == -4
    assert roi([0, 0], [1, 1], benefit=10, contact_cost=2) == -1


def test_g_mean_is_the_root_of_the_product_of_both_rates():
    assert g_mean(Y_TRUE, Y_PRED) == pytest.approx(np.sqrt(2 / 3 * 2 / 3))
    assert g_mean(Y_TRUE, np.ones(6)) == 0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=4, max_size=30))
def test_g_mean_agrees_with_imbalanced_learn(rows):
    y_true, y_pred = (np.array([False, True, *column]) for column in zip(*rows, strict=True))
    assert g_mean(y_true, y_pred) == pytest.approx(geometric_mean_score(y_true, y_pred))


@pytest.mark.skipif(not (DATA / "kdd98_valtargt.parquet").exists(), reason="no KDD Cup 98 data in STAKES_DATA")
def test_contacting_everyone_in_the_kdd_cup_98_validation_file_earns_10560():
    targets = pl.read_parquet(DATA / "kdd98_valtargt.parquet")
    everyone = np.ones(len(targets), dtype=int)
    given = {"benefit": targets["TARGET_D"], "contact_cost": 0.68}
    assert len(targets) == 96367
    assert round(profit(targets["TARGET_B"], everyone, **given), 2) == 10560.08
    assert round(roi(targets["TARGET_B"], everyone, **given), 2) == 0.16


# Denominators of zero: nothing of nothing is 0, something of nothing infinite


@pytest.mark.parametrize("metric", [savings_score, cost_reduction])
def test_nothing_to_save_is_zero_and_a_loss_then_is_infinite(metric):
    assert metric([0, 0], [0, 0], fp_cost=5, fn_cost=50) == 0
    assert metric([0, 0], [0, 1], fp_cost=5, fn_cost=50) == -np.inf
    assert metric([0, 1], [0, 1], fp_cost=0, fn_cost=0) == 0


def test_trivially_free_decisions_leave_nothing_to_save():
    assert savings_score([1, 1], [1, 1], fp_cost=5, fn_cost=50) == 0
    assert savings_score([1, 1], [1, 0], fp_cost=5, fn_cost=50) == -np.inf
    assert cost_reduction([1, 1], [1, 0], fp_cost=5, fn_cost=50) == 0.5


@pytest.mark.parametrize("metric", [savings_score, cost_reduction])
def test_more_gain_than_a_gainful_baseline_is_still_a_saving(metric):
    # All negative gains 2 x 10, all positive loses 2 x 90 - 100; the perfect decisions gain 2 x 10 + 100.
    given = {"fp_cost": 90, "fn_cost": 0, "tp_cost": -100, "tn_cost": -10}
    y_true = [0, 0, 1]
    assert total_cost(y_true, [0, 0, 0], **given) == -20
    assert total_cost(y_true, [1, 1, 1], **given) == 80
    assert metric(y_true, [0, 0, 1], **given) == pytest.approx((-20 + 120) / 20)
    assert metric(y_true, [0, 0, 0], **given) == 0
    assert metric(y_true, [1, 0, 0], **given) < 0


def test_nothing_to_detect_is_zero():
    assert amount_detected([0, 0], [0, 1], amount=[5, 5]) == 0
    assert amount_detected([1, 1], [1, 1], amount=0) == 0


def test_contacting_nobody_earns_and_returns_nothing():
    assert profit([1, 0], [0, 0], benefit=10, contact_cost=1) == 0
    assert roi([1, 0], [0, 0], benefit=10, contact_cost=1) == 0
    assert roi([1, 0], [1, 0], benefit=10, contact_cost=0) == np.inf


def test_g_mean_without_a_class_is_zero():
    assert g_mean([1, 1], [1, 1]) == 0


# What all metrics share


@every_metric
@given(weights=st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_weight_two_is_a_record_given_twice(metric, weights):
    repeat = np.repeat(np.arange(6), weights)
    repeated = {name: np.array(value)[repeat] for name, value in ARGUMENTS[metric].items()}
    expected = metric(np.array(Y_TRUE)[repeat], np.array(Y_PRED)[repeat], **repeated)
    assert metric(Y_TRUE, Y_PRED, **ARGUMENTS[metric], sample_weight=weights) == pytest.approx(expected)


@every_metric
@pytest.mark.parametrize("labels", [(-1, 1), (False, True), ("no", "yes"), (1, 0)])
def test_labels_may_be_anything(metric, labels):
    y_true, y_pred = ([labels[k] for k in y] for y in (Y_TRUE, Y_PRED))
    expected = metric(Y_TRUE, Y_PRED, **ARGUMENTS[metric])
    assert metric(y_true, y_pred, **ARGUMENTS[metric], pos_label=labels[1]) == expected


@every_metric
@pytest.mark.parametrize("column", [np.array, pd.Series, pl.Series, lambda v: pd.Series(v, dtype=object)])
def test_columns_of_any_kind_give_plain_floats(metric, column):
    arguments = {name: column(value) for name, value in ARGUMENTS[metric].items()}
    value = metric(column(Y_TRUE), column(Y_PRED), **arguments, sample_weight=column([1.0] * 6))
    assert type(value) is float
    assert value == metric(Y_TRUE, Y_PRED, **ARGUMENTS[metric])


@every_metric
def test_bad_labels_and_lengths_are_named(metric):
    def call(y_true=Y_TRUE, y_pred=Y_PRED, **more):
        return metric(y_true, y_pred, **{**ARGUMENTS[metric], **more})

    with pytest.raises(ValueError, match="pos_label='x' is not a label of y_true and y_pred: choose from 0, 1"):
        call(pos_label="x")
    with pytest.raises(ValueError, match="y_true and y_pred must have two classes, found 3: 0, 1, 7"):
        call(y_pred=[7, *Y_PRED[1:]])
    with pytest.raises(ValueError, match="y_true has 6, y_pred has 5"):
        call(y_pred=Y_PRED[1:])
    with pytest.raises(CostsError, match="sample_weight has 5 records, y_true has 6"):
        call(sample_weight=[1] * 5)
    for name in ARGUMENTS[metric]:
        with pytest.raises(CostsError, match=f"{name} has 2 records, y_true has 6|different numbers.*{name} 2"):
            call(**{name: [1, 2]})
        with pytest.raises(CostsError, match=f"{name} is not finite in 1 record: the first is row 3, nan"):
            call(**{name: [1, 2, 3, np.nan, 5, 6]})


@pytest.mark.parametrize(("metric", "name"), [(amount_detected, "amount"), (profit, "contact_cost")])
def test_amounts_and_expenses_are_not_negative(metric, name):
    with pytest.raises(CostsError, match=f"{name} is negative in row 1, -2: give numbers of 0 or more"):
        metric(Y_TRUE, Y_PRED, **{**ARGUMENTS[metric], name: [1, -2, 3, 4, 5, 6]})


def test_costs_are_checked_at_the_front_door():
    with pytest.raises(CostsError, match="fp_cost - tn_cost is negative in 6 records"):
        total_cost(Y_TRUE, Y_PRED, fp_cost=1, fn_cost=1, tn_cost=[2] * 6)
    with pytest.raises(CostsError, match="fn_cost has 2 records, y_true has 6"):
        total_cost(Y_TRUE, Y_PRED, fp_cost=1, fn_cost=[1, 2])


@every_metric
def test_the_callers_arrays_are_left_alone(metric):
    given = {name: np.array(value, dtype=float) for name, value in ARGUMENTS[metric].items()}
    given |= {"sample_weight": np.full(6, 2.0)}
    before = {name: value.copy() for name, value in given.items()}
    metric(np.array(Y_TRUE), np.array(Y_PRED), **given)
    for name, value in given.items():
        np.testing.assert_array_equal(value, before[name])


def test_tuned_threshold_is_public_here():
    assert tuned_threshold is thresholds.tuned_threshold


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.integers(0, 9)), min_size=1, max_size=10))
def test_no_threshold_costs_less_than_the_tuned_one(rows):
    y, score, fn = (np.array(column) for column in zip(*rows, strict=True))
    threshold = tuned_threshold(y, score, fp_cost=3, fn_cost=fn)
    tuned = total_cost(y, score > threshold, fp_cost=3, fn_cost=fn)
    assert tuned == min(total_cost(y, score > t, fp_cost=3, fn_cost=fn) for t in (-1, *score))


# Confidence intervals


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
        ({"n_resamples": 0}, "n_resamples must be at least 1, got 0"),
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


# Scorers


class ThresholdClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression that decides by the costs of the records at hand, or ignores them."""

    __metadata_request__predict = {"fp_cost": True, "fn_cost": True}  # noqa: RUF012

    def __init__(self, by_cost=True):
        self.by_cost = by_cost

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X, fp_cost=None, fn_cost=None):
        if fp_cost is None or fn_cost is None:
            raise CostsNeededError("predict needs the costs of the records")
        threshold = np.asarray(fp_cost) / (np.asarray(fp_cost) + np.asarray(fn_cost)) if self.by_cost else 0.5
        return self.classes_[(self.model_.predict_proba(X)[:, 1] > threshold).astype(int)]


class RequestingNothing(ThresholdClassifier):
    __metadata_request__predict = {"fp_cost": None, "fn_cost": None}  # noqa: RUF012


@pytest.fixture(scope="module")
def frauds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 1.5).astype(int)
    return X, y, rng.lognormal(3, 1.5, size=400)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def scores_by_hand(model, X, y, metric, to_predict, to_metric):
    scores = []
    for train, test in StratifiedKFold(5).split(X, y):
        fitted = clone(model).fit(X[train], y[train])
        y_pred = fitted.predict(X[test], **{name: value[test] for name, value in to_predict.items()})
        scores.append(metric(y[test], y_pred, **{name: value[test] for name, value in to_metric.items()}))
    return np.array(scores)


@pytest.mark.usefixtures("routing")
def test_costs_of_the_fold_go_to_predict_and_to_the_metric(frauds):
    X, y, amount = frauds
    costs = {"fp_cost": np.full(400, 5.0), "fn_cost": amount}
    scores = cross_validate(ThresholdClassifier(), X, y, scoring=make_cost_scorer(), params=costs, error_score="raise")
    np.testing.assert_allclose(
        scores["test_score"], -scores_by_hand(ThresholdClassifier(), X, y, total_cost, costs, costs)
    )


@pytest.mark.usefixtures("routing")
def test_plain_classifiers_are_scored_too(frauds):
    X, y, amount = frauds
    costs = {"fp_cost": np.full(400, 5.0), "fn_cost": amount}
    scores = cross_val_score(LogisticRegression(), X, y, scoring=make_cost_scorer(savings_score), params=costs)
    np.testing.assert_allclose(scores, scores_by_hand(LogisticRegression(), X, y, savings_score, {}, costs))


@pytest.mark.usefixtures("routing")
def test_grid_search_picks_the_cheapest_where_accuracy_picks_another(frauds):
    X, y, amount = frauds
    grid = {"by_cost": [False, True]}
    by_money = GridSearchCV(ThresholdClassifier(), grid, scoring=make_cost_scorer(), error_score="raise")
    by_money.fit(X, y, fp_cost=np.full(400, 5.0), fn_cost=amount)
    assert by_money.best_params_ == {"by_cost": True}
    by_count = GridSearchCV(ThresholdClassifier(), grid, scoring=make_cost_scorer(accuracy), error_score="raise")
    by_count.fit(X, y, fp_cost=np.full(400, 5.0), fn_cost=amount)
    assert by_count.best_params_ == {"by_cost": False}


def accuracy(y_true, y_pred):
    """A metric that takes no costs, while predict does."""
    return float(np.mean(y_true == y_pred))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("metric", [amount_detected, profit, roi], ids=lambda metric: metric.__name__)
def test_metrics_may_need_other_metadata_than_predict(frauds, metric):
    X, y, amount = frauds
    costs = {"fp_cost": np.full(400, 5.0), "fn_cost": amount}
    all_metadata = {"amount": amount, "benefit": amount, "contact_cost": np.full(400, 0.68)}
    needed = {name: value for name, value in all_metadata.items() if (name == "amount") == (metric is amount_detected)}
    scores = cross_val_score(
        ThresholdClassifier(), X, y, scoring=make_cost_scorer(metric), params={**costs, **needed}, error_score="raise"
    )
    np.testing.assert_allclose(scores, scores_by_hand(ThresholdClassifier(), X, y, metric, costs, needed))


def test_fixed_constants_need_no_routing(frauds):
    X, y, _ = frauds
    assert not sklearn.get_config()["enable_metadata_routing"]
    scorer = make_cost_scorer(total_cost, fp_cost=5, fn_cost=50)
    constants = {"fp_cost": np.full(400, 5.0), "fn_cost": np.full(400, 50.0)}
    scores = cross_val_score(ThresholdClassifier(), X, y, scoring=scorer, error_score="raise")
    np.testing.assert_allclose(scores, -scores_by_hand(ThresholdClassifier(), X, y, total_cost, constants, constants))
    search = GridSearchCV(ThresholdClassifier(), {"by_cost": [False, True]}, scoring=scorer, error_score="raise")
    assert search.fit(X, y).best_params_ == {"by_cost": True}


@pytest.mark.usefixtures("routing")
def test_one_cost_may_be_fixed_and_the_other_routed(frauds):
    X, y, amount = frauds
    fixed = make_cost_scorer(fp_cost=5)
    routed = make_cost_scorer()
    np.testing.assert_array_equal(
        cross_val_score(ThresholdClassifier(), X, y, scoring=fixed, params={"fn_cost": amount}, error_score="raise"),
        cross_val_score(
            ThresholdClassifier(), X, y, scoring=routed, params={"fn_cost": amount, "fp_cost": 5}, error_score="raise"
        ),
    )


@pytest.mark.usefixtures("routing")
def test_costs_reach_the_last_step_of_a_pipeline(frauds):
    X, y, amount = frauds
    costs = {"fp_cost": np.full(400, 5.0), "fn_cost": amount}
    model = make_pipeline(StandardScaler(), ThresholdClassifier())
    scores = cross_val_score(model, X, y, scoring=make_cost_scorer(), params=costs, error_score="raise")
    np.testing.assert_allclose(scores, -scores_by_hand(model, X, y, total_cost, costs, costs))
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    scores = cross_val_score(plain, X, y, scoring=make_cost_scorer(), params=costs, error_score="raise")
    np.testing.assert_allclose(scores, -scores_by_hand(plain, X, y, total_cost, {}, costs))


def test_fixed_costs_reach_the_last_step_of_a_pipeline_without_routing(frauds):
    X, y, _ = frauds
    model = make_pipeline(StandardScaler(), ThresholdClassifier()).fit(X, y)
    score = make_cost_scorer(fp_cost=5, fn_cost=50)(model, X, y)
    assert score == -total_cost(y, model.predict(X, fp_cost=5, fn_cost=50), fp_cost=5, fn_cost=50)


@pytest.mark.usefixtures("routing")
def test_costs_reach_the_best_estimator_of_a_nested_search(frauds):
    X, y, amount = frauds
    search = GridSearchCV(ThresholdClassifier(), {"by_cost": [True]}, scoring=make_cost_scorer(), error_score="raise")
    costs = {"fp_cost": np.full(400, 5.0), "fn_cost": amount}
    scores = cross_val_score(search, X, y, scoring=make_cost_scorer(), params=costs, error_score="raise")
    np.testing.assert_allclose(scores, -scores_by_hand(ThresholdClassifier(), X, y, total_cost, costs, costs))


def test_a_direct_call_needs_no_requests(frauds):
    X, y, amount = frauds
    model = RequestingNothing().fit(X, y)
    y_pred = model.predict(X, fp_cost=5, fn_cost=amount)
    expected = -total_cost(y, y_pred, fp_cost=5, fn_cost=amount)
    assert make_cost_scorer()(model, X, y, fp_cost=5, fn_cost=amount) == expected
    assert make_cost_scorer(fp_cost=77)(model, X, y, fp_cost=5, fn_cost=amount) == expected


@pytest.mark.usefixtures("routing")
def test_several_scorers_at_once(frauds):
    X, y, amount = frauds
    scoring = {"cost": make_cost_scorer(), "found": make_cost_scorer(amount_detected), "auc": "roc_auc"}
    scores = cross_validate(
        LogisticRegression(), X, y, scoring=scoring, params={"fp_cost": 5, "fn_cost": amount, "amount": amount}
    )
    assert (scores["test_cost"] < 0).all()
    assert ((scores["test_found"] > 0) & (scores["test_found"] < 1)).all()


def test_costs_are_minimised_and_gains_maximised(frauds):
    X, y, _ = frauds
    model = LogisticRegression().fit(X, y)
    costs = {"fp_cost": 5, "fn_cost": 50}
    cost = total_cost(y, model.predict(X), **costs)
    assert make_cost_scorer(total_cost, **costs)(model, X, y) == -cost
    assert make_cost_scorer(total_cost, greater_is_better=True, **costs)(model, X, y) == cost
    savings = savings_score(y, model.predict(X), **costs)
    assert make_cost_scorer(savings_score, **costs)(model, X, y) == savings != 0
    assert make_cost_scorer(savings_score, greater_is_better=False, **costs)(model, X, y) == -savings


def test_labels_are_fixed_in_the_scorer(frauds):
    X, y, _ = frauds
    named = np.where(y == 1, "fraud", "fine")
    model = LogisticRegression().fit(X, named)
    score = make_cost_scorer(fp_cost=5, fn_cost=50, pos_label="fraud")(model, X, named)
    assert score == -total_cost(y, model.predict(X) == "fraud", fp_cost=5, fn_cost=50)


def test_missing_costs_say_how_to_give_them(frauds):
    X, y, _ = frauds
    model = LogisticRegression().fit(X, y)
    with pytest.raises(CostsNeededError, match=r"total_cost needs fp_cost, fn_cost: .*enable_metadata_routing.*or fix"):
        make_cost_scorer()(model, X, y)
    with pytest.raises(CostsNeededError, match="total_cost needs fn_cost:"):
        make_cost_scorer(fp_cost=1)(model, X, y)
    with pytest.raises(CostsNeededError, match="roi needs benefit, contact_cost:"):
        make_cost_scorer(roi)(model, X, y, fp_cost=1, fn_cost=1)


def test_arguments_no_one_takes_are_errors(frauds):
    X, y, _ = frauds
    with pytest.raises(TypeError, match="total_cost takes no argument fp_costs"):
        make_cost_scorer(fp_costs=1)
    with pytest.raises(TypeError, match="fp_costs"):
        make_cost_scorer(fp_cost=1, fn_cost=1)(LogisticRegression().fit(X, y), X, y, fp_costs=1)


@pytest.mark.usefixtures("routing")
def test_sample_weight_is_asked_for_explicitly(frauds):
    X, y, amount = frauds
    given = {"params": {"sample_weight": amount}, "error_score": "raise"}
    model = LogisticRegression().set_fit_request(sample_weight=False)
    scorer = make_cost_scorer(fp_cost=5, fn_cost=50)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_val_score(model, X, y, scoring=scorer, **given)
    weighted = cross_val_score(model, X, y, scoring=scorer.set_score_request(sample_weight=True), **given)
    constants = {"fp_cost": np.full(400, 5.0), "fn_cost": np.full(400, 50.0)}
    np.testing.assert_allclose(
        weighted, -scores_by_hand(model, X, y, total_cost, {}, {**constants, "sample_weight": amount})
    )


@pytest.mark.usefixtures("routing")
def test_metadata_may_come_under_another_name(frauds):
    X, y, amount = frauds
    scorer = make_cost_scorer(fp_cost=5).set_score_request(fn_cost="loss")
    other = cross_val_score(ThresholdClassifier(), X, y, scoring=scorer, params={"loss": amount}, error_score="raise")
    same = cross_val_score(ThresholdClassifier(), X, y, scoring=make_cost_scorer(fp_cost=5), params={"fn_cost": amount})
    np.testing.assert_array_equal(other, same)


def test_sample_weight_needs_no_request_without_routing(frauds):
    X, y, amount = frauds
    scorer = make_cost_scorer(fp_cost=5, fn_cost=50)
    model = LogisticRegression().fit(X, y)
    weighted = -total_cost(y, model.predict(X), fp_cost=5, fn_cost=50, sample_weight=amount)
    assert scorer(model, X, y, sample_weight=amount) == weighted
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*does not support sample_weight")
        GridSearchCV(model, {"C": [1.0]}, scoring=scorer).fit(X, y, sample_weight=amount)


def test_scorers_clone_pickle_and_say_what_they_are(frauds):
    X, y, _ = frauds
    scorer = make_cost_scorer(fp_cost=5, fn_cost=50)
    assert repr(scorer) == "make_cost_scorer(total_cost, greater_is_better=False, fp_cost=5, fn_cost=50)"
    model = LogisticRegression().fit(X, y)
    search = clone(GridSearchCV(model, {"C": [1.0]}, scoring=scorer))
    for again in (pickle.loads(pickle.dumps(scorer)), search.scoring, clone(scorer, safe=False)):
        assert repr(again) == repr(scorer)
        assert again(model, X, y) == scorer(model, X, y)
    # A change to one is not a change to its copy.
    search.scoring.set_score_request(sample_weight=True)
    assert scorer.requests["sample_weight"] is None
