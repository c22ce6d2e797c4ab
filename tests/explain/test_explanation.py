"""Explanations of all classifiers: they add up to the score, in shares and in money, and tell the truth in words."""

from itertools import combinations
from math import factorial
from timeit import repeat

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from scipy import sparse
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from stakes import (
    CostBaggingClassifier,
    CostDecisionClassifier,
    CostStackingClassifier,
    CostTeamClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
    decisions_for,
    list_methods,
    make_classifier,
)
from stakes._estimation import estimated_cost
from stakes.datasets import make_churn
from stakes.decision.calibration import Platt
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import CostsNeededError
from stakes.explain.permutations import background_of
from stakes.persist import dumps, loads

pytestmark = pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")

TRAIN, NEW = make_churn(300, random_state=0), make_churn(25, random_state=1)
COSTS = {"fp_cost": NEW.costs.fp, "fn_cost": NEW.costs.fn}
FAST = ("tree", "wrf", "dm-cprbg", "m2", "ub", "csb1", "cab", "dab", "ssb", "easy", "lr", "gb", "imblearn-brf", "mc-rf")


def fit(clf, data=TRAIN):
    return clf.fit(data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn)


def by_name(name, **params):
    method = list_methods().filter(name=name)[0]
    few = {"n_estimators": 5} if "n_estimators" in method.make.names else {}
    return fit(make_classifier(name, random_state=0, **few, **params))


def check_additive(clf, explanation, frame=NEW.frame, costs=COSTS):
    total = explanation.base + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, explanation.score, atol=1e-9)
    np.testing.assert_allclose(explanation.score, clf.predict_proba(frame, **costs)[:, 1], atol=1e-12)


def explain(clf, **options):
    explanation = clf.explain(NEW.frame, **COSTS, **options)
    check_additive(clf, explanation)
    return explanation


@pytest.mark.parametrize("name", FAST)
def test_contributions_of_a_method_add_up_to_its_score(name):
    found = explain(by_name(name), n_samples=3)
    assert found.exact == (name != "imblearn-brf")
    assert found.values.shape == (25, 7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in list_methods().names if name not in FAST])
def test_contributions_of_all_methods_add_up_to_their_scores(name):
    explain(by_name(name), n_samples=3)


@pytest.mark.parametrize("name", ["rf", "wbg", "ab"])
def test_contributions_of_every_decision_add_up_to_its_score(name):
    clf = by_name(name, validation=None)
    decisions = [option.decision for option in decisions_for(clf)]
    different = {(d.member, d.output, d.vote_weight, d.calibration): d for d in decisions}
    assert len(different) > 10
    for decision in different.values():
        explain(clf.with_decision(decision))


def shapley(value, n_features):
    phi = np.zeros(n_features)
    for j in range(n_features):
        others = [i for i in range(n_features) if i != j]
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            for known in combinations(others, size):
                phi[j] += weight * (value({*known, j}) - value(set(known)))
    return phi


def expected_score(clf, bins, known, threshold):
    """The share of members that vote for a record by its costs, where only some features are known."""
    trees, nodes = clf.members_.trees, clf.members_.trees.nodes
    p, cover = clf.members_.leaves.probability("supported"), clf.members_.trees.nodes.counts.sum(axis=1)

    def below(node):
        if nodes.feature[node] < 0:
            return float(p[trees.leaf_number[node]] > threshold)
        left = nodes.left[node]
        if nodes.feature[node] in known:
            bin_ = int(bins[nodes.feature[node]])
            if nodes.category_set[node] >= 0:
                goes = int(nodes.categories_left[nodes.category_set[node]][bin_ // 64]) >> (bin_ % 64) & 1
            else:
                goes = nodes.missing_left[node] if bin_ == 0 else bin_ <= nodes.threshold[node]
            return below(left if goes else left + 1)
        return (cover[left] * below(left) + cover[left + 1] * below(left + 1)) / cover[node]

    return np.mean([below(root) for root in trees.roots])


def test_votes_by_costs_are_explained_by_the_costs_of_each_record():
    clf = by_name("dm-bg", max_depth=4)
    found = explain(clf)
    bins, threshold = clf._read(NEW.frame, reset=False), NEW.costs.threshold()
    for i in (0, 7, 11):
        phi = shapley(lambda known, i=i: expected_score(clf, bins[i], known, threshold[i]), 7)
        np.testing.assert_allclose(found.values[i], phi, atol=1e-12)
        assert found.base[i] == pytest.approx(expected_score(clf, bins[i], set(), threshold[i]))


def test_contributions_in_money_add_up_to_the_expected_saving():
    clf = by_name("rf")
    found = explain(clf)
    p = clf.predict_proba(NEW.frame, **COSTS)[:, 1]
    saving = p * NEW.costs.fn - (1 - p) * NEW.costs.fp
    np.testing.assert_allclose(found.saving, saving)
    np.testing.assert_allclose(found.base_saving + found.money.sum(axis=1), saving)


def test_importance_is_the_mean_size_of_contributions_in_money():
    found = explain(by_name("rf"))
    importance = found.importance()
    assert [row["feature"] for row in importance] == sorted(
        NEW.frame.columns, key=lambda name: -np.abs(found.money[:, NEW.frame.columns.index(name)]).mean()
    )
    first = NEW.frame.columns.index(importance[0]["feature"])
    assert importance[0]["value"] == pytest.approx(np.abs(found.money[:, first]).mean())


def test_features_without_effect_contribute_nothing():
    frame = TRAIN.frame.with_columns(constant=pl.lit(1.0))
    for name in ("rf", "gb", "lr"):
        clf = make_classifier(name, random_state=0)
        clf = clf.fit(frame, TRAIN.target, fp_cost=1, fn_cost=5)
        assert (clf.explain(frame[:10]).values[:, -1] == 0).all()
    X = np.c_[np.arange(80.0) % 9, np.ones(80)]
    sampled = CostDecisionClassifier(LogisticRegression()).fit(X, np.arange(80) % 9 > 4, fp_cost=1, fn_cost=1)
    values = sampled.explain(X[:5]).values
    assert (values[:, 1] == 0).all()
    assert (values[:, 0] != 0).all()


def test_lightgbm_is_explained_by_its_own_contributions():
    clf = by_name("gb")
    theirs = clf.boosters_[0].predict(clf._read(NEW.frame, reset=False), pred_contrib=True)
    found = explain(clf)
    np.testing.assert_allclose(logit(found.base), theirs[:, -1], atol=1e-6)
    # In the same proportions: the log-odds are stretched to the probability.
    scale = (found.score - found.base) / (logit(found.score) - logit(found.base))
    np.testing.assert_allclose(found.values, theirs[:, :-1] * scale[:, None], atol=1e-6)


def test_logistic_regression_is_explained_by_its_coefficients():
    clf = by_name("lr")
    found = explain(clf)
    # Exact on the log-odds: a change of one feature changes its own contribution only, by as much as the log-odds.
    changed = NEW.frame.with_columns(contract=pl.lit("monthly"))
    before, after = (model_margins(clf, frame) for frame in (NEW.frame, changed))
    j = NEW.frame.columns.index("contract")
    others = [i for i in range(7) if i != j]
    np.testing.assert_allclose(before.values[:, others], after.values[:, others], atol=1e-12)
    p = [clf.predict_proba(frame, **COSTS)[:, 1] for frame in (NEW.frame, changed)]
    np.testing.assert_allclose(after.values[:, j] - before.values[:, j], logit(p[1]) - logit(p[0]), atol=1e-9)
    assert found.exact


def model_margins(clf, frame):
    return clf.members_.models[0].margins(frame)


def test_a_bagging_of_lightgbm_on_some_features_each_is_exact():
    member = LGBMClassifier(n_estimators=5, num_leaves=4, min_child_samples=5, verbose=-1)
    X = TRAIN.frame.select("tenure", "monthly_charges", "support_calls").to_numpy()
    new = NEW.frame.select("tenure", "monthly_charges", "support_calls").to_numpy()
    for sampling in (None, "under"):
        clf = CostBaggingClassifier(
            member, n_estimators=4, features="per_tree", sampling=sampling, prior_correction=True, random_state=0
        )
        clf = clf.fit(X, TRAIN.target, fp_cost=1, fn_cost=5)
        found = clf.explain(new)
        assert found.exact
        check_additive(clf, found, new, {})


def test_members_that_vote_are_explained_as_a_whole():
    clf = CostBaggingClassifier(
        LogisticRegression(), n_estimators=3, decision=Decision(output="vote", member="cost"), random_state=0
    )
    X, new = (data.frame.select("tenure", "monthly_charges").to_numpy() for data in (TRAIN, NEW))
    clf = clf.fit(X, TRAIN.target, fp_cost=TRAIN.costs.fp, fn_cost=TRAIN.costs.fn)
    found = clf.explain(new, **COSTS, n_samples=5)
    assert not found.exact
    check_additive(clf, found, new)


def test_sampled_values_of_two_features_are_shapley_values_over_the_background():
    # An order and its reverse are all orders of two features.
    X, new = (data.frame.select("tenure", "monthly_charges").to_numpy() for data in (TRAIN, NEW))
    clf = CostDecisionClassifier(GaussianNB()).fit(X, TRAIN.target, fp_cost=1, fn_cost=5)
    found = clf.explain(new, n_samples=10)
    background = np.column_stack(list(clf.background_.values()))[:10]

    def score(records):
        return clf.predict_proba(records)[:, 1].mean()

    for i, record in enumerate(new):
        mixed = {(): background, (0, 1): record[None], (0,): background.copy(), (1,): background.copy()}
        for known in ((0,), (1,)):
            mixed[known][:, known[0]] = record[known[0]]
        phi = shapley(lambda known, mixed=mixed: score(mixed[tuple(sorted(known))]), 2)
        np.testing.assert_allclose(found.values[i], phi, atol=1e-12)


def test_sampled_values_do_not_depend_on_the_other_records():
    clf = by_name("imblearn-brf")
    together, alone = clf.explain(NEW.frame, n_samples=3), clf.explain(NEW.frame[4:6], n_samples=3)
    np.testing.assert_array_equal(together.values[4:6], alone.values)


@pytest.mark.parametrize("kind", [CostTeamClassifier, CostStackingClassifier])
def test_teams_are_explained_through_their_models(kind):
    exact = fit(kind([("rf", by_name("rf")), "ncsab", "lr"], cv=2, random_state=0))
    assert explain(exact).exact
    models = [("forest", by_name("rf")), ("bayes", CostDecisionClassifier(GaussianNB()))]
    X, new = (data.frame.select("tenure", "monthly_charges").to_numpy() for data in (TRAIN, NEW))
    mixed = kind(models, cv=2, random_state=0).fit(X, TRAIN.target, fp_cost=1, fn_cost=5)
    found = mixed.explain(new, n_samples=3)
    check_additive(mixed, found, new, {})
    assert found.exact == ("bayes" not in mixed.names_)


def test_the_mean_of_two_forests_is_explained_by_the_mean_of_their_explanations():
    from stakes.teams.blends import Team

    models = [("rf", by_name("rf")), ("bg", by_name("bg"))]
    team = CostTeamClassifier.from_fitted(
        models, Team(weights=np.array([0.25, 0.75]), calibrations=(None, None)), fp_cost=1, fn_cost=5
    )
    one, other = (model.explain(NEW.frame, **COSTS).values for _, model in models)
    np.testing.assert_allclose(team.explain(NEW.frame).values, 0.25 * one + 0.75 * other, atol=1e-12)


def test_metacost_is_explained_by_what_it_has_taught():
    taught = fit(MetaCostClassifier(by_name("bg"), random_state=0))
    np.testing.assert_array_equal(explain(taught).values, taught.estimator_.explain(NEW.frame).values)
    other = fit(MetaCostClassifier(by_name("bg"), final_estimator=make_classifier("lr"), random_state=0))
    explain(other)


def test_labels_in_another_order_change_the_sign():
    target = np.where(TRAIN.target == 1, "churned", "stayed")
    for name in ("rf", "gb", "mc-rf"):
        clf = make_classifier(name, random_state=0, pos_label="churned")
        found = clf.fit(TRAIN.frame, target, fp_cost=1, fn_cost=5).explain(NEW.frame)
        shares = clf.predict_proba(NEW.frame)
        np.testing.assert_allclose(found.base + found.values.sum(axis=1), shares[:, 0], atol=1e-9)


def test_delivered_models_explain_their_probability_with_columns_in_any_order():
    forest = by_name("rf")
    model = DeliveredClassifier(forest, ("stays", "leaves"), NEW.frame.columns, Platt(slope=-3.0, intercept=1.0))
    shuffled = NEW.frame.select(sorted(NEW.frame.columns, reverse=True)).with_columns(other=pl.lit(1))
    found = model.explain(shuffled, **COSTS)
    p = model.predict_proba(shuffled, **COSTS)[:, 0]  # of "leaves"
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), p, atol=1e-9)
    assert found.feature_names == tuple(NEW.frame.columns)


def test_reasons_name_features_with_their_values_and_money():
    frame = pl.DataFrame({"age": [2.0, None, 40.5, 30.0] * 20, "kind": ["a", "b", None, "b"] * 20, "flag": [True] * 80})
    clf = CostTreeClassifier().fit(frame, [0, 1, 1, 0] * 20, fp_cost=10, fn_cost=90)
    found = clf.explain(frame[:4])
    reasons = found.reasons(2)
    assert all(len(mine) <= 2 for mine in reasons)
    words = {reason.split(":")[0] for mine in reasons for reason in mine}
    assert "age = 2" in words
    assert words <= {"age = 2", "age is missing", "age = 40.5", "age = 30", "kind = a", "kind = b", "kind is missing"}
    largest = np.abs(found.money[2]).max()
    assert any(f"{largest:,.2f}".rstrip("0").rstrip(".") in reason for reason in reasons[2])


def test_reasons_are_the_largest_contributions_first():
    found = explain(by_name("rf"))
    for i, mine in enumerate(found.reasons(3)):
        order = np.argsort(-np.abs(found.money[i]))[:3]
        assert [reason.split(" ")[0] for reason in mine] == [found.feature_names[j] for j in order]
        assert [":+" in reason.replace(" ", "") for reason in mine] == [found.money[i, j] > 0 for j in order]


@pytest.mark.parametrize("name", ["rf", "imblearn-brf"])
def test_explanations_are_the_same_for_every_kind_of_frame(name):
    clf = by_name(name)
    theirs = clf.explain(pd.DataFrame(NEW.frame.to_dict(as_series=False)), **COSTS, n_samples=3)
    np.testing.assert_allclose(theirs.values, clf.explain(NEW.frame, **COSTS, n_samples=3).values, atol=1e-12)


@pytest.mark.parametrize("name", ["rf", "gb", "lr", "imblearn-brf"])
def test_a_model_from_a_file_explains_the_same(name):
    clf = by_name(name)
    same = loads(dumps(clf))
    np.testing.assert_array_equal(
        same.explain(NEW.frame, **COSTS, n_samples=3).values, clf.explain(NEW.frame, **COSTS, n_samples=3).values
    )


def test_the_background_has_no_record_of_the_training_data():
    frame = pl.DataFrame({"one": np.arange(200.0), "other": np.arange(200.0)})
    clf = CostDecisionClassifier(GaussianNB()).fit(frame, np.arange(200) % 2, fp_cost=1, fn_cost=1)
    one, other = clf.background_.values()
    assert len(one) == 64
    assert np.mean(np.array(one) == np.array(other)) < 0.1


def test_sparse_features_are_explained_without_filling_them_in_for_training():
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 3000, density=0.0005, format="csr", random_state=0)
    X[:, 0] = rng.integers(0, 2, 3000)[:, None]
    clf = CostDecisionClassifier(LogisticRegression()).fit(X, X[:, 0].toarray().ravel(), fp_cost=1, fn_cost=5)
    assert {len(values) for values in clf.background_.values()} == {64}
    few = CostDecisionClassifier(LogisticRegression()).fit(X[:, :5], X[:, 0].toarray().ravel(), fp_cost=1, fn_cost=5)
    found = few.explain(X[:10, :5])
    check_additive(few, found, X[:10, :5], {})
    assert (np.abs(found.values).argmax(axis=1) == 0).all()


def test_typical_values_of_sparse_features_take_no_longer_to_find_than_of_others():
    X = sparse.random(200, 20_000, density=0.002, format="csr", random_state=0)
    dense = X.toarray()

    def seconds(table):
        return min(repeat(lambda: background_of(table), repeat=3, number=1))

    assert background_of(X) == background_of(dense)
    assert seconds(X) < 10 * seconds(dense)


def test_money_needs_costs():
    clf = fit(CostBaggingClassifier(n_estimators=3, decision=Decision(threshold="half"), random_state=0))
    found = clf.explain(NEW.frame)
    assert found.reasons(1)
    with pytest.raises(CostsNeededError, match="fp_cost"):
        _ = found.money


def test_money_is_by_estimated_costs_where_they_are_not_given():
    X, new = (data.frame.select("tenure", "monthly_charges").to_numpy() for data in (TRAIN, NEW))
    clf = CostBaggingClassifier(n_estimators=3, cost_estimator=LinearRegression(), random_state=0)
    clf.fit(X, TRAIN.target, fp_cost=3, fn_cost=TRAIN.costs.fn)
    estimated = estimated_cost(clf.cost_estimators_["fn_cost"], new)
    found = clf.explain(new)
    np.testing.assert_allclose(found.money, found.values * (3 + estimated)[:, None])


class ByLength(ClassifierMixin, BaseEstimator):
    """Goes by how many items there are in the first cell of a record."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        share = np.array([len(record[0]) / 10 for record in X])
        return np.column_stack([1 - share, share])


@pytest.mark.parametrize("container", [list, tuple, dict.fromkeys, np.array])
def test_objects_that_only_models_can_read_are_no_trouble_but_for_explanations(container):
    X = np.empty((40, 1), object)
    X[:, 0] = [container(range(i % 9)) for i in range(40)]
    y = np.arange(40) % 2
    for clf in (CostDecisionClassifier(ByLength()), CostBaggingClassifier(ByLength(), n_estimators=2, random_state=0)):
        clf.fit(X, y, fp_cost=1, fn_cost=2)
        np.testing.assert_array_equal(clf.predict(X), [i % 9 > 3 for i in range(40)])
        with pytest.raises(ValueError, match="no typical values of its features are known"):
            clf.explain(X)


def test_a_wrong_number_of_samples_is_refused():
    with pytest.raises(ValueError, match="n_samples=0"):
        by_name("rf").explain(NEW.frame, **COSTS, n_samples=0)


def test_an_explanation_cannot_be_changed():
    found = explain(by_name("rf"))
    with pytest.raises(AttributeError):
        found.base = 0
    assert repr(found) == "Explanation(25 records, 7 features, exact)"
