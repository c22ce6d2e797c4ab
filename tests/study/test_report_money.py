"""The money that the report tells of: what alternatives cost, and the interval of what is saved against each."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from stakes.datasets import make_churn
from stakes.persist import load
from stakes.study import Study, load_data
from stakes.study.summary import _thinned


class Done(NamedTuple):
    """A study, and what each test record costs: decided by its model, if acted on, and if not."""

    summary: dict[str, Any]
    own: NDArray[np.float64]
    acted: NDArray[np.float64]
    left: NDArray[np.float64]


def study(directory: Path, **options: Any) -> Done:
    made = make_churn(1500, random_state=0)
    path = directory / "churn.csv"
    made.frame.with_columns(churned=made.target).write_csv(path)
    data = load_data(path, target="churned", fp_cost="2 * monthly_charges", fn_cost="12 * monthly_charges")
    run = Study(data, out=directory / "out", methods=["rf"], trees=10, folds=3, jobs=1, metacost="none", **options)
    summary = run.run().summary
    _, rows = data.split(0)
    assert data.costs is not None
    costs, positive = data.costs[rows], data.positive[rows]
    fp, fn = costs.arrays(rows.size)
    model = load(directory / "out" / "best.skops")
    outcome = model.predict(data.frame[rows], fp_cost=fp, fn_cost=fn) == data.labels[1]
    acted, left = np.where(positive, 0.0, fp), np.where(positive, fn, 0.0)
    return Done(summary, np.where(outcome, acted, left), acted, left)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return study(tmp_path_factory.mktemp("money"))


def test_the_delivered_file_costs_on_the_test_records_what_the_report_says(done: Done) -> None:
    assert done.summary["money"]["chosen"]["cost"] == pytest.approx(done.own.sum())
    assert done.summary["money"]["test_records"] == done.own.size


def test_what_the_sliders_start_from_is_the_headline_to_the_cent(done: Done) -> None:
    records, found = done.summary["records"], done.summary["money"]
    totals = records["totals"]
    assert totals["missed"] + totals["wasted"] == pytest.approx(found["chosen"]["cost"], abs=0.005)
    assert (totals["nothing"], totals["everything"]) == pytest.approx((found["nothing"], found["everything"]))
    cost, positive, critical = (
        np.frombuffer(base64.b64decode(records[name]), dtype)
        for name, dtype in (("cost", "<f8"), ("positive", "u1"), ("critical", "<f4"))
    )
    assert cost[(positive == 1) != (critical < 1)].sum() == pytest.approx(found["chosen"]["cost"], abs=0.005)


def test_every_row_of_a_leaderboard_has_an_interval(done: Done) -> None:
    for board in done.summary["leaderboards"].values():
        assert board
        assert all(row["low"] <= row["test"] <= row["high"] for row in board)


def test_the_interval_of_what_is_saved_is_that_of_the_difference_on_the_same_draws(done: Done) -> None:
    none, every = done.summary["money"]["policies"]
    rng = np.random.default_rng(1)
    for policy, cost in ((none, done.left), (every, done.acted)):
        assert policy["cost"] == pytest.approx(cost.sum())
        saved = cost - done.own
        drawn = saved[rng.integers(0, saved.size, (4000, saved.size))].sum(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        tolerance = 0.1 * (high - low)
        assert policy["saved"]["low"] == pytest.approx(low, abs=tolerance)
        assert policy["saved"]["high"] == pytest.approx(high, abs=tolerance)
    # Costs go up and down together, so what is saved is surer than both.
    chosen = done.summary["money"]["chosen"]
    rival = next(rival for rival in done.summary["money"]["rivals"] if rival["name"] != chosen["name"])
    assert rival["saved"]["low"] < rival["cost"] - chosen["cost"] < rival["saved"]["high"]


def test_policies_keep_to_the_limit(tmp_path: Path) -> None:
    limited = study(tmp_path, max_acted=0.25)
    none, some = limited.summary["money"]["policies"]
    assert (none["name"], some["name"]) == ("acting on none", "acting on 25.0% at random")
    assert some["cost"] == pytest.approx(0.25 * limited.acted.sum() + 0.75 * limited.left.sum())
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    told = report.split('id="answer"')[1].split('id="glossary"')[0]
    assert "acting on 25.0% at random" in told
    assert "acting on all" not in told
    for row in limited.summary["sensitivity"]:
        assert row["savings"] == pytest.approx(1 - row["cost"] / min(row["nothing"], row["at_most"]))
    assert limited.summary["sensitivity"][0]["at_most"] == pytest.approx(some["cost"])


def test_long_curves_keep_points_near_both_ends() -> None:
    n = 100_000
    kept = np.array(_thinned(place=np.arange(n))["place"])
    assert kept.size <= 200
    assert {0, 1, 2, n - 3, n - 2, n - 1} <= set(kept.astype(int))
    assert np.diff(kept).max() < n / 90
    assert _thinned(place=np.arange(150))["place"] == list(range(150))
