"""Which models should decide together: weights chosen on what their mean probability's decisions by T_cs cost.

All functions are given calibrated probabilities of records that the models were not trained on, one column per model,
and return one weight per model. Weights sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._random import generator
from stakes._typing import Floats, Indices
from stakes.records import Records

__all__ = ["Stakes", "best_models", "greedy_team"]

# Costs that agree to this share of all that is at stake are equal: the model that comes first is taken.
EQUAL = 1e-12
# A bag of the greedy search looks at no more records than this: enough to tell teams apart, and fast.
MOST_RECORDS = 20_000


@dataclass(frozen=True)
class Stakes:
    """What deciding a record positive changes."""

    threshold: Floats  # T_cs of the costs known when deciding
    change: Floats  # what is paid more for positive than for negative: C_FP of a negative, minus C_FN of a positive

    @classmethod
    def of(cls, records: Records) -> Stakes:
        """Return the stakes of records: T_cs by the costs known when deciding, changes by the real ones."""
        change = np.where(records.positive, -records.loss, records.loss)
        # Relative to all that is at stake: neither the unit of money nor the number of records changes a choice.
        return cls(np.broadcast_to(records.known.threshold(), len(records)), change / (np.abs(change).sum() or 1.0))

    def take(self, rows: NDArray[Any]) -> Stakes:
        """Return the stakes of some records."""
        return Stakes(self.threshold[rows], self.change[rows])

    def paid(self, probabilities: Floats, total: float = 1.0) -> Floats:
        """Return what each column pays more than deciding all records negative; columns are `total` times as large."""
        return self.change @ (probabilities > total * self.threshold[:, None])


def best_models(probabilities: Floats, stakes: Stakes, *, size: int = 5) -> Floats:
    """Return equal weights of the models that are the cheapest by themselves, and zeros for the others.

    `probabilities`, of shape (n_records, n_models), are calibrated, and of records that the models were not trained on.
    A model that is the same as another counts once.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import Costs
    >>> from stakes.records import Records
    >>> from stakes.teams.selection import Stakes, best_models
    >>> positive = np.array([True, False, True, False])
    >>> p = np.array([[0.9, 0.6, 0.1], [0.2, 0.3, 0.9], [0.7, 0.2, 0.3], [0.1, 0.1, 0.2]])
    >>> best_models(p, Stakes.of(Records(None, positive, Costs(fp=1, fn=1))), size=2)
    array([0.5, 0.5, 0. ])
    """
    models = _distinct(probabilities)
    paid = stakes.paid(probabilities[:, models])
    weights = np.zeros(probabilities.shape[1])
    chosen = models[_cheapest_first(paid)[:size]]
    weights[chosen] = 1 / chosen.size
    return weights


def greedy_team(
    probabilities: Floats,
    stakes: Stakes,
    *,
    size: int = 5,
    start: int = 3,
    n_steps: int = 15,
    n_bags: int = 20,
    random_state: Any = 0,
) -> Floats:
    """Return the weights of a team chosen model by model, with replacement, by what its decisions cost.

    The search starts with the few models that are the cheapest by themselves and adds, step after step, the model that
    makes the decisions of the mean probability cheapest; it returns the cheapest team on its way (Caruana et al. 2004).
    It is done on several bags of the records, and their weights are averaged, because a single search fits the records
    too well (Caruana et al. 2006). A bag weights the records by the Bayesian bootstrap.

    At most `size` models have a weight: those with the largest ones. A search starts with `start` models and adds
    `n_steps`; `n_bags` of them are averaged. Probabilities are as in `best_models`.

    Examples
    --------
    Neither model alone finds both positives, their mean does:

    >>> import numpy as np
    >>> from stakes import Costs
    >>> from stakes.records import Records
    >>> from stakes.teams.selection import Stakes, greedy_team
    >>> positive = np.array([True, True, False, False])
    >>> p = np.array([[0.9, 0.3], [0.3, 0.9], [0.6, 0.1], [0.1, 0.6]])
    >>> greedy_team(p, Stakes.of(Records(None, positive, Costs(fp=1, fn=1))))
    array([0.5, 0.5])
    """
    rng = generator(random_state)
    models = _distinct(probabilities)
    # In the order of their costs, so that the order of the columns matters only where costs are equal.
    models = models[_cheapest_first(stakes.paid(probabilities[:, models]))]
    positive = probabilities[:, models] > stakes.threshold[:, None]
    # Where all models agree, so does every mean of them: those records tell no team from another.
    contested = np.flatnonzero(positive.any(axis=1) & ~positive.all(axis=1))
    columns = probabilities[np.ix_(contested, models)]
    stakes = stakes.take(contested)
    weights = np.zeros(probabilities.shape[1])
    for _ in range(n_bags):
        part, bag = columns, Stakes(stakes.threshold, stakes.change * rng.exponential(size=contested.size))
        if contested.size > MOST_RECORDS:
            rows = rng.choice(contested.size, MOST_RECORDS, replace=False)
            part, bag = columns[rows], bag.take(rows)
        weights[models] += _search(part, bag, start, n_steps)
    return _largest(weights / n_bags, models, size)


def _search(columns: Floats, stakes: Stakes, start: int, n_steps: int) -> Floats:
    """Return the weights of the cheapest team on the way of one greedy search."""
    paid = stakes.paid(columns)
    counts = np.zeros(columns.shape[1])
    counts[_cheapest_first(paid)[:start]] = 1
    total = columns @ counts
    best, least = counts.copy(), stakes.paid(total[:, None], counts.sum())[0]
    for _ in range(n_steps):
        paid = stakes.paid(total[:, None] + columns, counts.sum() + 1)
        added = _cheapest_first(paid)[0]
        counts[added] += 1
        total += columns[:, added]
        if paid[added] < least - EQUAL:
            best, least = counts.copy(), paid[added]
    return best / best.sum()


def _largest(weights: Floats, models: Indices, size: int) -> Floats:
    """Return the weights of at most `size` models, the first of `models` where they are equal, scaled to the sum 1."""
    kept = models[np.argsort(-weights[models], kind="stable")[:size]]
    chosen = np.zeros_like(weights)
    chosen[kept] = weights[kept] / weights[kept].sum()
    return chosen


def _distinct(probabilities: Floats) -> Indices:
    """Return the first of each set of equal columns, in their order."""
    first: dict[bytes, int] = {}
    for model, column in enumerate(probabilities.T):
        first.setdefault(column.tobytes(), model)
    return np.array(list(first.values()), dtype=np.intp)


def _cheapest_first(paid: Floats) -> Indices:
    """Return the order of costs, in which those that are equal but for rounding keep their places."""
    return np.argsort(np.round(paid / EQUAL), kind="stable")
