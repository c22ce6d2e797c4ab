"""Gradient boosting on LightGBM, with costs in its weights, its loss or its decision."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold

from stakes import (
    CostDecisionClassifier,
    CostGradientBoostingClassifier,
    Costs,
    decisions_for,
    load,
    make_classifier,
    save,
)
from stakes._objectives import OBJECTIVES, SoftCost
from stakes.datasets import make_churn, make_transactions
from stakes.decision.cuts import fit_cuts
from stakes.persist import dumps, loads
from stakes.records import Records
from stakes.table import table_of

# The parameters of LightGBM that the defaults stand for.
SAME = {
    "num_leaves": 8, "max_delta_step": 1.0, "reg_lambda": 1.0, "n_estimators": 20, "min_child_samples": 20,
    "deterministic": True, "force_row_wise": True, "n_jobs": 1, "verbose": -1,
}  # fmt: skip


def small(objective: str = "cost", **params: Any) -> CostGradientBoostingClassifier:
    return CostGradientBoostingClassifier(**{"objective": objective, "n_estimators": 20, "random_state": 0} | params)


@pytest.fixture(scope="module")
def numbers() -> Any:
    """Return features with missing values, classes, and costs that differ from record to record."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=1500) > 2.0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, {"fp_cost": 0.5 + rng.random(1500), "fn_cost": rng.lognormal(1, 1, 1500)}


@pytest.fixture(scope="module")
def transactions() -> Any:
    return make_transactions(3000, random_state=0), make_transactions(3000, random_state=1)


def random_records(n: int = 200, weighted: bool = True) -> Records:
    rng = np.random.default_rng(1)
    costs = Costs(fp=rng.lognormal(0, 1, n), fn=rng.lognormal(2, 1, n))
    return Records(None, rng.random(n) < 0.3, costs, rng.random(n) if weighted else None)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_the_soft_cost_are_those_of_finite_differences(weighted):
    loss, score, step = SoftCost.of(random_records(weighted=weighted)), np.random.default_rng(2).normal(size=200), 1e-6
    gradient, _ = loss(score)
    np.testing.assert_allclose(gradient, (loss.loss(score + step) - loss.loss(score - step)) / (2 * step), atol=1e-8)


def test_curvatures_of_the_soft_cost_are_positive_and_at_least_the_second_derivatives():
    loss, score, step = SoftCost.of(random_records()), 3 * np.random.default_rng(2).normal(size=200), 1e-5
    _, curvature = loss(score)
    second = (loss(score + step)[0] - loss(score - step)[0]) / (2 * step)
    assert (curvature > 0).all()
    assert (curvature >= np.abs(second) - 1e-9).all()
    # Equal where the decision is as good as made.
    far = loss(np.full(200, 30.0))
    np.testing.assert_allclose(far[1], np.abs(far[0]))


def test_the_soft_cost_tends_to_the_cost_of_the_decision_by_t_cs():
    records = random_records()
    logit = np.random.default_rng(3).normal(size=200)
    # Scores whose distance to the threshold is stretched: P is on the same side of T_cs.
    stretched = 1e6 * (logit + records.log_cost_ratio) - records.log_cost_ratio
    wrong = (expit(logit) > records.costs.threshold()) != records.positive
    scale = records.loss.sum() / records.weight.sum()
    np.testing.assert_allclose(SoftCost.of(records).loss(stretched).sum() * scale, records.loss[wrong].sum())


@pytest.mark.parametrize("by", ["logistic", "weighted"])
def test_the_log_losses_are_those_of_lightgbm(numbers, by):
    X, y, costs = numbers
    ours = small(by).fit(X, y, **costs)
    cost = np.where(y == 1, costs["fn_cost"], costs["fp_cost"])
    weight = cost / cost.mean() if by == "weighted" else None
    theirs = LGBMClassifier(**SAME).fit(X, y, sample_weight=weight)
    p = theirs.predict_proba(X)[:, 1]
    np.testing.assert_allclose(ours.predict_proba(X)[:, 1], p, rtol=1e-6)
    threshold = 0.5 if by == "weighted" else costs["fp_cost"] / (costs["fp_cost"] + costs["fn_cost"])
    np.testing.assert_array_equal(ours.predict(X, **costs), p > threshold)
    gain = theirs.booster_.feature_importance("gain")
    np.testing.assert_allclose(ours.feature_importances_, gain / gain.sum(), rtol=1e-5)


def test_few_trees_on_weighted_records_start_where_they_can_come_back_from():
    """From the log-odds of positives ten times as dear, fifteen steps of 0.1 would not reach one half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=600) > 0).astype(int)
    model = small("weighted", n_estimators=15).fit(X, y, fn_cost=10.0)
    assert 0.5 < model.predict(X).mean() < 0.9
    for unit in (100.0, 0.01):
        other = small("weighted", n_estimators=15).fit(X, y, fp_cost=unit, fn_cost=10.0 * unit)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    early = small("weighted", n_estimators=15, early_stopping=10).fit(X, y, fn_cost=10.0)
    assert 0.5 < early.predict(X).mean() < 0.9
    read = loads(dumps(model))
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    # Leaves without a limit can go anywhere, and many trees far enough: they start from the log-odds, as in LightGBM.
    nothing = np.zeros((600, 1))
    log_odds = np.log(10.0 * y.sum() / (600 - y.sum()))
    for params, start in (
        ({"n_estimators": 15}, 0.75),
        ({"n_estimators": 30}, 1.5),
        ({"n_estimators": 15, "max_delta_step": 0.0}, log_odds),
        ({"n_estimators": 15, "lightgbm_params": {"max_bin": 255}}, log_odds),
        ({"n_estimators": 100}, log_odds),
    ):
        constant = small("weighted", **params).fit(nothing, y, fn_cost=10.0)
        np.testing.assert_allclose(constant.predict_proba(nothing)[:, 1], expit(start), rtol=1e-6)
    rare = small("weighted", n_estimators=15).fit(nothing, y, fp_cost=10.0)
    np.testing.assert_allclose(rare.predict_proba(nothing)[:, 1], expit(-0.75), rtol=1e-6)


def test_a_lightgbm_of_ones_own_is_decided_by_costs_too(numbers):
    X, y, costs = numbers
    own = CostDecisionClassifier(LGBMClassifier(**SAME)).fit(X, y, **costs)
    np.testing.assert_array_equal(own.predict(X, **costs), small("logistic").fit(X, y, **costs).predict(X, **costs))


def test_the_expected_cost_adds_trees_to_the_logistic_solution(numbers):
    X, y, costs = numbers
    logistic, refined = small("logistic").fit(X, y, **costs), small().fit(X, y, **costs)
    start, added = refined.boosters_
    assert start.model_to_string() == logistic.boosters_[0].model_to_string()
    assert refined.n_trees_ == 20 + added.num_trees()
    score = start.predict(X, raw_score=True) + added.predict(X, raw_score=True)
    np.testing.assert_allclose(refined.predict_proba(X)[:, 1], expit(score))
    none = small(refinement=0).fit(X, y, **costs)
    np.testing.assert_array_equal(none.predict_proba(X), logistic.predict_proba(X))


def test_the_number_of_trees_added_is_the_cheapest_in_cross_validation(numbers):
    X, y, costs = numbers
    model = small(refinement=20).fit(X, y, **costs)
    # The same in plain words: scores, and then the trees added to them, of models that have not seen the record.
    params = model._params(np.random.default_rng(0)) | {"seed": np.random.default_rng(0).integers(2**31)}
    records = Records(X, y == 1, Costs(fp=costs["fp_cost"], fn=costs["fn_cost"]))
    folds = list(StratifiedKFold(4, shuffle=True, random_state=int(params["seed"])).split(X, y))
    start, total = np.empty(1500), np.zeros(21)
    for train, test in folds:
        data = lightgbm.Dataset(X[train], y[train])
        start[test] = lightgbm.train(params, data, 20).predict(X[test], raw_score=True)
    for train, test in folds:
        loss = SoftCost.of(records.take(train))
        data = lightgbm.Dataset(X[train], y[train], init_score=start[train])
        added = lightgbm.train(params | {"objective": loss, "lambda_l2": 10.0}, data, 20)
        for k in range(21):
            score = start[test] + (added.predict(X[test], raw_score=True, num_iteration=k) if k else 0.0)
            acted = score > np.log(costs["fp_cost"][test] / costs["fn_cost"][test])
            total[k] += records.cost[test][acted != (y[test] == 1)].sum()
    assert 0 < total.argmin() < 20
    assert model.n_trees_ == 20 + total.argmin()


def test_results_do_not_depend_on_the_number_of_threads(numbers):
    X, y, costs = numbers
    given = {name: cost[:400] for name, cost in costs.items()}
    one, two = (
        small(n_jobs=n_jobs, n_estimators=5, refinement=2, subsample=0.7, colsample_bytree=0.7)
        .fit(X[:400], y[:400], **given)
        .predict_proba(X)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_results_do_not_depend_on_the_unit_of_costs(transactions, objective):
    train, new = transactions
    one, other = (
        small(objective)
        .fit(train.frame, train.target, fp_cost=5.0 * unit, fn_cost=train.costs.fn * unit)
        .predict_proba(new.frame)
        for unit in (1.0, 1 / 3)
    )
    np.testing.assert_array_equal(one, other)


def test_texts_are_split_as_categories_and_unseen_ones_are_missing():
    data = make_churn(600, random_state=0)
    model = small("logistic", min_child_samples=5).fit(data.frame, data.target)
    assert "==" in set(model.boosters_[0].trees_to_dataframe()["decision_type"])
    name = next(name for name, dtype in data.frame.schema.items() if dtype in (pl.String, pl.Enum, pl.Categorical))
    text = data.frame.with_columns(pl.col(name).cast(pl.String))
    rows = pl.int_range(pl.len()) % 2 == 0
    unseen, missing = (
        text.with_columns(pl.when(rows).then(pl.lit(value, pl.String)).otherwise(pl.col(name)).alias(name))
        for value in ("never seen", None)
    )
    np.testing.assert_array_equal(model.predict_proba(unseen), model.predict_proba(missing))


def test_leaves_of_rare_positives_have_bounded_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 3))
    y = (X[:, 0] > 3.0).astype(int)
    assert 10 < y.sum() < 50
    values = small("logistic", min_child_samples=5, learning_rate=0.1).fit(X, y).boosters_[0].trees_to_dataframe()
    leaves = values[(values["left_child"].isna()) & (values["tree_index"] > 0)]["value"]
    assert leaves.abs().max() <= 0.1 + 1e-9
    free = small("logistic", min_child_samples=5, max_delta_step=0.0).fit(X, y).boosters_[0].trees_to_dataframe()
    assert free[free["left_child"].isna() & (free["tree_index"] > 0)]["value"].abs().max() > 1.0


@pytest.mark.parametrize("objective", ["logistic", "weighted"])
def test_early_stopping_keeps_the_number_of_trees_that_costs_least_on_held_out_records(transactions, objective):
    train, new = transactions
    given = {"fp_cost": 5.0, "fn_cost": train.costs.fn}
    held_out = {"X_val": new.frame, "y_val": new.target, "fp_cost_val": 5.0, "fn_cost_val": new.costs.fn}
    stopped = small(objective, n_estimators=80, early_stopping=1000).fit(train.frame, train.target, **given, **held_out)
    full = small(objective, n_estimators=80).fit(train.frame, train.target, **given)
    X = full.encoder_.matrix(table_of(new.frame))
    threshold = 0.5 if objective == "weighted" else 5.0 / (5.0 + new.costs.fn)
    loss = np.where(new.target == 1, new.costs.fn, 5.0)
    costs = []
    for k in range(1, 81):
        p = expit(full.boosters_[0].predict(X, raw_score=True, num_iteration=k))
        costs.append(loss[(p > threshold) != (new.target == 1)].sum())
    assert 0 < np.argmin(costs) < 79
    assert stopped.n_trees_ == 1 + np.argmin(costs)


def test_early_stopping_goes_by_the_training_records_where_that_is_asked_for(transactions):
    train, _ = transactions
    given = {"fp_cost": 5.0, "fn_cost": train.costs.fn}
    params = {"early_stopping": 5, "n_estimators": 200, "learning_rate": 0.3}
    model = small("logistic", **params, validation=None).fit(train.frame, train.target, **given)
    held_out = {"X_val": train.frame, "y_val": train.target, "fp_cost_val": 5.0, "fn_cost_val": train.costs.fn}
    same = small("logistic", **params).fit(train.frame, train.target, **given, **held_out)
    assert model.n_trees_ == same.n_trees_ < 200


def test_early_stopping_holds_records_out_by_itself(transactions):
    train, _ = transactions
    model = small("logistic", early_stopping=5, n_estimators=200, learning_rate=0.3)
    model.fit(train.frame, train.target, fp_cost=5.0, fn_cost=train.costs.fn)
    assert model.n_trees_ < 200
    assert len(model.validation_.records) == 600


def test_records_without_weight_have_no_effect(numbers):
    X, y, costs = numbers
    weight = np.where(np.arange(1500) % 3 == 0, 0.0, 1.0)
    some = weight > 0
    of_some = {name: cost[some] for name, cost in costs.items()}
    for objective in OBJECTIVES:
        one = small(objective).fit(X, y, **costs, sample_weight=weight)
        other = small(objective).fit(X[some], y[some], **of_some, sample_weight=weight[some])
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("unit", [2.0**-300, 2.0**300])
def test_weights_too_large_or_small_for_single_precision_act_as_weights_of_mean_one(numbers, objective, unit):
    X, y, costs = numbers
    weight = np.where(np.arange(1500) % 2 == 0, 0.5, 1.5)
    expected = small(objective).fit(X, y, **costs, sample_weight=weight).predict_proba(X)
    found = small(objective).fit(X, y, **costs, sample_weight=unit * weight).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.unique(found).size > 10


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_models_come_back_from_files(transactions, objective, tmp_path):
    train, new = transactions
    given = {"fp_cost": 5.0, "fn_cost": new.costs.fn}
    model = small(objective).fit(train.frame, train.target, fp_cost=5.0, fn_cost=train.costs.fn)
    save(model, tmp_path / "model.skops")
    same = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(same.predict_proba(new.frame), model.predict_proba(new.frame))
    np.testing.assert_array_equal(same.predict(new.frame, **given), model.predict(new.frame, **given))


def test_all_decisions_are_made_on_one_training(transactions):
    train, new = transactions
    given = {"fp_cost": 5.0, "fn_cost": new.costs.fn}
    model = small("cost").fit(train.frame, train.target, fp_cost=5.0, fn_cost=train.costs.fn)
    decisions = [option.decision for option in decisions_for(model)]
    assert {decision.calibration for decision in decisions} == {None, "platt", "platt_logit", "isotonic"}
    readings = model.read(decisions, new.frame, **given)
    records = Records(None, new.target == 1, Costs(fp=5.0, fn=new.costs.fn))
    cuts = fit_cuts(decisions, readings, records)
    outcomes = model.evaluate(decisions, new.frame, **given, cuts=cuts).outcomes
    at = next(i for i, decision in enumerate(decisions) if decision.threshold == "tuned")
    moved = model.with_decision(decisions[at], cut=cuts[at])
    np.testing.assert_array_equal(moved.predict(new.frame, **given) == 1, outcomes[at])
    assert model.costs_acted_ is False


def test_the_labels_and_the_positive_class_are_the_users(numbers):
    X, y, costs = numbers
    words = np.where(y == 1, "bad", "good")
    named = small(pos_label="bad").fit(X, words, **costs)
    plain = small().fit(X, y, **costs)
    np.testing.assert_array_equal(named.predict(X, **costs) == "bad", plain.predict(X, **costs) == 1)
    np.testing.assert_array_equal(named.predict_proba(X)[:, 0], plain.predict_proba(X)[:, 1])


def test_further_parameters_go_to_lightgbm_and_overrule(numbers):
    X, y, costs = numbers
    model = small("logistic", lightgbm_params={"num_leaves": 3}).fit(X, y, **costs)
    assert model.boosters_[0].trees_to_dataframe().groupby("tree_index")["left_child"].count().max() == 2


def test_contributions_of_features_add_up_to_the_score(numbers):
    X, y, costs = numbers
    model = small().fit(X, y, **costs)
    assert len(model.boosters_) == 2
    values, base = model.members_.models[0].margins(X[:50])
    np.testing.assert_allclose(expit(base + values.sum(axis=1)), model.predict_proba(X[:50])[:, 1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"objective": "profit"}, "objective='profit' is not known: choose from 'logistic'"),
        ({"early_stopping": 0}, "early_stopping=0 is not valid"),
        ({"lightgbm_params": 3}, "lightgbm_params=3 is not valid: give a dict"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 is not valid"),
    ],
)
def test_wrong_parameters_are_named(numbers, wrong, message):
    X, y, _ = numbers
    with pytest.raises(ValueError, match=message):
        CostGradientBoostingClassifier(**wrong).fit(X, y)


def test_a_split_of_what_is_missing_from_what_is_not_comes_back_from_a_file():
    """LightGBM writes the threshold of such a split as inf."""
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.2).astype(int)
    x = np.where(rng.random(2000) < 0.2 + 0.5 * y, np.nan, rng.integers(1, 4, 2000))
    X = np.column_stack([x, rng.normal(size=2000)])
    model = make_classifier("gb", random_state=0).fit(X, y, fp_cost=1, fn_cost=3)
    content = dumps(model)
    np.testing.assert_array_equal(loads(content).predict_proba(X), model.predict_proba(X))
