"""Classifiers that learn and decide by what their mistakes cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stakes.lazy import importer

if TYPE_CHECKING:
    from stakes.bagging import CostBaggingClassifier
    from stakes.boosting import CostBoostClassifier
    from stakes.catalog import list_methods, make_classifier
    from stakes.cost_decision import CostDecisionClassifier
    from stakes.cost_tree import CostTreeClassifier
    from stakes.costs import Costs
    from stakes.decision.decision import Decision
    from stakes.decision.options import decisions_for
    from stakes.metacost import MetaCostClassifier
    from stakes.persist import load, save

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
    "load",
    "make_classifier",
    "save",
]

# Imported when first asked for: scikit-learn and the compiler take seconds, and `stakes --help` needs neither.
_HOMES = {
    "CostBaggingClassifier": "stakes.bagging",
    "CostBoostClassifier": "stakes.boosting",
    "CostDecisionClassifier": "stakes.cost_decision",
    "CostTreeClassifier": "stakes.cost_tree",
    "Costs": "stakes.costs",
    "Decision": "stakes.decision.decision",
    "MetaCostClassifier": "stakes.metacost",
    "decisions_for": "stakes.decision.options",
    "list_methods": "stakes.catalog",
    "load": "stakes.persist",
    "make_classifier": "stakes.catalog",
    "save": "stakes.persist",
}


__getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
