"""One case in this process; called by `benchmarks.run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.cases import Limits, Unavailable, machine, others
from benchmarks.measure import Effort
from benchmarks.registry import CASES

__all__ = ["main"]


def main(name: str, limits: str, out: str) -> None:
    """Run the case called `name`, and write its figures to the file `out`."""
    given = json.loads(limits)
    try:
        with others() as told:
            figures = CASES[name].run(Limits(**{**given, "effort": Effort(**given["effort"])}))
    except Unavailable as missing:
        figures = {"skipped": f"{missing} is not installed"}
    Path(out).write_text(json.dumps({**figures, "machine": machine() | told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
