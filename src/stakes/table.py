"""Whatever the user calls X, read as columns: numbers with NaN for missing, or text with None for missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from stakes._rows import as_array, is_sparse
from stakes._typing import Floats, Indices
from stakes._warn import warn
from stakes.exceptions import ColumnTypeWarning

__all__ = [
    "Column",
    "Table",
    "as_fitted",
    "by_frequency",
    "category_codes",
    "check_not_empty",
    "check_table",
    "is_documents",
    "read_table",
    "table_of",
]

Column = NDArray[Any] | pl.Series
"""Numbers as a one-dimensional array, categories as a polars series of strings."""

# How records that are not there yet are fetched, by the package that has them.
FETCH = {
    "dask": "compute()",
    "duckdb": "df()",
    "ibis": "to_pandas()",
    "pyspark": "toPandas()",
    "sqlframe": "toPandas()",
}
NUMBERS = (Real, Decimal, np.bool_)
TIMES = (dt.date, dt.timedelta, dt.time)
# Text is thought to be numbers if there are more than two distinct ones, and this share of them can be read as numbers.
MOSTLY = 0.9
# Categories that are all unknown are warned of if there are so many of them.
FEWEST_UNKNOWN = 10


class Table:
    """The records as columns; a numeric array is kept as it is, without a copy, and so is a sparse matrix.

    Features are called ``x0, x1, ...`` where the input has no names.
    """

    def __init__(self, values: Any, names: list[str] | None = None) -> None:
        self.values = values
        self.names = names or [f"x{j}" for j in range(self.n_features)]

    @property
    def is_matrix(self) -> bool:
        """Whether the values are an array or a sparse matrix of numbers, and not a list of columns."""
        return not isinstance(self.values, list)

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return self.values.shape[1] if self.is_matrix else len(self.values)

    def __len__(self) -> int:
        return self.values.shape[0] if self.is_matrix else len(self.values[0])

    def __iter__(self) -> Iterator[Column]:
        if not is_sparse(self.values):
            return iter(self.values.T if self.is_matrix else self.values)
        by_column = self.values.tocsc()
        return (by_column[:, [j]].toarray().ravel() for j in range(self.n_features))

    def rows(self, block: slice) -> Floats:
        """Return some rows of a matrix as floats, column after column."""
        part = self.values[block]
        return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64, order="F")


def check_table(X: Any) -> Any:
    """Return `X` if it has rows and columns, as an array if it is a list of rows; or say what is wrong with it."""
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        fetch = FETCH.get(type(X).__module__.split(".")[0].lstrip("_"), "collect()")
        raise TypeError(f"X is a {type(X).__name__}, whose records are not there yet: give X.{fetch}")
    if not hasattr(X, "shape") or isinstance(X, memoryview):
        X = as_array(X)
    if is_sparse(X) and X.format not in ("csr", "csc"):
        X = X.tocsr()
    if len(X.shape) == 0:
        raise ValueError("X is not a table: give an array of 2 dimensions, a data frame or a list of rows")
    if len(X.shape) != 2:
        raise ValueError(f"Expected a table of 2 dimensions, got {len(X.shape)}. Reshape your data: X.reshape(-1, 1)")
    return X


def is_documents(X: Any) -> bool:
    """Return whether `X` has a text or a dict for each record, as extractors of features take them."""
    if isinstance(X, str | bytes | Mapping) or len(getattr(X, "shape", (0,))) != 1 or not hasattr(X, "__len__"):
        return False
    return isinstance(next(iter(X), None), str | bytes | Mapping)


def read_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Check `X` against what `estimator` has seen, the way scikit-learn does, and read it as columns.

    Text and categorical columns are categories. Everything else is a number: booleans, times, and objects that are
    numbers. A sparse matrix stays one.
    """
    X = check_table(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) and getattr(X, "dtype", np.dtype(float)).kind not in "OUS":
        with np.errstate(invalid="ignore"):  # the sum of huge numbers, by which scikit-learn looks for infinite ones
            values = validate_data(
                estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan"
            )
        if values.dtype.kind in "mM":
            values = check_array(_times(values), ensure_all_finite="allow-nan")
        return Table(values.astype(np.uint8) if values.dtype == bool else values)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    check_not_empty(X.shape)
    table = table_of(X)
    if reset:
        given = frame.iter_columns() if isinstance(frame, nw.DataFrame) else [None] * table.n_features
        for series, column, name in zip(given, table, table.names, strict=True):
            is_categorical = series is not None and series.dtype in (nw.Categorical, nw.Enum)
            if isinstance(column, pl.Series) and not is_categorical:
                _warn_if_numbers(column, name)
    return table


def check_not_empty(shape: tuple[int, ...]) -> None:
    """Raise the error of scikit-learn where a table has no features, or no records."""
    if not all(shape):
        what = "0 feature(s)" if not shape[1] else "0 sample(s)"
        raise ValueError(f"Found array with {what} (shape={tuple(shape)}) while a minimum of 1 is required.")


def table_of(X: Any) -> Table:
    """Read a data frame, an array or a sparse matrix as columns, unchecked."""
    if is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return Table(X)
    if isinstance(X, np.ndarray):
        return Table([_object_column(X[:, j].tolist(), f"x{j}", hashable=True) for j in range(X.shape[1])])
    frame = nw.from_native(X, eager_only=True)
    return Table([_column(column) for column in frame.iter_columns()], [str(name) for name in frame.columns])


def as_fitted(column: Column, name: str, categories: Collection[str] | None) -> Column:
    """Return a column in the kind in which it was fitted: text where there are `categories`, numbers where not.

    Numbers are looked for among categories by their value: 3.0 is the category "3".
    """
    if categories is None:
        if not isinstance(column, pl.Series):
            return column
        if column.null_count() < len(column):
            raise ValueError(
                f"feature {name!r} was numeric when fitted and is text now, such as {column.drop_nulls()[0]!r}: "
                "convert it to numbers"
            )
        return np.full(len(column), np.nan)
    texts = column if isinstance(column, pl.Series) else _texts(column, categories)
    known = texts.drop_nulls()
    enough = len(known) >= FEWEST_UNKNOWN and (category_codes(known[:FEWEST_UNKNOWN], categories) < 0).all()
    if categories and (enough or texts is not column):
        unknown = known.filter(pl.Series(category_codes(known, categories) < 0))
        # Identifiers, which differ from record to record, are never known.
        all_unknown = len(unknown) == len(known) and unknown.n_unique() <= len(unknown) / 2
        if len(unknown) and (texts is not column or all_unknown):
            shown = ", ".join(map(repr, list(categories)[:3]))
            warn(
                f"feature {name!r} had the categories {shown} ... when fitted, and {len(unknown)} of {len(known)} "
                f"values are none of them, such as {unknown[0]!r}: they are taken for missing",
                ColumnTypeWarning,
            )
    return texts


def category_codes(texts: pl.Series, categories: Collection[str]) -> Indices:
    """Return the position of each text among categories; -1 for others and for missing ones.

    By a cast, which needs no threads: those of polars are not there in a forked process, and others wait for them.
    """
    if not categories:
        return np.full(len(texts), -1, np.intp)
    position = texts.cast(pl.Enum(list(categories)), strict=False).to_physical().cast(pl.Float64).to_numpy()
    return np.where(np.isnan(position), -1, position).astype(np.intp)


def by_frequency(texts: pl.Series) -> list[str]:
    """Return the distinct texts, the most frequent first; of equally frequent ones the first in the alphabet."""
    # A name of our own: polars calls the other column "count", and the user may, too. Sorted without its threads.
    counted = texts.drop_nulls().alias("category").value_counts(sort=False)
    often = dict(zip(counted["category"].to_list(), counted["count"].to_list(), strict=True))
    return sorted(often, key=lambda text: (-often[text], text))


def _column(series: nw.Series[Any]) -> Column:
    dtype, native = series.dtype, series.to_native()
    if dtype.is_temporal():
        return _finite(_microseconds(series).cast(nw.Float64).to_numpy(), series.name)
    if dtype.is_numeric() or dtype == nw.Boolean:
        # Missing values need floats; decimals and 128-bit integers have no arrays of their own.
        as_it_is = not series.null_count() and dtype not in (nw.Decimal, nw.Int128, nw.UInt128, nw.Boolean)
        return _finite(series.to_numpy() if as_it_is else series.cast(nw.Float64).to_numpy(), series.name)
    if isinstance(native, pl.Series) and dtype in (nw.String, nw.Categorical, nw.Enum):
        return native.cast(pl.String)
    if dtype == nw.Unknown and (values := np.asarray(native)).dtype.kind in "biuf":  # sparse columns
        return _finite(values, series.name)
    return _object_column(series.to_list(), series.name, categorical=dtype in (nw.String, nw.Categorical, nw.Enum))


def _object_column(values: list[Any], name: str, *, categorical: bool = False, hashable: bool = False) -> Column:
    """Return objects as numbers if they all are numbers or times, else told apart by their text.

    Objects that are `categorical` are numbers only if they all are booleans. With `hashable`, containers are refused.
    """
    values = [None if _is_missing(value) else value for value in values]
    present = [value for value in values if value is not None]
    if not present and not categorical:
        return np.full(len(values), np.nan)
    if present and all(isinstance(value, bool | np.bool_ if categorical else NUMBERS) for value in present):
        try:
            return _finite(np.array([np.nan if value is None else float(value) for value in values]), name)
        except OverflowError:
            raise ValueError(f"Input X contains a number too large for a float in column {name!r}") from None
    if present and not categorical and all(isinstance(value, TIMES) for value in present):
        return _column(nw.from_native(pl.Series(name, values), series_only=True))
    for value in present if hashable else ():
        if not isinstance(value, (str, bytes, np.generic, *NUMBERS, *TIMES)):
            raise TypeError(f"column {name!r}: argument must be a string or a number, not {type(value).__name__!r}")
    return pl.Series([None if value is None else _text(value) for value in values], dtype=pl.String)


def _text(value: object) -> str:
    """Return a category as text, the same for every kind of frame and every type of number."""
    if isinstance(value, NUMBERS) and not isinstance(value, bool | np.bool_):
        number = float(value)
        return str(int(value)) if number.is_integer() else repr(number)  # type: ignore[arg-type]
    return str(value)


def _texts(numbers: NDArray[Any], categories: Collection[str]) -> pl.Series:
    """Return the categories that numbers stand for."""
    distinct, position = np.unique(numbers, return_inverse=True)
    are_booleans = set(categories) <= {"True", "False"}
    texts = [
        None if value != value else str(bool(value)) if are_booleans and value in (0, 1) else _text(value)
        for value in distinct.tolist()
    ]
    return pl.Series(texts, dtype=pl.String)[position]


def _warn_if_numbers(column: pl.Series, name: str) -> None:
    """Warn of text that nearly all can be read as numbers."""
    distinct = column.drop_nulls().unique()
    # Stripped without the threads of polars, which are not there in a forked process.
    stripped = pl.Series([text.strip() for text in distinct.to_list()], dtype=pl.String)
    numbers = stripped.cast(pl.Float64, strict=False).drop_nulls()
    if len(distinct) > 2 and len(numbers) >= MOSTLY * len(distinct):
        warn(
            f"column {name!r} is text, and {len(numbers)} of its {len(distinct)} distinct values look like numbers: "
            "convert it to numbers, or to a categorical type if they are names",
            ColumnTypeWarning,
        )


def _microseconds(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return times as numbers: in one unit, because frames with the same times may come in different ones."""
    if series.dtype == nw.Time:
        return series.cast(nw.Int64)
    return series.dt.total_microseconds() if series.dtype == nw.Duration else series.dt.timestamp("us")


def _is_missing(value: object) -> bool:
    # The missing value of pandas is known by its name: it does not compare. Arrays compare value by value.
    return value is None or repr(value) == "<NA>" or (not isinstance(value, np.ndarray) and bool(value != value))


def _times(values: NDArray[Any]) -> Floats:
    """Return times as floats, NaN for no time."""
    return np.where(np.isnat(values), np.nan, values.astype(f"{values.dtype.kind}8[us]").astype(np.float64))


def _finite(values: NDArray[Any], name: str) -> NDArray[Any]:
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity in {infinite.sum()} records of column {name!r}, "
            f"the first in row {infinite.argmax()}: replace it with a number, or with a missing value"
        )
    return values
