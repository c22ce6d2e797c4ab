"""The tree engine against scikit-learn, its memory, and its first fit: `python -m benchmarks.engine`.

Needs nothing but stakes. Every case runs in a process of its own, with both sides in it.
"""

from __future__ import annotations

import argparse

from benchmarks.cases import Limits
from benchmarks.environments import Environments
from benchmarks.registry import CASES
from benchmarks.report import headline, report
from benchmarks.run import run_case
from benchmarks.targets import ENGINE_TARGETS

__all__ = ["NAMES", "main"]

NAMES = ("scikit-learn bagging/noisy/2", "scikit-learn forest/noisy/2", "memory/forest", "start-up")


def main() -> int:
    """Run the cases, print their figures, and return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("--full", action="store_true", help="let scikit-learn grow all trees, for half an hour")
    parser.add_argument("--rows", type=int, help="no more records than this, to try it out")
    parser.add_argument("--trees", type=int, help="no more trees than this, likewise")
    options = parser.parse_args()
    limits = Limits(options.rows, options.trees, full=options.full)
    results = {}
    for name in NAMES:
        figures = run_case(CASES[name], limits, Environments(None))
        if "failed" in figures:
            print(f"{name}: FAILED, {figures['failed']}")
            return 1
        results[name] = figures
        print(f"{name}: {headline(name, figures, ENGINE_TARGETS)}", flush=True)
    print("\n" + report(results, ENGINE_TARGETS))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
