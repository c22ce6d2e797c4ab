"""Growing one tree: from binned records, depth first, to flat arrays of nodes.

Written for the compiler as much as for the reader: arrays are passed one by one and never sliced in a loop, because
each array that crosses a call or is cut out of another costs two atomic operations, more than adding up a small node.
"""

from __future__ import annotations

from math import frexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._jit import inlined, kernel, tell_before_compiling
from stakes._typing import Bools, Bytes, Float32s, Floats, Int32s, Ints, Uint32s, Uint64s
from stakes.tree.criteria import COST, GAIN_RATIO, GINI, node_loss
from stakes.tree.histogram import (
    LOW,
    NARROW,
    add,
    add_feature,
    add_narrow,
    halves,
    pick,
    pick_narrow,
)
from stakes.tree.nodes import BINS, MISSING, FeatureBins, Nodes
from stakes.tree.splitting import (
    ENTRIES,
    FIRST,
    LEFT,
    NO_SPLIT,
    NOT_SEEN,
    RIGHT,
    Split,
    best_split,
    read_used,
    scan_narrow,
    scan_weights,
    sort_by_share,
)

__all__ = ["Settings", "find_split", "fixed_point", "grow"]

# Nodes with fewer records than this list the bins they use; larger ones read whole histograms (measured). The first is
# for where cuts are scored by vector instructions.
FEW_SCORED, FEW = 40, 96
# With fewer than one record in this many in the sample, those are picked out before the others are read once more.
SPARSE = 8
# A node whose records fit into this many bytes gets a copy of them, so that its subtree works in the cache (measured).
CACHE_BYTES = 1 << 18
# A class is rare with at most one in this many of the weight.
RARE = 10


class Settings(NamedTuple):
    """How to grow; `CostTreeClassifier` explains the names."""

    criterion: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    max_features: int  # drawn anew at each node where fewer than the tree's features
    break_ties: bool  # the cost criterion goes on by its tie-break where no split saves money
    seed: int


@inlined
def _random_below(state: Uint64s, n: int) -> int:
    """Draw from 0 .. n-1 (splitmix64, and the high half of a product)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) >> np.uint64(32)
    return np.int64((z * np.uint64(n)) >> np.uint64(32))


@inlined
def _draw(features: Int32s, j: int, state: Uint64s) -> None:
    """Put a random one of the features from position `j` on at position `j`."""
    other = j + _random_below(state, features.shape[0] - j)
    drawn = features[other]
    features[other] = features[j]
    features[j] = drawn


@kernel
def fixed_point(weight: Floats, multiplicity: Int32s) -> tuple[float, int]:
    """Return the scale of weights as whole numbers, and the bits that counts need below them."""
    total, n = 0.0, 0
    for i in range(weight.shape[0]):
        total += weight[i] * multiplicity[i]
        n += multiplicity[i]
    count_bits = 1
    while n >> count_bits:
        count_bits += 1
    # A power of two, so that whole weights stay exact; at most 2^52, so that sums are exact as floats too. Finite, even
    # for weights that are nearly zero.
    scale = 2.0 ** min(1023, min(52, 62 - count_bits) - frexp(total)[1]) if total > 0.0 else 1.0
    return scale, count_bits


@inlined
def _middle_bin(centers: Floats, feature: int, low: int, high: int) -> int:
    """Return the last bin on the left of the middle between two bins."""
    if high == BINS:
        return BINS - 1
    middle = centers[feature, low] / 2 + centers[feature, high] / 2
    threshold = low
    while threshold + 1 < high and centers[feature, threshold + 1] <= middle:
        threshold += 1
    return threshold


@inlined
def _open(count: Ints, whole: Ints, node: int, depth: int, max_depth: int, min_records: int) -> bool:
    """Return whether a node may be split: not too deep, enough records, and two classes."""
    return (
        depth < max_depth
        and count[node, 0] + count[node, 1] >= min_records
        and whole[node, 0] > 0
        and whole[node, 1] > 0
    )


@kernel
def _load(
    bins: Bytes,
    positive: Bytes,
    multiplicity: Int32s,
    weight: Floats,
    scale: float,
    count_bits: int,
    rows: Int32s,
    my_bins: Bytes,
    my_payload: Ints,
    my_positive: Bytes,
) -> None:
    """Copy the records of positive multiplicity next to each other, with their payloads (see ``histogram``)."""
    k = 0
    for i in range(multiplicity.shape[0]):
        times = np.int64(multiplicity[i])
        if times > 0:
            for j in range(bins.shape[1]):
                my_bins[k, j] = bins[i, j]
            my_positive[k] = positive[i]
            if count_bits == 0:
                my_payload[k] = times << (32 * np.int64(positive[i]))
            else:
                my_payload[k] = (np.int64(weight[i] * scale + 0.5) * times << count_bits) | times
            rows[k] = k
            k += 1


@kernel
def _copy(bins: Bytes, payload: Ints, positive: Bytes, rows: Int32s, start: int, end: int, to: int) -> None:
    """Copy the records ``rows[start:end]`` to the place from `to` on, and number them anew."""
    for i in range(start, end):
        row = rows[i]
        for j in range(bins.shape[1]):
            bins[to, j] = bins[row, j]
        payload[to] = payload[row]
        positive[to] = positive[row]
        rows[i] = to
        to += 1


@inlined
def _push(pending: Ints, at: int, node: int, start: int, end: int, depth: int, slot: int, cached: int) -> None:
    pending[at, 0] = node
    pending[at, 1] = start
    pending[at, 2] = end
    pending[at, 3] = depth
    pending[at, 4] = slot
    pending[at, 5] = cached


@kernel
def _totals(
    payload: Ints,
    positive: Bytes,
    rows: Int32s,
    start: int,
    end: int,
    count_bits: int,
    count: Ints,
    whole: Ints,
    node: int,
) -> None:
    """Sum the multiplicities and weights of ``rows[start:end]`` by class."""
    if count_bits == 0:
        total = np.int64(0)
        for i in range(start, end):
            total += payload[rows[i]]
        count[node, 0], count[node, 1] = total & LOW, total >> 32
        whole[node, 0], whole[node, 1] = count[node, 0], count[node, 1]
    else:
        below, above = np.int64(0), np.int64(0)
        for i in range(start, end):
            if positive[rows[i]]:
                above += payload[rows[i]]
            else:
                below += payload[rows[i]]
        mask = (np.int64(1) << count_bits) - 1
        count[node, 0], count[node, 1] = below & mask, above & mask
        whole[node, 0], whole[node, 1] = below >> count_bits, above >> count_bits


@kernel
def _partition(bins: Bytes, rows: Int32s, start: int, end: int, feature: int, goes_left: Bools, spare: Int32s) -> int:
    """Put the rows whose bin goes left first, all in their old order; return where the others begin."""
    middle, n_right = start, 0
    for i in range(start, end):
        row = rows[i]
        left = np.int64(goes_left[bins[row, feature]])
        rows[middle] = row
        spare[n_right] = row
        middle += left
        n_right += 1 - left
    for i in range(n_right):
        rows[middle + i] = spare[i]
    return middle


@kernel
def _subtract(hist: NDArray[Any], slot: int, other: int) -> None:
    """Subtract the histograms of one slot from those of another."""
    for j in range(hist.shape[1]):
        for b in range(hist.shape[2]):
            hist[slot, j, b] -= hist[other, j, b]


@inlined
def _is_narrow(count: Ints, node: int, count_bits: int) -> bool:
    """Return whether a node has narrow histograms."""
    return count_bits == 0 and count[node, 0] + count[node, 1] <= NARROW


@kernel
def _narrow_down(hist: Ints, narrow: Uint32s, slot: int) -> None:
    """Copy the histograms of a slot to narrow ones."""
    for j in range(hist.shape[1]):
        for b in range(hist.shape[2]):
            narrow[slot, j, b] = halves(hist[slot, j, b])


@kernel
def find_split(
    bins: Bytes,
    payload: Ints,
    positive: Bytes,
    rows: Int32s,
    start: int,
    end: int,
    slot: int,
    hist: Ints,
    narrow: Uint32s,
    few_hist: Ints,
    used: Uint64s,
    occupied: Ints,
    sums: Ints,
    score: Floats,
    score_bits: Ints,
    narrow_sums: Uint32s,
    narrow_score: Float32s,
    narrow_score_bits: Int32s,
    features: Int32s,
    random: Uint64s,
    n_bins: Int32s,
    categoricals: Bytes,
    settings: Settings,
    count_bits: int,
    all_p: int,
    all_n: int,
    all_c: int,
    loss_here: float,
) -> Split:
    """Return the best split of the records ``rows[start:end]`` on the features that this node looks at.

    The node's positives and negatives weigh `all_p` and `all_n`, and it has `all_c` records.
    """
    criterion, min_leaf, n_draw = settings.criterion, settings.min_samples_leaf, settings.max_features
    is_narrow = count_bits == 0 and all_c <= NARROW
    # Taking bins of one class together saves cuts where one class is rare; elsewhere the processor guesses wrong at
    # every second bin, which takes longer than the cuts do (measured).
    mergeable = min_leaf <= 1 and criterion != GAIN_RATIO and RARE * min(all_p, all_n) <= all_p + all_n
    if n_draw < features.shape[0]:
        for j in range(n_draw):
            _draw(features, j, random)
        if slot >= 0 and is_narrow:
            narrow[slot] = 0
            add_narrow(narrow, slot, bins, payload, rows, start, end, features, n_draw)
        elif slot >= 0:
            hist[slot] = 0
            add(hist, slot, bins, payload, positive, rows, start, end, features, n_draw, count_bits)
    best, top = NO_SPLIT, np.int64(0)
    mean_gain = np.inf if criterion == GAIN_RATIO else -np.inf
    for look in range(2 if criterion == GAIN_RATIO else 1):
        gains, n_gains = 0.0, 0
        for j in range(features.shape[0]):
            if j >= n_draw:
                # As in scikit-learn: more features than asked for only while no split is found at all.
                if best.feature >= 0 or n_gains > 0:
                    break
                if look == 0:
                    _draw(features, j, random)
            feature = np.int64(features[j])
            categorical = categoricals[feature] != 0
            merge = mergeable and not categorical
            if slot >= 0 and j < hist.shape[1] and is_narrow:
                if criterion == GINI and not categorical and narrow[slot, j, MISSING] == 0:
                    best, top = scan_narrow(
                        best, top, narrow, slot, j, n_bins[feature], all_p, all_n, feature, min_leaf, narrow_sums,
                        narrow_score, narrow_score_bits,
                    )  # fmt: skip
                    continue
                pick_narrow(few_hist, used, narrow, slot, j, n_bins[feature])
            elif slot >= 0 and j < hist.shape[1]:
                scannable = count_bits > 0 and criterion in (GINI, COST) and not (categorical or merge)
                if scannable and hist[slot, j, MISSING] | hist[slot, j, BINS + MISSING] == 0:
                    best = scan_weights(
                        best, hist, slot, j, n_bins[feature], all_p, all_n, all_c, feature, criterion == COST, min_leaf,
                        count_bits, sums, score, score_bits,
                    )  # fmt: skip
                    continue
                pick(few_hist, used, hist, slot, j, n_bins[feature], count_bits)
            else:
                add_feature(few_hist, used, bins, payload, positive, rows, start, end, feature, count_bits)
            k = read_used(occupied, few_hist, used, count_bits, merge)
            if k < 2:
                continue
            if categorical:
                sort_by_share(occupied, k)
            best, more, n_more = best_split(
                best, occupied, k, all_p, all_n, all_c, feature, categorical, criterion, min_leaf, mean_gain
            )
            gains += more
            n_gains += n_more
            if best.loss <= 0.0 and best.tie <= 0.0 and criterion != GAIN_RATIO:
                # Both children are pure: nothing is better, and the first of equals is taken anyway.
                break
        if look == 0 and n_gains > 0:
            # A little less than the mean: equal gains must all pass.
            mean_gain = gains / n_gains - 1e-10 * loss_here
    return best


def grow(
    bins: Bytes,
    positive: Bytes,
    multiplicity: Int32s,
    weight: Floats,
    features: Int32s,
    space: FeatureBins,
    settings: Settings,
) -> Nodes:
    """Grow a tree on the records of positive multiplicity.

    `weight` is empty, or has the weight of one copy of each record; for the cost criterion it includes the cost.
    `features` are the ones this tree may use.
    """
    tell_before_compiling(_grow)
    if SPARSE * np.count_nonzero(multiplicity) < multiplicity.size:
        rows = np.flatnonzero(multiplicity > 0)
        bins, positive, multiplicity = bins[rows], positive[rows], multiplicity[rows]
        weight = weight[rows] if weight.size else weight
    made, n_nodes, n_sets, scale = _grow(bins, positive, multiplicity, weight, features, space, settings)
    kept = made._replace(categories_left=made.categories_left[:n_sets])
    kept = Nodes(*(array[:n_nodes].copy() for array in kept))
    return kept._replace(weights=kept.weights / scale, gain=kept.gain / scale)


@kernel
def _grow(
    bins: Bytes,
    positive: Bytes,
    multiplicity: Int32s,
    weight: Floats,
    features: Int32s,
    space: FeatureBins,
    settings: Settings,
) -> tuple[Nodes, int, int, float]:
    """Return arrays with room for all nodes, how many nodes and sets there are, and the scale of weights and gains."""
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

    n_rows = zero
    for i in range(multiplicity.shape[0]):
        n_rows += multiplicity[i] > 0
    n_cached = min(n_rows, max(FEW, CACHE_BYTES // bins.shape[1]))
    # Behind the records of this tree there is room for a copy of those of one node.
    my_bins = np.empty((n_rows + n_cached, bins.shape[1]), np.uint8)
    my_payload = np.empty(n_rows + n_cached, np.int64)
    my_positive = np.empty(n_rows + n_cached, np.uint8)
    rows = np.empty(n_rows, np.int32)
    spare = np.empty(n_rows, np.int32)
    _load(bins, positive, multiplicity, weight, scale, count_bits, rows, my_bins, my_payload, my_positive)

    # The smaller child is finished before its sibling, so that each histogram that waits has at most half the
    # records of the one before: there are as many as doublings.
    few = FEW_SCORED if criterion == GINI and count_bits == 0 else FEW
    n_slots = 1
    while not draws and (few << n_slots) <= 2 * n_rows:
        n_slots += 1
    width = BINS if count_bits == 0 else 2 * BINS
    hist = np.zeros((n_slots, n_features, width), np.int64)
    few_hist = np.zeros(width, np.int64)
    used = np.zeros(4, np.uint64)
    occupied = np.empty(ENTRIES, np.int64)
    narrow = np.zeros((n_slots if count_bits == 0 else 0, n_features, BINS), np.uint32)
    sums = np.empty((4, BINS), np.int64)
    score = np.empty(BINS, np.float64)
    score_bits = score.view(np.int64)
    narrow_sums = np.empty(BINS, np.uint32)
    narrow_score = np.empty(BINS, np.float32)
    narrow_score_bits = narrow_score.view(np.int32)
    goes_left = np.empty(BINS, np.bool_)
    seen = np.empty(BINS, np.bool_)
    random = np.empty(1, np.uint64)
    random[0] = settings.seed

    room = int(max(one, 2 * n_rows - one))
    feature = np.empty(room, np.int32)
    threshold = np.empty(room, np.uint8)
    missing_left = np.empty(room, np.uint8)
    left = np.empty(room, np.int32)
    category_set = np.empty(room, np.int32)
    categories_left = np.empty((room, 4), np.uint64)
    n_sets = zero
    count = np.empty((room, 2), np.int64)
    whole = np.empty((room, 2), np.int64)
    gain = np.empty(room, np.float64)

    # Nodes to be looked at: number, first and last row, depth, slot of the histogram (-1: none), in the copy or not.
    pending = np.empty((room + 1, 6), np.int64)
    slot = zero if n_rows >= few else -one
    _push(pending, 0, 0, 0, n_rows, 0, slot, 0)
    n_pending, n_nodes = one, one
    _totals(my_payload, my_positive, rows, zero, n_rows, count_bits, count, whole, zero)
    if slot == 0 and not draws:
        add(hist, zero, my_bins, my_payload, my_positive, rows, zero, n_rows, features, n_features, count_bits)
        if _is_narrow(count, 0, count_bits):
            _narrow_down(hist, narrow, zero)

    while n_pending > 0:
        n_pending -= 1
        node, start, end = pending[n_pending, 0], pending[n_pending, 1], pending[n_pending, 2]
        depth, slot, cached = pending[n_pending, 3], pending[n_pending, 4], pending[n_pending, 5]
        feature[node] = -1
        left[node] = -1
        category_set[node] = -1
        threshold[node] = 0
        missing_left[node] = 0
        gain[node] = 0.0
        if not _open(count, whole, node, depth, max_depth, min_records):
            continue
        if not cached and end - start <= n_cached:
            _copy(my_bins, my_payload, my_positive, rows, start, end, n_rows)
            cached = 1
        loss_here = node_loss(criterion, float(whole[node, 1]), float(whole[node, 0]))
        best = find_split(
            my_bins, my_payload, my_positive, rows, start, end, slot, hist, narrow, few_hist, used, occupied,
            sums, score, score_bits, narrow_sums, narrow_score, narrow_score_bits, features, random, space.n_bins,
            space.categorical, settings, count_bits,
            whole[node, 1], whole[node, 0], count[node, 0] + count[node, 1], loss_here,
        )  # fmt: skip
        if best.feature < 0 or (criterion == COST and not settings.break_ties and best.loss >= loss_here):
            continue

        goes_left[:] = False
        categorical = space.categorical[best.feature] != 0
        cut, missing = 0, best.missing
        if categorical:
            add_feature(few_hist, used, my_bins, my_payload, my_positive, rows, start, end, best.feature, count_bits)
            k = read_used(occupied, few_hist, used, count_bits, False)
            sort_by_share(occupied, k)
            seen[:] = False
            for i in range(k):
                seen[occupied[FIRST, i]] = True
                goes_left[occupied[FIRST, i]] = i < best.entries
            if seen[MISSING]:
                missing = LEFT if goes_left[MISSING] else RIGHT
        else:
            cut = _middle_bin(space.centers, best.feature, best.low, best.high)
            goes_left[: cut + 1] = True
            goes_left[MISSING] = missing == LEFT
        middle = _partition(my_bins, rows, start, end, best.feature, goes_left, spare)

        first, second = n_nodes, n_nodes + 1
        n_nodes += 2
        _totals(my_payload, my_positive, rows, start, middle, count_bits, count, whole, first)
        for side in range(2):
            count[second, side] = count[node, side] - count[first, side]
            whole[second, side] = whole[node, side] - whole[first, side]
        if missing == NOT_SEEN:
            # What was never seen goes with the majority.
            left_is_larger = count[first, 0] + count[first, 1] >= count[second, 0] + count[second, 1]
            missing = LEFT if left_is_larger else RIGHT
        feature[node] = best.feature
        left[node] = first
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
            - node_loss(criterion, float(whole[first, 1]), float(whole[first, 0]))
            - node_loss(criterion, float(whole[second, 1]), float(whole[second, 0]))
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
            if large_end - large_start >= few and _open(count, whole, large, depth + 1, max_depth, min_records):
                large_slot = slot
            if small_end - small_start >= few and _open(count, whole, small, depth + 1, max_depth, min_records):
                small_slot = slot + (large_slot >= 0)
            made = slot + (large_slot >= 0)
            if _is_narrow(count, node, count_bits):
                if small_slot >= 0 or large_slot >= 0:
                    narrow[made] = 0
                    add_narrow(
                        narrow, made, my_bins, my_payload, rows, small_start, small_end, features, n_features
                    )  # fmt: skip
                if large_slot >= 0:
                    _subtract(narrow, slot, made)
            else:
                if small_slot >= 0 or large_slot >= 0:
                    hist[made] = 0
                    add(
                        hist, made, my_bins, my_payload, my_positive, rows, small_start, small_end, features,
                        n_features, count_bits,
                    )  # fmt: skip
                if large_slot >= 0:
                    _subtract(hist, slot, made)
                    if _is_narrow(count, large, count_bits):
                        _narrow_down(hist, narrow, large_slot)
                if small_slot >= 0 and _is_narrow(count, small, count_bits):
                    _narrow_down(hist, narrow, small_slot)
        _push(pending, n_pending, large, large_start, large_end, depth + 1, large_slot, cached)
        _push(pending, n_pending + 1, small, small_start, small_end, depth + 1, small_slot, cached)
        n_pending += 2

    made = Nodes(feature, threshold, missing_left, left, category_set, categories_left, count, whole, gain)
    return made, n_nodes, n_sets, scale
