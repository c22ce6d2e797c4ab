"""What all classifiers of this package share: costs come in, two classes are told apart, a decision is made."""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from stakes._rows import take_rows
from stakes._typing import Bytes
from stakes.costs import Costs
from stakes.decision.cuts import NO_RECORDS, Cut, Evaluation, apply_cuts, fit_cuts, fixed_cut
from stakes.decision.decision import Decision
from stakes.decision.reader import Reader, Votes
from stakes.decision.readings import Readings
from stakes.decision.thresholds import record_weights
from stakes.estimation import CostEstimators
from stakes.exceptions import CostsError, CostsNeededError, DecisionError
from stakes.members import LeafAssignment, ModelMembers, TreeMembers
from stakes.metrics import savings_score
from stakes.records import Records
from stakes.sampling.base import generator
from stakes.table import check_not_empty, check_table, read_table
from stakes.tree.binning import Binned, Binning

__all__ = [
    "CostClassifier",
    "MemberClassifier",
    "ValidationRecords",
    "check_classifier",
    "check_features",
    "check_n_estimators",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

COST_NAMES = ("fp_cost", "fn_cost", "tp_cost", "tn_cost")
_COSTS_REQUESTED = dict.fromkeys(COST_NAMES, True)


class ValidationRecords:
    """The records on which an ensemble's decisions are tuned, kept so that decisions can change after training.

    Parameters
    ----------
    records : Records
    seen : ndarray of shape (n_records, n_members) or None, default=None
        Which members were trained on which records, so that only the others judge them; None if all judge all.
    """

    def __init__(self, records: Records, seen: Bools | None = None) -> None:
        self.records = records
        # A bit per member and record: small enough to keep.
        self._unseen = None if seen is None else np.packbits(~seen.T, axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_assignment"}

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


class CostClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all classifiers: labels and costs in, labels and money out.

    A subclass has the parameters `fp_cost`, `fn_cost`, `pos_label` and `cost_estimator`.
    """

    # Costs passed through a pipeline or a search are meant for the classifier unless it is told otherwise.
    __metadata_request__fit = _COSTS_REQUESTED
    __metadata_request__predict = _COSTS_REQUESTED
    __metadata_request__predict_proba = _COSTS_REQUESTED
    __metadata_request__score = _COSTS_REQUESTED

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def _positive(self) -> int:
        """The position of the positive class in `classes_`."""
        return 1 if self.pos_label is None else int(np.flatnonzero(self.classes_ == self.pos_label)[0])

    def _encode(self, y: Any) -> Bools:
        """Learn the two classes, and return which records are positive."""
        labels = self._labels(y)
        if not labels.size:
            raise ValueError("Found array with 0 sample(s): y is empty, and records of both classes are needed")
        kind = _kind_of_labels(labels)
        self.classes_ = np.unique(labels)
        if self.classes_.size > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: "
                f"y has {self.classes_.size} classes; set one against the others first"
            )
        if self.classes_.size < 2:
            raise ValueError(f"y has one class only, {self.classes_.tolist()[0]!r}: records of both classes are needed")
        if self.pos_label is not None and self.pos_label not in self.classes_:
            raise ValueError(f"pos_label={self.pos_label!r} is not a class of y, which has {self.classes_.tolist()}")
        return labels == self.classes_[self._positive]

    def _labels(self, y: Any) -> NDArray[Any]:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        return column_or_1d(y, warn=True)

    def _is_positive(self, y: Any, what: str = "y") -> Bools:
        """Return which records are positive, by the classes already learnt."""
        labels = self._labels(y)
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            row = int(unknown.argmax())
            raise ValueError(
                f"{what} has labels that were not in fit: the first is {labels[row]!r} in row {row}; "
                f"the classes are {self.classes_.tolist()}"
            )
        return labels == self.classes_[self._positive]

    def _decode(self, positive: Bools) -> NDArray[Any]:
        return np.where(positive, self.classes_[self._positive], self.classes_[1 - self._positive])

    def _learn_costs(self, X: Any, n: int, **given: Any) -> Costs:
        """Return the costs to train by, and remember what can be remembered of them for `predict`."""
        for name, default in (("fp_cost", self.fp_cost), ("fn_cost", self.fn_cost), ("tp_cost", 0.0), ("tn_cost", 0.0)):
            if given[name] is None:
                given[name] = default
        self.cost_estimators_ = None
        if self.cost_estimator is not None:
            self.cost_estimators_ = CostEstimators(self.cost_estimator)
            given = self.cost_estimators_.fit(X, n, given)
        costs = _costs(given).for_records(n)
        self.constant_costs_ = {name: float(value) for name, value in given.items() if np.ndim(value) == 0}
        return costs

    def _costs_of(self, X: Any, n: int, given: dict[str, Any], *, needed: bool) -> Costs | None:
        """Return the costs of records to be predicted: as given, as remembered, or as estimated."""
        found: dict[str, Any] = {}
        for name in COST_NAMES:
            if given[name] is not None:
                found[name] = given[name]
            elif name in self.constant_costs_:
                found[name] = self.constant_costs_[name]
            elif self.cost_estimators_ is not None and name in self.cost_estimators_.fitted:
                if needed:
                    found[name] = self.cost_estimators_.predict(name, X)
            elif needed:
                raise CostsNeededError(
                    f"{type(self).__name__} decides by the costs of each record, and {name} was different for each "
                    f"record in fit: pass {name}= along with X; or fit with a cost_estimator=, which predicts it; or "
                    "give a constant; or choose a decision that needs no costs, such as Decision(threshold='tuned')"
                )
        if len(found) < len(COST_NAMES):
            return None
        return _costs(found).for_records(n)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> float:
        """Return the savings: 1 - cost / the cheaper of all-negative and all-positive decisions.

        Parameters
        ----------
        X : array-like or data frame of shape (n_records, n_features)
            Features.
        y : array-like of shape (n_records,)
            True labels.
        sample_weight : array-like of shape (n_records,), default=None
            How often each record counts.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            Costs of the records; what was constant in fit need not be given.

        Returns
        -------
        savings : float
            At most 1; 0 is no better than deciding all records alike.
        """
        check_is_fitted(self)
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        predicted = self.predict(X, **given)
        costs = self._costs_of(X, len(predicted), given, needed=True)
        assert costs is not None
        return savings_score(
            self._is_positive(y).astype(int),
            (predicted == self.classes_[self._positive]).astype(int),
            fp_cost=costs.fp,
            fn_cost=costs.fn,
            sample_weight=sample_weight,
        )


def _kind_of_labels(labels: NDArray[Any]) -> str:
    """Return whether labels are "binary" or "multiclass"; raise an error if they are neither, or not known."""
    if labels.dtype.kind == "O" and (types := {type(label) for label in labels}) - {str} and len(types) > 1:
        named = ", ".join(sorted(kind.__name__ for kind in types))
        raise TypeError(
            f"y has labels of different types, or missing ones ({named}): give all records labels of one type"
        )
    # Infinite and huge labels are refused, and numpy need not comment on how they compare with integers.
    with np.errstate(invalid="ignore"):
        kind = type_of_target(labels, input_name="y")
        if kind not in ("binary", "multiclass"):
            check_classification_targets(labels)
    return str(kind)


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the names and number of features, and return them as they are: the members read them themselves."""
    X = check_table(X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    check_not_empty(X.shape)
    return X


def check_classifier(name: str, estimator: Any) -> None:
    """Raise an error if `estimator` cannot be a classifier, or is a regressor: its numbers are taken for no label."""
    is_none = isinstance(estimator, type) or not hasattr(estimator, "fit")
    if is_none or (hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)):
        raise TypeError(f"{name}={estimator!r} is not a classifier: give one with fit and predict_proba")


def check_n_estimators(n: Any) -> None:
    """Raise an error if `n` cannot be the number of members of an ensemble."""
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n_estimators={n!r} is not valid: give a whole number of at least 1")


def _costs(given: dict[str, Any]) -> Costs:
    return Costs(**{name.removesuffix("_cost"): value for name, value in given.items()})


class MemberClassifier(CostClassifier):
    """Base of trees and ensembles: members, made once in `fit`, and a decision, which may change.

    A subclass says how members are made (`_train`), how they vote where the decision does not say (`votes_`), and
    which decision goes with them by default (`_default_decision`). It has the parameters `decision`, `validation`,
    `n_jobs` and `random_state`.
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return the features in the form that the members take."""

    @abstractmethod
    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        """Make `members_`; return validation records of its own making (out-of-bag), if there are any.

        `X` has the features of the records as they came.
        """

    @property
    @abstractmethod
    def votes_(self) -> Votes:
        """How the members vote where a decision does not say."""

    @abstractmethod
    def _default_decision(self) -> Decision:
        """Return the decision that `decision=None` stands for."""

    def _bin(self, X: Any, max_bins: int, *, reset: bool) -> Bytes:
        """Return the bins of the features, by a binning that is learnt where `reset` says so."""
        if isinstance(X, Binned):
            validate_data(self, X.X, reset=reset, skip_check_array=True)
            if reset:
                self.binning_ = X.binning
            elif X.binning is not self.binning_:
                raise ValueError("X was binned in another way than the training records: bin it by the same Binning")
            return X.bins
        table = read_table(self, X, reset=reset)
        if reset:
            self.binning_ = Binning(max_bins, self._n_threads).fit(table)
        return self.binning_.transform(table)

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
    ) -> Self:
        """Train the members, and make the decision ready.

        Parameters
        ----------
        X : array-like or data frame of shape (n_records, n_features)
            Features.
        y : array-like of shape (n_records,)
            Labels, of two classes.
        fp_cost, fn_cost : float or array-like of shape (n_records,), default=None
            Cost of a false positive and of a false negative; those of the constructor by default.
        tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            Cost of a true positive and of a true negative; 0 by default.
        sample_weight : array-like of shape (n_records,), default=None
            How often each record counts.
        X_val, y_val : default=None
            Validation records to prune, calibrate and tune on, instead of those that `validation` says.
        fp_cost_val, fn_cost_val : float or array-like, default=None
            Their costs; what is constant in training need not be given.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, positive = check_table(X), self._encode(y)
        check_consistent_length(X, positive)
        n = positive.size
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        weight = None if sample_weight is None else self._weights(sample_weight, positive)
        rng = generator(self.random_state)
        rows, held_out = self._hold_out(positive, weight, explicit=X_val is not None, rng=rng)
        X_train = take_rows(X, rows) if held_out.size else X
        counted = rows if weight is None else np.flatnonzero(weight[rows])
        if counted.size < rows.size:  # zero-weight records do not shape the bins
            self._read(take_rows(X_train, counted), reset=True)
        data = self._read(X_train, reset=counted.size == rows.size)
        costs = self._learn_costs(X, n, **given)
        everything = Records(None, positive, costs, weight)
        train = (everything.take(rows) if held_out.size else everything).with_features(data)
        for_validation = {"y_val": y_val, "fp_cost_val": fp_cost_val, "fn_cost_val": fn_cost_val}
        validation = None
        if X_val is None and (alone := [name for name, value in for_validation.items() if value is not None]):
            raise ValueError(f"{alone[0]} was given without X_val")
        if X_val is not None:
            validation = self._explicit_validation(X_val, y_val, fp_cost_val, fn_cost_val)
        elif held_out.size:
            features = self._read(take_rows(X, held_out), reset=False)
            validation = ValidationRecords(everything.take(held_out).with_features(features))
        self.validation_ = validation
        made = self._train(train, X_train.X if isinstance(X_train, Binned) else X_train, rng)
        if self.validation_ is None:
            self.validation_ = ValidationRecords(train) if self.validation is None else made
        self._decide_by(self._asked())
        return self

    def _asked(self) -> Decision | None:
        """Return the decision that the parameters ask for."""
        return self.decision

    def _ask(self, decision: Decision | None) -> None:
        """Set the parameters so that they ask for a decision."""
        self.decision = decision

    def _check_parameters(self) -> None:
        decision = self._asked()
        if decision is not None and not isinstance(decision, Decision):
            raise DecisionError(f"decision={decision!r} is not a Decision: write Decision(...), or None")
        allowed = self._validations()
        is_fraction = isinstance(self.validation, float | np.floating) and 0 < self.validation < 1
        if not is_fraction and self.validation not in allowed:
            raise ValueError(
                f"validation={self.validation!r} is not known: choose a fraction between 0 and 1, or one of {allowed}"
            )

    def _validations(self) -> tuple[str | None, ...]:
        return ("auto", None)

    def _weights(self, sample_weight: ArrayLike, positive: Bools) -> Floats:
        weight = record_weights(sample_weight, positive.size, "X")
        for of_class, name in ((positive, "positive"), (~positive, "negative")):
            if not weight[of_class].sum() > 0:
                raise ValueError(f"sample_weight is zero for all records of the {name} class: both are needed")
        return weight

    def _needs_validation(self) -> bool:
        """Whether records must be held out when it is left to the classifier."""
        decision = self._asked()
        return decision is not None and decision.needs_validation

    def _hold_out(
        self, positive: Bools, weight: Floats | None, *, explicit: bool, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows to train on and the rows to hold out; those that do not count are in neither part."""
        everyone, none = np.arange(positive.size), np.empty(0, np.intp)
        share = self.validation
        if share == "auto":
            share = 0.2 if self._needs_validation() else None
        if explicit or not isinstance(share, float | np.floating):
            return everyone, none
        counted = everyone if weight is None else np.flatnonzero(weight)
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
        return ValidationRecords(Records(features, positive, costs))

    def _decide_by(self, decision: Decision | None, cut: Cut | None = None, **limits: float | None) -> None:
        self.decision_ = self._default_decision() if decision is None else decision
        settled = replace(self.decision_, output=self.decision_.output or self.votes_.output)
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
        if reader.needs_records:
            if validation is None:
                raise DecisionError(NO_RECORDS)
            reader.fit(validation.assignment(self.members_, self._n_threads), validation.records, validation.out_of_bag)
        return reader

    def _own_cuts(
        self,
        decisions: Sequence[Decision],
        reader: Reader,
        max_fpr: float | None = None,
        max_acted: float | None = None,
    ) -> list[Cut]:
        """Return the cuts chosen on the classifier's own validation records."""
        if self.validation_ is None or not any(decision.tunes_cut for decision in decisions):
            return [fixed_cut(decision) for decision in decisions]
        readings = self._validation_readings(reader)
        return fit_cuts(decisions, readings, self.validation_.records, max_fpr=max_fpr, max_acted=max_acted)

    def _validation_readings(self, reader: Reader) -> Readings:
        assert self.validation_ is not None
        return reader.read(
            self.validation_.assignment(self.members_, self._n_threads),
            self.validation_.records.known,
            out_of_bag=self.validation_.out_of_bag,
            n_threads=self._n_threads,
        )

    @property
    def needs_costs_(self) -> bool:
        """Whether the decision in force needs the costs of the records to be decided on."""
        check_is_fitted(self)
        return self.reader_.needs_costs or self.cut_.threshold.needs_costs

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
        X : array-like or data frame of shape (n_records, n_features)
            Features.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            The costs of these records, needed only where members vote by them.
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
        X : array-like or data frame of shape (n_records, n_features)
            Features.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            The costs of these records, as in `predict`.
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
        if cut is not None and (decision is None or not self._is_for(cut, decision)):
            raise DecisionError(f"cut= was chosen for {cut.decision!r}, and not for {decision!r}")
        other = copy.copy(self)
        other._ask(decision)
        other._check_parameters()
        other._decide_by(decision, cut, max_fpr=max_fpr, max_acted=max_acted)
        return other

    def _is_for(self, cut: Cut, decision: Decision) -> bool:
        output = self.votes_.output
        return replace(cut.decision, output=cut.decision.output or output) == replace(
            decision, output=decision.output or output
        )

    def _read_by(self, reader: Reader, X: Any, given: dict[str, Any], *, needed: bool) -> tuple[Readings, Costs | None]:
        """Return the scores of records, and their costs, which must be known where they are `needed`."""
        assignment = self.members_.assign(self._read(X, reset=False), self._n_threads)
        costs = self._costs_of(X, assignment.ids.shape[0], given, needed=needed or reader.needs_costs)
        return reader.read(assignment, costs, n_threads=self._n_threads), costs

    def predict(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Decide on records.

        Parameters
        ----------
        X : array-like or data frame of shape (n_records, n_features)
            Features.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            The costs of these records. What was constant in fit is remembered, and can be overruled: members are
            not trained again. What differs from record to record must be given where the decision needs it.

        Returns
        -------
        labels : ndarray of shape (n_records,)
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        check_is_fitted(self)
        readings, costs = self._read_by(self.reader_, X, given, needed=self.cut_.threshold.needs_costs)
        return self._decode(self.cut_.outcomes(readings, costs))

    def predict_proba(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Floats:
        """Return the score that decides, as the share of each class: a probability, or a share of votes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_records, n_features)
            Features.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            The costs of these records, needed only where members vote by them.

        Returns
        -------
        shares : ndarray of shape (n_records, 2)
            In the order of `classes_`.
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        check_is_fitted(self)
        score = self.cut_.scores(self._read_by(self.reader_, X, given, needed=False)[0])
        columns = (1.0 - score, score) if self._positive == 1 else (score, 1.0 - score)
        return np.column_stack(columns)
