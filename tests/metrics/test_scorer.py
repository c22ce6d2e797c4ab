"""Scorers that choose models by money."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes import CostTreeClassifier
from stakes.exceptions import CostsNeededError
from stakes.metrics import (
    amount_detected,
    make_cost_scorer,
    profit,
    roi,
    savings_score,
    total_cost,
)


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


def test_scorers_and_score_count_what_a_model_with_prices_pays():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1]
    tree = CostTreeClassifier(feature_costs=[0.25]).fit(X, y, fp_cost=1, fn_cost=4)
    assert make_cost_scorer(total_cost, fp_cost=1, fn_cost=4)(tree, X, y) == -1.0
    assert make_cost_scorer(total_cost, fp_cost=1, fn_cost=4, acquisition_cost=0)(tree, X, y) == 0.0
    assert tree.score(X, y) == make_cost_scorer(savings_score, fp_cost=1, fn_cost=4)(tree, X, y) == pytest.approx(0.5)
