"""The numbers behind plots and reports: costs, rates and savings as arrays, from one sort and running sums."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stakes._docs import documented
from stakes._typing import Bools, Floats, Ints
from stakes._validation import check_value, choice, whole
from stakes.costs import Costs
from stakes.decision.thresholds import ScoreCuts, finite_scores, positives, probabilities, record_weights
from stakes.exceptions import CostsError
from stakes.measures import savings_of
from stakes.metrics.bill import Bill

__all__ = [
    "CostCurve",
    "GainCurve",
    "IsoCostLines",
    "OperatingPoint",
    "ReliabilityCurve",
    "RocPoints",
    "SensitivityCurve",
    "cost_curve",
    "decide_by_costs",
    "gain_curve",
    "iso_cost_lines",
    "operating_point",
    "reliability_curve",
    "roc_points",
    "sensitivity_curve",
]


class CostCurve(NamedTuple):
    """The total cost of every threshold.

    All thresholds from one of `thresholds` up to the next decide alike: the curve is a staircase.

    Examples
    --------
    >>> from stakes.curves import cost_curve
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.9], fp_cost=5, fn_cost=[20, 20, 30, 90])
    >>> curve.baseline
    10.0
    >>> curve.cost_at(0.2), curve.cost_at(0.5)
    (5.0, 30.0)
    >>> curve.savings
    array([  0. ,   0.5,  -2. , -11. ])
    """

    thresholds: Floats  # minus infinity, by which all records are positive, then the distinct scores in order
    cost: Floats

    @property
    def baseline(self) -> float:
        """The cheaper of acting on all records and on none."""
        return float(min(self.cost[0], self.cost[-1]))

    @property
    def savings(self) -> Floats:
        """The share of the baseline that is saved, as `stakes.metrics.savings_score` defines it."""
        return self.saved_at(self.cost)

    def saved_at(self, cost: ArrayLike) -> Floats:
        """Return the share of the baseline that is saved at a total cost."""
        return savings_of(cost, *sorted((self.cost[0], self.cost[-1])))

    def cost_at(self, threshold: float) -> float:
        """Return the total cost of one threshold."""
        return float(self.cost[np.searchsorted(self.thresholds, threshold, side="right") - 1])


@documented
def cost_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> CostCurve:
    """Return the total cost of every threshold; a record is positive iff its score is above it.

    Parameters
    ----------
    {scores}

    Returns
    -------
    curve : CostCurve
        `thresholds` and `cost`, each of shape (n_distinct_scores + 1,), and `savings`.

    Examples
    --------
    >>> from stakes.curves import cost_curve
    >>> thresholds, cost = cost_curve([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.9], fp_cost=5, fn_cost=[20, 20, 30, 90])
    >>> thresholds
    array([-inf,  0.1,  0.4,  0.9])
    >>> cost
    array([ 10.,   5.,  30., 120.])
    """
    bill = Bill.of(y_true, [], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    cuts = ScoreCuts(finite_scores(y_score, bill.if_negative.size).astype(np.float64))
    return _curve(cuts, bill)


class RocPoints(NamedTuple):
    """False and true positive rates of every threshold, from all records positive to none."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats


@documented
def roc_points(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = 1
) -> RocPoints:
    """Return the false and true positive rates of every threshold; a record is positive iff its score is above it.

    The thresholds are those of `cost_curve`, so that a point has the same place in both.

    Parameters
    ----------
    {scored}
    {weight_and_label}

    Returns
    -------
    points : RocPoints
        `fpr`, `tpr` and `thresholds`, each of shape (n_distinct_scores + 1,).

    Examples
    --------
    >>> from stakes.curves import roc_points
    >>> fpr, tpr, thresholds = roc_points([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.9])
    >>> fpr, tpr
    (array([1. , 0.5, 0. , 0. ]), array([1. , 1. , 0.5, 0. ]))
    """
    (positive,) = positives(pos_label, y_true=y_true)
    cuts = ScoreCuts(finite_scores(y_score, positive.size).astype(np.float64))
    fpr, tpr = (cuts.above(weight) / weight.sum() for weight in _class_weights(positive, sample_weight))
    return RocPoints(fpr, tpr, _thresholds(cuts))


class OperatingPoint(NamedTuple):
    """Where decisions lie in the ROC plane."""

    fpr: float
    tpr: float


@documented
def operating_point(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = 1
) -> OperatingPoint:
    """Return the false and true positive rate of decisions.

    Parameters
    ----------
    {decided}
    {weight_and_label}

    Returns
    -------
    point : OperatingPoint

    Examples
    --------
    >>> from stakes.curves import operating_point
    >>> operating_point([0, 0, 1, 1], [0, 1, 1, 1])
    OperatingPoint(fpr=0.5, tpr=1.0)
    """
    positive, acted = positives(pos_label, y_true=y_true, y_pred=y_pred)
    return OperatingPoint(
        *(float(weight[acted].sum() / weight.sum()) for weight in _class_weights(positive, sample_weight))
    )


class IsoCostLines(NamedTuple):
    """Lines of equal cost in the ROC plane, from where they enter the unit square to where they leave it.

    To be drawn as ``ax.plot(lines.fpr.T, lines.tpr.T)``.
    """

    cost: Floats
    fpr: Floats  # (n_lines, 2)
    tpr: Floats  # (n_lines, 2)


@documented
def iso_cost_lines(
    y_true: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
    cost: ArrayLike | None = None,
) -> IsoCostLines:
    """Return lines of equal total cost in the ROC plane, for class-mean costs and the base rate.

    With N+ positives and N- negatives, the decisions at a point cost ``N+ C_FN (1 - tpr) + N- C_FP fpr``: where costs
    are constant exactly, otherwise if mistakes are as dear as the records of their class are on average.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        True classes, with any two labels.
    {charged}
    cost : array-like of shape (n_lines,), default=None
        The total costs to draw lines for. By default four: that of the cheaper of acting on all and on none, below
        which no model is worth having, and those that avoid a quarter, a half and three quarters of it.

    Returns
    -------
    lines : IsoCostLines
        `cost` of shape (n_lines,), `fpr` and `tpr` of shape (n_lines, 2). Costs that no decisions have get no line.

    Examples
    --------
    >>> from stakes.curves import iso_cost_lines
    >>> lines = iso_cost_lines([1, 0, 0, 0, 0], fp_cost=5, fn_cost=40, cost=[10, 20])
    >>> lines.fpr
    array([[0. , 0.5],
           [0. , 1. ]])
    >>> lines.tpr
    array([[0.75, 1.  ],
           [0.5 , 1.  ]])
    """
    bill = Bill.of(y_true, [], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    mistake = np.abs(bill.if_positive - bill.if_negative)
    all_missed, all_alarmed = mistake[bill.positive].sum(), mistake[~bill.positive].sum()
    perfect = np.minimum(bill.if_negative, bill.if_positive).sum()
    if cost is None:
        levels = np.unique(perfect + min(all_missed, all_alarmed) * np.arange(1, 5) / 4)
    else:
        levels = np.atleast_1d(np.asarray(cost, dtype=np.float64))
    # The line is: missed + alarmed = excess, where each is between 0 and its sum over the whole class.
    excess = levels - perfect
    drawn = (excess >= 0) & (excess <= all_missed + all_alarmed) & (all_missed + all_alarmed > 0)
    excess = excess[drawn, np.newaxis]
    missed = np.minimum(excess, all_missed) * [1, 0] + np.maximum(excess - all_alarmed, 0) * [0, 1]
    alarmed = excess - missed
    fpr = alarmed / all_alarmed if all_alarmed > 0 else np.tile([0.0, 1.0], (len(excess), 1))
    tpr = 1 - missed / all_missed if all_missed > 0 else np.tile([0.0, 1.0], (len(excess), 1))
    return IsoCostLines(levels[drawn], fpr, tpr)


class GainCurve(NamedTuple):
    """What it brings to act on more and more records, the most promising first.

    Examples
    --------
    >>> from stakes.curves import gain_curve
    >>> curve = gain_curve([1, 0, 1, 0], [0.9, 0.3, 0.6, 0.1], fp_cost=5, fn_cost=40)
    >>> curve.share[curve.profit.argmax()], curve.profit.max()
    (np.float64(0.5), np.float64(80.0))
    """

    share: Floats  # of the records acted on, from 0 to 1
    profit: Floats  # the money saved against acting on none
    savings: Floats  # against the cheaper of acting on all and on none, as a share of its cost


@documented
def gain_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
    order: Literal["score", "expected_saving"] = "score",
) -> GainCurve:
    """Return what it brings to act on the records with the highest scores, for every share of them.

    Parameters
    ----------
    {scores}
    order : {"score", "expected_saving"}, default="score"
        Which records come first: those with the highest score, or those on which acting is expected to save most,
        ``p C_FN - (1 - p) C_FP``, where the score p must be a probability. Where a cost is known only afterwards,
        compute the expected saving from estimates, and pass it as a score.

    Returns
    -------
    curve : GainCurve
        `share`, `profit` and `savings`, each of shape (n_distinct_scores + 1,). Records that tie are acted on together.

    Examples
    --------
    Two of the three positives are worth acting on:

    >>> from stakes.curves import gain_curve
    >>> y, p, amount = [1, 0, 1, 1], [0.9, 0.6, 0.5, 0.1], [10, 10, 90, 2]
    >>> gain_curve(y, p, fp_cost=5, fn_cost=amount).profit
    array([ 0., 10.,  5., 95., 97.])
    >>> gain_curve(y, p, fp_cost=5, fn_cost=amount, order="expected_saving").profit
    array([  0.,  90., 100.,  95.,  97.])
    """
    bill = Bill.of(y_true, [], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    n = bill.if_negative.size
    costs = Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost)
    check_value("order", order, choice("score", "expected_saving"))
    if order == "score":
        ranking = finite_scores(y_score, n).astype(np.float64)
    else:
        p = probabilities(y_score, n)
        ranking = p * costs.fn - (1 - p) * costs.fp
    cuts = ScoreCuts(ranking)
    curve, share = _curve(cuts, bill), cuts.above(bill.weight)[::-1]
    return GainCurve(share / (share[-1] or 1.0), (curve.cost[-1] - curve.cost)[::-1], curve.savings[::-1])


class ReliabilityCurve(NamedTuple):
    """Probabilities and what came of them, by bins that have records."""

    predicted: Floats  # mean probability
    observed: Floats  # share of positives
    counts: Ints  # of records


@documented
def reliability_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    fp_cost: ArrayLike | None = None,
    fn_cost: ArrayLike | None = None,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> ReliabilityCurve:
    """Return the share of positives among records of similar predicted probability.

    Parameters
    ----------
    y_true : array-like of shape (n_records,)
        True classes, with any two labels.
    y_prob : array-like of shape (n_records,)
        Probabilities of the positive class.
    n_bins : int, default=10
        Into how many bins the probabilities are put.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equally many records, or of equal width.
    fp_cost, fn_cost : float or array-like of shape (n_records,), default=None
        If given, both: a record counts by what is at stake in it, ``C_FP + C_FN``, so that the means of a bin are those
        of its money. The weight is the same whatever the class, and so does not bend the curve of true probabilities.
    tp_cost, tn_cost : float or array-like of shape (n_records,), default=0
        Cost of a true positive and of a true negative, which reduce what is at stake.
    {weight_and_label}

    Returns
    -------
    curve : ReliabilityCurve
        `predicted`, `observed` and `counts`, of as many bins as have records with some weight.

    Examples
    --------
    >>> from stakes.curves import reliability_curve
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
    >>> predicted, observed, counts = reliability_curve(y, p, n_bins=2, strategy="uniform")
    >>> predicted.round(2), observed.round(2), counts
    (array([0.2, 0.8]), array([0.33, 0.67]), array([3, 3]))
    """
    (positive,) = positives(pos_label, y_true=y_true)
    n = positive.size
    probability = probabilities(y_prob, n, "y_prob")
    if not n:
        raise ValueError("y_prob is empty: give at least one record")
    weight = record_weights(sample_weight, n)
    if fp_cost is not None and fn_cost is not None:
        fp, fn = Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost).for_records(n, "y_true").arrays(n)
        weight = weight * (fp + fn)
    elif fp_cost is not None or fn_cost is not None:
        raise CostsError("fp_cost or fn_cost is missing: give both, or neither to count all records alike")
    check_value("n_bins", n_bins, whole(1))
    check_value("strategy", strategy, choice("quantile", "uniform"))
    shares = np.linspace(0, 1, n_bins + 1)[1:-1]
    bins = np.searchsorted(np.quantile(probability, shares) if strategy == "quantile" else shares, probability)

    def sums(values: Floats | None = None) -> NDArray[Any]:
        return np.bincount(bins, values, minlength=n_bins)

    total = sums(weight)
    used = total > 0
    predicted, observed = (sums(weight * values)[used] / total[used] for values in (probability, positive))
    return ReliabilityCurve(predicted, observed, sums()[used])


class SensitivityCurve(NamedTuple):
    """Savings at changed costs."""

    factors: Floats
    savings: Floats


def sensitivity_curve(
    y_true: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    y_score: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    vary: Literal["fn_cost", "fp_cost"] = "fn_cost",
    factors: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> SensitivityCurve:
    """Return the savings when one of the two costs is multiplied by factors.

    Costs are often a guess. This tells how much hangs on it: with probabilities, for decisions that follow the
    changed costs; with decisions, for those that stay as they are.

    Parameters
    ----------
    y_true, fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label
        As in `cost_curve`. Costs are reduced (FRAMEWORK 1) before they are multiplied, and savings are those of the
        reduced costs.
    y_score : array-like of shape (n_records,), default=None
        Probabilities: at each factor, records are positive iff above T_cs of the changed costs.
    y_pred : array-like of shape (n_records,), default=None
        Decisions, the same at all factors. Give either these or `y_score`.
    vary : {"fn_cost", "fp_cost"}, default="fn_cost"
        Which cost is multiplied.
    factors : array-like of shape (n_factors,), default=None
        What it is multiplied by; by default 41 factors from 1/10 to 10.

    Returns
    -------
    curve : SensitivityCurve
        `factors` and `savings`, against the cheaper of acting on all and on none at the changed costs.

    Examples
    --------
    >>> from stakes.curves import sensitivity_curve
    >>> y, p = [0, 0, 1, 0, 1], [0.05, 0.2, 0.4, 0.7, 0.9]
    >>> sensitivity_curve(y, y_score=p, fp_cost=1, fn_cost=2, factors=[0.5, 1, 5]).savings.round(2)
    array([0.  , 0.67, 0.33])
    >>> sensitivity_curve(y, y_pred=[0, 0, 0, 0, 1], fp_cost=1, fn_cost=2, factors=[0.5, 1, 5]).savings.round(2)
    array([ 0.5 ,  0.33, -2.33])
    """
    if (y_score is None) == (y_pred is None):
        raise ValueError("give either y_score, to decide anew at each factor, or y_pred, to keep the decisions")
    (positive,) = positives(pos_label, y_true=y_true)
    n = positive.size
    costs = Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost).for_records(n, "y_true")
    weight = record_weights(sample_weight, n)
    factors = _factors(factors)
    unchanged = np.ones_like(factors)
    check_value("vary", vary, choice("fn_cost", "fp_cost"))
    on_fp, on_fn = (unchanged, factors) if vary == "fn_cost" else (factors, unchanged)

    at_stake = weight * costs.of(positive)
    if y_pred is not None:
        decisions = iter(positives(pos_label, y_true=y_true, y_pred=y_pred)[1:])
    else:
        # One pass per factor, by the rule of predict. Sorting records by the factor at which each turns positive would
        # take one pass, but rounds differently where p = T_cs, which is common for leaves of trees.
        probability = probabilities(y_score, n)
        changed = (Costs(fp=costs.fp * a, fn=costs.fn * b) for a, b in zip(on_fp, on_fn, strict=True))
        decisions = (probability > at_factor.threshold() for at_factor in changed)
    missed, alarmed = np.transpose(
        [(at_stake[positive & ~acted].sum(), at_stake[~positive & acted].sum()) for acted in decisions]
    )
    baselines = np.sort([on_fn * at_stake[positive].sum(), on_fp * at_stake[~positive].sum()], axis=0)
    return SensitivityCurve(factors, savings_of(on_fn * missed + on_fp * alarmed, *baselines))


def decide_by_costs(
    y_score: ArrayLike, *, fp_cost: ArrayLike, fn_cost: ArrayLike, tp_cost: ArrayLike = 0.0, tn_cost: ArrayLike = 0.0
) -> Bools:
    """Return which records are worth acting on: those whose probability is above T_cs (MEC, FRAMEWORK 2).

    Examples
    --------
    >>> from stakes.curves import decide_by_costs
    >>> decide_by_costs([0.1, 0.1, 0.6], fp_cost=5, fn_cost=[20, 95, 5])
    array([False,  True,  True])
    """
    probability = probabilities(y_score, np.size(y_score))
    costs = Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost).for_records(probability.size, "y_score")
    return probability > costs.threshold()


def _curve(cuts: ScoreCuts, bill: Bill) -> CostCurve:
    """Return the total cost of each cut."""
    return CostCurve(_thresholds(cuts), cuts.below(bill.if_negative) + cuts.above(bill.if_positive))


def _thresholds(cuts: ScoreCuts) -> Floats:
    return np.append(-np.inf, cuts.scores)


def _class_weights(positive: Bools, sample_weight: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return the weights of the negatives and of the positives, 0 for the others."""
    weight = record_weights(sample_weight, positive.size)
    classes = np.where(positive, 0.0, weight), np.where(positive, weight, 0.0)
    for name, of_class in zip(("negative", "positive"), classes, strict=True):
        if not of_class.any():
            raise ValueError(f"y_true has no {name} records with weight: rates need both classes")
    return classes


def _factors(factors: ArrayLike | None) -> Floats:
    if factors is None:
        return np.geomspace(0.1, 10, 41)
    array = np.atleast_1d(np.asarray(factors, dtype=np.float64))
    if array.ndim > 1 or not array.size or not (np.isfinite(array) & (array > 0)).all():
        raise ValueError(f"factors must be finite numbers above 0, got {factors!r}")
    return array
