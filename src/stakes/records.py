"""Records: features with the classes, costs and weights that belong to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._rows import take_rows
from stakes._typing import Bools, Floats, Indices
from stakes.costs import Costs, rounded
from stakes.exceptions import SamplingError

__all__ = ["LARGEST_LOG_RATIO", "Records"]

# The logarithm of a ratio of costs where one of them is zero.
LARGEST_LOG_RATIO = log(1e15)
# Smaller shares of the largest cost are no unit to measure costs by.
SMALLEST_SHARE = 1e-15


@dataclass(frozen=True, eq=False)
class Records:
    """Records with their classes and costs.

    What is known of the costs when a decision is due may differ from what mistakes cost: estimates of amounts that only
    the outcome reveals. Decisions are made by `known_costs`, and charged by `costs`.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import Costs
    >>> from stakes.records import Records
    >>> records = Records(None, np.array([True, False, True]), Costs(fp=1, fn=[5, 5, 9]))
    >>> records.take(np.array([2])).costs.fn
    array([9.])
    """

    X: Any  # binned where members are trees, else as given; None where only classes and costs matter
    positive: Bools
    costs: Costs
    weight: Floats | None = None  # None for ones
    known_costs: Costs | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)  # for members of any kind, as scikit-learn routed it

    def __len__(self) -> int:
        return self.positive.size

    @property
    def known(self) -> Costs:
        """The costs to decide by."""
        return self.costs if self.known_costs is None else self.known_costs

    @cached_property
    def cost(self) -> Floats:
        """What it costs to misclassify each record."""
        return self.costs.of(self.positive)

    @cached_property
    def cost_unit(self) -> float:
        """The smallest cost of misclassifying a record, without those next to 0 beside the largest; 1 if all are 0."""
        cost = self.cost
        largest = cost.max(initial=0.0)
        return float(cost[cost >= SMALLEST_SHARE * largest].min()) if largest > 0 else 1.0

    @cached_property
    def relative_cost(self) -> Floats:
        """The cost of misclassifying each record in units of `cost_unit`, the same for costs in any currency.

        Rounded, so that the rounding of the costs given, or of their quotients, makes no difference between costs that
        are equal, nor between sums of them.
        """
        return rounded(self.cost / self.cost_unit)

    @property
    def loss(self) -> Floats:
        """What it costs to misclassify each record, times its weight."""
        return self.cost if self.weight is None else self.cost * self.weight

    @cached_property
    def sign(self) -> Floats:
        """y*: 1 for positives, -1 for negatives."""
        return np.where(self.positive, 1.0, -1.0)

    @cached_property
    def cost_share(self) -> Floats:
        """The cost of misclassifying each record as a share of the largest; ones where no mistake costs anything."""
        cost = self.cost
        return cost / cost.max() if cost.any() else np.ones_like(cost)

    @cached_property
    def log_cost(self) -> Floats:
        """The logarithm of `cost_share`, -inf for records that cost nothing."""
        with np.errstate(divide="ignore"):
            return np.log(self.cost_share)

    @cached_property
    def log_cost_ratio(self) -> Floats:
        """ln(C_FN / C_FP), and 0 where both are zero; where one of them is, beyond any real ratio."""
        return _log_ratio(*self.costs.arrays(len(self)))

    @property
    def log_mean_cost_ratio(self) -> float:
        """The same of the mean costs of the classes: of a miss for positives, of a false alarm for negatives."""
        fp, fn = (np.average(self.cost[rows], weights=self.weights[rows]) for rows in (~self.positive, self.positive))
        return float(_log_ratio(fp, fn))

    @property
    def weights(self) -> Floats:
        """How often each record counts."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def cost_levels(self) -> tuple[Floats, Indices]:
        """The distinct values of `cost_share`, and the position of each record's value among them."""
        values, position = np.unique(self.cost_share, return_inverse=True)
        return values, position

    def take(self, rows: NDArray[Any]) -> Records:
        """Return some of the records, by row numbers or by a mask."""
        return Records(
            None if self.X is None else take_rows(self.X, rows),
            self.positive[rows],
            self.costs[rows],
            None if self.weight is None else self.weight[rows],
            None if self.known_costs is None else self.known_costs[rows],
            {name: take_rows(value, rows) if _is_of(value, self) else value for name, value in self.metadata.items()},
        )

    @property
    def counted(self) -> Records:
        """Those of the records that have a weight."""
        return self if self.weight is None or self.weight.all() else self.take(np.flatnonzero(self.weight))

    def with_features(self, X: Any) -> Records:
        """Return the same records with features in another form."""
        return replace(self, X=X)

    def with_synthetic(self, X: Any, positive: Bools) -> Records:
        """Return the records followed by synthetic ones, which have the mean costs and weight of their class.

        `X` has the features of all of them, `positive` the classes of the synthetic ones.
        """
        if self.metadata:
            raise SamplingError(f"synthetic records have no {', '.join(self.metadata)}: choose another sampling")
        n, means = positive.size, self.costs.class_means(self.positive)
        costs = self.costs
        if not costs.constant:
            fp, fn = costs.arrays(len(self))
            costs = Costs(fp=np.append(fp, np.full(n, means.fp)), fn=np.append(fn, np.full(n, means.fn)))
        weight = self.weight
        if weight is not None:
            of_class = np.array([weight[~self.positive].mean(), weight[self.positive].mean()])
            weight = np.append(weight, of_class[positive.view(np.int8)])
        return Records(X, np.append(self.positive, positive), costs, weight)

    def cost_weight(self) -> Floats | None:
        """Return the sample weights times the costs (FRAMEWORK 4), and without them where no mistake costs anything.

        Normalised to a mean of 1: with equal costs the weights are those without costs, also for models that are
        sensitive to the total weight.
        """
        cost = self.cost
        mean = np.average(cost, weights=self.weight)
        if not mean > 0:
            return self.weight
        return self.weights * (cost / mean)


def _is_of(value: Any, records: Records) -> bool:
    """Return whether metadata has a value for each record."""
    return hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == len(records)


def _log_ratio(fp: Any, fn: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(fn) - np.log(fp)
    return np.clip(np.where(np.isnan(ratio), 0.0, ratio), -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
