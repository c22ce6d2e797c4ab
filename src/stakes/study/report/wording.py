"""Numbers, measures and terms in words that need no training to read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

__all__ = ["GLOSSARY", "Measure", "count", "known", "measure_of", "money", "percent", "score", "training"]

NOTHING = "–"
Number = float | int | None


def known(value: Any) -> TypeGuard[float]:
    """Return whether a value is a number that can be shown."""
    return isinstance(value, int | float) and math.isfinite(value)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def money(value: Number) -> str:
    """Return an amount, as precise as its size makes sensible.

    Examples
    --------
    >>> from stakes.study.report.wording import money
    >>> money(1234567.8), money(12.345), money(0.01234), money(-5), money(None)
    ('1,234,568', '12.35', '0.0123', '−5', '–')
    """
    if not known(value):
        return NOTHING
    size = abs(value)
    if size < 1 or size >= 1e15:
        return _minus(f"{value:.3g}")
    return _minus(f"{value:,.0f}" if size >= 1000 or value == round(value) else f"{value:,.2f}")


def percent(value: Number) -> str:
    """Return a share.

    Examples
    --------
    >>> from stakes.study.report.wording import percent
    >>> percent(0.2654), percent(0.00017), percent(1), percent(-0.3), percent(None)
    ('26.5%', '0.017%', '100%', '−30.0%', '–')
    """
    if not known(value):
        return NOTHING
    if value in (0, 1):
        return f"{value:.0%}"
    return _minus(f"{100 * value:.2g}%" if abs(value) < 0.001 else f"{value:.1%}")


def score(value: Number) -> str:
    """Return a measure between 0 and 1 that is not thought of as a share."""
    return _minus(f"{value:.3f}") if known(value) else NOTHING


def count(n: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> from stakes.study.report.wording import count
    >>> count(1, "record"), count(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def training(row: dict[str, Any]) -> str | None:
    """Return by which costs a model was trained, and decides where these are not the real ones."""
    costs = {"none": "no costs", "record": "each record’s costs", "class means": "the mean costs of the classes"}
    trained, decides = row.get("train_costs"), row.get("decision_costs", "real")
    parts = [f"trained on {costs.get(trained, f'costs {trained}')}"] if trained else []
    return ", ".join(parts if decides in (None, "real", trained) else [*parts, f"decides by {decides}"]) or None


class Measure(NamedTuple):
    """What a study compares models by."""

    name: str  # amid words
    meaning: str
    show: Callable[[Number], str]

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name[:1].upper() + self.name[1:]


MEASURES = {
    "cost": Measure("cost", "what the mistakes cost together, the lower the better", money),
    "savings": Measure(
        "savings", "the share saved of what the cheaper of doing nothing and acting on everything costs", percent
    ),
    "profit": Measure("profit", "what acting brings in over doing nothing", money),
    "roi": Measure("return", "profit as a share of what is spent on acting", percent),
    "cost_reduction": Measure("cost avoided", "the share avoided of what doing nothing costs", percent),
    "amount_detected": Measure("amount detected", "the share of the money at stake that is found in time", percent),
    "balanced_accuracy": Measure(
        "balanced accuracy", "the mean of the shares of both classes that are decided right; guessing gets 0.5", score
    ),
    "g_mean": Measure("G-mean", "the geometric mean of the shares of both classes that are decided right", score),
    "f1": Measure("F1", "the harmonic mean of the share found and of the share of actions that were right", score),
    "average_precision": Measure(
        "average precision", "how purely the records ranked highest are those worth acting on", score
    ),
    "auc": Measure(
        "AUC", "how often a record worth acting on is ranked above one that is not; guessing gets 0.5", score
    ),
}


def measure_of(key: str) -> Measure:
    """Return a measure by its name in the command; one of a later version is shown as it is."""
    return MEASURES.get(key) or Measure(key, "as named", score)


GLOSSARY = (
    ("Acted on", "decided positive: called, blocked, visited, contacted. Everything else is left alone."),
    ("False alarms (FPR)", "the share of the records that needed no action, and are acted on all the same."),
    ("Found (TPR)", "the share of the records that needed action, and are acted on."),
    (
        "AUC",
        "how often a record that needs action is ranked above one that does not: 0.5 is guessing, 1 is perfect. It "
        "knows nothing of costs.",
    ),
    (
        "Savings",
        "1 − cost / the cost of the cheaper of doing nothing and acting on everything. Below 0, having no model "
        "would be better.",
    ),
    ("Cost avoided (Cost%)", "1 − cost / the cost of doing nothing."),
    (
        "T_cs",
        "the probability above which acting is worth its cost: C_FP / (C_FP + C_FN), with C_FP the cost of a false "
        "alarm and C_FN that of a miss. Each record has its own where costs differ.",
    ),
    ("T_thr", "one threshold for all records, chosen for the least cost on validation records."),
    ("MEC", "minimum expected cost: act where the probability is above T_cs."),
    (
        "DMECC (dm-)",
        "direct minimum expected cost classification: the trained model is left as it is, and its probabilities are "
        "compared with T_cs. Where a name begins with dm-, every tree does so before it votes.",
    ),
    (
        "MTA",
        "majority threshold adjustment: act when the share of the trees’ votes is above T_cs or T_thr, not 0.5.",
    ),
    ("eps", "a tree’s error on validation records, weighted by cost. Votes may count by it."),
    (
        "u, o, h, s, cpr",
        "how records are drawn for training: fewer of the cheap class (under-sampling), more of the dear one "
        "(over-sampling), both (hybrid), with synthetic ones (SMOTE), or by chance in proportion to their cost "
        "(cost-proportionate rejection). A p after it: once for all trees, otherwise anew for each.",
    ),
    ("w, cs", "trees that learn from records weighted by cost (w), or are grown and pruned by cost (cs)."),
    (
        "bg, rf, rdf",
        "bagging, random forests, random decision forests: many trees, each on its own sample of the records and, for "
        "the last two, of the features.",
    ),
    ("Boosting", "trees that are trained one after the other, each on what the ones before got wrong."),
    ("MetaCost (mc-)", "one readable tree that learns to imitate the decisions of a whole ensemble."),
    (
        "Calibration",
        "correcting scores so that, of the records given 30%, about 30% turn out positive. Platt and isotonic do it on "
        "validation records.",
    ),
    (
        "Leaf probabilities",
        "how a tree turns the counts in a leaf into a probability: as they are, or drawn to the average where counts "
        "are small (Laplace, m-estimate, curtailment).",
    ),
    ("Lines of equal cost", "all points on such a line of the ROC picture cost the same. Up and left is cheaper."),
    (
        "Validation and test",
        "models are compared and tuned on validation records. Test records are kept apart until the end, to see what "
        "the choice is worth.",
    ),
    (
        "95% interval",
        "the range of results when the test records are drawn anew, with replacement, many times. Models whose ranges "
        "overlap much may be equally good.",
    ),
)
