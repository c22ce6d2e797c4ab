"""What each record costs by either decision: the ground of all costs and cost curves. Any cost matrix will do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stakes._typing import Bools, Floats
from stakes.costs import check_costs, per_record
from stakes.decision.thresholds import positives, record_weights

__all__ = ["COST_NAMES", "Bill"]


COST_NAMES = ("fp_cost", "fn_cost", "tp_cost", "tn_cost")


class Bill(NamedTuple):
    """What each record costs if decided negative and if decided positive, and the decisions to charge for."""

    positive: Bools
    weight: Floats
    if_negative: Floats
    if_positive: Floats
    acted: list[Bools]
    paid: float  # for the features of all records

    @classmethod
    def of(
        cls,
        y_true: ArrayLike,
        y_preds: list[ArrayLike],
        fp_cost: ArrayLike,
        fn_cost: ArrayLike,
        tp_cost: ArrayLike,
        tn_cost: ArrayLike,
        sample_weight: ArrayLike | None,
        pos_label: Any,
        acquisition_cost: ArrayLike = 0.0,
    ) -> Bill:
        """Check classes, decisions, costs and weights, and charge each record for either decision."""
        names = ("y_pred", "y_pred_other")
        positive, *acted = positives(pos_label, y_true=y_true, **dict(zip(names, y_preds, strict=False)))
        n = positive.size
        fp, fn, tp, tn = check_costs(n, "y_true", fp_cost=fp_cost, fn_cost=fn_cost, tp_cost=tp_cost, tn_cost=tn_cost)
        weight = record_weights(sample_weight, n)
        if_negative, if_positive = weight * np.where(positive, fn, tn), weight * np.where(positive, tp, fp)
        paid = float(weight @ per_record(acquisition_cost, "acquisition_cost", n))
        return cls(positive, weight, if_negative, if_positive, acted, paid)

    @property
    def cost(self) -> float:
        """What the decisions cost, and what was paid for features."""
        return self.total(self.acted[0]) + self.paid

    @property
    def baselines(self) -> tuple[float, float]:
        """What the cheaper of deciding all records alike costs, and what the dearer one does."""
        return tuple(sorted((self.total(False), self.total(True))))  # type: ignore[return-value]

    def per_record(self, acted: Bools | bool) -> Floats:
        """Return what each record costs by some decisions."""
        return np.where(acted, self.if_positive, self.if_negative)

    def total(self, acted: Bools | bool) -> float:
        """Return what all records cost by some decisions."""
        return float(self.per_record(acted).sum())
