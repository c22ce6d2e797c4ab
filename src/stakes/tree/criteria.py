"""What a split is worth (FRAMEWORK 5.1).

Every criterion is a *loss*: the impurity left in a node, times its weight. A split is better the lower the summed
loss of its two children, and its gain is the loss of the node minus that sum. Weights come as whole numbers (see
``histogram``), so that equal splits have exactly equal losses.

To add a criterion: write its node loss, give it the next number in CRITERIA, and call it in `node_loss`.
"""

from __future__ import annotations

from math import log2

import numpy as np

from stakes._jit import inlined, kernel

__all__ = [
    "COST",
    "CRITERIA",
    "ENTROPY",
    "GAIN_RATIO",
    "GINI",
    "check_criterion",
    "children_loss",
    "entropy_loss",
    "gini_loss",
    "node_loss",
]

# Numbers, not functions: a kernel that takes compiled functions cannot be kept on disk.
GINI, ENTROPY, GAIN_RATIO, COST = range(4)
CRITERIA = {"gini": GINI, "entropy": ENTROPY, "gain_ratio": GAIN_RATIO, "cost": COST}


@kernel
def _plogp(weight: float) -> float:
    return weight * log2(weight) if weight > 0.0 else 0.0


@kernel
def gini_loss(positive: float, negative: float) -> float:
    """Return W (1 - P+^2 - P-^2), which for two classes is 2 W+ W- / W."""
    weight = positive + negative
    return 2.0 * positive * negative / weight if weight > 0.0 else 0.0


@kernel
def entropy_loss(positive: float, negative: float) -> float:
    """Return W times the entropy of the class shares, in bits."""
    return _plogp(positive + negative) - _plogp(positive) - _plogp(negative)


@kernel
def cost_loss(positive: float, negative: float) -> float:
    """Return C_t, the cost of the cheaper label, where weights are costs: the other class pays."""
    return min(positive, negative)


@kernel
def node_loss(criterion: int, positive: float, negative: float) -> float:
    """Return the loss of a node by the criterion of this number."""
    if criterion == GINI:
        return gini_loss(positive, negative)
    if criterion == COST:
        return cost_loss(positive, negative)
    if criterion in (ENTROPY, GAIN_RATIO):
        return entropy_loss(positive, negative)
    return np.nan  # an exception, which would be clearer, slows the innermost loop down: see `check_criterion`


def check_criterion(criterion: int) -> None:
    """Raise an error if no criterion has this number."""
    if not node_loss(criterion, 1.0, 1.0) >= 0.0:
        raise ValueError(f"no criterion has the number {criterion}: give one of CRITERIA whose loss is in node_loss")


@inlined
def children_loss(
    criterion: int, left_positive: float, left_negative: float, right_positive: float, right_negative: float
) -> float:
    """Return the summed loss of the two children of a split.

    Inlined: the compiler would leave it as a call for each cut of a small node.
    """
    if criterion == GINI:
        # Both fractions over one denominator: one division instead of two in the innermost loop of all.
        left, right = left_positive + left_negative, right_positive + right_negative
        if left > 0.0 and right > 0.0:
            impure = left_positive * left_negative * right + right_positive * right_negative * left
            return 2.0 * impure / (left * right)
    return node_loss(criterion, left_positive, left_negative) + node_loss(criterion, right_positive, right_negative)
