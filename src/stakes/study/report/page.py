"""From the summary of a study to report.html: one page that loads nothing, and runs nothing but its own scripts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, TemplateError
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from stakes.exceptions import StudyError
from stakes.study.report import wording
from stakes.study.report.view import prepare
from stakes.study.store import write_own

__all__ = ["render", "write_report"]


def write_report(directory: Path) -> Path:
    """Write report.html from the summary.json in the directory of a study, and return its path."""
    source, path = directory / "summary.json", directory / "report.html"
    try:
        page = render(json.loads(source.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise StudyError(f"{directory} has no summary.json: give the directory of a finished study") from None
    except OSError as error:
        raise StudyError(f"cannot read {source}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, TemplateError) as error:
        raise StudyError(
            f"{source} is not a summary that this version can read ({error!r}): run the study again"
        ) from error
    try:
        write_own(directory, path.name, page.encode())
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def render(summary: dict[str, Any]) -> str:
    """Return the report of a summary as one HTML page: the same summary, the same bytes."""
    templates = _templates()
    plotly, script = _line_ends(get_plotlyjs()), _line_ends(_source(templates, "script.js"))
    return templates.get_template("report.html").render(
        prepare(summary),
        # Second to escaping: only these two scripts may run.
        script_hashes=[_hash(plotly), _hash(script)],
        style=Markup(_source(templates, "style.css")),
        script=Markup(script),
        plotly=_packed(plotly),
    )


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("stakes.study.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {name: getattr(wording, name) for name in ("count", "money", "percent", "score", "training")}
    templates.filters["number"] = "{:,}".format
    templates.tests["known"] = wording.known
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return templates


def _source(templates: Environment, name: str) -> str:
    """Return a file next to the templates as it is."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]


def _line_ends(text: str) -> str:
    """Return a text with the line ends that a browser makes of it before it checks the hash."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _packed(script: str) -> str:
    """Return a script compressed, for the page to unpack: plotly takes 2 MB of the page instead of 5."""
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()
