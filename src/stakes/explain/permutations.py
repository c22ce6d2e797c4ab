"""Contributions to the score of any model: Shapley values by sampling.

Features that are not known take the values of background records. For each of them, the features of a record are put in
place one after the other, in a random order and in the reverse of it, and the changes of the score are averaged
(antithetic sampling). As every background record is used in full, contributions add up exactly: to the score less the
mean score of the background. Orders do not depend on the records: each is explained the same among any others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from scipy import sparse

from stakes._rows import is_sparse, take_rows
from stakes._typing import Bools, Floats, Indices
from stakes.explain.contributions import Contributions
from stakes.table import Column, is_documents, table_of

__all__ = ["KEPT", "Background", "Sampling", "background_of", "sampled_contributions"]

Background = Mapping[str, Sequence[Any]]
"""Values by feature, numbers or texts with None for missing ones: what a model file can hold."""

# Background records that are kept with a model; explanations may use fewer.
KEPT = 64
# Records that are scored in one call.
ROWS_PER_CALL = 1 << 16


class Sampling(NamedTuple):
    """How many background records to use, and the seed of the orders."""

    n_samples: int
    seed: int


def background_of(X: Any, weight: Floats | None = None) -> dict[str, list[Any]] | None:
    """Return typical values of each feature in a table; records without weight do not count.

    The values of each feature are in an order of their own: the result has no record of `X`. There are none of texts
    and dicts, nor of values that only models can read.
    """
    if is_documents(X):
        return None
    rng = np.random.default_rng(0)
    rows = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
    some = take_rows(X, np.resize(rng.permutation(rows), KEPT))
    try:
        columns = _columns(some)
    except (TypeError, ValueError):
        return None
    drawn: dict[str, list[Any]] = {}
    for name, column in columns.items():
        own = column[rng.permutation(KEPT)]
        drawn[name] = own.to_list() if isinstance(own, pl.Series) else own.tolist()
    return drawn


def sampled_contributions(
    score: Callable[[Any, Indices], Any], X: Any, background: Background, sampling: Sampling
) -> Contributions:
    """Return what each feature adds to the scores of records.

    `score` is given records in the container of `X`, and for each of them the row of `X` that it is made from, whose
    costs it is to be scored by.
    """
    mixer = _Mixer(X, background)
    n, d = X.shape
    rng = np.random.default_rng(sampling.seed)
    orders = [rng.permutation(d) for _ in range(sampling.n_samples)]
    known = np.array([_known(order) for order in orders])  # (n_samples, 2 d - 1, d)
    values, base = np.zeros((n, d)), np.empty(n)
    full = np.asarray(score(X, np.arange(n)), dtype=np.float64)
    chunk = max(1, ROWS_PER_CALL // (known.shape[0] * known.shape[1]))
    for start in range(0, n, chunk):
        rows = np.arange(start, min(start + chunk, n))
        shape = (rows.size, *known.shape[:2])
        source = np.where(known, rows[:, None, None, None], n + np.arange(len(orders))[:, None, None])
        made_from = np.broadcast_to(rows[:, None, None], shape).reshape(-1)
        scores = np.asarray(score(mixer.mix(source.reshape(-1, d)), made_from), dtype=np.float64).reshape(shape)
        base[rows] = scores[:, :, 0].mean(axis=1)
        for sample, order in enumerate(orders):
            none, forwards, backwards = np.split(scores[:, sample], [1, d], axis=1)
            for way, steps in ((order, forwards), (order[::-1], backwards)):
                path = np.concatenate([none, steps, full[rows][:, None]], axis=1)
                values[np.ix_(rows, way)] += np.diff(path, axis=1) / (2 * len(orders))
    return Contributions(values, base, full, exact=False)


def _known(order: Indices) -> Bools:
    """Return which features are known: none; then the first, the first two ... in an order; and in its reverse."""
    d = order.size
    position = np.argsort(order)
    forwards = position < np.arange(d)[:, None]
    backwards = d - 1 - position < np.arange(1, d)[:, None]
    return np.concatenate([forwards, backwards])


def _columns(X: Any) -> dict[str, Column]:
    """Return the features of a table by name: numbers, or texts."""
    # At once: to take the columns out of a sparse matrix one by one is slow where there are thousands.
    table = table_of(X.toarray() if is_sparse(X) else X)
    columns = [column if isinstance(column, pl.Series) else column.astype(np.float64) for column in table]
    return dict(zip(table.names, columns, strict=True))


class _Mixer:
    """Makes records of the values of others: those of `X`, numbered from 0, and then the background."""

    def __init__(self, X: Any, background: Background) -> None:
        self.X = X
        self.columns = list(map(_stacked, _columns(X).values(), background.values()))

    def mix(self, source: Indices) -> Any:
        """Return records in the container of `X`; `source`, a row for each, has where each value comes from."""
        mixed = [column[rows] for column, rows in zip(self.columns, source.T, strict=True)]
        frame = nw.from_native(self.X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            return _frame_like(frame, mixed)
        if any(isinstance(column, pl.Series) for column in mixed):
            return np.array([list(column) for column in mixed], dtype=object).T
        values = np.column_stack(mixed)
        return sparse.csr_matrix(values).asformat(self.X.format) if is_sparse(self.X) else values


def _stacked(column: Column, values: Sequence[Any]) -> Column:
    if isinstance(column, pl.Series):
        return pl.concat([column, pl.Series(column.name, values, dtype=pl.String, strict=False)])
    return np.concatenate([column, np.array(values, dtype=np.float64)])


def _frame_like(frame: nw.DataFrame[Any], columns: list[Column]) -> Any:
    """Return a data frame of the kind of another, with its names, and with its types where they can hold the values."""
    named = dict(zip(frame.columns, columns, strict=True))
    data = {name: column.to_list() if isinstance(column, pl.Series) else column for name, column in named.items()}
    made = nw.from_dict(data, backend=frame.implementation)
    casts: list[nw.Expr] = []
    for name, column in named.items():
        dtype, own = frame.schema[name], nw.col(name)
        if isinstance(column, pl.Series):
            if dtype == nw.Boolean:
                casts.append(nw.when(~own.is_null()).then(own == "True").alias(name))
            elif dtype in (nw.Categorical, nw.Enum):
                casts.append(own.cast(nw.Categorical))
        elif dtype.is_integer() and not np.isnan(column).any():
            casts.append(own.cast(dtype))
    return made.with_columns(*casts).to_native()
