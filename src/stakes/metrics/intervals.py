"""Total costs with bootstrap confidence intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stakes._docs import documented
from stakes._typing import Floats
from stakes._validation import check_value, whole
from stakes.metrics.bill import Bill

__all__ = ["Interval", "cost_difference_interval", "cost_interval"]


class Interval(NamedTuple):
    """An estimate with its confidence interval.

    Examples
    --------
    >>> from stakes.metrics import cost_interval
    >>> y_true, y_pred = [1, 1, 0, 0] * 25, [1, 0, 0, 1] * 25
    >>> found = cost_interval(y_true, y_pred, fp_cost=1, fn_cost=3, random_state=0)
    >>> found.low < found.estimate < found.high
    True
    """

    estimate: float
    low: float
    high: float


@documented
def cost_interval(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return the total cost with a percentile bootstrap confidence interval.

    Parameters
    ----------
    {decisions}
    confidence_level : float in (0, 1), default=0.95
        How often intervals made this way contain the expected total cost of as many records.
    n_resamples : int, default=2000
        How often the records are drawn anew, with replacement.
    random_state : int, Generator or None, default=None
        Fix it for the same interval each time.

    Returns
    -------
    interval : Interval
        `estimate` (the total cost), `low` and `high`.

    Examples
    --------
    >>> from stakes.metrics import cost_interval
    >>> y_true, y_pred = [1, 1, 0, 0] * 25, [1, 0, 0, 1] * 25
    >>> cost_interval(y_true, y_pred, fp_cost=1, fn_cost=3, random_state=0)
    Interval(estimate=100.0, low=7..., high=12...)
    """
    bill = Bill.of(y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    return _percentile_interval(bill.per_record(bill.acted[0]), confidence_level, n_resamples, random_state)


@documented
def cost_difference_interval(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    y_pred_other: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return how much more decisions cost than others on the same records, with a confidence interval.

    The comparison is paired: both are charged for the same resampled records, so what they decide alike cancels.

    Parameters
    ----------
    {decisions}
    y_pred_other : array-like of shape (n_records,)
        The decisions to compare with.
    confidence_level, n_resamples, random_state
        As in `cost_interval`.

    Returns
    -------
    interval : Interval
        The cost of `y_pred` minus that of `y_pred_other`. An interval below 0 says that `y_pred` is cheaper.

    Examples
    --------
    >>> from stakes.metrics import cost_difference_interval
    >>> y_true, careful, bold = [1, 1, 0, 0] * 25, [0, 1, 0, 0] * 25, [1, 1, 1, 0] * 25
    >>> cost_difference_interval(y_true, bold, careful, fp_cost=1, fn_cost=3, random_state=0).high < 0
    True
    """
    bill = Bill.of(y_true, [y_pred, y_pred_other], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    one, other = (bill.per_record(acted) for acted in bill.acted)
    return _percentile_interval(one - other, confidence_level, n_resamples, random_state)


def _percentile_interval(
    values: Floats, confidence_level: float, n_resamples: int, random_state: int | np.random.Generator | None
) -> Interval:
    """Bootstrap the sum of `values`."""
    if not values.size:
        raise ValueError("an interval needs at least one record")
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must be between 0 and 1, got {confidence_level!r}")
    check_value("n_resamples", n_resamples, whole(1))
    sums = _resampled_sums(values, n_resamples, np.random.default_rng(random_state))
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(sums, [tail, 1 - tail])
    return Interval(float(values.sum()), float(low), float(high))


def _resampled_sums(values: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Return sums of as many values drawn with replacement.

    Only how often each distinct value is drawn matters. Most decisions are right and cost nothing, so there are
    far fewer distinct values than records.
    """
    distinct, counts = np.unique(values, return_counts=True)
    at_once = max(1, 1_000_000 // distinct.size)  # bounds the memory
    blocks = [min(at_once, n_resamples - done) for done in range(0, n_resamples, at_once)]
    return np.concatenate([rng.multinomial(values.size, counts / values.size, size=n) @ distinct for n in blocks])
