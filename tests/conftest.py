"""Small records that many tests share, property tests without deadlines, and the order of files."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from shared_records import Records, make_records

# The first example of a test may compile a kernel: no deadline is right for it and for the others.
settings.register_profile("stakes", deadline=None)
settings.load_profile("stakes")


# They have no examples, and several of the same name cannot be imported to look for some.
collect_ignore_glob = ["*conftest.py"]


# The order in which workers take up files. The first one compiles the engine, for which all others would wait: files
# without it come next. Then come those that take longest, the longest first (measured), so that no worker is left alone
# with one of them at the end.
ORDER = (
    "tests/test_sklearn_checks",
    *("tests/study/test_data", "tests/study/test_report.", "tests/test_expressions", "tests/test_costs"),
    *("tests/test_table", "tests/datasets", "tests/metrics", "tests/test_mutations", "tests/test_architecture"),
    *("tests/study/test_study", "tests/test_docs", "tests/study/test_dask", "tests/test_cli", "tests/test_catalog"),
    *("tests/bagging/test_bagging_costs", "tests/study/test_workers", "tests/decision/test_reader"),
    *("tests/test_persist", "tests/test_promises", "tests/study/test_after", "tests/test_jit", "tests/boosting"),
    *("tests/test_forks", "tests/test_gradient_boosting", "tests/hostile", "tests/teams", "tests/ecosystem"),
    *("tests/test_benchmarks", "tests/paper", "tests/study", "tests/test_cost_tree", "tests/test_notebooks"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files in order for the workers; alone, a process takes them as they come."""

    def place(item: pytest.Item) -> int:
        return next((i for i, name in enumerate(ORDER) if item.nodeid.startswith(name)), len(ORDER))

    if hasattr(config, "workerinput"):
        items.sort(key=place)


def pytest_xdist_setupnodes(config: pytest.Config, specs: list[object]) -> None:
    """Share the cores among the workers: OpenMP takes all of them in each one, and its threads wait by spinning.

    And let processes that tests start keep bytecode: without it, each would compile all sources again.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // len(specs))))
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run a single file in this process: workers take seconds to start, and only one would have work."""
    return 0 if len(config.args) == 1 and ".py" in config.args[0] else None


@pytest.fixture(scope="session")
def small() -> Records:
    """Some records, without missing numbers."""
    return make_records(240, seed=0)


@pytest.fixture(scope="session")
def holes() -> Records:
    """Some records, with missing numbers."""
    return make_records(240, seed=1, missing=0.05)


@pytest.fixture(scope="session")
def fresh() -> Records:
    """Other records of the same kind, to predict and to validate on; with missing numbers."""
    return make_records(90, seed=2, missing=0.05)


@pytest.fixture(scope="session")
def large() -> Records:
    """More records of the same kind."""
    return make_records(1500, seed=3)


@pytest.fixture(scope="session")
def large_fresh() -> Records:
    """As many more."""
    return make_records(1500, seed=4)


@pytest.fixture(scope="session")
def mixed(holes: Records) -> pl.DataFrame:
    """Numbers, text, categories and booleans that go with the classes of `holes`, some of them missing."""
    rng = np.random.default_rng(5)
    n = len(holes)
    kinds = np.where(holes.y == 1, rng.integers(0, 3, n), rng.integers(1, 5, n))
    return pl.DataFrame(
        {
            "amount": pl.Series(holes.X[:, 0], nan_to_null=True),
            "kind": pl.Series([None if kind == 4 else "abcd"[kind] for kind in kinds], dtype=pl.Categorical),
            "name": [("ann", "bob", "cyd")[i] for i in rng.integers(3, size=n)],
            "known": rng.random(n) < 0.5,
            "visits": rng.integers(0, 9, n),
        }
    )
