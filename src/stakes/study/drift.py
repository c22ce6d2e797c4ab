"""How far the columns of new records have moved from those of the training records.

A profile counts the training records in cells of each column: tenths of its numbers, or its most frequent texts. It is
plain data, small enough to go with a model file. New records are counted in the same cells, some at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import chi2

from stakes._typing import Floats

__all__ = ["Moved", "Unseen", "Watch", "is_profile", "profile", "stability_index"]

TENTHS = 10
# Texts with a cell of their own; and texts that are remembered, to tell which are new.
CELLS, REMEMBERED = 20, 1000
# From here on a column has moved (population stability index), unless so few records do so by chance.
MOVED, CHANCE = 0.25, 1e-6


class Moved(NamedTuple):
    """A column that has moved."""

    column: str
    stability: float  # the population stability index
    evidence: str


class Unseen(NamedTuple):
    """Texts that were in no training record."""

    column: str
    n_records: int
    example: str


def profile(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return how the records are distributed in each column, as plain data.

    Examples
    --------
    >>> import polars as pl
    >>> from stakes.study.drift import profile
    >>> profile(pl.DataFrame({"plan": ["a", "b", "a", None]}))
    {'plan': {'texts': ['a', 'b'], 'complete': True, 'counts': [2, 1, 0, 1]}}
    """
    found = {}
    for column in frame.iter_columns():
        is_text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
        about = _texts(column) if is_text else {"cuts": _cuts(_as_floats(column))}
        found[column.name] = about | {"counts": _count(column, about).astype(int).tolist()}
    return found


def is_profile(known: Any, kinds: Mapping[str, str]) -> bool:
    """Return whether something read from a file is a profile of some of the columns of these kinds."""
    return isinstance(known, dict) and all(name in kinds and _is_counted(known[name], kinds[name]) for name in known)


def _is_counted(about: Any, kind: str) -> bool:
    of, values = ("texts", str) if kind == "text" else ("cuts", int | float)
    if not isinstance(about, dict) or not about.keys() <= {of, "counts", "complete"}:
        return False
    cells, counts = about.get(of), about.get("counts")
    return (
        isinstance(cells, list)
        and isinstance(counts, list)
        and len(counts) == (min(len(cells), CELLS) if kind == "text" else len(cells)) + 2
        and all(isinstance(cell, values) for cell in cells)
        and all(isinstance(count, int | float) for count in counts)
    )


def _texts(column: pl.Series) -> dict[str, Any]:
    counted = column.cast(pl.String).drop_nulls().alias("text").value_counts(name="n")
    texts = counted.sort("n", "text", descending=[True, False])["text"].to_list()
    return {"texts": texts[:REMEMBERED], "complete": len(texts) <= REMEMBERED}


def _cuts(values: Floats) -> list[float]:
    known = values[~np.isnan(values)]
    return np.unique(np.quantile(known, np.arange(1, TENTHS) / TENTHS)).tolist() if known.size else []


def _as_floats(column: pl.Series) -> Floats:
    return column.to_physical().cast(pl.Float64).to_numpy()


def _count(column: pl.Series, about: dict[str, Any]) -> Floats:
    """Return how many records are in each cell; the last is for missing values."""
    if "texts" in about:
        texts = about["texts"][:CELLS]
        codes = column.cast(pl.String).replace_strict(texts, list(range(len(texts))), default=len(texts))
        cell = np.where(column.is_null().to_numpy(), len(texts) + 1, codes.to_numpy())
        return np.bincount(cell.astype(np.intp), minlength=len(texts) + 2).astype(np.float64)
    values = _as_floats(column)
    up_to = [np.count_nonzero(values <= cut) for cut in about["cuts"]]
    known = values.size - np.count_nonzero(np.isnan(values))
    return np.diff([0.0, *up_to, known, values.size])


def stability_index(before: Floats, now: Floats) -> float:
    """Return the population stability index of two counts: the sum of (q - p) ln(q / p) over cells.

    Half a record is added to each cell, so that empty ones have a logarithm.
    """
    p, q = ((counts + 0.5) / (counts + 0.5).sum() for counts in (before, now))
    return float(((q - p) * np.log(q / p)).sum())


class Watch:
    """Counts of new records, some at a time, against a profile."""

    def __init__(self, known: dict[str, dict[str, Any]]) -> None:
        self.known = known
        self._counts = {name: np.zeros(len(about["counts"])) for name, about in known.items()}
        self._unseen: dict[str, Unseen] = {}

    def add(self, frame: pl.DataFrame) -> None:
        """Count some records; columns without a profile are ignored."""
        for name, about in self.known.items():
            column = frame.get_column(name)
            self._counts[name] += _count(column, about)
            if about.get("complete"):
                texts = column.cast(pl.String).drop_nulls()
                new = texts.filter(~texts.is_in(about["texts"]))
                if len(new):
                    self._add_unseen(Unseen(name, len(new), new[0]))

    def merge(self, other: Watch) -> None:
        """Add the counts of other records against the same profile."""
        for name, counts in other._counts.items():
            self._counts[name] += counts
        for new in other.unseen():
            self._add_unseen(new)

    def _add_unseen(self, new: Unseen) -> None:
        before = self._unseen.get(new.column, new._replace(n_records=0))
        self._unseen[new.column] = before._replace(n_records=before.n_records + new.n_records)

    def unseen(self) -> list[Unseen]:
        """Return the columns with texts that were in no training record."""
        return list(self._unseen.values())

    def moved(self) -> list[Moved]:
        """Return the columns that have moved, the furthest first."""
        found = []
        for name, about in self.known.items():
            before, now = np.asarray(about["counts"], dtype=np.float64), self._counts[name]
            if not before.sum() or not now.sum():
                continue
            index = stability_index(before, now)
            # Of records of the same source, the index is about this times a chi-squared variable.
            noise = 1 / before.sum() + 1 / now.sum()
            free = max(1, int(np.count_nonzero(before + now)) - 1)
            by_chance = noise * float(chi2.isf(CHANCE, free))
            if index > max(MOVED, by_chance):
                found.append(Moved(name, index, _evidence(about, before, now)))
        return sorted(found, key=lambda moved: -moved.stability)


def _evidence(about: dict[str, Any], before: Floats, now: Floats) -> str:
    """Return in words where the largest change is."""
    p, q = before / before.sum(), now / now.sum()
    cell = int(np.argmax(np.abs(q - p)))
    return f"{_cell(about, cell)} in {q[cell]:.0%} of the records, and in {p[cell]:.0%} of those before"


def _cell(about: dict[str, Any], cell: int) -> str:
    if cell == len(about["counts"]) - 1:
        return "missing"
    if "texts" in about:
        texts = about["texts"][:CELLS]
        return repr(texts[cell]) if cell < len(texts) else "another text"
    cuts = about["cuts"]
    if not cuts:
        return "present"
    if cell == 0:
        return f"at most {cuts[0]:g}"
    return f"above {cuts[-1]:g}" if cell == len(cuts) else f"above {cuts[cell - 1]:g} and up to {cuts[cell]:g}"
