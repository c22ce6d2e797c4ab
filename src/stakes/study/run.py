"""One unit of a study: train an ensemble once, and evaluate every decision on it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes.catalog import list_methods, make_classifier
from stakes.cost_decision import CostDecisionClassifier
from stakes.cost_tree import CostTreeClassifier
from stakes.costs import Costs
from stakes.decision.cuts import Cut, apply_cuts, fit_cuts
from stakes.decision.decision import Decision
from stakes.decision.options import decisions_for, describe
from stakes.decision.reader import Reader
from stakes.exceptions import ClassMeansWarning
from stakes.measures import MEASURES, Measure, sums_of
from stakes.member_classifier import MemberClassifier
from stakes.members import LeafAssignment
from stakes.records import Records
from stakes.study.data import StudyData
from stakes.study.plan import Config, Unit, training_costs
from stakes.table import table_of
from stakes.tree.binning import Binned, Binning

__all__ = ["Part", "Parts", "fit_unit", "make_unit_classifier", "parts_of", "run_unit", "schema", "within_limits"]

Bools = NDArray[np.bool_]

# The best decisions of a unit keep their outcomes, for intervals: as many as go into this many bytes, but some always.
KEPT_BYTES = 1 << 18
KEPT_AT_LEAST = 10
PARTS = ("validation", "test")


@dataclass(frozen=True)
class Part:
    """Training, validation or test records, as they came and binned."""

    frame: pl.DataFrame
    binned: Binned
    positive: Bools
    costs: Costs | None  # what mistakes cost
    known: Costs | None  # what is known of it when a decision is due

    @property
    def y(self) -> NDArray[np.int64]:
        """Classes, 0 or 1."""
        return self.positive.astype(np.int64)


@dataclass(frozen=True)
class Parts:
    """The records of one repeat, binned once for all its ensembles."""

    train: Part
    validation: Part
    test: Part

    def priced(self, setting: str) -> Parts:
        """Return the records with the costs to decide by: the "real" ones, or a pair."""
        pair = None if setting == "real" else training_costs(setting)
        if pair is None:
            return self
        return Parts(*(replace(part, costs=pair, known=pair) for part in (self.train, self.validation, self.test)))


_latest: tuple[tuple[str, int, int], Parts] | None = None


def parts_of(data: StudyData, repeat: int, seed: int) -> Parts:
    """Return the records of a repeat; the latest ones are kept, because units come repeat by repeat."""
    global _latest
    key = (data.fingerprint(), repeat, seed)
    if _latest is None or _latest[0] != key:
        split = data.split(repeat, seed)
        binning: Binning | None = None
        made = []
        for rows, (costs, known) in zip(split, data.costs_of(split, repeat, seed), strict=True):
            frame = data.frame[rows]
            table = table_of(frame)
            binning = binning or Binning().fit(table)
            binned = Binned(frame, binning, binning.transform(table))
            made.append(Part(frame, binned, data.positive[rows], costs, known))
        _latest = key, Parts(*made)
    return _latest[1]


def make_unit_classifier(config: Config, unit: Unit, n_jobs: int | None = None) -> MemberClassifier:
    """Return the classifier of a unit, not fitted: the same that `make_classifier` makes by name."""
    seed = config.seed + unit.repeat
    params: dict[str, Any] = {"random_state": seed}
    family = _family(unit.method)
    if family in ("bagging", "boosting"):
        params |= {"n_estimators": config.trees, "n_jobs": n_jobs}
    elif family == "tree":
        params["n_jobs"] = n_jobs
    classifier: MemberClassifier = make_classifier(unit.method, **params)
    return classifier


def _family(method: str) -> str:
    return list_methods().filter(name=method)[0].family


def _features(classifier: MemberClassifier, part: Part) -> Any:
    """Return the records in the form that the classifier takes: bins for trees, a frame for everything else."""
    return part.frame if isinstance(classifier, CostDecisionClassifier) else part.binned


def fit_unit(classifier: MemberClassifier, unit: Unit, parts: Parts) -> MemberClassifier:
    """Train by the unit's training costs; validate by the real ones."""
    train, validation = parts.train, parts.validation
    assert train.costs is not None
    assert validation.costs is not None
    costs = training_costs(unit.train_costs)
    if costs is None:
        costs = {
            "none": Costs(fp=1.0, fn=1.0),
            "record": train.costs,
            "class means": train.costs.class_means(train.y),
        }[unit.train_costs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassMeansWarning)
        return classifier.fit(
            _features(classifier, train),
            train.y,
            fp_cost=costs.fp,
            fn_cost=costs.fn,
            X_val=_features(classifier, validation),
            y_val=validation.y,
            fp_cost_val=validation.costs.fp,
            fn_cost_val=validation.costs.fn,
        )


def run_unit(data: StudyData, config: Config, unit: Unit, ratios: Sequence[str] = (), n_jobs: int = 1) -> pl.DataFrame:
    """Train the ensemble of a unit, and return a row for each decision.

    Parameters
    ----------
    data : StudyData
    config : Config
    unit : Unit
    ratios : sequence of str, default=()
        Pairs of costs to decide by, where the data has none.
    n_jobs : int, default=1
        How many threads to use.
    """
    parts = parts_of(data, unit.repeat, config.seed)
    frames = []
    classifier = None
    for setting in _decision_costs(unit, ratios):
        priced = parts.priced(setting)
        if classifier is None:
            classifier = fit_unit(make_unit_classifier(config, unit, n_jobs), unit, priced)
            leaves = {
                part: classifier.members_.assign(
                    classifier._read(_features(classifier, getattr(parts, part)), reset=False), n_jobs
                )
                for part in PARTS
            }
        frames.append(_decide(classifier, config, unit, priced, leaves, setting, n_jobs))
        if unit.metacost != "none":
            frames.append(_teach(classifier, config, unit, priced, leaves, setting, n_jobs))
    return pl.concat(frames)


def _decision_costs(unit: Unit, ratios: Sequence[str]) -> list[str]:
    """Return the costs to decide by: the real ones, or those trained by, or all that are tried."""
    if not ratios:
        return ["real"]
    return list(ratios) if unit.train_costs == "none" else [unit.train_costs]


def _wanted(classifier: MemberClassifier, unit: Unit) -> list[Decision]:
    """Return the decisions of a unit."""
    wanted = [o.decision for o in decisions_for(classifier) if o.decision.member in unit.members]
    # Left out until decisions are tuned by cross-fitting: one more thing to tune on the records that judge.
    return [d for d in wanted if d.threshold != "scaled" and d.calibration != "platt_logit"]


def _decide(
    classifier: MemberClassifier,
    config: Config,
    unit: Unit,
    parts: Parts,
    leaves: dict[str, LeafAssignment],
    setting: str,
    n_jobs: int,
) -> pl.DataFrame:
    """Return a row for each decision on the validation and test records."""
    if isinstance(unit.metacost, Decision):
        return _frame([], config)
    wanted = _wanted(classifier, unit)
    reader, cuts = _ready(wanted, classifier, config, parts.validation, leaves["validation"])
    rows: list[dict[str, Any]] = [_described(unit, decision, setting) for decision in wanted]
    for part in PARTS:
        records: Part = getattr(parts, part)
        readings = reader.read(leaves[part], records.known, n_threads=n_jobs)
        scores, outcome, _ = apply_cuts(cuts, readings, records.known)
        _measure(rows, part, records, outcome, scores, config)
    return _frame(_keep_best(rows, outcome, config), config)


def _ready(
    decisions: list[Decision],
    classifier: MemberClassifier,
    config: Config,
    validation: Part,
    assignment: LeafAssignment,
) -> tuple[Reader, list[Cut]]:
    """Return decisions whose choices are made on the validation records."""
    assert validation.costs is not None
    records = Records(None, validation.positive, validation.costs, known_costs=validation.known)
    reader = Reader(decisions, classifier.votes_).fit(assignment, records)
    readings = reader.read(assignment, records.known)
    return reader, fit_cuts(decisions, readings, records, max_fpr=config.max_fpr, max_acted=config.max_acted)


def _teach(
    classifier: MemberClassifier,
    config: Config,
    unit: Unit,
    parts: Parts,
    leaves: dict[str, LeafAssignment],
    setting: str,
    n_jobs: int,
) -> pl.DataFrame:
    """Return a row for each decision by which a tree is taught (FRAMEWORK 8.4)."""
    wanted = _wanted(classifier, unit)
    if isinstance(unit.metacost, Decision):
        wanted = [decision for decision in wanted if decision == unit.metacost]
    reader, cuts = _ready(wanted, classifier, config, parts.validation, leaves["validation"])
    shown = classifier.members_.assign(classifier._read(_features(classifier, parts.train), reset=False), n_jobs)
    readings = reader.read(shown, parts.train.costs, n_threads=n_jobs)
    labels = apply_cuts(cuts, readings, parts.train.costs).outcomes
    rows = [_described(unit, decision, setting, taught=True) for decision in wanted]
    pupils = [_pupil(parts.train.binned, label.astype(np.int64), config.seed + unit.repeat) for label in labels]
    for part in PARTS:
        records: Part = getattr(parts, part)
        scores = [_certainty(pupil, records.binned) for pupil in pupils]
        outcome = np.array([score > 0.5 for score in scores])
        _measure(rows, part, records, outcome, scores, config)
    return _frame(_keep_best(rows, outcome, config), config)


def _pupil(binned: Binned, y: NDArray[np.int64], seed: int) -> CostTreeClassifier | int:
    """Return the tree taught by new labels; the label itself where there is but one."""
    if y.min() == y.max():
        return int(y[0])
    return CostTreeClassifier(max_depth=4, random_state=seed).fit(binned, y)


def _certainty(pupil: CostTreeClassifier | int, binned: Binned) -> NDArray[np.float64]:
    return np.full(len(binned), float(pupil)) if isinstance(pupil, int) else pupil.predict_proba(binned)[:, 1]


def _described(unit: Unit, decision: Decision, setting: str, *, taught: bool = False) -> dict[str, Any]:
    family = _family(unit.method)
    by_cost = decision.member != "label" and family != "boosting"
    name = ("dm-" if by_cost else "") + unit.method
    return {
        "repeat": unit.repeat,
        "method": unit.method,
        "name": f"mc-{name}" if taught else name,
        "family": family,
        "train_costs": unit.train_costs,
        "decision_costs": setting,
        **asdict(decision),
        "description": describe(decision),
    }


def _measure(
    rows: list[dict[str, Any]],
    part: str,
    records: Part,
    outcome: Bools,
    scores: list[NDArray[np.float64]],
    config: Config,
) -> None:
    """Write all measures of a part into the rows."""
    assert records.costs is not None
    sums = sums_of(outcome, records.positive, records.costs)
    for measure in _measures(config):
        if measure.of_sums is not None:
            for row, value in zip(rows, measure.of_sums(sums), strict=True):
                row[f"{part}_{measure.name}"] = float(value)
            continue
        assert measure.of_scores is not None
        # Decisions that differ in their threshold only have the very same score.
        known: dict[int, float] = {}
        for row, score in zip(rows, scores, strict=True):
            if id(score) not in known:
                known[id(score)] = measure.of_scores(records.positive, score)
            row[f"{part}_{measure.name}"] = known[id(score)]


def _measures(config: Config) -> list[Measure]:
    """Return what is measured: average precision, which takes time, only where it is asked for."""
    return [measure for name, measure in MEASURES.items() if name in (config.measure, "auc") or measure.of_sums]


def _keep_best(rows: list[dict[str, Any]], outcome: Bools, config: Config) -> list[dict[str, Any]]:
    """Keep the test outcomes of the best decisions by either part, for intervals."""
    sign = 1 if config.higher_is_better else -1
    n_kept = max(KEPT_AT_LEAST, KEPT_BYTES // (outcome.shape[1] // 8 + 1))
    kept: set[int] = set()
    for part in PARTS:
        allowed = [i for i, row in enumerate(rows) if within_limits(row, part, config)]
        kept |= set(sorted(allowed, key=lambda i: sign * rows[i][f"{part}_{config.measure}"], reverse=True)[:n_kept])
    for i, row in enumerate(rows):
        row["outcome"] = np.packbits(outcome[i]).tobytes() if i in kept else None
    return rows


def within_limits(row: dict[str, Any], part: str, config: Config) -> bool:
    """Return whether a decision keeps to the capacity that there is."""
    limits = (("fpr", config.max_fpr), ("acted", config.max_acted))
    return all(limit is None or row[f"{part}_{name}"] <= limit for name, limit in limits)


def schema(config: Config) -> dict[str, Any]:
    """Return the columns of the results."""
    texts = (
        "method", "name", "family", "train_costs", "decision_costs", "leaf", "member", "output", "vote_weight",
        "calibration", "threshold", "description",
    )  # fmt: skip
    return {
        "repeat": pl.Int64,
        **dict.fromkeys(texts, pl.String),
        **{f"{part}_{measure.name}": pl.Float64 for part in PARTS for measure in _measures(config)},
        "outcome": pl.Binary,
    }


def _frame(rows: list[dict[str, Any]], config: Config) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema(config))
