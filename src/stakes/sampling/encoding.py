"""Records as a matrix of numbers, and the way back: what lies between data frames and nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from stakes._rows import as_table, is_sparse
from stakes.exceptions import SamplingError

__all__ = ["categorical_columns", "column_names", "encode"]

Decode = Callable[[Any], Any]


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns: numbers where they have none."""
    table = as_table(X)
    return list(table.columns) if isinstance(table, nw.DataFrame) else list(range(table.shape[1]))


def categorical_columns(X: Any, given: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return which columns are categorical: as given by a mask, column numbers or column names.

    By default the columns of text, categories and booleans of a data frame, and those of an array of objects that hold
    anything but numbers.
    """
    names = column_names(X)
    if given is None and is_sparse(X):
        return np.zeros(len(names), dtype=bool)
    if given is None:
        return np.array([_is_categorical(column) for column in _columns(as_table(X))], dtype=bool)
    chosen = np.asarray(given)
    if chosen.dtype == bool:
        if chosen.shape != (len(names),):
            raise SamplingError(f"categorical_features is a mask of {chosen.size} columns, X has {len(names)}")
        return chosen.copy()
    mask = np.zeros(len(names), dtype=bool)
    for column in chosen.ravel().tolist():
        if not isinstance(column, str) and -len(names) <= column < len(names):
            mask[column] = True
        elif column in names:
            mask[names.index(column)] = True
        else:
            raise SamplingError(
                f"categorical_features has {column!r}, which is not a column of X ({len(names)} columns)"
            )
    return mask


def encode(X: Any, categorical: NDArray[np.bool_]) -> tuple[Any, Decode]:
    """Return `X` as a matrix of floats, and a function that turns such a matrix into records like those of `X`.

    Categories become whole numbers, a missing category one of its own; decoding gathers them from `X`, so that their
    type stays what it is. Columns of integers are rounded when decoded.
    """
    table = as_table(X)
    if is_sparse(table) and categorical.any():
        raise SamplingError("X is a sparse matrix with categorical features: pass a data frame or X.toarray()")
    if is_sparse(table) or (isinstance(table, np.ndarray) and table.dtype.kind in "iuf"):
        floats = table.astype(np.float64, copy=False)
        return floats.tocsr() if is_sparse(floats) else floats, lambda matrix: _rounded(matrix, table.dtype)
    coders = {True: _encode_categories, False: _encode_numbers}
    coded = [
        coders[bool(is_category)](column, name)
        for column, name, is_category in zip(_columns(table), column_names(X), categorical, strict=True)
    ]
    matrix = np.column_stack([numbers for numbers, _ in coded])

    def decode(matrix: NDArray[np.float64]) -> Any:
        columns = [decode_column(numbers) for (_, decode_column), numbers in zip(coded, matrix.T, strict=True)]
        if isinstance(table, np.ndarray):
            return np.column_stack(columns).astype(table.dtype)
        return nw.concat([column.to_frame() for column in columns], how="horizontal").to_native()

    return matrix, decode


def _columns(table: Any) -> Iterable[Any]:
    # By position: a pandas column may be called 0, or a tuple.
    return [table[:, j] for j in range(table.shape[1])] if isinstance(table, nw.DataFrame) else table.T


def _is_categorical(column: Any) -> bool:
    if isinstance(column, nw.Series):
        return column.dtype in (nw.String, nw.Categorical, nw.Boolean, nw.Object) or isinstance(column.dtype, nw.Enum)
    if column.dtype == object:
        return not all(value is None or (type(value) is not bool and isinstance(value, Number)) for value in column)
    return column.dtype.kind not in "iuf"


def _encode_numbers(column: Any, name: Any) -> tuple[NDArray[np.float64], Decode]:
    is_series = isinstance(column, nw.Series)
    try:
        if is_series and column.dtype in (nw.Int128, nw.UInt128, nw.Decimal):  # numpy has no such numbers
            values = column.cast(nw.Float64).to_numpy()
        else:
            values = np.asarray(column.to_numpy() if is_series else column)
        numbers = None if values.ndim > 1 or values.dtype.kind == "c" else values.astype(np.float64)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or (is_series and column.dtype.is_temporal()):
        raise SamplingError(
            f"column {name!r} of type {column.dtype} holds neither numbers nor categories: "
            "convert or drop it, or name it in categorical_features"
        )
    if isinstance(column, np.ndarray):
        return numbers, lambda new: new

    # narwhals knows no sparse types; pandas gives a column its sparse type back when rows are appended to it.
    dtype = nw.Float64() if column.dtype == nw.Unknown else column.dtype
    rounded = partial(_whole, kind=str(dtype)) if dtype.is_integer() else np.asarray
    return numbers, lambda new: nw.new_series(
        column.name, rounded(new), nw.Float64(), backend=column.implementation
    ).cast(dtype)


def _encode_categories(column: Any, name: Any) -> tuple[NDArray[np.float64], Decode]:
    is_series = isinstance(column, nw.Series)
    values = column.to_list() if is_series else column.tolist()
    missing = column.is_null().to_list() if is_series else [value is None or value != value for value in values]
    first: dict[Any, int] = {}  # the first row of each category
    try:
        rows = [
            first.setdefault(None if absent else value, row)
            for row, (value, absent) in enumerate(zip(values, missing, strict=True))
        ]
    except TypeError:  # lists and the like, of which there may be no two alike
        raise SamplingError(f"column {name!r} holds neither numbers nor categories: convert or drop it") from None

    def decode(new: NDArray[np.float64]) -> Any:
        chosen = column[new.astype(np.intp)]
        return nw.maybe_reset_index(chosen) if is_series else chosen

    return np.array(rows, dtype=np.float64), decode


def _rounded(matrix: Any, dtype: np.dtype[Any]) -> Any:
    return matrix.astype(dtype) if dtype.kind == "f" else _whole(matrix, dtype.name).astype(dtype)


def _whole(numbers: Any, kind: str) -> Any:
    """Return numbers as whole ones that an integer type such as "int64" or "UInt8" can hold.

    They lie between others of that type; but the float next to the largest integer may be beyond it.
    """
    whole = np.rint(numbers)
    n_bits = int(kind.lower().lstrip("uint")) - (not kind.lower().startswith("u"))
    largest = 2**n_bits - 1
    limit = float(largest) if float(largest) <= largest else np.nextafter(float(largest), 0)
    return whole.minimum(limit) if is_sparse(whole) else np.minimum(whole, limit)
