"""Run the cases, one process each, keep their figures, and report; called by `python -m benchmarks`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, Limits
from benchmarks.environments import Environments
from benchmarks.growth import Growth
from benchmarks.options import ROOT, parse
from benchmarks.registry import CASES
from benchmarks.report import headline, report

__all__ = ["Store", "chosen", "main", "run_case"]

# Libraries below the peers have threads of their own, as many as there are cores if nobody tells them.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# A case that was never run takes as long as most: it is for an estimate only.
USUAL_SECONDS = 20.0


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

    def seconds(self, name: str) -> float:
        """Return how long a case takes: as long as the last time, if there was one."""
        return self.figures.get(name, {}).get("took", USUAL_SECONDS)

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
    variables = os.environ | {name: str(case.threads) for name in THREADS}
    if cache is not None:
        variables["NUMBA_CACHE_DIR"] = str(cache)
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


def _run(cases: Sequence[Case], options: argparse.Namespace, store: Store) -> bool:
    """Run what is not kept; return whether nothing failed."""
    environments = Environments(None if options.no_env else options.env)
    limits = Limits(options.rows, options.trees, full=options.full)
    if options.quick:
        limits = limits.quick()
    wanted = [case for case in cases if options.again or not store.keeps(case.name, quick=options.quick)]
    print(f"{len(cases) - len(wanted)} cases were measured before; --again measures them anew", flush=True)
    good = True
    for i, case in enumerate(wanted):
        left = sum(store.seconds(later.name) for later in wanted[i:])
        print(f"[{i + 1} of {len(wanted)}, some {left / 60:.0f} minutes left]", end=" ", flush=True)
        start = time.perf_counter()
        figures = run_case(case, limits, environments, options.timeout)
        took = time.perf_counter() - start
        for trouble in {"skipped", "failed"} & set(figures):
            print(f"{case.name}: {trouble.upper()}, {figures[trouble]} ({took:.0f} s)", flush=True)
            good &= trouble != "failed"
        if not {"skipped", "failed"} & set(figures):
            store.add(case.name, {**figures, "quick": options.quick, "took": round(took, 1)})
            print(f"{case.name}: {headline(case.name, figures)} ({took:.0f} s)", flush=True)
    return good


def main() -> int:
    """Run the command, and return its exit code."""
    options = parse()
    cases = list(chosen(options))
    if not cases:
        print(f"no case is called {options.only!r}: --list names them all (--quick, those of the quick run)")
        return 2
    store = Store(options.results)
    if options.list:
        for case in cases:
            print(f"{store.seconds(case.name):5.0f} s  {case.name}")
        total = sum(store.seconds(case.name) for case in cases)
        unknown = sum(case.name not in store.figures for case in cases)
        print(f"{len(cases)} cases, some {total / 60:.0f} minutes; {unknown} of them guessed, being new")
        return 0
    good = options.report or _run(cases, options, store)
    if store.figures:
        text = report(store.figures)
        print("\n" + text)
        (options.results / "results.md").write_text(text)
        from benchmarks.plots import plot  # here, because --list needs no matplotlib

        plot(store.figures, options.results)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
