"""The plain sections of the report, each a function of the summary; those with nothing to say are None."""

from __future__ import annotations

from typing import Any

from stakes.study.report.bars import bars
from stakes.study.report.markup import Markup, code, join, tag
from stakes.study.report.wording import GLOSSARY, count, known, measure_of, money, percent

__all__ = ["asked", "features", "glossary", "how", "sensitivity", "use"]

Summary = dict[str, Any]
MOST_FEATURES = 15


def asked(summary: Summary) -> Markup:
    """Return what was asked, in plain sentences."""
    q = summary["question"]
    measure = measure_of(q["measure"])
    event = join(code(q["target"]), " is ", code(q["positive"]))
    share = percent(q["n_positive"] / q["n_records"]) if q["n_records"] else "none"
    if summary["money"]:
        task = tag(
            "p",
            "Two mistakes are possible. ",
            tag("strong", "Acting for nothing"),
            " on a record costs ",
            code(q["fp_cost"]),
            "; ",
            tag("strong", "missing one"),
            " that needed action costs ",
            code(q["fn_cost"]),
            ". Which way of learning and deciding makes the mistakes cost the least?",
        )
    else:
        task = tag(
            "p",
            "No costs were given. Which way of learning and deciding copes best with one class being so much rarer "
            f"than the other? Models are compared by {measure.name}: {measure.meaning}.",
        )
    return join(
        tag(
            "p",
            code(q["data"]),
            f" has {count(q['n_records'], 'record')} with {count(q['n_features'], 'feature')} each. In "
            f"{q['n_positive']:,} of them ({share}) ",
            event,
            ": those are worth acting on.",
        ),
        task,
        tag(
            "p",
            f"The study tried {count(q['n_methods'], 'method')}: it trained {count(q['n_ensembles'], 'ensemble')} of "
            f"{count(q['trees'], 'tree')}, and compared {count(q['n_models'], 'model')}, each an ensemble with a way "
            "to decide, on validation records. What the choice is worth was then measured on test records that had "
            "been kept apart.",
        ),
        _limits(q),
    )


def _limits(q: dict[str, Any]) -> Markup | None:
    limits = [
        f"{what} at most {percent(q[key])} of {whom}"
        for key, what, whom in (
            ("max_fpr", "disturbing", "the records that need no action"),
            ("max_acted", "acting on", "all records"),
        )
        if q.get(key) is not None
    ]
    return (
        tag("p", f"Only models were eligible that kept to the limits given: {' and '.join(limits)}.")
        if limits
        else None
    )


def features(summary: Summary) -> Markup | None:
    """Return which features the chosen model uses most."""
    found = [row for row in summary.get("features") or () if known(row["importance"])]
    total = sum(row["importance"] for row in found)
    if not found or total <= 0:
        return None
    in_money = "money" in summary["importance_unit"]
    first = found[:3]
    share = percent(sum(row["importance"] for row in first) / total)
    names = join(*(part for i, row in enumerate(first) for part in (_comma(i, len(first)), code(row["name"]))))
    return join(
        tag(
            "p",
            names,
            f" {'make' if len(first) > 1 else 'makes'} up {share} of ",
            "what the chosen model’s splits save in training."
            if in_money
            else "what the chosen model’s splits gain in telling the classes apart, each record counting as it did in "
            "training.",
            " A feature that is not used may still matter: another may stand in for it.",
        ),
        bars(
            f"Features by {summary['importance_unit']}",
            [(code(row["name"]), row["importance"], None) for row in found[:MOST_FEATURES]],
            money if in_money else percent,
        ),
        tag("p", f"And {count(len(found) - MOST_FEATURES, 'feature')} with less.", class_="note")
        if len(found) > MOST_FEATURES
        else None,
    )


def _comma(i: int, n: int) -> str:
    return "" if i == 0 else " and " if i == n - 1 else ", "


CHANGES = {"fp_cost": "acting for nothing", "fn_cost": "a miss", "both": "every mistake"}
FACTORS = {0.5: "half as much", 2: "twice as much"}


def sensitivity(summary: Summary) -> Markup | None:
    """Return what changes if the costs were other than thought."""
    rows = summary.get("sensitivity") or []
    if not rows:
        return None
    losing = [row for row in rows if known(row["savings"]) and row["savings"] <= 0]
    kept = [row["savings"] for row in rows if known(row["savings"])]
    if losing:
        verdict = f"It would not pay off in {count(len(losing), 'case')} of {len(rows)}."
    elif kept:
        verdict = f"It would pay off in each case: savings stay between {percent(min(kept))} and {percent(max(kept))}."
    else:
        verdict = ""
    head = ("If …", "Doing nothing", "Acting on everything", "The chosen model", "Savings")
    return join(
        tag(
            "p",
            "Costs are often estimates. Below, the same trained model meets other ones, and decides by them where it "
            "decides by costs; nothing is trained again. ",
            tag("strong", verdict) if verdict else None,
        ),
        tag(
            "div",
            tag(
                "table",
                tag("thead", tag("tr", *(tag("th", title, scope="col") for title in head))),
                tag(
                    "tbody",
                    *(
                        tag(
                            "tr",
                            tag("th", _change(row), scope="row"),
                            *(tag("td", money(row[key]), class_="number") for key in ("nothing", "everything", "cost")),
                            tag("td", tag("strong", percent(row["savings"])), class_="number"),
                            class_="loss" if row in losing else None,
                        )
                        for row in rows
                    ),
                ),
                class_="plain",
            ),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Other costs",
        ),
        tag("p", "Savings are against the cheaper of doing nothing and acting on everything.", class_="note"),
    )


def _change(row: dict[str, Any]) -> str:
    if row["factor"] == 1:
        return "costs are as given"
    factor = FACTORS.get(row["factor"], f"{row['factor']:g} times as much")
    return f"{CHANGES.get(row['what'], row['what'])} cost {factor}"


def use(summary: Summary) -> Markup:
    """Return how to use the chosen model."""
    with_costs = bool(summary["money"])
    q = summary["question"]
    return join(
        tag("p", "The chosen model is in ", code("best.skops"), ", next to this report. To decide on new records:"),
        tag("pre", code("stakes apply best.skops NEW.csv --out decisions.csv")),
        tag(
            "ul",
            tag(
                "li",
                code("NEW.csv"),
                " needs the same columns as ",
                code(q["data"]),
                ", but for ",
                code(q["target"]),
                "; files larger than memory are fine.",
            ),
            tag("li", "Each record gets a decision", " and what it is expected to cost." if with_costs else "."),
            tag(
                "li",
                "Costs have changed? Give today’s with ",
                code("--fp-cost"),
                " and ",
                code("--fn-cost"),
                ". Nothing needs to be trained again.",
            )
            if with_costs
            else None,
            tag("li", "Watch the results: when records or behaviour drift, run the study again on recent data."),
        ),
    )


def glossary(summary: Summary) -> Markup:
    """Return the terms, in plain words."""
    return tag(
        "dl", *(tag("div", tag("dt", term), tag("dd", meaning)) for term, meaning in GLOSSARY), class_="glossary"
    )


def how(summary: Summary) -> Markup:
    """Return the configuration, so that the study can be repeated."""
    q = summary["question"]
    costs = [str(name) for name in q.get("train_costs") or () if name != "none"]
    facts: tuple[tuple[str, object], ...] = (
        ("Data", code(q["data"])),
        ("Positive class", join(code(q["target"]), " = ", code(q["positive"]))),
        ("Cost of acting for nothing", code(q["fp_cost"]) if q.get("fp_cost") is not None else None),
        ("Cost of a miss", code(q["fn_cost"]) if q.get("fn_cost") is not None else None),
        ("Compared by", measure_of(q["measure"]).name),
        ("Costs in training", ", ".join(costs) or None),
        ("Test records", q.get("test")),
        ("Validation records", q.get("validation")),
        ("Largest FPR", percent(q["max_fpr"]) if q.get("max_fpr") is not None else None),
        ("Largest share acted on", percent(q["max_acted"]) if q.get("max_acted") is not None else None),
        ("Methods", f"{q['n_methods']:,}"),
        ("Ensembles trained", f"{q['n_ensembles']:,}, of {count(q['trees'], 'tree')}"),
        ("Models compared", f"{q['n_models']:,}"),
        ("Repeats", f"{q['repeats']:,}"),
        ("Seed", str(q["seed"])),
        ("Version", f"stakes {summary['version']}"),
        *(("Note", note) for note in q.get("notes") or ()),
    )
    return join(
        tag(
            "p",
            "Records were split into three parts. Ensembles learned from the first; everything that can be chosen, "
            "from thresholds to the model itself, was chosen on the second; the third was used to measure only. The "
            "same data, configuration and version give the same results. The methods are those of Petrides and "
            "Verbeke, ",
            tag("cite", "Misclassification cost-sensitive ensemble learning: a unifying framework"),
            " (Data Mining and Knowledge Discovery, 2022).",
        ),
        tag(
            "dl",
            *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value is not None),
            class_="facts",
        ),
    )
