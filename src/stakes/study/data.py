"""The user's data: a file with a target, costs by formula, and features of whatever type."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes.costs import Costs
from stakes.datasets.splits import Rows, Split, SplitPlan
from stakes.exceptions import StudyError
from stakes.study.expressions import Expression, did_you_mean, in_records, parse
from stakes.study.files import as_kind, check_finite, conform, kinds_of, read_file, tidy

__all__ = ["StudyData", "evaluate_cost", "load_data"]


@dataclass(frozen=True, eq=False)
class StudyData:
    """Records to study, with what mistakes cost.

    Attributes
    ----------
    name : str
        The name of the file.
    frame : polars.DataFrame
        The features.
    positive : ndarray of shape (n_records,)
        Whether each record is positive.
    classes : tuple of str
        How the negative and the positive class are called.
    costs : Costs or None
        What mistakes cost; None where the study is about class imbalance alone.
    test_rows : ndarray of row numbers, or None
        The test records, where they are given.
    test_fraction : float
        The share of the records to test on, where they are drawn.
    validation_fraction : float
        The share to validate on, of what is not for testing.
    info : dict
        What was asked for, as plain data: enough to decide on new records.
    validation_rows : ndarray of row numbers, or None
        The validation records, where they are given.

    Examples
    --------
    From a file by `load_data`. From memory:

    >>> from stakes.datasets import make_churn
    >>> from stakes.study import StudyData
    >>> made = make_churn(1000, random_state=0)
    >>> data = StudyData(
    ...     name="churn",
    ...     frame=made.frame,
    ...     positive=made.target == 1,
    ...     classes=("stays", "leaves"),
    ...     costs=made.costs,
    ...     test_rows=None,
    ...     test_fraction=0.2,
    ...     validation_fraction=0.2,
    ...     info={},
    ... )
    >>> [rows.size for rows in data.split(repeat=0, seed=0)]
    [640, 160, 200]
    """

    name: str
    frame: pl.DataFrame
    positive: NDArray[np.bool_]
    classes: tuple[str, str]
    costs: Costs | None
    test_rows: Rows | None
    test_fraction: float
    validation_fraction: float
    info: dict[str, Any]
    validation_rows: Rows | None = None

    def __len__(self) -> int:
        return self.positive.size

    def split(self, repeat: int, seed: int) -> Split:
        """Return the rows to train, validate and test on, stratified by class.

        Parameters
        ----------
        repeat : int
            Which repetition. The test records are the same in all of them.
        seed : int
            Another seed draws other records throughout.
        """
        try:
            split = self._divide(repeat, seed)
        except ValueError:  # of scikit-learn, about a class with a single record
            raise self._too_few("too few records") from None
        for part, rows in split._asdict().items():
            if self.positive[rows].all() or not self.positive[rows].any():
                raise self._too_few(f"the {part} records are of one class only" if rows.size else f"no {part} records")
        return split

    def costs_of(self, split: Split, repeat: int, seed: int) -> list[tuple[Costs | None, Costs | None]]:
        """Return, for each part of a split, what mistakes cost, and what is known of it when a decision is due.

        The two are the same here; where an outcome reveals its cost (a donation), they are not.
        """
        costs = [None if self.costs is None else self.costs[rows] for rows in split]
        return list(zip(costs, costs, strict=True))

    def _divide(self, repeat: int, seed: int) -> Split:
        target = self.positive.astype(np.int64)
        if self.validation_rows is None:
            test = round(self.test_fraction * len(self)) if self.test_rows is None else self.test_rows
            rest = len(self) - (test if isinstance(test, int) else test.size)
            validation = round(self.validation_fraction * rest)
            return SplitPlan(rest - validation, validation, test).split(target, repeat=repeat, seed=seed)
        if self.test_rows is None:
            # What is drawn and what is given change places.
            rest = len(self) - self.validation_rows.size
            drawn = round(self.test_fraction * rest)
            plan = SplitPlan(rest - drawn, drawn, self.validation_rows)
            train, test_rows, _ = plan.split(target, repeat=0, seed=seed)
            return Split(train, self.validation_rows, test_rows)
        given = np.union1d(self.validation_rows, self.test_rows)
        return Split(np.setdiff1d(np.arange(len(self)), given), self.validation_rows, self.test_rows)

    def _too_few(self, why: str) -> StudyError:
        n = int(self.positive.sum())
        return StudyError(
            f"{self.name}: {why}: of {len(self):,} records {n:,} are {self.classes[1]!r}, and some of both classes are "
            "needed to train, to validate and to test on; give more records, or another --test or --validation"
        )

    def fingerprint(self) -> str:
        """Return a digest of everything that results depend on."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256(repr((self.classes, self.test_fraction, self.validation_fraction)).encode())
        for column in self.frame.iter_columns():
            digest.update(repr((column.name, column.dtype)).encode())
            _add_values(digest, column)
        costs = (None, None) if self.costs is None else (self.costs.fp, self.costs.fn)
        for array in (self.positive, *costs, self.test_rows, self.validation_rows):
            digest.update(b"none" if array is None else np.asarray(array).tobytes())
            digest.update(b";")
        return digest.hexdigest()


def _add_values(digest: Any, column: pl.Series) -> None:
    """Add the values of a column to a digest, as they are and not as polars happens to keep them."""
    digest.update(column.is_null().to_numpy().tobytes())
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        texts = column.fill_null("")
        digest.update(texts.str.len_bytes().to_numpy().tobytes())
        digest.update(texts.str.join("")[0].encode())
    else:
        digest.update(column.to_physical().fill_null(strategy="zero").to_numpy().tobytes())


def load_data(
    path: str | Path,
    *,
    target: str,
    positive: Any = None,
    fp_cost: str | float | None = None,
    fn_cost: str | float | None = None,
    drop: Iterable[str] = (),
    test: str | float | Path = "0.2",
    validation: str | float | Path = "0.2",
) -> StudyData:
    """Read records from a CSV or Parquet file, and say in one line what is wrong with them.

    Parameters
    ----------
    path : path
        Texts are categories. Columns of texts that are all different, such as names of customers, are left out, and
        so are empty ones; `info["notes"]` tells.
    target : str
        The column with the two classes.
    positive : value, default=None
        The value of the positive class; by default the one sorted last, such as 1, True or "yes".
    fp_cost, fn_cost : str or float, default=None
        What a false positive and a false negative cost: a number, or arithmetic over columns such as
        ``"12 * MonthlyCharges"``. Without them the study is about class imbalance alone.
    drop : iterable of str, default=()
        Columns that are not features. Costs may use them.
    test : str, float or path, default="0.2"
        A share of the records; a file of the same layout; or "COLUMN>VALUE" (or >=), to test on what came later.
    validation : str, float or path, default="0.2"
        The same for the records to choose by, among those that are not for testing.

    Returns
    -------
    data : StudyData

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes.datasets import make_churn
    >>> from stakes.study.data import load_data
    >>> made = make_churn(1000, random_state=0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "churn.csv"
    ...     made.frame.with_columns(churned=made.target).write_csv(path)
    ...     data = load_data(path, target="churned", fp_cost="2 * monthly_charges", fn_cost="12 * monthly_charges")
    >>> len(data), data.classes
    (1000, ('0', '1'))
    """
    path = Path(path)
    frame, notes = tidy(read_file(path))
    if target not in frame.columns:
        for note in notes:
            if note.startswith(f"column {target!r} is left out"):
                raise StudyError(f"--target {target!r}: {note}")
        raise StudyError(f"--target {target!r}: {path.name} has no such column{did_you_mean(target, frame.columns)}")
    dropped = _to_drop(drop, frame.columns, target)
    frame, test_part = _take_part(frame, test, "--test")
    frame, validation_part = _take_part(frame, validation, "--validation")
    is_positive, classes = _classes(frame.get_column(target), target, positive)
    if positive is None:
        notes.append(f"{classes[1]!r} is taken for the positive class of {target!r}: --positive would change that")
    costs = _costs(frame, fp_cost, fn_cost)
    features = _features(frame.drop(target, *dropped), path.name, notes)
    if not features.width:
        raise StudyError(f"{path.name} has no features: besides {target!r}, no column is left to learn from")
    test_rows, validation_rows = test_part.rows, validation_part.rows
    if validation_rows is not None and test_rows is not None:
        validation_rows = np.setdiff1d(validation_rows, test_rows)
    data = StudyData(
        name=path.name,
        frame=features,
        positive=is_positive,
        classes=classes,
        costs=costs,
        test_rows=test_rows,
        test_fraction=test_part.fraction,
        validation_fraction=validation_part.fraction,
        info={
            "data": path.name,
            "target": target,
            "positive": classes[1],
            "classes": list(classes),
            "fp_cost": None if fp_cost is None else str(fp_cost),
            "fn_cost": None if fn_cost is None else str(fn_cost),
            "drop": dropped,
            "test": test_part.description,
            "validation": validation_part.description,
            "features": kinds_of(features),
            "cost_columns": kinds_of(_cost_columns(frame, fp_cost, fn_cost)),
            "notes": notes,
        },
        validation_rows=validation_rows,
    )
    data.split(0, 0)  # says so where that cannot be done
    return data


def _to_drop(drop: Iterable[str], columns: list[str], target: str) -> list[str]:
    """Return the columns to drop: each item is a name, or several with commas between them."""
    found: list[str] = []
    for item in [drop] if isinstance(drop, str) else drop:
        for name in [item] if item in columns else [part.strip() for part in item.split(",") if part.strip()]:
            if name not in columns:
                raise StudyError(f"--drop {name!r}: there is no such column{did_you_mean(name, columns)}")
            if name == target:
                raise StudyError(f"--drop {name!r}: this is the target, which is no feature anyway")
            if name not in found:
                found.append(name)
    return found


def _classes(column: pl.Series, target: str, positive: Any) -> tuple[NDArray[np.bool_], tuple[str, str]]:
    """Return which records are positive, and what the classes are called: the negative and the positive one."""
    if column.null_count():
        missing = in_records(column.is_null().arg_true())
        raise StudyError(f"--target {target!r} is missing in {missing}: leave them out, or fill them in")
    values = column.unique().sort().to_list()
    shown = ", ".join(repr(_label(value)) for value in values[:5]) + (", ..." if len(values) > 5 else "")
    if len(values) < 2:
        raise StudyError(f"--target {target!r} has one class only, {shown}: records of both classes are needed")
    if len(values) > 2:
        raise StudyError(
            f"--target {target!r} has {len(values):,} values ({shown}), and two classes are needed: "
            "choose another column, or set one class against the others first"
        )
    chosen = 1 if positive is None else _matching(values, positive)
    if chosen is None:
        raise StudyError(f"--positive {str(positive)!r} is not a value of {target!r}: choose from {shown}")
    is_positive = (column == values[chosen]).to_numpy().astype(np.bool_)
    return is_positive, (_label(values[1 - chosen]), _label(values[chosen]))


def _label(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _matching(values: list[Any], wanted: Any) -> int | None:
    """Return which value is meant, as text or as a number: 1, "1", 1.0 and True are one; None if there is none."""
    for read in (str, _label, lambda value: _label(value).strip().casefold(), _as_number):
        found = [i for i, value in enumerate(values) if read(value) is not None and read(value) == read(wanted)]
        if len(found) == 1:
            return found[0]
    return None


def _as_number(value: Any) -> float | None:
    text = str(value).strip().lower()
    return float(text == "true") if text in ("true", "false") else _float(text)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _cost_columns(frame: pl.DataFrame, *costs: str | float | None) -> pl.DataFrame:
    names = {name for cost in costs if cost is not None for name in parse(cost, what="a cost").columns}
    return pl.DataFrame([frame.get_column(name) for name in sorted(names)])


def _costs(frame: pl.DataFrame, fp_cost: str | float | None, fn_cost: str | float | None) -> Costs | None:
    given = {"--fp-cost": fp_cost, "--fn-cost": fn_cost}
    missing = [what for what, cost in given.items() if cost is None]
    if len(missing) == 2:
        return None
    if missing:
        other = next(what for what in given if what not in missing)
        raise StudyError(f"{other} is given and {missing[0]} is not: give both, or none to study class imbalance alone")
    fp, fn = (evaluate_cost(parse(cost, what=what), frame) for what, cost in given.items() if cost is not None)
    if not np.any(fp) and not np.any(fn):
        raise StudyError(f"--fp-cost {str(fp_cost)!r} and --fn-cost {str(fn_cost)!r} are 0: no mistake costs anything")
    return Costs(fp=fp, fn=fn)


def evaluate_cost(cost: Expression, frame: pl.DataFrame, *, first_record: int = 1) -> float | NDArray[np.float64]:
    """Return a cost of each record, which must not be negative; `first_record` is as for `Expression.evaluate`.

    Examples
    --------
    >>> import polars as pl
    >>> from stakes.study.data import evaluate_cost
    >>> from stakes.study.expressions import parse
    >>> evaluate_cost(parse("greatest(12 * charge - 100, 0)", what="--fn-cost"), pl.DataFrame({"charge": [5, 20]}))
    array([  0., 140.])
    """
    value = cost.evaluate(frame, first_record=first_record)
    negative = np.flatnonzero(np.atleast_1d(np.asarray(value) < 0))
    if negative.size:
        where = f" in {in_records(pl.Series(negative), first_record)}" if np.ndim(value) else ""
        first = float(np.atleast_1d(value)[negative[0]])
        raise StudyError(
            f"{cost.what} {cost.text!r}: a negative cost ({first:g}){where}: check its sign, or write greatest(..., 0)"
        )
    return value


def _features(frame: pl.DataFrame, source: str, notes: list[str]) -> pl.DataFrame:
    """Return the columns that can be learnt from, with a note on each of the others."""
    kept = []
    for column in frame.iter_columns():
        if not column.count():
            notes.append(f"column {column.name!r} is left out: it is empty")
        elif column.dtype == pl.String and column.n_unique() == len(column):
            notes.append(f"column {column.name!r} is left out: its texts are different in all records, like names")
        else:
            kept.append(column)
    features = pl.DataFrame(kept)
    check_finite(features, source=source)
    return features


class _Part(NamedTuple):
    """Records to test or to validate on."""

    rows: Rows | None
    fraction: float
    description: str


def _take_part(frame: pl.DataFrame, asked: str | float | Path, what: str) -> tuple[pl.DataFrame, _Part]:
    """Return the frame, with the records of another file behind it where that is asked for, and the part."""
    text = str(asked)
    share = _float(text)
    if share is not None:
        if not 0 < share < 1:
            raise StudyError(f"{what} {text}: give a share of the records between 0 and 1")
        return frame, _Part(None, share, f"{share:.0%} held out")
    if Path(text).exists():
        more = conform(tidy(read_file(text))[0], kinds_of(frame), source=Path(text).name)
        rows = np.arange(frame.height, frame.height + more.height)
        both = pl.concat([frame, more], how="vertical_relaxed")
        return both, _Part(rows, rows.size / both.height, f"the records of {Path(text).name}")
    match = re.fullmatch(r"(.+?)\s*(>=|>)\s*(.+)", text.strip())
    if match is None:
        raise StudyError(f"{what} {text!r}: there is no such file, and it is neither a share nor COLUMN>VALUE")
    rows = _rows_above(frame, *match.groups(), what=f"{what} {text!r}")
    return frame, _Part(rows, rows.size / frame.height, f"records with {' '.join(match.groups())}")


def _rows_above(frame: pl.DataFrame, name: str, sign: str, value: str, *, what: str) -> Rows:
    if name not in frame.columns:
        raise StudyError(f"{what}: there is no column {name!r}{did_you_mean(name, frame.columns)}")
    column = frame.get_column(name)
    if column.null_count():
        raise StudyError(f"{what}: column {name!r} is missing in {in_records(column.is_null().arg_true())}")
    kind = kinds_of(frame)[name]
    limit, wrong = as_kind(pl.Series([value]), kind)
    if wrong.any() or limit.null_count():
        raise StudyError(f"{what}: {value!r} is not a {kind}, as column {name!r} is")
    above = column >= limit[0] if sign == ">=" else column > limit[0]
    if above.all() or not above.any():
        raise StudyError(f"{what}: this is so in {'all' if above.all() else 'no'} records, and in some it must be")
    return above.arg_true().to_numpy().astype(np.intp)
