"""Sums of class weights per bin, in whole numbers.

A record enters a histogram as one 64-bit integer, its *payload*, so that a bin costs one addition, a sibling's
histogram is an exact difference, and no sum depends on the order of the records. There are two layouts:

counts    the weight of a record is its multiplicity. One cell per bin: positives above, negatives below bit 32.
          Nodes of at most `NARROW` records, with multiplicity, have cells of half the size, cut at bit 16.
weights   records have weights of their own. Two cells per bin, those of all negatives before those of positives: the
          weight in fixed point above, the multiplicity below bit `count_bits`.

``count_bits == 0`` stands for the layout of counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._jit import borrowing, inlined
from stakes._typing import Bytes, Int32s, Ints, Uint32s, Uint64s
from stakes.tree.nodes import BINS
from stakes.tree.records import LOW, TreeRecords

__all__ = ["NARROW", "Histograms", "add", "add_feature", "add_narrow", "narrow_down", "pick", "pick_narrow", "subtract"]

# Few enough for products of two counts to be exact in single precision.
NARROW = 4096


class Histograms(NamedTuple):
    """The histograms of nodes yet to be split: a *slot* for each node, a row for each feature, the sums of its bins."""

    wide: Ints
    narrow: Uint32s
    count_bits: int


@inlined
def _halves(cell: int) -> np.uint32:
    """Return a cell of counts in half its size."""
    return np.uint32(cell >> 16 | cell & LOW)


@borrowing
def add(
    hist: Ints,
    slot: int,
    records: TreeRecords,
    start: int,
    end: int,
    features: Int32s,
    n_features: int,
    count_bits: int,
) -> None:
    """Add the records of a node to the histograms of the first `n_features` features."""
    bins, payload, positive, rows = records
    if count_bits == 0:
        for i in range(start, end):
            row = rows[i]
            value = payload[row]
            for j in range(n_features):
                hist[slot, j, bins[row, features[j]]] += value
    else:
        for i in range(start, end):
            row = rows[i]
            value = payload[row]
            side = BINS * np.int64(positive[row])
            for j in range(n_features):
                hist[slot, j, side + bins[row, features[j]]] += value


@borrowing
def add_narrow(
    hist: Uint32s, slot: int, records: TreeRecords, start: int, end: int, features: Int32s, n_features: int
) -> None:
    """Do the same with counts in narrow histograms."""
    bins, payload, _, rows = records
    for i in range(start, end):
        row = rows[i]
        value = _halves(payload[row])
        for j in range(n_features):
            hist[slot, j, bins[row, features[j]]] += value


@borrowing
def subtract(hist: NDArray[Any], slot: int, other: int) -> None:
    """Subtract the histograms of one slot from those of another."""
    for j in range(hist.shape[1]):
        for b in range(hist.shape[2]):
            hist[slot, j, b] -= hist[other, j, b]


@borrowing
def narrow_down(hist: Ints, narrow: Uint32s, slot: int) -> None:
    """Copy the histograms of a slot to narrow ones."""
    for j in range(hist.shape[1]):
        for b in range(hist.shape[2]):
            narrow[slot, j, b] = _halves(hist[slot, j, b])


@inlined
def add_feature(
    one: Ints,
    used: Uint64s,
    bins: Bytes,
    payload: Ints,
    positive: Bytes,
    rows: Int32s,
    start: int,
    end: int,
    feature: int,
    count_bits: int,
) -> None:
    """Add few records to the histogram of one feature, and mark the bins they fall into in the bitmap `used`."""
    for i in range(start, end):
        row = rows[i]
        bin_ = np.int64(bins[row, feature])
        used[bin_ >> 6] |= np.uint64(1) << np.uint64(bin_ & 63)
        if count_bits == 0:
            one[bin_] += payload[row]
        else:
            one[BINS * np.int64(positive[row]) + bin_] += payload[row]


@inlined
def pick(one: Ints, used: Uint64s, hist: Ints, slot: int, j: int, n_bins: int, count_bits: int) -> None:
    """Copy what is occupied of histogram `j` of a slot to the histogram of one feature, and mark its bins."""
    for bin_ in range(n_bins):
        below, above = hist[slot, j, bin_], np.int64(0)
        if count_bits > 0:
            above = hist[slot, j, BINS + bin_]
        if below | above != 0:
            used[bin_ >> 6] |= np.uint64(1) << np.uint64(bin_ & 63)
            one[bin_] = below
            if count_bits > 0:
                one[BINS + bin_] = above


@inlined
def pick_narrow(one: Ints, used: Uint64s, hist: Uint32s, slot: int, j: int, n_bins: int) -> None:
    """Do the same with a narrow histogram."""
    for bin_ in range(n_bins):
        both = np.int64(hist[slot, j, bin_])
        if both != 0:
            used[bin_ >> 6] |= np.uint64(1) << np.uint64(bin_ & 63)
            one[bin_] = (both >> 16) << 32 | both & 0xFFFF
