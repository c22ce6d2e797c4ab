"""Studies and methods as a terminal shows them, and studies as a notebook does."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stakes.catalog import MethodTable
from stakes.measures import MEASURES
from stakes.study.advice import advise, headline
from stakes.study.leaderboard import best_of_each
from stakes.study.words import figure_words, row_words

if TYPE_CHECKING:
    from stakes.study.study import StudyResult

__all__ = ["print_methods", "print_result", "study_html"]

# Names whose best models are shown in a terminal, and in a notebook.
TOP, TOP_IN_NOTEBOOK = 10, 5
HEADINGS = {"": "right", "model": "left", "acts where": "left", "out of fold": "right", "test": "right",
            "acted on": "right"}  # fmt: skip


def print_methods(found: MethodTable) -> None:
    """Show methods as a table."""
    table = Table(box=SIMPLE, title=f"{len(found)} methods")
    for heading in ("name", "family", "costs act", "costs", "needed to predict", "description"):
        table.add_column(heading, no_wrap=heading == "name")
    for row in found.rows():
        table.add_row(*row)
    _console().print(table)


def print_result(result: StudyResult) -> None:
    """Show what a study found, and what to do next."""
    question, directory = result.summary["question"], result.directory
    print(headline(result.summary))
    _console().print(_board(result.summary))
    if question["not_tried"]:
        print(f"Not tried, for want of time: {', '.join(question['not_tried'])}. The same command goes on.")
    for name, reason in question["not_trained"].items():
        print(f"Left out, because it could not be trained on these data: {name} ({reason})")
    print(f"All of it: {directory}; for people: {directory / 'report.html'}")
    if (directory / "best.skops").exists():
        print(f"Decide on new records: stakes apply {directory / 'best.skops'} NEW.csv")


def _console() -> Console:
    # Lines of a log are not broken at the 80 characters of a terminal that is not there.
    return Console(width=None if sys.stdout.isatty() else 100, highlight=False)


def _board(summary: dict[str, Any]) -> Table:
    """Return the best row of each name, and the recommended one."""
    question = summary["question"]
    measure = MEASURES[question["measure"]]
    table = Table(
        box=SIMPLE,
        pad_edge=False,
        collapse_padding=True,
        title=f"the best of {question['n_models']:,} models: {figure_words(measure)} (* is recommended)",
    )
    for heading, justify in HEADINGS.items():
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for row in best_of_each(summary["leaderboards"]["out_of_fold"], TOP):
        table.add_row(*map(Text, (f"{row['rank']}{'*' if row['chosen'] else ''}", *row_words(row, measure))))
    return table


def study_html(summary: dict[str, Any], report: Path) -> str:
    """Return what a study found as a fragment of HTML."""
    advice, measure = advise(summary), MEASURES[summary["question"]["measure"]]
    headings = ("model", "acts on", f"{figure_words(measure)}, out of fold", "on test records", "acted on")
    rows = []
    for row in best_of_each(summary["leaderboards"]["out_of_fold"], TOP_IN_NOTEBOOK):
        model, *rest = row_words(row, measure)
        rows.append((f"{model}{', recommended' if row['chosen'] else ''}", *rest))
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    said = " ".join(sentence for sentence in (advice.saves, advice.sure, advice.expected) if sentence)
    return (
        f"<p><strong>{escape(advice.act)}</strong> {escape(said)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>More: <code>{escape(str(report))}</code></p>"
    )
