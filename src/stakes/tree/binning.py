"""Binning: the values of every feature become numbers of at most 255 bins, plus one for missing values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes._jit import kernel
from stakes._rows import take_rows
from stakes._typing import Bytes, Floats, Indices
from stakes.table import Column, Table, as_fitted, by_frequency, category_codes, table_of
from stakes.tree.nodes import BINS, MISSING, FeatureBins

__all__ = ["MAX_BINS", "Binned", "Binning"]

MAX_BINS = BINS - 1
# Cuts between bins are found on at most this many records.
CUT_SAMPLE = 50_000
# Records are binned in blocks of this many, so that a float64 copy of a block stays in the cache.
ROWS_PER_BLOCK = 4096
# And of no more values than this: a block of a wide sparse matrix is made dense.
VALUES_PER_BLOCK = 1 << 24
# With fewer records than this, another thread costs more than it saves.
FEWEST_FOR_THREADS = 8192


class Binning:
    """How the values of each feature fall into bins.

    Numbers fall into bins of about equal numbers of records, or one bin per value where there are at most `max_bins`
    values. Categories get a bin each; the rarest share one where there are more than `max_bins`. Bin 0 is for missing
    values and for categories never seen.

    Examples
    --------
    >>> import polars as pl
    >>> from stakes.table import table_of
    >>> from stakes.tree.binning import Binning
    >>> table = table_of(pl.DataFrame({"age": [20.0, None, 60.0, 40.0], "kind": ["b", "a", "b", None]}))
    >>> binning = Binning().fit(table)
    >>> binning.transform(table)[:, :2]
    array([[1, 2],
           [0, 1],
           [3, 2],
           [2, 0]], dtype=uint8)
    """

    def __init__(self, max_bins: int = MAX_BINS, n_threads: int = 1) -> None:
        self.max_bins = max_bins
        self.n_threads = n_threads

    def fit(self, table: Table) -> Binning:
        """Find the bins of each feature."""
        rows = _sample(len(table))
        found = self._each(lambda column: self._find_bins(column, rows), table, len(table))
        n_features = len(found)
        self.names_ = table.names
        self.categories_: list[dict[str, int] | None] = [bins if isinstance(bins, dict) else None for bins in found]
        self.cuts_ = np.full((n_features, BINS - 1), np.inf)
        centers = np.zeros((n_features, BINS))
        n_bins = np.empty(n_features, np.int32)
        for j, bins in enumerate(found):
            if isinstance(bins, dict):
                n_bins[j] = 1 + max(bins.values(), default=0)
            else:
                cuts, middles = bins
                self.cuts_[j, : cuts.size] = cuts
                centers[j, 1 : 1 + middles.size] = middles
                n_bins[j] = 1 + middles.size
        categorical = np.array([bins is not None for bins in self.categories_], dtype=np.uint8)
        self.feature_bins_ = FeatureBins(n_bins, categorical, centers)
        return self

    def _find_bins(self, column: Column, rows: Indices | slice) -> Any:
        if isinstance(column, pl.Series):
            return _category_bins(column, self.max_bins)
        return _number_bins(column, rows, self.max_bins)

    def transform(self, table: Table) -> Bytes:
        """Return the bins of all values, one row per record, padded with zeros to a multiple of eight columns."""
        n, d = len(table), table.n_features
        bins = np.empty((n, -(-d // 8) * 8), np.uint8)
        if table.is_matrix and not any(categories is not None for categories in self.categories_):

            def fill(block: slice) -> None:
                _cut(table.rows(block), self.cuts_, bins[block], 0)
        else:
            columns = list(map(as_fitted, table, self.names_, self.categories_))

            def fill(block: slice) -> None:
                for j, (column, categories) in enumerate(zip(columns, self.categories_, strict=True)):
                    if categories is not None:
                        assert isinstance(column, pl.Series)
                        bins[block, j] = _codes(column[block], categories)
                    else:
                        numbers = np.asarray(column[block], dtype=np.float64).reshape(-1, 1, order="F")
                        _cut(numbers, self.cuts_, bins[block], j)

        size = max(1, min(ROWS_PER_BLOCK, VALUES_PER_BLOCK // d))
        blocks = [slice(start, start + size) for start in range(0, n, size)]

        def fill_and_pad(block: slice) -> None:
            fill(block)
            bins[block, d:] = 0

        self._each(fill_and_pad, blocks, n)
        return bins

    def _each(self, action: Callable[[Any], Any], items: Iterable[Any], n_records: int) -> list[Any]:
        """Apply an action to items, by all threads where that pays."""
        if self.n_threads == 1 or n_records < FEWEST_FOR_THREADS:
            return list(map(action, items))
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(action, items))


class Binned:
    """Records that are binned already, to be given to several classifiers as X: each of them bins anew otherwise.

    `X` has the features as they came, for members that do not use bins; `binning` is fitted to the training records,
    and `bins` is what it makes of `X`.

    Examples
    --------
    >>> from stakes import CostBaggingClassifier, CostTreeClassifier
    >>> from stakes.datasets import make_churn
    >>> from stakes.tree.binning import Binned
    >>> data = make_churn(500, random_state=0)
    >>> X = Binned.of(data.frame)
    >>> tree = CostTreeClassifier(max_depth=3).fit(X, data.target)
    >>> bagging = CostBaggingClassifier(n_estimators=5).fit(X, data.target)
    >>> X.shape
    (500, 7)
    """

    def __init__(self, X: Any, binning: Binning, bins: Bytes) -> None:
        self.X = X
        self.binning = binning
        self.bins = bins

    @classmethod
    def of(cls, X: Any, binning: Binning | None = None) -> Binned:
        """Bin records, by default as is found on themselves."""
        table = table_of(X)
        binning = binning or Binning().fit(table)
        return cls(X, binning, binning.transform(table))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of records and of features."""
        return self.bins.shape[0], len(self.binning.names_)

    def __len__(self) -> int:
        return self.bins.shape[0]

    def take_rows(self, rows: NDArray[np.intp]) -> Binned:
        """Return some of the records."""
        return Binned(take_rows(self.X, rows), self.binning, self.bins[rows])


def _sample(n: int) -> Indices | slice:
    """Choose the records to find cuts on: the same ones for the same number of records."""
    if n <= CUT_SAMPLE:
        return slice(None)
    return np.sort(np.random.default_rng(n).choice(n, CUT_SAMPLE, replace=False))


def _number_bins(column: NDArray[Any], rows: Indices | slice, max_bins: int) -> tuple[Floats, Floats]:
    """Return the cuts between the bins of a numeric feature, and a typical value of each bin."""
    ordered = _ordered(column[rows])
    if not isinstance(rows, slice) and _count_distinct(ordered) <= max_bins:
        ordered = _ordered(column)
    cuts, middles = np.empty(max_bins), np.empty(max_bins)
    n_bins = _find_cuts(ordered, _count_distinct(ordered), max_bins, cuts, middles)
    return cuts[: max(0, n_bins - 1)], middles[:n_bins]


def _ordered(values: NDArray[Any]) -> Floats:
    """Return the values that are not missing in order; those in single precision are sorted in half the time."""
    ordered = np.sort(values if values.dtype == np.float32 else values.astype(np.float64))
    return ordered[: np.searchsorted(ordered, np.nan)].astype(np.float64)


def _count_distinct(ordered: Floats) -> int:
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, ordered.size)


@kernel
def _find_cuts(ordered: Floats, n_distinct: int, max_bins: int, cuts: Floats, middles: Floats) -> int:
    """Write the cuts between bins and the middle of each; return how many bins there are.

    Bins have about equal numbers of records, or one value each where there are few. A value with more than twice its
    share has a bin to itself: it may cut a bin of other values in two, and fewer than half of the bins are needed for
    such values, so there is room for both.
    """
    n = ordered.shape[0]
    each = n_distinct <= max_bins
    most = 2 * n / max_bins
    n_heavy, in_heavy = 0, 0
    start = 0
    for i in range(1, n + 1):
        if i == n or ordered[i] != ordered[start]:
            if i - start > most:
                n_heavy += 1
                in_heavy += i - start
            start = i
    scale = (max_bins - 2 * n_heavy) / (n - in_heavy) if n > in_heavy else 0.0
    n_bins, number, light = 0, 0, 0
    was_heavy = True
    first = 0  # of the bin
    start = 0  # of the value
    for i in range(1, n + 1):
        if i < n and ordered[i] == ordered[start]:
            continue
        heavy = i - start > most
        light += 0 if heavy else i - start
        number_here = int(light * scale - 1e-9)
        if start > 0 and (each or heavy or was_heavy or number_here > number):
            below, value = ordered[start - 1], ordered[start]
            # Halves first: the sum of two huge values is not finite. Never the value on the right: it belongs there.
            cut = below / 2 + value / 2
            cuts[n_bins] = cut if cut < value else below
            middles[n_bins] = below if each else ordered[first] / 2 + below / 2
            n_bins += 1
            first = start
        number, was_heavy, start = number_here, heavy, i
    if n > 0:
        middles[n_bins] = ordered[n - 1] if each else ordered[first] / 2 + ordered[n - 1] / 2
        n_bins += 1
    return n_bins


def _category_bins(column: pl.Series, max_bins: int) -> dict[str, int]:
    """Return the bin of each category: one each from 1 on, the rarest together in the last where there are too many."""
    names = by_frequency(column)
    kept = names if len(names) <= max_bins else names[: max_bins - 1]
    bins = {name: i for i, name in enumerate(sorted(kept), start=1)}
    return bins | dict.fromkeys(names[len(kept) :], max_bins)


def _codes(column: pl.Series, categories: dict[str, int]) -> Bytes:
    # The last is for what is not among them.
    bins = np.array([*categories.values(), MISSING], np.uint8)
    return bins[category_codes(column, categories)]


@kernel
def _cut(numbers: Floats, cuts: Floats, bins: Bytes, first: int) -> None:
    """Write the bins of the features from `first` on: one more than the number of cuts below a value; 0 for NaN."""
    for column in range(numbers.shape[1]):
        j = first + column
        for i in range(numbers.shape[0]):
            value = numbers[i, column]
            below = 0
            # Binary search in eight steps without branches: cuts end in infinities.
            for step in (128, 64, 32, 16, 8, 4, 2, 1):
                below += step * (cuts[j, below + step - 1] < value)
            bins[i, j] = below + 1 if value == value else MISSING
