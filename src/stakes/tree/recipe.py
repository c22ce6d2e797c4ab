"""How a tree is made, from a sample to a pruned tree: what single trees and all ensembles of trees have in common."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2, sqrt
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._typing import Floats, Int8s
from stakes.feature_costs import FeatureCosts, Prices
from stakes.records import Records
from stakes.tree.criteria import CRITERIA
from stakes.tree.growing import Memory, Settings, grow
from stakes.tree.nodes import FeatureBins, Nodes
from stakes.tree.prices import NO_TRADE, TRADE_OFFS, Trade
from stakes.tree.pruning import limit_leaves, node_sums, paid_on_arrival, prune, trim, trim_impurity, trim_small_gains
from stakes.tree.trees import Trees

__all__ = ["TreeRecipe"]

UNLIMITED = 2**31 - 1
NO_WEIGHTS: Floats = np.empty(0)


@dataclass(frozen=True)
class TreeRecipe:
    """The parameters of a tree; `CostTreeClassifier` explains and checks them."""

    criterion: str = "gini"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    max_features: int | float | str | None = None
    cp: float = 0.0
    pruning: str | None = None
    pruning_measure: str = "error"
    break_ties: bool = True
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    monotone: tuple[int, ...] = ()  # 1 or -1 where the share of positives must not fall or rise with a feature
    min_weight_fraction_leaf: float = 0.0
    splitter: str = "best"
    feature_costs: FeatureCosts | None = None
    trade_off: str = "eg2"
    price_exponent: float = 1.0
    price_bias: Any = 1.0  # what prices are multiplied by while the tree grows

    @property
    def as_grown(self) -> bool:
        """Whether nothing is cut back."""
        return self.pruning is None and not any(
            (self.cp, self.max_leaf_nodes, self.min_impurity_decrease, self.ccp_alpha)
        )

    @property
    def uses_costs(self) -> bool:
        """Whether costs act while the tree is made."""
        return self.criterion == "cost" or self.prunes_by_cost

    @property
    def prunes_by_cost(self) -> bool:
        """Whether leaves are those that cost least."""
        return self.pruning is not None and self.pruning_measure == "cost"

    def _min_sizes(self, n: int) -> tuple[int, int]:
        """Return how many of `n` records a node must have to be split, and how many a leaf."""
        split, leaf = (
            int(asked) if isinstance(asked, Integral) else ceil(asked * n)
            for asked in (self.min_samples_split, self.min_samples_leaf)
        )
        return max(2, split), max(1, leaf)

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

    def settings(self, n: int, available: int, feature_bins: FeatureBins, seed: int = 0) -> Settings:
        """Return how a tree on `n` records and so many features is grown, where no feature has a price."""
        return Settings(
            CRITERIA[self.criterion],
            UNLIMITED if self.max_depth is None else self.max_depth,
            *self._min_sizes(n),
            self.n_features(available),
            self.break_ties,
            seed,
            self._signs(feature_bins),
            float(self.min_weight_fraction_leaf),
            self.splitter == "random",
        )

    def grow(
        self,
        records: Records,
        feature_bins: FeatureBins,
        *,
        features: NDArray[np.int32],
        seed: int,
        multiplicity: NDArray[np.integer] | None = None,
        cost_weight: Floats | None = None,
        validation: Records | None = None,
        spare: list[Memory] | None = None,
    ) -> Nodes:
        """Grow a tree on binned records by some of the features, and prune it on `validation` where asked to.

        `multiplicity` is how often each record is in the sample, once by default; `cost_weight` has the weights of
        FRAMEWORK 4, by which the nodes' ``weights`` count, but not their ``counts``. `spare` is as for `grow`.
        """
        bins, positive = records.X, records.positive.view(np.uint8)
        times = np.ones(len(records), np.int32) if multiplicity is None else multiplicity.astype(np.int32)
        sample_weight = records.weight
        if sample_weight is not None:
            times = np.where(sample_weight > 0, times, 0).astype(np.int32)  # zero-weight records are in no leaf
            if _countable(times * sample_weight):
                # Whole weights are repetitions, and these need no weights at all.
                times, sample_weight = (times * sample_weight).astype(np.int32), None
        weight = _product(sample_weight, cost_weight, records.relative_cost if self.criterion == "cost" else None)
        trade = self._trade(records, times, _product(sample_weight, cost_weight))
        settings = self.settings(int(times.sum()), features.size, feature_bins, seed)._replace(trade=trade)
        grown = grow(bins, positive, times, weight, features, feature_bins, settings, self._prices(), spare)
        nodes = _compact(grown, weight)
        # What is pruned by cost is labelled by cost (FRAMEWORK 5.4), where no other weights do.
        by_count = self.criterion != "cost" and cost_weight is None
        relabels = by_count and self.prunes_by_cost
        amount = times if sample_weight is None else times * sample_weight
        if sample_weight is not None or relabels:
            leaf = Trees.join([nodes]).apply(bins)[:, 0]
            if sample_weight is not None:
                nodes = nodes._replace(counts=node_sums(nodes, leaf, positive, amount))
            if relabels:
                nodes = nodes._replace(weights=node_sums(nodes, leaf, positive, amount * records.relative_cost))
        nodes = self._pruned(nodes, validation, records, amount)
        # Money again: trees show what their nodes cost.
        unit = records.cost_unit
        if self.criterion == "cost":
            return nodes._replace(weights=nodes.weights * unit, gain=nodes.gain * unit)
        return nodes._replace(weights=nodes.weights * unit) if relabels else nodes

    def _signs(self, feature_bins: FeatureBins) -> Int8s:
        signs = np.array(self.monotone, dtype=np.int8)
        if signs.size and signs[feature_bins.categorical != 0].any():
            feature = int(np.flatnonzero((signs != 0) & (feature_bins.categorical != 0))[0])
            raise ValueError(f"monotonic_cst is about feature {feature}, which has categories: these are in no order")
        return signs

    def _prices(self) -> Prices | None:
        """Return the prices that the tree is grown by; None where nothing has a price."""
        return None if self.feature_costs is None else self.feature_costs.scaled(self.price_bias).prices

    def _trade(self, records: Records, times: NDArray[np.int32], weight: Floats) -> Trade:
        """Return how price is traded against gain; the weights of records count as their mean in each class."""
        if self.feature_costs is None:
            return NO_TRADE
        means = []
        for of_class in (~records.positive, records.positive):
            n = float(times[of_class].sum())
            total = float(weight[of_class] @ times[of_class]) if weight.size else n
            means.append(total / n / records.cost_unit if n else 0.0)
        return Trade(TRADE_OFFS[self.trade_off], float(self.price_exponent), *means)

    def _pruned(self, nodes: Nodes, validation: Records | None, records: Records, times: NDArray[Any]) -> Nodes:
        """Return the tree cut back; `times` is how often each of the records that it was grown on counts."""
        if self.min_impurity_decrease:
            nodes = trim_small_gains(nodes, self.min_impurity_decrease)
        if self.max_leaf_nodes is not None:
            nodes = limit_leaves(nodes, self.max_leaf_nodes)
        if self.ccp_alpha:
            nodes = trim_impurity(nodes, self.ccp_alpha)
        if self.cp:
            nodes = trim(nodes, self.cp)
        if self.pruning is None or validation is None:
            return nodes
        leaf = Trees.join([nodes]).apply(validation.X)[:, 0]
        amount = validation.relative_cost if self.pruning_measure == "cost" else np.ones(len(validation))
        if validation.weight is not None:
            amount = amount * validation.weight
        # Weights are costs where the tree was grown by them, which is not what errors count.
        train = nodes.counts if self.criterion == "cost" and self.pruning_measure == "error" else nodes.weights
        sums = node_sums(nodes, leaf, validation.positive.view(np.uint8), amount)
        prices = None if self.feature_costs is None else self.feature_costs.prices
        if prices is None or self.pruning_measure != "cost":
            return prune(nodes, self.pruning, sums, train)
        # Money for features counts as money for mistakes does, in the same unit.
        paid = paid_on_arrival(nodes, leaf, validation.X, validation.weights / validation.cost_unit, prices)
        unit = nodes.weights[0].sum() / (times @ records.cost or 1.0)
        own_leaf = Trees.join([nodes]).apply(records.X)[:, 0]
        paid_in_training = paid_on_arrival(nodes, own_leaf, records.X, times * unit, prices)
        return prune(nodes, self.pruning, sums, train, paid=paid, paid_in_training=paid_in_training)


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
