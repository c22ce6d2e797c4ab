"""The paper's findings, looked for in our results and stated in plain sentences, whichever way they come out."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from stakes.decision.weights import BY_ERROR
from stakes.paper.protocol import Application
from stakes.paper.tables import best_printed, ranking, shown_value
from stakes.study.columns import DECISION
from stakes.study.leaderboard import insensitive

__all__ = ["Finding", "find"]

TOP = (10, 100)
CLEARLY = 0.05  # shares closer than this are as good as equal


@dataclass(frozen=True)
class Finding:
    """A claim, whether our results bear it out, and the figures in sentences."""

    claim: str
    holds: bool
    sentences: list[str]


def find(application: Application, merged: pl.DataFrame) -> list[Finding]:
    """Return what our results say about the paper's findings, by its own methods and decisions."""
    models = merged.filter(pl.col("like_paper") & ~pl.col("name").str.starts_with("mc-"))
    return [_gap(application, models), _high_ranks(application, models), _before_or_after(application, models)]


def _gap(application: Application, models: pl.DataFrame) -> Finding:
    sentences, holds = [], True
    for limit in application.limits:
        found = {
            (kind, part): _best(application, table, limit, part)
            for kind, table in (("by cost", models), ("plain", insensitive(models)))
            for part in ("test", "validation")
        }
        value = {key: best for key, best in found.items() if best is not None}
        if len(value) < len(found):
            sentences.append(f"{_within(limit)}there is no model to compare.")
            holds = False
            continue
        gap = value["by cost", "test"] - value["plain", "test"]
        holds &= gap > 0 and value["by cost", "validation"] > value["plain", "validation"]
        printed, plain_printed = best_printed(application.name, limit)
        sentences.append(
            f"{_within(limit)}the best cost-sensitive model on test records has {value['by cost', 'test']:,.2f} and "
            f"the best that ignores costs {value['plain', 'test']:,.2f}, a gap of {gap:,.2f} (paper: {printed:,.2f} "
            f"and {plain_printed:,.2f}). Chosen on validation records they have {value['by cost', 'validation']:,.2f} "
            f"and {value['plain', 'validation']:,.2f}."
        )
    return Finding("Cost-sensitive models beat those that ignore costs by far.", holds, sentences)


def _best(application: Application, models: pl.DataFrame, limit: float | None, part: str) -> float | None:
    """Return the figure on test records of the model that is best on a part; None where there is no model."""
    top = ranking(application, models, limit, part).head(1)
    figures = [shown_value(application.measure, value) for value in top[f"test_{application.measure}"]]
    return next(iter(figures), None)


def _within(limit: float | None) -> str:
    return "" if limit is None else f"With FPR at most {limit:.0%}, "


IS_DMECC_ENSEMBLE = pl.col("name").str.starts_with("dm-")
IS_MTA = (pl.col("output") == "vote") & pl.col("calibration").is_null() & (pl.col("threshold") != "half")


def _high_ranks(application: Application, models: pl.DataFrame) -> Finding:
    sentences, holds = [], True
    for limit in application.limits:
        best = ranking(application, models, limit, "test").with_row_index("rank", offset=1)
        for name, kind in (("DMECC-ensembles", IS_DMECC_ENSEMBLE), ("models with MTA", IS_MTA)):
            ranks = best.filter(kind)["rank"].to_list()
            if not ranks:
                sentences.append(f"{_within(limit)}there are no {name}.")
                holds = False
                continue
            share = len(ranks) / best.height
            among = " and ".join(f"{best.head(top).filter(kind).height} of the best {top}" for top in TOP)
            sentences.append(
                f"{_within(limit)}{name} are {share:.0%} of the {best.height:,} models and {among} "
                f"on test records; the best of them is number {ranks[0]}."
            )
            # Not by their number alone: among the best there have to be no fewer of them than among all.
            few, many = TOP
            holds &= ranks[0] <= few and best.head(many).filter(kind).height >= share * min(many, best.height)
    return Finding("DMECC-ensembles and majority threshold adjustment (MTA) rank high.", holds, sentences)


IN_TRAINING = pl.col("train_costs") != "none"
# Weights of votes depend on the cost of members' errors, but for equal ones.
NOT_EQUAL = [weight for weight in BY_ERROR if weight != "equal"]
AFTERWARDS = (
    (pl.col("threshold") != "half")
    | (pl.col("member") != "label")
    | pl.col("vote_weight").fill_null("").is_in(NOT_EQUAL)
)


def _before_or_after(application: Application, models: pl.DataFrame) -> Finding:
    """Compare the best models by when costs act, and what explains the models' ranks."""
    groups = {
        "neither": ~IN_TRAINING & ~AFTERWARDS,
        "in training only": IN_TRAINING & ~AFTERWARDS,
        "afterwards only": ~IN_TRAINING & AFTERWARDS,
        "both": IN_TRAINING & AFTERWARDS,
    }
    sentences, holds = [], True
    for limit in application.limits:
        found = {name: _best(application, models.filter(kind), limit, "test") for name, kind in groups.items()}
        best = {name: value for name, value in found.items() if value is not None}
        listed = ", ".join(f"{name} {value:,.2f}" for name, value in best.items())
        sentences.append(f"{_within(limit)}the best on test records by when costs act: {listed}.")
        if len(best) < len(groups):
            holds = False
            continue
        gap = max(best.values()) - best["neither"]
        closed = {name: (best[name] - best["neither"]) / gap if gap else 0.0 for name in groups}
        sentences.append(
            f"Of the gap between neither and the best of all, costs in training alone close "
            f"{closed['in training only']:.0%}, and costs afterwards alone {closed['afterwards only']:.0%}."
        )
        holds &= closed["afterwards only"] - closed["in training only"] > CLEARLY
    training, decision = explained(application, models)
    holds &= decision - training > CLEARLY
    sentences.append(
        f"Of the variance of the models' ranks by {application.unlimited.replace('_', ' ')} on test records, the "
        f"ensemble and its training costs explain {training:.0%}, and the decision {decision:.0%}."
    )
    return Finding("What is decided after training matters more than costs in training.", holds, sentences)


def explained(application: Application, models: pl.DataFrame) -> tuple[float, float]:
    """Return the shares of the variance of ranks between ensembles, and between decisions.

    Ranks, because a few models that act on everything lose more than all others together; and ranks within an
    overhead, because costs with different ones cannot be compared.
    """
    measure = pl.col(f"test_{application.unlimited}")
    rank = measure.rank(descending=application.unlimited == "cost").over("overhead") / pl.len().over("overhead")
    with_rank = models.select(*ENSEMBLE, *DECISION, rank.alias("place"))
    return tuple(_between(with_rank, by) for by in (ENSEMBLE, DECISION))  # type: ignore[return-value]


ENSEMBLE = ("overhead", "method", "train_costs", "trees")


def _between(table: pl.DataFrame, by: tuple[str, ...]) -> float:
    """Return the variance of the groups' means, as a share of all variance."""
    means = table.select(pl.col("place").mean().over(by)).to_series()
    total = table["place"].var(ddof=0)
    return float(means.var(ddof=0) / total) if total else 0.0  # type: ignore[operator, arg-type]
