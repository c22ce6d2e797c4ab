"""Pages from Jinja2 templates in a folder next to the code: everything is escaped, and nothing may be undefined."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

__all__ = ["source_of", "templates_of"]


def templates_of(package: str) -> Environment:
    """Return the templates of a package."""
    return Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def source_of(templates: Environment, name: str) -> str:
    """Return a file next to the templates as it is."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]
