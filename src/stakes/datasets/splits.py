"""Divide records into training, validation and test sets, as the published experiments do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

__all__ = ["Split", "SplitPlan"]

Rows = NDArray[np.intp]


class Split(NamedTuple):
    """Row numbers of the three parts of a dataset, each in increasing order.

    Examples
    --------
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(1000, random_state=0)
    >>> split = data.split(repeat=0)
    >>> X_train, y_train = data.frame[split.train], data.target[split.train]
    """

    train: Rows
    validation: Rows
    test: Rows


@dataclass(frozen=True, eq=False)
class SplitPlan:
    """How a dataset is divided: one test set, and training and validation sets drawn anew in each repeat.

    Draws are stratified by class. Sizes are proportions: they are met exactly by the dataset they were
    published for, and scaled to one of another length.

    Parameters
    ----------
    train, validation : int
        Size of the training and of the validation set.
    test : int or ndarray of row numbers
        Size of a test set to draw, or the rows that make it up.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.datasets import SplitPlan
    >>> target = np.repeat([0, 1], [80, 20])
    >>> train, validation, test = SplitPlan(60, 20, 20).split(target, repeat=0, seed=0)
    >>> [int(target[rows].sum()) for rows in (train, validation, test)]
    [12, 4, 4]
    """

    train: int
    validation: int
    test: int | Rows

    def split(self, target: NDArray[np.integer], *, repeat: int, seed: int) -> Split:
        """Return the rows of repeat number `repeat`; the test set depends on `seed` alone."""
        rest, test = self._test(target, seed)
        share = self.train / (self.train + self.validation)
        train, validation = _stratified(rest, target, share, np.random.SeedSequence(seed, spawn_key=(repeat,)))
        return Split(train, validation, test)

    def _test(self, target: NDArray[np.integer], seed: int) -> tuple[Rows, Rows]:
        rows = np.arange(target.size)
        if isinstance(self.test, np.ndarray):
            return np.setdiff1d(rows, self.test), self.test
        learning = self.train + self.validation
        return _stratified(rows, target, learning / (learning + self.test), np.random.SeedSequence(seed))


def _stratified(
    rows: Rows, target: NDArray[np.integer], share: float, seed: np.random.SeedSequence
) -> tuple[Rows, Rows]:
    """Draw a share of the rows, stratified by class; return the drawn and the remaining ones, sorted."""
    drawn, remaining = train_test_split(
        rows, train_size=round(share * rows.size), stratify=target[rows], random_state=int(seed.generate_state(1)[0])
    )
    return np.sort(drawn), np.sort(remaining)
