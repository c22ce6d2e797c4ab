"""The summary of a study says what the chosen model and the alternatives cost on the test records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from stakes import Costs
from stakes.datasets import CostDataset, make_churn, make_donors
from stakes.metrics import savings_score, total_cost
from stakes.persist import load
from stakes.study.data import StudyData
from stakes.study.files import kinds_of
from stakes.study.study import Study, StudyResult
from stakes.study.summary import _thinned


class Run(NamedTuple):
    """A study, and its test records."""

    result: StudyResult
    frame: pl.DataFrame
    target: np.ndarray
    costs: Costs
    known: Costs


def run(dataset: CostDataset, out: Any, **options: Any) -> Run:
    """Return a small study of a dataset; its costs are known beforehand as the dataset says."""
    known = dataset.estimated_from(np.arange(len(dataset))).decision_costs
    data = StudyData(
        name=dataset.name,
        frame=dataset.frame,
        positive=dataset.target == 1,
        classes=("0", "1"),
        costs=dataset.costs,
        test_rows=None,
        test_fraction=0.3,
        info={"positive": "1", "classes": ["0", "1"], "features": kinds_of(dataset.frame), "cost_columns": {}},
        file_labels=(0, 1),
        known_costs=known,
    )
    study = Study(data, out=out, methods=("bg", "wrf"), trees=5, folds=3, jobs=1, metacost="none", **options)
    result = study.run()
    _, test = data.split(0)
    return Run(result, dataset.frame[test], dataset.target[test], dataset.costs[test], known[test])


@pytest.fixture(scope="module")
def churn(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(make_churn(600, random_state=0), tmp_path_factory.mktemp("churn"))


@pytest.fixture(scope="module")
def donors(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """People whose donation is known only after they gave."""
    dataset = make_donors(2000, response_rate=0.05, random_state=0)
    return run(dataset, tmp_path_factory.mktemp("donors"), measure="profit", decisions="follow-costs")


def costs_of(test: Run) -> dict[str, Any]:
    return {"fp_cost": test.costs.fp, "fn_cost": test.costs.fn}


def test_money_is_that_of_doing_nothing_acting_on_everything_and_the_chosen_model(churn: Any) -> None:
    result, test = churn.result, churn
    money = result.summary["money"]
    y, given = test.target, costs_of(test)
    assert money["nothing"] == pytest.approx(total_cost(y, np.zeros_like(y), **given))
    assert money["everything"] == pytest.approx(total_cost(y, np.ones_like(y), **given))
    assert money["nothing"] != pytest.approx(money["everything"])
    model = load(result.directory / "best.skops")
    assert money["chosen"]["cost"] == pytest.approx(total_cost(y, model.predict(test.frame, **given), **given))
    assert money["chosen"]["low"] < money["chosen"]["cost"] < money["chosen"]["high"]


def test_the_interval_is_that_of_drawing_the_test_records_anew(churn: Any) -> None:
    result, test = churn.result, churn
    given = costs_of(test)
    outcome = load(result.directory / "best.skops").predict(test.frame, **given)
    fp, fn = test.costs.arrays(test.target.size)
    cost = np.where(test.target == 1, fn * (outcome == 0), fp * (outcome == 1))
    spread = cost.std() * np.sqrt(test.target.size)
    chosen = result.summary["money"]["chosen"]
    assert chosen["high"] - chosen["low"] == pytest.approx(2 * 1.96 * spread, rel=0.15)


def test_sensitivity_is_what_the_model_costs_when_it_decides_by_changed_costs(churn: Any) -> None:
    result, test = churn.result, churn
    model = load(result.directory / "best.skops")
    rows = result.summary["sensitivity"]
    assert [(row["what"], row["factor"]) for row in rows] == [
        ("none", 1.0), ("fn_cost", 0.5), ("fn_cost", 2.0), ("fp_cost", 0.5), ("fp_cost", 2.0)
    ]  # fmt: skip
    for row in rows:
        given = costs_of(test)
        if row["what"] != "none":
            given[row["what"]] = given[row["what"]] * row["factor"]
        outcome = model.predict(test.frame, **given)
        assert row["cost"] == pytest.approx(total_cost(test.target, outcome, **given))
        assert row["savings"] == pytest.approx(savings_score(test.target, outcome, **given))
        assert row["nothing"] == pytest.approx(total_cost(test.target, np.zeros(test.target.size, int), **given))
        assert row["at_most"] == pytest.approx(total_cost(test.target, np.ones(test.target.size, int), **given))


def test_lines_of_equal_cost_go_through_the_points_and_have_the_slope_of_the_costs(churn: Any) -> None:
    result, test = churn.result, churn
    lines, curves = result.summary["iso_cost"]["lines"], result.summary["curves"]
    means = Costs(fp=test.costs.fp, fn=test.costs.fn).class_means(test.target)
    n_positive, n_negative = (test.target == 1).sum(), (test.target == 0).sum()
    slope = means.fp * n_negative / (means.fn * n_positive)
    assert result.summary["iso_cost"]["slope"] == pytest.approx(slope)
    for line, curve in zip(lines, curves, strict=True):
        (x0, x1), (y0, y1) = line["fpr"], line["tpr"]
        assert (y1 - y0) == pytest.approx(slope * (x1 - x0))
        point = curve["point"]
        assert point["tpr"] - y0 == pytest.approx(slope * (point["fpr"] - x0))
        assert line["cost"] == pytest.approx(
            n_positive * means.fn * (1 - point["tpr"]) + n_negative * means.fp * point["fpr"]
        )


def test_what_an_outcome_reveals_is_not_known_to_the_model_that_is_reported(donors: Any) -> None:
    result, test = donors.result, donors
    model = load(result.directory / "best.skops")
    known, real = test.known, test.costs
    assert not np.array_equal(known.fn, real.fn)
    outcome = model.predict(test.frame, fp_cost=known.fp, fn_cost=known.fn)
    told = model.predict(test.frame, fp_cost=real.fp, fn_cost=real.fn)
    assert not np.array_equal(outcome, told)
    cost = total_cost(test.target, outcome, fp_cost=real.fp, fn_cost=real.fn)
    assert result.summary["money"]["chosen"]["cost"] == pytest.approx(cost)
    assert result.summary["sensitivity"][0]["cost"] == pytest.approx(cost)
    point = result.summary["curves"][0]["point"]
    assert point["tpr"] == pytest.approx(outcome[test.target == 1].mean())
    assert point["fpr"] == pytest.approx(outcome[test.target == 0].mean())


def test_curves_have_no_more_points_than_can_be_seen_and_keep_their_ends() -> None:
    kept = _thinned(x=np.arange(100_000.0), y=-np.arange(100_000.0))
    assert len(kept["x"]) <= 200
    assert (kept["x"][0], kept["x"][-1]) == (0.0, 99_999.0)
    assert kept["y"] == [-x for x in kept["x"]]
    assert _thinned(x=np.arange(200.0))["x"] == list(range(200))
