"""The records that one tree is grown on: copied next to each other, and kept in the order of its nodes.

A node has the records ``rows[start:end]``. Each record has a *payload*, its multiplicity and weight in one integer;
``histogram`` describes it.
"""

from __future__ import annotations

from math import frexp
from typing import NamedTuple

import numpy as np

from stakes._jit import borrowing
from stakes._typing import Bools, Bytes, Floats, Int32s, Ints

__all__ = ["LOW", "TreeRecords", "fixed_point", "load_records", "partition", "regroup", "sum_records"]

LOW = 0xFFFFFFFF


class TreeRecords(NamedTuple):
    """Binned records with their payloads, and the order in which the nodes have them."""

    bins: Bytes  # (n_records, n_columns)
    payload: Ints
    positive: Bytes
    rows: Int32s


@borrowing
def fixed_point(weight: Floats, multiplicity: Int32s) -> tuple[float, int]:
    """Return the scale of weights as whole numbers, and the bits that counts need below them."""
    total, n = 0.0, 0
    for i in range(weight.shape[0]):
        total += weight[i] * multiplicity[i]
        n += multiplicity[i]
    count_bits = 1
    while n >> count_bits:
        count_bits += 1
    # A power of two, so that whole weights stay exact; at most 2^52, so that sums are exact as floats too. Finite, even
    # for weights that are nearly zero.
    scale = 2.0 ** min(1023, min(52, 62 - count_bits) - frexp(total)[1]) if total > 0.0 else 1.0
    return scale, count_bits


@borrowing
def load_records(
    bins: Bytes, positive: Bytes, multiplicity: Int32s, weight: Floats, scale: float, count_bits: int, to: TreeRecords
) -> int:
    """Copy the records of positive multiplicity next to each other; return how many there are."""
    to_bins, to_payload, to_positive, rows = to
    k = np.int64(0)
    for i in range(multiplicity.shape[0]):
        times = np.int64(multiplicity[i])
        if times > 0:
            for j in range(bins.shape[1]):
                to_bins[k, j] = bins[i, j]
            to_positive[k] = positive[i]
            if count_bits == 0:
                to_payload[k] = times << (32 * np.int64(positive[i]))
            else:
                to_payload[k] = (np.int64(weight[i] * scale + 0.5) * times << count_bits) | times
            rows[k] = k
            k += 1
    return k


@borrowing
def sum_records(
    records: TreeRecords, start: int, end: int, count_bits: int, counts: Ints, weights: Ints, node: int
) -> None:
    """Sum the multiplicities and weights of a node's records by class."""
    _, payload, positive, rows = records
    if count_bits == 0:
        total = np.int64(0)
        for i in range(start, end):
            total += payload[rows[i]]
        counts[node, 0], counts[node, 1] = total & LOW, total >> 32
        weights[node, 0], weights[node, 1] = counts[node, 0], counts[node, 1]
    else:
        below, above = np.int64(0), np.int64(0)
        for i in range(start, end):
            if positive[rows[i]]:
                above += payload[rows[i]]
            else:
                below += payload[rows[i]]
        mask = (np.int64(1) << count_bits) - 1
        counts[node, 0], counts[node, 1] = below & mask, above & mask
        weights[node, 0], weights[node, 1] = below >> count_bits, above >> count_bits


@borrowing
def partition(records: TreeRecords, start: int, end: int, feature: int, goes_left: Bools, spare: Int32s) -> int:
    """Put the rows of a node whose bin goes left first, all in their old order; return where the others begin."""
    bins, _, _, rows = records
    middle, n_right = start, 0
    for i in range(start, end):
        row = rows[i]
        left = np.int64(goes_left[bins[row, feature]])
        rows[middle] = row
        spare[n_right] = row
        middle += left
        n_right += 1 - left
    for i in range(n_right):
        rows[middle + i] = spare[i]
    return middle


@borrowing
def regroup(records: TreeRecords, start: int, end: int, feature: int, goes_left: Bools) -> int:
    """Do the same with the records themselves, which lie where their node has them, and in no order.

    The children of a node then read their records one after the other, and not all over the memory.
    """
    bins, payload, positive, _ = records
    first, last = start, end - 1
    while True:
        while first <= last and goes_left[bins[first, feature]]:
            first += 1
        while first <= last and not goes_left[bins[last, feature]]:
            last -= 1
        if first >= last:
            return first
        for j in range(bins.shape[1]):
            bins[first, j], bins[last, j] = bins[last, j], bins[first, j]
        payload[first], payload[last] = payload[last], payload[first]
        positive[first], positive[last] = positive[last], positive[first]
        first += 1
        last -= 1
