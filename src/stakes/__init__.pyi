from .bagging import CostBaggingClassifier
from .boosting import CostBoostClassifier
from .catalog import list_methods, make_classifier
from .cost_decision import CostDecisionClassifier
from .cost_tree import CostTreeClassifier
from .costs import Costs
from .decision.decision import Decision
from .decision.options import decisions_for
from .gradient_boosting import CostGradientBoostingClassifier
from .metacost import MetaCostClassifier
from .persist import load, save
from .teams.classifiers import CostStackingClassifier, CostTeamClassifier

__version__: str

__all__ = [
    "CostBaggingClassifier",
    "CostBoostClassifier",
    "CostDecisionClassifier",
    "CostGradientBoostingClassifier",
    "CostStackingClassifier",
    "CostTeamClassifier",
    "CostTreeClassifier",
    "Costs",
    "Decision",
    "MetaCostClassifier",
    "__version__",
    "decisions_for",
    "list_methods",
    "load",
    "make_classifier",
    "save",
]
