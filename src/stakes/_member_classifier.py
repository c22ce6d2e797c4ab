"""Members, made once in training, and a decision, which may change: the base of trees and ensembles."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from stakes._base import COST_NAMES, CostClassifier
from stakes._docs import documented
from stakes._members import NO_METADATA, LeafAssignment, ModelMembers, TreeMembers
from stakes._random import generator
from stakes._rows import take_rows
from stakes._typing import Bools, Bytes, Floats
from stakes._validation import Constraint, fraction
from stakes._warn import warn
from stakes.costs import Costs
from stakes.decision.cuts import NO_RECORDS, Cut, Evaluation, apply_cuts, fit_cuts, fixed_cut
from stakes.decision.decision import Decision
from stakes.decision.leaf_choice import Unseen, cheapest_leaf
from stakes.decision.reader import Reader, Votes
from stakes.decision.readings import Readings
from stakes.decision.thresholds import record_weights
from stakes.exceptions import CostsError, CostsNeededError, DecisionError, OneClassWarning
from stakes.explain.contributions import Contributions
from stakes.explain.models import known_background, mean_contributions
from stakes.explain.permutations import Sampling, background_of, sampled_contributions
from stakes.explain.trees import tree_contributions
from stakes.records import Records
from stakes.table import check_table, is_documents, read_table
from stakes.tree.binning import Binned, Binning
from stakes.tree.leaves import CHEAPEST

__all__ = ["CLASS_WEIGHT", "CONSTRAINTS", "MemberClassifier", "ValidationRecords"]

CONSTRAINTS = {
    "decision": Constraint(
        lambda value: isinstance(value, Decision | None),
        "is not a Decision: write Decision(...), or None",
        DecisionError,
    ),
    "validation": fraction("auto", None),
}
CLASS_WEIGHT = Constraint(
    lambda value: value is None or isinstance(value, Mapping) or (isinstance(value, str) and value == "balanced"),
    "is not valid: give a dict from labels to weights, 'balanced' or None",
)


# A leaf probability is chosen on so many records at most, more would only take longer.
MOST_TO_CHOOSE_BY = 100_000
# Two outcomes are nearly always found among so many records, or where one is rare among so many; only otherwise all are
# decided on.
LOOKS = (256, 4096)
# Where each outcome is that of so many of the first records by the mean of so few trees, both are found by the mean of
# all trees as well: to look at all their leaves takes a twentieth of the time of a fit (measured).
FEW_TREES, CLEARLY = 8, 16


class ValidationRecords:
    """The records on which an ensemble's decisions are tuned, kept so that decisions can change after training.

    `seen`, of shape (n_records, n_members), says which members were trained on which records, so that only the others
    judge them; None if all judge all. `in_training` are the training records themselves, which all members have seen.
    """

    # What is computed again where a copy is needed: neither sent nor saved.
    _computed: tuple[str, ...] = ("_assignment",)

    def __init__(self, records: Records, seen: Bools | None = None, *, in_training: bool = False) -> None:
        self.records = records
        self.in_training = in_training
        # A bit per member and record: small enough to keep.
        self._unseen = None if seen is None else np.packbits(~seen.T, axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in self._computed}

    def assignment(self, members: TreeMembers | ModelMembers, n_threads: int) -> LeafAssignment:
        """Return the leaves of the records."""
        if "_assignment" not in vars(self):
            self._assignment = members.assign(self.records.X, n_threads)
        return self._assignment

    @property
    def out_of_bag(self) -> Bools | None:
        """Whether each member judges each record, of shape (n_records, n_members); None if all judge all."""
        if self._unseen is None:
            return None
        unseen = np.unpackbits(self._unseen, axis=1, count=len(self.records))
        return np.ascontiguousarray(unseen.T).view(np.bool_)


@documented
class MemberClassifier(CostClassifier):
    """Base of trees and ensembles: members, made once in `fit`, and a decision, which may change.

    A subclass makes the members (`_train`). It has the parameters `decision`, `validation`, `n_jobs` and
    `random_state`.

    Attributes
    ----------
    members_ : TreeMembers or ModelMembers
    votes_ : Votes
        How the members vote where a decision does not say.
    default_decision_ : Decision
        What ``decision=None`` stands for.
    """

    _constraints = CONSTRAINTS
    votes_ = Votes()
    # Out-of-bag records of a training that was given other validation records.
    _also_unseen: ValidationRecords | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return the features in the form that the members take."""

    @abstractmethod
    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        """Set `members_`, `default_decision_`, and `votes_` of ensembles; return validation records of its own, if any.

        `X` has the features of the records as given by the user.
        """

    def _bin(self, X: Any, max_bins: int, *, reset: bool) -> Bytes:
        """Return the bins of the features; `reset` learns the binning from them."""
        if isinstance(X, Binned):
            validate_data(self, X.X, reset=reset, skip_check_array=True)
            if reset:
                self.binning_ = X.binning
            elif X.binning is not self.binning_:
                raise ValueError("X was binned in another way than the training records: bin it by the same Binning")
            return X.bins
        table = read_table(self, X, reset=reset)
        if reset and not self._goes_on():
            self.binning_ = Binning(max_bins, self._n_threads).fit(table)
        return self.binning_.transform(table)

    def _goes_on(self) -> bool:
        """Whether training goes on from the last fit, with its bins."""
        return False

    @property
    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: Any = None,
        fp_cost_val: ArrayLike | None = None,
        fn_cost_val: ArrayLike | None = None,
        known_costs: Costs | None = None,
        **metadata: Any,
    ) -> Self:
        """Train the members, and make the decision ready.

        Parameters
        ----------
        {training_records}
        X_val, y_val : default=None
            Validation records to prune, calibrate and tune on, instead of those that `validation` says.
        fp_cost_val, fn_cost_val : float or array-like, default=None
            Their costs; what is constant in training need not be given.
        known_costs : Costs, default=None
            What is known of the costs of the training records when a decision is due, where that is an estimate of
            your own: decisions are tuned on what they can go by.
        {metadata}

        Returns
        -------
        self
        """
        self._check_parameters()
        routed = self._metadata("fit", metadata)
        X, positive = X if is_documents(X) else check_table(X), self._encode(y)
        check_consistent_length(X, positive)
        n = positive.size
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        weight = self._weights(sample_weight, positive, y)
        rng = generator(self.random_state)
        rows, held_out = self._split(positive, weight, explicit=X_val is not None, rng=rng)
        X_train = take_rows(X, rows) if held_out.size else X
        counted = rows if weight is None else np.flatnonzero(weight[rows])
        if counted.size < rows.size:  # zero-weight records do not shape the bins
            self._read(take_rows(X_train, counted), reset=True)
        data = self._read(X_train, reset=counted.size == rows.size)
        costs, known = self._learn_costs(X, n, given, rng)
        if known_costs is not None:
            known = known_costs.for_records(n)
        everything = Records(None, positive, costs, weight, known, routed)
        train = (everything.take(rows) if held_out.size else everything).with_features(data)
        for_validation = {"y_val": y_val, "fp_cost_val": fp_cost_val, "fn_cost_val": fn_cost_val}
        self.validation_ = None
        if X_val is None and (alone := [name for name, value in for_validation.items() if value is not None]):
            raise ValueError(f"{alone[0]} was given without X_val")
        if X_val is not None:
            self.validation_ = self._explicit_validation(X_val, y_val, fp_cost_val, fn_cost_val)
        elif held_out.size:
            features = self._read(take_rows(X, held_out), reset=False)
            self.validation_ = ValidationRecords(everything.take(held_out).with_features(features))
        X_train = X_train.X if isinstance(X_train, Binned) else X_train
        made = self._train(train, X_train, rng)
        by_trees = isinstance(self.members_, TreeMembers)
        self.background_ = None if by_trees else background_of(X_train, train.weight)
        self._also_unseen = None
        if self.validation_ is None:
            self.validation_ = ValidationRecords(train, in_training=True) if self.validation is None else made
        elif made is not None and made.out_of_bag is not None:
            self._also_unseen = made
        self._decide_by(self.decision)
        self._warn_if_one_class(train)
        return self

    def _metadata(self, method: str, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata that members are given with the records of `method`."""
        return self._routed(method, metadata).get("estimator", {})

    def _warn_if_one_class(self, records: Records) -> None:
        """Warn if all training records are decided alike, and the mistakes that this makes cost something."""
        n = len(records)
        steps = sorted({1, *(max(1, n // most) for most in LOOKS)}, reverse=True)
        looks = [records if step == 1 else records.take(np.arange(0, n, step)) for step in steps]
        if isinstance(self.members_, TreeMembers) and len(self.members_) > FEW_TREES:
            means = self.reader_.read_mean(self.members_.take(range(FEW_TREES)), looks[0].X)
            if means is not None:
                n_positive = np.count_nonzero(self.cut_.outcomes(means, looks[0].known))
                if CLEARLY <= n_positive <= len(looks[0]) - CLEARLY:
                    return
        for some in looks:
            outcome = self.cut_.outcomes(self._readings(self.reader_, some.X, some.known), some.known)
            if outcome.any() and not outcome.all():
                return
        if records.loss[records.positive != outcome[0]].sum() > 0:
            warn(
                f"all {n} training records are decided to be {'positive' if outcome[0] else 'negative'}: compare with "
                "the cost of doing that without a model",
                OneClassWarning,
            )

    @property
    def _class_weight(self) -> Any:
        """How often records of each class count, whatever is drawn."""
        return getattr(self, "class_weight", None)

    def _weights(self, sample_weight: ArrayLike | None, positive: Bools, y: Any) -> Floats | None:
        """Return how often each record counts, None for once: by its own weight, and that of its class."""
        of_class = self._class_weight
        if sample_weight is None and of_class is None:
            return None
        weight = record_weights(sample_weight, positive.size, "X")
        if of_class is not None:
            weight = weight * compute_sample_weight(of_class, self._labels(y))
        for of_class, name in ((positive, "positive"), (~positive, "negative")):
            if not weight[of_class].sum() > 0:
                raise ValueError(f"sample_weight is zero for all records of the {name} class: both are needed")
        return weight

    def _needs_validation(self, positive: Bools) -> bool:
        """Whether records must be held out when it is left to the classifier, by the classes of those that count."""
        return self.decision is not None and self.decision.needs_validation

    def _split(
        self, positive: Bools, weight: Floats | None, *, explicit: bool, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows to train on and the rows to hold out; those that do not count are in neither part."""
        everyone, none = np.arange(positive.size), np.empty(0, np.intp)
        counted = everyone if weight is None else np.flatnonzero(weight)
        share = self.validation
        if share == "auto":
            share = 0.2 if self._needs_validation(positive[counted]) else None
        if explicit or not isinstance(share, float | np.floating):
            return everyone, none
        seed = int(rng.integers(2**31 - 1))
        try:
            train, held_out = train_test_split(counted, test_size=share, stratify=positive[counted], random_state=seed)
        except ValueError:  # of scikit-learn, on parts with fewer records than classes
            train = held_out = none
        if any(np.unique(positive[part]).size < 2 for part in (train, held_out)):
            smaller = np.bincount(positive[counted]).min()
            raise ValueError(
                f"the smaller class has {smaller} record(s), too few to hold out a validation set of {share:.0%}: pass "
                "X_val, or validation=None to use the training records"
            )
        return np.sort(train), np.sort(held_out)

    def _explicit_validation(self, X_val: Any, y_val: Any, fp_cost: Any, fn_cost: Any) -> ValidationRecords:
        if y_val is None:
            raise ValueError("X_val was given without y_val")
        features = self._read(X_val, reset=False)
        positive = self._is_positive(y_val, "y_val")
        check_consistent_length(X_val, positive)
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": None, "tn_cost": None}
        try:
            costs = self._costs_of(X_val, positive.size, given, needed=True)
        except CostsNeededError:
            raise CostsNeededError(
                "costs differ from record to record in training: pass fp_cost_val= and fn_cost_val= with X_val; and "
                "where tp_cost or tn_cost do, pass fn_cost - tp_cost and fp_cost - tn_cost in their place"
            ) from None
        except CostsError as error:
            raise CostsError(f"fp_cost_val and fn_cost_val: {error}") from None
        assert costs is not None
        known = None
        if self.cost_estimators_:
            known = self._costs_of(X_val, positive.size, dict.fromkeys(COST_NAMES), needed=True)
        return ValidationRecords(Records(features, positive, costs, known_costs=known))

    def _decide_by(self, decision: Decision | None, cut: Cut | None = None, **limits: float | None) -> None:
        self.decision_ = self.default_decision_ if decision is None else decision
        settled = self._settled(self.decision_)
        self.reader_ = self._new_reader([settled])
        if cut is None:
            (cut,) = self._own_cuts([settled], self.reader_, **limits)
        self.cut_ = replace(cut, decision=settled)

    def _reader(self, decisions: Sequence[Decision]) -> Reader:
        """Return what reads the scores of decisions: the one in force, also of models without validation records."""
        return self.reader_ if self.reader_.reads(decisions) else self._new_reader(decisions)

    def _new_reader(self, decisions: Sequence[Decision], validation: ValidationRecords | None = None) -> Reader:
        """Return what reads the scores of decisions, with the choices about members made."""
        reader, validation = Reader(decisions, self.votes_), validation or self.validation_
        for leaf in reader.leaves:
            self.members_.check_leaf(leaf)
        by_probability = {source.member for source in reader.sources} - {"", "label"}
        if by_probability and not self.members_.has_probabilities:
            raise DecisionError(
                f"member={by_probability.pop()!r} needs members with probabilities, and these have no predict_proba: "
                "choose member='label', or other members"
            )
        if CHEAPEST in reader.leaves:
            self._choose_leaf()
        if reader.needs_records:
            if validation is None:
                raise DecisionError(NO_RECORDS)
            reader.fit(validation.assignment(self.members_, self._n_threads), validation.records, validation.out_of_bag)
        return reader

    def _choose_leaf(self) -> None:
        """Choose the leaf probability that is left to the members, once, if there are records to choose it by.

        All records that members were not trained on are used, because a few validation records leave much to noise.
        On records that they were trained on, or neighbours of which were made for their training, the purest leaves
        would be chosen. Boosting's votes are those of its training.
        """
        members = self.members_
        if not isinstance(members, TreeMembers) or members.cheapest_leaf is not None or not self.votes_.averages:
            return
        unseen = [
            (validation, np.arange(len(validation.records)))
            for validation in (self.validation_, self._also_unseen)
            if validation is not None and not validation.in_training
            if validation.out_of_bag is None or members.grown_by != "neighbours"
        ]
        if unseen:
            members.cheapest_leaf = self._cheapest_leaf(unseen)

    def _cheapest_leaf(self, unseen: Sequence[tuple[ValidationRecords, NDArray[np.intp]]]) -> str:
        """Return the leaf probability by which members vote cheapest on some rows of validation records."""
        assert isinstance(self.members_, TreeMembers)
        parts = []
        for validation, rows in unseen:
            rows = rows[:: max(1, -(-rows.size // MOST_TO_CHOOSE_BY))]
            records, out_of_bag = validation.records.take(rows), validation.out_of_bag
            assignment = self.members_.assign(records.X, self._n_threads)
            parts.append(Unseen(assignment, records, None if out_of_bag is None else out_of_bag[rows]))
        return cheapest_leaf(self.members_.leaves_to_try, self.votes_, parts, n_threads=self._n_threads)

    def _own_cuts(self, decisions: Sequence[Decision], reader: Reader, **limits: Any) -> list[Cut]:
        """Return the cuts chosen on the classifier's own validation records."""
        if self.validation_ is None or not any(decision.tunes_cut for decision in decisions):
            return [fixed_cut(decision) for decision in decisions]
        return fit_cuts(decisions, self._validation_readings(reader), self.validation_.records, **limits)

    def _validation_readings(self, reader: Reader) -> Readings:
        assert self.validation_ is not None
        return reader.read(
            self.validation_.assignment(self.members_, self._n_threads),
            self.validation_.records.known,
            out_of_bag=self.validation_.out_of_bag,
            n_threads=self._n_threads,
        )

    @property
    def costs_acted_(self) -> bool:
        """Whether costs acted in training, so that scores contain them and are compared with no threshold by cost."""
        check_is_fitted(self)
        return not self.default_decision_.needs_costs

    @property
    def needs_costs_(self) -> bool:
        """Whether the decision in force needs the costs of the records to be decided on."""
        check_is_fitted(self)
        return self.reader_.needs_costs or self.cut_.threshold.needs_costs

    def features_used(self, X: Any) -> Bools:
        """Return which features a decision on each record asks for: those on its paths through all trees in use.

        Parameters
        ----------
        {X}

        Returns
        -------
        used : ndarray of bool of shape (n_records, n_features)
            Models that are no trees of this package ask for all features of all records.
        """
        check_is_fitted(self)
        return self.features_used_by([self.cut_.decision], X)[0]

    def features_used_by(self, decisions: Sequence[Decision], X: Any) -> list[Bools]:
        """Return which features each decision asks for, as `features_used`; the same array where members are the same.

        Parameters
        ----------
        decisions : sequence of Decision
        {X}

        Returns
        -------
        used : list of ndarray of bool of shape (n_records, n_features)
        """
        reader, features = self._reader(decisions), self._read(X, reset=False)
        found: dict[bytes | None, Bools] = {}
        used = []
        for decision in decisions:
            members = reader.members_for(decision)
            key = None if members is None else members.tobytes()
            if key not in found:
                found[key] = self.members_.features_used(features, self.n_features_in_, self._n_threads, members)
            used.append(found[key])
        return used

    def read(
        self,
        decisions: Sequence[Decision],
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        validation: Records | None = None,
    ) -> Readings:
        """Return the scores of records by many decisions, before calibration and threshold.

        What decisions choose about the members (their thresholds, their votes' weights by error) is chosen on the
        classifier's own validation records. `stakes.decision.cuts.fit_cuts` chooses the rest, on any records.

        Parameters
        ----------
        decisions : sequence of Decision
            `stakes.decisions_for` lists all that make sense.
        {X}
        {costs_to_vote}
        validation : Records, default=None
            Make the choices about members on these records, instead of the classifier's own validation records.

        Returns
        -------
        readings : Readings
        """
        check_is_fitted(self)
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        if validation is None:
            reader = self._reader(decisions)
        else:
            features = self._read(validation.X, reset=False)
            reader = self._new_reader(decisions, ValidationRecords(validation.with_features(features)))
        return self._read_by(reader, X, given, needed=False)[0]

    def read_validation(self, decisions: Sequence[Decision]) -> tuple[Readings, Records]:
        """Return the scores of the classifier's own validation records by many decisions, and the records.

        Parameters
        ----------
        decisions : sequence of Decision

        Returns
        -------
        readings : Readings
            Out-of-bag, each record is read by the members that were not trained on it; one that all were trained on
            has no score (``readings.known``).
        records : Records
        """
        check_is_fitted(self)
        if self.validation_ is None:
            raise DecisionError(NO_RECORDS)
        return self._validation_readings(self._reader(decisions)), self.validation_.records

    def evaluate(
        self,
        decisions: Sequence[Decision],
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        cuts: Sequence[Cut] | None = None,
    ) -> Evaluation:
        """Return scores, outcomes and thresholds of records by many decisions: nothing is trained again.

        Parameters
        ----------
        decisions : sequence of Decision
            `stakes.decisions_for` lists all that make sense.
        {X}
        {costs_as_in_predict}
        cuts : sequence of Cut, default=None
            Calibration and threshold of each decision, of `stakes.decision.cuts.fit_cuts`; by default they are chosen
            on the classifier's own validation records.

        Returns
        -------
        evaluation : Evaluation
            `outcomes` has a row for each decision; `scores` and `thresholds` an entry.

        Examples
        --------
        >>> from stakes import CostBaggingClassifier, decisions_for
        >>> from stakes.datasets import make_churn
        >>> data = make_churn(500, random_state=0)
        >>> forest = CostBaggingClassifier(n_estimators=10, random_state=0)
        >>> forest = forest.fit(data.frame, data.target, fp_cost=1, fn_cost=5)
        >>> decisions = [option.decision for option in decisions_for(forest)]
        >>> forest.evaluate(decisions, data.frame).outcomes.shape == (len(decisions), 500)
        True
        """
        check_is_fitted(self)
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        reader = self._reader(decisions)
        if cuts is None:
            cuts = self._own_cuts(decisions, reader)
        readings, costs = self._read_by(reader, X, given, needed=any(cut.threshold.needs_costs for cut in cuts))
        return apply_cuts(cuts, readings, costs)

    def with_decision(
        self,
        decision: Decision | None,
        *,
        cut: Cut | None = None,
        max_fpr: float | None = None,
        max_acted: float | None = None,
    ) -> Self:
        """Return the same trained members with another decision: nothing is trained again.

        Parameters
        ----------
        decision : Decision or None
            None is the default decision of the ensemble.
        cut : Cut, default=None
            Calibration and threshold of this decision, chosen elsewhere, such as on out-of-fold scores; by default
            they are chosen on the classifier's own validation records.
        max_fpr, max_acted : float, default=None
            Tune thresholds so that on the validation records the false positive rate, or the share of positive
            outcomes, is at most this.

        Returns
        -------
        classifier
            A fitted classifier that shares its members with this one.
        """
        check_is_fitted(self)
        for name, limit in (("max_fpr", max_fpr), ("max_acted", max_acted)):
            if limit is not None and (cut is not None or decision is None or not decision.tunes_threshold):
                raise DecisionError(f"{name} limits a tuned threshold: choose a decision with threshold='tuned'")
            if limit is not None and not 0 < limit <= 1:
                raise DecisionError(f"{name}={limit!r} is not a share above 0 and up to 1")
        if cut is not None and (decision is None or self._settled(cut.decision) != self._settled(decision)):
            raise DecisionError(f"cut= was chosen for {cut.decision!r}, and not for {decision!r}")
        other = copy.copy(self)
        other.decision = decision
        other._check_parameters()
        other._decide_by(decision, cut, max_fpr=max_fpr, max_acted=max_acted)
        return other

    def _settled(self, decision: Decision) -> Decision:
        """Return a decision with the output that members have by default, where it does not say."""
        return replace(decision, output=decision.output or self.votes_.output)

    def _read_by(
        self,
        reader: Reader,
        X: Any,
        given: dict[str, Any],
        *,
        needed: bool,
        metadata: Mapping[str, Any] = NO_METADATA,
    ) -> tuple[Readings, Costs | None]:
        """Return the scores of records, and their costs, which must be known where they are `needed`."""
        features = self._read(X, reset=False)
        n = features.shape[0] if hasattr(features, "shape") else len(features)
        costs = self._costs_of(X, n, given, needed=needed or reader.needs_costs)
        return self._readings(reader, features, costs, metadata), costs

    def _readings(
        self, reader: Reader, features: Any, costs: Costs | None, metadata: Mapping[str, Any] = NO_METADATA
    ) -> Readings:
        """Return the scores of records, whose features are in the form that the members take."""
        members, n_threads = self.members_, self._n_threads
        means = reader.read_mean(members, features, n_threads) if isinstance(members, TreeMembers) else None
        if means is not None:
            return means
        assignment = members.assign(features, n_threads, reader.members, metadata)
        return reader.read(assignment, costs, n_threads=n_threads)

    def _contributions(
        self, X: Any, given: dict[str, Any], sampling: Sampling | None
    ) -> tuple[Contributions | None, Costs | None]:
        features, reader, cut = self._read(X, reset=False), self.reader_, self.cut_
        costs = self._costs_to_explain(X, X.shape[0], given, needed=reader.needs_costs)
        members, n_features = self.members_, self.n_features_in_
        if isinstance(members, TreeMembers):
            options = {"n_features": n_features, "n_threads": self._n_threads}
            return tree_contributions(members, reader, cut, features, costs, **options), costs

        def score(mixed: Any, rows: NDArray[np.intp]) -> Floats:
            return cut.scores(self._readings(reader, mixed, None if costs is None else costs[rows]))

        if cut.decision.output == "average":
            found = mean_contributions(members, features, n_features)
            if found is not None:
                return found.through(cut.calibration), costs
        if sampling is None:
            return None, costs
        return sampled_contributions(score, features, known_background(self.background_, self), sampling), costs

    def _predict(self, X: Any, given: dict[str, Any], metadata: dict[str, Any]) -> NDArray[Any]:
        asked = self._metadata("predict", metadata)
        readings, costs = self._read_by(self.reader_, X, given, needed=self.cut_.threshold.needs_costs, metadata=asked)
        return self._decode(self.cut_.outcomes(readings, costs))

    def _predict_proba(self, X: Any, given: dict[str, Any], metadata: dict[str, Any]) -> Floats:
        asked = self._metadata("predict_proba", metadata)
        return self._shares(self.cut_.scores(self._read_by(self.reader_, X, given, needed=False, metadata=asked)[0]))

    def _shares(self, score: Floats) -> Floats:
        """Return scores as shares of both classes, in the order of `classes_`."""
        columns = (1.0 - score, score) if self._positive == 1 else (score, 1.0 - score)
        return np.column_stack(columns)
