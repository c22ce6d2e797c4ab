"""Costs by formulas over columns, none of which may be negative."""

from __future__ import annotations

import numpy as np
import polars as pl

from stakes._expressions import Expression, in_records, parse
from stakes._typing import Floats
from stakes.exceptions import StudyError

__all__ = ["cost_formulas", "evaluate_cost", "refuse_negative"]


def cost_formulas(fp_cost: str | float | None, fn_cost: str | float | None) -> dict[str, Expression]:
    """Read the formulas of the costs that are given."""
    given = {"fp_cost": fp_cost, "fn_cost": fn_cost}
    return {name: parse(cost, what=f"--{name.replace('_', '-')}") for name, cost in given.items() if cost is not None}


def evaluate_cost(cost: Expression, frame: pl.DataFrame, *, first_record: int = 1) -> float | Floats:
    """Return a cost of each record, which must not be negative; `first_record` is as for `Expression.evaluate`."""
    value = cost.evaluate(frame, first_record=first_record)
    refuse_negative(cost, value, first_record)
    return value


def refuse_negative(cost: Expression, value: float | Floats, first_record: int = 1) -> None:
    """Raise an error that names the first records with a negative cost; missing ones are none."""
    negative = np.flatnonzero(np.atleast_1d(np.asarray(value) < 0))
    if negative.size:
        where = f" in {in_records(pl.Series(negative), first_record)}" if np.ndim(value) else ""
        first = float(np.atleast_1d(value)[negative[0]])
        raise StudyError(
            f"{cost.what} {cost.text!r}: a negative cost ({first:g}){where}: check its sign, or write greatest(..., 0)"
        )
