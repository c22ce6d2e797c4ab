"""What each feature contributes to the values of the leaves that records reach: exact Shapley values.

What a tree is expected to give where only some features of a record are known is defined along its paths, as in
TreeSHAP (Lundberg et al. 2018): a split on an unknown feature sends the record to both sides, in the shares of the
training records that went there. For one leaf, with value v, that is v times a product over the features on its path:
for a known one 1 or 0, as the record fits the path or not; for an unknown one the share R of records that fit. By
Owen's formula a Shapley value is an integral over the probability t that a feature is known,

    phi_j = v integral_0^1 (o_j - R_j) prod_{i != j} (t o_i + (1 - t) R_i) dt,    o_i = 1 where the record fits, else 0,

of a polynomial in t, whose degree is below the number of features on the path: Gauss-Legendre quadrature with half as
many points is exact. All factors are positive, so that deep trees lose no precision, and a tree with L leaves takes
O(L D) steps for a record, with D features on a path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._jit import in_blocks, inlined, kernel
from stakes._typing import Bytes, Floats, Int32s, Ints, Uint64s
from stakes.tree.nodes import MISSING
from stakes.tree.trees import Trees

__all__ = ["LeafValues", "attribute", "expected"]

# Records that go down a tree side by side, in the registers of the processor (measured).
LANES = 64
RECORDS_PER_TASK = 512


class LeafValues(NamedTuple):
    """What a record gains by each leaf; where a `probability` is given, only records with a threshold below it do."""

    gain: Floats
    probability: Floats | None = None


def attribute(
    trees: Trees,
    bins: Bytes,
    values: LeafValues,
    *,
    n_features: int,
    threshold: Floats | None = None,
    n_threads: int = 1,
) -> Floats:
    """Return what each feature contributes to the sum of leaf values over all trees, for every record.

    `threshold` has a number for each record, needed where values go by it. With what is `expected`, the contributions
    of a record add up to the values of its leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import CostTreeClassifier
    >>> from stakes.table import Table
    >>> from stakes.tree.attribution import LeafValues, attribute, expected
    >>> tree = CostTreeClassifier(max_depth=1).fit([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]], [0, 0, 0, 1])
    >>> trees, bins = tree.members_.trees, tree.binning_.transform(Table(np.array([[1.0, 0.0], [4.0, 0.0]])))
    >>> values = LeafValues(gain=np.array([0.0, 1.0]))
    >>> attribute(trees, bins, values, n_features=2)
    array([[-0.25,  0.  ],
           [ 0.75,  0.  ]])
    >>> expected(trees, values)
    0.25
    """
    nodes, n = trees.nodes, bins.shape[0]
    probability, thresholds = values.probability, threshold
    if probability is None or thresholds is None:  # above any threshold
        probability, thresholds = np.ones(values.gain.size), np.zeros(n)
    steps = _steps(nodes.feature, nodes.left, trees.roots, trees.leaf_number, _covers(trees), values.gain, probability)
    n_on_path = steps[-1]
    points, weights = _quadrature(int(n_on_path.max()))
    contributions = np.empty((n, n_features))

    def run(start: int, end: int) -> None:
        _attribute(
            bins, nodes.feature, nodes.threshold, nodes.missing_left, nodes.category_set, nodes.categories_left,
            *steps, values.gain, probability, thresholds, points, weights, start, end, contributions,
        )  # fmt: skip

    in_blocks(run, n, n_threads, RECORDS_PER_TASK)
    return contributions


def expected(trees: Trees, values: LeafValues, threshold: Floats | None = None) -> float | Floats:
    """Return the sum of leaf values over all trees where no feature is known: one number, or one for each threshold."""
    covers = _covers(trees)
    reached = covers[trees.leaves] / covers[trees.roots][trees.tree_of_leaf] * values.gain
    if values.probability is None or threshold is None:
        return float(reached.sum())
    order = np.argsort(values.probability)
    above = np.append(np.cumsum(reached[order][::-1])[::-1], 0.0)
    return above[np.searchsorted(values.probability[order], threshold, side="right")]


def _covers(trees: Trees) -> Floats:
    """Return how many training records each node has."""
    return trees.nodes.counts.sum(axis=1).astype(np.float64)


def _quadrature(n_features: int) -> tuple[Floats, Floats]:
    """Return points and weights between 0 and 1, a row for each number of points that trees may need."""
    most = max(1, (n_features + 1) // 2)
    points, weights = np.zeros((most + 1, most)), np.zeros((most + 1, most))
    for k in range(1, most + 1):
        x, w = np.polynomial.legendre.leggauss(k)
        points[k, :k], weights[k, :k] = (x + 1) / 2, w / 2
    return points, weights


@kernel
def _steps(
    feature: Int32s, left: Int32s, roots: Ints, leaf_number: Int32s, cover: Floats, gain: Floats, probability: Floats
) -> tuple[Int32s, Int32s, Floats, Floats, Floats, Int32s, Ints, Int32s]:
    """Return the way through all trees, with an entry for every node but the roots, parents first.

    Entries have the depth; the parent, minus one and negative for its right child; the share of the parent's records;
    the product of the shares on the path by splits on the same feature, with this step and without it; and the number
    of the leaf, -1 for nodes that split. A node whose leaves all have the same value is a leaf: the number is that of
    one of them. For each tree, there are where its entries end, and how many features are on a path at most.
    """
    n_nodes, n_trees = feature.shape[0], roots.shape[0]
    below = np.empty(n_nodes, np.int32)  # a leaf that stands for the node; -1 where leaves differ
    for node in range(n_nodes - 1, -1, -1):
        below[node] = leaf_number[node]
        if feature[node] >= 0:
            one, other = below[left[node]], below[left[node] + 1]
            same = one >= 0 and other >= 0
            same = same and gain[one] == gain[other] and probability[one] == probability[other]
            below[node] = one if same else -1
    depth, parents, leaf = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    share, fit, fit_before = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
    ends, n_on_path = np.empty(n_trees, np.int64), np.zeros(n_trees, np.int32)
    # Nodes to be visited, their depths and parents; and the features, fits and distinct features on the way there.
    stack, at_depth, above = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    on_path, fit_on_path, distinct = np.empty(n_nodes, np.int32), np.empty(n_nodes), np.zeros(n_nodes, np.int32)
    n = 0
    for tree in range(n_trees):
        stack[0], at_depth[0], above[0] = roots[tree], 0, 0
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node, d, parent = stack[waiting], at_depth[waiting], above[waiting]
            if d > 0:
                f = feature[parent]
                both = cover[left[parent]] + cover[left[parent] + 1]
                part = cover[node] / both if both > 0.0 else 0.5
                before, new = 1.0, 1
                for i in range(d - 1, 0, -1):
                    if on_path[i] == f:
                        before, new = fit_on_path[i], 0
                        break
                on_path[d], fit_on_path[d], distinct[d] = f, before * part, distinct[d - 1] + new
                n_on_path[tree] = max(n_on_path[tree], distinct[d])
                depth[n], parents[n], leaf[n] = d, parent if node == left[parent] else -1 - parent, below[node]
                share[n], fit[n], fit_before[n] = part, before * part, before
                n += 1
            if below[node] < 0:
                for right in (1, 0):
                    stack[waiting], at_depth[waiting], above[waiting] = left[node] + right, d + 1, node
                    waiting += 1
        ends[tree] = n
    return depth[:n], parents[:n], share[:n], fit[:n], fit_before[:n], leaf[:n], ends, n_on_path


@inlined
def _added(t: float, fit: float, before: float) -> tuple[float, float]:
    """Return (o - R) / (t o + (1 - t) R) after a step less that before it: for records that fit, and no longer do.

    Each leaf counts for the last split on a feature above it: what it counted for an earlier one is taken back.
    """
    earlier = (1.0 - before) / (t + (1.0 - t) * before)
    return (1.0 - fit) / (t + (1.0 - t) * fit) - earlier, -1.0 / (1.0 - t) - earlier


@inlined
def _split(parent: int) -> int:
    """Return the node that a step leaves, to the left or to the right."""
    return parent if parent >= 0 else -1 - parent


@kernel
def _attribute(
    bins: Bytes,
    feature: Int32s,
    split: Bytes,
    missing_left: Bytes,
    category_set: Int32s,
    categories_left: Uint64s,
    depth: Int32s,
    parents: Int32s,
    share: Floats,
    fit: Floats,
    fit_before: Floats,
    leaf: Int32s,
    ends: Ints,
    n_on_path: Int32s,
    gain: Floats,
    probability: Floats,
    threshold: Floats,
    points: Floats,
    weights: Floats,
    start: int,
    end: int,
    contributions: Floats,
) -> None:
    """Write the contributions for the records from start to end; the arrays from `depth` on are those of `_steps`."""
    n_features, most, deepest = contributions.shape[1], points.shape[1], 1
    for step in range(depth.shape[0]):
        deepest = max(deepest, depth[step])
    # By depth: on the way down, whether records fit the path, and the product over its features at each point; on the
    # way up, the sum over the leaves below.
    steps = np.empty(deepest + 1, np.int64)
    left = np.empty((deepest + 1, LANES))
    fits, fits_before = np.empty((deepest + 1, LANES)), np.empty((deepest + 1, LANES))
    product, total = np.empty((deepest + 1, most, LANES)), np.zeros((deepest + 1, most, LANES))
    # By feature: the bins of the records, whether they fit all splits on it so far, and what it contributes.
    block = np.empty((n_features, LANES), np.uint8)
    fits_path, found = np.empty((n_features, LANES)), np.empty((n_features, LANES))
    cuts, worth = np.empty(LANES), np.empty(LANES)
    if_fits, if_not = np.empty(LANES), np.empty(LANES)
    for first in range(start, end, LANES):
        for b in range(LANES):
            row = min(first + b, end - 1)
            for f in range(n_features):
                block[f, b] = bins[row, f]
                fits_path[f, b] = 1.0
                found[f, b] = 0.0
            cuts[b] = threshold[row]
        begin = 0
        for tree in range(ends.shape[0]):
            k = max(1, (n_on_path[tree] + 1) // 2)
            for q in range(k):
                for b in range(LANES):
                    product[0, q, b] = weights[k, q]
            reached = 0
            for step in range(begin, ends[tree] + 1):
                d = depth[step] if step < ends[tree] else 1
                # Up to where the next step starts: what the leaves below each step add to its feature.
                while reached >= d:
                    done = steps[reached]
                    f = feature[_split(parents[done])]
                    for b in range(LANES):
                        if_fits[b] = 0.0
                        if_not[b] = 0.0
                    for q in range(k):
                        fitting, other = _added(points[k, q], fit[done], fit_before[done])
                        for b in range(LANES):
                            if_fits[b] += fitting * total[reached, q, b]
                            if_not[b] += other * total[reached, q, b]
                            total[reached - 1, q, b] += total[reached, q, b]
                    for b in range(LANES):
                        fits_path[f, b] = fits_before[reached, b]
                        found[f, b] += (
                            fits[reached, b] * if_fits[b] + (fits_before[reached, b] - fits[reached, b]) * if_not[b]
                        )
                    reached -= 1
                if step == ends[tree]:
                    break
                parent, number = _split(parents[step]), leaf[step]
                f = feature[parent]
                if parents[step] < 0:  # the right child: its sibling came before
                    for b in range(LANES):
                        left[d, b] = 1.0 - left[d, b]
                elif category_set[parent] >= 0:
                    for b in range(LANES):
                        bin_ = block[f, b]
                        word = categories_left[category_set[parent], bin_ >> 6]
                        left[d, b] = (word >> np.uint64(bin_ & 63)) & np.uint64(1)
                else:
                    lowest, highest = MISSING if missing_left[parent] else MISSING + 1, split[parent]
                    for b in range(LANES):
                        left[d, b] = 1.0 if lowest <= block[f, b] and block[f, b] <= highest else 0.0
                for b in range(LANES):
                    fits_before[d, b] = fits_path[f, b]
                    fits[d, b] = fits_path[f, b] * left[d, b]
                if number >= 0 and gain[number] == 0.0:
                    continue
                value, above = (gain[number], probability[number]) if number >= 0 else (0.0, 0.0)
                for b in range(LANES):
                    worth[b] = value if above > cuts[b] else 0.0
                for q in range(k):
                    t = points[k, q]
                    before = t + (1.0 - t) * fit_before[step]
                    no_longer = (1.0 - t) * fit[step] / before - share[step]
                    still = t / before
                    for b in range(LANES):
                        here = product[d - 1, q, b] * (still * fits[d, b] + no_longer * fits_before[d, b] + share[step])
                        product[d, q, b] = here
                        total[d, q, b] = worth[b] * here
                for b in range(LANES):
                    fits_path[f, b] = fits[d, b]
                steps[d] = step
                reached = d
            begin = ends[tree]
        for b in range(min(LANES, end - first)):
            for f in range(n_features):
                contributions[first + b, f] = found[f, b]
