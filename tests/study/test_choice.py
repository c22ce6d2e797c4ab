"""The choice of a model and what is expected of it, against plain loops; and records that no model can learn from."""

import numpy as np
import pytest
from scipy.stats import binom

from stakes import Costs
from stakes.measures import MEASURES, amounts
from stakes.study.choice import AnyLoss, Bootstrap, MeanLoss, Rule, allowed_share, blocks, choose, upper_bound


def problem(n=200, n_models=5, seed=0):
    """Return outcomes of models, the later the worse, with classes and costs."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    wrong = rng.random((n_models, n)) < np.linspace(0.1, 0.5, n_models)[:, None]
    return positive ^ wrong, positive, Costs(fp=rng.integers(1, 5, n), fn=rng.integers(1, 20, n))


def mean_cost(outcome, positive, costs, times):
    """Return the mean cost of records that are counted so many times, by a plain loop."""
    fp, fn = costs.arrays(positive.size)
    paid = 0.0
    for i, t in enumerate(times):
        if outcome[i] and not positive[i]:
            paid += t * fp[i]
        if positive[i] and not outcome[i]:
            paid += t * fn[i]
    return paid / sum(times)


def test_records_of_a_group_are_drawn_together_and_all_blocks_are_about_as_large():
    assert sorted(blocks(4, np.random.default_rng(0)).tolist()) == [0, 1, 2, 3]
    groups = np.repeat(np.arange(50), 3)
    block = blocks(150, np.random.default_rng(0), groups)
    assert all(np.unique(block[groups == group]).size == 1 for group in range(50))
    sizes = np.bincount(blocks(5001, np.random.default_rng(0)))
    assert sizes.size == 2000
    assert sizes.max() - sizes.min() <= 1


def test_losses_are_the_mean_costs_of_the_records_as_often_as_they_are_counted():
    outcomes, positive, costs = problem()
    block = blocks(200, np.random.default_rng(0), np.arange(200) // 4)
    times = np.random.default_rng(1).integers(0, 4, (3, 50)).astype(float)
    expected = [[mean_cost(o, positive, costs, t[block]) for o in outcomes] for t in times]
    np.testing.assert_allclose(MeanLoss(outcomes, positive, costs, block).losses(times), expected, rtol=1e-6)
    by_sums = AnyLoss(outcomes, amounts(positive, costs), block, MEASURES["cost"].of_sums).losses(times)
    np.testing.assert_allclose(by_sums / (times @ np.bincount(block))[:, None], expected, rtol=1e-12)


class Counting:
    """Candidates that remember how often the blocks were counted."""

    n_blocks = 30

    def losses(self, times):
        return times


def test_what_is_left_out_is_what_was_not_drawn():
    found = Bootstrap.of(Counting(), np.random.default_rng(0), 50)
    assert (found.all == 1).all()
    assert (found.drawn.sum(axis=1) == 30).all()
    assert found.drawn.max() > 1
    np.testing.assert_array_equal(found.left_out, found.drawn == 0)


def bootstrap_of(loss, noise=0.1, seed=0, n_draws=400):
    """Return draws of losses that scatter independently."""
    rng = np.random.default_rng(seed)
    loss = np.asarray(loss, dtype=float)
    return Bootstrap(loss, *(loss + noise * rng.normal(size=(2, n_draws, loss.size))))


def test_noise_and_intervals_are_those_of_differences_on_the_same_draws():
    found = bootstrap_of([1.0, 1.5, 3.0])
    for j in range(3):
        for i in range(3):
            difference = found.drawn[:, i] - found.drawn[:, j]
            assert found.noise(j)[i] == pytest.approx(difference.std(ddof=1))
            value, low, high = found.difference(i, j)
            assert value == found.all[i] - found.all[j]
            if i != j:
                assert np.mean(difference < low) == pytest.approx(0.05, abs=0.01)
                assert np.mean(difference > high) == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(
    ("loss", "follows", "complexity", "chosen"),
    [
        ([2.0, 1.0, 3.0], [1, 1, 1], [0, 1, 2], 1),  # the best
        ([1.0, 1.3, 3.0], [0, 1, 1], [0, 1, 2], 1),  # better by less than three standard errors, and not by costs
        ([1.0, 1.5, 3.0], [0, 1, 1], [0, 1, 2], 0),  # beyond them
        ([1.0, 1.004, 3.0], [1, 1, 1], [2, 1, 0], 1),  # simpler, and as good within half a percent
        ([1.0, 1.006, 3.0], [1, 1, 1], [2, 1, 0], 0),
        ([1.0, 1.004, 3.0], [1, 0, 1], [2, 1, 0], 0),  # simpler, but it does not follow costs
        ([2.0, 1.0, 3.0], [0, 0, 0], [0, 1, 2], 1),  # no model follows costs
    ],
)
def test_the_choice_prefers_models_that_follow_costs_and_simple_ones_within_noise(loss, follows, complexity, chosen):
    found = bootstrap_of(loss)
    rule = Rule(found, np.array(follows, bool), np.array(complexity))
    assert rule.choose(found.all) == chosen
    assert choose(found, rule).chosen == chosen


@pytest.mark.parametrize(
    ("loss", "follows", "rivals", "chosen"),
    [
        ([1.0, 0.8, 3.0], [1, 1, 1], [0, 0, 0], 0),  # better by less than three standard errors
        ([1.0, 0.5, 3.0], [1, 1, 1], [0, 0, 0], 1),  # beyond them
        ([1.0, 1.0, 3.0], [1, 1, 1], [0, 1, 0], 1),  # a rival that is no worse
        ([1.0, 1.1, 3.0], [1, 1, 1], [0, 1, 0], 0),
        ([1.0, 0.9, 0.8], [1, 1, 1], [0, 1, 1], 2),  # the better one of two rivals
        ([1.0, 0.5, 0.4], [1, 1, 0], [0, 0, 0], 1),  # both beyond noise: the one that follows costs
        ([1.0, 0.9, 0.4], [1, 1, 0], [0, 0, 0], 2),
    ],
)
def test_the_choice_starts_from_a_reference_and_takes_others_beyond_noise(loss, follows, rivals, chosen):
    found = bootstrap_of(loss)
    follows, rivals = np.array(follows, bool), np.array(rivals, bool)
    assert Rule(found, follows, np.arange(3), reference=0, rivals=rivals).choose(found.all) == chosen


def test_a_simpler_model_must_be_as_good_within_one_standard_error():
    quiet = bootstrap_of([1.0, 1.004], noise=0.001)
    assert Rule(quiet, np.ones(2, bool), np.array([1, 0])).choose(quiet.all) == 0


def test_what_is_expected_is_the_loss_on_records_left_out_of_what_is_chosen_on_those_drawn():
    outcomes, positive, costs = problem(n_models=4)
    found = Bootstrap.of(MeanLoss(outcomes, positive, costs, np.arange(200)), np.random.default_rng(0), 100)
    follows, complexity = np.array([True, False, True, True]), np.array([3, 2, 1, 0])
    rule = Rule(found, follows, complexity)
    choice = choose(found, rule)
    expected = np.mean([left[rule.choose(drawn)] for drawn, left in zip(found.drawn, found.left_out, strict=True)])
    assert choice.expected == pytest.approx(expected)
    assert choice.optimism == pytest.approx(expected - found.all[choice.chosen])
    assert choice.low < choice.expected < choice.high
    assert choice.best == np.argmin(found.all)
    assert choice.follower == min((0, 2, 3), key=found.all.__getitem__)


def test_nothing_is_promised_of_the_luckiest_of_many_models_that_guess():
    bias, covered = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        positive, outcomes = rng.random(300) < 0.5, rng.random((40, 300)) < 0.5
        found = Bootstrap.of(MeanLoss(outcomes, positive, Costs(fp=1, fn=1), np.arange(300)), rng, 200)
        choice = choose(found, Rule(found, np.ones(40, bool), np.arange(40)))
        bias.append((choice.expected - 0.5, found.all[choice.chosen] - 0.5))
        covered.append(choice.low <= 0.5 <= choice.high)
    honest, naive = np.mean(bias, axis=0)
    assert naive < -0.04
    assert abs(honest) < 0.012
    assert np.mean(covered) >= 0.75


@pytest.mark.parametrize(("count", "n"), [(0, 50), (3, 100), (49, 50), (50, 50)])
def test_at_the_upper_bound_so_few_would_be_met_with_five_percent(count, n):
    bound = upper_bound(count, n)
    assert bound == 1.0 if count == n else binom.cdf(count, n, bound) == pytest.approx(0.05)


@pytest.mark.parametrize(("limit", "n"), [(0.1, 1000), (0.01, 40), (0.5, 77), (1.0, 30)])
def test_the_allowed_share_is_the_largest_whose_bound_keeps_to_the_limit(limit, n):
    allowed = [count for count in range(n + 1) if upper_bound(count, n) <= limit]
    assert allowed_share(limit, n) == max(allowed, default=0) / n
