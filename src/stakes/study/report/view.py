"""What the templates show: the summary of a study, and plain values that are computed from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from stakes.measures import Measure
from stakes.study.advice import Advice, advise
from stakes.study.report.card import model_card
from stakes.study.report.figures import MOST_MODELS, figures_of, points_of, threshold_of
from stakes.study.report.wording import known, measure_of, typeset
from stakes.study.words import interval_of

__all__ = ["prepare", "printable"]

Summary = dict[str, Any]
Row = dict[str, Any]
COLUMNS = ("cost", "savings", "tpr", "fpr", "acted", "auc")
MOST_ROWS = 500
SCALE_ROWS = 20
MOST_FEATURES = 15
# Control characters, halves of characters, and marks that turn the direction of the text around them.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def prepare(summary: Summary) -> dict[str, Any]:
    """Return the values of the templates: the entries of the summary, and what the sections add to them.

    Sections that have nothing to show are None.
    """
    summary = printable(summary)
    return {
        **summary,
        "measure": measure_of(summary["question"]["measure"]),
        "advice": Advice(*map(typeset, astuple(advise(summary)))),
        "checks": summary.get("checks"),
        "comparison": _comparison(summary),
        "boards": _boards(summary),
        "closer": _closer(summary),
        "features": _features(summary),
        "sensitivity": _sensitivity(summary),
        "card": model_card(summary),
    }


def printable(value: Any) -> Any:
    """Return a copy of plain data in which every text can be shown by any browser and written in any encoding."""
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [printable(item) for item in value]
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _comparison(summary: Summary) -> dict[str, Any] | None:
    """Return what the recommended model costs beside what else could be done; None where no money is known."""
    found = summary["money"]
    if not found or not found["chosen"]:
        return None
    n, chosen = found["test_records"], found["chosen"]
    ignoring = [found["insensitive"]] if found["insensitive"] else []
    rivals = [rival for rival in found["rivals"] if rival["name"] != chosen["name"] or rival["cost"] != chosen["cost"]]
    parts = {"policy": found["policies"], "rival": rivals, "ignoring costs": ignoring}
    others = [other | {"kind": kind} | _against(other, chosen) for kind, part in parts.items() for other in part]
    own = chosen | {"kind": "chosen", "between": interval_of(chosen)}
    return {
        "others": others,
        "rows": [row | {"test": row["cost"] / n} for row in _with_bars([*others, own], "cost")],
    }


def _against(other: Row, chosen: Row) -> Row:
    """Return what the recommended model saves against something else on the test records."""
    saved, between = other["cost"] - chosen["cost"], interval_of(other.get("saved"))
    return {
        "saved": saved,
        "share": abs(saved) / other["cost"] if other["cost"] > 0 else None,
        "saved_between": between,
        "by_chance": between is not None and between[0] <= 0 <= between[1],
    }


def _with_bars(rows: list[Row], key: str) -> list[Row]:
    """Return rows with the length of the bar of a value, and the ends of its interval, in percent of the longest."""
    longest = max((end for row in rows for end in (row[key], *(row.get("between") or ()))), default=0.0)

    def width(value: float) -> float:
        return round(100 * max(value, 0.0) / longest, 2) if longest > 0 else 0.0

    def bar(row: Row) -> Row:
        between = row.get("between")
        line = between and {"left": width(between[0]), "width": width(between[1] - between[0])}
        return {"width": width(row[key]), "range": line}

    return [row | {"bar": bar(row)} for row in rows]


def _boards(summary: Summary) -> dict[str, Any]:
    """Return both leaderboards, with what their columns and controls need."""
    boards = summary["leaderboards"]
    rows = [row for board in boards.values() for row in board]
    return {
        "rows": {name: _with_places(board[:MOST_ROWS]) for name, board in boards.items()},
        "columns": {name: _columns(board, summary["question"]["measure"]) for name, board in boards.items()},
        "families": sorted({row["family"] for row in rows}),
        "highest_fpr": max((row["fpr"] for row in rows if known(row["fpr"])), default=0.0),
    }


def _columns(rows: Sequence[Row], measure: str) -> list[Measure]:
    """Return the measures that there are numbers of, without the one that has columns of its own."""
    return [measure_of(name) for name in COLUMNS if name != measure and any(known(row.get(name)) for row in rows)]


def _with_places(rows: Sequence[Row]) -> list[Row]:
    """Return rows with the places of their difference to the best and of its interval, in percent of one scale.

    It is the scale of the first rows, where differences matter; what is beyond is at its ends.
    """
    ends = [end for row in rows[:SCALE_ROWS] for end in interval_of(row["difference"]) or ()]
    least, most = min([0.0, *ends]), max([0.0, *ends])

    def place(value: float) -> float:
        return round(100 * min(max((value - least) / (most - least), 0.0), 1.0), 1)

    def places(row: Row) -> dict[str, float] | None:
        between = interval_of(row["difference"])
        if between is None or least == most:
            return None
        at = place(row["difference"]["value"])
        return {"low": place(between[0]), "high": place(between[1]), "at": at, "zero": place(0.0)}

    return [row | {"places": places(row)} for row in rows]


def _closer(summary: Summary) -> dict[str, Any] | None:
    """Return the models that have curves, the figures of them, and what to see of the chosen one in each."""
    curves = (summary["curves"] or [])[:MOST_MODELS]
    figures = figures_of(summary, curves)
    if not figures:
        return None
    chosen = curves[0]
    costs = points_of(chosen, "cost_curve", "threshold", "cost")
    gains = points_of(chosen, "gain", "share", "saving")
    said = points_of(chosen, "reliability", "predicted", "observed", "count")
    used, total = threshold_of(chosen), sum(n for _, _, n in said)
    return {
        "models": curves,
        "figures": figures,
        "least": min(costs, key=lambda point: point[1]) if costs else None,
        "used": used,
        "most_saved": max(gains, key=lambda point: point[1]) if gains else None,
        "point": chosen.get("point"),
        "lines": bool(summary["money"] and (summary.get("iso_cost") or {}).get("lines")),
        "off": sum(n * abs(predicted - observed) for predicted, observed, n in said) / total if total else None,
    }


def _features(summary: Summary) -> dict[str, Any] | None:
    """Return which features move the decisions of the chosen model most."""
    found = [row for row in summary["importance"] if known(row["value"])]
    total = sum(row["value"] for row in found)
    if total <= 0:
        return None
    in_money = bool(summary["money"])
    rows = [row if in_money else row | {"value": row["value"] / total} for row in found[:MOST_FEATURES]]
    return {
        "in_money": in_money,
        "first": [row["feature"] for row in found[:3]],
        "share": sum(row["value"] for row in found[:3]) / total,
        "rows": _with_bars(rows, "value"),
        "more": len(found) - len(rows),
    }


def _sensitivity(summary: Summary) -> dict[str, Any] | None:
    """Return what changes if the costs were other than thought."""
    rows = summary["sensitivity"]
    savings = [row["savings"] for row in rows if known(row["savings"])]
    return {"rows": rows, "savings": savings, "losing": sum(share <= 0 for share in savings)} if rows else None
