"""Whatever the user calls X, read as columns: numbers with NaN for missing, or text with None for missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

__all__ = ["Column", "Table", "check_not_empty", "check_table", "read_table", "table_of"]

Column = NDArray[Any] | pl.Series
"""Numbers as a one-dimensional array, categories as a polars series of strings."""


class Table:
    """The records as columns; a numeric array is kept as it is, without a copy.

    Features are called ``x0, x1, ...`` where the input has no names.
    """

    def __init__(self, values: NDArray[Any] | list[Column], names: list[str] | None = None) -> None:
        self.values = values
        self.names = names or [f"x{j}" for j in range(self.n_features)]

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return self.values.shape[1] if isinstance(self.values, np.ndarray) else len(self.values)

    def __len__(self) -> int:
        return len(self.values) if isinstance(self.values, np.ndarray) else len(self.values[0])

    def __iter__(self) -> Iterator[Column]:
        return iter(self.values.T) if isinstance(self.values, np.ndarray) else iter(self.values)


def check_table(X: Any) -> Any:
    """Return `X` if it has rows and columns, as an array if it is a list of rows; or say what is wrong with it."""
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError(f"X is a {type(X).__name__}, whose records are not there yet: give X.collect()")
    if not hasattr(X, "shape") or isinstance(X, memoryview):
        given, X = X, np.asarray(X)
        if X.dtype.kind in "US":  # one text among numbers makes them all text: tell them apart again
            X = np.asarray(given, dtype=object)
    if len(X.shape) == 0:
        raise ValueError("X is not a table: give an array of 2 dimensions, a data frame or a list of rows")
    if len(X.shape) != 2:
        raise ValueError(f"Expected a table of 2 dimensions, got {len(X.shape)}. Reshape your data: X.reshape(-1, 1)")
    return X


def read_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Check `X` against what `estimator` has seen, the way scikit-learn does, and read it as columns.

    Data frames keep their types: text, categorical and boolean columns are categories, everything else is a number.
    Arrays hold numbers only.
    """
    X = check_table(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        with np.errstate(invalid="ignore"):  # the sum of huge numbers, by which scikit-learn looks for infinite ones
            values = validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan")
        if values.dtype.kind not in "biuf":  # numbers and None in a list, dates
            values = check_array(_numbers(values), ensure_all_finite="allow-nan")
        return Table(values.astype(np.uint8) if values.dtype == bool else values)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    check_not_empty(frame.shape)
    return table_of(frame)


def check_not_empty(shape: tuple[int, ...]) -> None:
    """Raise the error of scikit-learn where a table has no features, or no records."""
    if not all(shape):
        what = "0 feature(s)" if not shape[1] else "0 sample(s)"
        raise ValueError(f"Found array with {what} (shape={tuple(shape)}) while a minimum of 1 is required.")


def table_of(X: Any) -> Table:
    """Read a data frame as columns, unchecked."""
    frame = nw.from_native(X, eager_only=True)
    return Table([_column(column) for column in frame.iter_columns()], [str(name) for name in frame.columns])


def _column(series: nw.Series[Any]) -> Column:
    dtype, native = series.dtype, series.to_native()
    if dtype.is_temporal():
        return _finite(_microseconds(series).cast(nw.Float64).to_numpy(), series.name)
    if dtype.is_numeric():
        # Missing values need floats; decimals and 128-bit integers have no arrays of their own.
        as_it_is = not series.null_count() and dtype not in (nw.Decimal, nw.Int128, nw.UInt128)
        return _finite(series.to_numpy() if as_it_is else series.cast(nw.Float64).to_numpy(), series.name)
    if isinstance(native, pl.Series) and dtype in (nw.String, nw.Categorical, nw.Enum):
        return native.cast(pl.String)
    if dtype == nw.Unknown and (values := np.asarray(native)).dtype.kind in "iuf":  # sparse columns
        return _finite(values, series.name)
    # Columns of objects may mix types, and some hold lists; what is not missing is told apart by its text, which Python
    # writes the same for every kind of frame.
    return pl.Series([None if _is_missing(value) else str(value) for value in series.to_list()], dtype=pl.String)


def _microseconds(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return times as numbers: in one unit, because frames with the same times may come in different ones."""
    if series.dtype == nw.Time:
        return series.cast(nw.Int64)
    return series.dt.total_microseconds() if series.dtype == nw.Duration else series.dt.timestamp("us")


def _is_missing(value: object) -> bool:
    # The missing value of pandas is known by its name: it does not compare. Arrays compare value by value.
    return value is None or repr(value) == "<NA>" or (not isinstance(value, np.ndarray) and bool(value != value))


def _numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return objects or times as floats, NaN for None and for no time."""
    if values.dtype.kind in "mM":
        return np.where(np.isnat(values), np.nan, values.astype(f"{values.dtype.kind}8[us]").astype(np.float64))
    return values.astype(np.float64)


def _finite(values: NDArray[Any], name: str) -> NDArray[Any]:
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity in {infinite.sum()} records of column {name!r}, "
            f"the first in row {infinite.argmax()}: replace it with a number, or with a missing value"
        )
    return values
