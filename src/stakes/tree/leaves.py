"""From the records in a leaf to a probability and a label (FRAMEWORK 5.3, 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stakes._typing import Bools, Floats, Indices
from stakes.tree.trees import Trees

__all__ = ["LEAVES", "leaf_labels", "leaf_probabilities", "node_weights", "weighted_probabilities"]


# b m: m-estimation pulls a leaf towards the base rate b as m records would, of which b m are positive.
EXPECTED_POSITIVES = 10.0


class Counted(NamedTuple):
    """What a smoothing sees of each leaf, or of the ancestor that speaks for it."""

    positive: Floats
    all: Floats
    base_rate: Floats  # of the sample that the tree was grown on


def frequency(n: Counted) -> Floats:
    """N+ / N."""
    return n.positive / n.all


def laplace(n: Counted) -> Floats:
    """(N+ + 1) / (N + 2)."""
    return (n.positive + 1) / (n.all + 2)


def m_estimate(n: Counted) -> Floats:
    """(N+ + b m) / (N + m) with b m = 10; where b is 0 so is the limit."""
    with np.errstate(divide="ignore"):
        m = EXPECTED_POSITIVES / n.base_rate
    return np.where(n.base_rate > 0, (n.positive + EXPECTED_POSITIVES) / (n.all + m), 0.0)


# Name: smoothing, and whether small leaves are cut off first.
LEAVES: dict[str, tuple[Callable[[Counted], Floats], bool]] = {
    "frequency": (frequency, False),
    "laplace": (laplace, False),
    "m_estimate": (m_estimate, False),
    "curtailment": (frequency, True),
    "curtailment_laplace": (laplace, True),
    "curtailment_m_estimate": (m_estimate, True),
}


def leaf_probabilities(trees: Trees, leaf: str) -> Floats:
    """Return P+ of every leaf by one of the ways in LEAVES.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.leaves import leaf_probabilities
    >>> tree = CostTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> leaf_probabilities(tree.members_.trees, "frequency"), leaf_probabilities(tree.members_.trees, "laplace")
    (array([0., 1.]), array([0.25, 0.75]))
    """
    smoothing, curtailed = LEAVES[leaf]
    count = trees.nodes.counts
    total = count.sum(axis=1)
    roots = trees.roots[trees.tree_of_leaf]
    base_rate = count[roots, 1] / np.maximum(total[roots], np.finfo(float).tiny)
    node = trees.leaves
    if curtailed:
        with np.errstate(divide="ignore"):
            m = EXPECTED_POSITIVES / base_rate
        node = _nearest_ancestor_with(trees, m)
    return smoothing(Counted(count[node, 1], total[node], base_rate))


def _nearest_ancestor_with(trees: Trees, m: Floats) -> Indices:
    """Return, for each leaf, itself or its closest ancestor with at least `m` records; the root if none has."""
    total, parent = trees.nodes.counts.sum(axis=1), trees.nodes.parent
    node = trees.leaves.copy()
    while True:
        climbs = (total[node] < m) & (parent[node] >= 0)
        if not climbs.any():
            return node
        node[climbs] = parent[node[climbs]]


def weighted_probabilities(trees: Trees) -> Floats:
    """Return W+ / W of every leaf; the base rate of the tree where a leaf has no weight.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.leaves import weighted_probabilities
    >>> tree = CostTreeClassifier(criterion="cost", max_depth=1, min_samples_leaf=2)
    >>> tree = tree.fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 1], fp_cost=1, fn_cost=3)
    >>> weighted_probabilities(tree.members_.trees)
    array([0.  , 0.75])
    """
    weight = trees.nodes.weights
    roots = trees.roots[trees.tree_of_leaf]
    of = np.where((weight[trees.leaves].sum(axis=1) > 0), trees.leaves, roots)
    total = weight[of].sum(axis=1)
    return np.where(total > 0, weight[of, 1] / np.where(total > 0, total, 1.0), 0.0)


def leaf_labels(trees: Trees) -> Bools:
    """Return whether a leaf's label is positive: its positives weigh, or cost, more than its negatives.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.leaves import leaf_labels
    >>> tree = CostTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> leaf_labels(tree.members_.trees)
    array([False,  True])
    """
    weight = trees.nodes.weights[trees.leaves]
    return weight[:, 1] > weight[:, 0]


def node_weights(trees: Trees) -> Floats:
    """Return the mean weight W / N of the records in every leaf (FRAMEWORK 6, weighted ensembles).

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.leaves import node_weights
    >>> tree = CostTreeClassifier(criterion="cost", max_depth=1, min_samples_leaf=2)
    >>> tree = tree.fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 1], fp_cost=1, fn_cost=3)
    >>> node_weights(tree.members_.trees)
    array([1., 2.])
    """
    return trees.nodes.weights[trees.leaves].sum(axis=1) / trees.nodes.counts[trees.leaves].sum(axis=1)
