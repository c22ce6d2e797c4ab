"""Models are fitted and used in processes of every kind, and what cannot be is refused at once."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import textwrap
from typing import Any

import pytest

if "fork" not in multiprocessing.get_all_start_methods():
    pytest.skip("no forks here", allow_module_level=True)

# What each process does, in a process of its own in turn: a hang must not stop the tests.
PROGRAM = """
import multiprocessing, sys, threading, warnings
import joblib, numpy as np, pandas as pd, polars as pl
warnings.simplefilter("ignore")
from stakes import make_classifier

def records(kind):
    rng = np.random.default_rng(0)
    k, x = rng.choice(["a", "b", "c"], 300), rng.normal(size=300)
    y = ((k == "a") + x + rng.normal(size=300) > 1).astype(int)
    frame = {"k": k, "known": k == "a", "x": x}
    X = {
        "pandas": pd.DataFrame(frame), "categorical": pd.DataFrame(frame).astype({"k": "category"}),
        "polars": pl.DataFrame(frame), "numpy": np.column_stack([x, k == "a"]),
    }[kind]
    return X, y

def fitted(name, X, y):
    few = {} if name in ("gb", "lr") else {"n_estimators": 3}
    return make_classifier(name, random_state=0, **few).fit(X, y, fp_cost=1, fn_cost=5)

def predict(task):
    model, X, y = task
    return model.predict_proba(X)

def fit(task):
    model, X, y = task
    return fitted(NAME, X, y).predict_proba(X)

def check(found, expected):
    assert all((each == expected).all() for each in found)

NAME = "rf"
"""


def run(body: str) -> str:
    program = textwrap.dedent(PROGRAM) + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    "kind", ["polars", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("pandas", "categorical", "numpy"))]
)
def test_forked_processes_fit_and_predict_the_same_with_every_kind_of_input(kind: str) -> None:
    run(f"""
    for NAME in ("rf", "gb", "lr"):
        X, y = records({kind!r})
        model = fitted(NAME, X, y)
        expected = model.predict_proba(X)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for action in (predict, fit):
                check(pool.map_async(action, [(model, X, y)] * 2).get(200), expected)
    """)


# Claims that one process checks one after the other: to start it takes longer than they do.
TOGETHER = """
def a_server_forks():
    import os
    X, y = records("pandas")
    model = fitted("gb", X, y)
    expected = model.predict_proba(X)
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            threads = [threading.Thread(target=lambda: check([model.predict_proba(X)], expected)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(200)
            os._exit(any(thread.is_alive() for thread in threads))
        assert os.waitpid(pid, 0)[1] == 0

def threads_are_nested():
    X, y = records("polars")
    model = fitted("rf", X, y).set_params(n_jobs=2)
    expected = model.predict_proba(X)
    tasks = [joblib.delayed(predict)((model, X, y))] * 8
    check(joblib.Parallel(n_jobs=8, prefer="threads")(tasks), expected)
    check(joblib.Parallel(n_jobs=2, backend="multiprocessing")(tasks), expected)

def files_are_refused():
    import os, signal, tempfile
    from stakes.exceptions import StudyError
    from stakes.study import load_data
    folder = tempfile.mkdtemp()
    records("polars")[0].write_csv(folder + "/records.csv")
    records("polars")[0].write_parquet(folder + "/records.parquet")
    for path in (folder + "/records.csv", folder):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            try:
                load_data(path, target="known")
            except StudyError as error:
                os._exit("'spawn' or 'forkserver'" not in str(error))
            os._exit(3)
        assert os.waitpid(pid, 0)[1] == 0

import json, traceback
wrong = {}
for claim in (a_server_forks, threads_are_nested, files_are_refused):
    try:
        claim()
        wrong[claim.__name__] = None
    except Exception:
        wrong[claim.__name__] = traceback.format_exc()
print(json.dumps(wrong))
"""


@pytest.fixture(scope="module")
def wrong() -> dict[str, str | None]:
    """What was wrong with each of the claims; None where nothing was."""
    found: dict[str, str | None] = json.loads(run(TOGETHER).splitlines()[-1])
    return found


def test_a_server_that_loads_and_then_forks_answers(wrong: dict[str, str | None]) -> None:
    assert wrong["a_server_forks"] is None


def test_eight_threads_with_nested_parallelism_give_the_same(wrong: dict[str, str | None]) -> None:
    assert wrong["threads_are_nested"] is None


def test_files_and_studies_are_refused_at_once_in_a_forked_process(wrong: dict[str, str | None]) -> None:
    assert wrong["files_are_refused"] is None


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.slow)])
def test_other_start_methods_give_the_same(method: str, tmp_path: Any) -> None:
    body = f"""
    if __name__ == "__main__":
        X, y = records("pandas")
        model = fitted("gb", X, y)
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            check(pool.map_async(predict, [(model, X, y)] * 2).get(200), model.predict_proba(X))
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM) + textwrap.dedent(body))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
