"""What makes the members of boosting: trees of the engine or any classifier, on all records or on samples of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from stakes._rows import append_rows, take_rows
from stakes.boosting.loop import shares
from stakes.boosting.rules import total
from stakes.cost_tree import plot_of
from stakes.costs import Costs
from stakes.members import LeafAssignment, ModelMembers, TreeMembers
from stakes.records import Records
from stakes.sampling.base import MemberSampler, Sample
from stakes.tree.criteria import CRITERIA
from stakes.tree.growing import Settings
from stakes.tree.nodes import FeatureBins
from stakes.tree.recipe import Plot, TreeRecipe
from stakes.tree.stumps import Stumps
from stakes.tree.trees import Trees

__all__ = ["Ground", "ModelLearner", "TreeLearner"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ground:
    """The training records, and the samples of them that members are fitted to (FRAMEWORK 7.3).

    Parameters
    ----------
    records : Records
        Their sample weights are part of the weights of boosting.
    X : array-like or data frame
        Their features as they came.
    sampler : MemberSampler or None
        None for members that are fitted to all records.
    costs : Costs
        The costs to sample by.
    rng : numpy.random.Generator
    """

    records: Records
    X: Any
    sampler: MemberSampler | None
    costs: Costs
    rng: np.random.Generator

    def draw(self, log_weight: Floats) -> tuple[Sample, Floats, Floats]:
        """Return a sample, and the weights in it of one copy of each original record and of each synthetic one."""
        assert self.sampler is not None
        positive = self.records.positive
        sample = self.sampler.draw(positive.astype(np.int64), self.costs, self.rng, self.X)
        if sample.y_new is None or not sample.y_new.size:
            weight, _ = shares(np.where(sample.counts > 0, log_weight, -np.inf))
            new = np.empty(0)
        else:
            weight, _ = shares(log_weight)
            # A synthetic record takes the mean weight of its class.
            new = np.array([weight[~positive].mean(), weight[positive].mean()])[sample.y_new]
        whole = total(weight, sample.counts) + new.sum() or 1.0
        return sample, weight / whole, new / whole

    def seed(self) -> int:
        """Draw a seed for a member."""
        return int(self.rng.integers(2**31))


class TreeLearner:
    """Grow trees of the engine.

    Parameters
    ----------
    ground : Ground
        Binned records.
    recipe : TreeRecipe
    space : FeatureBins
        What the bins stand for.
    bin_new : callable
        Bins synthetic records.
    validation : Records or None
        The records to prune on; None for the training records.
    n_threads : int
    each : callable
        `map`, or that of a pool of threads.
    """

    def __init__(
        self,
        ground: Ground,
        recipe: TreeRecipe,
        space: FeatureBins,
        bin_new: Callable[[Any], Any],
        validation: Records | None,
        n_threads: int,
        each: Callable[..., Any],
    ) -> None:
        self.ground = ground
        self.recipe = recipe
        self.space = space
        self.bin_new = bin_new
        self.n_threads = n_threads
        # Without sample weights, which the weights to fit on have in them.
        self.plot = replace(plot_of(ground.records), weight=None)
        self.validation = self.plot if validation is None else plot_of(validation)
        self.features = np.arange(space.n_bins.size, dtype=np.int32)
        self.stumps = self._stumps(each) if self._makes_stumps else None

    @property
    def _makes_stumps(self) -> bool:
        """Whether trees are as simple as they can be, and there is a faster way."""
        recipe, d = self.recipe, self.features.size
        looks_at_all = recipe.n_features(d) == d and self.ground.sampler is None
        as_grown = recipe.pruning is None and not recipe.cp
        return recipe.max_depth == 1 and as_grown and recipe.criterion != "gain_ratio" and looks_at_all

    def _stumps(self, each: Callable[..., Any]) -> Stumps:
        recipe = self.recipe
        settings = Settings(
            CRITERIA[recipe.criterion],
            1,
            recipe.min_samples_split,
            recipe.min_samples_leaf,
            self.features.size,
            recipe.break_ties,
            0,
        )
        return Stumps(self.plot.bins, self.plot.positive, self.space, settings, each)

    def fit(self, log_weight: Floats, weight: Floats) -> tuple[TreeMembers, LeafAssignment]:
        """Return a tree grown on records of these weights, and the leaves of all of them in it."""
        if self.stumps is not None:
            nodes, leaf = self.stumps.grow(weight * self.plot.cost if self.recipe.criterion == "cost" else weight)
            members = TreeMembers(Trees.join([nodes]), weighted=True)
            return members, LeafAssignment(leaf[:, None], members.leaves)
        plot, times = self.plot, None
        if self.ground.sampler is not None:
            sample, weight, new_weight = self.ground.draw(log_weight)
            times = sample.counts
            if new_weight.size:
                plot = self._with_new(sample)
                weight = np.concatenate([weight, new_weight])
                times = np.concatenate([times, np.ones(new_weight.size, times.dtype)])
        nodes = self.recipe.grow(
            plot,
            self.space,
            features=self.features,
            seed=self.ground.seed(),
            multiplicity=times,
            cost_weight=weight,
            validation=self.validation,
        )
        members = TreeMembers(Trees.join([nodes]), weighted=True)
        return members, members.assign(self.plot.bins, self.n_threads)

    def _with_new(self, sample: Sample) -> Plot:
        """Return the records with the synthetic ones of a sample behind them, which cost the mean of their class."""
        plot, y = self.plot, sample.y_new
        assert y is not None
        mean_cost = np.array([plot.cost[plot.positive == side].mean() for side in (0, 1)])
        return Plot(
            np.concatenate([plot.bins, self.bin_new(sample.X_new)]),
            np.concatenate([plot.positive, y.astype(np.uint8)]),
            np.concatenate([plot.cost, mean_cost[y]]),
        )

    def join(self, members: Sequence[TreeMembers]) -> TreeMembers:
        """Return one ensemble of the members."""
        return TreeMembers(Trees.join([member.trees.nodes for member in members]), weighted=True)


class ModelLearner:
    """Fit clones of any classifier that takes sample weights.

    Parameters
    ----------
    ground : Ground
        Records as they came.
    estimator : classifier
    labels : ndarray of shape (2,)
        The labels of negatives and positives.
    """

    def __init__(self, ground: Ground, estimator: Any, labels: NDArray[Any]) -> None:
        self.ground = ground
        self.estimator = estimator
        self.labels = labels

    def fit(self, log_weight: Floats, weight: Floats) -> tuple[ModelMembers, LeafAssignment]:
        """Return a model fitted to records of these weights, and the leaves of all of them in it."""
        records = self.ground.records
        X, y, size = self.ground.X, records.positive.astype(np.int64), float(len(records))
        if self.ground.sampler is None:
            size = size if records.weight is None else records.weight.sum()
        else:
            sample, weight, new_weight = self.ground.draw(log_weight)
            rows = np.flatnonzero(sample.counts)
            size = sample.counts.sum() + new_weight.size
            X, y, weight = take_rows(X, rows), y[rows], weight[rows] * sample.counts[rows]
            if new_weight.size:
                assert sample.y_new is not None
                X, y = append_rows(X, sample.X_new), np.concatenate([y, sample.y_new])
                weight = np.concatenate([weight, new_weight])
        model = clone(self.estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=self.ground.seed())
        # As many records as there are: a model that weighs them against a penalty is not to think there is only one.
        model.fit(X, self.labels[y], sample_weight=weight * size)
        members = ModelMembers([model], self.labels[1])
        return members, members.assign(self.ground.X)

    def join(self, members: Sequence[ModelMembers]) -> ModelMembers:
        """Return one ensemble of the members."""
        return ModelMembers([member.models[0] for member in members], self.labels[1])
