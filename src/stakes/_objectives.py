"""What gradient boosting minimises: log losses with weights, and the expected cost of a soft decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from stakes._typing import Floats
from stakes.costs import rounded
from stakes.records import Records

__all__ = ["OBJECTIVES", "Objective", "SoftCost"]


@dataclass(frozen=True)
class SoftCost:
    """The cost of each record under a decision that is positive with probability s, a function of its score f.

    With P = expit(f), s = P C_FN / (P C_FN + (1 - P) C_FP) = expit(f + ln(C_FN / C_FP)): one half where P is the
    record's T_cs. A positive costs C_FN (1 - s), a negative C_FP s.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import Costs
    >>> from stakes._objectives import SoftCost
    >>> from stakes.records import Records
    >>> loss = SoftCost.of(Records(None, np.array([True, False]), Costs(fp=1, fn=3)))
    >>> loss.loss(np.log([1 / 3, 1 / 3]))  # P is T_cs: as likely wrong as right
    array([0.75, 0.25])
    """

    cost: Floats  # of misclassifying each record, times its weight, with a mean of 1
    sign: Floats  # 1 for positives, -1 for negatives
    log_ratio: Floats  # ln(C_FN / C_FP)

    @classmethod
    def of(cls, records: Records) -> SoftCost:
        """Return the loss of some records."""
        return cls(_cost_weight(records), records.sign, rounded(records.log_cost_ratio))

    def loss(self, score: Floats) -> Floats:
        """Return the expected cost of each record."""
        return self.cost * expit(-self.sign * (score + self.log_ratio))

    def __call__(self, score: Floats, _data: object = None) -> tuple[Floats, Floats]:
        """Return the gradients, and curvatures that are at least the size of the second derivatives."""
        soft = expit(score + self.log_ratio)
        size = self.cost * soft * (1.0 - soft)
        return -self.sign * size, size


def _cost_weight(records: Records) -> Floats:
    """Return the costs of misclassifying the records, times their weights, with a mean of 1."""
    weight = records.cost_weight()
    return np.ones(len(records)) if weight is None else rounded(weight)


class Objective(NamedTuple):
    """What to minimise, and how the score is to be compared with costs."""

    weight: Callable[[Records], Floats]  # of each record in the log loss, by which training starts
    loss: Callable[[Records], SoftCost] | None  # what training goes on with; None for the log loss throughout
    threshold: str  # of `Decision`: "half" where the score contains the costs


# To add an objective: a row here.
OBJECTIVES: dict[str, Objective] = {
    "logistic": Objective(attrgetter("weights"), None, "cost"),
    "weighted": Objective(_cost_weight, None, "half"),
    "cost": Objective(attrgetter("weights"), SoftCost.of, "cost"),
}
