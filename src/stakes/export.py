"""Tree ensembles as ONNX models, with the same probabilities: for services without Python, or without this package.

Needs the extra ``stakes[onnx]``. Thresholds, leaf values and sums are in double precision, so that a record takes the
same way through every tree as here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import stakes
from stakes._atomic import write_atomically
from stakes._members import Prior, TreeMembers
from stakes._typing import Floats
from stakes.decision.calibration import (
    CALIBRATIONS,
    Calibration,
    Isotonic,
    Logistic,
    LogisticBounded,
    Platt,
    PlattLogit,
)
from stakes.decision.readings import OWN, Source
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import ModelFileError
from stakes.tree.binning import Binning
from stakes.tree.trees import Trees

__all__ = ["to_onnx"]

# Of the operators: TreeEnsemble, which takes sets of categories and double precision, came with version 5.
OPSETS = {"": 20, "ai.onnx.ml": 5}
IR_VERSION = 10
LEQ, MEMBER = 0, 6  # modes of a split
SUM = 1  # aggregate function


def to_onnx(model: Any, path: str | Path | None = None) -> Any:
    """Return a fitted tree ensemble as an ONNX model.

    Parameters
    ----------
    model : classifier
        A tree, a bagging or boosting of trees, or the model of a study that is one of these. Its scores must not depend
        on the costs of the records, as those of members that vote by T_cs do; its threshold may.
    path : path, default=None
        Where to write the model, too.

    Returns
    -------
    onnx_model : onnx.ModelProto
        Its inputs are the columns of the training data, of shape (n_records, 1): doubles with NaN for missing values,
        or strings, where any that was not in training, such as "", is missing. A model trained on an array has one
        input ``X``. Its output ``probabilities``, of shape (n_records, 2), is that of `predict_proba`. The classes, and
        the threshold where it is one number, are in ``metadata_props``.

    Examples
    --------
    >>> from stakes import make_classifier
    >>> from stakes.datasets import make_churn
    >>> from stakes.export import to_onnx
    >>> data = make_churn(500, random_state=0)
    >>> forest = make_classifier("rf", n_estimators=10, random_state=0).fit(data.frame, data.target)
    >>> exported = to_onnx(forest)  # doctest: +SKIP
    >>> [column.name for column in exported.graph.input][:2]  # doctest: +SKIP
    ['tenure', 'contract']
    """
    try:
        import onnx
    except ImportError:
        raise ModelFileError("to_onnx needs the package onnx: pip install 'stakes[onnx]'") from None
    check_is_fitted(model)
    inner, after = (model.model, model.probability) if isinstance(model, DeliveredClassifier) else (model, None)
    if not isinstance(getattr(inner, "members_", None), TreeMembers):
        raise ModelFileError(
            f"{type(inner).__name__} is not made of trees of this package, which is all that can be exported: use the "
            "exporter of the library that it comes from, or serve the model file with stakes"
        )
    graph = _Graph(onnx)
    features = graph.inputs(inner.binning_, named=hasattr(inner, "feature_names_in_"))
    score, total = _score(graph, inner, features)
    for calibration in (inner.cut_.calibration, after):
        if calibration is None:
            continue
        if type(calibration) not in CALIBRATED:
            known = ", ".join(repr(name) for name, kind in CALIBRATIONS.items() if kind in CALIBRATED)
            raise ModelFileError(
                f"{type(calibration).__name__}, {calibration.words}, cannot be exported: choose a decision with one of "
                f"the calibrations {known}, or without any"
            )
        score = CALIBRATED[type(calibration)](graph, calibration, score, total)
    other = graph.add("Sub", graph.number(1.0), score)
    graph.add("Concat", *((other, score) if model._positive == 1 else (score, other)), axis=1, output="probabilities")
    threshold = "" if inner.cut_.threshold.needs_costs else repr(float(inner.cut_.threshold(None)))
    facts = {"stakes": stakes.__version__, "classes": repr(model.classes_.tolist()), "threshold": threshold}
    exported = graph.model({name: fact for name, fact in facts.items() if fact})
    if path is not None:
        write_atomically(Path(path), exported.SerializeToString())
    return exported


class _Graph:
    """An ONNX graph in the making: `add` puts an operator in, and returns the name of its output."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.given: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Put an operator on named values into the graph."""
        output = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def tensor(self, values: Any) -> Any:
        """Return numbers as an attribute holds them."""
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(values))

    def number(self, value: Any) -> str:
        """Put a constant into the graph: a number, or a row of them."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.atleast_2d(np.asarray(value, np.float64)), name))
        return name

    def input(self, name: str, kind: str, width: int) -> str:
        """Declare an input."""
        kind_number = getattr(self.onnx.TensorProto, kind)
        self.given.append(self.onnx.helper.make_tensor_value_info(name, kind_number, [None, width]))
        return name

    def inputs(self, binning: Binning, *, named: bool) -> str:
        """Declare the features as inputs, and return them as a matrix in which categories are the numbers of bins."""
        if not named:
            return self.input("X", "DOUBLE", len(binning.names_))
        columns = []
        for name, categories in zip(binning.names_, binning.categories_, strict=True):
            if categories is None:
                columns.append(self.input(name, "DOUBLE", 1))
                continue
            columns.append(
                self.add(
                    "LabelEncoder",
                    self.input(name, "STRING", 1),
                    domain="ai.onnx.ml",
                    keys_tensor=self.onnx.helper.make_tensor(
                        "keys", self.onnx.TensorProto.STRING, [len(categories)], [key.encode() for key in categories]
                    ),
                    values_tensor=self.tensor(np.array(list(categories.values()), np.float64)),
                    default_tensor=self.tensor(np.array([0.0])),
                )
            )
        return self.add("Concat", *columns, axis=1)

    def model(self, facts: dict[str, str]) -> Any:
        """Return the finished model."""
        make = self.onnx.helper
        double = self.onnx.TensorProto.DOUBLE
        result = make.make_tensor_value_info("probabilities", double, [None, 2])
        graph = make.make_graph(self.nodes, "stakes", self.given, [result], self.constants)
        opsets = [make.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        made = make.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="stakes")
        make.set_model_props(made, facts)
        self.onnx.checker.check_model(made)
        return made


def _score(graph: _Graph, model: Any, features: str) -> tuple[str, str]:
    """Put the score before calibration into the graph, and the total weight of the votes."""
    reader, leaves = model.reader_, model.members_.leaves
    source = Source.of(model.cut_.decision, reader.votes.output)

    def total(values: Floats) -> str:
        return _summed(graph, model.members_.trees, model.binning_, values, features)

    if source.output == "average":
        mean = total(leaves.sampled_probability(source.leaf) / leaves.n_members)
        return mean if leaves.prior is None else _prior_corrected(graph, leaves.prior, mean), ""
    if reader.needs_costs:
        raise ModelFileError(
            f"the members of {model!r} vote by the costs of each record, which an exported model does not know: "
            "choose a decision with output='average', or with member='label'"
        )
    weight = reader.member_weights(source, leaves.n_members)[leaves.member]
    if reader.by_node(source):
        weight = weight * leaves.mean_weight
    if source.vote_weight == OWN and reader.votes.cast == "confidence":
        share = leaves.probability("frequency")
    else:
        share = reader.fixed_votes(source.member, source.leaf, leaves).astype(np.float64)
    whole = total(weight)
    return graph.add("Div", total(weight * share), whole), whole


def _summed(graph: _Graph, trees: Trees, binning: Binning, values: Floats, features: str) -> str:
    """Put the sum of leaf values over all trees into the graph."""
    nodes, is_leaf = trees.nodes, trees.nodes.feature < 0
    # A tree without splits is one that leads to its leaf on both sides.
    splits = np.union1d(np.flatnonzero(~is_leaf), trees.roots)
    number = np.zeros(is_leaf.size, np.int64)
    number[splits] = np.arange(splits.size)
    left = np.where(is_leaf[splits], splits, nodes.left[splits])
    right = np.where(is_leaf[splits], splits, nodes.left[splits] + 1)
    by_set = nodes.category_set[splits] >= 0
    cuts = np.column_stack([np.full(len(binning.cuts_), -np.inf), binning.cuts_])  # below the first bin, and above each
    members = [np.append(nodes.bins_left(node).astype(np.float64), np.nan) for node in splits[by_set]]  # NaN ends a set

    def children(side: NDArray[np.integer]) -> tuple[list[int], list[int]]:
        leaf = is_leaf[side]
        return np.where(leaf, trees.leaf_number[side], number[side]).tolist(), leaf.astype(int).tolist()

    true, true_leaf = children(left)
    false, false_leaf = children(right)
    feature = np.maximum(nodes.feature[splits], 0)
    return graph.add(
        "TreeEnsemble",
        features,
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=SUM,
        tree_roots=number[trees.roots].tolist(),
        nodes_modes=graph.tensor(np.where(by_set, MEMBER, LEQ).astype(np.uint8)),
        nodes_featureids=feature.tolist(),
        nodes_splits=graph.tensor(np.where(by_set, 0.0, cuts[feature, nodes.threshold[splits]])),
        nodes_truenodeids=true,
        nodes_trueleafs=true_leaf,
        nodes_falsenodeids=false,
        nodes_falseleafs=false_leaf,
        nodes_missing_value_tracks_true=np.where(by_set, 0, nodes.missing_left[splits]).tolist(),
        leaf_targetids=[0] * values.size,
        leaf_weights=graph.tensor(values.astype(np.float64)),
        **({"membership_values": graph.tensor(np.concatenate(members))} if members else {}),
    )


def _prior_corrected(graph: _Graph, prior: Prior, p: str) -> str:
    sampled, original = float(prior.sampled.mean()), prior.original
    positive = graph.add("Mul", p, graph.number(original / sampled))
    other = graph.add("Sub", graph.number(1.0), p)
    negative = graph.add("Mul", other, graph.number((1 - original) / (1 - sampled)))
    return graph.add("Div", positive, graph.add("Add", positive, negative))


def _logistic(graph: _Graph, score: str, slope: float, intercept: float, total: str = "") -> str:
    """Put 1 / (1 + exp(-(slope x score + intercept) x total)) into the graph."""
    linear = graph.add("Add", graph.add("Mul", score, graph.number(slope)), graph.number(intercept))
    return graph.add("Sigmoid", graph.add("Mul", linear, total) if total else linear)


def _platt_logit(graph: _Graph, calibration: PlattLogit, score: str) -> str:
    low, high = graph.number(calibration.clip), graph.number(1 - calibration.clip)
    clipped = graph.add("Min", graph.add("Max", score, low), high)
    odds = graph.add("Div", clipped, graph.add("Sub", graph.number(1.0), clipped))
    return _logistic(graph, graph.add("Log", odds), -calibration.slope, -calibration.intercept)


def _isotonic(graph: _Graph, calibration: Isotonic, score: str) -> str:
    """Put the sum of what each piece between two knots adds into the graph."""
    x, y = calibration.score_knots, calibration.probability_knots
    width = np.diff(x)
    pieces = width > 0
    if not pieces.any():
        return graph.add("Add", graph.add("Mul", score, graph.number(0.0)), graph.number(y[0]))
    beyond = graph.add("Max", graph.add("Sub", score, graph.number(x[:-1][pieces])), graph.number(0.0))
    within = graph.add("Min", beyond, graph.number(width[pieces]))
    slopes = graph.number((np.diff(y)[pieces] / width[pieces])[:, None])
    return graph.add("Add", graph.add("MatMul", within, slopes), graph.number(y[0]))


CALIBRATED: dict[type[Calibration], Callable[[_Graph, Any, str, str], str]] = {
    Logistic: lambda graph, _, score, total: _logistic(graph, score, 4.0, -2.0, total),
    LogisticBounded: lambda graph, _, score, __: _logistic(graph, score, 4.0, -2.0),
    Platt: lambda graph, platt, score, _: _logistic(graph, score, -platt.slope, -platt.intercept),
    PlattLogit: lambda graph, platt, score, _: _platt_logit(graph, platt, score),
    Isotonic: lambda graph, isotonic, score, _: _isotonic(graph, isotonic, score),
}
