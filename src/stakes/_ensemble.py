"""What bagging and boosting have in common: members that are trees of the engine or any classifiers, and samples."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import check_features
from stakes._member_classifier import CONSTRAINTS, MemberClassifier, RoutesToEstimator
from stakes._members import ModelMembers, TreeMembers
from stakes._rows import take_rows
from stakes._typing import Int32s, Ints
from stakes._validation import Constraint, classifier, whole
from stakes.cost_tree import CostTreeClassifier
from stakes.decision.decision import Decision
from stakes.decision.reader import Votes
from stakes.exceptions import NoEffectWarning
from stakes.records import Records
from stakes.sampling.base import MemberSampler
from stakes.sampling.registry import make_sampler
from stakes.tree.binning import Binned
from stakes.tree.trees import Trees

__all__ = ["EnsembleClassifier", "without_zero_weights"]


# Parameters of a tree that an ensemble has itself: those of a member tree are not looked at.
OF_THE_ENSEMBLE = ("decision", "validation", "class_weight", "fp_cost", "fn_cost", "cost_estimator", "pos_label")
# What members have of their ensemble once it is fitted.
SHARED = ("classes_", "n_features_in_", "feature_names_in_", "binning_", "constant_costs_", "cost_estimators_")


class EnsembleClassifier(RoutesToEstimator, MemberClassifier):
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

    def _own_feature_costs(self) -> Any:
        return getattr(self._tree or self.estimator, "feature_costs", None)

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
        if self._tree is None:  # other models than our trees do not take bins
            return check_features(self, X.X if isinstance(X, Binned) else X, reset=reset)
        return self._bin(X, self._tree.max_bins, reset=reset)

    def _bin_new(self, X: Any) -> Any:
        return self._read(X, reset=False)

    def _sampler(self) -> MemberSampler:
        return make_sampler(self.sampling, classes=self._class_labels)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members; trees of the engine are made into classifiers of their own when asked for."""
        return list(self)

    def __len__(self) -> int:
        check_is_fitted(self)
        return len(self.members_)

    def __getitem__(self, number: int) -> Any:
        check_is_fitted(self)
        if isinstance(self.members_, ModelMembers):
            return self.members_.models[number]
        return self._tree_classifier(range(len(self))[number])

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def _tree_classifier(self, number: int) -> CostTreeClassifier:
        assert isinstance(self.members_, TreeMembers)
        assert self._tree is not None
        tree = clone(self._tree).set_params(decision=None, pos_label=self.pos_label)
        for name in SHARED:
            if hasattr(self, name):
                setattr(tree, name, getattr(self, name))
        own = {name: getattr(self.members_, name) for name in ("weighted", "base_rate", "grown_by", "growth")}
        tree.members_ = TreeMembers(Trees.join([self.members_.trees.tree(number)]), **own)
        tree.votes_, tree.validation_ = Votes(), None
        tree.default_decision_ = self._member_decision()
        tree._decide_by(None)
        return tree

    def _member_decision(self) -> Decision:
        """Return the decision of a single member: by its probability where members are averaged, else by its label."""
        default = self.default_decision_
        if (default.output or self.votes_.output) == "average" and not default.tunes_cut:
            return Decision(leaf=default.leaf, threshold=default.threshold)
        return Decision(output="vote")

    def _trees(self) -> Trees:
        check_is_fitted(self)
        if not isinstance(self.members_, TreeMembers):
            raise AttributeError("only ensembles of trees have leaves")
        return self.members_.trees

    def apply(self, X: Any) -> Int32s:
        """Return the number of the leaf that each record reaches in each tree, of shape (n_records, n_trees)."""
        trees = self._trees()
        first_leaves = np.searchsorted(trees.tree_of_leaf, np.arange(len(trees))).astype(np.int32)
        return trees.apply(self._read(X, reset=False), self._n_threads) - first_leaves

    def decision_path(self, X: Any) -> tuple[sparse.csr_array, Ints]:
        """Return which nodes each record passes, and where the nodes of each tree begin and the last ones end.

        Parameters
        ----------
        X : array-like or data frame of shape (n_records, n_features)
            Features.

        Returns
        -------
        indicator : csr_array of shape (n_records, n_nodes)
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
        """
        trees = self._trees()
        paths = trees.paths(trees.apply(self._read(X, reset=False), self._n_threads))
        return paths, np.append(trees.roots, trees.sizes.sum())


def without_zero_weights(records: Records, X: Any) -> tuple[Records, Any]:
    """Return the records with a weight, and their features as given by the user."""
    if records.weight is None or records.weight.all():
        return records, X
    rows = np.flatnonzero(records.weight)
    return records.take(rows), take_rows(X, rows)
