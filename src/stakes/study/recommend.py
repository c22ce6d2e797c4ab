"""The recommended model of a study, with the reason, what to expect of it, and how the others compare with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from stakes._typing import Bools, Floats, Ints
from stakes.decision.wording import decision_words
from stakes.measures import MEASURES, Measure, amounts, sums_of
from stakes.records import Records
from stakes.study.choice import AnyLoss, Bootstrap, Choice, MeanLoss, Rule, blocks, choose
from stakes.study.columns import OUT_OF_FOLD, unpack
from stakes.study.leaderboard import ranked, rivals, trained
from stakes.study.plan import Config
from stakes.study.words import model_words

__all__ = ["Estimate", "Recommendation", "losses_of", "recommend"]

# More candidates than these are as good as never chosen.
MOST = 4000
# So many models have their difference to the best worked out.
SHOWN = 200
# The blend of all models that the choice starts from.
REFERENCE = "stack"
CHOICE = 3  # what is drawn


class Estimate(NamedTuple):
    """A figure with its 90% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Recommendation:
    """The model to use."""

    row: dict[str, Any]  # of the table of models
    best: dict[str, Any]  # the row of the model with the best figure out of fold
    reason: str
    # On new records, per record where it is a total, corrected for having been chosen; None for measures of scores.
    expected: Estimate | None = None
    optimism: float | None = None  # how much better the out-of-fold figure looks
    # By how much models are worse than the best one out of fold, by the complexity of their rows.
    differences: dict[int, Estimate] = field(default_factory=dict)


def recommend(
    table: pl.DataFrame, records: Records, config: Config, groups: Ints | None = None
) -> Recommendation | None:
    """Choose among the models that keep to the limits; None if no model does.

    `table` has a row for each model (`stakes.study.leaderboard.one_row_each`), `records` are the learning records in
    the order of the outcomes, and `groups` tells which of them belong together.
    """
    board = ranked(trained(table), config, OUT_OF_FOLD)
    if not len(board):
        return None
    measure = MEASURES[config.measure]
    # Models whose outcomes were not kept are far behind those of their own unit that were.
    known = board.filter(pl.col(f"{OUT_OF_FOLD}_outcome").list.eval(pl.element().is_not_null()).list.all()).head(MOST)
    if measure.of_sums is None or not len(known):
        first = board.row(0, named=True)
        return Recommendation(first, first, f"It has the best {measure.words} out of fold.")
    rng = np.random.default_rng([config.seed, CHOICE])
    candidates = _candidates(known, records, config, blocks(len(records), rng, groups))
    bootstrap = Bootstrap.of(candidates, rng)
    follows, complexity = known["follows_costs"].to_numpy(), known["complexity"].to_numpy().astype(np.int64)
    found = known.to_dicts()
    reference = next((i for i, row in enumerate(found) if row["name"] == REFERENCE), None)
    is_rival = np.isin(complexity, rivals(known)["complexity"].to_numpy())
    choice = choose(bootstrap, Rule(bootstrap, follows, complexity, reference=reference, rivals=is_rival))
    differences = {
        row["complexity"]: Estimate(*bootstrap.difference(i, choice.best)) for i, row in enumerate(found[:SHOWN])
    }
    return Recommendation(
        found[choice.chosen],
        found[choice.best],
        _reason(choice, bootstrap, found, reference),
        _figures(np.array([choice.expected, choice.low, choice.high]), records, config),
        choice.optimism,
        differences,
    )


def _candidates(known: pl.DataFrame, records: Records, config: Config, block: Ints) -> MeanLoss | AnyLoss:
    """Return the models as sums over blocks; the outcomes of repeats are taken together."""
    packed = known[f"{OUT_OF_FOLD}_outcome"].to_list()
    n = len(records)
    repeats = max(len(p) for p in packed)
    each = [unpack([p[min(r, len(p) - 1)] for p in packed], n) for r in range(repeats)]
    rows = np.tile(np.arange(n), repeats)
    by = "cost" if MEASURES[config.measure].ranks_like_cost else config.measure
    sign = -1 if config.higher_is_better else 1
    paid = known[f"{OUT_OF_FOLD}_paid"].to_numpy()
    return losses_of(MEASURES[by], sign, np.concatenate(each, axis=1), records.take(rows), block[rows], paid)


def losses_of(
    measure: Measure, factor: float, outcomes: Bools, records: Records, block: Ints, paid: Floats
) -> MeanLoss | AnyLoss:
    """Return models whose loss is their cost per record, or another measure times a factor."""
    if measure.name == "cost":
        return MeanLoss(outcomes, records.positive, records.costs, block, paid)
    amount = amounts(records.positive, records.costs)
    return AnyLoss(outcomes, amount, block, lambda sums: factor * measure.figure(sums), paid)


def _figures(losses: Floats, records: Records, config: Config) -> Estimate:
    """Return what losses are in terms of the measure, the interval in increasing order."""
    measure, n = MEASURES[config.measure], len(records)
    if measure.ranks_like_cost:
        sums = sums_of(np.zeros((1, n), np.bool_), records.positive, records.costs)
        # Of a model with just this cost.
        found = measure.figure(sums._replace(found=sums.all_fn - n * losses))
    else:
        found = -losses if measure.higher_is_better else losses
    value, *ends = found.tolist()
    return Estimate(value, *sorted(ends))


def _reason(choice: Choice, bootstrap: Bootstrap, rows: list[dict[str, Any]], reference: int | None) -> str:
    """Return why the recommended model is recommended, and not the one that is best out of fold."""
    chosen, best = rows[choice.chosen], rows[choice.best]

    def words(row: dict[str, Any]) -> str:
        return f"{row['name']} ({model_words(row['name'])})"

    def by(i: int, j: int) -> str:
        """Return by how much `j` is better than `i`."""
        return f"{bootstrap.difference(i, j)[0] / (abs(bootstrap.all[i]) or 1.0):.1%}"

    start = choice.follower if reference is None else reference
    follows = "it follows the costs of the day"
    if not chosen["follows_costs"]:
        if start is None:
            return "It is the best out of fold."
        better = by(start, choice.chosen)
        return f"It is better than {words(rows[start])}, which follows costs, by {better} out of fold, beyond noise."
    if choice.chosen == choice.best:
        return f"It is the best out of fold, and {follows}."
    if choice.chosen == reference:
        found = f"It weighs all models, so that none is picked by luck, and {follows}"
    elif start is None or choice.chosen == start or bootstrap.all[choice.chosen] > bootstrap.all[start]:
        found = f"It is simple, and {follows}"
    else:
        found = f"It is simple, no worse out of fold than {words(rows[start])}, and {follows}"
    better = by(choice.chosen, choice.best)
    other = words(best) if best["name"] != chosen["name"] else f"the same model by {decision_words(best)}"
    return f"{found}; {other} is better by {better} out of fold, which is within noise."
