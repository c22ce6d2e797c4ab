"""Leaf ids of many trees at once, against one record walking down one tree."""

import pickle

import numpy as np
import pytest
from reference import categories_of, grow_tree, is_categorical, random_column, table_of

from stakes.tree.binning import Binning
from stakes.tree.nodes import FeatureBins
from stakes.tree.trees import Trees


def walk(nodes, record):
    """The node at which a record, given by its bins, ends up in a tree."""
    node = 0
    while nodes.feature[node] >= 0:
        bin_ = int(record[nodes.feature[node]])
        if nodes.category_set[node] >= 0:
            words = nodes.categories_left[nodes.category_set[node]]
            left = int(words[bin_ // 64]) >> (bin_ % 64) & 1
        elif bin_ == 0:
            left = nodes.missing_left[node]
        else:
            left = bin_ <= nodes.threshold[node]
        node = nodes.left[node] + (0 if left else 1)
    return node


@pytest.fixture(scope="module")
def forest():
    """Trees of all kinds on numbers, categories and missing values, and new records with what they have not seen."""
    rng = np.random.default_rng(0)
    n = 600
    columns = [random_column(rng, n) for _ in range(8)]
    columns += [rng.normal(size=n), np.array([f"c{i}" for i in rng.integers(0, 400, n)], object)]
    y = rng.random(n) < 0.4
    binning = Binning().fit(table_of(columns))
    bins = binning.transform(table_of(columns))
    counts = rng.poisson(1, (9, n))
    grown = [
        grow_tree(bins, binning.feature_bins_, y, multiplicity=times, max_features=4, seed=seed, max_depth=depth)
        for seed, (times, depth) in enumerate(zip(counts, (0, 1, 2, 3, 0, 5, 99, 99, 0), strict=True))
    ]
    new = []
    for column in columns:
        values = [*categories_of(column), "never", None] if is_categorical(column) else [*column, np.nan, 1e9, -1e9]
        new.append(np.array(values, dtype=column.dtype)[rng.integers(0, len(values), 2500)])
    return grown, Trees.join(grown), bins, counts, binning.transform(table_of(new))


def test_leaf_ids_equal_a_walk_of_each_record_down_each_tree(forest):
    grown, trees, _, _, new = forest
    assert any((nodes.category_set >= 0).any() for nodes in grown)
    for n in (1, 300, 1024, 1025, 2500):  # one block of records, and several
        ids = trees.apply(new[:n])
        assert ids.shape == (n, len(grown))
        first = 0
        for t, nodes in enumerate(grown):
            number = np.cumsum(nodes.feature < 0) - 1 + first
            first = number[-1] + 1
            sample = np.unique(np.linspace(0, n - 1, 200).astype(int))
            np.testing.assert_array_equal(ids[sample, t], [number[walk(nodes, new[i])] for i in sample])


@pytest.mark.parametrize("n", [1, 7, 1024, 1025, 2500])
def test_leaf_ids_are_the_same_for_any_number_of_threads(forest, n):
    _, trees, _, _, new = forest
    one = trees.apply(new[:n], n_threads=1)
    for threads in (2, 5):
        np.testing.assert_array_equal(trees.apply(new[:n], n_threads=threads), one)


def test_leaf_ids_cover_exactly_the_leaves(forest):
    grown, trees, bins, counts, _ = forest
    ids = trees.apply(bins)
    reached = [np.unique(ids[times > 0, t]) for t, times in enumerate(counts)]
    np.testing.assert_array_equal(np.concatenate(reached), np.arange(trees.leaves.size))
    assert [part.size for part in reached] == [(nodes.feature < 0).sum() for nodes in grown]
    np.testing.assert_array_equal(trees.tree_of_leaf, np.repeat(np.arange(len(trees)), [part.size for part in reached]))


def test_records_that_reach_a_leaf_are_those_it_counted(forest):
    _, trees, bins, counts, _ = forest
    ids = trees.apply(bins)
    total = trees.nodes.counts[trees.leaves].sum(axis=1)
    for t, times in enumerate(counts):
        mine = trees.tree_of_leaf == t
        np.testing.assert_array_equal(np.bincount(ids[:, t], times, minlength=total.size)[mine], total[mine])


def test_joined_trees_keep_their_nodes(forest):
    grown, trees, bins, _, _ = forest
    assert len(trees) == len(grown)
    for t, nodes in enumerate(grown):
        alone = Trees.join([nodes])
        np.testing.assert_array_equal(
            alone.apply(bins)[:, 0],
            trees.apply(bins)[:, t] - trees.leaf_number[trees.leaves[trees.tree_of_leaf == t][0]],
        )
        mine = slice(trees.roots[t], trees.roots[t] + trees.sizes[t])
        np.testing.assert_array_equal(trees.depth[mine], alone.depth)
        parents = trees.nodes.parent[mine]
        np.testing.assert_array_equal(np.where(parents < 0, parents, parents - trees.roots[t]), nodes.parent)


def test_depth_counts_the_steps_from_the_root(forest):
    _, trees, _, _, _ = forest
    for node in range(trees.nodes.feature.size):
        steps, at = 0, node
        while trees.nodes.parent[at] >= 0:
            steps, at = steps + 1, trees.nodes.parent[at]
        assert trees.depth[node] == steps


def test_importance_of_a_feature_is_the_gain_of_its_splits_averaged_over_the_trees(forest):
    grown, trees, _, _, _ = forest
    gains = np.zeros(11)
    for nodes in grown:
        for feature, gain in zip(nodes.feature, nodes.gain, strict=True):
            if feature >= 0:
                gains[feature] += gain
    np.testing.assert_allclose(trees.feature_importances(11), gains / len(grown))


def test_trees_predict_the_same_after_pickling(forest):
    _, trees, bins, _, _ = forest
    before = trees.apply(bins)
    packed = pickle.dumps(trees)
    np.testing.assert_array_equal(pickle.loads(packed).apply(bins), before)
    assert len(packed) == len(pickle.dumps(Trees(trees.nodes, trees.sizes)))


@pytest.mark.compiled
@pytest.mark.parametrize("d", [256, 65_544, 70_000])
def test_records_may_have_very_many_features(d):
    y = np.arange(40) % 2
    bins = np.ones((40, d), np.uint8)
    bins[:, -1] += y.astype(np.uint8)
    space = FeatureBins(np.full(d, 3, np.int32), np.zeros(d, np.uint8), np.tile(np.arange(256.0), (d, 1)))
    trees = Trees.join([grow_tree(bins, space, y)])
    assert trees.nodes.feature.tolist() == [d - 1, -1, -1]
    np.testing.assert_array_equal(trees.apply(bins)[:, 0], y)


def test_bins_given_are_left_alone(forest):
    _, trees, bins, _, _ = forest
    mine = bins.copy()
    mine.flags.writeable = False
    np.testing.assert_array_equal(trees.apply(mine), trees.apply(bins))
