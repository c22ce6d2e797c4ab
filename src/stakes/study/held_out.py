"""The records to test on, where they are told: a share of all, those of another file, or those above a value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from stakes._expressions import did_you_mean, in_records
from stakes._typing import Indices
from stakes.exceptions import StudyError
from stakes.study.dataset import open_records
from stakes.study.files import as_kind, conform, kinds_of, tidy
from stakes.study.target import as_float

__all__ = ["Condition", "HeldOut", "hold_out"]


class HeldOut(NamedTuple):
    """Records to test on."""

    rows: Indices | None  # None where they are yet to be drawn
    fraction: float
    description: str
    column: str | None = None  # by which they are told from others


def hold_out(
    frame: pl.DataFrame, asked: str | float | Path, tested: Indices | None = None
) -> tuple[pl.DataFrame, HeldOut]:
    """Return the frame, with the records of another file behind it where that is asked for, and those to test on.

    `tested` are the test records where a share of them was asked for, and they were drawn already.
    """
    text = str(asked)
    share = as_float(text)
    if share is not None:
        if not 0 < share < 1:
            raise StudyError(f"--test {text}: give a share of the records between 0 and 1")
        return frame, HeldOut(tested, share, f"{share:.0%} held out" if tested is None else f"{tested.size:,} held out")
    if Path(text).exists():
        more = conform(tidy(open_records(text).read())[0], kinds_of(frame), source=Path(text).name)
        rows = np.arange(frame.height, frame.height + more.height)
        both = pl.concat([frame, more], how="vertical_relaxed")
        return both, HeldOut(rows, rows.size / both.height, f"the records of {Path(text).name}")
    condition = Condition.of(text)
    above = condition.holds(frame)
    if above.all() or not above.any():
        raise StudyError(
            f"--test {text!r}: this is so in {'all' if above.all() else 'no'} records, and in some it must be"
        )
    rows = above.arg_true().to_numpy().astype(np.intp)
    description = f"records with {condition.name} {condition.sign} {condition.value}"
    return frame, HeldOut(rows, rows.size / frame.height, description, condition.name)


class Condition(NamedTuple):
    """A column that is above a value."""

    name: str
    sign: str
    value: str
    text: str  # as it was given

    @classmethod
    def of(cls, text: str) -> Condition:
        """Read COLUMN>VALUE, or COLUMN>=VALUE, of the option --test."""
        match = re.fullmatch(r"(.+?)\s*(>=|>)\s*(.+)", text.strip())
        if match is None:
            raise StudyError(f"--test {text!r}: there is no such file, and it is neither a share nor COLUMN>VALUE")
        return cls(match[1], match[2], match[3], text)

    def check(self, columns: list[str]) -> None:
        """Raise an error if the column is not among these."""
        name, *_, text = self
        if name not in columns:
            raise StudyError(f"--test {text!r}: there is no column {name!r}{did_you_mean(name, columns)}")

    def holds(self, frame: pl.DataFrame) -> pl.Series:
        """Return in which records the column is above the value."""
        self.check(frame.columns)
        name, sign, value, text = self
        column = frame.get_column(name)
        if column.null_count():
            raise StudyError(
                f"--test {text!r}: column {name!r} is missing in {in_records(column.is_null().arg_true())}"
            )
        kind = kinds_of(frame)[name]
        limit, wrong = as_kind(pl.Series([value]), kind)
        if wrong.any() or limit.null_count():
            raise StudyError(f"--test {text!r}: {value!r} is not a {kind}, as column {name!r} is")
        return column >= limit[0] if sign == ">=" else column > limit[0]
