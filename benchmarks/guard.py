"""Has the engine become slower? `python -m benchmarks.guard` compares it with scikit-learn, and that with a record.

Ratios hardly depend on the machine, so a record made on one serves on others. The engine fails when it is twice slower
than recorded; noise does not make it fail, since only the shortest runs count, and there are more of them for as long
as it looks too slow. `--record` makes a new record, after a change that is meant to be one: the lowest of several.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.contenders import OURS, PEERS, Setting
from benchmarks.data import Records, make_records
from benchmarks.measure import Action, Run, measure, ratio

__all__ = ["FACTOR", "GUARDED", "main", "too_slow", "watch"]

RECORD = Path(__file__).with_name("guard.json")
# Twice slower than recorded fails.
FACTOR = 2.0
LEAST, MOST = 3, 12
# A record is the lowest of so many: it must be reached every time.
RECORDINGS = 3
ROWS = 10_000


class Sides(NamedTuple):
    """What ours and scikit-learn do, and how much more of it ours does."""

    ours: Action
    peer: Action
    scale: float


@cache
def _records() -> Records:
    return make_records("noisy", ROWS)


def _fits(ours: str, peer: str, trees: int, peer_trees: int) -> Callable[[], Sides]:
    # By one thread: on a busy machine, two would wait for each other.
    return lambda: Sides(
        lambda seed: OURS[ours].fit(_records(), Setting(trees, 1, seed)),
        lambda seed: PEERS[peer].fit(_records(), Setting(peer_trees, 1, seed)),
        trees / peer_trees,
    )


def _predictions() -> Sides:
    ours = OURS["forest"].fit(_records(), Setting(50, 1))
    peer = PEERS["scikit-learn forest"].fit(_records(), Setting(10, 1))
    X = _records().X
    return Sides(lambda seed: ours.predict_proba(X), lambda seed: peer.predict_proba(X), 5.0)


#: What is watched, by name.
GUARDED: dict[str, Callable[[], Sides]] = {
    "bagging": _fits("bagging", "scikit-learn bagging", 20, 1),
    "forest": _fits("forest", "scikit-learn forest", 40, 4),
    "AdaBoost": _fits("AdaBoost", "scikit-learn AdaBoost", 100, 5),
    "prediction": _predictions,
}


def watch(sides: Sides, recorded: float | None, *, least: int = LEAST, most: int = MOST) -> float:
    """Return how many times faster ours is: by turns, and on for as long as it looks slower than recorded allows."""
    sides.ours(0)  # compiles
    runs: dict[str, list[Run]] = {"ours": [], "peer": []}
    for repetition in range(most):
        for side in runs:
            runs[side].append(measure(getattr(sides, side), repetition)._replace(result=None))
        times = ratio(runs, lambda seconds: sides.scale * seconds).estimate
        if recorded is not None and repetition + 1 >= least and times >= recorded / FACTOR:
            break
    return times


def too_slow(measured: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """Return what is wrong, in a line for each case: slower than recorded by the factor or more, or not recorded."""
    wrong = []
    for name, times in measured.items():
        if name not in recorded:
            wrong.append(f"{name}: not recorded; run python -m benchmarks.guard --record")
        elif times < recorded[name] / FACTOR:
            wrong.append(
                f"{name}: {times:.1f}x faster than scikit-learn, and it was {recorded[name]:.1f}x: the engine has "
                f"become {recorded[name] / times:.1f} times slower"
            )
    return wrong


def main(arguments: list[str] | None = None) -> int:
    """Run the guard, and return 1 if something has become too slow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the figures down, to be compared with from now on")
    parser.add_argument("--file", type=Path, default=RECORD, help="the record")
    options = parser.parse_args(arguments)
    gc.freeze()  # what was imported is no garbage, and need not be looked through before each measurement
    recorded: dict[str, Any] = {} if options.record else json.loads(options.file.read_text())
    measured = {}
    for name, make in GUARDED.items():
        sides = make()
        measured[name] = min(watch(sides, recorded.get(name)) for _ in range(RECORDINGS if options.record else 1))
        was = f" (recorded: {recorded[name]:.1f}x)" if name in recorded else ""
        print(f"{name}: {measured[name]:.1f}x faster than scikit-learn{was}", flush=True)
    if options.record:
        options.file.write_text(
            json.dumps({name: round(times, 2) for name, times in measured.items()}, indent=1) + "\n"
        )
        return 0
    wrong = too_slow(measured, recorded)
    print("\n".join(wrong) or "nothing has become slower")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
