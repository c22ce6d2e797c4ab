"""Prices of features in a study: of the columns of its file, and what models pay by their decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stakes._acquisition import known_values
from stakes._dates import sources_of
from stakes._member_classifier import MemberClassifier
from stakes._typing import Floats, Indices
from stakes.decision.decision import Decision
from stakes.exceptions import StudyError
from stakes.feature_costs import FeatureCosts, load_feature_costs
from stakes.study.data import StudyData

__all__ = ["Paid", "study_prices"]


def study_prices(given: Any, data: StudyData) -> dict[str, Any] | None:
    """Return the prices of a study's features as plain data, from a file or a mapping; None where there are none.

    Columns that are left out cost nothing, and parts of dates cost what their dates do.
    """
    if given is None:
        return None
    if data.costs is None:
        raise StudyError("--feature-costs are money: give --fp-cost and --fn-cost, too")
    entries = load_feature_costs(given) if isinstance(given, str | Path) else dict(given)
    features = data.frame.columns
    needed = {name: [each for each in sources_of(name) if each in entries] for name in features}
    left_out = {*data.info.get("drop", ()), data.info.get("target")}
    left_out |= {check["column"] for check in data.info.get("checks", ())}
    of_parts = {source for sources in needed.values() for source in sources}
    kept = {str(n): e for n, e in entries.items() if n in features or n in of_parts or n not in left_out}
    kept |= {name: {"price": 0.0, "group": sources} for name, sources in needed.items() if sources}
    FeatureCosts.of(kept, features)  # says what is wrong with them
    return kept


class Paid:
    """What is paid for features by each decision, and which features any of them asks for, over all records."""

    def __init__(self, costs: FeatureCosts, decisions: Sequence[Decision], n_records: int) -> None:
        self.costs = costs
        self.decisions = decisions
        self.used = np.zeros((n_records, len(costs.features)), np.bool_)
        self._total = np.zeros(len(decisions))
        self._n = 0

    def add(self, model: MemberClassifier, X: Any, rows: Indices) -> None:
        """Add records in some rows, by the model that reads them."""
        known, asked = known_values(X), model.features_used_by(self.decisions, X)
        money = {}
        for key, used in {id(used): used for used in asked}.items():  # many decisions ask for the same
            read = used & known
            money[key] = self.costs.paid(read).sum()
            self.used[rows] |= read
        self._total += [money[id(used)] for used in asked]
        self._n += len(rows)

    @property
    def per_record(self) -> Floats:
        """What each decision pays per record."""
        return self._total / self._n
