"""One ensemble of the paper: trained once, tuned on validation records, measured on them and on test records."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from typing import Any

import polars as pl

from stakes.catalog import list_methods, make_classifier
from stakes.costs import Costs
from stakes.datasets.dataset import CostDataset, Parts
from stakes.decision.cuts import Evaluation, apply_cuts, fit_cuts
from stakes.decision.decision import MEMBERS, Decision
from stakes.decision.options import decisions_for
from stakes.exceptions import StakesWarning
from stakes.measures import MEASURES, auc, sums_of
from stakes.paper.protocol import PARAMS_OF, Trial
from stakes.records import Records
from stakes.study.columns import DECISION
from stakes.study.plan import Unit, settings_for, training_costs

__all__ = ["average", "run_unit", "unfitted", "units_of"]

# What identifies a model of a trial; its repeats are averaged.
IDENTITY = ("method", "name", "family", "train_costs", *DECISION)


def units_of(trial: Trial, repeat: int) -> list[Unit]:
    """Return the ensembles of one repeat of a trial: all methods by all training costs that make a difference."""
    return [
        Unit(repeat, method.name, setting, tuple(MEMBERS))
        for method in list_methods()
        if method.name in trial.methods
        for setting in settings_for(method, trial.train_costs)
    ]


def unfitted(trial: Trial, unit: Unit) -> Any:
    """Return the classifier of a unit."""
    family = unit.family
    params: dict[str, Any] = {"random_state": trial.seed + unit.repeat}
    if family in ("bagging", "boosting"):
        params["n_estimators"] = trial.trees
    if family in ("bagging", "tree"):
        params |= trial.tree
    elif family == "boosting":
        params["max_depth"] = trial.depth
    for pattern, own in PARAMS_OF.items():
        if fnmatchcase(unit.method, pattern):
            params |= own
    return make_classifier(unit.method, **params)


def run_unit(parts: Parts, classifier: Any, unit: Unit) -> tuple[Unit, pl.DataFrame]:
    """Train the ensemble of a unit, and return the unit with a row of all measures for each decision."""
    train, validation, test = parts
    costs = _training_costs(unit.train_costs, train)
    with warnings.catch_warnings():
        # As in a study: a method whose training degenerates is far down its tables.
        warnings.simplefilter("ignore", StakesWarning)
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
    table = pl.DataFrame(rows, schema_overrides={"vote_weight": pl.String, "calibration": pl.String})
    records = Records(validation.frame, validation.target == 1, validation.costs, known_costs=validation.decision_costs)
    for name, part in (("validation", validation), ("test", test)):
        known = part.decision_costs
        readings = classifier.read(decisions, part.frame, fp_cost=known.fp, fn_cost=known.fn, validation=records)
        if name == "validation":
            cuts = fit_cuts(decisions, readings, records)
        measures = _measures(part, decisions, apply_cuts(cuts, readings, known))
        table = table.with_columns(pl.Series(f"{name}_{measure}", values) for measure, values in measures.items())
    return unit, table


def _training_costs(setting: str, train: CostDataset) -> Costs:
    if setting == "none":
        return Costs(fp=1.0, fn=1.0)
    if setting == "class means":
        return train.costs.class_means(train.target)
    return training_costs(setting) or train.costs


def _identity(unit: Unit, decision: Decision) -> dict[str, Any]:
    family = unit.family
    by_cost = decision.member != "label" and family != "boosting"
    return {
        "repeat": unit.repeat,
        "method": unit.method,
        "name": ("dm-" if by_cost else "") + unit.method,
        "family": family,
        "train_costs": unit.train_costs,
        **asdict(decision),
    }


def _measures(part: CostDataset, decisions: list[Decision], decided: Evaluation) -> dict[str, Any]:
    """Return all measures of decisions on a part."""
    positive = part.target == 1
    sums = sums_of(decided.outcomes, positive, part.costs)
    found: dict[str, Any] = {name: of(sums) for name, m in MEASURES.items() if (of := m.of_sums) is not None}
    # Decisions that differ in their threshold only have the same score.
    scored = [replace(decision, threshold="half") for decision in decisions]
    areas = {kind: auc(positive, score) for kind, score in dict(zip(scored, decided.scores, strict=True)).items()}
    return found | {"auc": [areas[kind] for kind in scored]}


def average(results: pl.DataFrame) -> pl.DataFrame:
    """Return the mean of all measures over the repeats of each model."""
    measures = pl.col("^(validation|test)_.*$")
    return results.group_by(IDENTITY, maintain_order=True).agg(measures.mean())
