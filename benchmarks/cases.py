"""What a benchmark is: something with a name that runs in a process of its own and returns its figures."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from os import cpu_count, sysconf
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from benchmarks.measure import Effort, cpu_seconds

__all__ = ["Case", "Limits", "Unavailable", "machine", "others"]

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
        return replace(self, effort=Effort(least=2, most=4, seconds=3.0, patience=10.0))


class Case(Protocol):
    """One benchmark."""

    @property
    def name(self) -> str:
        """What it is called, and looked up by."""

    @property
    def environment(self) -> str:
        """The environment that it runs in."""

    @property
    def threads(self) -> int:
        """By how many threads it works: what nobody asked for stays at that, too."""

    @property
    def quick(self) -> bool:
        """Whether it is part of the quick run."""

    def run(self, limits: Limits) -> dict[str, Any]:
        """Return its figures."""


def machine() -> dict[str, Any]:
    """Return what figures depend on: the processor, the number of cores, and versions."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"cpu": _processor(), "cores": cpu_count(), "versions": versions}


def _processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


@contextmanager
def others() -> Iterator[dict[str, float]]:
    """Tell, at the end, how many cores other processes kept busy meanwhile: figures of a busy machine are doubtful."""
    told: dict[str, float] = {}
    start, before = perf_counter(), _busy()
    yield told
    after = _busy()
    if before is not None and after is not None:
        told["others"] = max(0.0, after - before) / (perf_counter() - start)


def _busy() -> float | None:
    """Return the CPU seconds of all processes but this one and its children; only Linux tells."""
    try:
        user, nice, system, _idle, _wait, *interrupts = Path("/proc/stat").read_text().split()[1:8]
    except OSError:
        return None
    ticks = sum(map(int, (user, nice, system, *interrupts)))
    return ticks / sysconf("SC_CLK_TCK") - cpu_seconds()
