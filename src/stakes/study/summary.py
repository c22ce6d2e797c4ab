"""What a study found, as plain data: everything that its report shows.

Figures are per record where the measure is a total, on learning records (`out_of_fold`) and on test
records (`test`). Amounts of money (`money`) are totals on the test records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import stakes
from stakes._format import percent
from stakes._typing import Floats
from stakes.costs import Costs
from stakes.curves import cost_curve, gain_curve, iso_cost_lines, reliability_curve, roc_points
from stakes.delivered import DeliveredClassifier
from stakes.measures import MEASURES, savings_of, sums_of
from stakes.measures import cost as total_cost
from stakes.records import Records
from stakes.study.check import Check
from stakes.study.choice import Bootstrap, blocks
from stakes.study.columns import IDENTITY, OUT_OF_FOLD, PARTS, TEST, pack, unpack
from stakes.study.findings import Findings
from stakes.study.leaderboard import insensitive, ranked, rivals
from stakes.study.plan import REAL, training_costs
from stakes.study.playing import playable
from stakes.study.recommend import losses_of

__all__ = ["summarise"]

LISTED = 200  # rows of a leaderboard in the report
POINTS = 200  # of a curve
FIGURES = 4  # what is drawn
EXPLAINED = 500  # test records, for the importance of features
# What was asked for: of the data, and of the study.
OF_DATA = ("target", "fp_cost", "fn_cost", "test", "groups", "time", "per_day")
SETTINGS = (
    "folds", "repeats", "trees", "measure", "higher_is_better", "max_fpr", "max_acted", "decisions", "refit",
    "feature_costs", "metacost", "seed",
)  # fmt: skip
# What tells a reader which model it is.
DESCRIBED_BY = (*IDENTITY, "follows_costs", "same_as")


def summarise(
    findings: Findings, model: DeliveredClassifier | None, left_out: dict[str, Any], checks: Sequence[Check]
) -> dict[str, Any]:
    """Return the summary of a study; `model` is the recommended one, trained on the learning records.

    `left_out` are methods that were `not_tried` for want of time, and those that could be `not_trained`, and why;
    `checks` is what was noticed about the data.
    """
    in_money = findings.data.costs is not None
    summary: dict[str, Any] = {
        "version": stakes.__version__,
        "title": findings.data.name,
        "question": _question(findings) | left_out,
        "chosen": _chosen(findings),
        "money": _money(findings) if in_money else None,
        "leaderboards": {part: _board(findings, part) for part in PARTS},
        "curves": [],
        "iso_cost": None,
        "importance": [],
        "sensitivity": [],
        "records": None,
        "tree": findings.tree,
        "checks": [check._asdict() for check in checks],
    }
    if model is None or findings.recommendation is None:
        return summary
    first = findings.recommendation.row
    for row in findings.shown():
        shown = model if row is first else findings.delivery.model(row)
        summary["curves"].append(_curves(row, shown, findings.test))
    summary["iso_cost"] = _iso_cost(summary["curves"], findings.test, _costs(first, findings.test.costs))
    summary["importance"] = _moved(first, model, findings.test, findings.config.seed)
    if in_money:
        summary["sensitivity"] = _sensitivity(model, findings.test, _most(findings))
        if first["decision_costs"] == REAL:
            summary["records"] = playable(model, findings.test, most=_most(findings), seed=findings.config.seed)
    return summary


def _question(findings: Findings) -> dict[str, Any]:
    data, config = findings.data, findings.config
    return {
        "data": data.name,
        "n_records": data.n_records,
        "n_positive": data.n_positive,
        "n_learning": data.n_records - len(data) + data.split(config.seed)[0].size,
        "n_test": len(findings.test),
        "n_features": data.frame.width,
        "positive": data.classes[1],
        "negative": data.classes[0],
        **{name: data.info.get(name) for name in OF_DATA},
        "after": data.info.get("after", []),
        "notes": data.info.get("notes", []),
        **{name: getattr(config, name) for name in SETTINGS},
        "n_methods": findings.table["name"].n_unique(),
        "n_models": findings.results.height,
        "n_distinct": findings.table.height,
        "n_ensembles": findings.results.select("repeat", "method", "train_costs", "tree").n_unique(),
        "train_costs": sorted(findings.table["train_costs"].unique().to_list()),
    }


def _chosen(findings: Findings) -> dict[str, Any] | None:
    """Return the recommended model, why, and what to expect of it."""
    found = findings.recommendation
    if found is None:
        return None
    row, measure = found.row, findings.config.measure
    return {
        **_identity(row),
        "out_of_fold": row[f"{OUT_OF_FOLD}_{measure}"],
        "test": row[f"{TEST}_{measure}"],
        "paid": None if findings.config.feature_costs is None else row[f"{TEST}_paid"],
        **{name: row[f"{TEST}_{name}"] for name in ("tpr", "fpr", "acted", "auc")},
        "expected": found.expected and found.expected._asdict(),
        "optimism": found.optimism,
        "reason": found.reason,
        "best": _identity(found.best),
    }


def _identity(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in DESCRIBED_BY}


def _board(findings: Findings, part: str) -> list[dict[str, Any]]:
    """Return the best models on a part, and the best one of each name, with the intervals of their test figures.

    Models whose decisions were not kept, those far behind others of the same ensemble, have no interval and no row.
    """
    config, found = findings.config, findings.recommendation
    ordered = ranked(findings.table, config, part).with_row_index("rank", offset=1)
    known = ordered.filter(pl.col(f"{TEST}_outcome").is_not_null())
    rows = known.filter((pl.col("rank") <= LISTED) | pl.struct("name").is_first_distinct()).to_dicts()
    intervals: list[dict[str, float | None]] = [{"low": None, "high": None}] * len(rows)
    if rows and MEASURES[config.measure].of_sums is not None:  # scores have none
        intervals = [_between(drawn) for drawn in _drawn(findings, config.measure, rows)]
    chosen, differences = (None, {}) if found is None else (found.row["complexity"], found.differences)
    return [
        {
            "rank": row["rank"],
            **_identity(row),
            "chosen": row["complexity"] == chosen,
            "out_of_fold": _number(row[f"{OUT_OF_FOLD}_{config.measure}"]),
            "test": _number(row[f"{TEST}_{config.measure}"]),
            **interval,
            "difference": differences[row["complexity"]]._asdict() if row["complexity"] in differences else None,
            "cost": row[f"{TEST}_cost"] * len(findings.test),
            **{name: row[f"{TEST}_{name}"] for name in ("savings", "tpr", "fpr", "acted", "auc")},
            "in_limits": all(row[f"{TEST}_{name}"] <= limit for name, limit in config.limits.items()),
        }
        for row, interval in zip(rows, intervals, strict=True)
    ]


def _drawn(findings: Findings, measure: str, rows: list[dict[str, Any]]) -> Floats:
    """Return figures of models on test records drawn with replacement, for all on the same draws.

    Of shape (n_rows, n_draws), per record where they are totals.
    """
    test, rng = findings.test, np.random.default_rng([findings.config.seed, FIGURES])
    block = blocks(len(test), rng, findings.test_groups())
    outcomes = unpack([row[f"{TEST}_outcome"] for row in rows], len(test))
    paid = np.array([row[f"{TEST}_paid"] for row in rows])
    return Bootstrap.of(losses_of(MEASURES[measure], 1.0, outcomes, test, block, paid), rng).drawn.T


def _number(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


def _money(findings: Findings) -> dict[str, Any]:
    """Return what the recommended model and its alternatives cost on the test records, and what it saves there."""
    n, board = len(findings.test), findings.leaderboard()
    models = rivals(board).unique("method", keep="first", maintain_order=True).to_dicts()
    n_rivals = len(models)
    models += insensitive(board).head(1).to_dicts()
    priced = [_priced(row, n) for row in models]
    nothing, everything = _trivial(findings.test)
    money: dict[str, Any] = {
        "test_records": n,
        "nothing": nothing,
        "everything": everything,
        "policies": _policies(findings),
        "rivals": priced[:n_rivals],
        "insensitive": next(iter(priced[n_rivals:]), None),
        "chosen": None,
    }
    if findings.recommendation is None:
        return money
    row = findings.recommendation.row
    money["chosen"] = {**_priced(row, n), "train_costs": row["train_costs"], "low": None, "high": None}
    if row[f"{TEST}_outcome"] is None:
        return money
    # All on the same draws: what is saved is surer than what anything costs.
    known = [(row, money["chosen"]), *((r, p) for r, p in zip(models, priced, strict=True) if r[f"{TEST}_outcome"])]
    alike = [{f"{TEST}_outcome": pack(np.full(n, acted)), f"{TEST}_paid": 0.0} for acted in (False, True)]
    none, every, own, *drawn = n * _drawn(findings, "cost", [*alike, *(r for r, _ in known)])
    money["chosen"] |= _between(own)
    for policy in money["policies"]:
        policy["saved"] = _between((1 - policy["share"]) * none + policy["share"] * every - own)
    for (_, other), cost in zip(known[1:], drawn, strict=True):
        other["saved"] = _between(cost - own)
    return money


def _trivial(records: Records) -> tuple[float, float]:
    """Return the total cost of acting on no record, and of acting on all."""
    sums = sums_of(np.zeros((1, len(records)), np.bool_), records.positive, records.costs)
    return float(sums.all_fn), float(sums.all_fp)


def _most(findings: Findings) -> float:
    """Return the largest share of records that can be acted on at random within the limits."""
    return min(findings.config.limits.values(), default=1.0)


def _policies(findings: Findings) -> list[dict[str, Any]]:
    """Return what can be done without a model within the limits: acting on no record, or on as many as they allow."""
    most = _most(findings)
    at_most = "acting on all" if most == 1 else f"acting on {percent(most)} at random"
    found = []
    for name, share in (("acting on none", 0.0), (at_most, most)):
        test, learning = (
            (1 - share) * nothing + share * everything
            for nothing, everything in map(_trivial, (findings.test, findings.learning))
        )
        per_record = learning / len(findings.learning)
        found.append({"name": name, "share": share, "cost": test, "out_of_fold": per_record, "saved": None})
    return found


def _between(drawn: Floats) -> dict[str, float | None]:
    """Return the 95% interval of a figure on many draws."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"low": float(low), "high": float(high)}


def _priced(row: dict[str, Any], n: int) -> dict[str, Any]:
    """Return a model with its costs: in total on test records, and per record out of fold."""
    return {
        "name": row["name"],
        "description": row["description"],
        "cost": row[f"{TEST}_cost"] * n,
        "out_of_fold": row[f"{OUT_OF_FOLD}_cost"],
        "saved": None,
    }


def _costs(row: dict[str, Any], real: Costs) -> Costs:
    """Return the costs that a row decides by."""
    return training_costs(row["decision_costs"]) or real


def _curves(row: dict[str, Any], model: DeliveredClassifier, test: Records) -> dict[str, Any]:
    # Decided by what is known beforehand, and charged by what it turns out to cost.
    costs, known = _costs(row, test.costs), _costs(row, test.known)
    given: dict[str, Any] = {"fp_cost": costs.fp, "fn_cost": costs.fn}
    decided = model.decide(test.X.X, fp_cost=known.fp, fn_cost=known.fn)
    y, score, threshold = test.positive.astype(np.int64), decided.score, decided.threshold
    curve = cost_curve(y, score, **given)
    roc = roc_points(y, score)
    gain = gain_curve(y, score, **given)
    reliability = reliability_curve(y, np.clip(decided.probability, 0.0, 1.0))
    return {
        "name": row["name"],
        "train_costs": row["train_costs"],
        "cost": row[f"{TEST}_cost"] * len(test),
        "cost_curve": _thinned(threshold=np.clip(curve.thresholds, 0.0, 1.0), cost=curve.cost),
        "threshold": float(threshold[0]) if threshold.size and (threshold == threshold[0]).all() else None,
        "roc": _thinned(fpr=roc.fpr, tpr=roc.tpr),
        "point": {name: row[f"{TEST}_{name}"] for name in ("fpr", "tpr")},
        "gain": _thinned(share=gain.share, saving=gain.profit),
        "reliability": {
            "predicted": reliability.predicted.tolist(),
            "observed": reliability.observed.tolist(),
            "count": reliability.counts.tolist(),
        },
    }


def _thinned(**arrays: np.ndarray) -> dict[str, list[float]]:
    """Return curves with no more points than can be seen: half of them evenly, half ever closer towards both ends.

    Where few records are worth acting on, all that matters happens at an end.
    """
    n = next(iter(arrays.values())).size
    if n > POINTS:
        towards_end = np.geomspace(1, n, POINTS // 4) - 1
        kept = np.concatenate([np.linspace(0, n - 1, POINTS // 2), towards_end, n - 1 - towards_end]).astype(int)
        kept = np.unique(kept)
        arrays = {name: values[kept] for name, values in arrays.items()}
    return {name: values.tolist() for name, values in arrays.items()}


def _iso_cost(curves: list[dict[str, Any]], test: Records, costs: Costs) -> dict[str, Any]:
    y = test.positive.astype(np.int64)
    means = costs.class_means(y)
    n_positive, n_negative = int(y.sum()), int(y.size - y.sum())
    slope = means.fp * n_negative / (means.fn * n_positive) if means.fn * n_positive > 0 else None
    # The line through the operating point of each model shown.
    cost = [n_positive * means.fn * (1 - c["point"]["tpr"]) + n_negative * means.fp * c["point"]["fpr"] for c in curves]
    lines = iso_cost_lines(y, fp_cost=means.fp, fn_cost=means.fn, cost=np.array(cost))
    drawn = zip(lines.cost, lines.fpr, lines.tpr, strict=True)
    return {"slope": slope, "lines": [{"cost": float(c), "fpr": f.tolist(), "tpr": t.tolist()} for c, f, t in drawn]}


def _moved(row: dict[str, Any], model: DeliveredClassifier, test: Records, seed: int) -> list[dict[str, Any]]:
    """Return the mean size of what each feature adds to the expected saving of acting, on a sample of test records."""
    some = test.take(np.sort(np.random.default_rng(seed).permutation(len(test))[:EXPLAINED]))
    known = _costs(row, some.known)
    return model.explain(some.X.X, fp_cost=known.fp, fn_cost=known.fn, n_samples=8).importance()


def _sensitivity(model: DeliveredClassifier, test: Records, most: float) -> list[dict[str, Any]]:
    """Return what the recommended model would save if the costs were half or double, without training it again."""
    rows = []
    paid = 0.0 if model.feature_costs_ is None else model.acquisition_cost(test.X.X).mean()
    for what, factor in [("none", 1.0), *((w, f) for w in ("fn_cost", "fp_cost") for f in (0.5, 2.0))]:
        on_fp, on_fn = (factor if what == name else 1.0 for name in ("fp_cost", "fn_cost"))
        changed, thought = (
            Costs(fp=on_fp * np.asarray(c.fp), fn=on_fn * np.asarray(c.fn)) for c in (test.costs, test.known)
        )
        outcome = model.decide(test.X.X, fp_cost=thought.fp, fn_cost=thought.fn).positive
        sums = sums_of(outcome[None], test.positive, changed, paid)
        cost = float(total_cost(sums)[0])
        # Without a model: acting on no record, or on as many as the limits allow.
        nothing, at_most = float(sums.all_fn), float((1 - most) * sums.all_fn + most * sums.all_fp)
        savings = float(savings_of(cost, min(nothing, at_most)))
        rows.append(
            {"what": what, "factor": factor, "cost": cost, "savings": savings, "nothing": nothing, "at_most": at_most}
        )
    return rows
