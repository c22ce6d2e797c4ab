"""Extremely randomised trees: where cuts fall, and what is made of them."""

import numpy as np
import pytest
from grown_trees import WEIGHTS, criteria, make_noisy
from reference import grow_tree, nested, table_of
from scipy.stats import chisquare
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import ExtraTreeClassifier

from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier
from stakes.tree.binning import Binning
from stakes.tree.trees import Trees

N_SEEDS = 2000


def binned(*columns):
    table = table_of(columns)
    binning = Binning().fit(table)
    return binning.transform(table), binning.feature_bins_


def stumps(bins, space, y, **how):
    """Return the roots of trees by many seeds."""
    return [grow_tree(bins, space, y, max_depth=1, random_cuts=True, seed=seed, **how) for seed in range(N_SEEDS)]


def assert_occurs(seen, expected):
    """Check counts of events against their probabilities; a right one fails once in 10,000 times."""
    counts = np.array([sum(s == event for s in seen) for event in expected])
    assert counts.sum() == len(seen)
    assert chisquare(counts, np.array(list(expected.values())) * len(seen)).pvalue > 1e-4


VALUES = np.array([0.0, 1.0, 2.5, 10.0])
X1, Y1 = np.repeat(VALUES, 3), np.tile([0, 1, 1], 4)


@pytest.mark.parametrize("weight", [None, np.linspace(1, 2, 12)], ids=["counts", "weights"])
@pytest.mark.parametrize("copies", [1, 20], ids=["few records", "many"])
def test_thresholds_are_uniform_between_the_least_and_the_greatest_value(weight, copies):
    weight = None if weight is None else np.tile(weight, copies)
    bins, space = binned(np.tile(X1, copies))
    seen = [int(nodes.threshold[0]) for nodes in stumps(bins, space, np.tile(Y1, copies), weight=weight)]
    assert_occurs(seen, {1: 0.1, 2: 0.15, 3: 0.75})


def test_scikit_learns_thresholds_are_as_often_between_two_values():
    theirs = [ExtraTreeClassifier(max_depth=1, random_state=seed).fit(X1[:, None], Y1) for seed in range(500)]
    seen = [int(np.searchsorted(VALUES, tree.tree_.threshold[0])) for tree in theirs]
    assert_occurs(seen, {1: 0.1, 2: 0.15, 3: 0.75})


def test_a_child_has_its_own_least_and_greatest_value():
    bins, space = binned(X1)
    seen = []
    for seed in range(N_SEEDS):
        nodes = grow_tree(bins, space, Y1, max_depth=2, random_cuts=True, seed=seed)
        if nodes.threshold[0] == 3:  # 0, 1 and 2.5 on the left
            seen.append(int(nodes.threshold[nodes.left[0]]))
    assert_occurs(seen, {1: 0.4, 2: 0.6})


def test_all_cuts_between_categories_in_the_order_of_shares_are_equally_likely():
    column = np.array(["a"] * 4 + ["b"] * 4 + ["c"] * 4 + [None] * 4, dtype=object)
    y = np.array([1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1])  # b, c, a, missing
    bins, space = binned(column)
    seen = [int(nodes.categories_left[nodes.category_set[0], 0]) & 0b1111 for nodes in stumps(bins, space, y)]
    assert_occurs(seen, {0b0100: 1 / 3, 0b1100: 1 / 3, 0b1110: 1 / 3})


def test_missing_values_go_to_either_side_and_the_better_cut_is_made():
    rng = np.random.default_rng(0)
    columns, y = rng.choice([0, 1, np.nan], (2, 12)), rng.integers(0, 2, 12)
    bins, space = binned(*columns)

    def loss(feature, side):
        left = np.where(np.isnan(columns[feature]), side, columns[feature] == 0).astype(bool)
        return sum(2 * y[part].sum() * (1 - y[part]).sum() / part.sum() for part in (left, ~left))

    expected = {(feature, side): 0.0 for feature in (0, 1) for side in (0, 1)}
    for sides in ((0, 0), (0, 1), (1, 0), (1, 1)):
        losses = [loss(feature, sides[feature]) for feature in (0, 1)]
        assert losses[0] != losses[1]
        best = int(np.argmin(losses))
        expected[best, sides[best]] += 0.25
    seen = [(int(nodes.feature[0]), int(nodes.missing_left[0])) for nodes in stumps(bins, space, y)]
    assert_occurs(seen, {event: share for event, share in expected.items() if share})


@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", [60, 600])
def test_where_each_feature_has_one_cut_the_tree_is_that_of_the_best_cuts(criterion, weights, n):
    rng = np.random.default_rng(n)
    columns = [rng.integers(0, 2, n).astype(float) for _ in range(4)]
    columns.append(np.where(rng.random(n) < 0.3, np.nan, 7.0))
    columns.append(rng.choice(np.array(["a", "b"], dtype=object), n))
    y = (rng.random(n) < 0.2 + 0.5 * columns[0] * columns[1]).astype(int)
    weight = {"none": None, "whole": rng.integers(1, 5, n), "real": rng.random(n) + 0.1}[weights]
    bins, space = binned(*columns)
    how = {"criterion": criterion, "weight": weight, "multiplicity": rng.integers(0, 3, n)}
    best, drawn = (grow_tree(bins, space, y, random_cuts=cuts, seed=3, **how) for cuts in (False, True))
    assert nested(best) == nested(drawn)
    assert best.feature.size > 10


@criteria
def test_leaves_have_the_records_that_reach_them(criterion):
    rng = np.random.default_rng(0)
    numeric = rng.normal(size=(400, 3))
    numeric[rng.random((400, 3)) < 0.1] = np.nan
    category = rng.choice(np.array([*"abcdefg", None], dtype=object), 400)
    y = (np.nan_to_num(numeric[:, 0]) + rng.normal(size=400) > 0).astype(int)
    bins, space = binned(*numeric.T, category)
    nodes = grow_tree(bins, space, y, criterion=criterion, random_cuts=True, min_samples_leaf=3, max_features=2)
    trees = Trees.join([nodes])
    leaf = trees.leaves[trees.apply(bins)[:, 0]]
    for node in trees.leaves:
        np.testing.assert_array_equal(nodes.counts[node], np.bincount(y[leaf == node], minlength=2))
        assert nodes.counts[node].sum() >= 3
    assert trees.leaves.size > 20


def test_trees_depend_on_the_seed_alone():
    X, y, _ = make_noisy(0, 500, missing=True)
    tree = CostTreeClassifier(splitter="random")

    def shares(seed, n_jobs=1):
        forest = CostBaggingClassifier(tree, features="per_split", n_estimators=9, random_state=seed, n_jobs=n_jobs)
        return forest.fit(X, y).predict_proba(X)

    np.testing.assert_array_equal(shares(1), shares(1, n_jobs=2))
    assert (shares(1) != shares(2)).any()


def test_monotone_trees_are_monotone_with_cuts_at_random():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 1))
    y = (x[:, 0] + 2 * rng.normal(size=400) > 0).astype(int)
    for sign, monotone in ((1, True), (0, False)):
        tree = CostTreeClassifier(splitter="random", monotonic_cst=[sign], max_depth=4)
        forest = CostBaggingClassifier(tree, n_estimators=10, random_state=0).fit(x, y)
        assert forest.members_.trees.leaves.size > 30
        assert (np.diff(forest.predict_proba(np.sort(x, axis=0))[:, 1]) >= 0).all() == monotone


def test_boosted_stumps_draw_their_cuts():
    X, y, _ = make_noisy(0, 300)
    stump = CostTreeClassifier(max_depth=1, splitter="random")
    drawn, best = (
        CostBoostClassifier(s, n_estimators=5, random_state=0).fit(X, y)
        for s in (stump, CostTreeClassifier(max_depth=1))
    )
    assert (drawn.members_.trees.nodes.threshold != best.members_.trees.nodes.threshold).any()


@pytest.mark.parametrize("bootstrap", [False, True])
def test_forests_rank_as_well_as_scikit_learns_extra_trees(bootstrap):
    X, y, _ = make_noisy(0, 4000, d=12)
    train, test = slice(2000), slice(2000, None)
    theirs = ExtraTreesClassifier(100, min_samples_leaf=3, bootstrap=bootstrap, random_state=0)
    tree = CostTreeClassifier(splitter="random", min_samples_leaf=3)
    ours = CostBaggingClassifier(tree, features="per_split", bootstrap=bootstrap, random_state=0)
    areas = [roc_auc_score(y[test], f.fit(X[train], y[train]).predict_proba(X[test])[:, 1]) for f in (ours, theirs)]
    assert areas[0] == pytest.approx(areas[1], abs=0.01)


def test_other_splitters_are_refused():
    with pytest.raises(ValueError, match="splitter='worst' is not known: choose from 'best', 'random'"):
        CostTreeClassifier(splitter="worst").fit([[0.0], [1.0]], [0, 1])
