"""The processes that the units of a study run in: of this machine, of a Dask cluster, or of joblib's backend in force.

They end when the study does, however it ends; and however they end, the study says so in a line.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from joblib import Parallel, cpu_count, delayed, parallel_config

import stakes
from stakes.exceptions import StudyError

__all__ = ["Workers"]

T = TypeVar("T")

GOES_ON = "what is finished is kept, and the same command goes on from there"
# Seconds to wait for the first worker of a cluster; and between two looks at whether the study is still there.
PATIENCE, LOOK = 30, 1.0


class Workers:
    """What runs the units of a study: `jobs` processes, as many as there are cores by default, or a Dask cluster."""

    def __init__(self, jobs: int | None = None, dask: str | None = None) -> None:
        self.jobs = jobs or cpu_count()
        self.dask = dask

    def map(self, function: Callable[..., T], shared: Any, items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """Yield ``function(shared, *item)`` for each item, as they are done; `shared` is sent to a cluster once."""
        task, parent = delayed(_run), None if self.dask else os.getpid()
        try:
            with self._backend(shared):
                yield from Parallel(n_jobs=self.jobs, return_as="generator_unordered", pre_dispatch="1*n_jobs")(
                    task(parent, stakes.__version__, function, shared, *item) for item in items
                )
        except BrokenProcessPool:
            raise StudyError(
                f"a worker process was killed, as the system does when memory is short: {GOES_ON}; fewer --jobs need "
                "less memory"
            ) from None
        except StudyError:
            raise
        except Exception as error:
            if self.dask is None:
                raise
            why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise StudyError(f"the Dask cluster at {self.dask} does not go on ({why}): {GOES_ON}") from error

    @contextmanager
    def _backend(self, shared: Any) -> Iterator[None]:
        if self.dask is None:
            yield
            return
        try:
            from distributed import Client
        except ImportError:
            raise StudyError('running on Dask needs its packages: pip install "stakes[dask]"') from None
        try:
            client = Client(self.dask)
        except (OSError, ValueError) as error:
            raise StudyError(f"no Dask scheduler answers at {self.dask}: {error}") from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise StudyError(
                    f"the Dask scheduler at {self.dask} has no workers: start some by `dask worker {self.dask}`"
                ) from None
            for worker, version in client.run(lambda: __import__("stakes").__version__).items():
                _check_version(version, stakes.__version__, worker)
            with parallel_config(backend="dask", client=client, scatter=[shared]):
                yield


def _run(parent: int | None, version: str, function: Callable[..., T], *arguments: Any) -> T:
    """Run a task in a worker."""
    _check_version(stakes.__version__, version, socket.gethostname())
    if parent is not None and os.getppid() == parent:
        _end_with(parent)
    return function(*arguments)


def _check_version(here: str, wanted: str, worker: str) -> None:
    if here != wanted:
        raise StudyError(f"the worker {worker} has stakes {here}, and the study is of {wanted}: install the same there")


_watching = False


def _end_with(parent: int) -> None:
    """End this process soon after its parent: a worker would wait for tasks from nobody, and keep its memory."""
    global _watching
    if _watching:
        return
    _watching = True

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
