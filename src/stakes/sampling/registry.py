"""Samplers by name."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from stakes.exceptions import SamplingError
from stakes.sampling.base import CostSampler, MemberSampler
from stakes.sampling.foreign import ForeignSampler
from stakes.sampling.ratio import HybridSampler, OverSampler, UnderSampler
from stakes.sampling.rejection import Bootstrap, CPRSampler
from stakes.sampling.smote import SMOTESampler

__all__ = ["SAMPLERS", "make_sampler"]

#: The samplers of FRAMEWORK 3 by the names that ensembles take.
SAMPLERS: dict[str, type[CostSampler]] = {
    "under": UnderSampler,
    "over": OverSampler,
    "hybrid": HybridSampler,
    "smote": SMOTESampler,
    "cpr": CPRSampler,
}


def make_sampler(sampling: Any, *, classes: ArrayLike = (0, 1)) -> MemberSampler:
    """Return the sampler an ensemble draws its members' samples with.

    Parameters
    ----------
    sampling : None, str or sampler
        None is the plain bootstrap; a string one of ``SAMPLERS``; an object one of this package's samplers, or
        any other with imbalanced-learn's `fit_resample`.
    classes : array-like of two labels, default=(0, 1)
        The negative and the positive label, shown to samplers from elsewhere.

    Examples
    --------
    >>> from stakes.sampling import make_sampler
    >>> make_sampler("hybrid")
    HybridSampler()
    """
    if sampling is None:
        return Bootstrap()
    if isinstance(sampling, str) and sampling in SAMPLERS:
        return SAMPLERS[sampling]()
    if isinstance(sampling, MemberSampler):
        if isinstance(sampling, CostSampler) and (sampling.fp_cost, sampling.fn_cost) != (1, 1):
            raise SamplingError(
                f"sampling={sampling!r} brings costs of its own, but an ensemble samples by the costs given to it: "
                "leave fp_cost and fn_cost out of the sampler"
            )
        return sampling
    if hasattr(sampling, "fit_resample") and not isinstance(sampling, type):
        return ForeignSampler(sampling, classes)
    raise SamplingError(
        f"sampling={sampling!r} is not known: choose one of {', '.join(map(repr, SAMPLERS))}, None for the bootstrap, "
        "or a sampler object with fit_resample"
    )
