"""Forked processes: threads of the parent are gone in them, and libraries that wait for theirs would wait for ever.

Records are read without the threads of polars, so that models can be fitted and used in a forked process. Models of
other packages get one thread there. What cannot do without threads, reading files and studies, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from stakes.exceptions import StudyError

__all__ = ["one_thread_if_forked", "refuse_if_forked"]

# How many processors joblib, and LightGBM by it, believe that there are.
PROCESSORS = "LOKY_MAX_CPU_COUNT"
_forked = False


def _mark() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark)


@contextmanager
def one_thread_if_forked() -> Iterator[None]:
    """Let OpenMP, and packages that count processors by joblib, use one thread in a forked process."""
    if not _forked:
        yield
        return
    before = os.environ.get(PROCESSORS)
    os.environ[PROCESSORS] = "1"
    try:
        with threadpool_limits(1, user_api="openmp"):
            yield
    finally:
        del os.environ[PROCESSORS]
        if before is not None:
            os.environ[PROCESSORS] = before


def refuse_if_forked(what: str) -> None:
    """Raise an error in a forked process, where `what` would wait for ever."""
    if _forked:
        raise StudyError(
            f"{what} needs threads that are not there in a forked process: start it by multiprocessing's 'spawn' or "
            "'forkserver', or import stakes after the fork"
        )
