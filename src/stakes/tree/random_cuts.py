"""Extremely randomised trees (Geurts, Ernst & Wehenkel 2006): one cut of each feature, drawn at random."""

from __future__ import annotations

import numpy as np

from stakes._jit import borrowing, inlined
from stakes._typing import Floats, Ints
from stakes.tree.nodes import BINS, MISSING
from stakes.tree.splitting import FIRST, LAST, LEFT, NOT_SEEN, POSITIVE, RIGHT, Feature, Split

__all__ = ["cut_at_random", "scrambled"]


@inlined
def scrambled(z: np.uint64) -> np.uint64:
    """Return 64 bits that look unrelated to those given (the last step of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@borrowing
def cut_at_random(occupied: Ints, k: int, feature: Feature, centers: Floats, salt: np.uint64) -> Split:
    """Replace the first `k` entries by two, those left and right of a cut at random, and return the cut.

    The threshold of a numeric feature is uniform between the least and the greatest value in the node, as in
    scikit-learn, where a bin has one value. Missing values go to a side at random. Categories are in the order of their
    shares of positives, and all cuts between them are equally likely.
    """
    number = feature.number
    z = scrambled(salt + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15))
    share = np.float64(z >> np.uint64(11)) / 2.0**53
    start = 1 if occupied[FIRST, 0] == MISSING and not feature.categorical else 0
    low, high, missing = 0, 0, NOT_SEEN
    if feature.categorical:
        entries = 1 + int(share * (k - 1))
    elif start == k - 1:
        # One value: all that can be cut off are the missing ones.
        low, high, missing, entries = occupied[LAST, 1], BINS, RIGHT, k
    else:
        low, last = occupied[FIRST, start], occupied[LAST, k - 1]
        # No difference of two huge values, which may not be finite.
        value = (1.0 - share) * centers[number, low] + share * centers[number, last]
        while low + 1 < last and centers[number, low + 1] <= value:
            low += 1
        high = low + 1
        entries = start + 1
        while occupied[FIRST, entries] <= low:
            entries += 1
        if start == 1:
            missing = LEFT if z & np.uint64(1) else RIGHT
    for field in range(POSITIVE, 5):
        left, right = 0, 0
        for i in range(k):
            if i < entries if i >= start else missing == LEFT:
                left += occupied[field, i]
            else:
                right += occupied[field, i]
        occupied[field, 0] = left
        occupied[field, 1] = right
    occupied[FIRST, 0] = MISSING + 1  # missing values have their side
    return Split(0.0, 0.0, number, low, high, missing, entries)
