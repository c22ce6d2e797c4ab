"""The bootstrap, and cost-proportionate rejection on top of it (FRAMEWORK 3)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._docs import documented
from stakes.costs import Costs
from stakes.exceptions import SamplingError
from stakes.sampling.base import MAX_RECORDS, CostSampler, Counts, MemberSampler, split_classes

__all__ = ["Bootstrap", "CPRSampler"]

MAX_TRIES = 100


class Bootstrap(MemberSampler):
    """Draw as many records as there are, with replacement, whatever they cost: the sample of plain bagging.

    Parameters
    ----------
    size : int, float or None, default=None
        How many records to draw, as a number or as a share; None for as many as there are.
    replace : bool, default=True
        Whether a record may be drawn more than once.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import Costs
    >>> from stakes.sampling import Bootstrap
    >>> Bootstrap().counts(np.array([0, 1, 0, 1]), Costs(fp=1, fn=1), np.random.default_rng(0)).sum()
    np.int64(4)
    """

    uses_costs = False

    def __init__(self, size: float | None = None, *, replace: bool = True) -> None:
        self.size = size
        self.replace = replace
        self.leaves_records_out = replace or size is not None

    def counts(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Counts:
        """Draw how often each record occurs. See :meth:`MemberSampler.counts`."""
        n, positive = y.size, _positive(y)
        size = n if self.size is None else self.size
        size = size if isinstance(size, Integral) else max(1, round(size * n))
        if size > n and not self.replace:
            raise SamplingError(f"{size} records are to be drawn without replacement from {n}")
        for _ in range(MAX_TRIES if size > 1 else 0):
            counts = np.bincount(rng.choice(n, int(size), replace=self.replace), minlength=n)
            if _both_classes(counts, positive):
                return counts
        raise SamplingError(f"no sample of {size} of the {n} records has both classes: draw more")


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CPRSampler(CostSampler):
    """Cost-proportionate rejection: draw records with replacement, accept each with probability c / Z.

    c is the cost of misclassifying the record and Z the largest of them (FRAMEWORK 3), so that a record occurs in
    proportion to its cost. Record-dependent costs are used as they are. With equal costs the sample is the one
    that :class:`Bootstrap` draws. A sample always has both classes: it is drawn again where one is missing.

    Parameters
    ----------
    quantile : float in (0, 1] or None, default=None
        Set Z to this quantile of the costs, so that a single huge cost does not starve the sample. A record above it
        occurs c / Z times in expectation whenever it is drawn: the whole part for certain, one more
        with the remaining probability. None is the maximum.
    fp_cost, fn_cost : float, default=1
        Constant costs, used where `fit_resample` is not given any. Record-dependent costs are given there.
    {sampler_label_and_seed}

    Attributes
    ----------
    {sample}

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.sampling import CPRSampler
    >>> X, y = np.arange(1000).reshape(1000, 1), np.arange(1000) % 2
    >>> sampler = CPRSampler(random_state=0)
    >>> X_res, y_res = sampler.fit_resample(X, y, fp_cost=1, fn_cost=np.where(X[:, 0] < 500, 2, 10))
    >>> np.histogram(X_res[y_res == 1], bins=[0, 500, 1000])[0]  # a fifth of the first 250, all others
    array([ 41, 268])
    """

    leaves_records_out = True

    quantile: float | None = None

    def counts(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Counts:
        """Draw how often each record occurs. See :meth:`MemberSampler.counts`."""
        n, positive = y.size, _positive(y)
        cost = costs.of(y)
        ceiling = self._ceiling(cost)
        # All costs zero are equal costs: every record is as indifferent as the next (FRAMEWORK 1).
        expected = cost / ceiling if ceiling > 0 else np.ones(n)
        if expected.sum() > MAX_RECORDS:
            raise SamplingError(f"the sample would have some {expected.sum():.2g} records: take a larger quantile")
        thinned = expected.min() < 1
        above = np.flatnonzero(expected > 1)
        fraction, whole = np.modf(expected[above])
        for _ in range(MAX_TRIES if _both_classes(expected, positive) else 0):
            drawn = rng.integers(n, size=n)
            if thinned:
                drawn = drawn.compress(rng.random(n) < expected[drawn])
            counts = np.bincount(drawn, minlength=n)
            if above.size:
                counts[above] = counts[above] * whole + rng.binomial(counts[above], fraction)
            if _both_classes(counts, positive):
                return counts
        raise SamplingError(
            f"no sample of the {n} records has both classes: {expected[positive].sum():.2g} positives and "
            f"{expected[~positive].sum():.2g} negatives are expected in one, because a record is accepted with "
            f"probability c / Z, Z = {ceiling:g}. Where a few huge costs make Z large, set quantile below 1 (for "
            "example CPRSampler(quantile=0.99)); where a whole class costs next to nothing, raise its cost or use "
            "UnderSampler, which always keeps some of it"
        )

    def _ceiling(self, cost: NDArray[np.float64]) -> float:
        """Return Z."""
        if self.quantile is None:
            return float(cost.max())
        if not 0 < self.quantile <= 1:
            raise SamplingError(f"quantile={self.quantile!r} is not above 0 and at most 1; None is the maximum")
        ceiling = float(np.quantile(cost, self.quantile))
        if ceiling == 0 and cost.any():
            raise SamplingError(
                f"quantile={self.quantile:g} of the records' costs is 0, which cannot be their ceiling: "
                f"{np.mean(cost == 0):.1%} of them cost nothing, so take a quantile above that, or None for the maximum"
            )
        return ceiling


def _positive(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which records are positive: a mask, and not row numbers, as a hundred members draw at the same time."""
    positive = y == 1
    if not 0 < np.count_nonzero(positive) < y.size:
        split_classes(y)  # says what is missing
    return positive


def _both_classes(occurrences: NDArray[Any], positive: NDArray[np.bool_]) -> bool:
    occur = occurrences > 0
    return 0 < int(np.count_nonzero(occur & positive)) < int(np.count_nonzero(occur))
