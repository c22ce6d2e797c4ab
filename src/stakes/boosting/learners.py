"""What makes the members of boosting: a learner of ensembles, on all records or on samples of them (FRAMEWORK 7.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from stakes._learners import ModelLearner, TreeLearner, Weigh
from stakes._members import LeafAssignment, ModelMembers, TreeMembers
from stakes._typing import Bools, Floats
from stakes.boosting.loop import shares
from stakes.boosting.rules import total
from stakes.records import Records
from stakes.sampling.base import Sample
from stakes.sampling.draws import Draws
from stakes.tree.nodes import MISSING, Nodes
from stakes.tree.stumps import Stumps
from stakes.tree.trees import Trees

__all__ = ["BoostedModels", "BoostedTrees", "apart"]


@dataclass
class BoostedTrees:
    """Grow trees of the engine on weighted records: all of them, or samples that `draws` draws.

    `validation` are the records to prune on, None for the training records; `each` is `map`, or that of a pool of
    threads.
    """

    learner: TreeLearner
    draws: Draws | None
    rng: np.random.Generator
    validation: Records | None
    n_threads: int
    each: Callable[..., Any]
    bought: Bools | None = field(default=None, init=False)  # which items records pay for in the members so far

    def __post_init__(self) -> None:
        # Without sample weights, which the weights to fit on contain.
        self.learner = replace(self.learner, records=replace(self.learner.records, weight=None))
        self.feature_costs = self.learner.recipe.feature_costs

    @cached_property
    def _stumps(self) -> Stumps | None:
        """What grows trees faster that are as simple as can be; None for others."""
        recipe, records, feature_bins = self.learner.recipe, self.learner.records, self.learner.feature_bins
        d = feature_bins.n_bins.size
        if not (
            recipe.max_depth == 1
            and recipe.as_grown
            and not recipe.monotone
            and not recipe.min_weight_fraction_leaf
            and recipe.splitter == "best"
            and not recipe.feature_costs
            and recipe.criterion != "gain_ratio"
            and recipe.n_features(d) == d
            and self.draws is None
        ):
            return None
        settings = recipe.settings(len(records), d, feature_bins)
        return Stumps(records.X, records.positive.view(np.uint8), feature_bins, settings, self.each)

    def fit(self, log_weight: Floats, weight: Floats) -> tuple[TreeMembers, LeafAssignment]:
        """Return a tree grown on records of these weights, and the leaves of all of them in it."""
        records = self.learner.records
        if self._stumps is not None:
            by_cost = self.learner.recipe.criterion == "cost"
            nodes, leaf = self._stumps.grow(weight * records.cost if by_cost else weight)
            members = self._members([nodes])
            return members, LeafAssignment(leaf[:, None], members.leaves)
        sample, weigh = None, _given(weight)
        if self.draws is not None:
            sample = self.draws.draw(self.rng)
            weigh = _given(sampled_weights(sample, records, log_weight))
        validation = records if self.validation is None else self.validation
        nodes = self.learner.fit(sample, weigh, self.rng, validation=validation)
        members = self._members([nodes])
        return members, members.assign(records.X, self.n_threads)

    def keep(self, member: TreeMembers) -> None:
        """Lower prices for the members to come, by the share of records that have paid them."""
        if not self.feature_costs:
            return
        bins, n_features = self.learner.records.X, len(self.feature_costs.features)
        used = member.features_used(bins, n_features, self.n_threads) & (bins[:, :n_features] != MISSING)
        bought = self.feature_costs.bought(used)
        self.bought = bought if self.bought is None else self.bought | bought
        owing = dict(zip(self.feature_costs.items, 1.0 - self.bought.mean(axis=0), strict=True))
        recipe = replace(self.learner.recipe, feature_costs=self.feature_costs.scaled(owing))
        self.learner = replace(self.learner, recipe=recipe)

    def join(self, members: Sequence[TreeMembers]) -> TreeMembers:
        """Return one ensemble of the members."""
        return self._members([member.trees.nodes for member in members])

    def _members(self, nodes: Sequence[Nodes]) -> TreeMembers:
        grown_by = "weights" if self.learner.recipe.max_depth == 1 else ""
        return TreeMembers(Trees.join(nodes), weighted=True, grown_by=grown_by)


@dataclass
class BoostedModels:
    """Fit clones of any classifier that takes sample weights to weighted records, or to samples that `draws` draws."""

    learner: ModelLearner
    draws: Draws | None
    rng: np.random.Generator

    def fit(self, log_weight: Floats, weight: Floats) -> tuple[ModelMembers, LeafAssignment]:
        """Return a model fitted to records of these weights, and its answers to all of them."""
        records, sample = self.learner.records, None
        size = len(records) if records.weight is None else records.weight.sum()
        if self.draws is not None:
            sample = self.draws.draw(self.rng)
            weight = sampled_weights(sample, records, log_weight)
            size = sample.counts.sum() + sample.n_new
        # The weights sum to the number of records: a model that weighs them against a penalty must see as many.
        model = self.learner.fit(sample, _given(weight * size), self.rng)
        members = ModelMembers([model], self.learner.labels[1])
        return members, members.assign(records.X)

    def keep(self, member: ModelMembers) -> None:
        """Register a member that was accepted: the next one does not depend on it."""

    def join(self, members: Sequence[ModelMembers]) -> ModelMembers:
        """Return one ensemble of the members."""
        return ModelMembers([member.models[0] for member in members], self.learner.labels[1])


def apart(members: TreeMembers | ModelMembers) -> list[TreeMembers] | list[ModelMembers]:
    """Return the members of an ensemble one by one, as they were before they were joined."""
    if isinstance(members, TreeMembers):
        return [members.take([number]) for number in range(len(members))]
    return [ModelMembers([model], members.positive) for model in members.models]


def sampled_weights(sample: Sample, records: Records, log_weight: Floats) -> Floats:
    """Return the weights in a sample of one copy of each record, and of each synthetic one; the sample's sum to 1."""
    if not sample.n_new:
        weight, _ = shares(np.where(sample.counts > 0, log_weight, -np.inf))
        return weight / (total(weight, sample.counts) or 1.0)
    weight, _ = shares(log_weight)
    # A synthetic record takes the mean weight of its class.
    of_class = np.array([weight[~records.positive].mean(), weight[records.positive].mean()])
    new = of_class[sample.y_new]
    return np.append(weight, new) / (total(weight, sample.counts) + new.sum() or 1.0)


def _given(weight: Floats) -> Weigh:
    return lambda records, times: weight
