"""A parameter that makes no sense is refused in fit by its name, by all estimators alike."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostStackingClassifier,
    CostTreeClassifier,
    MetaCostClassifier,
)
from stakes._validation import check_value, choice, fraction, number, whole

TREE_PARAMETERS = {
    "criterion": "x",
    "max_depth": 0,
    "min_samples_split": 1,
    "min_samples_leaf": 1.5,
    "min_weight_fraction_leaf": 0.6,
    "max_features": "auto",
    "cp": 2,
    "pruning": "alpha",
    "pruning_measure": "auc",
    "leaf": "nonsense",
    "break_ties": "no",
    "max_bins": 1000,
    "validation": 2.0,
}


@pytest.mark.parametrize("ensemble", [CostBaggingClassifier, CostBoostClassifier])
@pytest.mark.parametrize(("name", "value"), TREE_PARAMETERS.items())
def test_parameters_of_member_trees_are_checked_by_both_ensembles(
    ensemble: Any, name: str, value: Any, small: Any
) -> None:
    with pytest.raises(ValueError, match=f"{name}={value!r} is not "):
        ensemble(CostTreeClassifier(**{name: value}), n_estimators=2).fit(small.X, small.y)


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (CostBaggingClassifier(weighted="yes"), ValueError, "weighted='yes' is not known"),
        (CostBaggingClassifier(presample=1), ValueError, "presample=1 is not known"),
        (CostBaggingClassifier(prior_correction=None), ValueError, "prior_correction=None is not known"),
        (CostBoostClassifier(n_estimators=-1), ValueError, "n_estimators=-1 is not valid"),
        (CostBoostClassifier(validation="oob"), ValueError, "validation='oob' is not known"),
        (CostBoostClassifier(estimator=LinearRegression()), TypeError, "is not a classifier"),
        (CostDecisionClassifier(LogisticRegression(), prefit="no"), ValueError, "prefit='no' is not known"),
        (CostStackingClassifier(by_stakes="no"), ValueError, "by_stakes='no' is not known"),
        (MetaCostClassifier(final_estimator=LinearRegression()), TypeError, "is not a classifier"),
    ],
    ids=str,
)
def test_nonsense_is_refused_by_name(estimator: Any, error: type[Exception], message: str, small: Any) -> None:
    with pytest.raises(error, match=message):
        estimator.fit(small.X, small.y)


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (choice(None, "a"), [None, "a"], ["b", 1, [], {}]),
        (whole(1), [1, 7], [0, None, True, 1.0, "1"]),
        (whole(2, 5, optional=True), [None, 2, 5], [1, 6]),
        (number(0, 1), [0, 1, 0.5], [-0.1, 1.1, True, "0", None, float("nan")]),
        (fraction("auto"), ["auto", 0.5], [0.0, 1.0, 1, None, "x"]),
    ],
)
def test_constraints_accept_what_they_say(constraint: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        check_value("parameter", value, constraint)
    for value in bad:
        with pytest.raises(ValueError, match="parameter="):
            check_value("parameter", value, constraint)
