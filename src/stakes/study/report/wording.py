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
