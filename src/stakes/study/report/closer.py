"""The best models up close: a key to them, the figures, and what to see in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stakes.study.report.figures import COLOURS, cost_at, points_of, threshold_of
from stakes.study.report.markup import Markup, join, tag
from stakes.study.report.wording import money, percent, training

__all__ = ["closer"]

Summary = dict[str, Any]
FAR_OFF = 0.1


def closer(summary: Summary, drawn: Sequence[str]) -> Markup | None:
    """Return the best models up close: a key to them, and the figures that there are."""
    if not drawn:
        return None
    curves = summary["curves"][: len(COLOURS)]
    key = tag(
        "fieldset",
        tag("legend", "Models shown"),
        *(
            tag(
                "label",
                tag("input", type="checkbox", checked=True, data_model=i),
                tag("span", class_="swatch", style=f"background:{COLOURS[i]}"),
                tag(
                    "span",
                    curve["label"],
                    tag("span", f"; {training(curve)}", class_="note") if training(curve) else None,
                ),
            )
            for i, curve in enumerate(curves)
        ),
        class_="key",
    )
    return join(
        tag("p", "The first is the chosen one, drawn with a thicker line. All pictures are of test records."),
        key,
        tag("div", *(_figure(name, summary) for name in drawn), class_="figures"),
    )


def _figure(name: str, summary: Summary) -> Markup:
    title, describe = FIGURES[name]
    takeaway = describe(summary["curves"][0], summary)
    return tag(
        "figure",
        tag("h3", title, id=f"{name}-title"),
        tag("figcaption", takeaway, id=f"{name}-text"),
        tag(
            "div",
            class_="plot",
            id=f"figure-{name}",
            role="img",
            aria_labelledby=f"{name}-title",
            aria_describedby=f"{name}-text",
        ),
    )


def _cost_takeaway(curve: dict[str, Any], summary: Summary) -> str:
    points = points_of(curve, "cost_curve", "threshold", "cost")
    if not points:
        return "The chosen model has no scores to put a threshold on."
    at, least = min(points, key=lambda point: point[1])
    text = f"With one threshold for all records the chosen model could cost as little as {money(least)}, at {at:.2f}. "
    used = threshold_of(curve)
    if used is None:
        return text + "It decides by a threshold of each record’s own, from its costs, so no single point shows it."
    cost = money(cost_at(points, used))
    return text + f"The one it uses, {used:.2f} (dot), was set without seeing these records and costs {cost}."


def _roc_takeaway(curve: dict[str, Any], summary: Summary) -> str:
    point = curve.get("point")
    text = ""
    if point:
        text = (
            f"The chosen model (dot) finds {percent(point['tpr'])} of the records worth acting on, and disturbs "
            f"{percent(point['fpr'])} of the others. "
        )
    lines = (summary.get("iso_cost") or {}).get("lines") if summary["money"] else None
    return text + ("Points on a dotted line cost the same, at mean costs; up and left is cheaper." if lines else "")


def _gain_takeaway(curve: dict[str, Any], summary: Summary) -> str:
    points = points_of(curve, "gain", "share", "saving")
    if not points:
        return "The chosen model does not rank records."
    share, most = max(points, key=lambda point: point[1])
    limit = summary["question"].get("max_acted")
    return (
        f"Acting on the {percent(share)} of records that the chosen model scores highest would save "
        f"most: {money(most)}. "
        "Decisions that also look at each record’s costs can save more."
        + (f" The dashed line is the limit, {percent(limit)}." if limit is not None else "")
    )


def _reliability_takeaway(curve: dict[str, Any], summary: Summary) -> str:
    points = points_of(curve, "reliability", "predicted", "observed", "count")
    total = sum(n for _, _, n in points)
    if not total:
        return "The chosen model’s votes are not probabilities."
    off = sum(n * abs(said - was) for said, was, n in points) / total
    text = (
        f"The chosen model’s probabilities are off by {100 * off:.1f} percentage points on average. On the dotted line "
        "they would be exact; above it, things happen more often than the model says."
    )
    return text + (" Take them as scores to rank by, not as chances." if off > FAR_OFF else "")


FIGURES = {
    "cost": ("Cost against threshold", _cost_takeaway),
    "gain": ("Savings against the share acted on", _gain_takeaway),
    "roc": ("Found against false alarms (ROC)", _roc_takeaway),
    "reliability": ("Can its probabilities be trusted?", _reliability_takeaway),
}
