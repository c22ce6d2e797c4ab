"""The best cut of a whole histogram, by loops without branches that the compiler turns into vector instructions.

For numeric features without missing values.
"""

from __future__ import annotations

import numpy as np

from stakes._jit import inlined
from stakes._typing import Ints, Uint32s
from stakes.tree.criteria import COST, GINI, children_loss, gini_loss
from stakes.tree.histogram import Histograms, Scratch
from stakes.tree.nodes import BINS, MISSING
from stakes.tree.splitting import NOT_SEEN, Feature, Split, Totals

__all__ = ["can_scan", "scan_narrow", "scan_weights"]

# Scores that are no further apart, in units of the last bit, may be in the wrong order.
ROUNDING = 16
# More than any loss in whole numbers, and more than the bits of any float.
WORST = np.int64(2**63 - 1)


@inlined
def can_scan(histograms: Histograms, slot: int, feature: Feature, criterion: int, narrow: bool) -> bool:
    """Return whether `scan_narrow`, or else `scan_weights`, finds the best cut of a feature."""
    wide_hist, narrow_hist, count_bits = histograms
    if feature.categorical:
        return False
    if narrow:
        return criterion == GINI and narrow_hist[slot, feature.row, MISSING] == 0
    by_weight = count_bits > 0 and criterion in (GINI, COST)
    return by_weight and wide_hist[slot, feature.row, MISSING] | wide_hist[slot, feature.row, BINS + MISSING] == 0


@inlined
def scan_narrow(
    best: Split,
    top: int,
    hist: Uint32s,
    slot: int,
    feature: Feature,
    totals: Totals,
    min_leaf: int,
    scratch: Scratch,
) -> tuple[Split, int]:
    """Return the better of `best` and the best cut of a narrow histogram by the Gini criterion; and the best score.

    All cuts get a score in single precision; the exact loss is computed for the best ones only. A cut lowers the loss
    by ``2 d^2 / (left right whole)``, with d = left positives x whole - left x all positives. `top` is the best score
    of other features, and all scores are compared by their bits: those of floats that are not negative are in order.
    """
    j, n_bins, all_p, all_n = feature.row, feature.n_bins, totals.positive, totals.negative
    sums, score, score_bits = scratch.narrow_sums, scratch.narrow_score, scratch.narrow_score_bits
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
                    best = Split(loss, 0.0, feature.number, np.int64(bin_), np.int64(high), NOT_SEEN, 0)
    return best, top


@inlined
def scan_weights(
    best: Split,
    hist: Ints,
    slot: int,
    feature: Feature,
    totals: Totals,
    criterion: int,
    min_leaf: int,
    count_bits: int,
    scratch: Scratch,
) -> Split:
    """Return the better of `best` and the best cut of a histogram of weights by the Gini or the cost criterion.

    All cuts are judged, also those after empty bins. Scores are compared by their bits, as in `scan_narrow`.
    """
    j, n_bins = feature.row, feature.n_bins
    sums, score, score_bits = scratch.sums, scratch.score, scratch.score_bits
    all_p, all_n, all_c = totals.positive, totals.negative, totals.count
    by_cost = criterion == COST
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
    # Gini is the loss itself, or the tie-break of cuts of equal cost.
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
                best = Split(loss, tie, feature.number, np.int64(bin_), np.int64(high), NOT_SEEN, 0)
    return best
