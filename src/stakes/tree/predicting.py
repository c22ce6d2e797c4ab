"""Which leaf each record reaches, for all trees in one call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from stakes._jit import kernel
from stakes._typing import Bytes, Floats, Int32s, Ints, Uint64s
from stakes.tree.nodes import BINS, Nodes

__all__ = ["leaf_ids", "leaf_sums", "pack"]


# A node in 64 bits: its left child above, then 20 bits for its feature, 8 for its threshold, and flags. All arithmetic
# is on unsigned words: signed indices would be checked for being negative at every step.
CHILD, FEATURE, THRESHOLD = np.uint64(32), np.uint64(12), np.uint64(4)
FEATURE_MASK, BYTE = np.uint64(0xFFFFF), np.uint64(0xFF)
MISSING_RIGHT, CATEGORICAL = np.uint64(1), np.uint64(2)

# Records that pass a tree before the next tree is loaded into the cache: deep trees are larger than many records
# (measured).
RECORDS_PER_BLOCK = 1 << 14
# Paths from a root to a leaf: with fewer than this, another thread costs more than it saves.
FEWEST_PATHS_FOR_THREADS = 1 << 16
NO_VALUES: Floats = np.empty(0)


def pack(nodes: Nodes) -> Uint64s:
    """Return each node as one word.

    A leaf is a node that sends all records to the left, and is its own left child: records stay there.
    """
    splits = nodes.feature >= 0
    missing_left = np.where(splits, nodes.missing_left, 1)
    child = np.where(splits, nodes.left, np.arange(splits.size)).astype(np.uint64)
    feature = np.where(splits, nodes.feature, 0).astype(np.uint64)
    # Missing values have bin 0. Where they go right, one is taken off every bin, and 0 turns into 255.
    threshold = np.where(missing_left, nodes.threshold, np.maximum(nodes.threshold, 1) - 1)
    threshold = np.where(splits, threshold, BINS - 1).astype(np.uint64)
    flags = np.where(missing_left, 0, MISSING_RIGHT) | np.where(nodes.category_set >= 0, CATEGORICAL, 0)
    return child << CHILD | feature << FEATURE | threshold << THRESHOLD | flags.astype(np.uint64)


@kernel
def _feature(node: np.uint64) -> np.uint64:
    return (node >> FEATURE) & FEATURE_MASK


@kernel
def _child(node: np.uint64, bin_: int) -> np.uint64:
    """Return the child that a record with this bin goes to, by the threshold of the node."""
    shifted = (np.uint64(bin_) - (node & MISSING_RIGHT)) & BYTE
    return (node >> CHILD) + np.uint64(shifted > ((node >> THRESHOLD) & BYTE))


@kernel
def _child_by_set(node: np.uint64, bin_: int, word: np.uint64) -> np.uint64:
    """Return the child that a record with this bin goes to, by the part of the node's category set for it."""
    left = (word >> np.uint64(bin_ & 63)) & np.uint64(1)
    return (node >> CHILD) + np.uint64(1) - left


@kernel
def _descend(
    bins: Bytes,
    width: int,
    packed: Uint64s,
    category_set: Int32s,
    categories_left: Uint64s,
    roots: Ints,
    leaf_number: Int32s,
    ids: Int32s,
    value: Floats,
    sums: Floats,
    start: int,
    end: int,
) -> None:
    """Write the leaf of each record of ``start .. end-1`` in each tree; `bins` are end to end, `width` per record.

    Where nodes have a `value`, those of a record's leaves are added up instead, in the order of the trees.
    Four records descend side by side, because each step waits for memory.
    """
    any_categorical = categories_left.shape[0] > 0
    one = np.uint64(width)
    for first in range(start, end, RECORDS_PER_BLOCK):
        last = min(first + RECORDS_PER_BLOCK, end)
        for tree in range(roots.shape[0]):
            root = np.uint64(roots[tree])
            for i in range(first, last, 4):
                # Beyond the last record, that one is repeated.
                j, k, l = min(i + 1, last - 1), min(i + 2, last - 1), min(i + 3, last - 1)
                row_i, row_j, row_k, row_l = (
                    np.uint64(i) * one,
                    np.uint64(j) * one,
                    np.uint64(k) * one,
                    np.uint64(l) * one,
                )
                at_i, at_j, at_k, at_l = root, root, root, root
                moved = np.uint64(1)
                while moved != np.uint64(0):
                    node_i, node_j, node_k, node_l = packed[at_i], packed[at_j], packed[at_k], packed[at_l]
                    bin_i, bin_j = bins[row_i + _feature(node_i)], bins[row_j + _feature(node_j)]
                    bin_k, bin_l = bins[row_k + _feature(node_k)], bins[row_l + _feature(node_l)]
                    to_i, to_j = _child(node_i, bin_i), _child(node_j, bin_j)
                    to_k, to_l = _child(node_k, bin_k), _child(node_l, bin_l)
                    if any_categorical:
                        if node_i & CATEGORICAL:
                            to_i = _child_by_set(node_i, bin_i, categories_left[category_set[at_i], bin_i >> 6])
                        if node_j & CATEGORICAL:
                            to_j = _child_by_set(node_j, bin_j, categories_left[category_set[at_j], bin_j >> 6])
                        if node_k & CATEGORICAL:
                            to_k = _child_by_set(node_k, bin_k, categories_left[category_set[at_k], bin_k >> 6])
                        if node_l & CATEGORICAL:
                            to_l = _child_by_set(node_l, bin_l, categories_left[category_set[at_l], bin_l >> 6])
                    moved = (at_i ^ to_i) | (at_j ^ to_j) | (at_k ^ to_k) | (at_l ^ to_l)
                    at_i, at_j, at_k, at_l = to_i, to_j, to_k, to_l
                if value.shape[0] > 0:
                    sums[i] += value[at_i]
                    if j > i:
                        sums[j] += value[at_j]
                    if k > j:
                        sums[k] += value[at_k]
                    if l > k:
                        sums[l] += value[at_l]
                else:
                    ids[i, tree] = leaf_number[at_i]
                    ids[j, tree] = leaf_number[at_j]
                    ids[k, tree] = leaf_number[at_k]
                    ids[l, tree] = leaf_number[at_l]


def leaf_ids(
    bins: Bytes,
    packed: Uint64s,
    category_set: Int32s,
    categories_left: Uint64s,
    roots: Ints,
    leaf_number: Int32s,
    n_threads: int = 1,
) -> Int32s:
    """Return the leaf, numbered through all trees, that each record reaches in each tree."""
    ids = np.empty((bins.shape[0], roots.size), np.int32)
    trees = (packed, category_set, categories_left, roots, leaf_number)
    _descend_all(bins, trees, ids, NO_VALUES, NO_VALUES, n_threads)
    return ids


def leaf_sums(
    bins: Bytes,
    packed: Uint64s,
    category_set: Int32s,
    categories_left: Uint64s,
    roots: Ints,
    value: Floats,
    n_threads: int = 1,
) -> Floats:
    """Return the sum of the values of the leaves that each record reaches; `value` has one for each node."""
    sums = np.zeros(bins.shape[0])
    trees = (packed, category_set, categories_left, roots, np.empty(0, np.int32))
    _descend_all(bins, trees, np.empty((0, 0), np.int32), value, sums, n_threads)
    return sums


def _descend_all(bins: Bytes, trees: tuple[Any, ...], ids: Int32s, value: Floats, sums: Floats, n_threads: int) -> None:
    n, width = bins.shape
    flat = np.ascontiguousarray(bins).reshape(-1)
    packed, category_set, categories_left, roots, number = trees

    def descend(start: int, end: int) -> None:
        _descend(flat, width, packed, category_set, categories_left, roots, number, ids, value, sums, start, end)

    if n_threads == 1 or n * roots.size <= FEWEST_PATHS_FOR_THREADS:
        descend(0, n)
    else:
        edges = np.linspace(0, n, 4 * n_threads + 1).astype(int)
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(descend, edges[:-1], edges[1:]))
