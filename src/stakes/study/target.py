"""The two classes of a study: which value of the target is positive, and which records have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from stakes._expressions import in_records
from stakes._typing import Bools
from stakes.exceptions import StudyError
from stakes.study.files import as_kind, kind_of

__all__ = ["as_float", "classes_of", "is_positive", "label_of"]

# Pairs of labels that say themselves which class is positive.
YES, NO = {"1", "true", "yes", "y", "t"}, {"0", "-1", "false", "no", "n", "f"}


def classes_of(column: pl.Series, target: str, positive: Any) -> tuple[Bools, tuple[Any, Any]]:
    """Return which records are positive, and the values of the target: the negative and the positive one."""
    if column.null_count():
        missing = in_records(column.is_null().arg_true())
        raise StudyError(f"--target {target!r} is missing in {missing}: leave them out, or fill them in")
    values = column.unique().sort().to_list()
    shown = ", ".join(repr(label_of(value)) for value in values[:5]) + (", ..." if len(values) > 5 else "")
    if len(values) < 2:
        raise StudyError(f"--target {target!r} has one class only, {shown}: records of both classes are needed")
    if len(values) > 2:
        raise StudyError(
            f"--target {target!r} has {len(values):,} values ({shown}), and two classes are needed: "
            "choose another column, or set one class against the others first"
        )
    chosen = _usual_positive(column, values) if positive is None else _matching(values, positive)
    if chosen is None:
        raise StudyError(f"--positive {str(positive)!r} is not a value of {target!r}: choose from {shown}")
    found = (column == values[chosen]).to_numpy().astype(np.bool_)
    return found, (values[1 - chosen], values[chosen])


def is_positive(column: pl.Series, labels: tuple[Any, Any], target: str, *, first_record: int) -> Bools:
    """Return which of some more records are positive, whose classes must be those of the others."""
    column, _ = as_kind(column, kind_of(pl.Series([labels[1]]).dtype) or "text")
    is_one = column == labels[1]
    other = ~(is_one | (column == labels[0])).fill_null(False)
    if other.any():
        value, negative, positive = map(label_of, (column.filter(other)[0], *labels))
        where = in_records(other.arg_true(), first_record)
        raise StudyError(f"--target {target!r} is {value!r} in {where}, and neither {negative!r} nor {positive!r}")
    return is_one.to_numpy().astype(np.bool_)


def _usual_positive(column: pl.Series, values: list[Any]) -> int:
    """Return which value is meant by "positive" where nobody says: a word for yes, or else the rarer class."""
    labels = [label_of(value).strip().casefold() for value in values]
    for i, label in enumerate(labels):
        if label in YES and labels[1 - i] in NO:
            return i
    return int((column == values[1]).sum() * 2 <= len(column))


def label_of(value: Any) -> str:
    """Return a class as text: 1.0 is 1."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _matching(values: list[Any], wanted: Any) -> int | None:
    """Return which value is meant, as text or as a number: 1, "1", 1.0 and True are one; None if there is none."""
    for read in (str, label_of, lambda value: label_of(value).strip().casefold(), _as_number):
        found = [i for i, value in enumerate(values) if read(value) is not None and read(value) == read(wanted)]
        if len(found) == 1:
            return found[0]
    return None


def _as_number(value: Any) -> float | None:
    text = str(value).strip().lower()
    return float(text == "true") if text in ("true", "false") else as_float(text)


def as_float(text: str) -> float | None:
    """Return the number that a text stands for; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None
