"""The errors and warnings of stakes, so that callers can catch or filter exactly these."""

__all__ = [
    "ClassMeansWarning",
    "CostsError",
    "CostsNeededError",
    "DecisionError",
    "ModelFileError",
    "SamplingError",
    "StakesWarning",
    "StudyError",
]


class CostsError(ValueError):
    """Costs that cannot be used: not finite, negative, of the wrong length or type."""


class CostsNeededError(CostsError):
    """A decision needs the costs of the records at hand, and they were not given."""


class DecisionError(ValueError):
    """A combination of decision steps that has no meaning."""


class ModelFileError(ValueError):
    """A model that cannot be saved to a file, or a file that cannot be loaded safely."""


class SamplingError(ValueError):
    """A cost-sensitive sample that cannot be drawn from the records and costs given."""


class StakesWarning(UserWarning):
    """Base of all warnings of this package."""


class ClassMeansWarning(StakesWarning):
    """Record-dependent costs were reduced to class means for a method defined on constant costs."""


class StudyError(ValueError):
    """A study that cannot be run as asked: bad input, or a results directory that does not fit."""
