"""Whatever the user calls X, read as columns: numbers with NaN for missing, or text with None for missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

__all__ = ["Column", "Table", "read_table"]

Column = NDArray[Any] | pl.Series
"""Numbers as a one-dimensional array, categories as a polars series of strings."""


class Table:
    """The records as columns; a numeric array is kept as it is, without a copy.

    Parameters
    ----------
    values : ndarray of shape (n_records, n_features), or list of Column
    names : list of str or None
        What to call the features; ``x0, x1, ...`` where the input has no names.
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


def read_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Check `X` against what `estimator` has seen, the way scikit-learn does, and read it as columns.

    Data frames keep their types: text, categorical and boolean columns are categories, everything else is a number.
    Arrays hold numbers only.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        values = validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan")
        return Table(values.astype(np.uint8) if values.dtype == bool else values)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not frame.columns or not len(frame):
        what = "0 feature(s)" if not frame.columns else "0 sample(s)"
        raise ValueError(f"Found array with {what} (shape={frame.shape}) while a minimum of 1 is required.")
    return Table([_column(frame[name]) for name in frame.columns], [str(name) for name in frame.columns])


def _column(series: nw.Series[Any]) -> Column:
    dtype = series.dtype
    if dtype.is_temporal():
        return _finite(series.cast(nw.Int64).cast(nw.Float64).to_numpy(), series.name)
    if dtype.is_numeric():
        return _finite(series.cast(nw.Float64).to_numpy() if series.null_count() else series.to_numpy(), series.name)
    native = series.to_native()
    if isinstance(native, pl.Series) and dtype != nw.Object:
        return native.cast(pl.String)
    # Object columns may mix types; what is not missing is told apart by its text.
    return pl.Series([None if _is_missing(value) else str(value) for value in series.to_list()], dtype=pl.String)


def _is_missing(value: object) -> bool:
    return value is None or value is getattr(value, "NaT", ...) or value != value or repr(value) in ("<NA>", "NaT")


def _finite(values: NDArray[Any], name: str) -> NDArray[Any]:
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity in {infinite.sum()} records of column {name!r}, "
            f"the first in row {infinite.argmax()}: replace it with a number, or with a missing value"
        )
    return values
