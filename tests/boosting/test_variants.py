"""Every variant against its formulas, against AdaBoost, and against scikit-learn (FRAMEWORK 7.1, 7.2)."""

from __future__ import annotations

from typing import Any

import boosting_reference as reference
import numpy as np
import pytest
from boosting_reference import Task, make_task
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from stakes import Costs, Decision
from stakes._learners import TreeLearner
from stakes.boosting import RULES, CostBoostClassifier
from stakes.boosting.learners import BoostedTrees
from stakes.boosting.loop import LARGE, USELESS, boost, shares
from stakes.boosting.rules import make_rule
from stakes.records import Records
from stakes.table import Table
from stakes.tree.binning import Binning
from stakes.tree.recipe import TreeRecipe

HALF = Decision(threshold="half")
ROUNDS = 10

# Options that differ from the defaults, and let a variant go on for some rounds.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "adaboost": [{"errors": "cost"}],
    "m2": [{"errors": "cost"}],
    "naive": [{"power": 0.5}],
    "uboost": [{"power": 0.0}],
    "adacost": [
        {"alpha": "epsilon", "scale": 0.3},
        {"alpha": "fan"},
        {"alpha": "fan", "scale": 0.3},
        {"alpha": "printed"},
    ],
    "adauboost": [{"exponent": "printed"}],
    "csb0": [{"costs_per_round": "full"}],
    "csb1": [
        {"margins": "labels"},
        {"costs_per_round": "full"},
        {"costs_per_round": "full", "margins": "labels"},
    ],
    "csb2": [{"costs_per_round": "full"}],
    "adac1": [{"fit_on": "weights"}],
    "adac2": [{"costs_per_round": "full"}, {"fit_on": "weights"}],
    "adac3": [{"costs_per_round": "full"}, {"fit_on": "weights"}],
    "csab": [{"fit_on": "weights"}],
}
CASES = [(name, options) for name in RULES for options in ({}, *OPTIONS.get(name, ()))]
each_case = pytest.mark.parametrize(
    ("variant", "options"), CASES, ids=["-".join([name, *map(str, options.values())]) for name, options in CASES]
)
each_variant = pytest.mark.parametrize("variant", list(RULES))
each_cost_sensitive = pytest.mark.parametrize("variant", [name for name in RULES if name != "adaboost"])
each_kind_of_cost = pytest.mark.parametrize("record_dependent", [False, True], ids=["constant", "record"])
each_seed = pytest.mark.parametrize("seed", range(2))


def fitted(task: Task, variant: str, **params: Any) -> CostBoostClassifier:
    defaults: dict[str, Any] = {"n_estimators": ROUNDS, "decision": HALF}
    return CostBoostClassifier(variant=variant, **{**defaults, **params}).fit(task.X, task.y, **task.costs)


class Recorder:
    """A learner that remembers the weights it was given."""

    def __init__(self, learner: BoostedTrees) -> None:
        self.learner = learner
        self.weights: list[Any] = []

    def fit(self, log_weight: Any, weight: Any) -> Any:
        self.weights.append(shares(log_weight)[0])
        return self.learner.fit(log_weight, weight)

    def keep(self, member: Any) -> None:
        self.learner.keep(member)


@each_case
@each_kind_of_cost
@each_seed
def test_weights_alphas_and_votes_of_all_rounds_follow_the_formulas(
    variant: str, options: dict[str, Any], record_dependent: bool, seed: int
) -> None:
    task = make_task(seed, record_dependent=record_dependent)
    expected = reference.boost(task, variant, ROUNDS, **in_words_of_the_reference(options))
    assert_allclose(weights_shown(task, variant, options, len(expected.alphas)), expected.fit_weights, rtol=1e-9)
    model = fitted(task, variant, variant_params=options)
    assert_allclose(model.estimator_weights_, expected.alphas, rtol=1e-9)
    assert_allclose(model.estimator_errors_, expected.errors, rtol=1e-9)
    share = reference.shares(expected, variant, task)
    assert_allclose(model.predict_proba(task.X, **task.costs)[:, 1], share[:, -1], rtol=1e-9, atol=1e-12)
    for labels, by_hand in zip(model.staged_predict(task.X, **task.costs), share.T, strict=True):
        clear = np.abs(by_hand - 0.5) > 1e-9  # a tie is a matter of rounding
        assert_array_equal(labels[clear], by_hand[clear] > 0.5)


def in_words_of_the_reference(options: dict[str, Any]) -> dict[str, Any]:
    return {"alpha_by" if name == "alpha" else name: value for name, value in options.items()}


def weights_shown(task: Task, variant: str, options: dict[str, Any], rounds: int) -> list[Any]:
    """Return the weights that the members of the first rounds were fitted to."""
    binning = Binning().fit(Table(task.X))
    costs, positive = Costs(task.fp, task.fn), task.y == 1
    records = Records(binning.transform(Table(task.X)), positive, costs)
    trees = TreeLearner(records, TreeRecipe(max_depth=1), binning.feature_bins_, lambda X: X)
    recorder = Recorder(BoostedTrees(trees, None, np.random.default_rng(0), None, 1, map))
    rule = make_rule(variant, options, n_rounds=ROUNDS)

    def vote(_: Any, assigned: Any, __: Any) -> Any:
        positive = assigned.leaves.probability("frequency") if rule.confident else assigned.leaves.label
        return 2.0 * positive[assigned.ids[:, 0]] - 1.0, None

    boost(rule, records, recorder, vote, range(ROUNDS))
    return recorder.weights[:rounds]


def test_most_cases_run_for_all_rounds() -> None:
    task = make_task(0, record_dependent=True)
    rounds = [
        len(reference.boost(task, name, ROUNDS, **in_words_of_the_reference(options)).alphas) for name, options in CASES
    ]
    assert np.mean(np.array(rounds) == ROUNDS) > 0.7, rounds


@each_seed
def test_csab_alpha_solves_the_printed_equation(seed: int) -> None:
    task = make_task(seed, record_dependent=False)
    run = reference.boost(task, "csab", ROUNDS)
    model = fitted(task, "csab")
    c = np.array(task.cost) / max(task.cost)
    for fit_weight, alpha, stump in zip(run.fit_weights, model.estimator_weights_, run.stumps, strict=True):
        w = np.array(fit_weight) / c
        left, right = reference.csab_as_printed(alpha, task, list(w / w.sum()), stump.label(task.X))
        assert left == pytest.approx(right, rel=1e-9)


@each_seed
def test_csab_does_not_depend_on_the_unit_of_the_costs(seed: int) -> None:
    task = make_task(seed, record_dependent=True)
    other = Task(task.X, task.y, 1000 * task.fp, 1000 * task.fn)
    assert_allclose(fitted(task, "csab").estimator_weights_, fitted(other, "csab").estimator_weights_, rtol=1e-9)


# Reductions to AdaBoost


def balanced(task: Task) -> Task:
    n = min(task.y.sum(), task.n - task.y.sum())
    rows = np.sort(np.concatenate([np.flatnonzero(task.y == 1)[:n], np.flatnonzero(task.y == 0)[:n]]))
    return Task(task.X[rows], task.y[rows], task.fp[rows], task.fn[rows])


@pytest.mark.parametrize(
    ("variant", "options", "cost"),
    [
        ("naive", {}, 3.7),
        ("adauboost", {"exponent": "printed"}, 3.7),
        ("adauboost", {"exponent": "inverse"}, 3.7),
        ("asymmetric", {}, 3.7),
        ("csb2", {}, 1.0),
        ("adac1", {}, 1.0),
        ("adac2", {}, 3.7),
        ("adac3", {}, 1.0),
        ("csab", {}, 1.0),
    ],
)
@each_seed
def test_variant_is_adaboost_where_costs_are_equal(
    variant: str, options: dict[str, Any], cost: float, seed: int
) -> None:
    task = balanced(make_task(seed, record_dependent=False))
    equal = Task(task.X, task.y, np.full(task.n, cost), np.full(task.n, cost))
    plain, other = fitted(equal, "adaboost"), fitted(equal, variant, variant_params=options)
    assert_allclose(other.estimator_weights_, plain.estimator_weights_, rtol=1e-10)
    assert_array_equal(other.members_.trees.nodes.feature, plain.members_.trees.nodes.feature)
    assert_array_equal(other.members_.trees.nodes.threshold, plain.members_.trees.nodes.threshold)
    assert_array_equal(other.predict(task.X, **equal.costs), plain.predict(task.X, **equal.costs))


@pytest.mark.parametrize("variant", ["csb0", "csb1"])
def test_csb0_and_csb1_are_not_adaboost_even_where_costs_are_one(variant: str) -> None:
    task = make_task(0, record_dependent=False)
    equal = Task(task.X, task.y, np.ones(task.n), np.ones(task.n))
    assert not np.allclose(
        fitted(equal, variant).estimator_weights_[:3], fitted(equal, "adaboost").estimator_weights_[:3]
    )


@each_seed
def test_adaboost_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, fresh = rng.normal(size=(240, 5)), rng.normal(size=(300, 5))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=240) > 0.5, "yes", "no")
    ours = CostBoostClassifier(n_estimators=40, decision=HALF).fit(X, y)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=40).fit(X, y)
    assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    for records in (X, fresh):
        assert_array_equal(ours.predict(records), theirs.predict(records))
    for mine, its in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        assert_array_equal(mine, its)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


# What costs do


@pytest.fixture(scope="module")
def records() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, (X[:, 0] + 0.7 * X[:, 1] + rng.normal(size=600) > 0.9).astype(int)


def share_positive(records: tuple[Any, Any], ratio: float, **params: Any) -> float:
    X, y = records
    model = CostBoostClassifier(n_estimators=50, random_state=0, **params).fit(X, y, fp_cost=1.0, fn_cost=ratio)
    return float(model.predict(X).mean())


@each_variant
def test_more_are_positive_the_more_a_false_negative_costs(records: tuple[Any, Any], variant: str) -> None:
    fifth, equal, five = (share_positive(records, ratio, variant=variant) for ratio in (0.2, 1.0, 5.0))
    assert fifth < equal < five


@each_cost_sensitive
@pytest.mark.parametrize("ratio", [20.0, pytest.param(1e3, marks=pytest.mark.slow), 1e6])
def test_large_ratios_make_nearly_all_positive(records: tuple[Any, Any], variant: str, ratio: float) -> None:
    assert share_positive(records, ratio, variant=variant) > 0.65


@each_cost_sensitive
@each_kind_of_cost
def test_variant_differs_from_adaboost_where_costs_differ(
    records: tuple[Any, Any], variant: str, record_dependent: bool
) -> None:
    X, y = records
    fn = np.random.default_rng(1).uniform(2.0, 8.0, y.size) if record_dependent else 5.0
    plain = CostBoostClassifier(decision=HALF, n_estimators=50).fit(X, y, fp_cost=1.0, fn_cost=fn)
    other = CostBoostClassifier(variant=variant, decision=HALF, n_estimators=50).fit(X, y, fp_cost=1.0, fn_cost=fn)
    assert (plain.predict(X) != other.predict(X, fp_cost=1.0, fn_cost=fn)).mean() > 0.02


def test_record_dependent_costs_that_are_equal_are_constant_costs(records: tuple[Any, Any]) -> None:
    X, y = records
    ones = np.ones(y.size)
    for variant in RULES:
        model = CostBoostClassifier(variant=variant, n_estimators=10, random_state=0)
        constant = clone(model).fit(X, y, fp_cost=1.0, fn_cost=4.0)
        each = clone(model).fit(X, y, fp_cost=ones, fn_cost=4 * ones)
        assert_array_equal(constant.estimator_weights_, each.estimator_weights_)
        assert_array_equal(constant.predict_proba(X), each.predict_proba(X, fp_cost=ones, fn_cost=4 * ones))


def test_adauboost_drops_a_member_fitted_to_one_class(records: tuple[Any, Any]) -> None:
    X, y = records
    four = Records(None, np.array([True, True, False, False]), Costs(1.0, 5.0))
    for weight in ([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]):
        assert make_rule("adauboost").vote_weight(four, np.array(weight), np.ones(4)) == -np.inf
    printed = CostBoostClassifier(variant="adauboost", variant_params={"exponent": "printed"}, n_estimators=50)
    printed.fit(X, y, fp_cost=1.0, fn_cost=6.0)
    assert printed.stop_reason_ == USELESS
    assert printed.estimator_weights_.max() < LARGE


# UBoost's votes by weight are coarse, and CSB0 hardly changes weights.
WEAK = ("uboost", "csb0")


@each_variant
@each_kind_of_cost
def test_defaults_keep_their_rounds_rank_records_and_act_on_some(
    records: tuple[Any, Any], variant: str, record_dependent: bool
) -> None:
    X, y = records
    amount = np.random.default_rng(3).lognormal(3, 0.5, y.size) if record_dependent else 1.0
    costs = {"fp_cost": amount, "fn_cost": 6 * amount}
    model = CostBoostClassifier(variant=variant, n_estimators=50, random_state=0).fit(X, y, **costs)
    assert model.n_rounds_ == 50
    assert roc_auc_score(y, model.predict_proba(X, **costs)[:, 1]) > (0.7 if variant in WEAK else 0.8)
    assert 0.3 < model.predict(X, **costs).mean() < 0.85
    assert model.score(X, y, **costs) > (0.1 if variant in WEAK else 0.25)


def test_adac2_by_roots_is_asymmetric_boosting_where_costs_are_constant(records: tuple[Any, Any]) -> None:
    X, y = records
    adac2, asymmetric = (
        CostBoostClassifier(variant=variant, n_estimators=30).fit(X, y, fp_cost=2.0, fn_cost=9.0)
        for variant in ("adac2", "asymmetric")
    )
    assert_allclose(adac2.estimator_weights_, asymmetric.estimator_weights_, rtol=1e-9)
    assert_array_equal(adac2.predict(X), asymmetric.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_payments_of_nothing_take_the_ratio_of_the_classes_in_asymmetric_boosting(
    records: tuple[Any, Any], weighted: bool
) -> None:
    X, y = records
    rng = np.random.default_rng(5)
    fp, fn = rng.lognormal(1, 0.5, y.size), rng.lognormal(2, 0.8, y.size)
    weight = rng.choice([1.0, 2.0], y.size) if weighted else np.ones(y.size)
    means = [np.average(cost[y == side], weights=weight[y == side]) for cost, side in ((fp, 0), (fn, 1))]
    free = np.flatnonzero(y == 0)[::10]
    none, mean = fn.copy(), fn.copy()
    none[free], mean[free] = 0.0, fp[free] * means[1] / means[0]
    one, other = (
        CostBoostClassifier(variant="asymmetric", n_estimators=20).fit(
            X, y, fp_cost=fp, fn_cost=cost, sample_weight=weight
        )
        for cost in (none, mean)
    )
    assert one.n_rounds_ == 20
    assert_allclose(one.estimator_weights_, other.estimator_weights_, rtol=1e-9)


@pytest.mark.parametrize("params", [{"sampling": "over"}, {"sampling": "cpr"}, {"decision": Decision(member="cost")}])
@pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")
def test_records_that_cost_nothing_do_not_shape_members_that_know_of_costs(
    records: tuple[Any, Any], params: dict[str, Any]
) -> None:
    X, y = records
    fp, fn = np.random.default_rng(6).lognormal(1, 0.8, (2, y.size))
    free = np.arange(0, y.size, 7)
    alphas = []
    for least in (0.0, 1e-13):
        fp[free] = fn[free] = least
        model = CostBoostClassifier(n_estimators=20, random_state=0, **params).fit(X, y, fp_cost=fp, fn_cost=fn)
        alphas.append(model.estimator_weights_)
    assert_allclose(*alphas, rtol=1e-6)


@pytest.mark.parametrize("unit", [0.01, pytest.param(100.0, marks=pytest.mark.slow)])
@each_case
@each_kind_of_cost
def test_decisions_do_not_depend_on_the_currency(
    records: tuple[Any, Any], variant: str, options: dict[str, Any], record_dependent: bool, unit: float
) -> None:
    X, y = records
    rng = np.random.default_rng(2)
    fp, fn = (rng.lognormal(1, 0.5, y.size), rng.lognormal(2, 0.8, y.size)) if record_dependent else (2.0, 9.0)
    one, other = (
        CostBoostClassifier(variant=variant, variant_params=options, n_estimators=20, random_state=0)
        .fit(X, y, fp_cost=factor * fp, fn_cost=factor * fn)
        .predict(X, fp_cost=factor * fp, fn_cost=factor * fn)
        for factor in (1.0, unit)
    )
    assert_array_equal(one, other)


# Options


@pytest.mark.parametrize(
    ("variant", "options", "message"),
    [
        ("adacost", {"scale": 0.0}, "scale=0.0 is not above 0"),
        ("adacost", {"scale": 1.5}, "scale=1.5 is not above 0"),
        ("adacost", {"scale": "x"}, "scale='x' is not above 0"),
        (["adacost"], {}, "is not known"),
        ("adauboost", {"exponent": "typo"}, "choose 'inverse' or 'printed'"),
        ("adac2", {"fit_on": "typo"}, "choose 'costs' or 'weights'"),
        ("asymmetric", {"scale": 0.5}, "'asymmetric' has no option 'scale': it has 'redraws'"),
        ("naive", {"n_rounds": 5}, "'naive' has no option 'n_rounds': it has 'redraws', 'tuning', 'power'"),
        ("naive", {"redraws": 0.5}, "redraws=0.5 is not a whole number of at least 0"),
        ("adaboost", {"errors": "typo"}, "choose 'auto', 'plain' or 'cost'"),
        ("naive", {"power": -1}, "power=-1 is not a number of at least 0"),
        ("adacost", {"alpha": "typo"}, "choose 'epsilon', 'fan' or 'printed'"),
        ("adac3", {"costs_per_round": "typo"}, "choose 'root' or 'full'"),
        ("adacost", {"exponent": "printed"}, "it has 'redraws', 'tuning', 'power', 'alpha', 'scale'"),
        ("typo", None, "variant='typo' is not known: choose from 'adaboost', 'm2', 'naive'"),
    ],
)
def test_wrong_options_are_named(variant: str, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CostBoostClassifier(variant=variant, variant_params=options).fit([[0.0], [1.0]], [0, 1])
