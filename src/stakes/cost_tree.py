"""One tree, grown, pruned and read with costs (FRAMEWORK 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from stakes._docs import documented
from stakes._member_classifier import CLASS_WEIGHT, CONSTRAINTS, MemberClassifier, ValidationRecords
from stakes._members import TreeMembers
from stakes._typing import Bools, Bytes
from stakes._validation import Constraint, boolean, choice, number, size, whole
from stakes._warn import warn
from stakes.decision.decision import Decision
from stakes.exceptions import NoEffectWarning
from stakes.feature_costs import FeatureCosts
from stakes.records import Records
from stakes.tree.binning import MAX_BINS, Binning
from stakes.tree.criteria import CRITERIA
from stakes.tree.export import cut_at, export_graphviz, export_text
from stakes.tree.leaves import LEAVES
from stakes.tree.nodes import Nodes
from stakes.tree.prices import TRADE_OFFS
from stakes.tree.pruning import PRUNINGS
from stakes.tree.recipe import TreeRecipe
from stakes.tree.trees import Trees

__all__ = ["CostTreeClassifier"]

SYNONYMS = {"log_loss": "entropy"}

MAX_FEATURES = Constraint(
    lambda value: value is None or size(1).accepts(value) or choice("sqrt", "log2").accepts(value),
    "is not valid: choose from 'sqrt', 'log2', a whole number of at least 1, a share of the features in (0, 1], None",
)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostTreeClassifier(MemberClassifier):
    """A decision tree that can grow, be pruned, and decide by costs.

    Parameters
    ----------
    criterion : str, default="gini"
        What a split is judged by: "gini", "entropy", "gain_ratio", or another name in `stakes.tree.criteria.CRITERIA`.
        "cost" is the money that it saves when each side takes its cheaper label; "log_loss" is scikit-learn's other
        name for "entropy".
    splitter : {"best", "random"}, default="best"
        Which cut of a feature is looked at: the best, or one at random, uniform over the values in the node, as in
        extremely randomised trees. The best of these cuts is made.
    max_depth : int, default=None
        The largest depth; a stump has depth 1.
    min_samples_split, min_samples_leaf : int or float, default=2 and 1
        The least number of records in a node that is split, and in a leaf; a float is a share of all records.
    min_weight_fraction_leaf : float, default=0
        The least weight of a leaf, as a share of that of all records: of sample weights and class weights, and of costs
        where trees are weighted or split by them.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many features, drawn anew for each split, are looked at; None for all.
    max_leaf_nodes : int, default=None
        The largest number of leaves: those splits are kept that a tree has that splits the node of the largest gain
        next.
    min_impurity_decrease : float, default=0
        The least gain of a split, as a share of the weight of all records.
    ccp_alpha : float, default=0
        Keep the subtree of least impurity + alpha x leaves, as scikit-learn does; impurity counts as a share of the
        weight of all records. It needs no validation records.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        1 for features with which the share of positives must not fall, -1 where it must not rise, 0 for others; or a
        dict with the names of those that are not 0. It holds for the frequencies in leaves, and so for means of trees.
    feature_costs : dict or array-like of shape (n_features,), default=None
        The price of each feature, paid once per record on the path it takes, in the currency of the costs; 0 for those
        not named. A pair (price, group) in a dict is for features that are bought together: the group is paid once, on
        top of the feature's own price where the group has an entry of its own, and instead of it where it has none.
        An infinite price forbids a feature.
    trade_off : {"auto", "eg2", "total_cost"}, default="auto"
        How price is traded against gain where features have prices. "total_cost" takes the split that saves most after
        its price, if it saves anything, and is for the cost criterion, whose gain is money. "eg2" divides what a split
        is worth by its price, (2^gain - 1) / (price + 1)^exponent. "auto" is the first for the cost criterion, and the
        second for others. Pruning by cost counts prices with either.
    price_exponent : float, default=1
        The exponent of "eg2": 0 grows trees as if features were free.
    price_bias : float or dict, default=1
        What prices are multiplied by while the tree grows, for all or by the names of features and groups. Less than 1
        buys more, 0 grows the tree as if features were free; pruning and `acquisition_cost` take the prices as they
        are.
    cp : float, default=0
        The least use of a split, as in R's rpart, where it is 0.01: splits are undone that do not, with those below
        them, lower the training loss by more than this share of the root's for each leaf they add.
    pruning : {"cost_complexity", "reduced_error"}, default=None
        How the tree is cut back on validation records.
    pruning_measure : {"error", "cost"}, default="error"
        What pruning counts.
    leaf : str, default="frequency"
        The probability of a leaf; see `Decision`.
    break_ties : bool, default=True
        Where no split saves money, the cost criterion goes on by the cost-weighted Gini gain; False stops there.
    max_bins : int, default=255
        The largest number of bins of a feature.
    decision : Decision, default=None
        None takes the label of the leaf where costs acted in growing or pruning, and otherwise the leaf's
        probability against the record's T_cs.
    {validation}
    {class_weight}
    {costs_and_label}
    {n_jobs}
    random_state : int, Generator, RandomState or None, default=None
        Seed of the features and cuts drawn, and of the records held out.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    feature_importances_ : ndarray of shape (n_features,)
        The gain of all splits on a feature: as shares of the whole, or, for the cost criterion, in units of money.
    {decision_in_force}
    members_ : TreeMembers
        The tree.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(2000, random_state=0)
    >>> tree = CostTreeClassifier(criterion="cost", max_depth=3)
    >>> tree.fit(data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    CostTreeClassifier(criterion='cost', max_depth=3)
    >>> tree.get_n_leaves() <= 8
    True
    """

    _constraints = CONSTRAINTS | {
        "class_weight": CLASS_WEIGHT,
        "criterion": choice(*CRITERIA, *SYNONYMS),
        "splitter": choice("best", "random"),
        "max_depth": whole(1, optional=True),
        "min_samples_split": size(2),
        "min_samples_leaf": size(1),
        "min_weight_fraction_leaf": number(0, 0.5),
        "max_features": MAX_FEATURES,
        "max_leaf_nodes": whole(2, optional=True),
        "min_impurity_decrease": number(0, inf),
        "ccp_alpha": number(0, inf),
        "trade_off": choice("auto", *TRADE_OFFS),
        "price_exponent": number(0, inf),
        "cp": number(0, 1),
        "pruning": choice(None, *PRUNINGS),
        "pruning_measure": choice("error", "cost"),
        "leaf": choice(*LEAVES),
        "break_ties": boolean(),
        "max_bins": whole(2, MAX_BINS),
    }

    criterion: str = "gini"
    splitter: str = "best"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int | float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    monotonic_cst: Any = None
    feature_costs: Any = None
    trade_off: str = "auto"
    price_exponent: float = 1.0
    price_bias: Any = 1.0
    cp: float = 0.0
    pruning: str | None = None
    pruning_measure: str = "error"
    leaf: str = "frequency"
    break_ties: bool = True
    max_bins: int = MAX_BINS
    decision: Decision | None = None
    validation: float | str | None = "auto"
    class_weight: Any = None
    n_jobs: int | None = None

    def recipe(self, names: list[str] | None = None) -> TreeRecipe:
        """Return the parameters that make the tree; those about features only where their names are given."""
        params = {each.name: getattr(self, each.name) for each in fields(TreeRecipe) if each.name != "monotone"}
        params["criterion"] = SYNONYMS.get(self.criterion, self.criterion)
        if self.trade_off == "auto":
            params["trade_off"] = "total_cost" if self.criterion == "cost" else "eg2"
        if self.feature_costs is not None:
            params["feature_costs"] = None if names is None else FeatureCosts.of(self.feature_costs, names)
        params["monotone"] = () if names is None else self._signs(names)
        return TreeRecipe(**params)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.trade_off == "total_cost" and self.criterion != "cost":
            raise ValueError(
                f"trade_off='total_cost' counts money, and criterion={self.criterion!r} does not: choose "
                "criterion='cost', or trade_off='eg2'"
            )

    def _signs(self, names: list[str]) -> tuple[int, ...]:
        """Return the constraint of each feature; none if there are no constraints."""
        asked = self.monotonic_cst
        if asked is None:
            return ()
        if isinstance(asked, Mapping):
            if unknown := set(asked) - set(names):
                raise ValueError(f"monotonic_cst has {sorted(map(str, unknown))}, which are no features: {names}")
            asked = [asked.get(name, 0) for name in names]
        signs = np.asarray(asked)
        if signs.shape != (len(names),) or not np.isin(signs, (-1, 0, 1)).all():
            raise ValueError(
                f"monotonic_cst={self.monotonic_cst!r} is not valid: give 1, 0 or -1 for each of the {len(names)} "
                "features, or a dict by their names"
            )
        return tuple(signs.astype(int).tolist()) if signs.any() else ()

    def _needs_validation(self, positive: Bools) -> bool:
        return self.pruning is not None or super()._needs_validation(positive)

    def _read(self, X: Any, *, reset: bool) -> Bytes:
        return self._bin(X, self.max_bins, reset=reset)

    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        self._warn_of_leaf(self.decision)
        recipe = self.recipe(self.binning_.names_)
        nodes = recipe.grow(
            records,
            self.binning_.feature_bins_,
            features=np.arange(self.n_features_in_, dtype=np.int32),
            seed=int(rng.integers(2**31)),
            validation=records if self.validation_ is None else self.validation_.records,
        )
        self.members_ = TreeMembers(Trees.join([nodes]))
        self.default_decision_ = Decision(leaf=self.leaf, threshold="cost")
        if recipe.uses_costs:
            self.default_decision_ = Decision(leaf=self.leaf, output="vote")
        return None

    def _warn_of_leaf(self, decision: Decision | None) -> None:
        """Warn where `leaf` has no effect, because a decision has its own."""
        if decision is not None and self.leaf not in ("frequency", decision.leaf):
            warn(
                f"leaf={self.leaf!r} has no effect, because a decision says which probability of a leaf it goes by: "
                f"write Decision(leaf={self.leaf!r}, ...)",
                NoEffectWarning,
            )

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the number of the node that each record ends in, as `decision_path` counts nodes."""
        check_is_fitted(self)
        trees = self.members_.trees
        return trees.leaves[trees.apply(self._read(X, reset=False), self._n_threads)[:, 0]].astype(np.int32)

    def decision_path(self, X: Any) -> sparse.csr_array:
        """Return which nodes each record passes, of shape (n_records, n_nodes)."""
        check_is_fitted(self)
        trees = self.members_.trees
        return trees.paths(trees.apply(self._read(X, reset=False), self._n_threads))

    def get_depth(self) -> int:
        """Return the depth of the tree: 0 for a single leaf."""
        check_is_fitted(self)
        return int(self.members_.trees.depth.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return int(self.members_.trees.leaves.size)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The gain of all splits on each feature: shares of the whole or, for the cost criterion, money saved."""
        check_is_fitted(self)
        return self.members_.trees.feature_importances(self.n_features_in_, in_money=self.criterion == "cost")

    def export_text(self, **options: Any) -> str:
        """Return the tree as text, with costs in its nodes; options as in `stakes.tree.export.export_text`."""
        return export_text(*self._drawn(), **self._named(options))

    def export_graphviz(self, **options: Any) -> str:
        """Return the tree in graphviz's DOT language; options as in `stakes.tree.export.export_graphviz`."""
        return export_graphviz(*self._drawn(), **self._named(options))

    def _drawn(self) -> tuple[Nodes, Binning]:
        check_is_fitted(self)
        nodes = self.members_.trees.nodes
        if self.decision_.threshold == "tuned" and not self.recipe().uses_costs:
            nodes = cut_at(nodes, float(self.cut_.thresholds()))
        return nodes, self.binning_

    def _named(self, options: dict[str, Any]) -> dict[str, Any]:
        named = {"class_names": tuple(self._class_labels), "weights": "cost" if self.recipe().uses_costs else "count"}
        return named | options
