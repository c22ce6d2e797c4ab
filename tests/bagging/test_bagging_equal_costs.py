"""With equal costs nearly every cost-sensitive ensemble is its plain counterpart (FRAMEWORK 3, 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ensembles import VOTE, assert_same_trees, bagging, nodes_of
from sklearn.linear_model import LogisticRegression

from stakes import CostTreeClassifier, Decision


@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
@pytest.mark.parametrize("cost", [1.0, 7.0])
def test_with_equal_costs_cpr_is_plain_bagging(features: str, cost: float, holes: Any) -> None:
    plain = bagging(features=features).fit(holes.X, holes.y)
    costing = bagging(features=features, sampling="cpr").fit(holes.X, holes.y, fp_cost=cost, fn_cost=cost)
    assert_same_trees(plain, costing)
    every = np.full(240, cost)
    assert_same_trees(
        plain, bagging(features=features, sampling="cpr").fit(holes.X, holes.y, fp_cost=every, fn_cost=every)
    )
    np.testing.assert_array_equal(plain.predict(holes.X), costing.predict(holes.X))


@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_with_equal_costs_presampling_is_plain_bagging(sampling: str, features: str, holes: Any) -> None:
    plain = bagging(features=features).fit(holes.X, holes.y)
    presampled = bagging(features=features, sampling=sampling, presample=True).fit(
        holes.X, holes.y, fp_cost=3, fn_cost=3
    )
    assert_same_trees(plain, presampled)
    np.testing.assert_array_equal(plain.predict(holes.X), presampled.predict(holes.X))


@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
def test_with_equal_costs_weights_change_nothing_but_the_size_of_votes(features: str, holes: Any, fresh: Any) -> None:
    plain = bagging(features=features).fit(holes.X, holes.y)
    weighted = bagging(features=features, weighted=True).fit(holes.X, holes.y, fp_cost=3, fn_cost=3)
    assert_same_trees(plain, weighted, but=("weights", "gain"))
    np.testing.assert_allclose(nodes_of(weighted).weights * 240, nodes_of(plain).weights)
    np.testing.assert_allclose(
        weighted.with_decision(Decision(output="average")).predict_proba(fresh.X), plain.predict_proba(fresh.X)
    )
    # All records weigh the same, and so do all votes.
    np.testing.assert_allclose(weighted.predict_proba(fresh.X), plain.with_decision(VOTE).predict_proba(fresh.X))


@pytest.mark.parametrize("pruning", ["reduced_error", "cost_complexity"])
@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
def test_with_equal_costs_pruning_by_cost_is_pruning_by_error(
    pruning: str, features: str, holes: Any, fresh: Any
) -> None:
    by_error, by_cost = (
        bagging(CostTreeClassifier(pruning=pruning, pruning_measure=measure), features=features).fit(
            holes.X, holes.y, fp_cost=3, fn_cost=3
        )
        for measure in ("error", "cost")
    )
    assert_same_trees(by_error, by_cost, but=("weights",))
    np.testing.assert_array_equal(by_cost.predict(fresh.X), by_error.with_decision(VOTE).predict(fresh.X))


def test_with_equal_costs_cost_splitting_counts_errors(holes: Any) -> None:
    """Whatever the currency, the gain of a split is the number of records it puts right."""
    one, three = (
        bagging(CostTreeClassifier(criterion="cost")).fit(holes.X, holes.y, fp_cost=c, fn_cost=c) for c in (1, 3)
    )
    assert_same_trees(one, three, but=("weights", "gain"))
    np.testing.assert_array_equal(nodes_of(one).weights, nodes_of(one).counts)
    np.testing.assert_allclose(nodes_of(three).gain, 3 * nodes_of(one).gain)
    wrong = nodes_of(one).counts.min(axis=1)
    split = nodes_of(one).feature >= 0
    left = nodes_of(one).left[split]
    np.testing.assert_allclose(nodes_of(one).gain[split], wrong[split] - wrong[left] - wrong[left + 1], atol=1e-9)


@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_with_equal_costs_samplers_by_ratio_draw_bootstraps(sampling: str, features: str, holes: Any) -> None:
    """Each sample would be all records, and all members alike."""
    plain = bagging(features=features).fit(holes.X, holes.y)
    equal = bagging(features=features, sampling=sampling).fit(holes.X, holes.y, fp_cost=3, fn_cost=3)
    assert_same_trees(plain, equal)
    roots = nodes_of(equal).counts[equal.members_.trees.roots]
    assert len({tuple(counts) for counts in roots.tolist()}) > 1
    # As large a class as rounding leaves it is no reason to draw all records, either.
    nearly = bagging(features=features, sampling=sampling).fit(holes.X, holes.y, fp_cost=3, fn_cost=3.0001)
    assert_same_trees(plain, nearly)


def test_with_equal_costs_members_that_are_other_classifiers_differ(small: Any) -> None:
    clf = bagging(LogisticRegression(), sampling="under").fit(small.X, small.y)
    assert len({model.coef_.tobytes() for model in clf.estimators_}) == len(clf.estimators_)


@pytest.mark.parametrize("presample", [False, True])
@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_the_share_acted_on_grows_across_equal_costs(
    sampling: str, presample: bool, large: Any, large_fresh: Any
) -> None:
    def share(ratio: float) -> float:
        clf = bagging(sampling=sampling, presample=presample, n_estimators=30)
        return float(clf.fit(large.X, large.y, fp_cost=1.0, fn_cost=ratio).predict(large_fresh.X).mean())

    less, equal, more = (share(ratio) for ratio in (0.6, 1.0, 1.6))
    assert less + 0.01 < equal < more - 0.01, (less, equal, more)


def test_with_equal_costs_decisions_by_cost_are_those_at_one_half(holes: Any, fresh: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), n_estimators=7).fit(holes.X, holes.y, fp_cost=3, fn_cost=3)

    def decide(**choices: str) -> Any:
        return clf.with_decision(Decision(**choices)).predict(fresh.X)

    np.testing.assert_array_equal(decide(threshold="cost"), decide(threshold="half"))
    np.testing.assert_array_equal(decide(output="vote", threshold="cost"), decide(output="vote"))
    np.testing.assert_array_equal(decide(member="cost", leaf="frequency"), decide(member="label", output="vote"))


@pytest.mark.parametrize("weighted", [False, True])
def test_with_equal_costs_other_classifiers_see_no_weights(weighted: bool, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    plain = bagging(LogisticRegression()).fit(small.X, small.y)
    equal = bagging(LogisticRegression(), weighted=weighted, sampling=None if weighted else "cpr")
    equal.fit(small.X, small.y, fp_cost=9, fn_cost=9)
    np.testing.assert_allclose(equal.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
