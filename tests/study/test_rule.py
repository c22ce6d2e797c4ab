"""The rule of the choice: from a reference, never for luck, and with intervals and limits that hold."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from stakes import Costs, Decision
from stakes.measures import MEASURES
from stakes.records import Records
from stakes.study.choice import Bootstrap, Choice, MeanLoss, Rule, allowed_share, blocks, choose
from stakes.study.recommend import _reason, losses_of


def guesses(n: int, m: int, seed: int, skill: float = 0.0) -> tuple[np.ndarray, np.ndarray, Costs]:
    """Return outcomes of models that are right with a probability of (1 + skill) / 2, classes, and costs."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.5
    right = rng.random((m, n)) < (1 + skill) / 2
    return np.where(right, positive, ~positive), positive, Costs(fp=rng.uniform(1, 3, n), fn=rng.uniform(1, 3, n))


def bootstrap_of(
    outcomes: np.ndarray, positive: np.ndarray, costs: Costs, seed: int = 0, draws: int = 400
) -> Bootstrap:
    rng = np.random.default_rng(seed)
    return Bootstrap.of(MeanLoss(outcomes, positive, costs, blocks(positive.size, rng)), rng, draws)


def test_the_interval_covers_the_truth_about_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stakes.study.choice.WITHIN", 0.0)  # the best one, and not a simpler one that is as good
    covered = []
    for seed in range(100):
        outcomes, positive, costs = guesses(300, 5, seed, skill=0.4)
        found_of = bootstrap_of(outcomes, positive, costs, draws=200)
        found = choose(found_of, Rule(found_of, np.ones(5, bool), np.zeros(5, int)))
        covered.append(found.low <= 2 * 0.3 <= found.high)
    assert 0.8 <= np.mean(covered) <= 0.97


def rule(losses: list[float], noise: float = 0.01, **options: object) -> tuple[Rule, np.ndarray]:
    """Return a rule for candidates with these losses, whose differences have a known noise."""
    loss = np.array(losses)
    drawn = loss + noise / np.sqrt(2) * np.random.default_rng(0).normal(size=(4000, loss.size))
    made = Rule(
        Bootstrap(loss, drawn, drawn), np.array(options.pop("follows", [True] * loss.size)),
        np.arange(loss.size), **options,
    )  # fmt: skip
    return made, loss


def test_the_reference_is_kept_unless_another_is_better_beyond_noise() -> None:
    made, loss = rule([1.00, 0.98, 0.99], reference=0)
    assert made.choose(loss) == 0
    made, loss = rule([1.00, 0.95, 0.99], reference=0)
    assert made.choose(loss) == 1
    made, loss = rule([1.00, 0.95, 0.94], reference=0, follows=[True, True, False])
    assert made.choose(loss) == 1  # what follows costs comes first
    made, loss = rule([1.00, 0.99, 0.94], reference=0, follows=[True, True, False])
    assert made.choose(loss) == 2


def test_a_rival_is_taken_where_it_is_no_worse() -> None:
    rivals = np.array([False, True, True])
    for losses, expected in (([1.0, 1.001, 1.2], 0), ([1.0, 1.0, 0.999], 2), ([1.0, 0.99, 1.1], 1)):
        made, loss = rule(losses, reference=0, rivals=rivals)
        assert made.choose(loss) == expected


def test_the_reason_tells_two_decisions_of_one_method_apart() -> None:
    decisions = [Decision(output="average", calibration=way, threshold="cost") for way in (None, "platt")]
    rows = [{**asdict(decision), "name": "lr", "follows_costs": True} for decision in decisions]
    loss = np.array([1.0, 0.99])
    found = Choice(chosen=0, best=1, follower=0, expected=1.0, low=0.9, high=1.1, optimism=0.0)
    reason = _reason(found, Bootstrap(loss, loss[None], loss[None]), rows, None)
    assert "the same model by calibrated probability above break-even is better by 1.0% out of fold" in reason


def test_limits_hold_on_new_records_with_the_confidence_stated() -> None:
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(400):
        scores = np.sort(rng.random(500))[::-1]
        allowed = allowed_share(0.1, 500)
        threshold = scores[round(allowed * 500)]  # the share above it is just allowed
        kept.append(1 - threshold <= 0.1)  # the rate on new records
    assert np.mean(kept) >= 0.93


@pytest.mark.parametrize(("name", "expected"), [("cost", 0.5), ("profit", 2.5)])
def test_totals_are_told_per_record_drawn_where_groups_differ_in_size(name: str, expected: float) -> None:
    # All records are alike, so that no draw of groups can change what is told of one of them.
    n, group = 60, np.repeat(np.arange(4), [1, 4, 15, 40])
    records = Records(None, np.ones(n, bool), Costs(fp=1.0, fn=3.0))
    losses = losses_of(MEASURES[name], 1.0, np.ones((1, n), bool), records, group, np.array([0.5]))
    times = np.random.default_rng(0).multinomial(4, np.full(4, 0.25), size=50).astype(float)
    assert np.unique(times @ np.bincount(group)).size > 10
    np.testing.assert_allclose(losses.losses(times)[:, 0], expected)
