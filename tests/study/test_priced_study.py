"""Studies in which features have prices: what models pay for them is part of what they cost, wherever they compete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stakes.cli import app
from stakes.exceptions import CostsError, StudyError
from stakes.feature_costs import FeatureCosts
from stakes.metrics import total_cost
from stakes.persist import load
from stakes.study import Study, load_data
from stakes.study.columns import pack, unpack
from stakes.study.plan import Config, Unit
from stakes.study.prices import study_prices
from stakes.study.run import fit_unit, prepare, run_unit

FP, FN = 2.0, 20.0
PRICES = {"cheap": 0.01, "clean": {"price": 0.5, "group": "lab"}, "other": {"price": 0.5, "group": "lab"}}


def records(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    clean = rng.normal(size=n)
    return pl.DataFrame(
        {
            "cheap": (clean + rng.normal(size=n)).round(1),
            "clean": clean.round(1),
            "other": rng.normal(size=n).round(1),
            "ill": np.where(clean + 0.5 * rng.normal(size=n) > 1, "yes", "no"),
        }
    )


def data_of(directory: Path, n: int = 400, **options: Any) -> Any:
    path = directory / "records.csv"
    records(n).write_csv(path)
    return load_data(path, target="ill", fp_cost=FP, fn_cost=FN, **options)


def test_rows_cost_their_mistakes_and_what_their_models_pay_in_each_fold(tmp_path: Path):
    data = data_of(tmp_path)
    prices = study_prices(PRICES, data)
    config = Config(methods=("rf",), trees=5, folds=3, feature_costs=prices)
    unit = Unit(0, "rf", "none", ("label", "cost"))
    rows = run_unit(data, config, unit).rows
    prepared, folds = prepare(data, config), data.folds(3, repeat=0, seed=0)
    learning = prepared.learning
    paid = np.zeros(len(learning))
    for k in range(3):
        model = fit_unit(config, unit, prepared, folds.trained(k))
        assert model.feature_costs_ == prices
        paid[folds.judged(k)] = model.acquisition_cost(learning.X.X[folds.judged(k)])
    whole = rows.filter(pl.col("vote_weight").is_null())
    assert whole["out_of_fold_paid"].to_numpy() == pytest.approx(paid.mean())
    assert whole["out_of_fold_paid"][0] > 0
    for row in rows.filter(pl.col("out_of_fold_outcome").is_not_null()).to_dicts()[:10]:
        outcome = unpack([row["out_of_fold_outcome"]], len(learning))[0]
        mistakes = total_cost(learning.positive.astype(int), outcome.astype(int), fp_cost=FP, fn_cost=FN)
        assert row["out_of_fold_cost"] == pytest.approx(mistakes / len(learning) + row["out_of_fold_paid"])
        # Nobody is charged for features where all records are decided alike.
        none = FN * learning.positive.mean()
        baseline = min(none, FP * (1 - learning.positive.mean()))
        assert row["out_of_fold_savings"] == pytest.approx(1 - row["out_of_fold_cost"] / baseline)
        assert row["out_of_fold_profit"] == pytest.approx(none - row["out_of_fold_cost"])


def test_models_that_are_no_trees_of_the_engine_pay_for_all_features(tmp_path: Path):
    data = data_of(tmp_path)
    config = Config(methods=("lr",), folds=2, feature_costs=study_prices(PRICES, data))
    rows = run_unit(data, config, Unit(0, "lr", "none", ("label",))).rows
    assert rows["out_of_fold_paid"].to_numpy() == pytest.approx(0.51)
    assert rows["test_paid"].to_numpy() == pytest.approx(0.51)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    directory = tmp_path_factory.mktemp("priced")
    data = data_of(directory)
    (directory / "prices.json").write_text(json.dumps(PRICES))
    options = {"methods": ("cstree", "rf"), "trees": 5, "folds": 3, "jobs": 1}
    return directory, Study(data, out=directory / "out", feature_costs=directory / "prices.json", **options).run()


def test_the_delivered_model_pays_what_the_study_says_and_tells_it_of_new_records(finished: tuple[Path, Any]):
    directory, found = finished
    model, chosen = load(directory / "out" / "best.skops"), found.summary["chosen"]
    data = load_data(directory / "records.csv", target="ill", fp_cost=FP, fn_cost=FN)
    test = data.frame[data.split(0)[1]]
    assert chosen["paid"] == pytest.approx(model.acquisition_cost(test).mean())
    assert found.summary["money"]["chosen"]["cost"] > len(test) * chosen["paid"]
    new = records().drop("ill").with_columns(pl.when(pl.col("other") > 0).then("clean").alias("clean"))
    new.write_csv(directory / "new.csv")
    result = CliRunner().invoke(
        app,
        ["apply", str(directory / "out" / "best.skops"), str(directory / "new.csv"), "--out", str(directory / "d.csv")],
    )
    assert result.exit_code == 0, result.output
    decided = pl.read_csv(directory / "d.csv")
    for column, values in (("features_paid", "known"), ("features_missing", "missing")):
        assert decided[column].to_numpy() == pytest.approx(model.acquisition_cost(new, values=values))
    assert f"Features cost {decided['features_paid'].sum():,.2f}" in result.output


def test_every_row_of_the_leaderboard_counts_what_it_pays(finished: tuple[Path, Any]):
    _, found = finished
    board, n = found.leaderboard, found.summary["question"]["n_test"]
    assert board["out_of_fold_paid"].min() >= 0
    first = next(row for row in found.summary["leaderboards"]["out_of_fold"] if row["name"] == "lr")
    single = board.filter(name="lr").head(1)
    assert first["cost"] == pytest.approx(single["test_cost"][0] * n)
    assert single["test_paid"][0] == pytest.approx(0.51)
    # A stack pays for what any of its models asks for.
    assert board.filter(name="stack")["test_paid"][0] == pytest.approx(0.51)
    assert "of it for features" in str(found)


def test_dear_features_are_not_worth_a_model(tmp_path: Path):
    data = data_of(tmp_path, 300)
    dear = dict.fromkeys(("cheap", "clean", "other"), 50.0)
    found = Study(data, out=tmp_path / "out", methods=("cstree",), folds=2, jobs=1, feature_costs=dear).run()
    assert found.summary["chosen"]["name"] == "cstree"
    assert found.summary["chosen"]["paid"] == 0
    assert found.leaderboard.filter(name="lr")["out_of_fold_cost"][0] > 150


def test_prices_are_part_of_what_a_study_is_asked(finished: tuple[Path, Any], tmp_path: Path):
    directory, _ = finished
    again = {"methods": ("cstree", "rf"), "trees": 5, "folds": 3, "jobs": 1, "out": directory / "out"}
    with pytest.raises(StudyError, match="another configuration"):
        Study(data_of(tmp_path), feature_costs={"cheap": 1.0}, **again).run()


def test_prices_name_the_columns_of_the_file(tmp_path: Path):
    data = data_of(tmp_path, drop=["other"])
    kept = study_prices(PRICES, data)
    assert kept is not None
    assert set(kept) == {"cheap", "clean"}  # what is left out costs nothing
    with pytest.raises(CostsError, match="neither features nor a group"):
        study_prices({"chep": 1.0}, data)
    without = load_data(tmp_path / "records.csv", target="ill")
    with pytest.raises(StudyError, match="give --fp-cost and --fn-cost, too"):
        study_prices(PRICES, without)
    assert study_prices(None, without) is None


def test_parts_of_a_date_cost_what_the_date_does(tmp_path: Path):
    rng = np.random.default_rng(0)
    days = pl.Series("seen", np.datetime64("2024-01-01") + rng.integers(0, 300, 200))
    records(200).with_columns(days).write_parquet(tmp_path / "dated.parquet")
    data = load_data(tmp_path / "dated.parquet", target="ill", fp_cost=FP, fn_cost=FN)
    parts = [name for name in data.frame.columns if name.startswith("seen")]
    assert parts
    costs = FeatureCosts.of(study_prices({"seen": 3.0}, data), data.frame.columns)
    used = np.array(
        [[name in parts[:1] for name in data.frame.columns], [name in parts for name in data.frame.columns]]
    )
    assert costs.paid(used).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("n_features", [1, 8, 13])
def test_used_features_survive_being_packed(n_features: int):
    used = np.random.default_rng(0).random((7, n_features)) < 0.5
    assert np.array_equal(unpack([pack(used)], n_features), used)
