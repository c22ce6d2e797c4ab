"""Rows and columns of any container: arrays, sparse matrices, lists and data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["append_rows", "as_array", "as_table", "fresh_index", "is_sparse", "parts", "take_columns", "take_rows"]

# What is computed in passing of so many records stays in the cache.
RECORDS_PER_PART = 1 << 15


def parts(n: int) -> Iterator[slice]:
    """Yield slices of `n` records, to compute on one after the other.

    Arrays of many records that are needed in passing only take longer to get from the system than to fill.
    """
    for start in range(0, n, RECORDS_PER_PART):
        yield slice(start, min(start + RECORDS_PER_PART, n))


def is_sparse(X: Any) -> bool:
    """Tell whether `X` is a sparse matrix or array of scipy."""
    return bool(sparse.issparse(X))


def as_table(X: Any) -> Any:
    """Return `X` as one of three things: a narwhals frame or series, a sparse matrix, an array."""
    wrapped = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(wrapped, nw.DataFrame | nw.Series) or is_sparse(X):
        return wrapped
    return as_array(X)


def as_array(X: Any) -> NDArray[Any]:
    """Return lists and the like as an array: one text among numbers would make them all text, and leaves them alone."""
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" and not isinstance(X, np.ndarray) else array


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a copy of some rows of `X`, in the order asked for, in the same container."""
    if hasattr(X, "take_rows"):  # records that are binned already
        return X.take_rows(rows)
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    if isinstance(X, pl.DataFrame):  # column by column, without threads: those of polars are not in a forked process
        return pl.DataFrame([column[rows] for column in X.iter_columns()])
    table = as_table(X)
    if isinstance(table, nw.DataFrame | nw.Series):
        return table[rows].to_native()
    if is_sparse(table):
        return table.tocsr()[rows].asformat(table.format)
    return table[rows]


def append_rows(X: Any, new: Any) -> Any:
    """Return `X` followed by the rows `new`, in the container and with the types of `X`."""
    if isinstance(X, list):
        return X + as_table(new).tolist()
    table = as_table(X)
    if isinstance(table, nw.DataFrame):
        return fresh_index(nw.concat([table, as_table(new)]).to_native())
    if is_sparse(table):
        return sparse.vstack([table, new], format=table.format)
    return np.concatenate([table, new]).astype(table.dtype, copy=False)


def fresh_index(X: Any) -> Any:
    """Renumber the rows of a pandas frame or series from 0; return anything else as it is."""
    table = as_table(X)
    return nw.maybe_reset_index(table).to_native() if isinstance(table, nw.DataFrame | nw.Series) else X


def take_columns(X: Any, columns: NDArray[np.integer]) -> Any:
    """Return some columns of an array, a sparse matrix or a data frame."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[:, columns.tolist()].to_native()  # by position: a pandas column may be called 0, or a tuple
    return X.tocsc()[:, columns].asformat(X.format) if is_sparse(X) else X[:, columns]
