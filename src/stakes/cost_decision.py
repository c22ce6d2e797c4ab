"""Any classifier, decided by costs: calibrate its probability, then compare it with a threshold (FRAMEWORK 2)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import check_features
from stakes._docs import documented
from stakes._fitting import fit_model, takes
from stakes._member_classifier import CONSTRAINTS, MemberClassifier, ValidationRecords
from stakes._members import ModelMembers
from stakes._random import seeded
from stakes._typing import Bools
from stakes._validation import boolean, choice, classifier
from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.decision import Decision
from stakes.decision.reader import Votes
from stakes.decision.threshold_rules import THRESHOLDS
from stakes.exceptions import DecisionError
from stakes.records import Records
from stakes.table import is_documents

__all__ = ["CostDecisionClassifier"]

# What scikit-learn calls Platt scaling.
SIGMOID = "sigmoid"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostDecisionClassifier(MemberClassifier):
    """Direct minimum expected cost classification with any scikit-learn compatible classifier.

    Parameters
    ----------
    estimator : classifier
        Anything with `fit` and `predict_proba`: logistic regression, gradient boosting, LightGBM, XGBoost, or a
        pipeline, also of texts or dicts.
    calibration : {"sigmoid", "platt_logit", "isotonic", "logistic_bounded"}, default=None
        How the probability is calibrated on validation records; "platt" is another name for "sigmoid".
    threshold : {"cost", "scaled", "tuned", "half"}, default=None
        Positive iff the probability is above the record's T_cs; above T_cs with its odds times the factor that was
        cheapest on validation records; above the threshold that was; or above 0.5. None is "cost", or "half" where the
        records were weighted and the probability is not calibrated.
    weighted : bool, default=False
        Train with each record weighted by its cost (FRAMEWORK 4): the probability then contains the costs already.
        Calibration takes them out again, and leaves them to the threshold.
    prefit : bool, default=False
        Take the estimator as it is: it was trained elsewhere, and the records given to fit serve to calibrate and tune.
    {validation}
    {costs_and_label}
    random_state : int, Generator, RandomState or None, default=None
        Seed of the records held out, and of the estimator and the models inside it that have none.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    estimator_ : classifier
        The fitted estimator.
    {decision_in_force}

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from stakes import CostDecisionClassifier
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(4000, random_state=0)
    >>> clf = CostDecisionClassifier(HistGradientBoostingClassifier(), calibration="isotonic", random_state=0)
    >>> clf = clf.fit(data.frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)
    >>> labels = clf.predict(data.frame, fp_cost=5.0, fn_cost=data.costs.fn)
    """

    estimator: Any = field(default=None, kw_only=False)
    calibration: str | None = None
    threshold: str | None = None
    weighted: bool = False
    prefit: bool = False
    validation: float | str | None = "auto"

    n_jobs = None
    _constraints = {  # noqa: RUF012
        "estimator": classifier(),
        "calibration": choice(None, SIGMOID, *CALIBRATIONS),
        "threshold": choice(None, *THRESHOLDS),
        "weighted": boolean(),
        "prefit": boolean(),
        "validation": CONSTRAINTS["validation"],
    }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _asked(self) -> Decision:
        calibration = "platt" if self.calibration == SIGMOID else self.calibration
        threshold = self.threshold or ("half" if self.weighted and calibration is None else "cost")
        return Decision(output="average", calibration=calibration, threshold=threshold)

    def _ask(self, decision: Decision | None) -> None:
        decision = decision or self._default_decision()
        self.calibration, self.threshold = decision.calibration, decision.threshold

    # Two parameters say here what is one in other classifiers.
    decision = property(_asked, _ask)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.weighted and (self.prefit or not takes(self.estimator, "sample_weight")):
            raise ValueError(
                "weighted=True trains with sample_weight, which "
                + ("a prefit estimator cannot" if self.prefit else f"{self.estimator!r} does not take")
            )

        if self.weighted and self.calibration is not None and self.threshold == "half":
            raise DecisionError(
                "weighted=True puts the costs into the probability, and calibration= takes them out again: with "
                "threshold='half' they count nowhere. Choose threshold='cost', 'scaled' or 'tuned'"
            )

    def _needs_validation(self, positive: Bools) -> bool:
        # What a prefit estimator is shown in fit are validation records.
        return not self.prefit and super()._needs_validation(positive)

    def _read(self, X: Any, *, reset: bool) -> Any:
        # Texts and dicts are for the estimator to make features of.
        return X if is_documents(X) else check_features(self, X, reset=reset)

    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        if self.prefit:
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
        else:
            weight = records.cost_weight() if self.weighted else records.weight
            records_as_given = replace(records, X=X, weight=weight)
            self.estimator_ = fit_model(seeded(self.estimator, rng), records_as_given, self._class_labels)
        self.members_ = ModelMembers([self.estimator_], self.classes_[self._positive])
        self.votes_ = Votes(voting=False)
        self.default_decision_ = self._default_decision()
        return ValidationRecords(records) if self.prefit else None

    def _default_decision(self) -> Decision:
        return Decision(output="average", threshold="half" if self.weighted else "cost")
