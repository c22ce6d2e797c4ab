"""The door of all classifiers: labels of two classes and costs come in, labels and money go out."""

from __future__ import annotations

import sys
import warnings
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from stakes._acquisition import AcquisitionMixin
from stakes._docs import documented
from stakes._estimation import estimate_costs, estimated_cost
from stakes._routing import RoutesMetadata
from stakes._typing import Bools
from stakes._validation import Constraint, check_value
from stakes.costs import Costs, check_costs
from stakes.exceptions import CostsNeededError, NoEffectWarning
from stakes.explain.explanation import ExplainMixin
from stakes.metrics import savings_score
from stakes.metrics.bill import COST_NAMES
from stakes.table import check_not_empty, check_table

__all__ = ["COST_NAMES", "CostClassifier", "check_features"]

# Where warnings of unused costs came from. Python's own memory of this is cleared whenever filters change, and they do
# whenever scikit-learn checks an array.
_LINES_WARNED: set[tuple[str, int]] = set()

_COSTS_REQUESTED = dict.fromkeys(COST_NAMES, True)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostClassifier(RoutesMetadata, AcquisitionMixin, ExplainMixin, ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all classifiers: labels and costs in, labels and money out.

    All have the parameters below. A subclass declares what its others may be.
    """

    fp_cost: float = 1.0
    fn_cost: float = 1.0
    cost_estimator: Any = None
    pos_label: Any = None
    random_state: Any = None
    _constraints = dict[str, Constraint]()  # noqa: RUF012

    # Costs passed through a pipeline or a search are meant for the classifier unless it is told otherwise.
    __metadata_request__fit = _COSTS_REQUESTED
    __metadata_request__predict = _COSTS_REQUESTED
    __metadata_request__predict_proba = _COSTS_REQUESTED
    __metadata_request__predict_log_proba = _COSTS_REQUESTED
    __metadata_request__decision_function = _COSTS_REQUESTED
    __metadata_request__score = _COSTS_REQUESTED

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def n_classes_(self) -> int:
        """The number of classes: two."""
        check_is_fitted(self)
        return self.classes_.size

    @property
    def _positive(self) -> int:
        """The position of the positive class in `classes_`: that of the last fit, whatever the parameter is now."""
        positive = vars(self).get("pos_label_", self.pos_label)
        return 1 if positive is None else int(np.flatnonzero(self.classes_ == positive)[0])

    def _check_parameters(self) -> None:
        """Raise an error where a parameter is not what it may be."""
        for name, constraint in self._constraints.items():
            check_value(name, getattr(self, name), constraint)

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
        self.pos_label_ = self.classes_[1] if self.pos_label is None else self.pos_label
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

    @property
    def _class_labels(self) -> NDArray[Any]:
        """The labels of negatives and positives."""
        return self._decode(np.array([False, True]))

    def _decode(self, positive: Bools) -> NDArray[Any]:
        return np.where(positive, self.classes_[self._positive], self.classes_[1 - self._positive])

    def _learn_costs(
        self, X: Any, n: int, given: dict[str, Any], rng: np.random.Generator
    ) -> tuple[Costs, Costs | None]:
        """Return the costs to train by, and what will be known of them when deciding, where that is an estimate.

        What can be remembered of them for `predict` is kept.
        """
        for name, default in (("fp_cost", self.fp_cost), ("fn_cost", self.fn_cost), ("tp_cost", 0.0), ("tn_cost", 0.0)):
            if given[name] is None:
                given[name] = default
        self.cost_estimators_, known = dict[str, Any](), dict[str, Any]()
        if self.cost_estimator is not None:
            given, known, self.cost_estimators_ = estimate_costs(self.cost_estimator, X, n, given, rng.spawn(1)[0])
        costs = _costs(given).for_records(n)
        self.constant_costs_ = {name: float(value) for name, value in given.items() if np.ndim(value) == 0}
        return costs, _costs(given | known) if known else None

    def _matrix_of(self, X: Any, given: dict[str, Any], *, needed: bool) -> dict[str, Any]:
        """Return those of the four costs of records that are known: as given, as remembered, or as estimated."""
        found: dict[str, Any] = {}
        for name in COST_NAMES:
            if given[name] is not None:
                found[name] = given[name]
            elif name in self.constant_costs_:
                found[name] = self.constant_costs_[name]
            elif name in self.cost_estimators_:
                if needed:
                    found[name] = estimated_cost(self.cost_estimators_[name], X)
            elif needed:
                raise CostsNeededError(
                    f"{type(self).__name__} decides by the costs of each record, and {name} was different for each "
                    f"record in fit: pass {name}= along with X; or fit with a cost_estimator=, which predicts it; or "
                    "give a constant; or choose a decision that needs no costs, such as Decision(threshold='tuned'). "
                    "Scorers of scikit-learn pass no costs to predict: write make_cost_scorer(f1_score) for 'f1'"
                )
        return found

    def _costs_of(self, X: Any, n: int, given: dict[str, Any], *, needed: bool) -> Costs | None:
        """Return the costs of records to be predicted, None where they are neither known nor needed."""
        found = self._matrix_of(X, given, needed=needed)
        return _costs(found).for_records(n) if len(found) == len(COST_NAMES) else None

    def _costs_to_explain(self, X: Any, n: int, given: dict[str, Any], *, needed: bool) -> Costs | None:
        """Return the costs of records, estimated where they can be; None where they are neither known nor needed."""
        try:
            return self._costs_of(X, n, given, needed=True)
        except CostsNeededError:
            if needed:
                raise
            return None

    def predict(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        **metadata: Any,
    ) -> NDArray[Any]:
        """Decide on records.

        Parameters
        ----------
        {X}
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            The costs of these records. What was constant in fit is remembered, and can be overruled: members are
            not trained again. What differs from record to record must be given where the decision needs it. Where it
            goes by none (`needs_costs_`), they have no effect, and a `NoEffectWarning` says so.
        {metadata}

        Returns
        -------
        labels : ndarray of shape (n_records,)
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        check_is_fitted(self)
        self._warn_of_unused_costs(given)
        return self._predict(X, given, metadata)

    def predict_proba(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        **metadata: Any,
    ) -> NDArray[np.float64]:
        """Return the score that decides, as the share of each class: a probability, or a share of votes.

        Parameters
        ----------
        {X}
        {costs_to_vote}
        {metadata}

        Returns
        -------
        shares : ndarray of shape (n_records, 2)
            In the order of `classes_`.
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        check_is_fitted(self)
        return self._predict_proba(X, given, metadata)

    @abstractmethod
    def _predict(self, X: Any, given: dict[str, Any], metadata: dict[str, Any]) -> NDArray[Any]:
        """Return the labels that are decided on; `given` has the four costs."""

    @abstractmethod
    def _predict_proba(self, X: Any, given: dict[str, Any], metadata: dict[str, Any]) -> NDArray[np.float64]:
        """Return what `predict_proba` does."""

    def predict_log_proba(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        **metadata: Any,
    ) -> NDArray[np.float64]:
        """Return the logarithms of what `predict_proba` returns, minus infinity for 0.

        Parameters
        ----------
        {X}
        fp_cost, fn_cost, tp_cost, tn_cost, **metadata
            As in `predict_proba`.

        Returns
        -------
        logarithms : ndarray of shape (n_records, 2)
        """
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        shares = self.predict_proba(X, **given, **metadata)
        with np.errstate(divide="ignore"):
            return np.log(shares)

    @property
    @abstractmethod
    def needs_costs_(self) -> bool:
        """Whether `predict` goes by the costs of the records to be decided on."""

    def _warn_of_unused_costs(self, given: dict[str, Any]) -> None:
        """Warn, once for each line that calls `predict`, of costs that it was given and does not go by."""
        names = [name for name, cost in given.items() if cost is not None]
        if not names or self.needs_costs_:
            return
        caller = sys._getframe(2)
        line = caller.f_code.co_filename, caller.f_lineno
        if line not in _LINES_WARNED:
            warnings.warn(
                f"{' and '.join(names)} {'have' if len(names) > 1 else 'has'} no effect on these decisions: this "
                f"{type(self).__name__} does not go by the costs of records (needs_costs_ is False). Leave them out, "
                "or choose a decision that goes by them; costs that act in training need another fit",
                NoEffectWarning,
                stacklevel=3,
            )
            _LINES_WARNED.add(line)

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

        Where the classifier has prices of features, what records pay for them counts as cost.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_records,)
            True labels.
        {sample_weight}
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            Costs of the records; what was constant in fit need not be given.

        Returns
        -------
        savings : float
            At most 1; 0 is no better than deciding all records alike.
        """
        check_is_fitted(self)
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        return self._savings(X, y, self.predict(X, **(given if self.needs_costs_ else {})), sample_weight, given)

    def _savings(
        self, X: Any, y: Any, predicted: Any, sample_weight: ArrayLike | None, given: dict[str, Any], paid: Any = None
    ) -> float:
        """Return the savings of labels that were predicted; `paid` is what features cost, where that is known."""
        if paid is None:
            paid = 0.0 if self.feature_costs_ is None else self.acquisition_cost(X)
        matrix = self._matrix_of(X, given, needed=True)
        _costs(matrix)  # the checks of the front door
        fp, fn, tp, tn = check_costs(len(predicted), "X", **matrix)
        return savings_score(
            self._is_positive(y).astype(int),
            (predicted == self.classes_[self._positive]).astype(int),
            fp_cost=fp - tn,
            fn_cost=fn - tp,
            acquisition_cost=paid,
            sample_weight=sample_weight,
        )


def _kind_of_labels(labels: NDArray[Any]) -> str:
    """Return whether labels are "binary" or "multiclass"; raise an error if they are neither, or not known."""
    if labels.dtype.kind == "O" and (types := {type(label) for label in labels}) - {str} and len(types) > 1:
        named = ", ".join(sorted(kind.__name__ for kind in types))
        raise TypeError(
            f"y has labels of different types, or missing ones ({named}): give all records labels of one type"
        )
    # Infinite and huge labels are refused here: numpy's warning about comparing them with integers is not needed.
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


def _costs(given: dict[str, Any]) -> Costs:
    return Costs(**{name.removesuffix("_cost"): value for name, value in given.items()})
