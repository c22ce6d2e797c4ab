"""The columns of a study's results: what each row is about, and what its figures are.

A row is a model: a method, trained by some costs, with a decision. `out_of_fold_*` are figures on learning records,
each decided on by a model that was not trained on it; `test_*` are those of the model trained on all learning records.
Costs and profits are per record, so that the two can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import polars as pl

from stakes._typing import Bools, Floats
from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.cuts import Cut
from stakes.decision.decision import Decision
from stakes.decision.threshold_rules import THRESHOLDS
from stakes.decision.weights import CHOSEN
from stakes.measures import MEASURES, Sums

__all__ = [
    "DECISION",
    "IDENTITY",
    "OUT_OF_FOLD",
    "PARTS",
    "TEST",
    "cut_of",
    "decision_of",
    "figures",
    "follows_costs",
    "measures_of",
    "n_tuned",
    "pack",
    "pack_scores",
    "plain_cut",
    "schema",
    "unpack",
    "unpack_scores",
]

OUT_OF_FOLD, TEST = "out_of_fold", "test"
PARTS = (OUT_OF_FOLD, TEST)
DECISION = tuple(field.name for field in fields(Decision))
# What tells one model from another; its repeats are averaged.
IDENTITY = ("method", "name", "family", "train_costs", "tree", "decision_costs", *DECISION, "description")


def measures_of(measure: str) -> list[str]:
    """Return the measures that a study by `measure` has figures of."""
    return [name for name, m in MEASURES.items() if m.of_sums is not None or name in ("auc", measure)]


def schema(measure: str) -> dict[str, Any]:
    """Return the names and types of the columns of a study by `measure`."""
    return {
        "repeat": pl.Int64,
        **dict.fromkeys(IDENTITY, pl.String),
        "follows_costs": pl.Boolean,
        "n_tuned": pl.Int64,
        **{f"{part}_{name}": pl.Float64 for part in PARTS for name in measures_of(measure)},
        # What is paid for features, per record; it is part of the costs above.
        **{f"{part}_paid": pl.Float64 for part in PARTS},
        # Rates of the delivered decision on the learning records: what limits are held against.
        "limit_fpr": pl.Float64,
        "limit_acted": pl.Float64,
        # What the delivered decision compares with what: see `cut_of`.
        "cut": pl.String,
        # What makes a probability of the score of models that may be delivered, where it is none.
        "probability": pl.String,
        # Equal for models that decide alike on all records.
        "digest": pl.String,
        # Outcomes of models that may be chosen, a bit per record.
        **{f"{part}_outcome": pl.Binary for part in PARTS},
        # Scores before calibration of models that may join a team.
        **{f"{part}_score": pl.Binary for part in PARTS},
        # The features that these ask of each record, where features have prices: a bit for each.
        **{f"{part}_used": pl.Binary for part in PARTS},
    }


def figures(part: str, sums: Sums, measure: str) -> dict[str, Floats]:
    """Return all measures of decisions on a part, by column; those of scores are left to the caller."""
    names = [name for name in measures_of(measure) if MEASURES[name].of_sums is not None]
    return {f"{part}_{name}": MEASURES[name].figure(sums) for name in names}


def decision_of(row: dict[str, Any]) -> Decision:
    """Return the decision that a row is about."""
    return Decision(**{name: row[name] for name in DECISION})


def follows_costs(decision: Decision) -> bool:
    """Return whether the last step of a decision goes by the costs of the day: T_cs, or a multiple of it.

    Members that vote by T_cs alone do not make a decision that follows costs: the votes do, the threshold does not.
    """
    return THRESHOLDS[decision.threshold].needs_costs


def n_tuned(decision: Decision) -> int:
    """Return how many things a decision chooses on records: the fewer, the simpler."""
    return (
        int(THRESHOLDS[decision.threshold].needs_data)
        + int(decision.calibration is not None and CALIBRATIONS[decision.calibration].needs_data)
        + int(decision.member == "tuned")
        + int(decision.vote_weight in CHOSEN)
    )


def pack(outcomes: Bools) -> bytes:
    """Return outcomes as bits, row after row."""
    return np.packbits(outcomes, axis=-1).tobytes()


def unpack(packed: Iterable[bytes], n: int) -> Bools:
    """Return rows of `n` outcomes each, of shape (n_rows, n)."""
    bits = np.frombuffer(b"".join(packed), np.uint8).reshape(-1, -(-n // 8))
    return np.unpackbits(bits, axis=1, count=n).view(np.bool_)


def pack_scores(scores: Floats) -> bytes:
    """Return scores as bytes."""
    return np.ascontiguousarray(scores, dtype="<f8").tobytes()


def unpack_scores(packed: bytes) -> Floats:
    """Return the scores of one model."""
    return np.frombuffer(packed, "<f8")


def plain_cut(cut: Cut) -> str:
    """Return the calibration and the threshold of a cut as text."""
    parts = {"calibration": cut.calibration, "threshold": cut.threshold}
    values = {name: None if part is None else asdict(part) for name, part in parts.items()}  # type: ignore[call-overload]
    return json.dumps(values, default=np.ndarray.tolist)


def cut_of(row: dict[str, Any]) -> Cut:
    """Return the cut of the delivered decision of a row."""
    decision, values = decision_of(row), json.loads(row["cut"])
    calibration = None
    if decision.calibration is not None:
        given = {key: np.array(v) if isinstance(v, list) else v for key, v in values["calibration"].items()}
        calibration = CALIBRATIONS[decision.calibration](**given)
    return Cut(decision, calibration, THRESHOLDS[decision.threshold](**values["threshold"]))
