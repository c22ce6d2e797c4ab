"""Terms in words that need no training to read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stakes import _format
from stakes._format import count, known
from stakes.measures import MEASURES, Measure
from stakes.study.words import tree_words

__all__ = [
    "GLOSSARY",
    "check_words",
    "count",
    "known",
    "measure_of",
    "money",
    "percent",
    "score",
    "training",
    "typeset",
]

HYPHEN = re.compile(r"(?<![\w.-])-(?=\d)")


def typeset(text: str) -> str:
    """Return text in which numbers have a minus sign, in place of the hyphen that consoles have."""
    return HYPHEN.sub("−", text)


def _typeset(write: Callable[[float | None], str]) -> Callable[[float | None], str]:
    return lambda value: typeset(write(value))


money, percent, score = map(_typeset, (_format.money, _format.percent, _format.score))


def training(row: dict[str, Any]) -> str | None:
    """Return the size of trees, the costs that a model was trained by, and those it decides by if not the real ones."""
    costs = {"none": "no costs", "record": "each record’s costs", "class means": "the mean costs of the classes"}
    trained, decides = row.get("train_costs"), row.get("decision_costs", "real")
    parts = [
        tree_words(row),
        f"trained on {costs.get(trained, f'costs {trained}')}" if trained else None,
        None if decides in (None, "real", trained) else f"decides by {decides}",
    ]
    return ", ".join(filter(None, parts)) or None


CHECKS = {
    "leak": "Leak",
    "id": "Identifier",
    "split": "Records are divided by it",
    "constant": "Constant",
    "empty": "Empty",
    "duplicates": "Repeated records",
    "few": "Few records",
    "classes": "Classes",
    "shift": "Shift from learning to test records",
}


def check_words(kind: str) -> str:
    """Return what kind of thing was noticed about the data."""
    return CHECKS.get(kind, kind)


def measure_of(name: str) -> Measure:
    """Return a measure by its name in the command; one of a later version is shown as it is."""
    measure = MEASURES.get(name) or Measure(name=name, words=name, meaning="as named")
    return replace(measure, write=_typeset(measure.write))


GLOSSARY = (
    (
        "Acted on",
        "called, blocked, visited, contacted: whatever the decision is about. All other records are left alone.",
    ),
    ("A miss", "a record that needed action and was left alone."),
    ("False alarm", "a record that needed no action and was acted on."),
    ("Found", "the share of the records that needed action, and are acted on."),
    (
        "Break-even",
        "the probability above which acting is worth its cost: what a false alarm costs, divided by what a false alarm "
        "and a miss cost together. Each record has its own where costs differ. In names of decisions it is T_cs.",
    ),
    (
        "Scaled break-even",
        "break-even times a factor (of its odds), which mends probabilities that are too high or too low throughout.",
    ),
    (
        "Tuned threshold",
        "one number for all records, chosen for the least cost on records that the model had not seen. It does not "
        "change with costs. In names of decisions it is T_thr.",
    ),
    (
        "Savings",
        "the part of the cost that the model avoids, compared with the cheaper of acting on none and acting on all. "
        "Below 0, having no model would be better.",
    ),
    (
        "Out of fold",
        "the records are divided into parts, and each part is decided on by models, and with thresholds, that were "
        "made without it. So every learning record measures models, and none measures a model that was made with it.",
    ),
    ("Test records", "are kept apart until the end, to see what the choice is worth."),
    (
        "90% sure, 95% sure",
        "the range of results when the records are drawn anew many times. Two models are compared on the same draws: "
        "where the range of their difference reaches 0, they may be equally good.",
    ),
    (
        "AUC",
        "how often a record that needs action is ranked above one that does not: 0.5 is guessing, 1 is perfect. It "
        "knows nothing of costs.",
    ),
    (
        "Calibrated",
        "corrected so that, of the records given a probability of 30%, about 30% turn out to need action.",
    ),
    ("Votes", "each tree of a model says act or not; votes by cost are those where it weighs the costs first."),
    (
        "Random forest, bagging",
        "many trees, each grown on other records, that decide together (names with rf, bg, rdf, et).",
    ),
    ("Boosting", "trees that are trained one after the other, each on what the ones before got wrong."),
    ("Blend, team", "several models that decide together."),
    (
        "Under-sampling, over-sampling, weights",
        "ways to let costly records count more while a model learns: fewer of the cheap ones, more of the dear ones, "
        "or weights (names that begin with u, o, h, s, cpr, w or cs).",
    ),
)
