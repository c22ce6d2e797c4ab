"""Our models next to the paper's: the same ones, the best on test records, and those chosen on validation records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from stakes.measures import MEASURES, sums_of
from stakes.paper.protocol import APPLICATIONS, PAPER_METHODS, Application, Trial
from stakes.paper.published import PUBLISHED, PublishedRow
from stakes.study.columns import decision_of
from stakes.study.leaderboard import insensitive

__all__ = [
    "LIKE_PAPER",
    "Line",
    "PaperTable",
    "best_printed",
    "compare",
    "merge",
    "published_rows",
    "ranking",
    "shown_value",
]

SHARES = ("cost_reduction", "amount_detected", "tpr", "fpr")  # shown as percentages, as the paper does
ALL_LISTED = 3

LEAVES = {"frequency": "", "laplace": "Laplace", "m_estimate": "m-estim.", "curtailment": "curtail."}
CALIBRATIONS = {None: "", "logistic": "Logistic", "platt": "Platt", "isotonic": "Isotonic"}
ALPHAS = {
    "equal": "1",
    "log_odds": "log((1-ε)/ε)",
    "accuracy": "1-ε",
    "exp_odds": "e^((1-ε)/ε)",
    "squared_odds": "((1-ε)/ε)²",
    "node": "of the leaf",
}
MEMBERS = {"label": "", "cost": "T_cs", "tuned": "T_thr"}

# The models of the paper: its list of methods, and its table of combinations. Curtailment is combined with no other
# smoothing there, weighted leaves are not smoothed, and only the votes of boosting are calibrated.
LIKE_PAPER = (
    pl.col("method").is_in(PAPER_METHODS)
    & pl.col("threshold").is_in(["half", "cost", "tuned"])
    & pl.col("vote_weight").fill_null("equal").is_in(list(ALPHAS))
    & pl.col("leaf").is_in(["frequency", "laplace", "m_estimate", "curtailment"])
    & ((pl.col("leaf") == "frequency") | ~pl.col("method").str.starts_with("w"))
    & (
        pl.col("calibration").is_null()
        | ((pl.col("family") == "boosting") & pl.col("calibration").is_in(["logistic", "platt", "isotonic"]))
    )
)


@dataclass(frozen=True)
class Line:
    """A model in a table, with its figures as people read them, in the columns of the paper."""

    section: str  # which part of the table it belongs to
    rank: int | None  # in the paper's table, or among all of our models that are listed there
    name: str
    trees: str = ""  # the size of our trees
    train_costs: str = ""
    calibration: str = ""
    output: str = ""
    members: str = ""  # how those of a DMECC-ensemble decide
    threshold: str = ""
    alpha: str = ""
    figures: dict[str, float] = field(default_factory=dict)  # ours on test records
    printed: dict[str, float] = field(default_factory=dict)  # the paper's, where they stand next to ours
    validation: float | None = None  # the measure of the application on validation records


@dataclass(frozen=True)
class PaperTable:
    """What the paper has in one table, and what we have."""

    limit: float | None  # the largest false positive rate
    same: list[Line]  # the rows of the paper, with our figures for the same model
    best: list[Line]  # our best models in several sections, the best without costs, and the trivial decisions


def published_rows(application: str, limit: float | None) -> list[PublishedRow]:
    """Return the rows of one of the paper's tables."""
    return [row for row in PUBLISHED if row.application == application and row.limit == limit]


def best_printed(application: str, limit: float | None) -> tuple[float, float]:
    """Return the paper's best figure, and that of its best model that ignores costs."""
    measure = APPLICATIONS[application].measure
    rows = {row.rank: row.figures[measure] for row in published_rows(application, limit)}
    return rows[1], rows[None]


def merge(application: Application, trials: Sequence[Trial], boards: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the models of all trials in one table, with the columns that identify their trial."""
    merged = []
    for trial, board in zip(trials, boards, strict=True):
        costs = {setting: _train_costs(application, trial, setting) for setting in board["train_costs"].unique()}
        merged.append(
            board.with_columns(
                overhead=pl.lit(trial.overhead, dtype=pl.Float64),
                trees=_trees(trial),
                shown_costs=pl.col("train_costs").replace_strict(costs),
                like_paper=LIKE_PAPER,
            )
        )
    return pl.concat(merged)


def _trees(trial: Trial) -> pl.Expr:
    """Return what the trees of a method are: see the protocol."""
    family = pl.col("family")
    return (
        pl.when(family == "boosting")
        .then(pl.lit(f"depth {trial.depth}"))
        .when(family == "gradient boosting")
        .then(pl.lit(""))
        .when(pl.col("method").str.ends_with("rf"))
        .then(pl.lit("deep"))
        .otherwise(pl.lit("rpart"))
    )


def _train_costs(application: Application, trial: Trial, setting: str) -> str:
    """Return training costs as the paper writes them."""
    if setting == "none":
        return ""
    overhead = "" if trial.overhead is None else f"{trial.overhead:g}"
    if setting == "record":
        return application.record_costs.format(fp=overhead)
    if setting == "class means":
        trains = [trial.dataset.parts(repeat, seed=trial.seed).train for repeat in range(trial.repeats)]
        means = [train.costs.class_means(train.target) for train in trains]
        fp, fn = np.mean([np.array([mean.fp, mean.fn]) for mean in means], axis=0)
        return f"({fp:.4g}, {fn:.2f})"
    return f"({setting.replace(':', ', ')})"


def compare(application: Application, merged: pl.DataFrame, trials: Sequence[Trial]) -> list[PaperTable]:
    """Return the tables of an application, one for each limit."""
    return [
        PaperTable(limit, _same(application, merged, limit), _best(application, merged, limit, trials[0]))
        for limit in application.limits
    ]


def ranking(application: Application, merged: pl.DataFrame, limit: float | None, part: str) -> pl.DataFrame:
    """Return the models that keep to a limit on a part, the best on it first; of equals, the better on validation."""
    kept = merged if limit is None else merged.filter(pl.col(f"{part}_fpr") <= limit)
    by = [f"{part}_{application.measure}", f"validation_{application.measure}"]
    return kept.sort(by, descending=True, maintain_order=True)


def _same(application: Application, merged: pl.DataFrame, limit: float | None) -> list[Line]:
    """Return the rows of the paper, each with our figures for the same model: for each size of trees, or none."""
    lines = []
    for row in published_rows(application.name, limit):
        found = merged.filter(*(pl.col(name).eq_missing(pl.lit(value)) for name, value in row.identity.items()))
        # A tree that ignores costs is the same for each overhead.
        found = found.unique("trees", keep="first", maintain_order=True)
        columns = _decision_columns({**row.identity, "family": "boosting" if row.decision.vote_weight is None else ""})
        columns |= {"train_costs": row.printed_costs, "printed": row.figures}
        name = "rpart" if row.name == "tree" else row.name
        ours: list[dict[str, Any] | None] = [*found.to_dicts()]
        lines += [_line(application, "as printed", row.rank, name, same, **columns) for same in ours or [None]]
    return lines


def _best(application: Application, merged: pl.DataFrame, limit: float | None, trial: Trial) -> list[Line]:
    like_paper, plain = merged.filter("like_paper"), insensitive(merged)
    n = max(row.rank or 0 for row in published_rows(application.name, limit))
    listed = [
        ("best on test, methods and decisions of the paper", like_paper, "test", n),
        ("chosen on validation, methods and decisions of the paper", like_paper, "validation", n),
        ("best on test, of all", merged, "test", ALL_LISTED),
        ("chosen on validation, of all", merged, "validation", ALL_LISTED),
        ("costs ignored, best on test, methods and decisions of the paper", plain.filter("like_paper"), "test", 1),
        ("costs ignored, chosen on validation, the same", plain.filter("like_paper"), "validation", 1),
        ("costs ignored, best on test, of all", plain, "test", 1),
    ]
    lines = []
    for section, models, part, count in listed:
        for rank, row in enumerate(ranking(application, models, limit, part).head(count).to_dicts(), 1):
            columns = {"train_costs": row["shown_costs"], **_decision_columns(row)}
            lines.append(_line(application, section, rank, row["name"], row, **columns))
    return lines + _trivial(application, trial)


def _line(
    application: Application, section: str, rank: int | None, name: str, ours: dict[str, Any] | None, **columns: Any
) -> Line:
    """Return a line, with the figures of our model if there is one."""
    if ours is None:
        return Line(section, rank, name, **columns)
    figures = {shown: shown_value(shown, ours[f"test_{shown}"]) for shown in application.shown}
    validation = shown_value(application.measure, ours[f"validation_{application.measure}"])
    return Line(section, rank, name, ours["trees"], figures=figures, validation=validation, **columns)


def _decision_columns(row: dict[str, Any]) -> dict[str, Any]:
    """Return a decision in the columns of the paper."""
    decision = decision_of(row)
    votes = decision.output == "vote"
    tuned = "T_mthr" if votes and decision.calibration is None else "T_thr"
    # Leaf probabilities do not matter to votes by label.
    leaf = (decision.leaf if decision.output == "average" or decision.member != "label" else None) or "frequency"
    own = "own" if row["family"] == "boosting" else "1"
    return {
        "calibration": " ".join(filter(None, (_word(LEAVES, leaf), _word(CALIBRATIONS, decision.calibration)))),
        "output": "wtMaj(cls)" if votes else "Avg(pr)",
        "members": _word(MEMBERS, decision.member),
        "threshold": _word({"half": "", "cost": "T_cs", "tuned": tuned}, decision.threshold),
        "alpha": "" if not votes else own if decision.vote_weight is None else _word(ALPHAS, decision.vote_weight),
    }


def _word(words: dict[Any, str], choice: str | None) -> str:
    """Return what the paper calls a choice; one that it does not have goes by its name here."""
    return words.get(choice, str(choice).replace("_", " "))


def shown_value(name: str, value: float) -> float:
    """Return a figure as people read it: shares as percentages."""
    return 100 * value if name in SHARES else value


def _trivial(application: Application, trial: Trial) -> list[Line]:
    """Return what it brings to act on none of the test records, and on all."""
    test = trial.dataset.parts(0, seed=trial.seed).test
    outcome = np.repeat([[False], [True]], len(test), axis=1)
    sums = sums_of(outcome, test.target == 1, test.costs)
    values = {name: of_sums(sums) for name in application.shown if (of_sums := MEASURES[name].of_sums)}
    return [
        Line("trivial", None, name, figures={key: shown_value(key, float(value[i])) for key, value in values.items()})
        for i, name in enumerate(("act on none", "act on all"))
    ]
