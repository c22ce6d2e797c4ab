"""How trees trade the price of a feature against what a split on it gains.

To add a trade-off: write its formula into `worth`, and give it the next number in TRADE_OFFS.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._jit import borrowing, inlined
from stakes._typing import Bools, Floats, Int32s
from stakes.feature_costs import Prices

__all__ = ["EG2", "NO_TRADE", "TOTAL_COST", "TRADE_OFFS", "Trade", "still_to_pay", "worth"]

# Numbers, not functions, as criteria are.
EG2, TOTAL_COST = range(2)
TRADE_OFFS = {"eg2": EG2, "total_cost": TOTAL_COST}


class Trade(NamedTuple):
    """A trade-off, and what a price of 1 comes to in units of the criterion's weights."""

    rule: int
    exponent: float  # of prices in EG2
    negative: float  # of one copy of a negative record, and of a positive one
    positive: float


NO_TRADE = Trade(EG2, 1.0, 0.0, 0.0)


@inlined
def worth(rule: int, exponent: float, gain: float, price: float) -> float:
    """Return what a split is worth, the more the better; -inf where it does not pay for itself.

    `gain` and `price` are those of the whole node for the total cost, and means per record for EG2: the information
    cost function of Nunez (1991), ``(2^gain - 1) / (price + 1)^exponent``.
    """
    if rule == TOTAL_COST:
        return gain - price if gain > price or price == 0.0 else -np.inf
    return (2.0**gain - 1.0) / (price + 1.0) ** exponent


@borrowing
def still_to_pay(
    toll: Floats, amount: float, prices: Prices, paid: Bools, feature: Int32s, parent: Int32s, node: int
) -> None:
    """Write what each feature still costs in a node, times `amount`: items paid for on the way to it are free."""
    first, needed, price = prices
    paid[:] = False
    above = parent[node]
    while above >= 0:
        for at in range(first[feature[above]], first[feature[above] + 1]):
            paid[needed[at]] = True
        above = parent[above]
    for j in range(toll.shape[0]):
        toll[j] = 0.0
        for at in range(first[j], first[j + 1]):
            if not paid[needed[at]]:
                toll[j] += amount * price[needed[at]]
