"""Plots of what decisions cost, in scikit-learn's Display style; they need matplotlib: pip install "stakes[plot]"."""

from stakes.plots.cost_curve import CostCurveDisplay
from stakes.plots.gain import GainDisplay
from stakes.plots.reliability import ReliabilityDisplay
from stakes.plots.roc import CostROCDisplay
from stakes.plots.sensitivity import CostSensitivityDisplay
from stakes.plots.tree import CostTreeDisplay

__all__ = [
    "CostCurveDisplay",
    "CostROCDisplay",
    "CostSensitivityDisplay",
    "CostTreeDisplay",
    "GainDisplay",
    "ReliabilityDisplay",
]
