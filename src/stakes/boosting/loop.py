"""The one loop of all variants of AdaBoost (FRAMEWORK 7.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf, log
from typing import Any, Protocol

import numpy as np

from stakes._members import LeafAssignment
from stakes._typing import Floats
from stakes.boosting.rules import Rule, total
from stakes.records import Records

__all__ = ["DONE", "LARGE", "PERFECT", "USELESS", "Boosted", "Learner", "boost", "first_weights", "shares"]


# The alpha of the smallest error that a float can hold, for members that make none.
LARGE = -log(np.finfo(np.float64).tiny) / 2

# Alphas up to this are rounding errors of sums, of members that are right as often as wrong.
NOTHING = 1e-12

DONE = "n_estimators reached"
PERFECT = "a member made no error that counts"
USELESS = "the alpha of a member was not positive"


class Learner(Protocol):
    """What makes members."""

    def fit(self, log_weight: Floats, weight: Floats) -> tuple[Any, LeafAssignment]:
        """Return a member fitted to records of these weights, and the leaves of all of them in it.

        The logarithms tell weights apart that are too small for `weight`, which sums to 1.
        """

    def keep(self, member: Any) -> None:
        """Register a member that was accepted."""


@dataclass(frozen=True)
class Boosted:
    """What a run of the loop leaves behind."""

    members: list[Any]
    alphas: list[float]  # the weights of their votes
    errors: list[float]  # the weights of the records that each got wrong
    thresholds: list[float | None]  # of those that tuned one to the weights of their round
    stop_reason: str
    log_weight: Floats  # of the records in the next round


def boost(
    rule: Rule,
    records: Records,
    learner: Learner,
    vote: Callable[[Any, LeafAssignment, Floats], tuple[Floats, float | None]],
    rounds: Iterable[int],
    tries: int = 1,
    anew: Callable[[], Floats] | None = None,
    learning_rate: float = 1.0,
    last: Boosted | None = None,
) -> Boosted:
    """Run as many rounds as there are items in `rounds`, at most, on records whose sample weights are positive.

    `vote` takes a member, the leaves of the records in it, and their weights to its votes (1 for positive, -1 for
    negative, or a confidence between the two) and to the threshold of its own, if it tuned one to the weights. Up to
    `tries` members are fitted in a round, until one is of use: more than one only where chance has a part in them, by
    samples, or by the weights that `anew` puts in the place of those by which a member was of no use. Each alpha is
    multiplied by `learning_rate`, in the vote and in the weights of the next round. `last` is what the rounds go on
    from.
    """
    if last is None:
        last = Boosted([], [], [], [], DONE, first_weights(rule, records))
    members, alphas, errors, thresholds = [*last.members], [*last.alphas], [*last.errors], [*last.thresholds]
    for member in members:
        learner.keep(member)
    stop_reason, log_weight = last.stop_reason, last.log_weight.copy()
    focus = rule.focus(records)
    # The same arrays in all rounds: of many records, to get new memory takes longer than to compute what is put there.
    weight, log_fit, fit, margin = (np.empty_like(log_weight) for _ in range(4))
    for _ in rounds:
        for failed in range(tries):
            if failed and anew is not None:
                log_weight = anew()
            weight, log_total = shares(log_weight, weight)
            log_weight -= log_total
            if focus is None:
                log_fit, fit = log_weight, weight
            else:
                np.add(log_weight, focus, out=log_fit)
                fit, _ = shares(log_fit, fit)
            member, assignment = learner.fit(log_fit, fit)
            votes, threshold = vote(member, assignment, weight)
            np.multiply(records.sign, votes, out=margin)
            alpha = rule.vote_weight(records, weight, margin)
            if alpha > NOTHING:
                break
        error = total(weight, lambda rows: 1 - margin[rows]) / 2
        if alpha <= NOTHING:
            stop_reason, alpha = USELESS, 1.0
            if members:
                break
        elif alpha == inf or error == 0:
            # Without an error there is nothing left to learn, even where the rule has a finite alpha.
            stop_reason, alpha = PERFECT, LARGE
        alpha *= learning_rate
        members.append(member)
        learner.keep(member)
        alphas.append(alpha)
        errors.append(error)
        thresholds.append(threshold)
        if stop_reason != DONE:
            break
        log_weight += rule.step(records, alpha, margin)
    return Boosted(members, alphas, errors, thresholds, stop_reason, log_weight)


def first_weights(rule: Rule, records: Records) -> Floats:
    """Return the logarithms of the initial weights."""
    start = rule.start(records)
    return start if records.weight is None else start + np.log(records.weight)


def shares(log_weight: Floats, out: Floats | None = None) -> tuple[Floats, float]:
    """Return weights that sum to 1, in the array `out` if there is one, and the logarithm of what they summed to.

    Relative to the largest, so that none overflows. Where there is no weight at all, all records share equally.
    """
    largest = log_weight.max()
    if largest == -inf:
        return np.full(log_weight.size, 1 / log_weight.size), 0.0
    weight = np.subtract(log_weight, largest, out=out)
    np.exp(weight, out=weight)
    whole = weight.sum()
    weight /= whole
    return weight, float(largest + np.log(whole))
