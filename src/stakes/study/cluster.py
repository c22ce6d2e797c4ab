"""Tasks on a Dask cluster, whose workers and scheduler may be lost at any time.

What all tasks share is the result of a task itself: when a worker is lost, Dask makes it again from what the scheduler
has. Data that is scattered to workers would be lost with them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Self, TypeVar

import cloudpickle
import dask
from distributed import Client, Future, KilledWorker, wait

from stakes.exceptions import StudyError
from stakes.study.store import GOES_ON

__all__ = ["Cluster"]

T = TypeVar("T")

# Seconds to wait for workers where there are none; and between two looks at the cluster.
PATIENCE, LOOK = 30.0, 1.0
# They write tracebacks of lost connections to standard error.
LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")


class Cluster:
    """The workers of the Dask scheduler at an address; connected to it as a context manager."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for logger in map(logging.getLogger, LOGGERS):
                stack.callback(logger.setLevel, logger.level)
                logger.setLevel(logging.CRITICAL + 1)
            try:
                self.client = stack.enter_context(Client(self.address))
            except (OSError, ValueError) as error:
                raise StudyError(f"no Dask scheduler answers at {self.address}: {error}") from None
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def ask(self, function: Callable[[], Any]) -> dict[str, Any]:
        """Return what a function returns, or the error it raises, on each worker that is there."""
        with self._told_in_a_line():
            found: dict[str, Any] = self.client.run(function, on_error="return")
            return found

    def map(self, function: Callable[..., T], shared: Any, items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """Yield ``function(shared, *item)`` for each item, as they are done."""
        left, running = iter(items), set[Future]()
        with self._told_in_a_line(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            data = self.client.submit(cloudpickle.loads, cloudpickle.dumps(shared), pure=False)
        seen = time.monotonic()
        while True:
            with self._told_in_a_line():
                n_threads = sum(self.client.nthreads().values())
            if n_threads:
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise StudyError(
                    f"the Dask scheduler at {self.address} has no workers: start some by `dask worker {self.address}`; "
                    f"{GOES_ON}"
                )
            while len(running) < n_threads and (item := next(left, None)) is not None:
                with self._told_in_a_line():
                    running.add(self.client.submit(function, data, *item, pure=False))
            if n_threads and not running:
                return
            for future in self._done(running):
                if future.status == "error":
                    raise _error_of(future)
                with suppress(TimeoutError):  # of what was lost with its worker, and is computed again
                    with self._told_in_a_line():
                        result = future.result(timeout=PATIENCE)
                    running.remove(future)
                    yield result

    def _done(self, running: set[Future]) -> list[Future]:
        with self._told_in_a_line(), suppress(TimeoutError):
            wait(running, timeout=LOOK, return_when="FIRST_COMPLETED")
        return [future for future in running if future.done()]

    @contextmanager
    def _told_in_a_line(self) -> Iterator[None]:
        """Say in a line that the scheduler is lost, whatever that makes the client raise."""
        try:
            yield
        except TimeoutError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise StudyError(f"the Dask scheduler at {self.address} was lost ({why}): {GOES_ON}") from error


def _error_of(future: Future) -> BaseException:
    """Return what to raise where a task ends with an error."""
    error = future.exception()
    if isinstance(error, KilledWorker):
        return StudyError(
            f"{error.allowed_failures + 1} Dask workers were lost one after another with the same task, as when memory "
            f"is short: {GOES_ON}; give them more memory"
        )
    return error
