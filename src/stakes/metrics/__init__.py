"""What decisions are worth, with intervals, and scorers that choose models by it."""

from stakes.decision.thresholds import tuned_threshold
from stakes.metrics.decisions import amount_detected, cost_reduction, g_mean, profit, roi, savings_score, total_cost
from stakes.metrics.intervals import Interval, cost_difference_interval, cost_interval
from stakes.metrics.probabilities import (
    auepc_score,
    emp_churn_score,
    emp_credit_score,
    expected_cost,
    expected_savings_score,
    lift_score,
)
from stakes.metrics.scorer import CostScorer, make_cost_scorer

__all__ = [
    "CostScorer",
    "Interval",
    "amount_detected",
    "auepc_score",
    "cost_difference_interval",
    "cost_interval",
    "cost_reduction",
    "emp_churn_score",
    "emp_credit_score",
    "expected_cost",
    "expected_savings_score",
    "g_mean",
    "lift_score",
    "make_cost_scorer",
    "profit",
    "roi",
    "savings_score",
    "total_cost",
    "tuned_threshold",
]
