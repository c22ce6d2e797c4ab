"""Every decision against plain loops from the counts in the leaves to the outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reader_reference import LEAVES, N_MEMBERS, VOTE_WEIGHTS, Reference, all_decisions, ensemble
from sklearn.linear_model import LogisticRegression

from stakes import Costs, CostTreeClassifier, Decision
from stakes.sampling import Bootstrap, MemberSampler


class Remembering(MemberSampler):
    """The bootstrap, which remembers what it has drawn."""

    uses_costs = False
    leaves_records_out = True

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def counts(self, y: Any, costs: Costs, rng: np.random.Generator, X: Any = None) -> Any:
        self.drawn.append(Bootstrap().counts(y, costs, rng))
        return self.drawn[-1]


def make_case(
    where: str, records: Any, fresh: Any, estimator: Any = None, **options: Any
) -> tuple[Any, Reference, Any]:
    """Return an ensemble, its reference, and records to decide on."""
    new, other = fresh.take(slice(0, 45)), fresh.take(slice(45, None))
    # A cost of its own for each record, by which those held out are known again.
    fn = (1.0 + np.random.default_rng(0).permutation(len(records))) / 8
    records = replace(records, fn=fn)
    if where == "oob":
        sampler = Remembering()
        clf = ensemble(estimator, sampling=sampler, **options).fit(records.X, records.y, **records.costs)
        return clf, Reference(clf, records, np.column_stack(sampler.drawn) == 0, new), new
    if where == "explicit":
        validation = {"X_val": other.X, "y_val": other.y, "fp_cost_val": other.fp, "fn_cost_val": other.fn}
        clf = ensemble(estimator, **options).fit(records.X, records.y, **records.costs, **validation)
        return clf, Reference(clf, other, np.ones((len(other), N_MEMBERS), bool), new), new
    if where == "training":
        clf = ensemble(estimator, validation=None, **options).fit(records.X, records.y, **records.costs)
        return clf, Reference(clf, records, np.ones((len(records), N_MEMBERS), bool), new), new
    weight = np.random.default_rng(1).integers(1, 4, len(records)) if where == "holdout, weighed" else None
    clf = ensemble(estimator, validation=0.25, **options)
    clf.fit(records.X, records.y, **records.costs, sample_weight=weight)
    held_out = [int(np.flatnonzero(fn == cost)[0]) for cost in clf.validation_.records.costs.fn]
    judges = np.ones((len(held_out), N_MEMBERS), bool)
    weight = None if weight is None else weight[held_out]
    return clf, Reference(clf, records.take(held_out), judges, new, weight), new


WHERE = ["oob", "holdout", "holdout, weighed", "explicit", "training"]


def check(clf: Any, reference: Reference, new: Any, decisions: list[Decision]) -> None:
    """Compare all decisions with the reference, made ready together and, some of them, one at a time."""
    scores, outcomes, _ = clf.evaluate(decisions, new.X, fp_cost=new.fp, fn_cost=new.fn)
    undecided = 0
    for i, decision in enumerate(decisions):
        score, outcome, margin = reference.decide(decision)
        close = 1e-5 if decision.calibration == "platt" else 1e-9
        np.testing.assert_allclose(scores[i], score, atol=close, err_msg=str(decision))
        exact = decision.calibration is None and decision.vote_weight in (None, "equal")
        clear = (margin > close) | exact
        undecided += np.sum(~clear)
        np.testing.assert_array_equal(outcomes[i][clear], outcome[clear], err_msg=str(decision))
        if i % 17 == 0:
            alone = clf.with_decision(decision).predict(new.X, fp_cost=new.fp, fn_cost=new.fn)
            np.testing.assert_array_equal(alone == 1, outcomes[i], err_msg=str(decision))
    assert undecided < 0.02 * len(decisions) * len(new)


@pytest.mark.parametrize("where", WHERE)
def test_trees_decide_as_the_reference(where: str, holes: Any, fresh: Any) -> None:
    decisions = all_decisions(LEAVES, VOTE_WEIGHTS)
    assert len(set(decisions)) == len(decisions) == 6 * 12 + 13 * 5 * 12
    check(*make_case(where, holes, fresh), decisions)


@pytest.mark.parametrize("where", WHERE)
def test_weighted_trees_decide_as_the_reference(where: str, holes: Any, fresh: Any) -> None:
    decisions = all_decisions(["frequency"], [*VOTE_WEIGHTS, "node"])
    check(*make_case(where, holes, fresh, weighted=True), decisions)


@pytest.mark.parametrize("where", ["oob", "holdout", "explicit"])
def test_other_classifiers_decide_as_the_reference(where: str, small: Any, fresh: Any) -> None:
    fresh = replace(fresh, X=np.nan_to_num(fresh.X))
    check(*make_case(where, small, fresh, LogisticRegression()), all_decisions(["frequency"], VOTE_WEIGHTS))


@pytest.mark.parametrize("where", ["oob", "training"])
def test_trees_grown_and_pruned_by_cost_decide_as_the_reference(where: str, holes: Any, fresh: Any) -> None:
    tree = CostTreeClassifier(criterion="cost", pruning="reduced_error", pruning_measure="cost")
    check(*make_case(where, holes, fresh, tree), all_decisions(["laplace"], ["equal", "squared_odds"]))
