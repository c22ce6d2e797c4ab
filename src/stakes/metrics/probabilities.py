"""What probabilities and rankings are worth, before a threshold turns them into decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from stakes._docs import documented
from stakes._typing import Floats
from stakes._validation import check_value, number
from stakes.decision.thresholds import ScoreCuts, finite_scores, positives, probabilities, record_weights
from stakes.measures import savings_of
from stakes.metrics.bill import Bill

__all__ = [
    "auepc_score",
    "emp_churn_score",
    "emp_credit_score",
    "expected_cost",
    "expected_savings_score",
    "lift_score",
]

Mass = Callable[[Floats], tuple[Floats, Floats]]
"""From values of a random variable to the probability of no larger ones, and to the mean times that probability."""


@documented
def expected_cost(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the mean total cost of acting on each record with its probability.

    Unlike the cost of decisions it is smooth in the probabilities. It is least for probabilities of 0 and 1, and says
    nothing about whether they are calibrated.

    Parameters
    ----------
    {scores}

    Returns
    -------
    cost : float

    Examples
    --------
    >>> from stakes.metrics import expected_cost
    >>> expected_cost([1, 1, 0], [0.75, 0.5, 0.25], fp_cost=4, fn_cost=[20, 90, 20])
    51.0
    """
    bill = Bill.of(y_true, [], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    return _mean_cost(bill, y_score)


@documented
def expected_savings_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the share that is saved by acting on each record with its probability.

    Parameters
    ----------
    {scores}

    Returns
    -------
    savings : float
        ``1 - expected cost / baseline``, where the baseline is the cheaper of acting on no record and on all of them;
        as `savings_score` where it is 0 or a gain.

    Examples
    --------
    >>> from stakes.metrics import expected_savings_score
    >>> expected_savings_score([1, 1, 0], [1, 1, 0.25], fp_cost=4, fn_cost=[20, 90, 20])
    0.75
    """
    bill = Bill.of(y_true, [], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    return float(savings_of(_mean_cost(bill, y_score), *bill.baselines))


@documented
def lift_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    share: float = 0.1,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return how many times more positives there are among the records ranked highest than among all.

    Parameters
    ----------
    {scored}
    share : float in (0, 1], default=0.1
        The share of the records that is ranked highest. Of records with equal scores at its edge, a part counts.
    {weight_and_label}

    Returns
    -------
    lift : float
        1 for a random order; 0 where there are no positives.

    Examples
    --------
    >>> from stakes.metrics import lift_score
    >>> lift_score([1, 0, 1, 0, 0, 0], [0.9, 0.8, 0.7, 0.3, 0.2, 0.1], share=0.5)
    2.0
    """
    check_value("share", share, number(1e-9, 1))
    (positive,) = positives(pos_label, y_true=y_true)
    weight = record_weights(sample_weight, positive.size)
    n, found = _ranked(finite_scores(y_score, positive.size), weight, np.where(positive, weight, 0.0))
    if not found[-1]:
        return 0.0
    return float(np.interp(share * n[-1], n, found) / share / found[-1])


@documented
def auepc_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    pos_label: Any = 1,
) -> float:
    """Return the area under the expected profit curve, relative to that of the best possible ranking.

    The curve is what acting on the 1, 2, ... records ranked highest saves, as a share of what acting on as many of
    those with the most to save does. The area is its mean up to where even the best ranking saves nothing more.

    Parameters
    ----------
    {scored}
    {costs}
    pos_label : label, default=1
        The label of the positive class.

    Returns
    -------
    area : float
        1 for the best ranking; 0 where there is nothing to save.

    Examples
    --------
    >>> from stakes.metrics import auepc_score
    >>> auepc_score([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.1], fp_cost=5, fn_cost=[20, 10, 0, 0])
    1.0
    >>> auepc_score([1, 1, 0, 0], [0.8, 0.9, 0.3, 0.1], fp_cost=5, fn_cost=[20, 10, 0, 0])
    0.9166666666666666
    """
    bill = Bill.of(y_true, [], fp_cost, fn_cost, tp_cost, tn_cost, None, pos_label)
    gain = bill.if_negative - bill.if_positive
    depth = np.arange(1, gain.size + 1)
    ones = np.ones(gain.size)
    n, saved_by = _ranked(finite_scores(y_score, gain.size), ones, gain)
    saved = np.interp(depth, n, saved_by)
    best = np.cumsum(np.sort(gain)[::-1])
    # The best curve rises first and falls then: it is positive up to a point, or nowhere.
    saved, best = saved[best > 0], best[best > 0]
    if best.size < 2:
        return float((saved / best).sum())
    return float(np.trapezoid(saved / best) / (best.size - 1))


@documented
def emp_churn_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: float = 6.0,
    beta: float = 14.0,
    clv: float = 200.0,
    incentive_cost: float = 10.0,
    contact_cost: float = 1.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the expected maximum profit of a retention campaign, for each customer (EMPC).

    Customers with a high score are contacted and offered an incentive. Of the churners among them a share accepts and
    stays; it follows a beta distribution. The number of customers contacted is the most profitable one for each share.

    Parameters
    ----------
    {scored}
    alpha, beta : float, default=6 and 14
        Parameters of the beta distribution.
    clv : float, default=200
        What a customer who stays is worth.
    incentive_cost, contact_cost : float, default=10 and 1
        What an incentive costs that is accepted, and what a contact costs.
    {weight_and_label}

    Returns
    -------
    profit : float
        0 where no campaign pays.

    References
    ----------
    Verbraken, Verbeke, Baesens: A novel profit maximizing metric for measuring classification performance of customer
    churn prediction models. IEEE Transactions on Knowledge and Data Engineering 25 (2013).

    Examples
    --------
    >>> from stakes.metrics import emp_churn_score
    >>> round(emp_churn_score([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8]), 3)
    28.0
    """

    def mass(share: Floats) -> tuple[Floats, Floats]:
        return betainc(alpha, beta, share), alpha / (alpha + beta) * betainc(alpha + 1, beta, share)

    for name, value in {"alpha": alpha, "beta": beta, "clv": clv}.items():
        check_value(name, value, number(1e-9, 1e9))
    for name, value in {"incentive_cost": incentive_cost, "contact_cost": contact_cost}.items():
        check_value(name, value, number(0, 1e9))
    if incentive_cost >= clv:
        raise ValueError(f"incentive_cost={incentive_cost} is not below clv={clv}: no customer is worth keeping")
    hull = _roc_hull(y_true, y_score, sample_weight, pos_label)
    return _expected_maximum(*hull, clv - incentive_cost, -contact_cost, incentive_cost + contact_cost, mass)


@documented
def emp_credit_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    no_loss: float = 0.55,
    full_loss: float = 0.1,
    roi: float = 0.2644,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the expected maximum profit of refusing loans, as a share of the amounts asked for (EMP).

    Loans with a high score are refused. Of a loan in default a share is lost: nothing, all of it, or anything in
    between with equal probability. The number of loans refused is the most profitable one for each share.

    Parameters
    ----------
    {scored}
    no_loss, full_loss : float, default=0.55 and 0.1
        The probabilities that nothing and that all of a loan in default is lost.
    roi : float, default=0.2644
        What a loan that is paid back earns, as a share of its amount.
    {weight_and_label}

    Returns
    -------
    profit : float
        0 where refusing loans does not pay.

    References
    ----------
    Verbraken, Bravo, Weber, Baesens: Development and application of consumer credit scoring models using profit-based
    classification measures. European Journal of Operational Research 238 (2014).

    Examples
    --------
    >>> from stakes.metrics import emp_credit_score
    >>> round(emp_credit_score([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8]), 4)
    0.1375
    """
    for name, value in {"no_loss": no_loss, "full_loss": full_loss, "no_loss + full_loss": no_loss + full_loss}.items():
        check_value(name, value, number(0, 1))
    check_value("roi", roi, number(0, 1e9))
    between = 1 - no_loss - full_loss

    def mass(share: Floats) -> tuple[Floats, Floats]:
        below = no_loss + between * share, between * share**2 / 2
        return np.where(share < 1, below[0], 1.0), np.where(share < 1, below[1], between / 2 + full_loss)

    return _expected_maximum(*_roc_hull(y_true, y_score, sample_weight, pos_label), 1.0, 0.0, roi, mass)


def _mean_cost(bill: Bill, y_score: ArrayLike) -> float:
    p = probabilities(y_score, bill.if_negative.size)
    return float(p @ bill.if_positive + (1 - p) @ bill.if_negative)


def _ranked(scores: NDArray[np.floating], *values: Floats) -> list[Floats]:
    """Return sums of values over the records ranked highest: none, and then up to the end of each group of ties."""
    cuts = ScoreCuts(scores)
    return [cuts.above(each)[::-1] for each in values]


def _roc_hull(
    y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[Floats, Floats]:
    """Return positives and negatives among the records ranked highest, as shares of all records, on the convex hull."""
    (positive,) = positives(pos_label, y_true=y_true)
    weight = record_weights(sample_weight, positive.size)
    weight = weight / weight.sum()
    scores = finite_scores(y_score, positive.size)
    found, wasted = _ranked(scores, np.where(positive, weight, 0.0), np.where(positive, 0.0, weight))
    kept: list[int] = []
    for i in range(found.size):
        # A point below the line from the one before it to this one is on no hull.
        while len(kept) > 1 and (found[kept[-1]] - found[kept[-2]]) * (wasted[i] - wasted[kept[-2]]) <= (
            found[i] - found[kept[-2]]
        ) * (wasted[kept[-1]] - wasted[kept[-2]]):
            kept.pop()
        kept.append(i)
    return found[kept], wasted[kept]


def _expected_maximum(found: Floats, wasted: Floats, slope: float, base: float, waste: float, mass: Mass) -> float:
    """Return the mean over x in [0, 1] of the largest of ``(slope x + base) found - waste wasted`` over the hull.

    The best point moves along the hull as x grows. `mass` describes the distribution of x.
    """
    more_found, more_wasted = np.diff(found), np.diff(wasted)
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = (waste * more_wasted / more_found - base) / slope
    # Where no more positives are found, moving on never pays.
    edges = np.clip(np.where(more_found > 0, moves, np.inf), 0.0, 1.0)
    below, mean_below = mass(np.append(edges, 1.0))
    probability, mean = np.diff(below, prepend=0.0), np.diff(mean_below, prepend=0.0)
    return float((slope * mean + base * probability) @ found - waste * probability @ wasted)
