"""Ensemble pruning: a few members that together cost no more than all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from stakes import CostBaggingClassifier, CostTreeClassifier, Decision, decisions_for, load, save
from stakes.datasets import make_churn
from stakes.decision.pruning import MARGIN, Ballots, by_cost, by_error, by_margin, pruned

BY_VOTES = ("pruned", "pruned_error", "pruned_margin")


def random_ballots(seed: int, *, out_of_bag: bool, n_members: int = 7, n: int = 60) -> Ballots:
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    right = rng.random((n_members, n)) < rng.uniform(0.5, 0.9, (n_members, 1))
    votes = np.where(right == positive, 1, -1).astype(np.int8)
    if out_of_bag:
        votes[rng.random(votes.shape) < 0.63] = 0
    threshold = rng.uniform(0.2, 0.6, n) if seed % 2 else np.full(n, 0.5)
    return Ballots(votes, positive, rng.lognormal(0, 1, n), threshold)


def wrong(ballots: Ballots, members: list[int]) -> Any:
    """Return which records some members decide wrong together, written from the definition, record by record."""
    found = []
    for i, positive in enumerate(ballots.positive):
        counted = [v for v in ballots.votes[members, i] if v] or [v for v in ballots.votes[:, i] if v]
        acts = bool(counted) and sum(v > 0 for v in counted) > ballots.threshold[i] * len(counted)
        found.append(acts != positive)
    return np.array(found)


@pytest.mark.parametrize("out_of_bag", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_each_member_in_the_order_adds_the_least_cost_to_those_before(seed, out_of_bag):
    ballots = random_ballots(seed, out_of_bag=out_of_bag)
    equal = ballots._replace(loss=np.ones_like(ballots.loss))
    for order, charged in ((by_cost(ballots), ballots), (by_error(ballots), equal)):
        assert sorted(order) == list(range(7))
        for k in range(7):
            chosen = list(order[:k])
            costs = {m: charged.loss[wrong(charged, [*chosen, m])].sum() for m in range(7) if m not in chosen}
            assert costs[order[k]] == pytest.approx(min(costs.values()))


@pytest.mark.parametrize("out_of_bag", [False, True])
def test_the_margins_order_brings_the_mean_signature_closest_to_the_wanted_margin(out_of_bag):
    ballots = random_ballots(3, out_of_bag=out_of_bag)
    signature = np.where(ballots.positive, ballots.votes, -ballots.votes)
    order = by_margin(ballots)
    for k in range(7):
        distances = {
            m: ballots.loss @ (MARGIN - signature[[*order[:k], m]].sum(axis=0) / 7) ** 2
            for m in range(7)
            if m not in order[:k]
        }
        assert distances[order[k]] == pytest.approx(min(distances.values()))


@pytest.mark.parametrize("seed", range(6))
def test_as_few_members_are_kept_as_cost_no_more_than_the_cheapest_number_but_for_one_standard_error(seed):
    ballots = random_ballots(seed, out_of_bag=False, n_members=12)
    order = by_cost(ballots)
    losses = [ballots.loss * wrong(ballots, list(order[: k + 1])) for k in range(12)]
    cheapest = min(losses, key=np.sum)
    fine = [k for k, loss in enumerate(losses) if (loss - cheapest).sum() <= np.sqrt(60 * (loss - cheapest).var())]
    np.testing.assert_array_equal(np.flatnonzero(pruned(ballots, order)), np.sort(order[: fine[0] + 1]))


def test_out_of_the_bag_enough_members_are_kept_to_judge_nearly_all_records():
    ballots = random_ballots(0, out_of_bag=True, n_members=40, n=500)
    kept = pruned(ballots, by_cost(ballots)) > 0
    assert (ballots.votes[kept] != 0).any(axis=0).mean() >= 0.99


@pytest.fixture(scope="module")
def churn() -> Any:
    return make_churn(1500, random_state=0), make_churn(3000, random_state=1)


@pytest.fixture(scope="module")
def forest(churn) -> CostBaggingClassifier:
    train, _ = churn
    forest = CostBaggingClassifier(CostTreeClassifier(min_samples_leaf=5), features="per_split", random_state=0)
    return forest.fit(train.frame, train.target, fp_cost=train.costs.fp, fn_cost=train.costs.fn)


def given(data: Any) -> dict[str, Any]:
    return {"fp_cost": data.costs.fp, "fn_cost": data.costs.fn}


@pytest.mark.parametrize("weight", BY_VOTES)
@pytest.mark.parametrize("member", ["label", "cost", "tuned"])
def test_only_the_members_kept_are_asked_and_outcomes_are_those_of_their_votes(churn, forest, weight, member):
    _, new = churn
    small = forest.with_decision(Decision(member=member, vote_weight=weight))
    (weights,) = small.reader_.member_weights_.values()
    assert set(weights) == {0.0, 1.0}
    kept = small.reader_.members
    np.testing.assert_array_equal(kept, np.flatnonzero(weights))
    assert kept.size < 100
    bins = small._read(new.frame, reset=False)
    assert small.members_.assign(bins, 1, kept).ids.shape == (3000, kept.size)
    # By all members, most of them without weight.
    (share,) = small.reader_.read(small.members_.assign(bins), new.costs).scores.values()
    np.testing.assert_array_equal(small.predict_proba(new.frame, **given(new))[:, 1], share)


def test_a_few_members_cost_no_more_than_all_within_noise(churn, forest):
    _, new = churn
    whole = forest.with_decision(Decision(member="cost", vote_weight="equal"))
    small = forest.with_decision(Decision(member="cost", vote_weight="pruned"))
    assert small.reader_.members.size <= 25
    loss = np.where(new.target == 1, new.costs.fn, new.costs.fp)
    more = loss * (
        (small.predict(new.frame, **given(new)) != new.target).astype(float)
        - (whole.predict(new.frame, **given(new)) != new.target)
    )
    assert more.sum() <= 2 * np.sqrt(more.size * more.var())


def test_pruned_and_other_votes_are_read_together(churn, forest):
    """Each way to vote is weighed in every way that any decision asks for: some of these no decision does."""
    _, new = churn
    decisions = [Decision(member="label", vote_weight="accuracy"), Decision(member="cost", vote_weight="pruned")]
    together = forest.evaluate(decisions, new.frame, **given(new))
    for decision, score in zip(decisions, together.scores, strict=True):
        alone = forest.evaluate([decision], new.frame, **given(new)).scores[0]
        np.testing.assert_array_equal(score, alone)


def test_models_without_weight_are_not_asked(churn):
    train, _ = churn
    numbers = train.frame.select("tenure", "monthly_charges").fill_null(0).to_numpy()
    clf = CostBaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=20, random_state=0)
    clf = clf.fit(numbers, train.target, fp_cost=1, fn_cost=5)
    small = clf.with_decision(Decision(member="cost", vote_weight="pruned"))
    before = small.predict(numbers)
    kept = set(small.reader_.members)
    assert 0 < len(kept) < 20
    for j, model in enumerate(small.estimators_):
        if j not in kept:
            del model.tree_
    np.testing.assert_array_equal(small.predict(numbers), before)


def test_pruned_ensembles_come_back_from_files_and_are_among_the_decisions(churn, forest, tmp_path):
    _, new = churn
    decisions = [option.decision for option in decisions_for(forest) if option.decision.vote_weight == "pruned"]
    assert {(d.member, d.threshold) for d in decisions} == {
        (member, threshold) for member in ("label", "cost", "tuned") for threshold in ("half", "cost", "tuned")
    }
    small = forest.with_decision(Decision(member="cost", vote_weight="pruned"))
    save(small, tmp_path / "small.skops")
    same = load(tmp_path / "small.skops")
    np.testing.assert_array_equal(same.reader_.members, small.reader_.members)
    np.testing.assert_array_equal(same.predict(new.frame, **given(new)), small.predict(new.frame, **given(new)))
