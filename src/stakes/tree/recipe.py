"""How a tree is made, from a sample to a pruned tree: what single trees and all ensembles of trees have in common."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._typing import Bytes
from stakes.tree.criteria import CRITERIA
from stakes.tree.growing import Settings, grow
from stakes.tree.nodes import FeatureBins, Nodes
from stakes.tree.pruning import PRUNINGS, node_sums, prune, trim
from stakes.tree.trees import Trees

__all__ = ["Plot", "TreeRecipe"]

Floats = NDArray[np.float64]

UNLIMITED = 2**31 - 1
NO_WEIGHTS: Floats = np.empty(0)


@dataclass(frozen=True)
class Plot:
    """Binned records for trees to grow on, or to be pruned on.

    Parameters
    ----------
    bins : ndarray of shape (n_records, n_columns)
    positive : ndarray of shape (n_records,), dtype=uint8
    cost : ndarray of shape (n_records,)
        The cost of misclassifying each record.
    weight : ndarray of shape (n_records,) or None, default=None
        Sample weights.
    """

    bins: Bytes
    positive: Bytes
    cost: Floats
    weight: Floats | None = None

    def take(self, rows: NDArray[np.intp]) -> Plot:
        """Return some of the records."""
        weight = None if self.weight is None else self.weight[rows]
        return Plot(self.bins[rows], self.positive[rows], self.cost[rows], weight)


@dataclass(frozen=True)
class TreeRecipe:
    """The parameters of a tree, checked; `CostTreeClassifier` explains them."""

    criterion: str = "gini"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    max_features: int | float | str | None = None
    cp: float = 0.0
    pruning: str | None = None
    pruning_measure: str = "error"
    break_ties: bool = True

    def __post_init__(self) -> None:
        _choice("criterion", self.criterion, tuple(CRITERIA))
        _choice("pruning", self.pruning, (None, *PRUNINGS))
        _choice("pruning_measure", self.pruning_measure, ("error", "cost"))
        _choice("break_ties", self.break_ties, (True, False))
        if not isinstance(self.cp, Real) or not 0 <= self.cp <= 1:
            raise ValueError(f"cp={self.cp!r} is not a share of the root's loss: give a number from 0 to 1")
        _at_least("max_depth", self.max_depth, 1, optional=True)
        _at_least("min_samples_split", self.min_samples_split, 2)
        _at_least("min_samples_leaf", self.min_samples_leaf, 1)
        if isinstance(self.max_features, str):
            _choice("max_features", self.max_features, ("sqrt", "log2"))
        elif isinstance(self.max_features, Real) and not isinstance(self.max_features, Integral):
            if not 0 < self.max_features <= 1:
                raise ValueError(f"max_features={self.max_features!r} is not a share of the features in (0, 1]")
        else:
            _at_least("max_features", self.max_features, 1, optional=True)

    @property
    def uses_costs(self) -> bool:
        """Whether costs act while the tree is made."""
        return self.criterion == "cost" or self.prunes_by_cost

    @property
    def prunes_by_cost(self) -> bool:
        """Whether leaves are those that cost least."""
        return self.pruning is not None and self.pruning_measure == "cost"

    def n_features(self, available: int) -> int:
        """Return how many of the available features a split looks at."""
        asked = self.max_features
        if asked is None:
            return available
        if asked == "sqrt":
            return max(1, int(sqrt(available)))
        if asked == "log2":
            return max(1, int(log2(available)))
        if isinstance(asked, Integral):
            return min(int(asked), available)
        assert not isinstance(asked, str)
        return max(1, int(asked * available))

    def grow(
        self,
        plot: Plot,
        space: FeatureBins,
        *,
        features: NDArray[np.int32],
        seed: int,
        multiplicity: NDArray[np.integer] | None = None,
        cost_weight: Floats | None = None,
        validation: Plot | None = None,
    ) -> Nodes:
        """Grow a tree, and prune it where asked to.

        Parameters
        ----------
        plot : Plot
            The training records.
        space : FeatureBins
            What their bins stand for.
        features : ndarray
            The features that the tree may use.
        seed : int
        multiplicity : ndarray of shape (n_records,), default=None
            How often each record is in the sample; once by default.
        cost_weight : ndarray of shape (n_records,), default=None
            Weights of FRAMEWORK 4, by which the nodes' ``weights`` count, but not their ``counts``.
        validation : Plot, default=None
            The records to prune on.
        """
        times = np.ones(plot.positive.size, np.int32) if multiplicity is None else multiplicity.astype(np.int32)
        sample_weight = plot.weight
        if sample_weight is not None:
            times = np.where(sample_weight > 0, times, 0).astype(np.int32)  # who does not count is in no leaf
            if _countable(times * sample_weight):
                # Whole weights are repetitions, and these need no weights at all.
                times, sample_weight = (times * sample_weight).astype(np.int32), None
        weight = _product(sample_weight, cost_weight, plot.cost if self.criterion == "cost" else None)
        settings = Settings(
            CRITERIA[self.criterion],
            UNLIMITED if self.max_depth is None else self.max_depth,
            self.min_samples_split,
            self.min_samples_leaf,
            self.n_features(features.size),
            self.break_ties,
            seed,
        )
        nodes = _compact(grow(plot.bins, plot.positive, times, weight, features, space, settings), weight)
        # What is pruned by cost is labelled by cost (FRAMEWORK 5.4), where no other weights do.
        by_count = self.criterion != "cost" and cost_weight is None
        relabels = by_count and self.prunes_by_cost
        if sample_weight is None and not relabels:
            return self._pruned(nodes, validation)
        leaf = Trees.join([nodes]).apply(plot.bins)[:, 0]
        amount = times.astype(np.float64) if sample_weight is None else times * sample_weight
        if sample_weight is not None:
            nodes = nodes._replace(counts=node_sums(nodes, leaf, plot.positive, amount))
        if relabels:
            nodes = nodes._replace(weights=node_sums(nodes, leaf, plot.positive, amount * plot.cost))
        return self._pruned(nodes, validation)

    def _pruned(self, nodes: Nodes, validation: Plot | None) -> Nodes:
        if self.cp:
            nodes = trim(nodes, self.cp)
        if self.pruning is None or validation is None:
            return nodes
        leaf = Trees.join([nodes]).apply(validation.bins)[:, 0]
        amount = validation.cost if self.pruning_measure == "cost" else np.ones(validation.positive.size)
        if validation.weight is not None:
            amount = amount * validation.weight
        # Weights are costs where the tree was grown by them, which is not what errors count.
        train = nodes.counts if self.criterion == "cost" and self.pruning_measure == "error" else nodes.weights
        return prune(nodes, self.pruning, node_sums(nodes, leaf, validation.positive, amount), train)


def _compact(nodes: Nodes, weight: Floats) -> Nodes:
    """Return the nodes with counts in half the bytes where they fit, and kept only once where they are the weights."""
    counts = nodes.counts.astype(np.int32) if nodes.counts[0].sum() <= UNLIMITED else nodes.counts
    return nodes._replace(counts=counts, weights=nodes.weights if weight.size else counts)


def _product(*factors: Floats | None) -> Floats:
    """Return the product of the factors that there are; nothing where there are none."""
    product = NO_WEIGHTS
    for factor in factors:
        if factor is not None:
            product = factor * product if product.size else np.ascontiguousarray(factor, dtype=np.float64)
    return product


def _countable(weight: Floats) -> bool:
    """Return whether weights are whole numbers whose sum fits into the engine's counts."""
    return bool((weight == np.rint(weight)).all()) and weight.sum() < UNLIMITED


def _choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not known: choose from {', '.join(map(repr, choices))}")


def _at_least(name: str, value: Any, least: int, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} is not valid: give a whole number of at least {least}")
