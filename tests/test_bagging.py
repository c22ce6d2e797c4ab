"""Ensembles of the bagging kind: what costs do to them, and what equal costs leave of that (FRAMEWORK 3, 4, 6, 8)."""

from __future__ import annotations

import pickle
from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import Pipeline as SamplingPipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn import config_context
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from stakes import CostBaggingClassifier, Costs, CostTreeClassifier, Decision
from stakes.exceptions import ClassMeansWarning, DecisionError, SamplingError
from stakes.metrics import make_cost_scorer, savings_score, total_cost
from stakes.sampling import Bootstrap, CPRSampler, HybridSampler, MemberSampler, UnderSampler

SAMPLINGS = ["under", "over", "hybrid", "smote", "cpr"]
BY_CLASS_MEANS = pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")
VOTE = Decision(output="vote")


def bagging(*args: Any, **options: Any) -> CostBaggingClassifier:
    return CostBaggingClassifier(*args, **{"n_estimators": 6, "random_state": 0, **options})


def nodes_of(clf: Any) -> Any:
    return clf.members_.trees.nodes


def assert_same_trees(one: Any, other: Any, *, but: tuple[str, ...] = ()) -> None:
    for name in nodes_of(one)._fields:
        if name not in but:
            np.testing.assert_array_equal(getattr(nodes_of(one), name), getattr(nodes_of(other), name), err_msg=name)


class Remembering(MemberSampler):
    """The bootstrap, which remembers what it has drawn."""

    uses_costs = False
    leaves_records_out = True

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def counts(self, y: Any, costs: Costs, rng: np.random.Generator, X: Any = None) -> Any:
        self.drawn.append(Bootstrap().counts(y, costs, rng))
        return self.drawn[-1]


class EachPositive(MemberSampler):
    """Every record once, every positive a number of times: the same sample for all members."""

    def __init__(self, times: int) -> None:
        self.times = times

    def counts(self, y: Any, costs: Costs, rng: np.random.Generator, X: Any = None) -> Any:
        return np.where(y == 1, self.times, 1)


# Members


def test_members_are_trees_on_bootstraps(holes: Any) -> None:
    """Each tree is the one that grows on the records of its sample alone."""
    sampler = Remembering()
    clf = bagging(sampling=sampler).fit(holes.X, holes.y)
    assert len(sampler.drawn) == len(clf.members_) == 6
    assert len({tuple(counts) for counts in sampler.drawn}) == 6
    trees = clf.members_.trees
    for j, counts in enumerate(sampler.drawn):
        assert counts.sum() == 240
        alone = CostTreeClassifier().fit(holes.X, holes.y, sample_weight=counts)
        mine = slice(trees.roots[j], trees.roots[j] + trees.sizes[j])
        # Thresholds are numbers of bins, and those of a single tree are of the records that count.
        for name in ("feature", "missing_left", "counts", "weights", "gain"):
            np.testing.assert_array_equal(getattr(nodes_of(clf), name)[mine], getattr(nodes_of(alone), name))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_classes_come_in_the_ratio_of_the_costs(sampling: str, large: Any) -> None:
    clf = bagging(sampling=sampling, n_estimators=4).fit(large.X, large.y, fp_cost=2.0, fn_cost=8.0)
    negative, positive = nodes_of(clf).counts[clf.members_.trees.roots].sum(axis=0) / 4
    asked = 4 * large.y.sum() / (1500 - large.y.sum())
    assert positive / negative == pytest.approx(asked, rel=0.1 if sampling == "cpr" else 0.005)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("presample", [False, True])
def test_samplings_work_with_categories_and_missing_values(
    sampling: str, presample: bool, mixed: pl.DataFrame, holes: Any
) -> None:
    for frame in (mixed, mixed.to_pandas()):
        clf = bagging(sampling=sampling, presample=presample).fit(frame, holes.y, fp_cost=1, fn_cost=3)
        assert len(clf.members_) == 6
        assert clf.score(frame, holes.y) > 0.3
    roots = nodes_of(clf).counts[clf.members_.trees.roots]
    if presample:  # bootstraps of one and the same training set
        assert len(set(roots.sum(axis=1))) == 1
        assert len(set(roots[:, 1])) > 1


def test_a_presampled_ensemble_bootstraps_one_sample(large: Any) -> None:
    clf = bagging(sampling="under", presample=True).fit(large.X, large.y, fp_cost=1, fn_cost=5)
    n_positive = large.y.sum()
    n_negative = round((1500 - n_positive) / 5)
    sizes = nodes_of(clf).counts[clf.members_.trees.roots].sum(axis=1)
    np.testing.assert_array_equal(sizes, n_positive + n_negative)
    seen = ~clf.validation_.out_of_bag
    # A negative that was cut away is in no member's sample, one that was kept in most.
    never = ~seen[large.y == 0].any(axis=1)
    assert abs(never.sum() - (1500 - n_positive - n_negative)) < 5
    assert seen[large.y == 1].mean() == pytest.approx(1 - np.exp(-1), abs=0.02)


def test_record_dependent_costs_are_reduced_with_one_warning_where_a_sampler_asks_for_it(small: Any) -> None:
    for sampling in SAMPLINGS:
        clf = bagging(sampling=sampling)
        if sampling == "cpr":
            clf.fit(small.X, small.y, **small.costs)  # warnings of this package are errors here
            continue
        with pytest.warns(ClassMeansWarning, match="replaced by their class means") as caught:
            clf.fit(small.X, small.y, **small.costs)
        assert len(caught) == 1


def test_features_per_split_are_the_square_root_by_default(holes: Any) -> None:
    forest = bagging(features="per_split").fit(holes.X, holes.y)
    assert_same_trees(forest, bagging(CostTreeClassifier(max_features="sqrt")).fit(holes.X, holes.y))
    assert_same_trees(forest, bagging(CostTreeClassifier(max_features=2)).fit(holes.X, holes.y))
    asked = bagging(CostTreeClassifier(max_features=4), features="per_split").fit(holes.X, holes.y)
    assert_same_trees(asked, bagging(CostTreeClassifier(max_features=4)).fit(holes.X, holes.y))
    assert not np.array_equal(nodes_of(asked).feature[:5], nodes_of(forest).feature[:5])


@pytest.mark.parametrize(("max_features", "n"), [(None, 2), (3, 3), (0.2, 1), (1.0, 5)])
def test_features_per_tree_are_drawn_once_for_each(max_features: Any, n: int, holes: Any) -> None:
    clf = bagging(CostTreeClassifier(max_features=max_features), features="per_tree", n_estimators=40)
    clf.fit(holes.X, holes.y)
    trees = clf.members_.trees
    used = []
    for root, size in zip(trees.roots, trees.sizes, strict=True):
        feature = trees.nodes.feature[root : root + size]
        used.append(frozenset(feature[feature >= 0]))
    assert {len(features) for features in used} == {n}
    assert set().union(*used) == set(range(5))
    assert len(set(used)) > 1 or n == 5


def test_features_per_tree_are_drawn_for_other_classifiers_too(mixed: pl.DataFrame, small: Any) -> None:
    clf = bagging(GaussianNB(), features="per_tree").fit(small.X, small.y)
    assert [model.n_features_in_ for model in clf.estimators_] == [2] * 6
    p = np.mean(
        [m.predict_proba(small.X[:, c])[:, 1] for m, c in zip(clf.estimators_, clf.members_.columns, strict=True)],
        axis=0,
    )
    np.testing.assert_allclose(clf.predict_proba(small.X)[:, 1], p)


def test_members_are_pruned_on_records_that_they_have_not_seen(holes: Any) -> None:
    """Out of the bag; or those held out; or those given; or all."""
    tree = CostTreeClassifier(pruning="reduced_error")
    sampler = Remembering()
    clf = bagging(tree, sampling=sampler).fit(holes.X, holes.y)
    for j, counts in enumerate(sampler.drawn):
        rest = counts == 0
        alone = clone(tree).fit(holes.X, holes.y, sample_weight=counts, X_val=holes.X[rest], y_val=holes.y[rest])
        assert clf.members_.trees.sizes[j] == nodes_of(alone).feature.size
    on_training = bagging(tree, validation=None, sampling=Remembering()).fit(holes.X, holes.y)
    for j, counts in enumerate(sampler.drawn):
        alone = clone(tree).fit(holes.X, holes.y, sample_weight=counts, X_val=holes.X, y_val=holes.y)
        assert on_training.members_.trees.sizes[j] == nodes_of(alone).feature.size


@pytest.mark.parametrize("validation", ["auto", 0.3, None])
def test_pruning_does_not_go_by_one_class_where_sampling_leaves_out_one_only(validation: Any, large: Any) -> None:
    tree = CostTreeClassifier(pruning="reduced_error")
    clf = bagging(tree, sampling="under", validation=validation).fit(large.X, large.y, fp_cost=1, fn_cost=3)
    assert (clf.members_.trees.sizes > 1).all()
    assert 0.2 < clf.predict(large.X).mean() < 0.8


# Weights


def test_weights_are_costs_normalised_within_each_sample(holes: Any) -> None:
    sampler = Remembering()
    clf = bagging(sampling=sampler, weighted=True).fit(holes.X, holes.y, **holes.costs)
    cost = np.where(holes.y == 1, holes.fn, holes.fp)
    trees = clf.members_.trees
    for j, counts in enumerate(sampler.drawn):
        shares = counts * cost / (counts @ cost)
        expected = np.bincount(holes.y, shares)
        np.testing.assert_allclose(nodes_of(clf).weights[trees.roots[j]], expected)
        np.testing.assert_array_equal(nodes_of(clf).counts[trees.roots[j]], np.bincount(holes.y, counts))


def test_a_weighted_ensemble_votes_by_the_mean_weight_in_the_leaf(holes: Any, fresh: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), weighted=True).fit(holes.X, holes.y, **holes.costs)
    trees, ids = clf.members_.trees, clf.members_.trees.apply(clf._read(fresh.X, reset=False))
    for i, row in enumerate(ids):
        ayes = total = 0.0
        for leaf in row:
            (negative, positive), n = (
                trees.nodes.weights[trees.leaves[leaf]],
                trees.nodes.counts[trees.leaves[leaf]].sum(),
            )
            total += (negative + positive) / n
            ayes += (negative + positive) / n if positive > negative else 0.0
        assert clf.predict_proba(fresh.X[i : i + 1])[0, 1] == pytest.approx(ayes / total)
    assert clf.decision_ == Decision()
    same = clf.with_decision(Decision(vote_weight="node")).predict_proba(fresh.X)
    np.testing.assert_array_equal(same, clf.predict_proba(fresh.X))


def test_sample_weights_and_cost_weights_multiply(holes: Any) -> None:
    weight = 1.0 + np.arange(240) % 3
    repeated = holes.take(np.repeat(np.arange(240), weight.astype(int)))
    tree = CostTreeClassifier(max_depth=4)
    told = bagging(tree, sampling=EachPositive(1), weighted=True, n_estimators=1)
    told.fit(repeated.X, repeated.y, **repeated.costs)
    for unit in (1.0, 0.3):  # whole weights are repetitions, others take another path
        clf = clone(told).fit(holes.X, holes.y, **holes.costs, sample_weight=unit * weight)
        np.testing.assert_allclose(nodes_of(clf).weights[0].sum(), 1.0)
        one, other = (
            (leaves.probability("frequency")[ids], leaves.mean_weight[ids])
            for leaves, ids in (
                (c.members_.leaves, c.members_.trees.apply(c._read(holes.X, reset=False))) for c in (clf, told)
            )
        )
        np.testing.assert_allclose(one[0], other[0], rtol=1e-6)
        np.testing.assert_allclose(unit * one[1], other[1], rtol=1e-6)


@BY_CLASS_MEANS
@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(240) % 3])
def test_synthetic_records_weigh_and_cost_the_mean_of_their_class(weight: Any, small: Any) -> None:
    times = np.ones(240) if weight is None else weight
    amount = times * np.where(small.y == 1, small.fn, small.fp)
    n_positive = small.y.sum()
    n_new = round(n_positive * small.fn[small.y == 1].mean() / small.fp[small.y == 0].mean()) - n_positive
    # A synthetic record counts the mean of its class, and costs the mean.
    new = times[small.y == 1].mean() * small.fn[small.y == 1].mean()
    options = {"sampling": "smote", "n_estimators": 1}
    fit = {"X": small.X, "y": small.y, **small.costs, "sample_weight": weight}
    tree = bagging(CostTreeClassifier(criterion="cost"), **options).fit(**fit)
    expected = np.bincount(small.y, amount) + np.array([0, n_new * new])
    np.testing.assert_allclose(nodes_of(tree).weights[0], expected)
    weighted = bagging(weighted=True, **options).fit(**fit)
    np.testing.assert_allclose(nodes_of(weighted).weights[0], expected / expected.sum())
    model = bagging(GaussianNB(), weighted=True, **options).fit(**fit)
    np.testing.assert_allclose(model.estimators_[0].class_prior_, expected / expected.sum())


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_costs_of_zero_are_legal(estimator: Any, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    nothing = bagging(estimator, weighted=True).fit(small.X, small.y, fp_cost=0, fn_cost=0)
    plain = bagging(estimator).fit(small.X, small.y).with_decision(nothing.with_decision(None).decision_)
    assert np.isfinite(nothing.predict_proba(X)).all()
    if estimator is not None:
        np.testing.assert_allclose(nothing.predict_proba(X), plain.predict_proba(X))
    # Records on one side of a line cost nothing.
    side = small.X[:, 3] > 0
    some = bagging(estimator, weighted=True).fit(small.X, small.y, fp_cost=1.0 * side, fn_cost=5.0 * side)
    assert np.isfinite(some.predict_proba(X)).all()


# Equal costs (FRAMEWORK 3, 6)


@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
@pytest.mark.parametrize("cost", [1.0, 7.0])
def test_with_equal_costs_cpr_is_plain_bagging(features: str, cost: float, holes: Any) -> None:
    plain = bagging(features=features).fit(holes.X, holes.y)
    costing = bagging(features=features, sampling="cpr").fit(holes.X, holes.y, fp_cost=cost, fn_cost=cost)
    assert_same_trees(plain, costing)
    every = np.full(240, cost)
    assert_same_trees(
        plain, bagging(features=features, sampling="cpr").fit(holes.X, holes.y, fp_cost=every, fn_cost=every)
    )
    np.testing.assert_array_equal(plain.predict(holes.X), costing.predict(holes.X))


@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_with_equal_costs_presampling_is_plain_bagging(sampling: str, features: str, holes: Any) -> None:
    plain = bagging(features=features).fit(holes.X, holes.y)
    presampled = bagging(features=features, sampling=sampling, presample=True).fit(
        holes.X, holes.y, fp_cost=3, fn_cost=3
    )
    assert_same_trees(plain, presampled)
    np.testing.assert_array_equal(plain.predict(holes.X), presampled.predict(holes.X))


@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
def test_with_equal_costs_weights_change_nothing_but_the_size_of_votes(features: str, holes: Any, fresh: Any) -> None:
    plain = bagging(features=features).fit(holes.X, holes.y)
    weighted = bagging(features=features, weighted=True).fit(holes.X, holes.y, fp_cost=3, fn_cost=3)
    assert_same_trees(plain, weighted, but=("weights", "gain"))
    np.testing.assert_allclose(nodes_of(weighted).weights * 240, nodes_of(plain).weights)
    np.testing.assert_allclose(
        weighted.with_decision(Decision(output="average")).predict_proba(fresh.X), plain.predict_proba(fresh.X)
    )
    # All records weigh the same, and so do all votes.
    np.testing.assert_allclose(weighted.predict_proba(fresh.X), plain.with_decision(VOTE).predict_proba(fresh.X))


@pytest.mark.parametrize("pruning", ["reduced_error", "cost_complexity"])
@pytest.mark.parametrize("features", ["all", "per_split", "per_tree"])
def test_with_equal_costs_pruning_by_cost_is_pruning_by_error(
    pruning: str, features: str, holes: Any, fresh: Any
) -> None:
    by_error, by_cost = (
        bagging(CostTreeClassifier(pruning=pruning, pruning_measure=measure), features=features).fit(
            holes.X, holes.y, fp_cost=3, fn_cost=3
        )
        for measure in ("error", "cost")
    )
    assert_same_trees(by_error, by_cost, but=("weights",))
    np.testing.assert_array_equal(by_cost.predict(fresh.X), by_error.with_decision(VOTE).predict(fresh.X))


def test_with_equal_costs_cost_splitting_counts_errors(holes: Any) -> None:
    """Whatever the currency, the gain of a split is the number of records it puts right."""
    one, three = (
        bagging(CostTreeClassifier(criterion="cost")).fit(holes.X, holes.y, fp_cost=c, fn_cost=c) for c in (1, 3)
    )
    assert_same_trees(one, three, but=("weights", "gain"))
    np.testing.assert_array_equal(nodes_of(one).weights, nodes_of(one).counts)
    np.testing.assert_allclose(nodes_of(three).gain, 3 * nodes_of(one).gain)
    wrong = nodes_of(one).counts.min(axis=1)
    split = nodes_of(one).feature >= 0
    left = nodes_of(one).left[split]
    np.testing.assert_allclose(nodes_of(one).gain[split], wrong[split] - wrong[left] - wrong[left + 1], atol=1e-9)


@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_with_equal_costs_samples_are_the_training_set(sampling: str, holes: Any) -> None:
    clf = bagging(sampling=sampling, n_estimators=3).fit(holes.X, holes.y)
    alone = CostTreeClassifier().fit(holes.X, holes.y)
    assert clf.members_.trees.sizes.tolist() == [nodes_of(alone).feature.size] * 3
    np.testing.assert_array_equal(nodes_of(clf).counts, np.tile(nodes_of(alone).counts, (3, 1)))


def test_with_equal_costs_decisions_by_cost_are_those_at_one_half(holes: Any, fresh: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), n_estimators=7).fit(holes.X, holes.y, fp_cost=3, fn_cost=3)

    def decide(**choices: str) -> Any:
        return clf.with_decision(Decision(**choices)).predict(fresh.X)

    np.testing.assert_array_equal(decide(threshold="cost"), decide(threshold="half"))
    np.testing.assert_array_equal(decide(output="vote", threshold="cost"), decide(output="vote"))
    np.testing.assert_array_equal(decide(member="cost", leaf="frequency"), decide(member="label", output="vote"))


@pytest.mark.parametrize("weighted", [False, True])
def test_with_equal_costs_other_classifiers_see_no_weights(weighted: bool, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    plain = bagging(LogisticRegression()).fit(small.X, small.y)
    equal = bagging(LogisticRegression(), weighted=weighted, sampling=None if weighted else "cpr")
    equal.fit(small.X, small.y, fp_cost=9, fn_cost=9)
    np.testing.assert_allclose(equal.predict_proba(X), plain.predict_proba(X), rtol=1e-6)


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
        {"vote_weight": weight, "member": "tuned", "threshold": "tuned"},
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
        # A leaf of copies is pure however many there are.
        **dict.fromkeys(("over", "over, per_tree", "hybrid"), Decision(leaf="shrinkage")),
    }
    for name, options in METHODS.items():
        clf = bagging(**{"n_estimators": 2, **options}).fit(small.X, small.y)
        assert clf.decision_ == expected.get(name, acted), name
        assert clf.decision is None
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
        clf = bagging(**{"n_estimators": 30, **DEEP[method]}).fit(large.X, large.y, fp_cost=1.0, fn_cost=ratio)
        shares.append(clf.predict(large_fresh.X, fp_cost=1.0, fn_cost=ratio).mean())
    # Where costs are equal, some samplers draw all records for each member, and their trees are all the same one.
    assert all(less <= more + 0.03 for less, more in pairwise(shares)), shares
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


# Out of the bag


@pytest.mark.parametrize("decision", [None, VOTE, Decision(threshold="tuned")])
@pytest.mark.parametrize("weights", [False, True])
def test_out_of_bag_money_is_that_of_members_that_have_not_seen_the_record(
    decision: Decision | None, weights: bool, holes: Any
) -> None:
    sampler = Remembering()
    weight = 1.0 + np.arange(240) % 3 if weights else np.ones(240)
    clf = bagging(CostTreeClassifier(max_depth=3), sampling=sampler, decision=decision)
    clf.fit(holes.X, holes.y, **holes.costs, sample_weight=weight if weights else None)
    p = clf.members_.leaves.probability("frequency")[clf.members_.trees.apply(clf._read(holes.X, reset=False))]
    label = clf.members_.leaves.label[clf.members_.trees.apply(clf._read(holes.X, reset=False))]
    rows, outcomes = [], []
    for i in range(240):
        judges = [j for j, counts in enumerate(sampler.drawn) if counts[i] == 0]
        if not judges:
            continue
        rows.append(i)
        average, share, fp, fn = p[i, judges].mean(), label[i, judges].mean(), holes.fp[i], holes.fn[i]
        if decision is None:
            outcomes.append(average > fp / (fp + fn))
        elif decision == VOTE:
            outcomes.append(share > 0.5)
        else:
            outcomes.append(average > clf.cut_.thresholds())
    assert 150 < len(rows) < 240
    costs = {"fp_cost": holes.fp[rows], "fn_cost": holes.fn[rows], "sample_weight": weight[rows]}
    predicted = np.array(outcomes).astype(int)
    assert clf.oob_cost_ == pytest.approx(total_cost(holes.y[rows], predicted, **costs))
    assert clf.oob_savings_ == pytest.approx(savings_score(holes.y[rows], predicted, **costs))
    np.testing.assert_array_equal(clf.predict_oob()[rows], predicted)


def test_out_of_bag_money_follows_the_decision_in_force(holes: Any) -> None:
    clf = bagging(n_estimators=25).fit(holes.X, holes.y, **holes.costs)
    half = clf.with_decision(Decision())
    assert half.oob_cost_ > clf.oob_cost_ > 0
    assert clf.oob_savings_ > half.oob_savings_


def test_without_records_out_of_the_bag_there_is_no_such_money(holes: Any, fresh: Any) -> None:
    explicit = {"X_val": fresh.X, "y_val": fresh.y}
    for clf in (
        bagging(sampling="over").fit(holes.X, holes.y, fn_cost=3),
        bagging(sampling="under").fit(holes.X, holes.y, fn_cost=3),
        bagging(validation=0.2).fit(holes.X, holes.y),
        bagging(validation=None).fit(holes.X, holes.y),
        bagging().fit(holes.X, holes.y, **explicit),
    ):
        assert not hasattr(clf, "oob_cost_")
        with pytest.raises(AttributeError, match="no out-of-bag records of both classes"):
            clf.oob_savings_  # noqa: B018


@pytest.mark.parametrize("sampling", ["under", "over", "smote"])
def test_out_of_bag_validation_where_nothing_is_left_out_is_an_error(sampling: str, holes: Any, fresh: Any) -> None:
    clf = bagging(sampling=sampling, validation="oob")
    with pytest.raises(ValueError, match=r"validation='oob' needs records of both classes.*fraction.*X_val"):
        clf.fit(holes.X, holes.y, fn_cost=3)
    clf.fit(holes.X, holes.y, fn_cost=3, X_val=fresh.X, y_val=fresh.y)  # the way out
    presampled = bagging(sampling=sampling, validation="oob", presample=True).fit(holes.X, holes.y, fn_cost=3)
    assert presampled.oob_cost_ > 0


@pytest.mark.parametrize("sampling", ["over", "hybrid", RandomOverSampler()], ids=str)
def test_repeated_records_are_no_fair_sample_when_out_of_the_bag(sampling: Any, large: Any) -> None:
    """Of 50 copies of a record a bootstrap has some: nearly no negative is out of the bag, but every positive."""
    tuned = Decision(threshold="tuned")
    clf = bagging(CostTreeClassifier(max_depth=4), sampling=sampling, presample=True, decision=tuned)
    clf.fit(large.X, large.y, fp_cost=50.0, fn_cost=1.0)
    assert clf.validation_.out_of_bag is None
    assert clf.predict(large.X).mean() < 0.1
    assert not hasattr(clf, "oob_cost_")


@pytest.mark.parametrize("sampling", ["under", "cpr", "smote"])
def test_a_bootstrap_of_a_sample_leaves_out_records_of_both_classes(sampling: str, large: Any) -> None:
    clf = bagging(sampling=sampling, presample=True, n_estimators=10).fit(large.X, large.y, fp_cost=5.0, fn_cost=1.0)
    out = clf.validation_.out_of_bag.any(axis=1)
    assert out[large.y == 0].mean() > 0.9
    assert out[large.y == 1].mean() > 0.9
    assert clf.oob_cost_ > 0


@pytest.mark.parametrize("sampling", ["under", "over", "hybrid", "smote"])
def test_a_fifth_is_held_out_where_tuning_needs_it_and_nothing_is_out_of_the_bag(sampling: str, holes: Any) -> None:
    tuned = bagging(sampling=sampling, decision=Decision(threshold="tuned")).fit(holes.X, holes.y, fn_cost=3)
    assert len(tuned.validation_.records) == 48
    assert tuned.validation_.out_of_bag is None


# Importances


def test_importances_are_the_mean_gain_of_the_trees(holes: Any) -> None:
    clf = bagging().fit(holes.X, holes.y)
    trees = clf.members_.trees
    gains = np.zeros(5)
    for feature, gain in zip(trees.nodes.feature, trees.nodes.gain, strict=True):
        if feature >= 0:
            gains[feature] += gain
    np.testing.assert_allclose(clf.feature_importances_, gains / gains.sum())


def test_importances_of_cost_trees_are_money_saved_per_tree(holes: Any) -> None:
    sampler = Remembering()
    clf = bagging(CostTreeClassifier(criterion="cost", max_depth=4), sampling=sampler)
    clf.fit(holes.X, holes.y, **holes.costs)
    trees, cost = clf.members_.trees, np.where(holes.y == 1, holes.fn, holes.fp)
    ids = trees.apply(clf._read(holes.X, reset=False))
    saved = []
    for j, counts in enumerate(sampler.drawn):

        def cheaper(rows: Any, counts: Any = counts) -> float:
            return min((counts * cost)[rows & (holes.y == side)].sum() for side in (0, 1))

        spent = sum(cheaper(ids[:, j] == leaf) for leaf in np.unique(ids[:, j]))
        saved.append(cheaper(np.ones(240, bool)) - spent)
    assert clf.feature_importances_.sum() == pytest.approx(np.mean(saved))


def test_only_ensembles_of_trees_have_importances_and_only_others_estimators(small: Any) -> None:
    assert not hasattr(bagging(GaussianNB()).fit(small.X, small.y), "feature_importances_")
    assert not hasattr(bagging().fit(small.X, small.y), "estimators_")


# Prior correction


def test_the_prior_correction_is_exact_for_trees() -> None:
    """Leaves of a known share of positives, every positive three times: the share comes back."""
    X = np.repeat(np.arange(4.0), 40).reshape(-1, 1)
    y = np.concatenate([np.arange(40) < k for k in (2, 10, 20, 38)]).astype(int)
    options = {"sampling": EachPositive(3), "n_estimators": 2}
    sampled = bagging(**options).fit(X, y)
    corrected = bagging(**options, prior_correction=True).fit(X, y)
    at = np.arange(4.0).reshape(-1, 1)
    true = np.array([2, 10, 20, 38]) / 40
    np.testing.assert_allclose(sampled.predict_proba(at)[:, 1], 3 * true / (3 * true + 1 - true))
    np.testing.assert_allclose(corrected.predict_proba(at)[:, 1], true)
    # With sample weights too: half of each kind of record is as if it was not there.
    weight = np.where(np.arange(160) % 2 == 0, 1.5, 0.5)
    weighed = bagging(**options, prior_correction=True).fit(X, y, sample_weight=weight)
    shares = [np.average(y[k : k + 40], weights=weight[k : k + 40]) for k in (0, 40, 80, 120)]
    np.testing.assert_allclose(weighed.predict_proba(at)[:, 1], shares)


def test_the_prior_correction_is_exact_for_naive_bayes(small: Any) -> None:
    """More positives change nothing in naive Bayes but its prior."""
    corrected = bagging(GaussianNB(), sampling=EachPositive(4), n_estimators=2, prior_correction=True)
    corrected.fit(small.X, small.y)
    np.testing.assert_allclose(
        corrected.predict_proba(small.X), GaussianNB().fit(small.X, small.y).predict_proba(small.X)
    )


def test_the_prior_correction_acts_on_trees_of_pure_leaves_too(large: Any, large_fresh: Any) -> None:
    """The mean is corrected: the 0 and 1 of pure leaves cannot be."""
    options = {"sampling": "under", "n_estimators": 30}
    sampled = bagging(**options).fit(large.X, large.y, fn_cost=4.0).predict_proba(large_fresh.X)[:, 1]
    clf = bagging(**options, prior_correction=True).fit(large.X, large.y, fn_cost=4.0)
    p = clf.predict_proba(large_fresh.X)[:, 1]
    between = (sampled > 0) & (sampled < 1)
    p_in, s_in = p[between], sampled[between]
    np.testing.assert_allclose(p_in / (1 - p_in), s_in / (1 - s_in) / 4, rtol=0.01)
    assert abs(p.mean() - large_fresh.y.mean()) < abs(sampled.mean() - large_fresh.y.mean())


def test_weights_cannot_be_corrected_for(small: Any) -> None:
    with pytest.raises(ValueError, match="prior_correction=True is about samples"):
        bagging(weighted=True, prior_correction=True).fit(small.X, small.y)


# Other classifiers, other samplers


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), SVC(), GaussianNB(), DecisionTreeClassifier(max_depth=3), KNeighborsClassifier()],
)
def test_any_classifier_can_be_a_member(estimator: Any, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    y = np.array(["no", "yes"])[small.y]
    sampler = Remembering()
    clf = bagging(estimator, sampling=sampler).fit(small.X, y, **small.costs)
    says = []
    for counts, mine in zip(sampler.drawn, clf.estimators_, strict=True):
        rows = np.repeat(np.arange(240), counts)
        alone = clone(estimator)
        if "random_state" in alone.get_params():
            alone.set_params(random_state=mine.random_state)
        alone.fit(small.X[rows], y[rows])
        says.append(alone.predict_proba(X)[:, 1] if hasattr(alone, "predict_proba") else alone.predict(X) == "yes")
    expected = np.mean(says, axis=0)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expected, rtol=1e-6)
    np.testing.assert_array_equal(clf.predict(X, **fresh.costs) == "yes", expected > fresh.fp / (fresh.fp + fresh.fn))
    by_probability = [Decision(member="cost"), Decision(member="tuned", vote_weight="log_odds")]
    for decision in [Decision(threshold="tuned"), *(by_probability if hasattr(estimator, "predict_proba") else [])]:
        assert set(clf.with_decision(decision).predict(X, **fresh.costs)) <= {"no", "yes"}
    assert clf.oob_cost_ > 0
    with pytest.raises(DecisionError, match="is about trees"):
        clf.with_decision(Decision(leaf="laplace", threshold="cost")).predict(X, **fresh.costs)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("presample", [False, True])
def test_samplings_work_with_other_classifiers(sampling: str, presample: bool, small: Any) -> None:
    clf = bagging(GaussianNB(), sampling=sampling, presample=presample).fit(small.X, small.y, fp_cost=1, fn_cost=4)
    assert clf.score(small.X, small.y) > 0
    n = np.array([model.class_count_ for model in clf.estimators_]).mean(axis=0)
    assert n[1] / n[0] == pytest.approx(4 * small.y.sum() / (240 - small.y.sum()), rel=0.25)


def test_members_of_other_kinds_are_weighed_by_cost(small: Any) -> None:
    """In naive Bayes the weights of the classes are its prior."""
    sampler = Remembering()
    weight = 1.0 + np.arange(240) % 3
    cost = np.where(small.y == 1, small.fn, small.fp)
    for sample_weight in (None, weight):
        sampler = Remembering()
        clf = bagging(GaussianNB(), sampling=sampler, weighted=True)
        clf.fit(small.X, small.y, **small.costs, sample_weight=sample_weight)
        for counts, model in zip(sampler.drawn, clf.estimators_, strict=True):
            w = counts * cost * (1.0 if sample_weight is None else sample_weight)
            np.testing.assert_allclose(model.class_prior_[1], w[small.y == 1].sum() / w.sum())
    with pytest.raises(
        ValueError, match=r"weighted=True needs members that take sample_weight: KNeighborsClassifier\(\)"
    ):
        bagging(KNeighborsClassifier(), weighted=True).fit(small.X, small.y)


@pytest.mark.parametrize(
    "sampler", [RandomUnderSampler(sampling_strategy=1.0), RandomOverSampler(), SMOTE(k_neighbors=3)], ids=str
)
@pytest.mark.parametrize("presample", [False, True])
@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_samplers_of_imbalanced_learn_are_accepted(sampler: Any, presample: bool, estimator: Any, small: Any) -> None:
    clf = bagging(estimator, sampling=sampler, presample=presample).fit(small.X, small.y, **small.costs)
    if estimator is None:
        negative, positive = nodes_of(clf).counts[clf.members_.trees.roots].mean(axis=0)
    else:
        negative, positive = np.mean([model.class_count_ for model in clf.estimators_], axis=0)
    assert positive / negative == pytest.approx(1.0, rel=0.15 if presample else 1e-12)
    assert clf.score(small.X, small.y, **small.costs) > 0.2
    assert getattr(sampler, "random_state", None) is None
    assert not hasattr(sampler, "sampling_strategy_")


def test_samplers_of_this_package_are_accepted(small: Any) -> None:
    by_name = bagging(sampling="hybrid").fit(small.X, small.y, fn_cost=4)
    assert_same_trees(by_name, bagging(sampling=HybridSampler()).fit(small.X, small.y, fn_cost=4))
    under = bagging(sampling="under").fit(small.X, small.y, fn_cost=4)
    assert_same_trees(under, bagging(sampling=HybridSampler(share=1.0)).fit(small.X, small.y, fn_cost=4))
    with pytest.raises(SamplingError, match="brings costs of its own"):
        bagging(sampling=UnderSampler(fn_cost=3)).fit(small.X, small.y)
    with pytest.raises(SamplingError, match=r"sampling='bootstrap' is not known.*'under'"):
        bagging(sampling="bootstrap").fit(small.X, small.y)


# The same results, however they come about


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"features": "per_split", "weighted": True},
        {"sampling": "cpr", "features": "per_tree"},
        {"sampling": "smote"},
        {"sampling": "over", "presample": True},
        {"estimator": CostTreeClassifier(criterion="cost", pruning="cost_complexity", pruning_measure="cost")},
        {"estimator": DecisionTreeClassifier(max_features=2), "sampling": "under"},
        {"decision": Decision(member="tuned", vote_weight="squared_odds", threshold="tuned")},
    ],
    ids=str,
)
@BY_CLASS_MEANS
def test_results_depend_on_the_seed_and_not_on_threads(options: dict[str, Any], small: Any, fresh: Any) -> None:
    def fitted(**more: Any) -> Any:
        clf = bagging(**{"n_estimators": 20, **options, **more})
        return clf.fit(small.X, small.y, **small.costs)

    one, two, again, other = fitted(n_jobs=1), fitted(n_jobs=2), fitted(n_jobs=1), fitted(random_state=1)
    for same in (two, again):
        if one._tree is not None:
            assert_same_trees(one, same)
        np.testing.assert_array_equal(
            one.predict_proba(small.X, **small.costs), same.predict_proba(small.X, **small.costs)
        )
        np.testing.assert_array_equal(one.predict(small.X, **small.costs), same.predict(small.X, **small.costs))
    X, average = np.nan_to_num(fresh.X), Decision(output="average")
    p, q = (clf.with_decision(average).predict_proba(X) for clf in (one, other))
    assert not np.array_equal(p, q)


def test_more_members_are_the_old_ones_and_new_ones(small: Any) -> None:
    few, many = (bagging(n_estimators=n).fit(small.X, small.y) for n in (3, 5))
    np.testing.assert_array_equal(nodes_of(few).feature, nodes_of(many).feature[: few.members_.trees.sizes.sum()])


@BY_CLASS_MEANS
@pytest.mark.parametrize("sampling", [None, *SAMPLINGS, RandomUnderSampler()], ids=str)
@pytest.mark.parametrize("presample", [False, True])
def test_no_sampling_touches_the_callers_arrays_or_the_global_random_state(
    sampling: Any, presample: bool, small: Any
) -> None:
    if presample and sampling is None:
        return
    arrays = [array.copy() for array in (small.X, small.y, small.fp, small.fn)]
    for array in arrays:
        array.setflags(write=False)
    X, y, fp, fn = arrays
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for options in ({}, {"weighted": True}, {"estimator": GaussianNB()}, {"random_state": None}):
        clf = bagging(**{"sampling": sampling, "presample": presample, "n_estimators": 2, **options})
        clf.fit(X, y, fp_cost=fp, fn_cost=fn).predict(X, fp_cost=fp, fn_cost=fn)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    for array, original in zip(arrays, (small.X, small.y, small.fp, small.fn), strict=True):
        np.testing.assert_array_equal(array, original)


def test_progress_goes_to_the_standard_error_where_asked_for(small: Any, capfd: pytest.CaptureFixture[str]) -> None:
    bagging().fit(small.X, small.y)
    assert capfd.readouterr() == ("", "")
    for estimator in (None, GaussianNB()):
        bagging(estimator, verbose=1).fit(small.X, small.y)
        out, err = capfd.readouterr()
        assert out == ""
        assert "6 members" in err
        assert "100%" in err


# scikit-learn's manners


def test_clone_and_parameters_go_all_the_way_down(small: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), sampling=CPRSampler(quantile=0.9), decision=Decision(member="cost"))
    twin = clone(clf)
    assert repr(twin) == repr(clf)
    assert twin.get_params()["decision"] == Decision(member="cost")
    twin.set_params(estimator__criterion="cost", sampling__quantile=None, n_estimators=2)
    assert twin.fit(small.X, small.y, **small.costs).estimator.criterion == "cost"
    assert clf.estimator.criterion == "gini"
    assert clf.sampling.quantile == 0.9
    assert len(twin.members_) == 2


def test_fitting_again_forgets_the_past(small: Any, fresh: Any) -> None:
    clf = bagging().fit(fresh.X[:, :2], fresh.y, **fresh.costs).fit(small.X, small.y, fn_cost=3)
    new = bagging().fit(small.X, small.y, fn_cost=3)
    assert_same_trees(clf, new)
    np.testing.assert_array_equal(clf.predict(small.X), new.predict(small.X))
    assert clf.oob_cost_ == new.oob_cost_


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_a_pickled_ensemble_decides_tunes_and_accounts_as_before(estimator: Any, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    clf = bagging(estimator, sampling="cpr").fit(small.X, small.y, **small.costs)
    size = len(pickle.dumps(clf))
    clf.oob_cost_  # noqa: B018 (what members say of the records is kept from now on, but not in a pickle)
    assert len(pickle.dumps(clf)) == size
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(X, **fresh.costs), clf.predict(X, **fresh.costs))
    assert again.oob_cost_ == clf.oob_cost_
    tuned = Decision(member="tuned", vote_weight="log_odds")
    np.testing.assert_array_equal(again.with_decision(tuned).predict(X), clf.with_decision(tuned).predict(X))


@pytest.mark.parametrize("options", [{}, {"sampling": "cpr", "features": "per_tree"}, {"weighted": True}], ids=str)
def test_frames_of_pandas_and_polars_make_the_same_ensemble(options: Any, mixed: pl.DataFrame, holes: Any) -> None:
    frame = mixed.to_pandas()
    one, two = (bagging(**options).fit(X, holes.y, **holes.costs) for X in (mixed, frame))
    assert_same_trees(one, two)
    np.testing.assert_array_equal(one.predict_proba(mixed), two.predict_proba(frame))
    np.testing.assert_array_equal(one.predict(mixed, **holes.costs), one.predict(frame, **holes.costs))
    assert list(one.feature_names_in_) == mixed.columns


def test_a_search_without_routing_finds_costs_of_the_constructor(small: Any) -> None:
    grid = {"estimator__max_depth": [2, 4], "fn_cost": [1.0, 8.0]}
    search = GridSearchCV(bagging(CostTreeClassifier()), grid, scoring="recall", cv=3).fit(small.X, small.y)
    assert search.best_params_["fn_cost"] == 8.0
    assert search.best_estimator_.constant_costs_["fn_cost"] == 8.0
    # Constant costs given to fit are passed on, and remembered by each classifier for its score.
    search = GridSearchCV(bagging(CostTreeClassifier()), {"estimator__max_depth": [1, 4]}, cv=3)
    search.fit(small.X, small.y, fp_cost=1.0, fn_cost=8.0)
    assert search.best_score_ == pytest.approx(np.mean(by_hand(search.best_estimator_, small, 1.0, 8.0)))


def by_hand(prototype: Any, records: Any, fp: Any, fn: Any) -> list[float]:
    """Return the savings in three-fold cross-validation."""
    scores = []
    for train, test in StratifiedKFold(3).split(records.X, records.y):
        costs = [
            {name: np.broadcast_to(cost, len(records))[rows] for name, cost in (("fp_cost", fp), ("fn_cost", fn))}
            for rows in (train, test)
        ]
        clf = clone(prototype).fit(records.X[train], records.y[train], **costs[0])
        scores.append(savings_score(records.y[test], clf.predict(records.X[test], **costs[1]), **costs[1]))
    return scores


@BY_CLASS_MEANS
@pytest.mark.parametrize("sampling", [None, "under", "cpr"])
def test_costs_are_routed_through_cross_validation_and_search(sampling: str | None, small: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), sampling=sampling)
    expected = by_hand(clf, small, small.fp, small.fn)
    with config_context(enable_metadata_routing=True):
        # The classifier's own score, a scorer, and a search over parameters.
        results = cross_validate(clf, small.X, small.y, params=small.costs, cv=3, error_score="raise")
        np.testing.assert_allclose(results["test_score"], expected)
        scorer = make_cost_scorer(savings_score)
        results = cross_validate(clf, small.X, small.y, params=small.costs, cv=3, scoring=scorer, error_score="raise")
        np.testing.assert_allclose(results["test_score"], expected)
        search = GridSearchCV(clf, {"estimator__max_depth": [1, 3]}, cv=3, error_score="raise")
        search.fit(small.X, small.y, **small.costs)
        np.testing.assert_allclose(search.cv_results_["mean_test_score"][1], np.mean(expected))
        assert search.best_estimator_.predict(small.X, **small.costs).shape == (240,)


def test_a_pipeline_passes_costs_on(holes: Any, fresh: Any) -> None:
    inside = bagging(GaussianNB())
    imputer = SimpleImputer().fit(holes.X)
    alone = clone(inside).fit(imputer.transform(holes.X), holes.y, **holes.costs)
    expected = alone.predict(imputer.transform(fresh.X), **fresh.costs)
    with config_context(enable_metadata_routing=True):
        pipe = Pipeline([("impute", SimpleImputer()), ("clf", inside)]).fit(holes.X, holes.y, **holes.costs)
        np.testing.assert_array_equal(pipe.predict(fresh.X, **fresh.costs), expected)
        assert pipe.score(fresh.X, fresh.y, **fresh.costs) == savings_score(fresh.y, expected, **fresh.costs)
    pipe = Pipeline([("impute", SimpleImputer()), ("clf", clone(inside))])
    pipe.fit(holes.X, holes.y, clf__fp_cost=holes.fp, clf__fn_cost=holes.fn)
    np.testing.assert_array_equal(pipe.predict(fresh.X, **fresh.costs), expected)


def test_a_pipeline_of_imbalanced_learn_samples_before_the_ensemble(small: Any) -> None:
    """With constant costs, which go to both; records that are sampled leave their own costs behind."""
    pipe = SamplingPipeline([("sample", UnderSampler(fn_cost=5.0, random_state=0)), ("clf", bagging())])
    pipe.fit(small.X, small.y)
    X, y = UnderSampler(fn_cost=5.0, random_state=0).fit_resample(small.X, small.y)
    assert_same_trees(pipe[-1], bagging().fit(X, y))
    np.testing.assert_array_equal(pipe.predict(small.X), pipe[-1].predict(small.X))


# Parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0 is not valid: give a whole number of at least 1"),
        ({"n_estimators": 2.5}, "n_estimators=2.5 is not valid"),
        ({"features": "half"}, "features='half' is not known: choose from 'all', 'per_split', 'per_tree'"),
        ({"presample": True}, "presample=True has nothing to do without sampling="),
        ({"estimator": GaussianNB(), "features": "per_split"}, r"'per_split' is about trees.*GaussianNB\(\)"),
        ({"estimator": CostTreeClassifier(criterion="cost"), "weighted": True}, "both count the costs: choose one"),
        ({"estimator": CostTreeClassifier(criterion="x")}, "criterion='x' is not known"),
        ({"estimator": CostTreeClassifier(max_bins=999)}, "max_bins=999 is not valid"),
        ({"estimator": CostTreeClassifier(leaf="x")}, "leaf='x' is not known"),
        ({"decision": Decision(vote_weight="node")}, "only weighted ensembles have one"),
    ],
)
def test_bad_parameters_are_errors_that_name_them(options: dict[str, Any], message: str, small: Any) -> None:
    with pytest.raises(ValueError, match=message):
        bagging(**options).fit(small.X, small.y).predict(small.X)
