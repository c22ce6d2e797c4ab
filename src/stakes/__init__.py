"""Classifiers that learn and decide by what their mistakes cost."""

from stakes.bagging import CostBaggingClassifier
from stakes.boosting import CostBoostClassifier
from stakes.catalog import list_methods, make_classifier
from stakes.cost_decision import CostDecisionClassifier
from stakes.cost_tree import CostTreeClassifier
from stakes.costs import Costs
from stakes.decision.decision import Decision
from stakes.decision.options import decisions_for
from stakes.metacost import MetaCostClassifier

__version__ = "0.1.0"

__all__ = [
    "CostBaggingClassifier",
    "CostBoostClassifier",
    "CostDecisionClassifier",
    "CostTreeClassifier",
    "Costs",
    "Decision",
    "MetaCostClassifier",
    "__version__",
    "decisions_for",
    "list_methods",
    "make_classifier",
]
