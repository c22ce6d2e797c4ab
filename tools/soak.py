"""Run random studies, disturb them, and say what was tried and what failed.

    python tools/soak.py --minutes 60 --seed 0
    python tools/soak.py --seed 0 --round 17     # one round again

Every round makes records at random, runs a study of them undisturbed, and then in other folders while something
happens: the study, a worker or its Dask cluster is killed, the disk or the temporary folder is full, files of the
folder are removed, damaged or cannot be read, the user keeps own files beside them. Then the same command is repeated
until it is done. What must hold: every end is a result or one line that says what is wrong, no process is left behind,
no file of the user is lost, and the results are those of the undisturbed study, byte by byte. How long a command may
take follows from how long the undisturbed study took, so that a busy machine is not taken for a hang.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import numpy as np
import polars as pl

RESULTS = ("leaderboard.csv", "results.parquet", "summary.json", "report.html", "best.skops")
METHODS = ("tree", "bg", "rf", "csrf", "ab", "cstree", "dm-bg", "ubg", "wrf", "csb1", "gb", "csgb")
MARK = "the user's own"
FINISHED = "All of it: "  # what a study prints at its end
# A command may take this many times as long as the undisturbed study, and some seconds for timeouts of its own.
TIMES, SECONDS = 20, 120
AT_ONCE = 3  # disturbances of each study
WARM = Event()
# Of the capabilities of root: to write and read whatever the permissions of a file are.
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


@dataclass
class Soak:
    """What is tried, and what came of it."""

    rng: random.Random
    work: Path
    tried: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    here: str = ""
    own: set[Path] = field(default_factory=set)  # files of the user
    took: float = 120.0  # seconds of the undisturbed study

    def check(self, holds: bool, what: str) -> None:
        """Count something that was tried, and note if it does not hold."""
        if not holds:
            self.failed.append(f"{self.here}: {what}")
            print(f"FAILED {self.failed[-1]}", flush=True)

    def records(self, path: Path) -> None:
        """Write random records with a class and an amount."""
        rng = np.random.default_rng(self.rng.randrange(1 << 30))
        n = int(rng.integers(80, 200))
        x, z = rng.normal(size=(2, n))
        columns: dict[str, object] = {"x": x, "z": np.where(rng.random(n) < 0.1, np.nan, z)}
        if rng.random() < 0.7:
            columns["kind of thing"] = rng.choice(["a", "b, c", 'd "e"', "=f", "ü"], n)
        if rng.random() < 0.3:
            columns["count"] = rng.integers(0, 5, n)
        columns["amount"] = rng.integers(1, 90, n)
        columns["y"] = np.where(x + z + rng.normal(size=n) > 1, "yes", "no")
        pl.DataFrame(columns).write_csv(path)

    def options(self) -> list[str]:
        """Return random options of a study."""
        rng = self.rng
        chosen = ",".join(rng.sample(METHODS, rng.randint(1, 2)))
        options = ["--target", "y", "--methods", chosen, "--trees", str(rng.randint(1, 3)), "--folds", "2"]
        options += ["--jobs", str(rng.choice([1, 2])), "--seed", str(rng.randrange(9)), "--progress", "plain"]
        options += ["--metacost", rng.choice(["best", "none"])]
        return [*options, "--fp-cost", "5", "--fn-cost", rng.choice(["amount", "2 * amount + 1", "40"])]

    def start(self, *arguments: str, limit: int | None = None, around: str = "") -> subprocess.Popen[str]:
        """Start a command in a session of its own.

        `limit` is how large its files may get, as on a full disk; `around` is run by a shell before it, with mounts of
        its own.
        """
        library = ctypes.CDLL(None)

        def restrict() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            if not around:  # permissions hold for root, too
                library.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
                library.prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0)

        command = [sys.executable, "-m", "stakes.cli", *arguments]
        if around:
            command = ["unshare", "-rm", "sh", "-c", f'{around} && exec "$@"', "sh", *command]
        return subprocess.Popen(
            command, cwd=self.work, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=restrict,
        )  # fmt: skip

    def moment(self, longest: float = 1.2) -> None:
        """Wait for a random part of the time that the study takes."""
        time.sleep(self.took * self.rng.uniform(0, longest))

    def finish(self, process: subprocess.Popen[str]) -> int:
        """Wait for a command, and check how it ends."""
        longest = SECONDS + TIMES * self.took
        try:
            printed, errors = process.communicate(timeout=longest)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.check(False, f"hangs for more than {longest:.0f} s, {TIMES} times what it takes")
            return -1
        code = process.returncode
        self.check("Traceback" not in errors, f"ends with a traceback: {errors[-1500:]}")
        said = [line for line in errors.splitlines() if line.startswith("stakes: ")]
        # A finished command that is shutting down does not answer any more.
        ended = {-signal.SIGTERM, -signal.SIGINT} if FINISHED in printed else set()
        if code not in {0, -signal.SIGKILL, *ended}:
            self.check(len(said) == 1, f"ends with {code} and says {said or errors[-300:]}")
        started = time.monotonic()
        while _session(process.pid) and time.monotonic() - started < 10 + self.took:
            time.sleep(0.2)
        self.check(not _session(process.pid), "leaves processes behind")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return code

    def study(self, out: Path, options: list[str]) -> list[str]:
        """Return the command of a study."""
        return ["study", "records.csv", *options, "--out", str(out)]

    def round(self, number: int) -> None:
        """Run one study undisturbed, and some times more while something happens."""
        self.work.mkdir(parents=True)
        self.records(self.work / "records.csv")
        options = self.options()
        self.here = f"round {number}, undisturbed, {' '.join(options)}"
        whole = self.work / "whole"
        if not WARM.is_set():  # what is compiled first is no measure of time
            self.finish(self.start(*self.study(self.work / "first", options)))
            WARM.set()
        started = time.monotonic()
        if self.finish(self.start(*self.study(whole, options))) != 0:
            self.check(False, "the undisturbed study does not end well")
            return
        self.took = time.monotonic() - started
        for name in self.rng.sample(sorted(DISTURBANCES), min(AT_ONCE, len(DISTURBANCES))):
            self.here = f"round {number}, {name}, {' '.join(options)}"
            self.tried[name] += 1
            self.disturbed(DISTURBANCES[name], self.work / name, whole, options)

    def disturbed(
        self, disturb: Callable[[Soak, Path, list[str]], None], out: Path, whole: Path, options: list[str]
    ) -> None:
        """Run a study while something happens, and compare it with the undisturbed one."""
        before = (self.work / "records.csv").read_bytes()
        disturb(self, out, options)
        for _ in range(3):
            code = self.finish(self.start(*self.study(out, options)))
            if code == 0:
                break
            # Where the folder was disturbed beyond repair, the way out is another one.
            self.check(code == 2, f"the same command again ends with {code}")
            self.keep()
            out = out.with_name(f"{out.name}-again")
        for name in RESULTS:
            same = (out / name).exists() and (out / name).read_bytes() == (whole / name).read_bytes()
            self.check(same, f"{name} is not that of the undisturbed study")
        self.check((self.work / "records.csv").read_bytes() == before, "the records were changed")
        self.keep()
        decided = self.start("apply", str(out / "best.skops"), "records.csv", "--out", "-")
        self.check(self.finish(decided) == 0, "the model does not decide")

    def keep(self) -> None:
        """Check that the user's own files are there."""
        for path in self.own.copy():
            self.check(path.exists() and path.read_text() == MARK, f"{path.name} of the user is lost")

    def put_own(self, path: Path) -> None:
        """Put a file of the user's there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARK)
        self.own.add(path)


def _session(leader: int, command: bytes = b"") -> list[int]:
    """Return the processes of a session; those with something in their command line, if given."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z" and command in (path.parent / "cmdline").read_bytes():
                found.append(int(path.parent.name))
    return found


def killed(soak: Soak, out: Path, options: list[str]) -> None:
    """Kill, end or interrupt the study, some times."""
    for _ in range(soak.rng.randint(1, 3)):
        process = soak.start(*soak.study(out, options))
        soak.moment()
        process.send_signal(soak.rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        soak.finish(process)


def worker_killed(soak: Soak, out: Path, options: list[str]) -> None:
    """Kill one of its workers, as a system without memory does."""
    process = soak.start(*soak.study(out, [*options, "--jobs", "2"]))
    soak.moment(0.5)
    while process.poll() is None:
        workers = _session(process.pid, b"popen_loky_posix")  # and not what cleans up after them
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(soak.rng.choice(workers), signal.SIGKILL)
            break
        time.sleep(0.1)
    soak.finish(process)


def disk_full(soak: Soak, out: Path, options: list[str]) -> None:
    """Let no file become larger than some size."""
    soak.finish(soak.start(*soak.study(out, options), limit=soak.rng.choice([0, 100, 5_000, 50_000, 500_000])))


def temporary_full(soak: Soak, out: Path, options: list[str]) -> None:
    """Let there be no room in the temporary folder, or in shared memory, where the system lets us mount one."""
    folder = soak.work / "tmp"
    folder.mkdir(exist_ok=True)
    size = soak.rng.choice([4096, 65536])
    where = soak.rng.choice([[folder], [Path("/dev/shm")], [folder, Path("/dev/shm")]])
    mounts = " && ".join(f"mount -t tmpfs -o size={size} tmpfs '{each}'" for each in where)
    full = " ; ".join(f"head -c {size} /dev/zero > '{each}/full' 2>/dev/null" for each in where)
    around = f"{mounts} && export TMPDIR='{folder}' && ({full} ; true)"
    if subprocess.run(["unshare", "-rm", "sh", "-c", around], capture_output=True).returncode == 0:
        soak.finish(soak.start(*soak.study(out, [*options, "--jobs", "2"]), around=around))
    else:
        soak.tried["temporary_full, not possible here"] += 1


def files_removed(soak: Soak, out: Path, options: list[str]) -> None:
    """Remove, empty, cut or change files of the finished study."""
    soak.finish(soak.start(*soak.study(out, options)))
    files = [path for path in sorted(out.rglob("*")) if path.is_file() and path.name not in RESULTS]
    for path in soak.rng.sample(files, min(len(files), soak.rng.randint(1, 6))):
        what = soak.rng.choice(["remove", "empty", "cut", "flip"])
        content = bytearray(path.read_bytes())
        if what == "flip" and content:
            content[soak.rng.randrange(len(content))] ^= 1 << soak.rng.randrange(8)
        path.unlink()
        if what != "remove":
            path.write_bytes({"empty": b"", "cut": bytes(content[: len(content) // 2]), "flip": bytes(content)}[what])
    for name in RESULTS:
        if soak.rng.random() < 0.5:
            (out / name).unlink(missing_ok=True)


def permissions(soak: Soak, out: Path, options: list[str]) -> None:
    """Put something in the place of the folder or its parts that cannot be written to."""
    kind = soak.rng.choice(["file", "units", "folder", "closed", "units closed"])
    if kind == "file":
        soak.put_own(out)
    elif kind == "units":
        soak.put_own(out / "units")
    elif kind == "folder":
        (out / "study.json").mkdir(parents=True)
    else:
        closed = out
        if kind == "units closed":
            killed(soak, out, options)
            closed = out / "units" if (out / "units").exists() else out
        closed.mkdir(exist_ok=True)
        closed.chmod(soak.rng.choice([0o500, 0o000]))
        soak.finish(soak.start(*soak.study(out, options)))
        closed.chmod(0o755)
    soak.finish(soak.start(*soak.study(out, options)))


def users_files(soak: Soak, out: Path, options: list[str]) -> None:
    """Keep files of the user in the folder, before or while the study writes there."""
    names = [".env", ".git/config", "units/mine.skops", "notes.txt", ".report.html.partial", "x.partial"]
    if soak.rng.random() < 0.5:
        names += ["leaderboard.csv", "report.html", "best.skops"]
    names = soak.rng.sample(names, soak.rng.randint(1, 5))
    if soak.rng.random() < 0.6:
        killed(soak, out, options)
    for name in names:
        if not (out / name).exists():
            soak.put_own(out / name)


def dask_lost(soak: Soak, out: Path, options: list[str]) -> None:
    """Run on a Dask cluster, of which workers or the scheduler are killed, and perhaps started again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    host = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", port, "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", host, "--nthreads", "1", "--no-nanny"]
    worker += ["--no-dashboard"]

    def begin(part: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            part, cwd=soak.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    commands = [dask, worker, worker]
    parts = [begin(part) for part in commands]
    try:
        process = soak.start(*soak.study(out, [*options, "--dask", host]))
        for _ in range(soak.rng.randint(1, 2)):
            soak.moment(1.5)
            for number in soak.rng.sample(range(3), soak.rng.choice([0, 1, 1, 1, 2, 2, 3])):
                parts[number].kill()
                if number and soak.rng.random() < 0.5:
                    parts.append(begin(worker))
        soak.finish(process)
    finally:
        for part in parts:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(part.pid, signal.SIGKILL)
            part.wait()


# What happens to a study: each starts one, or prepares its folder, and disturbs it.
DISTURBANCES = {
    each.__name__: each
    for each in (
        killed, worker_killed, disk_full, temporary_full, files_removed, permissions, users_files, dask_lost,
    )
}  # fmt: skip


def main() -> int:
    """Soak for some minutes, and say what was tried and what failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--round", type=int, default=None, help="this round only, as it was")
    parser.add_argument("--only", choices=sorted(DISTURBANCES), default=None)
    given = parser.parse_args()
    if given.only:
        for name in set(DISTURBANCES) - {given.only}:
            del DISTURBANCES[name]
    ends, number = time.monotonic() + 60 * given.minutes, 0 if given.round is None else given.round - 1
    folder = Path(tempfile.mkdtemp(prefix="stakes-soak-"))
    tried: Counter[str] = Counter()
    failed: list[str] = []
    while time.monotonic() < ends and (given.round is None or number < given.round):
        number += 1
        soak = Soak(random.Random(f"{given.seed}.{number}"), folder / str(number), tried, failed)
        n_failed = len(failed)
        before = tried.copy()
        soak.round(number)
        of_it = ", ".join(tried - before)
        print(f"{number}: {of_it}, {soak.took:.0f} s: {'ok' if len(failed) == n_failed else 'FAILED'}", flush=True)
        if len(failed) == n_failed:
            shutil.rmtree(soak.work, ignore_errors=True)
    print(
        f"\n{number} rounds, {len(failed)} failures; tried: {', '.join(f'{k} {v}' for k, v in sorted(tried.items()))}"
    )
    for failure in failed:
        print(f"- {failure}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
