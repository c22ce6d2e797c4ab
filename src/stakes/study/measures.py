"""What outcomes are worth: all measures of all decisions at once, from a few sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes.costs import Costs
from stakes.decision.tally import add_up

__all__ = ["IMBALANCE", "MEASURES", "MONEY", "Sums", "amounts", "area_under_roc", "average_precision", "sums_of"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Sums(NamedTuple):
    """Sums over the records of a part, one number for each decision, and those over all records."""

    true_positives: Floats
    false_positives: Floats
    found: Floats  # C_FN of the positives that are decided positive
    wasted: Floats  # C_FP of the negatives that are decided positive
    spent: Floats  # C_FP of all records that are decided positive
    positives: float
    negatives: float
    all_fn: float  # C_FN of all positives: the cost of doing nothing
    all_fp: float  # C_FP of all negatives: the cost of acting on everything

    @classmethod
    def of(cls, acted: Floats, everyone: Floats) -> Sums:
        """Return sums of the columns of `amounts`: over the records acted on, and over all records."""
        true_positives, false_positives, found, wasted, spent = acted.T
        return cls(true_positives, false_positives, found, wasted, spent, *(float(total) for total in everyone[:4]))


def amounts(positive: Bools, costs: Costs) -> Floats:
    """Return what each record adds to the sums when it is acted on."""
    fp, fn = costs.arrays(positive.size)
    return np.column_stack([positive, ~positive, np.where(positive, fn, 0.0), np.where(positive, 0.0, fp), fp])


def sums_of(outcome: Bools, positive: Bools, costs: Costs) -> Sums:
    """Return the sums for each row of `outcome`."""
    amount = amounts(positive, costs)
    return Sums.of(add_up(outcome, amount), amount.sum(axis=0))


def _ratio(above: Floats, below: Floats | float) -> Floats:
    """Return quotients; 0 where there is nothing to divide by."""
    below = np.broadcast_to(np.asarray(below, dtype=np.float64), above.shape)
    with np.errstate(over="ignore"):  # infinite where costs are far apart, as it should be
        return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def cost(s: Sums) -> Floats:
    """Return the total cost of the mistakes."""
    return s.all_fn - s.found + s.wasted


def savings(s: Sums) -> Floats:
    """Return 1 - cost / the cheaper of doing nothing and acting on everything."""
    least = min(s.all_fn, s.all_fp)
    return _ratio(least - cost(s), least)


def cost_reduction(s: Sums) -> Floats:
    """Return 1 - cost / that of doing nothing (Cost%)."""
    return _ratio(s.all_fn - cost(s), s.all_fn)


def amount_detected(s: Sums) -> Floats:
    """Return the share of C_FN of all positives that is found (TotF%)."""
    return _ratio(s.found, s.all_fn)


def profit(s: Sums) -> Floats:
    """Return what acting brings in over doing nothing."""
    return s.found - s.wasted


def roi(s: Sums) -> Floats:
    """Return profit over expenditure, C_FP of all that are acted on."""
    return _ratio(profit(s), s.spent)


def tpr(s: Sums) -> Floats:
    """Return the share of the positives that is found."""
    return _ratio(s.true_positives, s.positives)


def fpr(s: Sums) -> Floats:
    """Return the share of the negatives that is acted on."""
    return _ratio(s.false_positives, s.negatives)


def acted(s: Sums) -> Floats:
    """Return the share of the records that is acted on."""
    return _ratio(s.true_positives + s.false_positives, s.positives + s.negatives)


def balanced_accuracy(s: Sums) -> Floats:
    """Return the mean of the shares of the two classes that are decided right."""
    return (tpr(s) + 1.0 - fpr(s)) / 2


def g_mean(s: Sums) -> Floats:
    """Return the geometric mean of the shares of the two classes that are decided right."""
    return np.sqrt(tpr(s) * (1.0 - fpr(s)))


def f1(s: Sums) -> Floats:
    """Return the harmonic mean of precision and recall."""
    return _ratio(2 * s.true_positives, s.true_positives + s.false_positives + s.positives)


def area_under_roc(positive: Bools, score: Floats) -> float:
    """Return the probability that a positive scores above a negative, ties counting half."""
    order = np.argsort(score)
    ordered, is_positive = score[order], positive[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-np.inf))
    sizes = np.diff(first, append=score.size)
    ups = np.add.reduceat(is_positive.astype(np.float64), first)
    downs = sizes - ups
    below = np.cumsum(downs) - downs
    pairs = ups.sum() * downs.sum()
    return float(((below + downs / 2) * ups).sum() / pairs) if pairs else float("nan")


def average_precision(positive: Bools, score: Floats) -> float:
    """Return the mean precision at the scores of the positives."""
    order = np.argsort(-score)
    ordered, hits = score[order], np.cumsum(positive[order])
    last = np.flatnonzero(np.diff(ordered, append=np.inf))
    recall_steps = np.diff(hits[last], prepend=0)
    return float((recall_steps * hits[last] / (last + 1)).sum() / max(1, hits[-1]))


MONEY: dict[str, Callable[[Sums], Floats]] = {
    "cost": cost,
    "savings": savings,
    "profit": profit,
    "roi": roi,
    "cost_reduction": cost_reduction,
    "amount_detected": amount_detected,
}
IMBALANCE: dict[str, Callable[[Sums], Floats]] = {
    "balanced_accuracy": balanced_accuracy,
    "g_mean": g_mean,
    "f1": f1,
}
RATES: dict[str, Callable[[Sums], Floats]] = {"tpr": tpr, "fpr": fpr, "acted": acted}
MEASURES = {**MONEY, **IMBALANCE, **RATES}
