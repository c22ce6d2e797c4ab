"""The nodes of trees, and what the bins of features stand for: flat arrays that every step of the engine shares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._typing import Bytes, Floats, Indices, Int32s, Uint64s

__all__ = ["BINS", "MISSING", "FeatureBins", "Nodes"]

BINS = 256  # of every feature, used or not
MISSING = 0  # the bin of missing values


class FeatureBins(NamedTuple):
    """What the bins of each feature stand for."""

    n_bins: Int32s  # how many are in use, the one for missing values included
    categorical: Bytes
    centers: Floats  # (n_features, BINS): a typical value of each bin


class Nodes(NamedTuple):
    """The nodes of a tree; the right child of a node follows its left one."""

    feature: Int32s  # -1: a leaf
    threshold: Bytes  # bins up to this one go left
    missing_left: Bytes
    left: Int32s
    category_set: Int32s  # -1: numeric; else the row of `categories_left`
    categories_left: Uint64s  # (n, 4): a bit for each bin that goes left
    counts: NDArray[Any]  # (n_nodes, 2): negatives and positives, with multiplicity; floats for sample weights
    weights: NDArray[Any]  # (n_nodes, 2): the same, by weight; the very same where there are no weights
    gain: Floats  # decrease in the criterion's loss

    @property
    def parent(self) -> Int32s:
        """The node above each node, -1 for roots; computed anew each time."""
        parent = np.full(self.left.size, -1, np.int32)
        splits = np.flatnonzero(self.left >= 0)
        parent[self.left[splits]] = splits
        parent[self.left[splits] + 1] = splits
        return parent

    def bins_left(self, node: int) -> Indices:
        """Return the bins that go left at a split of categories."""
        words = self.categories_left[self.category_set[node]]
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
