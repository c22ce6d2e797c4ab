"""Over-sampling with synthetic records, by imbalanced-learn's SMOTE family (FRAMEWORK 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from numbers import Integral
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

from stakes._docs import documented
from stakes._rows import append_rows, take_rows
from stakes.costs import Costs
from stakes.exceptions import SamplingError
from stakes.sampling.base import Counts, MemberSampler, Sample
from stakes.sampling.encoding import categorical_columns, column_names, encode
from stakes.sampling.ratio import RatioSampler
from stakes.sampling.rows import check_room
from stakes.table import check_table

__all__ = ["SMOTESampler"]

# A pool for many draws has this many times the records of one: any two draws share a fifth.
POOL = 5
# Numbers from here on are as good as infinite: the squares of their distances are.
FARTHEST = 1e150


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SMOTESampler(RatioSampler):
    """Grow the dearer class to the ratio of the costs with synthetic records.

    As :class:`OverSampler`, but each extra record lies between a record of the class and one of its nearest
    neighbours in the class (FRAMEWORK 3). The work is done by imbalanced-learn: SMOTE for numbers, SMOTENC
    where some columns are categorical, SMOTEN where all are. Equal costs change nothing.

    Parameters
    ----------
    k_neighbors : int, default=5
        Nearest neighbours to choose from. A class of no more than `k_neighbors` records uses all others of it.
    categorical_features : array-like of bool, int or str, default=None
        A mask, column numbers or column names. By default the columns of text, categories and booleans of a data
        frame, and those of an array of objects that hold anything but numbers. A missing category is a category.
    {sampler}

    Attributes
    ----------
    sample_indices_ : ndarray of shape (n_records,)
        Row numbers of the original records. They come first in the sample, each once; the synthetic records after
        them have no number.
    sampling_strategy_ : dict
        Records of each label in the sample.

    Notes
    -----
    A record with missing numbers stays in the sample, but no synthetic ones are made from it: there is no point
    between it and another. Where fewer than two records of the class to grow have all their numbers, that is an error,
    and so are infinite numbers. Columns of integers get whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.sampling import SMOTESampler
    >>> X, y = np.arange(12.0).reshape(12, 1), np.array([0] * 10 + [1] * 2)
    >>> sampler = SMOTESampler(random_state=0)
    >>> X_res, y_res = sampler.fit_resample(X, y, fp_cost=1, fn_cost=2)
    >>> sampler.sampling_strategy_
    {0: 10, 1: 4}
    >>> bool(np.all((X_res[12:] >= 10) & (X_res[12:] <= 11)))
    True
    """

    share = 0.0
    grows_by = "neighbours"

    k_neighbors: int = 5
    categorical_features: ArrayLike | None = None

    def counts(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Counts:
        """Return ones: every original record is in the sample once. The rest of it is made by `synthesize`."""
        return np.ones(y.size, dtype=np.int64)

    def draw(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Sample:
        """Draw a whole sample: every original record once, and synthetic ones."""
        return Sample(self.counts(y, costs, rng), *self.synthesize(X, y, costs, rng))

    def prepare(
        self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, n_draws: int, X: Any = None
    ) -> MemberSampler:
        """Make a pool of synthetic records, several times as many as a sample needs, for all draws to choose from.

        To find neighbours anew for each of a hundred members would take most of the time of training them.
        """
        if n_draws <= POOL:
            return self
        made = [self.synthesize(X, y, costs, rng) for _ in range(POOL)]
        y_new = made[0][1]
        return _Pool(reduce(append_rows, (X_new for X_new, _ in made)), y_new) if y_new.size else self

    def synthesize(
        self, X: Any, y: NDArray[Any], costs: Costs, rng: np.random.Generator
    ) -> tuple[Any, NDArray[np.int64]]:
        """Return the extra records that bring the classes to the ratio of the costs, and their class, one for all.

        Record-dependent costs are reduced to class means, silently.
        """
        if X is None:
            raise SamplingError("SMOTESampler makes records between those of X, and X was not given")
        grown = [(rows, size - rows.size) for rows, size in self._classes(y, costs) if size > rows.size]
        if not grown:
            return take_rows(X, np.empty(0, np.intp)), np.empty(0, np.int64)
        ((rows, n_new),) = grown
        others = np.setdiff1d(np.arange(y.size), rows)
        return self._between(X, rows, others, n_new, int(rng.integers(2**31 - 1))), np.full(n_new, y[rows[0]], np.int64)

    def _between(self, X: Any, rows: NDArray[np.intp], others: NDArray[np.intp], n_new: int, seed: int) -> Any:
        """Make `n_new` records between the `rows` of a class."""
        if not (isinstance(self.k_neighbors, Integral) and self.k_neighbors >= 1):
            raise SamplingError(f"k_neighbors={self.k_neighbors!r} is not a whole number of at least 1")
        if rows.size < 2:
            raise SamplingError(
                "the class to grow has one record only, and no neighbour of the same class to lie between: "
                "use OverSampler, which copies records"
            )
        check_table(X)
        categorical = categorical_columns(X, self.categorical_features)
        if not categorical.size:
            raise SamplingError("X has 0 feature(s), and SMOTE makes records of them")
        check_room(n_new, rows.size + others.size, categorical.size)
        # SMOTEN's distances between categories come from how they go with the classes; the others know one class.
        used = np.concatenate([rows, others]) if categorical.all() else rows
        matrix, decode = encode(take_rows(X, used), categorical)
        parents = _complete(matrix, ~categorical, rows, column_names(X))
        matrix = matrix[np.concatenate([parents, np.arange(rows.size, used.size)])]
        classes = (np.arange(matrix.shape[0]) < parents.size).astype(np.int64)
        if classes.all():
            # imbalanced-learn asks for a second class: one record stands in for it, and is never looked at.
            matrix = append_rows(matrix, matrix[:1])
            classes = np.append(classes, 0)
        sampler = _method(categorical)(
            sampling_strategy={1: parents.size + n_new},
            k_neighbors=min(int(self.k_neighbors), parents.size - 1),
            random_state=seed,
        )
        return decode(sampler.fit_resample(matrix, classes)[0][-n_new:])


class _Pool(SMOTESampler):
    """Draws the synthetic records of a sample from a pool, each at most once."""

    def __init__(self, X: Any, y_new: NDArray[np.int64]) -> None:
        self.X = X
        self.y_new = y_new

    def synthesize(
        self, X: Any, y: NDArray[Any], costs: Costs, rng: np.random.Generator
    ) -> tuple[Any, NDArray[np.int64]]:
        """Return some records of the pool, and their class, one for all."""
        return take_rows(self.X, rng.choice(POOL * self.y_new.size, self.y_new.size, replace=False)), self.y_new


class _Categories(OneHotEncoder):
    """One-hot encoding that reads categories off the stored entries: scikit-learn's looks at each row by itself."""

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        X = sparse.csr_array(X)
        X.sort_indices()
        sizes = [categories.size for categories in self.categories_]
        if not (np.diff(X.indptr) == len(sizes)).all():
            return np.asarray(super().inverse_transform(X))
        codes = X.indices.reshape(-1, len(sizes)) - np.cumsum([0, *sizes[:-1]])
        if ((codes < 0) | (codes >= sizes)).any():
            return np.asarray(super().inverse_transform(X))
        return np.column_stack([categories[codes[:, j]] for j, categories in enumerate(self.categories_)])


def _method(categorical: NDArray[np.bool_]) -> Callable[..., Any]:
    if categorical.all():
        return SMOTEN
    if categorical.any():
        encoder = _Categories(handle_unknown="ignore")  # as imbalanced-learn's own
        return partial(SMOTENC, categorical_features=np.flatnonzero(categorical).tolist(), categorical_encoder=encoder)
    return SMOTE


def _complete(matrix: Any, numeric: NDArray[np.bool_], rows: NDArray[np.intp], names: list[Any]) -> NDArray[np.intp]:
    """Return which of the first ``rows.size`` records have all their numbers."""
    entries = sparse.coo_array(matrix[: rows.size, numeric])
    missing = np.isnan(entries.data)
    complete = np.setdiff1d(np.arange(rows.size), entries.row[missing])
    far = np.abs(entries.data) > FARTHEST
    if complete.size >= 2 and not far.any():
        return complete
    bad = np.flatnonzero(far if far.any() else missing)
    affected, columns = entries.row[bad], np.flatnonzero(numeric)[entries.col[bad]]
    value = entries.data[bad[0]]
    what = "missing" if np.isnan(value) else "infinite" if np.isinf(value) else f"as good as infinite, {value:g},"
    raise SamplingError(
        f"column {names[columns[0]]!r} is {what} in row {rows[affected[0]]} "
        f"({np.unique(affected).size} of the {rows.size} records of the class to grow are affected): SMOTE makes "
        "records between others and needs two with all their numbers, none of them infinite. Impute them first "
        "(sklearn.impute), or use OverSampler, which copies records as they are"
    )
