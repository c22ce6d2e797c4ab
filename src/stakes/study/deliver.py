"""From a row of results to the model that it describes, ready for new records."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

from stakes._estimation import ForeseenCost
from stakes.costs import Costs
from stakes.decision.calibration import PlattLogit
from stakes.delivered import DeliveredClassifier
from stakes.persist import loads
from stakes.study.blending import Teammates
from stakes.study.columns import cut_of, decision_of
from stakes.study.data import StudyData
from stakes.study.leaderboard import TEAM_FAMILY
from stakes.study.plan import Config, Unit, training_costs
from stakes.study.run import fit_unit, prepare
from stakes.study.store import Store
from stakes.teams.blends import Blend, Stack
from stakes.teams.classifiers import CostStackingClassifier, CostTeamClassifier

__all__ = ["Delivery", "unit_of"]


def unit_of(row: dict[str, Any]) -> Unit:
    """Return the unit whose model a row is about."""
    return Unit(0, row["method"], row["train_costs"], (row["member"],), row["tree"])


class Delivery:
    """The models of a study, as they were trained on all learning records.

    Units have left their models in `store`; one that is not there is trained again, which gives the same. `teammates`
    are those that may be in a team, and `blends` tells how teams weigh them, by method.
    """

    def __init__(
        self, data: StudyData, config: Config, store: Store, teammates: Teammates, blends: dict[str, Blend]
    ) -> None:
        self.data = data
        self.config = config
        self.store = store
        self.teammates = teammates
        self.blends = blends
        self._read: dict[str, Any] = {}

    def members(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of the models that the model of a row consists of: itself, unless it is a team."""
        if row["family"] != TEAM_FAMILY:
            return [row]
        return [self.teammates.rows[member] for member in self.blends[row["method"]].used]

    def keys(self, row: dict[str, Any]) -> list[str]:
        """Return the units that the model of a row needs."""
        return [unit_of(member).key for member in self.members(row)]

    def model(self, row: dict[str, Any], *, everything: bool = False) -> DeliveredClassifier:
        """Return the model of a row; trained on the test records too where `everything` says so."""
        if row["family"] == TEAM_FAMILY:
            blend = self.blends[row["method"]]
            kind = CostStackingClassifier if isinstance(blend, Stack) else CostTeamClassifier
            named = [
                (f"{member['name']} {i}", self._single(member, everything))
                for i, member in enumerate(self.members(row), 1)
            ]
            inner = kind.from_fitted(named, blend.take(blend.used), decision=decision_of(row), cut=cut_of(row))
            inner.constant_costs_ = self._constant_costs(row)
        else:
            inner = self._single(row, everything)
        probability = None if row["probability"] is None else PlattLogit(**json.loads(row["probability"]))
        return DeliveredClassifier(
            inner,
            self.data.labels,
            self.data.frame.columns,
            probability,
            self._foreseen_costs(everything),
            self.config.feature_costs,
        )

    def _foreseen_costs(self, everything: bool) -> dict[str, ForeseenCost]:
        """Return the costs that the model estimates: by the records that it is trained on."""
        if self.data.after is None:
            return {}
        rows = np.arange(len(self.data)) if everything else self.data.split(self.config.seed)[0]
        return self.data.after.fit(self.data.frame, rows)

    def _single(self, row: dict[str, Any], everything: bool) -> Any:
        """Return one trained classifier with the decision of a row."""
        unit = unit_of(row)
        model = None if everything else self._stored(unit.key)
        if model is None:
            model = self._train(unit, row, everything)
        model = copy.copy(model.with_decision(decision_of(row), cut=cut_of(row)))
        model.constant_costs_ = self._constant_costs(row)
        return model

    def _stored(self, key: str) -> Any | None:
        """Return the model that a unit has left, which is read once: teams have members in common, and with others."""
        content = None if key in self._read else self.store.read_model(key)
        if content is not None:
            self._read[key] = loads(content)
        return self._read.get(key)

    def _train(self, unit: Unit, row: dict[str, Any], everything: bool) -> Any:
        prepared = prepare(self.data, self.config, everything=everything).priced(row["decision_costs"])
        return fit_unit(self.config, unit, prepared)

    def _constant_costs(self, row: dict[str, Any]) -> dict[str, float]:
        """Return the costs that are the same for all records: a model must be given the others."""
        pair = training_costs(row["decision_costs"])
        costs: Costs | None = pair if pair is not None else self.data.costs
        given = {} if costs is None else {"fp_cost": costs.fp, "fn_cost": costs.fn}
        constant = {name: float(cost) for name, cost in given.items() if np.ndim(cost) == 0}
        return {**constant, "tp_cost": 0.0, "tn_cost": 0.0}
