"""Vote weights against their formulas, and at the ends of the range of errors (FRAMEWORK 8.1)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes.decision.weights import BY_ERROR, vote_weights

FORMULAS: dict[str, Callable[[float], float]] = {
    "equal": lambda e: 1.0,
    "log_odds": lambda e: max(log((1 - e) / e), 0.0),
    "accuracy": lambda e: 1 - e,
    "exp_odds": lambda e: exp((1 - e) / e),
    "squared_odds": lambda e: ((1 - e) / e) ** 2,
}
ENDS = [0.0, 1e-12, 0.5, 1.0]


def test_all_weights_have_a_formula_here() -> None:
    assert set(FORMULAS) == set(BY_ERROR)


@pytest.mark.parametrize("name", FORMULAS)
@given(errors=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=8).filter(lambda e: min(e) < 0.49))
def test_weights_are_the_formulas_relative_to_the_largest(name: str, errors: list[float]) -> None:
    plain = [FORMULAS[name](e) for e in errors]
    np.testing.assert_allclose(
        vote_weights(name, np.array(errors)), np.array(plain) / max(plain), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", FORMULAS)
@given(errors=st.lists(st.one_of(st.sampled_from(ENDS), st.floats(0, 1)), min_size=1, max_size=8))
def test_weights_are_finite_for_every_error(name: str, errors: list[float]) -> None:
    weight = vote_weights(name, np.array(errors))
    assert np.isfinite(weight).all()
    # None but those whose formula gives members nothing that are worse than chance.
    assert (weight >= 0).all() if FORMULAS[name](0.9) == 0 else (weight > 0).all()
    assert weight.max() == 1.0
    # A member that errs less never counts less.
    assert (np.diff(weight[np.argsort(errors)]) <= 0).all()


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("error", ENDS)
def test_members_with_the_same_error_count_alike(name: str, error: float) -> None:
    np.testing.assert_array_equal(vote_weights(name, np.full(3, error)), np.ones(3))


@pytest.mark.parametrize("name", ["log_odds", "exp_odds", "squared_odds"])
def test_a_perfect_member_outvotes_all_others(name: str) -> None:
    weight = vote_weights(name, np.array([0.0, *[0.4] * 50]))
    assert weight[0] > weight[1:].sum()


def test_members_no_better_than_chance_have_no_weight_by_log_odds_unless_all_are() -> None:
    np.testing.assert_array_equal(vote_weights("log_odds", np.array([0.4, 0.5, 0.9])), [1, 0, 0])
    np.testing.assert_array_equal(vote_weights("log_odds", np.array([0.6, 0.5, 0.9])), np.ones(3))


def test_columns_are_weighed_each_for_itself() -> None:
    errors = np.array([[0.1, 0.0, 0.7], [0.2, 1.0, 0.9], [0.4, 0.5, 0.6]])
    for name in FORMULAS:
        together = vote_weights(name, errors)
        np.testing.assert_array_equal(together, np.column_stack([vote_weights(name, column) for column in errors.T]))


def test_small_errors_keep_their_ratios() -> None:
    """In exact arithmetic: odds of 1e12 and of 0.5e12."""
    weight = vote_weights("squared_odds", np.array([1e-12, 2e-12]))
    exact = ((1 - Fraction(2e-12)) / Fraction(2e-12)) ** 2 / ((1 - Fraction(1e-12)) / Fraction(1e-12)) ** 2
    assert weight[1] == pytest.approx(float(exact), rel=1e-12)
