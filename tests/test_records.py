"""Records can be compared and looked up, like all values."""

from __future__ import annotations

import numpy as np

from stakes.costs import Costs
from stakes.records import Records


def test_records_are_equal_to_themselves_only() -> None:
    one, other = (Records(np.eye(2), np.array([True, False]), Costs(fp=1, fn=[2, 3])) for _ in range(2))
    assert one == one
    assert one != other
    assert len({one, other}) == 2
