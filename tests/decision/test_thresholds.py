"""Tuned thresholds against exhaustive search (FRAMEWORK 2)."""

import time
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stakes.decision.thresholds import best_cut, positives, tuned_threshold
from stakes.exceptions import CostsError

# Exhaustive search in exact arithmetic, one threshold at a time


def costs_of_all_cuts(scores, if_negative, if_positive):
    """Cost of each cut, by the scores that stay negative: none, the smallest, the two smallest, ..."""
    values = sorted(set(scores))
    return values, [
        sum((Fraction(a) for s, a in zip(scores, if_negative, strict=True) if s in values[:k]), Fraction(0))
        + sum((Fraction(b) for s, b in zip(scores, if_positive, strict=True) if s not in values[:k]), Fraction(0))
        for k in range(len(values) + 1)
    ]


def cost_at(threshold, scores, if_negative, if_positive):
    return sum(
        Fraction(b) if s > threshold else Fraction(a) for s, a, b in zip(scores, if_negative, if_positive, strict=True)
    )


def reference_threshold(scores, if_negative, if_positive):
    """The middle of the widest interval of optimal thresholds, for scores inside (0, 1)."""
    values, costs = costs_of_all_cuts(scores, if_negative, if_positive)
    ends = [0.0, *values, 1.0]
    optimal = [cost == min(costs) for cost in costs]
    intervals = []
    for k, is_optimal in enumerate(optimal):
        if is_optimal and k and optimal[k - 1]:
            intervals[-1][1] = ends[k + 1]
        elif is_optimal:
            intervals.append([ends[k], ends[k + 1]])
    low, high = max(intervals, key=lambda interval: interval[1] - interval[0])
    return (low + high) / 2


entry = st.tuples(st.integers(1, 31).map(lambda k: k / 32), st.integers(0, 6), st.integers(0, 6))


@given(st.lists(entry, min_size=1, max_size=12))
@settings(max_examples=300)
def test_cut_is_the_middle_of_the_widest_optimal_interval(entries):
    scores, if_negative, if_positive = (np.array(column, dtype=float) for column in zip(*entries, strict=True))
    cut = best_cut(scores, if_negative, if_positive)
    assert cut == reference_threshold(scores, if_negative, if_positive)


any_cost = st.one_of(st.just(0.0), st.floats(1e-100, 1e100), st.floats(1e-3, 1e3))
any_score = st.one_of(st.floats(-1e300, 1e300), st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))


@given(st.lists(st.tuples(any_score, any_cost, any_cost), min_size=1, max_size=10))
@settings(max_examples=300)
def test_no_threshold_is_cheaper_whatever_the_scores_and_costs(entries):
    scores, if_negative, if_positive = (np.array(column) for column in zip(*entries, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threshold = best_cut(scores, if_negative, if_positive)
    assert np.isfinite(threshold)
    least = min(costs_of_all_cuts(scores, if_negative, if_positive)[1])
    assert cost_at(threshold, scores, if_negative, if_positive) <= least * (1 + Fraction(1, 10**11))


@given(st.lists(entry, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_cut_is_the_same_for_records_and_groups_in_any_order(entries, random):
    shuffled = random.sample(entries, len(entries))
    scores, if_negative, if_positive = (np.array(column, dtype=float) for column in zip(*shuffled, strict=True))
    grouped = pd.DataFrame({"s": scores, "n": if_negative, "p": if_positive}).groupby("s").sum()
    by_record = best_cut(*(np.array(column, dtype=float) for column in zip(*entries, strict=True)))
    assert best_cut(scores, if_negative, if_positive) == by_record
    assert best_cut(grouped.index.to_numpy(), grouped["n"].to_numpy(), grouped["p"].to_numpy()) == by_record


@given(
    st.lists(st.tuples(entry, st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=10),
    st.integers(0, 100),
    st.integers(0, 100),
)
@settings(max_examples=200)
def test_limited_cut_is_the_cheapest_of_those_allowed(entries, fpr_percent, share_percent):
    scores, if_negative, if_positive = (np.array(c, dtype=float) for c in zip(*(e for e, _, _ in entries), strict=True))
    negatives = np.array([count for _, count, _ in entries])
    records = negatives + np.array([count for _, _, count in entries])
    limits = [(negatives, fpr_percent / 100), (records, share_percent / 100)]
    cut = best_cut(scores, if_negative, if_positive, limits=limits)

    def allowed(threshold):
        return all(
            100 * counts[scores > threshold].sum() <= percent * counts.sum()
            for counts, percent in ((negatives, fpr_percent), (records, share_percent))
        )

    candidates = [t for t in (0.0, *scores) if allowed(t)]
    assert allowed(cut)
    least = min(cost_at(t, scores, if_negative, if_positive) for t in candidates)
    assert cost_at(cut, scores, if_negative, if_positive) == least


def test_a_limit_met_exactly_is_met():
    scores, ones = np.arange(100.0), np.ones(100)
    for percent in range(101):
        cut = best_cut(scores, ones, np.zeros(100), limits=[(ones, percent / 100)])
        assert (scores > cut).sum() == percent


# Ends and ties


@pytest.mark.parametrize(
    ("scores", "threshold"),
    [
        ([0.2, 0.6], 0.1),  # half way to 0
        ([0.0, 0.5, 1.0], -0.25),  # a score of 0 is above negative numbers only: half a gap
        ([0.0], -0.5),
        ([2.0, 4.0, 6.0], 1.0),
        ([-3.0], -3.5),
        ([1e300], np.nextafter(1e300, 0)),
        ([0.0, 5e-324], -5e-324),
    ],
)
def test_all_positive_where_negatives_are_dear(scores, threshold):
    n = len(scores)
    cut = best_cut(np.array(scores), np.ones(n), np.zeros(n))
    assert cut == threshold
    assert cut < min(scores)


@pytest.mark.parametrize(
    ("scores", "threshold"),
    [([0.2, 0.6], 0.8), ([0.0, 1.0], 1.0), ([0.0], 0.5), ([2.0, 4.0, 6.0], 7.0), ([-3.0], -2.5), ([1e300], 1e300)],
)
def test_all_negative_where_positives_are_dear(scores, threshold):
    n = len(scores)
    cut = best_cut(np.array(scores), np.zeros(n), np.ones(n))
    assert cut == pytest.approx(threshold)
    assert cut >= max(scores)


def test_indifference_is_one_half():
    for scores in ([0.0, 1.0], [0.3, 0.4], [0.0, 0.2, 1.0]):
        assert best_cut(np.array(scores), np.zeros(len(scores)), np.zeros(len(scores))) == 0.5


def test_the_widest_of_two_optimal_intervals_wins_wherever_it_is():
    if_negative, if_positive = np.array([0.0, 1, 0, 1]), np.array([1.0, 0, 1, 0])
    assert best_cut(np.array([0.1, 0.2, 0.5, 0.6]), if_negative, if_positive) == pytest.approx(0.15)
    assert best_cut(np.array([0.1, 0.2, 0.5, 0.9]), if_negative, if_positive) == pytest.approx(0.7)


def test_decimal_costs_tie_in_spite_of_rounding():
    # Three alarms at 0.1 cost as much as one miss at 0.3, but 0.1 + 0.1 + 0.1 > 0.3 in floating point.
    scores = np.array([0.1, 0.15, 0.2, 0.25, 0.9])
    cut = best_cut(scores, np.array([0.3, 0, 0, 0, 5]), np.array([0, 0.1, 0.1, 0.1, 0]))
    assert cut == pytest.approx((0.25 + 0.9) / 2)


def test_a_tiny_saving_counts_next_to_a_huge_cost_that_is_avoided():
    scores = np.array([0.1, 0.2, 0.3, 0.4])
    cut = best_cut(scores, np.array([0.0, 1e-100, 0.0, 1e100]), np.array([1e100, 0.0, 2e-100, 0.0]))
    assert cut == pytest.approx(0.35)


def test_neighbouring_numbers_are_told_apart():
    low, high = 0.5, np.nextafter(0.5, 1)
    cut = best_cut(np.array([low, high]), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert cut == low


def test_thresholds_of_float32_scores_survive_comparison_in_float32():
    rng = np.random.default_rng(0)
    for _ in range(200):
        start = np.float32(rng.random())
        scores = np.array([start, np.nextafter(start, np.float32(2), dtype=np.float32)])
        threshold = tuned_threshold([0, 1], scores, fp_cost=1, fn_cost=1)
        for precision in (np.float32, np.float64):
            np.testing.assert_array_equal(scores.astype(precision) > precision(threshold), [False, True])


def test_no_scores_no_threshold():
    with pytest.raises(ValueError, match="at least one record"):
        best_cut(np.array([]), np.array([]), np.array([]))
    with pytest.raises(ValueError, match="at least one record"):
        tuned_threshold([], [], fp_cost=1, fn_cost=1)


# The public function


record = st.tuples(st.booleans(), st.integers(0, 8).map(lambda k: k / 8), st.integers(0, 9), st.integers(0, 9))


def brute_force_least_cost(y, scores, fp, fn, weight):
    rows = list(zip(y, scores, np.where(y, fn, fp), weight, strict=True))
    return min(sum(w * c for is_positive, s, c, w in rows if (s > cut) != is_positive) for cut in (-1.0, *scores))


@given(st.lists(st.tuples(record, st.integers(0, 3)), min_size=1, max_size=12))
def test_tuned_threshold_equals_brute_force_with_costs_per_record_and_weights(rows):
    y, scores, fp, fn = (np.array(column) for column in zip(*(r for r, _ in rows), strict=True))
    weight = np.array([w for _, w in rows])
    threshold = tuned_threshold(y, scores, fp_cost=fp, fn_cost=fn, sample_weight=weight)
    wrong = (scores > threshold) != y
    cost = (weight * np.where(y, fn, fp))[wrong].sum()
    assert cost == brute_force_least_cost(y, scores, fp, fn, weight)
    repeated = np.repeat(np.arange(len(rows)), weight)
    if repeated.size:
        again = tuned_threshold(y[repeated], scores[repeated], fp_cost=fp[repeated], fn_cost=fn[repeated])
        wrong = (scores > again) != y
        assert (weight * np.where(y, fn, fp))[wrong].sum() == cost


def test_rates_are_limited_by_weight():
    y, scores = [0, 0, 1, 0], [0.2, 0.4, 0.6, 0.8]
    given = {"fp_cost": 1, "fn_cost": 100}
    assert tuned_threshold(y, scores, **given) == pytest.approx(0.5)
    assert tuned_threshold(y, scores, **given, max_fpr=1 / 3) == pytest.approx(0.5)
    assert tuned_threshold(y, scores, **given, max_fpr=0.33) == pytest.approx(0.9)
    assert tuned_threshold(y, scores, **given, max_fpr=0.1, sample_weight=[5, 4, 1, 1]) == pytest.approx(0.5)
    assert tuned_threshold(y, scores, **given, max_acted=0.5) == pytest.approx(0.5)
    assert tuned_threshold(y, scores, **given, max_acted=0.4) == pytest.approx(0.9)


def test_costs_of_right_decisions_are_subtracted():
    y, scores = [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]
    full = tuned_threshold(y, scores, fp_cost=6, fn_cost=5, tp_cost=1, tn_cost=[3, 3, 3, 3])
    assert full == tuned_threshold(y, scores, fp_cost=3, fn_cost=4)
    assert full != tuned_threshold(y, scores, fp_cost=6, fn_cost=5)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("no", "yes"), (2, 5)])
@pytest.mark.parametrize("column", [list, np.array, pd.Series, lambda y: np.array(y, dtype=object)])
def test_labels_may_be_anything(labels, column):
    y = column([labels[k] for k in (0, 0, 1, 1)])
    assert tuned_threshold(y, [0.1, 0.2, 0.6, 0.8], fp_cost=1, fn_cost=1, pos_label=labels[1]) == pytest.approx(0.4)


def test_one_class_is_decided_alike():
    assert tuned_threshold([0, 0], [0.2, 0.6], fp_cost=1, fn_cost=9) == pytest.approx(0.8)
    assert tuned_threshold([1, 1], [0.2, 0.6], fp_cost=9, fn_cost=1) == pytest.approx(0.1)


def test_arguments_are_checked():
    def tune(y=(0, 1), scores=(0.1, 0.2), **changed):
        return tuned_threshold(y, scores, **{"fp_cost": 1, "fn_cost": 1, **changed})

    with pytest.raises(ValueError, match=r"pos_label=1 is not a label of y_true: choose from 'no', 'yes'"):
        tune(y=["no", "yes"])
    with pytest.raises(ValueError, match="y_true must have two classes, found 3: 0, 1, 2"):
        tune(y=[0, 1, 2])
    with pytest.raises(ValueError, match=r"shape \(2, 2\): give the positive class only, predict_proba\(X\)\[:, 1\]"):
        tune(scores=[[0.9, 0.1], [0.8, 0.2]])
    with pytest.raises(ValueError, match="y_score has 3 records, y_true has 2"):
        tune(scores=[0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="y_score is empty, there are no scores to cut: give at least one record"):
        tune(y=[], scores=[])
    with pytest.raises(ValueError, match="y_score is not finite in 1 records: the first is row 1, nan"):
        tune(scores=[0.1, np.nan])
    with pytest.raises(CostsError, match="fn_cost has 3 records, y_true has 2"):
        tune(fn_cost=[1, 2, 3])
    with pytest.raises(CostsError, match="fp_cost is negative"):
        tune(fp_cost=-1)
    with pytest.raises(CostsError, match="sample_weight is negative in row 1"):
        tune(sample_weight=[1, -1])
    with pytest.raises(CostsError, match="sample_weight has 3 records, y_true has 2"):
        tune(sample_weight=[1, 1, 1])
    for name in ("max_fpr", "max_acted"):
        with pytest.raises(ValueError, match=f"{name} must be a share between 0 and 1, got 3"):
            tune(**{name: 3})


def test_the_callers_arrays_are_left_alone():
    y, scores, cost, weight = np.array([1, 0]), np.array([0.9, 0.1]), np.array([2.0, 3.0]), np.array([1.0, 2.0])
    given = [array.copy() for array in (y, scores, cost, weight)]
    tuned_threshold(y, scores, fp_cost=cost, fn_cost=cost, sample_weight=weight, max_fpr=0.5)
    for before, after in zip(given, (y, scores, cost, weight), strict=True):
        np.testing.assert_array_equal(before, after)


def test_labels_of_several_arrays_are_checked_together():
    true, pred = positives("b", y_true=["a", "b"], y_pred=["b", "b"])
    np.testing.assert_array_equal(true, [False, True])
    np.testing.assert_array_equal(pred, [True, True])
    with pytest.raises(ValueError, match=r"y_true and y_pred must have two classes, found 4: 'a', 'b', 0, 1"):
        positives("b", y_true=["a", "b"], y_pred=[0, 1])
    with pytest.raises(ValueError, match="different numbers of records: y_true has 2, y_pred has 1"):
        positives(1, y_true=[0, 1], y_pred=[1])
    with pytest.raises(ValueError, match="pos_label=1 is not a label of y_true: choose from 'yes'"):
        positives(1, y_true=["yes", "yes"])
    with pytest.raises(ValueError, match="y_true contains NaN"):
        positives(1, y_true=[1, np.nan])
    np.testing.assert_array_equal(positives(1, y_true=[0, 0])[0], [False, False])


def test_a_million_scores_take_less_than_a_second():
    rng = np.random.default_rng(0)
    n = 1_000_000
    y, scores, cost = rng.random(n) < 0.1, rng.random(n), rng.lognormal(size=n)

    def seconds():
        start = time.perf_counter()
        tuned_threshold(y, scores, fp_cost=1, fn_cost=cost, max_fpr=0.1)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(3)) < 1.0  # the best of three: the machine may be busy
