"""Constraints on the parameters of estimators: declared as a table, checked in `fit`."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor

__all__ = ["Constraint", "boolean", "check_value", "choice", "classifier", "fraction", "number", "size", "whole"]


class Constraint(NamedTuple):
    """What a parameter may be, as a test and in words that complete "name=value ..."."""

    accepts: Callable[[Any], bool]
    advice: str
    error: type[Exception] = ValueError


def check_value(name: str, value: Any, constraint: Constraint) -> None:
    """Raise an error that names a value that is not what it may be."""
    if not constraint.accepts(value):
        raise constraint.error(f"{name}={value!r} {constraint.advice}")


def choice(*values: str | None) -> Constraint:
    """Accept one of some texts, or None where that is among them."""
    return Constraint(
        lambda value: isinstance(value, str | None) and value in values,
        f"is not known: choose from {', '.join(map(repr, values))}",
    )


def whole(least: int, most: int | None = None, *, optional: bool = False) -> Constraint:
    """Accept a whole number of at least `least`."""

    def accepts(value: Any) -> bool:
        if value is None:
            return optional
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return is_whole and least <= value and (most is None or value <= most)

    reach = f"of at least {least}" if most is None else f"from {least} to {most}"
    return Constraint(accepts, f"is not valid: give a whole number {reach}{', or None' if optional else ''}")


def size(least: int) -> Constraint:
    """Accept a whole number of at least `least`, or a share of all."""
    return Constraint(
        lambda value: whole(least).accepts(value) or (isinstance(value, float | np.floating) and 0 < float(value) <= 1),
        f"is not valid: give a whole number of at least {least}, or a share in (0, 1]",
    )


def number(least: float, most: float) -> Constraint:
    """Accept a number from `least` to `most`."""
    return Constraint(
        lambda value: isinstance(value, Real) and not isinstance(value, bool) and least <= float(value) <= most,
        f"is not valid: give a number from {least:g} to {most:g}",
    )


def fraction(*values: str | None) -> Constraint:
    """Accept a share between 0 and 1, or one of some other values."""

    def accepts(value: Any) -> bool:
        return choice(*values).accepts(value) or (isinstance(value, float | np.floating) and 0 < float(value) < 1)

    return Constraint(accepts, f"is not known: choose a fraction between 0 and 1, or one of {values}")


def boolean() -> Constraint:
    """Accept True or False."""
    return Constraint(lambda value: isinstance(value, bool | np.bool_), "is not known: choose from True, False")


def classifier(*, optional: bool = False) -> Constraint:
    """Accept a classifier; regressors are refused, because their numbers are no labels."""

    def accepts(value: Any) -> bool:
        if value is None:
            return optional
        if isinstance(value, type) or not hasattr(value, "fit"):
            return False
        return not (hasattr(value, "__sklearn_tags__") and is_regressor(value))

    return Constraint(accepts, "is not a classifier: give one with fit and predict_proba", TypeError)
