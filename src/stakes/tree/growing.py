"""Growing one tree: from binned records, depth first, to flat arrays of nodes.

What is done for each node is compiled to borrow its arrays. `_grow` makes some, so it takes them out of their tuples
before its loop, and slices none in it: to count who holds an array takes two atomic operations.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._jit import borrowing, inlined, kernel, tell_before_compiling
from stakes._typing import Bytes, Floats, Int32s, Ints
from stakes.feature_costs import Prices
from stakes.tree.criteria import COST, GINI, check_criterion, node_loss
from stakes.tree.histogram import Histograms, Scratch, add_feature, fill, is_narrow, narrow_down, new_scratch, subtract
from stakes.tree.nodes import BINS, FeatureBins, Nodes
from stakes.tree.prices import TOTAL_COST, still_to_pay
from stakes.tree.records import TreeRecords, fixed_point, load_records, partition, regroup, sum_records
from stakes.tree.searching import Drawing, Settings, find_split
from stakes.tree.splitting import LEFT, NOT_SEEN, RIGHT, Totals, divide, read_used, sort_by_share

__all__ = ["Memory", "Settings", "grow"]

# Nodes with fewer records than this list the bins they use; larger ones read whole histograms (measured). The first is
# for where cuts are scored by vector instructions.
FEW_SCORED, FEW = 40, 96
# With fewer than one record in this many in the sample, those are picked out before the others are read once more.
SPARSE = 8
# The records of a node are moved next to each other, unless they fit into this many bytes: in the cache it is enough to
# put their numbers in order (measured).
CACHE_BYTES = 1 << 18


class Memory(NamedTuple):
    """Where a tree is grown. To get the memory for many records from the system takes a fifth as long as the tree."""

    records: TreeRecords
    nodes: Nodes


def tell_before_growing() -> None:
    """Log once that the engine is being compiled, where it will be."""
    tell_before_compiling(_grow)


def grow(
    bins: Bytes,
    positive: Bytes,
    multiplicity: Int32s,
    weight: Floats,
    features: Int32s,
    feature_bins: FeatureBins,
    settings: Settings,
    prices: Prices | None = None,
    spare: list[Memory] | None = None,
) -> Nodes:
    """Grow a tree on the records of positive multiplicity.

    `weight` is empty, or has the weight of one copy of each record; for the cost criterion it includes the cost.
    `features` are the ones this tree may use, `prices` those of all features, if they have any. Memory is taken from
    `spare`, and put back there for the next tree.
    """
    tell_before_growing()
    check_criterion(settings.criterion)
    if SPARSE * np.count_nonzero(multiplicity) < multiplicity.size:
        rows = np.flatnonzero(multiplicity > 0)
        bins, positive, multiplicity = bins[rows], positive[rows], multiplicity[rows]
        weight = weight[rows] if weight.size else weight
    # Arrays that may be written to and others would be compiled for apart, a quarter of a minute each.
    bins, positive, multiplicity, weight, features = map(_read_only, (bins, positive, multiplicity, weight, features))
    spare = [] if spare is None else spare
    memory = _memory(spare, np.count_nonzero(multiplicity > 0), bins.shape[1])
    n_nodes, n_sets, scale = _grow(
        bins, positive, multiplicity, weight, features, feature_bins, settings, prices, memory
    )  # fmt: skip
    kept = memory.nodes._replace(categories_left=memory.nodes.categories_left[:n_sets])
    kept = Nodes(*(array[:n_nodes].copy() for array in kept))
    spare.append(memory)
    return kept._replace(weights=kept.weights / scale, gain=kept.gain / scale)


def _memory(spare: list[Memory], n_rows: int, width: int) -> Memory:
    """Return memory for a tree of so many records, which a finished tree had if that is enough."""
    with suppress(IndexError):  # there is one for each thread that grows trees, at most
        found = spare.pop()
        if found.records.bins.shape[0] >= n_rows and found.records.bins.shape[1] == width:
            return found
    n_rows += n_rows // 64 + 1  # samples differ a little in how many records they have
    room = 2 * n_rows
    records = TreeRecords(
        np.empty((n_rows, width), np.uint8),
        np.empty(n_rows, np.int64),
        np.empty(n_rows, np.uint8),
        np.empty(n_rows, np.int32),
    )
    nodes = Nodes(
        np.empty(room, np.int32),
        np.empty(room, np.uint8),
        np.empty(room, np.uint8),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((room, 4), np.uint64),
        np.empty((room, 2), np.int64),
        np.empty((room, 2), np.int64),
        np.empty(room, np.float64),
    )
    return Memory(records, nodes)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


@inlined
def _open(counts: Ints, weights: Ints, node: int, depth: int, max_depth: int, min_records: int) -> bool:
    """Return whether a node may be split: not too deep, enough records, and two classes."""
    return (
        depth < max_depth
        and counts[node, 0] + counts[node, 1] >= min_records
        and weights[node, 0] > 0
        and weights[node, 1] > 0
    )


@borrowing
def _bound_children(bounds: Floats, weights: Ints, node: int, first: int, sign: int) -> None:
    """Bound the shares of positives below both children: by those of the node, and by the middle of their own."""
    second = first + 1
    for child in (first, second):
        bounds[child, 0], bounds[child, 1] = bounds[node, 0], bounds[node, 1]
    if sign != 0:
        left = weights[first, 1] / (weights[first, 0] + weights[first, 1])
        right = weights[second, 1] / (weights[second, 0] + weights[second, 1])
        lower, upper = (first, second) if sign > 0 else (second, first)
        bounds[lower, 1] = bounds[upper, 0] = (left + right) / 2.0


@borrowing
def _list_categories(
    scratch: Scratch, records: TreeRecords, start: int, end: int, feature: int, count_bits: int
) -> int:
    """List the categories in a node in the order of their shares of positives; return how many there are."""
    add_feature(scratch, records, start, end, feature, count_bits)
    k = read_used(scratch, count_bits, False)
    sort_by_share(scratch.occupied, k)
    return k


@inlined
def _push(pending: Ints, at: int, node: int, start: int, end: int, depth: int, slot: int) -> None:
    # A tuple, assigned to the row, makes a tree take a tenth longer.
    pending[at, 0] = node
    pending[at, 1] = start
    pending[at, 2] = end
    pending[at, 3] = depth
    pending[at, 4] = slot


@inlined
def _narrow(counts: Ints, node: int, count_bits: int) -> bool:
    return is_narrow(counts[node, 0] + counts[node, 1], count_bits)


@kernel
def _grow(
    bins: Bytes,
    positive: Bytes,
    multiplicity: Int32s,
    weight: Floats,
    features: Int32s,
    feature_bins: FeatureBins,
    settings: Settings,
    prices: Prices | None,
    memory: Memory,
) -> tuple[int, int, float]:
    """Write the nodes into the memory; return how many nodes and sets there are, and the scale of weights and gains."""
    criterion, max_depth = settings.criterion, settings.max_depth
    min_records = max(settings.min_samples_split, 2 * settings.min_samples_leaf)
    features = features.copy()
    n_features = min(settings.max_features, features.shape[0])
    draws = n_features < features.shape[0]
    # Numbers that change are of a type from the start: else all they are passed to is compiled for 0 and for 1 as well.
    zero, one = np.int64(0), np.int64(1)
    scale, count_bits = 1.0, zero
    if weight.shape[0] > 0:
        scale, count_bits = fixed_point(weight, multiplicity)

    records = memory.records
    n_rows = load_records(bins, positive, multiplicity, weight, scale, count_bits, records)
    n_near = max(FEW, CACHE_BYTES // bins.shape[1])
    right = np.empty(min(n_rows, n_near), np.int32)

    # The smaller child is finished before its sibling, so that each histogram kept has at most half the
    # records of the one before: there are as many as doublings.
    few = FEW_SCORED if criterion == GINI and count_bits == 0 and not settings.random_cuts else FEW
    n_slots = 1
    while not draws and (few << n_slots) <= 2 * n_rows:
        n_slots += 1
    hist = np.zeros((n_slots, n_features, BINS if count_bits == 0 else 2 * BINS), np.int64)
    narrow = np.zeros((n_slots if count_bits == 0 else 0, n_features, BINS), np.uint32)
    histograms = Histograms(hist, narrow, count_bits)
    scratch = new_scratch()
    goes_left = np.empty(BINS, np.bool_)
    seen = np.empty(BINS, np.bool_)
    drawing = Drawing(features, np.array([settings.seed], np.uint64))

    room = int(max(one, 2 * n_rows - one))
    feature, threshold, missing_left, left, category_set, categories_left, counts, weights, gain = memory.nodes
    n_sets = zero

    # Between which the share of positives must be in each node, where it has to be in order.
    is_free = settings.monotone.shape[0] == 0
    bounds = np.empty((1 if is_free else room, 2), np.float64)
    bounds[0, 0], bounds[0, 1] = 0.0, 1.0

    # What each feature still costs in a node, and what that goes by. Without prices, nothing of this is compiled.
    toll, trade = None, settings.trade
    if prices is not None:
        toll = np.empty(feature_bins.n_bins.shape[0], np.float64)
        paid = np.empty(prices.price.shape[0], np.bool_)
        parent = np.empty(room, np.int32)
        parent[0] = -1

    # Nodes to be looked at: number, first and last row, depth, slot of the histogram (-1: none).
    pending = np.empty((room + 1, 5), np.int64)
    slot = zero if n_rows >= few else -one
    _push(pending, 0, 0, 0, n_rows, 0, slot)
    n_pending, n_nodes = one, one
    sum_records(records, zero, n_rows, count_bits, counts, weights, zero)
    if slot == 0 and not draws:
        fill(histograms, zero, records, zero, n_rows, features, n_features, _narrow(counts, 0, count_bits))
    # A little less than the share: sums of weights are rounded.
    lightest = settings.min_weight_fraction_leaf * (1.0 - 1e-9) * (weights[0, 0] + weights[0, 1])

    while n_pending > 0:
        n_pending -= 1
        node, start, end = pending[n_pending, 0], pending[n_pending, 1], pending[n_pending, 2]
        depth, slot = pending[n_pending, 3], pending[n_pending, 4]
        feature[node] = -1
        left[node] = -1
        category_set[node] = -1
        threshold[node] = 0
        missing_left[node] = 0
        gain[node] = 0.0
        if not _open(counts, weights, node, depth, max_depth, min_records):
            continue
        loss_here = node_loss(criterion, float(weights[node, 1]), float(weights[node, 0]))
        least, most = (0.0, 1.0) if is_free else (bounds[node, 0], bounds[node, 1])
        totals = Totals(weights[node, 1], weights[node, 0], counts[node, 0] + counts[node, 1], least, most, lightest)
        if prices is not None:
            amount = 1.0
            if trade.rule == TOTAL_COST:
                amount = scale * (counts[node, 0] * trade.negative + counts[node, 1] * trade.positive)
            still_to_pay(toll, amount, prices, paid, feature, parent, node)
        best = find_split(records, start, end, totals, slot, histograms, drawing, feature_bins, settings, scratch, toll)
        if best.feature < 0 or (criterion == COST and not settings.break_ties and best.loss >= loss_here):
            continue

        categorical = feature_bins.categorical[best.feature] != 0
        k = _list_categories(scratch, records, start, end, best.feature, count_bits) if categorical else zero
        cut, missing = divide(best, scratch.occupied, k, feature_bins, goes_left, seen)
        if end - start > n_near:
            middle = regroup(records, start, end, best.feature, goes_left)
        else:
            middle = partition(records, start, end, best.feature, goes_left, right)

        first, second = n_nodes, n_nodes + 1
        n_nodes += 2
        sum_records(records, start, middle, count_bits, counts, weights, first)
        for side in range(2):
            counts[second, side] = counts[node, side] - counts[first, side]
            weights[second, side] = weights[node, side] - weights[first, side]
        if not is_free:
            _bound_children(bounds, weights, node, first, settings.monotone[best.feature])
        if missing == NOT_SEEN:
            # Bins without records go with the majority.
            left_is_larger = counts[first, 0] + counts[first, 1] >= counts[second, 0] + counts[second, 1]
            missing = LEFT if left_is_larger else RIGHT
        feature[node] = best.feature
        left[node] = first
        if prices is not None:
            parent[first] = parent[second] = node
        threshold[node] = cut
        missing_left[node] = missing == LEFT
        if categorical:
            for word in range(4):
                categories_left[n_sets, word] = 0
            for bin_ in range(BINS):
                if goes_left[bin_] if seen[bin_] else missing == LEFT:
                    categories_left[n_sets, bin_ >> 6] |= np.uint64(1) << np.uint64(bin_ & 63)
            category_set[node] = n_sets
            n_sets += 1
        gain[node] = (
            loss_here
            - node_loss(criterion, float(weights[first, 1]), float(weights[first, 0]))
            - node_loss(criterion, float(weights[second, 1]), float(weights[second, 0]))
        )

        # The smaller child comes first. Its histogram is made from its records, its sibling's by subtraction.
        left_first = 2 * middle <= start + end
        small, small_start, small_end = (first, start, middle) if left_first else (second, middle, end)
        large, large_start, large_end = (second, middle, end) if left_first else (first, start, middle)
        small_slot, large_slot = -1, -1
        if draws:
            small_slot = 0 if small_end - small_start >= few else -1
            large_slot = 0 if large_end - large_start >= few else -1
        elif slot >= 0:
            if large_end - large_start >= few and _open(counts, weights, large, depth + 1, max_depth, min_records):
                large_slot = slot
            if small_end - small_start >= few and _open(counts, weights, small, depth + 1, max_depth, min_records):
                small_slot = slot + (large_slot >= 0)
            made = slot + (large_slot >= 0)
            in_narrow = _narrow(counts, node, count_bits)
            if small_slot >= 0 or large_slot >= 0:
                fill(histograms, made, records, small_start, small_end, features, n_features, in_narrow)
            if large_slot >= 0 and in_narrow:
                subtract(narrow, slot, made)
            elif large_slot >= 0:
                subtract(hist, slot, made)
                if _narrow(counts, large, count_bits):
                    narrow_down(hist, narrow, large_slot)
            if small_slot >= 0 and not in_narrow and _narrow(counts, small, count_bits):
                narrow_down(hist, narrow, small_slot)
        _push(pending, n_pending, large, large_start, large_end, depth + 1, large_slot)
        _push(pending, n_pending + 1, small, small_start, small_end, depth + 1, small_slot)
        n_pending += 2

    return n_nodes, n_sets, scale
