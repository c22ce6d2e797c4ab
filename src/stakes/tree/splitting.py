"""The best split of a node on one feature, found on the bins that its records occupy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._jit import borrowing, inlined
from stakes._typing import Bools, Floats, Ints
from stakes.tree.criteria import COST, GAIN_RATIO, children_loss, entropy_loss, gini_loss
from stakes.tree.histogram import Scratch
from stakes.tree.nodes import BINS, MISSING, FeatureBins
from stakes.tree.records import LOW

__all__ = [
    "COUNT",
    "FIRST",
    "LAST",
    "LEFT",
    "NOT_SEEN",
    "NO_SPLIT",
    "POSITIVE",
    "RIGHT",
    "Feature",
    "Split",
    "Totals",
    "best_split",
    "divide",
    "in_order",
    "is_free",
    "read_used",
    "sort_by_share",
]

# The bins that a node's records fall into, in the order in which they can be cut apart: a column of five numbers each.
FIRST, LAST = 0, 1  # bins: neighbours of one and the same class can be taken together
POSITIVE, NEGATIVE = 2, 3  # weights
COUNT = 4  # records, with multiplicity


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


class Totals(NamedTuple):
    """Sums over the records of a node: the weights of both classes, and the number of records with multiplicity.

    The shares of positives below the node must be between `least` and `most`, and the weight of each child at least
    `lightest`.
    """

    positive: int
    negative: int
    count: int
    least: float
    most: float
    lightest: float


class Feature(NamedTuple):
    """A feature to split on."""

    number: int
    row: int  # of its histogram in a slot
    n_bins: int
    categorical: bool
    sign: int  # 1 or -1: the share of positives must not fall, or not rise, with it


@inlined
def _enter(occupied: Ints, k: int, bin_: int, below: int, above: int, count_bits: int, merge: bool) -> int:
    """Put a bin with these cells behind the first `k` entries, or into the last; return how many there are now."""
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
def read_used(scratch: Scratch, count_bits: int, merge: bool) -> int:
    """List the bins that are marked, leaving histogram and bitmap empty; return how many entries."""
    hist, used, occupied = scratch.one, scratch.used, scratch.occupied
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
    """Count the ones in a word; the compiler turns this pattern into one instruction."""
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
def in_order(
    left_p: float, left_n: float, right_p: float, right_n: float, sign: int, least: float, most: float
) -> bool:
    """Return whether the shares of positives on both sides are within bounds, and in the order of a sign."""
    left, right = left_p / max(left_p + left_n, 1.0), right_p / max(right_p + right_n, 1.0)
    return least <= left <= most and least <= right <= most and sign * (right - left) >= 0.0


@inlined
def is_free(totals: Totals) -> bool:
    """Return whether the children of a node may have any shares of positives, and any weights."""
    return totals.least <= 0.0 and totals.most >= 1.0 and totals.lightest <= 0.0


@inlined
def best_split(
    best: Split,
    occupied: Ints,
    k: int,
    feature: Feature,
    totals: Totals,
    criterion: int,
    min_leaf: int,
    mean_gain: float,
) -> tuple[Split, float, int]:
    """Return the better of `best` and the best split by the first `k` entries; and the sum and number of all gains.

    A gain ratio counts only for splits with at least the mean gain of all splits of the node (FRAMEWORK 5.1); the
    sum and number serve to find that mean in a first pass, with ``mean_gain=inf``. They are 0 for other criteria.
    """
    all_p, all_n, all_c, least, most, lightest = totals
    sign = feature.sign
    free = sign == 0 and is_free(totals)
    # Missing values of a numeric feature go left or right, whichever is better, or right alone. Those of a
    # categorical one are a category like the others.
    start = 1 if occupied[FIRST, 0] == MISSING and not feature.categorical else 0
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
            if not free and (
                min(left_p + left_n, right_p + right_n) < lightest
                or not in_order(left_p, left_n, right_p, right_n, sign, least, most)
            ):
                continue
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
                best = Split(loss, tie, feature.number, occupied[LAST, i], high, missing, i + 1)
    return best, gains, n_gains


@inlined
def _middle_bin(centers: Floats, feature: int, low: int, high: int) -> int:
    """Return the last bin on the left of the middle between two bins; all of them where none is on the right."""
    if high == BINS:
        return BINS - 1
    middle = centers[feature, low] / 2 + centers[feature, high] / 2
    threshold = low
    while threshold + 1 < high and centers[feature, threshold + 1] <= middle:
        threshold += 1
    return threshold


@borrowing
def divide(
    split: Split, occupied: Ints, k: int, feature_bins: FeatureBins, goes_left: Bools, seen: Bools
) -> tuple[int, int]:
    """Write which bins go left; return the last of these for a number, and where missing values go.

    The first `k` entries are the categories in the node, in order. Which of them were `seen` is told, too.
    """
    cut, missing = 0, split.missing
    goes_left[:] = False
    if feature_bins.categorical[split.feature]:
        seen[:] = False
        for i in range(k):
            seen[occupied[FIRST, i]] = True
            goes_left[occupied[FIRST, i]] = i < split.entries
        if seen[MISSING]:
            missing = LEFT if goes_left[MISSING] else RIGHT
    else:
        cut = _middle_bin(feature_bins.centers, split.feature, split.low, split.high)
        goes_left[: cut + 1] = True
        goes_left[MISSING] = missing == LEFT
    return cut, missing
