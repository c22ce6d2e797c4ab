"""Costs act: the dearer a miss, the more records are positive; and the decisions that are the default."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from ensembles import BY_CLASS_MEANS, SAMPLINGS, assert_same_trees, bagging
from imblearn.under_sampling import RandomUnderSampler
from sklearn.naive_bayes import GaussianNB

from stakes import CostTreeClassifier, Decision
from stakes.sampling import CPRSampler

# Costs act


RATIOS = [1 / 50, 1 / 10, 1 / 3, 1.0, 3.0, 10.0, 50.0]

# In a pure leaf no cost can change the label.
STEADY: dict[str, Any] = {"max_depth": 4}
METHODS: dict[str, dict[str, Any]] = {
    "plain": {},
    "plain, per_split": {"features": "per_split"},
    "plain, per_tree": {"features": "per_tree"},
    **{
        f"{sampling}{', presample' * presample}": {"sampling": sampling, "presample": presample}
        for sampling, presample in product(SAMPLINGS, (False, True))
    },
    "cpr with a quantile": {"sampling": CPRSampler(quantile=0.9)},
    "under, per_split": {"sampling": "under", "features": "per_split"},
    "over, per_tree": {"sampling": "over", "features": "per_tree"},
    "under, prior correction": {"sampling": "under", "prior_correction": True},
    "weighted": {"weighted": True},
    "weighted, per_split": {"weighted": True, "features": "per_split"},
    "weighted, per_tree": {"weighted": True, "features": "per_tree"},
    "cost splitting": {"estimator": CostTreeClassifier(criterion="cost", **STEADY)},
    "cost splitting, textbook": {"estimator": CostTreeClassifier(criterion="cost", break_ties=False)},
    "reduced cost pruning": {"estimator": CostTreeClassifier(pruning="reduced_error", pruning_measure="cost")},
    "cost-sensitive pruning": {"estimator": CostTreeClassifier(pruning="cost_complexity", pruning_measure="cost")},
    "cost-sensitive trees": {
        "estimator": CostTreeClassifier(criterion="cost", pruning="cost_complexity", pruning_measure="cost")
    },
    "weighted naive Bayes": {"estimator": GaussianNB(), "weighted": True},
    "over, naive Bayes": {"estimator": GaussianNB(), "sampling": "over"},
}


def costs_at(records: Any, ratio: float, *, constant: bool) -> dict[str, Any]:
    if constant:
        return {"fp_cost": 1.0, "fn_cost": ratio}
    return {"fp_cost": records.fp / 2.5, "fn_cost": ratio * records.fn / 10}  # both 1 on average


ON_TOP = [
    None,
    Decision(output="average", threshold="cost"),
    Decision(output="vote", threshold="cost"),
    Decision(member="cost"),
    Decision(output="average", threshold="tuned"),
    Decision(member="tuned", vote_weight="log_odds"),
]


@BY_CLASS_MEANS
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "record-dependent"])
@pytest.mark.parametrize("method", METHODS)
def test_the_dearer_a_miss_the_more_records_are_positive(
    method: str, constant: bool, large: Any, large_fresh: Any
) -> None:
    """By the default decision of each method, and by others on the same members."""
    shares: dict[Decision | None, list[float]] = {decision: [] for decision in ON_TOP}
    for ratio in RATIOS:
        clf = bagging(**{"estimator": CostTreeClassifier(**STEADY), "n_estimators": 10, **METHODS[method]})
        clf.fit(large.X, large.y, **costs_at(large, ratio, constant=constant))
        costs = costs_at(large_fresh, ratio, constant=constant)
        for decision in ON_TOP:
            if decision is None or not decision.needs_validation or clf.validation_ is not None:
                shares[decision].append(clf.with_decision(decision).predict(large_fresh.X, **costs).mean())
    for decision, share in shares.items():
        # Other costs make other samples and other trees, and thresholds are chosen on some records only: some noise.
        noise = 0.015 if decision is None else 0.05
        assert all(less <= more + noise for less, more in pairwise(share)), (decision, share)
        assert not share or share[-1] - share[0] > 0.25


@pytest.fixture(scope="module", params=[True, False], ids=["constant", "record-dependent"])
def by_ratio(request: pytest.FixtureRequest, large: Any) -> Any:
    """Ensembles of the same members, fitted with different costs."""
    clfs = []
    for ratio in RATIOS:
        clf = bagging(CostTreeClassifier(**STEADY), n_estimators=15)
        clfs.append(clf.fit(large.X, large.y, **costs_at(large, ratio, constant=request.param)))
    for clf in clfs[1:]:
        assert_same_trees(clfs[0], clf)
    return request.param, clfs


UNTUNED = [
    Decision(leaf=leaf, **choices)
    for leaf in ("frequency", "laplace", "m_estimate", "curtailment")
    for choices in (
        {"threshold": "cost"},
        {"output": "vote", "threshold": "cost"},
        {"threshold": "cost", "calibration": "logistic_bounded"},
        {"member": "cost"},
        {"member": "cost", "threshold": "cost"},
        {"member": "cost", "calibration": "logistic_bounded"},
    )
]


@pytest.mark.parametrize("decision", UNTUNED, ids=str)
def test_a_record_that_is_positive_stays_so_when_a_miss_gets_dearer(
    decision: Decision, by_ratio: Any, large_fresh: Any
) -> None:
    """Where nothing is tuned this holds for each single record, and for one and the same classifier."""
    constant, clfs = by_ratio
    clf = clfs[3].with_decision(decision)
    assert clf.members_ is clfs[3].members_
    outcomes = [clf.predict(large_fresh.X, **costs_at(large_fresh, ratio, constant=constant)) for ratio in RATIOS]
    for less, more in pairwise(outcomes):
        assert (less <= more).all()
    assert outcomes[-1].mean() - outcomes[0].mean() > 0.25


TUNED = [
    Decision(**choices)
    for weight in ("equal", "log_odds", "accuracy", "squared_odds")
    for choices in (
        {"threshold": "tuned"},
        {"threshold": "tuned", "calibration": "platt"},
        {"threshold": "tuned", "calibration": "isotonic"},
        {"threshold": "cost", "calibration": "platt"},
        {"threshold": "cost", "calibration": "isotonic"},
        {"vote_weight": weight, "threshold": "tuned"},
        {"vote_weight": weight, "threshold": "cost"},
        {"vote_weight": weight, "member": "cost", "leaf": "laplace"},
        {"vote_weight": weight, "member": "tuned"},
        {"vote_weight": weight, "member": "tuned", "threshold": "tuned", "leaf": "laplace"},
        {"vote_weight": weight, "threshold": "cost", "calibration": "platt"},
    )
]


@pytest.mark.parametrize("decision", dict.fromkeys(TUNED), ids=str)
def test_tuned_decisions_follow_the_costs(decision: Decision, by_ratio: Any, large_fresh: Any) -> None:
    constant, clfs = by_ratio
    shares = []
    for ratio, clf in zip(RATIOS, clfs, strict=True):
        costs = costs_at(large_fresh, ratio, constant=constant)
        shares.append(clf.with_decision(decision).predict(large_fresh.X, **costs).mean())
    # Thresholds chosen on some records are not exactly right for others.
    assert all(less <= more + 0.03 for less, more in pairwise(shares)), shares
    assert shares[-1] - shares[0] > 0.25


# Default decisions


def test_the_default_decision_is_the_one_documented(small: Any) -> None:
    acted, by_cost = Decision(), Decision(threshold="cost")
    expected = {
        "plain": by_cost,
        "plain, per_split": by_cost,
        "plain, per_tree": by_cost,
        "under, prior correction": by_cost,
        # Grown by cost, but not pruned: leaves of one class have the same label whatever it costs.
        **dict.fromkeys(("cost splitting", "cost splitting, textbook"), by_cost),
    }
    # A leaf of copies is pure however many there are, and one of synthetic records nearly so.
    grown = {
        name: Decision(leaf="shrunk" if "smote" in name else "supported")
        for name, options in METHODS.items()
        if options.get("sampling") in ("over", "hybrid", "smote") and "estimator" not in options
    }
    for name, options in METHODS.items():
        clf = bagging(**{"n_estimators": 2, **options}).fit(small.X, small.y)
        assert clf.decision_ == expected.get(name, acted), name
        assert clf.decision is None
        clf.fit(small.X, small.y, fp_cost=1, fn_cost=4)
        assert clf.decision_ == (expected | grown).get(name, acted), name
    laplace = CostTreeClassifier(leaf="laplace")
    assert bagging(laplace).fit(small.X, small.y).decision_ == Decision(leaf="laplace", threshold="cost")
    assert bagging(laplace, sampling="under").fit(small.X, small.y).decision_ == Decision(leaf="laplace")
    # A sampler that knows no costs leaves them to the decision.
    assert bagging(sampling=RandomUnderSampler()).fit(small.X, small.y).decision_ == by_cost


DEEP = {
    name: {**options, "estimator": CostTreeClassifier(criterion="cost")} if name == "cost splitting" else options
    for name, options in METHODS.items()
    if "naive Bayes" not in name
}


@pytest.mark.parametrize("method", DEEP)
def test_costs_act_even_on_trees_that_know_all_records_by_heart(method: str, large: Any, large_fresh: Any) -> None:
    shares = []
    for ratio in RATIOS:
        clf = bagging(**{"n_estimators": 15, **DEEP[method]}).fit(large.X, large.y, fp_cost=1.0, fn_cost=ratio)
        shares.append(clf.predict(large_fresh.X, fp_cost=1.0, fn_cost=ratio).mean())
    assert all(less <= more + 0.015 for less, more in pairwise(shares)), shares
    assert shares[-1] > shares[len(shares) // 2] > shares[0]
    assert shares[-1] - shares[0] > 0.05


def test_members_pruned_by_cost_vote_by_label_unless_told_otherwise(holes: Any, fresh: Any) -> None:
    tree = CostTreeClassifier(criterion="cost", max_depth=3, pruning="reduced_error", pruning_measure="cost")
    clf = bagging(tree).fit(holes.X, holes.y, **holes.costs)
    labels = clf.members_.leaves.label[clf.members_.trees.apply(clf._read(fresh.X, reset=False))]
    np.testing.assert_array_equal(clf.predict(fresh.X), labels.mean(axis=1) > 0.5)
    p = clf.members_.leaves.probability("frequency")[clf.members_.trees.apply(clf._read(fresh.X, reset=False))]
    average = clf.with_decision(Decision(output="average", threshold="cost"))
    np.testing.assert_allclose(average.predict_proba(fresh.X)[:, 1], p.mean(axis=1))
