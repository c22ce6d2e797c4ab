"""Savings when costs turn out to be others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike

from stakes._docs import documented
from stakes.curves import SensitivityCurve, decide_by_costs, sensitivity_curve
from stakes.decision.thresholds import positives
from stakes.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["CostSensitivityDisplay"]

COSTS = {"fn_cost": "Cost of a false negative", "fp_cost": "Cost of a false positive"}


@documented
@dataclass(kw_only=True, eq=False)
class CostSensitivityDisplay(base.PredictionDisplay):
    """Savings as one of the two costs changes, from a tenth to ten times what it is.

    Use `from_estimator` or `from_predictions`; draw several models on the same axes with ``ax=``. The solid line
    is for decisions that follow the changed costs, by T_cs on the probabilities; the dotted one for the decisions
    of today, kept.

    Parameters
    ----------
    adapted : SensitivityCurve or None
        Savings of decisions made anew at each factor.
    kept : SensitivityCurve
        Savings of the same decisions at all factors.
    vary : {"fn_cost", "fp_cost"}
        Which cost changes.
    name : str or None
        Name of the lines.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curves: adapted, if there is one, and kept.
    ax_, figure_ : matplotlib Axes and Figure
        What they are drawn on.

    Examples
    --------
    >>> from stakes.plots import CostSensitivityDisplay
    >>> y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> display = CostSensitivityDisplay.from_predictions(y, p, fp_cost=5, fn_cost=20, name="model")
    >>> [line.get_label() for line in display.lines_]
    ['model: decided anew by $T_{cs}$', "model: today's decisions"]
    """

    adapted: SensitivityCurve | None
    kept: SensitivityCurve
    vary: Literal["fn_cost", "fp_cost"] = "fn_cost"
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | None = None,
        *,
        fp_cost: ArrayLike,
        fn_cost: ArrayLike,
        tp_cost: ArrayLike = 0.0,
        tn_cost: ArrayLike = 0.0,
        y_pred: ArrayLike | None = None,
        vary: Literal["fn_cost", "fp_cost"] = "fn_cost",
        factors: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = 1,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kw: Any,
    ) -> Self:
        """Draw from true classes and probabilities, decisions, or both.

        Parameters
        ----------
        y_true, fp_cost, fn_cost, tp_cost, tn_cost, vary, factors, sample_weight, pos_label
            As in `stakes.curves.sensitivity_curve`.
        y_score : array-like of shape (n_records,), default=None
            Probabilities of the positive class; without them only the decisions of today are drawn.
        y_pred : array-like of shape (n_records,), default=None
            The decisions of today; by default those by T_cs of today's costs.
        {drawing}
        """
        costs: dict[str, Any] = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        (positive,) = positives(pos_label, y_true=y_true)
        if y_pred is not None:
            today = positives(pos_label, y_true=y_true, y_pred=y_pred)[1]
        elif y_score is not None:
            today = decide_by_costs(y_score, **costs)
        else:
            raise ValueError("give y_score, y_pred or both: there is nothing to draw")
        settings = costs | {"vary": vary, "factors": factors, "sample_weight": sample_weight, "pos_label": True}
        return cls(
            adapted=None if y_score is None else sensitivity_curve(positive, y_score=y_score, **settings),
            kept=sensitivity_curve(positive, y_pred=today, **settings),
            vary=vary,
            name=name,
        ).plot(ax, **plot_kw)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **line_kw: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        {ax}
        {line_name}
        {line_settings}
        """
        ax = base.start(self, ax)
        name = self.name if name is None else name
        self.lines_: list[Line2D] = []
        style: dict[str, Any] = dict(line_kw)
        for curve, linestyle, how in (
            (self.adapted, "-", "decided anew by $T_{cs}$"),
            (self.kept, ":", "today's decisions"),
        ):
            if curve is None:
                continue
            factors, savings = curve
            # Savings below -1 are more than twice the cost of deciding without a model.
            line = base.line_within(
                ax,
                factors,
                savings,
                shown=savings >= -1,
                **{"label": base.label(name, how), "linestyle": linestyle} | style,
            )
            style["color"] = line.get_color()
            self.lines_.append(line)
        base.level(ax, 0.0, "deciding without a model")
        base.upright(ax, 1.0, "today")
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda factor, _: f"×{factor:g}" if factor >= 1 else f"÷{1 / factor:g}")
        base.PERCENT.format(ax.yaxis)
        base.finish(ax, f"{COSTS[self.vary]}, against today's", "Savings at the changed costs")
        return self
