"""The user is told of the compiler once, and only where it will run."""

from __future__ import annotations

import ast
import logging
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from joblib import Parallel, delayed

from stakes import _jit as jit

ROOT = Path(__file__).parents[1]


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


def test_a_kernel_that_borrows_its_arrays_can_make_none() -> None:
    @jit.borrowing
    def make(n: int) -> Any:
        return np.empty(n)

    with pytest.raises(numba.TypingError):
        make(3)


# Compiled code on disk

MODULE = """
from stakes._jit import kernel

@kernel
def twice(x):
    return 2 * x

@kernel
def four_times(x):
    return twice(twice(x))
"""


def run_kernels(folder: Path, limit: int | None = None, **environment: str) -> str:
    """Return what is said by a process that compiles and runs kernels; its files may get so large."""
    if not (folder / "some_kernels.py").exists():
        (folder / "some_kernels.py").write_text(MODULE)
    program = "import resource, some_kernels\n"
    if limit is not None:
        program += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
    program += "assert some_kernels.four_times(3) == 12\nassert some_kernels.four_times(1.5) == 6"
    known = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    paths = os.pathsep.join([str(folder), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        env=known | {"PYTHONPATH": paths} | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="limits and folders of other systems")
def test_kernels_are_compiled_where_nothing_can_be_kept_and_that_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("no folder")
    said = run_kernels(tmp_path, HOME="/dev/null", XDG_CACHE_HOME="/dev/null/cache")
    assert said.count("compiles its engine anew in every process: there is no folder to keep it in") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="limits of other systems")
def test_kernels_are_compiled_where_the_disk_is_full(tmp_path: Path) -> None:
    said = run_kernels(tmp_path, limit=50, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert said.count("compiles its engine anew in every process") == 1


def test_compiled_code_that_is_broken_is_compiled_again(tmp_path: Path) -> None:
    assert not run_kernels(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    kept = sorted((tmp_path / "cache").rglob("*.nb[ic]"))
    assert kept
    for left in (0, 10, -1):
        for path in kept:
            path.write_bytes(path.read_bytes()[:left])
        assert not run_kernels(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")), left
        assert all(path.stat().st_size > 100 for path in kept if path.suffix == ".nbi"), left


def test_processes_do_not_compile_the_same_at_the_same_time(tmp_path: Path) -> None:
    (tmp_path / "some_kernels.py").write_text(MODULE)
    with ThreadPoolExecutor(3) as pool:
        said = pool.map(
            lambda _: run_kernels(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "c"), NUMBA_DEBUG_CACHE="1"), "abc"
        )
        written = sum(text.count("data saved to") for text in said)
    assert 2 <= written <= 4  # two functions, of integers and of floats


def test_kernels_are_compiled_again_where_what_they_call_in_another_file_has_changed(tmp_path: Path) -> None:
    package = tmp_path / "stakes"
    shutil.copytree(ROOT / "src" / "stakes", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "tree" / "calling.py").write_text(
        "from stakes._jit import kernel\n"
        "from stakes.tree.criteria import gini_loss\n\n"
        "@kernel\ndef loss(positive, negative):\n    return gini_loss(positive, negative)\n"
    )
    criteria = package / "tree" / "criteria.py"
    before = criteria.read_text()
    program = "from stakes.tree.calling import loss; print(loss(3.0, 1.0))"
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> float:
        return float(subprocess.check_output([sys.executable, "-B", "-c", program], env=environment, text=True))

    def kept() -> list[str]:
        return sorted(path.name for path in (tmp_path / "cache").rglob("*.nb[ic]"))

    assert run() == 1.5
    first = kept()
    criteria.write_text(before.replace("2.0 * positive * negative", "7.0 * positive * negative"))
    assert run() == 5.25
    assert kept() == first  # nothing piles up


def test_what_kernels_take_from_other_files_is_in_the_sources_that_are_looked_at() -> None:
    package = ROOT / "src" / "stakes"
    seen = {path for pattern in jit.SOURCES for path in package.glob(pattern)} | {package / "_typing.py"}
    kernels = 0
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        home = {
            name.asname or name.name: ROOT / "src" / f"{node.module.replace('.', '/')}.py"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("stakes.")
            for name in node.names
        }
        for node in ast.walk(tree):
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", ())]
            if {"kernel", "borrowing", "inlined"} & set(marks):
                kernels += 1
                used = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
                assert {home[name] for name in used & home.keys()} <= seen, f"{path}: {node.name}"
    assert kernels > 50
