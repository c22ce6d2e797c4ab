"""Under, over and hybrid sampling against FRAMEWORK 3."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stakes import Costs
from stakes.exceptions import ClassMeansWarning, SamplingError
from stakes.sampling import CostSampler, HybridSampler, OverSampler, UnderSampler
from stakes.sampling.ratio import class_sizes, cost_ratio

RATIO_SAMPLERS = [UnderSampler(), OverSampler(), HybridSampler(share=0.5)]


def labels(n_positive: int, n_negative: int) -> np.ndarray:
    y = np.array([1] * n_positive + [0] * n_negative)
    return np.random.default_rng(n_positive).permutation(y)


def sizes(counts: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    return int(counts[y == 1].sum()), int(counts[y == 0].sum())


@pytest.mark.parametrize(
    ("sampler", "fp", "fn", "expected"),
    [
        (UnderSampler(), 1.0, 4.0, (7, round(101 / 4))),
        (UnderSampler(), 3.0, 1.0, (round(7 / 3), 101)),
        (OverSampler(), 1.0, 4.5, (round(7 * 4.5), 101)),
        (OverSampler(), 4.0, 1.0, (7, round(101 / 0.25))),
        (HybridSampler(share=0.5), 1.0, 9.0, (7 * 3, round(101 / 3))),
        (HybridSampler(share=0.5), 9.0, 1.0, (round(7 / 3), 101 * 3)),
        (HybridSampler(share=0.25), 1.0, 16.0, (7 * 8, round(101 / 2))),
    ],
)
def test_class_sizes_are_those_of_the_framework(
    sampler: CostSampler, fp: float, fn: float, expected: tuple[int, int]
) -> None:
    y = labels(7, 101)
    counts = sampler.counts(y, Costs(fp=fp, fn=fn), np.random.default_rng(0))
    assert sizes(counts, y) == expected


cost = st.floats(0.01, 100, allow_nan=False)
class_size = st.integers(1, 60)


@given(n_positive=class_size, n_negative=class_size, fp=cost, fn=cost, seed=st.integers(0, 2**32 - 1))
def test_under_keeps_one_class_whole_and_a_share_of_the_other(
    n_positive: int, n_negative: int, fp: float, fn: float, seed: int
) -> None:
    y = labels(n_positive, n_negative)
    counts = UnderSampler().counts(y, Costs(fp=fp, fn=fn), np.random.default_rng(seed))
    rho = fn / fp
    expected = (
        (n_positive, max(1, round(n_negative / rho))) if rho >= 1 else (max(1, round(n_positive * rho)), n_negative)
    )
    assert counts.dtype == np.int64
    assert set(np.unique(counts)) <= {0, 1}
    assert sizes(counts, y) == expected


@given(n_positive=class_size, n_negative=class_size, fp=cost, fn=cost, seed=st.integers(0, 2**32 - 1))
def test_over_keeps_every_record_and_grows_one_class(
    n_positive: int, n_negative: int, fp: float, fn: float, seed: int
) -> None:
    y = labels(n_positive, n_negative)
    counts = OverSampler().counts(y, Costs(fp=fp, fn=fn), np.random.default_rng(seed))
    rho = fn / fp
    assert counts.min() >= 1
    assert sizes(counts, y) == (
        (round(n_positive * rho), n_negative) if rho >= 1 else (n_positive, round(n_negative / rho))
    )


@given(rho=st.floats(0.01, 100), share=st.floats(0, 1), n_positive=class_size, n_negative=class_size)
def test_hybrid_has_the_class_ratio_of_the_costs_up_to_rounding(
    rho: float, share: float, n_positive: int, n_negative: int
) -> None:
    scale = 100_000  # large enough that rounding to whole records is invisible
    grown, cut = class_sizes(n_positive * scale, n_negative * scale, rho, share)
    assert grown / cut == pytest.approx(n_positive / n_negative * rho, rel=1e-3)


@pytest.mark.parametrize(("fp", "fn"), [(1.0, 7.0), (7.0, 1.0)])
@pytest.mark.parametrize(("share", "same"), [(1.0, UnderSampler()), (0.0, OverSampler())])
def test_hybrid_ends_in_under_and_over(share: float, same: CostSampler, fp: float, fn: float) -> None:
    y, costs = labels(20, 80), Costs(fp=fp, fn=fn)
    hybrid = HybridSampler(share=share).counts(y, costs, np.random.default_rng(3))
    np.testing.assert_array_equal(hybrid, same.counts(y, costs, np.random.default_rng(3)))


@pytest.mark.parametrize("sampler", RATIO_SAMPLERS, ids=str)
@pytest.mark.parametrize("both", [0.0, 1.0, 7.5])
def test_equal_costs_change_nothing_and_draw_nothing(sampler: CostSampler, both: float) -> None:
    y, rng = labels(5, 20), np.random.default_rng(0)
    before = rng.bit_generator.state
    np.testing.assert_array_equal(sampler.counts(y, Costs(fp=both, fn=both), rng), np.ones(25))
    assert not sampler.changes(y, Costs(fp=both, fn=both))
    assert rng.bit_generator.state == before


@given(
    n_positive=class_size,
    n_negative=class_size,
    rho=st.floats(0.9, 1.1),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_a_sampler_changes_records_iff_its_samples_differ_from_them(
    n_positive: int, n_negative: int, rho: float, share: float, seed: int
) -> None:
    y, sampler, costs = labels(n_positive, n_negative), HybridSampler(share=share), Costs(fp=1.0, fn=rho)
    counts = sampler.counts(y, costs, np.random.default_rng(seed))
    assert sampler.changes(y, costs) == (counts != 1).any()


@pytest.mark.parametrize("rho", [1.5, 4.0])  # drops the fewer, keeps the fewer
def test_under_keeps_each_record_with_the_same_probability(rho: float) -> None:
    y, rng, repeats = labels(5, 40), np.random.default_rng(1), 2000
    kept = sum(UnderSampler().counts(y, Costs(fp=1, fn=rho), rng) for _ in range(repeats))[y == 0]
    n_kept = round(40 / rho)
    # Without replacement the counts are negatively correlated: (n - 1) / n of the sum is chi-square.
    expected = repeats * n_kept / 40
    chi2 = ((kept - expected) ** 2).sum() / (expected * (1 - n_kept / 40)) * 39 / 40
    assert 0.001 < stats.chi2.cdf(chi2, 39) < 0.999


@pytest.mark.parametrize("rho", [5.0, 60.0])  # one draw per duplicate, one draw per record
def test_over_duplicates_each_record_with_the_same_probability(rho: float) -> None:
    y, rng, repeats = labels(30, 40), np.random.default_rng(2), 300
    extra = sum(OverSampler().counts(y, Costs(fp=1, fn=rho), rng) - 1 for _ in range(repeats))[y == 1]
    assert extra.sum() == repeats * 30 * (rho - 1)
    assert 0.001 < stats.chisquare(extra).pvalue < 0.999


def test_both_ways_of_duplicating_spread_alike() -> None:
    """The variance over draws of a record's multiplicity is that of the multinomial, on either side of the switch."""
    y, repeats, boxes = labels(30, 40), 3000, 30
    for rho in (20.9, 21.1):
        rng = np.random.default_rng(5)
        drawn = np.array([OverSampler().counts(y, Costs(fp=1, fn=rho), rng)[y == 1] for _ in range(repeats)])
        balls = drawn[0].sum() - boxes
        assert drawn.var(axis=0).mean() == pytest.approx(balls / boxes * (1 - 1 / boxes), rel=0.05)


def test_under_never_drops_a_class_also_at_zero_cost() -> None:
    y, rng = labels(30, 70), np.random.default_rng(0)
    assert sizes(UnderSampler().counts(y, Costs(fp=1, fn=1e9), rng), y) == (30, 1)
    assert sizes(UnderSampler().counts(y, Costs(fp=0, fn=1), rng), y) == (30, 1)
    assert sizes(UnderSampler().counts(y, Costs(fp=1, fn=0), rng), y) == (1, 70)


@pytest.mark.parametrize("sampler", [OverSampler(), HybridSampler()], ids=str)
@pytest.mark.parametrize(
    ("fp", "fn", "times"),
    [
        (0.0, 1.0, "fn_cost is inf times fp_cost"),
        (1.0, 0.0, "fp_cost is inf times fn_cost"),
        (1e-9, 1e9, r"1e\+18 times"),
    ],
)
def test_growing_without_end_is_an_error_with_a_way_out(sampler: CostSampler, fp: float, fn: float, times: str) -> None:
    with pytest.raises(SamplingError, match=rf"{times}.*UnderSampler"):
        sampler.counts(labels(3, 7), Costs(fp=fp, fn=fn), np.random.default_rng(0))


def test_a_cost_ratio_of_a_million_is_over_sampled_in_place() -> None:
    y = labels(50, 100)
    counts = OverSampler().counts(y, Costs(fp=1, fn=1e6), np.random.default_rng(0))
    assert sizes(counts, y) == (50_000_000, 100)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_share_outside_zero_to_one_is_an_error(share: float) -> None:
    with pytest.raises(SamplingError, match="share="):
        HybridSampler(share=share).counts(labels(3, 7), Costs(fp=1, fn=2), np.random.default_rng(0))


@pytest.mark.parametrize("sampler", RATIO_SAMPLERS, ids=str)
def test_one_class_is_an_error(sampler: CostSampler) -> None:
    with pytest.raises(SamplingError, match="0 positives and 4 negatives"):
        sampler.counts(np.zeros(4, dtype=int), Costs(fp=1, fn=2), np.random.default_rng(0))


@pytest.mark.parametrize("sampler", RATIO_SAMPLERS, ids=str)
def test_counts_reduces_record_dependent_costs_to_class_means_silently(sampler: CostSampler) -> None:
    y = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    costs = Costs(fp=np.arange(8.0), fn=np.arange(8.0) + 20)
    means = Costs(fp=np.mean([2, 3, 4, 5, 6, 7]), fn=np.mean([20, 21]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClassMeansWarning)
        counts = sampler.counts(y, costs, np.random.default_rng(4))
    np.testing.assert_array_equal(counts, sampler.counts(y, means, np.random.default_rng(4)))
    assert sampler.constant_costs_only


def test_cost_ratio_is_fn_over_fp() -> None:
    assert cost_ratio(Costs(fp=2, fn=6)) == 3
    assert cost_ratio(Costs(fp=0, fn=6)) == np.inf
    assert cost_ratio(Costs(fp=6, fn=0)) == 0
    assert cost_ratio(Costs(fp=0, fn=0)) == 1
