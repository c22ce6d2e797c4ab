"""Misclassification costs: validated and reduced once, here, before anything else uses them (FRAMEWORK 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stakes._rows import parts
from stakes._typing import Bools, Floats, Indices
from stakes.exceptions import CostsError

__all__ = ["Costs"]

Cost = float | Floats

# Costs and sample weights are 0 or in this range: sums of their products over any number of records are finite, and
# no ratio of them overflows.
SMALLEST, LARGEST = 1e-100, 1e100
# Ratios of costs this close, relative to their size, are told apart by rounding only.
SAME_RATIO = 4e-16


class Costs:
    """Misclassification costs of a set of records, constant or different for each record.

    The four entries of a cost matrix are reduced to the two that matter for a decision:
    ``fp - tn``, the cost of a false positive, and ``fn - tp``, the cost of a false negative
    (FRAMEWORK 1). The caller's arrays are copied, never changed.

    Where ``fn - tp`` is negative, even a positive costs more if it is acted on, as where an amount is below the cost of
    checking it: acting is never worth it. The cost of a false negative counts as 0 there, and the threshold is 1.

    Parameters
    ----------
    fp, fn : float or array-like of shape (n_records,)
        Cost of a false positive and of a false negative. All costs must be 0, or between 1e-100 and 1e100 in size.
    tp, tn : float or array-like of shape (n_records,), default=0
        Cost of a true positive and of a true negative.

    Attributes
    ----------
    fp, fn : float or ndarray of shape (n_records,)
        The reduced costs: a number where constant, a read-only array where record-dependent.

    Examples
    --------
    A missed fraud costs its amount, a false alarm a phone call:

    >>> from stakes import Costs
    >>> costs = Costs(fp=5, fn=[20.0, 95.0, 5.0])
    >>> costs.threshold()
    array([0.2 , 0.05, 0.5 ])
    >>> costs[[0, 2]].of([1, 0])
    array([20.,  5.])

    Checking a payment costs 5, also where it is a fraud: below that, it is never worth it.

    >>> Costs(fp=5, tp=5, fn=[20.0, 3.0]).threshold()
    array([0.25, 1.  ])
    """

    __slots__ = ("fn", "fp")

    fp: Cost
    fn: Cost

    def __init__(self, fp: ArrayLike, fn: ArrayLike, tp: ArrayLike = 0.0, tn: ArrayLike = 0.0) -> None:
        self.__setstate__(_reduced(_checked(fp_cost=fp, fn_cost=fn, tp_cost=tp, tn_cost=tn)))

    @classmethod
    def _of(cls, fp: Cost, fn: Cost) -> Costs:
        """Return costs made of others, which need no validation."""
        costs = cls.__new__(cls)
        costs.__setstate__((fp, fn))
        return costs

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Costs cannot be changed; make new ones")

    def __getstate__(self) -> tuple[Cost, Cost]:
        return self.fp, self.fn

    def __setstate__(self, state: tuple[Cost, Cost]) -> None:
        for name, cost in zip(("fp", "fn"), state, strict=True):
            if not isinstance(cost, float):
                cost.setflags(write=False)
            object.__setattr__(self, name, cost)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Costs):
            return NotImplemented
        return np.array_equal(self.fp, other.fp) and np.array_equal(self.fn, other.fn)

    __hash__ = None  # type: ignore[assignment]
    # Without this, Python would iterate by costs[0], costs[1], ..., and constant costs have no end.
    __iter__ = None

    def __repr__(self) -> str:
        def side(cost: Cost) -> str:
            if isinstance(cost, float):
                return f"{cost:g}"
            if not cost.size:
                return "<0 records>"
            return f"<{_records(cost.size)}, {cost.min():g} to {cost.max():g}>"

        return f"Costs(fp={side(self.fp)}, fn={side(self.fn)})"

    @property
    def constant(self) -> bool:
        """Whether both costs are the same for all records."""
        return isinstance(self.fp, float) and isinstance(self.fn, float)

    @property
    def n_records(self) -> int | None:
        """How many records the costs are for; None when both are constant."""
        for cost in (self.fp, self.fn):
            if not isinstance(cost, float):
                return cost.size
        return None

    def for_records(self, n: int, what: str = "X") -> Costs:
        """Return these costs after checking that they fit `n` records of `what`."""
        _stretched(self.fp, "fp_cost", n, what)
        _stretched(self.fn, "fn_cost", n, what)
        return self

    def arrays(self, n: int) -> tuple[Floats, Floats]:
        """Both costs as arrays of length `n` (read-only views where constant)."""
        return _stretched(self.fp, "fp_cost", n, "X"), _stretched(self.fn, "fn_cost", n, "X")

    def __getitem__(self, rows: Any) -> Costs:
        """Return the costs of some records: a slice, a mask, or row numbers."""
        fp, fn = (cost if isinstance(cost, float) else np.atleast_1d(cost[_index(rows)]) for cost in (self.fp, self.fn))
        return Costs._of(fp, fn)

    def threshold(self) -> Cost:
        """Return T_cs, above which a probability is worth acting on (FRAMEWORK 2).

        Where both costs are zero the record is indifferent, and the threshold is 0.5.
        """
        fp, both = np.asarray(self.fp), np.add(self.fp, self.fn)
        # One rounding each in the sum and the quotient: a probability k / n equals the threshold k / n exactly.
        threshold = np.divide(fp, both, out=np.full(both.shape, 0.5), where=both > 0)
        # It does so in any currency: 0.01 and 0.04 are no exact numbers, but their ratio is meant to be 4.
        larger, smaller = np.maximum(self.fp, self.fn), np.minimum(self.fp, self.fn)
        ratio = np.divide(larger, smaller, out=np.zeros(both.shape), where=smaller > 0)
        meant = rounded(ratio)
        near = (meant > 0) & (np.abs(ratio - meant) <= SAME_RATIO * meant)
        threshold = np.where(near, np.where(fp == larger, meant, 1.0) / (1.0 + meant), threshold)
        return float(threshold) if self.constant else threshold

    def of(self, y: ArrayLike) -> Floats:
        """Return the cost of misclassifying each record of class `y`: fn where 1, fp where 0."""
        y = np.asarray(y)
        fp, fn = self.arrays(y.shape[0])
        return np.where(y == 1, fn, fp)

    def class_means(self, y: ArrayLike) -> Costs:
        """Return constant costs: the mean fp over the negatives and the mean fn over the positives of `y`."""
        if self.constant:
            return self
        y = np.asarray(y)
        self.for_records(y.shape[0], "y")

        def mean(cost: Cost, of_class: Bools) -> float:
            if isinstance(cost, float):
                return cost
            return float((cost[of_class] if of_class.any() else cost).mean())

        return Costs._of(fp=mean(self.fp, y == 0), fn=mean(self.fn, y == 1))


def rounded(ratio: Floats) -> Floats:
    """Return ratios of costs rounded to 40 of 53 bits: the same ones in any currency."""
    significand, exponent = np.frexp(ratio)
    return np.ldexp(np.rint(np.ldexp(significand, 40)), exponent - 40)


def check_costs(n: int, what: str, **costs: ArrayLike) -> list[Floats]:
    """Return costs, given by the names of their arguments, as one number for each of `n` records of `what`."""
    return [_stretched(numbers, name, n, what) for name, numbers in _checked(**costs).items()]


def per_record(value: ArrayLike, argument: str, n: int, what: str = "y_true", *, may_be_nan: bool = False) -> Floats:
    """Return `value` as one finite number for each of `n` records of `what`; a single number is for all of them."""
    return _stretched(_numbers(value, argument, may_be_nan=may_be_nan), argument, n, what)


def _index(rows: Any) -> Any:
    """Turn lists of row numbers or booleans into arrays; leave slices and arrays as they are."""
    if isinstance(rows, slice | np.ndarray):
        return rows
    index = np.asarray(rows)
    return index if index.size else index.astype(np.intp)  # an empty list would become an array of floats


def _numbers(value: ArrayLike, argument: str, *, may_be_nan: bool = False) -> Floats:
    """Return `value` as a fresh float array of 0 or 1 dimensions, or raise an error with the argument and the rows."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind in "SU":  # one text among numbers makes them all text: convert them one by one
            raw = np.asarray(value, dtype=object)
    except ValueError as error:  # lists of different lengths
        raise CostsError(f"{argument} is not an array: give one number, or one per record ({error})") from None
    if raw.ndim > 1:
        hint = f"; pass np.ravel({argument})" if raw.ndim == 2 and raw.shape[1] == 1 else ""
        raise CostsError(f"{argument} has shape {raw.shape}: give one number, or one per record{hint}")
    if raw.dtype.kind in "biuf":
        numbers = np.array(raw, dtype=np.float64)  # a copy: costs outlive the caller's array
    else:
        parsed = [_number(each) for each in np.atleast_1d(raw)]
        bad = [row for row, number in enumerate(parsed) if number is None]
        if bad:
            first = np.atleast_1d(raw)[bad[0]]
            raise CostsError(f"{argument} is not numeric in {_records(len(bad))}: the first is row {bad[0]}, {first!r}")
        numbers = np.array(parsed, dtype=np.float64).reshape(raw.shape)
    infinite = _rows_where(lambda part: ~(np.isfinite(part) | (may_be_nan & np.isnan(part))), numbers)
    estimated = ", or train with cost_estimator=" if argument in ("fp_cost", "fn_cost") else ""
    _refuse(f"{argument} is not finite", numbers, infinite, f". Fill it in, or leave such records out{estimated}")
    return numbers


def _in_range(value: ArrayLike, argument: str) -> Floats:
    numbers = _numbers(value, argument)
    bad = _rows_where(lambda part: (np.abs(part) > LARGEST) | (np.abs(part) < SMALLEST) & (part != 0), numbers)
    hint = ". Give all costs in another unit: only their ratios matter"
    _refuse(f"{argument} is neither 0 nor between {SMALLEST:g} and {LARGEST:g}", numbers, bad, hint)
    return numbers


def _rows_where(test: Callable[..., Bools], numbers: Floats, *others: Floats) -> Indices:
    """Return the rows that a test is true of: part by part, as it is hardly ever true."""
    arrays = np.broadcast_arrays(*map(np.atleast_1d, (numbers, *others)))
    found = [rows.start + np.flatnonzero(test(*(array[rows] for array in arrays))) for rows in parts(arrays[0].size)]
    return np.concatenate(found) if found else np.empty(0, np.intp)


def _number(value: Any) -> float | None:
    """Return one of the costs as a float, NaN for a missing one; None if it is no number."""
    if isinstance(value, str | bytes | complex):  # float() would take text, and the real part of a complex number
        return None
    try:
        return float("nan") if value is None else float(value)
    except OverflowError:  # an integer beyond the largest float
        return float("inf")
    except (TypeError, ValueError):
        return None


def _records(n: int) -> str:
    return "1 record" if n == 1 else f"{n} records"


def _stretched(numbers: Cost, argument: str, n: int, what: str) -> Floats:
    """Return `numbers` as one for each of `n` records of `what`."""
    if np.ndim(numbers) and np.size(numbers) != n:
        given = _records(np.size(numbers))
        raise CostsError(f"{argument} has {given}, {what} has {n}: give one number, or one per record")
    return np.broadcast_to(numbers, n)


def _checked(**costs: ArrayLike) -> dict[str, Floats]:
    """Return costs, given by the names of their arguments, as numbers that can be added up, of one length."""
    given = {name: _in_range(value, name) for name, value in costs.items()}
    lengths = {name: value.size for name, value in given.items() if value.ndim == 1}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise CostsError(f"costs have different numbers of records ({listed}): give one number, or one per record")
    return given


def _reduced(given: dict[str, Floats]) -> tuple[Cost, Cost]:
    """Subtract the costs of deciding right from those of deciding wrong (FRAMEWORK 1).

    Where even a positive costs more if it is acted on, acting is never worth it: a miss costs nothing, and T_cs is 1.
    """
    tp, tn = given["tp_cost"], given["tn_cost"]
    fp, fn = _less(given["fp_cost"], tn), _less(given["fn_cost"], tp)
    hint = ". A mistake must cost at least as much as the right decision: check the signs, or clip it at 0"
    what = "fp_cost - tn_cost" if tn.any() else "fp_cost"
    _refuse(f"{what} is negative", fp, _rows_where(lambda fp: fp < 0, fp), hint)
    # A negative cost that nothing was subtracted from has the wrong sign.
    _refuse("fn_cost is negative", fn, _rows_where(lambda fn, tp: (fn < 0) & (tp == 0), fn, tp), hint)
    if _rows_where(lambda fn: fn < 0, fn).size:
        fp, fn = np.where((fn < 0) & (fp == 0), -fn, fp), np.maximum(fn, 0.0)
    return (fp if fp.ndim else float(fp)), (fn if fn.ndim else float(fn))


def _less(cost: Floats, right: Floats) -> Floats:
    """Return `cost - right`: the array itself, where nothing is subtracted from all of it."""
    return cost if right.ndim == 0 and right == 0 else cost - right


def _refuse(what: str, numbers: Floats, rows: Indices, hint: str = "") -> None:
    """Raise an error that says what is wrong with some rows, if there are any."""
    if rows.size:
        first = np.atleast_1d(numbers)[rows[0]]
        raise CostsError(f"{what} in {_records(rows.size)}: the first is row {rows[0]}, {first:g}{hint}")
