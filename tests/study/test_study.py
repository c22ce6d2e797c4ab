"""A study gives the numbers of fitting each combination by hand, whatever happens to it on the way."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from stakes import Costs, make_classifier
from stakes.datasets import make_churn
from stakes.exceptions import ClassMeansWarning, StudyError
from stakes.metrics import amount_detected, cost_reduction, savings_score, total_cost
from stakes.study import store as store_module
from stakes.study.data import StudyData
from stakes.study.leaderboard import decision_of
from stakes.study.plan import Config, plan_units
from stakes.study.study import Study

FILES = ("results.parquet", "leaderboard.csv", "summary.json", "report.html")
# One of each family, and of each way in which costs act.
METHODS = ("tree", "bg", "dm-bg", "wrf", "urf", "dm-cprrdf", "csbg", "ab", "asb", "ub", "csb1", "dab", "cprb", "gb")


def churn_data(n: int = 500, costs: bool = True) -> StudyData:
    data = make_churn(n, random_state=0)
    return StudyData(
        name="churn",
        frame=data.frame,
        positive=data.target == 1,
        classes=("no", "yes"),
        costs=data.costs if costs else None,
        test_rows=None,
        test_fraction=0.3,
        validation_fraction=0.3,
        info={"target": "churn", "positive": "yes", "fp_cost": None, "fn_cost": None, "notes": []},
    )


def study(out: Path, **options: object) -> Study:
    asked = {"methods": METHODS, "trees": 4, "repeats": 2, "train_costs": ("record", "class means"), "jobs": 1}
    return Study(churn_data(), out=out, **{**asked, **options})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("study") / "churn"
    return study(directory).run()


def test_all_that_was_promised_is_in_the_directory(finished):
    for name in (*FILES, "best.skops", "study.json"):
        assert (finished.directory / name).stat().st_size > 0
    summary = json.loads((finished.directory / "summary.json").read_text())
    assert summary == finished.summary
    assert summary["question"]["n_models"] == len(finished.results)
    assert summary["money"]["chosen"]["cost"] < summary["money"]["nothing"]
    board = pl.read_csv(finished.directory / "leaderboard.csv")
    assert board["validation_cost"].is_sorted()
    rows = summary["leaderboards"]["test"]
    assert [row["test"] for row in rows] == sorted(row["test"] for row in rows)
    assert all(row["low"] <= row["test"] <= row["high"] for row in rows[:5] if row["low"] is not None)
    assert any(row["low"] is not None for row in rows)


def by_hand(row: dict, data: StudyData, config: Config) -> dict[str, float]:
    """Fit and predict one combination through the public classifiers."""
    split = data.split(row["repeat"], config.seed)
    train, validation, test = ((data.frame[rows], data.positive[rows].astype(int), data.costs[rows]) for rows in split)
    costs = {"none": Costs(fp=1.0, fn=1.0), "record": train[2], "class means": train[2].class_means(train[1])}
    given = costs[row["train_costs"]]
    params = {"random_state": config.seed + row["repeat"]}
    if row["family"] in ("bagging", "boosting"):
        params["n_estimators"] = config.trees
    classifier = make_classifier(row["method"], **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassMeansWarning)
        classifier.fit(
            train[0], train[1], fp_cost=given.fp, fn_cost=given.fn,
            X_val=validation[0], y_val=validation[1], fp_cost_val=validation[2].fp, fn_cost_val=validation[2].fn,
        )  # fmt: skip
    found = {}
    for part, (X, y, real) in (("validation", validation), ("test", test)):
        outcome = classifier.with_decision(decision_of(row)).predict(X, fp_cost=real.fp, fn_cost=real.fn)
        money = {"fp_cost": real.fp, "fn_cost": real.fn}
        found |= {
            f"{part}_cost": total_cost(y, outcome, **money),
            f"{part}_savings": savings_score(y, outcome, **money),
            f"{part}_cost_reduction": cost_reduction(y, outcome, **money),
            f"{part}_amount_detected": amount_detected(y, outcome, amount=real.fn),
            f"{part}_tpr": outcome[y == 1].mean(),
            f"{part}_fpr": outcome[y == 0].mean(),
            f"{part}_acted": outcome.mean(),
        }
    return found


def test_the_numbers_are_those_of_fitting_each_combination_by_hand(finished):
    data, config = churn_data(), Config(methods=METHODS, trees=4, repeats=2, train_costs=("record", "class means"))
    results = finished.results.filter(~pl.col("name").str.starts_with("mc-"))
    rng = np.random.default_rng(0)
    chosen = [
        group[int(i)]
        for _, group in results.group_by("method", "train_costs", maintain_order=True)
        for i in rng.choice(len(group), min(3, len(group)), replace=False)
    ]
    assert len(chosen) > 50
    for frame in chosen:
        row = frame.to_dicts()[0]
        for name, value in by_hand(row, data, config).items():
            assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-9), (row["name"], row["description"], name)


def test_the_auc_is_a_share(finished):
    assert finished.results["test_auc"].is_between(0, 1).all()


def test_the_same_study_again_does_nothing_twice_and_another_is_refused(finished, monkeypatch):
    before = {name: (finished.directory / name).read_bytes() for name in FILES}

    def never(*_: object) -> None:
        raise AssertionError("a finished unit ran again")

    monkeypatch.setattr("stakes.study.study.run_unit", never)
    study(finished.directory).run()
    assert {name: (finished.directory / name).read_bytes() for name in FILES} == before
    with pytest.raises(StudyError, match="holds a study with another configuration: choose another --out"):
        study(finished.directory, trees=5).run()
    other = Study(churn_data(480), out=finished.directory, methods=METHODS, trees=4, repeats=2, jobs=1,
                  train_costs=("record", "class means"))  # fmt: skip
    with pytest.raises(StudyError, match="another data"):
        other.run()


SMALL = {"methods": ("bg", "ab", "cprrf"), "trees": 3, "repeats": 2, "train_costs": ("record",)}


def test_a_damaged_unit_is_done_again_and_a_second_study_is_kept_out(tmp_path):
    first = study(tmp_path / "a", **SMALL).run()
    before = {name: (first.directory / name).read_bytes() for name in FILES}
    damaged, truncated, *_ = sorted((first.directory / "units").iterdir())
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    truncated.write_bytes(truncated.read_bytes()[:100])
    study(tmp_path / "a", **SMALL).run()
    assert {name: (first.directory / name).read_bytes() for name in FILES} == before
    holder = store_module.Store(tmp_path / "a", {})
    with holder._locked(), pytest.raises(StudyError, match="another study is running"):
        study(tmp_path / "a", **SMALL).run()


def test_a_full_disk_ends_in_one_line_and_loses_nothing(tmp_path, monkeypatch):
    real, calls = store_module.write_atomically, []

    def full(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(store_module, "write_atomically", full)
    with pytest.raises(StudyError, match=r"No space left on device; what was finished is kept") as caught:
        study(tmp_path / "a", **SMALL).run()
    assert "\n" not in str(caught.value)
    assert len(list((tmp_path / "a" / "units").iterdir())) == 2
    monkeypatch.setattr(store_module, "write_atomically", real)
    again, undisturbed = study(tmp_path / "a", **SMALL).run(), study(tmp_path / "b", **SMALL).run()
    for name in FILES:
        assert (again.directory / name).read_bytes() == (undisturbed.directory / name).read_bytes()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StudyError, match="cannot write to"):
        study(tmp_path / "a", **SMALL).run()


def test_a_directory_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "a").write_text("not a directory")
    with pytest.raises(StudyError, match="cannot write to"):
        study(tmp_path / "a", **SMALL).run()


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from test_study import SMALL, study
study({out!r}, **SMALL).run()
"""


def run_killed(out: Path, kills: int, seed: int) -> None:
    """Run a study to its end in processes that are killed at random moments."""
    script = SCRIPT.format(tests=str(Path(__file__).parent), out=str(out))
    rng = random.Random(seed)
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
        started = time.monotonic()
        # From the moment that there is something to lose.
        while not (out / "units").exists() and process.poll() is None and time.monotonic() - started < 60:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def assert_same_as_undisturbed(tmp_path: Path) -> None:
    undisturbed = study(tmp_path / "undisturbed", **SMALL).run()
    for name in FILES:
        assert (tmp_path / "killed" / name).read_bytes() == (undisturbed.directory / name).read_bytes(), name


def test_a_killed_and_resumed_study_gives_the_same_bytes(tmp_path):
    run_killed(tmp_path / "killed", kills=2, seed=0)
    assert_same_as_undisturbed(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_study_killed_many_times_gives_the_same_bytes(tmp_path, seed):
    run_killed(tmp_path / "killed", kills=8, seed=seed)
    assert_same_as_undisturbed(tmp_path)


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    one, two = study(tmp_path / "one", **SMALL).run(), study(tmp_path / "two", **{**SMALL, "jobs": 2}).run()
    for name in FILES:
        assert (one.directory / name).read_bytes() == (two.directory / name).read_bytes(), name


def test_limits_restrict_the_choice_on_validation_records(tmp_path):
    for limit in ({"max_fpr": 0.1}, {"max_acted": 0.2}):
        name = next(iter(limit)).removeprefix("max_")
        result = study(tmp_path / name, methods=("bg", "dm-bg"), trees=10, train_costs=("record",), **limit).run()
        assert result.leaderboard[f"validation_{name}"].max() <= limit[f"max_{name}"]
        # A tree that is taught by a decision within the limit need not keep to it: then it is not in the leaderboard.
        tuned = result.results.filter((pl.col("threshold") == "tuned") & ~pl.col("name").str.starts_with("mc-"))
        assert (tuned[f"validation_{name}"] <= limit[f"max_{name}"] + 1e-12).all()
        assert result.summary["leaderboards"]["validation"][0][name] > 0


def test_class_imbalance_alone_tries_cost_ratios_and_imbalanced_learn(tmp_path):
    result = Study(
        churn_data(costs=False), out=tmp_path / "a", methods=("rf", "urf", "ab"), trees=4, repeats=1, jobs=1,
        metacost="none",
    ).run()  # fmt: skip
    assert result.summary["question"]["measure"] == "balanced_accuracy"
    assert result.summary["money"] is None
    names = set(result.results["name"])
    assert {"imblearn-brf", "imblearn-rusboost", "imblearn-easyensemble", "rf", "urf", "ab"} <= names
    assert result.results["decision_costs"].n_unique() > 3
    with pytest.raises(StudyError, match="'cost' needs costs"):
        Study(churn_data(costs=False), out=tmp_path / "b", measure="cost")


def test_metacost_by_all_decisions(tmp_path):
    result = study(tmp_path / "a", methods=("bg",), trees=4, repeats=1, train_costs=("record",), metacost="all").run()
    counts = result.results.group_by("name").len()
    assert dict(counts.iter_rows())["mc-bg"] == dict(counts.iter_rows())["bg"]


def test_the_plan_trains_each_ensemble_once_for_all_its_decisions():
    units = plan_units(Config(methods=("bg", "dm-bg", "urf", "cpr*"), repeats=1, train_costs=("record", "class means")))
    assert [(u.method, u.train_costs) for u in units if u.method in ("bg", "urf", "cprbg")] == [
        ("bg", "none"), ("cprbg", "record"), ("cprbg", "class means"), ("urf", "class means"),
    ]  # fmt: skip
    assert next(u for u in units if u.method == "bg").members == ("label", "cost", "tuned")
    with pytest.raises(StudyError, match="no method is called 'nothing'"):
        plan_units(Config(methods=("nothing",)))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"trees": 0}, "trees is 0"),
        ({"measure": "luck"}, "no measure 'luck'"),
        ({"metacost": "some"}, "metacost is 'some'"),
        ({"max_fpr": 2.0}, "max_fpr is 2.0"),
        ({"train_costs": ("1;6",)}, "training costs '1;6' are not known"),
        ({"train_costs": ("1:-6",)}, "training costs '1:-6' are not known"),
        ({"progress": "loud"}, "progress is 'loud'"),
    ],
)
def test_what_cannot_be_asked_is_said(tmp_path, option, message):
    with pytest.raises(StudyError, match=message):
        study(tmp_path / "a", **{**SMALL, **option}).run()


def test_average_precision_can_be_what_is_compared(tmp_path):
    result = Study(
        churn_data(costs=False), out=tmp_path / "a", methods=("rf",), trees=4, repeats=1, jobs=1, metacost="none",
        measure="average_precision",
    ).run()  # fmt: skip
    board = result.leaderboard["validation_average_precision"]
    assert board.is_sorted(descending=True)
    assert board[0] > 0


def test_a_configuration_that_cannot_be_read_is_refused(tmp_path):
    study(tmp_path / "a", **SMALL).run()
    (config,) = [path for path in (tmp_path / "a").glob("*.json") if path.name != "summary.json"]
    config.write_bytes(b"\x80{")
    with pytest.raises(StudyError, match=r"cannot be read: remove .*a, or choose another --out"):
        study(tmp_path / "a", **SMALL).run()


def test_a_scheduler_that_does_not_answer_is_said_in_one_line(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(StudyError, match="no Dask scheduler answers at nowhere"):
        study(tmp_path / "a", **SMALL, dask="nowhere").run()


def test_dask_is_asked_for_where_it_is_absent(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(StudyError, match=r"pip install .stakes\[dask\]"):
        study(tmp_path / "a", **SMALL, dask="tcp://127.0.0.1:1").run()
