"""Votes that depend on costs: MEC-voting, votes cast by cost, and signed votes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_reference import VOTE_WEIGHTS

from stakes import Costs, Decision
from stakes._members import LeafAssignment, LeafTable
from stakes.decision.cuts import fixed_cut
from stakes.decision.reader import Reader, Votes, cost_share
from stakes.exceptions import CostsNeededError
from stakes.records import Records

# MEC-voting is MTA with T_cs (FRAMEWORK 8.3)

costs_with_ties = st.one_of(st.integers(0, 12).map(float), st.floats(1e-100, 1e100), st.floats(1e-100, 1e-90))


@st.composite
def polls(draw: st.DrawFn) -> tuple[LeafAssignment, LeafAssignment, Any, Costs]:
    """Random votes on records to validate on and to decide on, and random costs."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    p = np.array(draw(st.lists(st.integers(0, 8), min_size=2 * n * m, max_size=2 * n * m))) / 8
    positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    fp, fn = (np.array(draw(st.lists(costs_with_ties, min_size=n, max_size=n))) for _ in range(2))
    ids = np.arange(n * m, dtype=np.int32).reshape(n, m)
    member = np.tile(np.arange(m), n)
    val, new = (
        LeafAssignment(ids, LeafTable(member, half > 0.5, lambda leaf, half=half: half))
        for half in (p[: n * m], p[n * m :])
    )
    return val, new, positive, Costs(fp=fp, fn=fn)


@given(polls(), st.sampled_from(["label", "cost", "tuned"]), st.sampled_from(VOTE_WEIGHTS))
@settings(max_examples=400)
def test_mec_voting_is_majority_threshold_adjustment(poll: Any, member: str, vote_weight: str) -> None:
    val, new, positive, costs = poll
    decision = Decision(member=member, vote_weight=vote_weight, output="vote", threshold="cost")
    reader = Reader([decision]).fit(val, Records(None, positive, costs))
    readings = reader.read(new, costs)
    weighed = cost_share(readings.scores[readings.source(decision)], costs)
    assert np.isfinite(weighed).all()
    assert (weighed >= 0).all()
    assert (weighed <= 1).all()
    np.testing.assert_array_equal(weighed > 0.5, fixed_cut(decision).outcomes(readings, costs))


def test_mec_voting_is_majority_threshold_adjustment_also_where_votes_and_costs_tie() -> None:
    """All shares k / m of equal votes against all ratios of small whole costs, among them thousands of ties."""
    fp, fn = (side.ravel().astype(float) for side in np.meshgrid(np.arange(21), np.arange(21)))
    costs = Costs(fp=fp, fn=fn)
    for m in (1, 2, 3, 7, 10, 30):
        for k in range(m + 1):
            share = np.full(fp.size, k / m)
            np.testing.assert_array_equal(cost_share(share, costs) > 0.5, share > costs.threshold())


@given(st.floats(0, 1), costs_with_ties, costs_with_ties, st.sampled_from([-1, 0, 1]))
def test_share_of_cost_weighed_votes(share: float, fp: float, fn: float, step: int) -> None:
    costs = Costs(fp=fp, fn=fn)
    threshold = costs.threshold()
    near = np.clip(np.nextafter(threshold, step) if step else threshold, 0.0, 1.0)
    for s in (share, float(near)):
        weighed = float(cost_share(np.array([s]), costs)[0])
        assert 0 <= weighed <= 1
        assert (weighed > 0.5) == (s > threshold)
        if min(fp, fn) > 1e-6 and max(fp, fn) < 1e6:
            assert weighed == pytest.approx(s * fn / (s * fn + (1 - s) * fp), abs=1e-9)


# What boosting asks of the reader (FRAMEWORK 7.2)


def test_votes_cast_by_cost_count_their_cost(leaves_with_weights: Any) -> None:
    assignment, alpha, costs = leaves_with_weights
    reader = Reader([Decision(output="vote")], Votes("vote", averages=False, weight=alpha, cast="by_cost"))
    (score,) = reader.read(assignment, costs).scores.values()
    for i in range(5):
        votes = [(alpha[m], assignment.leaves.label[assignment.ids[i, m]]) for m in range(3)]
        ayes = sum(a * costs.fn[i] for a, positive in votes if positive)
        noes = sum(a * costs.fp[i] for a, positive in votes if not positive)
        assert score[i] == pytest.approx(ayes / (ayes + noes) if ayes + noes else 0.5)


def test_signed_votes_count_the_costs_in_the_leaf_and_their_score_keeps_the_order_of_the_sum(
    leaves_with_weights: Any,
) -> None:
    assignment, alpha, costs = leaves_with_weights
    decision = Decision(output="vote")
    reader = Reader([decision], Votes("vote", averages=False, weight=alpha, cast="signed"))
    readings = reader.read(assignment, costs)
    (score,) = readings.scores.values()
    outcome = fixed_cut(decision).outcomes(readings)
    for i in range(5):
        votes = []
        for m in range(3):
            negative, positive = assignment.leaves.weights[assignment.ids[i, m]]
            votes.append(alpha[m] * (positive * costs.fn[i] - negative * costs.fp[i]))
        largest = 0.5 * 3 + 2.0 * 5 + 1.0 * 4  # alpha times the heaviest class of all leaves
        assert score[i] == pytest.approx(0.5 + sum(votes) / (costs.fp[i] + costs.fn[i]) / (2 * largest))
        assert outcome[i] == (sum(votes) > 0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_signed_score_is_above_one_half_iff_the_sum_of_votes_is_positive(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, (4, 2)) * 10.0 ** rng.integers(-12, 3, (4, 1))
    label = weights[:, 1] > weights[:, 0]
    leaves = LeafTable(np.array([0, 0, 1, 1]), label, len, weights)
    assignment = LeafAssignment(np.array([[0, 2], [0, 3], [1, 2], [1, 3]], np.int32), leaves)
    alpha, costs = 10.0 ** rng.uniform(-3, 2, 2), Costs(fp=rng.integers(0, 3, 4), fn=rng.integers(0, 3, 4))
    reader = Reader([Decision(output="vote")], Votes("vote", averages=False, weight=alpha, cast="signed"))
    (score,) = reader.read(assignment, costs).scores.values()
    threshold = costs.threshold()
    total = np.zeros(4)
    for i in range(4):
        for m in range(2):
            negative, positive = weights[assignment.ids[i, m]]
            total[i] += alpha[m] * (positive * (1 - threshold[i]) - negative * threshold[i])
    np.testing.assert_array_equal(score > 0.5, total > 0)
    assert ((score >= 0) & (score <= 1)).all()


@pytest.mark.parametrize("cast", ["by_cost", "signed"])
def test_votes_that_depend_on_costs_need_them(cast: str, leaves_with_weights: Any) -> None:
    assignment, alpha, _ = leaves_with_weights
    votes = Votes("vote", averages=False, weight=alpha, cast=cast)
    reader = Reader([Decision(output="vote")], votes)
    assert reader.needs_costs
    with pytest.raises(CostsNeededError, match="fp_cost= and fn_cost="):
        reader.read(assignment, None)
    # Other weights are asked for by the decision, and votes are plain again.
    assert not Reader([Decision(vote_weight="equal")], votes).needs_costs
