"""The study: train once, decide many, and find out which method saves the most money."""

from stakes.study.data import StudyData, load_data
from stakes.study.study import Study, StudyResult

__all__ = ["Study", "StudyData", "StudyResult", "load_data"]
