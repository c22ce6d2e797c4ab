"""One ensemble of the paper: trained once, tuned on validation records, measured on them and on test records."""

from __future__ import annotations

import re
import warnings
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import polars as pl

from stakes.catalog import Method, list_methods, make_classifier
from stakes.costs import Costs
from stakes.datasets.dataset import CostDataset, Parts
from stakes.decision.cuts import apply_cuts, fit_cuts
from stakes.decision.decision import Decision
from stakes.decision.options import decisions_for
from stakes.exceptions import ClassMeansWarning
from stakes.measures import MEASURES, auc, sums_of
from stakes.paper.protocol import TREE_OF, Trial
from stakes.paper.published import DECISION_FIELDS
from stakes.records import Records
from stakes.study.plan import settings_for, training_costs

__all__ = ["Unit", "average", "run_unit", "unfitted", "units_of"]

# What identifies a model of a trial; its repeats are averaged.
IDENTITY = ("method", "name", "family", "train_costs", *DECISION_FIELDS)


@dataclass(frozen=True)
class Unit:
    """An ensemble to train in one repeat, by one setting of the training costs."""

    repeat: int
    method: Method
    train_costs: str

    @property
    def key(self) -> str:
        """A name for the unit's file."""
        return f"{self.repeat}.{self.method.name}.{re.sub(r'[^0-9a-z.]+', '_', self.train_costs)}"


def units_of(trial: Trial, repeat: int) -> list[Unit]:
    """Return the ensembles of one repeat of a trial: all methods by all training costs that make a difference."""
    return [
        Unit(repeat, method, setting)
        for method in list_methods()
        if method.name in trial.methods
        for setting in settings_for(method, trial.train_costs)
    ]


def unfitted(trial: Trial, unit: Unit) -> Any:
    """Return the classifier of a unit."""
    family, name = unit.method.family, unit.method.name
    params: dict[str, Any] = {"random_state": trial.seed + unit.repeat}
    if family in ("bagging", "boosting"):
        params["n_estimators"] = trial.trees
    if family in ("bagging", "tree"):
        params |= trial.tree
    elif family == "boosting":
        params |= trial.stump
    for pattern, own in TREE_OF.items():
        if fnmatchcase(name, pattern):
            params |= own
    return make_classifier(name, **params)


def run_unit(classifier: Any, unit: Unit, parts: Parts) -> pl.DataFrame:
    """Train the ensemble of a unit, and return a row with all measures for each decision."""
    train, validation, test = parts
    costs = _training_costs(unit.train_costs, train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassMeansWarning)
        classifier.fit(
            train.frame,
            train.target,
            fp_cost=costs.fp,
            fn_cost=costs.fn,
            X_val=validation.frame,
            y_val=validation.target,
            fp_cost_val=validation.costs.fp,
            fn_cost_val=validation.costs.fn,
        )
    # The paper leaves pruned ensembles to the future.
    decisions = [o.decision for o in decisions_for(classifier) if o.decision.vote_weight != "pruned"]
    rows = [_identity(unit, decision) for decision in decisions]
    records = Records(validation.frame, validation.target == 1, validation.costs, known_costs=validation.decision_costs)
    for name, part in (("validation", validation), ("test", test)):
        known = part.decision_costs
        readings = classifier.read(decisions, part.frame, fp_cost=known.fp, fn_cost=known.fn, validation=records)
        if name == "validation":
            cuts = fit_cuts(decisions, readings, records)
        decided = apply_cuts(cuts, readings, known)
        _measure(rows, name, part, decisions, decided.scores, decided.outcomes)
    return pl.DataFrame(rows, schema_overrides={"vote_weight": pl.String, "calibration": pl.String})


def _training_costs(setting: str, train: CostDataset) -> Costs:
    if setting == "none":
        return Costs(fp=1.0, fn=1.0)
    if setting == "class means":
        return train.costs.class_means(train.target)
    return training_costs(setting) or train.costs


def _identity(unit: Unit, decision: Decision) -> dict[str, Any]:
    by_cost = decision.member != "label" and unit.method.family != "boosting"
    return {
        "repeat": unit.repeat,
        "method": unit.method.name,
        "name": ("dm-" if by_cost else "") + unit.method.name,
        "family": unit.method.family,
        "train_costs": unit.train_costs,
        **asdict(decision),
    }


def _measure(
    rows: list[dict[str, Any]],
    name: str,
    part: CostDataset,
    decisions: list[Decision],
    scores: Any,
    outcomes: np.ndarray,
) -> None:
    """Write all measures of a part into the rows."""
    positive = part.target == 1
    sums = sums_of(outcomes, positive, part.costs)
    for measure in MEASURES.values():
        if measure.of_sums is not None:
            for row, value in zip(rows, measure.of_sums(sums), strict=True):
                row[f"{name}_{measure.name}"] = float(value)
    areas: dict[Decision, float] = {}
    for row, decision, score in zip(rows, decisions, scores, strict=True):
        # Decisions that differ in their threshold only have the same score.
        scored = replace(decision, threshold="half")
        if scored not in areas:
            areas[scored] = auc(positive, score)
        row[f"{name}_auc"] = areas[scored]


def average(results: pl.DataFrame) -> pl.DataFrame:
    """Return the mean of all measures over the repeats of each model."""
    measures = pl.col("^(validation|test)_.*$")
    return results.group_by(IDENTITY, maintain_order=True).agg(measures.mean())
