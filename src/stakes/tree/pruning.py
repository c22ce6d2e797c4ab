"""Pruning a grown tree, bottom-up, by its loss on validation records (FRAMEWORK 5.2).

Both methods count errors or costs alike. Their input is, for each node, the sum over its negatives and over its
positives of what a mistake loses: 1, a weight, or a cost. A node labelled negative loses the
sum of its positives, and the other way round. Labels stay those of the training records (FRAMEWORK 5.4).

To add a method: write the function that returns which nodes become leaves, and name it in PRUNINGS.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._jit import kernel
from stakes._typing import Bools, Bytes, Floats, Indices, Int32s
from stakes.feature_costs import Prices
from stakes.tree.nodes import MISSING, Nodes

__all__ = [
    "PRUNINGS",
    "limit_leaves",
    "node_sums",
    "paid_on_arrival",
    "prune",
    "trim",
    "trim_impurity",
    "trim_small_gains",
]


NONE = -1
# Losses this close, relative to their size, are equal: sums of costs such as 0.1 + 0.2 and 0.3.
LOSS_TOLERANCE = 1e-10
# Gains that are less by a rounding error are large enough, as in scikit-learn.
EPSILON = float(np.finfo(np.float64).eps)


def prune(
    nodes: Nodes,
    method: str,
    validation: NDArray[Any],
    train: NDArray[Any] | None = None,
    *,
    paid: Floats | float = 0.0,
    paid_in_training: Floats | float = 0.0,
) -> Nodes:
    """Return the tree cut back by one of the methods in PRUNINGS.

    `validation` has what the negatives and the positives among the validation records lose when mistaken (`node_sums`),
    `train` the same of the training records: by default ``nodes.weights``, what the tree was grown on. Where features
    have prices, `paid` and `paid_in_training` are what these records have paid when they get to each node
    (`paid_on_arrival`). The nodes that are left are in their old order.

    Examples
    --------
    A split that is wrong on the validation records goes:

    >>> import numpy as np
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.pruning import node_sums, prune
    >>> tree = CostTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0], [5.0]], [0, 1, 1, 0, 0])
    >>> nodes = tree.members_.trees.nodes
    >>> leaf = np.searchsorted(tree.members_.trees.leaves, tree.apply([[1.0], [2.0], [4.0]]))
    >>> pruned = prune(nodes, "reduced_error", node_sums(nodes, leaf, np.array([1, 1, 0]), np.ones(3)))
    >>> nodes.feature.size, pruned.feature.size
    (5, 3)
    """
    train = nodes.weights if train is None else train
    # What the records of two children have paid is what those of their parent have, and the price of the split.
    becomes_leaf = PRUNINGS[method](nodes, _loss(nodes, train) + paid_in_training, _loss(nodes, validation) + paid)
    return _cut(nodes, becomes_leaf)


def trim(nodes: Nodes, cp: float) -> Nodes:
    """Return the tree without splits of too little use, as R's rpart makes it; this takes no validation records.

    What is left is the smallest subtree of least training loss + alpha x leaves, for an alpha of `cp` times the loss of
    the root as a leaf: each split that is left, with those below it, lowers the loss by more than alpha a leaf.
    """
    loss = _loss(nodes, nodes.weights)
    alpha, _, _ = _weakest_links(nodes.left, loss, loss)
    return _cut(nodes, _no_worse(alpha, cp * loss[0]))


def trim_small_gains(nodes: Nodes, least: float) -> Nodes:
    """Return the tree without splits whose gain is below `least` times the weight of all records.

    That is the tree that is grown without them: what lies below a node does not change whether it is split.
    """
    return _cut(nodes, nodes.gain + EPSILON * _weight(nodes) < least * _weight(nodes))


def limit_leaves(nodes: Nodes, most: int) -> Nodes:
    """Return the tree of at most so many leaves that is grown by splitting the node of the largest gain next."""
    becomes_leaf = np.ones(nodes.feature.size, np.bool_)
    gain, left = nodes.gain.tolist(), nodes.left.tolist()
    pending = [(-gain[0], 0)] if left[0] >= 0 else []
    for _ in range(most - 1):
        if not pending:
            break
        _, node = heappop(pending)
        becomes_leaf[node] = False
        for child in (left[node], left[node] + 1):
            if left[child] >= 0:
                heappush(pending, (-gain[child], child))
    return _cut(nodes, becomes_leaf & (nodes.feature >= 0))


def trim_impurity(nodes: Nodes, alpha: float) -> Nodes:
    """Return the smallest subtree of least impurity + alpha x leaves, as scikit-learn makes it.

    Impurity counts as a share of the weight of all records.
    """
    below = nodes.gain.astype(np.float64)  # of all splits from a node on: what it loses as a leaf
    for level in reversed(_levels(nodes)):
        left = nodes.left[level]
        below[level] += below[left] + below[left + 1]
    links, _, _ = _weakest_links(nodes.left, below, below)
    return _cut(nodes, _no_worse(links, alpha * _weight(nodes)) & (nodes.feature >= 0))


def _weight(nodes: Nodes) -> float:
    return float(nodes.weights[0].sum())


def node_sums(nodes: Nodes, leaf: NDArray[Any], y: NDArray[Any], amount: NDArray[Any]) -> Floats:
    """Return the sum of `amount` over the negatives and over the positives of each node of one tree.

    `leaf` is the number of the leaf that each record reaches (`Trees.apply`), `y` its class, 0 or 1, and `amount` what
    a mistake on it counts: 1 or its weight for errors, ``costs.of(y)`` for costs. Sums are laid out as
    ``nodes.counts``.
    """
    leaves = np.flatnonzero(nodes.feature < 0)
    at_leaf = np.bincount(2 * leaf.astype(np.intp) + y.astype(np.intp), _fixed_point(amount), 2 * leaves.size)
    sums = np.zeros((nodes.feature.size, 2))
    sums[leaves] = at_leaf.reshape(-1, 2)
    for level in reversed(_levels(nodes)):
        left = nodes.left[level]
        sums[level] = sums[left] + sums[left + 1]
    return sums


def paid_on_arrival(nodes: Nodes, leaf: NDArray[Any], bins: Bytes, amount: NDArray[Any], prices: Prices) -> Floats:
    """Return what the records of each node of one tree have paid for features on their way to it.

    Each record pays for an item once, and not for missing values; it counts `amount` times.
    """
    leaves = np.flatnonzero(nodes.feature < 0)[leaf]
    return _paid_on_arrival(nodes.feature, nodes.parent, leaves, bins, amount.astype(np.float64), prices)


@kernel
def _paid_on_arrival(
    feature: Int32s, parent: Int32s, leaves: Indices, bins: Bytes, amount: Floats, prices: Prices
) -> Floats:
    first, needed, price = prices
    paid = np.zeros(feature.shape[0])
    path = np.empty(feature.shape[0], np.int64)
    bought = np.empty(price.shape[0], np.bool_)
    for i in range(leaves.shape[0]):
        if amount[i] == 0.0:  # a price may be infinite
            continue
        length, node = 0, np.int64(leaves[i])
        while node >= 0:
            path[length] = node
            length += 1
            node = np.int64(parent[node])
        bought[:] = False
        money = 0.0
        for step in range(length - 1, -1, -1):
            node = path[step]
            paid[node] += amount[i] * money
            split_on = feature[node]
            if split_on >= 0 and bins[i, split_on] != MISSING:
                for at in range(first[split_on], first[split_on + 1]):
                    if not bought[needed[at]]:
                        bought[needed[at]] = True
                        money += price[needed[at]]
    return paid


def _fixed_point(amount: NDArray[Any]) -> Floats:
    """Round to multiples of a power of two, as fine as keeps all sums exact: no order of records matters."""
    bits = 52 - np.frexp(amount.sum(dtype=np.float64))[1]
    return np.ldexp(np.rint(np.ldexp(amount.astype(np.float64), bits)), -bits)


def _loss(nodes: Nodes, sums: NDArray[Any]) -> Floats:
    """Return what each node loses as a leaf with its label: the sum of the other class."""
    positive = nodes.weights[:, 1] > nodes.weights[:, 0]
    return np.where(positive, sums[:, 0], sums[:, 1]).astype(np.float64)


def _no_worse(loss: Floats, than: Any) -> Bools:
    return loss - than <= LOSS_TOLERANCE * np.abs(loss)


def _levels(nodes: Nodes) -> list[Indices]:
    """Return the nodes that split, depth by depth from the root down."""
    levels = []
    level = np.zeros(1, np.intp)
    while (level := level[nodes.feature[level] >= 0]).size:
        levels.append(level)
        left = nodes.left[level]
        level = np.concatenate([left, left + 1])
    return levels


# The methods: from the losses of all nodes as leaves, on training and on validation records, to the nodes that become
# leaves. What lies below such a node does not matter.


def reduced_error(nodes: Nodes, train: Floats, validation: Floats) -> Bools:
    """Replace a subtree, itself pruned before, by a leaf where the validation loss does not get worse."""
    becomes_leaf = np.zeros(validation.size, np.bool_)
    loss = validation.copy()  # of the pruned subtree below each node
    for level in reversed(_levels(nodes)):
        left = nodes.left[level]
        below = loss[left] + loss[left + 1]
        becomes_leaf[level] = _no_worse(validation[level], below)
        loss[level] = np.minimum(validation[level], below)
    return becomes_leaf


def cost_complexity(nodes: Nodes, train: Floats, validation: Floats) -> Bools:
    """Take the subtree of least validation loss, the smallest if several, of those that some alpha makes best.

    For each alpha, the best subtree is the smallest one of least training loss + alpha x leaves. The larger alpha, the
    smaller the tree, each one a subtree of the one before, from the tree as grown (alpha = -inf) to its root.
    """
    alpha, rise, in_turn = _weakest_links(nodes.left, train, validation)
    alphas, step = np.unique(alpha[in_turn], return_inverse=True)
    # The validation loss of each subtree in turn. The last one is the root.
    loss = np.append(0.0, np.cumsum(np.bincount(step, rise[in_turn])))
    loss += validation[0] - loss[-1]
    smallest_best = np.flatnonzero(_no_worse(loss, loss.min()))[-1]
    return alpha <= np.append(-np.inf, alphas)[smallest_best]


PRUNINGS: dict[str, Callable[[Nodes, Floats, Floats], Bools]] = {
    "cost_complexity": cost_complexity,
    "reduced_error": reduced_error,
}


@kernel
def _weakest_links(left: Int32s, train: Floats, validation: Floats) -> tuple[Floats, Floats, Bools]:
    """Return the alpha from which on each node is better a leaf, and what that does to the validation loss.

    A node becomes a leaf where the line ``train + alpha`` of the leaf falls to the loss of the best subtree below it.
    That one is found from its small end: both children are leaves for large alpha; below the largest alpha of a
    link beneath, that link is whole again; and so on down to the crossing. Links above the crossing never break: the
    node is a leaf by then. So each link enters a heap once and leaves it at most once: O(n log n) in all.

    The third array marks the links that break, one after the other, on the way from the tree as grown to the root.
    """
    n = left.shape[0]
    alpha = np.full(n, np.inf)
    rise = np.zeros(n)
    in_turn = np.zeros(n, np.bool_)
    train_rise = np.zeros(n)
    fewer_leaves = np.zeros(n)
    heap = np.full((n, 2), NONE, np.int32)
    for node in range(n - 1, -1, -1):  # children have larger numbers than their parents
        if left[node] < 0:
            continue
        a, b = left[node], left[node] + 1
        train_up = train[node] - train[a] - train[b]
        validation_up = validation[node] - validation[a] - validation[b]
        fewer = 1.0
        # Of all links below a node that may break, its own is the last: it is the top of their heap.
        top = _merge(heap, alpha, a if left[a] >= 0 else NONE, b if left[b] >= 0 else NONE)
        while top != NONE and train_up / fewer < alpha[top]:
            train_up += train_rise[top]
            validation_up += rise[top]
            fewer += fewer_leaves[top]
            in_turn[top] = False
            top = _merge(heap, alpha, heap[top, 0], heap[top, 1])
        alpha[node] = train_up / fewer
        rise[node], train_rise[node], fewer_leaves[node] = validation_up, train_up, fewer
        in_turn[node] = True
        heap[node, 0] = top
    return alpha, rise, in_turn


@kernel
def _merge(heap: Int32s, key: Floats, a: int, b: int) -> int:
    """Merge two skew heaps with the largest key on top; return the top. `heap` has the two children of each entry."""
    if a == NONE or b == NONE:
        return max(a, b)
    if key[a] < key[b]:
        a, b = b, a
    top = a
    while b != NONE:
        rest = heap[a, 1]
        heap[a, 1] = heap[a, 0]
        if rest != NONE and key[rest] > key[b]:
            rest, b = b, rest
        heap[a, 0] = b
        a, b = b, rest
    return top


def _cut(nodes: Nodes, becomes_leaf: Bools) -> Nodes:
    """Return the tree in which some nodes are leaves, without the nodes and category sets that nothing leads to."""
    nodes = nodes._replace(feature=np.where(becomes_leaf, np.int32(-1), nodes.feature))
    kept = np.zeros(nodes.feature.size, np.bool_)
    kept[0] = True
    for level in _levels(nodes):
        kept[nodes.left[level]] = True
        kept[nodes.left[level] + 1] = True
    number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    splits = nodes.feature[kept] >= 0
    category_set = np.where(splits, nodes.category_set[kept], NONE)
    categorical = category_set >= 0
    categories_left = nodes.categories_left[category_set[categorical]]
    category_set[categorical] = np.arange(len(categories_left))
    return Nodes(
        feature=nodes.feature[kept],
        threshold=np.where(splits, nodes.threshold[kept], 0),
        missing_left=np.where(splits, nodes.missing_left[kept], 0),
        left=np.where(splits, number[nodes.left[kept]], NONE),
        category_set=category_set,
        categories_left=categories_left,
        counts=nodes.counts[kept],
        weights=nodes.weights[kept],
        gain=np.where(splits, nodes.gain[kept], 0.0),
    )
