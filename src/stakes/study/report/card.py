"""The model card: what a model is for, how it came about, what it is worth, and what is not known of it."""

from __future__ import annotations

from typing import Any

from stakes.study.advice import advise
from stakes.study.report.wording import check_words, count, known, measure_of, money, percent, score, training
from stakes.study.words import interval_of, model_words

__all__ = ["model_card"]

Summary = dict[str, Any]
Facts = list[tuple[str, str]]

# With fewer positives to test on, figures say little.
FEW = 50


def model_card(summary: Summary) -> list[tuple[str, Facts]]:
    """Return the headings of the card, each with facts: what, and what about it."""
    parts = {
        "Purpose": _purpose(summary),
        "Data": _data(summary),
        "Costs": _costs(summary),
        "How it was chosen": _protocol(summary),
        "Figures": _figures(summary),
        "What was looked at": _checks(summary),
        "Limits": _limits(summary),
    }
    told = {heading: [(name, value) for name, value in facts if value] for heading, facts in parts.items()}
    return [(heading, facts) for heading, facts in told.items() if facts]


def _purpose(summary: Summary) -> Facts:
    advice, chosen, q = advise(summary), summary["chosen"], summary["question"]
    if chosen is None:
        return [("Advice", advice.act)]
    trained_on = "learning and test records" if q["refit"] == "all" else "learning records"
    return [
        ("Advice", advice.act),
        ("Model", "; ".join(filter(None, (advice.model, training(chosen))))),
        ("In the study", f"{chosen['name']}: {chosen['description']}"),
        ("File", f"best.skops, trained on the {trained_on}"),
        ("Not meant for", "records of another kind than those of the data, or decisions between more than two classes"),
    ]


def _data(summary: Summary) -> Facts:
    q = summary["question"]
    facts = [
        ("File", q["data"]),
        ("Records", f"{q['n_records']:,}, {q['n_positive']:,} of them with {q['target']} = {q['positive']}"),
        ("Features", f"{q['n_features']:,}"),
        ("Learning records", f"{q['n_learning']:,}"),
        ("Test records", f"{q['n_test']:,} ({q['test']})" if q["test"] else f"{q['n_test']:,}"),
        ("Records of one group stay together", q["groups"]),
        ("Ordered in time by", q["time"]),
    ]
    # Where the data were looked at, the notes are among what was seen.
    return facts if summary.get("checks") else [*facts, *(("Note", note) for note in q["notes"])]


def _costs(summary: Summary) -> Facts:
    q, chosen = summary["question"], summary["chosen"]
    if summary["money"] is None:
        return [("Costs", "none were given: models are compared by how they cope with the rarer class")]
    facts = [("Acting for nothing", q["fp_cost"]), ("A miss", q["fn_cost"])]
    if q.get("after"):
        facts.append(("Known only afterwards, and estimated to decide", ", ".join(q["after"])))
    if q.get("feature_costs") and chosen is not None:
        facts.append(("Paid for features", f"{money(chosen['paid'])} per record, which is part of the costs"))
    if chosen is not None:
        follows = "decisions change with them, without training" if chosen["follows_costs"] else "run the study again"
        facts.append(("When costs change", follows))
    return facts


def _protocol(summary: Summary) -> Facts:
    q = summary["question"]
    judged = "by models that were trained on earlier ones" if q["time"] else "by models that were not trained on it"
    return [
        ("Judged", f"each learning record {judged}, and by thresholds that were chosen without it; {q['folds']} folds"),
        ("Compared by", measure_of(q["measure"]).words),
        ("Tried", f"{count(q['n_methods'], 'method')}, {count(q['n_ensembles'], 'ensemble')}"),
        ("Trees of an ensemble", f"{q['trees']:,}"),
        ("Models compared", f"{q['n_models']:,}, of which {q['n_distinct']:,} decide differently"),
        ("Costs in training", ", ".join(setting for setting in q["train_costs"] if setting != "none")),
        ("Repeats", f"{q['repeats']}"),
        ("Largest share of false alarms", percent(q["max_fpr"]) if known(q["max_fpr"]) else ""),
        ("Largest share acted on", percent(q["max_acted"]) if known(q["max_acted"]) else ""),
        ("Why this model", summary["chosen"]["reason"] if summary["chosen"] else ""),
        ("Seed", f"{q['seed']}"),
        ("Version", f"stakes {summary['version']}"),
    ]


def _figures(summary: Summary) -> Facts:
    chosen, found, n = summary["chosen"], summary["money"], summary["question"]["n_test"]
    if chosen is None:
        return []
    measure, advice = measure_of(summary["question"]["measure"]), advise(summary)
    facts = [("Expected on new records", advice.expected or "not known")]
    if found is not None and found["chosen"] is not None:
        own = found["chosen"]
        facts.append(("Cost per record, test", _per_record(own["cost"], own, n)))
        for other in (*found["policies"], *found["rivals"]):
            if other["name"] != own["name"]:
                saved = _per_record(other["cost"] - own["cost"], other["saved"], n)
                facts.append((f"Saved per record against {model_words(other['name'])}", saved))
    else:
        facts.append((f"{measure.title}, test", measure.write(chosen["test"])))
    shares = {"acted on": "acted", "found, of those worth acting on": "tpr", "false alarms, of the others": "fpr"}
    facts += [(f"Share {words}, test", percent(chosen[name])) for words, name in shares.items()]
    return [*facts, ("AUC, test", score(chosen["auc"]))]


def _per_record(value: float, row: dict[str, Any] | None, n: int) -> str:
    """Return a total on `n` records as one per record, with the interval that its row has."""
    between = interval_of(row)
    return money(value / n) + (f" (95%: {money(between[0] / n)} to {money(between[1] / n)})" if between else "")


def _checks(summary: Summary) -> Facts:
    checks = summary.get("checks")
    if not checks:
        return [("Leaks, identifiers and shifts", "not looked for" if checks is None else "looked for, and none found")]
    about = [": ".join(filter(None, (check_words(check["kind"]), check["column"]))) for check in checks]
    seen = [check["evidence"] + (f" ({check['option']})" if check["option"] else "") for check in checks]
    return list(zip(about, seen, strict=True))


def _limits(summary: Summary) -> Facts:
    q, chosen, advice = summary["question"], summary["chosen"], advise(summary)
    n_positive = summary["records"]["totals"]["positives"] if summary.get("records") else FEW
    facts = {
        "New records": "the figures hold for records like those of the test; watch for drift, and run the study again",
        "Costs": "amounts are as right as the costs that were given" if summary["money"] else "",
        "Chance": advice.sure if advice.sure.startswith("That may be chance") else "",
        "Few positives": f"only {n_positive} of the test records" if n_positive < FEW else "",
        "Fixed threshold": "" if chosen is None or chosen["follows_costs"] else "decisions do not follow other costs",
        "Not tried, for want of time": ", ".join(q["not_tried"]),
        "Could not be trained": ", ".join(q["not_trained"]),
        "Groups of people": "whether the model errs more on some than on others was not looked at",
    }
    return list(facts.items())
