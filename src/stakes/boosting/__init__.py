"""During training: AdaBoost and its cost-sensitive variants, one rule each (FRAMEWORK 7)."""

from stakes.boosting.classifier import CostBoostClassifier
from stakes.boosting.rules import RULES

__all__ = ["RULES", "CostBoostClassifier"]
