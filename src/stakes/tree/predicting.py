"""Which leaf each record reaches, for all trees in one call."""

from __future__ import annotations

import numpy as np

from stakes._jit import kernel
from stakes._typing import Bytes, Floats, Int32s, Ints, Uint64s
from stakes.tree.nodes import BINS, Nodes

__all__ = ["descend", "pack"]


# A node in 64 bits: its left child above, then 8 bits for its threshold, flags, and 20 for its feature. What stands
# for the threshold is how much may be added before one is carried to the child, so that comparing takes no step of its
# own. All arithmetic is on unsigned words: signed indices would be checked for being negative at every step.
CHILD, THRESHOLD, FEATURE = np.uint64(32), np.uint64(24), np.uint64(0xFFFFF)
LEAF, CATEGORICAL, MISSING_RIGHT = np.uint64(1 << 22), np.uint64(1 << 21), np.uint64(1 << 20)
# From the flag of nodes whose missing values go right, which is taken off their bins, to the threshold.
BELOW_THRESHOLD = np.uint64(4)
LOW = np.uint64(0xFFFFFFFF)

# Records that descend side by side, because each step waits for memory; they all take as many steps as the one that has
# most to take (measured: a third longer with 4 or 32 of them, and as long with 16).
LANES = 8
# Records that pass a tree before the next tree is loaded into the cache: deep trees are larger than many records
# (measured).
RECORDS_PER_BLOCK = 1 << 14


def pack(nodes: Nodes) -> Uint64s:
    """Return each node as one word.

    A leaf is a node that sends all records to the left, and is its own left child: records stay there.
    """
    packed = np.empty(nodes.feature.size, np.uint64)
    _pack(nodes.feature, nodes.threshold, nodes.missing_left, nodes.left, nodes.category_set, packed)
    return packed


@kernel
def _pack(
    feature: Int32s, threshold: Bytes, missing_left: Bytes, left: Int32s, category_set: Int32s, packed: Uint64s
) -> None:
    for node in range(packed.shape[0]):
        if feature[node] < 0:
            packed[node] = np.uint64(node) << CHILD | LEAF
            continue
        cut = int(threshold[node])
        word = np.uint64(left[node]) << CHILD | np.uint64(feature[node])
        if not missing_left[node]:
            # Missing values have bin 0. Where they go right, one is taken off every bin, and 0 turns into 255.
            cut = max(cut, 1) - 1
            word |= MISSING_RIGHT
        if category_set[node] >= 0:
            word |= CATEGORICAL
        packed[node] = word | np.uint64(BINS - 1 - cut) << THRESHOLD


@kernel
def _child(node: np.uint64, bin_: int) -> np.uint64:
    """Return the child that a record with this bin goes to, by the threshold of the node."""
    shifted = (np.uint64(bin_) << (THRESHOLD - BELOW_THRESHOLD)) - (node & MISSING_RIGHT)
    return (node + ((shifted << BELOW_THRESHOLD) & LOW)) >> CHILD


@kernel
def _child_by_set(node: np.uint64, bin_: int, word: np.uint64) -> np.uint64:
    """Return the child that a record with this bin goes to, by the part of the node's category set for it."""
    left = (word >> np.uint64(bin_ & 63)) & np.uint64(1)
    return (node >> CHILD) + np.uint64(1) - left


@kernel
def descend(
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

    Leaves are numbered through all trees. Where nodes have a `value`, those of a record's leaves are added up instead,
    in the order of the trees.
    """
    any_categorical = categories_left.shape[0] > 0
    at, row = np.empty(LANES, np.uint64), np.empty(LANES, np.uint64)
    for first in range(start, end, RECORDS_PER_BLOCK):
        last = min(first + RECORDS_PER_BLOCK, end)
        for tree in range(roots.shape[0]):
            for i in range(first, last, LANES):
                for lane in range(LANES):
                    at[lane] = roots[tree]
                    # Beyond the last record, that one is repeated.
                    row[lane] = min(i + lane, last - 1) * width
                all_there = np.uint64(0)
                while all_there == np.uint64(0):
                    all_there = LEAF
                    for lane in range(LANES):
                        node = packed[at[lane]]
                        bin_ = bins[row[lane] + (node & FEATURE)]
                        to = _child(node, bin_)
                        if any_categorical and node & CATEGORICAL:
                            to = _child_by_set(node, bin_, categories_left[category_set[at[lane]], bin_ >> 6])
                        at[lane] = to
                        all_there &= node
                for lane in range(min(LANES, last - i)):
                    if value.shape[0] > 0:
                        sums[i + lane] += value[at[lane]]
                    else:
                        ids[i + lane, tree] = leaf_number[at[lane]]
