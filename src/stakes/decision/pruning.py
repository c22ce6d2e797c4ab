"""Ensemble pruning: a few members that together cost no more than all of them, found on validation records.

Members are put in an order, each by what it adds to those before it, and the first ones of that order are kept. Their
number is chosen by cost: as few as cost no more than the cheapest number, but for one standard error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._jit import kernel
from stakes._typing import Bools, Floats, Int8s, Ints

__all__ = ["Ballots", "by_cost", "by_error", "by_margin", "pruned"]

# The margin, as a share of the members, that all records should have in margin-distance ordering: Martinez-Munoz and
# Suarez (2006) find that values from 0.05 to 0.25 do equally well.
MARGIN = 0.075
# At least this share of the records must be judged by the members that are kept: out of the bag, few judge few.
JUDGED = 0.99


class Ballots(NamedTuple):
    """The votes of members on records with known classes."""

    votes: Int8s  # (n_members, n_records): 1 for a positive vote, -1 for a negative one, 0 for none (in the bag)
    positive: Bools
    loss: Floats  # of a mistake on each record
    threshold: Floats  # that the share of positive votes has to exceed

    def outcomes(self, n_positive: Ints, n_judging: Ints) -> Bools:
        """Return what records are decided to be by numbers of votes; those without votes are negative."""
        return n_positive > self.threshold * n_judging


def pruned(ballots: Ballots, order: Ints) -> Floats:
    """Return the vote weight of each member: 1 for the first members of an order, and 0 for the others."""
    votes, positive, loss, _ = ballots
    n_positive, n_judging = np.zeros((2, positive.size), np.int64)
    whole = _whole(ballots)
    wrong = np.empty(votes.shape, np.bool_)
    enough = np.empty(order.size, np.bool_)
    for k, member in enumerate(order):
        n_positive += votes[member] > 0
        n_judging += votes[member] != 0
        judged = n_judging > 0
        wrong[k] = np.where(judged, ballots.outcomes(n_positive, n_judging), whole) != positive
        enough[k] = judged.mean() >= JUDGED
    enough[-1] = True
    weight = np.zeros(order.size)
    weight[order[: _size(wrong, loss, enough)]] = 1.0
    return weight


def _size(wrong: Bools, loss: Floats, enough: Bools) -> int:
    """Return the least number of members that costs no more than the cheapest, but for one standard error."""
    cost = wrong @ loss
    cheapest = int(np.where(enough, cost, np.inf).argmin())
    for k in np.flatnonzero(enough[:cheapest]):
        more = loss * (wrong[k].astype(np.float64) - wrong[cheapest])
        if more.sum() <= np.sqrt(more.size * more.var()):
            return int(k) + 1
    return cheapest + 1


def _whole(ballots: Ballots) -> Bools:
    """Return the outcomes by the votes of all members."""
    return ballots.outcomes((ballots.votes > 0).sum(axis=0), (ballots.votes != 0).sum(axis=0))


def by_cost(ballots: Ballots) -> Ints:
    """Order members greedily by the cost of deciding together with those before."""
    return _greedy(*ballots, _whole(ballots))


def by_error(ballots: Ballots) -> Ints:
    """Order members greedily by the number of records decided wrong (reduced-error ordering)."""
    return _greedy(*ballots._replace(loss=(ballots.loss > 0).astype(np.float64)), _whole(ballots))


def by_margin(ballots: Ballots) -> Ints:
    """Order members so that the margins of records, weighted by their loss, come closest to a small positive one.

    Margin-distance minimisation: records that most members get right are left to few of them.
    """
    right = np.where(ballots.positive, ballots.votes, -ballots.votes).astype(np.float32) / len(ballots.votes)
    weight = ballots.loss / (ballots.loss.sum() or 1.0)
    size = (right**2) @ weight
    missing = np.full(ballots.positive.size, MARGIN)
    order = np.empty(len(right), np.int64)
    free = np.ones(len(right), np.bool_)
    for k in range(len(right)):
        # |missing - right|^2 without the term that all members share.
        distance = size - 2.0 * (right @ (weight * missing))
        order[k] = np.where(free, distance, np.inf).argmin()
        free[order[k]] = False
        missing -= right[order[k]]
    return order


@kernel
def _greedy(votes: Int8s, positive: Bools, loss: Floats, threshold: Floats, whole: Bools) -> Ints:
    """Return the members in the order in which each adds the least cost; of equal ones the one that errs least alone.

    Records that none of the members so far judges are decided by the whole ensemble.
    """
    n_members, n_records = votes.shape
    alone = np.zeros(n_members)
    for m in range(n_members):
        for i in range(n_records):
            if votes[m, i] != 0 and (votes[m, i] > 0) != positive[i]:
                alone[m] += loss[i]
    ranked = np.argsort(alone, kind="mergesort")
    order = np.empty(n_members, np.int64)
    free = np.ones(n_members, np.bool_)
    n_positive, n_judging = np.zeros(n_records), np.zeros(n_records)
    for k in range(n_members):
        best, least = -1, np.inf
        for m in ranked:
            if not free[m]:
                continue
            cost = 0.0
            for i in range(n_records):
                judging = n_judging[i] + abs(votes[m, i])
                if judging > 0.0:
                    outcome = n_positive[i] + (votes[m, i] > 0) > threshold[i] * judging
                else:
                    outcome = whole[i]
                if outcome != positive[i]:
                    cost += loss[i]
            if cost < least:
                best, least = m, cost
        order[k] = best
        free[best] = False
        for i in range(n_records):
            n_positive[i] += votes[best, i] > 0
            n_judging[i] += abs(votes[best, i])
    return order
