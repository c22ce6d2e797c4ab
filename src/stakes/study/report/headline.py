"""The headline: what the chosen model saves, against what, and how sure that is."""

from __future__ import annotations

from typing import Any

from stakes.study.report.bars import bars
from stakes.study.report.markup import Markup, code, join, tag
from stakes.study.report.wording import count, known, measure_of, money, percent, score, training

__all__ = ["answer"]

Summary = dict[str, Any]


def answer(summary: Summary) -> Markup:
    """Return the headline: what the chosen model saves, against what, and how sure that is."""
    if not summary["leaderboards"].get("validation"):
        return tag(
            "p",
            "No model kept within the limits on validation records. Allow more, or try more methods.",
            class_="lead",
        )
    return _money_answer(summary) if summary["money"] else _score_answer(summary)


def _money_answer(summary: Summary) -> Markup:
    found = summary["money"]
    chosen, cost, n = found["chosen"], found["chosen"]["cost"], found["test_records"]
    alternatives: list[tuple[object, object, float]] = [
        ("doing nothing", "Doing nothing", found["nothing"]),
        ("acting on everything", "Acting on everything", found["everything"]),
    ]
    if found["insensitive"]:
        name = code(found["insensitive"]["name"])
        alternatives.append(
            (
                join("the best model that ignores costs, ", name),
                join("The best model that ignores costs, ", name),
                found["insensitive"]["cost"],
            )
        )
    trivial, _, least = min(alternatives[:2], key=lambda alternative: alternative[2])
    saved = least - cost
    if saved > 0:
        lead = join(
            "Deciding with ",
            code(chosen["name"]),
            f" costs {money(cost)} on the {count(n, 'test record')}. That is ",
            tag("strong", f"{money(saved)} less ({percent(saved / least)})"),
            f" than {trivial}, the best one can do without a model",
            f": {money(saved / n)} saved on every record." if n else ".",
        )
    else:
        lead = join(
            tag("strong", f"No model paid off: {trivial} is at least as cheap."),
            " The one chosen, ",
            code(chosen["name"]),
            f", costs {money(cost)} on the {count(n, 'test record')}, against {money(least)}.",
        )
    return join(
        tag("p", lead, class_="lead"),
        tag("div", *(_tile(name, other, chosen) for name, _, other in alternatives), class_="tiles"),
        bars(
            "What the mistakes cost on the test records",
            [
                *((title, other, None) for _, title, other in alternatives),
                (join("The chosen model, ", code(chosen["name"])), cost, _range(chosen)),
            ],
            money,
            marked=len(alternatives),
        ),
        _certainty(summary),
        tag("p", _about(chosen), " Amounts are in the unit of the costs given.", class_="note"),
    )


def _range(chosen: dict[str, Any]) -> tuple[float, float] | None:
    low, high = chosen.get("low"), chosen.get("high")
    return (low, high) if known(low) and known(high) else None


def _tile(name: object, other: float, chosen: dict[str, Any]) -> Markup:
    saved, between = other - chosen["cost"], _range(chosen)
    sign, word, class_ = (1, "saved", "tile") if saved >= 0 else (-1, "lost", "tile loss")
    details = [percent(abs(saved) / other)] if other > 0 else []
    if between:
        low, high = sorted(sign * (other - end) for end in between)
        details.append(f"{money(low)} to {money(high)}")
    return tag(
        "div",
        tag("div", money(abs(saved)), " ", tag("small", word), class_="figure-of-note"),
        tag("div", "against ", name),
        tag("div", " · ".join(details), class_="note"),
        class_=class_,
    )


def _certainty(summary: Summary) -> Markup:
    """Say how sure the headline is."""
    found, best = summary["money"], summary["leaderboards"]["validation"][0]
    repeats = summary["question"]["repeats"]
    averaged = f" Results are means over {repeats} splits into training and validation records." if repeats > 1 else ""
    between = _range(found["chosen"])
    if between:
        alternatives = [("doing nothing", found["nothing"]), ("acting on everything", found["everything"])]
        if found["insensitive"]:
            alternatives.append(("ignoring costs", found["insensitive"]["cost"]))
        within = [name for name, cost in alternatives if found["chosen"]["cost"] < cost <= between[1]]
        text = (
            f"With 95% confidence, the chosen model costs between {money(between[0])} and {money(between[1])} on as "
            "many records like these (drawn anew from the test records); the ranges above are against alternatives at "
            "their measured cost."
        )
        if within:
            text += f" The advantage over {' and '.join(within)} may be chance."
    elif known(best["low"]) and known(best["high"]):
        measure = measure_of(summary["question"]["measure"])
        text = (
            f"Its {measure.name} ({measure.meaning}) is {measure.show(best['test'])} on the test records, with "
            f"95% confidence between {measure.show(best['low'])} and {measure.show(best['high'])}."
        )
    else:
        text = "How sure this is was not computed."
    return tag("p", text, averaged)


def _score_answer(summary: Summary) -> Markup:
    """Return the headline where no money is known."""
    best = summary["leaderboards"]["validation"][0]
    measure = measure_of(summary["question"]["measure"])
    between = (
        f", with 95% confidence between {measure.show(best['low'])} and {measure.show(best['high'])}"
        if known(best["low"]) and known(best["high"])
        else ""
    )
    tiles = (
        ("tpr", percent, "found", "of the records worth acting on"),
        ("fpr", percent, "false alarms", "among the other records"),
        ("acted", percent, "acted on", "of all records"),
        ("auc", score, "AUC", "how well the scores rank"),
    )
    return join(
        tag(
            "p",
            code(best["name"]),
            f" reaches a {measure.name} of ",
            tag("strong", measure.show(best["test"])),
            f" on the test records{between}.",
            class_="lead",
        ),
        tag(
            "div",
            *(
                tag(
                    "div",
                    tag("div", show(best[key]), " ", tag("small", what), class_="figure-of-note"),
                    tag("div", of),
                    class_="tile",
                )
                for key, show, what, of in tiles
                if known(best.get(key))
            ),
            class_="tiles",
        ),
        tag("p", _about(best), class_="note"),
    )


def _about(model: dict[str, Any]) -> Markup:
    details = "; ".join(filter(None, (model["description"], training(model))))
    return join("The chosen model: ", code(model["name"]), f", {details}.")
