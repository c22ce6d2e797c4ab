"""Counting votes: the scores of any number of decisions in one pass over records and members."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._jit import in_blocks, kernel
from stakes._typing import Bools, Floats, Int32s, Ints

__all__ = ["Ballot", "add_up", "leaf_losses", "member_losses", "tally"]


RECORDS_PER_TASK = 4096


class Ballot(NamedTuple):
    """Probabilities and outcomes of all leaves, and how each of several columns of votes is cast and weighed.

    A column of votes is one way for members to vote. The first columns are fixed outcomes of leaves, the others compare
    a leaf probability with the record's own threshold. A column may be weighed in several ways.
    """

    probability: Floats  # (n_leaves, n_kinds)
    outcome: Bools  # (n_leaves, n_fixed)
    by_threshold: Ints  # (n_columns - n_fixed,): the kind of probability each other column goes by
    weight: Floats  # (n_members, n_columns, n_weights)
    leaf_weight: Floats  # (n_leaves,), a factor on all weights; empty for none


@kernel
def _tally(
    ids: Int32s,
    out_of_bag: Bools,
    threshold: Floats,
    probability: Floats,
    outcome: Bools,
    by_threshold: Ints,
    weight: Floats,
    leaf_weight: Floats,
    start: int,
    end: int,
    average: Floats,
    share: Floats,
) -> None:
    """Write mean probabilities and shares of positive votes of the records from start to end."""
    n_kinds, n_fixed, n_columns = probability.shape[1], outcome.shape[1], weight.shape[1]
    n_weights = weight.shape[2]
    total = np.empty((n_columns, n_weights))
    for i in range(start, end):
        for k in range(n_kinds):
            average[i, k] = 0.0
        for c in range(n_columns):
            for w in range(n_weights):
                share[i, c, w] = 0.0
                total[c, w] = 0.0
        n_counted = 0
        for m in range(ids.shape[1]):
            if out_of_bag.shape[0] > 0 and not out_of_bag[i, m]:
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
                    total[c, w] += factor * weight[m, c, w]
        for k in range(n_kinds):
            average[i, k] /= n_counted
        for c in range(n_columns):
            for w in range(n_weights):
                if total[c, w] > 0.0:
                    share[i, c, w] /= total[c, w]
                else:  # votes without weight are split evenly; without votes there is no share
                    share[i, c, w] = 0.5 if n_counted > 0 else np.nan


def tally(
    ids: Int32s, ballot: Ballot, threshold: Floats, out_of_bag: Bools | None = None, n_threads: int = 1
) -> tuple[Floats, Floats]:
    """Return mean probabilities, and shares of positive votes.

    `ids` are the leaf of each record in each member, `threshold` the records' T_cs: any numbers where no column goes by
    it. `out_of_bag` says which members did not see a record in training, and vote on it; None if all vote. Records
    without votes get NaN; a share of votes that weigh nothing is one half. The mean has the shape (n_records, n_kinds),
    shares (n_records, n_columns, n_weights).
    """
    n = ids.shape[0]
    average = np.empty((n, ballot.probability.shape[1]))
    share = np.empty((n, *ballot.weight.shape[1:]))
    mask = np.empty((0, 0), np.bool_) if out_of_bag is None else out_of_bag

    def run(start: int, end: int) -> None:
        _tally(ids, mask, threshold, *ballot, start, end, average, share)

    in_blocks(run, n, n_threads, RECORDS_PER_TASK)
    return average, share


@kernel
def leaf_losses(ids: Int32s, out_of_bag: Bools, positive: Bools, loss: Floats, n_leaves: int) -> Floats:
    """Return, for each leaf, the summed loss of its negatives and of its positives."""
    losses = np.zeros((n_leaves, 2))
    for i in range(ids.shape[0]):
        side = np.int64(positive[i])
        for m in range(ids.shape[1]):
            if out_of_bag.shape[0] == 0 or out_of_bag[i, m]:
                losses[ids[i, m], side] += loss[i]
    return losses


@kernel
def member_losses(
    ids: Int32s,
    out_of_bag: Bools,
    positive: Bools,
    loss: Floats,
    threshold: Floats,
    probability: Floats,
    outcome: Bools,
    by_threshold: Ints,
) -> tuple[Floats, Floats]:
    """Return the summed loss of the records that each member gets wrong, by column of votes, and of all its records."""
    n_fixed, n_columns = outcome.shape[1], outcome.shape[1] + by_threshold.shape[0]
    wrong = np.zeros((ids.shape[1], n_columns))
    judged = np.zeros(ids.shape[1])
    for i in range(ids.shape[0]):
        for m in range(ids.shape[1]):
            if out_of_bag.shape[0] > 0 and not out_of_bag[i, m]:
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
