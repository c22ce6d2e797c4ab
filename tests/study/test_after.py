"""Costs that are known only afterwards: judged by the true ones, decided by estimates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from stakes import CostBaggingClassifier, Costs
from stakes._expressions import cost_formulas
from stakes.datasets import make_donors
from stakes.exceptions import ModelFileError, StudyError
from stakes.persist import dumps, load, loads, read_info
from stakes.study.after import AfterCosts
from stakes.study.apply import apply_model
from stakes.study.data import StudyData
from stakes.study.folds import Folds, forward_folds, random_folds
from stakes.study.loading import load_data
from stakes.study.plan import Config
from stakes.study.run import prepare
from stakes.study.study import Study, StudyResult

COSTS: dict[str, Any] = {"target": "gave", "fp_cost": 0.68, "fn_cost": "donation - 0.68"}


def donors(n: int, seed: int = 0) -> pl.DataFrame:
    """People on a list: what they give is known of those who gave."""
    made = make_donors(n, response_rate=0.2, random_state=seed)
    donation = np.where(made.target == 1, made.amount, np.nan)
    return made.frame.with_columns(gave=pl.Series(made.target), donation=pl.Series(donation).fill_nan(None))


def loaded(frame: pl.DataFrame, directory: Path, **options: Any) -> StudyData:
    path = directory / "donors.parquet"
    frame.write_parquet(path)
    return load_data(path, **COSTS | {"after": "donation"} | options)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> StudyData:
    return loaded(donors(600), tmp_path_factory.mktemp("donors"))


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    directory = tmp_path_factory.mktemp("studied")
    data = loaded(donors(1500), directory)
    return Study(data, out=directory / "study", methods=["bg"], trees=5, folds=3, metacost="none", jobs=1).run()


def test_a_column_that_is_known_only_afterwards_is_no_feature(data: StudyData) -> None:
    assert "donation" not in data.frame.columns
    assert (data.info["after"], data.info["source"]["after"]) == (["donation"], ["donation"])
    assert data.info["cost_columns"] == {}


def test_several_columns_are_given_as_those_to_drop_are(tmp_path: Path) -> None:
    frame = donors(600).with_columns(thanks=pl.lit(1.5))
    both = loaded(frame, tmp_path, after="donation, thanks", fn_cost="donation - 0.68 - thanks / 9")
    assert both.info["after"] == ["donation", "thanks"]
    assert both.after is not None
    assert set(both.after.fit(both.frame, np.arange(600))["fn_cost"].amounts) == {"donation", "thanks"}


def test_records_are_judged_by_true_costs_and_decided_by_estimates(data: StudyData) -> None:
    frame, prepared = donors(600), prepare(data, Config(folds=3))
    for records, rows in zip((prepared.learning, prepared.test), data.split(0), strict=True):
        positive = records.positive
        assert records.costs.fp == records.known.fp == 0.68
        true = frame["donation"].to_numpy()[rows] - 0.68
        np.testing.assert_allclose(records.costs.fn[positive], true[positive])
        assert (records.known.fn[positive] != true[positive]).mean() > 0.99
        np.testing.assert_array_equal(records.costs.fn[~positive], records.known.fn[~positive])
        # Worth deciding by: nearer to the truth than the mean is.
        assert np.corrcoef(records.known.fn[positive], true[positive])[0, 1] > 0.6


@pytest.mark.parametrize("forward", [False, True])
def test_no_estimate_is_by_a_regression_that_has_seen_the_record(data: StudyData, forward: bool) -> None:
    assert data.after is not None
    learning, test = data.split(0)
    positive, rng = data.positive, np.random.default_rng(0)
    folds = forward_folds(learning, 3) if forward else random_folds(positive[learning], 3, rng)

    def estimates(changed: int | None = None) -> np.ndarray:
        donation = donors(600)["donation"].to_numpy().copy()
        if changed is not None:
            donation[changed] += 500
        frame = pl.DataFrame({"donation": pl.Series(donation).fill_nan(None)})
        after = AfterCosts(frame, ("donation",), cost_formulas("0.68", "donation - 0.68"), positive)
        return after.estimate(data.frame, learning, folds)["fn_cost"]

    before = estimates()
    first, last = learning[positive[learning]][[0, -1]]
    for row in (first, last, test[positive[test]][0]):
        after = estimates(row)
        assert after[row] == before[row]
        if row in learning and not forward:
            assert np.abs(after - before).max() > 1  # of others: it is learnt from
        if row in learning and forward:
            earlier = learning[folds.fold < folds.fold[learning == row]]
            np.testing.assert_array_equal(after[earlier], before[earlier])  # and from no later record


def test_zero_is_as_good_as_missing_where_a_cost_is_not_charged(data: StudyData, tmp_path: Path) -> None:
    zeros = loaded(donors(600).with_columns(pl.col("donation").fill_null(0.0)), tmp_path)
    both = [prepare(each, Config(folds=3)).learning.known.fn for each in (data, zeros)]
    np.testing.assert_array_equal(*both)


def test_where_a_cost_is_not_charged_its_mean_stands() -> None:
    frame, positive = pl.DataFrame({"donation": [20.0, None, 5.0]}), np.array([True, False, True])
    after = AfterCosts(frame, ("donation",), cost_formulas("0.68", "donation - 0.68"), positive)
    np.testing.assert_allclose(after.charged().fn, [19.32, 11.82, 4.32])


def test_what_acting_costs_may_be_known_only_afterwards_too() -> None:
    """The price of a false alarm is a linear function of a feature, and is known of negative records alone."""
    x, positive = np.linspace(1, 9, 400), np.arange(400) % 4 == 0
    frame = pl.DataFrame({"hours": pl.Series(np.where(positive, np.nan, x)).fill_nan(None), "rate": np.full(400, 2.0)})
    after = AfterCosts(frame, ("hours",), cost_formulas("hours * rate", "50"), positive)
    folds = random_folds(positive, 4, np.random.default_rng(0))
    actual, known = after.costs(pl.DataFrame({"x": x}), np.arange(400), folds)
    assert actual.fn == known.fn == 50
    np.testing.assert_allclose(actual.fp[~positive], 2 * x[~positive])
    assert np.abs(known.fp - 2 * x).mean() < 0.2  # of 2 to 18


def test_records_whose_cost_is_never_known_are_judged_by_the_estimate(tmp_path: Path) -> None:
    frame = donors(600)
    gave = np.flatnonzero(frame["gave"] == 1)[:3]
    frame = frame.with_columns(donation=frame["donation"].scatter(gave, None))
    data = loaded(frame, tmp_path)
    assert any("the cost of 3 records is not known afterwards" in note for note in data.info["notes"])
    assert data.after is not None
    folds = random_folds(data.positive, 3, np.random.default_rng(0))
    actual, known = data.after.costs(data.frame, np.arange(600), folds)
    np.testing.assert_array_equal(actual.fn[gave], known.fn[gave])


def test_estimates_are_neither_negative_costs_nor_beyond_what_was_seen(data: StudyData) -> None:
    assert data.after is not None
    cost = data.after.fit(data.frame, np.arange(600))["fn_cost"]
    far = data.frame.head(4).with_columns(
        average_gift=pl.Series([0.0, 1e6, -1e6, 5.0]), last_gift=pl.Series([0.0, 1e6, -1e6, 5.0])
    )
    known = donors(600)["donation"].drop_nulls()
    estimate = cost(far, pl.DataFrame())
    assert (estimate >= 0).all()
    assert estimate.max() <= known.max() - 0.68
    np.testing.assert_array_equal(replace(cost, formula="donation - 1000")(far, pl.DataFrame()), 0)


WRONG = [
    ({"after": ()}, "'donation' missing (what is known only afterwards is named to a study by --after) in 480 records"),
    ({"after": "donatoin"}, "--after 'donatoin': there is no such column: did you mean 'donation'?"),
    ({"after": "gave"}, "--after 'gave': this is the target"),
    ({"fn_cost": "donation - 30"}, "--fn-cost 'donation - 30': a negative cost (-"),
    ({"fp_cost": "donation"}, "--fp-cost 'donation' is not known of any record that it is charged to"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_is_wrong_is_said(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        loaded(donors(600), tmp_path, **options)
    assert message in str(error.value)


def test_tuned_decisions_see_what_can_be_known() -> None:
    made = make_donors(800, response_rate=0.2, random_state=0)
    known = Costs(fp=0.68, fn=np.arange(800.0))
    clf = CostBaggingClassifier(n_estimators=5, random_state=0)
    clf.fit(made.frame, made.target, fp_cost=0.68, fn_cost=made.costs.fn, known_costs=known)
    assert clf.validation_.records.known == known
    assert clf.validation_.records.costs.fn is not known.fn
    with pytest.raises(ValueError, match="fn_cost has 800 records, X has 700"):
        clf.fit(made.frame[:700], made.target[:700], known_costs=known)


def test_the_delivered_model_needs_no_such_column(studied: StudyResult, tmp_path: Path) -> None:
    path = studied.directory / "best.skops"
    new = donors(400, seed=1)
    new.drop("gave", "donation").write_csv(tmp_path / "new.csv")
    new.drop("gave").write_csv(tmp_path / "leaky.csv")
    done = apply_model(path, tmp_path / "new.csv", tmp_path / "out.csv")
    again = apply_model(path, tmp_path / "leaky.csv", tmp_path / "again.csv", keep=["age"])
    decided, leaky = pl.read_csv(tmp_path / "out.csv"), pl.read_csv(tmp_path / "again.csv")
    assert done.expected_saving == again.expected_saving
    assert 0 < done.n_positive < 400
    np.testing.assert_array_equal(decided["expected_saving"], leaky["expected_saving"])
    model = load(path)
    np.testing.assert_array_equal(model.predict(new), decided["decision"].to_numpy())
    np.testing.assert_array_equal(model.decide(new).probability, decided["probability"].to_numpy())
    cost = model.foresee("fn_cost", new)
    np.testing.assert_allclose(decided["expected_cost_if_negative"], decided["probability"] * cost)
    assert model.score(new, new["gave"]) <= 1
    # What is given wins.
    np.testing.assert_array_equal(model.predict(new, fn_cost=cost), model.predict(new))
    assert (model.predict(new, fn_cost=1e6) == 1).all()


@pytest.mark.parametrize("wrong", ["cost", "column", "range"])
def test_estimates_in_a_model_file_are_checked(studied: StudyResult, wrong: str) -> None:
    model = load(studied.directory / "best.skops")
    cost = model.foreseen_costs["fn_cost"]
    if wrong == "cost":
        model.foreseen_costs = {"price": cost}
    elif wrong == "column":
        cost.amounts["thanks"] = "0"
    else:
        cost.amounts["donation"].low = float("nan")
    with pytest.raises(ModelFileError):
        loads(dumps(model))


def test_costs_that_use_the_column_can_change(studied: StudyResult, tmp_path: Path) -> None:
    path = studied.directory / "best.skops"
    donors(400, seed=1).drop("gave", "donation").write_csv(tmp_path / "new.csv")
    done = [
        apply_model(path, tmp_path / "new.csv", tmp_path / "out.csv", fn_cost=cost).expected_cost
        for cost in (None, "donation - 0.68", "donation / 2")
    ]
    assert done[0] == done[1] > done[2]
    with pytest.raises(StudyError, match="the model has no estimate of it for this cost"):
        apply_model(path, tmp_path / "new.csv", tmp_path / "out.csv", fp_cost="donation / 9")
    assert read_info(path)["after"] == ["donation"]


def test_the_promise_holds_on_new_records_where_true_values_would_leak(tmp_path: Path) -> None:
    """Who gives, and how much, is nearly chance: whoever sees donations promises a cost of nothing."""
    rng = np.random.default_rng(0)

    def chance(n: int) -> pl.DataFrame:
        x, gave = rng.normal(size=n), rng.random(n) < 0.25
        donation = np.where(gave, np.exp(1.0 + 0.3 * x + rng.normal(size=n)) + 0.7, np.nan)
        return pl.DataFrame(
            {"x": x, "noise": rng.normal(size=n), "gave": gave, "donation": pl.Series(donation).fill_nan(None)}
        )

    made = chance(2000)
    options: dict[str, Any] = {"methods": ["bg"], "trees": 10, "folds": 3, "metacost": "none", "jobs": 1}
    honest = Study(loaded(made, tmp_path), out=tmp_path / "honest", **options).run().summary
    leak = {"after": (), "drop": "donation", "fn_cost": "coalesce(donation - 0.68, 0)"}
    with pytest.raises(StudyError, match="--fn-cost gives the class away"):
        Study(loaded(made, tmp_path, **leak), out=tmp_path / "refused", **options).run()
    leak["allow"] = "fn_cost"
    leaking = Study(loaded(made, tmp_path, **leak), out=tmp_path / "leaking", **options).run().summary
    new = chance(20_000)
    true = np.where(new["gave"], new["donation"].fill_null(0).to_numpy() - 0.68, 0)
    act = load(tmp_path / "honest" / "best.skops").predict(new)
    cost = np.where(act, np.where(new["gave"], 0, 0.68), true).mean()
    promised = honest["chosen"]["expected"]
    assert promised["low"] < cost < promised["high"]
    assert leaking["chosen"]["expected"]["value"] < 0.01 * cost
    assert honest["question"]["after"] == ["donation"]


def test_folds_of_the_estimates_are_those_of_the_repeat(data: StudyData) -> None:
    first, second = (prepare(data, Config(folds=3, repeats=2), repeat).learning for repeat in (0, 1))
    assert (first.known.fn != second.known.fn).mean() > 0.9
    assert first.known.fn.size == second.known.fn.size
    np.testing.assert_array_equal(first.costs.fn[first.positive], second.costs.fn[first.positive])


def test_linear_truth_is_found_by_the_regression() -> None:
    X = pl.DataFrame({"a": np.arange(300.0), "b": np.tile(["x", "y", None], 100)})
    truth = 3 + 0.5 * np.arange(300.0) + np.tile([0, 20, 5], 100)
    frame = pl.DataFrame({"amount": truth})
    after = AfterCosts(frame, ("amount",), cost_formulas("1", "amount"), np.ones(300, bool))
    folds = Folds(np.arange(300) % 5)
    found = after.estimate(X, np.arange(300), folds)["fn_cost"]
    assert 1 - np.var(found - truth) / np.var(truth) > 0.98
