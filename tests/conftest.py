"""Small records that many tests share, and property tests without deadlines."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from shared_records import Records, make_records

# The first example of a test may compile a kernel: no deadline is right for it and for the others.
settings.register_profile("stakes", deadline=None)
settings.load_profile("stakes")


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
