"""Costs that are not known when a decision is due: estimated by regression where they were (FRAMEWORK 8.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.base import clone

from stakes._expressions import parse
from stakes._forks import one_thread_if_forked
from stakes._random import seeded
from stakes._rows import take_rows
from stakes._typing import Floats
from stakes.costs import per_record
from stakes.exceptions import CostsError

__all__ = ["AmountEstimator", "ForeseenCost", "estimate_costs", "estimated_cost", "out_of_fold"]

# Estimates for training records are out of this many folds.
FOLDS = 5
ESTIMATED = ("fp_cost", "fn_cost")


def estimate_costs(
    regressors: Any, X: Any, n: int, given: dict[str, Any], rng: np.random.Generator
) -> tuple[dict[str, Any], dict[str, Floats], dict[str, Any]]:
    """Fit regressors of fp_cost and fn_cost on the features to the records whose cost is known.

    One regressor stands for both costs, a clone for each that differs from record to record; or a dict has one of each.
    Returns the costs of all `n` records, of which unknown ones are filled in; what is known of those that are estimated
    when a decision on these records is due, by regressors that were not fitted to the record's own cost; and the fitted
    regressors by the names of their costs.
    """
    if not isinstance(regressors, Mapping):
        regressors = dict.fromkeys(ESTIMATED, regressors)
    elif set(regressors) - set(ESTIMATED) or not regressors:
        raise CostsError(
            f"cost_estimator has the keys {sorted(map(str, regressors))}: give 'fp_cost', 'fn_cost' or both"
        )
    filled, estimated, fitted = dict(given), dict[str, Floats](), dict[str, Any]()
    for name in ESTIMATED:
        if regressors.get(name) is None or np.ndim(given[name]) == 0:
            continue
        costs = np.array(per_record(given[name], name, n, "X", may_be_nan=True))
        known = ~np.isnan(costs)
        if not known.any():
            raise CostsError(f"{name} is NaN in all {costs.size} records: cost_estimator has nothing to learn from")
        regressor = seeded(regressors[name], rng)
        fitted[name] = _fit_rows(regressor, X, costs, np.flatnonzero(known))
        estimated[name] = np.maximum(out_of_fold(regressor, fitted[name], X, costs, rng), 0.0)
        filled[name] = np.where(known, costs, estimated[name])
    return filled, estimated, fitted


def estimated_cost(regressor: Any, X: Any) -> Floats:
    """Return estimated costs; never below zero, which no mistake costs."""
    return np.maximum(_predict(regressor, X), 0.0)


def out_of_fold(regressor: Any, fitted: Any, X: Any, amount: Floats, rng: np.random.Generator) -> Floats:
    """Return an estimate for every record by regressors that were not fitted to its own amount.

    `fitted` is the regressor fitted to all amounts that are known: it estimates the others.
    """
    estimates = _predict(fitted, X)
    rows = np.flatnonzero(~np.isnan(amount))
    for fold in np.array_split(rng.permutation(rows), min(FOLDS, rows.size)):
        others = np.setdiff1d(rows, fold)
        if others.size:
            estimates[fold] = _predict(_fit_rows(regressor, X, amount, others), take_rows(X, fold))
    return estimates


def _fit_rows(regressor: Any, X: Any, amount: Floats, rows: Any) -> Any:
    one_thread_if_forked()
    return clone(regressor).fit(take_rows(X, rows), amount[rows])


def _predict(fitted: Any, X: Any) -> Floats:
    one_thread_if_forked()
    return np.array(fitted.predict(X), dtype=np.float64).ravel()


class AmountEstimator:
    """A regression of an amount on the features, fitted to the records where it is known.

    Estimates stay within the amounts that were seen: a regression extrapolates.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from stakes._estimation import AmountEstimator
    >>> usual, donation = np.array([[10.0], [40.0], [20.0], [90.0]]), np.array([5.0, 20.0, np.nan, np.nan])
    >>> AmountEstimator(LinearRegression()).fit(usual, donation, what="donation").predict(usual)
    array([ 5., 20., 10., 20.])
    """

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: Any, amount: Floats, *, what: str) -> Self:
        """Fit to the records whose amount is not NaN; `what` is the name of the amount."""
        if np.isnan(amount).all():
            raise CostsError(
                f"{what} is known of none of the {amount.size} records to learn from: give records of which it is "
                "known, or leave out what depends on it"
            )
        self.fitted = _fit_rows(self.regressor, X, amount, np.flatnonzero(~np.isnan(amount)))
        self.low, self.high = float(np.nanmin(amount)), float(np.nanmax(amount))
        return self

    def predict(self, X: Any) -> Floats:
        """Return an estimate for each record."""
        return np.clip(_predict(self.fitted, X), self.low, self.high)

    def out_of_fold(self, X: Any, amount: Floats, rng: np.random.Generator) -> Floats:
        """Return estimates for the records fitted to, by regressors that were not fitted to their own amount."""
        return np.clip(out_of_fold(self.regressor, self.fitted, X, amount, rng), self.low, self.high)


@dataclass(eq=False)
class ForeseenCost:
    """A cost by a formula over columns of which some are known only afterwards: these are estimated."""

    formula: str  # such as "donation - 0.68"
    what: str  # the cost that it is of, to name it in errors
    amounts: dict[str, AmountEstimator]  # what estimates each column that is known only afterwards, by its name

    @property
    def columns(self) -> list[str]:
        """The columns of the formula that new records must have."""
        return [name for name in parse(self.formula, what=self.what).columns if name not in self.amounts]

    def __call__(self, X: Any, frame: pl.DataFrame, *, first_record: int = 1) -> Floats:
        """Return the cost of each record as far as it can be known.

        `X` has the features, `frame` the other columns of the formula.
        """
        return self.given({name: amount.predict(X) for name, amount in self.amounts.items()}, frame, first_record)

    def given(self, amounts: dict[str, Floats], frame: pl.DataFrame, first_record: int = 1) -> Floats:
        """Return the cost of each record by some estimates; never below zero, which no mistake costs."""
        known = [frame.get_column(name) for name in self.columns if name in frame.columns]
        estimated = [pl.Series(name, values) for name, values in amounts.items()]
        value = parse(self.formula, what=self.what).evaluate(
            pl.DataFrame([*known, *estimated]), first_record=first_record
        )
        return np.maximum(np.broadcast_to(value, len(estimated[0])), 0.0)
