"""A tree with the money in its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from stakes.cost_tree import CostTreeClassifier
from stakes.costs import Costs
from stakes.decision.thresholds import positives, record_weights
from stakes.exceptions import CostsNeededError
from stakes.plots import base
from stakes.tree.export import NodeTexts, Weights
from stakes.tree.pruning import node_sums

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["Box", "CostTreeDisplay", "boxes_of"]


@dataclass(frozen=True)
class Box:
    """A node as it is drawn."""

    node: int
    parent: int  # -1 for the root
    x: float  # boxes without others below them are 1 apart
    depth: int
    text: str
    color: str
    answer: str  # yes or no, to the question of the box above


def boxes_of(words: NodeTexts) -> list[Box]:
    """Return the nodes of one tree, each after those above it, with places and texts."""
    nodes, visited = words.nodes, list(words.visit())
    ends = [node for node, _, more in visited if more or nodes.feature[node] < 0]
    x = {node: float(place) for place, node in enumerate(ends)}
    for node, _, _ in reversed(visited):  # children before their parents
        if node not in x:
            left = int(nodes.left[node])
            x[node] = (x[left] + x[left + 1]) / 2

    def text(node: int, more: bool) -> str:
        splits = nodes.feature[node] >= 0 and not more
        question = [f"{words.rule(nodes.left[node])}?"] if splits else []
        facts = [fact.replace(" (", "\n(") for fact in words.facts(node)]  # narrow boxes leave room for more
        return "\n".join([*question, *facts, f"→ {words.label(node)}", *(["…"] if more else [])])

    def box(node: int, depth: int, more: bool) -> Box:
        parent = int(words.parent[node]) if depth else -1
        answer = "yes" if depth and nodes.left[parent] == node else "no"
        return Box(node, parent, x[node], depth, text(node, more), words.color(node), answer)

    return [box(*place) for place in visited]


@dataclass(kw_only=True, eq=False)
class CostTreeDisplay:
    """The upper part of a decision tree, with records and money in its nodes.

    Use `from_estimator`. A node asks the question that sends a record left if the answer is yes; it says how many
    records reach it and what its label costs them. Its colour is that of its label, and the stronger the clearer
    the case.

    Parameters
    ----------
    boxes : list of Box
        The nodes to draw.

    Attributes
    ----------
    texts_ : list of matplotlib Annotation
        The nodes, in the order of `boxes`.
    ax_, figure_ : matplotlib Axes and Figure
        What they are drawn on.

    Examples
    --------
    >>> from stakes import CostTreeClassifier
    >>> from stakes.datasets import make_transactions
    >>> from stakes.plots import CostTreeDisplay
    >>> data = make_transactions(2000, random_state=0)
    >>> tree = CostTreeClassifier(criterion="cost").fit(
    ...     data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn
    ... )
    >>> display = CostTreeDisplay.from_estimator(tree, max_depth=1)
    >>> len(display.texts_)
    3
    """

    boxes: list[Box]

    @classmethod
    def from_estimator(
        cls,
        estimator: CostTreeClassifier,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike = 0.0,
        tn_cost: ArrayLike = 0.0,
        sample_weight: ArrayLike | None = None,
        max_depth: int | None = 3,
        max_categories: int = 2,
        digits: int = 4,
        ax: Axes | None = None,
        **plot_kw: Any,
    ) -> Self:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : CostTreeClassifier
            A fitted tree.
        X, y : default=None
            Records to count in the nodes, with their costs; a node's label is then the cheaper one for these. By
            default the records that the tree was grown on, with money only if it was grown or pruned by costs.
        fp_cost, fn_cost : float or array-like of shape (n_records,), default=None
            Costs of the records of `X`.
        tp_cost, tn_cost : float or array-like of shape (n_records,), default=0
            Costs of right decisions on them.
        sample_weight : array-like of shape (n_records,), default=None
            How often each of them counts.
        max_depth : int or None, default=3
            The depth of the last row of nodes; None for all.
        max_categories : int, default=2
            How many categories to name on one side of a split.
        digits : int, default=4
            Significant digits of thresholds.
        ax : matplotlib Axes, default=None
            Axes to draw on; new ones of a fitting size by default.
        **plot_kw
            Further arguments of `plot`.

        Returns
        -------
        display : CostTreeDisplay
        """
        if not isinstance(estimator, CostTreeClassifier):
            raise TypeError(f"{type(estimator).__name__} is not a CostTreeClassifier: only its trees can be drawn")
        nodes, _ = estimator._drawn()
        weights: Weights = "cost" if estimator.recipe().uses_costs else "count"
        pos_label = base.positive_class(estimator)
        if X is not None:
            if y is None or fp_cost is None or fn_cost is None:
                raise CostsNeededError("records were given without y, fp_cost or fn_cost: give all, or none of them")
            (positive,) = positives(pos_label, y=y)
            n = positive.size
            leaf = np.searchsorted(estimator.members_.trees.leaves, estimator.apply(X))
            if leaf.size != n:
                raise ValueError(f"X has {leaf.size} records, y has {n}")
            weight = record_weights(sample_weight, n, "X")
            cost = Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost).for_records(n).of(positive)
            counts, weights = node_sums(nodes, leaf, positive, weight), "cost"
            nodes = nodes._replace(
                counts=counts.astype(np.int64) if (counts == np.rint(counts)).all() else counts,
                weights=node_sums(nodes, leaf, positive, weight * cost),
            )
        class_names = [*estimator.classes_[estimator.classes_ != pos_label], pos_label]
        words = NodeTexts(nodes, estimator.binning_, weights, None, class_names, max_depth, max_categories, digits)
        return cls(boxes=boxes_of(words)).plot(ax, **plot_kw)

    def plot(self, ax: Axes | None = None, *, fontsize: float = 9.0) -> Self:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; new ones of a fitting size by default.
        fontsize : float, default=9
            Size of the text in points; made smaller where nodes would overlap.

        Returns
        -------
        self : CostTreeDisplay
        """
        width = 1 + max(box.x for box in self.boxes)
        depth = max(box.depth for box in self.boxes)
        ax = base.start(self, ax, figsize=(1 + 1.7 * width, 0.5 + 1.5 * (depth + 1)))
        ax.set(xlim=(-0.5, width - 0.5), ylim=(-depth - 0.5, 0.5))
        ax.set_axis_off()
        place = {box.node: (box.x, -box.depth) for box in self.boxes}
        background = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1}
        centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": fontsize}
        self.texts_: list[Annotation] = []
        for box in self.boxes:
            if box.depth:
                (x, y), (x_above, y_above) = place[box.node], place[box.parent]
                ax.plot((x, x_above), (y, y_above), **base.REFERENCE | {"linestyle": "-"})
                ax.text((x + x_above) / 2, (y + y_above) / 2, box.answer, bbox=background, **centred)
            frame = {"boxstyle": "round,pad=0.4", "facecolor": box.color, "edgecolor": base.REFERENCE["color"]}
            # A name may have dollars in it, which make no formula.
            self.texts_.append(ax.annotate(box.text, place[box.node], bbox=frame, parse_math=False, **centred))
        self._shrink(fontsize)
        return self

    def _shrink(self, fontsize: float) -> None:
        """Make the text smaller until the boxes of a row have room next to each other."""
        rows: dict[int, list[Any]] = {}
        for box, text in zip(self.boxes, self.texts_, strict=True):
            rows.setdefault(box.depth, []).append(text.get_window_extent())
        room = [
            (right.x0 + right.x1 - left.x0 - left.x1) / (left.width + right.width + 4 * fontsize)
            for row in rows.values()
            for left, right in pairwise(row)
        ]
        for text in self.texts_:
            text.set_fontsize(fontsize * min([1.0, *room]))
