"""The two leaderboards as tables that can be sorted and filtered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stakes.study.report.markup import Markup, code, join, tag
from stakes.study.report.wording import count, known, measure_of, money, percent, score, training

__all__ = ["boards_section"]

Row = dict[str, Any]
MOST_ROWS = 500
WHISKER = 88  # pixels


class Column(NamedTuple):
    """A column of numbers."""

    key: str
    title: str
    hint: str
    show: Callable[[Any], str]
    first: str  # the direction of the first click


COLUMNS = (
    Column("cost", "Cost", "Total cost of the mistakes on the test records", money, "ascending"),
    Column("savings", "Savings", "Share saved of what the best choice without a model costs", percent, "descending"),
    Column("tpr", "Found", "Share of the records worth acting on that are acted on (TPR)", percent, "descending"),
    Column("fpr", "False alarms", "Share of the other records that are acted on (FPR)", percent, "ascending"),
    Column("acted", "Acted on", "Share of all records that are acted on", percent, "ascending"),
    Column("auc", "AUC", "How well the scores rank, whatever the costs", score, "descending"),
)  # fmt: skip

BOARDS = {
    "validation": (
        "Chosen on validation records",
        "what you can trust",
        "Ranked by the validation records, then measured on the test records, which played no part in the ranking. "
        "The first row is the model this report recommends.",
    ),
    "test": (
        "Best on test records",
        "how papers report",
        "Ranked by the very records that the results are measured on. The first of so many is partly lucky: expect "
        "less from it in practice than it shows here.",
    ),
}


def boards_section(summary: dict[str, Any]) -> Markup:
    """Return both leaderboards with their controls; without scripts, all of both is there to read."""
    boards = {name: list(summary["leaderboards"].get(name) or ()) for name in BOARDS}
    question = summary["question"]
    return join(
        _luck(boards, question),
        _controls([row for rows in boards.values() for row in rows]),
        *(_board(name, rows, question) for name, rows in boards.items()),
    )


def _luck(boards: dict[str, list[Row]], question: dict[str, Any]) -> Markup | None:
    """Say how much of a lead is more than luck."""
    rows = boards["validation"]
    if not rows or not known(rows[0]["low"]) or not known(rows[0]["high"]):
        return None
    best = rows[0]
    show = measure_of(question["measure"]).show
    inside = sum(best["low"] <= row["test"] <= best["high"] for row in rows[1:] if known(row["test"]))
    return tag(
        "p",
        "The recommended model’s result lies between ",
        tag("strong", show(best["low"])),
        " and ",
        tag("strong", show(best["high"])),
        " with 95% confidence. ",
        f"So do the results of {inside:,} of the {count(len(rows) - 1, 'other model')} listed: their order is partly "
        "chance, and the simplest of them is a sound choice too."
        if inside
        else "No other model listed comes into that range.",
    )


def _controls(rows: Sequence[Row]) -> Markup:
    """Return what picks rows; the page's script uncovers it."""
    families = sorted({str(row["family"]) for row in rows})
    highest = max((row["fpr"] for row in rows if known(row["fpr"])), default=0.0)
    return tag(
        "div",
        tag(
            "div",
            tag("label", "Search", for_="find"),
            tag("input", type="search", id="find", placeholder="name or decision", autocomplete="off"),
            class_="control",
        ),
        tag(
            "fieldset",
            tag("legend", "Rows"),
            tag("label", tag("input", type="checkbox", id="best", checked=True), " the best of each method"),
            class_="control",
        ),
        tag(
            "div",
            tag(
                "label",
                "False alarms at most ",
                tag("output", "any", id="fpr-limit", for_="fpr"),
                for_="fpr",
            ),
            tag(
                "input",
                type="range",
                id="fpr",
                min=0,
                max=100,
                step=1,
                value=100,
                aria_valuetext="any",
                data_highest=highest,
            ),
            class_="control",
        )
        if highest > 0
        else None,
        tag(
            "fieldset",
            tag("legend", "Family"),
            *(
                tag("label", tag("input", type="checkbox", name="family", value=family, checked=True), " ", family)
                for family in families
            ),
            class_="control",
        )
        if len(families) > 1
        else None,
        tag("button", "Reset", type="button", id="reset"),
        class_="controls",
        hidden=True,
    )


def _board(name: str, rows: list[Row], question: dict[str, Any]) -> Markup:
    title, motto, explanation = BOARDS[name]
    heading = tag("h3", title, tag("span", " – ", motto, class_="motto"), id=f"board-{name}-title")
    parts = [heading, tag("p", explanation)]
    if not rows:
        parts.append(tag("p", "No model kept within the limits.", class_="empty"))
    else:
        table = _table(rows[:MOST_ROWS], question, labelled_by=f"board-{name}-title")
        parts.append(
            tag("div", table, class_="scroll", tabindex="0", role="region", aria_labelledby=f"board-{name}-title")
        )
        if len(rows) > MOST_ROWS:
            parts.append(tag("p", f"The first {MOST_ROWS} of {len(rows):,}. All are in ", code("leaderboard.csv"), "."))
    return tag(
        "div", *parts, class_="board", id=f"board-{name}", data_title=title, data_motto=motto, data_rows=len(rows)
    )


def _table(rows: Sequence[Row], question: dict[str, Any], labelled_by: str) -> Markup:
    measure = measure_of(question["measure"])
    better = "descending" if question["higher_is_better"] else "ascending"
    # Costs are unknown where only classes matter, and a measure need not be told twice.
    columns = [
        column
        for column in COLUMNS
        if column.key != question["measure"] and any(known(row.get(column.key)) for row in rows)
    ]
    scale = _scale(rows)
    more_or_fewer = ", of which there are more or fewer" if measure.show is money else ""
    head = tag(
        "tr",
        _header("#", "Rank", "ascending", sorted_=True),
        _header("Model", "Method and decision", "ascending", class_="model"),
        _header(measure.title, f"On test records: {measure.meaning}", better),
        _header("Validation", f"{measure.title} on validation records{more_or_fewer}", better),
        *(_header(column.title, column.hint, column.first) for column in columns),
    )
    body = [
        tag(
            "tr",
            _cell(row["rank"], row["rank"]),
            tag("th", _model(row), scope="row", class_="model", data_value=row["name"]),
            _cell(
                row["test"],
                _whisker(row, scale),
                tag("strong", measure.show(row["test"])),
                _interval(row, measure.show),
            ),
            _cell(row["validation"], measure.show(row["validation"])),
            *(_cell(row.get(column.key), column.show(row.get(column.key))) for column in columns),
            data_method=row["name"],
            data_family=row["family"],
            data_fpr=row["fpr"] if known(row["fpr"]) else None,
        )
        for row in rows
    ]
    return tag("table", tag("thead", head), tag("tbody", *body), aria_labelledby=labelled_by)


def _header(title: str, hint: str, first: str, *, sorted_: bool = False, class_: str | None = None) -> Markup:
    return tag(
        "th",
        tag("button", title, type="button", title=hint, data_first=first),
        scope="col",
        aria_sort="ascending" if sorted_ else "none",
        class_=class_,
    )


def _cell(value: Any, *shown: object) -> Markup:
    return tag("td", *shown, class_="number", data_value=value if known(value) else None)


def _model(row: Row) -> Markup:
    return join(
        code(row["name"]),
        None if row.get("in_limits", True) else tag("span", "over the limit", class_="flag"),
        tag("span", row["description"], class_="detail"),
        tag("span", "; ".join(filter(None, (str(row["family"]), training(row)))), class_="detail"),
    )


def _interval(row: Row, show: Callable[[Any], str]) -> Markup | None:
    if not (known(row["low"]) and known(row["high"])):
        return None
    return tag("span", f"{show(row['low'])} to {show(row['high'])}", class_="detail")


def _scale(rows: Sequence[Row]) -> tuple[float, float] | None:
    """Return the lowest and the highest end of the intervals; None where there are none."""
    ends = [row[end] for row in rows for end in ("low", "high") if known(row[end])]
    return (min(ends), max(ends)) if ends and min(ends) < max(ends) else None


def _whisker(row: Row, scale: tuple[float, float] | None) -> Markup | None:
    """Return an interval and the result in it as a small picture, on the same scale in all rows."""
    if scale is None or not all(known(row[key]) for key in ("low", "test", "high")):
        return None
    least, most = scale

    def place(value: float) -> float:
        share = (value - least) / (most - least)
        return round(4 + (WHISKER - 8) * min(max(share, 0.0), 1.0), 1)

    return tag(
        "svg",
        tag("line", x1=place(row["low"]), x2=place(row["high"]), y1=6, y2=6),
        tag("circle", cx=place(row["test"]), cy=6, r=3.5),
        class_="whisker",
        width=WHISKER,
        height=12,
        aria_hidden="true",
    )
