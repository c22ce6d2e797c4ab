"""The user is told of the compiler once, and only where it will run."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest
from joblib import Parallel, delayed

from stakes import _jit as jit


def function(folder: Path, *signatures: Any) -> Any:
    """Return something like a compiled function that keeps its code in a folder."""
    return SimpleNamespace(
        signatures=list(signatures),
        stats=SimpleNamespace(cache_path=str(folder)),
        py_func=SimpleNamespace(__name__="grow"),
    )


@pytest.fixture(autouse=True)
def _not_told_yet(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(jit, "_told", False)
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    caplog.set_level(logging.WARNING, "stakes")


def test_a_new_installation_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        jit.tell_before_compiling(function(tmp_path))
    (record,) = caplog.records
    assert "compiles its tree engine now" in record.message


def test_workers_of_a_study_leave_it_to_the_study(tmp_path: Path) -> None:
    started = [delayed(_tells)(tmp_path) for _ in range(2)]
    assert Parallel(n_jobs=2)(started) == [False, False]
    assert _tells(tmp_path)


def _tells(folder: Path) -> bool:
    """Return whether this process tells of the compiler."""
    jit._told = False
    jit.tell_before_compiling(function(folder))
    return jit._told


def test_nobody_is_told_where_the_code_is_on_disk_or_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    jit.tell_before_compiling(function(tmp_path, "a signature"))
    monkeypatch.setattr(jit, "_told", False)
    (tmp_path / "growing.grow-1.py311.nbi").touch()
    jit.tell_before_compiling(function(tmp_path))
    assert not caplog.records


def test_nobody_is_told_where_nothing_is_compiled(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    jit.tell_before_compiling(lambda: None)  # a plain function has nothing that a compiled one has
    assert not caplog.records
