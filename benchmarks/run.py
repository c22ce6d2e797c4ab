"""Run the cases, one process each, keep their figures, and report; called by `python -m benchmarks`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, Limits
from benchmarks.environments import Environments
from benchmarks.growth import Growth
from benchmarks.options import ROOT, parse
from benchmarks.plots import plot
from benchmarks.registry import CASES
from benchmarks.report import headline, report

__all__ = ["Store", "chosen", "main", "run_case"]


class Store:
    """The figures of all cases, in one file, written after each of them."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "results.json"
        self.figures: dict[str, dict[str, Any]] = {}
        if self.file.exists():
            self.figures = json.loads(self.file.read_text())

    def keeps(self, name: str, *, quick: bool) -> bool:
        """Return whether a case was measured before, and with as much care as is asked for now."""
        return name in self.figures and (quick or not self.figures[name]["quick"])

    def add(self, name: str, figures: dict[str, Any]) -> None:
        """Keep the figures of a case, in the order of all cases."""
        self.figures[name] = figures
        order = {known: i for i, known in enumerate(CASES)}
        ordered = dict(sorted(self.figures.items(), key=lambda item: order.get(item[0], len(order))))
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(ordered, indent=1) + "\n")
        new.replace(self.file)


def run_case(case: Case, limits: Limits, environments: Environments, timeout: float | None = None) -> dict[str, Any]:
    """Run a case in a process of its own, and return its figures, or why there are none."""
    python = environments.python(case.environment)
    cache = environments.cache(case.environment)
    variables = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        command = [str(python), "-m", "benchmarks.worker", case.name, json.dumps(asdict(limits)), str(out)]
        try:
            subprocess.run(command, cwd=ROOT, env=variables, check=True, timeout=timeout)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            why = f"no end after {timeout:.0f} s" if isinstance(error, subprocess.TimeoutExpired) else "see above"
            return {"failed": why}
        return json.loads(out.read_text())


def chosen(options: argparse.Namespace) -> Iterator[Case]:
    """Return the cases that the options ask for."""
    for case in CASES.values():
        if isinstance(case, Growth) and case.rows > options.largest:
            continue
        if fnmatchcase(case.name, options.only) and (case.quick or not options.quick):
            yield case


def _run(cases: Iterable[Case], options: argparse.Namespace, store: Store) -> bool:
    """Run what is not kept; return whether nothing failed."""
    environments = Environments(None if options.no_env else options.env)
    limits = Limits(options.rows, options.trees, full=options.full)
    if options.quick:
        limits = limits.quick()
    good = True
    for case in cases:
        if not options.again and store.keeps(case.name, quick=options.quick):
            print(f"{case.name}: measured before; --again measures anew", flush=True)
            continue
        start = time.perf_counter()
        figures = run_case(case, limits, environments, options.timeout)
        took = f"({time.perf_counter() - start:.0f} s)"
        for trouble in {"skipped", "failed"} & set(figures):
            print(f"{case.name}: {trouble.upper()}, {figures[trouble]} {took}", flush=True)
            good &= trouble != "failed"
        if not {"skipped", "failed"} & set(figures):
            store.add(case.name, {**figures, "quick": options.quick})
            print(f"{case.name}: {headline(case.name, figures)} {took}", flush=True)
    return good


def main() -> int:
    """Run the command, and return its exit code."""
    options = parse()
    cases = list(chosen(options))
    if not cases:
        print(f"no case is called {options.only!r}: --list names them all (--quick, those of the quick run)")
        return 2
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    store = Store(options.results)
    good = options.report or _run(cases, options, store)
    if store.figures:
        text = report(store.figures)
        print("\n" + text)
        (options.results / "results.md").write_text(text)
        plot(store.figures, options.results)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
