"""What bagging and boosting have in common: members that are trees of the engine or any classifiers, and samples."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import check_features
from stakes._member_classifier import CONSTRAINTS, MemberClassifier
from stakes._members import ModelMembers, TreeMembers
from stakes._rows import take_rows
from stakes._validation import Constraint, classifier, whole
from stakes.cost_tree import CostTreeClassifier
from stakes.exceptions import NoEffectWarning
from stakes.records import Records
from stakes.sampling.base import MemberSampler
from stakes.sampling.registry import make_sampler

__all__ = ["EnsembleClassifier", "without_zero_weights"]


# Parameters of a tree that an ensemble has itself: those of a member tree are not looked at.
OF_THE_ENSEMBLE = ("decision", "validation", "fp_cost", "fn_cost", "cost_estimator", "pos_label")


class EnsembleClassifier(MemberClassifier):
    """Base of bagging and boosting.

    It has the parameters `estimator`, `n_estimators`, `sampling` and `verbose`. A subclass names the tree that
    ``estimator=None`` stands for.
    """

    members_: TreeMembers | ModelMembers

    _constraints: dict[str, Constraint] = CONSTRAINTS | {
        "estimator": classifier(optional=True),
        "n_estimators": whole(1),
        "verbose": whole(0),
    }

    @property
    @abstractmethod
    def _default_tree(self) -> CostTreeClassifier:
        """The tree that ``estimator=None`` stands for."""

    @property
    def _tree(self) -> CostTreeClassifier | None:
        """The tree that members are made like; None if they are something else."""
        if self.estimator is None:
            return self._default_tree
        return self.estimator if isinstance(self.estimator, CostTreeClassifier) else None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._tree is None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._tree is not None:
            self._tree._check_parameters()

    def _warn_of_ignored_parameters(self) -> None:
        """Warn of parameters of the member tree that are those of the ensemble, and have no effect."""
        tree = self._tree
        if tree is None:
            return
        tree._warn_of_leaf(self.decision)
        defaults = CostTreeClassifier().get_params()
        given = [name for name in OF_THE_ENSEMBLE if getattr(tree, name) != defaults[name]]
        if given:
            warnings.warn(
                f"{', '.join(given)} of the member tree {'have' if len(given) > 1 else 'has'} no effect: give "
                f"{'them' if len(given) > 1 else 'it'} to {type(self).__name__} instead",
                NoEffectWarning,
                stacklevel=2,
            )

    def _needs_validation(self) -> bool:
        prunes = self._tree is not None and self._tree.pruning is not None
        return prunes or super()._needs_validation()

    def _read(self, X: Any, *, reset: bool) -> Any:
        if self._tree is None:
            return check_features(self, X, reset=reset)
        return self._bin(X, self._tree.max_bins, reset=reset)

    def _bin_new(self, X: Any) -> Any:
        return self._read(X, reset=False)

    def _sampler(self) -> MemberSampler:
        return make_sampler(self.sampling, classes=self._class_labels)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members, where they are not trees of the engine."""
        check_is_fitted(self)
        if not isinstance(self.members_, ModelMembers):
            raise AttributeError("members are trees of the engine: see members_.trees")
        return self.members_.models


def without_zero_weights(records: Records, X: Any) -> tuple[Records, Any]:
    """Return the records with a weight, and their features as given by the user."""
    if records.weight is None or records.weight.all():
        return records, X
    rows = np.flatnonzero(records.weight)
    return records.take(rows), take_rows(X, rows)
