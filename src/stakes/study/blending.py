"""Teams and stacks of a study's models, judged like every other candidate.

The members and weights that decide on the records of a fold are chosen on the out-of-fold scores of the other folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from stakes._typing import Floats, Ints
from stakes.decision.decision import Decision
from stakes.decision.readings import Readings, Source
from stakes.decision.threshold_rules import THRESHOLDS
from stakes.feature_costs import FeatureCosts
from stakes.records import Records
from stakes.study.columns import OUT_OF_FOLD, TEST, schema, unpack, unpack_scores
from stakes.study.judging import Read, make_table
from stakes.study.leaderboard import TEAM_FAMILY
from stakes.study.plan import REAL, Config
from stakes.teams.blends import BLENDS, Blend, cross_fit

__all__ = ["Teammates", "blend_rows"]

# What a blend is called, and how it is described.
NAMES = {
    "best": ("top5", "mean of the five best models"),
    "team": ("team", "weighted mean of models chosen together"),
    "stack": ("stack", "logistic model on the logits of models"),
}
SOURCE = Source("average", "frequency")


@dataclass(frozen=True)
class Teammates:
    """The models that may decide together, with their scores, of shape (n_records, n_models)."""

    rows: list[dict[str, Any]]  # of the results that have scores
    learning: Floats  # out-of-fold
    test: Floats  # by the models trained on all learning records
    costs: FeatureCosts  # prices of features, if there are any

    @classmethod
    def of(cls, results: pl.DataFrame, costs: FeatureCosts) -> Teammates:
        """Return the models of the first repeat that have scores and decide by the real costs."""
        kept = results.filter(
            pl.col(f"{TEST}_score").is_not_null(), pl.col("repeat") == 0, pl.col("decision_costs") == REAL
        )
        rows = kept.to_dicts()
        scores = {
            part: np.column_stack([unpack_scores(row[f"{part}_score"]) for row in rows]) if rows else np.empty((0, 0))
            for part in (OUT_OF_FOLD, TEST)
        }
        return cls(rows, scores[OUT_OF_FOLD], scores[TEST], costs)

    def paid(self, blend: Blend) -> dict[str, Floats]:
        """Return what features cost per record that some model of a blend asks for, on both parts."""
        if not self.costs:
            return {}
        found = {}
        for part in (OUT_OF_FOLD, TEST):
            used = [unpack([self.rows[i][f"{part}_used"]], len(self.costs.features)) for i in blend.used]
            found[part] = np.array([self.costs.paid(np.logical_or.reduce(used)).mean()])
        return found


def blend_rows(
    teammates: Teammates, records: Records, fold: Ints, test: Records, config: Config
) -> tuple[pl.DataFrame, dict[str, Blend]]:
    """Return a row for each way to decide together, and the blends that are delivered, by method.

    `records` are the learning records that are judged, `fold` has their folds in the first repeat.
    """
    tables = [pl.DataFrame(schema=schema(config.measure))]
    blends: dict[str, Blend] = {}
    # A limit needs a threshold that can keep to it.
    decision = Decision(output="average", threshold="scaled" if config.limits else "cost")
    for name, fit in BLENDS.items() if len(teammates.rows) > 1 else ():
        called, words = NAMES[name]
        blend = blends[called] = fit(teammates.learning, records)
        p = cross_fit(fit, teammates.learning, records, fold)
        learning, tested = (
            Read(Readings({SOURCE: score}, {}), part) for score, part in ((p, records), (blend(teammates.test), test))
        )
        about = {
            "repeat": 0,
            "method": called,
            "name": called,
            "family": TEAM_FAMILY,
            "train_costs": "none",
            "decision_costs": REAL,
            "description": f"{words}, {THRESHOLDS[decision.threshold].words}",
        }
        tables.append(make_table(about, [decision], learning, fold, config, test=tested, paid=teammates.paid(blend)))
    return pl.concat(tables), blends
