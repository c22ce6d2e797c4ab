"""Money measures of decisions."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from six_records import COSTS, Y_PRED, Y_TRUE

from stakes.decision import thresholds
from stakes.exceptions import CostsError
from stakes.metrics import (
    amount_detected,
    cost_reduction,
    g_mean,
    profit,
    roi,
    savings_score,
    total_cost,
    tuned_threshold,
)

DATA = Path(os.environ.get("STAKES_DATA", Path(__file__).parents[3] / "shared" / "data"))
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


# Denominators of zero


@pytest.mark.parametrize("metric", [savings_score, cost_reduction])
def test_nothing_to_save_is_zero_and_a_loss_then_is_a_share_of_acting_on_all(metric):
    assert metric([0, 0], [0, 0], fp_cost=5, fn_cost=50) == 0
    assert metric([0, 0], [0, 1], fp_cost=5, fn_cost=50) == -0.5
    assert metric([0, 0], [1, 1], fp_cost=5, fn_cost=50) == -1
    assert metric([0, 1], [0, 1], fp_cost=0, fn_cost=0) == 0


def test_trivially_free_decisions_leave_nothing_to_save():
    assert savings_score([1, 1], [1, 1], fp_cost=5, fn_cost=50) == 0
    assert savings_score([1, 1], [1, 0], fp_cost=5, fn_cost=50) == -0.5
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
    with pytest.raises(CostsError, match="fp_cost is not finite in 1 record"):
        total_cost(Y_TRUE, Y_PRED, fp_cost=np.nan, fn_cost=1)
    with pytest.raises(CostsError, match="costs have different numbers of records"):
        total_cost(Y_TRUE, Y_PRED, fp_cost=[1] * 5, fn_cost=1, tn_cost=[2] * 6)
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


def test_what_is_paid_for_features_counts_as_cost_and_not_in_the_baseline():
    y, decided, paid = [1, 1, 0, 0], [1, 0, 1, 0], [1.0, 2.0, 3.0, 4.0]
    costs = {"fp_cost": 5, "fn_cost": [20, 95, 20, 20]}
    assert total_cost(y, decided, **costs, acquisition_cost=paid) == 100 + 10
    assert total_cost(y, decided, **costs, acquisition_cost=paid, sample_weight=[1, 1, 2, 0]) == 105 + 9
    assert total_cost(y, decided, **costs, acquisition_cost=2) == 108
    assert savings_score(y, decided, **costs, acquisition_cost=paid) == pytest.approx(1 - 110 / 10)
    assert cost_reduction(y, decided, **costs, acquisition_cost=paid) == pytest.approx(1 - 110 / 115)
    with pytest.raises(CostsError, match="acquisition_cost"):
        total_cost(y, decided, **costs, acquisition_cost=[1, 2])
