"""What members are made of: samples, features, pruning and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from ensembles import BY_CLASS_MEANS, SAMPLINGS, EachPositive, Remembering, assert_same_trees, bagging, nodes_of
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from stakes import CostBaggingClassifier, CostTreeClassifier, Decision
from stakes.exceptions import ClassMeansWarning
from stakes.sampling import SAMPLERS


def test_members_are_trees_on_bootstraps(holes: Any) -> None:
    """Each tree is the one that grows on the records of its sample alone."""
    sampler = Remembering()
    clf = bagging(sampling=sampler).fit(holes.X, holes.y)
    assert len(sampler.drawn) == len(clf.members_) == 6
    assert len({tuple(counts) for counts in sampler.drawn}) == 6
    trees = clf.members_.trees
    for j, counts in enumerate(sampler.drawn):
        assert counts.sum() == 240
        alone = CostTreeClassifier().fit(holes.X, holes.y, sample_weight=counts)
        mine = slice(trees.roots[j], trees.roots[j] + trees.sizes[j])
        # Thresholds are numbers of bins, and those of a single tree are of the records that count.
        for name in ("feature", "missing_left", "counts", "weights", "gain"):
            np.testing.assert_array_equal(getattr(nodes_of(clf), name)[mine], getattr(nodes_of(alone), name))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_classes_come_in_the_ratio_of_the_costs(sampling: str, large: Any) -> None:
    clf = bagging(sampling=sampling, n_estimators=4).fit(large.X, large.y, fp_cost=2.0, fn_cost=8.0)
    negative, positive = nodes_of(clf).counts[clf.members_.trees.roots].sum(axis=0) / 4
    asked = 4 * large.y.sum() / (1500 - large.y.sum())
    # Exactly but for rounding, or on average where records are drawn whatever their class.
    assert positive / negative == pytest.approx(asked, rel=0.005 if SAMPLERS[sampling].constant_costs_only else 0.1)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("presample", [False, True])
def test_samplings_work_with_categories_and_missing_values(
    sampling: str, presample: bool, mixed: pl.DataFrame, holes: Any
) -> None:
    for frame in (mixed, mixed.to_pandas()):
        clf = bagging(sampling=sampling, presample=presample).fit(frame, holes.y, fp_cost=1, fn_cost=3)
        assert len(clf.members_) == 6
        assert clf.score(frame, holes.y) > 0.3
    roots = nodes_of(clf).counts[clf.members_.trees.roots]
    if presample:  # bootstraps of one and the same training set
        assert len(set(roots.sum(axis=1))) == 1
        assert len(set(roots[:, 1])) > 1


def test_a_presampled_ensemble_bootstraps_one_sample(large: Any) -> None:
    clf = bagging(sampling="under", presample=True).fit(large.X, large.y, fp_cost=1, fn_cost=5)
    n_positive = large.y.sum()
    n_negative = round((1500 - n_positive) / 5)
    sizes = nodes_of(clf).counts[clf.members_.trees.roots].sum(axis=1)
    np.testing.assert_array_equal(sizes, n_positive + n_negative)
    seen = ~clf.validation_.out_of_bag
    # A negative that was cut away is in no member's sample, one that was kept in most.
    never = ~seen[large.y == 0].any(axis=1)
    assert abs(never.sum() - (1500 - n_positive - n_negative)) < 5
    assert seen[large.y == 1].mean() == pytest.approx(1 - np.exp(-1), abs=0.02)


def test_record_dependent_costs_are_reduced_with_one_warning_where_a_sampler_asks_for_it(small: Any) -> None:
    for sampling in SAMPLINGS:
        clf = bagging(sampling=sampling)
        if sampling == "cpr":
            clf.fit(small.X, small.y, **small.costs)  # warnings of this package are errors here
            continue
        with pytest.warns(ClassMeansWarning, match="replaced by their class means") as caught:
            clf.fit(small.X, small.y, **small.costs)
        assert len(caught) == 1


@pytest.mark.parametrize(
    ("options", "least"),
    [({}, 5), ({"weighted": True}, 5), ({"features": "per_split"}, 5), ({"sampling": "under"}, 1)],
    ids=str,
)
def test_leaves_have_five_records_where_nothing_is_sampled(options: dict[str, Any], least: int, holes: Any) -> None:
    ensemble = CostBaggingClassifier(n_estimators=6, random_state=0, **options)
    ensemble.fit(holes.X, holes.y, fp_cost=1, fn_cost=3)
    asked = bagging(CostTreeClassifier(min_samples_leaf=least), **options).fit(holes.X, holes.y, fp_cost=1, fn_cost=3)
    assert_same_trees(ensemble, asked)
    assert nodes_of(ensemble).counts.sum(axis=1).min() == least


def test_features_per_split_are_the_square_root_by_default(holes: Any) -> None:
    forest = bagging(features="per_split").fit(holes.X, holes.y)
    assert_same_trees(forest, bagging(CostTreeClassifier(max_features="sqrt")).fit(holes.X, holes.y))
    assert_same_trees(forest, bagging(CostTreeClassifier(max_features=2)).fit(holes.X, holes.y))
    asked = bagging(CostTreeClassifier(max_features=4), features="per_split").fit(holes.X, holes.y)
    assert_same_trees(asked, bagging(CostTreeClassifier(max_features=4)).fit(holes.X, holes.y))
    assert not np.array_equal(nodes_of(asked).feature[:5], nodes_of(forest).feature[:5])


@pytest.mark.parametrize(("max_features", "n"), [(None, 2), (3, 3), (0.2, 1), (1.0, 5)])
def test_features_per_tree_are_drawn_once_for_each(max_features: Any, n: int, holes: Any) -> None:
    clf = bagging(CostTreeClassifier(max_features=max_features), features="per_tree", n_estimators=40)
    clf.fit(holes.X, holes.y)
    trees = clf.members_.trees
    used = []
    for root, size in zip(trees.roots, trees.sizes, strict=True):
        feature = trees.nodes.feature[root : root + size]
        used.append(frozenset(feature[feature >= 0]))
    assert {len(features) for features in used} == {n}
    assert set().union(*used) == set(range(5))
    assert len(set(used)) > 1 or n == 5


def test_features_per_tree_are_drawn_for_other_classifiers_too(mixed: pl.DataFrame, small: Any) -> None:
    clf = bagging(GaussianNB(), features="per_tree").fit(small.X, small.y)
    assert [model.n_features_in_ for model in clf.estimators_] == [2] * 6
    p = np.mean(
        [m.predict_proba(small.X[:, c])[:, 1] for m, c in zip(clf.estimators_, clf.members_.columns, strict=True)],
        axis=0,
    )
    np.testing.assert_allclose(clf.predict_proba(small.X)[:, 1], p)


def test_members_are_pruned_on_records_that_they_have_not_seen(holes: Any) -> None:
    """Out of the bag; or those held out; or those given; or all."""
    tree = CostTreeClassifier(pruning="reduced_error")
    sampler = Remembering()
    clf = bagging(tree, sampling=sampler).fit(holes.X, holes.y)
    for j, counts in enumerate(sampler.drawn):
        rest = counts == 0
        alone = clone(tree).fit(holes.X, holes.y, sample_weight=counts, X_val=holes.X[rest], y_val=holes.y[rest])
        assert clf.members_.trees.sizes[j] == nodes_of(alone).feature.size
    on_training = bagging(tree, validation=None, sampling=Remembering()).fit(holes.X, holes.y)
    for j, counts in enumerate(sampler.drawn):
        alone = clone(tree).fit(holes.X, holes.y, sample_weight=counts, X_val=holes.X, y_val=holes.y)
        assert on_training.members_.trees.sizes[j] == nodes_of(alone).feature.size


@pytest.mark.parametrize("validation", ["auto", 0.3, None])
def test_pruning_does_not_go_by_one_class_where_sampling_leaves_out_one_only(validation: Any, large: Any) -> None:
    tree = CostTreeClassifier(pruning="reduced_error")
    clf = bagging(tree, sampling="under", validation=validation).fit(large.X, large.y, fp_cost=1, fn_cost=3)
    assert (clf.members_.trees.sizes > 1).all()
    assert 0.2 < clf.predict(large.X).mean() < 0.8


# Weights


def test_weights_are_costs_normalised_within_each_sample(holes: Any) -> None:
    sampler = Remembering()
    clf = bagging(sampling=sampler, weighted=True).fit(holes.X, holes.y, **holes.costs)
    cost = np.where(holes.y == 1, holes.fn, holes.fp)
    trees = clf.members_.trees
    for j, counts in enumerate(sampler.drawn):
        shares = counts * cost / (counts @ cost)
        expected = np.bincount(holes.y, shares)
        np.testing.assert_allclose(nodes_of(clf).weights[trees.roots[j]], expected)
        np.testing.assert_array_equal(nodes_of(clf).counts[trees.roots[j]], np.bincount(holes.y, counts))


def test_a_weighted_ensemble_votes_by_the_mean_weight_in_the_leaf(holes: Any, fresh: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), weighted=True).fit(holes.X, holes.y, **holes.costs)
    trees, ids = clf.members_.trees, clf.members_.trees.apply(clf._read(fresh.X, reset=False))
    for i, row in enumerate(ids):
        ayes = total = 0.0
        for leaf in row:
            (negative, positive), n = (
                trees.nodes.weights[trees.leaves[leaf]],
                trees.nodes.counts[trees.leaves[leaf]].sum(),
            )
            total += (negative + positive) / n
            ayes += (negative + positive) / n if positive > negative else 0.0
        assert clf.predict_proba(fresh.X[i : i + 1])[0, 1] == pytest.approx(ayes / total)
    assert clf.decision_ == Decision()
    same = clf.with_decision(Decision(vote_weight="node")).predict_proba(fresh.X)
    np.testing.assert_array_equal(same, clf.predict_proba(fresh.X))


def test_sample_weights_and_cost_weights_multiply(holes: Any) -> None:
    weight = 1.0 + np.arange(240) % 3
    repeated = holes.take(np.repeat(np.arange(240), weight.astype(int)))
    tree = CostTreeClassifier(max_depth=4)
    told = bagging(tree, sampling=EachPositive(1), weighted=True, n_estimators=1)
    told.fit(repeated.X, repeated.y, **repeated.costs)
    for unit in (1.0, 0.3):  # whole weights are repetitions, others take another path
        clf = clone(told).fit(holes.X, holes.y, **holes.costs, sample_weight=unit * weight)
        np.testing.assert_allclose(nodes_of(clf).weights[0].sum(), 1.0)
        one, other = (
            (leaves.probability("frequency")[ids], leaves.mean_weight[ids])
            for leaves, ids in (
                (c.members_.leaves, c.members_.trees.apply(c._read(holes.X, reset=False))) for c in (clf, told)
            )
        )
        np.testing.assert_allclose(one[0], other[0], rtol=1e-6)
        np.testing.assert_allclose(unit * one[1], other[1], rtol=1e-6)


@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(240) % 3])
def test_weights_of_models_have_a_mean_of_one_besides_those_of_the_records(weight: Any, small: Any) -> None:
    sampler, times = Remembering(), np.ones(240) if weight is None else weight
    clf = bagging(LogisticRegression(), sampling=sampler, weighted=True)
    clf.fit(small.X, small.y, **small.costs, sample_weight=weight)
    cost = times * np.where(small.y == 1, small.fn, small.fp)
    for model, counts in zip(clf.estimators_, sampler.drawn, strict=True):
        # Its penalty weighs the more, the smaller the weights are.
        alone = LogisticRegression().fit(small.X, small.y, counts * cost * (counts @ times) / (counts @ cost))
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-3)


@BY_CLASS_MEANS
@pytest.mark.parametrize("swapped", [False, True], ids=["positives", "negatives"])
@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(240) % 3])
def test_synthetic_records_weigh_and_cost_the_mean_of_their_class(weight: Any, swapped: bool, small: Any) -> None:
    y = 1 - small.y if swapped else small.y
    fp, fn = (small.fn, small.fp) if swapped else (small.fp, small.fn)
    times = np.ones(240) if weight is None else weight
    amount = times * np.where(y == 1, fn, fp)
    dearer, other = small.y == 1, small.y == 0
    n_new = round(dearer.sum() * small.fn[dearer].mean() / small.fp[other].mean()) - dearer.sum()
    # A synthetic record counts the mean of its class, and costs the mean.
    new = times[dearer].mean() * small.fn[dearer].mean()
    options = {"sampling": "smote", "n_estimators": 1}
    fit = {"X": small.X, "y": y, "fp_cost": fp, "fn_cost": fn, "sample_weight": weight}
    tree = bagging(CostTreeClassifier(criterion="cost"), **options).fit(**fit)
    expected = np.bincount(y, amount)
    expected[int(not swapped)] += n_new * new
    np.testing.assert_allclose(nodes_of(tree).weights[0], expected)
    weighted = bagging(weighted=True, **options).fit(**fit)
    np.testing.assert_allclose(nodes_of(weighted).weights[0], expected / expected.sum())
    model = bagging(GaussianNB(), weighted=True, **options).fit(**fit)
    np.testing.assert_allclose(model.estimators_[0].class_prior_, expected / expected.sum())


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_costs_of_zero_are_legal(estimator: Any, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    nothing = bagging(estimator, weighted=True).fit(small.X, small.y, fp_cost=0, fn_cost=0)
    plain = bagging(estimator).fit(small.X, small.y).with_decision(nothing.with_decision(None).decision_)
    assert np.isfinite(nothing.predict_proba(X)).all()
    if estimator is not None:
        np.testing.assert_allclose(nothing.predict_proba(X), plain.predict_proba(X))
    # Records on one side of a line cost nothing.
    side = small.X[:, 3] > 0
    some = bagging(estimator, weighted=True).fit(small.X, small.y, fp_cost=1.0 * side, fn_cost=5.0 * side)
    assert np.isfinite(some.predict_proba(X)).all()
