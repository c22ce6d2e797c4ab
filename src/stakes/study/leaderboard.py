"""From the results of all units to leaderboards: chosen on validation records, or best on test records."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes.costs import Costs
from stakes.decision.decision import Decision
from stakes.measures import MEASURES, Sums, amounts
from stakes.study.plan import Config

__all__ = ["IDENTITY", "average", "decision_of", "insensitive", "intervals", "ranked", "trained"]

# What tells one hybrid model from another; its repeats are averaged.
IDENTITY = [
    "method", "name", "family", "train_costs", "decision_costs", "leaf", "member", "output", "vote_weight",
    "calibration", "threshold", "description",
]  # fmt: skip
RESAMPLES = 1000


def average(results: pl.DataFrame) -> pl.DataFrame:
    """Return the mean of all measures over the repeats of each hybrid model."""
    measures = [name for name in results.columns if name.startswith(("validation_", "test_"))]
    return results.group_by(IDENTITY, maintain_order=True).agg(
        [pl.col(name).mean() for name in measures] + [pl.len().alias("repeats"), pl.col("outcome")]
    )


def ranked(table: pl.DataFrame, config: Config, part: str) -> pl.DataFrame:
    """Return the models that keep to the limits on a part, the best on it first.

    Among equals the simpler name comes first, and then the order of the study.
    """
    kept = table
    for name, limit in (("fpr", config.max_fpr), ("acted", config.max_acted)):
        if limit is not None:
            kept = kept.filter(pl.col(f"{part}_{name}") <= limit)
    measure = f"{part}_{config.measure}"
    return kept.filter(pl.col(measure).is_not_nan()).sort(
        measure, descending=config.higher_is_better, maintain_order=True
    )


def insensitive(table: pl.DataFrame) -> pl.DataFrame:
    """Return the models in which costs act nowhere."""
    return trained(table).filter(
        (pl.col("train_costs") == "none")
        & (pl.col("threshold") == "half")
        & (pl.col("member") == "label")
        & pl.col("vote_weight").fill_null("equal").is_in(["equal", "node"])
    )


def trained(table: pl.DataFrame) -> pl.DataFrame:
    """Return the models to choose from: trees taught by MetaCost are there to explain."""
    return table.filter(~pl.col("name").str.starts_with("mc-"))


def decision_of(row: dict[str, Any]) -> Decision:
    """Return the decision that a row is about."""
    names = ("leaf", "member", "output", "vote_weight", "calibration", "threshold")
    return Decision(**{name: row[name] for name in names})


def intervals(
    rows: list[dict[str, Any]], positive: NDArray[np.bool_], costs: Costs, config: Config, measured: str
) -> list[tuple[float, float] | None]:
    """Return 95% bootstrap intervals of a test measure, averaged over repeats, for rows that kept their outcomes.

    All rows see the same resamples of the test records, so that their intervals can be compared.
    """
    measure = MEASURES[measured].of_sums
    n = positive.size
    amount = amounts(positive, costs)
    rng = np.random.default_rng(config.seed)
    known = [row["outcome"] for row in rows]
    usable = [
        measure is not None and len(packed) == config.repeats and all(p is not None for p in packed) for packed in known
    ]
    acted = [
        np.array([np.unpackbits(np.frombuffer(p, np.uint8), count=n) for p in packed]).astype(np.float64)
        if ok
        else np.empty((0, n))
        for packed, ok in zip(known, usable, strict=True)
    ]
    stacked = np.concatenate(acted) if acted else np.empty((0, n))
    totals = np.empty((RESAMPLES, amount.shape[1]))
    sums = np.empty((RESAMPLES, stacked.shape[0], amount.shape[1]))
    for b in range(RESAMPLES):
        times = np.bincount(rng.integers(0, n, n), minlength=n)
        weighted = amount * times[:, None]
        totals[b] = weighted.sum(axis=0)
        sums[b] = stacked @ weighted
    found: list[tuple[float, float] | None] = []
    start = 0
    for ok, own in zip(usable, acted, strict=True):
        if not ok:
            found.append(None)
            continue
        assert measure is not None
        mine = sums[:, start : start + own.shape[0]]
        start += own.shape[0]
        values = np.array([measure(Sums.of(s, t)).mean() for s, t in zip(mine, totals, strict=True)])
        low, high = np.quantile(values, [0.025, 0.975])
        found.append((float(low), float(high)))
    return found
