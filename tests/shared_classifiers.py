"""Small classifiers that many tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from stakes import CostBaggingClassifier, CostTreeClassifier, Decision

BY_COST = Decision(threshold="cost")
TREE = CostTreeClassifier(max_depth=3, random_state=0)
FOREST = CostBaggingClassifier(TREE, n_estimators=5, random_state=0)
BOTH = pytest.mark.parametrize("prototype", [TREE, FOREST], ids=["tree", "bagging"])


def make(prototype: Any, **options: Any) -> Any:
    return clone(prototype).set_params(**options)


def by_cost(prototype: Any) -> dict[str, Any]:
    """The parameters that make a tree, or the trees of an ensemble, grow by cost."""
    return {"criterion": "cost"} if isinstance(prototype, CostTreeClassifier) else {"estimator__criterion": "cost"}


def assert_same_trees(one: Any, other: Any) -> None:
    for mine, yours in zip(one.members_.trees.nodes, other.members_.trees.nodes, strict=True):
        np.testing.assert_array_equal(mine, yours)
