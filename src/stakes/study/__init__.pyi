from .comparison.compare import Comparison, compare
from .data import StudyData, load_data
from .study import Study, StudyResult

__all__ = ["Comparison", "Study", "StudyData", "StudyResult", "compare", "load_data"]
