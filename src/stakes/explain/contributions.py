"""Contributions of features to a score, which add up to it, and what becomes of them where scores are transformed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from stakes._typing import Floats

__all__ = ["Contributions", "weighted_sum"]

# Scores that differ by less than this are not divided by their difference.
NEAR = 1e-6
# The slope of a transformation is measured over this distance.
STEP = 1e-3


class Contributions(NamedTuple):
    """What each feature adds to the score of each record: base + values.sum(axis=1) == score."""

    values: Floats  # (n_records, n_features)
    base: Floats  # (n_records,): the score where no feature is known
    score: Floats  # (n_records,)
    exact: bool = True  # whether the values are Shapley values without sampling error

    def through(self, transform: Callable[[Floats], Floats] | None) -> Contributions:
        """Return the contributions to a function of the score; those to the score itself if that is None.

        All contributions of a record are multiplied by the same factor, by which the distance between its score and its
        base changes. Signs and proportions stay where the function is increasing. Where score and base are the same,
        the factor is the slope of the function.

        Examples
        --------
        >>> import numpy as np
        >>> from stakes.explain.contributions import Contributions
        >>> raw = Contributions(np.array([[0.3, -0.1]]), np.array([0.4]), np.array([0.6]))
        >>> raw.through(np.sqrt).values.round(3)
        array([[ 0.213, -0.071]])
        """
        if transform is None:
            return self
        base, score = transform(self.base), transform(self.score)
        moved = self.score - self.base
        near = np.abs(moved) < NEAR
        slope = (transform(self.score + STEP) - transform(self.score - STEP)) / (2 * STEP)
        values = self.values * np.where(near, slope, (score - base) / np.where(near, 1.0, moved))[:, None]
        # What rounding, or the slope in place of the quotient, leaves over is shared out by size.
        left_over = score - base - values.sum(axis=1)
        size = np.abs(self.values).sum(axis=1)
        values += np.abs(self.values) * np.where(size > 0, left_over / np.where(size > 0, size, 1.0), 0.0)[:, None]
        return Contributions(values, base, score, self.exact)

    def flipped(self) -> Contributions:
        """Return the contributions to the score of the other class."""
        return Contributions(-self.values, 1.0 - self.base, 1.0 - self.score, self.exact)


def weighted_sum(parts: Iterable[Contributions], weights: Iterable[float]) -> Contributions:
    """Return the contributions to a weighted sum of scores."""
    weighed = [
        (weight * part.values, weight * part.base, weight * part.score, part.exact)
        for part, weight in zip(parts, weights, strict=True)
    ]
    values, base, score, exact = zip(*weighed, strict=True)
    return Contributions(np.sum(values, axis=0), np.sum(base, axis=0), np.sum(score, axis=0), all(exact))
