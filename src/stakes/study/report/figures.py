"""The pictures of the best models, as plain data that the page's script gives to plotly."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stakes.study.report.wording import known, money

__all__ = [
    "COLOURS",
    "cost_at",
    "cost_figure",
    "figures_of",
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
SMALL = 0.2  # an axis of shares is cut where all that is worth seeing lies below

Curve = dict[str, Any]
Figure = dict[str, Any]
Trace = dict[str, Any]
Points = Sequence[tuple[float, ...]]


def figures_of(summary: dict[str, Any], curves: Sequence[Curve]) -> dict[str, Figure]:
    """Return the figures that there is something to draw in; those in money only where it is real."""
    in_money = bool(summary["money"])
    drawn = {
        "cost": cost_figure(curves) if in_money else None,
        "gain": gain_figure(curves, summary["question"].get("max_acted")) if in_money else None,
        "roc": roc_figure(curves, summary.get("iso_cost") if in_money else None),
        "reliability": reliability_figure(curves),
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def cost_figure(curves: Sequence[Curve]) -> Figure | None:
    """Return the cost of every threshold, and of the one that each model uses."""
    worth_seeing = [threshold_of(curve) for curve in curves]
    tops = []

    def traces(model: int, curve: Curve) -> list[Trace]:
        points = points_of(curve, "cost_curve", "threshold", "cost")
        lines = [_line(model, curve, points, "threshold %{x:.3~f}<br>cost %{y:,.4~r}", shape="hv")]
        used = threshold_of(curve)
        if points:
            # Acting on all and on none are the ends. Twice the cheaper of them is high enough.
            tops.append(2 * min(points[0][1], points[-1][1]))
            worth_seeing.append(min(points, key=lambda point: point[1])[0])
            if used is not None:
                hover = "threshold in use %{x:.3~f}<br>cost %{y:,.4~r}"
                lines.append(_point(model, curve, used, cost_at(points, used), hover))
        return lines

    drawn = _models(curves, traces)
    highest, worst = max([*tops, 0.0]), max([y for trace in drawn for y in trace["y"]], default=0.0)
    return _figure(
        drawn,
        x=_axis("Threshold", [0, _end(worth_seeing)]),
        y=_axis("Cost on the test records", [0, highest] if 0 < highest < worst else None, tozero=True),
    )


def threshold_of(curve: Curve) -> float | None:
    """Return the threshold of a model on the scale of its scores; None where each record has its own."""
    used = curve.get("threshold")
    return None if used is None or math.isnan(used) else min(max(used, 0.0), 1.0)


def cost_at(points: Points, threshold: float) -> float:
    """Return the height of the staircase at a threshold."""
    return next((cost for at, cost, *_ in reversed(points) if at <= threshold), points[0][1])


def roc_figure(curves: Sequence[Curve], iso_cost: dict[str, Any] | None) -> Figure | None:
    """Return the ROC curves with the points where the models operate, and lines of equal cost through them."""
    where = "false alarms %{x:.3~%}<br>found %{y:.1%}"

    def traces(model: int, curve: Curve) -> list[Trace]:
        lines = [_line(model, curve, points_of(curve, "roc", "fpr", "tpr"), where)]
        point = curve.get("point")
        return [*lines, _point(model, curve, point["fpr"], point["tpr"], where)] if point else lines

    used = [curve["point"]["fpr"] for curve in curves if curve.get("point")]
    return _figure(
        _models(curves, traces),
        x=_axis("False alarms (FPR)", [0, _end(used)], tickformat="~%"),
        y=_axis("Found (TPR)", [0, 1.01], tickformat="~%"),
        behind=[_equal_cost(line) for line in (iso_cost or {}).get("lines", ()) if known(line["cost"])],
    )


def _equal_cost(line: dict[str, Any]) -> Trace:
    hover = f"all points here cost about {money(line['cost'])}<extra></extra>"
    return {**_dotted(line["fpr"], line["tpr"]), "hovertemplate": hover}


def gain_figure(curves: Sequence[Curve], max_acted: float | None = None) -> Figure | None:
    """Return what is saved by acting on more and more records, those with the highest scores first."""
    points = [points_of(curve, "gain", "share", "saving") for curve in curves]
    end = _end([max_acted, *(max(shown, key=lambda point: point[1])[0] for shown in points if shown)])

    def traces(model: int, curve: Curve) -> list[Trace]:
        shown = [point for point in points[model] if point[0] <= end]
        return [_line(model, curve, shown, "acting on %{x:.3~%}<br>saves %{y:,.4~r}")]

    figure = _figure(
        _models(curves, traces),
        x=_axis("Share of the records acted on", [0, end], tickformat="~%"),
        y=_axis("Saved against acting on none", zero=True),
    )
    if figure and max_acted is not None:
        dashed = {"color": MUTED, "width": 1, "dash": "dash"}
        limit = {"type": "line", "x0": max_acted, "x1": max_acted, "y0": 0, "y1": 1, "yref": "paper", "line": dashed}
        figure["layout"]["shapes"] = [limit]
    return figure


def reliability_figure(curves: Sequence[Curve]) -> Figure | None:
    """Return how often records turned out positive that were said to be so with some probability."""
    shares: list[float] = []

    def traces(model: int, curve: Curve) -> list[Trace]:
        points = points_of(curve, "reliability", "predicted", "observed", "count")
        shares.extend(share for point in points for share in point[:2])
        counts = [n for _, _, n in points]
        largest = max(counts, default=1)
        sizes = [round(5 + 6 * math.sqrt(n / largest), 1) for n in counts]
        line = _line(model, curve, points, "said %{x:.3~%}<br>was %{y:.3~%} of %{customdata:,} records")
        return [
            {**line, "mode": "lines+markers", "customdata": counts, "marker": {"size": sizes, "color": COLOURS[model]}}
        ]

    drawn = _models(curves, traces)
    end = min(1.0, 1.1 * max(shares, default=1.0))
    return _figure(
        drawn,
        x=_axis("What the model says", [0, end], tickformat="~%"),
        y=_axis("How often it was so", [0, 1.01 * end], tickformat="~%"),
        behind=[{**_dotted([0, 1], [0, 1]), "hoverinfo": "skip"}],
    )


def points_of(curve: Curve, part: str, *columns: str) -> Points:
    """Return the points of a part of a curve that can be drawn; none where the model has no such part."""
    found = curve.get(part) or {}
    points = zip(*(found.get(column, ()) for column in columns), strict=True)
    return [point for point in points if all(known(value) for value in point)]


def _end(worth_seeing: Iterable[float | None]) -> float:
    """Return where an axis of shares ends: at 1, or sooner if what is worth seeing is among the small ones."""
    largest = max((value for value in worth_seeing if value is not None), default=1.0)
    return _short(largest / SMALL) if 0 < largest < SMALL else 1.0


def _models(curves: Sequence[Curve], traces: Callable[[int, Curve], list[Trace]]) -> list[Trace]:
    """Return the traces of all models that have points: last to first, so that the chosen model lies on top."""
    return [trace for i, curve in reversed(list(enumerate(curves))) for trace in traces(i, curve) if trace["x"]]


def _figure(models: list[Trace], *, x: Trace, y: Trace, behind: Sequence[Trace] = ()) -> Figure | None:
    """Return a figure, or None where there is nothing to draw."""
    if not models:
        return None
    layout = {
        "xaxis": x,
        "yaxis": y,
        "font": {"family": FONT, "size": 12, "color": MUTED},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"bgcolor": "#1c2024", "bordercolor": "#1c2024", "font": {"color": "#ffffff"}, "align": "left"},
        "hovermode": "closest",
        "showlegend": False,
        "dragmode": False,
        "autosize": True,
        "height": 340,
        "margin": {"l": 64, "r": 24, "t": 12, "b": 48},
    }
    return {"data": [*behind, *models], "layout": layout}


def _axis(
    title: str,
    limits: Sequence[float] | None = None,
    *,
    tickformat: str = ",~r",
    tozero: bool = False,
    zero: bool = False,
) -> dict[str, Any]:
    """Return an axis; `tozero` starts it at 0, `zero` marks where 0 is."""
    return {
        "title": {"text": title, "standoff": 12},
        **({"range": limits} if limits else {}),
        "tickformat": tickformat,
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


def _line(model: int, curve: Curve, points: Points, hover: str, shape: str = "linear") -> Trace:
    line = {"color": COLOURS[model], "width": 2.5 if model == 0 else 1.5, "shape": shape}
    return _trace(model, curve, _thinned(points), hover, mode="lines", line=line)


def _point(model: int, curve: Curve, x: float, y: float, hover: str) -> Trace:
    size, edge = 11 if model == 0 else 9, {"color": "#ffffff", "width": 1.5}
    marker = {"color": COLOURS[model], "size": size, "line": edge}
    return _trace(model, curve, [(x, y)], hover, mode="markers", marker=marker)


def _trace(model: int, curve: Curve, points: Points, hover: str, **style: Any) -> Trace:
    """Return a trace that says of which model it is: to the page's script by `meta`, to people by the name.

    Plotly takes names for a kind of HTML, and text in a template for a template: the name is escaped, and filled in.
    """
    return {
        "type": "scatter",
        "x": [_short(point[0]) for point in points],
        "y": [_short(point[1]) for point in points],
        "name": html.escape(curve["name"][:60], quote=False),
        "meta": model,
        "hovertemplate": f"%{{fullData.name}}<br>{hover}<extra></extra>",
        **style,
    }


def _dotted(x: Sequence[float], y: Sequence[float]) -> Trace:
    dotted = {"color": MUTED, "width": 1, "dash": "dot"}
    return {"type": "scatter", "x": [*map(_short, x)], "y": [*map(_short, y)], "mode": "lines", "line": dotted}


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
