"""What a benchmark is: something with a name that runs in a process of its own and returns its figures."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from os import cpu_count
from typing import Any, Protocol

from benchmarks.measure import Effort

__all__ = ["Case", "Limits", "Unavailable", "machine"]

PACKAGES = ("stakes", "numpy", "numba", "scikit-learn", "imbalanced-learn", "lightgbm", "ydf", "empulse")


class Unavailable(Exception):
    """What a case needs is not installed."""


@dataclass(frozen=True)
class Limits:
    """How much is done at most: records and trees (for trying out the benchmarks), and repetitions."""

    rows: int | None = None
    trees: int | None = None
    effort: Effort = field(default_factory=Effort)
    full: bool = False

    def of_rows(self, n: int) -> int:
        """Return `n`, or the limit of records."""
        return n if self.rows is None else min(n, self.rows)

    def of_trees(self, n: int) -> int:
        """Return `n`, or the limit of trees."""
        return n if self.trees is None else min(n, self.trees)

    def quick(self) -> Limits:
        """Return the same with few repetitions."""
        return replace(self, effort=Effort(least=2, most=5, seconds=5.0))


class Case(Protocol):
    """One benchmark."""

    @property
    def name(self) -> str:
        """What it is called, and looked up by."""

    @property
    def environment(self) -> str:
        """The environment that it runs in."""

    @property
    def quick(self) -> bool:
        """Whether it is part of the quick run."""

    def run(self, limits: Limits) -> dict[str, Any]:
        """Return its figures."""


def machine() -> dict[str, Any]:
    """Return what figures depend on: the number of cores, and versions."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"cores": cpu_count(), "versions": versions}
