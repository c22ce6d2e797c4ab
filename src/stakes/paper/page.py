"""The comparison as a page in markdown, and as a table of values."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Any

import polars as pl

from stakes.paper.findings import Finding
from stakes.paper.tables import Line, PaperTable

__all__ = ["machine", "markdown", "values"]

HEADINGS = {
    "cost_reduction": "Cost%",
    "amount_detected": "TotF%",
    "profit": "Profit",
    "roi": "ROI",
    "tpr": "TPR(%)",
    "fpr": "FPR(%)",
    "auc": "AUC",
}
DIGITS = {"auc": 3}
MODEL = {
    "rank": "#",
    "name": "Method",
    "trees": "Trees",
    "train_costs": "Training costs",
    "calibration": "Calibration",
    "output": "Output",
    "members": "Members by",
    "threshold": "DMECC / MTA",
    "alpha": "α",
}
PACKAGES = ("numpy", "scikit-learn", "numba", "polars")


def machine() -> str:
    """Return what the results were computed by: the machine as far as it matters, and versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    used = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GB of memory, {platform.machine()}, Python {platform.python_version()}, "
        f"{used}"
    )


def _number(name: str, value: float | None) -> str:
    return "-" if value is None else f"{value:,.{DIGITS.get(name, 2)}f}"


def _model(line: Line) -> list[str]:
    # The paper marks the best model that ignores costs by an asterisk.
    rank = str(line.rank) if line.rank is not None else "*" if line.printed else ""
    return [rank if name == "rank" else getattr(line, name) for name in MODEL]


def _sections(table: PaperTable, shown: Sequence[str]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield the title, the headings and the rows of each section."""
    headings = [*MODEL.values(), *(HEADINGS[name] for name in shown)]
    same = [
        [*_model(line), *(f"{_number(k, line.printed.get(k))} / {_number(k, line.figures.get(k))}" for k in shown)]
        for line in table.same
    ]
    yield "The paper's models: its figures / ours for the same model", headings, same
    headings = [*headings, f"{HEADINGS[shown[0]]} on validation"]
    for section, lines in groupby(table.best, key=lambda line: line.section):
        best = []
        for line in lines:
            figures = [_number(name, line.figures.get(name)) for name in shown]
            best.append([*_model(line), *figures, _number(shown[0], line.validation)])
        yield f"Ours: {section}" if section != "trivial" else "Trivial decisions", headings, best


def markdown(
    title: str, notes: Sequence[str], tables: Sequence[PaperTable], findings: Sequence[Finding], shown: Sequence[str]
) -> str:
    """Return the page: what was run, the findings, and the tables."""
    parts = [f"# {title}", "", *(f"- {note}" for note in notes), "", "## Findings", ""]
    for finding in findings:
        verdict = "Yes." if finding.holds else "Not so, or not always."
        lines = (f"- {sentence[0].upper()}{sentence[1:]}" for sentence in finding.sentences)
        parts += [f"**{finding.claim}** {verdict}", "", *lines, ""]
    for table in tables:
        parts += ["## Tables" if table.limit is None else f"## FPR at most {table.limit:.0%}", ""]
        for heading, headings, rows in _sections(table, shown):
            parts += [f"### {heading}", "", *_table(headings, rows), ""]
    return "\n".join(parts)


def _table(headings: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield the lines of a table, without columns that have nothing in them."""
    kept = [column for column in range(len(headings)) if any(row[column] not in ("", "-") for row in rows)]
    words = [name for name in MODEL.values() if name != MODEL["rank"]]
    alignment = ["---" if heading in words else "---:" for heading in headings]
    for cells in (headings, alignment, *rows):
        escaped = (cells[column].replace("|", r"\|").replace("*", r"\*") for column in kept)
        yield f"| {' | '.join(escaped)} |"


def values(tables: Sequence[PaperTable], shown: Sequence[str]) -> pl.DataFrame:
    """Return all lines of all tables, with their figures in full."""
    rows: list[dict[str, Any]] = [
        {
            "max_fpr": table.limit,
            "section": line.section,
            **{name: getattr(line, name) for name in MODEL},
            **{name: line.figures.get(name) for name in shown},
            f"validation_{shown[0]}": line.validation,
            **{f"paper_{name}": line.printed.get(name) for name in shown},
        }
        for table in tables
        for line in (*table.same, *table.best)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
