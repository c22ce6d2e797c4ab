"""Files of records: CSV and Parquet, read at once or in batches, and the kinds of their columns.

Paths are names, not patterns: brackets in them have no meaning.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import polars as pl
from polars import selectors

from stakes._expressions import did_you_mean, in_records
from stakes.exceptions import StudyError
from stakes.study.csv_records import check_quotes, csv_records, separator_of

__all__ = [
    "KINDS", "CsvFile", "as_kind", "check_finite", "conform", "is_parquet", "kind_of", "kinds_of",
    "readable", "tidy", "with_records",
]  # fmt: skip

# What stands for a missing number in files. In a column of texts these are texts like any other.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", ".")
# Around numbers that they do not change, and numbers with a comma after every three digits.
SIGNS = r"[\s$€£¥%']"
THOUSANDS = r"^[-+]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?$"

# The kinds of columns, and the types that they are read as.
KINDS: dict[str, Any] = {
    "number": pl.Float64(),
    "text": pl.String(),
    "boolean": pl.Boolean(),
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
    "time": pl.Time(),
}
# Conversions from one kind to another that lose nothing that matters.
CASTS = {("boolean", "number"), ("number", "boolean"), ("date", "datetime"), ("datetime", "date")}


# Reading


class CsvFile:
    """Records in a CSV file."""

    is_folder = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.paths = [path]
        self.name = path.name

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        with readable(self.path):
            return _csv_layout(self.path)[1]

    def read(self, without: Iterable[str] = ()) -> pl.DataFrame:
        """Return all records, but for some columns."""
        path = self.path
        with readable(path):
            separator, names = _csv_layout(path)
            with _open(path) as file:
                check_quotes(file, path.name)
            # Types by the whole file: a text in the last line must not come as a surprise.
            frame = pl.read_csv(path, separator=separator, infer_schema_length=None, try_parse_dates=True, glob=False)
            frame.columns = names  # with quotes as they are meant
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines are no records
        return with_records(frame, path.name).drop(without)

    def batches(self, size: int, without: Iterable[str] = ()) -> Iterator[pl.DataFrame]:
        """Return the records some at a time, all columns as texts: `conform` makes of them what a model expects."""
        with readable(self.path):
            separator, names = _csv_layout(self.path)
            schema = dict.fromkeys(names, pl.String)
            with _open(self.path) as file:
                records = (record for record in csv_records(file, self.name) if record.strip())  # blank lines are none
                next(records)  # the header
                while content := b"".join(islice(records, size)):
                    yield pl.read_csv(io.BytesIO(content), separator=separator, has_header=False, schema=schema)


def with_records(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return a frame that has records, and columns that can be used by their names."""
    if not frame.height:
        raise StudyError(f"{source} has no records")
    for name in frame.columns:
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            raise StudyError(f"{source} has a column {name!r}, which polars takes for a pattern: rename it")
    return frame


def _csv_layout(path: Path) -> tuple[str, list[str]]:
    """Return how the columns of a CSV file are separated, and what they are called."""
    with _open(path) as file:
        if b"\x00" in file.read(1 << 16):
            raise StudyError(f"{path.name} is neither CSV nor Parquet: save it as one of them")
        file.seek(0)
        header = next(csv_records(file, path.name), b"")
    if not header.strip():
        raise StudyError(f"{path.name} is empty")
    separator = separator_of(header)
    found = pl.read_csv(io.BytesIO(header), separator=separator, has_header=False, infer_schema=False).row(0)
    names = ["" if name is None else str(name) for name in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StudyError(f"{path.name} has more than one column {twice[0]!r}: give each a name of its own")
    return separator, names


def _open(path: Path) -> IO[bytes]:
    """Open a file, unpacking it where it is compressed by gzip."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore[return-value]


def is_parquet(path: Path) -> bool:
    """Return whether a file is in the Parquet format, by its content."""
    with readable(path), open(path, "rb") as file:
        return file.read(4) == b"PAR1"


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Say in one line why a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise StudyError(f"there is no file {path}") from None
    except (pl.exceptions.PolarsError, OSError, EOFError) as error:
        why = (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).strip()
        why = why.splitlines()[0] if why else type(error).__name__
        hint = ": save it as UTF-8" if "utf-8" in why else ""
        raise StudyError(f"{path} cannot be read ({why}){hint}") from None


# Kinds of columns


def kinds_of(frame: pl.DataFrame) -> dict[str, str]:
    """Return the kind of each column that a model can use."""
    kinds = {name: kind_of(dtype) for name, dtype in frame.schema.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def kind_of(dtype: pl.DataType) -> str | None:
    """Return the kind of columns of this type; None if no model can use them."""
    if dtype.is_numeric():
        return "number"
    if dtype in (pl.Categorical, pl.Enum):
        return "text"
    return next((kind for kind, wanted in KINDS.items() if isinstance(dtype, type(wanted))), None)


def tidy(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return the columns in the types that are used from here on, and notes about what a user may not expect.

    A column of texts that are all numbers, apart from marks for missing ones, becomes a column of numbers; so do money
    and percentages such as $1,234.50 and 9.09%.
    """
    notes, columns = [], []
    for column in frame.iter_columns():
        if not column.name.strip():
            notes.append("a column without a name is left out")
        elif kind_of(column.dtype) is None and column.dtype != pl.Null:
            notes.append(f"column {column.name!r} is left out: {column.dtype} is not a type that a model can use")
        else:
            tidied = _tidy_column(column)
            if tidied.dtype == pl.String and (numbers := _written_numbers(tidied)) is not None:
                row = int(numbers.is_not_null().arg_true()[0])
                read = f"such as {tidied[row]!r} as {numbers[row]:g}"
                notes.append(f"column {column.name!r} is read as numbers, {read}")
                tidied = numbers
            elif tidied.dtype == pl.String and _looks_numeric(tidied):
                shown = tidied.drop_nulls()[0]
                notes.append(f"column {column.name!r} is text, such as {shown!r}: numbers are written as 1234.5")
            columns.append(tidied.alias(column.name))
    return pl.DataFrame(columns), notes


def _tidy_column(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return column.cast(pl.Datetime("us"))
    if dtype.is_numeric():
        is_plain_integer = dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128)
        return column if is_plain_integer else column.cast(pl.Float64).fill_nan(None)
    if dtype == pl.Null:
        return column.cast(pl.Float64)
    if kind_of(dtype) != "text":
        return column
    texts = column.cast(pl.String)
    numbers = _as_numbers(texts)
    return numbers if numbers.count() and not _unlike_numbers(texts, numbers).any() else texts


def _looks_numeric(texts: pl.Series) -> bool:
    """Return whether all texts would be numbers without signs of money and of percentages, commas and spaces."""
    bare = texts.str.replace_all(SIGNS, "").str.replace_all(",", "")
    numbers = _as_numbers(bare)
    return bool(numbers.count()) and not _unlike_numbers(bare, numbers).any()


def _written_numbers(texts: pl.Series) -> pl.Series | None:
    """Return numbers with signs of money, of percentages and of thousands; None if any text is none of them."""
    percentages = texts.str.contains("%", literal=True).drop_nulls()
    numbers = _without_signs(texts)
    if not numbers.count() or _unlike_numbers(texts, numbers).any():
        return None
    # A share of 0.09 among percentages would be another unit.
    return numbers if percentages.sum() in (0, numbers.count()) else None


def _without_signs(texts: pl.Series) -> pl.Series:
    bare = texts.str.replace_all(SIGNS, "")
    in_thousands = bare.str.contains(THOUSANDS)
    return _as_numbers(bare.zip_with(~in_thousands.fill_null(False), bare.str.replace_all(",", "")))


def _as_numbers(texts: pl.Series) -> pl.Series:
    return texts.str.strip_chars().cast(pl.Float64, strict=False).fill_nan(None)


def _unlike_numbers(texts: pl.Series, numbers: pl.Series) -> pl.Series:
    """Return where texts are neither numbers nor marks for a missing one."""
    return texts.is_not_null() & numbers.is_null() & ~texts.str.strip_chars().str.to_lowercase().is_in(MISSING)


def conform(frame: pl.DataFrame, kinds: Mapping[str, str], *, source: str, first_record: int = 1) -> pl.DataFrame:
    """Return the named columns of new records in the types that a model knows them in.

    The records come in the types of a Parquet file, or all as texts. `source` is what errors call them, and
    `first_record` the number of the first in its file.
    """
    missing = [name for name in kinds if name not in frame.columns]
    if missing:
        rest = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise StudyError(
            f"{source} has no column {missing[0]!r}{rest}, which is needed{did_you_mean(missing[0], frame.columns)}"
        )
    columns = []
    for name, kind in kinds.items():
        given = frame.get_column(name)
        column, wrong = as_kind(given, kind)
        if wrong.any():
            raise StudyError(
                f"column {name!r} of {source} is {str(given.filter(wrong)[0])[:40]!r} in "
                f"{in_records(wrong.arg_true(), first_record)}, and a {kind} is needed"
            )
        columns.append(column.alias(name))
    return pl.DataFrame(columns)


def as_kind(column: pl.Series, kind: str) -> tuple[pl.Series, pl.Series]:
    """Return a column as a kind, and where that fails."""
    wanted = KINDS[kind]
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if kind == "text" or column.dtype == pl.Null:
        return column.cast(wanted), column.is_null() & False
    if column.dtype != pl.String:
        return _cast(column, kind)
    if kind == "number":
        numbers = _as_numbers(column).fill_null(_without_signs(column))
        return numbers, _unlike_numbers(column, numbers)
    texts = column.str.strip_chars().replace("", None)
    if kind == "boolean":
        lower = texts.str.to_lowercase()
        found = lower.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    else:
        try:
            found = _tidy_column(texts.str.strptime(wanted, strict=False))
        except pl.exceptions.PolarsError:  # not one of them is like a date
            found = pl.Series([None] * len(texts), dtype=wanted)
    return found, texts.is_not_null() & found.is_null()


def _cast(column: pl.Series, kind: str) -> tuple[pl.Series, pl.Series]:
    """Return a column that is not of texts as a kind, and where that fails."""
    column = _tidy_column(column)
    has = kind_of(column.dtype)
    if has == kind or (has, kind) in CASTS:
        return column.cast(KINDS[kind]), column.is_null() & False
    return pl.Series([None] * len(column), dtype=KINDS[kind]), column.is_not_null()


def check_finite(frame: pl.DataFrame, *, source: str, first_record: int = 1) -> None:
    """Raise an error if a number is infinite in any record."""
    for column in frame.select(selectors.float()).iter_columns():
        infinite = column.is_infinite()
        if infinite.any():
            where = in_records(infinite.arg_true(), first_record)
            raise StudyError(
                f"column {column.name!r} of {source} is infinite in {where}: write a number, or leave it blank"
            )
