"""Models of other libraries, made ready for tables with texts and missing values, for the catalogue."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from stakes.encoded import EncodedClassifier
from stakes.explain.models import Margins

__all__ = [
    "OF_IMBALANCED_LEARN",
    "PreparedLogisticRegression",
    "balanced_ensemble",
    "logistic_regression",
    "prepared_columns",
]

# What the ensembles of imbalanced-learn consist of.
OF_IMBALANCED_LEARN = (
    "imblearn.ensemble._bagging.BalancedBaggingClassifier",
    "imblearn.ensemble._easy_ensemble.EasyEnsembleClassifier",
    "imblearn.ensemble._forest.BalancedRandomForestClassifier",
    "imblearn.ensemble._weight_boosting.RUSBoostClassifier",
    "imblearn.over_sampling._random_over_sampler.RandomOverSampler",
    "imblearn.over_sampling._smote.base.SMOTE",
    "imblearn.over_sampling._smote.base.SMOTENC",
    "imblearn.pipeline.Pipeline",
    "imblearn.under_sampling._prototype_selection._random_under_sampler.RandomUnderSampler",
)
# Categories of fewer records than this share one column.
RARE = 10


def prepared_columns(n_features: int, categorical: Any = None) -> ColumnTransformer:
    """Return what scales numbers and makes indicators of categories and of missing values, for linear models.

    `categorical` is a mask of the features that are numbers of categories.
    """
    names = np.zeros(n_features, bool) if categorical is None else np.asarray(categorical, bool)
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
    )
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=RARE, sparse_output=False)
    return ColumnTransformer(
        [("numbers", numbers, np.flatnonzero(~names)), ("categories", categories, np.flatnonzero(names))]
    )


class PreparedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression on scaled numbers and indicators of categories; missing values have indicators, too.

    `categorical_features` is a mask of the features that are numbers of categories.
    """

    def __init__(self, *, C: float = 1.0, max_iter: int = 1000, categorical_features: Any = None) -> None:
        self.C = C
        self.max_iter = max_iter
        self.categorical_features = categorical_features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: NDArray[Any], y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the preparation and the coefficients."""
        self.prepare_ = prepared_columns(X.shape[1], self.categorical_features).fit(X)
        prepared = self.prepare_.transform(X)
        # Of each prepared column, the feature that it is made of, and the mean, which is the part of no feature.
        names_out = self.prepare_.get_feature_names_out([str(j) for j in range(X.shape[1])])
        self.features_ = np.array([int(re.findall(r"__(?:missingindicator_)?(\d+)", name)[0]) for name in names_out])
        self.means_ = np.average(prepared, axis=0, weights=sample_weight)  # type: ignore[arg-type]
        self.regression_ = LogisticRegression(C=self.C, max_iter=self.max_iter)
        self.regression_.fit(prepared, y, sample_weight)
        self.classes_ = self.regression_.classes_
        return self

    def margins(self, X: NDArray[Any]) -> Margins:
        """Return what each feature adds to the log-odds: exact Shapley values of a linear model."""
        check_is_fitted(self)
        weights = self.regression_.coef_[0]
        added = (self.prepare_.transform(X) - self.means_) * weights
        values = np.zeros(X.shape)
        np.add.at(values.T, self.features_, added.T)
        return Margins(values, float(self.means_ @ weights + self.regression_.intercept_[0]))

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probabilities of the classes."""
        check_is_fitted(self)
        return self.regression_.predict_proba(self.prepare_.transform(X))

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the most probable classes."""
        check_is_fitted(self)
        return self.regression_.predict(self.prepare_.transform(X))


def logistic_regression(C: float = 1.0, max_iter: int = 1000) -> EncodedClassifier:
    """Return logistic regression for any table."""
    return EncodedClassifier(PreparedLogisticRegression(C=C, max_iter=max_iter))


def balanced_ensemble(name: str, n_estimators: int | None = None) -> EncodedClassifier:
    """Return one of imbalanced-learn's ensembles, for any table; they take no missing values by themselves."""
    from imblearn import ensemble

    model = getattr(ensemble, name)(**({} if n_estimators is None else {"n_estimators": n_estimators}))
    return EncodedClassifier(make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), model))
