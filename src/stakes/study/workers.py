"""The processes that the units of a study run in: of this machine, of a Dask cluster, or of joblib's backend in force.

They end when the study does, however it ends; and however they end, the study says so in a line.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from pickle import PicklingError
from typing import Any, TypeVar

from joblib import Parallel, cpu_count, delayed

import stakes
from stakes.boosting.rules import RULES
from stakes.exceptions import StudyError
from stakes.measures import MEASURES
from stakes.sampling import SAMPLERS
from stakes.study.store import GOES_ON

__all__ = ["Workers"]

T = TypeVar("T")
Tables = tuple[dict[str, Any], ...]

# What can be registered at run time: a worker is a new process, and has only what the package itself has.
TABLES: Tables = (RULES, SAMPLERS, MEASURES)

LOOK = 1.0  # seconds between two looks at whether the study is still there


class Workers:
    """What runs the units of a study: `jobs` processes, as many as there are cores by default, or a Dask cluster."""

    def __init__(self, jobs: int | None = None, dask: str | None = None) -> None:
        self.jobs = jobs or cpu_count()
        self.dask = dask

    def map(self, function: Callable[..., T], shared: Any, items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """Yield ``function(shared, *item)`` for each item, as they are done; `shared` is sent to a cluster once."""
        if self.dask is not None:
            yield from self._map_on_cluster(self.dask, function, shared, items)
            return
        task = delayed(_run)
        try:
            with warnings.catch_warnings():
                # Workers whose memory grows are replaced: with records read through a map it does, and is given back.
                warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
                yield from Parallel(n_jobs=self.jobs, return_as="generator_unordered", pre_dispatch="1*n_jobs")(
                    task(os.getpid(), stakes.__version__, TABLES, function, shared, *item) for item in items
                )
        except BrokenProcessPool:
            raise StudyError(
                f"a worker process was killed, as the system does when memory is short: {GOES_ON}; fewer --jobs need "
                "less memory"
            ) from None
        except PicklingError as error:
            # Large arrays are handed to workers in temporary files.
            if isinstance(error.__context__, OSError):
                raise StudyError(
                    f"cannot write to the temporary folder ({error.__context__.strerror}): {GOES_ON}; set "
                    "JOBLIB_TEMP_FOLDER to a folder with more room, or use --jobs 1"
                ) from error
            raise

    def _map_on_cluster(
        self, address: str, function: Callable[..., T], shared: Any, items: Iterable[tuple[Any, ...]]
    ) -> Iterator[T]:
        try:
            from stakes.study.cluster import Cluster
        except ImportError:
            raise StudyError('running on Dask needs its packages: pip install "stakes[dask]"') from None
        with Cluster(address) as cluster:
            for worker, version in cluster.ask(lambda: __import__("stakes").__version__).items():
                _check_version(version, stakes.__version__, worker)
            yield from cluster.map(partial(_run, None, stakes.__version__, TABLES, function), shared, items)


def _run(parent: int | None, version: str, tables: Tables, function: Callable[..., T], shared: Any, *item: Any) -> T:
    """Run a task in a worker, by the tables of the study."""
    _check_version(stakes.__version__, version, socket.gethostname())
    for mine, of_study in zip(TABLES, tables, strict=True):
        mine.update(of_study)
    made_by = multiprocessing.parent_process()  # it may be gone already
    if made_by is not None and made_by.pid is not None and made_by.pid == parent:
        _end_with(made_by.pid)
    return function(shared, *item)


def _check_version(here: str | Exception, wanted: str, worker: str) -> None:
    """Refuse a worker of another version, or without any; `here` may be the error that tells so."""
    if isinstance(here, ImportError):
        raise StudyError(f"the worker {worker} has no stakes: install {wanted} there")
    if here != wanted and isinstance(here, str):  # a worker that is lost while it is asked is no matter
        raise StudyError(f"the worker {worker} has stakes {here}, and the study is of {wanted}: install the same there")


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent: a worker would wait for tasks from nobody, and keep its memory."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
