"""What decisions are worth: costs, savings, profit, detected amounts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stakes._docs import documented
from stakes.costs import per_record
from stakes.decision.thresholds import not_negative, positives, record_weights
from stakes.measures import savings_of, share_of
from stakes.metrics.bill import Bill

__all__ = ["amount_detected", "cost_reduction", "g_mean", "profit", "roi", "savings_score", "total_cost"]


@documented
def total_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    acquisition_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the total cost of decisions.

    Parameters
    ----------
    {decisions}
    {acquisition_cost}

    Returns
    -------
    cost : float
        The sum over all records, each counted by its outcome. Any cost may be negative, a gain.

    Examples
    --------
    >>> from stakes.metrics import total_cost
    >>> total_cost([1, 1, 0, 0], [1, 0, 1, 0], fp_cost=5, fn_cost=[20, 95, 20, 20])
    100.0
    """
    return Bill.of(
        y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label, acquisition_cost
    ).cost


@documented
def savings_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    acquisition_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the share of the cost that is saved relative to the cheaper of all-negative and all-positive.

    Parameters
    ----------
    {decisions}
    {acquisition_cost}

    Returns
    -------
    savings : float
        ``1 - cost / baseline``: 1 when nothing is lost, 0 for the cheaper trivial decision, negative for anything
        dearer. A baseline that is a gain (a negative cost) divides by its size, so that more is still better. Where
        the baseline costs exactly 0, as where there are no positives, what is lost is given as a share of the dearer
        trivial decision: from 0 down to -1 (`stakes.measures.savings_of`).

    Examples
    --------
    Acting on everyone would cost 10, on nobody 115; these decisions cost 5:

    >>> from stakes.metrics import savings_score
    >>> savings_score([1, 1, 0, 0], [1, 1, 1, 0], fp_cost=5, fn_cost=[20, 95, 20, 20])
    0.5
    """
    bill = Bill.of(y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label, acquisition_cost)
    return float(savings_of(bill.cost, *bill.baselines))


@documented
def cost_reduction(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    acquisition_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the share of the cost of doing nothing that is saved (Cost%).

    Parameters
    ----------
    {decisions}
    {acquisition_cost}

    Returns
    -------
    reduction : float
        ``1 - cost / baseline``, where the baseline is the cost of predicting all records negative: no campaign,
        no alarm. Baselines of 0 or less as in `savings_score`.

    Examples
    --------
    Without a campaign the two churners are lost for 120; contacting one of them and one loyal customer in vain
    costs 40 + 10:

    >>> from stakes.metrics import cost_reduction
    >>> round(cost_reduction([1, 1, 0], [1, 0, 1], fp_cost=10, fn_cost=[80, 40, 60]), 4)
    0.5833
    """
    bill = Bill.of(y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label, acquisition_cost)
    return float(savings_of(bill.cost, bill.total(False), bill.total(True)))


@documented
def amount_detected(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    amount: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the share of the amount of all positives that is detected (TotF%).

    Parameters
    ----------
    {decided}
    amount : float or array-like of shape (n_records,)
        What is at stake with each record, for instance the amount of a transaction.
    {weight_and_label}

    Returns
    -------
    share : float
        Between 0 and 1; 0 where the positives have no amount to detect.

    Examples
    --------
    >>> from stakes.metrics import amount_detected
    >>> amount_detected([1, 1, 0, 1], [1, 0, 1, 1], amount=[60, 20, 900, 20])
    0.8
    """
    positive, acted = positives(pos_label, y_true=y_true, y_pred=y_pred)
    at_stake = record_weights(sample_weight, positive.size) * not_negative(amount, "amount", positive.size)
    return float(share_of(at_stake[positive & acted].sum(), at_stake[positive].sum()))


@documented
def profit(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    benefit: ArrayLike,
    contact_cost: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the benefits of the positives among those contacted, minus the cost of all contacts.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_records,)
        Whether each record responds, and whether it is contacted, with any two labels.
    benefit : float or array-like of shape (n_records,)
        What a response brings, for instance the donation. Counted for positives only.
    contact_cost : float or array-like of shape (n_records,)
        What contacting a record costs.
    {weight_and_label}

    Returns
    -------
    profit : float
        0 where no record is contacted.

    Examples
    --------
    >>> from stakes.metrics import profit, roi
    >>> profit([1, 0, 0, 1], [1, 1, 0, 0], benefit=[15, 0, 0, 20], contact_cost=2)
    11.0
    >>> roi([1, 0, 0, 1], [1, 1, 0, 0], benefit=[15, 0, 0, 20], contact_cost=2)
    2.75
    """
    income, expenditure = _campaign(y_true, y_pred, benefit, contact_cost, sample_weight, pos_label)
    return income - expenditure


def roi(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    benefit: ArrayLike,
    contact_cost: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the return on investment: profit divided by the cost of all contacts.

    Parameters
    ----------
    y_true, y_pred, benefit, contact_cost, sample_weight, pos_label
        As in `profit`.

    Returns
    -------
    roi : float
        0 where nothing is spent and nothing earned; infinite where something is earned for nothing.

    Examples
    --------
    Two letters for 2 each bring 15:

    >>> from stakes.metrics import roi
    >>> roi([1, 0, 0, 1], [1, 1, 0, 0], benefit=[15, 0, 0, 20], contact_cost=2)
    2.75
    """
    income, expenditure = _campaign(y_true, y_pred, benefit, contact_cost, sample_weight, pos_label)
    return float(share_of(income - expenditure, expenditure))


@documented
def g_mean(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = 1
) -> float:
    """Return the geometric mean of the true positive rate and the true negative rate.

    Parameters
    ----------
    {decided}
    {weight_and_label}

    Returns
    -------
    g_mean : float
        Between 0 and 1; 0 where a class is never found, or absent.

    Examples
    --------
    >>> from stakes.metrics import g_mean
    >>> g_mean([1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0])
    0.5
    """
    positive, acted = positives(pos_label, y_true=y_true, y_pred=y_pred)
    weight = record_weights(sample_weight, positive.size)
    rates = [
        share_of(weight[of_class & right].sum(), weight[of_class].sum())
        for of_class, right in ((positive, acted), (~positive, ~acted))
    ]
    return float(np.sqrt(rates[0] * rates[1]))


def _campaign(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    benefit: ArrayLike,
    contact_cost: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any,
) -> tuple[float, float]:
    """Return what those contacted bring, and what contacting them costs."""
    positive, contacted = positives(pos_label, y_true=y_true, y_pred=y_pred)
    n = positive.size
    weight = record_weights(sample_weight, n)
    income = (weight * per_record(benefit, "benefit", n))[positive & contacted].sum()
    expenditure = (weight * not_negative(contact_cost, "contact_cost", n))[contacted].sum()
    return float(income), float(expenditure)
