"""A progress bar for whoever asks for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track

__all__ = ["progress"]

T = TypeVar("T")


def progress(items: Iterable[T], total: int, description: str, verbose: int) -> Iterator[T]:
    """Return the items; where `verbose` is positive, show on the standard error how many have come by."""
    if verbose <= 0:
        return iter(items)
    return iter(track(items, description=description, total=total, console=Console(stderr=True)))
