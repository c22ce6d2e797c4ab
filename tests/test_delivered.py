"""A delivered model has labels and columns of its own, and nothing of the model inside shows through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from stakes import CostBaggingClassifier, CostTeamClassifier, Decision, decisions_for
from stakes.datasets import make_churn
from stakes.decision.calibration import Platt
from stakes.delivered import DeliveredClassifier
from stakes.metrics import make_cost_scorer
from stakes.plots import CostCurveDisplay
from stakes.teams.blends import Team

DATA = make_churn(300, random_state=0)
TURNED = DATA.frame[:, ::-1]


@pytest.fixture(scope="module")
def forest() -> Any:
    forest = CostBaggingClassifier(n_estimators=5, random_state=0)
    return forest.fit(DATA.frame, DATA.target, fp_cost=1, fn_cost=5)


@pytest.fixture
def model(forest: Any) -> DeliveredClassifier:
    return DeliveredClassifier(forest, ("stays", "leaves"), DATA.frame.columns, Platt(slope=-3.0, intercept=1.0))


def test_another_decision_keeps_labels_and_columns(model: DeliveredClassifier, forest: Any) -> None:
    half = Decision(output="average", threshold="half")
    other = model.with_decision(half)
    expected = np.where(forest.with_decision(half).predict(DATA.frame) == 1, "leaves", "stays")
    np.testing.assert_array_equal(other.predict(TURNED), expected)
    assert model.model.cut_.decision != half


def test_the_decisions_that_a_delivered_model_takes_are_those_of_the_model(
    model: DeliveredClassifier, forest: Any
) -> None:
    options = decisions_for(model)
    assert options == decisions_for(forest)
    assert model.with_decision(options[-1].decision).model.decision == options[-1].decision


def test_probabilities_are_made_of_the_score_that_they_were_chosen_for(model: DeliveredClassifier, forest: Any) -> None:
    chosen = forest.cut_.decision
    same, other = (
        model.with_decision(decision)
        for decision in (Decision(output=chosen.output, leaf=chosen.leaf), Decision(output="vote"))
    )
    np.testing.assert_array_equal(same.predict_proba(TURNED), model.predict_proba(TURNED))
    votes = forest.with_decision(Decision(output="vote")).predict_proba(DATA.frame)[:, 1]
    np.testing.assert_array_equal(other.predict_proba(TURNED)[:, 0], votes)


def test_importances_are_those_of_the_model(model: DeliveredClassifier, forest: Any) -> None:
    np.testing.assert_array_equal(model.feature_importances_, forest.feature_importances_)
    model.model = object()
    assert not hasattr(model, "feature_importances_")


def test_a_copy_without_training_is_not_fitted(model: DeliveredClassifier) -> None:
    check_is_fitted(model)
    for unfitted in (clone(model), DeliveredClassifier()):
        with pytest.raises(NotFittedError):
            unfitted.predict(DATA.frame)


def test_a_delivered_model_is_not_trained_again(model: DeliveredClassifier) -> None:
    with pytest.raises(TypeError, match="trained already"):
        model.fit(DATA.frame, DATA.target)
    assert not hasattr(model, "members_")


@pytest.mark.parametrize("labels", [("stays", "leaves"), ("loyal", "moves")])
def test_the_positive_class_is_that_of_the_study(forest: Any, labels: tuple[str, str]) -> None:
    model = DeliveredClassifier(forest, labels, DATA.frame.columns)
    y = np.where(DATA.target == 1, labels[1], labels[0])
    assert model.pos_label_ == labels[1]
    display = CostCurveDisplay.from_estimator(model, DATA.frame, y, fp_cost=1, fn_cost=5)
    assert display.curve.cost[[0, -1]].tolist() == [(DATA.target == 0).sum(), 5 * DATA.target.sum()]


@pytest.mark.parametrize("labels", [("stays", "leaves"), ("loyal", "moves")])
def test_a_team_of_delivered_models_is_explained(forest: Any, labels: tuple[str, str]) -> None:
    model, blend = DeliveredClassifier(forest, labels, DATA.frame.columns), Team(np.array([1.0]), (None,))
    team = CostTeamClassifier.from_fitted([("rf", model)], blend, fp_cost=1, fn_cost=5, pos_label=labels[1])
    explained, alone = team.explain(DATA.frame[:5]), forest.explain(DATA.frame[:5])
    np.testing.assert_allclose(explained.values, alone.values, atol=1e-12)


def test_a_delivered_model_says_whether_it_goes_by_costs(model: DeliveredClassifier) -> None:
    assert model.needs_costs_
    half = model.with_decision(Decision(threshold="half"))
    assert not half.needs_costs_
    # Gains are costs for measures, and none to decide by.
    y, costs = np.where(DATA.target == 1, "leaves", "stays"), {"fp_cost": 1.0, "fn_cost": -5.0}
    found = half.predict(DATA.frame) == "leaves"
    expected = (found & (DATA.target == 0)).sum() - 5 * (~found & (DATA.target == 1)).sum()
    assert make_cost_scorer(**costs, pos_label="leaves")(half, DATA.frame, y) == -expected


def test_labels_that_are_not_those_of_the_study_are_refused(model: DeliveredClassifier) -> None:
    X, y = DATA.frame[:100], DATA.target[:100]
    assert model.score(X, np.array(["stays", "leaves"])[y]) > 0
    with pytest.raises(ValueError, match="pos_label='leaves' is not a label of y: choose from 0, 1"):
        model.score(X, y)
