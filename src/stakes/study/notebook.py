"""A study as a notebook shows it: the advice, and the best models."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from stakes.measures import MEASURES
from stakes.study.advice import advise
from stakes.study.leaderboard import best_of_each
from stakes.study.words import figure_words, row_words

__all__ = ["study_html"]

ROWS = 5


def study_html(summary: dict[str, Any], report: Path) -> str:
    """Return what a study found as a fragment of HTML."""
    advice, measure = advise(summary), MEASURES[summary["question"]["measure"]]
    headings = ("model", "acts on", f"{figure_words(measure)}, out of fold", "on test records", "acted on")
    rows = []
    for row in best_of_each(summary["leaderboards"]["out_of_fold"], ROWS):
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
