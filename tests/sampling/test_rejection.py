"""The bootstrap and cost-proportionate rejection against FRAMEWORK 3. All seeds are fixed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stakes import Costs
from stakes.exceptions import SamplingError
from stakes.sampling import Bootstrap, CPRSampler

# Ten times over, so that a draw without one of the classes, which would be repeated, never happens.
Y = np.tile([0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0], 10)
FP = np.tile([1.0, 9.0, 2.0, 0.5, 9.0, 4.0, 9.0, 3.0, 0.0, 9.0, 1.5, 6.0], 10)
FN = np.tile([9.0, 8.0, 9.0, 9.0, 2.0, 9.0, 10.0, 9.0, 9.0, 5.0, 9.0, 9.0], 10)
C = np.where(Y == 1, FN, FP)
COSTS = Costs(fp=FP, fn=FN)


def repeated(sampler: CPRSampler, repeats: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([sampler.counts(Y, COSTS, rng) for _ in range(repeats)])


def test_bootstrap_draws_as_many_records_as_there_are_with_replacement() -> None:
    y = np.arange(500) % 2
    ours, plain = np.random.default_rng(7), np.random.default_rng(7)
    counts = Bootstrap().counts(y, Costs(fp=1, fn=5), ours)
    np.testing.assert_array_equal(counts, np.bincount(plain.integers(500, size=500), minlength=500))
    assert ours.bit_generator.state == plain.bit_generator.state
    assert counts.dtype == np.int64


@given(
    y=st.lists(st.integers(0, 1), min_size=2, max_size=40).filter(lambda y: 0 < sum(y) < len(y)),
    both=st.sampled_from([0.0, 0.1, 1.0, 1e6]),
    quantile=st.sampled_from([None, 0.3, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_cpr_with_equal_costs_is_the_bootstrap_to_the_last_bit(
    y: list[int], both: float, quantile: float | None, seed: int
) -> None:
    """Also where a sample is drawn again for want of a class, which small ones often are, and in what follows."""
    classes, costs = np.array(y), Costs(fp=np.full(len(y), both), fn=both)
    ours, plain = np.random.default_rng(seed), np.random.default_rng(seed)
    with np.errstate(all="raise"):
        counts = CPRSampler(quantile=quantile).counts(classes, costs, ours)
    np.testing.assert_array_equal(counts, Bootstrap().counts(classes, costs, plain))
    assert ours.bit_generator.state == plain.bit_generator.state


def test_cpr_accepts_in_proportion_to_the_cost() -> None:
    repeats = 4000
    mean = repeated(CPRSampler(), repeats).mean(axis=0)
    p = C / C.max()
    # Given that it is drawn N times out of N with chance 1/N each, a record occurs Binomial(N, p / N) times.
    z = (mean - p) / np.sqrt(np.maximum(p * (1 - p / Y.size), 1e-12) / repeats)
    assert np.abs(z).max() < 4
    assert stats.kstest(z[p > 0], "norm").pvalue > 0.01


def test_cpr_multiplicities_are_binomial() -> None:
    """Not only the mean: each draw is accepted or not on its own."""
    repeats = 4000
    counts = repeated(CPRSampler(), repeats, seed=1)
    for record in (1, 4, 6):  # costs 8, 2 and the largest, 10
        law = stats.binom(Y.size, C[record] / C.max() / Y.size)
        observed = np.bincount(np.minimum(counts[:, record], 3), minlength=4)
        expected = repeats * np.append(law.pmf([0, 1, 2]), law.sf(2))
        assert stats.chisquare(observed, expected).pvalue > 0.005


def test_cpr_never_accepts_a_record_without_cost() -> None:
    assert repeated(CPRSampler(), 500)[:, C == 0].sum() == 0
    assert repeated(CPRSampler(quantile=0.5), 500)[:, C == 0].sum() == 0


def test_cpr_quantile_gives_the_expected_multiplicity_above_and_below_it() -> None:
    repeats, quantile = 4000, 0.6
    ceiling = np.quantile(C, quantile)
    counts = repeated(CPRSampler(quantile=quantile), repeats)
    m = C / ceiling
    assert (m > 1).any()
    assert (m < 1).any()
    # Per draw: floor(m) and one more with probability frac(m); per sample: Binomial(N, 1/N) draws.
    fraction = m - np.floor(m)
    second_moment = np.floor(m) ** 2 * (1 - fraction) + np.ceil(m) ** 2 * fraction
    variance = second_moment - m**2 / Y.size
    z = (counts.mean(axis=0) - m) / np.sqrt(np.maximum(variance, 1e-12) / repeats)
    assert np.abs(z).max() < 4


def test_cpr_quantile_turns_each_draw_into_the_whole_part_or_one_more() -> None:
    """The same seed shows which records were drawn: nothing is accepted that was not."""
    ceiling = np.quantile(C, 0.6)
    for seed in range(50):
        counts = CPRSampler(quantile=0.6).counts(Y, COSTS, np.random.default_rng(seed))
        drawn = np.bincount(np.random.default_rng(seed).integers(Y.size, size=Y.size), minlength=Y.size)
        assert np.all(counts >= drawn * np.floor(C / ceiling))
        assert np.all(counts <= drawn * np.ceil(C / ceiling))


def test_cpr_with_quantile_one_is_the_maximum() -> None:
    for seed in range(5):
        np.testing.assert_array_equal(
            CPRSampler(quantile=1.0).counts(Y, COSTS, np.random.default_rng(seed)),
            CPRSampler().counts(Y, COSTS, np.random.default_rng(seed)),
        )


def test_quantile_feeds_a_sample_that_a_single_cost_starves() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.1).astype(int)
    fn = rng.lognormal(3, 1, 5000)
    fn[np.flatnonzero(y)[0]] = 1e6
    costs = Costs(fp=5.0, fn=fn)
    starved = CPRSampler().counts(y, Costs(fp=500.0, fn=fn), np.random.default_rng(0)).sum()
    fed = CPRSampler(quantile=0.99).counts(y, costs, np.random.default_rng(0)).sum()
    assert starved < 20
    assert fed > 200


@given(seed=st.integers(0, 2**32 - 1))
def test_a_sample_always_has_both_classes(seed: int) -> None:
    y = np.array([1] + [0] * 20)
    costs = Costs(fp=10.0, fn=1.0)  # the one positive is accepted in a tenth of the draws of it
    rng = np.random.default_rng(seed)
    for sampler in (CPRSampler(), Bootstrap()):
        counts = sampler.counts(y, costs, rng)
        assert counts[0] > 0
        assert counts[1:].sum() > 0


def test_a_class_without_cost_is_an_error_with_a_way_out() -> None:
    with pytest.raises(SamplingError, match=r"0 positives.*raise its cost or use UnderSampler"):
        CPRSampler().counts(Y, Costs(fp=1, fn=0), np.random.default_rng(0))


def test_a_starved_class_is_an_error_with_a_way_out() -> None:
    with pytest.raises(SamplingError, match=r"8e-08 negatives.*Z = 1e\+09.*quantile"):
        CPRSampler().counts(Y, Costs(fp=1, fn=1e9), np.random.default_rng(0))


def test_a_quantile_of_zero_cost_is_an_error() -> None:
    fn = np.where(np.arange(Y.size) == 1, 5.0, 0.0)
    with pytest.raises(SamplingError, match=r"quantile=0.5 of the records' costs is 0.*99.2% of them"):
        CPRSampler(quantile=0.5).counts(Y, Costs(fp=0, fn=fn), np.random.default_rng(0))


def test_a_quantile_that_blows_the_sample_up_is_an_error() -> None:
    with pytest.raises(SamplingError, match="larger quantile"):
        CPRSampler(quantile=0.1).counts(Y, Costs(fp=1e-12, fn=1e3), np.random.default_rng(0))


@pytest.mark.parametrize("quantile", [0.0, -1.0, 1.5])
def test_quantile_outside_zero_to_one_is_an_error(quantile: float) -> None:
    with pytest.raises(SamplingError, match="quantile="):
        CPRSampler(quantile=quantile).counts(Y, COSTS, np.random.default_rng(0))


def test_record_dependent_costs_need_no_class_means() -> None:
    assert not CPRSampler.constant_costs_only
    assert not Bootstrap.uses_costs
    assert CPRSampler.uses_costs


def test_a_bootstrap_of_one_class_says_which_is_missing() -> None:
    with pytest.raises(SamplingError, match="y has 0 positives and 3 negatives"):
        Bootstrap().counts(np.zeros(3, np.int64), Costs(fp=1, fn=1), np.random.default_rng(0))
