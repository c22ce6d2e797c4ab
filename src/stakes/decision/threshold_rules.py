"""What a score is compared with: one half, the record's own T_cs, or the number that is cheapest on some records.

To add a kind of threshold, write a subclass of `Threshold` and a line in `THRESHOLDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes.costs import Costs
from stakes.decision.thresholds import best_cut
from stakes.exceptions import CostsNeededError
from stakes.records import Records

__all__ = ["THRESHOLDS", "CostThreshold", "Half", "Limits", "Threshold", "Tuned"]

Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """Capacity limits that a tuned threshold keeps to on the records it is chosen on."""

    max_fpr: float | None = None
    max_acted: float | None = None

    def counted(self, records: Records) -> list[tuple[Floats, float]]:
        """Return the limits as `best_cut` takes them."""
        weight = np.ones(len(records)) if records.weight is None else records.weight
        both = ((np.where(records.positive, 0.0, weight), self.max_fpr), (weight, self.max_acted))
        return [(counted, limit) for counted, limit in both if limit is not None]


class Threshold(ABC):
    """A fitted threshold: a small immutable value; a record is positive iff its score is above it."""

    needs_data: ClassVar[bool] = False
    """Whether it is chosen on records with scores."""
    needs_costs: ClassVar[bool] = False
    """Whether it depends on the costs of the record that is decided on."""

    @classmethod
    def fit(cls, scores: Floats, records: Records, limits: Limits) -> Threshold:
        """Choose it on records that all have a score; those without `needs_data` have nothing to choose."""
        return cls()

    @abstractmethod
    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return the number to compare with: one for all records, or one for each."""


@dataclass(frozen=True)
class Half(Threshold):
    """0.5."""

    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return 0.5."""
        return 0.5


@dataclass(frozen=True)
class CostThreshold(Threshold):
    """T_cs, above which a probability is worth acting on.

    Examples
    --------
    >>> from stakes import Costs
    >>> from stakes.decision.threshold_rules import CostThreshold
    >>> CostThreshold()(Costs(fp=5, fn=[20.0, 95.0]))
    array([0.2 , 0.05])
    """

    needs_costs = True

    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return T_cs of each record."""
        if costs is None:
            raise CostsNeededError("this decision needs the costs of the records: pass fp_cost= and fn_cost=")
        return costs.threshold()


@dataclass(frozen=True)
class Tuned(Threshold):
    """T_thr: the number with the least total cost on some records."""

    value: float

    needs_data = True

    @classmethod
    def fit(cls, scores: Floats, records: Records, limits: Limits) -> Tuned:
        """Choose the cheapest cut between the scores."""
        loss = records.loss
        cost_if_negative = np.where(records.positive, loss, 0.0)
        cost_if_positive = np.where(records.positive, 0.0, loss)
        return cls(best_cut(scores, cost_if_negative, cost_if_positive, limits=limits.counted(records)).threshold)

    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return the number that was chosen."""
        return self.value


THRESHOLDS: dict[str, type[Threshold]] = {"half": Half, "cost": CostThreshold, "tuned": Tuned}
