"""Data frames with text, for models that take numbers and categories only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes._rows import is_sparse
from stakes.explain.models import Margins, margins_of
from stakes.table import Table, as_fitted, by_frequency, category_codes, read_table

__all__ = ["EncodedClassifier", "EncodedRegressor", "Encoder"]

# scikit-learn's gradient boosting takes no more categories than it has bins.
MOST_CATEGORIES = 254
# Numbers beyond this are shown as this: other libraries square them, and turn them into single precision. Of numpy's
# type, so that numbers of half precision, which has no such number, are compared in double precision.
LARGEST = np.float64(1e30)


class Encoder:
    """Shows a table as numbers: texts and categories are numbered, missing and unseen ones are NaN.

    The rarest categories beyond 254 are left out (`categories`, None for numbers).

    Examples
    --------
    >>> import polars as pl
    >>> from stakes.encoded import Encoder
    >>> from stakes.table import table_of
    >>> encoder = Encoder(table_of(pl.DataFrame({"x": [1.5, 2.5, 0.0], "text": ["b", "a", None]})))
    >>> encoder.matrix(table_of(pl.DataFrame({"x": [3.0, 4.0], "text": ["a", "unseen"]})))
    array([[ 3.,  0.],
           [ 4., nan]])
    """

    def __init__(self, table: Table) -> None:
        self.names = table.names
        self.categories = [_categories(column) if isinstance(column, pl.Series) else None for column in table]

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Whether each column holds categories."""
        return np.array([categories is not None for categories in self.categories])

    def matrix(self, table: Table) -> NDArray[Any]:
        """Return the numbers of a table."""
        if table.is_matrix and not self.categorical.any():
            return table.values.toarray() if is_sparse(table.values) else table.values
        columns = []
        for column, name, categories in zip(table, self.names, self.categories, strict=True):
            fitted = as_fitted(column, name, categories)
            if categories is None:
                columns.append(np.asarray(fitted, dtype=np.float64))
                continue
            assert isinstance(fitted, pl.Series)
            codes = category_codes(fitted, categories)
            columns.append(np.where(codes < 0, np.nan, codes))
        return np.column_stack(columns)


@dataclass(eq=False, repr=False)
class Encoded(BaseEstimator):
    """Base of models that are shown numbers, by an `Encoder`.

    The estimator is told which columns hold categories if it has a parameter `categorical_features`, as scikit-learn's
    gradient boosting does, or an argument `categorical_feature` of `fit`, as LightGBM does. Features that are missing
    in all training records are shown as zeros (`empty_`).
    """

    estimator: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the categories, and fit the estimator."""
        table = read_table(self, X, reset=True)
        self.encoder_ = Encoder(table)
        self.estimator_ = clone(self.estimator)
        mask = self.encoder_.categorical
        if mask.any() and "categorical_features" in self.estimator_.get_params():
            self.estimator_.set_params(categorical_features=mask)
        options: dict[str, Any] = {} if sample_weight is None else {"sample_weight": sample_weight}
        if mask.any() and has_fit_parameter(self.estimator_, "categorical_feature"):
            options["categorical_feature"] = np.flatnonzero(mask).tolist()
        self.empty_ = np.isnan(self.encoder_.matrix(table)).all(axis=0)
        self.estimator_.fit(self._numbers(table), y, **options)
        return self

    def _numbers(self, table: Table) -> NDArray[Any]:
        numbers = self.encoder_.matrix(table)
        if (np.abs(numbers) > LARGEST).any():
            numbers = np.clip(numbers, -LARGEST, LARGEST)
        # scikit-learn's gradient boosting finds no bins for a column without a single value.
        return np.where(self.empty_, 0.0, numbers) if self.empty_.any() else numbers

    def _shown(self, X: Any) -> NDArray[Any]:
        """Return what the estimator is shown of new records."""
        check_is_fitted(self)
        return self._numbers(read_table(self, X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the estimator predicts."""
        shown = self._shown(X)
        return self.estimator_.predict(shown)


class EncodedClassifier(ClassifierMixin, Encoded):
    """A classifier for tables with texts and missing values; see `Encoded`.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from stakes.datasets import make_churn
    >>> from stakes.encoded import EncodedClassifier
    >>> data = make_churn(500, random_state=0)
    >>> EncodedClassifier(HistGradientBoostingClassifier(max_iter=5)).fit(data.frame, data.target).classes_
    array([0, 1])
    """

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the categories, and fit the estimator."""
        super().fit(X, y, sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def margins(self, X: Any) -> Margins | None:
        """Return what each feature adds to the log-odds of the estimator; None where it does not know."""
        shown = self._shown(X)
        return margins_of(self.estimator_, shown)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes."""
        shown = self._shown(X)
        return self.estimator_.predict_proba(shown)


class EncodedRegressor(RegressorMixin, Encoded):
    """A regressor for tables with texts and missing values; see `Encoded`.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from stakes.datasets import make_churn
    >>> from stakes.encoded import EncodedRegressor
    >>> data = make_churn(500, random_state=0)
    >>> model = EncodedRegressor(HistGradientBoostingRegressor(max_iter=5)).fit(data.frame, data.amount)
    >>> model.predict(data.frame).shape
    (500,)
    """


def _categories(column: pl.Series) -> list[str]:
    """Return the most frequent categories in alphabetical order; of equally frequent ones the first in the alphabet."""
    return sorted(by_frequency(column)[:MOST_CATEGORIES])
