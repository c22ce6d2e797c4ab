"""Pruning of grown trees, against the plain reference."""

import numpy as np
import pytest
from pruning_reference import (
    MEASURES,
    METHODS,
    REFERENCES,
    Case,
    cases,
    exact_losses,
    exact_sums,
    path,
    random_case,
    same_subtree,
    trim_reference,
)
from reference import Grown, fit_tree, table_of

from stakes.tree.leaves import leaf_labels
from stakes.tree.pruning import node_sums, prune, trim
from stakes.tree.trees import Trees


@pytest.mark.parametrize("measure", MEASURES)
def test_random_trees_are_of_all_kinds(measure):
    """What the tests below rest on: trees of many nodes, categories, cuts here and there."""
    sizes = [case.grown.nodes.feature.size for case in cases(measure)]
    assert max(sizes) > 25
    assert sum(len(case.grown.nodes.categories_left) > 0 for case in cases(measure)) > 10
    for method in METHODS:
        pruned = [case.prune(method).feature.size for case in cases(measure)]
        assert sum(1 < p < s for p, s in zip(pruned, sizes, strict=True)) > 5
        assert sum(p == 1 < s for p, s in zip(pruned, sizes, strict=True)) > 5


@pytest.mark.parametrize("measure", MEASURES)
def test_node_sums_are_the_sums_over_the_records_of_each_node(measure):
    for case in cases(measure, 20):
        expected = np.array(exact_sums(case, case.validation_amount), float)
        found = case.sums(case.validates, case.validation_amount)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * expected.max())


def test_node_sums_of_the_training_records_are_what_the_engine_says():
    for case in cases("error", 20):
        found = case.sums(~case.validates, case.train_amount)
        np.testing.assert_array_equal(found, case.grown.nodes.counts)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("method", METHODS)
def test_grown_trees_are_pruned_as_by_the_reference(method, measure):
    for case in cases(measure):
        nodes = case.grown.nodes
        pairs = same_subtree(nodes, REFERENCES[method](nodes, *exact_losses(case)), pruned := case.prune(method))
        assert len(pairs) == pruned.feature.size


@pytest.mark.parametrize("cp", [2**-10, 2**-7, 2**-4, 0.5])
@pytest.mark.parametrize("measure", ["error", "constant_cost", "record_cost"])
def test_grown_trees_are_trimmed_as_by_the_reference(measure, cp):
    sizes = []
    for case in cases(measure):
        nodes = case.grown.nodes
        pairs = same_subtree(nodes, trim_reference(nodes, exact_losses(case)[0], cp), trimmed := trim(nodes, cp))
        assert len(pairs) == trimmed.feature.size
        sizes.append((trimmed.feature.size, nodes.feature.size))
    assert any(1 < left < grown for left, grown in sizes)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("method", METHODS)
def test_pruned_trees_are_compact(method, measure):
    for case in cases(measure):
        pruned = case.prune(method)
        splits = np.flatnonzero(pruned.feature >= 0)
        # Every node but the root is the left child, or the one after the left child, of exactly one node.
        of = np.concatenate([pruned.left[splits], pruned.left[splits] + 1])
        assert sorted(of) == list(range(1, pruned.feature.size))
        assert pruned.parent[0] == -1
        np.testing.assert_array_equal(pruned.parent[of], np.tile(splits, 2))
        assert np.all(pruned.parent[1:] < np.arange(1, pruned.feature.size))
        used = pruned.category_set[pruned.category_set >= 0]
        assert sorted(used) == list(range(len(pruned.categories_left)))
        for field, array in pruned._asdict().items():
            assert array.dtype == getattr(case.grown.nodes, field).dtype, field
            assert array.shape[1:] == getattr(case.grown.nodes, field).shape[1:], field


@pytest.mark.parametrize("method", METHODS)
def test_records_stop_on_their_old_way_through_the_tree(method):
    for case in cases("error"):
        nodes, pruned = case.grown.nodes, case.prune(method)
        new_to_old = {
            new: old for old, new in same_subtree(nodes, REFERENCES[method](nodes, *exact_losses(case)), pruned)
        }
        trees = Trees.join([pruned])
        reached = trees.leaves[trees.apply(case.grown.bins)[:, 0]]
        for row, node in enumerate(reached):
            assert new_to_old[node] in path(nodes, case.grown.bins[row])
        for side in (0, 1):
            rows = case.y == side
            counted = np.bincount(reached[rows], case.train_amount[rows], pruned.feature.size)
            np.testing.assert_array_equal(counted[trees.leaves], pruned.counts[trees.leaves, side])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("method", METHODS)
def test_what_is_predicted_for_validation_records_never_gets_worse(method, measure):
    def loss(trees, case):
        wrong = leaf_labels(trees)[trees.apply(case.grown.bins)[:, 0]] != case.y
        return case.validation_amount[wrong].sum()

    better = 0
    for case in cases(measure):
        before, after = loss(case.grown.trees, case), loss(Trees.join([case.prune(method)]), case)
        assert after <= before * (1 + 1e-9)
        better += after < before
    assert better > 5


@pytest.mark.parametrize("method", METHODS)
def test_pruning_leaves_the_grown_tree_alone(method):
    case = random_case("record_cost", 1)
    before = [array.copy() for array in case.grown.nodes]
    case.prune(method)
    for array, old in zip(case.grown.nodes, before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("method", METHODS)
def test_pruning_a_pruned_tree_changes_nothing(method, measure):
    for case in cases(measure, 20):
        once = case.prune(method)
        again = Case(
            Grown(case.grown.binning, case.grown.bins, Trees.join([once])),
            case.y,
            case.train_amount,
            case.validation_amount,
            case.validates,
            case.same,
        ).prune(method)
        for new, old in zip(again, once, strict=True):
            np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize("method", METHODS)
def test_without_validation_records_the_root_is_left(method):
    nodes = random_case("error", 3).grown.nodes
    assert nodes.feature.size > 1
    pruned = prune(nodes, method, np.zeros((nodes.feature.size, 2)))
    assert pruned.feature.tolist() == [-1]
    np.testing.assert_array_equal(pruned.counts, nodes.counts[:1])


@pytest.mark.parametrize("method", METHODS)
def test_a_tree_that_is_a_leaf_stays_one(method):
    grown = fit_tree(table_of([np.ones(4)]), [0, 1, 0, 1])
    pruned = prune(grown.nodes, method, np.array([[0.0, 7.0]]))
    for new, old in zip(pruned, grown.nodes, strict=True):
        np.testing.assert_array_equal(new, old)


def test_reduced_error_cuts_where_no_validation_record_comes():
    X = np.arange(8.0)
    grown = fit_tree(table_of([X]), [0, 0, 0, 0, 1, 0, 1, 1])
    leaf = grown.apply(table_of([np.array([1.0, 7.0])]))
    pruned = prune(grown.nodes, "reduced_error", node_sums(grown.nodes, leaf, np.array([0, 1]), np.ones(2)))
    assert grown.nodes.feature.size == 7
    assert pruned.feature.tolist() == [0, -1, -1]


def test_the_label_is_that_of_the_training_records():
    """Validation records are all positive in a node that training makes negative: that is no reason to keep a split."""
    grown = fit_tree(table_of([np.arange(6.0)]), [0, 0, 1, 0, 0, 0])
    leaf = grown.apply(table_of([np.array([0.0, 1.0, 5.0])]))
    sums = node_sums(grown.nodes, leaf, np.ones(3, int), np.ones(3))
    for method in METHODS:
        assert prune(grown.nodes, method, sums).feature.tolist() == [-1]


def test_ties_of_amounts_that_are_no_binary_fractions_are_ties():
    """The same records are wrong in all subtrees, whatever the order in which their costs are added up."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        X, amount = rng.normal(size=(2, 40))
        grown = fit_tree(table_of([X]), rng.random(40) < 0.3)
        negative = grown.nodes._replace(weights=np.tile([1.0, 0.0], (grown.nodes.feature.size, 1)))
        sums = node_sums(negative, grown.apply(table_of([X])), np.ones(40, int), np.exp(amount))
        for method in METHODS:
            assert prune(negative, method, sums).feature.size == 1


@pytest.mark.parametrize("method", METHODS)
def test_ties_of_decimal_amounts_are_ties(method):
    """0.1 + 0.2 is no better and no worse than 0.3, and the smaller tree wins."""
    grown = fit_tree(table_of([np.array([1.0, 1.0, 2.0])]), [0, 0, 1])
    assert grown.nodes.feature.size == 3
    # All validation records go right, to a positive leaf that loses the negatives; the root, negative, the positives.
    for positives, negatives in (([0.1, 0.2], [0.3]), ([0.3], [0.1, 0.2]), ([0.7], [0.1] * 7), ([0.1] * 7, [0.7])):
        amount = np.array(positives + negatives)
        y = np.repeat([1, 0], [len(positives), len(negatives)])
        leaf = np.ones(y.size, int)
        assert prune(grown.nodes, method, node_sums(grown.nodes, leaf, y, amount)).feature.size == 1
        amount[0] += 1e-6
        assert prune(grown.nodes, method, node_sums(grown.nodes, leaf, y, amount)).feature.size == 3


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-30, 2.0**800])
@pytest.mark.parametrize("method", METHODS)
def test_the_currency_does_not_matter(method, scale):
    for case in cases("other_cost", 20):
        scaled = case._replace(train_amount=case.train_amount * scale, validation_amount=case.validation_amount * scale)
        for new, old in zip(scaled.prune(method), case.prune(method), strict=True):
            np.testing.assert_array_equal(new, old)


def test_node_sums_do_not_depend_on_the_order_of_the_records():
    for case in cases("record_cost", 20):
        rows = np.random.default_rng(0).permutation(np.flatnonzero(case.validates))
        np.testing.assert_array_equal(
            case.sums(rows, case.validation_amount), case.sums(case.validates, case.validation_amount)
        )
