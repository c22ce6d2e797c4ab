"""From the summary of a study to a model card and to report.html: it loads nothing, and runs its own script only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, TemplateError
from markupsafe import Markup

from stakes.decision.wording import decision_words
from stakes.exceptions import StudyError
from stakes.study.report import wording
from stakes.study.report.card import model_card
from stakes.study.report.view import prepare, printable
from stakes.study.store import write_own
from stakes.study.templates import source_of, templates_of
from stakes.study.words import model_words

__all__ = ["render", "render_card", "write_report"]

MARKUP = re.compile(r"[\\`*_\[\]<>#|~&]")
SCRIPTS = ("charts.js", "play.js", "script.js")


def write_report(directory: Path) -> Path:
    """Write report.html and model-card.md from the summary.json of a study, and return the path of the former."""
    source, path = directory / "summary.json", directory / "report.html"
    try:
        summary = json.loads(source.read_text(encoding="utf-8"))
        written = {path: render(summary), directory / "model-card.md": render_card(summary)}
    except FileNotFoundError:
        raise StudyError(f"{directory} has no summary.json: give the directory of a finished study") from None
    except OSError as error:
        raise StudyError(f"cannot read {source}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, TemplateError) as error:
        raise StudyError(
            f"{source} is not a summary that this version can read ({error!r}): run the study again"
        ) from error
    for file, content in written.items():
        try:
            write_own(directory, file.name, content.encode())
        except OSError as error:
            raise StudyError(f"cannot write {file}: {error.strerror or error}") from error
    return path


def render(summary: dict[str, Any]) -> str:
    """Return the report of a summary as one HTML page: the same summary, the same bytes."""
    templates = _templates()
    # With the line ends that a browser makes of it before it checks the hash.
    script = "".join(source_of(templates, name) for name in SCRIPTS).replace("\r\n", "\n").replace("\r", "\n")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return templates.get_template("report.html").render(
        prepare(summary),
        # Second to escaping: only this script may run.
        script_hash=f"sha256-{digest}",
        style=Markup(source_of(templates, "style.css")),
        script=Markup(script),
    )


def render_card(summary: dict[str, Any]) -> str:
    """Return the model card of a summary as Markdown."""
    summary = printable(summary)
    lines = [f"# Model card: {_markdown(summary['title'])}", ""]
    for heading, facts in model_card(summary):
        lines += [f"## {heading}", "", *(f"- **{_markdown(name)}**: {_markdown(value)}" for name, value in facts), ""]
    return "\n".join(lines)


def _markdown(text: str) -> str:
    """Return text in which Markdown finds no markup."""
    return MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


@cache
def _templates() -> Environment:
    templates = templates_of("stakes.study.report")
    filters = ("check_words", "count", "money", "percent", "score", "training")
    templates.filters |= {name: getattr(wording, name) for name in filters}
    templates.filters |= {"model": model_words, "decision": decision_words}
    templates.filters["number"] = "{:,}".format
    templates.tests["known"] = wording.known
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return templates
