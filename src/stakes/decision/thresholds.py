"""Where to cut a score: the threshold with the least total cost (FRAMEWORK 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d

from stakes._docs import documented
from stakes.costs import LARGEST, SMALLEST, Costs, per_record
from stakes.exceptions import CostsError, DecisionError

__all__ = [
    "Limits",
    "ScoreCuts",
    "best_cut",
    "check_shares",
    "finite_scores",
    "not_negative",
    "positives",
    "probabilities",
    "record_weights",
    "tuned_threshold",
]

# Total costs that agree to this relative precision are equal: three times 0.1 ties with 0.3.
COST_TOLERANCE = 1e-12
# What limits count, for each record, and the largest share of it that may be above a threshold; None for any.
Limits = Sequence[tuple[NDArray[Any], float | None]]


@documented
def tuned_threshold(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
    max_fpr: float | None = None,
    max_acted: float | None = None,
) -> float:
    """Return the threshold with the least total cost; a record is positive iff its score is above it.

    All cuts between distinct scores are compared, and the two that make every record positive or negative.
    Among equally cheap ones the result is the middle of the widest interval of optimal thresholds, so that
    the choice is stable (FRAMEWORK 2). Where an optimal interval has no end, because the cheapest is to make all
    records positive (or negative), it is taken to end at 0 (or 1) when all scores lie in [0, 1], and otherwise at the
    mean distance between distinct scores beyond the smallest (or largest). The threshold is below 0
    only if the cheapest is to make all records positive and one of them has the score 0.

    Parameters
    ----------
    {scores}
    max_fpr : float in [0, 1], default=None
        Only cuts whose false positive rate is at most this.
    max_acted : float in [0, 1], default=None
        Only cuts that make at most this share of the records positive.

    Returns
    -------
    threshold : float
        Always finite. For float32 scores it is a float32 number, so that comparing in either precision is the same.

    Examples
    --------
    >>> from stakes.metrics import tuned_threshold
    >>> y, score = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> round(tuned_threshold(y, score, fp_cost=1, fn_cost=[5, 5, 20, 5, 80]), 6)
    0.3
    >>> round(tuned_threshold(y, score, fp_cost=1, fn_cost=[5, 5, 20, 5, 80], max_fpr=0), 6)
    0.8
    """
    (positive,) = positives(pos_label, y_true=y_true)
    n = positive.size
    scores = finite_scores(y_score, n)
    fp, fn = Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost).for_records(n, "y_true").arrays(n)
    weight = record_weights(sample_weight, n)
    check_shares(max_fpr=max_fpr, max_acted=max_acted)
    limits = [(np.where(positive, 0.0, weight), max_fpr), (weight, max_acted)]
    return best_cut(scores, np.where(positive, weight * fn, 0.0), np.where(positive, 0.0, weight * fp), limits=limits)


def check_shares(**limits: float | None) -> None:
    """Raise an error unless all limits that there are lie between 0 and 1."""
    for name, limit in limits.items():
        if limit is not None and not 0 <= limit <= 1:
            raise DecisionError(f"{name} must be a share between 0 and 1, got {limit!r}")


def best_cut(
    scores: NDArray[np.floating],
    cost_if_negative: NDArray[np.float64],
    cost_if_positive: NDArray[np.float64],
    *,
    limits: Limits = (),
) -> float:
    """Return the threshold of the cheapest cut of scores whose costs are known: one sort and cumulative sums.

    An entry may stand for one record or for many with the same score (a leaf of a tree), and a score may occur in
    several entries.

    Costs are not negative: the sum of C_FN over the positives of an entry, and that of C_FP over its negatives. Of the
    `counts` of a limit ``(counts, at_most)``, at most this share may be above the cut, or any where it is None: the
    number of negatives in each entry limits the false positive rate, the number of records the share acted on. To make
    nothing positive is always allowed. Ties are resolved as by `tuned_threshold`.

    Examples
    --------
    Three leaves of a tree with 1, 4 and 5 positives, and 20, 5 and 1 negatives; a miss costs 10:

    >>> import numpy as np
    >>> from stakes.decision.thresholds import best_cut
    >>> negatives = np.array([20.0, 5.0, 1.0])
    >>> best_cut(np.array([0.05, 0.45, 0.85]), np.array([10.0, 40.0, 50.0]), negatives)
    0.25
    >>> best_cut(np.array([0.05, 0.45, 0.85]), np.array([10.0, 40.0, 50.0]), negatives, limits=[(negatives, 0.1)])
    0.65
    """
    cuts = ScoreCuts(scores)
    # Two sums of non-negative numbers, one from each end: unlike a running difference, small totals stay exact.
    cost = cuts.below(cost_if_negative) + cuts.above(cost_if_positive)
    for counts, at_most in limits:
        if at_most is not None:
            above = cuts.above(counts)
            # Divided, not multiplied: 29 of 100 is exactly the share 0.29, but 0.29 * 100 < 29.
            cost[above / (above[0] or 1.0) > at_most] = np.inf
    return _middle_of_widest(cuts.scores, cost <= cost.min() * (1 + COST_TOLERANCE))


class ScoreCuts:
    """The cuts between distinct scores, with sums over the records on either side of each.

    The first cut makes all records positive, each of the others those above one of the distinct `scores`, which are in
    order. Records with equal scores are never separated.
    """

    def __init__(self, scores: NDArray[np.floating]) -> None:
        if not scores.size:
            raise ValueError("y_score is empty, there are no scores to cut: give at least one record")
        self._order = np.argsort(scores)
        ordered = scores[self._order]
        ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, scores.size)
        self.scores = ordered[ends - 1]
        self._n_below = np.append(0, ends)

    def below(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of the values of the records that each cut makes negative."""
        return _running_sums(values[self._order])[self._n_below]

    def above(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of the values of the records that each cut makes positive."""
        return _running_sums(values[self._order[::-1]])[values.size - self._n_below]


def _running_sums(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.cumsum(values)))


def _middle_of_widest(values: NDArray[np.floating], optimal: NDArray[np.bool_]) -> float:
    """Return the middle of the widest interval of optimal thresholds.

    `values` are the m distinct scores in order; `optimal` marks the optimal ones of the m + 1 cuts. Cut j is made by
    the thresholds in [values[j-1], values[j]), and neighbouring optimal cuts make one interval.
    """
    # The mean distance between neighbours, 1 where there is one value only.
    steps = values.size - 1
    gap = values[-1] / steps - values[0] / steps if steps else values.dtype.type(1)
    in_unit_interval = values[0] >= 0 and values[-1] <= 1
    lowest, highest = (0.0, 1.0) if in_unit_interval else (values[0] - gap, values[-1] + gap)
    lower = np.concatenate(([lowest], values), dtype=values.dtype)
    upper = np.concatenate((values, [highest]), dtype=values.dtype)

    edges = np.flatnonzero(np.diff(optimal, prepend=False, append=False))
    first, last = edges[::2], edges[1::2] - 1
    left, right = lower[first] / 2, upper[last] / 2  # halves: their sum and difference cannot overflow
    # The first of those that are equally wide but for rounding, as the gaps between shares of votes are.
    width = right - left
    widest = np.argmax(width >= width.max() * (1 - COST_TOLERANCE))
    first, last, middle = first[widest], last[widest], (left + right)[widest]
    if last == values.size or middle < upper[last]:
        return float(middle)
    if first > 0:  # no number lies between two neighbouring scores
        return float(lower[first])
    # All records positive, and the smallest score is 0 (or so large that the gap is nothing next to it).
    below = np.nextafter(values[0], -np.inf, dtype=values.dtype)
    return float(values.dtype.type(min(values[0] - gap / 2, below)))


def positives(pos_label: Any, **labels: ArrayLike) -> list[NDArray[np.bool_]]:
    """Return for each array of labels, given by its name, which of its records have the label `pos_label`.

    Together they must have one length and at most two labels, one of them `pos_label`; a single label may be the other.
    """
    arrays: dict[str, NDArray[Any]] = {}
    found: set[Any] = set()
    for name, given in labels.items():
        arrays[name] = array = column_or_1d(given)
        assert_all_finite(array, input_name=name)
        found |= set(array.tolist() if array.dtype.kind == "O" else np.unique(array).tolist())
    sizes = {name: array.size for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError("different numbers of records: " + ", ".join(f"{name} has {n}" for name, n in sizes.items()))
    named, shown = " and ".join(labels), ", ".join(sorted(map(repr, found))[:5])
    if len(found) > 2:
        raise ValueError(f"{named} must have two classes, found {len(found)}: {shown}")
    other_kind = any(isinstance(label, str) != isinstance(pos_label, str) for label in found)
    if pos_label not in found and (len(found) == 2 or other_kind):
        raise ValueError(f"pos_label={pos_label!r} is not a label of {named}: choose from {shown}")
    return [array == pos_label for array in arrays.values()]


def record_weights(sample_weight: ArrayLike | None, n: int, what: str = "y_true") -> NDArray[np.float64]:
    """Return how often each of `n` records of `what` counts: once where no weights are given."""
    weight = not_negative(1.0 if sample_weight is None else sample_weight, "sample_weight", n, what)
    largest = weight.max(initial=0.0)
    if largest > LARGEST or 0 < largest < SMALLEST:
        raise CostsError(
            f"sample_weight is up to {largest:g}, which is not between {SMALLEST:g} and {LARGEST:g}: give weights of "
            "the same proportions that are nearer to 1"
        )
    return weight


def not_negative(value: ArrayLike, argument: str, n: int, what: str = "y_true") -> NDArray[np.float64]:
    """Return `value` as one number of 0 or more for each of `n` records of `what`."""
    numbers = per_record(value, argument, n, what)
    if (numbers < 0).any():
        row = np.argmax(numbers < 0)
        raise CostsError(f"{argument} is negative in row {row}, {numbers[row]:g}: give numbers of 0 or more")
    return numbers


def finite_scores(y_score: ArrayLike, n: int, argument: str = "y_score") -> NDArray[np.floating]:
    """Return scores as a float array of length `n`, in their own precision."""
    scores = np.asarray(y_score)
    if scores.ndim != 1:
        raise ValueError(f"{argument} has shape {scores.shape}: give the positive class only, predict_proba(X)[:, 1]")
    if scores.dtype != np.float32:
        scores = scores.astype(np.float64)
    if scores.size != n:
        raise ValueError(f"{argument} has {scores.size} records, y_true has {n}")
    if not np.isfinite(scores).all():
        bad = np.flatnonzero(~np.isfinite(scores))
        raise ValueError(f"{argument} is not finite in {bad.size} records: the first is row {bad[0]}, {scores[bad[0]]}")
    return scores


def probabilities(y_score: Any, n: int, argument: str = "y_score") -> NDArray[np.float64]:
    """Return scores of length `n` that are all between 0 and 1."""
    scores = finite_scores(y_score, n, argument).astype(np.float64)
    outside = (scores < 0) | (scores > 1)
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(
            f"{argument} is not a probability in row {row}, {scores[row]:g}: give numbers between 0 and 1; "
            "other scores must be calibrated first"
        )
    return scores
