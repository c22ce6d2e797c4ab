"""The directory of a study keeps what is finished, trusts nothing else, and leaves other files alone."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from stakes._atomic import complete_file, write_atomically
from stakes.exceptions import StudyError
from stakes.study.store import Store

RESULTS = pl.DataFrame({"cost": [1.0, 2.0]})


def test_a_finished_unit_is_read_by_the_same_study(tmp_path: Path) -> None:
    with Store(tmp_path, {"trees": 3}).opened() as store:
        store.add("0.bg.record", RESULTS)
    with Store(tmp_path, {"trees": 3}).opened() as store:
        assert store.read("0.bg.record").equals(RESULTS)
        assert store.read("0.bg") is None


def test_a_unit_of_another_configuration_is_not_taken(tmp_path: Path) -> None:
    with Store(tmp_path / "three", {"trees": 3}).opened() as store:
        store.add("0.bg.record", RESULTS)
    with Store(tmp_path / "four", {"trees": 4}).opened() as store:
        (file,) = (tmp_path / "three" / "units").iterdir()
        (tmp_path / "four" / "units" / file.name).write_bytes(file.read_bytes())
        assert store.read("0.bg.record") is None


@pytest.mark.parametrize("name", [".env", "leaderboard.csv", "units", ".git", "a folder", ".results.parquet.partial"])
def test_a_directory_with_files_that_is_not_of_a_study_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir() if name in ("units", ".git", "a folder") else (tmp_path / name).write_text("mine")
    store = Store(tmp_path, {}).opened()
    with pytest.raises(StudyError, match=r"has files that are not of a study, .*choose another --out"), store:
        pass
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_directory_of_which_nothing_was_made_but_the_lock_is_taken(tmp_path: Path) -> None:
    (tmp_path / "study.lock").touch()
    (tmp_path / ".study.json.a1b2c3d4.partial").touch()
    with Store(tmp_path, {}).opened() as store:
        store.add("0.bg.record", RESULTS)
    assert not (tmp_path / ".study.json.a1b2c3d4.partial").exists()


def test_a_directory_of_which_only_bins_were_made_is_taken_and_what_was_begun_is_removed(tmp_path: Path) -> None:
    (tmp_path / "bins").mkdir()
    (tmp_path / "bins" / "data.json").write_text("{}")
    begun, mine = tmp_path / ".bins.ab12cd34.partial", tmp_path / "units" / ".bins.ab12cd34.partial"
    begun.mkdir()
    (begun / "bins.u1").write_bytes(b"0")
    with Store(tmp_path, {}).opened():
        assert (tmp_path / "bins" / "data.json").exists()
        assert not begun.exists()
    mine.mkdir()
    with Store(tmp_path, {}).opened():
        assert mine.exists()


def test_a_folder_of_the_user_that_is_called_bins_is_no_mark(tmp_path: Path) -> None:
    (tmp_path / "bins").mkdir()
    (tmp_path / "bins" / "photo.jpg").write_text("mine")
    with pytest.raises(StudyError, match="not of a study, such as bins"), Store(tmp_path, {}).opened():
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["bins", "photo.jpg"]


def test_a_file_that_the_study_did_not_write_is_not_replaced(tmp_path: Path) -> None:
    with Store(tmp_path, {}).opened() as store:
        store.write("leaderboard.csv", b"first")
        store.write("leaderboard.csv", b"second")
        (tmp_path / "leaderboard.csv").write_bytes(b"mine")
        with pytest.raises(StudyError, match=r"leaderboard\.csv was not written by the study.*move it away"):
            store.write("leaderboard.csv", b"third")
        assert (tmp_path / "leaderboard.csv").read_bytes() == b"mine"


@pytest.mark.parametrize("written_before", [False, True])
def test_a_study_that_was_killed_between_list_and_file_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written_before: bool
) -> None:
    def write_the_list_alone(path: Path, content: bytes) -> None:
        if path.name != "written.json":
            raise KeyboardInterrupt
        write_atomically(path, content)

    with Store(tmp_path, {}).opened() as store:
        if written_before:
            store.write("summary.json", b"first")
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr("stakes.study.store.write_atomically", write_the_list_alone)
            store.write("summary.json", b"second")
        store.write("summary.json", b"third")
    assert (tmp_path / "summary.json").read_bytes() == b"third"


def test_only_models_that_the_study_wrote_are_removed(tmp_path: Path) -> None:
    with Store(tmp_path, {}).opened() as store:
        for key in ("0.bg.record", "0.rf.record"):
            store.add(key, RESULTS, b"a model")
        others = ["mine.skops", "0.rf.record.0123456789abcdef.skops"]
        for name in others:
            (tmp_path / "units" / name).write_text("mine")
        store.keep_models(["0.bg.record"])
        assert store.read_model("0.bg.record") == b"a model"
        assert store.read_model("0.rf.record") is None
    assert all((tmp_path / "units" / name).exists() for name in others)


def test_a_unit_under_the_name_of_another_is_not_taken(tmp_path: Path) -> None:
    with Store(tmp_path, {}).opened() as store:
        store.add("0.bg.record", RESULTS)
        (file,) = (tmp_path / "units").iterdir()
        file.rename(file.with_name(file.name.replace("bg", "rf")))
        assert store.read("0.rf.record") is None


@pytest.mark.parametrize("content", ["[]", "3", "no json", '"text"'])
def test_a_configuration_of_another_kind_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(StudyError, match=r"study\.json cannot be read"), Store(tmp_path, {}).opened():
        pass


def test_only_its_own_unfinished_files_are_removed(tmp_path: Path) -> None:
    others = [".env", ".gitignore", ".decisions.csv.a1b2c3d4.partial", ".git/config", "units.txt", ".results.parquet"]
    own = [".results.parquet.a1b2c3d4.partial", "units/.0.bg.record.0123456789abcdef.parquet.a1b2c3d4.partial"]
    with Store(tmp_path, {}).opened() as store:
        store.write("results.parquet", b"some")
    for name in [*others, *own]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("some")
    with Store(tmp_path, {}).opened():
        pass
    assert all((tmp_path / name).exists() for name in others)
    assert not any((tmp_path / name).exists() for name in own)


def _hold(directory: Path, ready: multiprocessing.synchronize.Event) -> None:
    with Store(directory, {}).opened():
        ready.set()
        os.kill(os.getpid(), 9)


def test_one_study_at_a_time_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    second = Store(tmp_path, {}).opened()
    with Store(tmp_path, {}).opened(), pytest.raises(StudyError, match="another study is running"), second:
        pass
    ready = context.Event()
    process = context.Process(target=_hold, args=(tmp_path, ready))
    process.start()
    process.join()
    assert ready.is_set()
    with Store(tmp_path, {}).opened():
        pass


def test_a_file_is_complete_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "results"
    write_atomically(path, b"first")
    with suppress(KeyboardInterrupt), complete_file(path) as unfinished:
        unfinished.write_bytes(b"second")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"first"
    assert [each.name for each in tmp_path.iterdir()] == ["results"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it exists and is not a file"):
        write_atomically(tmp_path / "pipe", b"new")
    assert (tmp_path / "pipe").is_fifo()
