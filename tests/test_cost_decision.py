"""Any classifier becomes cost-sensitive by its probability and a threshold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from stakes import CostDecisionClassifier, Costs, Decision
from stakes.datasets import make_transactions
from stakes.encoded import EncodedClassifier
from stakes.exceptions import ColumnTypeWarning, CostsNeededError, DecisionError, OneClassWarning
from stakes.metrics import make_cost_scorer, savings_score, total_cost, tuned_threshold


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=1200) > 1.5).astype(int)
    fn = rng.lognormal(2, 1, size=1200)
    return X, y, fn


def test_the_decision_is_the_probability_against_t_cs_of_each_record(records):
    X, y, fn = records
    clf = CostDecisionClassifier(LogisticRegression()).fit(X, y, fp_cost=3.0, fn_cost=fn)
    p = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_array_equal(clf.predict(X, fp_cost=3.0, fn_cost=fn), (p > 3.0 / (3.0 + fn)).astype(int))
    # Today's costs are others, and nothing is trained again.
    np.testing.assert_array_equal(clf.predict(X, fp_cost=30.0, fn_cost=fn), (p > 30.0 / (30.0 + fn)).astype(int))
    with pytest.raises(CostsNeededError, match="fn_cost was different for each record"):
        clf.predict(X)


def test_half_ignores_costs_and_tuned_is_the_cheapest_threshold_of_the_validation_records(records):
    X, y, fn = records
    train, val = slice(0, 800), slice(800, None)
    model = LogisticRegression().fit(X[train], y[train])
    p = model.predict_proba(X[val])[:, 1]
    tuned = CostDecisionClassifier(LogisticRegression(), threshold="tuned")
    tuned.fit(
        X[train], y[train], fp_cost=3.0, fn_cost=fn[train],
        X_val=X[val], y_val=y[val], fp_cost_val=3.0, fn_cost_val=fn[val],
    )  # fmt: skip
    threshold = tuned_threshold(y[val], p, fp_cost=3.0, fn_cost=fn[val])
    np.testing.assert_array_equal(tuned.predict(X[val]), (p > threshold).astype(int))
    half = CostDecisionClassifier(LogisticRegression(), threshold="half").fit(X[train], y[train], fn_cost=fn[train])
    np.testing.assert_array_equal(half.predict(X[val]), model.predict(X[val]))


def test_isotonic_calibration_is_that_of_scikit_learn(records):
    X, y, fn = records
    train, val = slice(0, 800), slice(800, None)
    model = LogisticRegression().fit(X[train], y[train])

    class Probability(LogisticRegression):
        """Shows scikit-learn the probability as the score to calibrate."""

        def decision_function(self, X):
            return expit(super().decision_function(X))

    shown = Probability().fit(X[train], y[train])
    theirs = CalibratedClassifierCV(FrozenEstimator(shown), method="isotonic").fit(X[val], y[val])
    ours = CostDecisionClassifier(model, prefit=True, calibration="isotonic").fit(X[val], y[val], fn_cost=fn[val])
    np.testing.assert_allclose(ours.predict_proba(X[train]), theirs.predict_proba(X[train]), atol=1e-9)
    assert ours.estimator_ is model


def test_weights_are_the_costs(records):
    X, y, fn = records
    clf = CostDecisionClassifier(LogisticRegression(), weighted=True, threshold="half").fit(
        X, y, fp_cost=3.0, fn_cost=fn
    )
    cost = np.where(y == 1, fn, 3.0)
    theirs = LogisticRegression().fit(X, y, sample_weight=cost / cost.mean())
    np.testing.assert_allclose(clf.predict_proba(X), theirs.predict_proba(X))


def test_text_and_missing_values_reach_gradient_boosting():
    data = make_transactions(1500, random_state=0)
    frame = data.frame.with_columns(pl.col("merchant").cast(pl.String))
    gb = EncodedClassifier(HistGradientBoostingClassifier(max_iter=20))
    clf = CostDecisionClassifier(gb, random_state=0).fit(frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)
    given = {"fp_cost": 5.0, "fn_cost": data.costs.fn}
    assert savings_score(data.target, clf.predict(frame, **given), **given) > 0.5
    unseen = frame.with_columns(pl.lit("a new kind").alias("merchant"))
    with pytest.warns(ColumnTypeWarning, match="1500 of 1500 values are none of them, such as 'a new kind'"):
        assert np.isfinite(clf.predict_proba(unseen)).all()


def test_a_model_without_probabilities_votes(records):
    X, y, _ = records
    clf = CostDecisionClassifier(LinearSVC(), threshold="half").fit(X, y)
    np.testing.assert_array_equal(clf.predict(X), LinearSVC().fit(X, y).predict(X))


def test_with_decision_sets_the_parameters(records):
    X, y, fn = records
    clf = CostDecisionClassifier(LogisticRegression(), validation=0.3, random_state=0).fit(X, y, fn_cost=fn)
    other = clf.with_decision(Decision(output="average", calibration="platt", threshold="tuned"))
    assert (other.calibration, other.threshold, other.estimator_ is clf.estimator_) == ("platt", "tuned", True)


@pytest.mark.parametrize(
    "asked", [{"member": "cost"}, {"output": "vote"}, {"vote_weight": "equal"}, {"leaf": "laplace"}]
)
def test_decisions_that_the_parameters_cannot_hold_are_refused(records, asked):
    X, y, fn = records
    clf = CostDecisionClassifier(LogisticRegression(), random_state=0).fit(X, y, fn_cost=fn)
    with pytest.raises(DecisionError, match=r"is about (votes, of which a single model|trees)"):
        clf.with_decision(Decision(**asked))


@pytest.mark.parametrize("decision", [Decision(threshold="cost"), Decision(threshold="half", leaf="frequency")])
def test_a_decision_outlives_cloning(records, decision):
    X, y, fn = records
    other = CostDecisionClassifier(LogisticRegression(), random_state=0).fit(X, y, fn_cost=fn).with_decision(decision)
    again = clone(other).fit(X, y, fn_cost=fn)
    np.testing.assert_array_equal(other.predict(X, fn_cost=fn), again.predict(X, fn_cost=fn))
    np.testing.assert_array_equal(other.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"estimator": None}, TypeError, "estimator=None is not a classifier"),
        ({"calibration": "magic"}, ValueError, "calibration='magic' is not known"),
        ({"threshold": "best"}, ValueError, "threshold='best' is not known"),
        ({"weighted": True, "prefit": True}, ValueError, "a prefit estimator cannot"),
        ({"validation": 2.0}, ValueError, "validation=2.0 is not known"),
    ],
)
def test_bad_parameters_are_named(records, params, error, message):
    X, y, _ = records
    with pytest.raises(error, match=message):
        CostDecisionClassifier(**{"estimator": LogisticRegression(), **params}).fit(X, y)


def test_a_grid_search_by_money_picks_the_cheapest_model_where_accuracy_picks_another():
    """The costs of the fold reach both predict and the measure."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 1))
    y = (rng.random(600) < 1 / (1 + np.exp(-X[:, 0] + 2))).astype(int)
    fn = np.where(X[:, 0] > 0, 40.0, 1.0)
    grid = {"threshold": ["half", "cost"]}
    with sklearn.config_context(enable_metadata_routing=True):
        by_money = GridSearchCV(
            CostDecisionClassifier(LogisticRegression()), grid, scoring=make_cost_scorer(total_cost)
        )
        by_money.fit(X, y, fp_cost=1.0, fn_cost=fn)
        by_accuracy = GridSearchCV(
            CostDecisionClassifier(LogisticRegression(), fp_cost=1.0, fn_cost=40.0), grid, scoring="accuracy"
        ).fit(X, y)
    assert by_money.best_params_ == {"threshold": "cost"}
    assert by_accuracy.best_params_ == {"threshold": "half"}
    costs = Costs(fp=1.0, fn=fn)
    cheap, dear = (
        CostDecisionClassifier(LogisticRegression(), threshold=t).fit(X, y, fp_cost=1.0, fn_cost=fn)
        for t in ("cost", "half")
    )
    given = {"fp_cost": costs.fp, "fn_cost": costs.fn}
    assert total_cost(y, cheap.predict(X, **given), **given) < total_cost(y, dear.predict(X, **given), **given)


def test_no_decision_is_the_one_that_goes_with_the_costs(records):
    X, y = records[:2]
    by_cost = CostDecisionClassifier(LogisticRegression(), threshold="half").fit(X, y, fp_cost=1, fn_cost=5)
    weighted = CostDecisionClassifier(LogisticRegression(), threshold="cost", weighted=True)
    weighted.fit(X, y, fp_cost=1, fn_cost=5)
    assert by_cost.with_decision(None).threshold == "cost"
    assert weighted.with_decision(None).threshold == "half"


def test_encoded_classifiers_take_numbers_as_they_are_and_categories_as_numbers(records):
    X, y = records[:2]
    plain = DecisionTreeClassifier(max_depth=3, random_state=0)
    np.testing.assert_array_equal(EncodedClassifier(plain).fit(X, y).predict(X), plain.fit(X, y).predict(X))
    frame = pl.DataFrame({"kind": np.where(y == 1, "b", "a")})
    np.testing.assert_array_equal(EncodedClassifier(plain).fit(frame, y).predict(frame), y)


@pytest.mark.parametrize(("n", "looked_at"), [(200, [200]), (1000, [334, 1000]), (10000, [257, 5000, 10000])])
def test_records_that_are_all_decided_alike_are_looked_at_in_growing_parts_each_once(n, looked_at, monkeypatch):
    sizes, predict_proba = [], DummyClassifier.predict_proba

    def counted(self, X):
        sizes.append(len(X))
        return predict_proba(self, X)

    monkeypatch.setattr(DummyClassifier, "predict_proba", counted)
    with pytest.warns(OneClassWarning, match="decided to be positive"):
        CostDecisionClassifier(DummyClassifier()).fit(np.zeros((n, 1)), np.arange(n) % 2, fp_cost=1.0, fn_cost=9.0)
    assert sizes == looked_at
