"""Estimators inside estimators: their seeds, and the costs that reach them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostTeamClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
    decisions_for,
)
from stakes._random import seeded
from stakes.encoded import EncodedClassifier
from stakes.exceptions import DecisionError, NoEffectWarning


def random_tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_features=1, splitter="random")


def boosted() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=3, max_features=0.3, early_stopping=True)


SEEDED = {
    "a pipeline decides": CostDecisionClassifier(make_pipeline(StandardScaler(), random_tree())),
    "an encoder decides": CostDecisionClassifier(EncodedClassifier(boosted())),
    "a calibrated classifier decides": CostDecisionClassifier(
        CalibratedClassifierCV(random_tree(), cv=2), random_state=0
    ),
    "bagging of pipelines": CostBaggingClassifier(
        make_pipeline(StandardScaler(), random_tree()), n_estimators=3, random_state=0
    ),
    "bagging of bagging": CostBaggingClassifier(BaggingClassifier(random_tree(), 2), n_estimators=3),
    "boosting of encoders": CostBoostClassifier(EncodedClassifier(boosted()), n_estimators=2),
    "MetaCost": MetaCostClassifier(
        CostBaggingClassifier(RandomForestClassifier(3), n_estimators=2),
        final_estimator=make_pipeline(StandardScaler(), random_tree()),
    ),
    "bagging of MetaCost": CostBaggingClassifier(
        MetaCostClassifier(CostTreeClassifier(max_features=1), final_estimator=random_tree()),
        n_estimators=2,
    ),
}


@pytest.mark.parametrize("name", SEEDED)
def test_equal_fits_give_equal_probabilities(name: str, large: Any, fresh: Any) -> None:
    def probability(seed: int) -> Any:
        model = clone(SEEDED[name]).set_params(random_state=seed)
        return model.fit(large.X, large.y).predict_proba(np.nan_to_num(fresh.X))

    np.testing.assert_array_equal(probability(0), probability(0))
    assert (probability(0) != probability(1)).any()


def test_a_seed_of_the_users_stays_and_all_others_are_drawn() -> None:
    model = make_pipeline(RandomForestClassifier(), CalibratedClassifierCV(DecisionTreeClassifier(random_state=7)))
    params = seeded(model, np.random.default_rng(0)).get_params()
    assert params["calibratedclassifiercv__estimator__random_state"] == 7
    assert isinstance(params["randomforestclassifier__random_state"], int)
    assert model.get_params()["randomforestclassifier__random_state"] is None
    overruled = seeded(model, np.random.default_rng(0), overrule=True).get_params()
    assert overruled["calibratedclassifiercv__estimator__random_state"] != 7


# Costs


@pytest.mark.parametrize("variant", ["naive", "asymmetric"])
@pytest.mark.parametrize("constant", [True, False])
def test_members_that_take_costs_get_those_of_their_sample(variant: str, constant: bool, large: Any) -> None:
    costs = {"fp_cost": 1.0, "fn_cost": 4.0} if constant else {"fp_cost": large.fp, "fn_cost": 4 * large.fn}
    members = CostBoostClassifier(variant=variant, n_estimators=5)
    clf = CostBaggingClassifier(members, n_estimators=3).fit(large.X, large.y, **costs)
    blind = CostBaggingClassifier(
        CostBoostClassifier(n_estimators=5, decision=Decision()), n_estimators=3, random_state=0
    ).fit(large.X, large.y)
    # Costs act in the members, and so not once more in the decision.
    assert clf.decision_ == Decision(threshold="half")
    assert clf.predict(large.X).mean() > blind.with_decision(Decision()).predict(large.X).mean() + 0.1
    if constant:
        assert clf.estimators_[0].constant_costs_["fn_cost"] == 4.0


TAKE_COSTS = {
    "bagging": CostBaggingClassifier(CostBoostClassifier(variant="adacost", n_estimators=10), n_estimators=3),
    "bagging of pipelines": CostBaggingClassifier(
        make_pipeline(StandardScaler(), CostBoostClassifier(variant="naive", n_estimators=10)), n_estimators=3
    ),
    "boosting": CostBoostClassifier(CostBoostClassifier(variant="adacost", n_estimators=10), n_estimators=3),
    "a team of pipelines": CostTeamClassifier(
        [("one", make_pipeline(StandardScaler(), CostBoostClassifier(variant="naive", n_estimators=10)))], cv=2
    ),
}


@pytest.mark.parametrize("name", TAKE_COSTS)
def test_costs_are_those_of_the_ensembles_positives_in_its_members_too(name: str, large: Any, fresh: Any) -> None:
    costs = {"fp_cost": large.fp, "fn_cost": 5 * large.fn}
    classifier = clone(TAKE_COSTS[name]).set_params(random_state=0)
    straight = clone(classifier).fit(large.X, large.y, **costs)
    mirrored = clone(classifier).set_params(pos_label=0).fit(large.X, 1 - large.y, **costs)
    expected, found = (clf.predict_proba(fresh.X) for clf in (straight, mirrored))
    np.testing.assert_allclose(found[:, 0], expected[:, 1], atol=1e-9)


@pytest.mark.parametrize("options", [{"sampling": "under"}, {"sampling": "cpr"}, {"weighted": True}], ids=str)
def test_costs_that_act_in_the_sample_are_not_counted_again_by_its_member(options: Any, large: Any) -> None:
    clf = CostBaggingClassifier(
        CostBoostClassifier(variant="naive", n_estimators=3), n_estimators=2, random_state=0, **options
    ).fit(large.X, large.y, fp_cost=1.0, fn_cost=4.0)
    assert clf.estimators_[0].constant_costs_["fn_cost"] == 1.0
    assert clf.decision_ == Decision(threshold="half")


@pytest.mark.parametrize("y", [(0, 1), ("no", "yes")], ids=str)
@pytest.mark.parametrize(
    "member",
    [
        make_pipeline(StandardScaler(), CostBoostClassifier(variant="naive", n_estimators=5)),
        make_pipeline(StandardScaler(), make_pipeline(CostBaggingClassifier(n_estimators=3, sampling="cpr"))),
        MetaCostClassifier(CostTreeClassifier(max_depth=3)),
    ],
    ids=["a pipeline", "a pipeline in a pipeline", "MetaCost"],
)
def test_costs_that_acted_in_members_are_not_counted_again_however_deep(member: Any, y: Any, large: Any) -> None:
    X, labels = np.nan_to_num(large.X), np.where(large.y == 1, y[1], y[0])
    clf = CostBaggingClassifier(member, n_estimators=2, random_state=0)
    clf.fit(X, labels, fp_cost=large.fp, fn_cost=4 * large.fn)
    assert clf.decision_ == Decision(threshold="half")


def test_members_whose_probabilities_are_free_of_costs_are_decided_by_cost(large: Any) -> None:
    clf = CostBaggingClassifier(CostBoostClassifier(n_estimators=5), n_estimators=2)
    clf.fit(large.X, large.y, fp_cost=1.0, fn_cost=4.0)
    assert clf.decision_ == Decision(threshold="cost")


def test_out_of_bag_decisions_go_by_estimated_costs_and_are_charged_by_real_ones(large: Any) -> None:
    rng = np.random.default_rng(0)
    fn = np.exp(rng.normal(1, 1.5, len(large.y)))  # nothing in X tells it
    clf = CostBaggingClassifier(n_estimators=20, cost_estimator=DecisionTreeRegressor(random_state=0))
    clf.fit(large.X, large.y, fp_cost=2.0, fn_cost=fn)
    records = clf.validation_.records
    np.testing.assert_array_equal(records.costs.fn, fn)
    # Out of fold: a tree that knows each record by heart does not know its cost.
    assert abs(np.corrcoef(records.known.fn, fn)[0, 1]) < 0.2
    readings, _ = clf.read_validation([clf.decision_])
    acted = clf.cut_.scores(readings)[readings.known] > records.known[readings.known].threshold()
    wrong = acted != (large.y == 1)[readings.known]
    assert clf.oob_cost_ == pytest.approx(records.cost[readings.known][wrong].sum())


def test_given_validation_records_are_decided_by_estimates_too(large: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    tree = CostTreeClassifier(max_depth=2, cost_estimator=LinearRegression(), decision=Decision(threshold="tuned"))
    tree.fit(large.X, large.y, fp_cost=1.0, fn_cost=large.fn, X_val=X, y_val=fresh.y, fn_cost_val=fresh.fn)
    records = tree.validation_.records
    np.testing.assert_array_equal(records.costs.fn, fresh.fn)
    expected = np.maximum(LinearRegression().fit(large.X, large.fn).predict(X), 0)
    np.testing.assert_allclose(records.known.fn, expected)


# What has no effect, or no meaning


def test_members_without_probabilities_cannot_vote_by_them(small: Any) -> None:
    clf = CostBaggingClassifier(SVC(), n_estimators=2, random_state=0).fit(small.X, small.y, fp_cost=1.0, fn_cost=4.0)
    for member in ("cost", "tuned"):
        with pytest.raises(DecisionError, match=f"member='{member}' needs members with probabilities"):
            clf.with_decision(Decision(member=member))
    clf.evaluate([option.decision for option in decisions_for(clf)], small.X)
    with pytest.raises(DecisionError, match="needs members with probabilities"):
        CostBaggingClassifier(SVC(), n_estimators=2, decision=Decision(member="cost")).fit(small.X, small.y)


def test_a_leaf_that_the_decision_overrules_is_warned_about(small: Any) -> None:
    tree = CostTreeClassifier(leaf="laplace", decision=Decision(threshold="cost"))
    with pytest.warns(NoEffectWarning, match=r"write Decision\(leaf='laplace', ...\)"):
        tree.fit(small.X, small.y)
    tree.set_params(decision=Decision(leaf="laplace", threshold="cost")).fit(small.X, small.y)
    for ensemble in (CostBaggingClassifier, CostBoostClassifier):
        with pytest.warns(NoEffectWarning, match="leaf='laplace' has no effect"):
            ensemble(CostTreeClassifier(leaf="laplace"), n_estimators=2, decision=Decision()).fit(small.X, small.y)


@pytest.mark.parametrize("ensemble", [CostBaggingClassifier, CostBoostClassifier])
def test_parameters_of_a_member_tree_that_are_the_ensembles_are_warned_about(ensemble: Any, small: Any) -> None:
    for params, message in (
        ({"decision": Decision()}, "decision of the member tree has no effect: give it to Cost"),
        ({"fp_cost": 2.0, "fn_cost": 3.0}, "fp_cost, fn_cost of the member tree have no effect: give them to Cost"),
    ):
        with pytest.warns(NoEffectWarning, match=message):
            ensemble(CostTreeClassifier(**params), n_estimators=2).fit(small.X, small.y)
