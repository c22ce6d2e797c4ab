"""Which models decide together, against plain loops and all teams there are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import Costs
from stakes.records import Records
from stakes.teams import selection
from stakes.teams.selection import Stakes, best_models, greedy_team


def problem(n=400, n_models=6, seed=0):
    """Return classes, costs and models that see different parts of the truth, the later the worse."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, 4))
    positive = rng.random(n) < 1 / (1 + np.exp(1.5 - signal.sum(axis=1)))
    noise = rng.normal(size=(n, n_models)) * np.linspace(0.3, 3, n_models)
    p = 1 / (1 + np.exp(1.2 - signal[:, np.arange(n_models) % 4] - noise))
    return p, positive, Costs(fp=rng.uniform(1, 3, n), fn=rng.exponential(10, n))


def cost_of(p, weights, positive, costs, sample_weight=None):
    """Return the total cost of decisions by the weighted mean, by a plain loop."""
    fp, fn = costs.arrays(positive.size)
    total = 0.0
    for i, row in enumerate(p):
        acted = sum(w * x for w, x in zip(weights, row, strict=True)) > fp[i] / (fp[i] + fn[i])
        paid = (fp[i] if acted else 0.0) if not positive[i] else (0.0 if acted else fn[i])
        total += paid * (1 if sample_weight is None else sample_weight[i])
    return total


def test_paid_is_the_cost_compared_with_acting_on_nobody_as_a_share_of_what_is_at_stake():
    p, positive, costs = problem(60)
    weight = np.random.default_rng(1).integers(0, 3, 60)
    paid = Stakes.of(Records(None, positive, costs, weight)).paid(p)
    at_stake = (weight * costs.of(positive)).sum()
    none = (weight * costs.of(positive))[positive].sum()
    expected = [(cost_of(p, np.eye(6)[m], positive, costs, weight) - none) / at_stake for m in range(6)]
    np.testing.assert_allclose(paid, expected, atol=1e-12)


def test_decisions_go_by_the_costs_known_and_are_counted_by_the_real_ones():
    p = np.array([[0.3], [0.3]])
    positive = np.array([True, False])
    stakes = Stakes.of(Records(None, positive, Costs(fp=1, fn=[3, 5]), known_costs=Costs(fp=1, fn=[9, 1])))
    # T_cs is 0.1 and 0.5: only the positive is acted on, which saves its real 3 of the 4 at stake.
    np.testing.assert_allclose(stakes.paid(p), [-0.75])


def test_the_best_models_are_those_with_the_least_cost():
    p, positive, costs = problem()
    by_cost = np.argsort([cost_of(p, np.eye(6)[m], positive, costs) for m in range(6)])
    for size in (1, 3, 6, 9):
        weights = best_models(p, Stakes.of(Records(None, positive, costs)), size=size)
        assert set(np.flatnonzero(weights)) == set(by_cost[:size])
        assert weights.sum() == pytest.approx(1)
        assert np.unique(weights[weights > 0]).size == 1


def reference_search(p, positive, costs, draws, start, n_steps):
    """Search greedily with one full evaluation per candidate, in plain Python."""
    n_models = p.shape[1]
    price = [cost_of(p, np.eye(n_models)[m], positive, costs, draws) for m in range(n_models)]
    counts = [0] * n_models
    for m in sorted(range(n_models), key=price.__getitem__)[:start]:
        counts[m] = 1

    def total(c):
        return cost_of(p, np.array(c) / sum(c), positive, costs, draws)

    best, least = counts, total(counts)
    for _ in range(n_steps):
        candidates = [[c + (k == m) for k, c in enumerate(counts)] for m in range(n_models)]
        counts = min(candidates, key=total)
        if total(counts) < least * (1 - 1e-9):
            best, least = counts, total(counts)
    return np.array(best) / sum(best)


@pytest.mark.parametrize("n_bags", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_weights_are_the_mean_of_searches_by_plain_loops(seed, n_bags):
    p, positive, costs = problem(120, 4, seed)
    # The Bayesian bootstrap of a bag draws one number per record on which the models do not agree.
    acted = p > costs.threshold()[:, None]
    contested = acted.any(axis=1) & ~acted.all(axis=1)
    rng = np.random.default_rng(seed)
    expected = np.zeros(4)
    for _ in range(n_bags):
        draws = np.zeros(120)
        draws[contested] = rng.exponential(size=contested.sum())
        expected += reference_search(p, positive, costs, draws, start=2, n_steps=5) / n_bags
    stakes = Stakes.of(Records(None, positive, costs))
    np.testing.assert_allclose(
        greedy_team(p, stakes, start=2, n_steps=5, n_bags=n_bags, random_state=seed), expected, atol=1e-12
    )


def test_the_greedy_team_is_near_the_best_of_all_teams_on_a_grid():
    totals = np.zeros(3)
    for seed in range(10):
        p, positive, costs = problem(150, 3, seed)
        grid = [np.array(c) / sum(c) for c in product(range(9), repeat=3) if sum(c) == 8]
        best = min(cost_of(p, w, positive, costs) for w in grid)
        single = min(cost_of(p, w, positive, costs) for w in np.eye(3))
        team = cost_of(p, greedy_team(p, Stakes.of(Records(None, positive, costs))), positive, costs)
        totals += best, team, single
    best, team, single = totals
    # Of what the best team could save more than the best single model on these very records, most.
    assert single - team > 0.6 * (single - best)


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_weights_are_shares_of_few_models(seed, size):
    p, positive, costs = problem(40, 5, seed)
    weights = greedy_team(p, Stakes.of(Records(None, positive, costs)), size=size, n_bags=3)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert 1 <= np.count_nonzero(weights) <= size


@pytest.mark.parametrize("choose", [best_models, greedy_team])
def test_the_order_of_models_does_not_matter(choose):
    p, positive, costs = problem()
    stakes = Stakes.of(Records(None, positive, costs))
    order = np.random.default_rng(3).permutation(6)
    np.testing.assert_allclose(choose(p[:, order], stakes), choose(p, stakes)[order], atol=1e-12)


@pytest.mark.parametrize("choose", [best_models, greedy_team])
def test_a_model_given_twice_counts_once(choose):
    p, positive, costs = problem()
    stakes = Stakes.of(Records(None, positive, costs))
    weights = choose(p, stakes)
    twice = choose(np.hstack([p, p[:, ::-1]]), stakes)
    np.testing.assert_allclose(twice[:6] + twice[:5:-1], weights, atol=1e-12)


@pytest.mark.parametrize("choose", [best_models, greedy_team])
def test_the_unit_of_money_does_not_matter(choose):
    p, positive, costs = problem()
    hundredfold = Costs(fp=100 * costs.fp, fn=100 * costs.fn)
    np.testing.assert_allclose(
        choose(p, Stakes.of(Records(None, positive, hundredfold))),
        choose(p, Stakes.of(Records(None, positive, costs))),
        atol=1e-12,
    )


@pytest.mark.parametrize("choose", [best_models, greedy_team])
def test_records_without_weight_do_not_matter(choose):
    p, positive, costs = problem()
    weight = np.r_[np.ones(300), np.zeros(100)]
    some = choose(p[:300], Stakes.of(Records(None, positive[:300], costs[:300])))
    worthless = p.copy()
    worthless[300:] = costs.threshold()[300:, None] / 2  # agreed on: they draw no random numbers either
    np.testing.assert_allclose(choose(worthless, Stakes.of(Records(None, positive, costs, weight))), some, atol=1e-12)


@pytest.mark.parametrize("choose", [best_models, greedy_team])
def test_one_model_is_the_team(choose):
    p, positive, costs = problem(n_models=1)
    assert choose(p, Stakes.of(Records(None, positive, costs))).tolist() == [1.0]


def test_models_that_agree_everywhere_give_the_first_of_them():
    p = np.array([[0.9, 0.8], [0.1, 0.2]])
    assert greedy_team(p, Stakes.of(Records(None, np.array([True, False]), Costs(fp=1, fn=1))), start=1).tolist() == [
        1.0,
        0.0,
    ]


def test_costs_of_nothing_are_no_error():
    p, positive, _ = problem(50)
    assert greedy_team(p, Stakes.of(Records(None, positive, Costs(fp=0, fn=0)))).sum() == pytest.approx(1)


def test_large_bags_are_drawn_from_the_records(monkeypatch):
    p, positive, costs = problem(3000)
    stakes = Stakes.of(Records(None, positive, costs))
    whole = greedy_team(p, stakes)
    monkeypatch.setattr(selection, "MOST_RECORDS", 800)
    part = greedy_team(p, stakes)
    assert (part != whole).any()
    np.testing.assert_allclose(part, whole, atol=0.25)


def test_the_team_is_reproducible_and_follows_the_seed():
    p, positive, costs = problem()
    stakes = Stakes.of(Records(None, positive, costs))
    np.testing.assert_array_equal(greedy_team(p, stakes, random_state=7), greedy_team(p, stakes, random_state=7))
    assert (greedy_team(p, stakes, random_state=7) != greedy_team(p, stakes, random_state=8)).any()
