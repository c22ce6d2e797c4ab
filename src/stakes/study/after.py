"""Costs that are known only after the decision: judged by the true ones, decided by estimates.

The cost of missing a record is charged to positive records alone, that of acting on it to negative ones. So a column
that is known only afterwards is estimated for a cost by a regression on the records that the cost is charged to, where
it is known (the donations of donors): the expected cost of leaving a record alone is its probability times the
estimate. No record's estimate is by a regression that has seen it.

Training goes by the true costs of what is charged, and by the estimates of what is not (the donation of somebody who
did not give). Everything that decides, or is tuned to decide, sees estimates only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from stakes._estimation import AmountEstimator, ForeseenCost
from stakes._expressions import Expression
from stakes._regression import amount_regressor
from stakes._typing import Bools, Floats, Indices
from stakes.costs import Costs
from stakes.exceptions import CostsError, StudyError
from stakes.study.folds import ONLY_TRAINS, Folds

__all__ = ["AfterCosts"]


@dataclass(frozen=True, eq=False)
class AfterCosts:
    """Costs by formulas over columns of which some are known only after the decision."""

    frame: pl.DataFrame  # the columns of the formulas, for all records
    after: tuple[str, ...]  # those of them that are known only afterwards: they may be missing
    formulas: dict[str, Expression]  # of "fp_cost" and "fn_cost"
    positive: Bools  # the classes of the records

    def _of_cost(self, name: str) -> list[str]:
        """Return the columns of a cost that are known only afterwards."""
        return [column for column in self.formulas[name].columns if column in self.after]

    @cached_property
    def _actual(self) -> dict[str, float | Floats]:
        """Both costs; where they are not charged, or not known, those that are estimated are NaN."""
        found: dict[str, float | Floats] = {}
        for name, formula in self.formulas.items():
            value = formula.evaluate(self.frame, may_be_missing=bool(self._of_cost(name)))
            if self._of_cost(name):
                value = np.where(self._is_charged(name), value, np.nan)
                if np.isnan(value).all():
                    raise StudyError(
                        f"{formula.what} {formula.text!r} is not known of any record that it is charged to"
                    )
            formula.refuse_negative(value)
            found[name] = value
        return found

    def _is_charged(self, name: str) -> Bools:
        """Return which records a cost is charged to: false negatives are positive."""
        return self.positive if name == "fn_cost" else ~self.positive

    def charged(self) -> Costs:
        """Return what mistakes turn out to cost; the mean cost stands where that is not charged, or not known."""
        return _costs({name: _filled(value, float(np.nanmean(value))) for name, value in self._actual.items()})

    def n_unknown(self) -> int:
        """Return how many records lack a cost that is charged to them: they are judged by the estimate."""
        return sum(int((np.isnan(value) & self._is_charged(name)).sum()) for name, value in self._actual.items())

    def fit(self, X: pl.DataFrame, rows: Indices) -> dict[str, ForeseenCost]:
        """Return the costs that need estimates, with regressions fitted to some of the records."""
        found = {}
        for name, formula in self.formulas.items():
            amounts = {}
            for column in self._of_cost(name):
                try:
                    amounts[column] = AmountEstimator(amount_regressor()).fit(
                        X[rows], self._amount(name, column)[rows], what=f"--after {column!r}"
                    )
                except CostsError as error:
                    raise StudyError(str(error)) from None
            if amounts:
                found[name] = ForeseenCost(formula.text, formula.what, amounts)
        return found

    def _amount(self, name: str, column: str) -> Floats:
        """Return a column where a cost is charged, and NaN elsewhere: a donation of 0 of those who gave nothing too."""
        values = self.frame.get_column(column).cast(pl.Float64).to_numpy()
        return np.where(self._is_charged(name), values, np.nan)

    def estimate(self, X: pl.DataFrame, learning: Indices, folds: Folds) -> dict[str, Floats]:
        """Return an estimate of each cost that needs one, for all records.

        Those of learning records are by regressions on the records that the models of their fold are trained on, those
        of all others by regressions on all learning records.
        """
        everywhere = self.fit(X, learning)
        found = {name: cost(X, self.frame) for name, cost in everywhere.items()}
        for k in range(len(folds)):
            rows = learning[folds.judged(k)]
            for name, cost in self.fit(X, learning[folds.trained(k)]).items():
                found[name][rows] = cost(X[rows], self.frame[rows])
        only_trains = learning[folds.fold == ONLY_TRAINS]
        if only_trains.size:  # the first ones in time, which no earlier model can judge
            for name, cost in self.fit(X, only_trains).items():
                found[name][only_trains] = self._out_of_fold(name, cost, X, only_trains)
        return found

    def _out_of_fold(self, name: str, cost: ForeseenCost, X: pl.DataFrame, rows: Indices) -> Floats:
        """Return the estimates of records that regressions were fitted to, by folds of these records."""
        rng = np.random.default_rng(0)
        amounts = {
            column: amount.out_of_fold(X[rows], self._amount(name, column)[rows], rng)
            for column, amount in cost.amounts.items()
        }
        return cost.given(amounts, self.frame[rows])

    def costs(self, X: pl.DataFrame, learning: Indices, folds: Folds) -> tuple[Costs, Costs]:
        """Return what mistakes turn out to cost on all records, and what is known of that when deciding.

        A cost that nobody is charged, or that is not known, is the estimate.
        """
        estimated = self.estimate(X, learning, folds)
        known = {name: estimated.get(name, value) for name, value in self._actual.items()}
        filled = {name: _filled(value, known[name]) for name, value in self._actual.items()}
        return _costs(filled), _costs(known)


def _filled(value: float | Floats, other: float | Floats) -> float | Floats:
    return np.where(np.isnan(value), other, value) if np.ndim(value) else value


def _costs(found: dict[str, float | Floats]) -> Costs:
    return Costs(fp=found["fp_cost"], fn=found["fn_cost"])
