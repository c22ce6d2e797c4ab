"""Counting votes, against loops (FRAMEWORK 8.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stakes.decision.tally import RECORDS_PER_TASK, Ballot, leaf_losses, member_losses, tally

N_LEAVES, N_MEMBERS = 12, 4
BY_THRESHOLD = [1, 0]


def make_poll(n: int, seed: int, *, node_weights: bool) -> tuple[NDArray[np.int32], Ballot, Any, Any]:
    """Four members with three leaves each; two columns of votes by outcome, two by threshold, three ways to weigh."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(3, size=(n, N_MEMBERS)) + 3 * np.arange(N_MEMBERS)
    ballot = Ballot(
        rng.integers(0, 5, (N_LEAVES, 2)) / 4,
        rng.random((N_LEAVES, 2)) < 0.5,
        np.array(BY_THRESHOLD, dtype=np.int64),
        rng.random((N_MEMBERS, 4, 3)),
        rng.random(N_LEAVES) if node_weights else np.empty(0),
    )
    return ids.astype(np.int32), ballot, rng.integers(0, 5, n) / 4, rng.random((n, N_MEMBERS)) < 0.4


def vote(ballot: Ballot, leaf: int, column: int, threshold: float) -> bool:
    if column < 2:
        return bool(ballot.outcome[leaf, column])
    return bool(ballot.probability[leaf, BY_THRESHOLD[column - 2]] > threshold)


@pytest.mark.parametrize("out_of_bag", [False, True])
@pytest.mark.parametrize("node_weights", [False, True])
def test_averages_and_shares_are_those_of_plain_loops(node_weights: bool, out_of_bag: bool) -> None:
    ids, ballot, threshold, counts = make_poll(40, 0, node_weights=node_weights)
    average, share = tally(ids, ballot, threshold, counts if out_of_bag else None)
    nobody = 0
    for i in range(40):
        members = [m for m in range(N_MEMBERS) if counts[i, m] or not out_of_bag]
        if not members:
            nobody += 1
            assert np.isnan(average[i]).all()
            assert np.isnan(share[i]).all()
            continue
        np.testing.assert_allclose(average[i], np.mean([ballot.probability[ids[i, m]] for m in members], axis=0))
        for c in range(4):
            for w in range(3):
                weight = {m: ballot.weight[m, c, w] for m in members}
                if node_weights:
                    weight = {m: weight[m] * ballot.leaf_weight[ids[i, m]] for m in members}
                ayes = sum(weight[m] for m in members if vote(ballot, ids[i, m], c, threshold[i]))
                assert share[i, c, w] == pytest.approx(ayes / sum(weight.values()))
    assert nobody == 0 or out_of_bag
    assert not out_of_bag or nobody > 0


def test_votes_without_weight_leave_the_question_open() -> None:
    ids, ballot, threshold, _ = make_poll(5, 1, node_weights=False)
    ballot = ballot._replace(weight=np.zeros((N_MEMBERS, 4, 3)))
    _, share = tally(ids, ballot, threshold)
    np.testing.assert_array_equal(share, np.full((5, 4, 3), 0.5))


def test_threads_change_nothing() -> None:
    n = 2 * RECORDS_PER_TASK + 100
    ids, ballot, threshold, counts = make_poll(n, 2, node_weights=True)
    for one, two in zip(
        tally(ids, ballot, threshold, counts), tally(ids, ballot, threshold, counts, n_threads=2), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("out_of_bag", [False, True])
def test_losses_of_leaves_and_of_members_are_those_of_plain_loops(out_of_bag: bool) -> None:
    ids, ballot, threshold, counts = make_poll(60, 3, node_weights=False)
    rng = np.random.default_rng(4)
    positive, loss = rng.random(60) < 0.4, rng.integers(0, 9, 60).astype(float)
    seen_by = counts if out_of_bag else np.empty((0, 0), bool)
    judged_by = counts if out_of_bag else np.ones_like(counts)
    of_leaf = leaf_losses(ids, seen_by, positive, loss, N_LEAVES)
    wrong, judged = member_losses(ids, seen_by, positive, loss, threshold, *ballot[:3])
    for leaf in range(N_LEAVES):
        here = ((ids == leaf) & judged_by).any(axis=1)
        np.testing.assert_array_equal(of_leaf[leaf], [loss[here & ~positive].sum(), loss[here & positive].sum()])
    for m in range(N_MEMBERS):
        mine = np.flatnonzero(judged_by[:, m])
        assert judged[m] == loss[mine].sum()
        for c in range(4):
            mistakes = [i for i in mine if vote(ballot, ids[i, m], c, threshold[i]) != positive[i]]
            assert wrong[m, c] == loss[mistakes].sum()
