"""The study: train once, decide many, and find out which method saves the most money."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stakes.study.data import StudyData, load_data
    from stakes.study.study import Study, StudyResult

__all__ = ["Study", "StudyData", "StudyResult", "load_data"]

# Imported when first asked for, as in `stakes` itself.
_HOMES = {
    "Study": "stakes.study.study",
    "StudyData": "stakes.study.data",
    "StudyResult": "stakes.study.study",
    "load_data": "stakes.study.data",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
