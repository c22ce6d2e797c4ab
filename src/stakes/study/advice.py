"""What to do, what it saves and how sure that is: what a study found, in sentences for those who decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stakes._format import money, percent
from stakes.decision.wording import decision_words
from stakes.measures import MEASURES
from stakes.study.words import interval_of, model_words, tree_words

__all__ = ["Advice", "advise", "headline"]

Summary = dict[str, Any]

# Days of a month and of a year.
LONGER = ((1.0, "day"), (365.25 / 12, "month"), (365.25, "year"))


@dataclass(frozen=True)
class Advice:
    """Sentences about what was found; those about which nothing is known are empty."""

    act: str  # whom to act on, and how many they are
    saves: str = ""  # what it saves on the test records
    sure: str = ""  # the interval of that
    expected: str = ""  # the figure to expect on new records
    model: str = ""  # the model in words, with its name


def advise(summary: Summary) -> Advice:
    """Return what a study found, by its summary."""
    question, chosen, found = summary["question"], summary["chosen"], summary["money"]
    if chosen is None:
        return Advice("No model keeps to the limits: allow more by --max-fpr or --max-acted, or try more methods.")
    parts = (f"{model_words(chosen['name'])} ({chosen['name']})", tree_words(chosen), decision_words(chosen))
    model = ", ".join(filter(None, parts))
    positive = f"{question['target']} = {question['positive']}"
    told = {"expected": _expected(summary), "model": model}
    act = f"Act on the records that the model flags, {_how_many(chosen['acted'], question.get('per_day'))}"
    if found is None or found["chosen"] is None:
        saves = (
            f"On {question['n_test']:,} test records it finds {percent(chosen['tpr'])} of those with {positive}, and "
            f"disturbs {percent(chosen['fpr'])} of the others."
        )
        return Advice(f"{act}: those most likely to have {positive}.", saves, **told)
    n, other = found["test_records"], min(found["policies"], key=lambda policy: policy["cost"])
    saved = other["cost"] - found["chosen"]["cost"]
    interval = interval_of(other["saved"])
    between = "" if interval is None else f"{money(interval[0] / n)} to {money(interval[1] / n)} per record"
    if saved <= 0:
        return Advice(
            f"Use no model: {other['name']} is at least as cheap.",
            f"On {n:,} test records the recommended model costs {money(-saved)} more than {other['name']}: "
            f"{money(-saved / n)} per record, {money(-1000 * saved / n)} per 1,000.",
            f"95% sure: it saves {between}." if between else "",
            **told,
        )
    if not chosen["follows_costs"]:
        whom = f"those most likely to have {positive}"
    elif chosen["threshold"] == "scaled":
        whom = "those where acting is expected to save most"
    else:
        whom = "those where acting is expected to cost less than doing nothing"
    by_chance = interval is not None and interval[0] <= 0
    doubt = "It is not sure that a model pays off. With this one, a" if by_chance else "A"
    return Advice(
        f"{doubt}{act[1:]}: {whom}.",
        f"On {n:,} test records this saves {money(saved)} against {other['name']}, the best one can do without a "
        f"model: {money(saved / n)} per record, {money(1000 * saved / n)} per 1,000.",
        between and (f"That may be chance (95%: {between})." if by_chance else f"95% sure: {between}."),
        **told,
    )


def _how_many(share: float, per_day: float | None) -> str:
    """Return how many records are acted on, out of 1,000 and in a time."""
    said = f"{1000 * share:,.{0 if share >= 0.01 or share == 0 else 1}f} of every 1,000"
    if not per_day or not share:
        return said
    days, unit = next((part for part in LONGER if share * per_day * part[0] >= 1), LONGER[-1])
    return f"{said} (about {share * per_day * days:,.0f} a {unit})"


def _expected(summary: Summary) -> str:
    question, chosen = summary["question"], summary["chosen"]
    expected = chosen["expected"]
    if expected is None or question["measure"] not in MEASURES:
        return ""
    measure = MEASURES[question["measure"]]
    value, low, high = (measure.write(expected[key]) for key in ("value", "low", "high"))
    between = f"(90% sure: {low} to {high})"
    if measure.name == "cost":
        total = money(1000 * expected["value"])
        what = "its mistakes" if chosen.get("paid") is None else "its mistakes and features"
        return f"On new records {what} are expected to cost {value} per record {between}, {total} per 1,000."
    per = " per record" if measure.is_total else ""
    return f"On new records it is expected to reach {measure.words} of {value}{per} {between}."


def headline(summary: Summary) -> str:
    """Return what was found in a few lines, for a terminal."""
    advice, chosen, found = advise(summary), summary["chosen"], summary["money"]
    if chosen is None:
        return advice.act
    lines = [advice.act, f"{advice.saves} {advice.sure}", advice.expected]
    if found is not None and found["chosen"] is not None:
        n, own = found["test_records"], found["chosen"]
        others = [other for other in (*found["policies"], *found["rivals"]) if other["name"] != own["name"]]
        listed = ", ".join(f"{model_words(other['name'])} {money(other['cost'] / n)}" for other in others)
        features = "" if chosen.get("paid") is None else f" ({money(chosen['paid'])} of it for features)"
        lines.append(f"Cost per record on the test records: the model {money(own['cost'] / n)}{features}, {listed}.")
    by = chosen["train_costs"]
    trained = "" if by == "none" else f", trained by {by} costs"
    lines.append(f"The model: {advice.model}{trained}. {chosen['reason']}")
    return "\n".join(line.strip() for line in lines if line.strip())
