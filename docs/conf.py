"""Build the documentation: sphinx-build -W docs docs/_build."""

from __future__ import annotations

from typing import Any

import stakes

project = "stakes"
author = "The stakes developers"
copyright = "2026, the stakes developers"
version = release = stakes.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinxcontrib.mermaid"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = f"stakes {release}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have them, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them
numpydoc_xref_param_type = False

suppress_warnings = ["myst.header"]  # pages of figures are written by programs, with headings of their own

# What scikit-learn gives to every estimator, and explains in its own documentation.
OF_EVERY_ESTIMATOR = {"get_metadata_routing", "get_params", "set_params"}


def skip_member(app: Any, what: str, name: str, member: object, skip: bool, options: Any) -> bool | None:
    """Leave out what comes from scikit-learn."""
    is_request = name.startswith("set_") and name.endswith("_request")
    return True if name in OF_EVERY_ESTIMATOR or (is_request and what == "class") else None


def skip_empty_folders(app: Any, page: str, source: list[str]) -> None:
    """Leave folders out of the index that have no pages (yet): figures are made by commands."""
    if page == "index":
        lines = source[0].split("\n")
        source[0] = "\n".join(line for line in lines if line[-2:] != "/*" or any(app.srcdir.glob(f"{line}.md")))


def setup(app: Any) -> None:
    """Tell Sphinx."""
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", skip_empty_folders)
