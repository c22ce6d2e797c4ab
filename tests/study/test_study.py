"""A study gives the numbers of cross-fitting each combination by hand, whatever happens to it on the way."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from filelock import FileLock
from polars.testing import assert_frame_equal
from threadpoolctl import threadpool_info, threadpool_limits

from stakes import Costs, CostTreeClassifier, list_methods, make_classifier
from stakes._member_classifier import MemberClassifier
from stakes.datasets import make_churn
from stakes.decision.calibration import fit_calibration
from stakes.decision.reader import Reader
from stakes.decision.weights import BY_ERROR
from stakes.exceptions import ClassMeansWarning, CostsNeededError, StudyError
from stakes.metrics import cost_reduction, savings_score, total_cost, tuned_threshold
from stakes.persist import load
from stakes.records import Records
from stakes.study import store as store_module
from stakes.study import study as study_module
from stakes.study.columns import decision_of, pack
from stakes.study.data import StudyData
from stakes.study.findings import _taught
from stakes.study.plan import TREES, Config, Unit, by_promise, plan_units
from stakes.study.report.wording import training
from stakes.study.run import UnitResult, run_unit
from stakes.study.study import Study
from stakes.table import table_of
from stakes.tree.binning import Binned, Binning

FILES = ("results.parquet", "leaderboard.csv", "summary.json", "report.html", "best.skops")
# One of each family, and of each way in which costs act.
METHODS = ("tree", "dm-bg", "wrf", "urf", "cprrdf", "csbg", "ab", "ub", "csb1", "dab", "cprb")


def churn_data(n: int = 500, costs: bool = True, **more: object) -> StudyData:
    data = make_churn(n, random_state=0)
    return StudyData(
        name="churn",
        frame=data.frame,
        positive=data.target == 1,
        classes=("no", "yes"),
        costs=data.costs if costs else None,
        test_rows=None,
        test_fraction=0.3,
        info={"target": "churn", "positive": "yes", "fp_cost": None, "fn_cost": None, "notes": []},
        **more,
    )


def study(out: Path, data: StudyData | None = None, **options: object) -> Study:
    asked = {"methods": METHODS, "trees": 4, "folds": 3, "train_costs": ("record", "class means"), "jobs": 1}
    return Study(data or churn_data(), out=out, **{**asked, **options})


def test_every_method_can_be_studied(tmp_path: Path):
    names = {name.removeprefix("mc-").removeprefix("dm-") for name in list_methods().names}
    names -= {name for name in names if name.endswith(("rf", "rdf"))}  # bagging is studied as forests are
    less = {"trees": 2, "folds": 2, "train_costs": ("record",), "metacost": "none", "teams": False}
    found = study(tmp_path / "all", churn_data(200), methods=tuple(names), **less).run()
    assert names - {name.removeprefix("dm-") for name in found.results["name"]} == set()
    assert found.summary["question"]["not_trained"] == {}


def test_an_ensemble_of_one_tree_can_be_studied_by_the_name_of_its_votes(tmp_path: Path):
    result = study(tmp_path / "s", methods=("dm-bg",), trees=1, folds=2, metacost="none").run()
    assert "bg" in result.leaderboard["method"].to_list()


def test_votes_of_boosting_by_errors_and_members_by_thresholds_are_tried(tmp_path: Path):
    found = study(tmp_path / "boosting", methods=("ab", "dab-thr", "acost"), trees=6).run().results
    for name in ("ab", "dab-thr", "acost"):
        assert {*BY_ERROR, None} == set(found.filter(pl.col("method") == name)["vote_weight"].unique())
    assert set(found.filter(pl.col("method") == "dab-thr")["member"]) == {"tuned"}


def test_smote_that_finds_no_complete_record_is_left_out_and_said(tmp_path: Path):
    data = churn_data(200)
    gaps = data.frame.with_columns(empty=pl.lit(None, dtype=pl.Float64))
    result = study(tmp_path / "gaps", replace(data, frame=gaps), methods=("rf", "sbg"), folds=2).run()
    assert "'empty' is missing" in result.summary["question"]["not_trained"]["sbg"]
    assert "rf" in result.leaderboard["name"].to_list()


def test_a_method_that_refuses_the_data_does_not_end_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def run_or_fail(data: StudyData, config: Config, unit: Unit) -> UnitResult:
        if unit.method in failing:
            raise ValueError("worse than random")
        return run_unit(data, config, unit)

    monkeypatch.setattr(study_module, "run_unit", run_or_fail)
    failing = ["rf"]
    result = study(tmp_path / "some", methods=("tree", "rf")).run()
    assert result.summary["question"]["not_trained"] == {"rf": "worse than random"}
    assert result.summary["question"]["not_tried"] == []
    assert "rf" not in result.results["name"]
    failing += ["lr", "lgbm"]
    with pytest.raises(StudyError, match=r"no method could be trained.*rf: worse than random"):
        study(tmp_path / "none", methods=("rf",)).run()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("study") / "churn"
    return study(directory).run()


def test_all_that_was_promised_is_in_the_directory(finished):
    for name in (*FILES, "study.json"):
        assert (finished.directory / name).stat().st_size > 0
    summary = json.loads((finished.directory / "summary.json").read_text())
    assert summary == finished.summary
    assert summary["question"]["n_models"] == len(finished.results)
    assert summary["money"]["chosen"]["cost"] < summary["money"]["nothing"]
    board = pl.read_csv(finished.directory / "leaderboard.csv")
    assert board["out_of_fold_cost"].is_sorted()
    rows = summary["leaderboards"]["test"]
    assert [row["test"] for row in rows] == sorted(row["test"] for row in rows)
    assert all(row["low"] <= row["test"] <= row["high"] for row in rows[:5] if row["low"] is not None)
    assert any(row["low"] is not None for row in rows)
    assert repr(finished).startswith("StudyResult(")
    assert len(repr(finished)) < 300


def scores_by_hand(row: dict, data: StudyData, seed: int, trees: int) -> tuple[np.ndarray, np.ndarray]:
    """Return out-of-fold and test scores before calibration and threshold, by models trained one by one."""
    learning, test = data.split(seed)
    folds = data.folds(3, repeat=0, seed=seed)
    table = table_of(data.frame[learning])
    binning = Binning().fit(table)
    bins = binning.transform(table)

    def features(rows: np.ndarray) -> object:
        if row["family"] not in ("tree", "bagging", "boosting"):
            return data.frame[rows]
        return Binned(data.frame[rows], binning, binning.transform(table_of(data.frame[rows])))

    assert bins.shape[0] == learning.size

    def model(rows: np.ndarray) -> object:
        params = {"random_state": seed}
        if row["family"] in ("bagging", "boosting"):
            params["n_estimators"] = trees
        if row["family"] == "boosting":
            params["validation"] = None  # members are judged by the training records
        params |= TREES.get(row["tree"], {})
        costs, y = data.costs[rows], data.positive[rows].astype(int)
        if row["train_costs"] == "class means" and row["method"] != "urf":
            costs = costs.class_means(y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClassMeansWarning)
            return make_classifier(row["method"], **params).fit(features(rows), y, fp_cost=costs.fp, fn_cost=costs.fn)

    def read(trained: object, rows: np.ndarray) -> np.ndarray:
        decision = decision_of({**row, "threshold": "half"})
        costs = data.costs[rows]
        readings = trained.read([decision], features(rows), fp_cost=costs.fp, fn_cost=costs.fn)
        (source,) = readings.scores
        total = readings.total_weight.get(source)
        return np.column_stack([readings.scores[source], np.nan * rows if total is None else total])

    found = np.empty((learning.size, 2))
    for k in range(3):
        found[folds.judged(k)] = read(model(learning[folds.trained(k)]), learning[folds.judged(k)])
    return found, read(model(learning), test)


def decided_by_hand(row: dict, tuning: tuple, judging: tuple) -> np.ndarray:
    """Return outcomes on some records by what is tuned on others; both are (scores, classes, costs)."""
    (score, y, costs), (other, _, other_costs) = tuning, judging
    score, other, total = score[:, 0], other[:, 0], other[:, 1]
    if row["calibration"] is not None:
        calibration = fit_calibration(row["calibration"], score, y)
        own_total = None if np.isnan(tuning[0][:, 1]).all() else tuning[0][:, 1]
        score = calibration(score, own_total)
        other = calibration(other, None if np.isnan(total).all() else total)
    threshold = {
        "half": lambda: 0.5,
        "cost": other_costs.threshold,
        "tuned": lambda: tuned_threshold(y, score, fp_cost=costs.fp, fn_cost=costs.fn),
    }[row["threshold"]]()
    return (other > threshold).astype(int)


def test_the_numbers_are_those_of_cross_fitting_each_combination_by_hand(finished):
    data = churn_data()
    results = finished.results.filter(
        ~pl.col("name").str.starts_with("mc-"), pl.col("family") != "team", pl.col("threshold") != "scaled"
    )
    rng = np.random.default_rng(0)
    chosen = [
        group[int(i)].to_dicts()[0]
        for _, group in results.group_by("method", "train_costs", maintain_order=True)
        for i in rng.choice(len(group), min(2, len(group)), replace=False)
    ]
    assert len(chosen) > 25
    learning, test = data.split(0)
    folds = data.folds(3, repeat=0, seed=0)
    for row in chosen:
        scores, test_scores = scores_by_hand(row, data, seed=0, trees=4)
        y, costs = data.positive[learning].astype(int), data.costs[learning]
        outcome = np.empty(learning.size, int)
        for k in range(3):
            mine, others = np.flatnonzero(folds.fold == k), np.flatnonzero(folds.fold != k)
            parts = [(scores[rows], y[rows], costs[rows]) for rows in (others, mine)]
            outcome[mine] = decided_by_hand(row, *parts)
        tested = (test_scores, data.positive[test].astype(int), data.costs[test])
        test_outcome = decided_by_hand(row, (scores, y, costs), tested)
        for part, y_part, c, decided in (
            ("out_of_fold", y, costs, outcome), ("test", tested[1], tested[2], test_outcome),
        ):  # fmt: skip
            given = {"fp_cost": c.fp, "fn_cost": c.fn}
            expected = {
                "cost": total_cost(y_part, decided, **given) / y_part.size,
                "savings": savings_score(y_part, decided, **given),
                "cost_reduction": cost_reduction(y_part, decided, **given),
                "tpr": decided[y_part == 1].mean(),
                "fpr": decided[y_part == 0].mean(),
                "acted": decided.mean(),
            }
            for name, value in expected.items():
                found = row[f"{part}_{name}"]
                assert found == pytest.approx(value, rel=1e-9, abs=1e-9), (row["name"], row["description"], part, name)


def test_the_delivered_file_is_the_model_described_and_gives_its_figure_to_the_cent(finished):
    data = churn_data()
    model = load(finished.directory / "best.skops")
    _, test = data.split(0)
    frame, costs, y = data.frame[test], data.costs[test], data.positive[test].astype(int)
    given = {"fp_cost": costs.fp, "fn_cost": costs.fn}
    labels = model.predict(frame[:, ::-1], **given)
    assert set(labels) <= {"no", "yes"}
    cost = total_cost(y, (labels == "yes").astype(int), **given)
    summary = finished.summary
    assert summary["money"]["chosen"]["cost"] == pytest.approx(cost, abs=0.005)
    assert summary["chosen"]["test"] * y.size == pytest.approx(cost, abs=0.005)
    assert summary["curves"][0]["cost"] == pytest.approx(cost, abs=0.005)
    assert summary["sensitivity"][0]["cost"] == pytest.approx(cost, abs=0.005)
    (row,) = [row for row in summary["leaderboards"]["out_of_fold"] if row["chosen"]]
    assert row["cost"] == pytest.approx(cost, abs=0.005)
    p = model.predict_proba(frame, **given)
    assert p.shape == (y.size, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert abs(p[:, 1].mean() - y.mean()) < 0.15
    with pytest.raises(CostsNeededError, match="pass fp_cost= along with X"):
        model.predict(frame)
    with pytest.raises(ValueError, match="lacks the column 'tenure'"):
        model.predict(frame.drop("tenure"), **given)


def test_models_that_decide_alike_are_one_row(finished):
    board = finished.leaderboard
    assert board.filter(pl.col("n_same") > 1).height > 0
    assert board["n_same"].sum() == finished.results.filter(~pl.col("name").str.starts_with("mc-")).height
    figures = ["out_of_fold_cost", "test_cost", "out_of_fold_tpr", "test_tpr"]
    for row in board.filter(pl.col("n_same") > 1).head(20).iter_rows(named=True):
        for label in row["same_as"]:
            name, description = label.split(": ", 1)
            name = name.split(" (leaves of")[0]
            same = finished.results.filter((pl.col("name") == name) & (pl.col("description") == description))
            assert any(all(other[f] == pytest.approx(row[f]) for f in figures) for other in same.to_dicts())


def test_the_same_study_again_does_nothing_twice_and_another_is_refused(finished, monkeypatch):
    before = files(finished.directory)

    def never(*_: object) -> None:
        raise AssertionError("a finished unit ran again")

    monkeypatch.setattr("stakes.study.study.run_unit", never)
    study(finished.directory).run()
    assert files(finished.directory) == before
    with pytest.raises(StudyError, match="holds a study with another configuration: choose another --out"):
        study(finished.directory, trees=5).run()
    with pytest.raises(StudyError, match="another data"):
        study(finished.directory, churn_data(480)).run()


SMALL = {"methods": ("bg", "ab"), "trees": 3, "folds": 2, "train_costs": ("record",)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The small study, finished at once in one process: what all others must come to."""
    return study(tmp_path_factory.mktemp("undisturbed") / "a", **SMALL).run()


def files(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in FILES}


def test_a_damaged_unit_is_done_again_and_a_second_study_is_kept_out(tmp_path, undisturbed):
    shutil.copytree(undisturbed.directory, tmp_path / "a")
    damaged, truncated, *_ = sorted((tmp_path / "a" / "units").glob("*.parquet"))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    truncated.write_bytes(truncated.read_bytes()[:100])
    study(tmp_path / "a", **SMALL).run()
    assert files(tmp_path / "a") == files(undisturbed.directory)
    with FileLock(tmp_path / "a" / store_module.LOCK), pytest.raises(StudyError, match="another study is running"):
        study(tmp_path / "a", **SMALL).run()


def test_a_full_disk_ends_in_one_line_and_loses_nothing(tmp_path, monkeypatch, undisturbed):
    real, calls = store_module.write_atomically, []

    def full(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) == 6:  # the configuration, models and results of two units, and then
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(store_module, "write_atomically", full)
    with pytest.raises(StudyError, match=r"No space left on device; what is finished is kept") as caught:
        study(tmp_path / "a", **SMALL).run()
    assert "\n" not in str(caught.value)
    assert len(list((tmp_path / "a" / "units").glob("*.parquet"))) == 2
    monkeypatch.setattr(store_module, "write_atomically", real)
    again = study(tmp_path / "a", **SMALL).run()
    assert files(again.directory) == files(undisturbed.directory)


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


def test_equal_studies_write_the_same_bytes_whatever_the_number_of_jobs(tmp_path):
    methods = (*SMALL["methods"], "gb", "csgb", "imblearn-brf")
    written = []
    for jobs in (1, 2):
        found = study(tmp_path / str(jobs), churn_data(300), **{**SMALL, "methods": methods, "jobs": jobs}).run()
        paths = [path for path in found.directory.rglob("*") if path.is_file() and path.suffix != ".lock"]
        written.append({str(path.relative_to(found.directory)): path.read_bytes() for path in paths})
    assert set(FILES) <= written[0].keys()
    assert sum("gb" in name and name.endswith(".parquet") for name in written[0]) >= 2
    assert written[0].keys() == written[1].keys()
    assert [name for name, content in written[0].items() if content != written[1][name]] == []


def test_sums_do_not_depend_on_the_threads_of_blas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found: dict[str, set[int]] = {}

    def note(where: str, then):
        def noted(*args):
            found[where] = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
            return then(*args)

        return noted

    monkeypatch.setattr(study_module, "run_unit", note("training", study_module.run_unit))
    monkeypatch.setattr(study_module, "find", note("choosing", study_module.find))
    with threadpool_limits(2, user_api="blas"):
        study(tmp_path, churn_data(), **{**SMALL, "jobs": 1}).run()
    assert found == {"training": {1}, "choosing": {1}}


def test_a_killed_and_resumed_study_gives_the_same_bytes(tmp_path, undisturbed):
    run_killed(tmp_path / "killed", kills=1, seed=0)
    assert files(tmp_path / "killed") == files(undisturbed.directory)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_study_killed_many_times_gives_the_same_bytes(tmp_path, seed, undisturbed):
    run_killed(tmp_path / "killed", kills=8, seed=seed)
    assert files(tmp_path / "killed") == files(undisturbed.directory)


def test_limits_are_kept_with_a_margin_for_new_records(tmp_path):
    data = churn_data(1500)
    negatives = int((~data.positive[data.split(0)[0]]).sum())
    for limit in ({"max_fpr": 0.2}, {"max_acted": 0.25}):
        name, most = next(iter(limit)).removeprefix("max_"), next(iter(limit.values()))
        result = study(tmp_path / name, data, methods=("bg", "dm-bg"), trees=10, train_costs=("record",), **limit).run()
        board = result.leaderboard.filter(~pl.col("name").str.starts_with("mc-"))
        n = negatives if name == "fpr" else 1050
        # With 95% confidence the rate on new records is below the limit: some two standard errors lie between them.
        margin = 1.5 * np.sqrt(most * (1 - most) / n)
        assert board[f"limit_{name}"].max() <= most - margin
        assert board[f"out_of_fold_{name}"].max() <= most
        teams = board.filter(pl.col("family") == "team")
        assert teams["threshold"].to_list() == ["scaled"] * len(teams)
        assert teams["description"].str.ends_with(", above T_cs with scaled odds").all()
        chosen = result.summary["chosen"]
        assert chosen["threshold"] in ("tuned", "scaled", "cost", "half")
        policies = [policy["name"] for policy in result.summary["money"]["policies"]]
        assert policies == ["acting on none", f"acting on {most:.1%} at random"]


def test_class_imbalance_alone_tries_cost_ratios_and_imbalanced_learn(tmp_path):
    result = Study(
        churn_data(costs=False), out=tmp_path / "a", methods=("rf", "urf", "ab"), trees=4, folds=2, jobs=1,
    ).run()  # fmt: skip
    assert result.summary["question"]["measure"] == "balanced_accuracy"
    assert result.summary["money"] is None
    names = set(result.results["name"])
    assert {"imblearn-brf", "imblearn-rusboost", "imblearn-easyensemble", "rf", "urf", "ab"} <= names
    assert result.results["decision_costs"].n_unique() > 3
    expected = result.summary["chosen"]["expected"]
    assert 0.5 < expected["low"] < expected["value"] < expected["high"] < 1
    model = load(result.directory / "best.skops")
    assert set(model.predict(churn_data().frame)) == {"no", "yes"}  # its costs are a pair, which it remembers
    with pytest.raises(StudyError, match="'cost' needs costs"):
        Study(churn_data(costs=False), out=tmp_path / "b", measure="cost")


@pytest.mark.parametrize(("members", "n_reads"), [(("label",), 3), (("cost", "tuned"), 6)])
def test_scores_that_are_the_same_at_all_costs_are_read_once(members, n_reads, monkeypatch):
    read, reads = MemberClassifier.read, []
    monkeypatch.setattr(MemberClassifier, "read", lambda *given, **costs: reads.append(costs) or read(*given, **costs))
    data, unit = churn_data(costs=False), Unit(0, "rf", "none", members, decision_costs=("1:2", "1:9"))
    config = Config(trees=4, folds=2, measure="balanced_accuracy")
    found = run_unit(data, config, unit).rows
    assert len(reads) == n_reads  # in two folds and on test records
    monkeypatch.setattr(Reader, "needs_costs", True)
    assert_frame_equal(run_unit(data, config, unit).rows, found)
    assert len(reads) == n_reads + 6


def test_the_readable_tree_learns_decisions_out_of_fold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    records = Records(X, rng.random(200) < 0.3, Costs(fp=1.0, fn=5.0))
    out_of_fold = X[:, 1] > 0.4  # whatever the labels, and whatever the model decides in its own fold
    row = dict.fromkeys(("method", "name", "train_costs", "decision_costs"), "x")
    _, text = _taught({**row, "n_tuned": 0, "out_of_fold_outcome": [pack(out_of_fold)]}, records, records, Config())
    assert text == CostTreeClassifier(max_depth=4, random_state=0).fit(X, out_of_fold.astype(int)).export_text()
    assert text.count("records") == 3  # one split, as out of fold


def test_the_recommended_model_teaches_a_readable_tree(finished):
    (taught,) = finished.results.filter(pl.col("name").str.starts_with("mc-")).to_dicts()
    assert taught["name"] == f"mc-{finished.summary['chosen']['name']}"
    assert taught["out_of_fold_cost"] is None  # it is measured on test records, and never chosen
    assert taught["test_cost"] > 0
    assert "records" in finished.summary["tree"]


FOLLOWING = {**SMALL, "decisions": "follow-costs", "metacost": "none"}


@pytest.fixture(scope="module")
def following(tmp_path_factory):
    return study(tmp_path_factory.mktemp("following") / "a", **FOLLOWING).run()


def test_only_decisions_that_follow_costs_are_tried_where_that_is_asked_for(following):
    assert set(following.results["threshold"]) == {"cost", "scaled"}
    assert following.results["follows_costs"].all()


def test_time_limits_leave_out_the_least_promising_and_say_so(tmp_path, undisturbed):
    result = study(tmp_path / "a", **SMALL, time_limit=0).run()
    ran = set(result.results["method"])
    not_tried = result.summary["question"]["not_tried"]
    assert not_tried
    assert not set(not_tried) & ran
    assert by_promise(plan_units(Config(methods=SMALL["methods"])))[0].method in ran
    again = study(tmp_path / "a", **SMALL).run()
    assert files(again.directory) == files(undisturbed.directory)


def test_repeats_divide_the_records_anew_and_are_averaged(tmp_path):
    one, two = (study(tmp_path / str(n), **SMALL, teams=False, repeats=n).run() for n in (1, 2))
    assert two.results.height == 2 * one.results.height - 1  # but for the tree that is taught
    key = ["name", "train_costs", "description"]
    both = one.results.filter(pl.col("out_of_fold_cost").is_not_null()).join(
        two.results.filter(pl.col("repeat") == 1), on=key, suffix="_again"
    )
    assert (both["out_of_fold_cost"] != both["out_of_fold_cost_again"]).any()
    assert two.results.filter(pl.col("repeat") == 1)["test_cost"].is_null().all()


def test_the_delivered_model_can_be_trained_on_the_test_records_too(tmp_path, following):
    everything = study(tmp_path / "all", **FOLLOWING, refit="all").run()
    assert following.summary["chosen"] == everything.summary["chosen"]  # the figures are those of the same models
    data = churn_data()
    given = {"fp_cost": data.costs.fp, "fn_cost": data.costs.fn}
    first, second = (
        load(r.directory / "best.skops").predict_proba(data.frame, **given) for r in (following, everything)
    )
    assert not np.array_equal(first, second)


def noise_data(n: int, seed: int) -> StudyData:
    """Return records whose classes do not depend on their features."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"x{j}": rng.normal(size=n) for j in range(6)})
    amount = rng.lognormal(3, 1, n)
    return StudyData(
        name="noise", frame=frame, positive=rng.random(n) < 0.3, classes=("no", "yes"),
        costs=Costs(fp=0.3 * amount, fn=amount), test_rows=None, test_fraction=0.2, info={},
    )  # fmt: skip


@pytest.mark.slow
def test_nothing_is_promised_on_pure_noise(tmp_path):
    promised = []
    for seed in range(3):
        result = study(
            tmp_path / str(seed), noise_data(600, seed), methods=("rf", "dm-rf", "ab", "tree"), trees=10, folds=5,
            measure="savings", train_costs=("record",), metacost="none",
        ).run()  # fmt: skip
        promised.append(result.summary["chosen"]["expected"]["value"])
        assert result.summary["chosen"]["expected"]["low"] < 0
    # The best of hundreds of models looks better than this; what is promised of it does not.
    assert np.mean(promised) < 0.02


def test_whole_groups_and_later_records_are_judged(tmp_path):
    group = np.random.default_rng(0).integers(0, 120, 600)
    for more in ({"groups": group}, {"time": np.arange(600)}):
        data = churn_data(600, **more)
        learning, test = data.split(0)
        folds = data.folds(3, repeat=0, seed=0)
        for k in range(3):
            judged, trained = learning[folds.judged(k)], learning[folds.trained(k)]
            if "groups" in more:
                assert not set(group[judged]) & set(group[trained])
            else:
                assert trained.max() < judged.min()
        if "groups" in more:
            assert not set(group[test]) & set(group[learning])
        else:
            assert learning.max() < test.min()
        result = study(tmp_path / next(iter(more)), data, **SMALL).run()
        assert result.summary["chosen"]["expected"]["low"] > 0


def test_sizes_of_trees_are_tried_and_told_and_delivered(finished):
    sizes = finished.results.filter(pl.col("method") == "bg")["tree"].unique().sort().to_list()
    assert sizes == ["leaves of 1", "leaves of 20"]
    assert finished.results.filter(pl.col("method") == "urf")["tree"].unique().to_list() == [None]
    again = study(finished.directory)
    board = finished.leaderboard.with_row_index("rank", offset=1).filter(pl.col("method") == "bg")
    for tree, least in (("leaves of 1", 1), ("leaves of 20", 20)):
        row = board.filter(pl.col("tree") == tree).row(0, named=True)
        path = finished.directory / "other.skops"
        assert again.save(row["rank"], path)["tree"] == tree
        assert load(path).model.estimator.min_samples_leaf == least
        assert f"trees with {tree} records or more" in training(row)


def test_the_plan_trains_each_ensemble_once_for_all_its_decisions():
    units = plan_units(Config(methods=("bg", "dm-bg", "urf", "cpr*"), repeats=1, train_costs=("record", "class means")))
    assert [(u.method, u.train_costs, u.tree) for u in units if u.method in ("bg", "urf", "cprbg")] == [
        ("bg", "none", "leaves of 1"), ("bg", "none", "leaves of 20"),
        ("cprbg", "record", None), ("cprbg", "class means", None), ("urf", "class means", None),
    ]  # fmt: skip
    assert len({u.key for u in units}) == len(units)
    assert next(u for u in units if u.method == "bg").members == ("label", "cost", "tuned")
    with pytest.raises(StudyError, match="no method is called 'nothing'"):
        plan_units(Config(methods=("nothing",)))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"trees": 0}, "--trees is 0"),
        ({"measure": "luck"}, "no --measure 'luck'"),
        ({"metacost": "some"}, "--metacost is 'some'"),
        ({"max_fpr": 2.0}, "--max-fpr is 2.0"),
        ({"train_costs": ("1;6",)}, "--train-costs '1;6' are not known"),
        ({"train_costs": ("1:-6",)}, "--train-costs '1:-6' are not known"),
        ({"progress": "loud"}, "--progress is 'loud'"),
    ],
)
def test_what_cannot_be_asked_is_said(tmp_path, option, message):
    with pytest.raises(StudyError, match=message):
        study(tmp_path / "a", **{**SMALL, **option}).run()


def test_average_precision_can_be_what_is_compared(tmp_path):
    result = study(tmp_path / "a", methods=("rf",), trees=4, measure="average_precision").run()
    board = result.leaderboard["out_of_fold_average_precision"]
    assert board.is_sorted(descending=True)
    assert board[0] > 0


def test_a_configuration_that_cannot_be_read_is_refused(tmp_path, undisturbed):
    shutil.copytree(undisturbed.directory, tmp_path / "a")
    (tmp_path / "a" / "study.json").write_bytes(b"\x80{")
    with pytest.raises(StudyError, match=r"cannot be read: remove .*a, or choose another --out"):
        study(tmp_path / "a", **SMALL).run()


def test_a_scheduler_that_does_not_answer_is_said_in_one_line(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(StudyError, match="no Dask scheduler answers at nowhere"):
        study(tmp_path / "a", **SMALL, dask="nowhere").run()


def test_dask_is_asked_for_where_it_is_absent(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "stakes.study.cluster", raising=False)
    with pytest.raises(StudyError, match=r"pip install .stakes\[dask\]"):
        study(tmp_path / "a", **SMALL, dask="tcp://127.0.0.1:1").run()
