"""Costs that are not known when a decision is due: estimated by regression where they were (FRAMEWORK 8.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from stakes._random import seeded
from stakes._rows import take_rows
from stakes._typing import Floats
from stakes.costs import per_record
from stakes.exceptions import CostsError

__all__ = ["CostEstimators"]

# Estimates for training records are out of this many folds.
FOLDS = 5


class CostEstimators:
    """Regressors of fp_cost and fn_cost on the features.

    One regressor stands for both costs, a clone for each that differs from record to record; or a dict has one of each.
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

    def fit(
        self, X: Any, n: int, given: dict[str, Any], rng: np.random.Generator
    ) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Fit to the records whose cost is known.

        Returns
        -------
        filled : dict
            The costs of all `n` records, with the unknown ones filled in.
        estimated : dict of str to ndarray of shape (n_records,)
            What is known of the estimated costs when a decision on these records is due: estimates by regressors that
            were not fitted to the record's own cost.
        """
        filled, estimated = dict(given), {}
        for name in ("fp_cost", "fn_cost"):
            regressor = self.regressors.get(name) if isinstance(self.regressors, Mapping) else self.regressors
            if regressor is None or np.ndim(given[name]) == 0:
                continue
            costs = np.array(per_record(given[name], name, n, "X", may_be_nan=True))
            known = ~np.isnan(costs)
            if not known.any():
                raise CostsError(f"{name} is NaN in all {costs.size} records: cost_estimator has nothing to learn from")
            rows = np.flatnonzero(known)
            regressor = seeded(regressor, rng)
            self.fitted[name] = clone(regressor).fit(take_rows(X, rows), costs[rows])
            estimates = self.predict(name, X)
            for fold in np.array_split(rng.permutation(rows), min(FOLDS, rows.size)):
                others = np.setdiff1d(rows, fold)
                if others.size:
                    fitted = clone(regressor).fit(take_rows(X, others), costs[others])
                    estimates[fold] = _not_negative(fitted.predict(take_rows(X, fold)))
            filled[name], estimated[name] = np.where(known, costs, estimates), estimates
        return filled, estimated

    def predict(self, name: str, X: Any) -> Floats:
        """Return estimated costs; never below zero, which no mistake costs."""
        return _not_negative(self.fitted[name].predict(X))


def _not_negative(costs: Any) -> Floats:
    return np.maximum(np.asarray(costs, dtype=np.float64).ravel(), 0.0)
