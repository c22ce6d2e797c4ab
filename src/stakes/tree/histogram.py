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

from stakes._jit import borrowing, inlined, kernel
from stakes._typing import Float32s, Floats, Int32s, Ints, Uint32s, Uint64s
from stakes.tree.nodes import BINS
from stakes.tree.records import LOW, TreeRecords

__all__ = [
    "Histograms",
    "Scratch",
    "add_feature",
    "fill",
    "is_narrow",
    "narrow_down",
    "new_scratch",
    "pick",
    "subtract",
]

# Few enough for products of two counts to be exact in single precision.
NARROW = 4096


class Histograms(NamedTuple):
    """The histograms of nodes yet to be split: a *slot* for each node, a row for each feature, the sums of its bins."""

    wide: Ints
    narrow: Uint32s
    count_bits: int


class Scratch(NamedTuple):
    """Memory that is used again for each feature of each node."""

    one: Ints  # the histogram of one feature: empty between uses
    used: Uint64s  # a bit for each of its bins that has records: empty between uses
    occupied: Ints  # these bins as a list
    sums: Ints
    score: Floats
    score_bits: Ints  # the same memory as `score`
    narrow_sums: Uint32s
    narrow_score: Float32s
    narrow_score_bits: Int32s  # the same memory as `narrow_score`


@kernel
def new_scratch() -> Scratch:
    """Return scratch memory."""
    score, narrow_score = np.empty(BINS, np.float64), np.empty(BINS, np.float32)
    return Scratch(
        np.zeros(2 * BINS, np.int64),
        np.zeros(4, np.uint64),
        np.empty((5, BINS), np.int64),
        np.empty((4, BINS), np.int64),
        score,
        score.view(np.int64),
        np.empty(BINS, np.uint32),
        narrow_score,
        narrow_score.view(np.int32),
    )


@inlined
def _halves(cell: int) -> np.uint32:
    """Return a cell of counts in half its size."""
    return np.uint32(cell >> 16 | cell & LOW)


@inlined
def is_narrow(count: int, count_bits: int) -> bool:
    """Return whether a node of so many records, with multiplicity, has narrow histograms."""
    return count_bits == 0 and count <= NARROW


@borrowing
def fill(
    histograms: Histograms,
    slot: int,
    records: TreeRecords,
    start: int,
    end: int,
    features: Int32s,
    n_features: int,
    narrow: bool,
) -> None:
    """Make the histograms of a node for the first `n_features` features."""
    wide_hist, narrow_hist, count_bits = histograms
    bins, payload, positive, rows = records
    if narrow:
        narrow_hist[slot] = 0
        for i in range(start, end):
            row = rows[i]
            half = _halves(payload[row])
            for j in range(n_features):
                narrow_hist[slot, j, bins[row, features[j]]] += half
    else:
        wide_hist[slot] = 0
        for i in range(start, end):
            row = rows[i]
            value = payload[row]
            side = BINS * np.int64(positive[row]) if count_bits > 0 else np.int64(0)
            for j in range(n_features):
                wide_hist[slot, j, side + bins[row, features[j]]] += value


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
def add_feature(scratch: Scratch, records: TreeRecords, start: int, end: int, feature: int, count_bits: int) -> None:
    """Add few records to the histogram of one feature, and mark the bins they fall into."""
    one, used = scratch.one, scratch.used
    bins, payload, positive, rows = records
    for i in range(start, end):
        row = rows[i]
        bin_ = np.int64(bins[row, feature])
        used[bin_ >> 6] |= np.uint64(1) << np.uint64(bin_ & 63)
        side = BINS * np.int64(positive[row]) if count_bits > 0 else np.int64(0)
        one[side + bin_] += payload[row]


@inlined
def pick(scratch: Scratch, histograms: Histograms, slot: int, j: int, n_bins: int, narrow: bool) -> None:
    """Copy what is occupied of histogram `j` of a slot to the histogram of one feature, and mark its bins."""
    one, used = scratch.one, scratch.used
    wide_hist, narrow_hist, count_bits = histograms
    if narrow:
        for bin_ in range(n_bins):
            both = np.int64(narrow_hist[slot, j, bin_])
            if both != 0:
                used[bin_ >> 6] |= np.uint64(1) << np.uint64(bin_ & 63)
                one[bin_] = (both >> 16) << 32 | both & 0xFFFF
        return
    for bin_ in range(n_bins):
        below, above = wide_hist[slot, j, bin_], np.int64(0)
        if count_bits > 0:
            above = wide_hist[slot, j, BINS + bin_]
        if below | above != 0:
            used[bin_ >> 6] |= np.uint64(1) << np.uint64(bin_ & 63)
            one[bin_] = below
            if count_bits > 0:
                one[BINS + bin_] = above
