"""Trained members, and what decisions read off them: the leaf of each record in each member, and a table of leaves.

Members are made once, in training; decisions are read off them any number of times. For members that are not trees,
each answer to a record is an entry of the table by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._fitting import costs_acted
from stakes._forks import one_thread_if_forked
from stakes._rows import take_columns
from stakes._typing import Bools, Bytes, Floats
from stakes.exceptions import DecisionError
from stakes.sampling.prior import prior_correction
from stakes.tree.leaves import AUTO, CHEAPEST, SMOOTHED, TRIED, leaf_labels, leaf_probabilities, node_weights
from stakes.tree.trees import Trees

__all__ = ["NO_METADATA", "LeafAssignment", "LeafTable", "ModelMembers", "Prior", "TreeMembers", "features_used"]


NO_METADATA: Mapping[str, Any] = {}

# Probabilities of other packages may be beyond 0 and 1 by this much.
ROUNDING = 1e-6


class Prior(NamedTuple):
    """The share of positives in the sample of each member, and in the training records."""

    sampled: Floats
    original: float

    def correct_mean(self, average: Floats) -> Floats:
        """Return a mean of probabilities over members, corrected for sampling.

        The mean is corrected, and not its terms: the 0 and 1 of pure leaves cannot be corrected.
        """
        return prior_correction(average, sampled=float(self.sampled.mean()), original=self.original)


@dataclass(eq=False)
class LeafTable:
    """The leaves of all members: labels, weights, and probabilities, which are computed on demand and kept."""

    member: NDArray[np.intp]  # that each leaf belongs to
    label: NDArray[np.bool_]  # whether its own label is positive
    compute: Callable[[str], Floats]  # from the name of a leaf probability to P+ of each leaf
    weights: Floats | None = None  # (n_leaves, 2): of the negatives and positives in each leaf
    mean_weight: Floats | None = None  # of its records, in ensembles weighted by costs
    prior: Prior | None = None  # how sampling has shifted the share of positives, if that is to be corrected
    _known: dict[str, Floats] = field(default_factory=dict, init=False)

    @property
    def n_members(self) -> int:
        """How many members the leaves belong to."""
        return int(self.member.max()) + 1

    def sampled_probability(self, leaf: str) -> Floats:
        """Return P+ of each leaf by one of the ways of FRAMEWORK 5.3, in the member's own sample."""
        if leaf not in self._known:
            self._known[leaf] = self.compute(leaf)
        return self._known[leaf]

    def probability(self, leaf: str) -> Floats:
        """Return P+ of each leaf, corrected for sampling where that was asked for: what members vote by."""
        p = self.sampled_probability(leaf)
        if self.prior is None:
            return p
        return prior_correction(p, sampled=self.prior.sampled[self.member], original=self.prior.original)

    def corrected_mean(self, average: Floats) -> Floats:
        """Return a mean of `sampled_probability` over members, corrected for sampling where that was asked for."""
        return average if self.prior is None else self.prior.correct_mean(average)


@dataclass(frozen=True)
class LeafAssignment:
    """The leaves that some records reach."""

    ids: NDArray[np.int32]  # (n_records, n_members)
    leaves: LeafTable  # that the ids number
    members: NDArray[np.intp] | None = None  # of which members, one for each column; None for all


@dataclass(eq=False)
class TreeMembers:
    """Members that are trees.

    Probabilities of `weighted` members go by weight, because the weights are costs (FRAMEWORK 6, weighted ensembles).
    `base_rate` is the share of positives to correct them to, after sampling has shifted it (FRAMEWORK 3); those of
    weighted members then go by the number of records, which weights do not shift. Where a class has grown in samples
    (`grown_by` "copies" or "neighbours"), the number of records in a leaf means less: there are `copies` of each
    negative and of each positive, or, with neighbours, `growth` records for each original one. In stumps of boosting
    it is by "weights". `cheapest_leaf` is the leaf probability by which votes by T_cs cost least, if it was chosen.
    """

    trees: Trees
    weighted: bool = False
    base_rate: float | None = None
    grown_by: str = ""
    growth: float = 1.0
    copies: tuple[float, float] = (1.0, 1.0)
    cheapest_leaf: str | None = None

    has_probabilities = True

    def __len__(self) -> int:
        return len(self.trees)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def leaves_to_try(self) -> tuple[str, ...]:
        """The leaf probabilities among which the cheapest is chosen, the usual one first."""
        return SMOOTHED[self.grown_by], *TRIED

    @cached_property
    def leaves(self) -> LeafTable:
        """The leaves of all trees."""
        return LeafTable(
            self.trees.tree_of_leaf,
            leaf_labels(self.trees),
            self._probability,
            self.trees.nodes.weights[self.trees.leaves],
            node_weights(self.trees) if self.weighted else None,
            self._prior(),
        )

    def _prior(self) -> Prior | None:
        if self.base_rate is None or self.weighted:
            return None
        counts = self.trees.nodes.counts[self.trees.roots]
        return Prior(counts[:, 1] / counts.sum(axis=1), self.base_rate)

    def take(self, numbers: Iterable[int]) -> TreeMembers:
        """Return some of the trees by themselves."""
        return replace(self, trees=Trees.join(map(self.trees.tree, numbers)))

    def check_leaf(self, leaf: str) -> None:
        """Raise an error if leaves have no probability of this name: trees have all of them."""

    def _probability(self, leaf: str) -> Floats:
        if leaf == CHEAPEST:
            leaf = self.cheapest_leaf or AUTO
        if leaf == AUTO:
            leaf = SMOOTHED[self.grown_by]
        weighted = self.weighted and self.base_rate is None
        return leaf_probabilities(self.trees, leaf, weighted=weighted, growth=self.growth, copies=self.copies)

    def assign(
        self,
        bins: Bytes,
        n_threads: int = 1,
        members: NDArray[np.intp] | None = None,
        metadata: Mapping[str, Any] = NO_METADATA,
    ) -> LeafAssignment:
        """Return the leaves of binned records in all trees, or in some; trees ask for no metadata."""
        return LeafAssignment(self.trees.apply(bins, n_threads, members), self.leaves, members)

    def features_used(
        self, bins: Bytes, n_features: int, n_threads: int = 1, members: NDArray[np.intp] | None = None
    ) -> Bools:
        """Return which features all trees, or some, ask of each record, of shape (n_records, n_features)."""
        return self.trees.features_used(self.trees.apply(bins, n_threads, members), n_features)


@dataclass(eq=False)
class ModelMembers:
    """Members of any kind that scikit-learn would call a classifier; `positive` is the label of the positive class.

    `columns` are the features that each model was trained on, None if all were on all. Probabilities are corrected to
    the share of positives `base_rate`, where that is given, from the `sampled_rates` of the models' samples.
    """

    models: list[Any]
    positive: Any
    columns: Sequence[NDArray[np.integer]] | None = None
    base_rate: float | None = None
    sampled_rates: Floats | None = None

    def __len__(self) -> int:
        return len(self.models)

    @property
    def has_probabilities(self) -> bool:
        """Whether all models have probabilities; those without have labels only."""
        return all(hasattr(model, "predict_proba") for model in self.models)

    @property
    def costs_acted(self) -> bool:
        """Whether costs acted in the training of one of the models."""
        return any(map(costs_acted, self.models))

    @property
    def prior(self) -> Prior | None:
        """How sampling has shifted the share of positives, if that is to be corrected."""
        if self.base_rate is None or self.sampled_rates is None:
            return None
        return Prior(self.sampled_rates, self.base_rate)

    def check_leaf(self, leaf: str) -> None:
        """Raise an error if answers have no probability of this name."""
        if leaf not in ("frequency", AUTO, CHEAPEST):
            raise DecisionError(f"leaf={leaf!r} is about trees, and the members are not: choose leaf='frequency'")

    def assign(
        self,
        X: Any,
        n_threads: int = 1,
        members: NDArray[np.intp] | None = None,
        metadata: Mapping[str, Any] = NO_METADATA,
    ) -> LeafAssignment:
        """Return the answers of all or some models to records, each an entry of the table by itself.

        `metadata` is what the models ask for.
        """
        one_thread_if_forked()
        asked = np.arange(len(self)) if members is None else members
        p = np.column_stack([self._answer(j, X, metadata) for j in asked])
        n, m = p.shape
        flat = p.ravel()
        member = np.tile(asked, n)

        def probability(leaf: str) -> Floats:
            self.check_leaf(leaf)
            return flat

        ids = np.arange(n * m, dtype=np.int32).reshape(n, m)
        return LeafAssignment(ids, LeafTable(member, flat > 0.5, probability, prior=self.prior), members)

    def features_used(
        self, X: Any, n_features: int, n_threads: int = 1, members: NDArray[np.intp] | None = None
    ) -> Bools:
        """Return which features all models, or some, ask of each record, of shape (n_records, n_features)."""
        used = np.zeros((X.shape[0], n_features), np.bool_)
        for j in range(len(self)) if members is None else members:
            columns = np.arange(n_features) if self.columns is None else self.columns[j]
            mine = X if self.columns is None else take_columns(X, columns)
            used[:, columns] |= features_used(self.models[j], mine)
        return used

    def _answer(self, j: int, X: Any, metadata: Mapping[str, Any]) -> Floats:
        model = self.models[j]
        mine = X if self.columns is None else take_columns(X, self.columns[j])
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(mine, **metadata)[:, list(model.classes_).index(self.positive)]
            shares = np.asarray(shares, dtype=np.float64)
            wrong = ~((shares >= -ROUNDING) & (shares <= 1 + ROUNDING))
            if wrong.any():
                raise ValueError(
                    f"predict_proba of {type(model).__name__} returned {shares[wrong][0]:g}: give a classifier whose "
                    "probabilities lie between 0 and 1, or calibrate it first"
                )
            return shares
        # A model without probabilities can still vote.
        return (model.predict(mine, **metadata) == self.positive).astype(np.float64)


def features_used(model: Any, X: Any) -> Bools:
    """Return which features a model asks of each record, of shape (n_records, n_features).

    Models without a method `features_used` count as using every feature; LightGBM, those that it splits on.
    """
    if hasattr(model, "features_used"):
        return np.asarray(model.features_used(X))
    inner = getattr(model, "estimator_", model)
    used = np.ones(X.shape[1], np.bool_)
    if hasattr(inner, "booster_"):
        used = inner.booster_.feature_importance("split") > 0
    return np.tile(used, (X.shape[0], 1))
