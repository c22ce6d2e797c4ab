"""The measures that decisions are judged by: what each is called, which way is better, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score

from stakes._format import money, percent, score
from stakes._typing import Bools, Floats
from stakes.costs import Costs
from stakes.decision.tally import add_up

__all__ = ["MEASURES", "Measure", "Sums", "amounts", "measure", "savings_of", "share_of", "sums_of"]


F = TypeVar("F", bound=Callable[..., Any])


class Sums(NamedTuple):
    """Sums over the records acted on, one number for each decision, and sums over all records."""

    true_positives: Floats
    false_positives: Floats
    found: Floats  # C_FN of the positives that are decided positive
    wasted: Floats  # C_FP of the negatives that are decided positive
    spent: Floats  # C_FP of all records that are decided positive
    positives: float
    negatives: float
    all_fn: float  # C_FN of all positives: the cost of doing nothing
    all_fp: float  # C_FP of all negatives: the cost of acting on everything
    paid: Floats | float = 0.0  # for the features of all records, whether they are acted on or not

    @classmethod
    def of(cls, acted: Floats, everyone: Floats) -> Sums:
        """Return sums of the columns of `amounts`: over the records acted on, and over all records."""
        true_positives, false_positives, found, wasted, spent = acted.T
        return cls(true_positives, false_positives, found, wasted, spent, *(float(total) for total in everyone[:4]))


def amounts(positive: Bools, costs: Costs) -> Floats:
    """Return what each record adds to the sums when it is acted on."""
    fp, fn = costs.arrays(positive.size)
    return np.column_stack([positive, ~positive, np.where(positive, fn, 0.0), np.where(positive, 0.0, fp), fp])


def sums_of(outcome: Bools, positive: Bools, costs: Costs, paid: Floats | float = 0.0) -> Sums:
    """Return the sums for each row of `outcome`; `paid` is what features cost per record."""
    amount = amounts(positive, costs)
    return Sums.of(add_up(outcome, amount), amount.sum(axis=0))._replace(paid=positive.size * paid)


def share_of(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Return ``part / whole``, where nothing of nothing is 0 and something of nothing is infinite.

    Examples
    --------
    >>> from stakes.measures import share_of
    >>> share_of([1, 0, -1], [4, 0, 0])
    array([0.25, 0.  , -inf])
    """
    part = np.asarray(part, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(part == 0, 0.0, part / np.asarray(whole, dtype=np.float64))


def savings_of(cost: ArrayLike, baseline: ArrayLike, other: ArrayLike = 0.0) -> Floats:
    """Return ``1 - cost / baseline``: the one definition of savings.

    A baseline that is a gain (a negative cost) divides by its size, so that more is still better. Where the baseline
    costs exactly 0, as where there are no positives, nothing can be saved: what is lost is given as a share of `other`,
    the cost of the other way to decide all records alike.

    Examples
    --------
    >>> from stakes.measures import savings_of
    >>> savings_of([0, 25, 100, 150], 100)
    array([ 1.  ,  0.75,  0.  , -0.5 ])
    >>> savings_of([0, 25, 100], 0, 200)
    array([ 0.   , -0.125, -0.5  ])
    """
    scale = np.where(np.equal(baseline, 0.0), other, baseline)
    return share_of(np.subtract(baseline, cost, dtype=np.float64), np.abs(scale))


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What decisions are judged by.

    Examples
    --------
    >>> from stakes.measures import MEASURES
    >>> savings = MEASURES["savings"]
    >>> savings.title, savings.higher_is_better, savings.write(0.2654)
    ('Savings', True, '26.5%')
    """

    name: str  # in the study and the command
    words: str  # what people call it, amid other words
    meaning: str  # what it says, in a clause
    of_sums: Callable[[Sums], Floats] | None = None  # of several decisions; None for a measure of scores
    of_scores: Callable[[Bools, Floats], float] | None = None  # of the classes and one vector of scores
    higher_is_better: bool = True
    needs_costs: bool = False  # whether it means something only where costs are known
    is_total: bool = False  # whether it adds up over records: where records differ in number, it is given per record
    ranks_like_cost: bool = False  # whether it ranks models as their cost does, on any records
    compares: bool = True  # whether models can be compared by it: not by how much they act, for instance
    write: Callable[[float | None], str] = score  # a value of it, as text

    @property
    def title(self) -> str:
        """The words as a heading."""
        return self.words[:1].upper() + self.words[1:]

    def figure(self, sums: Sums) -> Floats:
        """Return what a study tells of decisions: per record where the measure is a total."""
        assert self.of_sums is not None
        return self.of_sums(sums) / (sums.positives + sums.negatives if self.is_total else 1.0)


# Read by the study, the command, the report and the documentation. To add a measure: a function under `measure`.
MEASURES: dict[str, Measure] = {}

MONEY: dict[str, Any] = {"needs_costs": True, "is_total": True, "write": money}
LIKE_COST: dict[str, Any] = {"ranks_like_cost": True}
SHARE_OF_MONEY: dict[str, Any] = {"needs_costs": True, "write": percent}
SHARE_OF_RECORDS: dict[str, Any] = {"compares": False, "write": percent}


def measure(words: str, meaning: str, *, of: str = "of_sums", **facts: Any) -> Callable[[F], F]:
    """Put a function into the table, under its own name: one of sums, or of scores."""

    def add(function: F) -> F:
        name = function.__name__
        MEASURES[name] = Measure(name=name, words=words, meaning=meaning, **facts | {of: function})
        return function

    return add


@measure("cost", "what the mistakes cost together, the lower the better", higher_is_better=False, **MONEY, **LIKE_COST)
def cost(s: Sums) -> Floats:
    """Return the total cost of the mistakes, and of features."""
    return s.all_fn - s.found + s.wasted + s.paid


@measure(
    "savings",
    "the share saved of what the cheaper of doing nothing and acting on everything costs",
    **SHARE_OF_MONEY,
    **LIKE_COST,
)
def savings(s: Sums) -> Floats:
    """Return the share saved of the cost of the cheaper of doing nothing and acting on everything."""
    return savings_of(cost(s), *sorted((s.all_fn, s.all_fp)))


@measure("profit", "what acting brings in over doing nothing", **MONEY, **LIKE_COST)
def profit(s: Sums) -> Floats:
    """Return what acting brings in over doing nothing."""
    return s.found - s.wasted - s.paid


@measure("return", "profit as a share of what is spent on acting", **SHARE_OF_MONEY)
def roi(s: Sums) -> Floats:
    """Return profit over expenditure: C_FP of all that are acted on, and features."""
    return share_of(profit(s), s.spent + s.paid)


@measure("cost avoided", "the share avoided of what doing nothing costs", **SHARE_OF_MONEY, **LIKE_COST)
def cost_reduction(s: Sums) -> Floats:
    """Return the share saved of the cost of doing nothing (Cost%)."""
    return savings_of(cost(s), s.all_fn, s.all_fp)


@measure("amount detected", "the share of the money at stake that is found in time", **SHARE_OF_MONEY)
def amount_detected(s: Sums) -> Floats:
    """Return the share of C_FN of all positives that is found (TotF%)."""
    return share_of(s.found, s.all_fn)


@measure("balanced accuracy", "the mean of the shares of both classes that are decided right; guessing gets 0.5")
def balanced_accuracy(s: Sums) -> Floats:
    """Return the mean of the shares of the two classes that are decided right."""
    return (tpr(s) + share_of(s.negatives - s.false_positives, s.negatives)) / 2


@measure("G-mean", "the geometric mean of the shares of both classes that are decided right")
def g_mean(s: Sums) -> Floats:
    """Return the geometric mean of the shares of the two classes that are decided right."""
    return np.sqrt(tpr(s) * share_of(s.negatives - s.false_positives, s.negatives))


@measure("F1", "the harmonic mean of the share found and of the share of actions that were right")
def f1(s: Sums) -> Floats:
    """Return the harmonic mean of precision and recall."""
    return share_of(2 * s.true_positives, s.true_positives + s.false_positives + s.positives)


@measure("average precision", "how purely the records ranked highest are those worth acting on", of="of_scores")
def average_precision(positive: Bools, scores: Floats) -> float:
    """Return the mean precision at the scores of the positives; 0 where there are none."""
    return float(average_precision_score(positive, scores)) if positive.any() else 0.0


@measure("AUC", "how often a record worth acting on is ranked above one that is not; guessing gets 0.5", of="of_scores")
def auc(positive: Bools, scores: Floats) -> float:
    """Return the probability that a positive scores above a negative, ties counting half.

    By ranks, because a study asks for it 100,000 times: 0.08 ms on 1,400 records, where `roc_auc_score` takes 1.5 ms.
    """
    n_positive = int(positive.sum())
    pairs = n_positive * (positive.size - n_positive)
    if not pairs:
        return float("nan")
    return float((rankdata(scores)[positive].sum() - n_positive * (n_positive + 1) / 2) / pairs)


@measure("share found", "the share of the records worth acting on that are acted on", **SHARE_OF_RECORDS)
def tpr(s: Sums) -> Floats:
    """Return the share of the positives that is acted on."""
    return share_of(s.true_positives, s.positives)


@measure(
    "false alarms",
    "the share of the other records that are acted on all the same",
    higher_is_better=False,
    **SHARE_OF_RECORDS,
)
def fpr(s: Sums) -> Floats:
    """Return the share of the negatives that is acted on."""
    return share_of(s.false_positives, s.negatives)


@measure("acted on", "the share of all records that are acted on", higher_is_better=False, **SHARE_OF_RECORDS)
def acted(s: Sums) -> Floats:
    """Return the share of the records that is acted on."""
    return share_of(s.true_positives + s.false_positives, s.positives + s.negatives)
