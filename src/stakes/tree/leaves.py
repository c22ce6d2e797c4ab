"""From the records in a leaf to a probability and a label (FRAMEWORK 5.3, 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stakes._typing import Bools, Floats, Indices
from stakes.tree.trees import Trees

__all__ = [
    "AUTO",
    "CHEAPEST",
    "LEAVES",
    "SMOOTHED",
    "SMOOTHED_MEAN",
    "TRIED",
    "leaf_labels",
    "leaf_probabilities",
    "node_weights",
    "shrunk",
]

# b m: m-estimation pulls a leaf towards the base rate b as m records would, of which b m are positive.
EXPECTED_POSITIVES = 10.0


# By how many records a leaf is shrunk for each synthetic one that an original one has got.
PER_SYNTHETIC = 3.0


class Counted(NamedTuple):
    """What a smoothing is given of each leaf, or of the ancestor that replaces it."""

    positive: Floats
    all: Floats
    base_rate: Floats  # of the sample that the tree was grown on
    growth: float  # how many records of a class there are in it for each original one, neighbours included


def frequency(n: Counted) -> Floats:
    """N+ / N; the base rate where a leaf has no weight."""
    return np.divide(n.positive, n.all, out=n.base_rate.copy(), where=n.all > 0)


def laplace(n: Counted) -> Floats:
    """(N+ + 1) / (N + 2)."""
    return (n.positive + 1) / (n.all + 2)


def m_estimate(n: Counted) -> Floats:
    """(N+ + b m) / (N + m) with b m = 10; where b is 0 so is the limit."""
    return np.where(n.base_rate > 0, (n.positive + EXPECTED_POSITIVES) / (n.all + _m(n.base_rate)), 0.0)


def shrunk(n: Counted) -> Floats:
    """(N+ + b k) / (N + k) with k = 3 (g - 1), three records for each synthetic one of an original one, at most m."""
    k = np.minimum(PER_SYNTHETIC * (n.growth - 1.0), _m(n.base_rate))
    return frequency(n._replace(positive=n.positive + n.base_rate * k, all=n.all + k))


class Leaf(NamedTuple):
    """A way from the records in a leaf to a probability."""

    words: str
    smoothing: Callable[[Counted], Floats]
    curtailed: bool = False  # whether leaves with few records are replaced by an ancestor first
    or_positives: bool = False  # whether ten positives are enough, however few records there are


# To add a way: a function of `Counted`, and a line here.
LEAVES: dict[str, Leaf] = {
    "frequency": Leaf("frequencies", frequency),
    "laplace": Leaf("Laplace", laplace),
    "m_estimate": Leaf("m-estimation", m_estimate),
    "curtailment": Leaf("curtailed", frequency, curtailed=True),
    "curtailment_laplace": Leaf("curtailed, Laplace", laplace, curtailed=True),
    "curtailment_m_estimate": Leaf("curtailed, m-estimation", m_estimate, curtailed=True),
    "supported": Leaf("ten positives", frequency, curtailed=True, or_positives=True),
    "shrunk": Leaf("shrunk", shrunk),
    "supported_shrunk": Leaf("ten positives, shrunk", shrunk, curtailed=True, or_positives=True),
}


# What a decision leaves to the members: smoothed by trees, and nothing to other models.
AUTO = "auto"
# Chosen by the mean savings of dm-bg, dm-rf and dm-rdf on six data sets (loans, three of customers or staff who leave,
# bankruptcies, credit): 0.43 (shrinkage by 20 or 50 records 0.39 or 0.42, curtailment with Laplace 0.35, curtailment
# 0.34, Laplace 0.34), the simpler of the two best of 17 ways tried. On three others (Telco churn, mammograms, claims):
# 0.43 (0.33 or 0.36, 0.26, 0.24, 0.29); but that curtailment fails on mammograms, and 20 records on churn, was known
# before. One split and 30 trees each. Where positives are rare, curtailed members may act on no record at all.
#
# Copies of one positive count as one. Ten neighbours support little, but whole branches may consist of these, so that
# ancestors are as pure: leaves are pulled towards the base rate in addition (see `SMOOTHED_MEAN`).
#
# Above the leaves of a stump there is the root only. By the weights of boosting it is on neither side of a threshold:
# in the place of a leaf it ends boosting. By frequencies, no stump is worse than chance at constant costs.
SMOOTHED = {"": "supported", "copies": "supported", "neighbours": "supported_shrunk", "weights": "frequency"}
# What a decision by T_cs leaves to the members: one of these where it clearly costs less on validation records, and as
# above otherwise. Records are pooled, or pulled towards one half or the share of positives: no one of the three is
# best on all data, and more ways to choose among gained nothing (docs/guide/probabilities.md). Frequencies are not
# tried, because costs do nothing in pure leaves.
CHEAPEST = "cheapest"
TRIED = ("laplace", "m_estimate")
# As SMOOTHED, where probabilities are averaged. Chosen by the mean savings of the names of SMOTE on eight data sets, of
# Telco churn the learning records only, and because shrunk leaves turn into frequencies as costs get equal. Of copies
# because more is then acted on the dearer a miss is; twelve names on 16 data sets save 0.372 (curtailed 0.357).
SMOOTHED_MEAN = {"copies": "supported", "neighbours": "shrunk"}


def leaf_probabilities(
    trees: Trees, leaf: str, *, weighted: bool = False, growth: float = 1.0, copies: tuple[float, float] = (1.0, 1.0)
) -> Floats:
    """Return P+ of every leaf.

    `leaf` is one of LEAVES. If `weighted`, records count by their weights, in units of the mean weight at the root of
    their tree, so that Laplace and m-estimation add as many records as without weights. Curtailment goes by the number
    of records. `growth` is how many records of a class there were for each original one, of trees grown on synthetic
    records; `copies`, how many of each negative and of each positive. Of what supports a leaf, copies of a record count
    as one: the dearer a miss, the more of them there are.

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
    _, smoothing, curtailed, or_positives = LEAVES[leaf]
    tree = trees.tree_of_leaf
    amount = trees.nodes.weights if weighted else trees.nodes.counts
    at_root = amount[trees.roots].sum(axis=1)
    base_rate = np.divide(amount[trees.roots, 1], at_root, out=np.zeros(len(trees)), where=at_root > 0)
    node = trees.leaves
    if curtailed:
        counted = np.array(copies if or_positives else (1.0, 1.0))
        originals = amount[trees.roots] / counted
        original_rate = np.divide(originals[:, 1], originals.sum(axis=1), out=np.zeros(len(trees)), where=at_root > 0)
        node = _curtailed(trees, trees.nodes.counts / counted, _m(original_rate)[tree], or_positives)
    unit = np.ones(len(trees))
    if weighted:
        np.divide(at_root, trees.nodes.counts[trees.roots].sum(axis=1), out=unit, where=at_root > 0)
    positive, total = amount[node, 1], amount[node, 0] + amount[node, 1]
    return smoothing(Counted(positive / unit[tree], total / unit[tree], base_rate[tree], growth))


def _m(base_rate: Floats) -> Floats:
    """Return the number of records of which ten would be positive."""
    with np.errstate(divide="ignore"):
        return EXPECTED_POSITIVES / base_rate


def _curtailed(trees: Trees, counts: Floats, m: Floats, or_positives: bool) -> Indices:
    """Return, for each leaf, itself or its closest ancestor with at least `m` records; the root if none has.

    `counts` has the records of both classes in each node. If `or_positives`, ten positives are enough, too: as many as
    are expected among `m` records.
    """
    parent, total = trees.nodes.parent, counts.sum(axis=1)
    node = trees.leaves.copy()
    while True:
        climbs = (total[node] < m) & (parent[node] >= 0)
        if or_positives:
            climbs &= counts[node, 1] < EXPECTED_POSITIVES
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
