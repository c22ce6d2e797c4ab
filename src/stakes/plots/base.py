"""What all displays share: predictions asked of an estimator, and the style of the drawings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from stakes._fitting import last_step
from stakes._format import money, percent
from stakes._typing import Bools, Floats
from stakes.metrics.scorer import taken_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = [
    "MEASURES",
    "MONEY",
    "PERCENT",
    "REFERENCE",
    "PredictionDisplay",
    "Unit",
    "are_probabilities",
    "explain",
    "finish",
    "is_new",
    "label",
    "level",
    "line_within",
    "note",
    "plain",
    "positive_class",
    "pyplot",
    "slope",
    "start",
    "upright",
]


# Lines to compare with: behind the curves, and quieter.
REFERENCE: dict[str, Any] = {"color": "0.45", "linewidth": 1, "linestyle": "--", "zorder": 1}


class PredictionDisplay(ABC):
    """Base of displays that are drawn from scores and decisions."""

    ax_: Axes
    figure_: Figure

    @classmethod
    @abstractmethod
    def from_predictions(cls, *args: Any, **options: Any) -> Self:
        """Draw from true classes and scores."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Draw from a fitted classifier.

        Costs are handed on to the estimator where it takes them, and are what it is judged by.

        Parameters
        ----------
        estimator : classifier
            One of this package, of scikit-learn, a pipeline, or a grid search. It is asked for probabilities
            or, if it has none, for its decision function.
        X : array-like or data frame of shape (n_records, n_features)
            Features.
        y : array-like of shape (n_records,)
            True classes.
        fp_cost, fn_cost, tp_cost, tn_cost : float or array-like of shape (n_records,), default=None
            Costs of the records.
        pos_label : label, default=None
            The positive class; by default that of the estimator.
        name : str, default=None
            Name of the line; by default that of the estimator's class.
        **options
            Further arguments of `from_predictions`.

        Returns
        -------
        display
            With the drawing in `ax_` and `figure_`.
        """
        pyplot()  # before the work, not after it
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        costs = {argument: cost for argument, cost in given.items() if cost is not None}
        # A grid search would not hand on costs to its best estimator.
        asked = getattr(estimator, "best_estimator_", estimator)
        check_is_fitted(asked)
        pos_label = positive_class(asked, pos_label)
        taken = {argument: costs[argument] for argument in taken_by(asked, costs)}
        if "y_pred" in signature(cls.from_predictions).parameters:
            options = {"y_pred": asked.predict(X, **taken)} | options
        return cls.from_predictions(
            y,
            _score(asked, X, taken, pos_label),
            **costs,
            pos_label=pos_label,
            name=type(asked).__name__ if name is None else name,
            **options,
        )


def positive_class(estimator: Any, pos_label: Any = None) -> Any:
    """Return the label that is positive: as given, or as the classifier, or the last step of a pipeline, has it."""
    kind, classes = type(estimator).__name__, list(estimator.classes_)
    if len(classes) != 2:
        raise ValueError(f"{kind} tells {len(classes)} classes apart: only two can be drawn")
    if pos_label is None:
        _, final = last_step(estimator)
        # That of the last fit, whatever the parameter is now.
        pos_label = getattr(final, "pos_label_", getattr(final, "pos_label", None))
    if pos_label is None:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not a class of {kind}: choose from {classes}")
    return pos_label


def _score(estimator: Any, X: Any, costs: dict[str, Any], pos_label: Any) -> Floats:
    positive = list(estimator.classes_).index(pos_label)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X, **costs))[:, positive]
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X)) * (1 if positive else -1)
    raise TypeError(f"{type(estimator).__name__} has neither predict_proba nor decision_function: it gives no scores")


def are_probabilities(thresholds: Floats) -> bool:
    """Return whether the scores of a curve, which are its thresholds but the first, are all between 0 and 1."""
    return bool(thresholds[1] >= 0 and thresholds[-1] <= 1)


def pyplot() -> Any:
    """Import matplotlib.pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('stakes.plots draws with matplotlib, which is missing: pip install "stakes[plot]"') from error
    return plt


def start(display: Any, ax: Axes | None, figsize: tuple[float, float] = (6.4, 4.4)) -> Axes:
    """Give a display its axes: those of the caller, or new ones."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def finish(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Name the axes, take away what carries no information, and list the lines that have names: references last."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    handles = sorted(ax.get_legend_handles_labels()[0], key=lambda line: line.get_gid() is not None)
    if handles:
        ax.legend(handles=handles, fontsize="small", edgecolor="none")


def line_within(ax: Axes, x: Floats, y: Floats, *, shown: Bools, **line_kw: Any) -> Line2D:
    """Draw a line of which only the points `shown` decide what the axes show.

    Acting on everybody can cost a hundred times as much as any sensible decision: it must not flatten all else.
    """
    (line,) = ax.plot([], [], **line_kw)  # takes the next colour, and leaves the limits of the axes alone
    line.set_data(x, y)
    if shown.any():
        ax.update_datalim(np.column_stack((x[shown], y[shown])))
        ax.autoscale_view()
    return line


def level(ax: Axes, y: float, text: str) -> None:
    """Draw a horizontal line that the legend explains."""
    if is_new(ax, text):
        ax.axhline(y, label=text, gid=text, **REFERENCE)


def slope(ax: Axes, start: tuple[float, float], end: tuple[float, float], text: str) -> None:
    """Draw a slanted line that the legend explains, and that does not decide what the axes show."""
    if is_new(ax, text):
        x, y = np.transpose([start, end])
        line_within(ax, x, y, shown=np.zeros(2, np.bool_), label=text, gid=text, **REFERENCE)


def upright(ax: Axes, x: float, text: str) -> None:
    """Draw a vertical line with its meaning written at its top."""
    if is_new(ax, text):
        ax.axvline(x, gid=text, **REFERENCE)
        note(ax, text, (x, 1), xycoords=ax.get_xaxis_transform(), xytext=(4, 0), va="top")


def explain(ax: Axes, linestyle: str, text: str) -> None:
    """Let the legend explain a style of lines."""
    if is_new(ax, text):
        ax.plot([], [], label=text, gid=text, **REFERENCE | {"linestyle": linestyle})


def is_new(ax: Axes, text: str) -> bool:
    """Return whether a reference line is yet to be drawn: models that share axes share it. Its text is its `gid`."""
    return all(line.get_gid() != text for line in ax.lines)


def note(ax: Axes, text: str, xy: tuple[float, float], **settings: Any) -> None:
    """Write a small label a few points away from a place, readable on top of lines."""
    from matplotlib.patheffects import withStroke

    defaults: dict[str, Any] = {"color": REFERENCE["color"], "fontsize": "small"}
    halo = withStroke(linewidth=3, foreground=ax.get_facecolor())
    ax.annotate(text, xy, textcoords="offset points", path_effects=[halo], **defaults | settings)


def label(name: str | None, value: str) -> str | None:
    """Return the entry of a legend; none for a line without a name."""
    return None if name is None else f"{plain(name)}: {value}"


def plain(text: str) -> str:
    """Return text in which matplotlib finds no formula, whatever its dollars."""
    return text.replace("$", r"\$")


class Unit(NamedTuple):
    """How numbers are written."""

    write: Callable[[float], str]
    tick: Callable[[float, int], str]

    def format(self, axis: Any) -> None:
        """Write the ticks of an axis in this unit."""
        axis.set_major_formatter(self.tick)


# Ticks have as many digits as they need, and no more.
MONEY = Unit(money, lambda amount, _: f"{amount:,.10g}")
PERCENT = Unit(percent, lambda share, _: f"{100 * share:.10g}%")
# What can be drawn, in which unit, and how the axis is called.
MEASURES = {
    "cost": (MONEY, "Total cost ({unit})"),
    "profit": (MONEY, "Profit against acting on nobody ({unit})"),
    "savings": (PERCENT, "Savings against deciding without a model"),
}
