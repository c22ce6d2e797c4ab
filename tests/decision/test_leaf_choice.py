"""The leaf probability of votes by T_cs, chosen on validation records, against plain loops."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stakes import CostBaggingClassifier, CostBoostClassifier, Costs, Decision, make_classifier
from stakes import _member_classifier as module
from stakes._members import LeafAssignment, LeafTable
from stakes.decision.leaf_choice import Unseen, cheapest_leaf
from stakes.decision.reader import Votes
from stakes.persist import dumps, loads
from stakes.records import Records

BY_COST = Decision(member="cost")
TRIED = ("supported", "laplace", "m_estimate")


def case(seed: int, n: int = 900) -> tuple[Any, Any, dict[str, Any]]:
    """Return records of two informative features, a tenth of them positive, with costs of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 0.3 + 1.5 * (seed % 3), n) > 2.0).astype(int)
    return X, y, {"fp_cost": rng.uniform(1, 2, n), "fn_cost": rng.lognormal(2.5, 0.5, n)}


def forest(seed: int, **params: Any) -> CostBaggingClassifier:
    return CostBaggingClassifier(n_estimators=9, random_state=seed, **{"decision": BY_COST, **params})


def costs_by_loops(clf: Any, leaf: str, rows: Any, validation: Any = None) -> list[float]:
    """Return what votes by T_cs cost on some validation records, each judged by the members that may judge it."""
    validation = validation or clf.validation_
    records, leaves = validation.records, clf.members_.leaves
    ids = clf.members_.assign(records.X).ids
    p, out_of_bag = leaves.probability(leaf), validation.out_of_bag
    fp, fn = records.known.arrays(len(records))
    costs = []
    for i in rows:
        judges = [m for m in range(len(clf)) if out_of_bag is None or out_of_bag[i, m]]
        if judges:
            acts = np.mean([p[ids[i, m]] > fp[i] / (fp[i] + fn[i]) for m in judges]) > 0.5
            costs.append(records.loss[i] * (acts != records.positive[i]))
    return costs


def chosen_by_loops(clf: Any, rows: Any, *others: Any) -> str:
    """Return the choice by some of the validation records, and by all of others."""
    costs = {leaf: costs_by_loops(clf, leaf, rows) for leaf in TRIED}
    for leaf, other in itertools.product(TRIED, others):
        costs[leaf] += costs_by_loops(clf, leaf, range(len(other.records)), other)
    cheapest = min(TRIED, key=lambda leaf: sum(costs[leaf]))  # the first of equals
    less = [usual - other for usual, other in zip(costs[TRIED[0]], costs[cheapest], strict=True)]
    return cheapest if sum(less) > 2 * sum(each**2 for each in less) ** 0.5 else TRIED[0]


def fit(where: str, seed: int) -> Any:
    X, y, costs = case(seed)
    if where == "oob":
        return forest(seed).fit(X, y, **costs)
    if where == "held out, weighed":
        weight = np.random.default_rng(seed).integers(1, 4, y.size)
        return forest(seed, validation=0.3).fit(X, y, **costs, sample_weight=weight)
    X_val, y_val, other = case(seed + 3, 300)
    return forest(seed).fit(
        X, y, **costs, X_val=X_val, y_val=y_val, fp_cost_val=other["fp_cost"], fn_cost_val=other["fn_cost"]
    )


@pytest.mark.parametrize("where", ["oob", "held out, weighed", "explicit"])
def test_the_leaf_is_the_one_whose_votes_clearly_cost_least_on_all_unseen_records(where: str) -> None:
    chosen, by_validation = [], []
    for seed in range(9):
        clf = fit(where, seed)
        others = [] if where == "oob" else [clf._also_unseen]
        everyone = range(len(clf.validation_.records))
        leaf = chosen_by_loops(clf, everyone, *others)
        assert clf.members_.cheapest_leaf == leaf
        chosen.append(leaf)
        by_validation.append(chosen_by_loops(clf, everyone))
        X, _, costs = case(seed + 50)
        said = replace(BY_COST, leaf=leaf)
        np.testing.assert_array_equal(clf.predict(X, **costs), clf.with_decision(said).predict(X, **costs))
        evaluation = clf.evaluate([BY_COST, said], X, **costs)
        np.testing.assert_array_equal(*evaluation.outcomes)
    assert len(set(chosen)) > 1
    assert (chosen == by_validation) == (where == "oob")


def test_the_leaf_is_chosen_when_a_decision_first_asks_for_it() -> None:
    asked = fit("oob", 0)
    X, y, costs = case(0)
    later = forest(0, decision=None).fit(X, y, **costs)
    assert later.members_.cheapest_leaf is None
    np.testing.assert_array_equal(later.with_decision(BY_COST).predict(X, **costs), asked.predict(X, **costs))
    assert later.members_.cheapest_leaf == asked.members_.cheapest_leaf is not None


@pytest.mark.parametrize("params", [{"validation": None}, {"sampling": "under"}])
def test_without_records_that_members_have_not_seen_the_leaf_is_the_usual_one(params: dict[str, Any]) -> None:
    X, y, costs = case(0)
    clf = forest(0, **params).fit(X, y, fp_cost=1, fn_cost=5)
    assert clf.members_.cheapest_leaf is None
    usual = clf.with_decision(Decision(member="cost", leaf="supported"))
    np.testing.assert_array_equal(clf.predict(X, **costs), usual.predict(X, **costs))


def test_boosting_votes_as_it_was_trained() -> None:
    X, y, costs = case(0)
    clf = CostBoostClassifier(n_estimators=5, decision=BY_COST, validation=0.2, random_state=0).fit(X, y, **costs)
    assert clf.members_.cheapest_leaf is None


def test_out_of_bag_no_record_judges_the_leaf_that_it_has_chosen() -> None:
    differ = 0
    for seed in range(8):
        clf = fit("oob", seed)
        every = np.arange(len(clf.validation_.records))
        halves = every[::2], every[1::2]
        leaves = [chosen_by_loops(clf, others) for others in halves[::-1]]
        differ += leaves[0] != leaves[1]
        expected = sum(sum(costs_by_loops(clf, leaf, rows)) for leaf, rows in zip(leaves, halves, strict=True))
        assert clf.oob_cost_ == pytest.approx(expected)
    assert differ


def test_of_very_many_records_a_part_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TO_CHOOSE_BY", 300)
    chosen = []
    for seed in range(6):
        clf = fit("oob", seed)
        assert clf.members_.cheapest_leaf == chosen_by_loops(clf, range(0, 900, 3))
        chosen.append(clf.members_.cheapest_leaf)
    assert len(set(chosen)) > 1


@pytest.mark.parametrize("validation", [False, True])
def test_a_saved_model_votes_by_the_same_leaf(validation: bool) -> None:
    for seed in range(4):
        clf = fit("oob", seed)
        again = loads(dumps(clf, validation=validation))
        assert again.members_.cheapest_leaf == clf.members_.cheapest_leaf
        X, _, costs = case(seed + 50)
        np.testing.assert_array_equal(again.predict(X, **costs), clf.predict(X, **costs))


@pytest.mark.parametrize("name", ["dm-bg", "dm-wrdf", "dm-cprrf", "dm-sprf"])
def test_names_choose_their_leaf(name: str) -> None:
    X, y, costs = case(1)
    if name == "dm-sprf":  # synthetic records leave no fair bag
        costs["X_val"], costs["y_val"], other = case(4)
        costs |= {f"{key}_val": value for key, value in other.items()} | {"fp_cost": 1.5, "fn_cost": 5.0}
    clf = make_classifier(name, n_estimators=9, random_state=0).fit(X, y, **costs)
    assert clf.members_.cheapest_leaf in clf.members_.leaves_to_try


def test_records_with_neighbours_in_training_do_not_choose() -> None:
    X, y, _ = case(1)
    clf = make_classifier("dm-sprf", n_estimators=9, random_state=0).fit(X, y, fp_cost=1.5, fn_cost=5.0)
    assert clf.validation_.out_of_bag is not None
    assert clf.members_.cheapest_leaf is None
    usual = clf.with_decision(Decision(member="cost", leaf="supported_shrunk"))
    np.testing.assert_array_equal(clf.predict_oob(), usual.predict_oob())


def table(p: dict[str, Any]) -> LeafAssignment:
    """Return one member, each leaf of which is reached by the record of its number."""
    n = len(next(iter(p.values())))
    leaves = LeafTable(np.zeros(n, np.intp), np.zeros(n, bool), lambda leaf: np.array(p[leaf], dtype=float))
    return LeafAssignment(np.arange(n, dtype=np.int32)[:, None], leaves)


@pytest.mark.parametrize("unit", [0.1, 1.0, 3.0, 1e6])
def test_of_equal_costs_the_first_is_chosen_in_any_currency(unit: float) -> None:
    # Ten false alarms of 0.1, or a missed positive of 1: their sums differ in the last digits. The usual way has both.
    positive = np.tile([*[False] * 10, True], 20)
    p = {"supported": np.where(positive, 0.0, 0.9), "laplace": np.full(220, 0.9), "m_estimate": np.zeros(220)}
    records = Records(None, positive, Costs(fp=np.full(220, 0.1 * unit), fn=np.full(220, unit)))
    for leaves in (("laplace", "m_estimate"), ("m_estimate", "laplace")):
        assert cheapest_leaf(leaves, Votes(), [Unseen(table(p), records)]) == leaves[0]
        assert cheapest_leaf(("supported", *leaves), Votes(), [Unseen(table(p), records)]) == leaves[0]


def test_records_that_nobody_judges_do_not_count_and_others_by_their_real_cost() -> None:
    # Sixteen records of each of three kinds: it takes more than a few to tell the two apart. By the known costs 0.15 is
    # worth acting on, by the real ones it is not.
    p = {"laplace": np.repeat([0.9, 0.0, 0.9], 16), "m_estimate": np.repeat([0.0, 0.15, 0.0], 16)}
    positive, judged = np.ones(48, bool), np.repeat([True, True, False], 16)[:, None]
    real, known = Costs(fp=1.0, fn=np.repeat([1.0, 5.0, 9.0], 16)), Costs(fp=1.0, fn=np.full(48, 9.0))
    leaves = ("laplace", "m_estimate")
    records = Records(None, positive, real, known_costs=known)
    assert cheapest_leaf(leaves, Votes(), [Unseen(table(p), records)]) == "laplace"
    assert cheapest_leaf(leaves, Votes(), [Unseen(table(p), records, judged)]) == "m_estimate"
    weighed = replace(records, weight=np.repeat([9.0, 1.0, 1.0], 16))
    assert cheapest_leaf(leaves, Votes(), [Unseen(table(p), weighed, judged)]) == "laplace"
    # 5 x 16 against 2.5 x 16 is 40 less, and the error of that is 22.4.
    near = replace(records, costs=Costs(fp=1.0, fn=np.repeat([2.5, 5.0, 9.0], 16)))
    assert cheapest_leaf(leaves, Votes(), [Unseen(table(p), near, judged)]) == "laplace"
