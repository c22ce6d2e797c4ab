"""Data frames with text, shown as numbers to classifiers that take nothing else."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from stakes._rivals import logistic_regression
from stakes.encoded import MOST_CATEGORIES, EncodedClassifier


@pytest.mark.parametrize("name", ["count", "n", "category", "x"])
def test_a_column_may_have_any_name(name: str) -> None:
    frame = pl.DataFrame({name: ["a", "b", None, "a"] * 5})
    clf = EncodedClassifier(DecisionTreeClassifier()).fit(frame, [0, 1, 0, 0] * 5)
    assert clf.encoder_.categories == [["a", "b"]]
    assert clf.predict(pl.DataFrame({name: ["a", "b"]})).tolist() == [0, 1]


def test_of_equally_rare_categories_those_first_in_the_alphabet_are_kept() -> None:
    names = [f"c{i:04d}" for i in range(MOST_CATEGORIES + 50)]
    texts = np.random.default_rng(0).permutation(names + names[-10:]).tolist()
    y = [i % 2 for i in range(len(texts))]
    clf = EncodedClassifier(DecisionTreeClassifier()).fit(pl.DataFrame({"text": texts}), y)
    # The ten that occur twice, and the first ones of the rest.
    assert clf.encoder_.categories == [sorted(names[-10:] + names[: MOST_CATEGORIES - 10])]


@pytest.mark.parametrize("model", [logistic_regression(), EncodedClassifier(RandomForestClassifier(n_estimators=3))])
def test_huge_numbers_are_within_what_other_libraries_can_square(model: EncodedClassifier) -> None:
    X = np.tile([[1e300, 1.0], [-1.7e308, 2.0], [5e-324, 3.0]], (20, 1))
    kept = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        p = model.fit(X, np.arange(60) % 2).predict_proba(X)
        model.fit(np.ones((60, 1), np.float16), np.arange(60) % 2)  # compared with them without an overflow
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(X, kept)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "margins"])
def test_a_model_that_is_not_fitted_says_so(method: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(EncodedClassifier(DecisionTreeClassifier()), method)([[1.0]])
