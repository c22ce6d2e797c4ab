"""Decisions made ready for one ensemble: what they choose on validation records, and what they decide on others.

Any number of decisions are made ready together, because they share most of the work: the members are read once for
all of them. One decision is the special case that the classifiers use; all of them at once is the study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes.costs import Costs
from stakes.decision.calibration import Calibration, fit_calibration
from stakes.decision.decision import Decision
from stakes.decision.tally import Ballot, leaf_losses, member_losses, tally
from stakes.decision.thresholds import best_cut
from stakes.decision.weights import VOTE_WEIGHTS, vote_weights
from stakes.exceptions import CostsNeededError, DecisionError
from stakes.members import Leaves, Said

__all__ = ["Evidence", "Rules", "Votes"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Evidence:
    """Records with known classes and costs, on which thresholds, errors and calibrations are chosen.

    Parameters
    ----------
    said : Said
        What the members say of the records.
    positive : ndarray of shape (n_records,)
        Whether each record is positive.
    costs : Costs
        What is known of their costs when they are to be decided on.
    counts : ndarray of shape (n_records, n_members) or None, default=None
        Whether a member counts for a record: out-of-bag, those that did not see it. None if all do.
    weight : ndarray of shape (n_records,) or None, default=None
        How often each record counts.
    real_costs : Costs or None, default=None
        What mistakes turn out to cost, where that is not what was known.
    """

    said: Said
    positive: Bools
    costs: Costs
    counts: Bools | None = None
    weight: Floats | None = None
    real_costs: Costs | None = None

    @property
    def measured(self) -> Costs:
        """The costs that mistakes are counted by."""
        return self.costs if self.real_costs is None else self.real_costs


class Votes(NamedTuple):
    """How an ensemble votes when a decision does not say."""

    output: str = "average"
    averages: bool = True  # whether the mean of the members' probabilities means anything
    weight: Floats | None = None  # of each member (boosting: alpha); None for equal ones
    by_node: bool = False  # times the mean weight of the records in the leaf (weighted ensembles)
    cast: str = "plain"  # or "by_cost" (CSB), or "signed" (UBoost): see FRAMEWORK 7.2

    @property
    def needs_costs(self) -> bool:
        """Whether votes depend on the costs of the record."""
        return self.cast != "plain"


# A score: ("average", leaf) or ("vote", member, leaf, vote_weight); votes by label do not depend on `leaf`.
Source = tuple[str, ...]
OWN = "own"

COSTS_NEEDED = "this decision needs the costs of the records: pass fp_cost= and fn_cost="


class Rules:
    """Some decisions, made ready for one ensemble.

    Parameters
    ----------
    decisions : sequence of Decision
    votes : Votes, default=None
        How the ensemble votes where a decision leaves it open.

    Attributes
    ----------
    decisions : list of Decision
        With `output` filled in.
    member_thresholds_ : dict of str to ndarray of shape (n_members,)
        By leaf probability: the cheapest threshold of each member on the evidence.
    thresholds_ : dict
        By source and calibration: the cheapest threshold on the evidence.
    """

    def __init__(self, decisions: Sequence[Decision], votes: Votes | None = None) -> None:
        self.votes = votes = votes or Votes()
        self.decisions = [_settled(decision, votes) for decision in decisions]
        self._sources = [self._source(decision) for decision in self.decisions]

    def _source(self, decision: Decision) -> Source:
        if decision.output == "average":
            return ("average", decision.leaf)
        leaf = "" if decision.member == "label" else decision.leaf
        return ("vote", decision.member, leaf, decision.vote_weight or OWN)

    @property
    def needs_costs(self) -> bool:
        """Whether the costs of the records to be decided on are needed."""
        return self.scores_need_costs or any(decision.needs_costs for decision in self.decisions)

    @property
    def scores_need_costs(self) -> bool:
        """Whether even the scores depend on the costs: members or votes go by them."""
        own_votes = any(source[0] == "vote" and source[3] == OWN for source in self._sources)
        by_cost = any(d.member == "cost" or d.threshold == "mec_vote" for d in self.decisions)
        return by_cost or (own_votes and self.votes.needs_costs)

    @property
    def leaves(self) -> set[str]:
        """The leaf probabilities that are read."""
        return {source[1] if source[0] == "average" else source[2] for source in self._sources} - {""}

    @property
    def needs_evidence(self) -> bool:
        """Whether something must be chosen on validation records."""
        return any(decision.needs_validation for decision in self.decisions)

    def fit(self, evidence: Evidence | None, *, max_fpr: float | None = None, max_share: float | None = None) -> Rules:
        """Choose on the evidence whatever the decisions leave to it.

        `max_fpr` and `max_share` restrict the tuned thresholds of the ensemble to a false positive rate, and to a
        share of positive outcomes.
        """
        self.member_thresholds_: dict[str, Floats] = {}
        self.member_errors_: dict[tuple[str, str], Floats] = {}
        self.calibrations_: dict[tuple[Source, str], Calibration] = {}
        self.thresholds_: dict[tuple[Source, str | None], float] = {}
        if evidence is None:
            if self.needs_evidence:
                raise DecisionError(
                    "this decision chooses something on validation records, and none were kept: fit with "
                    "validation= or X_val=, or choose a decision without tuned thresholds, platt, isotonic, and "
                    "vote weights by error"
                )
            for decision, source in zip(self.decisions, self._sources, strict=True):
                if decision.calibration is not None:
                    self.calibrations_[source, decision.calibration] = fit_calibration(decision.calibration)
            return self
        self._choose_members(evidence)
        self._choose_scores(evidence, max_fpr, max_share)
        return self

    def _choose_members(self, evidence: Evidence) -> None:
        """Choose the thresholds of members, and find their errors."""
        leaves = evidence.said.leaves
        loss = evidence.measured.of(evidence.positive)
        if evidence.weight is not None:
            loss = loss * evidence.weight
        counts = _or_none(evidence.counts)
        tuned = {s[2] for s in self._sources if s[0] == "vote" and s[1] == "tuned"}
        if tuned:
            losses = leaf_losses(evidence.said.ids, counts, evidence.positive, loss, leaves.label.size)
            by_member = np.argsort(leaves.member, kind="stable")
            parts = np.split(by_member, np.cumsum(np.bincount(leaves.member))[:-1])
            for leaf in tuned:
                p = leaves.probability(leaf)
                self.member_thresholds_[leaf] = np.array(
                    [best_cut(p[part], losses[part, 1], losses[part, 0]).threshold for part in parts]
                )
        votes = [source for source in self._sources if source[0] == "vote"]
        if any(source[3] in VOTE_WEIGHTS for source in votes):
            # Of all columns: `_read` weighs each in every way that is asked for.
            columns = sorted({(source[1], source[2]) for source in votes})
            ballot = self._ballot(leaves, columns, [], None)
            threshold = _thresholds(evidence.costs, len(loss))
            wrong, judged = member_losses(evidence.said.ids, counts, evidence.positive, loss, threshold, *ballot[:3])
            for c, column in enumerate(_fixed_first(columns)):
                with np.errstate(invalid="ignore"):
                    self.member_errors_[column] = np.where(judged > 0, wrong[:, c] / judged, 0.5)

    def _choose_scores(self, evidence: Evidence, max_fpr: float | None, max_share: float | None) -> None:
        """Fit the calibrations, and choose the thresholds of the ensemble."""
        scores = self._read(evidence.said, evidence.costs, evidence.counts)
        n = evidence.positive.size
        fp, fn = evidence.measured.arrays(n)
        weight = np.ones(n) if evidence.weight is None else evidence.weight
        for decision, source in zip(self.decisions, self._sources, strict=True):
            score, total = scores[source]
            # Out-of-bag, a record that every member has seen has no score.
            known = ~np.isnan(score)
            name = decision.calibration
            if name is not None:
                if (source, name) not in self.calibrations_:
                    self.calibrations_[source, name] = fit_calibration(
                        name, score[known], evidence.positive[known], sample_weight=weight[known]
                    )
                score = self.calibrations_[source, name](score, total)
            if decision.threshold == "tuned" and (source, name) not in self.thresholds_:
                w, positive = weight[known], evidence.positive[known]
                limits = [(np.where(positive, 0.0, w), max_fpr), (w, max_share)]
                self.thresholds_[source, name] = best_cut(
                    score[known],
                    np.where(positive, w * fn[known], 0.0),
                    np.where(positive, 0.0, w * fp[known]),
                    limits=[(counted, limit) for counted, limit in limits if limit is not None],
                ).threshold

    def _ballot(
        self, leaves: Leaves, columns: list[tuple[str, str]], weights: list[str], leaf_weight: Floats | None
    ) -> Ballot:
        """Return what `tally` reads for these columns of votes and ways of weighing them."""
        fixed = [column for column in columns if column[0] != "cost"]
        by_cost = [column for column in columns if column[0] == "cost"]
        kinds = sorted({leaf for _, leaf in by_cost})
        outcomes = [
            leaves.label
            if member == "label"
            else leaves.probability(leaf) > self.member_thresholds_[leaf][leaves.member]
            for member, leaf in fixed
        ]
        n_members = int(leaves.member.max()) + 1
        weight = np.empty((n_members, len(columns), len(weights)))
        for c, column in enumerate(fixed + by_cost):
            for w, name in enumerate(weights):
                weight[:, c, w] = self._weight(name, column, n_members)
        return Ballot(
            _columns([leaves.probability(leaf) for leaf in kinds], leaves.label.size, np.float64),
            _columns(outcomes, leaves.label.size, np.bool_),
            np.array([kinds.index(leaf) for _, leaf in by_cost], dtype=np.int64),
            weight,
            np.empty(0) if leaf_weight is None else leaf_weight,
        )

    def _weight(self, name: str, column: tuple[str, str], n_members: int) -> Floats:
        """Return the weight of each member's vote."""
        if name == OWN:
            return np.ones(n_members) if self.votes.weight is None else self.votes.weight
        if name in ("equal", "node"):
            return np.ones(n_members)
        return vote_weights(name, self.member_errors_[column])

    def _read(self, said: Said, costs: Costs | None, counts: Bools | None, n_threads: int = 1) -> dict[Source, Any]:
        """Return score and total vote weight of every source."""
        n, leaves = said.ids.shape[0], said.leaves
        threshold = _thresholds(costs, n)
        scores: dict[Source, Any] = {}
        kinds = sorted({source[1] for source in self._sources if source[0] == "average"})
        if kinds:
            everyone = np.ones((int(leaves.member.max()) + 1, 0, 0))
            ballot = Ballot(
                _columns([leaves.sampled_probability(leaf) for leaf in kinds], leaves.label.size, np.float64),
                np.empty((leaves.label.size, 0), np.bool_),
                np.empty(0, np.int64),
                everyone,
                np.empty(0),
            )
            average, _, _ = tally(said.ids, ballot, threshold, counts, n_threads)
            for k, leaf in enumerate(kinds):
                scores["average", leaf] = leaves.corrected_mean(average[:, k]), None
        votes = [source for source in self._sources if source[0] == "vote"]
        own_is_signed = self.votes.cast == "signed"
        for by_node in (False, True):
            mine = [
                source
                for source in votes
                if self._by_node(source[3]) == by_node and not (own_is_signed and source[3] == OWN)
            ]
            if not mine:
                continue
            columns = _fixed_first(sorted({(source[1], source[2]) for source in mine}))
            weights = sorted({source[3] for source in mine})
            ballot = self._ballot(leaves, columns, weights, leaves.mean_weight if by_node else None)
            _, share, total = tally(said.ids, ballot, threshold, counts, n_threads)
            for c, (member, leaf) in enumerate(columns):
                for w, name in enumerate(weights):
                    scores["vote", member, leaf, name] = share[:, c, w], total[:, c, w]
        for source in votes:
            if source[3] == OWN and self.votes.cast != "plain":
                assert costs is not None
                if own_is_signed:
                    scores[source] = _signed(said, self._weight(OWN, ("", ""), said.ids.shape[1]), costs, counts)
                else:
                    share, total = scores[source]
                    scores[source] = cost_share(share, costs), total
        return scores

    def _by_node(self, weight: str) -> bool:
        return weight == "node" or (weight == OWN and self.votes.by_node)

    def scores(
        self, said: Said, costs: Costs | None, *, counts: Bools | None = None, n_threads: int = 1
    ) -> list[Floats]:
        """Return the score by each decision: a probability, or a share of votes.

        Parameters
        ----------
        said : Said
            What the members say of the records.
        costs : Costs or None
            Their costs; None is enough where no score needs them.
        counts : ndarray of shape (n_records, n_members), default=None
            Whether a member counts for a record; records for which none does get NaN.
        n_threads : int, default=1
        """
        if costs is None and self.scores_need_costs:
            raise CostsNeededError(COSTS_NEEDED)
        read = self._read(said, costs, counts, n_threads)
        found = []
        for decision, source in zip(self.decisions, self._sources, strict=True):
            score, total = read[source]
            if decision.calibration is not None:
                score = self.calibrations_[source, decision.calibration](score, total)
            elif decision.threshold == "mec_vote":
                assert costs is not None
                score = cost_share(score, costs)
            found.append(score)
        return found

    def outcomes(self, scores: Sequence[Floats], costs: Costs | None) -> list[Bools]:
        """Return whether each record is positive by each decision, given the decisions' scores."""
        return [score > self.threshold(i, costs) for i, score in enumerate(scores)]

    def threshold(self, i: int, costs: Costs | None) -> float | Floats:
        """Return what the score by decision `i` is compared with."""
        decision = self.decisions[i]
        if decision.threshold == "tuned":
            return self.thresholds_[self._sources[i], decision.calibration]
        if decision.threshold == "cost":
            if costs is None:
                raise CostsNeededError(COSTS_NEEDED)
            return costs.threshold()
        return 0.5


def cost_share(share: Floats, costs: Costs) -> Floats:
    """Return the share of positive votes when each is multiplied by the cost of its being wrong (FRAMEWORK 8.3)."""
    # By T_cs instead of the costs themselves: their ratio is all that counts, and it never overflows.
    threshold = costs.threshold()
    positive, negative = share * (1.0 - threshold), (1.0 - share) * threshold
    total = positive + negative
    weighed = np.where(total == 0, 0.5, positive / np.where(total == 0, 1.0, total))
    # Above one half iff the share is above T_cs, which rounding must not change where the two are close.
    return np.where(share > threshold, np.maximum(weighed, np.nextafter(0.5, 1.0)), np.minimum(weighed, 0.5))


def _signed(said: Said, alpha: Floats, costs: Costs, counts: Bools | None) -> tuple[Floats, Floats]:
    """Return UBoost's score, and the largest absolute sum of votes that its members can give (FRAMEWORK 7.2).

    A vote is alpha (W+ C_FN - W- C_FP) by the weights in the leaf, the costs as shares of their sum, so that the unit
    of the costs does not matter. The score is 1/2 + sum / (2 x largest): it keeps the order of the sums.
    """
    n = said.ids.shape[0]
    threshold = _thresholds(costs, n)
    leaves = said.leaves
    assert leaves.weights is not None
    below, above = leaves.weights.T
    heaviest = np.zeros(alpha.size)
    np.maximum.at(heaviest, leaves.member, leaves.weights.max(axis=1))
    votes, largest = np.zeros(n), np.zeros(n)
    for m, leaf in enumerate(said.ids.T):
        counted = 1.0 if counts is None else counts[:, m]
        votes += counted * alpha[m] * (above[leaf] * (1.0 - threshold) - below[leaf] * threshold)
        largest += counted * alpha[m] * heaviest[m]
    score = 0.5 + votes / np.where(largest > 0, 2 * largest, 1.0)
    # Above one half iff the sum is positive, which rounding must not change.
    score = np.where(votes > 0, np.maximum(score, np.nextafter(0.5, 1.0)), np.minimum(score, 0.5))
    return np.clip(score, 0.0, 1.0), largest


def _settled(decision: Decision, votes: Votes) -> Decision:
    """Return the decision with its output filled in, or say why it does not fit the ensemble."""
    output = decision.output or votes.output
    if output == "average" and not votes.averages:
        raise DecisionError(
            "output='average' needs members' probabilities, and boosting has votes only: choose output='vote', with a "
            "calibration ('logistic', 'platt', 'isotonic') for a probability; or threshold 'cost' or 'tuned' on votes"
        )
    if decision.vote_weight == "node" and not votes.by_node:
        raise DecisionError("vote_weight='node' is the mean weight in a leaf: only weighted ensembles have one")
    if decision.calibration == "logistic" and votes.weight is None:
        raise DecisionError("calibration='logistic' needs the alphas of boosting: choose 'logistic_bounded'")
    return decision if decision.output else replace(decision, output=output)


def _fixed_first(columns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put columns of votes that go by the record's own threshold last, as `Ballot` has them."""
    return sorted(columns, key=lambda column: column[0] == "cost")


def _columns(arrays: list[NDArray[Any]], n: int, dtype: type) -> NDArray[Any]:
    return np.column_stack(arrays) if arrays else np.empty((n, 0), dtype)


def _thresholds(costs: Costs | None, n: int) -> Floats:
    """Return T_cs of each record; halves where there are no costs, to be ignored."""
    threshold = 0.5 if costs is None else costs.threshold()
    return np.ascontiguousarray(np.broadcast_to(threshold, n), dtype=np.float64)


def _or_none(counts: Bools | None) -> Bools:
    return np.empty((0, 0), np.bool_) if counts is None else counts
