"""Contributions to the score of a decision that is read off trees: exact, whatever the members do with their leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from stakes._members import LeafTable, TreeMembers
from stakes._typing import Bytes, Floats
from stakes.costs import Costs
from stakes.decision.cuts import Cut
from stakes.decision.reader import Reader, cost_share, largest_votes
from stakes.decision.readings import OWN, Source
from stakes.explain.contributions import Contributions
from stakes.tree.attribution import LeafValues, attribute, expected
from stakes.tree.trees import Trees

__all__ = ["tree_contributions"]


def tree_contributions(
    members: TreeMembers,
    reader: Reader,
    cut: Cut,
    bins: Bytes,
    costs: Costs | None,
    *,
    n_features: int,
    n_threads: int = 1,
) -> Contributions:
    """Return what each feature adds to the calibrated scores of binned records by the decision of a cut."""
    n = bins.shape[0]
    assignment = members.assign(bins, n_threads)
    readings = reader.read(assignment, costs, n_threads=n_threads)
    source = readings.source(cut.decision)
    threshold = np.broadcast_to(0.5 if costs is None else costs.threshold(), n)
    sums = _Sums(members.trees, bins, np.ascontiguousarray(threshold, np.float64), n_features, n_threads)
    found = _raw(reader, source, members.leaves, sums, costs)
    if cut.calibration is not None:
        found = found.through(partial(cut.calibration, total_weight=readings.total_weight.get(source)))
    return found._replace(score=cut.scores(readings))


@dataclass(frozen=True)
class _Sums:
    """Contributions to sums of leaf values over all trees, for some records with thresholds."""

    trees: Trees
    bins: Bytes
    threshold: Floats
    n_features: int
    n_threads: int

    def __call__(self, gain: Floats, probability: Floats | None = None) -> Contributions:
        """Return the contributions to the sum of gains, of leaves with a `probability` above the threshold if given."""
        values, threshold = LeafValues(gain, probability), self.threshold
        if probability is not None and (threshold == threshold[0]).all():
            values = LeafValues(np.where(probability > threshold[0], gain, 0.0))
        found = attribute(
            self.trees, self.bins, values, n_features=self.n_features, threshold=threshold, n_threads=self.n_threads
        )
        base = np.broadcast_to(expected(self.trees, values, threshold), threshold.shape)
        return Contributions(found, base, base + found.sum(axis=1))


def _raw(reader: Reader, source: Source, leaves: LeafTable, sums: _Sums, costs: Costs | None) -> Contributions:
    """Return the contributions to a score before calibration."""
    if source.output == "average":
        mean = sums(leaves.sampled_probability(source.leaf) / leaves.n_members)
        return mean if leaves.prior is None else mean.through(leaves.prior.correct_mean)
    by_member = reader.member_weights(source, leaves.n_members)
    weight = by_member[leaves.member]
    cast = reader.votes.cast if source.vote_weight == OWN else "plain"
    if cast == "signed":
        return _signed(leaves, by_member, sums)
    if cast == "confidence":
        return _share(sums(weight * leaves.probability("frequency")), sums(weight))
    if reader.by_node(source):
        assert leaves.mean_weight is not None
        weight = weight * leaves.mean_weight
    if source.member == "cost":
        positive = sums(weight, leaves.probability(source.leaf))
    else:
        positive = sums(np.where(reader.fixed_votes(source.member, source.leaf, leaves), weight, 0.0))
    share = _share(positive, sums(weight))
    if cast == "by_cost":
        assert costs is not None
        return share.through(partial(cost_share, costs=costs))
    return share


def _share(part: Contributions, whole: Contributions) -> Contributions:
    """Return the contributions to part / whole; the base is the ratio of their bases.

    Exactly so: part / whole - base = (part - base x whole) / whole, where the numerator is 0 if no feature is known.
    """
    counts = whole.score > 0  # votes without weight are split evenly
    size = np.where(counts, whole.score, 1.0)
    base = np.where(counts, part.base / np.where(counts, whole.base, 1.0), 0.5)
    values = np.where(counts[:, None], (part.values - base[:, None] * whole.values) / size[:, None], 0.0)
    return Contributions(values, base, np.where(counts, part.score / size, 0.5))


def _signed(leaves: LeafTable, alpha: Floats, sums: _Sums) -> Contributions:
    """Return the contributions to UBoost's score, which is linear in the record's threshold."""
    assert leaves.weights is not None
    below, above = leaves.weights.T
    weight = alpha[leaves.member]
    one, both = sums(weight * above), sums(weight * (above + below))
    threshold, largest = sums.threshold, float(largest_votes(leaves, alpha).sum())
    scale = 2 * largest if largest > 0 else 1.0
    return Contributions(
        (one.values - threshold[:, None] * both.values) / scale,
        0.5 + (one.base - threshold * both.base) / scale,
        0.5 + (one.score - threshold * both.score) / scale,
    )
