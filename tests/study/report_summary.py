"""A summary such as a study writes: simulated scores, and plain arithmetic on them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

METHODS = {
    "dm-bg": "bagging", "acost": "boosting", "dm-uprdf": "bagging", "wrf": "bagging", "gb": "gradient boosting",
    "cprbg": "bagging", "asb": "boosting", "csrf": "bagging", "dab": "boosting", "cstree": "tree", "rf": "bagging",
    "tree": "tree",
}  # fmt: skip
DECISIONS = [
    ("vote", "cost", "squared_odds", None, "half", "votes by T_cs, weights ((1-eps)/eps)^2, above 0.5"),
    ("average", "label", None, "platt", "cost", "mean probability, calibrated by platt, above T_cs"),
    ("vote", "label", "equal", None, "tuned", "votes by label, equal weights, above T_thr"),
    ("average", "label", None, None, "tuned", "mean probability (laplace), above T_thr"),
]
FEATURES = (
    "tenure", "Contract", "MonthlyCharges", "TotalCharges", "InternetService", "OnlineSecurity", "TechSupport",
    "PaymentMethod", "PaperlessBilling", "OnlineBackup", "SeniorCitizen", "MultipleLines", "DeviceProtection",
    "StreamingMovies", "Dependents", "StreamingTV", "Partner", "gender", "PhoneService",
)  # fmt: skip
N_TEST = 1408
IDENTITY = (
    "name", "method", "family", "train_costs", "decision_costs", "leaf", "member", "output", "vote_weight",
    "calibration", "threshold", "description", "follows_costs", "same_as",
)  # fmt: skip


def make_summary(*, imbalance: bool = False) -> dict[str, Any]:
    """Return a summary of a churn study; of one without costs if `imbalance`."""
    rng = np.random.default_rng(7)
    latent = rng.normal(size=N_TEST)
    y = latent + rng.logistic(size=N_TEST) * 0.6 > 1.0
    charges = rng.uniform(20, 120, N_TEST)
    fp, fn = 2 * charges, 12 * charges
    nothing, everything = float(fn[y].sum()), float(fp[~y].sum())

    def cost_of(acted: np.ndarray) -> float:
        return float(fn[y & ~acted].sum() + fp[~y & acted].sum())

    def curves_of(name: str, noise: float, threshold: float | None) -> dict[str, Any]:
        p = 1 / (1 + np.exp(-(latent + noise * rng.normal(size=N_TEST) - 1.0) / 0.6))
        acted = p > (fp / (fp + fn) if threshold is None else threshold)
        cuts = np.linspace(0, 1, 101)
        order = np.argsort(-p)
        saved = np.concatenate([[0.0], np.cumsum(np.where(y, fn, -fp)[order])])[::14]
        bins = np.clip((p * 10).astype(int), 0, 9)
        return {
            "name": name,
            "train_costs": "record",
            "cost_curve": {"threshold": cuts.tolist(), "cost": [cost_of(p > t) for t in cuts]},
            "threshold": threshold,
            "cost": cost_of(acted),
            "roc": {
                "fpr": [float((p[~y] > t).mean()) for t in cuts],
                "tpr": [float((p[y] > t).mean()) for t in cuts],
            },
            "point": {"fpr": float(acted[~y].mean()), "tpr": float(acted[y].mean())},
            "gain": {"share": (np.arange(saved.size) * 14 / N_TEST).tolist(), "saving": saved.tolist()},
            "reliability": {
                "predicted": [float(p[bins == b].mean()) for b in range(10)],
                "observed": [float(y[bins == b].mean()) for b in range(10)],
                "count": [int((bins == b).sum()) for b in range(10)],
            },
        }

    shown = [
        ("dm-bg", 0.15, 0.16),
        ("acost", 0.3, None),
        ("dm-uprdf", 0.45, 0.2),
        ("wrf", 0.6, 0.25),
        ("gb", 0.8, None),
    ]
    curves = [curves_of(*model) for model in shown]
    slope = everything / nothing
    lines = []
    for curve in curves[:3]:
        intercept = curve["point"]["tpr"] - slope * curve["point"]["fpr"]
        end = min(1.0, (1 - intercept) / slope)
        lines.append(
            {"cost": nothing * (1 - intercept), "fpr": [0.0, end], "tpr": [intercept, intercept + slope * end]}
        )

    board = _board(rng, nothing, everything, imbalance=imbalance)
    test_board = sorted(board, key=lambda row: -row["test"] if imbalance else row["test"])
    chosen = board[1]
    return {
        "version": "0.1.0",
        "title": "churn.csv",
        "question": {
            "data": "churn.csv", "n_records": 7043, "n_positive": 1869, "n_features": 19, "target": "Churn",
            "positive": "Yes", "negative": "No",
            "fp_cost": None if imbalance else "2 * MonthlyCharges",
            "fn_cost": None if imbalance else "12 * MonthlyCharges",
            "test": "20% held out", "n_learning": 7043 - N_TEST, "n_test": N_TEST, "groups": None, "time": None,
            "per_day": None,
            "notes": [], "folds": 5, "repeats": 1, "trees": 100, "n_methods": 62, "n_models": 12345, "n_distinct": 9876,
            "n_ensembles": 558, "measure": "balanced_accuracy" if imbalance else "cost", "higher_is_better": imbalance,
            "max_fpr": None, "max_acted": None,
            "train_costs": ["1:5", "1:20"] if imbalance else ["class means", "none", "record"], "decisions": "all",
            "refit": "learning", "metacost": "best", "not_tried": [], "not_trained": {}, "seed": 0,
        },
        "chosen": {
            **{key: chosen[key] for key in (*IDENTITY, "out_of_fold", "test", "tpr", "fpr", "acted", "auc")},
            "expected": {
                "value": chosen["out_of_fold"] * (0.98 if imbalance else 1.02),
                "low": 0.95 * chosen["out_of_fold"], "high": 1.07 * chosen["out_of_fold"],
            },
            "optimism": 0.02 * chosen["out_of_fold"],
            "reason": "It is simpler than dm-bg (better by 1.2%), which is no better beyond noise.",
            "best": {key: board[0][key] for key in IDENTITY},
        },
        "money": None if imbalance else _money(chosen, nothing, everything),
        "leaderboards": {"out_of_fold": board, "test": [{**row, "rank": i} for i, row in enumerate(test_board, 1)]},
        "curves": curves,
        "iso_cost": {"slope": slope, "lines": lines},
        "importance": [{"feature": name, "value": 0.26 * 0.74**i} for i, name in enumerate(FEATURES)],
        "sensitivity": [] if imbalance else _sensitivity(nothing, everything),
        "records": None if imbalance else _records(y, fp, fn, latent),
        "tree": "|--- tenure <= 12.5\n|   |--- class: 1\n|--- tenure >  12.5\n|   |--- class: 0\n",
    }  # fmt: skip


def _money(chosen: dict[str, Any], nothing: float, everything: float) -> dict[str, Any]:
    def other(name: str, cost: float, **more: Any) -> dict[str, Any]:
        saved = cost - chosen["cost"]
        between = {"low": saved - 4000.0, "high": saved + 5000.0}
        return {"name": name, "cost": cost, "out_of_fold": 0.98 * cost / N_TEST, "saved": between, **more}

    return {
        "test_records": N_TEST,
        "nothing": nothing,
        "everything": everything,
        "policies": [other("acting on none", nothing), other("acting on all", everything)],
        "rivals": [
            other("lr", 1.05 * chosen["cost"], description="mean probability, above T_cs"),
            other("gb", 1.02 * chosen["cost"], description="mean probability, above T_cs"),
        ],
        "insensitive": other("rf", 0.49 * nothing, description="mean probability, above 0.5"),
        "chosen": {
            "name": chosen["name"], "description": chosen["description"], "train_costs": "record",
            "cost": chosen["cost"], "out_of_fold": chosen["out_of_fold"], "low": 0.93 * chosen["cost"],
            "high": 1.08 * chosen["cost"],
        },
    }  # fmt: skip


def _records(y: np.ndarray, fp: np.ndarray, fn: np.ndarray, latent: np.ndarray) -> dict[str, Any]:
    """Return records that a model decides on by break-even: see `stakes.study.playing`."""
    p = 1 / (1 + np.exp(-(latent - 1.0) / 0.6))
    critical = (1 - p) * fp / (p * fn)
    acted, cost = critical < 1, np.where(y, fn, fp)

    def packed(values: np.ndarray, dtype: str) -> str:
        return base64.b64encode(values.astype(dtype).tobytes()).decode()

    return {
        "n": N_TEST, "kept": N_TEST, "most": 1.0, "follows": True, "thresholds": [1 / 7, 1 / 7],
        "weight": {"negative": 1.0, "positive": 1.0},
        "totals": {
            "nothing": float(fn[y].sum()), "everything": float(fp[~y].sum()), "missed": float(fn[y & ~acted].sum()),
            "wasted": float(fp[~y & acted].sum()), "found": int((y & acted).sum()), "alarms": int((~y & acted).sum()),
            "positives": int(y.sum()),
        },
        "positive": packed(y, "u1"), "probability": packed(p, "<f4"), "critical": packed(critical, "<f4"),
        "fp": packed(fp, "<f4"), "fn": packed(fn, "<f4"), "cost": packed(cost, "<f8"),
    }  # fmt: skip


def _board(rng: np.random.Generator, nothing: float, everything: float, *, imbalance: bool) -> list[dict[str, Any]]:
    rows = []
    for i in range(48):
        name = list(METHODS)[i % len(METHODS)]
        output, member, weight, calibration, threshold, description = DECISIONS[(i // len(METHODS)) % len(DECISIONS)]
        if imbalance:
            out_of_fold = 0.815 - 0.0035 * i
            test = out_of_fold - 0.008 + 0.007 * float(rng.normal())
        else:
            out_of_fold = (0.285 + 0.0035 * i) * nothing / N_TEST
            test = out_of_fold + (0.008 + 0.007 * float(rng.normal())) * nothing / N_TEST
        difference = 0.0035 * i * (1.0 if imbalance else nothing / N_TEST)
        fpr = float(np.clip(rng.beta(3, 6), 0.02, 0.9))
        rows.append(
            {
                "rank": i + 1, "name": name, "method": name, "family": METHODS[name],
                "train_costs": "none" if name in ("rf", "tree") else "record" if i % 2 else "class means",
                "decision_costs": "1:5" if imbalance else "real",
                "leaf": "frequency", "member": member, "output": output, "vote_weight": weight,
                "calibration": calibration, "threshold": threshold, "description": description,
                "out_of_fold": out_of_fold, "test": test,
                "low": 0.97 * test, "high": 1.03 * test,
                "difference": {"value": difference, "low": 0.4 * difference - 0.001, "high": 1.7 * difference}
                if i < 40
                else None,
                "follows_costs": threshold == "cost", "chosen": i == 1,
                "same_as": [f"{name}: votes by label, above 0.5"] if i == 4 else [],
                "cost": None if imbalance else test * N_TEST,
                "savings": None if imbalance else 1 - test * N_TEST / min(nothing, everything),
                "tpr": 0.9 - 0.003 * i, "fpr": fpr, "acted": 0.26 * (0.9 - 0.003 * i) + 0.74 * fpr,
                "auc": 0.86 - 0.002 * i, "in_limits": i != 5,
            }
        )  # fmt: skip
    return rows


def _sensitivity(nothing: float, everything: float) -> list[dict[str, Any]]:
    rows = []
    for what, factor in [("none", 1.0), ("fn_cost", 0.5), ("fn_cost", 2.0), ("fp_cost", 0.5), ("fp_cost", 2.0)]:
        none = nothing * (factor if what == "fn_cost" else 1.0)
        every = everything * (factor if what == "fp_cost" else 1.0)
        cost = 0.62 * none * every / (none + every) * 1.3
        rows.append(
            {
                "what": what, "factor": factor, "cost": cost, "savings": 1 - cost / min(none, every), "nothing": none,
                "at_most": every,
            }
        )  # fmt: skip
    return rows


def with_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of plain data in which every string, but not the keys, is changed."""
    if isinstance(value, dict):
        return {key: with_strings(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [with_strings(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
