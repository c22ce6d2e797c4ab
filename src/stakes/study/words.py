"""Models of a study in words that need no training to read."""

from __future__ import annotations

from typing import Any

from stakes._format import known, percent
from stakes.catalog import list_methods
from stakes.decision.wording import decision_words
from stakes.measures import Measure

__all__ = ["figure_words", "interval_of", "model_words", "row_words", "tree_words"]

# Where the catalogue says more than a reader needs; teams are not in it.
MODELS = {
    "lr": "logistic regression",
    "gb": "gradient boosting",
    "lgbm": "LightGBM as it comes",
    "wgb": "gradient boosting weighted by cost",
    "csgb": "gradient boosting by expected cost",
    "adamec": "AdaBoost",
    "cab": "AdaBoost",
    "dab": "AdaBoost of trees that decide by cost",
    "dab-thr": "AdaBoost of trees that decide by tuned thresholds",
    "ub": "UBoost",
    "acost": "AdaCost",
    "top5": "mean of the five best models",
    "team": "team of models",
    "stack": "blend of all models",
}


def model_words(name: str) -> str:
    """Return what kind of model a name stands for; an unknown name as it is."""
    if name.startswith("mc-"):
        return f"small tree taught by {model_words(name.removeprefix('mc-'))}"
    base = name.removeprefix("dm-")
    return MODELS.get(base) or next((method.description for method in list_methods() if method.name == base), base)


def tree_words(row: dict[str, Any]) -> str | None:
    """Return how large the trees of a model are, where several sizes were tried."""
    return f"trees with {row['tree']} records or more" if row.get("tree") else None


def row_words(row: dict[str, Any], measure: Measure) -> tuple[str, str, str, str, str]:
    """Return a row of a leaderboard: the model, how it decides, both of its figures, and the share acted on."""
    figures = measure.write(row["out_of_fold"]), measure.write(row["test"])
    return f"{model_words(row['name'])} ({row['name']})", decision_words(row), *figures, percent(row["acted"])


def figure_words(measure: Measure) -> str:
    """Return what the figures of a leaderboard are."""
    return f"{measure.words} per record" if measure.is_total else measure.words


def interval_of(row: dict[str, Any] | None) -> tuple[float, float] | None:
    """Return the ends of the interval of a figure in a summary; None where they are not known."""
    low, high = (row or {}).get("low"), (row or {}).get("high")
    return (low, high) if known(low) and known(high) else None
