"""How kernels are compiled and run: without the interpreter lock, and kept on disk between processes."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numba
from filelock import FileLock, Timeout
from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["borrowing", "in_blocks", "inlined", "kernel", "tell_before_compiling"]

F = TypeVar("F", bound=Callable[..., Any])

_told = False
_said = False
# Seconds to wait for another process that compiles the same.
PATIENCE = 120
# What kernels take from other files than their own, by calls, constants and tuples, is in these.
SOURCES = ("_jit.py", "feature_costs.py", "tree/*.py")


def kernel(function: F) -> F:
    """Compile a function of plain numbers and arrays; division by zero follows IEEE, as in numpy."""
    return _compiled(function)


def borrowing(function: F) -> F:
    """Compile a kernel that makes and returns no arrays, and counts no references to those it is given.

    Each that is taken out of a tuple is counted up and down, by atomic operations: more work than that on small nodes.
    Making one is a compile error; an array that is returned would be counted down by the caller only.
    """
    return _compiled(function, _nrt=False)


def inlined(function: F) -> F:
    """Compile a function into its callers: arrays that cross a call cost an atomic count each way."""
    return _compiled(function, inline="always")


def in_blocks(run: Callable[[int, int], None], n: int, n_threads: int, size: int) -> None:
    """Run a kernel on all of `n` records, or by several threads on blocks of `size`, each from its start to its end."""
    if n_threads == 1 or n <= size:
        run(0, n)
        return
    starts = range(0, n, size)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(run, starts, [min(start + size, n) for start in starts]))


def _compiled(function: F, **options: Any) -> F:
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if not numba.config.DISABLE_JIT:
        try:
            compiled._cache = _Cache(function)  # what `cache=True` does, with a cache that may fail
        except RuntimeError:  # neither the folder of the package nor one of the user can be written to
            _say_without_cache("there is no folder to keep it in; NUMBA_CACHE_DIR can name one")
    result: F = compiled
    return result


@cache
def _kept_in() -> str:
    """Return the name of the folder for what is compiled from these very sources."""
    package = Path(__file__).parent
    sources = (path.read_bytes() for pattern in SOURCES for path in sorted(package.glob(pattern)))
    return f"kernels-{sha256(b''.join(sources)).hexdigest()[:16]}"


class _Cache(FunctionCache):
    """Compiled code on disk: what is broken is compiled again, and what cannot be written is not kept.

    numba compiles a kernel again where its own file has changed; what it calls may stand in others, so each state of
    the sources has a folder. Processes that need the same code wait for the first of them to compile it.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_path = str(Path(self.cache_path) / _kept_in())
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._load(sig, target_context)
        if found is None and self._wait():
            found = self._load(sig, target_context)
            if found is not None:
                self._lock.release(force=True)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of the unpickling of a file that is empty or cut
            with contextlib.suppress(OSError):
                self.flush()
            return None

    @cached_property
    def _lock(self) -> FileLock:
        return FileLock(Path(self.cache_path) / f"{self._py_func.__name__}.lock", thread_local=False)

    def _wait(self) -> bool:
        """Return whether this process is the one to compile; also after some time in vain."""
        folder = Path(self.cache_path)
        try:
            if not folder.exists():
                folder.mkdir(parents=True, exist_ok=True)
                for old in set(folder.parent.glob("kernels-*")) - {folder}:
                    shutil.rmtree(old, ignore_errors=True)
            self._lock.acquire(timeout=PATIENCE)
        except (OSError, Timeout, NotImplementedError):
            return False
        return True

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _say_without_cache(str(error))
        finally:
            self._lock.release(force=True)


def _say_without_cache(why: str) -> None:
    """Log once that compiled code is not kept."""
    global _said
    if not _said:
        logging.getLogger("stakes").warning("stakes compiles its engine anew in every process: %s", why)
    _said = True


def tell_before_compiling(function: Any) -> None:
    """Log once, before the long first call on a new machine, that the engine is being compiled.

    Processes that another one has started leave it to that one: a study would be told as often as it has workers.
    """
    global _told
    if _told or numba.config.DISABLE_JIT or multiprocessing.parent_process() is not None:
        return
    _told = True
    if function.signatures:
        return
    folder = function.stats.cache_path  # None where there is no cache, which is told by itself
    if folder is not None and not any(Path(folder).glob(f"*.{function.py_func.__name__}-*.nbi")):
        logging.getLogger("stakes").warning("stakes compiles its tree engine now: some 10 s, once per installation")
