"""What bagging and boosting have in common: members that are trees of the engine or any classifiers, and samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from stakes._base import check_features
from stakes._docs import documented
from stakes._learners import TreeLearner
from stakes._member_classifier import CLASS_WEIGHT, CONSTRAINTS, MemberClassifier
from stakes._members import ModelMembers, TreeMembers
from stakes._routing import Route
from stakes._typing import Bools, Floats, Int32s, Ints
from stakes._validation import boolean, classifier, whole
from stakes._warn import warn
from stakes.cost_tree import CostTreeClassifier
from stakes.decision.decision import Decision
from stakes.decision.readings import Readings
from stakes.exceptions import NoEffectWarning
from stakes.records import Records
from stakes.sampling.base import MemberSampler
from stakes.sampling.registry import make_sampler
from stakes.tree.binning import Binned
from stakes.tree.recipe import TreeRecipe
from stakes.tree.trees import Trees

__all__ = ["EnsembleClassifier"]

Classifier = TypeVar("Classifier", bound=MemberClassifier)

# Parameters of a tree that an ensemble has itself: those of a member tree are not looked at.
OF_THE_ENSEMBLE = ("decision", "validation", "class_weight", "fp_cost", "fn_cost", "cost_estimator", "pos_label")
# What members, and those that make them, have of their ensemble.
SHARED = (
    "classes_", "pos_label_", "n_features_in_", "feature_names_in_", "binning_", "constant_costs_", "cost_estimators_",
)  # fmt: skip


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class EnsembleClassifier(MemberClassifier):
    """Base of bagging and boosting.

    A subclass names the tree that ``estimator=None`` stands for.
    """

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int = 100
    sampling: Any = None
    decision: Decision | None = None
    validation: float | str | None = "auto"
    warm_start: bool = False
    class_weight: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    members_: TreeMembers | ModelMembers = field(init=False)
    # What a warm start needs of the last fit, besides its members.
    _last_fit: Any = field(default=None, init=False)  # a dict, None before there is one

    _constraints = CONSTRAINTS | {
        "estimator": classifier(optional=True),
        "n_estimators": whole(1),
        "warm_start": boolean(),
        "class_weight": CLASS_WEIGHT,
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

    @property
    def feature_costs_(self) -> Any:
        """The prices of features among the parameters of the member; None where there are none."""
        return getattr(self._tree or self.estimator, "feature_costs_", None)

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
            warn(
                f"{', '.join(given)} of the member tree {'have' if len(given) > 1 else 'has'} no effect: give "
                f"{'them' if len(given) > 1 else 'it'} to {type(self).__name__} instead",
                NoEffectWarning,
            )

    def _routes(self) -> dict[str, Route]:
        # Trees of the engine are no estimators that could ask for anything.
        return {} if self._tree is not None else super()._routes()

    def _goes_on(self) -> bool:
        return self.warm_start and self._last_fit is not None and "complete" in self._last_fit

    def _split(
        self, positive: Bools, weight: Floats | None, *, explicit: bool, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        n, split = positive.size, super()._split(positive, weight, explicit=explicit, rng=rng)
        if self._goes_on():
            self._check_same(self._last_fit["n_records"], n)
            return self._last_fit["split"]
        self._last_fit = {"n_records": n, "split": split} if self.warm_start else None
        return split

    def _keep(self, **state: Any) -> None:
        """Keep what a warm start needs of this fit, if there may be one."""
        if self._last_fit is not None:
            # A new one: classifiers with other decisions share the last.
            self._last_fit = self._last_fit | state | {"complete": True}

    def _check_same(self, then: int, now: int) -> None:
        if then != now:
            raise ValueError(f"warm_start=True needs the records of the last fit: {then} then, {now} now")

    def _check_warm_start(self, then: int, now: int) -> None:
        """Raise an error where a warm start cannot go on, and warn where it has as many members as are asked for.

        `then` and `now` are the numbers of records with a weight. `_train` calls it, for the line that a warning names.
        """
        self._check_same(then, now)
        n_kept = len(self.members_)
        if self.n_estimators < n_kept:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_kept} when "
                "warm_start==True"
            )
        if self.n_estimators == n_kept:
            warn("Warm-start fitting without increasing n_estimators does not fit new trees.", UserWarning)

    @property
    def _prunes(self) -> bool:
        return self._tree is not None and self._tree.pruning is not None

    def _needs_validation(self, positive: Bools) -> bool:
        return self._prunes or super()._needs_validation(positive)

    def _read(self, X: Any, *, reset: bool) -> Any:
        if self._tree is None:  # other models than our trees do not take bins
            return check_features(self, X.X if isinstance(X, Binned) else X, reset=reset)
        return self._bin(X, self._tree.max_bins, reset=reset)

    def _recipe(self) -> TreeRecipe:
        assert self._tree is not None
        return self._tree.recipe(self.binning_.names_)

    def _tree_learner(self, records: Records) -> TreeLearner:
        return TreeLearner(records, self._recipe(), self.binning_.feature_bins_, partial(self._read, reset=False))

    def _sampler(self) -> MemberSampler:
        return make_sampler(self.sampling, classes=self._class_labels)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members; trees of the engine are made into classifiers of their own when asked for."""
        return list(self)

    def __len__(self) -> int:
        check_is_fitted(self)
        return len(self.members_)

    def __getitem__(self, number: Any) -> Any:
        check_is_fitted(self)
        if isinstance(self.members_, ModelMembers):
            return self.members_.models[number]
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        return self._tree_classifier(range(len(self))[number])

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def _shared_with(self, other: Classifier) -> Classifier:
        """Return a new classifier with what was learnt about labels, features and costs."""
        for name in SHARED:
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        return other

    def _tree_classifier(self, number: int) -> CostTreeClassifier:
        assert isinstance(self.members_, TreeMembers)
        assert self._tree is not None
        tree = self._shared_with(clone(self._tree).set_params(decision=None, pos_label=self.pos_label))
        tree.members_ = self.members_.take([number])
        tree.validation_, tree.default_decision_ = None, self._member_decision()
        tree._decide_by(None)
        return tree

    def _member_decision(self) -> Decision:
        """Return the decision of a single member: by its probability where members are averaged, else by its label."""
        default = self.default_decision_
        if (default.output or self.votes_.output) == "average" and not default.tunes_cut:
            return Decision(leaf=default.leaf, threshold=default.threshold)
        return Decision(output="vote")

    def decision_function(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        **metadata: Any,
    ) -> Floats:
        """Return the votes for the second of the classes minus those for the first, as a share of all votes.

        Where members are averaged, it is the difference of their mean probabilities. It is not calibrated, and the
        decision in force may cut it elsewhere than at 0.

        Parameters
        ----------
        {X}
        {costs_to_vote}
        {metadata}

        Returns
        -------
        margin : ndarray of shape (n_records,)
            From -1 to 1.
        """
        check_is_fitted(self)
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        asked = self._metadata("decision_function", metadata)
        readings, _ = self._read_by(self.reader_, X, given, needed=False, metadata=asked)
        return self._margin(readings)

    def _margin(self, readings: Readings) -> Floats:
        margin = 2.0 * readings.scores[readings.source(self.cut_.decision)] - 1.0
        return margin if self._positive == 1 else -margin

    def _trees(self, what: str = "leaves") -> Trees:
        check_is_fitted(self)
        if not isinstance(self.members_, TreeMembers):
            raise AttributeError(f"only ensembles of trees have {what}")
        return self.members_.trees

    def apply(self, X: Any) -> Int32s:
        """Return the number of the node that each record ends in, in each tree, of shape (n_records, n_trees)."""
        trees = self._trees()
        return (trees.leaves[trees.apply(self._read(X, reset=False), self._n_threads)] - trees.roots).astype(np.int32)

    def decision_path(self, X: Any) -> tuple[sparse.csr_array, Ints]:
        """Return which nodes each record passes, and where the nodes of each tree begin and the last ones end.

        Parameters
        ----------
        {X}

        Returns
        -------
        indicator : csr_array of shape (n_records, n_nodes)
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
        """
        trees = self._trees()
        paths = trees.paths(trees.apply(self._read(X, reset=False), self._n_threads))
        return paths, np.append(trees.roots, trees.sizes.sum())
