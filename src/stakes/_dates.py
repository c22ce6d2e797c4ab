"""Parts of dates that trees can use: the weekday, the hour, and the days from one date to another.

A part is named after its column, such as ``"opened: weekday"``: it can be made of new records by its name alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import polars as pl

__all__ = ["parts_of", "sources_of", "with_parts"]

_PART = re.compile(r"(?P<column>.+): (?:(?P<what>weekday|hour)|days before (?P<until>.+))", re.DOTALL)
MINUTES_OF_A_DAY = 1440.0


def parts_of(frame: pl.DataFrame, dates: Sequence[str], until: Iterable[str] = ()) -> list[str]:
    """Return the names of the parts of some columns: the weekday, the hour where records differ in it, and ages.

    Ages are days before the dates `until`, such as the time of a record.
    """
    found = []
    for name in dates:
        found.append(f"{name}: weekday")
        if isinstance(frame.schema[name], pl.Datetime) and frame.get_column(name).dt.hour().drop_nulls().n_unique() > 1:
            found.append(f"{name}: hour")
        found += [
            f"{name}: days before {other}"
            for other in until
            if other != name and f"{other}: days before {name}" not in found
        ]
    return [name for name in found if name not in frame.columns]


def sources_of(name: str) -> list[str]:
    """Return the columns that a part is made of; none if the name is not that of a part."""
    match = _PART.fullmatch(name)
    return [] if match is None else [each for each in (match["column"], match["until"]) if each is not None]


def with_parts(frame: nw.DataFrame[Any], names: Iterable[str]) -> nw.DataFrame[Any]:
    """Return a frame with those of the named parts that it lacks, and has the dates of."""
    made = []
    for name in names:
        if name in frame.columns or not (sources := sources_of(name)):
            continue
        if all(isinstance(frame.schema.get(source), nw.Date | nw.Datetime) for source in sources):
            made.append(_part(name).alias(name))
    return frame.with_columns(*made) if made else frame


def _part(name: str) -> nw.Expr:
    match = _PART.fullmatch(name)
    assert match is not None
    if match["until"] is not None:
        first, last = (nw.col(each).cast(nw.Datetime("us")) for each in (match["column"], match["until"]))
        return (last - first).dt.total_minutes() / MINUTES_OF_A_DAY
    column = nw.col(match["column"])
    return column.dt.weekday() if match["what"] == "weekday" else column.dt.hour()
