"""Vote weights of members, by their errors or their votes on validation records (FRAMEWORK 8.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stakes._typing import Floats, Ints
from stakes.decision.pruning import Ballots, by_cost, by_error, by_margin

__all__ = ["BY_ERROR", "CHOSEN", "VOTE_WEIGHTS", "VoteWeight", "vote_weights"]

# Errors are at least this, and at most 1 less this: odds stay finite.
LEAST_ERROR = 1e-15
# exp(-600) is positive, so that a poor member decides where no better one is out of the bag.
LARGEST_GAP = 600.0


def equal(error: Floats) -> Floats:
    """Return 1 for all."""
    return np.ones_like(error)


def log_odds(error: Floats) -> Floats:
    """ln((1 - eps) / eps), and 0 for members that are worse than chance."""
    return np.maximum(np.log1p(-error) - np.log(error), 0.0)


def accuracy(error: Floats) -> Floats:
    """1 - eps."""
    return 1.0 - error


def exp_odds(error: Floats) -> Floats:
    """exp((1 - eps) / eps), relative to the best member."""
    odds = (1.0 - error) / error
    return np.exp(np.maximum(odds - odds.max(axis=0), -LARGEST_GAP))


def squared_odds(error: Floats) -> Floats:
    """((1 - eps) / eps)^2, relative to the best member."""
    odds = (1.0 - error) / error
    return (odds / odds.max(axis=0)) ** 2


class VoteWeight(NamedTuple):
    """A way of weighing the votes of members: by their errors, by an order of members to prune, or by the leaf."""

    words: str
    of_errors: Callable[[Floats], Floats] | None = None
    order: Callable[[Ballots], Ints] | None = None


# To add a way of weighing votes: a function of errors, members along the first axis, and a line here.
VOTE_WEIGHTS: dict[str, VoteWeight] = {
    "equal": VoteWeight("equal weights", equal),
    "log_odds": VoteWeight("weights ln((1-eps)/eps)", log_odds),
    "accuracy": VoteWeight("weights 1-eps", accuracy),
    "exp_odds": VoteWeight("weights exp((1-eps)/eps)", exp_odds),
    "squared_odds": VoteWeight("weights ((1-eps)/eps)^2", squared_odds),
    "pruned": VoteWeight("of the members that cost least together", order=by_cost),
    "pruned_error": VoteWeight("of the members that err least together", order=by_error),
    "pruned_margin": VoteWeight("of the members with the best margins together", order=by_margin),
    "node": VoteWeight("weights of the leaf"),
}
BY_ERROR = tuple(name for name, weight in VOTE_WEIGHTS.items() if weight.of_errors is not None)
# Found on validation records.
CHOSEN = tuple(name for name in VOTE_WEIGHTS if name not in ("equal", "node"))


def vote_weights(name: str, error: Floats) -> Floats:
    """Return finite weights, the largest 1; all equal where none is positive.

    `name` is one of BY_ERROR, `error` has the shape (n_members,) or (n_members, n_columns).

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.decision.weights import vote_weights
    >>> error = np.array([0.1, 0.25, 0.5])
    >>> vote_weights("log_odds", error).round(2)
    array([1. , 0.5, 0. ])
    >>> vote_weights("squared_odds", error).round(2)
    array([1.  , 0.11, 0.01])
    """
    of_errors = VOTE_WEIGHTS[name].of_errors
    assert of_errors is not None
    weight = of_errors(np.clip(error, LEAST_ERROR, 1.0 - LEAST_ERROR))
    largest = weight.max(axis=0)
    # 1 - (1 - LEAST_ERROR) is no more than rounding: members that are always wrong have no weight.
    return np.where(largest > 2 * LEAST_ERROR, weight / np.where(largest > 0, largest, 1.0), 1.0)
