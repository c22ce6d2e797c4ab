"""Contributions through a transformation of the score."""

import numpy as np
import pytest
from scipy.special import expit

from stakes.explain.contributions import Contributions, weighted_sum


def make(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    values, base = rng.normal(size=(n, d)), rng.normal(size=n)
    values[:, 2] = 0.0
    return Contributions(values, base, base + values.sum(axis=1))


def adds_up(found):
    return np.abs(found.base + found.values.sum(axis=1) - found.score).max() < 1e-12


def test_contributions_to_a_function_of_the_score_add_up_to_it():
    raw = make()
    found = raw.through(expit)
    assert adds_up(found)
    np.testing.assert_array_equal(found.score, expit(raw.score))
    np.testing.assert_array_equal(found.base, expit(raw.base))


def test_an_increasing_function_keeps_signs_and_proportions():
    raw = make()
    found = raw.through(expit)
    np.testing.assert_array_equal(np.sign(found.values), np.sign(raw.values))
    np.testing.assert_allclose(found.values[:, 0] * raw.values[:, 1], found.values[:, 1] * raw.values[:, 0], atol=1e-12)


def test_a_linear_function_scales_contributions():
    raw = make()
    np.testing.assert_allclose(raw.through(lambda score: 3 * score - 1).values, 3 * raw.values, atol=1e-12)


@pytest.mark.parametrize("moved", [0.0, 1e-15, -1e-12, 1e-9])
def test_contributions_that_cancel_are_scaled_by_the_slope(moved):
    raw = Contributions(np.array([[0.5, -0.5 + moved]]), np.array([0.3]), np.array([0.3 + moved]))
    found = raw.through(lambda score: score**2)
    assert adds_up(found)
    np.testing.assert_allclose(found.values, [[0.3, -0.3]], atol=1e-6)


def test_contributions_add_up_across_a_step_of_the_function():
    raw = Contributions(np.array([[0.4, -0.4 + 1e-9]]), np.array([0.5]), np.array([0.5 + 1e-9]))
    found = raw.through(lambda score: np.where(score > 0.5, 1.0, 0.0))
    assert adds_up(found)


def test_where_nothing_contributes_nothing_does_after_a_transformation():
    raw = Contributions(np.zeros((2, 3)), np.array([0.2, 0.7]), np.array([0.2, 0.7]))
    assert (raw.through(expit).values == 0).all()


def test_contributions_to_a_weighted_sum_add_up():
    parts = [make(seed=seed) for seed in range(3)]
    found = weighted_sum(parts, [0.5, -0.2, 2.0])
    assert adds_up(found)
    np.testing.assert_allclose(found.score, 0.5 * parts[0].score - 0.2 * parts[1].score + 2 * parts[2].score)
    assert not weighted_sum([parts[0], parts[1]._replace(exact=False)], [1, 1]).exact


def test_contributions_to_the_other_class_have_the_other_sign():
    raw = make()
    np.testing.assert_array_equal(raw.flipped().values, -raw.values)
    assert adds_up(raw.flipped())
