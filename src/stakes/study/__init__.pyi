from .data import StudyData, load_data
from .study import Study, StudyResult

__all__ = ["Study", "StudyData", "StudyResult", "load_data"]
