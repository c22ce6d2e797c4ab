"""From the scores of models that have not seen the records to rows of results, one for each decision.

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

from stakes._typing import Bools, Floats, Indices, Ints
from stakes.decision.calibration import CALIBRATIONS, fit_calibration
from stakes.decision.cuts import Cut, apply_cuts, fit_cuts
from stakes.decision.decision import Decision
from stakes.decision.options import describe
from stakes.decision.readings import Readings
from stakes.measures import MEASURES, sums_of
from stakes.records import Records
from stakes.study.choice import allowed_share
from stakes.study.columns import OUT_OF_FOLD, PARTS, TEST, figures, follows_costs, n_tuned, pack, plain_cut
from stakes.study.plan import Config

__all__ = ["Judged", "Read", "judge", "make_rows"]

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


def make_rows(
    about: dict[str, Any],
    decisions: Sequence[Decision],
    learning: Read,
    fold: Ints,
    config: Config,
    *,
    test: Read | None,
    paid: Mapping[str, Floats],
) -> list[dict[str, Any]]:
    """Return a row for each decision; the columns are those of `stakes.study.columns`.

    `about` is what all rows have in common, and `paid` what features cost per record by each decision, on both parts.
    """
    judged = judge(decisions, learning, fold, config, test)
    paid = {part: np.zeros(len(decisions)) for part in PARTS} | dict(paid)
    rows: list[dict[str, Any]] = [
        {
            **asdict(decision),
            "description": describe(decision),
            "follows_costs": follows_costs(decision),
            "n_tuned": n_tuned(decision),
            **about,
        }
        for decision in decisions
    ]
    for part, read, outcomes in ((OUT_OF_FOLD, learning, judged.outcomes), (TEST, test, judged.tested)):
        if read is not None and outcomes is not None:
            _measure(rows, part, decisions, outcomes, read, config.measure, paid[part])
    if judged.limited is not None:
        records = learning.records
        found = figures("limit", sums_of(judged.limited, records.positive, records.costs), config.measure)
        for i, row in enumerate(rows):
            row |= {f"limit_{name}": float(found[f"limit_{name}"][i]) for name in ("fpr", "acted")}
    _keep(rows, decisions, judged, learning, config)
    return rows


def _measure(
    rows: list[dict[str, Any]],
    part: str,
    decisions: Sequence[Decision],
    outcomes: Bools,
    read: Read,
    measure: str,
    paid: Floats,
) -> None:
    """Write all measures of a part into the rows."""
    readings, records = read
    sums = sums_of(outcomes, records.positive, records.costs, paid)
    for column, values in {f"{part}_paid": paid, **figures(part, sums, measure)}.items():
        for row, value in zip(rows, values, strict=True):
            row[column] = float(value)
    # Calibrations keep the order of scores: one figure for each source.
    for name in ("auc", measure):
        of_scores = MEASURES[name].of_scores
        if of_scores is not None:
            by_source = {source: of_scores(records.positive, score) for source, score in readings.scores.items()}
            for row, decision in zip(rows, decisions, strict=True):
                row[f"{part}_{name}"] = by_source[readings.source(decision)]


def _keep(
    rows: list[dict[str, Any]],
    decisions: Sequence[Decision],
    judged: Judged,
    learning: Read,
    config: Config,
) -> None:
    """Keep what is needed to choose and deliver a model: of the best ones, and of the best that follow costs."""
    packed = [pack(outcome) for outcome in judged.outcomes]
    tested = [b""] * len(packed) if judged.tested is None else [pack(outcome) for outcome in judged.tested]
    for row, cut, first, second in zip(rows, judged.delivered, packed, tested, strict=True):
        row["cut"] = plain_cut(cut)
        row["digest"] = hashlib.sha256(first + second).hexdigest()[:24]
    sign = -1 if config.higher_is_better else 1
    n_kept = max(KEPT_AT_LEAST, KEPT_BYTES // (len(packed[0]) + len(tested[0]) or 1))
    order = sorted(range(len(rows)), key=lambda i: sign * rows[i][f"{OUT_OF_FOLD}_{config.measure}"])
    followers = [i for i in order if rows[i]["follows_costs"]]
    for i in {*order[:n_kept], *followers[:n_kept]}:
        rows[i][f"{OUT_OF_FOLD}_outcome"] = packed[i]
        rows[i][f"{TEST}_outcome"] = None if judged.tested is None else tested[i]
    for i in {*order[:DELIVERABLE], *followers[:DELIVERABLE]}:
        if not _is_probability(decisions[i], rows[i]["train_costs"]):
            scores, records = judged.delivered[i].scores(learning.readings), learning.records
            fitted = fit_calibration("platt_logit", scores, records.positive, sample_weight=records.weight)
            rows[i]["probability"] = json.dumps(asdict(fitted))  # type: ignore[call-overload]


def _is_probability(decision: Decision, train_costs: str) -> bool:
    """Return whether the score of a decision is a probability: it is where it is compared with T_cs."""
    if decision.threshold == "cost":
        return True
    if decision.calibration is not None:
        return CALIBRATIONS[decision.calibration].needs_data
    return decision.output == "average" and train_costs == "none"
