"""Classifiers that learn and decide by what their mistakes cost."""

from stakes.bagging import CostBaggingClassifier
from stakes.cost_decision import CostDecisionClassifier
from stakes.cost_tree import CostTreeClassifier
from stakes.costs import Costs
from stakes.decision.decision import Decision
from stakes.metacost import MetaCostClassifier

__version__ = "0.1.0"

__all__ = [
    "CostBaggingClassifier",
    "CostDecisionClassifier",
    "CostTreeClassifier",
    "Costs",
    "Decision",
    "MetaCostClassifier",
    "__version__",
]
