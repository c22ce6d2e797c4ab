"""Pruning by errors and by costs against plain references, brute force and scikit-learn (FRAMEWORK 5.2)."""

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Grown, fit_tree, random_column, table_of
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes import Costs
from stakes.tree.leaves import leaf_labels
from stakes.tree.nodes import Nodes
from stakes.tree.pruning import PRUNINGS, node_sums, prune, trim
from stakes.tree.trees import Trees

METHODS = sorted(PRUNINGS)
MEASURES = ["error", "weighted_error", "constant_cost", "record_cost", "other_cost"]


# Random trees, grown by the engine on some of the records


class Case(NamedTuple):
    grown: Grown
    y: np.ndarray
    train_amount: np.ndarray  # of each record, with multiplicity; 0 for validation records
    validation_amount: np.ndarray  # 0 for training records
    validates: np.ndarray
    same: bool  # the tree was grown on the amounts that it is pruned by

    def sums(self, rows, amount):
        return node_sums(self.grown.nodes, self.leaf[rows], self.y[rows], amount[rows])

    @property
    def leaf(self):
        return self.grown.trees.apply(self.grown.bins)[:, 0]

    def prune(self, method):
        train = None if self.same else self.sums(~self.validates, self.train_amount)
        return prune(self.grown.nodes, method, self.sums(self.validates, self.validation_amount), train)


@cache
def random_case(measure, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    columns = [random_column(rng, n) for _ in range(rng.integers(1, 5))]
    signal = np.array([str(v) in "ac" if isinstance(v, str) else v is not None and v > 0 for v in columns[0]])
    y = (rng.random(n) < np.where(signal, rng.uniform(0.3, 0.9), rng.uniform(0.1, 0.5))).astype(int)
    validates = rng.random(n) < 0.4
    multiplicity = np.where(validates, 0, rng.integers(0, 4, n) if rng.random() < 0.5 else 1)
    weight = {
        "error": np.ones(n),
        "weighted_error": rng.choice([rng.integers(0, 4, n).astype(float), rng.lognormal(0, 1, n)]),
        "constant_cost": Costs(fp=0.68, fn=13.77).of(y),
        "record_cost": Costs(fp=rng.integers(0, 3, n), fn=rng.lognormal(1, 1, n)).of(y),
        "other_cost": Costs(fp=rng.integers(0, 3, n), fn=rng.integers(1, 9, n)).of(y),
    }[measure]
    grown = fit_tree(
        table_of(columns),
        y,
        weight=None if measure in ("error", "other_cost") else weight,
        multiplicity=multiplicity,
        criterion="cost" if measure in ("constant_cost", "record_cost") else rng.choice(["gini", "entropy"]),
        min_samples_leaf=int(rng.integers(1, 4)),
    )
    return Case(
        grown, y, weight * multiplicity, np.where(validates, weight, 0.0), validates, same=measure != "other_cost"
    )


def cases(measure, n=60):
    return [random_case(measure, seed) for seed in range(n)]


# The reference: nodes that know their records, and exact fractions


def goes_left(nodes, node, bin_):
    if nodes.category_set[node] >= 0:
        word = int(nodes.categories_left[nodes.category_set[node], bin_ // 64])
        return bool(word >> (bin_ % 64) & 1)
    return bool(nodes.missing_left[node]) if bin_ == 0 else bin_ <= nodes.threshold[node]


def path(nodes, bins):
    """The nodes that a record comes through."""
    through = [0]
    while nodes.feature[through[-1]] >= 0:
        node = through[-1]
        through.append(int(nodes.left[node]) + (not goes_left(nodes, node, int(bins[nodes.feature[node]]))))
    return through


def exact_sums(case, amount):
    """For each node the exact sums over its negatives and positives."""
    nodes = case.grown.nodes
    sums = [[Fraction(0), Fraction(0)] for _ in nodes.feature]
    for row in np.flatnonzero(amount):
        for node in path(nodes, case.grown.bins[row]):
            sums[node][case.y[row]] += Fraction(amount[row])
    return sums


def exact_losses(case):
    """What each node loses as a leaf, on training and on validation records, labelled by what the tree grew on."""
    train, validation = exact_sums(case, case.train_amount), exact_sums(case, case.validation_amount)
    positive = (
        [above > below for below, above in train]
        if case.same
        else [above > below for below, above in case.grown.nodes.counts]
    )

    def pick(sums):
        return [both[0] if label else both[1] for both, label in zip(sums, positive, strict=True)]

    return pick(train), pick(validation)


def children(nodes, node):
    left = int(nodes.left[node])
    return left, left + 1


def leaves_below(nodes, cut, node=0):
    """The leaves of the subtree in which the nodes of `cut` are leaves."""
    if nodes.feature[node] < 0 or node in cut:
        return [node]
    return [leaf for child in children(nodes, node) for leaf in leaves_below(nodes, cut, child)]


def splits_of(nodes, cut, node=0):
    if nodes.feature[node] < 0 or node in cut:
        return []
    return [node] + [split for child in children(nodes, node) for split in splits_of(nodes, cut, child)]


def total(loss, nodes, cut, node=0):
    return sum(loss[leaf] for leaf in leaves_below(nodes, cut, node))


def reduced_error_reference(nodes, train, validation):
    cut = set()

    def visit(node):
        if nodes.feature[node] < 0:
            return
        for child in children(nodes, node):
            visit(child)
        if validation[node] <= total(validation, nodes, cut, node):
            cut.add(node)

    visit(0)
    return cut


def weakest_link_sequence(nodes, train):
    """The cuts of all nested subtrees, from the tree as grown to the root: all weakest links break at once."""
    cut = set()
    sequence = [cut]
    while splits := splits_of(nodes, cut):
        strength = {
            node: (train[node] - total(train, nodes, cut, node)) / Fraction(len(leaves_below(nodes, cut, node)) - 1)
            for node in splits
        }
        weakest = min(strength.values())
        cut = cut | {node for node in splits if strength[node] == weakest}
        sequence.append(cut)
    return sequence


def cost_complexity_reference(nodes, train, validation):
    sequence = weakest_link_sequence(nodes, train)
    losses = [total(validation, nodes, cut) for cut in sequence]
    return [cut for cut, loss in zip(sequence, losses, strict=True) if loss == min(losses)][-1]


REFERENCES = {"reduced_error": reduced_error_reference, "cost_complexity": cost_complexity_reference}


def same_subtree(nodes, cut, pruned, node=0, new=0):
    """Pairs of the old and the new number of each node of a pruned tree, after checking that all else is as it was."""
    np.testing.assert_array_equal(pruned.counts[new], nodes.counts[node])
    np.testing.assert_array_equal(pruned.weights[new], nodes.weights[node])
    if nodes.feature[node] < 0 or node in cut:
        assert pruned.feature[new] == pruned.left[new] == pruned.category_set[new] == -1
        assert pruned.threshold[new] == pruned.missing_left[new] == pruned.gain[new] == 0
        return [(node, new)]
    for field in ("feature", "threshold", "missing_left", "gain"):
        assert getattr(pruned, field)[new] == getattr(nodes, field)[node]
    assert (pruned.category_set[new] >= 0) == (nodes.category_set[node] >= 0)
    if nodes.category_set[node] >= 0:
        np.testing.assert_array_equal(
            pruned.categories_left[pruned.category_set[new]], nodes.categories_left[nodes.category_set[node]]
        )
    pairs = [(node, new)]
    for child, new_child in zip(children(nodes, node), children(pruned, new), strict=True):
        assert pruned.parent[new_child] == new
        pairs += same_subtree(nodes, cut, pruned, child, new_child)
    return pairs


def trim_reference(nodes, loss, cp):
    """The smallest of the best subtrees, by trying to make a leaf of each node."""
    alpha, cut = Fraction(cp) * loss[0], set()

    def best(node):
        as_leaf = loss[node] + alpha
        if nodes.feature[node] < 0:
            return as_leaf
        below = sum(best(child) for child in children(nodes, node))
        if as_leaf <= below:
            cut.add(node)
        return min(as_leaf, below)

    best(0)
    return cut


# Grown trees


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


# Trees of any shape, with any losses


def made_tree(parents):
    """A tree by the leaf, among those there are, that splits next."""
    feature, left = [-1], [-1]
    for choice in parents:
        leaves = [node for node, f in enumerate(feature) if f < 0]
        node = leaves[choice % len(leaves)]
        feature[node], left[node] = 0, len(feature)
        feature += [-1, -1]
        left += [-1, -1]
    n = len(feature)
    return Nodes(
        feature=np.array(feature, np.int32),
        threshold=np.zeros(n, np.uint8),
        missing_left=np.zeros(n, np.uint8),
        left=np.array(left, np.int32),
        category_set=np.full(n, -1, np.int32),
        categories_left=np.empty((0, 4), np.uint64),
        counts=np.zeros((n, 2), np.int64),
        weights=np.zeros((n, 2)),
        gain=np.zeros(n),
    )


def summed_up(nodes, more):
    """The losses of nodes that lose this much more than their children do."""
    loss, parent = list(more), nodes.parent
    for node in range(len(loss) - 1, 0, -1):
        loss[parent[node]] += loss[node]
    return loss


@st.composite
def trees_with_losses(draw, max_splits):
    nodes = made_tree(draw(st.lists(st.integers(0, 1000), max_size=max_splits)))
    n = nodes.feature.size

    def losses():
        more = st.integers(*draw(st.sampled_from([(-1, 2), (-9, 9), (0, 1000)])))
        return summed_up(nodes, draw(st.lists(more, min_size=n, max_size=n)))

    return nodes, losses(), losses()


def same_leaves(nodes, flags, cut):
    return leaves_below(nodes, set(np.flatnonzero(flags))) == leaves_below(nodes, cut)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=200, deadline=None)
@given(trees_with_losses(max_splits=25))
def test_any_losses_are_pruned_as_by_the_reference(method, tree):
    nodes, train, validation = tree
    flags = PRUNINGS[method](nodes, np.array(train, float), np.array(validation, float))
    assert same_leaves(nodes, flags, REFERENCES[method](nodes, train, validation))


def all_cuts(nodes, node=0):
    """All subtrees with the same root, each by its leaves."""
    if nodes.feature[node] < 0:
        return [[node]]
    left, right = (all_cuts(nodes, child) for child in children(nodes, node))
    return [[node]] + [a + b for a in left for b in right]


@settings(max_examples=100, deadline=None)
@given(trees_with_losses(max_splits=7))
def test_reduced_error_finds_the_smallest_of_all_best_subtrees(tree):
    nodes, train, validation = tree
    flags = PRUNINGS["reduced_error"](nodes, np.array(train, float), np.array(validation, float))
    best = min(all_cuts(nodes), key=lambda leaves: (sum(validation[leaf] for leaf in leaves), len(leaves)))
    assert leaves_below(nodes, set(np.flatnonzero(flags))) == best


@settings(max_examples=100, deadline=None)
@given(trees_with_losses(max_splits=7), st.fractions(-20, 20, max_denominator=6))
def test_cost_complexity_finds_the_smallest_of_all_best_subtrees_for_any_alpha(tree, alpha):
    """With alpha in the validation loss of every leaf, the best subtree on validation is the one for alpha."""
    nodes, train, _ = tree
    scaled = np.array(train, float) * 60  # alpha times 60 is whole: no rounding
    flags = PRUNINGS["cost_complexity"](nodes, scaled, scaled + float(60 * alpha))
    best = min(all_cuts(nodes), key=lambda leaves: (sum(train[leaf] + alpha for leaf in leaves), len(leaves)))
    assert leaves_below(nodes, set(np.flatnonzero(flags))) == best


def best_for(alpha, nodes, loss):
    """The smallest subtree of least loss + alpha x leaves, node by node from the last one up."""
    best, cut = [value + alpha for value in loss], set()
    for node in range(len(loss) - 1, -1, -1):
        if nodes.feature[node] >= 0:
            below = sum(best[child] for child in children(nodes, node))
            if best[node] <= below:
                cut.add(node)
            best[node] = min(best[node], below)
    return cut


# The next leaf to split, of those there are: any, one of the last, the first, the last.
SHAPES = {"bushy": (0, 1000), "deep": (-40, 0), "left": (0, 1), "right": (-1, 0)}


@pytest.mark.parametrize("shape", SHAPES)
def test_large_trees_have_the_best_subtree_for_any_alpha(shape):
    rng = np.random.default_rng(0)
    for _ in range(8):
        nodes = made_tree(rng.integers(*SHAPES[shape], 200))
        more = np.exp(rng.uniform(0, 9, nodes.feature.size)).astype(int)
        loss = summed_up(nodes, more.tolist())
        for alpha in np.exp(rng.uniform(0, 9, 40)).astype(int).tolist():
            flags = PRUNINGS["cost_complexity"](nodes, np.array(loss, float), np.array(loss, float) + alpha)
            assert same_leaves(nodes, flags, best_for(alpha, nodes, loss))


def nodes_of(tree):
    """A tree of scikit-learn as Nodes, and the number that each node has there."""
    old, choices = [0], []
    nodes = made_tree([])
    while True:
        leaves = [node for node, f in enumerate(nodes.feature) if f < 0]
        open_ = [i for i, node in enumerate(leaves) if tree.children_left[old[node]] >= 0]
        if not open_:
            return nodes, np.array(old)
        choices.append(open_[0])
        node = old[leaves[open_[0]]]
        old += [tree.children_left[node], tree.children_right[node]]
        nodes = made_tree(choices)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(3))
def test_subtrees_for_growing_alpha_are_those_of_scikit_learn(seed, criterion):
    """There the training loss is the impurity, so it is here; alpha comes in as above."""
    X, y = make_classification(120, flip_y=0.3, random_state=seed)
    model = DecisionTreeClassifier(criterion=criterion, random_state=seed, max_depth=6)
    alphas = model.cost_complexity_pruning_path(X, y).ccp_alphas
    tree = model.fit(X, y).tree_
    nodes, old = nodes_of(tree)
    loss = (tree.impurity * tree.weighted_n_node_samples / y.size)[old]
    between = [(a + b) / 2 for a, b in zip(alphas, [*alphas[1:], 1.0], strict=True) if b - a > 1e-9]
    assert len(between) > 5
    for alpha in between:
        flags = PRUNINGS["cost_complexity"](nodes, loss, loss + alpha)
        leaves = leaves_below(nodes, set(np.flatnonzero(flags)))
        pruned = DecisionTreeClassifier(criterion=criterion, random_state=seed, max_depth=6, ccp_alpha=alpha).fit(X, y)
        assert len(leaves) == pruned.get_n_leaves()
        np.testing.assert_allclose(
            np.sort(loss[leaves]),
            np.sort((pruned.tree_.impurity * pruned.tree_.weighted_n_node_samples / y.size)[pruned.tree_.feature < 0]),
            atol=1e-12,
        )
