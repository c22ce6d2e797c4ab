"""From the records in a leaf to a probability and a label (FRAMEWORK 5.3, 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from stakes._typing import Bools, Floats, Indices
from stakes.tree.trees import Trees

__all__ = ["AUTO", "LEAVES", "SMOOTHED", "leaf_labels", "leaf_probabilities", "node_weights"]

# b m: m-estimation pulls a leaf towards the base rate b as m records would, of which b m are positive.
EXPECTED_POSITIVES = 10.0
# Shrinkage counts the probability of the node above as this many records.
SHRINKAGE_RECORDS = 20.0


class Counted(NamedTuple):
    """What a smoothing is given of each leaf, or of the ancestor that replaces it."""

    positive: Floats
    all: Floats
    base_rate: Floats  # of the sample that the tree was grown on
    above: Callable[[], Floats]  # the probability of the node above, itself shrunken towards those above it


def frequency(n: Counted) -> Floats:
    """N+ / N; the base rate where a leaf has no weight."""
    return np.divide(n.positive, n.all, out=n.base_rate.copy(), where=n.all > 0)


def laplace(n: Counted) -> Floats:
    """(N+ + 1) / (N + 2)."""
    return (n.positive + 1) / (n.all + 2)


def m_estimate(n: Counted) -> Floats:
    """(N+ + b m) / (N + m) with b m = 10; where b is 0 so is the limit."""
    return np.where(n.base_rate > 0, (n.positive + EXPECTED_POSITIVES) / (n.all + _m(n.base_rate)), 0.0)


def shrinkage(n: Counted) -> Floats:
    """(N+ + k P) / (N + k), P the same of the node above, k = 20 (Agarwal et al. 2022, hierarchical shrinkage)."""
    return (n.positive + SHRINKAGE_RECORDS * n.above()) / (n.all + SHRINKAGE_RECORDS)


class Leaf(NamedTuple):
    """A way from the records in a leaf to a probability."""

    words: str
    smoothing: Callable[[Counted], Floats]
    curtailed: bool = False  # whether leaves with few records are replaced by an ancestor first


# To add a way: a function of `Counted`, and a line here.
LEAVES: dict[str, Leaf] = {
    "frequency": Leaf("frequencies", frequency),
    "laplace": Leaf("Laplace", laplace),
    "m_estimate": Leaf("m-estimation", m_estimate),
    "curtailment": Leaf("curtailed", frequency, curtailed=True),
    "curtailment_laplace": Leaf("curtailed, Laplace", laplace, curtailed=True),
    "curtailment_m_estimate": Leaf("curtailed, m-estimation", m_estimate, curtailed=True),
    "shrinkage": Leaf("shrunken", shrinkage),
}


# What a decision leaves to the members: smoothed by trees, and nothing to other models.
AUTO = "auto"
# Chosen by mean savings on five data sets (churn twice, credit, claims, mammograms). Members of bg, rf, rdf that vote
# by cost: 0.40 (Laplace 0.36, curtailment 0.34, m-estimation 0.33, frequencies 0.14); copies made by over- and hybrid
# sampling: 0.46 (0.31, 0.48, 0.40, 0.23). Curtailed members act on no record where positives are rare.
SMOOTHED = "shrinkage"


def leaf_probabilities(trees: Trees, leaf: str, *, weighted: bool = False) -> Floats:
    """Return P+ of every leaf.

    `leaf` is one of LEAVES, or "auto" for what is best where leaves are compared with a threshold. If `weighted`,
    records count by their weights, in units of the mean weight at the root of their tree, so that Laplace and
    m-estimation add as many records as without weights. Curtailment goes by the number of records.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.leaves import leaf_probabilities
    >>> tree = CostTreeClassifier(criterion="cost", max_depth=1, min_samples_leaf=2)
    >>> tree = tree.fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 1], fp_cost=1, fn_cost=3)
    >>> trees = tree.members_.trees
    >>> leaf_probabilities(trees, "frequency"), leaf_probabilities(trees, "laplace")
    (array([0. , 0.5]), array([0.25, 0.5 ]))

    The positive weighs 3 and the negatives 1, which is 2, 2/3 and 2/3 in units of the mean:

    >>> leaf_probabilities(trees, "frequency", weighted=True), leaf_probabilities(trees, "laplace", weighted=True)
    (array([0.  , 0.75]), array([0.3       , 0.64285714]))
    """
    _, smoothing, curtailed = LEAVES[SMOOTHED if leaf == AUTO else leaf]
    roots = trees.roots[trees.tree_of_leaf]
    amount = trees.nodes.weights if weighted else trees.nodes.counts
    at_root = amount[roots].sum(axis=1)
    base_rate = np.divide(amount[roots, 1], at_root, out=np.zeros(roots.size), where=at_root > 0)
    node = _curtailed(trees, _m(base_rate)) if curtailed else trees.leaves
    unit = np.ones(roots.size)
    if weighted:
        np.divide(at_root, trees.nodes.counts[roots].sum(axis=1), out=unit, where=at_root > 0)
    above = partial(_shrunken_above, trees, amount, unit)
    return smoothing(Counted(amount[node, 1] / unit, amount[node].sum(axis=1) / unit, base_rate, above))


def _shrunken_above(trees: Trees, amount: Floats, unit: Floats) -> Floats:
    """Return, for each leaf, the probability of the node above it, shrunken from the root down."""
    nodes, parent = trees.nodes, trees.nodes.parent
    total = amount.sum(axis=1)
    probability = np.divide(amount[:, 1], total, out=np.zeros(total.size), where=total > 0)
    # A record of each tree, in units of the amounts; found from its leaves.
    record = np.ones(len(trees))
    record[trees.tree_of_leaf] = unit
    level = trees.roots
    size = SHRINKAGE_RECORDS * record
    while level.size:
        splits = nodes.feature[level] >= 0
        left, size = nodes.left[level[splits]], np.tile(size[splits], 2)
        level = np.concatenate([left, left + 1])
        probability[level] = (amount[level, 1] + size * probability[parent[level]]) / (total[level] + size)
    leaf_parent = parent[trees.leaves]
    return probability[np.where(leaf_parent >= 0, leaf_parent, trees.leaves)]


def _m(base_rate: Floats) -> Floats:
    """Return the number of records of which ten would be positive."""
    with np.errstate(divide="ignore"):
        return EXPECTED_POSITIVES / base_rate


def _curtailed(trees: Trees, m: Floats) -> Indices:
    """Return, for each leaf, itself or its closest ancestor with at least `m` records; the root if none has."""
    total, parent = trees.nodes.counts.sum(axis=1), trees.nodes.parent
    node = trees.leaves.copy()
    while True:
        climbs = (total[node] < m) & (parent[node] >= 0)
        if not climbs.any():
            return node
        node[climbs] = parent[node[climbs]]


def leaf_labels(trees: Trees) -> Bools:
    """Return whether a leaf's label is positive: its positives weigh, or cost, more than its negatives."""
    weight = trees.nodes.weights[trees.leaves]
    return weight[:, 1] > weight[:, 0]


def node_weights(trees: Trees) -> Floats:
    """Return the mean weight W / N of the records in every leaf (FRAMEWORK 6, weighted ensembles)."""
    return trees.nodes.weights[trees.leaves].sum(axis=1) / trees.nodes.counts[trees.leaves].sum(axis=1)
