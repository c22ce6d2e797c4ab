"""How kernels are compiled: without the interpreter lock, and kept on disk between processes."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

__all__ = ["inlined", "kernel", "tell_before_compiling"]

F = TypeVar("F", bound=Callable[..., Any])

_told = False


def kernel(function: F) -> F:
    """Compile a function of plain numbers and arrays; division by zero follows IEEE, as in numpy."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def inlined(function: F) -> F:
    """Compile a function into its callers: arrays that cross a call cost an atomic count each way."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return compiled


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
    folder = Path(function.stats.cache_path)
    if not any(folder.glob(f"*.{function.py_func.__name__}-*.nbi")):
        logging.getLogger("stakes").warning("stakes compiles its tree engine now: some 10 s, once per installation")
