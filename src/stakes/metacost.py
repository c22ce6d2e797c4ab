"""MetaCost: one readable model, taught by a cost-sensitive one (FRAMEWORK 8.4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags, check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes._base import COST_NAMES, CostClassifier, check_features
from stakes._docs import documented
from stakes._fitting import fit_model
from stakes._members import features_used
from stakes._random import generator, seeded
from stakes._routing import Route
from stakes._typing import Bools, Floats
from stakes._validation import classifier
from stakes.bagging import CostBaggingClassifier
from stakes.cost_tree import CostTreeClassifier
from stakes.costs import Costs
from stakes.decision.cuts import Cut
from stakes.decision.decision import Decision
from stakes.decision.threshold_rules import Tuned
from stakes.explain.contributions import Contributions
from stakes.explain.models import contributions_of
from stakes.explain.permutations import Sampling, background_of
from stakes.records import Records

__all__ = ["MetaCostClassifier", "clear_threshold", "small_tree"]

# Teachers without out-of-bag records relabel the records of this many folds.
FOLDS = 5
# So do those with fewer out-of-bag members for a record: few pure leaves agree on most records, whatever these cost.
FEWEST_MEMBERS = 30
# Sums of money are equal up to this share, so that the unit of costs changes nothing.
ROUNDING = 1e-9


def small_tree(random_state: Any = None) -> CostTreeClassifier:
    """Return a tree that fits on a page: the sixteen leaves that the largest gains make."""
    return CostTreeClassifier(max_leaf_nodes=16, min_samples_leaf=10, random_state=random_state)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class MetaCostClassifier(CostClassifier):
    """Relabel the training records by a cost-sensitive model, and train a single model on the new labels.

    The single model needs no costs when it predicts: they are built into the labels it was shown. `predict_proba` tells
    how sure it is of each label, not how probable the classes are. By default it is a small tree, which can be printed
    and explained. A majority of the new labels in a leaf decides, unless another threshold is clearly cheaper on the
    training records as they were, by more than a standard error: leaves that the teacher acts on in part are then
    decided by what that is worth.

    Parameters
    ----------
    estimator : classifier, default=None
        The teacher: any cost-sensitive classifier of this package. None is bagging decided by T_cs.
    final_estimator : classifier, default=None
        The model that is trained on the new labels, which decides as it does by itself. None is
        ``CostTreeClassifier(max_leaf_nodes=16, min_samples_leaf=10)``, decided as said above.
    out_of_bag : bool, default=None
        Whether a record is relabelled only by the members that were not trained on it, which needs bagging as teacher.
        A record that all members were trained on is relabelled by all. False relabels by the teacher as it is, which
        leaves most labels as they are where it fits the training records closely. None is yes where the teacher has
        such members, thirty for each record on average (bagging of 82 or more); other teachers are trained again for
        each of five folds, and relabel the records of that fold.
    {constant_costs}
    cost_estimator : regressor or dict, default=None
        Estimates costs that are not known for all training records.
    {positive_label}
    random_state : int, Generator, RandomState or None, default=None
        Seed of the teacher and the final model, where they have none of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    teacher_ : classifier
        The fitted teacher.
    estimator_ : classifier
        The fitted final model.
    relabelled_ : ndarray of shape (n_records,)
        The new labels of the training records.
    relabelled_fraction_ : float
        The share of the records whose label changed.

    Examples
    --------
    >>> from stakes import CostBaggingClassifier, MetaCostClassifier
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(4000, random_state=0)
    >>> clf = MetaCostClassifier(CostBaggingClassifier(n_estimators=20), random_state=0)
    >>> clf = clf.fit(data.frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)
    >>> clf.predict(data.frame).shape
    (4000,)
    >>> print(clf.export_text(max_depth=1))
    4,000 records, ... positive, P+ ... -> 0
    |-- ...
    |-- ...
    """

    estimator: Any = field(default=None, kw_only=False)
    final_estimator: Any = None
    out_of_bag: bool | None = None

    _constraints = {"final_estimator": classifier(optional=True)}  # noqa: RUF012

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        parts = [get_tags(part).input_tags for part in (self.estimator, self.final_estimator) if part is not None]
        tags.input_tags.allow_nan = all(part.allow_nan for part in parts)
        tags.input_tags.sparse = all(part.sparse for part in parts)
        return tags

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
        **metadata: Any,
    ) -> Self:
        """Train the teacher, relabel the records, and train the final model.

        Parameters
        ----------
        {training_records}
        X_val, y_val, fp_cost_val, fn_cost_val : default=None
            Validation records for the teacher's decision.
        {metadata}

        Returns
        -------
        self
        """
        self._check_parameters()
        if self.estimator is not None and not has_fit_parameter(self.estimator, "fp_cost"):
            raise TypeError(
                f"estimator={self.estimator!r} is not a cost-sensitive classifier: "
                "CostDecisionClassifier(...) makes one of any other"
            )
        routed = self._routed("fit", metadata)
        positive = self._encode(y)
        X = check_features(self, X, reset=True)
        check_consistent_length(X, positive)
        rng = generator(self.random_state)
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        costs, _ = self._learn_costs(X, positive.size, given, rng)
        options = {"X_val": X_val, "y_val": y_val, "fp_cost_val": fp_cost_val, "fn_cost_val": fn_cost_val}
        teacher = seeded(CostBaggingClassifier() if self.estimator is None else self.estimator, rng)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        records = Records(X, positive, costs, weight, metadata=routed.get("estimator", {}))
        self.teacher_ = fit_model(teacher, records, self._class_labels, pass_costs=True, **options)
        n_members = _out_of_bag_members(self.teacher_)
        if self.out_of_bag and not n_members:
            raise ValueError(
                f"out_of_bag=True needs a CostBaggingClassifier that leaves records out, not {self.teacher_!r}"
            )
        if self.out_of_bag or (self.out_of_bag is None and n_members >= FEWEST_MEMBERS):
            self.relabelled_ = self.teacher_.predict_oob()
        else:
            self.relabelled_ = _labels(self.teacher_, records)
            if self.out_of_bag is None:
                self._relabel_out_of_fold(teacher, records, options, int(rng.integers(2**31)))
        self.relabelled_fraction_ = float(np.mean(self.relabelled_ != self._decode(positive)))
        final = self.final_estimator
        if final is None:
            final = small_tree().set_params(feature_costs=self.feature_costs_, pos_label=self.pos_label)
        final, metadata = seeded(final, rng), routed.get("final_estimator", {})
        relabelled = self.relabelled_ == self.classes_[self._positive]
        counted = relabelled[records.weights > 0]
        if counted.all() or not counted.any():
            # The cheapest is to decide all records alike, which few classifiers can be taught.
            final, metadata = DummyClassifier(strategy="most_frequent"), {}
        taught = replace(records, positive=relabelled, metadata=metadata)
        self.estimator_ = fit_model(final, taught, self._class_labels)
        if self.final_estimator is None and not isinstance(final, DummyClassifier):
            share = final.predict_proba(X)[:, self._positive]
            decision = Decision(threshold="tuned")
            tuned = Tuned(clear_threshold(share, records.sign * records.loss))
            final._decide_by(decision, Cut(decision, None, tuned))
        self.background_ = None if self.final_estimator is None else background_of(X, records.weight)
        return self

    def _routes(self) -> dict[str, Route]:
        taught = ("fit", "predict", "predict_proba")
        routes: dict[str, Route] = {
            "estimator": (self.estimator, {"fit": "fit"}),
            "final_estimator": (
                self.final_estimator,
                dict(zip(taught, taught, strict=True)) | {"predict_log_proba": "predict_proba"},
            ),
        }
        return {name: route for name, route in routes.items() if route[0] is not None}

    def _relabel_out_of_fold(self, teacher: Any, records: Records, options: dict[str, Any], seed: int) -> None:
        """Relabel each record by a teacher that was not trained on it, where there are enough records for folds."""
        counted = np.flatnonzero(records.weights)
        positive = records.positive[counted]
        n_folds = min(FOLDS, int(positive.sum()), int((~positive).sum()))
        if n_folds < 2:
            return
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        for train, held_out in folds.split(positive, positive):
            some = records.take(counted[held_out])
            others = records.take(counted[train])
            fitted = fit_model(clone(teacher), others, self._class_labels, pass_costs=True, **options)
            self.relabelled_[counted[held_out]] = _labels(fitted, some)

    @property
    def feature_costs_(self) -> Any:
        """The prices of features among the parameters of the final model; those of the teacher for the default one."""
        # By `is None`: ensembles that are not fitted have no length, which `or` would ask for.
        model = self.estimator if self.final_estimator is None else self.final_estimator
        return getattr(model, "feature_costs_", None)

    def features_used(self, X: Any) -> Bools:
        """Return which features the final model asks for; parameters as in `CostTreeClassifier.features_used`."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        if isinstance(self.estimator_, DummyClassifier):
            return np.zeros(X.shape, np.bool_)
        return features_used(self.estimator_, X)

    @property
    def needs_costs_(self) -> bool:
        """Whether `predict` goes by the costs of records: never, they are in the labels that the model was taught."""
        check_is_fitted(self)
        return False

    @property
    def costs_acted_(self) -> bool:
        """Whether costs acted in training, so that scores contain them: always, they are in the labels."""
        check_is_fitted(self)
        return True

    def _predict(self, X: Any, given: dict[str, Any], metadata: dict[str, Any]) -> NDArray[Any]:
        asked = self._asked_of_final("predict", metadata)
        return self.estimator_.predict(check_features(self, X, reset=False), **asked)

    def _predict_proba(self, X: Any, given: dict[str, Any], metadata: dict[str, Any]) -> Floats:
        asked = self._asked_of_final("predict_proba", metadata)
        X = check_features(self, X, reset=False)
        shares, found = np.zeros((X.shape[0], 2)), self.estimator_.predict_proba(X, **asked)
        shares[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = found
        return shares

    def _asked_of_final(self, method: str, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata for the final model: none for one that decides all records alike."""
        asked = self._routed(method, metadata).get("final_estimator", {})
        return {} if isinstance(self.estimator_, DummyClassifier) else asked

    def _contributions(
        self, X: Any, given: dict[str, Any], sampling: Sampling | None
    ) -> tuple[Contributions | None, Costs | None]:
        X = check_features(self, X, reset=False)
        costs = self._costs_to_explain(X, X.shape[0], given, needed=False)
        if isinstance(self.estimator_, DummyClassifier):
            score = self.predict_proba(X)[:, self._positive]
            return Contributions(np.zeros((score.size, self.n_features_in_)), score, score), costs
        without = dict.fromkeys(COST_NAMES)
        positive = self.classes_[self._positive]
        return contributions_of(self.estimator_, X, positive, without, sampling, self.background_), costs

    def export_text(self, **options: Any) -> str:
        """Return the final tree as text; options as in `CostTreeClassifier.export_text`."""
        check_is_fitted(self)
        if isinstance(self.estimator_, DummyClassifier):
            return f"all records are {self.relabelled_[0]}"
        if not hasattr(self.estimator_, "export_text"):
            raise AttributeError(f"{self.estimator_!r} is not a tree of this package, and has no export_text")
        return str(self.estimator_.export_text(**options))


def clear_threshold(share: Floats, gain: Floats) -> float:
    """Return one half, or the closest threshold to it whose outcomes are not clearly dearer than the cheapest ones.

    `gain` is what acting on a record saves. Clearly dearer is by more than a standard error: the root of the sum of the
    squared gains of the records that two thresholds decide otherwise, and of one more such mistake than was seen, of
    the usual size. Few positives tune a threshold badly, and none among some records does not mean that there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.metacost import clear_threshold
    >>> share = np.repeat([0.1, 0.4, 0.8], 10)
    >>> clear_threshold(share, np.tile([1.0, -1.0], 15))  # acting saves nothing anywhere
    0.5
    >>> clear_threshold(share, np.where(share == 0.4, 1.0, -0.1))
    0.25
    """
    levels, leaf = np.unique(share, return_inverse=True)
    gain = gain / (np.abs(gain).max() or 1.0)  # squares of large ones have no place in a float
    squares = np.append(0.0, np.cumsum(np.bincount(leaf, gain**2)))
    # What it saves to act on the records of the levels from each one on, and on none.
    saved = np.append(np.cumsum(np.bincount(leaf, gain)[::-1])[::-1], 0.0)
    half = int(np.searchsorted(levels, 0.5, side="right"))
    rounding = ROUNDING * float(np.abs(gain).sum())
    best = _closest(half, saved >= saved.max() - rounding)
    missed, alarmed = (np.square(gain[where]).mean() if where.any() else 0.0 for where in (gain > 0, gain < 0))
    place = np.arange(saved.size)
    unseen = np.where(place < best, missed, np.where(place > best, alarmed, 0.0))
    error = np.sqrt(np.abs(squares - squares[best]) + unseen)
    first = _closest(half, saved[best] - saved <= (1.0 + ROUNDING) * error + rounding)
    if first == half:
        return 0.5
    return float(np.concatenate([[-1.0], (levels[1:] + levels[:-1]) / 2, [1.0]])[first])


def _closest(place: int, allowed: Bools) -> int:
    """Return which allowed place is closest to another, the lower of two."""
    places = np.flatnonzero(allowed)
    return int(places[np.abs(places - place).argmin()])


def _out_of_bag_members(teacher: Any) -> float:
    """Return how many members of a teacher were not trained on a record, on average."""
    validation = teacher.validation_ if isinstance(teacher, CostBaggingClassifier) else None
    unseen = None if validation is None else validation.out_of_bag
    return 0.0 if unseen is None else float(unseen.sum(axis=1).mean())


def _labels(teacher: Any, records: Records) -> NDArray[Any]:
    """Return the labels that a teacher gives to records, by their costs if it decides by them."""
    costs = {"fp_cost": records.costs.fp, "fn_cost": records.costs.fn} if getattr(teacher, "needs_costs_", True) else {}
    labels: NDArray[Any] = teacher.predict(records.X, **costs)
    return labels
