"""Prices of features: what may be given, what it means, and what records pay."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostGradientBoostingClassifier,
    CostTeamClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
    list_methods,
    make_classifier,
)
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import CostsError
from stakes.feature_costs import FeatureCosts, load_feature_costs
from stakes.metrics import make_cost_scorer, total_cost
from stakes.persist import dumps, loads

FEATURES = ["age", "tsh", "t3", "fti"]
BLOOD = {"age": 1, "tsh": (20, "blood"), "t3": {"price": 9, "group": "blood"}, "blood": 2, "fti": (0, ["tsh", "t3"])}


def every_use() -> np.ndarray:
    return np.array([[i >> j & 1 for j in range(4)] for i in range(16)], dtype=bool)


def paid_plainly(used: np.ndarray) -> float:
    age, tsh, t3, fti = used
    return age + 20 * (tsh or fti) + 9 * (t3 or fti) + 2 * (tsh or t3 or fti)


def test_a_record_pays_for_each_item_once_and_for_what_its_features_are_made_of():
    used = every_use()
    paid = FeatureCosts.of(BLOOD, FEATURES).paid(used)
    assert paid.tolist() == [paid_plainly(row) for row in used]


def test_a_group_without_a_price_of_its_own_is_paid_instead_of_its_features():
    costs = FeatureCosts.of({"tsh": (30, "blood"), "t3": (30, "blood"), "age": 1}, FEATURES)
    used = every_use()
    assert costs.paid(used).tolist() == [30 * (row[1] or row[2]) + row[0] for row in used]
    with pytest.raises(CostsError, match=r"different prices for .'tsh', 't3'. of the group 'blood'"):
        FeatureCosts.of({"tsh": (30, "blood"), "t3": (20, "blood")}, FEATURES)


def test_an_array_has_a_price_for_each_feature():
    assert FeatureCosts.of([1, 0, np.inf, 2], FEATURES).paid(every_use()[[0, 1, 2, 4, 9]]).tolist() == [
        0,
        1,
        0,
        np.inf,
        3,
    ]
    assert not FeatureCosts.of([0, 0, 0, 0], FEATURES)
    assert not FeatureCosts.of(None, FEATURES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], "a price for each of the 4 features"),
        ("blood", "a price for each of the 4 features"),
        ({"age": -1}, r"feature_costs\['age'\]=-1 is not valid"),
        ({"age": "dear"}, r"feature_costs\['age'\]='dear' is not valid"),
        ({"age": np.nan}, "at least 0"),
        ({"age": (1, 2, 3)}, "a pair"),
        ({"age": {"cost": 1}}, "has .'cost'.: it may have 'price' and 'group'"),
        ({"height": 1}, "has .'height'., which are neither features nor a group"),
        ({"age": (5, ["a", "b"])}, "'age' in several groups without prices of their own"),
    ],
)
def test_errors_name_the_entry(given, message):
    with pytest.raises(CostsError, match=message):
        FeatureCosts.of(given, FEATURES)


def test_files_of_all_kinds_say_the_same(tmp_path):
    (tmp_path / "a.csv").write_text("feature,price,group\nage,1,\ntsh,20,blood\nt3,9,blood\nblood,2,\nfti,,tsh + t3\n")
    (tmp_path / "b.json").write_text(json.dumps(BLOOD))
    (tmp_path / "c.toml").write_text(
        'age = 1\nblood = 2\ntsh = {price = 20, group = "blood"}\nt3 = {price = 9, group = "blood"}\n'
        'fti = {group = ["tsh", "t3"]}\n'
    )
    used = every_use()
    for name in ("a.csv", "b.json", "c.toml"):
        costs = FeatureCosts.of(load_feature_costs(tmp_path / name), FEATURES)
        assert costs.paid(used).tolist() == [paid_plainly(row) for row in used]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "name,price\nage,1\n", "no column 'feature'"),
        ("a.csv", "feature,price\nage,1\nage,2\n", "'age' twice"),
        ("a.csv", "feature,price\nage,1\ntsh,\n", "neither a price nor a group for 'tsh'"),
        ("a.json", "[1, 2]", "no prices by name"),
        ("a.json", "{", "cannot be read"),
        ("a.toml", "age = ", "cannot be read"),
        ("nowhere.csv", None, "cannot be read"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(CostsError, match=message):
        load_feature_costs(tmp_path / name)


def records(n: int = 400) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).round(1)
    y = (X @ [0.5, 1.0, 1.0, 0.3] + rng.normal(size=n) > 1).astype(int)
    X[rng.random((n, 4)) < 0.1] = np.nan
    return pl.DataFrame(X, schema=FEATURES).fill_nan(None), y


def paid_by_paths(model, frame: pl.DataFrame, members: list[int], values: str = "known") -> np.ndarray:
    """Walk the path of each record through the nodes of each member, and pay."""
    nodes, binned = model.members_.trees.nodes, model.binning_
    paths, first = model.decision_path(frame) if hasattr(model, "estimators_") else (model.decision_path(frame), [0])
    known = ~np.isnan(frame.to_numpy().astype(float))
    assert binned.names_ == FEATURES
    paid = []
    for i, path in enumerate(paths.toarray().astype(bool)):
        used = np.zeros(4, bool)
        for node in np.flatnonzero(path):
            member = np.searchsorted(first, node, side="right") - 1
            if nodes.feature[node] >= 0 and member in members:
                used[nodes.feature[node]] = True
        paid.append(paid_plainly(used & {"known": known[i], "missing": ~known[i], "all": True}[values]))
    return np.array(paid, dtype=float)


@pytest.mark.parametrize("values", ["known", "missing", "all"])
def test_a_tree_charges_the_path_of_each_record(values):
    frame, y = records()
    tree = CostTreeClassifier(feature_costs=BLOOD, max_depth=3).fit(frame, y)
    assert np.array_equal(tree.acquisition_cost(frame, values=values), paid_by_paths(tree, frame, [0], values))
    assert tree.features_used(frame).any(axis=0).sum() > 1


@pytest.mark.parametrize(
    "ensemble",
    [
        CostBaggingClassifier(CostTreeClassifier(feature_costs=BLOOD, max_depth=2), n_estimators=5, random_state=0),
        CostBoostClassifier(CostTreeClassifier(feature_costs=BLOOD, max_depth=2), n_estimators=4, random_state=0),
        make_classifier("rf", feature_costs=BLOOD, max_depth=2, n_estimators=5, random_state=0),
    ],
    ids=["bagging", "boosting", "rf"],
)
def test_a_record_pays_for_each_item_once_over_all_members(ensemble):
    frame, y = records()
    ensemble.fit(frame, y)
    members = list(range(len(ensemble)))
    assert np.array_equal(ensemble.acquisition_cost(frame), paid_by_paths(ensemble, frame, members))
    assert (ensemble.acquisition_cost(frame) >= ensemble[0].acquisition_cost(frame)).all()


def test_members_that_pruning_leaves_out_cost_nothing():
    frame, y = records()
    tree = CostTreeClassifier(feature_costs=BLOOD, max_depth=1)
    whole = CostBaggingClassifier(tree, n_estimators=20, features="per_tree", random_state=0).fit(frame, y)
    pruned = whole.with_decision(Decision(output="vote", vote_weight="pruned"))
    kept = pruned.reader_.members.tolist()
    assert 0 < len(kept) < 20
    assert np.array_equal(pruned.acquisition_cost(frame), paid_by_paths(whole, frame, kept))


def test_later_rounds_of_boosting_find_what_earlier_ones_bought_for_free():
    # Two equally good copies of a feature: once the first is bought, the other is never worth its price again.
    rng = np.random.default_rng(0)
    x = rng.normal(size=500).round(1)
    y = (x + rng.normal(size=500) > 0).astype(int)
    stump = CostTreeClassifier(max_depth=1, criterion="entropy", feature_costs=[1.0, 1.0])
    X = np.column_stack([x, np.where(rng.random(500) < 0.02, -x, x)])
    boosted = CostBoostClassifier(stump, n_estimators=10, random_state=0).fit(X, y)
    assert set(boosted.members_.trees.nodes.feature) == {-1, boosted.members_.trees.nodes.feature[0]}
    assert boosted.acquisition_cost(X) == pytest.approx(1.0)
    free = CostBoostClassifier(CostTreeClassifier(max_depth=1, criterion="entropy"), n_estimators=10, random_state=0)
    assert set(free.fit(X, y).members_.trees.nodes.feature) == {-1, 0, 1}


def test_a_bias_by_name_still_holds_after_earlier_rounds_have_paid():
    frame, y = records()
    tree = CostTreeClassifier(max_depth=2, feature_costs=BLOOD, price_bias={"blood": 0.5, "tsh": 0.1})
    boosted = CostBoostClassifier(tree, n_estimators=5, random_state=0).fit(frame, y)
    assert len(boosted) > 1


def test_boosting_without_prices_is_what_it_was():
    frame, y = records()
    free = dict.fromkeys(FEATURES, 0)
    plain, priced = make_classifier("ab", n_estimators=5), make_classifier("ab", n_estimators=5, feature_costs=free)
    assert np.array_equal(plain.fit(frame, y).predict_proba(frame), priced.fit(frame, y).predict_proba(frame))


def test_models_that_are_no_trees_of_the_engine_pay_for_all_they_are_given():
    frame, y = records()
    full = frame.fill_null(0.0)
    linear = CostDecisionClassifier(LogisticRegression()).fit(full, y)
    assert (linear.acquisition_cost(full, feature_costs=BLOOD) == 32).all()
    with pytest.raises(CostsError, match="pass feature_costs="):
        linear.acquisition_cost(full)
    with_constant = full.with_columns(age=pl.lit(1.0))
    boosted = CostGradientBoostingClassifier(n_estimators=5).fit(with_constant, y)
    assert (boosted.acquisition_cost(with_constant, feature_costs=BLOOD) == 31).all()  # LightGBM cannot use a constant
    final = CostTreeClassifier(feature_costs=BLOOD, max_depth=1)
    taught = MetaCostClassifier(CostBaggingClassifier(n_estimators=5), final_estimator=final, random_state=0)
    taught.fit(frame, y)
    assert np.array_equal(taught.acquisition_cost(frame), taught.estimator_.acquisition_cost(frame))
    team = CostTeamClassifier([("tree", CostTreeClassifier(max_depth=1)), ("linear", linear.estimator)], cv=2)
    team.fit(full, y)
    needed = FeatureCosts.of(BLOOD, FEATURES).paid(team.features_used(full))
    assert np.array_equal(team.acquisition_cost(full, feature_costs=BLOOD), needed)


OF_TREES = [m.name for m in list_methods() if m.family in ("tree", "bagging", "boosting")]


@pytest.mark.parametrize("name", OF_TREES)
def test_all_methods_of_trees_take_prices_by_name(name):
    classifier = make_classifier(name, feature_costs=BLOOD, price_exponent=0.5)
    assert classifier.feature_costs_ == BLOOD
    assert clone(classifier).feature_costs_ == BLOOD


@pytest.mark.parametrize("name", ["tree", "rf", "csrdf", "ab", "mc-rf", "easy"])
def test_models_with_prices_are_the_same_from_a_file(name):
    frame, y = records()
    members = {} if name == "tree" else {"n_estimators": 3}
    model = make_classifier(name, feature_costs=BLOOD, random_state=0, **members).fit(
        frame, y, fp_cost=100, fn_cost=500
    )
    again = loads(dumps(model))
    assert again.feature_costs_ == BLOOD
    assert np.array_equal(again.acquisition_cost(frame), model.acquisition_cost(frame))
    assert again.acquisition_cost(frame).max() > 0


def test_a_search_finds_the_cheapest_exponent_with_what_is_paid():
    frame, y = records()
    tree = CostTreeClassifier(criterion="entropy", max_depth=2, feature_costs=BLOOD, fp_cost=10, fn_cost=40)
    scorer = make_cost_scorer(total_cost, fp_cost=10, fn_cost=40)
    found = GridSearchCV(tree, {"price_exponent": [0.0, 3.0]}, scoring=scorer, cv=3).fit(frame, y)
    by_hand = []
    for exponent in (0.0, 3.0):
        costs = []
        for train, test in StratifiedKFold(3).split(frame, y):
            model = clone(tree).set_params(price_exponent=exponent).fit(frame[train], y[train])
            mistakes = total_cost(y[test], model.predict(frame[test]), fp_cost=10, fn_cost=40)
            costs.append(mistakes + model.acquisition_cost(frame[test]).sum())
        by_hand.append(-np.mean(costs))
    assert found.cv_results_["mean_test_score"] == pytest.approx(by_hand)
    assert by_hand[0] != by_hand[1]


def test_a_delivered_model_finds_its_columns_and_has_its_prices():
    frame, y = records()
    tree = CostTreeClassifier(max_depth=2).fit(frame, y)
    model = DeliveredClassifier(tree, (0, 1), FEATURES, feature_costs=BLOOD)
    shuffled = frame.select("fti", "t3", "age", "tsh")
    expected = tree.acquisition_cost(frame, feature_costs=BLOOD)
    assert np.array_equal(model.acquisition_cost(shuffled), expected)


def test_a_bias_of_what_has_no_price_is_told_what_has_one():
    costs = FeatureCosts.of({"a": 1.0, "b": 2.0}, ["a", "b", "c"])
    with pytest.raises(CostsError, match=r"price_bias has \['d'\].*: these are a, b, c$"):
        costs.scaled({"d": 0.5})
