"""The bundle that every loader and simulator returns: records, classes, costs and how to split them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes.costs import Costs
from stakes.datasets.splits import Rows, Split, SplitPlan

__all__ = ["CostDataset", "CostEstimate", "Parts"]

# From features, amounts and training rows: the costs known afterwards, and those known when deciding.
CostEstimate = Callable[[pl.DataFrame, NDArray[np.float64], Rows], tuple[Costs, Costs]]


@dataclass(frozen=True, eq=False, repr=False)
class CostDataset:
    """Records with the money at stake in each of them.

    Attributes
    ----------
    name : str
        A short name.
    description : str
        What the records are, where they come from, what the costs mean.
    frame : polars.DataFrame
        The features. Categorical ones have type `polars.Enum`, so that every part of the data shares the same
        categories; missing values are nulls. ``frame.to_pandas()`` gives a pandas frame with categories.
    target : ndarray of shape (n_records,)
        The classes, 0 or 1.
    costs : Costs
        What mistakes cost, as known afterwards: for training, for choosing on a validation set, for evaluation.
    decision_costs : Costs
        What mistakes cost as far as it is known *when deciding*: pass these to ``predict``. They differ from
        `costs` where a cost is only revealed by the outcome, such as the amount of a donation, and are then an
        estimate for every record; otherwise they are the same object.
    amount : ndarray of shape (n_records,)
        The sum of money that the costs derive from, for measures such as profit or amount detected.
    plan : SplitPlan or None
        How the data are divided; None for a part.
    estimate : callable or None
        How unknown costs are estimated from training rows; None where all costs are known.

    Examples
    --------
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(1000, random_state=0)
    >>> data
    CostDataset(transactions: 1000 records, 7 features, 10 positive, Costs(fp=5, fn=<1000 records, ...>))
    >>> X, y, costs = data.frame, data.target, data.costs

    The rows of the three parts, or the parts themselves:

    >>> train, validation, test = data.split(repeat=0)
    >>> len(train), len(validation), len(test)
    (600, 200, 200)
    >>> data.parts(repeat=0).test
    CostDataset(transactions: 200 records, 7 features, 2 positive, Costs(fp=5, fn=<200 records, ...>))
    """

    name: str
    description: str
    frame: pl.DataFrame
    target: NDArray[np.int64]
    costs: Costs
    decision_costs: Costs
    amount: NDArray[np.float64]
    plan: SplitPlan | None = None
    estimate: CostEstimate | None = None

    def __post_init__(self) -> None:
        strange = np.setdiff1d(self.target, (0, 1))
        if strange.size:
            raise ValueError(f"target of {self.name} must be 0 or 1, found {strange.tolist()}")

    def __len__(self) -> int:
        return self.frame.height

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name}: {len(self)} records, {self.frame.width} features, "
            f"{int(self.target.sum())} positive, {self.costs})"
        )

    def split(self, repeat: int = 0, *, seed: int = 0) -> Split:
        """Return the row numbers of the training, validation and test sets.

        Parameters
        ----------
        repeat : int, default=0
            Which repetition: each draws other training and validation sets, the test set stays the same.
        seed : int, default=0
            Another seed gives another series of repetitions, and another test set where it is drawn at random.

        Returns
        -------
        Split
            A named tuple of `train`, `validation` and `test`.
        """
        if self.plan is None:
            raise ValueError(f"{self!r} has no split: it is a part of a dataset; split the whole")
        return self.plan.split(self.target, repeat=repeat, seed=seed)

    def parts(self, repeat: int = 0, *, seed: int = 0) -> Parts:
        """Return the training, validation and test sets, with unknown costs estimated from the training set.

        Parameters are those of `split`.
        """
        split = self.split(repeat, seed=seed)
        whole = self.estimated_from(split.train)
        return Parts(*(whole.take(rows) for rows in split))

    def take(self, rows: Any) -> CostDataset:
        """Return some of the records as a dataset: by row numbers or by a mask."""
        rows = np.arange(len(self))[rows]
        costs = self.costs[rows]
        return replace(
            self,
            frame=self.frame[rows],
            target=self.target[rows],
            costs=costs,
            decision_costs=costs if self.decision_costs is self.costs else self.decision_costs[rows],
            amount=self.amount[rows],
            plan=None,
            estimate=None,
        )

    def estimated_from(self, train: Rows) -> CostDataset:
        """Return the same data with unknown costs estimated from the rows `train` and no others.

        Where all costs are known, this is the dataset itself.
        """
        if self.estimate is None:
            return self
        costs, decision_costs = self.estimate(self.frame, self.amount, train)
        return replace(self, costs=costs, decision_costs=decision_costs)


class Parts(NamedTuple):
    """The three parts of a dataset, each a dataset.

    Examples
    --------
    >>> from stakes.datasets import make_churn
    >>> train, validation, test = make_churn(1000, random_state=0).parts(repeat=0)
    >>> len(train), len(validation), len(test)
    (600, 200, 200)
    >>> test.costs.n_records
    200
    """

    train: CostDataset
    validation: CostDataset
    test: CostDataset
