"""What decisions are worth, with intervals, and scorers that choose models by it."""

from stakes.decision.thresholds import tuned_threshold
from stakes.metrics.decisions import amount_detected, cost_reduction, g_mean, profit, roi, savings_score, total_cost
from stakes.metrics.intervals import Interval, cost_difference_interval, cost_interval
from stakes.metrics.scorer import CostScorer, make_cost_scorer

__all__ = [
    "CostScorer",
    "Interval",
    "amount_detected",
    "cost_difference_interval",
    "cost_interval",
    "cost_reduction",
    "g_mean",
    "make_cost_scorer",
    "profit",
    "roi",
    "savings_score",
    "total_cost",
    "tuned_threshold",
]
