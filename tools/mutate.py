"""Put wrong formulas into a copy of the source, one at a time, and see that the tests named next to each notice.

    python tools/mutate.py                  # all of them: three quarters of an hour
    python tools/mutate.py --only boosting  # those of the families with this in their name
    python tools/mutate.py --list

The exit code is 0 if every wrong formula is caught. The table is mutations.txt.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from mutations import MUTATIONS, Mutation, find, mutate

ROOT = Path(__file__).parents[1]
# To import these takes longer than most of the tests: a server imports them once, and each run is a fork of it.
SLOW_IMPORTS = [
    "hypothesis", "imblearn", "joblib", "numba", "numpy", "pandas", "polars", "pytest", "scipy.optimize",
    "scipy.special", "sklearn.ensemble", "sklearn.pipeline", "skops.io",
]  # fmt: skip
TIME_LIMIT = 600
# Exit codes of pytest; any other says that the tests could not be run.
PASSED, FAILED = 0, 1


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the names of families")
    parser.add_argument("--list", action="store_true", help="list the families and leave")
    options = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if options.only in mutation.family]
    if options.list:
        for family in dict.fromkeys(mutation.family for mutation in chosen):
            print(f"{sum(mutation.family == family for mutation in chosen):3d}  {family}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        survivors = run(chosen, Path(folder))
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} wrong formulas were caught")
    for mutation in survivors:
        print(f"NOT CAUGHT in {mutation.family}: {mutation.place}\n    {mutation.old}\n    {mutation.new}")
    return 1 if survivors else 0


def run(chosen: list[Mutation], folder: Path) -> list[Mutation]:
    """Return the mutations that no test notices; say how it goes."""
    for part in ("src", "tests", "pyproject.toml"):
        # With their times, by which numba knows that what it keeps of the copied kernels still fits.
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
        copy(ROOT / part, folder / part)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(SLOW_IMPORTS)

    def tests_pass(tests: str, compiled: bool) -> tuple[bool, str]:
        receiver, sender = server.Pipe(duplex=False)
        process = server.Process(target=run_tests, args=(tests, folder, compiled, sender))
        process.start()
        sender.close()
        status, output = FAILED, "no answer"
        if receiver.poll(TIME_LIMIT):
            with suppress(EOFError):  # the interpreter ended, or hangs: as good as a failure
                status, output = receiver.recv()
        process.kill()
        process.join()
        if status not in (PASSED, FAILED):
            raise SystemExit(f"{tests} cannot be run:\n{output}")
        return status == PASSED, output

    for tests, compiled in dict.fromkeys(
        (mutation.tests, not is_kernel(find(mutation.place).file)) for mutation in chosen
    ):
        start = time.perf_counter()
        passed, output = tests_pass(tests, compiled)
        print(f"{time.perf_counter() - start:6.1f} s  unchanged   {tests}", flush=True)
        if not passed:
            raise SystemExit(f"the tests fail without any change:\n{output}")
    survivors = []
    for mutation in chosen:
        file, wrong = mutate(mutation)
        path = folder / file.relative_to(ROOT)
        original, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(wrong, encoding="utf-8")
        start = time.perf_counter()
        passed, _ = tests_pass(mutation.tests, not is_kernel(file))
        path.write_text(original, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        verdict = "NOT CAUGHT" if passed else "caught    "
        print(f"{time.perf_counter() - start:6.1f} s  {verdict}  {mutation.family}: {mutation.new}", flush=True)
        if passed:
            survivors.append(mutation)
    return survivors


def is_kernel(file: Path) -> bool:
    """Return whether a file is compiled. The copy then is not: that takes longer than tests of a few records."""
    return "from stakes._jit import" in file.read_text(encoding="utf-8")


def run_tests(tests: str, folder: Path, compiled: bool, sender: Connection) -> None:
    """Run tests on the copy, in a process of their own; send whether they failed, and what they said."""
    import numba
    import pytest
    from hypothesis import Phase, settings

    os.chdir(folder)
    sys.path.insert(0, str(folder / "src"))
    if not compiled:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.config.reload_config()
    # The same examples in each run, and the first one that fails is enough: nobody reads the smallest.
    settings.register_profile("mutation", deadline=None, phases=[Phase.explicit, Phase.generate])
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--hypothesis-profile=mutation"]
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(output):
        status = int(pytest.main([*options, *shlex.split(tests)]))
    if not Path(sys.modules["stakes"].__file__ or "").is_relative_to(folder):
        status = -1
        output.write("the tests ran on another installation of stakes")
    sender.send((status, output.getvalue()))


if __name__ == "__main__":
    sys.exit(main())
