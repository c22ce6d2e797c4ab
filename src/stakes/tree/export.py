"""A tree as text or for Graphviz: its rules, and the records and costs in its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from stakes._format import money
from stakes._typing import Int32s
from stakes.tree.binning import Binning
from stakes.tree.nodes import Nodes

__all__ = ["NodeTexts", "Weights", "cut_at", "export_graphviz", "export_text"]

Weights = Literal["count", "weight", "cost"]
"""What ``nodes.weights`` are: counts of records once more, weights, or costs."""

# Red, green and blue of a node that is all negative, all positive.
COLORS = (0x39, 0x9D, 0xE5), (0xE5, 0x81, 0x39)


def export_text(
    nodes: Nodes,
    binning: Binning,
    *,
    weights: Weights = "count",
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] = ("negative", "positive"),
    max_depth: int | None = None,
    max_categories: int = 10,
    digits: int | None = None,
) -> str:
    """Return the rules of one tree as text, a line for each node.

    A line has the rule that leads to the node, its number of records, and its label. Missing values go where the rule
    has "missing"; so do categories that were not seen in training.

    Parameters
    ----------
    nodes : Nodes
        One tree.
    binning : Binning
        What its bins stand for.
    weights : {"count", "weight", "cost"}, default="count"
        What ``nodes.weights`` are, which decides how they are written.
    feature_names : sequence of length n_features, default=None
        Names of the features; by default those of `binning`.
    class_names : sequence of length 2, default=("negative", "positive")
        Names of the labels.
    max_depth : int, default=None
        The depth of the last line; splits below are shown as "...".
    max_categories : int, default=10
        How many categories to name on one side of a split.
    digits : int, default=None
        Significant digits of thresholds; by default as many as it takes to write them exactly.

    Returns
    -------
    str

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.export import export_text
    >>> tree = CostTreeClassifier(criterion="cost", max_depth=1)
    >>> tree = tree.fit([[10.0], [20.0], [70.0], [90.0]], [0, 0, 0, 1], fp_cost=5, fn_cost=90)
    >>> print(export_text(tree.members_.trees.nodes, tree.binning_, weights="cost", feature_names=["amount"]))
    4 records, 1 positive, P+ 0.25, cost 15.00 (other label 90.00) -> positive
    |-- amount <= 80.0 or missing: 3 records, 0 positive, P+ 0, cost 0.00 (other label 15.00) -> negative
    |-- amount > 80.0: 1 record, 1 positive, P+ 1, cost 0.00 (other label 90.00) -> positive
    """
    words = NodeTexts(nodes, binning, weights, feature_names, class_names, max_depth, max_categories, digits)
    lines = []
    for node, depth, more in words.visit():
        rule = f"{'|   ' * (depth - 1)}|-- {words.rule(node)}: " if depth else ""
        lines.append(f"{rule}{', '.join(words.facts(node))} -> {words.label(node)}{' ...' if more else ''}")
    return "\n".join(lines)


def export_graphviz(
    nodes: Nodes,
    binning: Binning,
    *,
    weights: Weights = "count",
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] = ("negative", "positive"),
    max_depth: int | None = None,
    max_categories: int = 10,
    digits: int | None = None,
) -> str:
    r"""Return one tree in the DOT language, for Graphviz to draw.

    A node has the rule by which records go left. Its colour is that of its label, the stronger the clearer the case.

    Parameters
    ----------
    nodes, binning, weights, feature_names, class_names, max_depth, max_categories, digits
        As for `export_text`.

    Returns
    -------
    str
        Draw it with ``dot -Tsvg``, or with ``graphviz.Source`` in a notebook.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.tree.export import export_graphviz
    >>> tree = CostTreeClassifier(max_depth=1).fit([[10.0], [20.0], [70.0], [90.0]], [0, 0, 0, 1])
    >>> print(export_graphviz(tree.members_.trees.nodes, tree.binning_, feature_names=["amount"]))
    digraph tree {
    node [shape=box, style="filled,rounded", fontname="helvetica"];
    edge [fontname="helvetica"];
    0 [label="amount <= 80.0 or missing?\n4 records\n1 positive\nP+ 0.25\nnegative", fillcolor="#9ccef2"];
    1 [label="3 records\n0 positive\nP+ 0\nnegative", fillcolor="#399de5"];
    0 -> 1 [label="yes"];
    2 [label="1 record\n1 positive\nP+ 1\npositive", fillcolor="#e58139"];
    0 -> 2 [label="no"];
    }
    """
    words = NodeTexts(nodes, binning, weights, feature_names, class_names, max_depth, max_categories, digits)
    lines = [
        "digraph tree {",
        'node [shape=box, style="filled,rounded", fontname="helvetica"];',
        'edge [fontname="helvetica"];',
    ]
    for node, depth, more in words.visit():
        question = [f"{words.rule(nodes.left[node])}?"] if nodes.feature[node] >= 0 else []
        label = _quoted([*question, *words.facts(node), words.label(node), *(["..."] if more else [])])
        lines.append(f"{node} [label={label}, fillcolor={_quoted([words.color(node)])}];")
        if depth:
            parent = words.parent[node]
            lines.append(f"{parent} -> {node} [label={_quoted(['yes' if node == nodes.left[parent] else 'no'])}];")
    return "\n".join([*lines, "}"])


def cut_at(nodes: Nodes, threshold: float) -> Nodes:
    """Return the nodes with weights by which labels are positive where the share of positives is above a threshold."""
    negatives, positives = nodes.counts.T
    if 0.0 <= threshold < 1.0:
        weights = np.column_stack([threshold * negatives, (1.0 - threshold) * positives])
    else:  # all or none are positive
        weights = (negatives + positives)[:, None] * np.array([threshold >= 1.0, threshold < 0.0])
    return nodes._replace(weights=weights)


@dataclass(frozen=True)
class NodeTexts:
    """What is written and drawn of the nodes of a tree, by the options of `export_text`."""

    nodes: Nodes
    binning: Binning
    weights: Weights
    feature_names: Sequence[Any] | None
    class_names: Sequence[Any]
    max_depth: int | None
    max_categories: int
    digits: int | None

    def __post_init__(self) -> None:
        for argument, given, needed in (
            ("feature_names", self.feature_names, len(self.binning.names_)),
            ("class_names", self.class_names, 2),
        ):
            if given is not None and len(given) != needed:
                raise ValueError(f"{argument} has {len(given)} names: give {needed}")

    @cached_property
    def parent(self) -> Int32s:
        """The node above each node."""
        return self.nodes.parent

    def visit(self) -> Iterator[tuple[int, int, bool]]:
        """Go through the nodes depth first, left first: number, depth, and whether there is more that is not shown."""
        pending = [(0, 0)]
        while pending:
            node, depth = pending.pop()
            splits = bool(self.nodes.feature[node] >= 0)
            shown = splits and (self.max_depth is None or depth < self.max_depth)
            if shown:
                left = int(self.nodes.left[node])
                pending += [(left + 1, depth + 1), (left, depth + 1)]
            yield node, depth, splits and not shown

    def rule(self, node: int) -> str:
        """Return the rule by which records of the parent come to this node."""
        nodes = self.nodes
        parent = self.parent[node]
        goes_left = bool(node == nodes.left[parent])
        feature = nodes.feature[parent]
        names = self.binning.names_ if self.feature_names is None else self.feature_names
        known = self._numbers(parent, goes_left) if nodes.category_set[parent] < 0 else self._names(parent, goes_left)
        with_missing = bool(nodes.missing_left[parent]) == goes_left
        return f"{_printable(names[feature])} {' or '.join([*known, *(['missing'] if with_missing else [])])}"

    def _numbers(self, parent: int, goes_left: bool) -> list[str]:
        cut = float(self.binning.cuts_[self.nodes.feature[parent], self.nodes.threshold[parent] - 1])
        if cut == np.inf:  # missing values alone go the other way
            return ["not missing"] if goes_left else []
        threshold = repr(cut) if self.digits is None else f"{cut:.{self.digits}g}"
        return [f"{'<=' if goes_left else '>'} {threshold}"]

    def _names(self, parent: int, goes_left: bool) -> list[str]:
        left = set(self.nodes.bins_left(parent).tolist())
        categories = self.binning.categories_[self.nodes.feature[parent]] or {}
        names = sorted(name for name, bin_ in categories.items() if (bin_ in left) == goes_left)
        if not names:
            return []
        listed = [repr(name) for name in names[: self.max_categories]]
        more = len(names) - len(listed)
        return [f"in {{{', '.join(listed + ([f'... {more} more'] if more else []))}}}"]

    def facts(self, node: int) -> list[str]:
        """Return how many records there are, of which class, and what they weigh or cost."""
        negatives, positives = self.nodes.counts[node].tolist()
        n = negatives + positives
        counted = [f"{n:,} record{'s' if n != 1 else ''}", f"{positives:,} positive"]
        weights, share = self.nodes.weights[node], _share(self.nodes.counts[node])
        if self.weights == "weight":
            return [*counted, f"weight {weights.sum():,.6g}", _share(weights)]
        if self.weights == "count":
            return [*counted, share]
        # The label is the class that costs more to mistake, so that a node costs the smaller sum: C_t (FRAMEWORK 5.1).
        cost, other = np.sort(weights)
        return [*counted, share, f"cost {money(cost)} (other label {money(other)})"]

    def label(self, node: int) -> str:
        """Return the name of the label."""
        negative, positive = self.nodes.weights[node]
        return _printable(self.class_names[int(positive > negative)])

    def color(self, node: int) -> str:
        """Mix the colour of the label with white, the more the closer the decision."""
        negative, positive = self.nodes.weights[node].tolist()
        total = negative + positive
        strength = abs(positive - negative) / total if total > 0 else 0.0
        return "#" + "".join(f"{round(255 - strength * (255 - hue)):02x}" for hue in COLORS[positive > negative])


def _share(sums: Any) -> str:
    negative, positive = sums.tolist()
    total = negative + positive
    return f"P+ {positive / total:.3g}" if total > 0 else "P+ unknown"


def _printable(name: Any) -> str:
    """Return a name as it is, or with escapes for what would break a line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))


def _quoted(lines: list[str]) -> str:
    r"""Return a label for DOT: lines joined by ``\n``, and no character that Graphviz interprets."""
    meaning = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})
    return '"' + r"\n".join(line.translate(meaning) for line in lines) + '"'
