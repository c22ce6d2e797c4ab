"""From the results of all units to one row per model: repeats averaged, models that decide alike joined, and ranked."""

from __future__ import annotations

from typing import Any

import polars as pl

from stakes.catalog import list_methods
from stakes.measures import MEASURES
from stakes.study.choice import upper_bound
from stakes.study.columns import IDENTITY, OUT_OF_FOLD, PARTS, TEST
from stakes.study.plan import RIVALS, Config

__all__ = ["best_of_each", "insensitive", "one_row_each", "ranked", "rivals", "trained", "within_limits"]

TEAM_FAMILY = "team"
KEPT = ["cut", "probability", *(f"{part}_score" for part in PARTS), f"{TEST}_outcome"]


def one_row_each(results: pl.DataFrame, config: Config) -> pl.DataFrame:
    """Return a row for each model, in the order of simplicity.

    Figures are means over repeats. Models with the same outcomes on all records are one row, under the simplest name;
    `same_as` lists the others. `complexity` is the place of a row in the order of simplicity: single models before
    ensembles, and those before teams; then by how many things are chosen on records; then plain decisions before
    others; then in the order of the study.
    """
    table = results.group_by(IDENTITY, maintain_order=True).agg(
        pl.col("follows_costs", "n_tuned").first(),
        pl.col(pl.Float64).mean(),
        # Those of the first repeat, whose model is delivered.
        pl.col(KEPT).first(),
        pl.col(f"{OUT_OF_FOLD}_outcome"),
        pl.col("digest").str.join("."),
    )
    special = pl.sum_horizontal(
        pl.col("member") != "label",
        pl.col("leaf") != "frequency",
        pl.col("vote_weight").is_not_null(),
        pl.col("calibration").is_not_null(),
        pl.col("train_costs") != "none",
        ignore_nulls=False,
    )
    single = pl.col("method").is_in(list_methods().filter(simple=True).names)
    kind = pl.when(single).then(0).when(pl.col("family") == TEAM_FAMILY).then(2).otherwise(1)
    table = table.sort(kind, "n_tuned", special, maintain_order=True).with_row_index("complexity")
    # Equal decisions on different features differ in what these cost.
    alike = ["digest", "decision_costs", *(f"{part}_paid" for part in PARTS)]
    if MEASURES[config.measure].of_sums is None:  # equal outcomes do not make equal scores
        alike += [f"{part}_{config.measure}" for part in PARTS]
    size = pl.format(" ({})", "tree").fill_null("")
    label = pl.format("{}{}: {}", "name", size, "description")
    rest = [name for name in table.columns if name not in alike]
    joined = table.group_by(alike, maintain_order=True).agg(
        pl.col(rest).first(), label.slice(1).alias("same_as"), pl.len().alias("n_same")
    )
    return joined.select(*table.columns, "same_as", "n_same")


def within_limits(row: dict[str, Any], config: Config, n_of: dict[str, int]) -> bool:
    """Return whether a model keeps to the limits on new records, with 95% confidence.

    The row has the rates of the delivered decision on the learning records, `n_of` the number of those that each rate
    is a share of.
    """
    return all(
        upper_bound(row[f"limit_{name}"] * n_of[name], n_of[name]) <= limit and row[f"{OUT_OF_FOLD}_{name}"] <= limit
        for name, limit in config.limits.items()
    )


def ranked(table: pl.DataFrame, config: Config, part: str) -> pl.DataFrame:
    """Return the models that keep to the limits, the best on a part first; among equals the simpler one."""
    measure = f"{part}_{config.measure}"
    return table.filter("in_limits", pl.col(measure).is_not_nan()).sort(
        measure, "complexity", descending=[config.higher_is_better, False], maintain_order=True
    )


def insensitive(table: pl.DataFrame) -> pl.DataFrame:
    """Return the models in which costs act nowhere."""
    return trained(table).filter(
        (pl.col("train_costs") == "none")
        & (pl.col("threshold") == "half")
        & (pl.col("member") == "label")
        & pl.col("vote_weight").fill_null("equal").is_in(["equal", "node"])
    )


def rivals(table: pl.DataFrame) -> pl.DataFrame:
    """Return the models that most people would use instead: logistic regression and gradient boosting, by T_cs."""
    return table.filter(
        pl.col("method").is_in(RIVALS) & (pl.col("threshold") == "cost") & pl.col("calibration").is_null()
    )


def best_of_each(rows: list[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """Return the best row of each of the first `n` names of a leaderboard in a summary, and the recommended one."""
    names: list[str] = []
    found = []
    for row in rows:
        if row["chosen"] or (row["name"] not in names and len(names) < n):
            names.append(row["name"])
            found.append(row)
    return found


def trained(table: pl.DataFrame) -> pl.DataFrame:
    """Return the models to choose from: trees taught by MetaCost are there to explain."""
    return table.filter(~pl.col("name").str.starts_with("mc-"))
