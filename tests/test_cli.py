"""The command: what it prints, what it leaves behind, and how it says no."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stakes import CostBaggingClassifier, Decision, __version__, cli, list_methods
from stakes.cli import app
from stakes.datasets import make_churn
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import StudyError
from stakes.persist import save
from stakes.study.display import print_methods
from stakes.study.loading import load_data
from stakes.study.plan import Config
from stakes.study.study import Study

COSTS = ["--fp-cost", "2 * monthly_charges", "--fn-cost", "12 * monthly_charges"]
SMALL = ["--methods", "tree,bg", "--methods", "dm-bg", "--trees", "3", "--folds", "2", "--jobs", "1"]


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def records(n: int = 300, seed: int = 0) -> pl.DataFrame:
    made = make_churn(n, random_state=seed)
    return made.frame.with_columns(churn=pl.Series(np.where(made.target == 1, "yes", "no")))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory with a file of records in it, to work in."""
    monkeypatch.chdir(tmp_path)
    records().write_csv("churn.csv")
    return tmp_path


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    directory = tmp_path_factory.mktemp("cli")
    records().write_csv(directory / "churn.csv")
    out = directory / "out"
    return out, run("study", directory / "churn.csv", "--target", "churn", *COSTS, *SMALL, "--out", out)


def test_a_study_prints_its_result_and_leaves_its_files(studied: tuple[Path, Any]) -> None:
    out, result = studied
    assert result.exit_code == 0, result.output
    first, *_ = result.stdout.splitlines()
    assert first.startswith(("Act on the records that the model flags, ", "Use no model: "))
    assert "On new records its mistakes are expected to cost " in result.stdout
    assert "Cost per record on the test records: the model " in result.stdout
    assert f"stakes apply {out / 'best.skops'} NEW.csv" in result.stdout
    assert "Note: 'yes' is taken for the positive class of 'churn'" in result.stderr
    assert {"results.parquet", "leaderboard.csv", "report.html", "best.skops", "summary.json"} <= {
        file.name for file in out.iterdir()
    }
    best = pl.read_csv(out / "leaderboard.csv").row(0, named=True)
    assert best["name"] in result.stdout
    names = set(pl.read_csv(out / "leaderboard.csv")["name"])
    assert {"tree", "bg", "dm-bg", "lr", "lgbm", "team"} <= names


def test_the_same_command_again_gives_the_same_and_another_one_is_refused(studied: tuple[Path, Any]) -> None:
    out, result = studied
    command = ["study", out.parent / "churn.csv", "--target", "churn", *COSTS, *SMALL, "--out", out]
    again = run(*command)
    assert (again.exit_code, again.stdout) == (0, result.stdout)
    other = run(*command, "--seed", 1)
    assert other.exit_code == 2
    assert "holds a study with another configuration" in other.stderr


class Asked(Exception):
    """Instead of a study."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what a study is asked for, which then is not made."""
    options_and_data: dict[str, Any] = {}

    def remember(self: Any, data: Any, **options: Any) -> None:
        options_and_data.update(options, data=data)
        raise Asked

    monkeypatch.setattr(Study, "__init__", remember)
    return options_and_data


def test_options_reach_the_study(here: Path, asked: dict[str, Any]) -> None:
    result = run(
        "study", "churn.csv", "--target", "churn", "--positive", "no", *COSTS, "--drop", "tenure", "--drop",
        "contract,monthly_charges", "--methods", "dm-*, rf", "--methods", "all", "--trees", 7, "--repeats", 4,
        "--folds", 3, "--test", "tenure>30", "--time", "monthly_charges", "--train-costs",
        "record,class means", "--train-costs", "1:6", "--measure", "savings", "--max-fpr", 0.1, "--max-acted", 0.2,
        "--metacost", "none", "--decisions", "follow-costs", "--no-teams", "--refit", "all",
        "--feature-costs", "prices.csv", "--time-limit", 60, "--jobs", 2, "--dask", "tcp://x:1", "--out", "there",
        "--seed", 5, "--progress", "quiet",
    )  # fmt: skip
    assert isinstance(result.exception, Asked)
    data = asked.pop("data")
    assert data.classes == ("yes", "no")
    assert not {"tenure", "contract", "monthly_charges"} & set(data.frame.columns)
    assert data.info["test"] == "records with tenure > 30"
    assert data.time is not None
    assert asked == {
        "methods": ["dm-*", "rf", "all"], "trees": 7, "folds": 3, "repeats": 4,
        "train_costs": ["record", "class means", "1:6"], "measure": "savings", "max_fpr": 0.1, "max_acted": 0.2,
        "metacost": "none", "decisions": "follow-costs", "teams": False, "refit": "all",
        "feature_costs": Path("prices.csv"), "time_limit": 60.0, "jobs": 2,
        "dask": "tcp://x:1", "out": Path("there"), "seed": 5, "progress": "quiet",
    }  # fmt: skip
    asked.clear()
    run("study", "churn.csv", "--target", "churn")
    assert asked.pop("data").costs is None
    assert asked == {
        "methods": ["quick"], "trees": 100, "folds": 5, "repeats": 1, "train_costs": ["record"], "measure": None,
        "max_fpr": None, "max_acted": None, "metacost": "best", "decisions": "all", "teams": True, "refit": "learning",
        "feature_costs": None, "time_limit": None, "jobs": None, "dask": None, "out": Path("churn-study"), "seed": 0,
        "progress": "plain",
    }  # fmt: skip


def test_the_command_has_the_defaults_of_the_study() -> None:
    of_study, of_command = (signature(each).parameters for each in (Study, cli.study))
    both = of_study.keys() & of_command.keys() - {"data", "out", "methods", "train_costs", "progress"}
    assert len(both) == 15
    assert {name: of_command[name].default for name in both} == {name: of_study[name].default for name in both}


@pytest.mark.parametrize(("option", "least"), [("trees", 1), ("folds", 2), ("repeats", 1), ("seed", 0)])
def test_the_command_has_the_bounds_of_the_study(option: str, least: int) -> None:
    info = get_args(get_type_hints(cli.study, include_extras=True)[option])[-1]
    assert info.min == least
    assert getattr(Config(**{option: least}), option) == least
    with pytest.raises(StudyError, match=f"give at least {least}"):
        Config(**{option: least - 1})


def test_a_study_of_class_imbalance_says_what_was_measured(here: Path) -> None:
    records(100).write_csv("churn.csv")
    few = ["--methods", "tree,bg", "--trees", "2", "--folds", "2", "--jobs", "1", "--metacost", "none"]
    result = run("study", "churn.csv", "--target", "churn", *few, "--measure", "g_mean")
    assert result.exit_code == 0, result.output
    assert "On new records it is expected to reach G-mean of 0." in result.stdout
    assert "On 20 test records it finds " in result.stdout
    assert (here / "churn-study" / "best.skops").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sales.2024-01.csv", "sales.2024-01-decisions.csv"),
        ("sales.2024-02.csv.gz", "sales.2024-02-decisions.csv"),
        ("v1.2.PARQUET", "v1.2-decisions.parquet"),
        ("new", "new-decisions.csv"),
    ],
)
def test_the_default_name_of_decisions_keeps_the_whole_name_of_the_records(
    name: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr("stakes.study.apply.apply_model", lambda model, data, out, **_: asked.append(out))
    run("apply", "best.skops", f"folder/{name}")
    assert asked == [Path("folder") / expected]


def test_a_folder_that_one_is_in_has_its_name_and_results_next_to_it(
    here: Path, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "payments"
    (folder / "day=1").mkdir(parents=True)
    records().write_parquet(folder / "day=1" / "0.parquet")
    decisions: list[Path] = []
    monkeypatch.setattr("stakes.study.apply.apply_model", lambda model, data, out, **_: decisions.append(out))
    for inside, data in ((folder, "."), (folder / "day=1", "..")):
        monkeypatch.chdir(inside)
        for command in (["study", data, "--target", "churn"], ["apply", here / "best.skops", data]):
            run(*command)
        assert (asked["out"], decisions.pop()) == (here / "payments-study", here / "payments-decisions")
    monkeypatch.chdir(here)
    run("study", "payments", "--target", "churn")
    assert asked["out"] == Path("payments-study")


def test_decisions_are_written_next_to_the_new_records(studied: tuple[Path, Any], here: Path) -> None:
    records(50, seed=1).write_parquet("new.parquet")
    result = run("apply", studied[0] / "best.skops", "new.parquet", "--fn-cost", "20 * monthly_charges")
    assert result.exit_code == 0, result.output
    assert "of 50 records are 'yes': see new-decisions.parquet" in result.stdout
    assert pl.read_parquet("new-decisions.parquet").height == 50
    result = run("apply", studied[0] / "best.skops", "new.parquet", "--out", "few.csv", "--keep", "tenure, contract")
    assert pl.read_csv("few.csv").columns[:3] == ["tenure", "contract", "decision"]
    result = run("apply", studied[0] / "best.skops", "new.parquet", "--out", "few.csv", "--keep", "none")
    assert pl.read_csv("few.csv").columns[:2] == ["record", "decision"]


def test_a_report_is_written_again(studied: tuple[Path, Any]) -> None:
    (studied[0] / "report.html").unlink()
    result = run("report", studied[0])
    assert (result.exit_code, result.stdout) == (0, f"See {studied[0] / 'report.html'}\n")
    assert (studied[0] / "report.html").exists()


def test_the_demonstration_is_a_study(here: Path, asked: dict[str, Any]) -> None:
    result = run("demo", "--out", "shown", "--progress", "quiet")
    assert isinstance(result.exception, Asked)
    assert "--fp-cost 5 --fn-cost amount" in result.stdout
    np.testing.assert_array_equal(asked["data"].costs.fn, asked["data"].frame["amount"])
    assert asked["out"] == Path("shown/study")


def test_methods_are_listed_and_filtered() -> None:
    plain = [method for method in list_methods() if not method.name.startswith("mc-")]
    lines = run("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [method.name for method in plain]
    for arguments, keep in (
        (["dm-u*"], lambda m: m.name.startswith("dm-u")),
        (["--when", "before"], lambda m: "before" in m.when),
        (["--when", "never"], lambda m: not m.when),
        (["--family", "boosting"], lambda m: m.family == "boosting"),
        (["--costs", "constant", "*rf"], lambda m: m.costs == "constant" and m.name.endswith("rf")),
    ):
        found = [line.split()[0] for line in run("methods", *arguments).stdout.splitlines()[1:]]
        assert found == [method.name for method in plain if keep(method)]
        assert found
    assert len(run("methods", "mc-*").stdout.splitlines()) == len(plain) + 1


def test_methods_are_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_methods(list_methods().filter(name="*cprbg"))
    said = capsys.readouterr().out
    assert "4 methods" in said
    assert "mc-dm-cprbg" in said


def test_version_and_help() -> None:
    assert run("--version").stdout == f"{__version__}\n"
    for arguments in (
        ["--help"],
        *([command, "--help"] for command in ("study", "apply", "report", "methods", "demo")),
    ):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "Usage: " in result.stdout
    for option in (
        "--target", "--positive", "--fp-cost", "--fn-cost", "--drop", "--methods", "--trees", "--folds", "--repeats",
        "--test", "--groups", "--time", "--decisions", "--refit", "--time-limit",
        "--train-costs", "--max-fpr", "--max-acted", "--measure", "--jobs", "--out", "--seed",
        "--metacost", "--dask",
    ):  # fmt: skip
        assert option in run("study", "--help").stdout


def test_the_leaderboard_is_in_words_and_fits_100_columns(studied: tuple[Path, Any]) -> None:
    _, result = studied
    heading, *rows = result.stdout.split("(* is recommended)")[1].split("All of it")[0].strip().splitlines()
    assert heading.split() == ["model", "acts", "where", "out", "of", "fold", "test", "acted", "on"]
    assert max(len(row) for row in rows) <= 100
    assert sum("logistic regression (lr)" in row for row in rows) in (1, 2)  # its best row, and it may be recommended
    assert "T_cs" not in "".join(rows)


def test_characters_that_a_console_lacks_do_not_stop_the_command(here: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "stakes.cli", "study", "ω.csv", "--target", "x"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=here)
    assert done.returncode == 2
    assert done.stderr == "stakes: there is no file ?.csv\n"


def test_another_model_of_a_study_can_be_saved(studied: tuple[Path, Any], here: Path) -> None:
    out, _ = studied
    board = pl.read_csv(out / "leaderboard.csv")
    result = run("save", out, "--row", 3, "--out", "third.skops")
    assert result.exit_code == 0, result.output
    row = board.row(2, named=True)
    assert f"({row['name']}), " in result.stdout
    assert result.stdout.endswith(": see third.skops\n")
    named = run("save", out, "--name", "tree")
    assert named.exit_code == 0, named.output
    done = run("apply", out / "model-tree.skops", "churn.csv", "--out", "decided.csv")
    assert done.exit_code == 0, done.output
    for arguments, message in (
        (["--row", 100_000], "there is no model 100000 on the leaderboard"),
        (["--name", "magic"], "there is no model 'magic' on the leaderboard: choose from"),
        ([], "give --row or --name"),
    ):
        result = run("save", out, *arguments)
        assert result.exit_code == 2
        assert message in result.stderr


STUDY = ["study", "churn.csv", "--target", "churn", *COSTS]


def replaced(option: str, value: str) -> list[str]:
    return [value if STUDY[i - 1] == option else part for i, part in enumerate(STUDY)]


def column(name: str, values: list[Any]) -> Callable[[], None]:
    return lambda: records().with_columns(pl.Series(name, values)).write_csv("churn.csv")


def content(text: bytes) -> Callable[[], object]:
    return lambda: Path("churn.csv").write_bytes(text)


BAD: dict[str, tuple[Callable[[], object] | None, list[str], str]] = {
    "no file": (None, ["study", "none.csv", "--target", "x"], "there is no file none.csv"),
    "an empty directory": (None, ["study", ".", "--target", "x"], "has no Parquet files"),
    "an empty file": (content(b""), STUDY, "churn.csv is empty"),
    "a header only": (content(b"a,churn\n"), STUDY, "has no records"),
    "something else": (content(b"\x89PNG\r\n\x00\x00"), STUDY, "neither CSV nor Parquet"),
    "names twice": (content(b"a,a,churn\n1,2,3\n"), STUDY, "more than one column 'a'"),
    "a missing target": (None, replaced("--target", "churned"), "did you mean 'churn'"),
    "one class": (column("churn", ["no"] * 300), STUDY, "one class only"),
    "three classes": (column("churn", ["a", "b", "c"] * 100), STUDY, "3 values"),
    "a class missing": (column("churn", ["a", "b", None] * 100), STUDY, "is missing in 100 records"),
    "not a number for the target": (column("churn", [0.0, 1.0, float("nan")] * 100), STUDY, "is missing in 100"),
    "no such class": (None, [*STUDY, "--positive", "perhaps"], "not a value of 'churn'"),
    "a missing column": (None, replaced("--fn-cost", "12 * charge"), "there is no column 'charge'"),
    "half an expression": (None, replaced("--fn-cost", "12 *"), "something is missing"),
    "an empty expression": (None, replaced("--fn-cost", ""), "something is missing"),
    "a call": (None, replaced("--fn-cost", "system(1)"), "there is no function 'system'"),
    "an import": (None, replaced("--fn-cost", "__import__('os')"), "there is no function '__import__'"),
    "a query": (None, replaced("--fn-cost", "(select 1)"), "'1' is not expected"),
    "a file in a cost": (None, replaced("--fn-cost", "read_csv('churn.csv')"), "there is no function 'read_csv'"),
    "a text in a cost": (None, replaced("--fn-cost", "contract"), "is not numeric"),
    "zero division": (None, replaced("--fn-cost", "1 / (tenure - tenure)"), "division by zero"),
    "negative costs": (None, replaced("--fn-cost", "0 - monthly_charges"), "a negative cost"),
    "one cost only": (None, STUDY[:6], "--fn-cost is not"),
    "a share too large": (None, [*STUDY, "--test", "1.2"], "between 0 and 1"),
    "no test file": (None, [*STUDY, "--test", "late.csv"], "there is no such file"),
    "no such split": (None, [*STUDY, "--test", "when>3"], "there is no column 'when'"),
    "nothing to drop": (None, [*STUDY, "--drop", "x"], "--drop 'x'"),
    "nothing to learn from": (None, [*STUDY, "--drop", ",".join(records().drop("churn").columns)], "no features"),
    "no such method": (None, [*STUDY, "--methods", "magic"], "magic"),
    "no such measure": (None, [*STUDY, "--measure", "joy"], "joy"),
    "a measure of money without costs": (None, [*STUDY[:4], "--measure", "savings"], "needs costs"),
    "no such training costs": (None, [*STUDY, "--train-costs", "some"], "some"),
    "no limit": (None, [*STUDY, "--max-fpr", "0"], "--max-fpr is 0.0: give a share above 0 and up to 1"),
    "a limit too large": (None, [*STUDY, "--max-acted", "2"], "--max-acted is 2.0: give a share above 0 and up to 1"),
    "nowhere to write": (None, [*STUDY, "--out", "/proc/nowhere"], "cannot write to /proc/nowhere"),
    "a file in the way": (None, [*STUDY, "--out", "churn.csv"], "cannot write to churn.csv"),
    "no study to report": (None, ["report", "."], "no summary.json"),
    "no study to save from": (None, ["save", ".", "--row", "1"], "is not the directory of a finished study"),
    "no model": (None, ["apply", "best.skops", "churn.csv"], "there is no file best.skops"),
    "not a model": (None, ["apply", "churn.csv", "churn.csv"], "churn.csv is not a model file"),
    "no such family": (None, ["methods", "--family", "royal"], "--family 'royal' is not known"),
    "no such kind of costs": (None, ["methods", "--costs", "high"], "--costs 'high' is not known"),
    "no method like this": (None, ["methods", "magic*"], "no method matches 'magic*' and these options"),
    "nowhere to show": (None, ["demo", "--out", "churn.csv"], "churn.csv"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_line_and_leaves_nothing(case: str, here: Path) -> None:
    prepare, arguments, message = BAD[case]
    if prepare is not None:
        prepare()
    before = (here / "churn.csv").read_bytes()
    result = run(*arguments)
    notes = [line for line in result.stderr.splitlines() if line.startswith("Note: ")]
    said = [line for line in result.stderr.splitlines() if line not in notes]
    assert result.exit_code == 2, result.output
    assert len(said) == 1
    assert said[0].startswith("stakes: ")
    assert message in said[0]
    assert result.stdout == ""
    assert [file.name for file in here.iterdir()] == ["churn.csv"]
    assert (here / "churn.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--measure", "joy", "there is no --measure 'joy'"),
        ("--measure", "savings", "the measure 'savings' needs costs"),
        ("--train-costs", "some", "--train-costs 'some' are not known"),
        ("--methods", "magic", "no method is called 'magic'"),
        ("--max-fpr", "2", "--max-fpr is 2.0"),
    ],
)
def test_wrong_options_are_told_before_records_are_read(option: str, value: str, message: str, here: Path) -> None:
    result = run("study", "none.csv", "--target", "churn", option, value)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["study"],
        ["study", "churn.csv"],
        [*STUDY, "--trees", "none"],
        [*STUDY, "--trees", "0"],
        [*STUDY, "--jobs", "0"],
        [*STUDY, "--max-fpr", "much"],
        [*STUDY, "--metacost", "some"],
        [*STUDY, "--wrong"],
        ["wrong"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], here: Path) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: " in result.output
    assert [file.name for file in here.iterdir()] == ["churn.csv"]


def test_an_interrupted_study_says_how_to_go_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", interrupt)
    result = run(*STUDY, "--out", "there")
    assert result.exit_code == 130
    assert "stakes: stopped; what is finished is in there, and the same command goes on from there" in result.stderr


# As a process


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "stakes.cli", *map(str, arguments)]


def test_no_traceback_is_seen_outside(here: Path) -> None:
    done = subprocess.run(command(*replaced("--fn-cost", "1 / 0")), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("stakes: --fn-cost '1 / 0': division by zero")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_interrupted_process_ends_cleanly_and_goes_on(here: Path) -> None:
    arguments = [*STUDY, "--methods", "bg,rf,rdf,wbg,wrf,ab", "--trees", "20", "--jobs", "2", "--out", "there"]
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not list(here.glob("there/units/*.parquet")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert "The model: " in done.stdout, done.stderr


def test_someone_at_a_terminal_sees_how_many_records_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with cli._counter() as count:
        count(12_345)
    assert "12,345 records" in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with cli._counter() as count:
        assert count is None


def test_ctrl_c_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupt)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130


def test_whoever_stops_reading_is_not_told_of_an_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m stakes.cli methods | head -n 1", shell=True, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stderr == ""


def test_what_to_know_of_a_model_is_said_with_its_decisions(here: Path) -> None:
    made = make_churn(100, random_state=0)
    tuned = CostBaggingClassifier(n_estimators=3, decision=Decision(threshold="tuned"), random_state=0)
    tuned.fit(made.frame, made.target, fp_cost=1, fn_cost=5)
    data = load_data("churn.csv", target="churn", fp_cost=1, fn_cost=5)
    model = DeliveredClassifier(tuned, data.labels, data.frame.columns)
    save(model, "tuned.skops", info={**data.info, "model": {"follows_costs": False}})
    done = run("apply", "tuned.skops", "churn.csv", "--out", "out.csv", "--fn-cost", "7")
    assert done.exit_code == 0, done.output
    assert "Note: --fn-cost changed, and this model decides as by the costs of its study" in done.stderr
