"""What a mistake costs: the front door through which all costs enter (FRAMEWORK 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stakes.exceptions import CostsError

__all__ = ["Costs"]

Cost = float | NDArray[np.float64]

# Sums of costs stay below two to the power of this, so that there is room for whatever they are multiplied with.
LARGEST_EXPONENT = 960


class Costs:
    """Misclassification costs of a set of records, constant or different for each record.

    The four entries of a cost matrix are reduced to the two that matter for a decision:
    ``fp - tn``, the cost of a false positive, and ``fn - tp``, the cost of a false negative
    (FRAMEWORK 1). The caller's arrays are copied, never changed.

    Parameters
    ----------
    fp, fn : float or array-like of shape (n_records,)
        Cost of a false positive and of a false negative.
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
    """

    __slots__ = ("fn", "fp")

    fp: Cost
    fn: Cost

    def __init__(self, fp: ArrayLike, fn: ArrayLike, tp: ArrayLike = 0.0, tn: ArrayLike = 0.0) -> None:
        given = {
            name: _numbers(value, f"{name}_cost") for name, value in (("fp", fp), ("fn", fn), ("tp", tp), ("tn", tn))
        }
        _same_length(given)
        object.__setattr__(self, "fp", _reduced(given, "fp", "tn"))
        object.__setattr__(self, "fn", _reduced(given, "fn", "tp"))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Costs cannot be changed; make new ones")

    # Immutable and slotted: pickling and copying go through the constructor.
    def __reduce__(self) -> tuple[type[Costs], tuple[Cost, Cost]]:
        return Costs, (self.fp, self.fn)

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
        for name, cost in (("fp", self.fp), ("fn", self.fn)):
            if not isinstance(cost, float):
                _check_length(cost, f"{name}_cost", n, what)
        return self

    def arrays(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both costs as arrays of length `n` (read-only views where constant)."""
        self.for_records(n)
        return np.broadcast_to(self.fp, n), np.broadcast_to(self.fn, n)

    def __getitem__(self, rows: Any) -> Costs:
        """Return the costs of some records: a slice, a mask, or row numbers."""
        return Costs(
            *(cost if isinstance(cost, float) else np.atleast_1d(cost[_index(rows)]) for cost in (self.fp, self.fn))
        )

    def countable(self, n: float) -> Costs:
        """Return the costs in a unit in which those of `n` records can be added up; these, where they can.

        Their sum would not be finite otherwise. Only the ratios of costs matter to training and to decisions, and a
        unit that is a power of two leaves them as they are.

        Examples
        --------
        >>> from stakes import Costs
        >>> Costs(fp=1, fn=5).countable(1000)
        Costs(fp=1, fn=5)
        >>> Costs(fp=1e308, fn=1.5e308).countable(1000).threshold()
        0.4
        """
        largest = max(float(np.max(cost, initial=0.0)) for cost in (self.fp, self.fn))
        excess = int(np.frexp(largest)[1]) + int(np.frexp(n)[1]) - LARGEST_EXPONENT
        return self if excess <= 0 else Costs(fp=np.ldexp(self.fp, -excess), fn=np.ldexp(self.fn, -excess))

    def threshold(self) -> Cost:
        """Return T_cs, above which a probability is worth acting on (FRAMEWORK 2).

        Where both costs are zero the record is indifferent, and the threshold is 0.5.
        """
        fp, fn = np.asarray(self.fp), np.asarray(self.fn)
        largest = np.maximum(fp, fn)
        # In units of a power of two: huge costs do not overflow, denormal ones keep their ratio, and nothing is rounded
        # before the division, so that a probability that equals the threshold is equal to it.
        exponent = -np.frexp(largest)[1]
        fp, fn = np.ldexp(fp, exponent), np.ldexp(fn, exponent)
        threshold = np.where(largest > 0, fp / np.where(largest > 0, fp + fn, 1.0), 0.5)
        return float(threshold) if self.constant else threshold

    def of(self, y: ArrayLike) -> NDArray[np.float64]:
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

        def mean(cost: Cost, of_class: NDArray[np.bool_]) -> float:
            if isinstance(cost, float):
                return cost
            chosen = cost[of_class] if of_class.any() else cost
            with np.errstate(over="ignore"):
                average = float(chosen.mean())
            # Only huge costs overflow; dividing first costs a rounding that others need not bear.
            return average if np.isfinite(average) else float((chosen / chosen.size).sum())

        return Costs(fp=mean(self.fp, y == 0), fn=mean(self.fn, y == 1))


def per_record(
    value: ArrayLike, argument: str, n: int, what: str = "y_true", *, may_be_nan: bool = False
) -> NDArray[np.float64]:
    """Return `value` as one finite number for each of `n` records of `what`; a single number is for all of them."""
    numbers = _numbers(value, argument, may_be_nan=may_be_nan)
    if numbers.ndim == 1:
        _check_length(numbers, argument, n, what)
    return np.broadcast_to(numbers, n)


def _index(rows: Any) -> Any:
    """Turn lists of row numbers or booleans into arrays; leave slices and arrays as they are."""
    if isinstance(rows, slice | np.ndarray):
        return rows
    index = np.asarray(rows)
    return index if index.size else index.astype(np.intp)  # an empty list would become an array of floats


def _numbers(value: ArrayLike, argument: str, *, may_be_nan: bool = False) -> NDArray[np.float64]:
    """Return `value` as a fresh float array of 0 or 1 dimensions, or say what is wrong with it."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind in "SU":  # one text among numbers makes them all text: tell them apart again
            raw = np.asarray(value, dtype=object)
    except ValueError as error:  # lists of different lengths
        raise CostsError(f"{argument} is not an array: give one number, or one per record ({error})") from None
    if raw.ndim > 1:
        hint = f"; pass np.ravel({argument})" if raw.ndim == 2 and raw.shape[1] == 1 else ""
        raise CostsError(f"{argument} has shape {raw.shape}: give one number, or one per record{hint}")
    if raw.dtype.kind not in "biuf":
        try:
            numbers = np.array([_number(v) for v in np.atleast_1d(raw)], dtype=np.float64).reshape(raw.shape)
        except (TypeError, ValueError):
            bad = [i for i, v in enumerate(np.atleast_1d(raw)) if not _is_number(v)]
            first = np.atleast_1d(raw)[bad[0]]
            raise CostsError(
                f"{argument} is not numeric in {_records(len(bad))}: the first is row {bad[0]}, {first!r}"
            ) from None
    else:
        numbers = np.array(raw, dtype=np.float64)  # a copy: costs outlive the caller's array
    finite = np.isfinite(numbers) | (may_be_nan & np.isnan(numbers))
    if not finite.all():
        bad_rows = np.flatnonzero(~np.atleast_1d(finite))
        value_at = np.atleast_1d(numbers)[bad_rows[0]]
        raise CostsError(
            f"{argument} is not finite in {_records(bad_rows.size)}: the first is row {bad_rows[0]}, {value_at}"
        )
    return numbers


def _number(value: object) -> float:
    if isinstance(value, str | bytes | complex):
        raise TypeError("float() would take text, and the real part of a complex number")
    try:
        return float("nan") if value is None else float(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer beyond the largest float
        return float("inf")


def _is_number(value: object) -> bool:
    try:
        _number(value)
    except (TypeError, ValueError):
        return False
    return True


def _records(n: int) -> str:
    return "1 record" if n == 1 else f"{n} records"


def _check_length(numbers: NDArray[np.float64], argument: str, n: int, what: str) -> None:
    if numbers.size != n:
        raise CostsError(f"{argument} has {_records(numbers.size)}, {what} has {n}: give one number, or one per record")


def _same_length(given: dict[str, NDArray[np.float64]]) -> None:
    lengths = {name: value.size for name, value in given.items() if value.ndim == 1}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}_cost {n}" for name, n in lengths.items())
        raise CostsError(f"costs have different numbers of records ({listed}): give one number, or one per record")


def _reduced(given: dict[str, NDArray[np.float64]], wrong: str, right: str) -> Cost:
    """Subtract the cost of deciding right from that of deciding wrong (FRAMEWORK 1)."""
    with np.errstate(over="ignore"):  # reported below
        reduced = given[wrong] - given[right]
    bad = np.flatnonzero(np.atleast_1d(~(reduced >= 0) | ~np.isfinite(reduced)))
    if bad.size:
        value = np.atleast_1d(reduced)[bad[0]]
        formula = f"{wrong}_cost" if not given[right].any() else f"{wrong}_cost - {right}_cost"
        raise CostsError(
            f"{formula} is negative or not finite in {_records(bad.size)}: the first is row {bad[0]}, {value:g}. "
            "A mistake must cost at least as much as the right decision: check the signs, or clip it at 0"
        )
    if reduced.ndim == 0:
        return float(reduced)
    reduced.setflags(write=False)
    return reduced
