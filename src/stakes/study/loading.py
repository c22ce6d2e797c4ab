"""From files to the data of a study: the classes, the costs by formula, the features, and how they are divided."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from stakes._dates import parts_of, with_parts
from stakes._expressions import Expression, cost_formulas, did_you_mean, in_records
from stakes._typing import Bools, Indices, Ints
from stakes.costs import Costs
from stakes.exceptions import StudyError
from stakes.study.after import AfterCosts
from stakes.study.check import NOTE, WARNING, Check, few_records, identity
from stakes.study.data import StudyData
from stakes.study.dataset import Dataset, is_url, open_records
from stakes.study.files import CsvFile, check_finite, kinds_of, tidy
from stakes.study.held_out import Condition, hold_out
from stakes.study.large import BATCH, Build, Parts, Source, load_large, records_in_memory
from stakes.study.store import BINS
from stakes.study.target import as_float, classes_of, label_of

__all__ = ["Asked", "load_data"]

# Of more dates than this, no differences are taken.
MOST_DATES = 4
# What is asked for, and needed to decide on new records or told of a study.
TOLD = ("target", "positive", "fp_cost", "fn_cost", "drop", "after", "groups", "time")


def load_data(
    path: str | Path,
    *,
    target: str,
    positive: Any = None,
    fp_cost: str | float | None = None,
    fn_cost: str | float | None = None,
    drop: Iterable[str] = (),
    after: Iterable[str] = (),
    allow: Iterable[str] = (),
    test: str | float | Path = "0.2",
    groups: str | None = None,
    time: str | None = None,
    memory: str | int | None = None,
    jobs: int | None = None,
    bins: str | Path | None = None,
) -> StudyData:
    """Read records from a CSV or Parquet file or many Parquet files, and say in one line what is wrong with them.

    Parameters
    ----------
    path : path
        A file; a folder of Parquet files, of which folders such as ``day=2024-05-01`` are columns, too; a pattern such
        as ``"payments/*.parquet"``; or the address of any of these in an object store. Texts are categories. Columns
        that tell records apart, such as numbers of customers, are left out, and so are empty and constant ones;
        `info["notes"]` tells. Dates get parts: the weekday, the hour, and the days before the time of the record, or
        before other dates.
    target : str
        The column with the two classes.
    positive : value, default=None
        The value of the positive class; by default 1, True or "yes" and the like, and otherwise the rarer class.
    fp_cost, fn_cost : str or float, default=None
        What a false positive and a false negative cost: a number, or arithmetic over columns such as
        ``"12 * MonthlyCharges"``. Without them the study is about class imbalance alone.
    drop : iterable of str, default=()
        Columns that are not features. Costs may use them.
    after : iterable of str, default=()
        Columns that are known only after the decision, such as a donation. They are not features; costs that use them
        are judged by the true values, and decided by estimates. They may be missing.
    allow : iterable of str, default=()
        Columns that are features although they tell records apart, or give the class away; "fp_cost" and "fn_cost" for
        costs that do.
    test : str, float or path, default="0.2"
        A share of the records; a file of the same layout; or "COLUMN>VALUE" (or >=), to test on what came later.
    groups : str, default=None
        A column, such as that of the customer: records with the same value stay together, in folds and for testing.
    time : str, default=None
        A column of times: models are judged on records that are later than those they were trained on, and the test
        records are the latest ones. Neither of the two columns is a feature.
    memory : str or int, default=None
        How much memory a study may use, such as "6GB". Of Parquet files with more records than go into it, a sample is
        studied, and all others are written to `bins`, a byte for each value, to train on. None is as much as there is.
    jobs : int, default=None
        How many processes share the memory: as many as there are cores by default.
    bins : path, default=None
        A folder for the records that are on disk; what is there already is not made again.

    Returns
    -------
    data : StudyData

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes.datasets import make_churn
    >>> from stakes.study import load_data
    >>> made = make_churn(1000, random_state=0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "churn.csv"
    ...     made.frame.with_columns(churned=made.target).write_csv(path)
    ...     data = load_data(path, target="churned", fp_cost="2 * monthly_charges", fn_cost="12 * monthly_charges")
    >>> len(data), data.classes
    (1000, ('0', '1'))
    """
    records = open_records(path)
    columns, test = records.columns, str(test)
    asked = Asked(
        target,
        positive,
        None if fp_cost is None else str(fp_cost),
        None if fn_cost is None else str(fn_cost),
        _named(drop, columns, target, "--drop"),
        _named(after, columns, target, "--after"),
        _named(allow, [*columns, "fp_cost", "fn_cost"], target, "--allow"),
        str(Path(test).absolute()) if as_float(test) is None and Path(test).exists() else test,
        groups,
        time,
    )
    source = {"path": str(path if is_url(path) else Path(path).absolute())}
    build = partial(_study_data, asked=asked, name=records.name, source=source)
    if memory is not None:
        source["memory"] = str(memory)
        in_memory = records_in_memory(memory, len(columns) - len(asked.unread), jobs)
        if isinstance(records, CsvFile):
            raise StudyError(f"--memory is for Parquet files, and {records.name} is none: write it as one")
        if len(records) > in_memory:
            return load_large(
                _large_source(records, asked, build, in_memory, f"--memory {memory}"),
                Path(bins or f"{records.name}-{BINS}"),
            )
    return build(records.read(without=asked.unread))


class Asked(NamedTuple):
    """What is asked for: the options of `load_data` that results depend on."""

    target: str
    positive: Any
    fp_cost: str | None
    fn_cost: str | None
    drop: list[str]
    after: list[str]
    allow: list[str]
    test: str
    groups: str | None
    time: str | None

    @property
    def unread(self) -> list[str]:
        """Columns that need not be read: dropped ones that nothing else mentions."""
        used = (self.fp_cost, self.fn_cost, self.groups, self.time, self.test, *self.after)
        mentioned = " ".join(map(str, used))
        return [name for name in self.drop if name not in mentioned]


def _large_source(records: Dataset, asked: Asked, build: Build, in_memory: int, memory: str) -> Source:
    """Return where a sample of the records comes from, with all others on disk."""
    share = as_float(asked.test)
    of_file = share is None and Path(asked.test).exists()
    for given, what in ((asked.time, "--time"), (asked.after, "--after"), (of_file, f"--test {asked.test}")):
        if given:
            raise StudyError(
                f"{what} needs all records in memory, and there are {len(records):,}, of which {in_memory:,} go into "
                f"{memory}: leave one of them out"
            )
    if asked.groups is not None:
        _check_column(asked.groups, records.columns, "--groups")
    above, n_above = None, 0
    if share is None:
        condition = Condition.of(asked.test)
        condition.check(records.columns)

        def above(batch: pl.DataFrame) -> Bools:
            return condition.holds(tidy(batch.select(condition.name))[0]).to_numpy()

        others = [column for column in records.columns if column != condition.name]
        n_above = sum(int(above(batch).sum()) for batch in records.batches(BATCH, without=others))

    return Source(records, asked, above, Parts(len(records), in_memory, share, n_above), build)


def _study_data(
    frame: pl.DataFrame, tested: Indices | None = None, *, asked: Asked, name: str, source: dict[str, str]
) -> StudyData:
    """Return the data of a study of records in memory, of which some may have been drawn to test on."""
    target, groups, time = asked.target, asked.groups, asked.time
    frame, notes = tidy(frame)
    if target not in frame.columns:
        for note in notes:
            if note.startswith(f"column {target!r} is left out"):
                raise StudyError(f"--target {target!r}: {note}")
        raise StudyError(f"--target {target!r}: {name} has no such column{did_you_mean(target, frame.columns)}")
    frame, held_out = hold_out(frame, asked.test, tested)
    is_positive, labels = classes_of(frame.get_column(target), target, asked.positive)
    classes = (label_of(labels[0]), label_of(labels[1]))
    checks = []
    if asked.positive is None:
        taken = f"{classes[1]!r} is taken for the positive class of {target!r}"
        checks.append(Check("classes", None, taken, "--positive would change that", NOTE))
    formulas = cost_formulas(asked.fp_cost, asked.fn_cost)
    costs, after_costs = _costs(frame, formulas, asked.after, is_positive)
    if groups is not None and time is not None:
        raise StudyError("--groups and --time cannot be had together: choose what matters more")
    group_of, time_of = _division(frame, groups, "--groups", target), _division(frame, time, "--time", target)
    by = {column for column in (groups, time, held_out.column) if column is not None} - {target}
    divided_by = "is no feature: records are divided by it"
    checks += [Check("split", column, divided_by, None, NOTE) for column in sorted(by - set(asked.drop))]
    if after_costs is not None and (n := after_costs.n_unknown()):
        notes.append(f"the cost of {n:,} records is not known afterwards either: they are judged by its estimate")
    no_features = {target, *asked.drop, *asked.after, *by}
    features = _features(frame.drop(no_features, strict=False), name, asked.allow, checks)
    if not features.width:
        raise StudyError(f"{name} has no features: besides {target!r}, no column is left to learn from")
    needed, features = _with_dates(frame, features, time)
    settled = asked._replace(positive=classes[1])._asdict()
    data = StudyData(
        name=name,
        frame=features,
        positive=is_positive,
        classes=classes,
        costs=costs,
        test_rows=held_out.rows,
        test_fraction=held_out.fraction,
        info={
            "data": name,
            "source": source | settled,
            **{name: settled[name] for name in TOLD},
            "classes": list(classes),
            "test": held_out.description if time is None or held_out.rows is not None else "the latest records",
            "features": kinds_of(needed),
            "cost_columns": kinds_of(_cost_columns(frame, formulas).drop(asked.after, strict=False)),
            "notes": notes,
        },
        groups=group_of,
        time=time_of,
        file_labels=labels,
        after=after_costs,
        allow=tuple(asked.allow),
    )
    learning, tested = data.split(0)  # raises StudyError if one of them would lack a class
    data.info["per_day"] = _per_day(frame, time or held_out.column, tested)
    checks += few_records(is_positive[learning], classes)
    notes += map(str, checks)
    data.info["checks"] = [check._asdict() for check in checks]
    return data


def _check_column(name: str, columns: list[str], what: str) -> None:
    if name not in columns:
        raise StudyError(f"{what} {name!r}: there is no such column{did_you_mean(name, columns)}")


def _division(frame: pl.DataFrame, name: str | None, what: str, target: str) -> Ints | None:
    """Return the values of a column as numbers in their order, to divide the records by."""
    if name is None:
        return None
    _check_column(name, frame.columns, what)
    if name == target:
        raise StudyError(f"{what} {name!r}: this is the target")
    column = frame.get_column(name)
    if column.null_count():
        raise StudyError(f"{what} {name!r} is missing in {in_records(column.is_null().arg_true())}: fill it in")
    return column.rank("dense").to_numpy().astype(np.int64) - 1


def _per_day(frame: pl.DataFrame, column: str | None, rows: Indices) -> float | None:
    """Return how many of these records there are in a day; None where that cannot be known."""
    if column is None or frame.schema[column] not in (pl.Date, pl.Datetime):
        return None
    seconds = frame.get_column(column)[rows].cast(pl.Datetime("us")).dt.epoch("s").to_numpy()
    # The last day counts where times are days.
    days = float(np.ptp(seconds)) / 86400 + (frame.schema[column] == pl.Date)
    return rows.size / days if days > 0 else None


def _named(given: Iterable[str], columns: list[str], target: str, what: str) -> list[str]:
    """Return columns that are no features: each item is a name, or several with commas between them."""
    found: list[str] = []
    for item in [given] if isinstance(given, str) else given:
        for name in [item] if item in columns else [part.strip() for part in item.split(",") if part.strip()]:
            _check_column(name, columns, what)
            if name == target:
                raise StudyError(f"{what} {name!r}: this is the target, which is no feature anyway")
            if name not in found:
                found.append(name)
    return found


def _cost_columns(frame: pl.DataFrame, formulas: dict[str, Expression]) -> pl.DataFrame:
    names = {name for formula in formulas.values() for name in formula.columns}
    return pl.DataFrame([frame.get_column(name) for name in sorted(names) if name in frame.columns])


def _costs(
    frame: pl.DataFrame, formulas: dict[str, Expression], afterwards: list[str], positive: Bools
) -> tuple[Costs | None, AfterCosts | None]:
    """Return what mistakes cost, and how it is estimated where columns are known only afterwards."""
    if not formulas:
        return None, None
    if len(formulas) == 1:
        given, missing = ("--fp-cost", "--fn-cost") if "fp_cost" in formulas else ("--fn-cost", "--fp-cost")
        raise StudyError(f"{given} is given and {missing} is not: give both, or none to study class imbalance alone")
    fp_cost, fn_cost = formulas["fp_cost"], formulas["fn_cost"]
    after = None
    if not set(afterwards).isdisjoint([*fp_cost.columns, *fn_cost.columns]):
        after = AfterCosts(_cost_columns(frame, formulas), tuple(afterwards), formulas, positive)
        costs = after.charged()
    else:
        costs = Costs(fp=fp_cost.cost_of(frame), fn=fn_cost.cost_of(frame))
    if not np.any(costs.fp) and not np.any(costs.fn):
        raise StudyError(f"--fp-cost {fp_cost.text!r} and --fn-cost {fn_cost.text!r} are 0: no mistake costs anything")
    return costs, after


def _features(frame: pl.DataFrame, source: str, allowed: list[str], checks: list[Check]) -> pl.DataFrame:
    """Return the columns that can be learnt from, with a word on each of the others."""
    check_finite(frame, source=source)
    kept = []
    for column in frame.iter_columns():
        name = column.name
        if not column.count():
            checks.append(Check("empty", name, "is left out: it is empty", None, NOTE))
        elif name in allowed:
            kept.append(column)
        elif column.n_unique() == 1:
            checks.append(Check("constant", name, "is left out: it is the same in all records", None, NOTE))
        elif why := identity(column):
            checks.append(Check("id", name, f"is left out: {why}", f"--allow {name} keeps it", WARNING))
        else:
            kept.append(column)
    return pl.DataFrame(kept)


def _with_dates(frame: pl.DataFrame, features: pl.DataFrame, time: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the columns that new records must have, and the features with the parts of their dates.

    The age of a date is counted up to the time of its record, or else up to the other dates.
    """

    def dates_of(each: pl.DataFrame) -> list[str]:
        return [name for name, kind in kinds_of(each).items() if kind in ("date", "datetime")]

    dates, needed = dates_of(features), features
    until = dates if 1 < len(dates) <= MOST_DATES else []
    if dates and time is not None and time in dates_of(frame):
        until, needed = [time], features.with_columns(frame.get_column(time))
    parts = parts_of(needed, dates, until)
    return needed, with_parts(nw.from_native(needed), parts).to_native().select(*features.columns, *parts)
