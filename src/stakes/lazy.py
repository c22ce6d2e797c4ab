"""Names that a package offers, and imports only when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["importer"]


def importer(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, by the module that each of its names is in.

    Examples
    --------
    >>> from stakes.lazy import importer
    >>> importer("stakes", {"Costs": "stakes.costs"})("Costs")
    <class 'stakes.costs.Costs'>
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
