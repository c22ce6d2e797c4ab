"""Random trees, and how they are pruned: in plain Python and exact fractions."""

from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from reference import Grown, fit_tree, random_column, table_of

from stakes import Costs
from stakes.tree.pruning import PRUNINGS, node_sums, prune

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
