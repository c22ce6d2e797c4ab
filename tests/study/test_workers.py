"""Workers end with their study, and whatever ends them is said in a line."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hostile"))

from stakes.exceptions import StudyError
from stakes.study import workers
from stakes.study.workers import Workers

ON_LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")

STUDY = """
import os, time
from stakes.study.workers import Workers  # noqa: E402

def work(folder, name):
    open(os.path.join(folder, name), "w").close()
    time.sleep(600)

if __name__ == "__main__":
    list(Workers(2).map(work, {folder!r}, [("a",), ("b",)]))
"""


def session(leader: int) -> list[int]:
    """Return the processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(path.parent.name))
    return found


def wait(holds, seconds: float) -> bool:
    ends = time.monotonic() + seconds
    while not holds() and time.monotonic() < ends:
        time.sleep(0.2)
    return bool(holds())


@ON_LINUX
def test_workers_end_soon_after_a_study_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STUDY.format(folder=str(tmp_path)))
    study = subprocess.Popen([sys.executable, str(tmp_path / "program.py")], start_new_session=True)
    try:
        assert wait(lambda: (tmp_path / "a").exists() and (tmp_path / "b").exists(), 120)
        assert len(session(study.pid)) > 2
        study.kill()
        study.wait()
        assert wait(lambda: not session(study.pid), 30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(study.pid, signal.SIGKILL)


LATE = """
import os, time
from stakes.study.workers import Workers  # noqa: E402

def received(folder, study):
    open(os.path.join(folder, "received"), "w").close()
    while os.getppid() == study:
        time.sleep(0.05)

class Item:
    def __reduce__(self):
        return received, ({folder!r}, os.getpid())

def work(folder, item):
    time.sleep(600)

if __name__ == "__main__":
    list(Workers(2).map(work, {folder!r}, [(Item(),), (Item(),)]))
"""


@ON_LINUX
def test_workers_end_though_their_study_was_gone_before_they_began(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LATE.format(folder=str(tmp_path)))
    study = subprocess.Popen([sys.executable, str(tmp_path / "program.py")], start_new_session=True)
    try:
        assert wait((tmp_path / "received").exists, 120)
        study.kill()
        study.wait()
        assert wait(lambda: not session(study.pid), 30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(study.pid, signal.SIGKILL)


def killed(shared: object, item: int) -> int:
    if item:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


@pytest.mark.skipif(sys.platform == "win32", reason="signals of other systems")
def test_a_worker_that_was_killed_is_said_in_a_line_that_tells_how_to_go_on() -> None:
    with pytest.raises(
        StudyError, match=r"a worker process was killed.*the same command goes on.*fewer --jobs"
    ) as error:
        list(Workers(2).map(killed, None, [(1,), (1,)]))
    assert "\n" not in str(error.value)


FULL = """
import resource
import numpy as np
from stakes.exceptions import StudyError
from stakes.study.workers import Workers

def first(array):
    return float(array[0])

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # files cannot become larger, as on a full disk
    try:
        list(Workers(2).map(first, np.zeros(1_000_000), [(), ()]))
    except StudyError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of other systems")
def test_a_full_temporary_folder_is_said_in_a_line_that_tells_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FULL)
    environment = os.environ | {"JOBLIB_TEMP_FOLDER": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True, text=True, env=environment, timeout=600, check=False,
    )  # fmt: skip
    assert "cannot write to the temporary folder (File too large): what is finished is kept" in done.stdout
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_want_of_memory_is_said_in_a_line_that_tells_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from test_hostile_files import COMMAND, file_of, said_by

    def no_memory(*_: object) -> None:
        raise MemoryError

    file_of()(tmp_path / "records.csv")
    monkeypatch.setattr("stakes.study.study.Workers.map", no_memory)
    code, said = said_by("study", tmp_path / "records.csv", *COMMAND, "--out", tmp_path / "out")
    assert code == 2
    assert len(said) == 1
    assert said[0].startswith("stakes: there is not enough memory; what is finished is in ")
    assert "the same command goes on from there" in said[0]


def test_a_worker_of_another_version_is_refused_by_name() -> None:
    with pytest.raises(StudyError, match=r"the worker .* has stakes .*, and the study is of 0\.0\.other"):
        workers._run(None, "0.0.other", killed, None, 0)


def test_a_cluster_without_workers_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("stakes.study.cluster.PATIENCE", 1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, processes=False) as cluster:
        there = Workers(1, cluster.scheduler_address)
        with pytest.raises(StudyError, match=r"has no workers: start some by `dask worker"):
            list(there.map(killed, None, [(0,)]))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of other systems")
def test_sigterm_is_answered_like_an_interrupt(tmp_path: Path) -> None:
    from test_hostile_files import COMMAND, file_of

    file_of()(tmp_path / "records.csv")
    command = [sys.executable, "-m", "stakes.cli", "study", "records.csv", *COMMAND, "--out", "out"]
    study = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        assert wait(lambda: (tmp_path / "out" / "study.json").exists() or study.poll() is not None, 500)
        study.terminate()
        said = study.communicate(timeout=500)[1]
    finally:
        study.kill()
    if study.returncode == 0:
        pytest.skip("the study was done before the signal came")
    assert study.returncode == 130
    assert "stakes: stopped; what is finished is in out, and the same command goes on from there" in said
    assert "Traceback" not in said
