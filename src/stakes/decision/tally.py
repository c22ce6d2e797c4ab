"""Counting votes: one pass over records and members gives the scores of any number of decisions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._jit import kernel

__all__ = ["Ballot", "add_up", "leaf_losses", "member_losses", "tally"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]
Bools = NDArray[np.bool_]

BLOCK = 4096


class Ballot(NamedTuple):
    """What members know of records by leaf, and how each of several columns of votes is cast and weighed.

    A column of votes is one way of members to vote. The first ones go by a fixed outcome of each leaf, the others by
    a leaf probability against the record's own threshold. A column may be weighed in several ways.
    """

    probability: Floats  # (n_leaves, n_kinds)
    outcome: Bools  # (n_leaves, n_fixed)
    by_threshold: NDArray[np.int64]  # (n_columns - n_fixed,): the kind of probability each other column goes by
    weight: Floats  # (n_members, n_columns, n_weights)
    leaf_weight: Floats  # (n_leaves,), a factor on all weights; empty for none


@kernel
def _tally(
    ids: Ids,
    counts: Bools,
    threshold: Floats,
    probability: Floats,
    outcome: Bools,
    by_threshold: NDArray[np.int64],
    weight: Floats,
    leaf_weight: Floats,
    start: int,
    end: int,
    average: Floats,
    share: Floats,
    total: Floats,
) -> None:
    """Write mean probabilities, shares of positive votes, and total vote weights of the records from start to end."""
    n_kinds, n_fixed, n_columns = probability.shape[1], outcome.shape[1], weight.shape[1]
    n_weights = weight.shape[2]
    for i in range(start, end):
        for k in range(n_kinds):
            average[i, k] = 0.0
        for c in range(n_columns):
            for w in range(n_weights):
                share[i, c, w] = 0.0
                total[i, c, w] = 0.0
        n_counted = 0
        for m in range(ids.shape[1]):
            if counts.shape[0] > 0 and not counts[i, m]:
                continue
            n_counted += 1
            leaf = ids[i, m]
            factor = leaf_weight[leaf] if leaf_weight.shape[0] > 0 else 1.0
            for k in range(n_kinds):
                average[i, k] += probability[leaf, k]
            for c in range(n_columns):
                if c < n_fixed:
                    positive = factor if outcome[leaf, c] else 0.0
                else:
                    positive = factor if probability[leaf, by_threshold[c - n_fixed]] > threshold[i] else 0.0
                for w in range(n_weights):
                    share[i, c, w] += positive * weight[m, c, w]
                    total[i, c, w] += factor * weight[m, c, w]
        for k in range(n_kinds):
            average[i, k] /= n_counted
        for c in range(n_columns):
            for w in range(n_weights):
                if total[i, c, w] > 0.0:
                    share[i, c, w] /= total[i, c, w]
                else:  # votes without weight leave the question open; no votes leave no question
                    share[i, c, w] = 0.5 if n_counted > 0 else np.nan


def tally(
    ids: Ids, ballot: Ballot, threshold: Floats, counts: Bools | None = None, n_threads: int = 1
) -> tuple[Floats, Floats, Floats]:
    """Return mean probabilities, shares of positive votes, and the total weights they are shares of.

    Parameters
    ----------
    ids : ndarray of shape (n_records, n_members)
        The leaf of each record in each member.
    ballot : Ballot
        What the leaves say and how votes are weighed.
    threshold : ndarray of shape (n_records,)
        T_cs of each record; any numbers where no column goes by it.
    counts : ndarray of shape (n_records, n_members), default=None
        Whether a member counts for a record (out-of-bag); None if all do. Records for which none does get NaN. A
        share of votes that weigh nothing is one half.
    n_threads : int, default=1

    Returns
    -------
    average : ndarray of shape (n_records, n_kinds)
    share, total : ndarray of shape (n_records, n_columns, n_weights)
    """
    n = ids.shape[0]
    _, n_columns, n_weights = ballot.weight.shape
    average = np.empty((n, ballot.probability.shape[1]))
    share = np.empty((n, n_columns, n_weights))
    total = np.empty((n, n_columns, n_weights))
    everyone = np.empty((0, 0), np.bool_) if counts is None else counts

    def run(start: int, end: int) -> None:
        _tally(ids, everyone, threshold, *ballot, start, end, average, share, total)

    _in_blocks(run, n, n_threads)
    return average, share, total


def _in_blocks(run: object, n: int, n_threads: int) -> None:
    if n_threads == 1 or n <= BLOCK:
        run(0, n)  # type: ignore[operator]
        return
    starts = range(0, n, BLOCK)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(run, starts, [min(start + BLOCK, n) for start in starts]))  # type: ignore[arg-type]


@kernel
def leaf_losses(ids: Ids, counts: Bools, positive: Bools, loss: Floats, n_leaves: int) -> Floats:
    """Return, for each leaf, the summed loss of its negatives and of its positives."""
    losses = np.zeros((n_leaves, 2))
    for i in range(ids.shape[0]):
        side = np.int64(positive[i])
        for m in range(ids.shape[1]):
            if counts.shape[0] == 0 or counts[i, m]:
                losses[ids[i, m], side] += loss[i]
    return losses


@kernel
def member_losses(
    ids: Ids,
    counts: Bools,
    positive: Bools,
    loss: Floats,
    threshold: Floats,
    probability: Floats,
    outcome: Bools,
    by_threshold: NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """Return the summed loss of the records each member gets wrong, for each column of votes, and of all it judges."""
    n_fixed, n_columns = outcome.shape[1], outcome.shape[1] + by_threshold.shape[0]
    wrong = np.zeros((ids.shape[1], n_columns))
    judged = np.zeros(ids.shape[1])
    for i in range(ids.shape[0]):
        for m in range(ids.shape[1]):
            if counts.shape[0] > 0 and not counts[i, m]:
                continue
            judged[m] += loss[i]
            leaf = ids[i, m]
            for c in range(n_columns):
                if c < n_fixed:
                    vote = outcome[leaf, c]
                else:
                    vote = probability[leaf, by_threshold[c - n_fixed]] > threshold[i]
                if vote != positive[i]:
                    wrong[m, c] += loss[i]
    return wrong, judged


@kernel
def add_up(outcome: Bools, amount: Floats) -> Floats:
    """Return the sums of several amounts over the records that each of several decisions makes positive.

    `outcome` has a row for each decision, `amount` one for each record.
    """
    sums = np.zeros((outcome.shape[0], amount.shape[1]))
    for d in range(outcome.shape[0]):
        for i in range(outcome.shape[1]):
            if outcome[d, i]:
                for a in range(amount.shape[1]):
                    sums[d, a] += amount[i, a]
    return sums
