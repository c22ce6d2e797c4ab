"""Which records learn, which are for testing, and in which fold each learning record is judged.

Three ways to divide records: at random within each class; at random by whole groups (all records of a customer stay
together); and forward in time (what is judged came later than what was learnt from).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._typing import Bools, Floats, Indices, Ints

__all__ = ["ONLY_TRAINS", "Folds", "cut_in_time", "divide", "forward_folds", "random_folds"]

ONLY_TRAINS = -1


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of the learning records."""

    fold: Ints  # in which a record is judged; -1 for records that only train (the first ones in time)
    forward: bool = False  # whether a fold is judged by models trained on earlier folds alone, and not on all others

    def __len__(self) -> int:
        return int(self.fold.max()) + 1

    def judged(self, k: int) -> Indices:
        """Return the records that are judged in fold `k`."""
        return np.flatnonzero(self.fold == k)

    def trained(self, k: int) -> Indices:
        """Return the records that the model of fold `k` is trained on."""
        return np.flatnonzero(self.fold < k if self.forward else self.fold != k)

    @property
    def all_judged(self) -> Indices:
        """The records that are judged in some fold."""
        return np.flatnonzero(self.fold != ONLY_TRAINS)


def divide(positive: Bools, shares: list[float], rng: np.random.Generator, groups: Ints | None = None) -> Ints:
    """Return the part in which each record is, stratified by class.

    Records with the same number in `groups` stay together. Parts are then as near to their shares as groups allow.
    """
    share = np.asarray(shares, dtype=np.float64) / np.sum(shares)
    if groups is not None:
        return _whole_groups(positive, share, rng, groups)
    part = np.empty(positive.size, np.int64)
    for of_class in (positive, ~positive):
        rows = rng.permutation(np.flatnonzero(of_class))
        ends = np.round(np.cumsum(share) * rows.size).astype(np.int64)
        part[rows] = np.searchsorted(ends, np.arange(rows.size), side="right")
    return part


def _whole_groups(positive: Bools, share: Floats, rng: np.random.Generator, groups: Ints) -> Ints:
    """Put the largest groups first, each into the part that lacks most of what the group has."""
    names, number = np.unique(groups, return_inverse=True)
    counts = np.column_stack(
        [np.bincount(number[of_class], minlength=names.size) for of_class in (~positive, positive)]
    )
    order = rng.permutation(names.size)
    order = order[np.argsort(-counts.sum(axis=1)[order], kind="stable")]
    wanted = np.outer(share, counts.sum(axis=0))
    lacking = wanted.copy()
    part_of = np.empty(names.size, np.int64)
    # Relative to what a part wants: a group with positives goes where positives are scarce.
    weight = 1.0 / np.maximum(counts.sum(axis=0), 1)
    for group in order:
        chosen = int(np.argmax(lacking @ (weight * counts[group]) / share))
        part_of[group] = chosen
        lacking[chosen] -= counts[group]
    return part_of[number]


def random_folds(positive: Bools, n_folds: int, rng: np.random.Generator, groups: Ints | None = None) -> Folds:
    """Return folds of equal size, stratified by class, of whole groups where there are any."""
    return Folds(divide(positive, [1.0] * n_folds, rng, groups))


def forward_folds(time: Ints, n_folds: int) -> Folds:
    """Return folds forward in time: of `n_folds` + 1 blocks of equal size the first only trains.

    Records of the same time are in the same block.
    """
    before = np.searchsorted(np.sort(time), time, side="left")
    # Numbered anew: a block whose records all have the time of an earlier one is empty.
    _, block = np.unique(before * (n_folds + 1) // time.size, return_inverse=True)
    return Folds(block - 1, forward=True)


def cut_in_time(time: Ints, share: float) -> Bools:
    """Return which records are the latest ones, about this share of all; those of the same time stay together."""
    ordered = np.sort(time)
    return time >= ordered[min(time.size - 1, int(np.ceil((1.0 - share) * time.size)))]
