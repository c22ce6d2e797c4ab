"""Probabilities against what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike

from stakes._docs import documented
from stakes.curves import ReliabilityCurve, reliability_curve
from stakes.exceptions import CostsNeededError
from stakes.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ReliabilityDisplay"]


@documented
@dataclass(kw_only=True, eq=False)
class ReliabilityDisplay(base.PredictionDisplay):
    """How often records are positive that are said to be so with some probability, and how many these are.

    Use `from_estimator` or `from_predictions`; draw several models on the same axes with ``ax=``. Decisions by T_cs
    rely on points close to the diagonal. With ``by_cost=True`` records count by the money at stake in them.

    Parameters
    ----------
    curve : ReliabilityCurve
        Bins of records.
    by_cost : bool
        Whether records count by the money at stake in them.
    name : str or None
        Name of the line.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    counts_ax_ : matplotlib Axes
        The strip with the counts.
    {axes}

    Examples
    --------
    >>> from stakes.plots import ReliabilityDisplay
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
    >>> display = ReliabilityDisplay.from_predictions(y, p, n_bins=2, name="model")
    >>> display.curve.counts
    array([3, 3])
    """

    curve: ReliabilityCurve
    by_cost: bool = False
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        by_cost: bool = False,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike = 0.0,
        tn_cost: ArrayLike = 0.0,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = 1,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kw: Any,
    ) -> Self:
        """Draw from true classes and probabilities.

        Parameters
        ----------
        y_true, y_prob, n_bins, strategy, sample_weight, pos_label
            As in `stakes.curves.reliability_curve`.
        by_cost : bool, default=False
            Whether records count by the money at stake in them.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,)
            Costs of the records, which `by_cost` needs.
        {drawing}
        """
        costs: dict[str, Any] = {}
        if by_cost:
            if fp_cost is None or fn_cost is None:
                raise CostsNeededError("by_cost=True needs fp_cost and fn_cost: they say what is at stake")
            costs = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        curve = reliability_curve(
            y_true, y_prob, n_bins=n_bins, strategy=strategy, sample_weight=sample_weight, pos_label=pos_label, **costs
        )
        return cls(curve=curve, by_cost=by_cost, name=name).plot(ax, **plot_kw)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **line_kw: Any) -> Self:
        """Draw the curve and, above it, how many records are in each bin.

        Parameters
        ----------
        {ax}
        {line_name}
        {line_settings}
        """
        ax = base.start(self, ax, figsize=(5.6, 6.2))
        predicted, observed, counts = self.curve
        name = self.name if name is None else name
        settings = {"label": None if name is None else base.plain(name), "marker": "o", "clip_on": False}
        (self.line_,) = ax.plot(predicted, observed, **settings | line_kw)
        base.slope(ax, (0.0, 0.0), (1.0, 1.0), "as predicted")
        # Rare positives have small probabilities: look where they are.
        end = 1.05 * max(ax.dataLim.x1, ax.dataLim.y1)
        ax.set(xlim=(0, end), ylim=(0, end), aspect="equal")
        self.counts_ax_ = _strip_above(ax)
        self.counts_ax_.vlines(predicted, 0.5, counts, color=self.line_.get_color(), linewidth=3, alpha=0.7)
        base.PERCENT.format(ax.xaxis)
        base.PERCENT.format(ax.yaxis)
        by = ", by money at stake" if self.by_cost else ""
        base.finish(ax, f"Predicted probability{by}", f"Share of positives{by}")
        return self


def _strip_above(ax: Axes) -> Any:
    """Return the axes for counts, which models that share axes share too."""
    for strip in ax.child_axes:
        if strip.get_gid() == "counts":
            return strip
    strip = ax.inset_axes((0, 1.02, 1, 0.16), sharex=ax, gid="counts")
    strip.set(yscale="log", ylabel="Records")
    base.MONEY.format(strip.yaxis)
    strip.tick_params(labelbottom=False)
    strip.spines[["top", "right"]].set_visible(False)
    return strip
