"""Reading the scores of many decisions off the members of one ensemble.

Any number of decisions are read together, because they share most of the work: one pass over records and members. What
happens to a score afterwards, calibration and threshold, is the matter of `stakes.decision.cuts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stakes._members import LeafAssignment, LeafTable, TreeMembers
from stakes._typing import Bools, Bytes, Floats
from stakes.costs import Costs
from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.decision import Decision
from stakes.decision.pruning import Ballots, pruned
from stakes.decision.readings import OWN, Readings, Source
from stakes.decision.tally import Ballot, leaf_losses, member_losses, tally
from stakes.decision.thresholds import best_cut
from stakes.decision.weights import BY_ERROR, CHOSEN, VOTE_WEIGHTS, vote_weights
from stakes.exceptions import CostsNeededError, DecisionError
from stakes.records import Records

__all__ = ["Reader", "Votes", "cost_share", "largest_votes"]


# Votes that depend on the costs of the record.
CAST_BY_COST = ("by_cost", "signed")


class Votes(NamedTuple):
    """How an ensemble votes when a decision does not say."""

    output: str = "average"
    averages: bool = True  # whether the mean of the members' probabilities is a probability
    voting: bool = True  # whether members vote: a single model, or a blend, gives one probability
    weight: Floats | None = None  # of each member (boosting: alpha); None for equal ones
    by_node: bool = False  # times the mean weight of the records in the leaf (weighted ensembles)
    cast: str = "plain"  # or "by_cost" (CSB), "signed" (UBoost), or "confidence" (AdaBoost.M2): see FRAMEWORK 7.2
    thresholds: dict[str, Floats] | None = None  # by leaf probability T_thr of each member, where training chose it


class Reader:
    """Reads the scores of some decisions off the members of one ensemble.

    `votes` says how the ensemble votes where a decision leaves it open, and `sources` lists the distinct scores to
    read. Chosen in `fit`: by leaf probability the cheapest threshold of each member (`member_thresholds_`), and by way
    of voting and leaf probability the error of each member, weighted by cost (`member_errors_`), and the weight of each
    where the ensemble is pruned (`member_weights_`).
    """

    def __init__(self, decisions: Sequence[Decision], votes: Votes | None = None) -> None:
        self.votes = votes = votes or Votes()
        for decision in decisions:
            _check_fits(decision, votes)
        self.sources = self._sources(decisions)
        self.with_total = self._sources(filter(_needs_total, decisions))
        self.member_thresholds_: dict[str, Floats] = dict(votes.thresholds or {})
        self.member_errors_: dict[tuple[str, str], Floats] = {}
        self.member_weights_: dict[tuple[str, str, str], Floats] = {}

    def _sources(self, decisions: Iterable[Decision]) -> list[Source]:
        return list(dict.fromkeys(Source.of(decision, self.votes.output) for decision in decisions))

    def reads(self, decisions: Sequence[Decision]) -> bool:
        """Return whether the scores of all these decisions are read."""
        with_total = self._sources(filter(_needs_total, decisions))
        return set(self._sources(decisions)) <= set(self.sources) and set(with_total) <= set(self.with_total)

    @property
    def needs_costs(self) -> bool:
        """Whether the scores depend on the costs of the records: members or votes go by them."""
        own_by_cost = self.votes.cast in CAST_BY_COST
        return any(source.member == "cost" or (own_by_cost and source.vote_weight == OWN) for source in self.sources)

    @property
    def needs_records(self) -> bool:
        """Whether something about the members must be chosen on validation records."""
        known = self.votes.thresholds or {}
        return any(s.vote_weight in CHOSEN or (s.member == "tuned" and s.leaf not in known) for s in self.sources)

    @property
    def leaves(self) -> set[str]:
        """The leaf probabilities that are read."""
        return {source.leaf for source in self.sources} - {""}

    @property
    def members(self) -> NDArray[np.intp] | None:
        """The members whose votes count, where an ensemble is pruned; None where all do."""
        return self._members_of(self.sources)

    def members_for(self, decision: Decision) -> NDArray[np.intp] | None:
        """Return the members whose votes count for one decision, where that prunes the ensemble; None where all do."""
        return self._members_of(self._sources([decision]))

    def _members_of(self, sources: Sequence[Source]) -> NDArray[np.intp] | None:
        weights = [self.member_weights_.get((s.vote_weight, s.member, s.leaf)) for s in sources]
        known = [weight for weight in weights if weight is not None]
        return np.flatnonzero(np.any(known, axis=0)) if len(known) == len(sources) else None

    def fit(self, assignment: LeafAssignment, records: Records, out_of_bag: Bools | None = None) -> Self:
        """Choose the thresholds of members, and find their errors, on records with known classes.

        Members vote by the known costs, and are charged by the real ones. `out_of_bag`, of shape (n_records,
        n_members), says which were not trained on a record, and so judge it; None if all judge all.
        """
        leaves, ids, loss = assignment.leaves, assignment.ids, records.loss
        counts = np.empty((0, 0), np.bool_) if out_of_bag is None else out_of_bag
        votes = [source for source in self.sources if source.output == "vote"]
        tuned = {source.leaf for source in votes if source.member == "tuned"} - set(self.votes.thresholds or {})
        if tuned:
            losses = leaf_losses(ids, counts, records.positive, loss, leaves.label.size)
            by_member = np.argsort(leaves.member, kind="stable")
            parts = np.split(by_member, np.cumsum(np.bincount(leaves.member))[:-1])
            for leaf in tuned:
                p = leaves.probability(leaf)
                self.member_thresholds_[leaf] = np.array(
                    [best_cut(p[part], losses[part, 1], losses[part, 0]) for part in parts]
                )
        if any(source.vote_weight in CHOSEN for source in votes):
            # Of all columns: `read` weighs each in every way that is asked for.
            columns = _fixed_first({(source.member, source.leaf) for source in votes})
            ballot = self._ballot(assignment, columns)
            threshold = _thresholds(records.known, len(records))
            wrong, judged = member_losses(ids, counts, records.positive, loss, threshold, *ballot[:3])
            for c, column in enumerate(columns):
                with np.errstate(invalid="ignore"):
                    self.member_errors_[column] = np.where(judged > 0, wrong[:, c] / judged, 0.5)
        for source in votes:
            order = VOTE_WEIGHTS[source.vote_weight].order if source.vote_weight in CHOSEN else None
            if order is not None:
                ballots = self._ballots(source, assignment, records, out_of_bag)
                key = (source.vote_weight, source.member, source.leaf)
                self.member_weights_[key] = pruned(ballots, order(ballots))
        return self

    def _ballots(
        self, source: Source, assignment: LeafAssignment, records: Records, out_of_bag: Bools | None
    ) -> Ballots:
        """Return the votes of all members on records, by which an ensemble is pruned."""
        leaves, threshold = assignment.leaves, _thresholds(records.known, len(records))
        votes = np.empty(assignment.ids.T.shape, np.int8)
        by_cost = source.member == "cost"
        answer = leaves.probability(source.leaf) if by_cost else self.fixed_votes(source.member, source.leaf, leaves)
        for m, leaf in enumerate(assignment.ids.T):
            votes[m] = np.where(answer[leaf] > threshold if by_cost else answer[leaf], 1, -1)
            if out_of_bag is not None:
                votes[m, ~out_of_bag[:, m]] = 0
        # Labels know nothing of costs: the share of such votes is compared with T_cs.
        half = np.full(len(records), 0.5)
        return Ballots(votes, records.positive, records.loss, threshold if source.member == "label" else half)

    def read(
        self, assignment: LeafAssignment, costs: Costs | None, *, out_of_bag: Bools | None = None, n_threads: int = 1
    ) -> Readings:
        """Return the scores of all sources.

        `costs` are those known when deciding; None is enough where no score needs them. Records that no member judges
        (`out_of_bag`, as in `fit`) get NaN.
        """
        if costs is None and self.needs_costs:
            raise CostsNeededError("this decision needs the costs of the records: pass fp_cost= and fn_cost=")
        leaves, threshold = assignment.leaves, _thresholds(costs, assignment.ids.shape[0])
        scores: dict[Source, Floats] = {}
        by_leaf = {"signed": _signed, "confidence": _confident}.get(self.votes.cast)
        if by_leaf is not None:
            assert out_of_bag is None  # all members of boosting judge all records
            for source in self.sources:
                if source.vote_weight == OWN:
                    scores[source] = by_leaf(assignment, self._counted_weights(source, assignment), threshold)
        for by_node in (False, True):
            counted = [source for source in self.sources if source not in scores and self.by_node(source) == by_node]
            if not counted:
                continue
            averages = [source for source in counted if source.output == "average"]
            votes = [source for source in counted if source.output == "vote"]
            columns = _fixed_first({(source.member, source.leaf) for source in votes})
            weights = sorted({source.vote_weight for source in votes})
            probabilities = [leaves.sampled_probability(source.leaf) for source in averages]
            ballot = self._ballot(assignment, columns, weights, probabilities, leaves.mean_weight if by_node else None)
            average, share = tally(assignment.ids, ballot, threshold, out_of_bag, n_threads)
            for k, source in enumerate(averages):
                scores[source] = leaves.corrected_mean(np.ascontiguousarray(average[:, k]))
            for source in votes:
                c, w = columns.index((source.member, source.leaf)), weights.index(source.vote_weight)
                scores[source] = np.ascontiguousarray(share[:, c, w])
                if source.vote_weight == OWN and self.votes.cast == "by_cost":
                    assert costs is not None
                    scores[source] = cost_share(scores[source], costs)
        in_order = {source: scores[source] for source in self.sources}
        totals: dict[Source, Floats] = {}
        for source in self.with_total:
            weight = self._counted_weights(source, assignment)
            if source.vote_weight == OWN and self.votes.cast == "signed":
                weight = largest_votes(leaves, weight)
            totals[source] = np.full(threshold.size, sum(weight.tolist()))
        return Readings(in_order, totals, self.votes.output)

    def _counted_weights(self, source: Source, assignment: LeafAssignment) -> Floats:
        """Return the weight of the vote of each member that the records are assigned by: all, the first, or some."""
        weight = self.member_weights(source, assignment.leaves.n_members)
        return weight[: assignment.ids.shape[1]] if assignment.members is None else weight[assignment.members]

    def read_mean(self, members: TreeMembers, bins: Bytes, n_threads: int = 1) -> Readings | None:
        """Return the scores where they are one mean over the leaves of trees, which takes one pass; None if not."""
        if len(self.sources) != 1 or self.sources[0].output != "average":
            return None
        source, leaves = self.sources[0], members.leaves
        mean = members.trees.leaf_mean(bins, leaves.sampled_probability(source.leaf), n_threads, self.members)
        return Readings({source: leaves.corrected_mean(mean)}, {}, self.votes.output)

    def _ballot(
        self,
        assignment: LeafAssignment,
        columns: list[tuple[str, str]],
        weights: Sequence[str] = (),
        averaged: Sequence[Floats] = (),
        leaf_weight: Floats | None = None,
    ) -> Ballot:
        """Return what `tally` reads for these columns of votes, ways of weighing them, and probabilities to average."""
        leaves = assignment.leaves
        outcomes = [self.fixed_votes(member, leaf, leaves) for member, leaf in columns if member != "cost"]
        by_cost = [leaf for member, leaf in columns if member == "cost"]
        kinds = sorted(set(by_cost))
        weight = np.empty((assignment.ids.shape[1], len(columns), len(weights)))
        for c, (member, leaf) in enumerate(columns):
            for w, name in enumerate(weights):
                weight[:, c, w] = self._counted_weights(Source("vote", leaf, member, name), assignment)
        return Ballot(
            _columns([*averaged, *map(leaves.probability, kinds)], leaves.label.size, np.float64),
            _columns(outcomes, leaves.label.size, np.bool_),
            np.array([len(averaged) + kinds.index(leaf) for leaf in by_cost], dtype=np.int64),
            weight,
            np.empty(0) if leaf_weight is None else leaf_weight,
        )

    def fixed_votes(self, member: str, leaf: str, leaves: LeafTable) -> Bools:
        """Return whether each leaf votes for the positive class, where that does not depend on costs."""
        if member == "label":
            return leaves.label
        return leaves.probability(leaf) > self.member_thresholds_[leaf][leaves.member]

    def member_weights(self, source: Source, n_members: int) -> Floats:
        """Return the weight of each member's vote."""
        _, leaf, member, name = source
        if name == OWN:
            return np.ones(n_members) if self.votes.weight is None else self.votes.weight
        if name in BY_ERROR and name != "equal":
            return vote_weights(name, self.member_errors_[member, leaf])
        # `read` weighs every column in every way, also in those that no source asks for.
        return self.member_weights_.get((name, member, leaf), np.ones(n_members))

    def by_node(self, source: Source) -> bool:
        """Return whether votes are weighed by the mean weight of the records in the leaf."""
        return source.vote_weight == "node" or (source.vote_weight == OWN and self.votes.by_node)


def _needs_total(decision: Decision) -> bool:
    return decision.calibration is not None and CALIBRATIONS[decision.calibration].needs_total_weight


def _check_fits(decision: Decision, votes: Votes) -> None:
    """Raise an error if a decision does not fit the ensemble."""
    if (decision.output or votes.output) == "average" and not votes.averages:
        raise DecisionError(
            "output='average' needs members' probabilities, and boosting has votes only: choose output='vote', with a "
            "calibration ('logistic', 'platt', 'isotonic') for a probability; or threshold 'cost' or 'tuned' on votes"
        )
    if (decision.output or votes.output) == "vote" and not votes.voting:
        raise DecisionError(
            f"{decision!r} is about votes, of which a single model or a blend of models has none: choose calibration "
            "and threshold only"
        )
    if decision.vote_weight == "node" and not votes.by_node:
        raise DecisionError("vote_weight='node' is the mean weight in a leaf: only weighted ensembles have one")
    if decision.calibration == "logistic" and votes.weight is None:
        raise DecisionError("calibration='logistic' needs the alphas of boosting: choose 'logistic_bounded'")


def cost_share(share: Floats, costs: Costs) -> Floats:
    """Return the share of positive votes when each is multiplied by the cost of its being wrong (FRAMEWORK 8.3)."""
    # By T_cs instead of the costs themselves: only their ratio matters, and it never overflows.
    threshold = costs.threshold()
    positive, negative = share * (1.0 - threshold), (1.0 - share) * threshold
    total = positive + negative
    weighed = np.where(total == 0, 0.5, positive / np.where(total == 0, 1.0, total))
    # Above one half iff the share is above T_cs, which rounding must not change where the two are close.
    return np.where(share > threshold, np.maximum(weighed, np.nextafter(0.5, 1.0)), np.minimum(weighed, 0.5))


def _signed(assignment: LeafAssignment, alpha: Floats, threshold: Floats) -> Floats:
    """Return UBoost's score (FRAMEWORK 7.2).

    A vote is alpha (W+ C_FN - W- C_FP) by the weights in the leaf, the costs as shares of their sum, so that the unit
    of the costs does not matter. The score is 1/2 + sum / (2 x the largest absolute sum of votes that members can
    give): it keeps the order of the sums.
    """
    leaves = assignment.leaves
    assert leaves.weights is not None
    below, above = leaves.weights.T
    votes = np.zeros(threshold.size)
    for m, leaf in enumerate(assignment.ids.T):
        votes += alpha[m] * (above[leaf] * (1.0 - threshold) - below[leaf] * threshold)
    largest = sum(largest_votes(leaves, alpha).tolist())
    score = 0.5 + votes / (2 * largest if largest > 0 else 1.0)
    # Above one half iff the sum is positive, which rounding must not change.
    score = np.where(votes > 0, np.maximum(score, np.nextafter(0.5, 1.0)), np.minimum(score, 0.5))
    return np.clip(score, 0.0, 1.0)


def largest_votes(leaves: LeafTable, alpha: Floats) -> Floats:
    """Return the largest absolute vote that each of the first members can give, by the weights in its leaves."""
    assert leaves.weights is not None
    heaviest = np.zeros(leaves.n_members)
    np.maximum.at(heaviest, leaves.member, leaves.weights.max(axis=1))
    return alpha * heaviest[: alpha.size]


def _confident(assignment: LeafAssignment, alpha: Floats, threshold: Floats) -> Floats:
    """Return the score of AdaBoost.M2: the mean of the members' P+ with weights alpha."""
    p = assignment.leaves.probability("frequency")
    votes = np.zeros(threshold.size)
    for m, leaf in enumerate(assignment.ids.T):
        votes += alpha[m] * p[leaf]
    with np.errstate(invalid="ignore"):
        return np.clip(votes / sum(alpha.tolist()), 0.0, 1.0)


def _fixed_first(columns: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put columns of votes that go by the record's own threshold last, as `Ballot` has them."""
    return sorted(columns, key=lambda column: (column[0] == "cost", column))


def _columns(arrays: list[NDArray[Any]], n: int, dtype: type) -> NDArray[Any]:
    return np.column_stack(arrays) if arrays else np.empty((n, 0), dtype)


def _thresholds(costs: Costs | None, n: int) -> Floats:
    """Return T_cs of each record; halves where there are no costs, to be ignored."""
    threshold = 0.5 if costs is None else costs.threshold()
    return np.ascontiguousarray(np.broadcast_to(threshold, n), dtype=np.float64)
