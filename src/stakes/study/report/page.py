"""From the summary of a study to report.html: one page that loads nothing, and runs nothing but its own two scripts."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from stakes.atomic import write_atomically
from stakes.exceptions import StudyError
from stakes.study.report import figures, sections
from stakes.study.report.boards import boards_section
from stakes.study.report.closer import closer
from stakes.study.report.headline import answer
from stakes.study.report.markup import Markup, as_data, code, join, tag

__all__ = ["render", "write_report"]


def write_report(directory: Path) -> Path:
    """Write report.html from the summary of a study.

    Parameters
    ----------
    directory : Path
        The directory of the study, with summary.json in it.

    Returns
    -------
    path : Path
        Of the report.
    """
    source, path = directory / "summary.json", directory / "report.html"
    try:
        page = render(json.loads(source.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise StudyError(f"{directory} has no summary.json: give the directory of a finished study") from None
    except OSError as error:
        raise StudyError(f"cannot read {source}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise StudyError(
            f"{source} is not a summary that this version can read ({error!r}): run the study again"
        ) from error
    try:
        write_atomically(path, page.encode())
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def render(summary: dict[str, Any]) -> str:
    """Return the report as one HTML page: the same summary, the same bytes.

    Parameters
    ----------
    summary : dict
        As in summary.json.

    Returns
    -------
    page : str
    """
    drawn = _figures(summary)
    body = [
        ("asked", "What was asked", sections.asked(summary)),
        ("answer", "What was found", answer(summary)),
        ("boards", "All models compared", boards_section(summary)),
        ("closer", "The best models up close", closer(summary, list(drawn))),
        (
            "features",
            "Which features " + ("save the money" if summary["money"] else "matter"),
            sections.features(summary),
        ),
        ("sensitivity", "What if the costs were different?", sections.sensitivity(summary)),
        ("use", "How to use this model", sections.use(summary)),
        ("glossary", "Terms in plain words", sections.glossary(summary)),
        ("how", "How it was done", sections.how(summary)),
    ]
    present = [(key, title, content) for key, title, content in body if content is not None]
    scripts = [_newlines(get_plotlyjs()), _own("script.js")]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        # Second to escaping: only our own scripts may run, and nothing may be loaded from, or sent, anywhere.
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        tag("title", f"{summary['title']} – stakes study"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(_own("style.css"))),
    )
    page = tag(
        "body",
        tag("a", "Skip to the findings", href="#answer", class_="skip"),
        tag(
            "header",
            tag("p", "stakes study", class_="kicker"),
            tag("h1", _headline(summary)),
            tag("nav", *(tag("a", title, href=f"#{key}") for key, title, _ in present), aria_label="Contents"),
        ),
        tag(
            "main",
            *(
                tag("section", tag("h2", title, id=f"{key}-heading"), content, id=key, aria_labelledby=f"{key}-heading")
                for key, title, content in present
            ),
        ),
        tag("footer", tag("p", f"Made by stakes {summary['version']}. This page needs no network, and sends nothing.")),
        tag("script", as_data(drawn), type="application/json", id="figures"),
        *(tag("script", Markup(script)) for script in scripts),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, page, lang='en')}\n"


def _headline(summary: dict[str, Any]) -> Markup:
    asks = "which model saves the most money?" if summary["money"] else "which model copes best with its rare class?"
    return join(code(summary["title"]), ": ", asks)


def _figures(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the figures that there is something to draw in; those in money only where it is real."""
    curves = (summary.get("curves") or [])[: len(figures.COLOURS)]
    real = bool(summary["money"])
    drawn = {
        "cost": figures.cost_figure(curves) if real else None,
        "gain": figures.gain_figure(curves, summary["question"].get("max_acted")) if real else None,
        "roc": figures.roc_figure(curves, summary.get("iso_cost") if real else None),
        "reliability": figures.reliability_figure(curves),
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _own(name: str) -> str:
    return _newlines(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _newlines(text: str) -> str:
    """Return a text with the line ends that a browser makes of it before it checks the hash."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _policy(scripts: list[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
