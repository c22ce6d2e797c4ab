"""What probabilities and rankings are worth: against brute force and numerical integration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution

from stakes.metrics import (
    auepc_score,
    emp_churn_score,
    emp_credit_score,
    expected_cost,
    expected_savings_score,
    lift_score,
    make_cost_scorer,
    savings_score,
    total_cost,
)
from stakes.metrics.bill import COST_NAMES


def records(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, dict]:
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(1)  # with ties
    y = (rng.random(n) < p).astype(int)
    y[:2] = 0, 1
    costs = dict(zip(COST_NAMES, rng.integers(0, 20, (4, n)).astype(float), strict=True))
    return y, p, costs


@pytest.mark.parametrize("seed", range(5))
def test_expected_cost_is_the_mean_cost_of_random_decisions(seed: int) -> None:
    y, p, costs = records(seed)
    rng = np.random.default_rng(seed)
    drawn = [total_cost(y, (rng.random(y.size) < p).astype(int), **costs) for _ in range(2000)]
    assert expected_cost(y, p, **costs) == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(2000))


@pytest.mark.parametrize("seed", range(5))
def test_certain_probabilities_cost_and_save_what_decisions_do(seed: int) -> None:
    y, p, costs = records(seed)
    decided = (p > 0.5).astype(int)
    assert expected_cost(y, decided, **costs) == pytest.approx(total_cost(y, decided, **costs))
    assert expected_savings_score(y, decided, **costs) == pytest.approx(savings_score(y, decided, **costs))


def test_scores_that_are_no_probabilities_have_no_expected_cost() -> None:
    with pytest.raises(ValueError, match="y_score is not a probability in row 1, 2"):
        expected_cost([0, 1], [0.5, 2], fp_cost=1, fn_cost=1)


def test_lift_compares_the_top_with_all() -> None:
    y = np.array([1, 1, 0, 1, 0, 0, 0, 0, 0, 0])
    score = np.arange(10)[::-1]
    assert lift_score(y, score, share=0.2) == pytest.approx(1 / 0.3)
    assert lift_score(y, score, share=1.0) == pytest.approx(1)
    assert lift_score(y, np.zeros(10), share=0.3) == pytest.approx(1)  # ties count in part
    assert lift_score(np.zeros(10), score) == 0
    with pytest.raises(ValueError, match="give at least one record"):
        lift_score([], [])


def test_a_weight_counts_as_often_in_the_lift() -> None:
    y, p, _ = records(0)
    times = np.random.default_rng(1).integers(0, 3, y.size)
    assert lift_score(y, p, sample_weight=times) == pytest.approx(lift_score(np.repeat(y, times), np.repeat(p, times)))


@pytest.mark.parametrize("seed", range(5))
def test_the_area_under_the_profit_curve_is_that_of_acting_on_more_and_more(seed: int) -> None:
    y, p, costs = records(seed)
    p = p + 0.001 * np.arange(p.size)  # without ties
    gain = np.where(y == 1, costs["fn_cost"] - costs["tp_cost"], costs["tn_cost"] - costs["fp_cost"])
    ranked, best, ratios = np.argsort(-p), np.argsort(-gain), []
    for k in range(1, y.size + 1):
        if gain[best[:k]].sum() <= 0:
            break
        ratios.append(gain[ranked[:k]].sum() / gain[best[:k]].sum())
    expected = sum((a + b) / 2 for a, b in pairwise(ratios)) / (len(ratios) - 1)
    assert auepc_score(y, p, **costs) == pytest.approx(expected)


def test_the_best_ranking_has_the_whole_area_and_nothing_to_save_has_none() -> None:
    y, _, costs = records(0)
    gain = np.where(y == 1, costs["fn_cost"] - costs["tp_cost"], costs["tn_cost"] - costs["fp_cost"])
    assert auepc_score(y, gain, **costs) == pytest.approx(1)
    assert auepc_score([0, 0], [0.1, 0.2], fp_cost=1, fn_cost=1) == 0
    assert auepc_score([1, 0], [0.9, 0.1], fp_cost=9, fn_cost=1) == 1


def shares_found(y: np.ndarray, p: np.ndarray) -> list[tuple[float, float]]:
    """Positives and negatives above each threshold, as shares of all records."""
    cuts = [-1.0, *np.unique(p)]
    return [(np.mean((y == 1) & (p > cut)), np.mean((y == 0) & (p > cut))) for cut in cuts]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("more", [{}, {"alpha": 2, "beta": 3, "clv": 100, "incentive_cost": 30, "contact_cost": 4}])
def test_the_expected_maximum_profit_of_a_campaign_is_the_integral_over_the_share_that_accepts(
    seed: int, more: dict
) -> None:
    y, p, _ = records(seed)
    a, b, clv, d, f = ({"alpha": 6, "beta": 14, "clv": 200, "incentive_cost": 10, "contact_cost": 1} | more).values()
    points = shares_found(y, p)

    def best(share: float) -> float:
        profit = max((share * (clv - d) - f) * tp - (d + f) * fp for tp, fp in points)
        return profit * beta_distribution.pdf(share, a, b)

    expected = sum(quad(best, x / 50, (x + 1) / 50)[0] for x in range(50))
    assert emp_churn_score(y, p, **more) == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("more", [{}, {"no_loss": 0.2, "full_loss": 0.3, "roi": 0.6}])
def test_the_expected_maximum_profit_of_refusing_loans_is_the_integral_over_the_share_lost(
    seed: int, more: dict
) -> None:
    y, p, _ = records(seed)
    no_loss, full_loss, roi = ({"no_loss": 0.55, "full_loss": 0.1, "roi": 0.2644} | more).values()
    points = shares_found(y, p)

    def best(share: float) -> float:
        return max(share * tp - roi * fp for tp, fp in points)

    between = sum(quad(best, x / 50, (x + 1) / 50)[0] for x in range(50))
    expected = no_loss * best(0) + full_loss * best(1) + (1 - no_loss - full_loss) * between
    assert emp_credit_score(y, p, **more) == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_a_fold_of_one_class_has_a_clear_result() -> None:
    p = np.array([0.2, 0.4])
    assert emp_churn_score([0, 0], p) == 0
    assert emp_credit_score([0, 0], p) == 0
    assert emp_churn_score([1, 1], p) == pytest.approx(0.3 * 190 - 1, rel=1e-3)
    assert expected_savings_score([0, 0], p, fp_cost=5, fn_cost=50) == pytest.approx(-0.3)
    assert savings_score([0, 0], [1, 0], fp_cost=5, fn_cost=50) == -0.5


def test_a_scorer_gives_probabilities_to_metrics_that_want_them() -> None:
    from sklearn.dummy import DummyClassifier

    y, p, costs = records(0)
    model = DummyClassifier(strategy="prior").fit(p[:, None], y)
    scorer = make_cost_scorer(expected_cost, response_method="predict_proba")
    assert scorer(model, p[:, None], y, **costs) == -expected_cost(y, np.full(y.size, y.mean()), **costs)
    assert "response_method='predict_proba'" in repr(scorer)


def test_campaigns_that_cannot_pay_and_negative_costs_are_refused() -> None:
    y, p = [0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8]
    with pytest.raises(ValueError, match="incentive_cost=300 is not below clv=200"):
        emp_churn_score(y, p, incentive_cost=300)
    with pytest.raises(ValueError, match="contact_cost"):
        emp_churn_score(y, p, contact_cost=-1.0)
    with pytest.raises(ValueError, match="roi"):
        emp_credit_score(y, p, roi=-0.1)
