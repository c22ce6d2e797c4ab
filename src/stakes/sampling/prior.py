"""Undo the shift of the class prior that sampling causes (FRAMEWORK 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stakes.exceptions import SamplingError

__all__ = ["prior_correction"]


def prior_correction(p: ArrayLike, *, sampled: ArrayLike, original: ArrayLike) -> NDArray[np.float64]:
    """Return probabilities at the original base rate from those of a model trained on a sample.

    If sampling keeps a share ``k+`` of the positives and ``k-`` of the negatives (above 1 where they are
    duplicated), it multiplies the odds of every record by ``k+ / k- = odds(sampled) / odds(original)``. Dividing by it
    is Elkan's formula [1]_. It is exact when the records of a class are all equally likely to be sampled: for all
    samplers with constant costs, on average over each class with record-dependent ones.

    Parameters
    ----------
    p : array-like
        Probabilities of the positive class under the base rate `sampled`.
    sampled, original : float in (0, 1), or array-like that broadcasts against `p`
        Share of positives in the sample and in the training set it was drawn from.

    Returns
    -------
    ndarray of the shape of `p`
        Probabilities of the positive class under the base rate `original`.

    References
    ----------
    .. [1] C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, theorem 2.

    Examples
    --------
    One record in two is positive in the sample, one in ten in reality:

    >>> from stakes.sampling import prior_correction
    >>> prior_correction([0.0, 0.5, 0.9, 1.0], sampled=0.5, original=0.1)
    array([0. , 0.1, 0.5, 1. ])
    """
    before, after = _base_rates(sampled, "sampled"), _base_rates(original, "original")
    p = np.asarray(p, dtype=np.float64)
    positive = p * (after / before)
    negative = (1 - p) * ((1 - after) / (1 - before))
    return positive / (positive + negative)


def _base_rates(given: ArrayLike, name: str) -> NDArray[np.float64]:
    rates = np.asarray(given, dtype=np.float64)
    if not np.all((rates > 0) & (rates < 1)):
        raise SamplingError(f"{name}={given!r} is not a base rate: the share of positives is between 0 and 1")
    return rates
