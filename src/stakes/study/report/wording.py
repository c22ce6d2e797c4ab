"""Terms in words that need no training to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stakes import _format
from stakes._format import count, known
from stakes.measures import MEASURES, Measure

__all__ = ["GLOSSARY", "count", "known", "measure_of", "money", "percent", "score", "training"]


def typeset(write: Callable[[float | None], str]) -> Callable[[float | None], str]:
    """Return a way to write numbers with a minus sign in place of the hyphen that consoles have."""

    def written(value: float | None) -> str:
        text = write(value)
        return f"−{text[1:]}" if text.startswith("-") else text

    return written


money, percent, score = map(typeset, (_format.money, _format.percent, _format.score))


def training(row: dict[str, Any]) -> str | None:
    """Return by which costs a model was trained, and decides where these are not the real ones."""
    costs = {"none": "no costs", "record": "each record’s costs", "class means": "the mean costs of the classes"}
    trained, decides = row.get("train_costs"), row.get("decision_costs", "real")
    parts = [f"trained on {costs.get(trained, f'costs {trained}')}"] if trained else []
    return ", ".join(parts if decides in (None, "real", trained) else [*parts, f"decides by {decides}"]) or None


def measure_of(name: str) -> Measure:
    """Return a measure by its name in the command; one of a later version is shown as it is."""
    measure = MEASURES.get(name) or Measure(name=name, words=name, meaning="as named")
    return replace(measure, write=typeset(measure.write))


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
        "1 − cost / the cost of the cheaper of acting on none and acting on all. Below 0, having no model "
        "would be better.",
    ),
    ("Cost avoided (Cost%)", "1 − cost / the cost of acting on none."),
    (
        "T_cs",
        "the probability above which acting is worth its cost: C_FP / (C_FP + C_FN), with C_FP the cost of a false "
        "alarm and C_FN that of a miss. Each record has its own where costs differ.",
    ),
    ("T_thr", "one threshold for all records, chosen for the least cost on records that the model has not seen."),
    ("MEC", "minimum expected cost: act where the probability is above T_cs."),
    (
        "DMECC (dm-)",
        "direct minimum expected cost classification: the trained model is left as it is, and its probabilities are "
        "compared with T_cs. Where a name begins with dm-, every tree does so before it votes.",
    ),
    ("MTA", "majority threshold adjustment: act when the share of the trees’ votes is above T_cs or T_thr, not 0.5."),
    ("eps", "a tree’s error on records that it has not seen, weighted by cost. Votes may count by it."),
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
    ("Team, stack", "several models that decide together: a weighted mean of their probabilities, or a model of them."),
    ("MetaCost (mc-)", "one readable tree that learns to imitate the decisions of a whole ensemble."),
    (
        "Calibration",
        "correcting scores so that, of the records given 30%, about 30% turn out positive. Platt and isotonic do it on "
        "records that the model has not seen.",
    ),
    (
        "Leaf probabilities",
        "how a tree turns the counts in a leaf into a probability: as they are, or drawn to the average where counts "
        "are small (Laplace, m-estimate, curtailment).",
    ),
    ("Lines of equal cost", "all points on such a line of the ROC picture cost the same. Up and left is cheaper."),
    (
        "Out of fold",
        "records are divided into folds, and each is decided on by models, and with thresholds, that were made without "
        "its fold. So all learning records measure models, and none measures a model that was made with it.",
    ),
    ("Test records", "are kept apart until the end, to see what the choice is worth."),
    (
        "Intervals (90%, 95%)",
        "the range of results when the records are drawn anew, with replacement, many times. Two models are compared "
        "on the same draws: where the interval of their difference reaches 0, they may be equally good.",
    ),
)
