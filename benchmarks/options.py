"""The command line, without a need for anything that is not in Python itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

__all__ = ["ROOT", "parse"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "benchmarks"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of `python -m benchmarks`."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run stakes beside its peers, each pair in a process of its own. What was measured before is "
        "kept: an interrupted run goes on where it stopped.",
    )
    parser.add_argument("--quick", action="store_true", help="a small part, in some minutes")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="cases of these names, such as '*forest/rare/*'")
    parser.add_argument("--list", action="store_true", help="name the cases and how long they take, and run none")
    parser.add_argument("--report", action="store_true", help="run none: make tables and plots of what there is")
    parser.add_argument("--again", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--full", action="store_true", help="let slow peers make all trees, for hours")
    parser.add_argument("--largest", type=int, default=10_000_000, metavar="ROWS", help="where growth ends")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS", help="of a single case")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where to keep results (docs/benchmarks)")
    parser.add_argument(
        "--env", type=Path, default=Path(__file__).parent / ".env", metavar="DIR", help="where peers are installed"
    )
    parser.add_argument("--no-env", action="store_true", help="install nothing, and use the peers that are here")
    parser.add_argument("--rows", type=int, help="no more records than this, to try out the benchmarks themselves")
    parser.add_argument("--trees", type=int, help="no more trees than this, likewise")
    options = parser.parse_args(arguments)
    if options.results is None:
        if options.rows is not None or options.trees is not None:
            parser.error("--rows and --trees make toy figures, not results: say where to keep them by --results")
        options.results = RESULTS
    return options
