"""From the scores of models that have not seen the records to results, a row for each decision.

What a decision chooses about a score (calibration, threshold) is, for the records of a fold, chosen on the scores of
the other folds. What is delivered is chosen on the scores of all folds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from stakes._typing import Bools, Floats, Indices, Ints
from stakes.decision.calibration import CALIBRATIONS, fit_calibration
from stakes.decision.cuts import Cut, apply_cuts, fit_cuts
from stakes.decision.decision import Decision
from stakes.decision.options import describe
from stakes.decision.readings import Readings
from stakes.measures import MEASURES, sums_of
from stakes.records import Records
from stakes.study.choice import allowed_share
from stakes.study.columns import DECISION, OUT_OF_FOLD, TEST, figures, follows_costs, n_tuned, pack, plain_cut, schema
from stakes.study.plan import Config

__all__ = ["Judged", "Read", "judge", "make_table"]

# The best decisions keep their outcomes, to choose among: as many as go into this many bytes, but some always.
KEPT_BYTES = 1 << 20
KEPT_AT_LEAST = 20
# So many have a probability worked out.
DELIVERABLE = 10


class Read(NamedTuple):
    """Records, as they are read by models that were not trained on them."""

    readings: Readings
    records: Records


@dataclass(frozen=True)
class Judged:
    """What some decisions make of records that neither the models nor the decisions have seen."""

    outcomes: Bools  # on the learning records, each by the calibration and threshold chosen on the other folds
    delivered: list[Cut]  # the calibration and threshold chosen on all learning records
    tested: Bools | None  # on the test records, by what is delivered
    limited: Bools | None  # on the learning records, by what is delivered: what limits are held against


def judge(
    decisions: Sequence[Decision], learning: Read, fold: Ints, config: Config, test: Read | None = None
) -> Judged:
    """Decide on the records of each fold by what was chosen on the others, and on test records by what is delivered."""
    readings, records = learning
    outcomes = np.empty((len(decisions), len(records)), np.bool_)
    for k in range(int(fold.max()) + 1):
        rows = np.flatnonzero(fold == k)
        cuts = _fit(decisions, learning, config, np.flatnonzero(fold != k))
        outcomes[:, rows] = apply_cuts(cuts, readings.take(rows), records.known[rows]).outcomes
    delivered = _fit(decisions, learning, config)
    tested = None if test is None else apply_cuts(delivered, test.readings, test.records.known).outcomes
    limited = apply_cuts(delivered, readings, records.known).outcomes if config.limits else None
    return Judged(outcomes, delivered, tested, limited)


def _fit(decisions: Sequence[Decision], learning: Read, config: Config, rows: Indices | None = None) -> list[Cut]:
    """Choose calibrations and thresholds, so that limits hold on new records and not just on these."""
    readings, records = learning
    positive = records.positive if rows is None else records.positive[rows]
    n_of = {"fpr": int(positive.size - positive.sum()), "acted": positive.size}
    limits = {f"max_{name}": allowed_share(limit, n_of[name]) for name, limit in config.limits.items()}
    return fit_cuts(decisions, readings, records, rows=rows, **limits)


def make_table(
    about: dict[str, Any],
    decisions: Sequence[Decision],
    learning: Read,
    fold: Ints,
    config: Config,
    *,
    test: Read | None,
    paid: Mapping[str, Floats],
) -> pl.DataFrame:
    """Return a row for each decision, with the columns of `stakes.study.columns`.

    `about` has columns that are known already, and `paid` what features cost per record by each decision, on both
    parts.
    """
    judged = judge(decisions, learning, fold, config, test)
    columns: dict[str, Any] = {
        **{name: [getattr(decision, name) for decision in decisions] for name in DECISION},
        "description": [describe(decision) for decision in decisions],
        "follows_costs": [follows_costs(decision) for decision in decisions],
        "n_tuned": [n_tuned(decision) for decision in decisions],
        **about,
    }
    for part, read, outcomes in ((OUT_OF_FOLD, learning, judged.outcomes), (TEST, test, judged.tested)):
        if read is not None and outcomes is not None:
            columns |= _measured(part, decisions, outcomes, read, config.measure, paid.get(part, 0.0))
    if judged.limited is not None:
        records = learning.records
        found = figures("limit", sums_of(judged.limited, records.positive, records.costs), config.measure)
        columns |= {name: found[name] for name in ("limit_fpr", "limit_acted")}
    loss = (-1 if config.higher_is_better else 1) * np.asarray(columns[f"{OUT_OF_FOLD}_{config.measure}"])
    columns |= _kept(decisions, judged, learning, loss, about["train_costs"])
    types = schema(config.measure)
    return pl.DataFrame(dict.fromkeys(types) | columns, schema=types)


def _measured(
    part: str, decisions: Sequence[Decision], outcomes: Bools, read: Read, measure: str, paid: Floats | float
) -> dict[str, Any]:
    """Return all measures of a part."""
    readings, records = read
    sums = sums_of(outcomes, records.positive, records.costs, paid)
    found: dict[str, Any] = {f"{part}_paid": paid, **figures(part, sums, measure)}
    # Calibrations keep the order of scores: one figure for each source.
    for name in ("auc", measure):
        of_scores = MEASURES[name].of_scores
        if of_scores is not None:
            by_source = {source: of_scores(records.positive, score) for source, score in readings.scores.items()}
            found[f"{part}_{name}"] = [by_source[readings.source(decision)] for decision in decisions]
    return found


def _kept(
    decisions: Sequence[Decision], judged: Judged, learning: Read, loss: Floats, train_costs: str
) -> dict[str, Any]:
    """Return what is needed to choose and deliver a model: of the best ones, and of the best that follow costs."""
    packed = [pack(outcome) for outcome in judged.outcomes]
    tested = [b""] * len(packed) if judged.tested is None else [pack(outcome) for outcome in judged.tested]
    order = np.argsort(loss, kind="stable").tolist()
    followers = [i for i in order if follows_costs(decisions[i])]
    n_kept = max(KEPT_AT_LEAST, KEPT_BYTES // (len(packed[0]) + len(tested[0]) or 1))
    kept = {*order[:n_kept], *followers[:n_kept]}
    probability: list[str | None] = [None] * len(packed)
    for i in {*order[:DELIVERABLE], *followers[:DELIVERABLE]}:
        if not _is_probability(decisions[i], train_costs):
            scores, records = judged.delivered[i].scores(learning.readings), learning.records
            fitted = fit_calibration("platt_logit", scores, records.positive, sample_weight=records.weight)
            probability[i] = json.dumps(asdict(fitted))  # type: ignore[call-overload]
    return {
        "cut": [plain_cut(cut) for cut in judged.delivered],
        "digest": [hashlib.sha256(a + b).hexdigest()[:24] for a, b in zip(packed, tested, strict=True)],
        "probability": probability,
        f"{OUT_OF_FOLD}_outcome": [outcome if i in kept else None for i, outcome in enumerate(packed)],
        f"{TEST}_outcome": [
            outcome if i in kept and judged.tested is not None else None for i, outcome in enumerate(tested)
        ],
    }


def _is_probability(decision: Decision, train_costs: str) -> bool:
    """Return whether the score of a decision is a probability: it is where it is compared with T_cs."""
    if decision.threshold == "cost":
        return True
    if decision.calibration is not None:
        return CALIBRATIONS[decision.calibration].needs_data
    return decision.output == "average" and train_costs == "none"
