"""The best split of a node on one feature, found on the bins that its records occupy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._jit import inlined
from stakes._typing import Float32s, Floats, Int32s, Ints, Uint32s, Uint64s
from stakes.tree.criteria import COST, GAIN_RATIO, GINI, children_loss, entropy_loss, gini_loss
from stakes.tree.histogram import LOW
from stakes.tree.nodes import BINS, MISSING

__all__ = [
    "ENTRIES",
    "FIRST",
    "LEFT",
    "NOT_SEEN",
    "NO_SPLIT",
    "RIGHT",
    "Split",
    "best_split",
    "read_used",
    "scan_narrow",
    "scan_weights",
    "sort_by_share",
]

# Scores that are no further apart, in units of the last bit, may be in the wrong order.
ROUNDING = 16
# More than any loss in whole numbers, and more than the bits of any float.
WORST = np.int64(2**63 - 1)


# The bins that a node's records fall into, in the order in which they can be cut apart: a column of five numbers each.
FIRST, LAST = 0, 1  # bins: neighbours of one and the same class can be taken together
POSITIVE, NEGATIVE = 2, 3  # weights
COUNT = 4  # records, with multiplicity
ENTRIES = 5, BINS


class Split(NamedTuple):
    """A way to cut a node in two: the lower `loss`, and then `tie`, the better."""

    loss: float
    tie: float
    feature: int
    low: int  # the last bin on the left, and the first on the right, that have records (numeric features)
    high: int
    missing: int  # where missing values go: LEFT, RIGHT, or NOT_SEEN in this node
    entries: int  # how many entries, in order, go left (categorical features)


RIGHT, LEFT, NOT_SEEN = range(3)
NO_SPLIT = Split(np.inf, np.inf, -1, 0, 0, NOT_SEEN, 0)


@inlined
def _enter(occupied: Ints, k: int, bin_: int, below: int, above: int, count_bits: int, merge: bool) -> int:
    """Put a bin with these slots behind the first `k` entries, or into the last; return how many there are now."""
    if count_bits == 0:
        positive, negative = below >> 32, below & LOW
        count = positive + negative
    else:
        mask = (np.int64(1) << count_bits) - 1
        positive, negative = above >> count_bits, below >> count_bits
        count = (below & mask) + (above & mask)
    if (
        merge
        and k > 0
        and (positive + occupied[POSITIVE, k - 1] == 0 or negative + occupied[NEGATIVE, k - 1] == 0)
        and occupied[FIRST, k - 1] != MISSING
    ):
        # Between two bins of the same single class lies no best cut (Fayyad & Irani 1992).
        k -= 1
        positive += occupied[POSITIVE, k]
        negative += occupied[NEGATIVE, k]
        count += occupied[COUNT, k]
    else:
        occupied[FIRST, k] = bin_
    occupied[LAST, k] = bin_
    occupied[POSITIVE, k] = positive
    occupied[NEGATIVE, k] = negative
    occupied[COUNT, k] = count
    return k + 1


@inlined
def scan_narrow(
    best: Split,
    top: int,
    hist: Uint32s,
    slot: int,
    j: int,
    n_bins: int,
    all_p: int,
    all_n: int,
    feature: int,
    min_leaf: int,
    sums: Uint32s,
    score: Float32s,
    score_bits: Int32s,
) -> tuple[Split, int]:
    """Return the better of `best` and the best cut of narrow histogram `j` by the Gini criterion; and the best score.

    For a numeric feature without missing values. All cuts get a score in single precision, by loops that the compiler
    turns into vector instructions; the exact loss is worked out for the best ones only. What a cut lowers the loss by
    is ``2 d^2 / (left right whole)``, with d = left positives x whole - left x all positives. `top` is the best score
    of other features, and all scores are compared by their bits: those of floats that are not negative are in order.
    """
    total = np.uint32(0)
    for bin_ in range(n_bins):
        total = np.uint32(total + hist[slot, j, bin_])
        sums[bin_] = total
    whole_p, whole, one, least = np.float32(all_p), np.float32(all_p + all_n), np.float32(1.0), np.float32(min_leaf)
    for bin_ in range(n_bins):
        left_p = np.float32(sums[bin_] >> np.uint32(16))
        left = left_p + np.float32(sums[bin_] & np.uint32(0xFFFF))
        right = whole - left
        d = left_p * whole - left * whole_p
        sizes = left * right
        gained = d * d / (sizes if sizes > one else one)
        score[bin_] = gained if left >= least and right >= least else np.float32(0.0)
    highest = np.int32(0)
    for bin_ in range(n_bins):
        highest = score_bits[bin_] if score_bits[bin_] > highest else highest
    if highest < top - ROUNDING:
        return best, top
    top = max(top, np.int64(highest))
    for bin_ in range(n_bins):
        if score_bits[bin_] >= top - ROUNDING:
            p, n = np.int64(sums[bin_] >> np.uint32(16)), np.int64(sums[bin_] & np.uint32(0xFFFF))
            if p + n >= min_leaf and all_p + all_n - p - n >= min_leaf:
                loss = children_loss(GINI, float(p), float(n), float(all_p - p), float(all_n - n))
                if loss < best.loss:
                    high = bin_ + 1
                    while hist[slot, j, high] == 0:
                        high += 1
                    best = Split(loss, 0.0, feature, np.int64(bin_), np.int64(high), NOT_SEEN, 0)
    return best, top


@inlined
def scan_weights(
    best: Split,
    hist: Ints,
    slot: int,
    j: int,
    n_bins: int,
    all_p: int,
    all_n: int,
    all_c: int,
    feature: int,
    by_cost: bool,
    min_leaf: int,
    count_bits: int,
    sums: Ints,
    score: Floats,
    score_bits: Ints,
) -> Split:
    """Return the better of `best` and the best cut of histogram `j` by the Gini or the cost criterion.

    For weights, and a numeric feature without missing values. All cuts are judged, also those after empty bins, by
    loops without a branch that the compiler turns into vector instructions. `sums` and `score` are scratch space, and
    scores are compared by their bits, as in `scan_narrow`.
    """
    mask = (np.int64(1) << count_bits) - 1
    p, n, c = np.int64(0), np.int64(0), np.int64(0)
    for bin_ in range(n_bins):
        below, above = hist[slot, j, bin_], hist[slot, j, BINS + bin_]
        p += above >> count_bits
        n += below >> count_bits
        c += (below & mask) + (above & mask)
        sums[0, bin_] = p
        sums[1, bin_] = n
        sums[2, bin_] = c
    lowest = WORST
    if by_cost:
        for bin_ in range(n_bins):
            left_p, left_n, left_c = sums[0, bin_], sums[1, bin_], sums[2, bin_]
            lost = min(left_p, left_n) + min(all_p - left_p, all_n - left_n)
            sums[3, bin_] = lost if left_c >= min_leaf and all_c - left_c >= min_leaf else WORST
        for bin_ in range(n_bins):
            lowest = min(lowest, sums[3, bin_])
        if lowest == WORST or float(lowest) > best.loss:
            return best
    else:
        for bin_ in range(n_bins):
            left_c = sums[2, bin_]
            # Where a cut may be.
            sums[3, bin_] = lowest if left_c >= min_leaf and all_c - left_c >= min_leaf else np.int64(-1)
    # Gini is the loss itself, or what tells cuts of equal cost apart.
    whole_p, whole_n = float(all_p), float(all_n)
    undivided = gini_loss(whole_p, whole_n)
    for bin_ in range(n_bins):
        left_p, left_n = float(sums[0, bin_]), float(sums[1, bin_])
        right_p, right_n = whole_p - left_p, whole_n - left_n
        left, right = left_p + left_n, right_p + right_n
        impure = left_p * left_n * right + right_p * right_n * left
        sizes = left * right
        # One side without weight is no side: the loss is that of the other.
        lost = 2.0 * impure / sizes if sizes > 0.0 else undivided
        score[bin_] = lost if sums[3, bin_] == lowest else np.inf
    top = WORST
    for bin_ in range(n_bins):
        top = min(top, score_bits[bin_])
    for bin_ in range(n_bins):
        if score_bits[bin_] <= top + ROUNDING and score[bin_] < np.inf:
            loss, tie = score[bin_], 0.0
            if by_cost:
                left_p, left_n = float(sums[0, bin_]), float(sums[1, bin_])
                loss = float(lowest)
                tie = gini_loss(left_p, left_n) + gini_loss(whole_p - left_p, whole_n - left_n)
            if loss < best.loss or (loss == best.loss and tie < best.tie):
                high = bin_ + 1
                while hist[slot, j, high] | hist[slot, j, BINS + high] == 0:
                    high += 1
                best = Split(loss, tie, feature, np.int64(bin_), np.int64(high), NOT_SEEN, 0)
    return best


@inlined
def read_used(occupied: Ints, hist: Ints, used: Uint64s, count_bits: int, merge: bool) -> int:
    """List the bins marked in the bitmap `used`, leaving histogram and bitmap empty; return how many entries."""
    k = 0
    for word in range(4):
        bits = used[word]
        used[word] = 0
        while bits != 0:
            # The number of trailing zeros, by way of the number of ones below the lowest one.
            bin_ = 64 * word + _ones((bits & (~bits + np.uint64(1))) - np.uint64(1))
            bits &= bits - np.uint64(1)
            below, above = hist[bin_], np.int64(0)
            hist[bin_] = 0
            if count_bits > 0:
                above = hist[BINS + bin_]
                hist[BINS + bin_] = 0
            k = _enter(occupied, k, bin_, below, above, count_bits, merge)
    return k


@inlined
def _ones(word: np.uint64) -> int:
    """Count the ones in a word; the compiler knows this pattern as one instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def _share(occupied: Ints, i: int) -> float:
    weight = occupied[POSITIVE, i] + occupied[NEGATIVE, i]
    return occupied[POSITIVE, i] / weight if weight > 0 else 0.5


@inlined
def sort_by_share(occupied: Ints, k: int) -> None:
    """Order categories by their share of positives: the best two-class split is then a cut (FRAMEWORK 5.1)."""
    for i in range(1, k):
        share = _share(occupied, i)
        j = i
        while j > 0 and _share(occupied, j - 1) > share:
            for field in range(5):
                moved = occupied[field, j]
                occupied[field, j] = occupied[field, j - 1]
                occupied[field, j - 1] = moved
            j -= 1


@inlined
def best_split(
    best: Split,
    occupied: Ints,
    k: int,
    all_p: int,
    all_n: int,
    all_c: int,
    feature: int,
    categorical: bool,
    criterion: int,
    min_leaf: int,
    mean_gain: float,
) -> tuple[Split, float, int]:
    """Return the better of `best` and the best split of `feature`; and the sum and number of its splits' gains.

    The node's positives and negatives weigh `all_p` and `all_n`, and it has `all_c` records.

    A gain ratio counts only for splits with at least the mean gain of all splits of the node (FRAMEWORK 5.1); the
    sum and number serve to find that mean in a first pass, with ``mean_gain=inf``. They are 0 for other criteria.
    """
    # Missing values of a numeric feature go left or right, whichever is better, or right alone. Those of a
    # categorical one are a category like the others.
    start = 1 if occupied[FIRST, 0] == MISSING and not categorical else 0
    gains, n_gains = 0.0, 0
    for side in range(1 + start):
        p, n, c = 0, 0, 0
        if side == LEFT:
            p, n, c = occupied[POSITIVE, 0], occupied[NEGATIVE, 0], occupied[COUNT, 0]
        stop = k if start == 1 and side == RIGHT else k - 1
        for i in range(start, stop):
            p += occupied[POSITIVE, i]
            n += occupied[NEGATIVE, i]
            c += occupied[COUNT, i]
            if c < min_leaf or all_c - c < min_leaf:
                continue
            left_p, left_n, right_p, right_n = float(p), float(n), float(all_p - p), float(all_n - n)
            loss = children_loss(criterion, left_p, left_n, right_p, right_n)
            tie = 0.0
            if criterion == COST:
                tie = gini_loss(left_p, left_n) + gini_loss(right_p, right_n)
            elif criterion == GAIN_RATIO:
                gain = entropy_loss(float(all_p), float(all_n)) - loss
                gains += gain
                n_gains += 1
                information = entropy_loss(left_p + left_n, right_p + right_n)
                if gain < mean_gain or information <= 0.0:
                    continue
                loss = -gain / information
            if loss < best.loss or (loss == best.loss and tie < best.tie):
                high = occupied[FIRST, i + 1] if i + 1 < k else BINS
                missing = side if start == 1 else NOT_SEEN
                best = Split(loss, tie, feature, occupied[LAST, i], high, missing, i + 1)
    return best, gains, n_gains
