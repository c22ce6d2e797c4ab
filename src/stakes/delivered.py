"""The model that a study delivers: labels as in the file, columns in any order, and probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from stakes._acquisition import AcquisitionMixin
from stakes._dates import with_parts
from stakes._estimation import ForeseenCost
from stakes._typing import Bools, Floats
from stakes.costs import Costs
from stakes.decision.calibration import Calibration
from stakes.decision.decision import Decision
from stakes.decision.thresholds import positives
from stakes.explain.contributions import Contributions
from stakes.explain.explanation import ExplainMixin
from stakes.explain.permutations import Sampling

__all__ = ["Decided", "DeliveredClassifier"]


class Decided(NamedTuple):
    """What was decided on some records, and why."""

    positive: Bools  # iff the score is above the threshold
    score: Floats
    threshold: Floats
    probability: Floats  # of the positive class


@dataclass(eq=False, repr=False)
class DeliveredClassifier(AcquisitionMixin, ExplainMixin, ClassifierMixin, BaseEstimator):
    """A trained model of a study, ready for new records.

    All else that is to be known of the trained model, its `model` tells: by columns in the order of `features`, and the
    classes 0 and 1.

    Parameters
    ----------
    model : classifier
        Trained on the classes 0 and 1, with its decision. It remembers the costs that are the same for all records,
        and needs to be given the others wherever its decision goes by them.
    labels : sequence of two labels
        The negative and the positive class, as in the file.
    features : sequence of str
        The columns that the model was trained on, in their order.
    probability : Calibration, default=None
        What makes a probability of the model's score, where the score is none.
    foreseen_costs : mapping of "fp_cost" and "fn_cost" to ForeseenCost, default=None
        Costs by columns that are known only afterwards: what is not given is estimated.
    feature_costs : mapping, default=None
        The prices of features, where the study had some.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Both labels, in increasing order.
    pos_label_ : label
        The positive class.

    Examples
    --------
    >>> from stakes import CostBaggingClassifier
    >>> from stakes.datasets import make_churn
    >>> from stakes.delivered import DeliveredClassifier
    >>> data = make_churn(500, random_state=0)
    >>> forest = CostBaggingClassifier(n_estimators=10, random_state=0)
    >>> forest = forest.fit(data.frame, data.target, fp_cost=1, fn_cost=5)
    >>> model = DeliveredClassifier(forest, ("stays", "leaves"), data.frame.columns)
    >>> sorted(set(model.predict(data.frame[:, ::-1]).tolist()))
    ['leaves', 'stays']
    """

    model: Any = None
    labels: Any = (0, 1)
    features: Any = ()
    probability: Calibration | None = None
    foreseen_costs: Mapping[str, ForeseenCost] | None = None
    feature_costs: Mapping[str, Any] | None = None

    def fit(self, X: Any, y: Any, **given: Any) -> NoReturn:
        """Raise an error: it is trained already."""
        raise TypeError("a delivered model is trained already: fit its `model`, or run the study again")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self.model, "cut_")

    def with_decision(self, decision: Decision | None, **options: Any) -> DeliveredClassifier:
        """Return the same model with another decision; parameters as in `with_decision` of its `model`.

        What makes a probability of its score is kept where the score is the same: if only the threshold is another.
        """
        check_is_fitted(self)
        model = self.model.with_decision(decision, **options)
        before, after = (replace(each.cut_.decision, threshold="half") for each in (self.model, model))
        return replace(self, model=model, probability=self.probability if before == after else None)

    @property
    def feature_importances_(self) -> Floats:
        """Those of the model, if it has some."""
        importances: Floats = self.model.feature_importances_
        return importances

    @property
    def classes_(self) -> NDArray[Any]:
        """Both labels, in increasing order."""
        return np.sort(list(self.labels))

    @property
    def pos_label_(self) -> Any:
        """The positive class, which may be the smaller label."""
        return self.labels[1]

    @property
    def _positive(self) -> int:
        return int(self.classes_[1] == self.pos_label_)

    @property
    def needs_costs_(self) -> bool:
        """Whether `predict` goes by the costs of the records to be decided on."""
        check_is_fitted(self)
        return bool(self.model.needs_costs_)

    @property
    def n_features_in_(self) -> int:
        """How many columns are needed."""
        return len(self.features)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns that are needed."""
        return np.array(list(self.features), dtype=object)

    def decide(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Decided:
        """Decide on records, and tell by which scores, thresholds and probabilities.

        Parameters
        ----------
        X : data frame of shape (n_records, n_columns)
            With all features, in any order; other columns are ignored. Or an array of the features in their order.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            The costs of these records. Those that are the same for all records are known from the study, and those
            by columns that are known only afterwards are estimated.

        Returns
        -------
        decided : Decided
        """
        check_is_fitted(self)
        given = self._costs(X, {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost})
        found = self.model.evaluate([self.model.cut_.decision], self._columns(X), **given, cuts=[self.model.cut_])
        score = found.scores[0]
        threshold = np.broadcast_to(np.asarray(found.thresholds[0], dtype=np.float64), score.shape)
        return Decided(found.outcomes[0], score, threshold, self._probability(score))

    def foresee(self, name: str, X: Any, *, formula: str | None = None, first_record: int = 1) -> Floats:
        """Return a cost of each record by the estimates of columns that are known only afterwards.

        Parameters
        ----------
        name : {"fp_cost", "fn_cost"}
        X : data frame
            With all features, and the other columns of the formula.
        formula : str, default=None
            Another one than that of the study.
        first_record : int, default=1
            What errors call the first record.
        """
        cost = (self.foreseen_costs or {})[name]
        cost = cost if formula is None else replace(cost, formula=formula)
        frame = pl.DataFrame({column: nw.from_native(X, eager_only=True)[column].to_numpy() for column in cost.columns})
        return cost(self._columns(X), frame, first_record=first_record)

    def _costs(self, X: Any, given: dict[str, ArrayLike | None]) -> dict[str, ArrayLike | None]:
        """Return costs as they are given, or estimated."""
        unknown = [name for name in self.foreseen_costs or () if given[name] is None]
        return given | {name: self.foresee(name, X) for name in unknown}

    def _features(self, X: Any) -> Any:
        return super()._features(self._columns(X))

    def features_used(self, X: Any) -> Bools:
        """Return which features a decision on each record asks for, of shape (n_records, n_features)."""
        check_is_fitted(self)
        return np.asarray(self.model.features_used(self._columns(X)))

    @property
    def feature_costs_(self) -> Any:
        """The prices of features; None where there are none."""
        return getattr(self.model, "feature_costs_", None) if self.feature_costs is None else self.feature_costs

    def acquisition_cost(self, X: Any, *, feature_costs: Any = None, values: str = "known") -> Floats:
        """Return what is paid for the features of each record; parameters as in `CostTreeClassifier`."""
        return super().acquisition_cost(self._columns(X), feature_costs=feature_costs, values=values)

    def _contributions(
        self, X: Any, given: dict[str, Any], sampling: Sampling | None
    ) -> tuple[Contributions | None, Costs | None]:
        found, costs = self.model._contributions(X, given, sampling)
        return found if found is None else found.through(self.probability), costs

    def _probability(self, score: Floats) -> Floats:
        return score if self.probability is None else self.probability(score)

    def _columns(self, X: Any) -> Any:
        """Return the features of a data frame in the order of training; arrays as they are."""
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return X
        frame = with_parts(frame, self.features)
        missing = [name for name in self.features if name not in frame.columns]
        if missing:
            raise ValueError(f"X lacks the column {missing[0]!r}: the model needs {', '.join(map(str, self.features))}")
        return frame.select(list(self.features)).to_native()

    def predict(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return the label that each record is taken for; parameters as in `decide`."""
        decided = self.decide(X, fp_cost=fp_cost, fn_cost=fn_cost, tp_cost=tp_cost, tn_cost=tn_cost)
        negative, positive = self.labels
        return np.where(decided.positive, positive, negative)

    def predict_proba(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> Floats:
        """Return the probability of each class, in the order of `classes_`; parameters as in `decide`.

        Costs are needed only where the members of the model vote by them.
        """
        check_is_fitted(self)
        given = self._costs(X, {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost})
        scores = self.model.predict_proba(self._columns(X), **given)
        p = self._probability(scores[:, list(self.model.classes_).index(1)])
        return np.column_stack((1.0 - p, p) if self._positive else (p, 1.0 - p))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
    ) -> float:
        """Return the savings: 1 - cost / the cheaper of all-negative and all-positive decisions.

        What records pay for features with prices counts as cost.
        """
        (positive,) = positives(self.labels[1], y=y)
        predicted = self.predict(X, fp_cost=fp_cost, fn_cost=fn_cost) == self.labels[1]
        given = self._costs(X, {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": None, "tn_cost": None})
        paid = 0.0 if self.feature_costs_ is None else self.acquisition_cost(X)
        return self.model._savings(
            self._columns(X), positive.astype(int), predicted.astype(int), sample_weight, given, paid
        )
