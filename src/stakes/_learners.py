"""What makes the members of all ensembles: trees of the engine, or any classifier, fitted to samples of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._fitting import fit_model
from stakes._random import seeded
from stakes._rows import append_rows, take_columns
from stakes._typing import Floats, Int32s
from stakes.records import Records
from stakes.sampling.base import Sample
from stakes.sampling.rows import drawn_rows
from stakes.tree.growing import Memory
from stakes.tree.nodes import FeatureBins, Nodes
from stakes.tree.recipe import TreeRecipe

__all__ = ["ModelLearner", "TreeLearner", "Weigh"]

Weigh = Callable[[Records, NDArray[np.integer] | None], Floats | None]
"""From the records of a sample, synthetic ones last, and how often each occurs, to their weights; None for none.

Without such a function, sample weights are all that counts."""


@dataclass
class TreeLearner:
    """Grows trees of the engine from binned records; `bin_new` bins synthetic ones."""

    records: Records
    recipe: TreeRecipe
    feature_bins: FeatureBins
    bin_new: Callable[[Any], Any]
    spare: list[Memory] = field(default_factory=list)

    def fit(
        self,
        sample: Sample | None,
        weigh: Weigh | None,
        rng: np.random.Generator,
        *,
        features: Int32s | None = None,
        validation: Records | None = None,
    ) -> Nodes:
        """Return a tree grown on a sample; on all records if that is None.

        `features` are those that the tree may use, all by default, and `validation` the records to prune on.
        """
        records, times = _expanded(self.records, sample, self.bin_new)
        if features is None:
            features = np.arange(self.feature_bins.n_bins.size, dtype=np.int32)
        return self.recipe.grow(
            records,
            self.feature_bins,
            features=features,
            multiplicity=times,
            cost_weight=None if weigh is None else weigh(records, times),
            seed=int(rng.integers(2**31)),
            validation=validation,
            spare=self.spare,
        )


@dataclass
class ModelLearner:
    """Fits clones of any classifier to records with features as given by the user.

    `labels` are those of negatives and positives. With `pass_costs`, members that take costs in `fit` get those of
    their samples; otherwise they know of none.
    """

    records: Records
    estimator: Any
    labels: NDArray[Any]
    pass_costs: bool = False

    def fit(
        self,
        sample: Sample | None,
        weigh: Weigh | None,
        rng: np.random.Generator,
        *,
        features: Int32s | None = None,
    ) -> Any:
        """Return a model fitted to a sample, each record as often as it was drawn; to all records if that is None.

        `features` are those that it is shown, all by default.
        """
        records, times = _expanded(self.records, sample)
        weight = records.weight if weigh is None else weigh(records, times)
        if times is not None:
            rows = drawn_rows(times, records.X.shape[1])
            records, weight = records.take(rows), None if weight is None else weight[rows]
        X = records.X if features is None else take_columns(records.X, features)
        records = replace(records, X=X, weight=weight)
        return fit_model(seeded(self.estimator, rng), records, self.labels, pass_costs=self.pass_costs)


def _expanded(
    records: Records, sample: Sample | None, read: Callable[[Any], Any] = lambda X: X
) -> tuple[Records, NDArray[np.int64] | None]:
    """Return the records with the synthetic ones of a sample behind them, and how often each occurs in it."""
    if sample is None:
        return records, None
    if sample.y_new is None or not sample.n_new:
        return records, sample.counts
    X = append_rows(records.X, read(sample.X_new))
    times = np.concatenate([sample.counts, np.ones(sample.n_new, sample.counts.dtype)])
    return records.with_synthetic(X, sample.y_new == 1), times
