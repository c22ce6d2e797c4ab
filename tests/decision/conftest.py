"""Leaves that many tests of decisions share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import Costs
from stakes._members import LeafAssignment, LeafTable


@pytest.fixture
def leaves_with_weights() -> tuple[LeafAssignment, Any, Costs]:
    """Five records in three trees of two leaves each, with weights in the leaves."""
    weights = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0], [0.0, 5.0], [4.0, 1.0], [1.0, 1.0]])
    leaves = LeafTable(
        np.array([0, 0, 1, 1, 2, 2]),
        weights[:, 1] > weights[:, 0],
        lambda leaf: weights[:, 1] / weights.sum(axis=1),
        weights,
        None,
    )
    ids = np.array([[0, 2, 4], [1, 2, 5], [0, 3, 5], [1, 3, 4], [1, 2, 4]], dtype=np.int32)
    costs = Costs(fp=[1.0, 2.0, 1.0, 3.0, 5.0], fn=[4.0, 1.0, 1.0, 2.0, 0.0])
    return LeafAssignment(ids, leaves), np.array([0.5, 2.0, 1.0]), costs
