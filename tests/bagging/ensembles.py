"""Small ensembles, and samplers that show what members are trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import CostBaggingClassifier, Costs, CostTreeClassifier, Decision
from stakes.sampling import SAMPLERS, Bootstrap, MemberSampler

SAMPLINGS = list(SAMPLERS)
BY_CLASS_MEANS = pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")
VOTE = Decision(output="vote")


def bagging(estimator: Any = None, **options: Any) -> CostBaggingClassifier:
    """Return an ensemble of fully grown trees, whatever it is of by default."""
    tree = CostTreeClassifier() if estimator is None else estimator
    return CostBaggingClassifier(tree, **{"n_estimators": 6, "random_state": 0, **options})


def nodes_of(clf: Any) -> Any:
    return clf.members_.trees.nodes


def assert_same_trees(one: Any, other: Any, *, but: tuple[str, ...] = ()) -> None:
    for name in nodes_of(one)._fields:
        if name not in but:
            np.testing.assert_array_equal(getattr(nodes_of(one), name), getattr(nodes_of(other), name), err_msg=name)


class Remembering(MemberSampler):
    """The bootstrap, which remembers what it has drawn."""

    uses_costs = False
    leaves_records_out = True

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def counts(self, y: Any, costs: Costs, rng: np.random.Generator, X: Any = None) -> Any:
        self.drawn.append(Bootstrap().counts(y, costs, rng))
        return self.drawn[-1]


class EachPositive(MemberSampler):
    """Every record once, every positive a number of times: the same sample for all members."""

    def __init__(self, times: int) -> None:
        self.times = times

    def counts(self, y: Any, costs: Costs, rng: np.random.Generator, X: Any = None) -> Any:
        return np.where(y == 1, self.times, 1)
