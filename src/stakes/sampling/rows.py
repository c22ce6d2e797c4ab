"""Rows of any container: arrays, sparse matrices, lists and data frames."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stakes.exceptions import SamplingError

__all__ = ["append_rows", "as_table", "check_room", "drawn_rows", "fresh_index", "is_sparse", "take_rows"]

# Numbers in a sample of rows, 128 MiB of them, above which it may have no more than ten times the records.
ROOM = 2**24


def is_sparse(X: Any) -> bool:
    """Tell whether `X` is a sparse matrix or array of scipy."""
    return bool(sparse.issparse(X))


def as_table(X: Any) -> Any:
    """Return `X` as one of three things: a narwhals frame or series, a sparse matrix, an array."""
    wrapped = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(wrapped, nw.DataFrame | nw.Series) or is_sparse(X):
        return wrapped
    array = np.asarray(X)
    # A list of records with text in some columns becomes all text in numpy; keep the values as they are.
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" and not isinstance(X, np.ndarray) else array


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return a copy of some rows of `X`, in the order asked for, in the same container."""
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
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


def check_room(n_sampled: int, n_records: int, n_features: int) -> None:
    """Refuse to make a sample of rows that is out of all proportion, before it takes all memory there is.

    Examples
    --------
    >>> from stakes.sampling.rows import check_room
    >>> check_room(5000, 1000, 20)
    >>> check_room(10**9, 1000, 20)
    Traceback (most recent call last):
        ...
    stakes.exceptions.SamplingError: the sample would have 1,000,000,000 records, and there are 1,000: bring the costs
    closer to each other, or cut the other class instead (UnderSampler)
    """
    if n_sampled > 10 * n_records and n_sampled * n_features > ROOM:
        raise SamplingError(
            f"the sample would have {n_sampled:,} records, and there are {n_records:,}: bring the costs closer to each "
            "other, or cut the other class instead (UnderSampler)"
        )


def drawn_rows(counts: NDArray[np.integer], n_features: int) -> NDArray[np.intp]:
    """Return the row numbers of a sample, each as often as it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.sampling.rows import drawn_rows
    >>> drawn_rows(np.array([1, 0, 3]), n_features=5)
    array([0, 2, 2, 2])
    """
    check_room(int(counts.sum()), counts.size, n_features)
    return np.repeat(np.arange(counts.size), counts)


def fresh_index(X: Any) -> Any:
    """Renumber the rows of a pandas frame or series from 0; return anything else as it is."""
    table = as_table(X)
    return nw.maybe_reset_index(table).to_native() if isinstance(table, nw.DataFrame | nw.Series) else X
