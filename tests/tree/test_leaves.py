"""Leaf probabilities, labels and weights, against numbers worked out by hand (FRAMEWORK 5.3, 5.4)."""

import numpy as np
import pytest
from reference import fit_tree, grow_tree

from stakes.table import Table
from stakes.tree.leaves import LEAVES, leaf_labels, leaf_probabilities, node_weights
from stakes.tree.trees import Trees


def chain(negative, positive, **how):
    """A tree with a leaf for each of the values 0, 1, 2, ..., which has these records; return it and the leaves."""
    k = len(negative)
    table = Table(np.repeat(np.arange(float(k)), 2)[:, None])
    y = np.tile([0, 1], k)
    multiplicity = np.stack([negative, positive], axis=1).ravel()
    grown = fit_tree(table, y, multiplicity=multiplicity, **how)
    return grown.trees, grown.apply(Table(np.arange(float(k))[:, None]))


# Negatives : positives. Root 240 : 60, base rate 0.2, m = 10 / 0.2 = 50 records.
#   219 : 11, 230 records
#     value 0: 195 : 5, 200 records        a leaf with more than m
#     value 1: 24 : 6, 30 records          climbs one level, to the 230
#   21 : 49, 70 records
#     value 2: 12 : 13, 25 records         climbs one level, to the 70
#     9 : 36, 45 records
#       value 3: 8 : 22, 30 records        climb two levels, past the 45 to the 70
#       value 4: 1 : 14, 15 records
NEGATIVE, POSITIVE = [195, 24, 12, 8, 1], [5, 6, 13, 22, 14]
BY_HAND = {
    "frequency": [5 / 200, 6 / 30, 13 / 25, 22 / 30, 14 / 15],
    "laplace": [6 / 202, 7 / 32, 14 / 27, 23 / 32, 15 / 17],
    "m_estimate": [15 / 250, 16 / 80, 23 / 75, 32 / 80, 24 / 65],
    "curtailment": [5 / 200, 11 / 230, 49 / 70, 49 / 70, 49 / 70],
    "curtailment_laplace": [6 / 202, 12 / 232, 50 / 72, 50 / 72, 50 / 72],
    "curtailment_m_estimate": [15 / 250, 21 / 280, 59 / 120, 59 / 120, 59 / 120],
    # Ten positives are enough, too: values 2, 3 and 4 have them.
    "supported": [5 / 200, 11 / 230, 13 / 25, 22 / 30, 14 / 15],
    # Without synthetic records there is nothing to shrink.
    "shrunk": [5 / 200, 6 / 30, 13 / 25, 22 / 30, 14 / 15],
    "supported_shrunk": [5 / 200, 11 / 230, 13 / 25, 22 / 30, 14 / 15],
}


def test_the_tree_is_the_one_drawn_above():
    trees, leaf = chain(NEGATIVE, POSITIVE)
    np.testing.assert_array_equal(trees.nodes.counts[trees.leaves[leaf]], np.stack([NEGATIVE, POSITIVE], axis=1))
    np.testing.assert_array_equal(trees.depth[trees.leaves[leaf]], [2, 2, 2, 3, 3])


@pytest.mark.parametrize("leaf", LEAVES)
def test_probabilities_by_hand(leaf):
    trees, at = chain(NEGATIVE, POSITIVE)
    np.testing.assert_allclose(leaf_probabilities(trees, leaf)[at], BY_HAND[leaf], rtol=1e-14)


def test_every_kind_of_leaf_is_tested_by_hand():
    assert set(LEAVES) == set(BY_HAND)


def test_synthetic_records_shrink_leaves_by_three_records_for_each_that_an_original_one_has_got_but_at_most_m():
    trees, at = chain(NEGATIVE, POSITIVE)
    # Three positives for each original one: k = 3 * 2 records, of which a fifth, as at the root, is positive.
    expected = [6.2 / 206, 7.2 / 36, 14.2 / 31, 23.2 / 36, 15.2 / 21]
    np.testing.assert_allclose(leaf_probabilities(trees, "shrunk", growth=3.0)[at], expected, rtol=1e-14)
    expected[1] = 12.2 / 236  # climbs, because it has neither 50 records nor ten positives
    np.testing.assert_allclose(leaf_probabilities(trees, "supported_shrunk", growth=3.0)[at], expected, rtol=1e-14)
    most = leaf_probabilities(trees, "shrunk", growth=18.0)[at]  # k = m = 50, and not 51
    np.testing.assert_allclose(most, BY_HAND["m_estimate"], rtol=1e-14)
    for leaf in set(LEAVES) - {"shrunk", "supported_shrunk"}:
        np.testing.assert_array_equal(leaf_probabilities(trees, leaf, growth=3.0)[at], BY_HAND[leaf])
    # In units of the mean weight, 1.6; at the root 240 of 480 are of positives.
    trees, at = chain(NEGATIVE, POSITIVE, weight=np.tile([1, 4], 5))
    shrunk = leaf_probabilities(trees, "shrunk", weighted=True, growth=3.0)[at]
    np.testing.assert_allclose(shrunk[:2], [(20 / 1.6 + 3) / (215 / 1.6 + 6), (24 / 1.6 + 3) / (48 / 1.6 + 6)])


def test_a_leaf_of_exactly_m_records_speaks_for_itself():
    # Half positive: m = 20
    for n_left, itself in ((20, True), (19, False)):
        trees, at = chain([n_left, 40 - n_left], [0, 40])
        assert (leaf_probabilities(trees, "curtailment")[at[0]] == 0) == itself


def test_a_leaf_of_exactly_ten_positives_is_supported():
    # Half positive: m = 20, and the leaf of positives has fewer records
    for n_positive, itself in ((10, True), (9, False)):
        trees, at = chain([40, 40 - n_positive, 0], [40, 40 - n_positive, n_positive])
        assert (leaf_probabilities(trees, "supported")[at[2]] == 1) == itself


def test_copies_of_a_record_support_a_leaf_as_one():
    trees, at = chain(NEGATIVE, [7 * n for n in POSITIVE])
    # Value 1, with 24 negatives and seven copies of each of six positives, climbs to the sibling of value 0.
    expected = [35 / 230, 385 / 430, 91 / 103, 154 / 162, 98 / 99]
    np.testing.assert_allclose(leaf_probabilities(trees, "supported", copies=(1.0, 7.0))[at], expected, rtol=1e-14)
    assert leaf_probabilities(trees, "supported")[at[1]] == 42 / 66
    # m goes by them, too: 50, as without copies.
    for n_left, itself in ((50, True), (49, False)):
        trees, at = chain([n_left, 240 - n_left], [0, 7 * 60])
        assert (leaf_probabilities(trees, "supported", copies=(1.0, 7.0))[at[0]] == 0) == itself
    # Curtailment by itself goes by all records in the sample, as published.
    np.testing.assert_array_equal(
        leaf_probabilities(trees, "curtailment", copies=(1.0, 7.0)), leaf_probabilities(trees, "curtailment")
    )


def test_a_sample_smaller_than_m_has_the_probability_of_its_root():
    trees, _ = chain([3, 0], [0, 3])  # m = 20, and 6 records
    np.testing.assert_array_equal(leaf_probabilities(trees, "curtailment"), [0.5, 0.5])
    np.testing.assert_array_equal(leaf_probabilities(trees, "curtailment_laplace"), [4 / 8, 4 / 8])
    np.testing.assert_array_equal(leaf_probabilities(trees, "curtailment_m_estimate"), [13 / 26, 13 / 26])


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.filterwarnings("error")
def test_a_base_rate_of_zero_or_one_gives_finite_probabilities(leaf):
    none, _ = chain([5, 6], [0, 0])
    every, _ = chain([0, 0], [5, 6])
    of_none = {"laplace": 1 / 13, "curtailment_laplace": 1 / 13}.get(leaf, 0.0)
    of_every = {"laplace": 12 / 13, "curtailment_laplace": 12 / 13}.get(leaf, 1.0)
    np.testing.assert_allclose(leaf_probabilities(none, leaf), [of_none])
    np.testing.assert_allclose(leaf_probabilities(every, leaf), [of_every])


@pytest.mark.parametrize("leaf", LEAVES)
def test_each_tree_has_its_own_base_rate(leaf):
    # The same trees with the same numbers of records, alone and side by side
    grown = [
        chain(*counts)[0] for counts in ((NEGATIVE, POSITIVE), (POSITIVE, NEGATIVE), ([9], [1]), ([30, 1], [2, 50]))
    ]
    together = Trees.join([trees.nodes for trees in grown])
    alone = np.concatenate([leaf_probabilities(trees, leaf) for trees in grown])
    np.testing.assert_array_equal(leaf_probabilities(together, leaf), alone)


def test_probabilities_count_records_with_multiplicity_whatever_they_weigh():
    x = np.array([0.0, 0, 1, 1])
    grown = fit_tree(Table(x[:, None]), [0, 1, 0, 1], weight=[9, 1, 1, 9], multiplicity=[1, 2, 1, 4])
    at = grown.apply(Table(np.array([[0.0], [1.0]])))
    np.testing.assert_allclose(leaf_probabilities(grown.trees, "frequency")[at], [2 / 3, 4 / 5])
    np.testing.assert_allclose(leaf_probabilities(grown.trees, "frequency", weighted=True)[at], [2 / 11, 36 / 37])
    np.testing.assert_array_equal(leaf_labels(grown.trees)[at], [False, True])
    np.testing.assert_allclose(node_weights(grown.trees)[at], [11 / 3, 37 / 5])


# The same tree, whose positives weigh 4 and whose negatives weigh 1: 480 on 300 records, 1.6 each. In these units there
# are 2.5 for a positive and 0.625 for a negative; the base rate is 240 / 480, and m = 10 / 0.5 = 20 records, fewer than
# every leaf but value 4 has (15, which climbs to the 45).
WEIGHTED_BY_HAND = {
    "frequency": [20 / 215, 24 / 48, 52 / 64, 88 / 96, 56 / 57],
    "laplace": [
        (12.5 + 1) / (134.375 + 2), (15 + 1) / (30 + 2), (32.5 + 1) / (40 + 2), (55 + 1) / (60 + 2), 36 / (35.625 + 2)
    ],
    "m_estimate": [22.5 / 154.375, 25 / 50, 42.5 / 60, 65 / 80, 45 / 55.625],
    "curtailment": [20 / 215, 24 / 48, 52 / 64, 88 / 96, 144 / 153],
    "curtailment_laplace": [13.5 / 136.375, 16 / 32, 33.5 / 42, 56 / 62, 91 / 97.625],
    "curtailment_m_estimate": [22.5 / 154.375, 25 / 50, 42.5 / 60, 65 / 80, 100 / 115.625],
    # Value 4 has ten positives, and so does not climb.
    "supported": [20 / 215, 24 / 48, 52 / 64, 88 / 96, 56 / 57],
    "shrunk": [20 / 215, 24 / 48, 52 / 64, 88 / 96, 56 / 57],
    "supported_shrunk": [20 / 215, 24 / 48, 52 / 64, 88 / 96, 56 / 57],
}  # fmt: skip


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e90])
def test_weighted_probabilities_by_hand_do_not_depend_on_the_unit_of_weights(leaf, unit):
    trees, at = chain(NEGATIVE, POSITIVE, weight=np.tile([unit, 4 * unit], 5))
    np.testing.assert_array_equal(trees.nodes.counts[trees.leaves[at]], np.stack([NEGATIVE, POSITIVE], axis=1))
    probability = leaf_probabilities(trees, leaf, weighted=True)[at]
    np.testing.assert_allclose(probability, WEIGHTED_BY_HAND[leaf], rtol=1e-12)


@pytest.mark.parametrize("leaf", LEAVES)
def test_equal_weights_are_no_weights(leaf):
    trees, _ = chain(NEGATIVE, POSITIVE, weight=np.full(10, 0.25))
    expected = leaf_probabilities(trees, leaf)
    np.testing.assert_allclose(leaf_probabilities(trees, leaf, weighted=True), expected, rtol=1e-12)


def test_label_is_the_majority_and_negative_where_both_are_equal():
    trees, at = chain([3, 2, 1], [1, 2, 3])
    np.testing.assert_array_equal(leaf_labels(trees)[at], [False, False, True])


def test_label_of_a_cost_tree_is_the_cheaper_one():
    # One fraud of 100 against three alarms of 20: positive, though in the minority; one of 50 against three: negative.
    x = np.array([0.0] * 4 + [1.0] * 4)
    y = np.array([1, 0, 0, 0] * 2)
    cost = np.array([100, 20, 20, 20, 50, 20, 20, 20], float)
    grown = fit_tree(Table(x[:, None]), y, weight=cost, criterion="cost")
    np.testing.assert_array_equal(leaf_labels(grown.trees)[grown.apply(Table(x[:, None]))], x == 0)


@pytest.mark.filterwarnings("error")
def test_a_leaf_without_weight_has_the_weighted_share_of_its_tree():
    # By count two records must be in each leaf, and those on the right weigh nothing.
    x = np.array([0.0, 0, 0, 0, 1, 1])
    grown = fit_tree(Table(x[:, None]), [0, 0, 0, 1, 0, 1], weight=[1, 1, 1, 1, 0, 0])
    assert grown.trees.leaves.size == 2
    np.testing.assert_allclose(leaf_probabilities(grown.trees, "frequency", weighted=True), [0.25, 0.25])
    weightless = Trees.join(
        [grow_tree(grown.bins, grown.binning.feature_bins_, [0, 0, 0, 1, 0, 1], weight=np.zeros(6))]
    )
    np.testing.assert_array_equal(leaf_probabilities(weightless, "frequency", weighted=True), [0.0])
    np.testing.assert_array_equal(leaf_probabilities(weightless, "laplace", weighted=True), [0.5])
