"""What a study found, as plain data: everything that its report shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import stakes
from stakes.costs import Costs
from stakes.curves import cost_curve, gain_curve, iso_cost_lines, operating_point, reliability_curve, roc_points
from stakes.measures import cost, savings, sums_of
from stakes.member_classifier import MemberClassifier
from stakes.study.data import StudyData
from stakes.study.leaderboard import decision_of, insensitive, intervals, ranked, trained
from stakes.study.plan import Config, Unit, training_costs
from stakes.study.run import Parts, _features, fit_unit, make_unit_classifier, parts_of

__all__ = ["best_classifier", "summarise", "top_rows"]

LISTED = 200  # rows of a leaderboard in the report
SHOWN = 5  # models with curves
WITH_INTERVALS = 20
POINTS = 200  # of a curve


def top_rows(table: pl.DataFrame, parts: Parts, config: Config, part: str) -> list[dict[str, Any]]:
    """Return the best models on a part, and the best one of each name, as rows; the first ones have intervals."""
    ordered = ranked(table, config, part).with_row_index("rank", offset=1)
    shown = (pl.col("rank") <= LISTED) | pl.struct("name").is_first_distinct()
    rows = ordered.filter(shown).to_dicts()
    costs = parts.test.costs or Costs(fp=1.0, fn=1.0)
    found: list[tuple[float, float] | None] = [None] * len(rows)
    found[:WITH_INTERVALS] = intervals(rows[:WITH_INTERVALS], parts.test.positive, costs, config, config.measure)
    return [_row(row, interval, config) for row, interval in zip(rows, found, strict=True)]


def _row(row: dict[str, Any], interval: tuple[float, float] | None, config: Config) -> dict[str, Any]:
    low, high = interval or (None, None)
    shown = (
        "rank", "name", "method", "family", "train_costs", "decision_costs", "leaf", "member", "output", "vote_weight",
        "calibration", "threshold", "description",
    )  # fmt: skip
    return {
        **{name: row[name] for name in shown},
        "validation": row[f"validation_{config.measure}"],
        "test": row[f"test_{config.measure}"],
        "low": low,
        "high": high,
        **{name: row[f"test_{name}"] for name in ("cost", "savings", "tpr", "fpr", "acted", "auc")},
        "in_limits": all(
            limit is None or row[f"test_{name}"] <= limit
            for name, limit in (("fpr", config.max_fpr), ("acted", config.max_acted))
        ),
    }


def best_classifier(row: dict[str, Any], data: StudyData, config: Config, n_jobs: int) -> MemberClassifier:
    """Return the model of a row as it was trained in the first repeat, with its decision."""
    parts = parts_of(data, 0, config.seed).priced(row["decision_costs"])
    decision = decision_of(row)
    unit = Unit(0, row["method"], row["train_costs"], (decision.member,))
    classifier = fit_unit(make_unit_classifier(config, unit, n_jobs), unit, parts)
    limits: dict[str, Any] = {}
    if decision.threshold == "tuned":
        limits = {"max_fpr": config.max_fpr, "max_acted": config.max_acted}
    return classifier.with_decision(decision, **limits)


def _decision_costs(row: dict[str, Any], real: Costs | None) -> Costs:
    """Return the costs that a row decides by."""
    costs = real if row["decision_costs"] == "real" else training_costs(row["decision_costs"])
    assert costs is not None
    return costs


def summarise(
    table: pl.DataFrame, data: StudyData, config: Config, *, n_ensembles: int, n_jobs: int
) -> tuple[dict[str, Any], MemberClassifier | None, dict[str, Any] | None]:
    """Return the summary, and the model chosen on validation records with its row."""
    parts = parts_of(data, 0, config.seed)
    boards = {part: top_rows(table, parts, config, part) for part in ("validation", "test")}
    summary: dict[str, Any] = {
        "version": stakes.__version__,
        "title": data.name,
        "question": _question(table, data, config, n_ensembles),
        "money": _money(table, parts, config) if data.costs is not None else None,
        "leaderboards": boards,
        "curves": [],
        "iso_cost": None,
        "features": [],
        "importance_unit": "share of the gain",
        "sensitivity": [],
    }
    best = ranked(trained(table), config, "validation")
    if not len(best):
        return summary, None, None
    chosen = None
    for row in best.unique(["name", "train_costs"], keep="first", maintain_order=True).head(SHOWN).to_dicts():
        classifier = best_classifier(row, data, config, n_jobs)
        summary["curves"].append(_curves(row, classifier, parts))
        chosen = chosen or classifier
    assert chosen is not None
    first = best.drop("outcome").row(0, named=True)
    costs = _decision_costs(first, parts.test.costs)
    summary["iso_cost"] = _iso_cost(summary["curves"], parts, costs)
    summary["features"], summary["importance_unit"] = _importances(chosen)
    if data.costs is not None:
        summary["sensitivity"] = _sensitivity(chosen, parts, costs, _decision_costs(first, parts.test.known))
    return summary, chosen, first


def _question(table: pl.DataFrame, data: StudyData, config: Config, n_ensembles: int) -> dict[str, Any]:
    info = data.info
    return {
        "data": data.name,
        "n_records": data.positive.size,
        "n_positive": int(data.positive.sum()),
        "n_features": data.frame.width,
        "target": info.get("target"),
        "positive": data.classes[1],
        "negative": data.classes[0],
        "fp_cost": info.get("fp_cost"),
        "fn_cost": info.get("fn_cost"),
        "test": info.get("test"),
        "validation": info.get("validation"),
        "notes": info.get("notes", []),
        "repeats": config.repeats,
        "trees": config.trees,
        "n_methods": table["name"].n_unique(),
        "n_models": int(table["repeats"].sum()),
        "n_ensembles": n_ensembles,
        "measure": config.measure,
        "higher_is_better": config.higher_is_better,
        "max_fpr": config.max_fpr,
        "max_acted": config.max_acted,
        "train_costs": sorted(table["train_costs"].unique().to_list()),
        "metacost": config.metacost,
        "seed": config.seed,
    }


def _money(table: pl.DataFrame, parts: Parts, config: Config) -> dict[str, Any]:
    costs = parts.test.costs
    assert costs is not None
    sums = sums_of(np.zeros((1, parts.test.positive.size), np.bool_), parts.test.positive, costs)
    money: dict[str, Any] = {
        "test_records": int(parts.test.positive.size),
        "nothing": float(sums.all_fn),
        "everything": float(sums.all_fp),
        "insensitive": None,
        "chosen": None,
    }
    for row in ranked(insensitive(table), config, "validation").head(1).to_dicts():
        money["insensitive"] = {key: row[key] for key in ("name", "description")} | {"cost": row["test_cost"]}
    for row in ranked(trained(table), config, "validation").head(1).to_dicts():
        low, high = intervals([row], parts.test.positive, costs, config, "cost")[0] or (None, None)
        money["chosen"] = {key: row[key] for key in ("name", "description", "train_costs")}
        money["chosen"] |= {"cost": row["test_cost"], "low": low, "high": high}
    return money


def _curves(row: dict[str, Any], classifier: MemberClassifier, parts: Parts) -> dict[str, Any]:
    test = parts.test
    # Decided by what is known beforehand, and charged by what it turns out to cost.
    costs, known = _decision_costs(row, test.costs), _decision_costs(row, test.known)
    given: dict[str, Any] = {"fp_cost": costs.fp, "fn_cost": costs.fn}
    features = _features(classifier, test)
    score = classifier.predict_proba(features, fp_cost=known.fp, fn_cost=known.fn)[:, 1]
    outcome = classifier.predict(features, fp_cost=known.fp, fn_cost=known.fn)
    threshold = classifier.cut_.thresholds(known)
    curve = cost_curve(test.y, score, **given)
    roc = roc_points(test.y, score)
    gain = gain_curve(test.y, score, **given)
    is_probability = row["output"] == "average" or row["calibration"] is not None
    reliability = reliability_curve(test.y, score) if is_probability else None
    point = operating_point(test.y, outcome)
    return {
        "name": row["name"],
        "label": f"{row['name']}: {row['description']}",
        "train_costs": row["train_costs"],
        "cost_curve": _thinned(threshold=np.clip(curve.thresholds, 0.0, 1.0), cost=curve.cost),
        "threshold": float(threshold) if np.ndim(threshold) == 0 else None,
        "roc": _thinned(fpr=roc.fpr, tpr=roc.tpr),
        "point": {"fpr": point.fpr, "tpr": point.tpr},
        "gain": _thinned(share=gain.share, saving=gain.profit),
        "reliability": reliability
        and {
            "predicted": reliability.predicted.tolist(),
            "observed": reliability.observed.tolist(),
            "count": reliability.counts.tolist(),
        },
    }


def _thinned(**arrays: np.ndarray) -> dict[str, list[float]]:
    """Return curves with no more points than can be seen."""
    n = next(iter(arrays.values())).size
    kept = np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(int))
    return {name: values[kept].tolist() for name, values in arrays.items()}


def _iso_cost(curves: list[dict[str, Any]], parts: Parts, costs: Costs) -> dict[str, Any]:
    y = parts.test.y
    means = costs.class_means(y)
    n_positive, n_negative = int(y.sum()), int(y.size - y.sum())
    slope = means.fp * n_negative / (means.fn * n_positive) if means.fn * n_positive > 0 else None
    # The line through the operating point of each model shown.
    cost = [n_positive * means.fn * (1 - c["point"]["tpr"]) + n_negative * means.fp * c["point"]["fpr"] for c in curves]
    lines = iso_cost_lines(y, fp_cost=means.fp, fn_cost=means.fn, cost=np.array(cost))
    drawn = zip(lines.cost, lines.fpr, lines.tpr, strict=True)
    return {
        "slope": slope,
        "lines": [{"cost": float(c), "fpr": f.tolist(), "tpr": t.tolist()} for c, f, t in drawn],
    }


def _importances(classifier: MemberClassifier) -> tuple[list[dict[str, Any]], str]:
    gains = getattr(classifier, "feature_importances_", None)
    if gains is None:
        return [], ""
    names = [str(name) for name in getattr(classifier, "feature_names_in_", range(len(gains)))]
    order = np.argsort(-gains, kind="stable")
    unit = "share of the gain" if np.isclose(gains.sum(), 1.0) else "money saved in training"
    return [{"name": names[j], "importance": float(gains[j])} for j in order], unit


def _sensitivity(classifier: MemberClassifier, parts: Parts, costs: Costs, known: Costs) -> list[dict[str, Any]]:
    """Return what the chosen model would save if the costs were half or double, without training it again."""
    rows = []
    for what, factor in [("none", 1.0), *((w, f) for w in ("fn_cost", "fp_cost") for f in (0.5, 2.0))]:
        on_fp, on_fn = (factor if what == name else 1.0 for name in ("fp_cost", "fn_cost"))
        changed, thought = (Costs(fp=on_fp * np.asarray(c.fp), fn=on_fn * np.asarray(c.fn)) for c in (costs, known))
        outcome = classifier.predict(_features(classifier, parts.test), fp_cost=thought.fp, fn_cost=thought.fn)
        sums = sums_of((outcome == 1)[None], parts.test.positive, changed)
        rows.append(
            {
                "what": what,
                "factor": factor,
                "cost": float(cost(sums)[0]),
                "savings": float(savings(sums)[0]),
                "nothing": float(sums.all_fn),
                "everything": float(sums.all_fp),
            }
        )
    return rows
