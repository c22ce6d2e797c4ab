"""Before training: samples in proportion to the costs, as multiplicities or synthetic records (FRAMEWORK 3)."""

from stakes.sampling.base import CostSampler, MemberSampler, Sample, with_class_means
from stakes.sampling.foreign import ForeignSampler
from stakes.sampling.prior import prior_correction
from stakes.sampling.ratio import HybridSampler, OverSampler, UnderSampler
from stakes.sampling.registry import SAMPLERS, make_sampler
from stakes.sampling.rejection import Bootstrap, CPRSampler
from stakes.sampling.smote import SMOTESampler

__all__ = [
    "SAMPLERS",
    "Bootstrap",
    "CPRSampler",
    "CostSampler",
    "ForeignSampler",
    "HybridSampler",
    "MemberSampler",
    "OverSampler",
    "SMOTESampler",
    "Sample",
    "UnderSampler",
    "make_sampler",
    "prior_correction",
    "with_class_means",
]
