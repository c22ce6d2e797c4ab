from .comparison.compare import Comparison, compare
from .data import StudyData
from .loading import load_data
from .study import Study, StudyResult

__all__ = ["Comparison", "Study", "StudyData", "StudyResult", "compare", "load_data"]
