"""Which leaf each record reaches, for all trees in one call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from stakes.tree.growing import Nodes
from stakes.tree.histogram import Bytes, Ints
from stakes.tree.jit import kernel

__all__ = ["leaf_ids", "pack"]

# A node in 64 bits: its left child above, then its feature, its threshold, and flags.
CHILD, FEATURE, THRESHOLD = 32, 16, 8
MISSING_RIGHT, CATEGORICAL, LEFT_IS_LEAF, RIGHT_IS_LEAF = 1, 2, 4, 8

BLOCK = 1024  # records that walk down a tree side by side: their bins, and the tree, stay in the cache


def pack(nodes: Nodes) -> Ints:
    """Return each node as one word."""
    splits = nodes.feature >= 0
    left = np.where(splits, nodes.left, 0).astype(np.int64)
    flags = (
        np.where(nodes.missing_left, 0, MISSING_RIGHT)
        | np.where(nodes.category_set >= 0, CATEGORICAL, 0)
        | np.where(splits[left], 0, LEFT_IS_LEAF)
        | np.where(splits[np.minimum(left + 1, splits.size - 1)], 0, RIGHT_IS_LEAF)
    )
    # Missing values have bin 0. Where they go right, one is taken off every bin, and 0 turns into 255.
    threshold = np.where(nodes.missing_left, nodes.threshold, np.maximum(nodes.threshold, 1) - 1).astype(np.int64)
    feature = np.where(splits, nodes.feature, 0).astype(np.int64)
    return left << CHILD | feature << FEATURE | threshold << THRESHOLD | flags


@kernel
def _walk(
    bins: Bytes,
    packed: Ints,
    category_set: NDArray[np.int32],
    categories_left: NDArray[np.uint64],
    roots: NDArray[np.int64],
    leaf_number: NDArray[np.int32],
    ids: NDArray[np.int32],
    start: int,
    end: int,
) -> None:
    """Write the leaf of each record of ``start .. end-1`` in each tree.

    All records of a block take a step before any takes the next one: steps of different records do not wait for each
    other's memory, and those that arrived at a leaf drop out of the list of walkers.
    """
    any_categorical = categories_left.shape[0] > 0
    at = np.empty(BLOCK, np.int32)
    walkers = np.empty(BLOCK, np.int32)
    for first in range(start, end, BLOCK):
        n = min(BLOCK, end - first)
        for tree in range(roots.shape[0]):
            root = roots[tree]
            for i in range(n):
                at[i] = root
                walkers[i] = i
            n_walkers = n if leaf_number[root] < 0 else 0
            while n_walkers > 0:
                n_still = 0
                for w in range(n_walkers):
                    i = np.int64(walkers[w])
                    here = np.int64(at[i])
                    node = packed[here]
                    bin_ = np.int64(bins[first + i, (node >> FEATURE) & 0xFFFF])
                    right = np.int64(((bin_ - (node & MISSING_RIGHT)) & 0xFF) > ((node >> THRESHOLD) & 0xFF))
                    if any_categorical and node & CATEGORICAL:
                        word = categories_left[category_set[here], bin_ >> 6]
                        right = 1 - np.int64((word >> np.uint64(bin_ & 63)) & np.uint64(1))
                    at[i] = (node >> CHILD) + right
                    walkers[n_still] = i
                    n_still += 1 - ((node >> (2 + right)) & 1)
                n_walkers = n_still
            for i in range(n):
                ids[first + i, tree] = leaf_number[at[i]]


def leaf_ids(
    bins: Bytes,
    packed: Ints,
    category_set: NDArray[np.int32],
    categories_left: NDArray[np.uint64],
    roots: NDArray[np.int64],
    leaf_number: NDArray[np.int32],
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Return the leaf, numbered through all trees, that each record reaches in each tree."""
    n = bins.shape[0]
    ids = np.empty((n, roots.size), np.int32)

    def walk(start: int, end: int) -> None:
        _walk(bins, packed, category_set, categories_left, roots, leaf_number, ids, start, end)

    if n_threads == 1 or n <= BLOCK:
        walk(0, n)
    else:
        edges = np.linspace(0, n, 4 * n_threads + 1).astype(int)
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(walk, edges[:-1], edges[1:]))
    return ids
