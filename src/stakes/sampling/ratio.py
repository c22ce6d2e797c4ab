"""Samplers that bring the classes to a ratio: under, over and in between (FRAMEWORK 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._docs import documented
from stakes.costs import Costs
from stakes.exceptions import SamplingError
from stakes.sampling.base import MAX_RECORDS, CostSampler, Counts, split_classes

__all__ = ["HybridSampler", "OverSampler", "UnderSampler", "class_sizes", "cost_ratio"]


class RatioSampler(CostSampler):
    """Base of the samplers that cut one class, and grow the other, to the ratio of the costs."""

    share: float  # of the work done by cutting
    constant_costs_only = True

    def counts(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Counts:
        """Draw how often each record occurs. See :meth:`MemberSampler.counts`."""
        counts = np.zeros(y.size, dtype=np.int64)
        for rows, size in self._classes(y, costs):
            if size < rows.size:
                counts[_some(rows, size, rng)] = 1
            else:
                counts[rows] = 1 + _throw(size - rows.size, rows.size, rng)
        return counts

    def changes(self, y: NDArray[Any], costs: Costs) -> bool:
        """Return whether a class is cut or grown by these costs."""
        return any(size != rows.size for rows, size in self._classes(y, costs))

    def _classes(self, y: NDArray[Any], costs: Costs) -> Iterator[tuple[NDArray[np.intp], int]]:
        """Return the rows of each class, and how many of them a sample has."""
        if not 0 <= self.share <= 1:
            raise SamplingError(f"share={self.share!r} is not between 0 (over-sampling) and 1 (under-sampling)")
        positives, negatives = split_classes(y)
        sizes = class_sizes(positives.size, negatives.size, cost_ratio(costs.class_means(y)), self.share)
        return zip((positives, negatives), sizes, strict=True)


@documented
class UnderSampler(RatioSampler):
    """Cut the cheaper class, at random and without replacement, to the ratio of the costs.

    With rho = C_FN / C_FP above 1 all positives are kept and ``round(N- / rho)`` of the negatives; below 1 the
    positives are cut to ``round(N+ * rho)`` (FRAMEWORK 3). At least one record of each class stays, also
    where the cost of one class is zero. Equal costs change nothing.

    Parameters
    ----------
    {sampler}

    Attributes
    ----------
    {sample}

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.sampling import UnderSampler
    >>> X, y = np.arange(12).reshape(12, 1), np.array([0] * 10 + [1] * 2)
    >>> sampler = UnderSampler(random_state=0)
    >>> X_res, y_res = sampler.fit_resample(X, y, fp_cost=1, fn_cost=5)
    >>> sampler.sampling_strategy_
    {0: 2, 1: 2}
    """

    share = 1.0


@documented
class OverSampler(RatioSampler):
    """Grow the dearer class, by random duplicates, to the ratio of the costs.

    With rho = C_FN / C_FP above 1 the positives become ``round(N+ * rho)``; below 1 the negatives become
    ``round(N- / rho)`` (FRAMEWORK 3). Every record is kept at least once. Equal costs change nothing.

    Parameters
    ----------
    {sampler}

    Attributes
    ----------
    {sample}

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.sampling import OverSampler
    >>> X, y = np.arange(12).reshape(12, 1), np.array([0] * 10 + [1] * 2)
    >>> sampler = OverSampler(random_state=0)
    >>> X_res, y_res = sampler.fit_resample(X, y, fp_cost=1, fn_cost=5)
    >>> sampler.sampling_strategy_
    {0: 10, 1: 10}
    """

    share = 0.0
    repeats_records = True
    grows_by = "copies"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HybridSampler(RatioSampler):
    """Bring the classes to the ratio of the costs partly by cutting one, partly by growing the other.

    With rho = C_FN / C_FP above 1 the negatives are cut to ``round(N- / rho ** share)`` and the positives grown to
    ``round(N+ * rho ** (1 - share))``; below 1 the roles swap (FRAMEWORK 3).

    Parameters
    ----------
    share : float in [0, 1], default=0.5
        Share of the work done by cutting: 1 is :class:`UnderSampler`, 0 is :class:`OverSampler`.
    {sampler}

    Attributes
    ----------
    {sample}

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.sampling import HybridSampler
    >>> X, y = np.arange(12).reshape(12, 1), np.array([0] * 10 + [1] * 2)
    >>> sampler = HybridSampler(share=0.5, random_state=0)
    >>> X_res, y_res = sampler.fit_resample(X, y, fp_cost=1, fn_cost=4)
    >>> sampler.sampling_strategy_
    {0: 5, 1: 4}
    """

    repeats_records = True
    grows_by = "copies"

    share: float = 0.5


def cost_ratio(costs: Costs) -> float:
    """Return rho = C_FN / C_FP of constant costs: 1 where both are zero, infinite where only C_FP is."""
    fp, fn = float(costs.fp), float(costs.fn)
    if fp == fn:
        return 1.0
    return fn / fp if fp > 0 else np.inf


def class_sizes(n_positive: int, n_negative: int, rho: float, share: float) -> tuple[int, int]:
    """Return the positives and negatives of a sample with class ratio ``n_positive / n_negative * rho``.

    `rho` is C_FN / C_FP, and `share` that of the work done by cutting one class; the rest is done by growing the other.

    Examples
    --------
    >>> from stakes.sampling.ratio import class_sizes
    >>> class_sizes(10, 90, rho=9, share=1), class_sizes(10, 90, rho=9, share=0), class_sizes(10, 90, rho=9, share=0.5)
    ((10, 10), (90, 90), (30, 30))
    """
    cutting, growing = np.float64(rho) ** share, np.float64(rho) ** (1 - share)
    with np.errstate(divide="ignore"):
        if rho >= 1:
            cut, grown = n_negative / cutting, n_positive * growing
            times = f"fn_cost is {rho:g} times fp_cost"
        else:
            cut, grown = n_positive * cutting, n_negative / growing
            times = f"fp_cost is {np.divide(1, rho):g} times fn_cost"
    if grown > MAX_RECORDS:
        raise SamplingError(
            f"{times}: growing a class to that ratio would take more than {MAX_RECORDS} records. Cut the other class "
            "instead (UnderSampler), or raise the lower cost"
        )
    # A class is never cut away: the last record of it stays.
    kept = max(1, round(cut))
    return (round(grown), kept) if rho >= 1 else (kept, round(grown))


def _some(rows: NDArray[np.intp], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return `size` of `rows`, drawing those to keep or those to drop, whichever are fewer."""
    fewer = min(size, rows.size - size)
    drawn = rng.choice(rows.size, fewer, replace=False, shuffle=False)
    return rows[drawn] if fewer == size else np.delete(rows, drawn)


def _throw(balls: int, boxes: int, rng: np.random.Generator) -> Counts:
    """Return how many of the `balls` fall into each of the `boxes`, all equally likely.

    One draw per ball, or, where there are many per box, one per box from the same distribution: huge cost
    ratios cost no more than small ones.
    """
    if balls > 20 * boxes:
        return rng.multinomial(balls, np.full(boxes, 1 / boxes))
    return np.bincount(rng.integers(boxes, size=balls), minlength=boxes)
