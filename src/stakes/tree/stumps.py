"""Trees of one split on all records, again and again with other weights: what boosting grows most.

The result is that of `grow` with a depth of 1. The records of a root are all records, though: they are put in order
once, the negatives first, and eight features next to each other, so that the histograms that one loop adds to stay in
the nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from stakes._jit import kernel
from stakes._typing import Bools, Bytes, Floats, Int32s, Ints, Uint32s, Uint64s
from stakes.tree.criteria import COST, GAIN_RATIO, check_criterion, node_loss
from stakes.tree.histogram import Histograms, new_scratch, pick
from stakes.tree.nodes import BINS, FeatureBins, Nodes
from stakes.tree.records import TreeRecords, fixed_point
from stakes.tree.searching import Drawing, Settings, find_split
from stakes.tree.splitting import LEFT, NOT_SEEN, RIGHT, Split, Totals, divide, read_used, sort_by_share

__all__ = ["Stump", "Stumps"]

# Features whose bins are read as one word, and whose histograms of one class fit into the nearest cache together.
FEATURES_PER_WORD = 8
# With fewer records than this, another thread costs more than it saves.
FEWEST_FOR_THREADS = 1 << 14
NO_NARROW: Uint32s = np.empty((0, 0, 0), np.uint32)


class Stump(NamedTuple):
    """A tree of one split, or of none; and the leaf that each record is in, until another stump is grown."""

    nodes: Nodes
    leaf: Int32s


@kernel
def _arrange(bins: Uint64s, positive: Bytes, place: Int32s, words: Uint64s) -> int:
    """Put each record in its place, negatives first and otherwise in their order; return how many there are of these.

    Without copies in between: of many records, getting the memory for one takes longer than filling it.
    """
    n_negative = np.int64(0)
    for i in range(positive.shape[0]):
        n_negative += positive[i] == 0
    below, above = np.int64(0), n_negative
    for i in range(positive.shape[0]):
        at = below
        if positive[i] == 0:
            below += 1
        else:
            at = above
            above += 1
        place[i] = at
        for block in range(words.shape[0]):
            words[block, at] = bins[i, block]
    return n_negative


@kernel
def _load(weight: Floats, place: Int32s, scale: float, count_bits: int, payload: Ints) -> None:
    """Put the payload of each record (see ``histogram``) in its place."""
    for i in range(weight.shape[0]):
        payload[place[i]] = (np.int64(weight[i] * scale + 0.5) << count_bits) | 1


@kernel
def _search(
    words: Uint64s,
    block: int,
    payload: Ints,
    n_negative: int,
    feature_bins: FeatureBins,
    settings: Settings,
    histograms: Histograms,
) -> Split:
    """Make the histograms of a block of features, and return the best split on one of them."""
    hist, _, count_bits = histograms
    hist[block] = 0
    n = np.int64(words.shape[1])
    for side in range(2):
        start, end = (n_negative, n) if side else (0, n_negative)
        for i in range(start, end):
            value, word = payload[i], words[block, i]
            for j in range(FEATURES_PER_WORD):
                hist[block, j, BINS * side + np.int64((word >> np.uint64(8 * j)) & np.uint64(0xFF))] += value
    below, above = np.int64(0), np.int64(0)
    for bin_ in range(BINS):
        below += hist[block, 0, bin_]
        above += hist[block, 0, BINS + bin_]
    totals = Totals(above >> count_bits, below >> count_bits, n, 0.0, 1.0, 0.0)
    first = FEATURES_PER_WORD * block
    features = np.arange(first, min(first + FEATURES_PER_WORD, feature_bins.n_bins.shape[0])).astype(np.int32)
    # All that is asked of the records is in the histograms.
    records = TreeRecords(np.empty((0, 0), np.uint8), payload, np.empty(0, np.uint8), np.empty(0, np.int32))
    drawing = Drawing(features, np.empty(1, np.uint64))
    return find_split(
        records, np.int64(0), n, totals, np.int64(block), histograms, drawing, feature_bins, settings, new_scratch(),
        None,
    )  # fmt: skip


@kernel
def _divide(
    histograms: Histograms, block: int, j: int, best: Split, feature_bins: FeatureBins, goes_left: Bools, seen: Bools
) -> tuple[int, int]:
    """Tell which bins go left by a split on feature `j` of a block; see `divide`."""
    scratch, k = new_scratch(), np.int64(0)
    if feature_bins.categorical[best.feature]:
        pick(scratch, histograms, block, j, feature_bins.n_bins[best.feature], False)
        k = read_used(scratch, histograms.count_bits, False)
        sort_by_share(scratch.occupied, k)
    return divide(best, scratch.occupied, k, feature_bins, goes_left, seen)


@kernel
def _route(words: Uint64s, block: int, j: int, place: Int32s, goes_left: Bools, leaf: Int32s) -> None:
    """Tell the leaf of each record by its bin of feature `j` of a block."""
    for i in range(place.shape[0]):
        leaf[i] = 1 - goes_left[(words[block, place[i]] >> np.uint64(8 * j)) & np.uint64(0xFF)]


class Stumps:
    """Grow stumps on the same records with different weights.

    Binned records are padded to a multiple of eight columns. `settings` are as for `grow`, with a depth of 1, all
    features, and any criterion but the gain ratio. `each` applies a function to each block of features: `map`, or that
    of a pool of threads.
    """

    def __init__(
        self,
        bins: Bytes,
        positive: Bytes,
        feature_bins: FeatureBins,
        settings: Settings,
        each: Callable[[Callable[[int], Split], Iterable[int]], Iterable[Any]] = map,
    ) -> None:
        check_criterion(settings.criterion)
        assert settings.max_depth == 1
        assert settings.criterion != GAIN_RATIO
        self.place = np.empty(positive.size, np.int32)
        # One row per block of features.
        self.words = np.empty((bins.shape[1] // FEATURES_PER_WORD, positive.size), np.uint64)
        self.n_negative = _arrange(np.ascontiguousarray(bins).view(np.uint64), positive, self.place, self.words)
        self.feature_bins = feature_bins
        self.settings = settings
        self.once = np.ones(positive.size, np.int32)
        self.payload = np.empty(positive.size, np.int64)
        self.leaf = np.empty(positive.size, np.int32)
        self.hist = np.empty((len(self.words), FEATURES_PER_WORD, 2 * BINS), np.int64)
        self.each = each if positive.size >= FEWEST_FOR_THREADS else map

    def grow(self, weight: Floats) -> Stump:
        """Return the best stump for records with these weights; for the cost criterion they include the cost."""
        scale, count_bits = fixed_point(weight, self.once)
        _load(weight, self.place, scale, count_bits, self.payload)

        histograms = Histograms(self.hist, NO_NARROW, count_bits)

        def search(block: int) -> Split:
            return _search(
                self.words, block, self.payload, self.n_negative, self.feature_bins, self.settings, histograms
            )

        # The first of equally good splits, as in `grow`: the result does not depend on the threads.
        best = min(self.each(search, range(len(self.words))), key=lambda split: (split.loss, split.tie))
        whole = _sums(self.hist[0, 0].reshape(2, BINS), count_bits)
        if not self._worth(best, *whole):
            root = _nodes(*whole, scale)
            self.leaf[:] = 0
            return Stump(root, self.leaf)
        return self._split(best, whole, scale, histograms)

    def _worth(self, best: Split, count: Ints, weight: Ints) -> bool:
        """Return whether the root may be split, and this split does."""
        settings = self.settings
        enough = count.sum() >= max(settings.min_samples_split, 2 * settings.min_samples_leaf)
        if not enough or best.feature < 0 or not weight.all():
            return False
        saves = best.loss < node_loss(settings.criterion, float(weight[1]), float(weight[0]))
        return settings.criterion != COST or settings.break_ties or saves

    def _split(self, best: Split, whole: tuple[Ints, Ints], scale: float, histograms: Histograms) -> Stump:
        block, j = divmod(best.feature, FEATURES_PER_WORD)
        categorical = self.feature_bins.categorical[best.feature] != 0
        goes_left, seen = np.empty(BINS, np.bool_), np.empty(BINS, np.bool_)
        cut, missing = _divide(histograms, block, j, best, self.feature_bins, goes_left, seen)
        count, weight = whole
        left_count, left_weight = _sums(self.hist[block, j].reshape(2, BINS)[:, goes_left], histograms.count_bits)
        if missing == NOT_SEEN:
            # Bins without records go with the majority.
            missing = LEFT if 2 * left_count.sum() >= count.sum() else RIGHT
        counts = np.array([count, left_count, count - left_count])
        weights = np.array([weight, left_weight, weight - left_weight])
        nodes = _nodes(counts, weights, scale)
        loss = [node_loss(self.settings.criterion, float(w[1]), float(w[0])) for w in weights]
        nodes.gain[0] = (loss[0] - loss[1] - loss[2]) / scale
        nodes.feature[0], nodes.threshold[0], nodes.missing_left[0] = best.feature, cut, missing == LEFT
        nodes.left[0] = 1
        if categorical:
            nodes.category_set[0] = 0
            bits = np.packbits(np.where(seen, goes_left, missing == LEFT), bitorder="little")
            nodes = nodes._replace(categories_left=bits.view("<u8").astype(np.uint64).reshape(1, 4))
        _route(self.words, block, j, self.place, goes_left, self.leaf)
        return Stump(nodes, self.leaf)


def _sums(hist: Ints, count_bits: int) -> tuple[Ints, Ints]:
    """Return the counts and the weights of both classes in some bins."""
    total = hist.sum(axis=1)
    return total & ((1 << count_bits) - 1), total >> count_bits


def _nodes(counts: Ints, weights: Ints, scale: float) -> Nodes:
    """Return nodes with these sums, all of them leaves."""
    counts, weights = np.atleast_2d(counts), np.atleast_2d(weights)
    n = len(counts)
    nothing = np.full(n, -1, np.int32)
    return Nodes(
        feature=nothing.copy(),
        threshold=np.zeros(n, np.uint8),
        missing_left=np.zeros(n, np.uint8),
        left=nothing.copy(),
        category_set=nothing.copy(),
        categories_left=np.empty((0, 4), np.uint64),
        counts=counts,
        weights=weights / scale,
        gain=np.zeros(n),
    )
