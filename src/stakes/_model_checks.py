"""Whether the parts of a loaded model fit together, so that compiled code never leaves its arrays.

A file can be crafted, with a digest that fits. What compiled code trusts is checked here before it is used: indices are
in range, children come after their parents, shapes and types are those of training, and models within models know as
many features as the models around them. Parts of other packages that are made by compiled code (trees of scikit-learn,
models of LightGBM) stand in a file as plain data, and are made anew after a check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree._tree import Tree

from stakes._estimation import AmountEstimator, ForeseenCost
from stakes._member_classifier import ValidationRecords
from stakes._members import ModelMembers, TreeMembers
from stakes.costs import Costs
from stakes.decision.calibration import Calibration, Isotonic
from stakes.decision.cuts import Cut
from stakes.decision.reader import Reader, Votes
from stakes.delivered import DeliveredClassifier
from stakes.gradient_boosting import END_OF_TREES, BoostedTrees, bare_text
from stakes.teams.blends import Blend
from stakes.teams.classifiers import OutOfFold
from stakes.tree.binning import Binning
from stakes.tree.leaves import SMOOTHED
from stakes.tree.nodes import BINS, FeatureBins, Nodes

__all__ = ["BoosterText", "TreeState", "check_part", "require"]

# Counts and weights beyond these are in no sample; sums of those below are exact, or at least finite.
MOST_RECORDS, LARGEST_WEIGHT = 1 << 53, 1e150
WIDEST = 1 << 20  # features


def require(holds: Any) -> None:
    """Raise an error if something does not hold."""
    if not holds:
        raise ValueError("the parts of the model do not fit together")


def _within(index: NDArray[Any], n: int) -> bool:
    return bool(((index >= 0) & (index < n)).all())


def _walks(
    splits: NDArray[np.bool_], children: Iterable[NDArray[Any]], ends: Any, feature: NDArray[Any], n_features: int
) -> bool:
    """Return whether all children come after their parents and before the end of the tree, and features exist."""
    here = np.arange(splits.size)
    after = all(((child > here) & (child < ends))[splits].all() for child in children)
    return after and _within(feature[splits], n_features)


def _is_array(value: Any, dtype: Any, *shape: int) -> bool:
    return type(value) is np.ndarray and value.dtype == dtype and value.shape == shape


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, np.float64) and not np.isnan(value)


# Parts of other packages, as plain data


class TreeState:
    """A tree of scikit-learn: what makes it, and its arrays."""

    def __init__(self, tree: Tree) -> None:
        _, self.arguments, state = tree.__reduce__()
        # What happened to be in memory in the gaps between the fields of a node is left out.
        self.state = state | {"nodes": repack_fields(state["nodes"])}

    def make(self) -> Tree:
        """Return the tree, after a check of its arrays."""
        n_features, n_classes, n_outputs = self.arguments
        require(type(n_features) is int and 0 < n_features < WIDEST and n_outputs == 1 and type(n_outputs) is int)
        require(_is_array(n_classes, np.intp, 1) and 0 < n_classes[0] < 1000)
        nodes, values, n = self.state["nodes"], self.state["values"], self.state["node_count"]
        require(type(n) is int and n > 0 and nodes.shape == (n,))
        require(_is_array(values, np.float64, n, 1, int(n_classes[0])) and np.isfinite(values).all())
        left, right = nodes["left_child"], nodes["right_child"]
        require(_walks(left >= 0, (left, right), n, nodes["feature"], n_features))
        tree = Tree(n_features, n_classes, n_outputs)
        tree.__setstate__(self.state | {"nodes": repack_fields(nodes, align=True)})
        return tree


class BoosterText:
    """A model of LightGBM: its text."""

    # What a model of one output starts with, and the numbers that each of its trees has: for each leaf, or split.
    HEAD = frozenset({
        "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective",
        "feature_names", "monotone_constraints", "feature_infos", "average_output",
    })  # fmt: skip
    OBJECTIVES = (
        "binary", "cross_entropy", "custom", "regression", "regression_l1", "huber", "fair", "poisson", "quantile",
        "mape", "gamma", "tweedie",
    )  # fmt: skip
    OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
    OF_SPLITS = (
        "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child", "internal_value",
        "internal_weight", "internal_count",
    )  # fmt: skip
    OTHERS = frozenset({"num_leaves", "num_cat", "cat_boundaries", "cat_threshold", "is_linear", "shrinkage"})

    def __init__(self, booster: Any) -> None:
        self.text = bare_text(booster.model_to_string(num_iteration=-1))
        self.best_iteration = int(booster.best_iteration)

    def make(self) -> Any:
        """Return the model, after a check of its trees."""
        from lightgbm import Booster

        n_trees = self.check(self.text)
        require(type(self.best_iteration) is int and -1 <= self.best_iteration <= n_trees)
        booster = Booster(model_str=self.text)
        booster.best_iteration = self.best_iteration
        return booster

    @classmethod
    def check(cls, text: str) -> int:
        """Raise an error if the trees of a bare text do not fit together; return how many there are."""
        require(type(text) is str and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text))
        head, *trees = text.partition(END_OF_TREES)[0].split("\n\nTree=")
        n_features = cls._check_head(head, len(trees))
        for number, tree in enumerate(trees):
            cls._check_tree(tree, number, n_features)
        return len(trees)

    @classmethod
    def _check_head(cls, head: str, n_trees: int) -> int:
        first, *lines = head.strip("\n").split("\n")
        said = dict(line.partition("=")[::2] for line in lines)
        require(first == "tree" and said.keys() <= cls.HEAD and len(said) == len(lines))
        require(said["num_class"] == said["num_tree_per_iteration"] == "1" and said["label_index"] == "0")
        kind, *options = said.get("objective", "custom").split()
        require(kind in cls.OBJECTIVES and all(re.fullmatch(r"[a-z_]+(:[-+.0-9e]+)?", option) for option in options))
        n_features = int(said["max_feature_idx"]) + 1
        require(0 < n_features < WIDEST and n_trees > 0)
        require(len(said["feature_names"].split(" ")) == n_features == len(said["feature_infos"].split(" ")))
        return n_features

    @classmethod
    def _check_tree(cls, tree: str, number: int, n_features: int) -> None:
        first, *lines = tree.strip("\n").split("\n")
        said = dict(line.partition("=")[::2] for line in lines)
        require(first == str(number) and len(said) == len(lines))
        require(said.keys() <= {*cls.OF_LEAVES, *cls.OF_SPLITS, *cls.OTHERS})
        # A threshold of inf tells what is missing from what is not.
        numbers = {name: re.sub(r"-?inf\b", "", text) if name == "threshold" else text for name, text in said.items()}
        require(all(re.fullmatch(r"[-+.0-9e ]*", text) for text in numbers.values()))
        require(said["is_linear"] == "0" and np.isfinite(float(said["shrinkage"])))
        n_leaves, n_sets = int(said["num_leaves"]), int(said["num_cat"])
        require(0 < n_leaves <= len(tree) and 0 <= n_sets <= len(tree))
        values = np.array(said["leaf_value"].split(), dtype=np.float64)
        require(values.size == n_leaves and np.isfinite(values).all())
        if n_leaves == 1:  # nothing else is read of it
            return
        for names, n in ((cls.OF_LEAVES, n_leaves), (cls.OF_SPLITS, n_leaves - 1)):
            for name in said.keys() & set(names):
                require(len(said[name].split()) == n)
                require(np.isfinite(np.array(numbers[name].split(), dtype=np.float64)).all())
        feature, left, right, kind = (
            np.array(said[name].split(), dtype=np.int64)
            for name in ("split_feature", "left_child", "right_child", "decision_type")
        )
        here = np.arange(n_leaves - 1)
        for child in (left, right):
            require(np.where(child >= 0, (child > here) & (child < n_leaves - 1), ~child < n_leaves).all())
        require(_within(feature, n_features) and _within(kind, 1 << 4))
        by_set = (kind & 1) == 1
        if not n_sets:
            require(not by_set.any())
            return
        edges, words = (np.array(said[name].split(), dtype=np.int64) for name in ("cat_boundaries", "cat_threshold"))
        require(edges.size == n_sets + 1 and edges[0] == 0 and (np.diff(edges) >= 0).all() and edges[-1] == words.size)
        require(_within(words, 1 << 32))
        sets = np.array(said["threshold"].split(), dtype=np.float64)[by_set]
        require((sets == np.floor(sets)).all() and _within(sets, n_sets))


# Parts of this package


def check_part(part: Any) -> None:
    """Raise an error if a part of a model does not fit together."""
    if isinstance(part, BaseEstimator):
        _check_estimator(part)
    elif isinstance(part, Reader):
        require(isinstance(part.votes, Votes))
    elif isinstance(part, BoostedTrees):
        require(vars(part).keys() == part.__getstate__().keys() and type(part.n_threads) is int and part.texts)
        part.texts = [bare_text(text) for text in part.texts]
        for text in part.texts:
            BoosterText.check(text)
    elif isinstance(part, Costs):
        Costs(fp=part.fp, fn=part.fn)
    elif is_dataclass(part) and isinstance(part, Calibration | Blend | Cut):
        _check_values(part)


def _check_values(part: Any) -> None:
    """Check a small immutable value of numbers and arrays of numbers."""
    require(vars(part).keys() == {field.name for field in fields(part)})
    for value in vars(part).values():
        if isinstance(value, np.ndarray):
            require(value.dtype == np.float64 and value.ndim == 1 and np.isfinite(value).all())
        elif isinstance(value, float | int):
            require(_is_number(value))
    if isinstance(part, Isotonic):
        scores, shares = part.score_knots, part.probability_knots
        require(scores.shape == shares.shape and scores.size > 0)
        require((np.diff(scores) >= 0).all() and ((shares >= 0) & (shares <= 1)).all())
    if isinstance(part, Blend):
        require(isinstance(part.calibrations, tuple) and len(part.calibrations) == part.weights.size)


def _check_estimator(estimator: Any) -> None:
    has = vars(estimator)
    if "n_features_in_" in has:
        require(type(has["n_features_in_"]) is int and 0 <= has["n_features_in_"] < WIDEST)
    n_features = has.get("n_features_in_", 0)
    if isinstance(estimator, DeliveredClassifier):
        _check_delivered(estimator)
    if "classes_" in has and "members_" in has:
        require(len(has["classes_"]) == 2)
    members = has.get("members_")
    if isinstance(members, TreeMembers):
        _check_tree_members(members, has["binning_"], n_features)
    if isinstance(members, ModelMembers):
        require(len(members) > 0 and (members.columns is None or len(members.columns) == len(members)))
    for name in ("validation_", "_also_unseen"):
        if isinstance(has.get(name), ValidationRecords):
            _check_validation(has[name], members, n_features)
    if isinstance(has.get("reader_"), Reader):
        _check_reader(has["reader_"], members)
    if isinstance(has.get("votes_"), Votes):
        _check_votes(has["votes_"], members)
    if "tree_" in has:
        require(isinstance(has["tree_"], Tree) and has["tree_"].n_features == n_features)
    if "_predictors" in has:
        _check_histogram_boosting(has, n_features)
    if isinstance(estimator, OneHotEncoder) and "categories_" in has:
        _check_one_hot(has, n_features)
    models = has.get("estimators_", members.models if "blend_" in has else None)
    if models is not None and "n_features_in_" in has:
        _check_nested(models, has.get("estimators_features_"), n_features)


def _check_votes(votes: Votes, members: Any) -> None:
    """Check what training chose about members: a value for each of them."""
    require(isinstance(votes.thresholds, dict | None))
    for chosen in (votes.weight, *(votes.thresholds or {}).values()):
        if chosen is not None:
            require(members is not None and _is_array(chosen, np.float64, len(members)) and np.isfinite(chosen).all())


def _check_reader(reader: Reader, members: Any) -> None:
    """Check what was chosen about members: a value for each of them."""
    for chosen in (reader.member_thresholds_, reader.member_errors_, reader.member_weights_):
        for values in chosen.values():
            require(members is not None and _is_array(values, np.float64, len(members)) and not np.isnan(values).any())
    require(all(np.isfinite(weight).all() and (weight >= 0).all() for weight in reader.member_weights_.values()))


def _check_delivered(model: DeliveredClassifier) -> None:
    require(isinstance(model.model, BaseEstimator) and isinstance(model.probability, Calibration | None))
    require(len(model.labels) == 2 and model.labels[0] != model.labels[1])
    require(all(isinstance(name, str) for name in model.features) and len(set(model.features)) == len(model.features))
    for name, cost in (model.foreseen_costs or {}).items():
        require(name in ("fp_cost", "fn_cost") and isinstance(cost, ForeseenCost) and len(cost.amounts) > 0)
        require(type(cost.formula) is str and type(cost.what) is str)
        for column, amount in cost.amounts.items():
            require(type(column) is str and isinstance(amount, AmountEstimator))
            require(_is_number(amount.low) and _is_number(amount.high) and amount.low <= amount.high)


def _check_tree_members(members: TreeMembers, binning: Binning, n_features: int) -> None:
    # Nothing that is derived from the arrays is taken from a file.
    trees = members.trees
    require(vars(members).keys() == members.__getstate__().keys() and vars(trees).keys() == trees.__getstate__().keys())
    require(type(members.weighted) is bool and members.grown_by in SMOOTHED)
    require(_is_number(members.growth) and 0 < members.growth < MOST_RECORDS)
    require(len(members.copies) == 2 and all(_is_number(each) and 1 <= each < MOST_RECORDS for each in members.copies))
    require(members.cheapest_leaf in (None, *members.leaves_to_try))
    require(members.base_rate is None or (_is_number(members.base_rate) and 0 <= members.base_rate <= 1))
    _check_binning(binning, n_features)
    nodes = trees.nodes
    require(isinstance(nodes, Nodes))
    n = nodes.feature.size
    arrays: dict[str, Any] = {
        "feature": (np.int32, n), "threshold": (np.uint8, n), "missing_left": (np.uint8, n), "left": (np.int32, n),
        "category_set": (np.int32, n), "categories_left": (np.uint64, len(nodes.categories_left), 4),
        "counts": (nodes.counts.dtype, n, 2), "weights": (nodes.weights.dtype, n, 2), "gain": (np.float64, n),
    }  # fmt: skip
    require(all(_is_array(getattr(nodes, name), *kind) for name, kind in arrays.items()))
    require(_is_array(trees.sizes, np.int64, trees.sizes.size) and trees.sizes.size > 0)
    require(trees.sizes.min() > 0 and trees.sizes.max() <= n and trees.sizes.sum() == n)
    ends = np.repeat(np.cumsum(trees.sizes), trees.sizes)
    require(_walks(nodes.feature >= 0, (nodes.left, nodes.left.astype(np.int64) + 1), ends, nodes.feature, n_features))
    require((nodes.left[nodes.feature < 0] < 0).all())  # parents are found by who has them for a child
    by_set = nodes.category_set >= 0  # a leaf that went by a set would be left, and never reached again
    require(_within(nodes.category_set[by_set], len(nodes.categories_left)) and (nodes.feature[by_set] >= 0).all())
    require(binning.feature_bins_.categorical[nodes.feature[by_set]].all())
    for totals in (nodes.counts, nodes.weights):
        require(totals.dtype.kind in "iuf" and (totals >= 0).all())  # nor NaN
        require((totals <= (LARGEST_WEIGHT if totals.dtype.kind == "f" else MOST_RECORDS)).all())


def _check_binning(binning: Binning, n_features: int) -> None:
    bins = binning.feature_bins_
    require(isinstance(binning, Binning) and isinstance(bins, FeatureBins) and type(binning.n_threads) is int)
    require(_is_array(binning.cuts_, np.float64, n_features, BINS - 1) and not np.isnan(binning.cuts_).any())
    require(_is_array(bins.n_bins, np.int32, n_features) and _is_array(bins.categorical, np.uint8, n_features))
    require(_is_array(bins.centers, np.float64, n_features, BINS))
    require(len(binning.names_) == len(binning.categories_) == n_features)
    for categories in binning.categories_:
        require(categories is None or all(type(bin_) is int and 0 <= bin_ < BINS for bin_ in categories.values()))


def _check_validation(validation: ValidationRecords, members: Any, n_features: int) -> None:
    of_blend = {"scores", "folds"} if isinstance(validation, OutOfFold) else set()
    require(vars(validation).keys() == {"records", "in_training", "_unseen"} | of_blend)
    require(type(validation.in_training) is bool)
    records, unseen = validation.records, validation._unseen
    n = len(records.positive)
    if isinstance(validation, OutOfFold):
        scores, folds = validation.scores, validation.folds
        require(records.X is None and unseen is None and scores.ndim == 2)
        require(_is_array(scores, np.float64, n, scores.shape[1]) and np.isfinite(scores).all())
        require(_is_array(folds, np.intp, n) and _within(folds, n))
    require(_is_array(records.positive, np.bool_, n) and records.costs.n_records in (None, n))
    require(records.known_costs is None or records.known_costs.n_records in (None, n))
    require(records.weight is None or (_is_array(records.weight, np.float64, n) and (records.weight >= 0).all()))
    if isinstance(members, TreeMembers):
        require(_is_array(records.X, np.uint8, n, -(-n_features // 8) * 8))
    if unseen is not None:
        require(_is_array(unseen, np.uint8, len(members), -(-n // 8)))


# Models of scikit-learn


def _check_histogram_boosting(has: dict[str, Any], n_features: int) -> None:
    mapper = has["_bin_mapper"]
    categorical, edges = mapper.is_categorical_, mapper.bin_thresholds_
    require(len(categorical) == len(edges) == n_features)
    for is_categorical, values in zip(categorical, edges, strict=True):
        require(not is_categorical or _within(np.asarray(values), BINS))
    for predictors in has["_predictors"]:
        for predictor in predictors:
            nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
            splits = nodes["is_leaf"] == 0
            require(_walks(splits, (nodes["left"], nodes["right"]), nodes.size, nodes["feature_idx"], n_features))
            require(np.isfinite(nodes["value"]).all() and _is_array(sets, np.uint32, len(sets), 8))
            by_category = splits & (nodes["is_categorical"] != 0)
            require(_within(nodes["bitset_idx"][by_category], len(sets)))
            require(np.asarray(categorical)[nodes["feature_idx"][by_category]].all())


def _check_one_hot(has: dict[str, Any], n_features: int) -> None:
    """Check that each category has a column within those of its feature: they are written without another look."""
    columns, dropped = has["_n_features_outs"], has.get("drop_idx_")
    mappings, rare = has.get("_default_to_infrequent_mappings"), has.get("_infrequent_indices")
    require(len(columns) == len(has["categories_"]) == n_features)
    for j, categories in enumerate(has["categories_"]):
        mapping, few = (None if each is None else each[j] for each in (mappings, rare))
        require((mapping is None) == (few is None))
        room = columns[j] + (dropped is not None and dropped[j] is not None)
        require(np.ndim(categories) == 1)
        if mapping is None:
            require(categories.size <= room)
        else:
            require(
                mapping.size == categories.size and _within(mapping, room) and _within(np.asarray(few), categories.size)
            )


def _check_nested(models: Any, given: Any, n_features: int) -> None:
    """Check that the models of an ensemble know as many features as they are given by it."""
    models = models.ravel().tolist() if isinstance(models, np.ndarray) else list(models)
    widths = [n_features] * len(models) if given is None else [len(features) for features in given]
    require(len(widths) == len(models))
    require(given is None or all(_within(np.asarray(features), n_features) for features in given))
    for model, width in zip(models, widths, strict=True):
        require(getattr(model, "n_features_in_", width) == width)
