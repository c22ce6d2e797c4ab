"""The leaf probability by which members vote where it is left to them: the usual one, or one clearly cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stakes._members import LeafAssignment
from stakes._typing import Bools
from stakes.decision.decision import Decision
from stakes.decision.reader import Reader, Votes
from stakes.records import Records

__all__ = ["Unseen", "cheapest_leaf"]

# Costs that differ by less are equal, so that rounding, which is another in each currency, chooses nothing.
ROUNDING = 1e-9
# So many standard errors are no noise.
CLEARLY = 2.0


class Unseen(NamedTuple):
    """Records that members were not trained on, and the leaves that they reach.

    `out_of_bag`, of shape (n_records, n_members), says which members were not trained on a record, and so judge it;
    None if all judge all. A record that nobody judges does not count.
    """

    assignment: LeafAssignment
    records: Records
    out_of_bag: Bools | None = None


def cheapest_leaf(leaves: Sequence[str], votes: Votes, unseen: Sequence[Unseen], *, n_threads: int = 1) -> str:
    """Return the leaf probability by which the votes of members cost least on records, if that is clear, or the first.

    It is clear where it costs less than the first by more than two standard errors, the root of the sum of the squared
    differences of records: of two that are as good, noise would choose one for these costs and the other for dearer
    misses, and act on fewer records. Members vote by the known costs, and are charged by the real ones.
    """
    decisions = [Decision(member="cost", leaf=leaf) for leaf in leaves]
    costs, squares = np.zeros(len(leaves)), np.zeros(len(leaves))
    for assignment, records, out_of_bag in unseen:
        readings = Reader(decisions, votes).read(assignment, records.known, out_of_bag=out_of_bag, n_threads=n_threads)
        scores = np.stack([readings.scores[readings.source(decision)] for decision in decisions])
        wrong = ((scores > 0.5) != records.positive) & readings.known
        costs += wrong @ records.loss
        squares += (wrong != wrong[0]) @ records.loss**2
    best = int(np.argmax(costs <= costs.min() * (1 + ROUNDING)))
    error = np.sqrt(squares[best])
    return leaves[best if costs[0] - costs[best] > CLEARLY * error * (1 + ROUNDING) else 0]
