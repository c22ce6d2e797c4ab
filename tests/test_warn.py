"""Warnings name the line of the user that they are about, however deep inside the reason is found."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier, Decision, MetaCostClassifier
from stakes.exceptions import (
    ClassMeansWarning,
    ColumnTypeWarning,
    FewRoundsWarning,
    NoEffectWarning,
    OneClassWarning,
)

N = 200
RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(N, 2))
RARE = (np.arange(N) % 20 == 0).astype(int)
BY_HALF = Decision(leaf="laplace", threshold="half")
NUMBERS = pl.DataFrame({"number": [f"{number}" for number in range(N)]})

CASES: dict[str, tuple[Any, Any, type[Warning]]] = {
    "a tree's leaf": (CostTreeClassifier(leaf="m_estimate", decision=BY_HALF), NOISE, NoEffectWarning),
    "a member tree's leaf": (
        CostBaggingClassifier(CostTreeClassifier(leaf="m_estimate"), n_estimators=2, decision=BY_HALF),
        NOISE,
        NoEffectWarning,
    ),
    "a member tree's decision": (
        CostBoostClassifier(CostTreeClassifier(decision=BY_HALF), n_estimators=2),
        NOISE,
        NoEffectWarning,
    ),
    "one class": (CostTreeClassifier(max_depth=1, decision=Decision(threshold="half")), NOISE, OneClassWarning),
    "one class of a teacher": (
        MetaCostClassifier(CostBaggingClassifier(n_estimators=2, decision=Decision(threshold="half"))),
        np.zeros((N, 1)),
        OneClassWarning,
    ),
    "few rounds": (CostBoostClassifier(variant="naive", n_estimators=50), np.zeros((N, 1)), FewRoundsWarning),
    "texts that look like numbers": (CostTreeClassifier(max_depth=1), NUMBERS, ColumnTypeWarning),
    "class means": (CostBaggingClassifier(n_estimators=2, sampling="under"), NOISE, ClassMeansWarning),
}


@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_line_that_called(case: str) -> None:
    classifier, X, category = CASES[case]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, RARE, fp_cost=1.0, fn_cost=np.linspace(1.0, 4.0, N))
    lines = {(told.filename, told.lineno) for told in caught if told.category is category}
    assert lines == {(__file__, test_a_warning_names_the_line_that_called.__code__.co_firstlineno + 5)}
