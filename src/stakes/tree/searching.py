"""The best split of a node: which features it looks at, and which way of looking is the fastest for each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._jit import borrowing, inlined
from stakes._typing import Floats, Int8s, Int32s, Uint64s
from stakes.tree.criteria import GAIN_RATIO, node_loss
from stakes.tree.histogram import Histograms, Scratch, add_feature, fill, is_narrow, pick
from stakes.tree.nodes import MISSING, FeatureBins
from stakes.tree.prices import NO_TRADE, TOTAL_COST, Trade, worth
from stakes.tree.random_cuts import cut_at_random, scrambled
from stakes.tree.records import TreeRecords
from stakes.tree.scanning import can_scan, scan_narrow, scan_weights
from stakes.tree.splitting import (
    COUNT,
    FIRST,
    NO_SPLIT,
    Feature,
    Split,
    Totals,
    best_split,
    is_free,
    read_used,
    sort_by_share,
)

__all__ = ["Drawing", "Settings", "find_split"]

# A class is rare with at most one in this many of the weight.
RARE = 10


NO_SIGNS: Int8s = np.empty(0, np.int8)


class Settings(NamedTuple):
    """How to grow; `CostTreeClassifier` explains the names."""

    criterion: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    max_features: int  # drawn anew at each node where fewer than the tree's features
    break_ties: bool  # the cost criterion goes on by its tie-break where no split saves money
    seed: int
    monotone: Int8s = NO_SIGNS  # of all features: 1 or -1 where the share of positives must not fall or rise with it
    min_weight_fraction_leaf: float = 0.0
    random_cuts: bool = False  # one cut of each feature, at random, instead of the best
    trade: Trade = NO_TRADE  # of price against gain, where features have prices


class Drawing(NamedTuple):
    """Features drawn at random: those drawn last come first."""

    features: Int32s
    state: Uint64s  # of the random numbers


@inlined
def _random_number(state: Uint64s) -> np.uint64:
    """Draw 64 bits (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return scrambled(state[0])


@inlined
def _random_below(state: Uint64s, n: int) -> int:
    """Draw from 0 .. n-1 (the high half of a product)."""
    return np.int64(((_random_number(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inlined
def _draw(features: Int32s, state: Uint64s, j: int) -> None:
    """Put a random one of the features from position `j` on at position `j`."""
    other = j + _random_below(state, features.shape[0] - j)
    drawn = features[other]
    features[other] = features[j]
    features[j] = drawn


@inlined
def _can_merge(totals: Totals, criterion: int, min_leaf: int) -> bool:
    """Return whether bins of one class are to be taken together.

    That saves cuts where one class is rare; elsewhere the processor mispredicts at every second bin, which takes longer
    than the cuts do (measured).
    """
    rare = RARE * min(totals.positive, totals.negative) <= totals.positive + totals.negative
    return min_leaf <= 1 and criterion != GAIN_RATIO and rare


@inlined
def _better(worth: float, price: float, split: Split, other_worth: float, other_price: float, other: Split) -> bool:
    """Return whether a split is better than another one: worth more, or else cheaper, or else of less loss."""
    if worth != other_worth:
        return worth > other_worth
    if price != other_price:
        return worth > -np.inf and price < other_price
    return split.loss < other.loss or (split.loss == other.loss and split.tie < other.tie)


@borrowing
def find_split(
    records: TreeRecords,
    start: int,
    end: int,
    totals: Totals,
    slot: int,
    histograms: Histograms,
    drawing: Drawing,
    feature_bins: FeatureBins,
    settings: Settings,
    scratch: Scratch,
    toll: Floats | None,
) -> Split:
    """Return the best split of the records ``rows[start:end]`` on the features that this node looks at.

    The node has its histograms in a slot, or none (-1) where it has few records. `toll` has what each feature costs in
    this node; it is None where features have no prices, and what is about them is then not compiled.
    """
    criterion, min_leaf, n_draw = settings.criterion, settings.min_samples_leaf, settings.max_features
    hist, narrow, count_bits = histograms
    features, state = drawing
    n_bins, categorical, centers = feature_bins
    occupied = scratch.occupied
    in_narrow = is_narrow(totals.count, count_bits)
    monotone = settings.monotone
    ordered = monotone.shape[0] > 0
    at_random = settings.random_cuts
    # Whether all cuts may be scored at once.
    scans = not ordered and not at_random and is_free(totals)
    mergeable = scans and _can_merge(totals, criterion, min_leaf)
    # The cut of a feature depends on this and the feature: both looks at a node see the same cuts.
    salt = _random_number(state) if at_random else np.uint64(0)
    if n_draw < features.shape[0]:
        for j in range(n_draw):
            _draw(features, state, j)
        if slot >= 0:
            fill(histograms, slot, records, start, end, features, n_draw, in_narrow)
    best, top = NO_SPLIT, np.int64(0)
    rule, exponent, rival, best_worth, best_price = settings.trade.rule, settings.trade.exponent, best, -np.inf, np.inf
    known = 1.0
    loss_here = node_loss(criterion, float(totals.positive), float(totals.negative))
    mean_gain = np.inf if criterion == GAIN_RATIO else -np.inf
    for look in range(2 if criterion == GAIN_RATIO else 1):
        gains, n_gains = 0.0, 0
        for j in range(features.shape[0]):
            if j >= n_draw:
                # As in scikit-learn: more features than asked for only while no split is found at all.
                if best.feature >= 0 or n_gains > 0:
                    break
                if look == 0:
                    _draw(features, state, j)
            number = np.int64(features[j])
            if toll is not None:
                if toll[number] == np.inf:
                    continue
                # Each feature by itself: its cuts all have the same price.
                rival, best, top, known = best, NO_SPLIT, np.int64(0), 1.0
            sign = np.int64(monotone[number]) if ordered else np.int64(0)
            feature = Feature(number, j, n_bins[number], categorical[number] != 0, sign)
            merge = mergeable and not feature.categorical
            in_slot = slot >= 0 and j < hist.shape[1]
            scanned = in_slot and scans and can_scan(histograms, slot, feature, criterion, in_narrow)
            if scanned and in_narrow:
                best, top = scan_narrow(best, top, narrow, slot, feature, totals, min_leaf, scratch)
            elif scanned and not merge:
                best = scan_weights(best, hist, slot, feature, totals, criterion, min_leaf, count_bits, scratch)
            else:
                if in_slot:
                    pick(scratch, histograms, slot, j, feature.n_bins, in_narrow)
                else:
                    add_feature(scratch, records, start, end, number, count_bits)
                k = read_used(scratch, count_bits, merge)
                if k >= 2:
                    if toll is not None and occupied[FIRST, 0] == MISSING:
                        known = 1.0 - occupied[COUNT, 0] / totals.count
                    if feature.categorical:
                        sort_by_share(occupied, k)
                    cut = NO_SPLIT
                    if at_random:
                        cut, k = cut_at_random(occupied, k, feature, centers, salt), 2
                    best, more, n_more = best_split(best, occupied, k, feature, totals, criterion, min_leaf, mean_gain)
                    if at_random and best.feature == number:
                        # Found on the two sides of the cut.
                        best = Split(best.loss, best.tie, number, cut.low, cut.high, cut.missing, cut.entries)
                    gains += more
                    n_gains += n_more
                    if toll is None and best.loss <= 0.0 and best.tie <= 0.0 and criterion != GAIN_RATIO:
                        # Both children are pure: nothing is better, and the first of equals is taken anyway.
                        break
            if toll is not None:
                # Missing values are not bought.
                price, gain = known * toll[number], loss_here - best.loss
                if criterion == GAIN_RATIO:
                    gain = -best.loss
                elif rule != TOTAL_COST:
                    gain /= float(totals.positive + totals.negative)
                offer = worth(rule, exponent, gain, price) if best.feature >= 0 else -np.inf
                if _better(offer, price, best, best_worth, best_price, rival):
                    best_worth, best_price = offer, price
                else:
                    best = rival
        if look == 0 and n_gains > 0:
            # A little less than the mean: equal gains must all pass.
            mean_gain = gains / n_gains - 1e-10 * loss_here
    return best
