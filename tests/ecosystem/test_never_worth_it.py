"""Costs where acting is never worth it: an amount below the cost of checking it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    Costs,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
)
from stakes.datasets import make_transactions
from stakes.exceptions import CostsError, DecisionError
from stakes.metrics import savings_score, total_cost

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = (X[:, 0] + RNG.normal(size=400) > 0.5).astype(int)
AMOUNT = np.where(X[:, 1] > 0, 3.0, 80.0)
MATRIX: dict[str, Any] = {"tp_cost": 5, "fp_cost": 5, "fn_cost": AMOUNT}
FEW: dict[str, Any] = {"n_estimators": 10, "random_state": 0}


def test_the_textbook_fraud_matrix_is_charged_as_it_stands() -> None:
    amount = np.array([3.0, 100.0, 50.0])
    assert total_cost([1, 1, 0], [1, 1, 0], tp_cost=5, fp_cost=5, fn_cost=amount) == 10
    assert total_cost([1, 1, 0], [0, 0, 1], tp_cost=5, fp_cost=5, fn_cost=amount) == 3 + 100 + 5
    assert savings_score([1, 1, 0], [0, 1, 0], tp_cost=5, fp_cost=5, fn_cost=amount) == pytest.approx(1 - 8 / 15)


def test_any_full_matrix_has_a_total_cost() -> None:
    matrix = RNG.normal(size=(4, 50))
    y, acted = RNG.integers(0, 2, (2, 50))
    expected = np.choose(2 * y + acted, matrix[[3, 0, 1, 2]]).sum()  # tn, fp, fn, tp
    found = total_cost(y, acted, fp_cost=matrix[0], fn_cost=matrix[1], tp_cost=matrix[2], tn_cost=matrix[3])
    assert found == pytest.approx(expected)


def test_the_threshold_is_1_where_acting_is_never_worth_it() -> None:
    costs = Costs(fp=5, tp=5, fn=[3.0, 5.0, 10.0])
    np.testing.assert_array_equal(costs.threshold(), [1, 1, 0.5])
    np.testing.assert_array_equal(costs.fn, [0, 0, 5])
    assert Costs(fp=0, tp=5, fn=3).threshold() == 1  # also where a false alarm is free


def test_expected_cost_is_least_by_the_threshold() -> None:
    fp, fn, tp = RNG.integers(0, 9, (3, 200)).astype(float)
    threshold = Costs(fp=fp, fn=fn, tp=tp).threshold()
    for p in np.linspace(0.03, 0.97, 9):
        act, leave = p * tp + (1 - p) * fp, p * fn
        clear = np.abs(act - leave) > 1e-9
        np.testing.assert_array_equal((p > threshold)[clear], (act < leave)[clear])


def test_a_cost_of_the_wrong_sign_is_still_an_error() -> None:
    with pytest.raises(CostsError, match="fn_cost is negative in 1 record"):
        Costs(fp=1, fn=[5, -5])
    with pytest.raises(CostsError, match="fp_cost - tn_cost is negative"):
        Costs(fp=1, fn=1, tn=2)


@pytest.mark.parametrize(
    "model",
    [
        CostTreeClassifier(max_depth=4),
        CostBaggingClassifier(**FEW),
        CostBaggingClassifier(decision=Decision(member="cost"), **FEW),
        CostBoostClassifier(**FEW),
        CostDecisionClassifier(LogisticRegression(), calibration="isotonic", random_state=0),
        CostDecisionClassifier(LogisticRegression(), threshold="scaled", random_state=0),
    ],
    ids=repr,
)
def test_no_record_is_acted_on_that_is_never_worth_it(model: Any) -> None:
    acted = model.fit(X, Y, **MATRIX).predict(X, **MATRIX) == 1
    assert not acted[AMOUNT == 3].any()
    assert acted[AMOUNT == 80].any()
    expected = savings_score(Y, acted.astype(int), fp_cost=5, fn_cost=AMOUNT - 5)
    assert model.score(X, Y, **MATRIX) == pytest.approx(expected)


@pytest.mark.parametrize(
    "model",
    [
        CostTreeClassifier(criterion="cost"),
        CostBaggingClassifier(weighted=True, **FEW),
        CostBaggingClassifier(sampling="cpr", **FEW),
        *(
            CostBoostClassifier(variant=variant, **FEW)
            for variant in ("naive", "adacost", "asymmetric", "csb2", "adac2")
        ),
        MetaCostClassifier(CostBaggingClassifier(**FEW), random_state=0),
    ],
    ids=repr,
)
def test_costs_in_training_may_be_those_of_a_full_matrix(model: Any) -> None:
    acted = model.fit(X, Y, **MATRIX).predict(X, **MATRIX) == 1
    reduced = model.fit(X, Y, fp_cost=5, fn_cost=np.maximum(AMOUNT - 5, 0)).predict(X, **MATRIX) == 1
    np.testing.assert_array_equal(acted, reduced)


# Weights and calibration


def test_calibration_takes_the_costs_of_weights_out_again_and_leaves_them_to_the_threshold() -> None:
    data = make_transactions(4000, random_state=0)
    costs: dict[str, Any] = {"fp_cost": 5.0, "fn_cost": data.costs.fn}
    model = CostDecisionClassifier(
        CostTreeClassifier(max_depth=4), weighted=True, calibration="isotonic", random_state=0
    )
    model.fit(data.frame, data.target, **costs)
    assert model.decision_.threshold == "cost"
    assert model.with_decision(None).decision_.threshold == "half"  # without calibration
    chance = model.predict_proba(data.frame)[:, 1]
    assert chance.mean() == pytest.approx(data.target.mean(), rel=0.5)
    new = make_transactions(4000, random_state=1)
    costs = {"fp_cost": 5.0, "fn_cost": new.costs.fn}
    by_half = (model.predict_proba(new.frame)[:, 1] > 0.5).astype(int)
    assert model.score(new.frame, new.target, **costs) > savings_score(new.target, by_half, **costs) + 0.1


def test_weights_and_calibration_with_a_threshold_that_knows_no_costs_are_refused() -> None:
    model = CostDecisionClassifier(LogisticRegression(), weighted=True, calibration="sigmoid", threshold="half")
    with pytest.raises(DecisionError, match="they count nowhere"):
        model.fit(X, Y, fp_cost=1, fn_cost=5)
