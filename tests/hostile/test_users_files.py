"""The user's files are left alone: commands refuse to write where they would be lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from test_hostile_files import COMMAND, QUICKLY, file_of, said_by


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with records and a study of them."""
    directory = tmp_path_factory.mktemp("studied")
    file_of(note=["=1+1", "plain"] * 40)(directory / "records.csv")
    assert said_by("study", directory / "records.csv", *QUICKLY, "--out", directory / "out") == (0, [])
    return directory


def refused(*arguments: object, match: str) -> None:
    code, said = said_by(*arguments)
    assert code == 2
    assert match in " ".join(said)


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("out", [".", "./", "../proj", "link"])
def test_a_study_does_not_write_into_a_folder_of_the_user(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proj" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "proj")
    for name in (".env", ".git/config", "leaderboard.csv", "report.html", "best.skops"):
        Path(name).write_text("mine")
    file_of()(Path("records.csv"))
    Path("link").symlink_to(tmp_path / "proj")
    before = contents(tmp_path)
    refused("study", "records.csv", *COMMAND, "--out", out, match="has files that are not of a study")
    assert contents(tmp_path) == before


def test_records_with_the_name_of_a_result_are_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file_of()(Path("leaderboard.csv"))
    before = contents(tmp_path)
    refused("study", "leaderboard.csv", *COMMAND, "--out", ".", match="has files that are not of a study")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("command", ["study", "demo", "apply"])
def test_an_empty_path_is_refused(command: str, studied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model, records = studied / "out" / "best.skops", studied / "records.csv"
    arguments = {"study": (records, *COMMAND), "demo": (), "apply": (model, records)}[command]
    refused(command, *arguments, "--out", "", match="it is empty")
    assert not list(tmp_path.iterdir())


def test_a_demo_does_not_replace_the_transactions_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "transactions.csv").write_text("mine")
    refused("demo", "--out", tmp_path, match="is not of this demo")
    assert contents(tmp_path) == {str(tmp_path / "transactions.csv"): b"mine"}


@pytest.mark.parametrize("content", ["mine", "a,b\n1,2\n", "\x00\x01", "decision,b\n1,2\n"])
def test_decisions_replace_nothing_but_decisions(content: str, studied: Path, tmp_path: Path) -> None:
    out, apply = tmp_path / "out.csv", ("apply", studied / "out" / "best.skops", studied / "records.csv")
    out.write_text(content)
    refused(*apply, "--out", out, match="has no decisions in it: choose another name, or give --overwrite")
    assert out.read_text() == content
    assert said_by(*apply, "--out", out, "--overwrite") == (0, [])
    assert said_by(*apply, "--out", out) == (0, [])  # those of the last time
    assert "decision" in pl.read_csv(out).columns


def test_a_saved_model_replaces_nothing_but_a_model(studied: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.skops"
    out.write_text("mine")
    refused("save", studied / "out", "--row", 1, "--out", out, match="is no model: choose another name")
    assert out.read_text() == "mine"
    assert said_by("save", studied / "out", "--row", 1, "--out", out, "--overwrite") == (0, [])
    assert said_by("save", studied / "out", "--row", 2, "--out", out) == (0, [])


def apply_to(studied: Path, out: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "stakes.cli", "apply", studied / "out" / "best.skops", studied / "records.csv"]
    return subprocess.run([*map(str, command), "--out", str(out)], capture_output=True, check=False, **options)


@pytest.mark.parametrize("out", ["-", pytest.param("/dev/stdout", marks=pytest.mark.slow)])
def test_standard_output_has_the_decisions_and_nothing_else(out: str, studied: Path, tmp_path: Path) -> None:
    if not Path("/dev").exists() and out != "-":
        pytest.skip("no such device here")
    done = apply_to(studied, out, cwd=tmp_path)
    assert done.returncode == 0
    assert pl.read_csv(done.stdout).height == 80
    assert b"records are" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_stays_a_pipe(studied: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    assert apply_to(studied, tmp_path / "pipe").returncode == 0
    assert pl.read_csv(reader.communicate()[0]).height == 80
    assert (tmp_path / "pipe").is_fifo()


def test_formulas_of_spreadsheets_are_neutralised_where_asked_for(studied: Path, tmp_path: Path) -> None:
    apply = ("apply", studied / "out" / "best.skops", studied / "records.csv", "--out", tmp_path / "out.csv")
    assert said_by(*apply) == (0, [])
    assert set(pl.read_csv(tmp_path / "out.csv")["note"]) == {"=1+1", "plain"}
    assert said_by(*apply, "--spreadsheet") == (0, [])
    marked = pl.read_csv(tmp_path / "out.csv")
    assert set(marked["note"]) == {"'=1+1", "plain"}
    assert marked["x"].dtype == pl.Float64  # a negative number is no formula
