"""What it brings to act on more and more records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike

from stakes._docs import documented
from stakes._validation import check_value, choice
from stakes.curves import GainCurve, gain_curve
from stakes.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GainDisplay"]


@documented
@dataclass(kw_only=True, eq=False)
class GainDisplay(base.PredictionDisplay):
    """Profit, or savings, against the share of the records acted on, the most promising first.

    Use `from_estimator` or `from_predictions`; draw several models on the same axes with ``ax=``. A dot marks the best
    share, a dashed line records in random order.

    Parameters
    ----------
    curve : GainCurve
        Shares with what they bring.
    name : str or None
        Name of the line.

    Attributes
    ----------
    {line}

    Examples
    --------
    >>> from stakes.plots import GainDisplay
    >>> y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7, 0.9]
    >>> display = GainDisplay.from_predictions(y, p, fp_cost=5, fn_cost=20, name="model")
    >>> display.line_.get_label()
    'model: 35.00 at 60.0%'
    """

    curve: GainCurve
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
        order: Literal["score", "expected_saving"] = "score",
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kw: Any,
    ) -> Self:
        """Draw from true classes and scores.

        Parameters
        ----------
        y_true, y_score, fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label, order
            As in `stakes.curves.gain_curve`.
        {drawing}
        """
        costs = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        curve = gain_curve(y_true, y_score, **costs, sample_weight=sample_weight, pos_label=pos_label, order=order)
        return cls(curve=curve, name=name).plot(ax, **plot_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        measure: Literal["profit", "savings"] = "profit",
        name: str | None = None,
        unit: str = "cost units",
        **line_kw: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        {ax}
        measure : {"profit", "savings"}, default="profit"
            The money saved against acting on nobody, or the share saved of the cheaper of acting on all and on nobody.
        {labels}
        """
        check_value("measure", measure, choice("profit", "savings"))
        scale, title = base.MEASURES[measure]
        ax = base.start(self, ax)
        share, height = self.curve.share, getattr(self.curve, measure)
        best = int(height.argmax())
        value = f"{scale.write(height[best])} at {base.PERCENT.write(share[best])}"
        self.line_ = base.line_within(
            ax,
            share,
            height,
            # Losses larger than the largest profit may leave the picture, and with them the shares that make them.
            shown=self.curve.profit >= -self.curve.profit.max(),
            **{"label": base.label(self.name if name is None else name, value)} | line_kw,
        )
        ax.plot(share[best], height[best], "o", color=self.line_.get_color())
        base.slope(ax, (0.0, height[0]), (1.0, height[-1]), "random order")
        scale.format(ax.yaxis)
        base.PERCENT.format(ax.xaxis)
        base.finish(ax, "Share of the records acted on", title.format(unit=base.plain(unit)))
        return self
