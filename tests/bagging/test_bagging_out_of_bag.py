"""Out-of-bag money, importances, and the prior correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ensembles import VOTE, EachPositive, Remembering, bagging
from imblearn.over_sampling import RandomOverSampler
from sklearn.naive_bayes import GaussianNB

from stakes import CostTreeClassifier, Decision
from stakes.metrics import savings_score, total_cost


@pytest.mark.parametrize("decision", [None, VOTE, Decision(threshold="tuned")])
@pytest.mark.parametrize("weights", [False, True])
def test_out_of_bag_money_is_that_of_members_that_have_not_seen_the_record(
    decision: Decision | None, weights: bool, holes: Any
) -> None:
    sampler = Remembering()
    weight = 1.0 + np.arange(240) % 3 if weights else np.ones(240)
    clf = bagging(CostTreeClassifier(max_depth=3), sampling=sampler, decision=decision)
    clf.fit(holes.X, holes.y, **holes.costs, sample_weight=weight if weights else None)
    p = clf.members_.leaves.probability("frequency")[clf.members_.trees.apply(clf._read(holes.X, reset=False))]
    label = clf.members_.leaves.label[clf.members_.trees.apply(clf._read(holes.X, reset=False))]
    rows, outcomes = [], []
    for i in range(240):
        judges = [j for j, counts in enumerate(sampler.drawn) if counts[i] == 0]
        if not judges:
            continue
        rows.append(i)
        average, share, fp, fn = p[i, judges].mean(), label[i, judges].mean(), holes.fp[i], holes.fn[i]
        if decision is None:
            outcomes.append(average > fp / (fp + fn))
        elif decision == VOTE:
            outcomes.append(share > 0.5)
        else:
            outcomes.append(average > clf.cut_.thresholds())
    assert 150 < len(rows) < 240
    costs = {"fp_cost": holes.fp[rows], "fn_cost": holes.fn[rows], "sample_weight": weight[rows]}
    predicted = np.array(outcomes).astype(int)
    assert clf.oob_cost_ == pytest.approx(total_cost(holes.y[rows], predicted, **costs))
    assert clf.oob_savings_ == pytest.approx(savings_score(holes.y[rows], predicted, **costs))
    np.testing.assert_array_equal(clf.predict_oob()[rows], predicted)


def test_out_of_bag_money_follows_the_decision_in_force(holes: Any) -> None:
    clf = bagging(n_estimators=25).fit(holes.X, holes.y, **holes.costs)
    half = clf.with_decision(Decision())
    assert half.oob_cost_ > clf.oob_cost_ > 0
    assert clf.oob_savings_ > half.oob_savings_


def test_without_records_out_of_the_bag_there_is_no_such_money(holes: Any, fresh: Any) -> None:
    explicit = {"X_val": fresh.X, "y_val": fresh.y}
    for clf in (
        bagging(sampling="over").fit(holes.X, holes.y, fn_cost=3),
        bagging(sampling="under").fit(holes.X, holes.y, fn_cost=3),
        bagging(validation=0.2).fit(holes.X, holes.y),
        bagging(validation=None).fit(holes.X, holes.y),
        bagging().fit(holes.X, holes.y, **explicit),
    ):
        assert not hasattr(clf, "oob_cost_")
        with pytest.raises(AttributeError, match="no out-of-bag records of both classes"):
            clf.oob_savings_  # noqa: B018


@pytest.mark.parametrize("sampling", ["under", "over", "smote"])
def test_out_of_bag_validation_where_nothing_is_left_out_is_an_error(sampling: str, holes: Any, fresh: Any) -> None:
    clf = bagging(sampling=sampling, validation="oob")
    with pytest.raises(ValueError, match=r"validation='oob' needs records of both classes.*fraction.*X_val"):
        clf.fit(holes.X, holes.y, fn_cost=3)
    clf.fit(holes.X, holes.y, fn_cost=3, X_val=fresh.X, y_val=fresh.y)  # the way out
    presampled = bagging(sampling=sampling, validation="oob", presample=True).fit(holes.X, holes.y, fn_cost=3)
    assert presampled.oob_cost_ > 0


@pytest.mark.parametrize("sampling", ["over", "hybrid", RandomOverSampler()], ids=str)
def test_repeated_records_are_no_fair_sample_when_out_of_the_bag(sampling: Any, large: Any) -> None:
    """Of 50 copies of a record a bootstrap has some: nearly no negative is out of the bag, but every positive."""
    tuned = Decision(threshold="tuned")
    clf = bagging(CostTreeClassifier(max_depth=4), sampling=sampling, presample=True, decision=tuned)
    clf.fit(large.X, large.y, fp_cost=50.0, fn_cost=1.0)
    assert clf.validation_.out_of_bag is None
    assert clf.predict(large.X).mean() < 0.1
    assert not hasattr(clf, "oob_cost_")


@pytest.mark.parametrize("sampling", ["under", "cpr", "smote"])
def test_a_bootstrap_of_a_sample_leaves_out_records_of_both_classes(sampling: str, large: Any) -> None:
    clf = bagging(sampling=sampling, presample=True, n_estimators=10).fit(large.X, large.y, fp_cost=5.0, fn_cost=1.0)
    out = clf.validation_.out_of_bag.any(axis=1)
    assert out[large.y == 0].mean() > 0.9
    assert out[large.y == 1].mean() > 0.9
    assert clf.oob_cost_ > 0


@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_a_fifth_is_held_out_where_tuning_needs_it_and_nothing_is_out_of_the_bag(sampling: str, holes: Any) -> None:
    tuned = bagging(sampling=sampling, decision=Decision(threshold="tuned")).fit(holes.X, holes.y, fn_cost=3)
    assert len(tuned.validation_.records) == 48
    assert tuned.validation_.out_of_bag is None


# Importances


def test_importances_are_the_mean_gain_of_the_trees(holes: Any) -> None:
    clf = bagging().fit(holes.X, holes.y)
    trees = clf.members_.trees
    gains = np.zeros(5)
    for feature, gain in zip(trees.nodes.feature, trees.nodes.gain, strict=True):
        if feature >= 0:
            gains[feature] += gain
    np.testing.assert_allclose(clf.feature_importances_, gains / gains.sum())


def test_importances_of_cost_trees_are_money_saved_per_tree(holes: Any) -> None:
    sampler = Remembering()
    clf = bagging(CostTreeClassifier(criterion="cost", max_depth=4), sampling=sampler)
    clf.fit(holes.X, holes.y, **holes.costs)
    trees, cost = clf.members_.trees, np.where(holes.y == 1, holes.fn, holes.fp)
    ids = trees.apply(clf._read(holes.X, reset=False))
    saved = []
    for j, counts in enumerate(sampler.drawn):

        def cheaper(rows: Any, counts: Any = counts) -> float:
            return min((counts * cost)[rows & (holes.y == side)].sum() for side in (0, 1))

        spent = sum(cheaper(ids[:, j] == leaf) for leaf in np.unique(ids[:, j]))
        saved.append(cheaper(np.ones(240, bool)) - spent)
    assert clf.feature_importances_.sum() == pytest.approx(np.mean(saved))


def test_only_ensembles_of_trees_have_importances(small: Any) -> None:
    assert not hasattr(bagging(GaussianNB()).fit(small.X, small.y), "feature_importances_")


# Prior correction


def test_the_prior_correction_is_exact_for_trees() -> None:
    """Leaves of a known share of positives, every positive three times: the share comes back."""
    X = np.repeat(np.arange(4.0), 40).reshape(-1, 1)
    y = np.concatenate([np.arange(40) < k for k in (2, 10, 20, 38)]).astype(int)
    options = {"sampling": EachPositive(3), "n_estimators": 2}
    sampled = bagging(**options).fit(X, y)
    corrected = bagging(**options, prior_correction=True).fit(X, y)
    at = np.arange(4.0).reshape(-1, 1)
    true = np.array([2, 10, 20, 38]) / 40
    np.testing.assert_allclose(sampled.predict_proba(at)[:, 1], 3 * true / (3 * true + 1 - true))
    np.testing.assert_allclose(corrected.predict_proba(at)[:, 1], true)
    # With sample weights too: half of each kind of record is as if it was not there.
    weight = np.where(np.arange(160) % 2 == 0, 1.5, 0.5)
    weighed = bagging(**options, prior_correction=True).fit(X, y, sample_weight=weight)
    shares = [np.average(y[k : k + 40], weights=weight[k : k + 40]) for k in (0, 40, 80, 120)]
    np.testing.assert_allclose(weighed.predict_proba(at)[:, 1], shares)


def test_the_prior_correction_is_exact_for_naive_bayes(small: Any) -> None:
    """More positives change nothing in naive Bayes but its prior."""
    corrected = bagging(GaussianNB(), sampling=EachPositive(4), n_estimators=2, prior_correction=True)
    corrected.fit(small.X, small.y)
    np.testing.assert_allclose(
        corrected.predict_proba(small.X), GaussianNB().fit(small.X, small.y).predict_proba(small.X)
    )


def test_the_prior_correction_acts_on_trees_of_pure_leaves_too(large: Any, large_fresh: Any) -> None:
    """The mean is corrected: the 0 and 1 of pure leaves cannot be."""
    options = {"sampling": "under", "n_estimators": 30}
    sampled = bagging(**options).fit(large.X, large.y, fn_cost=4.0).predict_proba(large_fresh.X)[:, 1]
    clf = bagging(**options, prior_correction=True).fit(large.X, large.y, fn_cost=4.0)
    p = clf.predict_proba(large_fresh.X)[:, 1]
    between = (sampled > 0) & (sampled < 1)
    p_in, s_in = p[between], sampled[between]
    np.testing.assert_allclose(p_in / (1 - p_in), s_in / (1 - s_in) / 4, rtol=0.01)
    assert abs(p.mean() - large_fresh.y.mean()) < abs(sampled.mean() - large_fresh.y.mean())


def test_the_correction_of_weighted_trees_counts_records(small: Any) -> None:
    weighted = bagging(CostTreeClassifier(max_depth=2), weighted=True, prior_correction=True)
    weighted.fit(small.X, small.y, fn_cost=9.0)
    nodes, at = weighted.members_.trees.nodes, weighted.members_.trees.leaves
    share = nodes.counts[at, 1] / nodes.counts[at].sum(axis=1)
    np.testing.assert_allclose(weighted.members_.leaves.probability("frequency"), share)
    assert (nodes.weights[at, 1] / nodes.weights[at].sum(axis=1) > share + 0.1).any()
    assert weighted.decision_ == Decision(threshold="cost")


def test_weights_of_other_models_cannot_be_corrected_for(small: Any) -> None:
    with pytest.raises(ValueError, match="prior_correction=True is about samples"):
        bagging(GaussianNB(), weighted=True, prior_correction=True).fit(small.X, small.y)
