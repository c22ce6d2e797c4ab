"""The pictures of the best models, as plain data that the page's script draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stakes.study.report.wording import known, money

__all__ = [
    "MOST_MODELS",
    "cost_figure",
    "figures_of",
    "gain_figure",
    "points_of",
    "reliability_figure",
    "roc_figure",
    "threshold_of",
]

MOST_MODELS = 5  # as many as there are colours in style.css
SMALL = 0.2  # an axis of shares is cut where all that is worth seeing lies below

Curve = dict[str, Any]
Figure = dict[str, Any]
Line = dict[str, Any]
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

    def lines(curve: Curve) -> list[Line]:
        points = points_of(curve, "cost_curve", "threshold", "cost")
        drawn = [_line(points, steps=True)]
        used = threshold_of(curve)
        if points:
            # Acting on all and on none are the ends. Twice the cheaper of them is high enough.
            tops.append(2 * min(points[0][1], points[-1][1]))
            worth_seeing.append(min(points, key=lambda point: point[1])[0])
            if used is not None:
                drawn.append(_line([(used, curve["cost"])], dot=True))
        return drawn

    drawn = _models(curves, lines)
    highest, worst = max([*tops, 0.0]), max([y for line in drawn for _, y in line["points"]], default=0.0)
    return _figure(
        drawn,
        x=_axis("Threshold", "threshold", [0, _end(worth_seeing)]),
        y=_axis("Cost on the test records", "cost", [0, highest if 0 < highest < worst else worst], unit="money"),
    )


def threshold_of(curve: Curve) -> float | None:
    """Return the threshold of a model on the scale of its scores; None where each record has its own."""
    used = curve.get("threshold")
    return min(max(used, 0.0), 1.0) if known(used) else None


def roc_figure(curves: Sequence[Curve], iso_cost: dict[str, Any] | None) -> Figure | None:
    """Return the ROC curves with the points where the models operate, and lines of equal cost through them."""

    def lines(curve: Curve) -> list[Line]:
        drawn = [_line(points_of(curve, "roc", "fpr", "tpr"))]
        if point := curve.get("point"):
            drawn.append(_line([(point["fpr"], point["tpr"])], dot=True))
        return drawn

    used = [curve["point"]["fpr"] for curve in curves if curve.get("point")]
    return _figure(
        _models(curves, lines),
        x=_axis("False alarms", "false alarms", [0, _end(used)], unit="share"),
        y=_axis("Found", "found", [0, 1], unit="share"),
        behind=[_equal_cost(line) for line in (iso_cost or {}).get("lines", ()) if known(line["cost"])],
    )


def _equal_cost(line: dict[str, Any]) -> Line:
    name = f"all points here cost about {money(line['cost'])}"
    return _reference(zip(line["fpr"], line["tpr"], strict=True), "dotted", name=name)


def gain_figure(curves: Sequence[Curve], max_acted: float | None = None) -> Figure | None:
    """Return what is saved by acting on more and more records, those with the highest scores first."""
    points = [points_of(curve, "gain", "share", "saving") for curve in curves]
    end = _end([max_acted, *(max(shown, key=lambda point: point[1])[0] for shown in points if shown)])

    def lines(curve: Curve) -> list[Line]:
        return [_line(point for point in points_of(curve, "gain", "share", "saving") if point[0] <= end)]

    drawn = _models(curves, lines)
    heights = [0.0, *(y for line in drawn for _, y in line["points"])]
    # What is lost by acting on nearly all needs no more room than what can be saved.
    low, high = max(min(heights), -max(heights)) if max(heights) > 0 else min(heights), max(heights)
    limit = [] if max_acted is None else [_reference([(max_acted, low), (max_acted, high)], "dashed")]
    return _figure(
        drawn,
        x=_axis("Share of the records acted on", "acting on", [0, end], unit="share"),
        y=_axis("Saved against acting on none", "saves", [low, high], unit="money"),
        behind=limit,
    )


def reliability_figure(curves: Sequence[Curve]) -> Figure | None:
    """Return how often records turned out positive that were said to be so with some probability."""
    shares: list[float] = []

    def lines(curve: Curve) -> list[Line]:
        points = points_of(curve, "reliability", "predicted", "observed", "count")
        shares.extend(share for point in points for share in point[:2])
        counts = [n for _, _, n in points]
        sizes = [round(2 + 3 * math.sqrt(n / max(counts)), 1) for n in counts]
        return [_line(points, sizes=sizes, counts=counts)]

    drawn = _models(curves, lines)
    end = min(1.0, 1.1 * max(shares, default=1.0))
    return _figure(
        drawn,
        x=_axis("What the model says", "said", [0, end], unit="share"),
        y=_axis("How often it was so", "was", [0, end], unit="share"),
        behind=[_reference([(0, 0), (1, 1)], "dotted")],
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


def _models(curves: Sequence[Curve], lines: Callable[[Curve], list[Line]]) -> list[Line]:
    """Return the lines of all models that have points: last to first, so that the chosen model lies on top."""
    numbered = reversed(list(enumerate(curves)))
    return [line | {"model": i, "name": c["name"]} for i, c in numbered for line in lines(c) if line["points"]]


def _figure(models: list[Line], *, x: Line, y: Line, behind: Sequence[Line] = ()) -> Figure | None:
    """Return a figure, or None where there is nothing to draw."""
    return {"x": x, "y": y, "lines": [*behind, *models]} if models else None


def _axis(title: str, words: str, limits: Sequence[float], unit: str = "number") -> dict[str, Any]:
    """Return an axis: its title, what its values are called amid words, and how they are written."""
    return {"title": title, "words": words, "range": [*map(_short, limits)], "unit": unit}


def _line(points: Iterable[tuple[float, ...]], **about: Any) -> Line:
    return about | {"points": [[_short(x), _short(y)] for x, y, *_ in points]}


def _reference(points: Iterable[tuple[float, float]], style: str, **about: Any) -> Line:
    return _line(points, model=None, style=style, **about)


def _short(value: float) -> float:
    """Return a number with the digits that a picture can show."""
    return float(f"{value:.5g}")
