import pickle

import numpy as np
import polars as pl
import pytest

from stakes import Costs
from stakes.datasets import CostDataset, make_donors, make_transactions


def test_taking_rows_takes_them_from_everything():
    data = make_transactions(500, fraud_rate=0.1, random_state=0)
    rows = np.array([7, 3, 3, 499])
    part = data.take(rows)
    assert part.frame.equals(data.frame[rows.tolist()])
    np.testing.assert_array_equal(part.target, data.target[rows])
    np.testing.assert_array_equal(part.amount, data.amount[rows])
    assert part.costs == data.costs[rows]
    assert part.frame.schema == data.frame.schema


def test_a_mask_takes_the_same_records_as_its_row_numbers():
    data = make_transactions(500, fraud_rate=0.1, random_state=0)
    mask = data.target == 1
    assert data.take(mask).frame.equals(data.take(np.flatnonzero(mask)).frame)


def test_costs_known_beforehand_are_one_object_in_the_whole_and_in_its_parts():
    data = make_transactions(500, fraud_rate=0.1, random_state=0)
    assert data.decision_costs is data.costs
    assert all(part.decision_costs is part.costs for part in data.parts())
    assert data.estimated_from(np.arange(10)) is data


def test_parts_are_the_rows_of_the_split():
    data = make_transactions(500, fraud_rate=0.1, random_state=0)
    for part, rows in zip(data.parts(2, seed=5), data.split(2, seed=5), strict=True):
        assert part.frame.equals(data.frame[rows])


def test_parts_estimate_unknown_costs_from_their_own_training_set():
    data = make_donors(1000, response_rate=0.2, random_state=0)
    tests = [data.parts(repeat).test for repeat in (0, 1)]
    assert tests[0].frame.equals(tests[1].frame)
    assert tests[0].decision_costs != tests[1].decision_costs
    assert tests[1].decision_costs == data.estimated_from(data.split(1).train).decision_costs[data.split(1).test]


def test_a_part_cannot_be_split_again():
    with pytest.raises(ValueError, match="split the whole"):
        make_transactions(500, fraud_rate=0.1, random_state=0).parts().train.split()


def test_a_target_other_than_0_and_1_is_refused():
    costs = Costs(fp=1, fn=1)
    with pytest.raises(ValueError, match=r"0 or 1, found \[2\]"):
        CostDataset("x", "", pl.DataFrame({"a": [1, 2]}), np.array([1, 2]), costs, costs, np.ones(2))


def test_datasets_survive_pickling_with_their_split():
    data = make_donors(300, response_rate=0.2, random_state=0)
    copy = pickle.loads(pickle.dumps(data))
    assert copy.frame.equals(data.frame)
    assert copy.parts(1).test.decision_costs == data.parts(1).test.decision_costs
