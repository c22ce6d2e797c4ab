"""The study: train once, decide many, and find out which method saves the most money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stakes.lazy import importer

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


__getattr__ = importer(__name__, _HOMES)
