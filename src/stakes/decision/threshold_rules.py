"""What a score is compared with: 0.5, the record's own T_cs, T_cs with scaled odds, or the cheapest number.

To add a kind of threshold, write a subclass of `Threshold` and a line in `THRESHOLDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logit

from stakes._typing import Floats
from stakes.costs import Costs
from stakes.decision.thresholds import Limits, best_cut
from stakes.exceptions import CostsNeededError
from stakes.records import Records

__all__ = ["THRESHOLDS", "CostThreshold", "Half", "Scaled", "Threshold", "Tuned"]


class Threshold(ABC):
    """A fitted threshold: a small immutable value; a record is positive iff its score is above it."""

    words: ClassVar[str]
    """What it is called amid words."""
    needs_data: ClassVar[bool] = False
    """Whether it is chosen on records with scores."""
    needs_costs: ClassVar[bool] = False
    """Whether it depends on the costs of the record that is decided on."""

    @classmethod
    def fit(cls, scores: Floats, records: Records, limits: Limits = ()) -> Threshold:
        """Choose it on records that all have a score; those without `needs_data` have nothing to choose."""
        return cls()

    @abstractmethod
    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return the number to compare with: one for all records, or one for each."""


@dataclass(frozen=True)
class Half(Threshold):
    """0.5."""

    words = "above 0.5"

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

    words = "above T_cs"
    needs_costs = True

    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return T_cs of each record."""
        if costs is None:
            raise CostsNeededError("this decision needs the costs of the records: pass fp_cost= and fn_cost=")
        return costs.threshold()


@dataclass(frozen=True)
class Tuned(Threshold):
    """T_thr: the number with the least total cost on some records."""

    words = "above T_thr"

    value: float

    needs_data = True

    @classmethod
    def fit(cls, scores: Floats, records: Records, limits: Limits = ()) -> Tuned:
        """Choose the cheapest cut between the scores."""
        loss = records.loss
        cost_if_negative = np.where(records.positive, loss, 0.0)
        cost_if_positive = np.where(records.positive, 0.0, loss)
        return cls(best_cut(scores, cost_if_negative, cost_if_positive, limits=limits))

    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return the number that was chosen."""
        return self.value


@dataclass(frozen=True)
class Scaled(Threshold):
    """T_cs with its odds times a factor: p / (1 - p) > factor x C_FP / C_FN.

    It follows the costs of each record as T_cs does. The factor mends probabilities whose odds are too large or too
    small by the same factor, as those of sampled or weighted records are. It is the one with the least total cost on
    some records; but it stays 1 unless it gains more there than two standard errors of that gain, because a factor
    that only fits the noise of these records costs money on others.

    Examples
    --------
    >>> from stakes import Costs
    >>> from stakes.decision.threshold_rules import Scaled
    >>> Scaled(3.0)(Costs(fp=5, fn=[20.0, 95.0])).round(3)
    array([0.429, 0.136])
    """

    words = "above T_cs with scaled odds"

    factor: float

    needs_data = True
    needs_costs = True

    @classmethod
    def fit(cls, scores: Floats, records: Records, limits: Limits = ()) -> Scaled:
        """Choose the factor: a record is positive iff the odds of its score, divided by those of T_cs, are above it."""
        threshold = np.broadcast_to(records.known.threshold(), len(records))
        # Odds of nothing or infinity: no factor changes the outcome of these records.
        fixed = (scores <= 0) | (scores >= 1) | (threshold <= 0) | (threshold >= 1)
        inner = ~fixed
        ratio = np.empty(len(records))
        ratio[inner] = logit(scores[inner]) - logit(threshold[inner])
        beyond = np.abs(ratio[inner]).max(initial=0.0) + 1.0
        ratio[fixed] = np.where(scores[fixed] > threshold[fixed], beyond, -beyond)
        loss = np.where(fixed, 0.0, records.loss)
        if_negative, if_positive = np.where(records.positive, loss, 0.0), np.where(records.positive, 0.0, loss)
        chosen = best_cut(ratio, if_negative, if_positive, limits=limits)
        saved = np.where(ratio > 0, if_positive, if_negative) - np.where(ratio > chosen, if_positive, if_negative)
        error = np.sqrt((saved[saved != 0] ** 2 / records.weights[saved != 0]).sum())
        one_is_allowed = all(
            at_most is None or counts[ratio > 0].sum() / (counts.sum() or 1.0) <= at_most for counts, at_most in limits
        )
        return cls(1.0 if one_is_allowed and saved.sum() <= 2 * error else float(np.exp(np.clip(chosen, -600, 600))))

    def __call__(self, costs: Costs | None) -> float | Floats:
        """Return the threshold of each record."""
        threshold = CostThreshold()(costs)
        if self.factor == 1:
            return threshold
        return self.factor * threshold / (1 - threshold + self.factor * threshold)


THRESHOLDS: dict[str, type[Threshold]] = {"half": Half, "cost": CostThreshold, "scaled": Scaled, "tuned": Tuned}
