"""Forked processes: threads of the parent are gone in them, and libraries that wait for theirs would wait for ever.

Records are read without the threads of polars, so that models can be fitted and used in a forked process. Models of
other packages get one thread there. What cannot do without threads, reading files and studies, is refused.
"""

from __future__ import annotations

import os

from threadpoolctl import threadpool_limits

from stakes.exceptions import StudyError

__all__ = ["one_thread_if_forked", "refuse_if_forked", "threads_here"]

_forked = False


def _mark() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark)


def one_thread_if_forked() -> None:
    """Let OpenMP, and packages that count processors by joblib, use one thread from now on, in a forked process."""
    if _forked:
        threadpool_limits(1, user_api="openmp")
        os.environ["LOKY_MAX_CPU_COUNT"] = "1"  # LightGBM asks joblib


def threads_here(n_threads: int) -> int:
    """Return how many threads OpenMP may use in this process."""
    return 1 if _forked else n_threads


def refuse_if_forked(what: str) -> None:
    """Raise an error in a forked process, where `what` would wait for ever."""
    if _forked:
        raise StudyError(
            f"{what} needs threads that are not there in a forked process: start it by multiprocessing's 'spawn' or "
            "'forkserver', or import stakes after the fork"
        )
