"""The pictures of the best models, as plotly figures: plain data that the page's own script draws."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from stakes.study.report.markup import plain
from stakes.study.report.wording import known, money

__all__ = [
    "COLOURS",
    "cost_at",
    "cost_figure",
    "gain_figure",
    "points_of",
    "reliability_figure",
    "roc_figure",
    "threshold_of",
]

# One for each model, the chosen one first: 3.7 times lighter or darker than the paper, by day and by night.
COLOURS = ("#2f6fde", "#c8621b", "#128a72", "#8a63d2", "#c9477a")
MUTED = "#7a828c"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MOST_POINTS = 400

Curve = dict[str, Any]
Points = Sequence[tuple[float, ...]]


def cost_figure(curves: Sequence[Curve]) -> dict[str, Any] | None:
    """Return the cost of every threshold, and of the one that each model uses."""

    def traces(model: int, curve: Curve) -> list[go.Scatter]:
        points = points_of(curve, "cost_curve", "threshold", "cost")
        lines = [_line(model, curve, points, "threshold %{x:.3f}<br>cost %{y:,.4~r}", shape="hv")]
        used = threshold_of(curve)
        if points and used is not None:
            hover = "threshold in use %{x:.3f}<br>cost %{y:,.4~r}"
            lines.append(_point(model, curve, used, cost_at(points, used), hover))
        return lines

    return _figure(curves, traces, x=_axis("Threshold", [0, 1]), y=_axis("Cost on the test records", tozero=True))


def threshold_of(curve: Curve) -> float | None:
    """Return the threshold of a model on the scale of its scores; None where each record has its own."""
    used = curve.get("threshold")
    return None if used is None or math.isnan(used) else min(max(used, 0.0), 1.0)


def cost_at(points: Points, threshold: float) -> float:
    """Return the height of the staircase at a threshold."""
    return next((cost for at, cost, *_ in reversed(points) if at <= threshold), points[0][1])


def roc_figure(curves: Sequence[Curve], iso_cost: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the ROC curves with the points where the models operate, and lines of equal cost through them."""

    def traces(model: int, curve: Curve) -> list[go.Scatter]:
        where = "false alarms %{x:.1%}<br>found %{y:.1%}"
        lines = [_line(model, curve, points_of(curve, "roc", "fpr", "tpr"), where)]
        point = curve.get("point")
        return [*lines, _point(model, curve, point["fpr"], point["tpr"], where)] if point else lines

    return _figure(
        curves,
        traces,
        x=_axis("False alarms (FPR)", [0, 1], tickformat=".0%"),
        y=_axis("Found (TPR)", [0, 1.01], tickformat=".0%"),
        behind=[_equal_cost(line) for line in (iso_cost or {}).get("lines", ()) if known(line["cost"])],
    )


def _equal_cost(line: dict[str, Any]) -> go.Scatter:
    return go.Scatter(
        x=[_short(v) for v in line["fpr"]],
        y=[_short(v) for v in line["tpr"]],
        mode="lines",
        line={"color": MUTED, "width": 1, "dash": "dot"},
        hovertemplate=f"all points here cost about {money(line['cost'])}<extra></extra>",
    )


def gain_figure(curves: Sequence[Curve], max_acted: float | None = None) -> dict[str, Any] | None:
    """Return what is saved by acting on more and more records, those with the highest scores first."""

    def traces(model: int, curve: Curve) -> list[go.Scatter]:
        points = points_of(curve, "gain", "share", "saving")
        return [_line(model, curve, points, "acting on %{x:.1%}<br>saves %{y:,.4~r}")]

    figure = _figure(
        curves,
        traces,
        x=_axis("Share of the records acted on", [0, 1], tickformat=".0%"),
        y=_axis("Saved against doing nothing", zero=True),
    )
    if figure and max_acted is not None:
        figure["layout"]["shapes"] = [
            {
                "type": "line", "x0": max_acted, "x1": max_acted, "y0": 0, "y1": 1, "yref": "paper",
                "line": {"color": MUTED, "width": 1, "dash": "dash"},
            }
        ]  # fmt: skip
    return figure


def reliability_figure(curves: Sequence[Curve]) -> dict[str, Any] | None:
    """Return how often records turned out positive that were said to be so with some probability."""

    def traces(model: int, curve: Curve) -> list[go.Scatter]:
        points = points_of(curve, "reliability", "predicted", "observed", "count")
        counts = [n for _, _, n in points]
        largest = max(counts, default=1)
        line = _line(model, curve, points, "said %{x:.1%}<br>was %{y:.1%} of %{customdata:,} records")
        line.update(
            mode="lines+markers",
            customdata=counts,
            marker={"size": [round(5 + 6 * math.sqrt(n / largest), 1) for n in counts], "color": COLOURS[model]},
        )
        return [line]

    perfect = go.Scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": MUTED, "width": 1, "dash": "dot"}, hoverinfo="skip"
    )
    return _figure(
        curves,
        traces,
        x=_axis("What the model says", [0, 1], tickformat=".0%"),
        y=_axis("How often it was so", [0, 1.01], tickformat=".0%"),
        behind=[perfect],
    )


def points_of(curve: Curve, part: str, *columns: str) -> Points:
    """Return the points of a part of a curve that can be drawn; none where the model has no such part."""
    found = curve.get(part) or {}
    points = zip(*(found.get(column, ()) for column in columns), strict=True)
    return [point for point in points if all(known(value) for value in point)]


def _figure(
    curves: Sequence[Curve],
    traces: Callable[[int, Curve], list[go.Scatter]],
    *,
    x: dict[str, Any],
    y: dict[str, Any],
    behind: Sequence[go.Scatter] = (),
) -> dict[str, Any] | None:
    """Return a figure of all models, or None where there is nothing to draw."""
    # Drawn last to first, so that the chosen model lies on top.
    models = [trace for i, curve in reversed(list(enumerate(curves))) for trace in traces(i, curve) if trace.x]
    if not models:
        return None
    figure = go.Figure(
        [*behind, *models],
        go.Layout(
            template=None,
            xaxis=x,
            yaxis=y,
            font={"family": FONT, "size": 12, "color": MUTED},
            paper_bgcolor="rgba(0,0,0,0)",
            plot_bgcolor="rgba(0,0,0,0)",
            hoverlabel={"bgcolor": "#1c2024", "bordercolor": "#1c2024", "font": {"color": "#ffffff"}, "align": "left"},
            hovermode="closest",
            showlegend=False,
            dragmode=False,
            autosize=True,
            height=340,
            margin={"l": 64, "r": 24, "t": 12, "b": 48},
        ),
    )
    return figure.to_plotly_json()


def _axis(
    title: str,
    limits: Sequence[float] | None = None,
    *,
    tickformat: str | None = None,
    tozero: bool = False,
    zero: bool = False,
) -> dict[str, Any]:
    """Return an axis; `tozero` starts it at 0, `zero` marks where 0 is."""
    return {
        "title": {"text": title, "standoff": 12},
        "range": limits,
        "tickformat": tickformat or ",~r",
        "nticks": 6,
        "rangemode": "tozero" if tozero else "normal",
        "zeroline": zero,
        "zerolinecolor": MUTED,
        "gridcolor": "#e3e6ea",
        "ticks": "outside",
        "ticklen": 6,
        "tickcolor": "rgba(0,0,0,0)",
        "automargin": True,
        # A finger on the picture scrolls the page.
        "fixedrange": True,
    }


def _line(model: int, curve: Curve, points: Points, hover: str, shape: str = "linear") -> go.Scatter:
    shown = _thinned(points)
    return go.Scatter(
        x=[_short(point[0]) for point in shown],
        y=[_short(point[1]) for point in shown],
        mode="lines",
        line={"color": COLOURS[model], "width": 2.5 if model == 0 else 1.5, "shape": shape},
        **_identity(model, curve, hover),
    )


def _point(model: int, curve: Curve, x: float, y: float, hover: str) -> go.Scatter:
    return go.Scatter(
        x=[_short(x)],
        y=[_short(y)],
        mode="markers",
        marker={"color": COLOURS[model], "size": 11 if model == 0 else 9, "line": {"color": "#ffffff", "width": 1.5}},
        **_identity(model, curve, hover),
    )


def _identity(model: int, curve: Curve, hover: str) -> dict[str, Any]:
    """Return what tells whose a trace is: to the page's script by `meta`, to people by the name.

    Plotly takes names for a kind of HTML, and text in a template for a template: the name is escaped, and filled in.
    """
    return {
        "name": html.escape(plain(curve["name"])[:60], quote=False),
        "meta": model,
        "hovertemplate": f"%{{fullData.name}}<br>{hover}<extra></extra>",
    }


def _thinned(points: Points) -> Points:
    """Return no more points than can be seen, with the highest and the lowest among them."""
    if len(points) <= MOST_POINTS:
        return points
    step = (len(points) - 1) / (MOST_POINTS - 3)
    kept = {round(i * step) for i in range(MOST_POINTS - 2)}
    heights = [point[1] for point in points]
    kept |= {heights.index(min(heights)), heights.index(max(heights))}
    return [points[i] for i in sorted(kept)]


def _short(value: float) -> float:
    """Return a number with the digits that a picture can show."""
    return float(f"{value:.5g}")
