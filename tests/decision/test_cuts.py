"""Calibrations and thresholds of many decisions on members trained once: limits, gaps and errors."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest
from reader_reference import THRESHOLDS, ensemble

from stakes import CostBoostClassifier, Costs, Decision
from stakes._members import LeafAssignment, LeafTable
from stakes.decision.cuts import apply_cuts, fit_cuts, fixed_cut
from stakes.decision.reader import Reader, Votes
from stakes.decision.readings import Readings, Source
from stakes.exceptions import CostsNeededError, DecisionError
from stakes.records import Records
from stakes.tree.leaves import LEAVES


@pytest.mark.parametrize(("limit", "value"), [("max_fpr", 0.05), ("max_acted", 0.1), ("max_fpr", 0.0)])
def test_tuned_thresholds_can_be_limited(limit: str, value: float, holes: Any, fresh: Any) -> None:
    """The cheapest of all cuts that keep to the limit, tried one by one."""
    clf = ensemble().fit(holes.X, holes.y, **holes.costs, X_val=fresh.X, y_val=fresh.y, fp_cost_val=1, fn_cost_val=9)
    decisions = [Decision(threshold="tuned")]
    readings, records = clf.read_validation(decisions)
    (cut,) = fit_cuts(decisions, readings, records, **{limit: value})
    score = cut.scores(readings)

    def bill(threshold: float) -> float:
        acted, positive = score > threshold, fresh.y == 1
        if (acted[~positive].mean() if limit == "max_fpr" else acted.mean()) > value:
            return inf
        return float((acted & ~positive).sum() + 9 * (~acted & positive).sum())

    assert bill(cut.thresholds()) == min(bill(t) for t in [-1.0, *score])


@pytest.mark.parametrize("calibration", [None, "platt"])
@pytest.mark.parametrize("output", ["average", "vote"])
def test_a_record_that_nobody_judges_has_no_score_and_no_say(output: str, calibration: str | None, holes: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    assignment, records = clf.validation_.assignment(clf.members_, 1), clf.validation_.records
    out_of_bag = clf.validation_.out_of_bag.copy()
    out_of_bag[:120] = False
    decision = Decision(output=output, calibration=calibration, threshold="tuned")
    readings = Reader([decision]).read(assignment, records.costs, out_of_bag=out_of_bag)
    np.testing.assert_array_equal(readings.known, out_of_bag.any(axis=1))
    (cut,) = fit_cuts([decision], readings, records)
    assert not cut.outcomes(readings)[~readings.known].any()
    rest = np.arange(120, len(records))
    (of_half,) = fit_cuts([decision], readings.take(rest), records.take(rest))
    assert cut.thresholds() == of_half.thresholds()
    everyone = Reader([decision]).read(assignment, records.costs, out_of_bag=clf.validation_.out_of_bag)
    (of_rows,) = fit_cuts([decision], everyone, records, rows=rest)
    assert cut.thresholds() == of_rows.thresholds()


def test_votes_of_leaves_that_cost_nothing_leave_the_question_open() -> None:
    leaves = LeafTable(
        np.array([0, 0, 1]), np.array([True, False, True]), lambda leaf: np.ones(3), None, np.array([0.0, 0, 2])
    )
    assignment = LeafAssignment(np.array([[0, 2], [1, 2]], dtype=np.int32), leaves)
    reader = Reader([Decision(output="vote")], Votes("vote", by_node=True))
    (score,) = reader.read(assignment, None).scores.values()
    np.testing.assert_array_equal(score, [1.0, 1.0])
    only_first = np.array([[True, False], [True, False]])
    (score,) = reader.read(assignment, None, out_of_bag=only_first).scores.values()
    np.testing.assert_array_equal(score, [0.5, 0.5])


@pytest.mark.parametrize(
    ("decision", "votes", "message"),
    [
        (Decision(output="average"), Votes("vote", averages=False), "boosting has votes only.*calibration"),
        (Decision(vote_weight="node"), Votes(), "only weighted ensembles have one"),
        (Decision(calibration="logistic"), Votes(), "alphas of boosting: choose 'logistic_bounded'"),
    ],
)
def test_a_decision_that_does_not_fit_the_ensemble_is_an_error(decision: Decision, votes: Votes, message: str) -> None:
    with pytest.raises(DecisionError, match=message):
        Reader([decision], votes)


def test_what_is_chosen_on_validation_records_needs_some() -> None:
    for decision in (Decision(threshold="tuned"), Decision(calibration="platt")):
        with pytest.raises(DecisionError, match=r"none were kept: fit with validation= or X_val="):
            fixed_cut(decision)
    assert Reader([Decision(member="tuned")]).needs_records
    for decision in (Decision(calibration="logistic_bounded"), Decision(threshold="cost")):
        fixed_cut(decision)
    assert not Reader([Decision(vote_weight="equal")]).needs_records


def test_calibrations_in_closed_form_need_no_evidence(leaves_with_weights: Any) -> None:
    assignment, alpha, costs = leaves_with_weights
    decisions = [Decision(output="vote", calibration=name) for name in (None, "logistic_bounded", "logistic")]
    readings = Reader(decisions, Votes("vote", averages=False, weight=alpha)).read(assignment, costs)
    share, printed, original = apply_cuts([fixed_cut(decision) for decision in decisions], readings).scores
    np.testing.assert_allclose(printed, 1 / (1 + np.exp(-2 * (2 * share - 1))))
    signs = np.where(assignment.leaves.label[assignment.ids], 1, -1)
    np.testing.assert_allclose(original, 1 / (1 + np.exp(-2 * (signs @ alpha))))


def test_a_threshold_by_cost_needs_the_costs(leaves_with_weights: Any) -> None:
    decision = Decision(output="average", threshold="cost")
    readings = Reader([decision]).read(leaves_with_weights[0], None)
    with pytest.raises(CostsNeededError, match="needs the costs of the records"):
        fixed_cut(decision).outcomes(readings)


# Costs that an outcome reveals (FRAMEWORK 8.5)


@pytest.mark.parametrize("weighted", [False, True])
def test_choices_are_charged_by_real_costs_and_votes_cast_by_known_ones(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n, n_members, n_leaves = 80, 3, 6
    p = np.sort(rng.random((n_members, n_leaves))).ravel()
    leaves = LeafTable(np.repeat(np.arange(n_members), n_leaves), p > 0.5, lambda leaf: p)
    ids = (rng.integers(n_leaves, size=(n, n_members)) + n_leaves * np.arange(n_members)).astype(np.int32)
    positive = rng.random(n) < p[ids].mean(axis=1)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    known = Costs(fp=rng.lognormal(0, 1, n), fn=rng.lognormal(1, 1, n))
    real = Costs(fp=1.0, fn=rng.lognormal(2, 2, n))
    assignment = LeafAssignment(ids, leaves)
    records = Records(None, positive, real, weight, known_costs=known)

    def bill(acted: Any) -> float:
        wrong = np.where(positive, ~acted, acted)
        return float((real.of(positive) * wrong * (1.0 if weight is None else weight)).sum())

    decisions = [
        Decision(output="average", threshold="tuned"),
        Decision(member="tuned", output="vote"),
        Decision(member="cost", output="vote", vote_weight="accuracy"),
    ]
    reader = Reader(decisions).fit(assignment, records)
    tuned, *_ = fit_cuts(decisions, reader.read(assignment, known), records)
    mean = p[ids].mean(axis=1)
    cheapest = min(bill(mean > cut) for cut in [-1.0, *mean])
    assert bill(mean > tuned.thresholds()) == pytest.approx(cheapest)
    for m in range(n_members):
        own = p[ids[:, m]]
        cheapest = min(bill(own > cut) for cut in [-1.0, *own])
        assert bill(own > reader.member_thresholds_["auto"][m]) == pytest.approx(cheapest)
        error = bill(own > known.threshold()) / bill(~positive)
        assert reader.member_errors_["cost", "cheapest"][m] == pytest.approx(error)


# Many decisions on members trained once, and cuts fitted elsewhere


def test_scores_of_folds_are_joined_in_the_order_of_the_records(holes: Any, fresh: Any) -> None:
    decisions = [Decision(threshold="tuned"), Decision(output="vote"), Decision(output="vote", calibration="platt")]
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    whole = clf.read(decisions, fresh.X)
    rows = np.array_split(np.random.default_rng(0).permutation(len(fresh)), 3)
    joined = Readings.join([clf.read(decisions, fresh.X[part]) for part in rows], rows)
    assert (
        list(joined.scores)
        == list(whole.scores)
        == [Source("average", "frequency"), Source("vote", "", "label", "own")]
    )
    for source, score in whole.scores.items():
        np.testing.assert_array_equal(joined.scores[source], score)
    with pytest.raises(ValueError, match="every row number from 0 on exactly once"):
        Readings.join([whole, whole], [rows[0], rows[0]])
    with pytest.raises(ValueError, match="not read for the same decisions"):
        Readings.join([clf.read(decisions[:1], fresh.X[rows[0]]), whole.take(rows[1]), whole.take(rows[2])], rows)
    with pytest.raises(ValueError, match="was not among the decisions"):
        whole.source(Decision(member="cost"))


def test_scores_are_not_in_memory_once_more_while_cuts_are_chosen_or_folds_joined() -> None:
    n = 20_000
    leaf_and_weight = product(LEAVES, ("equal", "log_odds", "accuracy", "squared_odds"))
    decisions = [Decision(member="cost", leaf=leaf, vote_weight=weight) for leaf, weight in leaf_and_weight]
    p = np.random.default_rng(0).random(n)
    readings = Readings({Source.of(decision, "vote"): p for decision in decisions}, {})
    records, halves = Records(None, p > 0.6, Costs(fp=1, fn=5)), (np.arange(0, n, 2), np.arange(1, n, 2))
    parts = [readings.take(rows) for rows in halves]
    size = 8 * n * len(decisions)

    def peak(work: Callable[[], object]) -> int:
        work()
        tracemalloc.start()
        work()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(lambda: fit_cuts(decisions, readings, records)) < size / 2
    # What is returned, and one of its arrays on the way.
    assert peak(lambda: Readings.join(parts, halves)) < 1.2 * size


def test_the_logistic_correction_of_joined_scores_goes_by_the_votes_of_each_model(holes: Any, fresh: Any) -> None:
    decision = Decision(calibration="logistic")
    halves = np.arange(0, len(fresh), 2), np.arange(1, len(fresh), 2)
    models = [
        CostBoostClassifier(n_estimators=n, decision=Decision()).fit(holes.X, holes.y, **holes.costs) for n in (3, 9)
    ]
    parts = [model.read([decision], fresh.X[rows]) for model, rows in zip(models, halves, strict=True)]
    score = fixed_cut(decision).scores(Readings.join(parts, halves))
    for model, rows in zip(models, halves, strict=True):
        np.testing.assert_array_equal(score[rows], model.with_decision(decision).predict_proba(fresh.X[rows])[:, 1])


def test_a_cut_fitted_elsewhere_decides_in_a_trained_model(holes: Any, fresh: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    decisions = [Decision(threshold="tuned"), Decision(calibration="isotonic", threshold="cost")]
    costs = {"fp_cost": fresh.fp, "fn_cost": fresh.fn}
    readings = clf.read(decisions, fresh.X)
    records = Records(None, fresh.y == 1, Costs(fp=fresh.fp, fn=fresh.fn))
    cuts = fit_cuts(decisions, readings, records)
    assert cuts[0].thresholds() != clf.with_decision(decisions[0]).cut_.thresholds()
    evaluation = clf.evaluate(decisions, fresh.X, **costs, cuts=cuts)
    for i, (decision, cut) in enumerate(zip(decisions, cuts, strict=True)):
        moved = clf.with_decision(decision, cut=cut)
        assert moved.members_ is clf.members_
        np.testing.assert_array_equal(moved.predict(fresh.X, **costs) == 1, evaluation.outcomes[i])
        np.testing.assert_array_equal(cut.outcomes(readings, records.costs), evaluation.outcomes[i])
        np.testing.assert_array_equal(moved.predict_proba(fresh.X)[:, 1], evaluation.scores[i])
    # The cheapest threshold on these very records is at least as cheap as any other.
    own = clf.evaluate(decisions, fresh.X, **costs)
    loss = records.loss
    assert loss[evaluation.outcomes[0] != records.positive].sum() <= loss[own.outcomes[0] != records.positive].sum()
    with pytest.raises(DecisionError, match="cut= was chosen for"):
        clf.with_decision(decisions[1], cut=cuts[0])
    with pytest.raises(DecisionError, match="max_fpr limits a tuned threshold"):
        clf.with_decision(decisions[0], cut=cuts[0], max_fpr=0.1)


def test_decisions_that_differ_in_their_threshold_only_share_their_scores(holes: Any, fresh: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    decisions = [Decision(threshold=threshold, calibration="platt") for threshold in THRESHOLDS]
    scores = clf.evaluate(decisions, fresh.X, fp_cost=fresh.fp, fn_cost=fresh.fn).scores
    assert scores[0] is scores[1] is scores[2]


@pytest.mark.parametrize("limit", [-0.1, 1.5])
def test_limits_are_shares(limit: float, holes: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    decisions = [Decision(threshold="tuned")]
    with pytest.raises(DecisionError, match=f"max_acted must be a share between 0 and 1, got {limit}"):
        fit_cuts(decisions, *clf.read_validation(decisions), max_acted=limit)
