"""FRAMEWORK 5.1 written down once more, plainly and slowly, on raw values: the judge of the engine.

Nothing here knows of bins, histograms or whole numbers. A column of floats is numeric, with NaN for missing; a column
of objects holds categories, with None for missing.
"""

from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from stakes.table import Table
from stakes.tree.binning import Binning
from stakes.tree.criteria import CRITERIA
from stakes.tree.growing import Settings, grow
from stakes.tree.trees import Trees

TOLERANCE = 1e-10  # weights are whole numbers of at most 52 bits in the engine

# The engine's side


def table_of(columns):
    return Table([pl.Series(list(c), dtype=pl.String) if is_categorical(c) else c for c in columns])


def grow_tree(
    bins,
    space,
    y,
    *,
    weight=None,
    multiplicity=None,
    criterion="gini",
    max_depth=1 << 30,
    min_samples_split=2,
    min_samples_leaf=1,
    max_features=None,
    features=None,
    break_ties=True,
    seed=0,
    random_cuts=False,
):
    n, d = bins.shape[0], space.n_bins.size
    features = np.arange(d) if features is None else np.asarray(features)
    settings = Settings(
        CRITERIA[criterion],
        max_depth,
        min_samples_split,
        min_samples_leaf,
        d if max_features is None else max_features,
        break_ties,
        seed,
        random_cuts=random_cuts,
    )
    return grow(
        bins,
        np.array(y, np.uint8),
        np.ones(n, np.int32) if multiplicity is None else np.array(multiplicity, np.int32),
        np.empty(0) if weight is None else np.array(weight, np.float64),
        features.astype(np.int32),
        space,
        settings,
    )


@dataclass
class Grown:
    """A tree together with the binning it was grown on."""

    binning: Binning
    bins: np.ndarray
    trees: Trees

    @property
    def nodes(self):
        return self.trees.nodes

    def apply(self, table):
        return self.trees.apply(self.binning.transform(table))[:, 0]

    def share(self, table):
        """W+ / W of the leaf that each record reaches; -1 where the leaf has no weight."""
        weights = self.nodes.weights[self.trees.leaves[self.apply(table)]]
        total = weights.sum(axis=1)
        return np.where(total > 0, weights[:, 1] / np.where(total > 0, total, 1), -1.0)


def fit_tree(table, y, **how):
    binning = Binning().fit(table)
    bins = binning.transform(table)
    return Grown(binning, bins, Trees.join([grow_tree(bins, binning.feature_bins_, y, **how)]))


def nested(nodes, node=0):
    """A tree as nested tuples, which do not depend on the numbers of its nodes."""
    here = (tuple(nodes.counts[node]), tuple(nodes.weights[node]), float(nodes.gain[node]))
    if nodes.feature[node] < 0:
        return here
    left = nodes.left[node]
    rule = (int(nodes.feature[node]), int(nodes.threshold[node]), bool(nodes.missing_left[node]))
    if nodes.category_set[node] >= 0:
        rule += tuple(nodes.categories_left[nodes.category_set[node]].tolist())
    return here, rule, nested(nodes, left), nested(nodes, left + 1)


# The reference


class Problem(NamedTuple):
    columns: list
    y: np.ndarray
    weight: np.ndarray  # of one copy
    multiplicity: np.ndarray

    def take(self, rows):
        return Problem([c[rows] for c in self.columns], self.y[rows], self.weight[rows], self.multiplicity[rows])


class Sums(NamedTuple):
    """Of both sides of every candidate, or of a node: weights of the classes, and records."""

    positive: np.ndarray
    negative: np.ndarray
    count: np.ndarray


def is_categorical(column):
    return column.dtype == object


def missing(column):
    return np.array([v is None for v in column], bool) if is_categorical(column) else np.isnan(column)


def sums(problem, mask):
    mask = np.atleast_2d(mask).astype(float)
    weight = problem.weight * problem.multiplicity
    return Sums(mask @ (weight * (problem.y == 1)), mask @ (weight * (problem.y == 0)), mask @ problem.multiplicity)


def numeric_cuts(column):
    """Every cut with missing on the left and on the right, and missing alone on the right."""
    absent = missing(column)
    values = np.unique(column[~absent])
    masks = [column <= v for v in values[:-1]]
    if absent.any():
        masks += [mask | absent for mask in masks]
        if values.size:
            masks.append(~absent)
    return masks


def categories_of(column):
    return sorted(set(column), key=lambda c: (c is not None, c))


def bipartitions(column):
    """Every way to put the categories present, missing among them, on two sides."""
    first, *rest = categories_of(column)
    sides = [(first, *more) for r in range(len(rest)) for more in combinations(rest, r)]
    return [np.isin(column.astype(str), [str(c) for c in side]) for side in sides]


def prefixes(column, problem):
    """The cuts in the order of P+; categories of equal P+ in the order of their names, missing first."""
    names = categories_of(column)
    of = sums(problem, np.array([[v == name for v in column] for name in names]))
    weight = of.positive + of.negative
    share = np.where(weight > 0, of.positive / np.where(weight > 0, weight, 1), 0.5)
    order = [names[i] for i in np.argsort(share, kind="stable")]
    return [np.isin(column.astype(str), [str(c) for c in order[:i]]) for i in range(1, len(order))]


def candidates(problem, min_leaf=1, in_order=False):
    """The left sides of all splits of a problem without records of multiplicity 0, and their features."""
    masks, features = [], []
    for j, column in enumerate(problem.columns):
        if not is_categorical(column):
            found = numeric_cuts(column)
        elif in_order:
            found = prefixes(column, problem)
        else:
            found = bipartitions(column)
        masks += found
        features += [j] * len(found)
    masks = np.array(masks, bool).reshape(len(masks), problem.y.size)
    count = sums(problem, masks).count
    allowed = (count >= min_leaf) & (problem.multiplicity.sum() - count >= min_leaf)
    return masks[allowed], np.array(features, int)[allowed]


def shares(of):
    weight = of.positive + of.negative
    return np.where(weight > 0, of.positive / np.where(weight > 0, weight, 1), 0.0)


def gini(of):
    p = shares(of)
    return np.where(of.positive + of.negative > 0, 1 - p**2 - (1 - p) ** 2, 0.0)


def entropy(of):
    p = shares(of)
    logs = [np.where(q > 0, q * np.log2(np.where(q > 0, q, 1)), 0.0) for q in (p, 1 - p)]
    return np.where(of.positive + of.negative > 0, -logs[0] - logs[1], 0.0)


def cost(of):
    """C_t: positive iff the positives cost more, then the negatives pay, and the other way round."""
    return np.where(of.positive > of.negative, of.negative, of.positive)


def loss_by_the_book(criterion, positive, negative):
    """The impurity of a node times its weight, or what its cheaper label costs."""
    of = Sums(np.array(float(positive)), np.array(float(negative)), None)
    if criterion == "cost":
        return float(cost(of))
    return (positive + negative) * float(gini(of) if criterion == "gini" else entropy(of))


def decrease(impurity, node, left, right):
    def weight(of):
        return of.positive + of.negative

    return impurity(node) - (weight(left) * impurity(left) + weight(right) * impurity(right)) / weight(node)


def both_sides(problem, masks):
    return sums(problem, np.ones(problem.y.size)), sums(problem, masks), sums(problem, ~masks)


def split_values(criterion, problem, masks):
    """The value of each split, the larger the better: two numbers, of which the second breaks ties."""
    sides = both_sides(problem, masks)
    zero = np.zeros(len(masks))
    if criterion == "gini":
        return decrease(gini, *sides), zero
    if criterion == "entropy":
        return decrease(entropy, *sides), zero
    if criterion == "cost":
        node, left, right = sides
        return cost(node) - cost(left) - cost(right), decrease(gini, *sides)
    raise ValueError(criterion)


def gain_and_ratio(problem, masks):
    """The entropy gain and the gain ratio of each split; -inf where all weight is on one side."""
    node, left, right = both_sides(problem, masks)
    gain = decrease(entropy, node, left, right)
    information = entropy(Sums(left.positive + left.negative, right.positive + right.negative, None))
    with np.errstate(divide="ignore", invalid="ignore"):
        return gain, np.where(information > 0, gain / information, -np.inf)


def assert_best(problem, criterion, min_leaf, left):
    """Check a node by exhaustive search: `left` is the best left side, or None where there is none."""
    node = sums(problem, np.ones(problem.y.size))
    total = node.positive[0] + node.negative[0]
    # With at least two records to a side the best split need not be a cut in the order of P+, which is all that
    # FRAMEWORK 5.1 asks for; nor need it be by gain ratio.
    masks, _ = candidates(problem, min_leaf, in_order=min_leaf > 1 or criterion == "gain_ratio")
    if node.positive[0] == 0 or node.negative[0] == 0 or not len(masks):
        assert left is None
        return
    if criterion == "gain_ratio":
        gain, ratio = gain_and_ratio(problem, masks)
        best = ratio[gain >= gain.mean() + TOLERANCE].max(initial=-np.inf)
        if left is None:
            assert best == -np.inf
            return
        (found_gain,), (found_ratio,) = gain_and_ratio(problem, left[None])
        assert found_gain >= gain.mean() - TOLERANCE
        assert found_ratio >= best - TOLERANCE
        return
    assert left is not None
    value, tie = split_values(criterion, problem, masks)
    (found_value,), (found_tie,) = split_values(criterion, problem, left[None])
    assert abs(found_value - value.max()) <= TOLERANCE * (total if criterion == "cost" else 1)
    if np.array_equal(problem.weight, np.round(problem.weight)):  # sums of whole numbers tie exactly or not at all
        assert abs(found_tie - tie[value == value.max()].max()) <= TOLERANCE


def assert_every_split_is_best(problem, grown, table, criterion, min_leaf=1, max_depth=1 << 30):
    """Check all nodes of a tree by exhaustive search, and their sums against the records that reach them."""
    nodes, depth = grown.nodes, grown.trees.depth
    at = grown.trees.leaves[grown.apply(table)]
    here = {int(node): at == node for node in grown.trees.leaves}
    for node in range(nodes.feature.size - 1, 0, -1):  # children come after their parents
        parent = int(nodes.parent[node])
        here[parent] = here.get(parent, False) | here[node]
    alive = problem.multiplicity > 0
    for node, rows in here.items():
        of = problem.take(rows & alive)
        counted = sums(of, np.ones(of.y.size))
        assert nodes.counts[node].sum() == counted.count[0]
        assert nodes.counts[node, 1] == (of.multiplicity * of.y).sum()
        np.testing.assert_allclose(nodes.weights[node], [counted.negative[0], counted.positive[0]], rtol=1e-9)
        left = here[int(nodes.left[node])][rows & alive] if nodes.feature[node] >= 0 else None
        if depth[node] < max_depth:
            assert_best(of, criterion, min_leaf, left)
        else:
            assert left is None
        if left is not None:
            assert min(of.multiplicity[side].sum() for side in (left, ~left)) >= min_leaf


# A whole tree


class Tied(Exception):
    """Two different splits are equally good: what the tree must look like is not determined."""


@dataclass
class Node:
    share: float
    feature: int = -1
    is_left: object = None
    children: list = field(default_factory=list)


def best_mask(criterion, problem, min_leaf):
    masks, features = candidates(problem, min_leaf, in_order=min_leaf > 1 or criterion == "gain_ratio")
    if not len(masks):
        return None
    if criterion == "gain_ratio":
        gain, first = gain_and_ratio(problem, masks)
        if np.any(np.abs(gain - gain.mean()) < 1e-9) and np.ptp(gain) > 1e-9:
            raise Tied
        first = np.where(gain >= gain.mean() - 1e-9, first, -np.inf)
        second = np.zeros(len(masks))
    else:
        first, second = split_values(criterion, problem, masks)
    if first.max() == -np.inf:
        return None
    best = np.flatnonzero(first >= first.max() - 1e-9)
    best = best[second[best] >= second[best].max() - 1e-9]
    if best.size > 1:
        raise Tied
    return masks[best[0]], features[best[0]]


def rule(problem, mask, feature):
    """What goes left, for values seen in this node and for all others."""
    column = problem.columns[feature]
    absent = missing(column)
    left_count, right_count = (problem.multiplicity[side].sum() for side in (mask, ~mask))
    missing_left = mask[absent][0] if absent.any() else left_count >= right_count
    if is_categorical(column):
        seen = dict(zip(column[~absent], mask[~absent], strict=True))
        return lambda value: missing_left if value is None else seen.get(value, missing_left)
    if not mask[~absent].any() or mask[~absent].all():
        return lambda value: missing_left if np.isnan(value) else bool(mask[~absent].all())
    cut = (column[mask & ~absent].max() + column[~mask & ~absent].min()) / 2
    return lambda value: missing_left if np.isnan(value) else value <= cut


def reference_tree(problem, criterion, *, max_depth=1 << 30, min_samples_split=2, min_samples_leaf=1):
    """Grow a tree by recursion; raise Tied where the best split of some node is not unique."""
    problem = problem.take(problem.multiplicity > 0)
    all_ = sums(problem, np.ones(problem.y.size))
    node = Node(float(shares(all_)[0]))
    if (
        max_depth == 0
        or all_.count[0] < min_samples_split
        or all_.count[0] < 2 * min_samples_leaf
        or all_.positive[0] == 0
        or all_.negative[0] == 0
    ):
        return node
    found = best_mask(criterion, problem, min_samples_leaf)
    if found is None:
        return node
    mask, node.feature = found
    node.is_left = rule(problem, *found)
    node.children = [
        reference_tree(
            problem.take(side),
            criterion,
            max_depth=max_depth - 1,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
        )
        for side in (mask, ~mask)
    ]
    return node


def reference_share(node, record):
    while node.children:
        node = node.children[0 if node.is_left(record[node.feature]) else 1]
    return node.share


# Random problems


def random_problem(rng, *, n=None, weights="whole", with_missing=True, max_features=5):
    """Few values, many ties, missing values, constant columns, multiplicities of 0 and more."""
    n = int(rng.integers(2, 41)) if n is None else n
    columns = [random_column(rng, n, with_missing) for _ in range(rng.integers(1, max_features + 1))]
    weight = {
        "none": np.ones(n),
        "whole": rng.integers(0 if rng.random() < 0.3 else 1, 6, n).astype(float),
        "real": rng.lognormal(0, 2, n),
    }[weights]
    multiplicity = rng.integers(0, 4, n) if rng.random() < 0.5 else np.ones(n, int)
    return Problem(columns, (rng.random(n) < rng.uniform(0.1, 0.9)).astype(int), weight, multiplicity)


def random_column(rng, n, with_missing=True):
    absent = rng.random(n) < (rng.uniform(0, 0.6) if with_missing and rng.random() < 0.5 else 0)
    kind = rng.integers(0, 5)
    if kind == 0:
        return np.where(absent, np.nan, 1.5)  # constant
    if kind in (1, 2):
        return np.where(absent, np.nan, rng.integers(-3, rng.integers(-2, 12), n).astype(float))  # tied
    if kind == 3:
        return np.where(absent, np.nan, rng.normal(size=min(n, 60))[rng.permutation(n) % 60])  # not tied where few
    names = np.array(list("abcdef")[: rng.integers(1, 7)], object)
    return np.where(absent, None, rng.choice(names, n))
