"""ROC with lines of equal cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import auc

from stakes._docs import documented
from stakes.curves import (
    IsoCostLines,
    OperatingPoint,
    RocPoints,
    decide_by_costs,
    iso_cost_lines,
    operating_point,
    roc_points,
)
from stakes.decision.thresholds import positives
from stakes.metrics import tuned_threshold
from stakes.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CostROCDisplay"]


@documented
@dataclass(kw_only=True, eq=False)
class CostROCDisplay(base.PredictionDisplay):
    """ROC curve with lines of equal cost and operating points.

    Use `from_estimator` or `from_predictions`; draw several models on the same axes with ``ax=``. The lines are for
    class-mean costs and the base rate: all decisions on one of them cost the same, up and to the left is cheaper.
    Dots mark decisions: those by the threshold with the least cost; where scores are probabilities,
    those by each record's T_cs; and those of the estimator. With record-dependent costs the last two may lie off
    the curve.

    Parameters
    ----------
    curve : RocPoints
        The rates of every threshold.
    iso_cost : IsoCostLines
        Lines of equal cost.
    points : dict of OperatingPoint
        Decisions by their names.
    name : str or None
        Name of the line.

    Attributes
    ----------
    {line}

    Examples
    --------
    >>> from stakes.plots import CostROCDisplay
    >>> y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> display = CostROCDisplay.from_predictions(y, p, fp_cost=5, fn_cost=20, name="model")
    >>> display.line_.get_label()
    'model: AUC 0.833'
    >>> display.points["least cost"]
    OperatingPoint(fpr=0.333..., tpr=1.0)
    """

    curve: RocPoints
    iso_cost: IsoCostLines
    points: dict[str, OperatingPoint] = field(default_factory=dict)
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        fp_cost: ArrayLike,
        fn_cost: ArrayLike,
        tp_cost: ArrayLike = 0.0,
        tn_cost: ArrayLike = 0.0,
        y_pred: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = 1,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kw: Any,
    ) -> Self:
        """Draw from true classes, scores and, if given, decisions.

        Parameters
        ----------
        {scores}
        y_pred : array-like of shape (n_records,), default=None
            Decisions to mark with a point.
        {drawing}
        """
        (positive,) = positives(pos_label, y_true=y_true)
        costs: dict[str, Any] = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        settings: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": True}
        curve = roc_points(positive, y_score, **settings)
        threshold = tuned_threshold(positive, y_score, **costs, **settings)
        decisions = {"least cost": np.asarray(y_score) > threshold}
        if base.are_probabilities(curve.thresholds):
            decisions["$T_{cs}$"] = decide_by_costs(y_score, **costs)
        if y_pred is not None:
            decisions["decisions"] = positives(pos_label, y_true=y_true, y_pred=y_pred)[1]
        return cls(
            curve=curve,
            iso_cost=iso_cost_lines(positive, **costs, **settings),
            points={which: operating_point(positive, acted, **settings) for which, acted in decisions.items()},
            name=name,
        ).plot(ax, **plot_kw)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, unit: str = "cost units", **line_kw: Any
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        {labels}
        """
        ax = base.start(self, ax, figsize=(5.6, 5.6))
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        self._draw_iso_cost(ax)
        base.explain(ax, "-", f"equal cost ({base.plain(unit)})")
        fpr, tpr, _ = self.curve
        label = base.label(self.name if name is None else name, f"AUC {auc(fpr, tpr):.3f}")
        (self.line_,) = ax.plot(fpr, tpr, **{"label": label} | line_kw)
        self._draw_points(ax)
        base.PERCENT.format(ax.xaxis)
        base.PERCENT.format(ax.yaxis)
        base.finish(ax, "False positive rate", "True positive rate")
        return self

    def _draw_iso_cost(self, ax: Axes) -> None:
        costs, fpr, tpr = self.iso_cost
        # Amounts are written where the lines end, or where they start if they end too close to each other.
        end = int(costs.size < 2 or np.ptp(fpr[:, 1]) + np.ptp(tpr[:, 1]) > 0.03 * costs.size)
        for cost, x, y in zip(costs, fpr, tpr, strict=True):
            text = base.MONEY.write(cost)
            if not base.is_new(ax, text):
                continue
            ax.plot(x, y, gid=text, **base.REFERENCE | {"linestyle": "-", "linewidth": 0.8})
            base.note(ax, text, (x[end], y[end]), xytext=(1, 1), rotation=45, fontsize="x-small")

    def _draw_points(self, ax: Axes) -> None:
        at: dict[OperatingPoint, list[str]] = {}
        for which, point in self.points.items():
            at.setdefault(point, []).append(which)
        for point, names in at.items():
            ax.plot(*point, "o", color=self.line_.get_color())
            base.note(ax, ", ".join(names), point, color=self.line_.get_color(), xytext=(7, -3), va="top")
