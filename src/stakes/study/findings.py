"""What comes of the results of all units: teams, one row per model, the recommendation, and the models themselves."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from stakes._typing import Bools, Ints
from stakes.decision.decision import Decision
from stakes.delivered import DeliveredClassifier
from stakes.feature_costs import FeatureCosts
from stakes.measures import sums_of
from stakes.metacost import small_tree
from stakes.persist import dumps
from stakes.records import Records
from stakes.study.blending import Teammates, blend_rows
from stakes.study.columns import OUT_OF_FOLD, TEST, figures, pack, schema, unpack
from stakes.study.data import StudyData
from stakes.study.deliver import Delivery
from stakes.study.drift import profile
from stakes.study.leaderboard import one_row_each, ranked, rivals, trained, within_limits
from stakes.study.plan import Config
from stakes.study.recommend import Recommendation, recommend
from stakes.study.run import prepare
from stakes.study.store import Store
from stakes.teams.blends import Blend

__all__ = ["Findings", "find"]

# So many of the best models are kept as they were trained, and have curves in the report.
SHOWN = 5


@dataclass(frozen=True)
class Findings:
    """What a study found, and the models to go with it."""

    data: StudyData
    config: Config
    learning: Records  # the learning records that were judged, with features
    test: Records  # likewise
    results: pl.DataFrame  # a row for each model and repeat: see `stakes.study.columns`
    table: pl.DataFrame  # a row for each model, and whether it keeps to the limits
    recommendation: Recommendation | None  # None if no model keeps to the limits
    delivery: Delivery
    tree: str | None  # the readable tree that the recommended model has taught

    def leaderboard(self) -> pl.DataFrame:
        """Return the models that keep to the limits, the best out of fold first."""
        return ranked(self.table, self.config, OUT_OF_FOLD)

    def test_groups(self) -> Ints | None:
        """Return which test records belong together; None where each stands for itself."""
        groups = self.data.groups
        return None if groups is None else groups[self.data.split(self.config.seed)[1]]

    def shown(self) -> list[dict[str, Any]]:
        """Return the models to look at closely: the recommended one, the rivals, and the best of other names."""
        if self.recommendation is None:
            return []
        first, board = self.recommendation.row, trained(self.leaderboard())
        others = pl.concat([rivals(board), board]).filter(pl.col("name") != first["name"])
        return [first, *others.unique("name", keep="first", maintain_order=True).head(SHOWN - 1).to_dicts()]

    def model_file(self, row: dict[str, Any], model: DeliveredClassifier | None = None) -> bytes:
        """Return the content of the file of a model; trained on everything where that was asked for."""
        everything = self.config.refit == "all"
        if model is None or everything:
            model = self.delivery.model(row, everything=everything)
        return dumps(model, info=self.about(row))

    def about(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return what a model file says of its model: enough to decide on new records."""
        told = {key: value for key, value in self.data.info.items() if key != "source"}
        described = {key: value for key, value in row.items() if isinstance(value, str | int | float | bool)}
        trained_on = "learning and test records" if self.config.refit == "all" else "learning records"
        learning, _ = self.data.split(self.config.seed)
        # Of what new records have: not of parts that are made of it.
        raw = [name for name in self.data.frame.columns if name in told.get("features", ())]
        counted = profile(self.data.frame[learning].select(raw))
        return {**told, "model": described, "trained_on": trained_on, "profile": counted}


def find(results: pl.DataFrame, data: StudyData, config: Config, store: Store) -> Findings:
    """Put the results of all units that were run together, let models decide together, and choose."""
    prepared = prepare(data, config)
    folds = data.folds(config.folds, repeat=0, seed=config.seed)
    judged = folds.all_judged
    learning = prepared.learning.take(judged)
    teammates = Teammates.of(results, FeatureCosts.of(config.feature_costs, data.frame.columns))
    blends: dict[str, Blend] = {}
    if config.teams and data.costs is not None:
        rows, blends = blend_rows(teammates, learning, folds.fold[judged], prepared.test, config)
        results = pl.concat([results, rows])
    n_of = {"fpr": int((~learning.positive).sum()), "acted": len(learning)}
    table = one_row_each(results, config)
    limits = [within_limits(row, config, n_of) for row in table.iter_rows(named=True)]
    table = table.with_columns(pl.Series("in_limits", limits, dtype=pl.Boolean))
    groups = None if data.groups is None else data.groups[data.split(config.seed)[0]][judged]
    recommendation = recommend(table, learning, config, groups)
    tree = None
    if config.metacost == "best" and recommendation is not None:
        row, tree = _taught(recommendation.row, learning, prepared.test, config)
        if row is not None:
            results = pl.concat([results, row])
            extra = one_row_each(row, config).with_columns(in_limits=pl.lit(True), complexity=pl.lit(len(table)))
            table = pl.concat([table, extra.select(table.columns).cast(table.schema)])
    delivery = Delivery(data, config, store, teammates, blends)
    return Findings(data, config, learning, prepared.test, results, table, recommendation, delivery, tree)


def _taught(
    row: dict[str, Any], learning: Records, test: Records, config: Config
) -> tuple[pl.DataFrame | None, str | None]:
    """Return a row for a small tree that the recommended model has taught (MetaCost), and the tree as text.

    It learns the out-of-fold decisions of the model, and is measured on the test records only.
    """
    packed = row[f"{OUT_OF_FOLD}_outcome"][0]
    if packed is None:
        return None, None
    taught = unpack([packed], len(learning))[0].astype(np.int64)
    if taught.min() == taught.max():
        return None, f"all records are decided alike: {'act' if taught[0] else 'do not act'}"
    tree = small_tree(config.seed).set_params(feature_costs=config.feature_costs)
    outcome: Bools = tree.fit(learning.X, taught).predict(test.X) == 1
    paid = 0.0 if config.feature_costs is None else tree.acquisition_cost(test.X).mean()
    measured = figures(TEST, sums_of(outcome[None], test.positive, test.costs, paid), config.measure)
    found = {
        **{name: row[name] for name in ("method", "train_costs", "decision_costs", "n_tuned")},
        "repeat": 0,
        "name": f"mc-{row['name']}",
        "family": "tree",
        **asdict(Decision(output="average")),
        "description": f"a small tree taught by {row['name']}",
        "follows_costs": False,
        **{name: float(values[0]) for name, values in measured.items()},
        f"{TEST}_paid": float(paid),
        "digest": json.dumps(["mc", row["name"]]),
        f"{TEST}_outcome": pack(outcome),
    }
    return pl.DataFrame([found], schema=schema(config.measure)), str(tree.export_text())
