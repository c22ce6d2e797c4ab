"""HTML that cannot be broken into: whatever is not markup already is escaped on its way in."""

from __future__ import annotations

import html
import json
import re
from typing import Any

__all__ = ["Markup", "as_data", "code", "join", "plain", "tag"]

VOID = {"input", "link", "meta"}
# Control characters, halves of characters, and marks that turn the direction of the text around them.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


class Markup(str):
    """Text that is HTML already: made by `tag` and `join` alone."""

    __slots__ = ()


def plain(value: object) -> str:
    """Return a value as text that any browser, and any encoding of the page, can show."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value))


def join(*parts: object) -> Markup:
    """Return the parts one after the other; those that are not markup are escaped, None is left out.

    Examples
    --------
    >>> from stakes.study.report.markup import join, tag
    >>> join(tag("b", "1 < 2"), " & ", 3)
    '<b>1 &lt; 2</b> &amp; 3'
    """
    return Markup(
        "".join(
            part if isinstance(part, Markup) else html.escape(plain(part), quote=False)
            for part in parts
            if part is not None
        )
    )


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
        Of the element.
    *children
        What is in it, as for `join`.
    **attributes
        ``class_`` is class, ``aria_sort`` is aria-sort; True stands alone, None and False are left out.

    Examples
    --------
    >>> from stakes.study.report.markup import tag
    >>> tag("p", "<script>", class_="note", title='"quoted"', hidden=True)
    '<p class="note" title="&quot;quoted&quot;" hidden>&lt;script&gt;</p>'
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{opening}>") if name in VOID else Markup(f"<{opening}>{join(*children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    key = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {key}" if value is True else f' {key}="{html.escape(plain(value))}"'


def code(value: object) -> Markup:
    """Return something of the user's, a name or an expression, set apart from our own words."""
    return tag("code", value)


def as_data(value: Any) -> Markup:
    """Return JSON that a script element can hold: nothing in it can end the element, or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
