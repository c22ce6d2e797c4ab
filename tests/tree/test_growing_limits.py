"""What limits the growth of a tree: its size, features, ties, gaps and extreme weights."""

import numpy as np
import pytest
from grown_trees import WEIGHTS, criteria, fit, make_noisy
from reference import (
    fit_tree,
    grow_tree,
    nested,
    random_problem,
    table_of,
)
from scipy.stats import chisquare

from stakes.table import Table
from stakes.tree.criteria import CRITERIA
from stakes.tree.leaves import leaf_probabilities


def test_max_depth_is_kept_and_reached():
    X, y, _ = make_noisy(0, 2000)
    for depth in (0, 1, 2, 5):
        assert fit_tree(Table(X), y, max_depth=depth).trees.depth.max() == depth


@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
def test_small_nodes_are_not_split_and_small_children_not_made(criterion, weights):
    rng = np.random.default_rng(0)
    problem = random_problem(rng, n=500, weights=weights)._replace(multiplicity=rng.integers(0, 4, 500))
    for split, leaf in ((2, 1), (50, 1), (2, 20), (50, 20), (30, 20)):
        _, grown = fit(problem, weights, criterion=criterion, min_samples_split=split, min_samples_leaf=leaf)
        count = grown.nodes.counts.sum(axis=1)
        assert count[grown.nodes.feature >= 0].min() >= max(split, 2 * leaf)
        assert count[1:].min() >= leaf


def test_only_the_features_given_are_used():
    X, y, _ = make_noisy(0, 2000, d=8)
    for features in ([3], [5, 1], [0, 2, 4, 6]):
        nodes = fit_tree(Table(X), y, features=features).nodes
        assert set(nodes.feature[nodes.feature >= 0]) == set(features)
        alone = fit_tree(Table(X[:, sorted(features)]), y).nodes
        if features == sorted(features):  # otherwise ties may fall differently
            np.testing.assert_array_equal(nodes.counts, alone.counts)


def test_features_given_are_not_reordered():
    X, y, _ = make_noisy(0, 500)
    features = np.arange(6, dtype=np.int32)
    fit_tree(Table(X), y, features=features, max_features=2)
    np.testing.assert_array_equal(features, np.arange(6))


# Random features


def features_of_random_trees(X, y, n_trees, **how):
    grown = fit_tree(Table(X), y, max_depth=0)
    return [grow_tree(grown.bins, grown.binning.feature_bins_, y, seed=seed, **how) for seed in range(n_trees)]


def test_the_same_seed_draws_the_same_features_and_another_seed_others():
    X, y, _ = make_noisy(0, 2000)
    one, same, other = (nested(fit_tree(Table(X), y, max_features=2, seed=s).nodes) for s in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.compiled
@pytest.mark.parametrize("n", [60, 400])  # with a list of bins, and with whole histograms
def test_each_feature_is_drawn_equally_often_at_each_node_anew(n):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (n, 5)).astype(float)
    # Best cuts near the middle, and some features better to split on than others: it must not matter
    y = X @ [1, 1, 1, 2, 2] + rng.normal(0, 20, n) > 66
    trees = features_of_random_trees(X, y, 2500, max_features=1, max_depth=2)
    at_root = np.array([t.feature[0] for t in trees])
    both_split = [t for t in trees if t.feature.size == 7]
    assert len(both_split) > 1000
    assert chisquare(np.bincount(at_root, minlength=5)).pvalue > 1e-3
    for child in (0, 1):
        pairs = np.array([5 * t.feature[0] + t.feature[t.left[0] + child] for t in both_split])
        given_root = np.bincount(pairs, minlength=25).reshape(5, 5)
        for row in given_root:
            assert chisquare(row).pvalue > 1e-4


def test_the_best_of_two_random_features_wins():
    # Features in strict order of quality: the best of a random pair of four is the first in 3 of 6 pairs, ...
    rng = np.random.default_rng(0)
    n = 200
    y = rng.integers(0, 2, n)
    X = np.stack([np.where(rng.random(n) < noise, 1 - y, y) for noise in (0.05, 0.15, 0.25, 0.35)], axis=1).astype(
        float
    )
    at_root = [t.feature[0] for t in features_of_random_trees(X, y, 1800, max_features=2, max_depth=1)]
    times = np.bincount(at_root, minlength=4)
    assert times[3] == 0
    assert chisquare(times[:3], [900, 600, 300]).pvalue > 1e-3


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [60, 400])
def test_more_features_are_tried_while_those_drawn_are_constant(n, criterion):
    rng = np.random.default_rng(0)
    X = np.ones((n, 6))
    X[:, 4] = rng.integers(0, 30, n)
    y = rng.integers(0, 2, n)
    for tree in features_of_random_trees(X, y, 30, max_features=1, max_depth=1, criterion=criterion):
        assert tree.feature[0] == 4


# The cost criterion


def test_without_tie_breaks_growing_stops_where_no_split_saves_money():
    # Frauds cost 10 each, alarms 1: all of it is called positive, whichever way it is cut.
    x = np.array([0.0, 0, 1, 1, 1])[:, None]
    y = np.array([0, 1, 0, 0, 1])
    weight = np.where(y == 1, 10.0, 1.0)
    how = {"weight": weight, "criterion": "cost"}
    assert fit_tree(Table(x), y, break_ties=False, **how).nodes.feature.size == 1
    goes_on = fit_tree(Table(x), y, break_ties=True, **how).nodes
    assert goes_on.feature.size == 3
    assert goes_on.gain[0] == 0


def test_without_tie_breaks_every_split_saves_money_and_every_leaf_cannot():
    n_splits = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, n=40)
        table, grown = fit(problem, criterion="cost", break_ties=False)
        splits = grown.nodes.feature >= 0
        n_splits += splits.sum()
        assert (grown.nodes.gain[splits] > 0).all()
        for node in np.flatnonzero(~splits):
            at = grown.trees.leaves[grown.apply(table)] == node
            alone = fit(problem.take(at), criterion="cost", max_depth=1)[1].nodes
            assert alone.gain[0] == 0
    assert n_splits > 40


# Missing values and categories that a node has not seen


@pytest.mark.parametrize("larger", ["left", "right"])
@pytest.mark.parametrize("kind", ["number", "category"])
def test_missing_never_seen_goes_with_the_larger_child(kind, larger):
    n_left, n_right = (7, 3) if larger == "left" else (3, 7)
    y = np.r_[np.zeros(n_left, int), np.ones(n_right, int)]
    values = {"number": np.array([1.0, 2.0, np.nan]), "category": np.array(["a", "b", None], object)}[kind]
    grown = fit_tree(table_of([values[y]]), y)
    share = grown.share(table_of([values]))
    np.testing.assert_array_equal(share[:2], [0, 1])
    assert share[2] == (larger == "right")


def test_larger_counts_records_with_multiplicity_and_not_their_weight():
    y = np.array([0, 0, 1])
    table = Table(y[:, None].astype(float))
    ask = Table(np.array([[np.nan]]))
    assert fit_tree(table, y).share(ask) == 0
    assert fit_tree(table, y, multiplicity=[1, 1, 5]).share(ask) == 1
    assert fit_tree(table, y, weight=[1, 1, 5]).share(ask) == 0


@pytest.mark.parametrize("missing_is", [0, 1])
def test_unseen_categories_go_where_missing_goes(missing_is):
    column = np.array(["a"] * 9 + ["b"] * 9 + [None] * 3, object)
    y = np.r_[np.zeros(9, int), np.ones(9, int), np.full(3, missing_is)]
    grown = fit_tree(table_of([column]), y)
    share = grown.share(table_of([np.array(["a", "b", None, "never"], object)]))
    np.testing.assert_array_equal(share, [0, 1, missing_is, missing_is])


@pytest.mark.parametrize("missing_is", [0, 1])
def test_categories_unseen_in_a_node_go_where_missing_goes_there(missing_is):
    # The number is the better first split; with number 1, the category decides, and "c" is only seen with number 0.
    number = np.array([0.0] * 90 + [1.0] * 40)
    category = np.array(["c"] * 30 + ["b"] * 60 + ["a"] * 18 + ["b"] * 18 + [None] * 4, object)
    y = np.r_[np.zeros(90, int), np.zeros(18, int), np.ones(18, int), np.full(4, missing_is)]
    grown = fit_tree(table_of([number, category]), y)
    assert grown.nodes.feature.tolist().count(0) == grown.nodes.feature.tolist().count(1) == 1
    assert grown.nodes.feature[0] == 0
    ask = [np.ones(4), np.array(["a", "b", None, "c"], object)]
    np.testing.assert_array_equal(grown.share(table_of(ask)), [0, 1, missing_is, missing_is])


def test_missing_can_be_told_from_all_numbers():
    column = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    grown = fit_tree(table_of([column]), [0, 0, 0, 1, 1])
    assert grown.nodes.feature.size == 3
    np.testing.assert_array_equal(grown.share(table_of([np.array([-1e9, 2.0, 1e9, np.nan])])), [0, 0, 0, 1])


# Extremes


@criteria
@pytest.mark.parametrize("n", [30, 300])
def test_weights_of_very_different_size_grow_a_tree(criterion, n):
    rng = np.random.default_rng(0)
    problem = random_problem(rng, n=n)._replace(multiplicity=np.ones(n, int))
    for exponent in (12, 30, 200):
        weight = 10.0 ** rng.uniform(-exponent / 2, exponent / 2, n)
        weight[:2] = 10.0 ** (-exponent / 2), 10.0 ** (exponent / 2)
        table, grown = fit(problem._replace(weight=weight), criterion=criterion)
        nodes = grown.nodes
        assert np.isfinite(nodes.weights).all()
        assert np.isfinite(nodes.gain).all()
        assert (nodes.weights >= 0).all()
        assert nodes.counts[0].sum() == n
        np.testing.assert_allclose(
            nodes.weights[0], [weight[problem.y == c].sum() for c in (0, 1)], rtol=1e-9, atol=1e-12 * weight.sum()
        )
        share = leaf_probabilities(grown.trees, "frequency", weighted=True)[grown.apply(table)]
        assert ((share >= 0) & (share <= 1)).all()


def test_a_ratio_of_1e12_still_lets_the_light_records_be_told_apart():
    # One heavy negative, and light records that the second feature separates.
    X = np.array([[0, 0], [1, 0], [1, 0], [1, 1], [1, 1]], float)
    y = np.array([0, 0, 0, 1, 1])
    grown = fit_tree(Table(X), y, weight=[1e12, 1, 1, 1, 1])
    np.testing.assert_array_equal(grown.share(Table(X)), y)


@criteria
@pytest.mark.parametrize("zero", ["all", "positives", "negatives"])
def test_a_tree_without_weight_in_a_class_is_a_leaf(criterion, zero):
    X, y, _ = make_noisy(0, 300)
    weight = {"all": np.zeros(300), "positives": 1.0 - y, "negatives": y.astype(float)}[zero]
    grown = fit_tree(Table(X), y, weight=weight, criterion=criterion)
    assert grown.nodes.feature.size == 1
    np.testing.assert_array_equal(grown.nodes.counts[0], np.bincount(y))
    np.testing.assert_array_equal(grown.nodes.weights[0], [weight[y == 0].sum(), weight[y == 1].sum()])
    assert leaf_probabilities(grown.trees, "frequency", weighted=True) == [float(zero == "negatives")]


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e300])
def test_tiny_and_huge_weights_do_not_overflow(scale):
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    nodes = fit_tree(Table(x), [0, 0, 1, 1], weight=np.full(4, scale)).nodes
    assert nodes.counts[0].tolist() == [2, 2]
    assert np.isfinite(nodes.weights).all()
    np.testing.assert_allclose(nodes.weights[0], 2 * scale, rtol=1e-7, atol=1e-310)


@criteria
def test_no_record_one_record_and_one_class_are_leaves(criterion):
    table = Table(np.array([[1.0], [2.0], [3.0]]))
    for y, multiplicity in (([0, 1, 1], [0, 0, 0]), ([0, 1, 1], [0, 1, 0]), ([1, 1, 1], [1, 1, 1])):
        nodes = fit_tree(table, y, multiplicity=multiplicity, criterion=criterion).nodes
        assert nodes.feature.tolist() == [-1]
        assert nodes.counts[0].sum() == sum(multiplicity)


def test_constant_and_all_missing_columns_are_never_split_on():
    X = np.stack([np.full(50, 7.0), np.full(50, np.nan), np.arange(50.0)], axis=1)
    y = np.random.default_rng(0).integers(0, 2, 50)
    nodes = fit_tree(Table(X), y).nodes
    assert set(nodes.feature[nodes.feature >= 0]) == {2}
