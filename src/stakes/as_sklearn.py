"""Trees of the engine as trees of scikit-learn, for packages that know those: shap, treelite, skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED, Tree
from sklearn.utils.validation import check_is_fitted

from stakes._member_classifier import MemberClassifier
from stakes._members import TreeMembers
from stakes._typing import Floats
from stakes.cost_tree import CostTreeClassifier
from stakes.tree.binning import Binning
from stakes.tree.nodes import Nodes
from stakes.tree.pruning import node_sums

__all__ = ["as_sklearn"]


def as_sklearn(model: MemberClassifier) -> DecisionTreeClassifier | RandomForestClassifier:
    """Return a fitted tree or ensemble of trees as one of scikit-learn, with the same probabilities.

    Decisions by costs stay behind: compare the probability with ``Costs(...).threshold()``. scikit-learn reads features
    in single precision, so a value that differs from a threshold by less than that may go the other way.

    Parameters
    ----------
    model : CostTreeClassifier or CostBaggingClassifier
        Fitted to numbers. The score of its decision must be the mean probability of its trees, not calibrated.

    Returns
    -------
    model : DecisionTreeClassifier or RandomForestClassifier

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import CostBaggingClassifier
    >>> from stakes.as_sklearn import as_sklearn
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(400, random_state=0)
    >>> X = data.frame.select("tenure", "monthly_charges").to_numpy()
    >>> forest = CostBaggingClassifier(n_estimators=5, random_state=0).fit(X, data.target, fp_cost=1, fn_cost=5)
    >>> theirs = as_sklearn(forest)
    >>> np.allclose(theirs.predict_proba(X), forest.predict_proba(X))
    True
    """
    check_is_fitted(model)
    members = getattr(model, "members_", None)
    if not isinstance(members, TreeMembers):
        raise TypeError(
            f"{model!r} has no trees of the engine: give a CostTreeClassifier or an ensemble of them, such as the "
            "`model` of a delivered one"
        )
    decision = model.cut_.decision
    if decision.output != "average" or model.cut_.calibration is not None or members.base_rate is not None:
        raise ValueError(
            f"the score of {decision!r} is not the mean probability of the trees: choose one with output='average', "
            "without calibration and prior_correction, by with_decision"
        )
    binning: Binning = model.binning_
    used = np.unique(members.trees.nodes.feature[members.trees.nodes.category_set >= 0])
    if used.size:
        named = ", ".join(repr(binning.names_[feature]) for feature in used)
        raise ValueError(f"scikit-learn's trees have no splits of categories, and these have: encode {named} first")
    (source,) = model.reader_.sources
    positive = members.leaves.probability(source.leaf)
    order = 1 if model._positive == 1 else -1
    made = []
    for number in range(len(members)):
        nodes = members.trees.tree(number)
        values = _values(nodes, positive[members.trees.tree_of_leaf == number])[:, ::order]
        tree = _tree(nodes, binning, values, int(members.trees.depth.max()))
        made.append(_with(DecisionTreeClassifier(), tree_=tree, max_features_=model.n_features_in_))
    shared = {name: getattr(model, name) for name in ("n_features_in_", "feature_names_in_") if hasattr(model, name)}
    if isinstance(model, CostTreeClassifier):
        return _with(made[0], classes_=model.classes_, n_classes_=2, n_outputs_=1, **shared)
    for tree in made:  # scikit-learn numbers the labels for the trees of a forest, and does not name their features
        _with(tree, classes_=np.arange(2.0), n_classes_=2, n_outputs_=1, n_features_in_=model.n_features_in_)
    forest = RandomForestClassifier(n_estimators=len(made))
    return _with(
        forest, estimators_=made, estimator_=DecisionTreeClassifier(), classes_=model.classes_, n_classes_=2,
        n_outputs_=1, **shared,
    )  # fmt: skip


def _values(nodes: Nodes, at_leaves: Floats) -> NDArray[np.float64]:
    """Return the shares of negatives and positives in all nodes: in those that split, the mean of the leaves below."""
    is_leaf = nodes.feature < 0
    shares = np.column_stack([1.0 - at_leaves, at_leaves])
    records = shares * nodes.counts[is_leaf].sum(axis=1, keepdims=True)
    leaf, side = np.indices(shares.shape)
    sums = node_sums(nodes, leaf.ravel(), side.ravel(), records.ravel())
    values = sums / sums.sum(axis=1, keepdims=True)
    values[is_leaf] = shares
    return values


def _tree(nodes: Nodes, binning: Binning, values: NDArray[np.float64], max_depth: int) -> Any:
    splits = nodes.feature >= 0
    made = np.zeros(nodes.feature.size, NODE_DTYPE)
    made["left_child"] = np.where(splits, nodes.left, TREE_LEAF)
    made["right_child"] = np.where(splits, nodes.left + 1, TREE_LEAF)
    made["feature"] = np.where(splits, nodes.feature, TREE_UNDEFINED)
    # A bin ends at its cut: values up to it go left.
    cut = binning.cuts_[np.maximum(nodes.feature, 0), np.maximum(nodes.threshold.astype(np.intp), 1) - 1]
    made["threshold"] = np.where(splits, cut, TREE_UNDEFINED)
    made["missing_go_to_left"] = nodes.missing_left * splits
    made["impurity"] = 1.0 - (values**2).sum(axis=1)
    weight = nodes.counts.sum(axis=1)
    made["n_node_samples"] = np.maximum(1, np.rint(weight))
    made["weighted_n_node_samples"] = weight
    tree = Tree(len(binning.names_), np.array([2], np.intp), 1)
    state = {"max_depth": max_depth, "node_count": made.size, "nodes": made, "values": values[:, None, :].copy()}
    tree.__setstate__(state)
    return tree


def _with(estimator: Any, **fitted: Any) -> Any:
    for name, value in fitted.items():
        setattr(estimator, name, value)
    return estimator
