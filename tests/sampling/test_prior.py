from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes.exceptions import SamplingError
from stakes.sampling import prior_correction

rate = st.floats(1e-4, 1 - 1e-4)
probability = st.floats(0, 1)


@given(p=probability, sampled=rate, original=rate)
def test_correcting_back_and_forth_gives_the_same_probability(p: float, sampled: float, original: float) -> None:
    there = prior_correction(p, sampled=sampled, original=original)
    back = prior_correction(there, sampled=original, original=sampled)
    assert 0 <= there <= 1
    # 1 - p has an absolute precision of 1e-16, which the ratio of the odds can magnify.
    assert back == pytest.approx(p, rel=1e-9, abs=1e-7)


@given(p=probability, b=rate, b_new=rate)
def test_correction_is_elkans_theorem_2(p: float, b: float, b_new: float) -> None:
    elkan = b_new * (p - p * b) / (b - p * b + b_new * p - b * b_new)
    assert prior_correction(p, sampled=b, original=b_new) == pytest.approx(elkan, rel=1e-6, abs=1e-9)


def test_correction_undoes_what_retention_does_to_counts() -> None:
    """A leaf with 6 positives and 30 negatives, after keeping half of the positives and a tenth of the negatives."""
    n_positive, n_negative, keep_positive, keep_negative = 100, 1900, 0.5, 0.1
    original = n_positive / (n_positive + n_negative)
    sampled = n_positive * keep_positive / (n_positive * keep_positive + n_negative * keep_negative)
    in_sample = 6 * keep_positive / (6 * keep_positive + 30 * keep_negative)
    assert prior_correction(in_sample, sampled=sampled, original=original) == pytest.approx(6 / 36, rel=1e-14)


def test_correction_keeps_shape_ends_and_order() -> None:
    p = np.linspace(0, 1, 21).reshape(3, 7)
    corrected = prior_correction(p, sampled=0.5, original=0.01)
    assert corrected.shape == p.shape
    assert corrected[0, 0] == 0
    assert corrected[-1, -1] == 1
    assert np.all(np.diff(corrected.ravel()) > 0)
    np.testing.assert_allclose(prior_correction(p, sampled=0.3, original=0.3), p, rtol=1e-14)


def test_each_member_of_an_ensemble_can_have_its_own_base_rate() -> None:
    p, sampled = np.random.default_rng(0).random((4, 3)), np.array([0.2, 0.5, 0.7])
    corrected = prior_correction(p, sampled=sampled, original=0.1)
    for member in range(3):
        np.testing.assert_array_equal(
            corrected[:, member], prior_correction(p[:, member], sampled=sampled[member], original=0.1)
        )
    with pytest.raises(SamplingError, match="sampled="):
        prior_correction(p, sampled=[0.2, 1.0, 0.7], original=0.1)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.2, 3, float("nan")])
def test_a_base_rate_of_one_class_is_an_error(bad: float) -> None:
    with pytest.raises(SamplingError, match="sampled="):
        prior_correction(0.5, sampled=bad, original=0.5)
    with pytest.raises(SamplingError, match="original="):
        prior_correction(0.5, sampled=0.5, original=bad)
