"""Samples in every round, and members that decide by cost inside the loop (FRAMEWORK 7.3, 7.4)."""

from __future__ import annotations

from typing import Any

import boosting_reference as reference
import numpy as np
import pytest
from boosting_reference import make_task
from imblearn.over_sampling import RandomOverSampler
from imblearn.under_sampling import ClusterCentroids, RandomUnderSampler
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from stakes import Costs, CostTreeClassifier, Decision
from stakes.boosting import CostBoostClassifier
from stakes.boosting.learners import sampled_weights
from stakes.exceptions import ClassMeansWarning, DecisionError, FewRoundsWarning
from stakes.records import Records
from stakes.sampling import SAMPLERS, MemberSampler, Sample, make_sampler

HALF = Decision(threshold="half")
SAMPLINGS = tuple(SAMPLERS)
ROUNDS = 8


class Planned(MemberSampler):
    """A sampler that draws what it was told to: multiplicities, and synthetic records with their classes."""

    def __init__(self, plan: list[tuple[Any, Any, Any]]) -> None:
        self.plan = plan
        self.turn = 0

    def counts(self, y: Any, costs: Any, rng: Any, X: Any = None) -> Any:
        raise AssertionError("draw is asked")

    def draw(self, y: Any, costs: Any, rng: Any, X: Any = None) -> Sample:
        rows, X_new, y_new = self.plan[self.turn]
        self.turn += 1
        return Sample(np.bincount(rows, minlength=len(y)), X_new, y_new)


def plan(task: Any, seed: int, *, synthetic: bool) -> list[tuple[Any, Any, Any]]:
    rng = np.random.default_rng(seed)
    n_new = 6 if synthetic else 0
    # Synthetic records are among the originals' values, so that both sides bin them alike.
    return [
        (
            np.sort(rng.integers(task.n, size=task.n)),
            task.X[rng.integers(task.n, size=n_new)],
            rng.integers(0, 2, n_new),
        )
        for _ in range(ROUNDS)
    ]


@pytest.mark.parametrize("variant", ["adaboost", "m2", "naive", "adac2", "csab"])
@pytest.mark.parametrize("synthetic", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_members_are_fitted_to_samples_and_judged_on_all_records(variant: str, synthetic: bool, seed: int) -> None:
    task = make_task(seed, record_dependent=True)
    samples = plan(task, seed, synthetic=synthetic)
    expected = reference.boost(task, variant, ROUNDS, samples=samples)
    assert len(expected.alphas) > 1
    model = CostBoostClassifier(
        variant=variant,
        sampling=Planned(samples),
        n_estimators=ROUNDS,
        decision=HALF,
        variant_params={"redraws": 0},
    )
    model.fit(task.X, task.y, **task.costs)
    assert_allclose(model.estimator_errors_, expected.errors, rtol=1e-9)
    assert_allclose(model.estimator_weights_, expected.alphas, rtol=1e-9)
    share = reference.shares(expected, variant, task)[:, -1]
    assert_allclose(model.predict_proba(task.X, **task.costs)[:, 1], share, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_sampling_at_equal_costs_is_adaboost(small: Any, sampling: str) -> None:
    plain = CostBoostClassifier(n_estimators=10, decision=HALF).fit(small.X, small.y)
    sampled = CostBoostClassifier(n_estimators=10, decision=HALF, sampling=sampling).fit(small.X, small.y)
    assert_array_equal(sampled.estimator_weights_, plain.estimator_weights_)
    assert_array_equal(sampled.predict_proba(small.X), plain.predict_proba(small.X))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_more_are_positive_the_more_a_false_negative_costs(large: Any, sampling: str) -> None:
    def share_positive(cost: float) -> float:
        model = CostBoostClassifier(sampling=sampling, n_estimators=10, random_state=0)
        return float(model.fit(large.X, large.y, fn_cost=cost).predict(large.X).mean())

    assert share_positive(0.2) < share_positive(1.0) < share_positive(10.0)


@pytest.mark.parametrize(
    "params",
    [*({"sampling": name} for name in SAMPLINGS if name != "smote"), {"decision": Decision(member="cost")}],
    ids=[*(name for name in SAMPLINGS if name != "smote"), "dmecc"],
)
@pytest.mark.parametrize("record_dependent", [False, True], ids=["constant", "record"])
@pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")
def test_rounds_go_on_and_act_on_some_where_members_are_judged_by_cost(
    large: Any, params: dict[str, Any], record_dependent: bool
) -> None:
    amount = np.random.default_rng(0).lognormal(3, 0.5, len(large)) if record_dependent else 1.0
    costs = {"fp_cost": amount, "fn_cost": 6 * amount}
    model = CostBoostClassifier(n_estimators=40, random_state=0, **params).fit(large.X, large.y, **costs)
    plain = {"errors": "plain", "redraws": 0}
    few = CostBoostClassifier(n_estimators=40, random_state=0, variant_params=plain, **params)
    few.fit(large.X, large.y, **costs)
    assert model.n_rounds_ == 40
    assert few.n_rounds_ < 10
    assert 0.2 < model.predict(large.X, **costs).mean() < 0.9
    assert model.score(large.X, large.y, **costs) > few.score(large.X, large.y, **costs)


def test_round_is_drawn_again_where_the_member_is_of_no_use(large: Any) -> None:
    once, again = (
        CostBoostClassifier(sampling="under", n_estimators=40, random_state=0, variant_params={"redraws": redraws})
        .fit(large.X, large.y, fn_cost=6.0)
        .n_rounds_
        for redraws in (0, 10)
    )
    assert once < again == 40


def test_m2_votes_by_confidence(small: Any) -> None:
    with pytest.raises(DecisionError, match="'m2' votes by the confidence of members, and member='cost'"):
        CostBoostClassifier(variant="m2", decision=Decision(member="cost")).fit(small.X, small.y)
    model = CostBoostClassifier(variant="m2", n_estimators=10, decision=HALF).fit(small.X, small.y)
    assigned = model.members_.assign(model._read(small.X, reset=False))
    p = assigned.leaves.probability("frequency")[assigned.ids]
    expected = p @ model.estimator_weights_ / model.estimator_weights_.sum()
    assert_allclose(model.predict_proba(small.X)[:, 1], expected)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_seed_fixes_the_samples(small: Any, sampling: str) -> None:
    def votes(seed: int) -> Any:
        model = CostBoostClassifier(sampling=sampling, n_estimators=5, random_state=seed, variant="naive")
        return model.fit(small.X, small.y, fn_cost=2.0).predict_proba(small.X)

    assert_array_equal(votes(0), votes(0))
    assert (votes(0) != votes(1)).any()


def test_samplers_for_constant_costs_warn_once_and_cpr_does_not(small: Any) -> None:
    with pytest.warns(ClassMeansWarning) as warned:
        CostBoostClassifier(sampling="under", n_estimators=5).fit(small.X, small.y, **small.costs)
    assert len(warned) == 1
    CostBoostClassifier(sampling="cpr", n_estimators=5).fit(small.X, small.y, **small.costs)


@pytest.mark.parametrize(
    "sampler", [RandomUnderSampler(), RandomOverSampler(), ClusterCentroids(sampling_strategy=1.0)], ids=str
)
@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=str)
def test_samplers_of_imbalanced_learn_are_taken_and_leave_costs_to_the_decision(
    small: Any, sampler: Any, estimator: Any
) -> None:
    rare = small.take(np.concatenate([np.flatnonzero(small.y == 0), np.flatnonzero(small.y == 1)[:15]]))
    model = CostBoostClassifier(estimator, sampling=sampler, n_estimators=5, random_state=0).fit(rare.X, rare.y)
    plain = CostBoostClassifier(estimator, n_estimators=5).fit(rare.X, rare.y)
    assert model.decision_.threshold == "cost"
    assert model.predict(rare.X).sum() > plain.predict(rare.X).sum()


def test_deeper_trees_take_samples_too(small: Any) -> None:
    tree = CostTreeClassifier(max_depth=3, criterion="cost")
    model = CostBoostClassifier(tree, sampling="smote", n_estimators=5, random_state=0)
    model.fit(small.X, small.y, fn_cost=2.0)
    assert model.members_.trees.depth.max() == 3


# Members that decide by cost


@pytest.mark.parametrize(
    ("variant", "errors"),
    [("adaboost", "auto"), ("adaboost", "plain"), *((v, "") for v in ("naive", "adac1", "csb2", "uboost", "csab"))],
)
@pytest.mark.parametrize(
    ("member", "tuning"), [("cost", "weights"), ("tuned", "weights"), ("tuned", "validation")], ids=lambda v: v
)
@pytest.mark.parametrize("record_dependent", [False, True], ids=["constant", "record"])
@pytest.mark.parametrize("seed", range(2))
def test_members_decide_by_cost_inside_the_loop_and_after_it(
    variant: str, errors: str, member: str, tuning: str, record_dependent: bool, seed: int
) -> None:
    task = make_task(seed, record_dependent=record_dependent)
    expected = reference.boost(task, variant, ROUNDS, member=member, errors=errors, tuning=tuning)
    # Without validation records thresholds are tuned on the training records.
    model = CostBoostClassifier(
        variant=variant,
        n_estimators=ROUNDS,
        decision=Decision(member=member, leaf="frequency"),
        validation=None,
        variant_params={"tuning": tuning} | ({"errors": errors} if errors else {}),
    ).fit(task.X, task.y, **task.costs)
    assert_allclose(model.estimator_errors_, expected.errors, rtol=1e-9)
    assert_allclose(model.estimator_weights_, expected.alphas, rtol=1e-9)
    share = reference.shares(expected, variant, task, member)[:, -1]
    assert_allclose(model.predict_proba(task.X, **task.costs)[:, 1], share, rtol=1e-9, atol=1e-12)
    if member == "tuned":
        assert_allclose(model.reader_.member_thresholds_["frequency"], expected.thresholds, rtol=1e-9)


def test_thresholds_of_members_are_tuned_on_validation_records_if_asked_for(large: Any) -> None:
    train, val = large.take(np.arange(0, 1500, 2)), large.take(np.arange(1, 1500, 2))
    tuned = CostBoostClassifier(
        n_estimators=5,
        decision=Decision(member="tuned", leaf="frequency"),
        variant_params={"tuning": "validation"},
        random_state=0,
    )
    given = clone(tuned).fit(train.X, train.y, X_val=val.X, y_val=val.y, fn_cost=2.0)
    assert len(given.validation_.records) == 750
    held_out = tuned.fit(train.X, train.y, fn_cost=2.0)
    assert len(held_out.validation_.records) == 150
    # The first member is judged by the outcomes that it has with its threshold.
    assigned = given.members_.assign(given._read(train.X, reset=False))
    p = assigned.leaves.probability("frequency")[assigned.ids[:, 0]]
    error = ((p > given.reader_.member_thresholds_["frequency"][0]) != (train.y == 1)).mean()
    assert given.estimator_errors_[0] == pytest.approx(error)


def test_thresholds_tuned_by_the_weights_of_the_round_keep_all_rounds_and_hold_no_records_out(large: Any) -> None:
    decision = Decision(member="tuned")
    model = CostBoostClassifier(n_estimators=50, decision=decision, random_state=0)
    model.fit(large.X, large.y, fp_cost=1.0, fn_cost=5.0)
    assert model.n_rounds_ == 50
    assert model.validation_ is None
    assert (model.estimator_weights_ > 0).all()
    plain = clone(model).set_params(variant_params={"tuning": "validation"})
    with pytest.warns(FewRoundsWarning):
        assert plain.fit(large.X, large.y, fp_cost=1.0, fn_cost=5.0).n_rounds_ < 5
    # Another decision keeps the thresholds of training, also one whose own threshold is tuned.
    calibrated = clone(model).set_params(decision=Decision(member="tuned", threshold="tuned"))
    calibrated.fit(large.X, large.y, fp_cost=1.0, fn_cost=5.0)
    assert calibrated.validation_ is not None
    assert_array_equal(
        calibrated.with_decision(decision).reader_.member_thresholds_["auto"],
        calibrated.reader_.member_thresholds_["auto"],
    )


def test_stumps_that_decide_by_constant_costs_keep_their_rounds_however_small_their_leaves() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    X[:, 2] = rng.random(1500) < 0.01  # says much about a few records
    y = (X[:, 0] + 2 * X[:, 2] + 1.5 * rng.normal(size=1500) > 2.0).astype(int)
    once = {"n_estimators": 60, "variant_params": {"redraws": 0}}
    model = CostBoostClassifier(**once, decision=Decision(member="cost")).fit(X, y, fn_cost=6.0)
    assert model.n_rounds_ == 60
    supported = Decision(member="cost", leaf="supported")
    assert CostBoostClassifier(**once, decision=supported).fit(X, y, fn_cost=6.0).n_rounds_ < 30


def test_weights_start_anew_where_a_member_by_cost_is_of_no_use(large: Any) -> None:
    X, y, by_cost = large.X, large.y, Decision(member="cost")
    costs = {"fp_cost": large.fp, "fn_cost": large.fn}

    def fitted(n_rounds: int = 40, seed: int = 0, **params: Any) -> CostBoostClassifier:
        model = CostBoostClassifier(n_estimators=n_rounds, decision=by_cost, random_state=seed, **params)
        return model.fit(X, y, **costs)

    once, model = fitted(variant_params={"redraws": 0}), fitted()
    n = once.n_rounds_
    assert n < 30
    assert model.n_rounds_ == 40
    # Up to there the rounds are the same, and no member after it is worse than chance.
    assert_array_equal(model.estimator_weights_[:n], once.estimator_weights_)
    assert (model.estimator_weights_ > 0).all()
    # Weights that start anew are those of the first round but for a random factor: so is what is learnt from them.
    anew = model.members_.trees.nodes.weights[model.members_.trees.roots[n]]
    first = model.members_.trees.nodes.weights[model.members_.trees.roots[0]]
    assert_allclose(anew / anew.sum(), first / first.sum(), atol=0.1)
    assert_array_equal(fitted().estimator_weights_, model.estimator_weights_)
    assert (fitted(seed=1).estimator_weights_[n:] != model.estimator_weights_[n:]).any()
    # And a warm start draws what one go does.
    warm = fitted(n + 2, warm_start=True).set_params(n_estimators=40).fit(X, y, **costs)
    assert_array_equal(warm.estimator_weights_, model.estimator_weights_)


def test_members_by_cost_are_members_by_label_where_costs_are_equal_and_leaves_not_smoothed(small: Any) -> None:
    by_label = CostBoostClassifier(n_estimators=10, decision=HALF).fit(small.X, small.y)
    decision = Decision(member="cost", leaf="frequency")
    by_cost = CostBoostClassifier(n_estimators=10, decision=decision).fit(small.X, small.y)
    assert_array_equal(by_cost.estimator_weights_, by_label.estimator_weights_)
    assert_array_equal(by_cost.predict_proba(small.X), by_label.predict_proba(small.X))


def test_models_decide_by_cost_too(small: Any) -> None:
    model = CostBoostClassifier(LogisticRegression(), n_estimators=3, decision=Decision(member="cost"))
    model.fit(small.X, small.y, fn_cost=2.0)
    p = model.estimators_[0].predict_proba(small.X)[:, 1]
    assert model.estimator_errors_[0] == pytest.approx(((p > 1 / 3) != (small.y == 1)).mean())
    assert model.predict(small.X, fn_cost=9.0).sum() > model.predict(small.X, fn_cost=0.5).sum()


def test_leaves_of_weighted_records_can_be_smoothed(small: Any) -> None:
    raw, smoothed = (
        CostBoostClassifier(decision=Decision(member="cost", leaf=leaf), n_estimators=5).fit(
            small.X, small.y, fn_cost=3.0
        )
        for leaf in ("frequency", "laplace")
    )
    p = [model.members_.assign(model._read(small.X, reset=False)).leaves for model in (raw, smoothed)]
    assert (np.abs(p[1].probability("laplace") - 0.5) < np.abs(p[1].probability("frequency") - 0.5)).all()
    assert raw.n_rounds_ == smoothed.n_rounds_ == 5


@pytest.mark.parametrize("sampling", ["under", "over", "smote", "cpr"])
def test_weights_in_a_sample_sum_to_one(small: Any, sampling: str) -> None:
    costs, rng = Costs(fp=1, fn=4), np.random.default_rng(0)
    records = Records(small.X, small.y == 1, costs)
    sample = make_sampler(sampling).draw(small.y, costs, rng, small.X)
    weight = sampled_weights(sample, records, rng.normal(size=len(small.y)))
    assert weight @ np.append(sample.counts, np.ones(sample.n_new)) == pytest.approx(1.0)
    assert (sample.n_new > 0) == (sampling == "smote")
