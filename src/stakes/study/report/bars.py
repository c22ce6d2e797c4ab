"""Numbers drawn as bars, in a table that can be read without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stakes.study.report.markup import Markup, tag

__all__ = ["bars"]


def bars(
    caption: str,
    rows: Sequence[tuple[object, float, tuple[float, float] | None]],
    show: Callable[[float], str],
    *,
    marked: int | None = None,
) -> Markup:
    """Return a table whose numbers are drawn as bars; the interval of a number is a line on its bar."""
    longest = max((max(value, *(between or (value,))) for _, value, between in rows), default=0.0)

    def width(value: float) -> str:
        return f"{100 * max(value, 0.0) / longest:.2f}%" if longest > 0 else "0%"

    def bar(value: float, between: tuple[float, float] | None, strong: bool) -> Markup:
        whisker = between and tag(
            "span", class_="range", style=f"left:{width(between[0])};width:{width(between[1] - between[0])}"
        )
        return tag(
            "span",
            tag("span", class_="bar strong" if strong else "bar", style=f"width:{width(value)}"),
            whisker,
            class_="track",
            aria_hidden="true",
        )

    return tag(
        "table",
        tag("caption", caption),
        tag(
            "tbody",
            *(
                tag(
                    "tr",
                    tag("th", label, scope="row"),
                    tag("td", bar(value, between, marked in (None, i)), class_="drawn"),
                    tag("td", show(value), class_="number"),
                )
                for i, (label, value, between) in enumerate(rows)
            ),
        ),
        class_="bars",
    )
