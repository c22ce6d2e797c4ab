"""Contributions of features to leaf values, against Shapley's formula over all subsets and against the shap package."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import grow_tree, random_column, table_of

from stakes.tree.attribution import LANES, LeafValues, attribute, expected
from stakes.tree.binning import Binning
from stakes.tree.nodes import FeatureBins
from stakes.tree.trees import Trees


def goes_left(nodes, node, bin_):
    if nodes.category_set[node] >= 0:
        return int(nodes.categories_left[nodes.category_set[node]][bin_ // 64]) >> (bin_ % 64) & 1 == 1
    return bool(nodes.missing_left[node]) if bin_ == 0 else bin_ <= nodes.threshold[node]


def value_of(trees, record, known, leaf_value):
    """The sum over trees of what a record is expected to get where only some features are known, along the paths."""
    nodes, cover = trees.nodes, trees.nodes.counts.sum(axis=1)

    def below(node):
        if nodes.feature[node] < 0:
            return leaf_value[trees.leaf_number[node]]
        left = nodes.left[node]
        if nodes.feature[node] in known:
            return below(left if goes_left(nodes, node, int(record[nodes.feature[node]])) else left + 1)
        return (cover[left] * below(left) + cover[left + 1] * below(left + 1)) / cover[node]

    return sum(below(root) for root in trees.roots)


def shapley(value, n_features):
    """Shapley's formula: the mean of what a feature adds, over all orders of the features."""
    phi = np.zeros(n_features)
    for j in range(n_features):
        others = [i for i in range(n_features) if i != j]
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            for known in combinations(others, size):
                phi[j] += weight * (value({*known, j}) - value(set(known)))
    return phi


def make_trees(seed, n=80, d=5, n_trees=3, numbers_only=False, **how):
    """Trees on numbers, categories and missing values; their binned records, and others."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n) if numbers_only else random_column(rng, n) for _ in range(d)]
    y = rng.random(n) < 0.4
    binning = Binning().fit(table_of(columns))
    bins = binning.transform(table_of(columns))
    grown = [
        grow_tree(bins, binning.feature_bins_, y, multiplicity=rng.poisson(1, n), seed=t, max_features=2, **how)
        for t in range(n_trees)
    ]
    trees = Trees.join(grown)
    return trees, bins, rng


def random_values(rng, n):
    # Some equal ones, and some that are zero: neighbours with equal values are merged, zeros are skipped.
    return np.where(rng.random(n) < 0.3, 0.0, rng.integers(-3, 4, n) / 4 + (rng.random(n) < 0.5) * rng.random(n))


@pytest.mark.parametrize("seed", range(6))
def test_contributions_are_shapley_values_over_all_subsets(seed):
    trees, bins, rng = make_trees(seed, max_depth=99 if seed % 2 else 4)
    gain = random_values(rng, trees.leaves.size)
    rows = rng.integers(0, len(bins), 6)
    found = attribute(trees, bins[rows], LeafValues(gain), n_features=5)
    for row, phi in zip(rows, found, strict=True):
        assert phi == pytest.approx(
            shapley(lambda known, row=row: value_of(trees, bins[row], known, gain), 5), abs=1e-12
        )
    assert expected(trees, LeafValues(gain)) == pytest.approx(value_of(trees, bins[0], set(), gain), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_values_by_threshold_are_those_of_each_record_by_itself(seed):
    trees, bins, rng = make_trees(seed, max_depth=5)
    gain, probability = random_values(rng, trees.leaves.size), rng.integers(0, 5, trees.leaves.size) / 4
    rows, threshold = rng.integers(0, len(bins), 12), rng.choice([0.0, 0.2, 0.25, 0.6, 1.0], 12)
    values = LeafValues(gain, probability)
    found = attribute(trees, bins[rows], values, n_features=5, threshold=threshold)
    base = expected(trees, values, threshold)
    for i, row in enumerate(rows):
        own = np.where(probability > threshold[i], gain, 0.0)
        alone = attribute(trees, bins[row : row + 1], LeafValues(own), n_features=5)
        np.testing.assert_allclose(found[i], alone[0], atol=1e-13)
        assert base[i] == pytest.approx(expected(trees, LeafValues(own)), abs=1e-13)


@given(seed=st.integers(0, 10_000), n=st.sampled_from([1, 2, LANES - 1, LANES, LANES + 1, 3 * LANES + 5]))
@settings(max_examples=25, deadline=None)
def test_contributions_add_up_to_the_leaf_values(seed, n):
    trees, bins, rng = make_trees(seed, n=200, d=12, n_trees=4)
    gain = random_values(rng, trees.leaves.size)
    rows = rng.integers(0, len(bins), n)
    found = attribute(trees, bins[rows], LeafValues(gain), n_features=12)
    total = gain[trees.apply(bins[rows])].sum(axis=1)
    np.testing.assert_allclose(expected(trees, LeafValues(gain)) + found.sum(axis=1), total, atol=1e-10)


def test_many_features_on_a_path_lose_no_precision():
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 60)) < 0.03).astype(float)
    binning = Binning().fit(table_of(list(X.T)))
    bins = binning.transform(table_of(list(X.T)))
    trees = Trees.join([grow_tree(bins, binning.feature_bins_, rng.random(2000) < 0.5, max_features=1, seed=0)])
    assert trees.depth.max() > 40  # on as many features: each has two values only
    gain = rng.random(trees.leaves.size)
    found = attribute(trees, bins, LeafValues(gain), n_features=60)
    total = gain[trees.apply(bins)[:, 0]]
    np.testing.assert_allclose(expected(trees, LeafValues(gain)) + found.sum(axis=1), total, atol=1e-12)


def test_features_that_no_tree_splits_on_contribute_nothing():
    trees, bins, rng = make_trees(1, d=6, features=[0, 2, 3])
    found = attribute(trees, bins, LeafValues(random_values(rng, trees.leaves.size)), n_features=6)
    assert (found[:, [1, 4, 5]] == 0).all()
    assert (found[:, [0, 2, 3]] != 0).any(axis=0).all()


def test_features_with_the_same_part_in_a_tree_contribute_the_same():
    # AND of two features, either of which may come first: two trees that are mirror images of each other.
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5)
    y = X.all(axis=1)
    binning = Binning().fit(table_of(list(X.T)))
    bins = binning.transform(table_of(list(X.T)))
    swapped = FeatureBins(*(part[::-1].copy() for part in binning.feature_bins_))
    one = grow_tree(bins, binning.feature_bins_, y)
    other = grow_tree(np.ascontiguousarray(bins[:, [1, 0, *range(2, 8)]]), swapped, y)
    mirrored = other._replace(feature=np.where(other.feature >= 0, 1 - other.feature, -1).astype(np.int32))
    trees = Trees.join([one, mirrored])
    gain = trees.nodes.counts[trees.leaves, 1] / trees.nodes.counts[trees.leaves].sum(axis=1)
    found = attribute(trees, bins[:4], LeafValues(gain), n_features=2)
    np.testing.assert_allclose(found[[0, 3], 0], found[[0, 3], 1], atol=1e-15)
    np.testing.assert_allclose(found[1], found[2][::-1], atol=1e-15)
    np.testing.assert_allclose(found[3], [0.75, 0.75], atol=1e-15)


def test_contributions_are_the_same_for_any_number_of_threads():
    trees, bins, rng = make_trees(2, n=1500, d=5)
    values = LeafValues(random_values(rng, trees.leaves.size), rng.random(trees.leaves.size))
    threshold = rng.random(1500)
    one, three = (
        attribute(trees, bins, values, n_features=5, threshold=threshold, n_threads=threads) for threads in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_a_tree_without_splits_contributes_nothing():
    trees, bins, _ = make_trees(0, max_depth=0)
    values = LeafValues(np.array([0.25, 0.5, 1.0]))
    assert (attribute(trees, bins, values, n_features=5) == 0).all()
    assert expected(trees, values) == 1.75


@pytest.mark.parametrize("seed", range(3))
def test_contributions_are_those_of_the_shap_package(seed):
    shap = pytest.importorskip("shap", reason="the shap package is not installed")
    trees, bins, rng = make_trees(seed, n=300, d=8, n_trees=2, numbers_only=True)
    gain = rng.random(trees.leaves.size)
    nodes = trees.nodes
    exported = []
    for root, size in zip(trees.roots, trees.sizes, strict=True):
        own = slice(root, root + size)
        leaf = nodes.feature[own] < 0
        left = np.where(leaf, -1, nodes.left[own] - root)
        value = np.where(leaf, gain[np.maximum(trees.leaf_number[own], 0)], 0.0)
        exported.append(
            {
                "children_left": left,
                "children_right": np.where(leaf, -1, left + 1),
                "children_default": left,
                "features": np.where(leaf, -2, nodes.feature[own]),
                "thresholds": nodes.threshold[own] + 0.5,
                "values": value[:, None],
                "node_sample_weight": nodes.counts[own].sum(axis=1).astype(float),
            }
        )
    explainer = shap.TreeExplainer({"trees": exported}, feature_perturbation="tree_path_dependent")
    theirs = np.asarray(explainer.shap_values(bins[:50, :8].astype(float))).reshape(50, 8)
    np.testing.assert_allclose(attribute(trees, bins[:50], LeafValues(gain), n_features=8), theirs, atol=1e-6)
