"""What users of scikit-learn's forests look for: parameters, attributes and methods, with scikit-learn as oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier, Decision, MetaCostClassifier
from stakes.boosting.loop import PERFECT
from stakes.exceptions import NoEffectWarning, SamplingError
from stakes.metrics import savings_score
from stakes.persist import dumps, loads

RNG = np.random.default_rng(0)
X = RNG.integers(0, 20, (300, 4)).astype(float)
Y = (X[:, 0] + X[:, 1] * (X[:, 2] > 9) + RNG.normal(0, 4, 300) > 16).astype(int)
KINDS = pd.DataFrame({"x": X[:, 0], "kind": np.where(Y == 1, *RNG.choice(list("abc"), (2, 300))), "z": X[:, 1]})
FEW: dict[str, Any] = {"n_estimators": 8, "random_state": 0}
ENSEMBLES = {
    "bagging": CostBaggingClassifier(**FEW),
    "forest": CostBaggingClassifier(features="per_split", weighted=True, **FEW),
    "under": CostBaggingClassifier(sampling="under", prior_correction=True, **FEW),
    "boosting": CostBoostClassifier(CostTreeClassifier(max_depth=2), **FEW),
    "models": CostBaggingClassifier(LogisticRegression(), **FEW),
}
each_ensemble = pytest.mark.parametrize("model", ENSEMBLES.values(), ids=ENSEMBLES.keys())


def leaves(tree: Any) -> Any:
    return pd.factorize(tree.apply(X))[0]


# Limits of a tree, against scikit-learn


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("limit", [2, 3, 5, 11, 30])
def test_max_leaf_nodes_keeps_the_splits_of_best_first_growth(criterion: str, limit: int) -> None:
    ours = CostTreeClassifier(criterion=criterion, max_leaf_nodes=limit).fit(X, Y)
    theirs = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=limit, random_state=0).fit(X, Y)
    assert ours.get_n_leaves() == theirs.get_n_leaves() == limit
    gains = theirs.tree_.impurity * theirs.tree_.weighted_n_node_samples
    is_leaf = theirs.tree_.children_left < 0
    assert _impurity(ours, criterion) == pytest.approx(gains[is_leaf].sum(), rel=0.02)  # ties are broken otherwise


def _impurity(tree: Any, criterion: str) -> float:
    trees = tree.members_.trees
    negative, positive = trees.nodes.counts[trees.leaves].T.astype(float)
    n, p = negative + positive, positive / (negative + positive)
    if criterion == "gini":
        return float((n * 2 * p * (1 - p)).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nansum(-n * (p * np.log2(p) + (1 - p) * np.log2(1 - p))))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("least", [1e-3, 0.01, 0.05, 0.4])
def test_min_impurity_decrease_grows_the_tree_of_scikit_learn(criterion: str, least: float) -> None:
    ours = CostTreeClassifier(criterion=criterion, min_impurity_decrease=least).fit(X[:, :1], Y)
    theirs = DecisionTreeClassifier(criterion=criterion, min_impurity_decrease=least, random_state=0).fit(X[:, :1], Y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict_proba(X[:, :1]), theirs.predict_proba(X[:, :1]))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("alpha", [1e-4, 0.003, 0.01, 0.04, 1.0])
def test_ccp_alpha_prunes_to_the_tree_of_scikit_learn(criterion: str, alpha: float) -> None:
    ours = CostTreeClassifier(criterion=criterion, ccp_alpha=alpha).fit(X[:, :1], Y)
    theirs = DecisionTreeClassifier(criterion=criterion, ccp_alpha=alpha, random_state=0).fit(X[:, :1], Y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict_proba(X[:, :1]), theirs.predict_proba(X[:, :1]))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("least", [0.01, 0.05, 0.2, 0.5])
def test_min_weight_fraction_leaf_grows_the_tree_of_scikit_learn(criterion: str, weighted: bool, least: float) -> None:
    weight = 0.1 + X[:, 3] ** 2 if weighted else None
    options: dict[str, Any] = {"criterion": criterion, "min_weight_fraction_leaf": least}
    for features in (X[:, :1], np.where(X[:, :1] == 7, np.nan, X[:, :1])):
        ours = CostTreeClassifier(**options).fit(features, Y, sample_weight=weight)
        theirs = DecisionTreeClassifier(**options, random_state=0).fit(features, Y, sample_weight=weight)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        np.testing.assert_allclose(ours.predict_proba(features), theirs.predict_proba(features))


@pytest.mark.parametrize(
    "model",
    [
        CostTreeClassifier(criterion="cost", min_weight_fraction_leaf=0.1),
        CostTreeClassifier(criterion="gain_ratio", max_features=1, min_weight_fraction_leaf=0.1),
        CostTreeClassifier(min_weight_fraction_leaf=0.1, class_weight="balanced", monotonic_cst=[1, 0, 0, -1]),
        CostBaggingClassifier(CostTreeClassifier(min_weight_fraction_leaf=0.1), weighted=True, **FEW),
        CostBoostClassifier(CostTreeClassifier(max_depth=1, min_weight_fraction_leaf=0.1), **FEW),
    ],
    ids=str,
)
def test_no_leaf_is_lighter_than_min_weight_fraction_leaf(model: Any) -> None:
    trees = model.fit(X, Y, fp_cost=1, fn_cost=1 + X[:, 3], sample_weight=1 + X[:, 2]).members_.trees
    weight = trees.nodes.weights.sum(axis=1)
    assert trees.leaves.size > len(trees)
    assert (weight[trees.leaves] >= 0.1 * weight[trees.roots][trees.tree_of_leaf] - 1e-9).all()


# 13.5 records are 14; with 13 in a leaf the tree is another.
@pytest.mark.parametrize(
    "limits",
    [
        {"min_samples_leaf": 0.07},
        {"min_samples_leaf": 0.045},
        {"min_samples_split": 0.31},
        {"min_samples_split": 0.001},
    ],
)
def test_sizes_of_nodes_may_be_shares_as_in_scikit_learn(limits: dict[str, Any]) -> None:
    ours = CostTreeClassifier(**limits).fit(X[:, :1], Y)
    theirs = DecisionTreeClassifier(**limits, random_state=0).fit(X[:, :1], Y)
    np.testing.assert_allclose(ours.predict_proba(X[:, :1]), theirs.predict_proba(X[:, :1]))
    stump = CostBoostClassifier(CostTreeClassifier(max_depth=1, min_samples_leaf=0.5), **FEW).fit(X, Y)
    assert (stump.members_.trees.nodes.counts[stump.members_.trees.leaves].sum(axis=1) >= 150).all()


@pytest.mark.parametrize("limits", [{"max_leaf_nodes": 4}, {"min_impurity_decrease": 0.02}, {"ccp_alpha": 0.02}])
def test_limits_hold_for_the_trees_of_ensembles_and_for_weights(limits: dict[str, Any]) -> None:
    whole = CostBaggingClassifier(CostTreeClassifier(), **FEW).fit(X, Y, sample_weight=1 + X[:, 3])
    limited = CostBaggingClassifier(CostTreeClassifier(**limits), **FEW).fit(X, Y, sample_weight=1 + X[:, 3])
    assert len(limited) == len(whole)
    for one, other in zip(whole, limited, strict=True):
        assert other.get_n_leaves() < one.get_n_leaves()
    boosted = CostBoostClassifier(CostTreeClassifier(max_depth=1, min_impurity_decrease=0.4), **FEW).fit(X, Y)
    assert boosted.members_.trees.sizes.max() == 1  # the short cut for stumps heeds it


def test_limits_are_checked() -> None:
    for wrong in ({"max_leaf_nodes": 1}, {"min_impurity_decrease": -1}, {"ccp_alpha": "auto"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}=.* is not valid"):
            CostTreeClassifier(**wrong).fit(X, Y)


# Weights of classes


@pytest.mark.parametrize("name", ["tree", "bagging", "forest", "under", "models", "boosting"])
def test_class_weights_are_sample_weights_of_classes(name: str) -> None:
    model = ENSEMBLES.get(name, CostTreeClassifier())
    weight = np.where(Y == 1, 3.0, 0.5)
    expected = clone(model).fit(X, Y, sample_weight=2 * weight).predict_proba(X)
    found = clone(model).set_params(class_weight={1: 3.0, 0: 0.5}).fit(X, Y, sample_weight=np.full(300, 2.0))
    np.testing.assert_array_equal(found.predict_proba(X), expected)


def test_balanced_classes_weigh_the_same() -> None:
    names = np.array(["no", "yes"])[Y]
    stump = CostTreeClassifier(max_depth=1, class_weight="balanced").fit(X, names)
    root = stump.members_.trees.nodes.counts[0]
    assert root[0] == pytest.approx(root[1])
    with pytest.raises(ValueError, match="class_weight='even' is not valid"):
        CostTreeClassifier(class_weight="even").fit(X, Y)
    with pytest.warns(NoEffectWarning, match="class_weight of the member tree"):
        CostBaggingClassifier(CostTreeClassifier(class_weight="balanced"), **FEW).fit(X, Y)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_both_classes_weigh_the_same_in_each_sample(estimator: Any) -> None:
    model = CostBaggingClassifier(estimator, class_weight="balanced_subsample", **FEW).fit(X, Y)
    for member, rows in zip(model, model.estimators_samples_, strict=True):
        if estimator is None:
            found = member.members_.trees.nodes.counts[0]
            np.testing.assert_allclose(found, rows.size / 2)
        else:
            weight = compute_sample_weight("balanced", Y[rows])
            expected = clone(estimator).fit(X[rows], Y[rows], weight)
            np.testing.assert_allclose(member.coef_, expected.coef_, rtol=1e-3)
    assert set(CostBaggingClassifier().get_params()) >= {"class_weight"}
    with pytest.raises(ValueError, match="class_weight='balanced_subsample' is not valid"):
        CostBoostClassifier(class_weight="balanced_subsample").fit(X, Y)


# Samples


@pytest.mark.parametrize("weight", [None, np.arange(300) % 3])
@pytest.mark.parametrize("options", [{}, {"max_samples": 50}, {"bootstrap": False, "max_samples": 0.3}])
def test_the_samples_and_features_of_members_are_known(options: dict[str, Any], weight: Any) -> None:
    grown = CostTreeClassifier()
    model = CostBaggingClassifier(grown, features="per_tree", **options, **FEW).fit(X, Y, sample_weight=weight)
    both = zip(model.estimators_samples_, model.estimators_features_, strict=True)
    for number, (rows, shown) in enumerate(both):
        np.testing.assert_array_equal(np.bincount(rows, minlength=300) == 0, model.validation_.out_of_bag[:, number])
        assert set(model[number].members_.trees.nodes.feature) <= {-1, *shown}
        tree = clone(grown).fit(X[rows][:, shown], Y[rows], sample_weight=None if weight is None else weight[rows])
        assert tree.get_n_leaves() == pytest.approx(model[number].get_n_leaves(), abs=5)  # bins are of all records
        assert rows.size == (model[number].members_.trees.nodes.counts[0].sum() if weight is None else rows.size)


def test_features_may_be_drawn_with_replacement() -> None:
    wide = np.hstack([X, RNG.normal(size=(300, 12))])
    tree = CostTreeClassifier(max_features=16)
    model = CostBaggingClassifier(tree, features="per_tree", bootstrap_features=True, **FEW).fit(wide, Y)
    sizes = [shown.size for shown in model.estimators_features_]
    assert 5 < min(sizes) < max(sizes) < 16
    models = CostBaggingClassifier(LogisticRegression(), features="per_tree", bootstrap_features=True, **FEW).fit(
        wide, Y
    )
    assert [m.coef_.size for m in models] == [shown.size for shown in models.estimators_features_]
    with pytest.raises(ValueError, match="choose features='per_tree'"):
        CostBaggingClassifier(bootstrap_features=True).fit(X, Y)


def test_samples_that_cannot_be_drawn_again_are_not_told() -> None:
    for model in (CostBaggingClassifier(sampling="under", **FEW), CostBaggingClassifier(bootstrap=False, **FEW)):
        assert not hasattr(model.fit(X, Y), "estimators_samples_")
        assert [shown.tolist() for shown in model.estimators_features_] == [[0, 1, 2, 3]] * 8


def test_max_samples_says_how_many_records_a_member_has() -> None:
    for size, expected in ((50, 50), (0.2, 60), (1.0, 300)):
        forest = CostBaggingClassifier(max_samples=size, **FEW).fit(X, Y)
        assert {int(tree.members_.trees.nodes.counts[0].sum()) for tree in forest} == {expected}


def test_without_bootstrap_all_members_have_all_records_or_different_parts() -> None:
    whole = CostBaggingClassifier(CostTreeClassifier(), bootstrap=False, **FEW).fit(X, Y)
    np.testing.assert_array_equal(whole.predict_proba(X), CostTreeClassifier().fit(X, Y).predict_proba(X))
    assert not hasattr(whole, "oob_score_")
    part = CostBaggingClassifier(bootstrap=False, max_samples=0.5, **FEW).fit(X, Y)
    assert part.validation_.out_of_bag.sum(axis=0).tolist() == [150] * 8
    assert np.isfinite(part.oob_score_)


def test_samples_that_cannot_be_drawn_are_refused() -> None:
    for amount in (0, -0.5, float("inf")):
        with pytest.raises(ValueError, match=f"max_samples={amount} is not valid"):
            CostBaggingClassifier(max_samples=amount).fit(X, Y)
    with pytest.raises(ValueError, match="choose one of the two"):
        CostBaggingClassifier(max_samples=10, sampling="under").fit(X, Y)
    with pytest.raises(SamplingError, match="without replacement"):
        CostBaggingClassifier(max_samples=301, bootstrap=False).fit(X, Y)
    with pytest.raises(SamplingError, match="no sample of 1 of the 300 records has both classes"):
        CostBaggingClassifier(max_samples=1).fit(X, Y)


# Out of the bag


def test_out_of_bag_scores_are_those_of_members_that_did_not_see_a_record() -> None:
    forest = CostBaggingClassifier(n_estimators=4, random_state=0).fit(X, Y, fp_cost=1, fn_cost=3)
    votes = np.stack([tree.predict_proba(X) for tree in forest.estimators_])
    unseen = forest.validation_.out_of_bag.T[:, :, None]
    known = unseen.any(axis=0)[:, 0]
    expected = (votes * unseen).sum(axis=0)[known] / unseen.sum(axis=0)[known]
    found = forest.oob_decision_function_
    np.testing.assert_allclose(found[known], expected)
    assert np.isnan(found[~known]).all()
    assert (~known).any()
    decided = (found[known, 1] > 0.25).astype(int)
    assert forest.oob_score_ == pytest.approx(savings_score(Y[known], decided, fp_cost=1, fn_cost=3))
    assert forest.oob_score_ == forest.oob_savings_


# Members


@each_ensemble
def test_an_ensemble_has_a_length_and_members_by_number(model: Any) -> None:
    fitted = clone(model).fit(X, Y)
    assert len(fitted) == len(fitted.estimators_) == len(list(fitted)) == len(fitted.members_)
    np.testing.assert_array_equal(fitted[-1].predict(X), fitted.estimators_[len(fitted) - 1].predict(X))
    for some, expected in zip(fitted[-2:], list(fitted)[-2:], strict=True):
        np.testing.assert_array_equal(some.predict(X), expected.predict(X))
    with pytest.raises(IndexError):
        fitted[len(fitted)]


def test_the_members_of_bagging_average_to_it() -> None:
    forest = CostBaggingClassifier(decision=Decision(leaf="frequency", threshold="cost"), **FEW).fit(KINDS, Y)
    mean = np.mean([tree.predict_proba(KINDS) for tree in forest], axis=0)
    np.testing.assert_allclose(forest.predict_proba(KINDS), mean)
    np.testing.assert_array_equal(forest.apply(KINDS), np.column_stack([tree.apply(KINDS) for tree in forest]))
    assert "kind in" in "".join(tree.export_text() for tree in forest)


@pytest.mark.parametrize("kind", [CostBaggingClassifier, CostBoostClassifier])
def test_members_have_the_positive_class_of_the_last_fit(kind: Any) -> None:
    model = kind(n_estimators=2, random_state=0, pos_label=0).fit(X, Y, fp_cost=1, fn_cost=20)
    before = model[0].predict_proba(X), model[0].predict(X)
    model.set_params(pos_label=1)
    np.testing.assert_array_equal(model[0].predict_proba(X), before[0])
    np.testing.assert_array_equal(model[0].predict(X), before[1])


def test_the_members_of_boosting_vote_as_they_do_in_it() -> None:
    model = CostBoostClassifier(CostTreeClassifier(max_depth=2), **FEW).fit(KINDS, Y)
    votes = np.stack([2.0 * tree.predict(KINDS) - 1 for tree in model])
    np.testing.assert_allclose(
        model.decision_function(KINDS), model.estimator_weights_ @ votes / model.estimator_weights_.sum()
    )


@pytest.mark.parametrize("label", ["yes", "no"])
def test_the_margin_of_bagging_is_the_difference_of_mean_probabilities(label: str) -> None:
    forest = CostBaggingClassifier(pos_label=label, **FEW).fit(X, np.array(["no", "yes"])[Y])
    no, yes = forest.predict_proba(X).T
    np.testing.assert_allclose(forest.decision_function(X), yes - no)


# Paths


def test_paths_lead_from_the_root_to_the_leaf() -> None:
    tree = CostTreeClassifier(max_depth=4).fit(KINDS, Y)
    paths = tree.decision_path(KINDS)
    assert paths.shape == (300, tree.members_.trees.nodes.feature.size)
    np.testing.assert_array_equal(paths.sum(axis=0), tree.members_.trees.nodes.counts.sum(axis=1))
    leaf = tree.apply(KINDS)
    assert (paths[np.arange(300), leaf] == 1).all()
    np.testing.assert_array_equal(paths.sum(axis=1), tree.members_.trees.depth[leaf] + 1)


def test_paths_of_an_ensemble_are_those_of_its_trees_side_by_side() -> None:
    forest = clone(ENSEMBLES["boosting"]).fit(KINDS, Y)
    paths, start = forest.decision_path(KINDS)
    assert len(start) == len(forest) + 1
    for number, tree in enumerate(forest):
        part = paths[:, start[number] : start[number + 1]].toarray()
        assert part[np.arange(300), forest.apply(KINDS)[:, number]].all()
        np.testing.assert_array_equal(part, tree.decision_path(KINDS).toarray())
    with pytest.raises(AttributeError, match="only ensembles of trees"):
        clone(ENSEMBLES["models"]).fit(X, Y).apply(X)


# Warm start


@pytest.mark.parametrize("name", ["bagging", "forest", "models"])
def test_a_warm_start_adds_the_members_of_a_longer_fit(name: str) -> None:
    model = clone(ENSEMBLES[name]).set_params(n_estimators=3, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=8).fit(X, Y)
    whole = clone(ENSEMBLES[name]).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert model.oob_cost_ == whole.oob_cost_
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ValueError, match=r"n_estimators=2 must be larger or equal to len\(estimators_\)=8"):
        model.set_params(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="needs the records of the last fit: 300 then, 200 now"):
        model.set_params(n_estimators=9).fit(X[:200], Y[:200])


@pytest.mark.parametrize("kind", [CostBaggingClassifier, CostBoostClassifier])
def test_the_warning_of_a_warm_start_that_adds_nothing_names_the_line_that_asked_for_it(kind: Any) -> None:
    model = kind(warm_start=True, n_estimators=3, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="without increasing n_estimators") as told:
        _fit_again(model)
    assert told[0].lineno == _fit_again.__code__.co_firstlineno + 1


def _fit_again(model: Any) -> None:
    model.fit(X, Y)


def test_a_warm_start_holds_out_the_same_records() -> None:
    model = CostBaggingClassifier(validation=0.3, warm_start=True, n_estimators=3).fit(X, Y)
    first = model.validation_.records.X
    np.testing.assert_array_equal(model.set_params(n_estimators=6).fit(X, Y).validation_.records.X, first)


BOOSTED = {
    "stumps": CostBoostClassifier(**FEW),
    "features drawn": CostBoostClassifier(CostTreeClassifier(max_depth=2, max_features=2), **FEW),
    "samples": CostBoostClassifier(CostTreeClassifier(max_depth=2), sampling="under", fn_cost=3, **FEW),
    "held out": CostBoostClassifier(CostTreeClassifier(max_depth=2), variant="uboost", **FEW),
    "models": CostBoostClassifier(DecisionTreeClassifier(max_depth=2, max_features=1), variant="adac1", **FEW),
    "tuned members": CostBoostClassifier(decision=Decision(member="tuned"), fn_cost=3, **FEW),
    "prices": CostBoostClassifier(CostTreeClassifier(max_depth=2, feature_costs=[4.0, 2.0, 1.0, 1.0]), **FEW),
    "as published": CostBoostClassifier(variant="csb2", variant_params={"costs_per_round": "full"}, **FEW),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_a_warm_start_of_boosting_is_a_longer_fit(name: str) -> None:
    weight = 1 + X[:, 3]
    model = clone(BOOSTED[name]).set_params(n_estimators=3, warm_start=True).fit(X, Y, sample_weight=weight)
    assert model.n_rounds_ == 3
    model = loads(dumps(model))
    model.set_params(n_estimators=8).fit(X, Y, sample_weight=weight)
    whole = clone(BOOSTED[name]).fit(X, Y, sample_weight=weight)
    assert whole.n_rounds_ > 3
    np.testing.assert_array_equal(model.estimator_weights_, whole.estimator_weights_)
    np.testing.assert_array_equal(model.estimator_errors_, whole.estimator_errors_)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert model.stop_reason_ == whole.stop_reason_
    with pytest.raises(ValueError, match="300 then, 200 now"):
        model.set_params(n_estimators=9).fit(X[:200], Y[:200])
    with pytest.raises(ValueError, match="must be larger or equal"):
        model.set_params(n_estimators=2).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("model", [ENSEMBLES["forest"], ENSEMBLES["models"], BOOSTED["samples"], BOOSTED["models"]])
def test_a_warm_start_is_not_disturbed_by_that_of_a_classifier_with_another_decision(model: Any) -> None:
    first = clone(model).set_params(n_estimators=3, warm_start=True).fit(X, Y)
    first.with_decision(Decision(threshold="half")).set_params(n_estimators=5).fit(X, 1 - Y)
    first.set_params(n_estimators=7).fit(X, Y)
    whole = clone(model).set_params(n_estimators=7).fit(X, Y)
    np.testing.assert_array_equal(first.predict_proba(X), whole.predict_proba(X))


def test_a_warm_start_adds_nothing_to_boosting_that_has_ended() -> None:
    model = CostBoostClassifier(warm_start=True, n_estimators=3).fit(Y[:, None], Y)
    assert model.stop_reason_ == PERFECT
    assert model.set_params(n_estimators=9).fit(Y[:, None], Y).n_rounds_ == 1


@pytest.mark.parametrize("variant", ["asymmetric", "csb0", "adac2", "adac3"])
def test_costs_that_are_spread_over_all_rounds_leave_no_room_for_more(variant: str) -> None:
    with pytest.raises(ValueError, match=f"cannot add rounds to variant='{variant}'"):
        CostBoostClassifier(variant=variant, warm_start=True).fit(X, Y)


# Other methods


@pytest.mark.parametrize(
    "model", [CostTreeClassifier(), MetaCostClassifier(random_state=0), *ENSEMBLES.values()], ids=str
)
def test_logarithms_of_probabilities_and_the_number_of_classes(model: Any) -> None:
    fitted = clone(model).fit(X, Y)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))
    assert fitted.n_classes_ == 2
    assert not hasattr(clone(model), "n_classes_")


# Boosting


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 2.0])
def test_a_learning_rate_boosts_as_scikit_learn_does(rate: float) -> None:
    ours = CostBoostClassifier(n_estimators=10, learning_rate=rate, random_state=0).fit(X, Y)
    theirs = AdaBoostClassifier(n_estimators=10, learning_rate=rate, random_state=0).fit(X, Y)
    np.testing.assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_)
    np.testing.assert_allclose(2 * ours.decision_function(X), theirs.decision_function(X))
    with pytest.raises(ValueError, match="learning_rate=0 is not valid"):
        CostBoostClassifier(learning_rate=0).fit(X, Y)


def test_stages_end_in_the_whole() -> None:
    costs = {"fp_cost": 1, "fn_cost": 1 + X[:, 3]}
    model = CostBoostClassifier(**FEW).fit(X, Y, **costs)
    first = CostBoostClassifier(n_estimators=3, random_state=0).fit(X, Y, **costs)
    for staged, whole in (
        (list(model.staged_predict(X, **costs)), lambda m: m.predict(X, **costs)),
        (list(model.staged_predict_proba(X)), lambda m: m.predict_proba(X)),
        (list(model.staged_decision_function(X)), lambda m: m.decision_function(X)),
        (list(model.staged_score(X, Y, **costs)), lambda m: m.score(X, Y, **costs)),
    ):
        assert len(staged) == model.n_rounds_
        np.testing.assert_allclose(staged[-1], whole(model))
        np.testing.assert_allclose(staged[2], whole(first))


def test_a_margin_is_about_the_second_class() -> None:
    names = np.array(["bad", "good"])[Y]
    good, bad = (CostBoostClassifier(pos_label=label, **FEW).fit(X, names) for label in ("good", "bad"))
    np.testing.assert_allclose(good.decision_function(X), bad.decision_function(X))
    np.testing.assert_array_equal(good.decision_function(X) > 0, good.predict(X) == "good")
