"""From a comparison to one page that loads nothing: a critical-difference diagram, tables, contributions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

import stakes
from stakes._atomic import write_atomically
from stakes._format import percent
from stakes.exceptions import StudyError
from stakes.measures import MEASURES
from stakes.study.comparison.compare import ROPE, Comparison
from stakes.study.comparison.statistics import groups
from stakes.study.templates import source_of, templates_of

__all__ = ["diagram", "render", "write_diagram", "write_figures", "write_page"]

# Of the diagram: more methods than these cannot be read.
SHOWN = 30
WIDTH, SIDE, TOP, LINE = 900.0, 210.0, 46.0, 18.0


def write_page(comparison: Comparison, path: Path) -> Path:
    """Write the page of a comparison."""
    return _write(path, render(comparison))


def write_figures(comparison: Comparison, path: Path) -> Path:
    """Write the figure of each method on each data set, as CSV."""
    return _write(path, comparison.figures.write_csv())


def write_diagram(comparison: Comparison, path: Path) -> Path:
    """Write the critical-difference diagram, as SVG."""
    places = diagram(comparison)
    if places is None:
        raise StudyError("a diagram takes three methods on two data sets: compare more")
    return _write(path, _templates().get_template("diagram.svg").render(diagram=places, alone=True))


def _write(path: Path, content: str) -> Path:
    try:
        write_atomically(path, content.encode())
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def render(comparison: Comparison) -> str:
    """Return the page as HTML: the same comparison, the same bytes."""
    measure = MEASURES[comparison.measure]
    return (
        _templates()
        .get_template("comparison.html")
        .render(
            comparison=comparison,
            measure=measure,
            diagram=diagram(comparison),
            alone=False,
            n_sets=len(comparison.figures),
            rope=measure.write(ROPE),
            rows=comparison.figures.to_dicts(),
            version=stakes.__version__,
            style=Markup(source_of(_templates(), "comparison.css")),
        )
    )


def diagram(comparison: Comparison) -> dict[str, Any] | None:
    """Return the critical-difference diagram as places in a picture; None where methods cannot be tested."""
    if comparison.difference is None:
        return None
    places = comparison.places[:SHOWN]
    average = np.array([place.rank for place in places])
    low, high = 1.0, float(max(np.ceil(average.max()), 2.0))

    def x(rank: float) -> float:
        return round(SIDE + (WIDTH - 2 * SIDE) * (rank - low) / (high - low), 1)

    bars = groups(average, comparison.difference)
    start = TOP + 10 * len(bars) + 14
    left = (len(places) + 1) // 2
    labels = []
    for i, place in enumerate(places):
        on_left = i < left
        line = i if on_left else len(places) - 1 - i
        y = start + LINE * line
        end = SIDE - 12 if on_left else WIDTH - SIDE + 12
        labels.append({"name": place.name, "rank": f"{place.rank:.2f}", "x": x(place.rank), "y": y, "end": end,
                       "anchor": "end" if on_left else "start"})  # fmt: skip
    step = max(1, int(np.ceil((high - low) / 12)))
    return {
        "width": WIDTH,
        "height": start + LINE * left + 10,
        "axis": {"y": TOP, "from": x(low), "to": x(high)},
        "ticks": [{"x": x(tick), "name": tick} for tick in range(1, int(high) + 1, step)],
        "bars": [
            {"from": x(average[first]) - 3, "to": x(average[last]) + 3, "y": TOP + 12 + 10 * k}
            for k, (first, last) in enumerate(bars)
        ],
        "difference": {"to": x(low + comparison.difference), "from": x(low), "name": f"{comparison.difference:.2f}"},
        "labels": labels,
    }


@cache
def _templates() -> Environment:
    templates = templates_of("stakes.study.comparison")
    templates.filters |= {"percent": percent, "p": _p_value}
    return templates


def _p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
