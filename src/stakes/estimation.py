"""Costs that are not known when a decision is due: estimated by regression where they were (FRAMEWORK 8.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from stakes._rows import take_rows
from stakes.costs import per_record
from stakes.exceptions import CostsError

__all__ = ["CostEstimators"]

Floats = NDArray[np.float64]


class CostEstimators:
    """Regressors of fp_cost and fn_cost on the features.

    Parameters
    ----------
    regressors : regressor, or dict of "fp_cost" and/or "fn_cost" to regressor
        One regressor stands for both costs: a clone is fitted to each that differs from record to record.
    """

    def __init__(self, regressors: Any) -> None:
        if isinstance(regressors, Mapping):
            unknown = set(regressors) - {"fp_cost", "fn_cost"}
            if unknown or not regressors:
                raise CostsError(
                    f"cost_estimator has the keys {sorted(map(str, regressors))}: give 'fp_cost', 'fn_cost' or both"
                )
        self.regressors = regressors
        self.fitted: dict[str, Any] = {}

    def fit(self, X: Any, n: int, given: dict[str, Any]) -> dict[str, Any]:
        """Fit to the records whose cost is known, and return the costs of all `n`, with the unknown ones filled in."""
        filled = dict(given)
        for name in ("fp_cost", "fn_cost"):
            regressor = self.regressors.get(name) if isinstance(self.regressors, Mapping) else self.regressors
            if regressor is None or np.ndim(given[name]) == 0:
                continue
            costs = np.array(per_record(given[name], name, n, "X", may_be_nan=True))
            known = ~np.isnan(costs)
            if not known.any():
                raise CostsError(f"{name} is NaN in all {costs.size} records: cost_estimator has nothing to learn from")
            rows = np.flatnonzero(known)
            self.fitted[name] = clone(regressor).fit(take_rows(X, rows), costs[rows])
            if not known.all():
                costs[~known] = self.predict(name, take_rows(X, np.flatnonzero(~known)))
            filled[name] = costs
        return filled

    def predict(self, name: str, X: Any) -> Floats:
        """Return estimated costs; never below zero, which no mistake costs."""
        return np.maximum(np.asarray(self.fitted[name].predict(X), dtype=np.float64).ravel(), 0.0)
