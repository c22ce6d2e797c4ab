"""A look at the data before anything is trained: what would make figures wrong, with the evidence and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from stakes._dates import sources_of
from stakes._expressions import cost_formulas
from stakes._typing import Bools, Indices
from stakes.exceptions import StudyError
from stakes.study.data import StudyData
from stakes.study.drift import Watch, profile
from stakes.study.leaks import leaks
from stakes.tree.binning import Binned

__all__ = ["Check", "few_records", "identity", "look", "refuse_leaks"]

# An error stops a study.
ERROR, WARNING, NOTE = "error", "warning", "note"

# With fewer records of a class to learn from, the figures say little.
FEW = 50
# Columns of so many different values tell records apart, where their names say so.
MANY, NEARLY_ALL = 100, 0.9
# All different whole numbers are drawn on purpose where chance would have made so many pairs of them.
PAIRS = 20
# Test records that are in the learning records, too: beyond this share, and beyond so many times what chance makes.
REPEATED, TIMES = 0.005, 10.0

_OF_SOMEONE = (
    "customer|client|account|card|policy|invoice|order|transaction|ticket|employee|member|contract|user|patient|claim|"
    "control|serial|reference|row|record|case|loan|person|subscriber"
)
_NAME_OF_ID = re.compile(
    rf"(^|[^a-z])(id|uuid|guid)$|(^|[^a-z])({_OF_SOMEONE})[^a-z]*(no|nr|num|number|code|ref|key|hash)$"
    r"|^(customer|client|account|card|user|member|policy|patient|employee)$"
)


class Check(NamedTuple):
    """Something that was noticed about the data."""

    kind: str  # "leak", "id", "split", "constant", "empty", "duplicates", "few", "classes", "shift"
    column: str | None  # where it is about one column
    evidence: str
    option: str | None  # what settles it
    severity: str  # "error", "warning" or "note"

    def __str__(self) -> str:
        about = "" if self.column is None else f"column {self.column!r} "
        return f"{about}{self.evidence}" + (f": {self.option}" if self.option else "")


# One column


def identity(column: pl.Series) -> str | None:
    """Return what says that a column tells records apart, such as numbers of customers; None if nothing does."""
    values = column.drop_nulls()
    n, different = len(values), values.n_unique()
    named = _NAME_OF_ID.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).lower().strip()) is not None
    if n < 3:
        return None
    if values.dtype == pl.String:
        if different == len(column):
            return "its texts are different in all records, like names"
        if n >= 20 and different >= NEARLY_ALL * n:
            return f"{different:,} of its {n:,} texts are different, like names"
    elif not (values.dtype.is_integer() or (values.dtype.is_float() and bool((values == values.round()).all()))):
        return None
    elif different == len(column):
        reach = float(values.max()) - float(values.min()) + 1.0  # type: ignore[arg-type]
        if named or reach == n:
            return "it numbers the records"
        if n >= 20 and values.is_sorted():
            return "its numbers are all different and increase from row to row"
        if n * n / (2.0 * reach) > PAIRS:
            return f"its {n:,} whole numbers are all different, though they are of a range of {reach:,.0f}"
    if named and (different >= MANY or different >= n / 2):
        return f"it tells records apart, by its name and its {different:,} values"
    return None


# All of the data


def look(data: StudyData, seed: int) -> list[Check]:
    """Return what was noticed about data: when they were read, and by a look at all of the records."""
    learning, test = data.split(seed)
    found = _leaks(data, learning, seed)
    found += _repeated(data, learning, test)
    if data.test_rows is not None or data.time is not None:
        found += _shift(data, learning, test)
    return found + [Check(**check) for check in data.info.get("checks", ())]


def refuse_leaks(checks: Iterable[Check]) -> None:
    """Raise an error where a column gives the class away and is not allowed to."""
    found = [check for check in checks if check.severity == ERROR]
    if found:
        more = f" (and {len(found) - 1} more: see stakes check)" if len(found) > 1 else ""
        raise StudyError(f"{found[0]}{more}")


def _leaks(data: StudyData, learning: Indices, seed: int) -> list[Check]:
    """Return the features and costs that give the class away."""
    positive, allowed = data.positive[learning], set(data.allow)
    rng = np.random.default_rng(seed)
    found = []
    leaking = leaks(data.binned(seed).take_rows(learning), positive, rng)
    for name, evidence in leaking.items():
        columns = _columns_of(name, data)
        if name not in columns and leaking.keys() & set(columns):
            continue  # a part of a date that is named itself
        option = (
            f"--drop {' or '.join(columns)} if it is known only afterwards, "
            f"--allow {','.join(columns)} if it is known when deciding"
        )
        severity = NOTE if allowed.issuperset(columns) else ERROR
        found.append(Check("leak", name, f"gives the class away, {evidence}", option, severity))
    if data.costs is None or data.after is not None or data.known_costs is not None:
        return found
    costs = {"fp_cost": data.costs.fp, "fn_cost": data.costs.fn}
    varying = {name: np.asarray(cost)[learning] for name, cost in costs.items() if np.ndim(cost)}
    formulas = cost_formulas(data.info.get("fp_cost"), data.info.get("fn_cost"))
    own = {check.column for check in found}
    for name, evidence in leaks(Binned.of(pl.DataFrame(varying)), positive, rng).items() if varying else ():
        what = f"--{name.replace('_', '-')}"
        if name in formulas and own.intersection(formulas[name].columns):
            continue  # a feature that was named above
        option = f"--after COLUMN if a column of it is known only afterwards, --allow {name} if not"
        severity = NOTE if name in allowed else ERROR
        found.append(Check("leak", None, f"{what} gives the class away, {evidence}", option, severity))
    return found


def _columns_of(feature: str, data: StudyData) -> list[str]:
    """Return the columns of the file that a feature is made of: itself, or the dates that it is a part of."""
    if feature in data.info.get("features", data.frame.columns):
        return [feature]
    return [column for column in sources_of(feature) if column in data.frame.columns]


def _repeated(data: StudyData, learning: Indices, test: Indices) -> list[Check]:
    """Return whether test records are in the learning records, too, more often than by chance."""
    frame = data.frame
    hashes = frame.hash_rows(seed=0).to_numpy()
    share = float(np.isin(hashes[test], hashes[learning]).mean())
    if share <= REPEATED:
        return []
    # The chance that two records are equal, if columns were independent of each other.
    alike = 1.0
    for column in frame.iter_columns():
        counts = column.value_counts(name="n")["n"].to_numpy() / len(column)
        alike *= float((counts**2).sum())
    if share <= TIMES * min(1.0, alike * learning.size):
        return []
    evidence = f"{share:.1%} of the test records are equal to learning records in all features"
    return [
        Check("duplicates", None, evidence, "leave out what is there twice, or keep it together by --groups", WARNING)
    ]


def _shift(data: StudyData, learning: Indices, test: Indices) -> list[Check]:
    """Return the columns in which the test records differ from the learning records."""
    watch = Watch(profile(data.frame[learning]))
    watch.add(data.frame[test])
    return [
        Check(
            "shift",
            column,
            f"is different in the test records (stability index {index:.2f}): {evidence}",
            "expect less of it on new records, or --drop it",
            WARNING,
        )
        for column, index, evidence in watch.moved()
    ]


def few_records(positive: Bools, classes: tuple[str, str]) -> list[Check]:
    """Return a warning for each class that has few records to learn from, with what they allow."""
    return [
        Check(
            "few",
            None,
            f"there are only {n} records of {name!r} to learn from: all figures are uncertain, and the share of them "
            f"that is found is known to within {98.0 / np.sqrt(max(n, 1)):.0f} points at best",
            "give more records; until then --repeats 5, and simple models such as --methods lr",
            WARNING,
        )
        for name, n in zip(classes, np.bincount(positive, minlength=2), strict=True)
        if n < FEW
    ]
