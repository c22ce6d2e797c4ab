"""Time and memory of two contenders that take turns, so that a busy machine is unfair to neither."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "Effort",
    "Memory",
    "Ratio",
    "Run",
    "alternate",
    "best",
    "cpu_seconds",
    "family",
    "figures",
    "measure",
    "ratio",
    "read",
    "resident_peak",
]

Action = Callable[[int], Any]


@dataclass(frozen=True)
class Effort:
    """How often to repeat: at least so often, and on until that often or until the seconds are spent.

    Long runs even out noise by themselves: once they took `patience` seconds, there are no more of them.
    """

    least: int = 3
    most: int = 7
    seconds: float = 6.0
    patience: float = 25.0

    def enough(self, repetitions: int, spent: float) -> bool:
        """Return whether so many repetitions, in so many seconds, are enough."""
        wanted = repetitions < self.most and (repetitions < self.least or spent <= self.seconds)
        return repetitions > 0 and (not wanted or spent > self.patience)

    def less(self) -> Effort:
        """Return some half of the effort."""
        return Effort(min(self.least, 2), min(self.most, 3), self.seconds / 2, self.patience / 2)


class Run(NamedTuple):
    """What an action gave, how long it took, and the memory at its peak and CPU seconds it needed (None if unknown)."""

    result: Any
    seconds: float
    megabytes: float | None
    cpu: float | None = None


class Ratio(NamedTuple):
    """How many times faster ours is: by the shortest runs, and the extremes over the repetitions."""

    estimate: float
    low: float
    high: float


def measure(action: Action, seed: int = 0) -> Run:
    """Run an action once. A result that knows its own `seconds` and `megabytes` was made elsewhere."""
    gc.collect()
    memory = Memory()
    start, begun = time.perf_counter(), cpu_seconds()
    result = action(seed)
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - begun
    if hasattr(result, "seconds"):
        return Run(result, result.seconds, result.megabytes)
    return Run(result, seconds, memory.growth(), cpu)


def alternate(
    ours: Action, peer: Action, effort: Effort, judge: Callable[[str, Any], None] = lambda side, result: None
) -> dict[str, list[Run]]:
    """Run both by turns, with a new seed each time, and show each result to `judge` before it is dropped."""
    actions = {"ours": ours, "peer": peer}
    runs: dict[str, list[Run]] = {side: [] for side in actions}
    spent, repetition = 0.0, 0
    while not effort.enough(repetition, spent):
        # Who goes first changes, too.
        for side in sorted(actions, reverse=repetition % 2 == 1):
            run = measure(actions[side], repetition)
            judge(side, run.result)
            runs[side].append(run._replace(result=None))
            spent += run.seconds
        repetition += 1
    return runs


def figures(runs: list[Run]) -> dict[str, Any]:
    """Return what several runs took: seconds, cores that were busy, and memory."""
    known = [run.megabytes for run in runs if run.megabytes is not None]
    cores = [run.cpu / run.seconds for run in runs if run.cpu is not None]
    return {
        "seconds": best(runs),
        "all_seconds": [run.seconds for run in runs],
        "cores": max(cores) if cores else None,
        "megabytes": max(known) if known else None,
    }


def best(runs: list[Run]) -> float:
    """Return the seconds of the shortest run: noise only ever adds."""
    return min(run.seconds for run in runs)


def ratio(runs: dict[str, list[Run]], whole: Callable[[float], float] = lambda seconds: seconds) -> Ratio:
    """Return how many times faster ours is; `whole` makes the peer's seconds those of all the work that ours did."""
    each = [whole(peer.seconds) / ours.seconds for ours, peer in zip(runs["ours"], runs["peer"], strict=True)]
    return Ratio(whole(best(runs["peer"])) / best(runs["ours"]), min(each), max(each))


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far, and of its descendants where the system tells."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system + sum(map(_cpu_seconds, family()[1:]))


def _cpu_seconds(process: Path) -> float:
    # What follows the name: a letter, 10 numbers, and the ticks of the process and of its dead children.
    ticks = read(process / "stat").rpartition(")")[2].split()[11:15]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") if ticks else 0.0


class Memory:
    """The growth of this process's memory, and its children's, from now on to its peak.

    Linux keeps the peak for every process, and lets it be reset; elsewhere the growth is None. Peaks of several
    processes are added up, though they may not have been at the same time.
    """

    def __init__(self) -> None:
        self._before: dict[int, int] | None = None
        if not sys.platform.startswith("linux"):
            return
        # Memory that was freed but not given back would be used again, and not count.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        try:
            for process in family():
                (process / "clear_refs").write_text("5")
            self._before = {int(process.name): _kilobytes(process, "VmRSS") for process in family()}
        except OSError:
            return

    def growth(self) -> float | None:
        """Return the growth up to the peak, in megabytes."""
        if self._before is None:
            return None
        peaks = [_kilobytes(process, "VmHWM") - self._before.get(int(process.name), 0) for process in family()]
        return sum(max(0, peak) for peak in peaks) / 1024


def resident_peak() -> float | None:
    """Return all the memory of this process at its peak since the last measurement began, in megabytes."""
    found = family()
    return _kilobytes(found[0], "VmHWM") / 1024 if found else None


def family(pid: int | None = None) -> list[Path]:
    """Return a process, this one by default, and its descendants, as their directories in /proc."""
    if not sys.platform.startswith("linux"):
        return []
    found = [Path("/proc") / str(Path("/proc/self").readlink() if pid is None else pid)]
    for process in found:
        for task in process.glob("task/*/children"):
            found += [Path("/proc") / child for child in read(task).split()]
    return [process for process in found if read(process / "status")]


def read(file: Path) -> str:
    """Return what a file in /proc says; nothing if its process has ended."""
    try:
        return file.read_text()
    except OSError:
        return ""


def _kilobytes(process: Path, field: str) -> int:
    for line in read(process / "status").splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    return 0
