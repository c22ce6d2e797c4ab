"""Total cost against the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from stakes._docs import documented
from stakes._typing import Floats
from stakes._validation import check_value, choice
from stakes.costs import Costs
from stakes.curves import CostCurve, cost_curve, decide_by_costs
from stakes.decision.thresholds import positives
from stakes.metrics import total_cost, tuned_threshold
from stakes.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CostCurveDisplay"]


@documented
@dataclass(kw_only=True, eq=False)
class CostCurveDisplay(base.PredictionDisplay):
    """Total cost, or savings, against the threshold above which records are positive.

    Use `from_estimator` or `from_predictions`; draw several models on the same axes with ``ax=``. A dot marks the
    threshold with the least cost. Where scores are probabilities, a dotted line marks T_cs or, if costs differ from
    record to record, what it costs to decide each record by its own T_cs.

    Parameters
    ----------
    curve : CostCurve
        The cost of every threshold.
    best_threshold : float
        The threshold with the least cost, T_thr.
    cs_threshold : float or None
        T_cs, where costs are constant and scores are probabilities.
    cs_cost : float or None
        The cost of deciding each record by its own T_cs, where scores are probabilities.
    name : str or None
        Name of the line.

    Attributes
    ----------
    {line}

    Examples
    --------
    >>> from stakes.plots import CostCurveDisplay
    >>> y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> display = CostCurveDisplay.from_predictions(y, p, fp_cost=5, fn_cost=20, name="model", unit="EUR")
    >>> display.cs_threshold
    0.2
    >>> display.ax_.get_ylabel()
    'Total cost (EUR)'
    """

    curve: CostCurve
    best_threshold: float
    cs_threshold: float | None = None
    cs_cost: float | None = None
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
        sample_weight: ArrayLike | None = None,
        pos_label: Any = 1,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kw: Any,
    ) -> Self:
        """Draw from true classes and scores.

        Parameters
        ----------
        {scores}
        {drawing}
        """
        (positive,) = positives(pos_label, y_true=y_true)
        costs = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        settings: dict[str, Any] = costs | {"sample_weight": sample_weight, "pos_label": True}
        display = cls(
            curve=cost_curve(positive, y_score, **settings),
            best_threshold=tuned_threshold(positive, y_score, **settings),
            name=name,
        )
        if base.are_probabilities(display.curve.thresholds):
            display.cs_cost = total_cost(positive, decide_by_costs(y_score, **costs), **settings)
            threshold = Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost).threshold()
            display.cs_threshold = threshold if isinstance(threshold, float) else None
        return display.plot(ax, **plot_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        measure: Literal["cost", "savings"] = "cost",
        name: str | None = None,
        unit: str = "cost units",
        **line_kw: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        measure : {"cost", "savings"}, default="cost"
            The total cost, or the share that is saved of the cheaper of acting on all records and on none.
        {labels}
        """
        check_value("measure", measure, choice("cost", "savings"))
        scale, title = base.MEASURES[measure]
        curve, name = self.curve, self.name if name is None else name

        def height(cost: Any) -> Any:
            return curve.saved_at(cost) if measure == "savings" else cost

        ax = base.start(self, ax)
        thresholds, cost = self._corners()
        best = float(height(curve.cost_at(self.best_threshold)))
        value = f"{scale.write(best)} at {self.best_threshold:.3g}"
        self.line_ = base.line_within(
            ax,
            thresholds,
            height(cost),
            # What costs twice as much as deciding without a model may leave the picture.
            shown=curve.saved_at(cost) >= -1,
            **{"label": base.label(name, value), "drawstyle": "steps-post"} | line_kw,
        )
        color = self.line_.get_color()
        ax.plot(self.best_threshold, best, "o", color=color)
        whom = "nobody" if curve.cost[-1] <= curve.cost[0] else "everybody"
        base.level(ax, height(curve.baseline), f"acting on {whom}")
        if self.cs_threshold is not None:
            base.upright(ax, self.cs_threshold, f"$T_{{cs}}$ = {self.cs_threshold:.3g}")
        elif self.cs_cost is not None:
            ax.axhline(height(self.cs_cost), color=color, linestyle=":", linewidth=1)
            base.explain(ax, ":", "each record by its own $T_{cs}$")
        scale.format(ax.yaxis)
        base.finish(ax, "Threshold: positive if the score is above", title.format(unit=base.plain(unit)))
        return self

    def _corners(self) -> tuple[Floats, Floats]:
        """Return the staircase with a first and a last step of finite width."""
        thresholds, cost = self.curve
        scores = thresholds[1:]
        margin = 0.05 * (np.ptp(scores) or 1.0)
        first, last = (0.0, 1.0) if base.are_probabilities(thresholds) else (scores[0] - margin, scores[-1] + margin)
        return np.concatenate(([first], scores, [last])), np.concatenate((cost, cost[-1:]))
