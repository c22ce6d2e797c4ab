"""Scores of many decisions before calibration and threshold, one column per distinct source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._typing import Bools, Floats
from stakes.decision.decision import Decision
from stakes.tree.leaves import AUTO, CHEAPEST

__all__ = ["OWN", "Readings", "Source"]


# The vote weight of a decision that leaves it to the ensemble.
OWN = "own"


class Source(NamedTuple):
    """What a score is made of: decisions that differ in calibration and threshold only have the same source."""

    output: str  # "average" or "vote"
    leaf: str  # "" for votes by label, which depend on no leaf probability
    member: str = ""  # how votes come about; "" for averages
    vote_weight: str = ""  # "" for averages

    @classmethod
    def of(cls, decision: Decision, output: str) -> Source:
        """Return the source of a decision; `output` is that of the ensemble, for decisions that leave it open."""
        leaf = decision.leaf or (CHEAPEST if decision.member == "cost" else AUTO)
        if (decision.output or output) == "average":
            return cls("average", leaf)
        leaf = "" if decision.member == "label" else leaf
        return cls("vote", leaf, decision.member, decision.vote_weight or OWN)


@dataclass(frozen=True)
class Readings:
    """The scores of some records by all sources that some decisions need.

    Examples
    --------
    Two models, each read on the records that it was not trained on, give scores of all records:

    >>> import numpy as np
    >>> from stakes import CostBaggingClassifier, Decision
    >>> from stakes.datasets import make_churn
    >>> from stakes.decision.readings import Readings
    >>> data = make_churn(400, random_state=0)
    >>> decisions = [Decision(threshold="cost"), Decision(member="cost")]
    >>> folds = [np.arange(0, 400, 2), np.arange(1, 400, 2)]
    >>> parts = []
    >>> for held_out in folds:
    ...     train = np.setdiff1d(np.arange(400), held_out)
    ...     clf = CostBaggingClassifier(n_estimators=10, random_state=0)
    ...     clf = clf.fit(data.frame[train], data.target[train], fp_cost=1, fn_cost=5)
    ...     parts.append(clf.read(decisions, data.frame[held_out]))
    >>> readings = Readings.join(parts, folds)
    >>> len(readings), len(readings.scores)
    (400, 2)
    """

    scores: Mapping[Source, Floats]  # NaN for records that every member was trained on (out-of-bag)
    total_weight: Mapping[Source, Floats]  # of the votes, for sources where a calibration needs it
    output: str = "average"  # the score of the ensemble for decisions that leave it open: or "vote"

    def __len__(self) -> int:
        return next(iter(self.scores.values())).size

    def source(self, decision: Decision) -> Source:
        """Return the source of a decision's score."""
        source = Source.of(decision, self.output)
        if source not in self.scores:
            raise ValueError(f"{decision!r} was not among the decisions that these scores were read for")
        return source

    @property
    def known(self) -> Bools:
        """Whether each record has scores: out-of-bag, one that every member was trained on has none."""
        return ~np.isnan(next(iter(self.scores.values())))

    def take(self, rows: NDArray[Any]) -> Readings:
        """Return the scores of some records, by row numbers or by a mask."""
        return Readings(
            {source: score[rows] for source, score in self.scores.items()},
            {source: total[rows] for source, total in self.total_weight.items()},
            self.output,
        )

    @classmethod
    def join(cls, parts: Sequence[Readings], rows: Sequence[NDArray[np.intp]]) -> Readings:
        """Put the scores of several models together, each for records of its own, by the same decisions.

        `rows` are the row numbers of the records of each part: together every number from 0 on, once.
        """
        order = np.argsort(np.concatenate(rows), kind="stable")
        if not np.array_equal(np.concatenate(rows)[order], np.arange(order.size)):
            raise ValueError("rows must have every row number from 0 on exactly once")
        if any(set(part.scores) != set(parts[0].scores) or part.output != parts[0].output for part in parts):
            raise ValueError("the parts were not read for the same decisions")

        def joined(columns: Sequence[Mapping[Source, Floats]]) -> dict[Source, Floats]:
            return {source: np.concatenate([each[source] for each in columns])[order] for source in columns[0]}

        scores, totals = joined([part.scores for part in parts]), joined([part.total_weight for part in parts])
        return cls(scores, totals, parts[0].output)
