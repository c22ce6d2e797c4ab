"""Boosting with costs: AdaBoost, its variants, SampleBoost and DMECC-AdaBoost (FRAMEWORK 7)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from stakes._docs import documented
from stakes._ensemble import EnsembleClassifier
from stakes._fitting import takes
from stakes._learners import ModelLearner
from stakes._member_classifier import ValidationRecords
from stakes._members import LeafAssignment, ModelMembers, TreeMembers
from stakes._progress import progress
from stakes._rows import parts
from stakes._typing import Bools, Floats
from stakes._validation import number
from stakes._warn import warn
from stakes.boosting.learners import BoostedModels, BoostedTrees, apart
from stakes.boosting.loop import DONE, USELESS, Boosted, boost, first_weights
from stakes.boosting.rules import Rule, make_rule
from stakes.cost_tree import CostTreeClassifier
from stakes.costs import Costs
from stakes.decision.cuts import Cut
from stakes.decision.decision import Decision
from stakes.decision.reader import Reader, Votes
from stakes.decision.readings import Readings, Source
from stakes.exceptions import DecisionError, FewRoundsWarning
from stakes.records import Records
from stakes.sampling.draws import Draws

__all__ = ["CostBoostClassifier"]

Members = TreeMembers | ModelMembers

# With fewer records of a class none are held out for a threshold that is tuned by default.
FEWEST_TO_SPLIT = 5


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostBoostClassifier(EnsembleClassifier):
    """AdaBoost and its cost-sensitive variants.

    Parameters
    ----------
    estimator : classifier, default=None
        What the members are: a `CostTreeClassifier`, whose parameters are followed by the fast engine, or any
        scikit-learn classifier that takes sample weights. None is a stump, ``CostTreeClassifier(max_depth=1)``.
    variant : str, default="adaboost"
        "adaboost", which leaves costs to the decision; "m2", AdaBoost.M2, whose members vote by their confidence (with
        samples, RUSBoost and SMOTEBoost as published); or a variant in which they act in training: "naive", "uboost",
        "adacost", "adauboost", "asymmetric", "csb0", "csb1", "csb2", "adac1", "adac2", "adac3" or "csab".
    n_estimators : int, default=100
        How many rounds at most.
    learning_rate : float, default=1
        What the alpha of each member is multiplied by: with less, members count less, and more of them are needed.
    sampling : {"under", "over", "hybrid", "smote", "cpr"} or sampler, default=None
        How a sample is drawn by the costs in every round, for the member to be fitted to (SampleBoost: "under" is
        RUSBoost, "smote" SMOTEBoost). Samplers of imbalanced-learn are accepted too. None takes all records.
    variant_params : dict, default=None
        Options of the variant. All have `redraws`: how often a round is repeated if its member is of no use, 10 by
        default, with another sample, or, where members decide by their costs and mistakes count by cost, with the first
        weights times random numbers; and `tuning`, for ``Decision(member="tuned")``: whether T_thr of a member is the
        cheapest on the training records by their weights in the round ("weights", the default), or on validation
        records by their costs alone ("validation"), which ends boosting after a few rounds. `errors` of "adaboost" and
        "m2": whether mistakes count in alpha by weight ("plain") or by weight times cost ("cost"; "auto", the default,
        does so where samples are drawn by costs or members decide by them). `power` of "naive", "uboost", "adacost",
        "adauboost" and "csb0" to "csb2", to which costs are raised for the initial weights, 1 by default ("uboost" with
        0 is its predecessor, "Boosting"); `alpha` of "adacost", "epsilon" by default, "fan" or "printed", and its
        `scale`, the largest scaled cost, 1 by default; `exponent` of "adauboost", "inverse" by default, or "printed";
        `costs_per_round` of "csb0" to "csb2", "adac2" and "adac3", "root" by default, or "full" as published; `margins`
        of "csb1", "confidence" by default, or "labels"; and `fit_on` of "adac1", "adac2", "adac3" and "csab", what
        members are fitted on: "costs", the weights times the costs, by default, or "weights".
    decision : Decision, default=None
        None decides by 0.5 where costs acted in training, by a tuned threshold where they did so more than once
        ("uboost", "adacost", "csb0", "csb1" and "csb2"; on the training records where a class has fewer than five
        records), and otherwise by T_cs on votes that the logistic correction turns into a probability. With `member`
        "cost" or "tuned" the members decide by their costs, in training and after it (DMECC-AdaBoost).
    {validation}
    warm_start : bool, default=False
        Go on from the last `fit`, whose records must be the same, up to `n_estimators` rounds. Variants that spread the
        costs over all rounds cannot.
    {class_weight}
    {costs_and_label}
    {n_jobs}
    {seed_and_progress}

    Attributes
    ----------
    {classes_and_members}
    estimator_weights_ : ndarray of shape (`n_rounds_`,)
        The alpha of each member.
    estimator_errors_ : ndarray of shape (`n_rounds_`,)
        The weight of the training records that each member got wrong, of a total of 1.
    n_rounds_ : int
        How many members were kept.
    stop_reason_ : str
        Why there are no more: as many as were asked for; a member made no error that counts, and was the last; or
        the alpha of a member was not positive, and it was dropped unless it was the first, which then has alpha 1.
    member_ : {"label", "cost", "tuned"}
        How members come to their outcomes.
    {decision_in_force}
    feature_importances_ : ndarray of shape (n_features,)
        For members that are trees, the share of each feature in the gain of a tree's splits, averaged by alpha.

    Notes
    -----
    Decisions can change after training (`with_decision`), but not how members come to their outcomes: their weights
    are right only for the outcomes they were trained with. So `member` has to be what it was in fit.

    The rules are those of the literature, with defaults that bear costs that differ much; the published form is an
    option where it does not. "csb0" to "csb2", "adac2" and "adac3" as published multiply weights by costs in every
    round, and with many rounds all records end in the class that costs more; so does "adauboost" as printed.
    "adacost", "uboost" and "csb0" to "csb2" count costs more than once, hence their tuned threshold. No decision
    depends on the currency. "asymmetric" and "adauboost" go by the ratio of a record's two costs: amounts that both
    are proportional to cancel.

    Examples
    --------
    >>> from stakes import Decision
    >>> from stakes.boosting import CostBoostClassifier
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(4000, random_state=0)
    >>> model = CostBoostClassifier(variant="naive", n_estimators=50, random_state=0)
    >>> model = model.fit(data.frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)
    >>> model.n_rounds_, model.stop_reason_
    (50, 'n_estimators reached')
    >>> labels = model.predict(data.frame)

    AdaBoost leaves costs to the decision: they may change, and so may the decision, without training.

    >>> model = CostBoostClassifier(n_estimators=50, validation=0.2, random_state=0)
    >>> model = model.fit(data.frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)
    >>> labels = model.predict(data.frame, fp_cost=5.0, fn_cost=data.costs.fn)
    >>> calibrated = model.with_decision(Decision(calibration="platt", threshold="cost"))
    >>> dearer = calibrated.predict(data.frame, fp_cost=50.0, fn_cost=data.costs.fn)
    """

    variant: str = "adaboost"
    learning_rate: float = 1.0
    variant_params: dict[str, Any] | None = None

    _constraints = EnsembleClassifier._constraints | {"learning_rate": number(1e-9, 1e9)}

    @property
    def _default_tree(self) -> CostTreeClassifier:
        return CostTreeClassifier(max_depth=1)

    def _rule(self) -> Rule:
        return make_rule(self.variant, self.variant_params, n_rounds=self.n_estimators)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        rule = self._rule()
        if self._tree is None and not takes(self.estimator, "sample_weight"):
            raise ValueError(f"boosting needs members that take sample_weight: {self.estimator!r} does not")
        if self._tree is None and rule.cast == "signed":
            raise ValueError(
                f"variant={self.variant!r} votes by the weights in the leaves of trees, and the members are "
                f"{self.estimator!r}: give a CostTreeClassifier, or choose another variant"
            )
        if self.warm_start and rule.spreads_costs:
            raise ValueError(
                f"warm_start=True cannot add rounds to variant={self.variant!r}, which spreads the costs over all of "
                "them: choose warm_start=False, or another variant"
            )
        if self.decision is not None:
            if rule.cast == "confidence" and self.decision.member != "label":
                raise DecisionError(
                    f"variant={self.variant!r} votes by the confidence of members, and member={self.decision.member!r} "
                    "by their outcomes: choose member='label', or another variant"
                )
            # What does not fit is said before training, not after it.
            Reader([self.decision], _votes(rule, np.ones(1)))

    def _needs_validation(self, positive: Bools) -> bool:
        if self._tunes_by_weights:
            assert self.decision is not None
            return self._prunes or replace(self.decision, member="label").needs_validation
        enough = np.bincount(positive, minlength=2).min() >= FEWEST_TO_SPLIT
        return (self._tunes_by_default and enough) or super()._needs_validation(positive)

    @property
    def _tunes_by_weights(self) -> bool:
        """Whether members tune their thresholds to the weights of the training records."""
        return self.decision is not None and self.decision.member == "tuned" and self._rule().tuning == "weights"

    @property
    def _tunes_by_default(self) -> bool:
        return self.decision is None and _default_of(self._rule()).needs_validation

    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        self._warn_of_ignored_parameters()
        shown, records = records.with_features(X).counted, records.counted
        rule, draws, sampled_by_cost = self._rule(), None, False
        if self.sampling is not None:
            sampler = self._sampler()
            sampled_by_cost = sampler.uses_costs
            draws = Draws(sampler, shown, rng, self.n_estimators)
        self.member_ = "label" if self.decision is None else self.decision.member
        rule = replace(rule, amounts=_amounts(records, draws if sampled_by_cost else None, self.member_))
        by_tree = self._tree is not None and self._tree.recipe().uses_costs
        acted = rule.uses_costs or sampled_by_cost or by_tree or self.member_ != "label"
        last, n_rounds = None, self.n_estimators
        if self._goes_on():
            last = Boosted(apart(self.members_), **self._last_fit["boosted"])
            rng = copy.deepcopy(self._last_fit["rng"])
            self._check_warm_start(last.log_weight.size, len(records))
            n_rounds = self.n_estimators - len(last.members) if last.stop_reason == DONE else 0
        with ThreadPoolExecutor(self._n_threads) as pool:
            if self._tree is None:
                models = ModelLearner(shown, self.estimator, self._class_labels, pass_costs=not acted)
                learner: BoostedModels | BoostedTrees = BoostedModels(models, draws, rng)
            else:
                prune_on = None if self.validation_ is None else self.validation_.records
                each = pool.map if self._n_threads > 1 else map
                learner = BoostedTrees(self._tree_learner(records), draws, rng, prune_on, self._n_threads, each)
            rounds = progress(range(n_rounds), n_rounds, f"{n_rounds} rounds", self.verbose)
            by_cost = self.member_ != "label" and rule.starts_anew
            anew = partial(_weights_anew, rule, records, rng) if by_cost else None
            tries = 1 if draws is None and anew is None else 1 + rule.redraws
            vote = self._vote(records)
            boosted = boost(rule, records, learner, vote, rounds, tries, anew, self.learning_rate, last)
        self.members_ = learner.join(boosted.members)
        # Members are kept in the ensemble alone: a model file has them once, and they are checked when it is loaded.
        but_members = {name: value for name, value in vars(boosted).items() if name != "members"}
        self._keep(boosted=but_members, rng=copy.deepcopy(rng))
        self.estimator_weights_ = np.array(boosted.alphas)
        self.estimator_errors_ = np.array(boosted.errors)
        self.n_rounds_ = len(boosted.members)
        self.stop_reason_ = boosted.stop_reason
        if self.stop_reason_ == USELESS and self.n_rounds_ < min(10, self.n_estimators / 10):
            warn(
                f"boosting kept {self.n_rounds_} of {self.n_estimators} rounds: the next member was no better than "
                "chance. Try deeper trees or another variant",
                FewRoundsWarning,
            )
        self.votes_ = _votes(rule, self.estimator_weights_)
        if self._tunes_by_weights:
            assert self.decision is not None
            leaf = Source.of(self.decision, "vote").leaf
            self.votes_ = self.votes_._replace(thresholds={leaf: np.array(boosted.thresholds, np.float64)})
        acted = acted or (isinstance(self.members_, ModelMembers) and self.members_.costs_acted)
        after = Decision(member=self.member_, calibration="logistic", threshold="cost")
        self.default_decision_ = _default_of(rule, self.member_) if acted else after
        return ValidationRecords(records) if self._tunes_by_default else None

    def _vote(self, records: Records) -> Callable[[Members, LeafAssignment, Floats], tuple[Floats, float | None]]:
        """Return how a member votes on the training records, from -1 to 1, as it does later; and its own threshold."""
        if self.decision is None or self.decision.member == "label":
            confident, votes = self._rule().confident, np.empty(len(records))

            def cast(member: Members, assignment: LeafAssignment, weight: Floats) -> tuple[Floats, None]:
                leaves = assignment.leaves
                positive = leaves.probability("frequency") if confident else leaves.label
                of_leaf = 2.0 * positive - 1.0
                for rows in parts(votes.size):
                    votes[rows] = of_leaf.take(assignment.ids[rows, 0])
                return votes, None

            return cast
        decision = Decision(leaf=self.decision.leaf, member=self.decision.member, vote_weight="equal")
        tuned_on = records if self.validation_ is None else self.validation_.records

        def vote(member: Members, assignment: LeafAssignment, weight: Floats) -> tuple[Floats, float | None]:
            reader, threshold = Reader([decision]), None
            if self._tunes_by_weights:
                reader.fit(assignment, replace(records, weight=weight))
                ((threshold,),) = reader.member_thresholds_.values()
            elif reader.needs_records:
                reader.fit(member.assign(tuned_on.X, self._n_threads), tuned_on)
            readings = reader.read(assignment, records.known, n_threads=self._n_threads)
            # The vote of one member is a share of 0 or 1.
            return 2.0 * readings.scores[readings.source(decision)] - 1.0, threshold

        return vote

    def _decide_by(self, decision: Decision | None, cut: Cut | None = None, **limits: float | None) -> None:
        if decision is not None and decision.member != self.member_:
            raise DecisionError(
                f"members were trained with member={self.member_!r}, and their weights are right for that only: choose "
                f"Decision(member={self.member_!r}, ...), or fit again with decision={decision!r}"
            )
        super()._decide_by(decision, cut, **limits)

    def staged_predict(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Iterator[NDArray[Any]]:
        """Decide on records by the first member, the first two, and so on.

        Parameters
        ----------
        {X}
        {costs_as_in_predict}

        Yields
        ------
        labels : ndarray of shape (n_records,)
            The last ones are those of `predict`. Calibration and tuned thresholds are those of the whole ensemble.
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        for readings, costs in self._stages(X, given, needed=True):
            yield self._decode(self.cut_.outcomes(readings, costs))

    def staged_predict_proba(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Iterator[Floats]:
        """Return the scores of records by the first member, the first two, and so on.

        Parameters
        ----------
        {X}
        {costs_to_vote}

        Yields
        ------
        shares : ndarray of shape (n_records, 2)
            The last ones are those of `predict_proba`.
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        for readings, _ in self._stages(X, given, needed=False):
            yield self._shares(self.cut_.scores(readings))

    def staged_score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Iterator[float]:
        """Return the savings of the first member, the first two, and so on.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_records,)
            True labels.
        {sample_weight}
        {costs_as_in_predict}

        Yields
        ------
        savings : float
            The last one is that of `score`.
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        for labels in self.staged_predict(X, **given):
            yield self._savings(X, y, labels, sample_weight, given)

    def staged_decision_function(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Iterator[Floats]:
        """Return the margins of the votes of the first member, the first two, and so on.

        Parameters
        ----------
        {X}
        {costs_to_vote}

        Yields
        ------
        margin : ndarray of shape (n_records,)
            The last ones are those of `decision_function`.
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        for readings, _ in self._stages(X, given, needed=False):
            yield self._margin(readings)

    def _stages(self, X: Any, given: dict[str, Any], *, needed: bool) -> Iterator[tuple[Readings, Costs | None]]:
        """Return the scores of records by the first members, one more each time, and their costs."""
        check_is_fitted(self)
        assignment = self.members_.assign(self._read(X, reset=False), self._n_threads)
        needed = self.needs_costs_ if needed else self.reader_.needs_costs
        costs = self._costs_of(X, assignment.ids.shape[0], given, needed=needed)
        for n_members in range(1, self.n_rounds_ + 1):
            first = LeafAssignment(np.ascontiguousarray(assignment.ids[:, :n_members]), assignment.leaves)
            yield self.reader_.read(first, costs, n_threads=self._n_threads), costs

    @property
    def feature_importances_(self) -> Floats:
        """The share of each feature in the gain of a tree's splits, averaged by alpha."""
        trees = self._trees("feature_importances_")
        nodes, tree = trees.nodes, np.repeat(np.arange(len(trees)), trees.sizes)
        gains = np.bincount(tree, nodes.gain)
        factor = self.estimator_weights_ / np.where(gains > 0, gains, 1.0)
        splits = nodes.feature >= 0
        shares = np.bincount(nodes.feature[splits], (nodes.gain * factor[tree])[splits], self.n_features_in_)
        return shares / (shares.sum() or 1.0)


def _weights_anew(rule: Rule, records: Records, rng: np.random.Generator) -> Floats:
    """Return the logarithms of the initial weights, each times a random number: those of a continuous bootstrap."""
    return first_weights(rule, records) + np.log(rng.exponential(size=len(records)))


def _amounts(records: Records, draws: Draws | None, member: str) -> Floats | None:
    """Return the factor of each record's cost that members have not accounted for; None where they use no costs.

    `draws` are those by cost, if there are any: a sample accounts for the costs that it is drawn by, and a member that
    decides by T_cs for the ratio of both costs.
    """
    if draws is None and member == "label":
        return None
    amount = np.ones(len(records))
    if draws is not None:
        known = draws.costs.of(records.positive)
        amount = np.where(known > 0, records.cost / np.where(known > 0, known, 1.0), 1.0)
    if member != "label":
        amount = amount * np.add(*records.costs.arrays(len(records)))
    return amount / amount.max() if amount.any() else np.ones_like(amount)


def _default_of(rule: Rule, member: str = "label") -> Decision:
    """Return the default decision where costs act in training."""
    return Decision(member=member, calibration=rule.calibration, threshold=rule.threshold)


def _votes(rule: Rule, alpha: Floats) -> Votes:
    return Votes(output="vote", averages=False, weight=alpha, cast=rule.cast)
