"""The loss of a node by each criterion, against the formulas of FRAMEWORK 5.1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import loss_by_the_book

from stakes.tree.criteria import CRITERIA, check_criterion, children_loss, gini_loss, node_loss
from stakes.tree.growing import Settings, grow
from stakes.tree.nodes import FeatureBins

weights = st.integers(0, 2**50)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(positive=weights, negative=weights)
def test_node_loss_is_impurity_times_weight_or_the_cost_of_the_cheaper_label(criterion, positive, negative):
    loss = node_loss(CRITERIA[criterion], float(positive), float(negative))
    expected = loss_by_the_book(criterion, positive, negative)
    assert loss == pytest.approx(expected, rel=1e-12, abs=1e-13 * (positive + negative))
    assert loss >= 0


@pytest.mark.parametrize("criterion", CRITERIA)
@given(sides=st.tuples(weights, weights, weights, weights))
def test_children_loss_is_the_sum_of_both_and_no_more_than_the_loss_of_the_parent(criterion, sides):
    left_p, left_n, right_p, right_n = map(float, sides)
    loss = children_loss(CRITERIA[criterion], left_p, left_n, right_p, right_n)
    rounding = 1e-13 * sum(sides)
    expected = loss_by_the_book(criterion, left_p, left_n) + loss_by_the_book(criterion, right_p, right_n)
    assert loss == pytest.approx(expected, rel=1e-12, abs=rounding)
    assert loss <= node_loss(CRITERIA[criterion], left_p + right_p, left_n + right_n) + rounding


@pytest.mark.parametrize("criterion", CRITERIA)
@given(weight=weights)
def test_pure_and_empty_nodes_lose_nothing(criterion, weight):
    assert node_loss(CRITERIA[criterion], float(weight), 0.0) == 0.0
    assert node_loss(CRITERIA[criterion], 0.0, float(weight)) == 0.0
    assert children_loss(CRITERIA[criterion], float(weight), 0.0, 0.0, float(weight)) == 0.0
    assert children_loss(CRITERIA[criterion], 0.0, 0.0, 0.0, float(weight)) == 0.0


def test_numbers_worked_out_by_hand():
    # 3 of 4 positive: Gini 1 - 9/16 - 1/16 = 3/8; the entropy is 2 - (3/4) log2 3
    assert node_loss(CRITERIA["gini"], 3.0, 1.0) == pytest.approx(4 * 3 / 8)
    assert gini_loss(3.0, 1.0) == pytest.approx(4 * 3 / 8)
    assert node_loss(CRITERIA["entropy"], 3.0, 1.0) == pytest.approx(4 * (2 - 0.75 * np.log2(3)))
    assert node_loss(CRITERIA["gain_ratio"], 3.0, 1.0) == pytest.approx(4 * (2 - 0.75 * np.log2(3)))
    # Missed frauds of 30 against false alarms of 12: call it positive, and pay the 12
    assert node_loss(CRITERIA["cost"], 30.0, 12.0) == 12.0


@pytest.mark.parametrize("number", [-1, len(CRITERIA), 99])
def test_a_number_without_a_criterion_is_an_error(number):
    with pytest.raises(ValueError, match=f"no criterion has the number {number}"):
        check_criterion(number)
    with pytest.raises(ValueError, match=f"no criterion has the number {number}"):
        grow(
            np.zeros((2, 8), np.uint8),
            np.array([0, 1], np.uint8),
            np.ones(2, np.int32),
            np.empty(0),
            np.zeros(1, np.int32),
            FeatureBins(np.ones(1, np.int32), np.zeros(1, np.uint8), np.zeros((1, 256))),
            Settings(number, 1, 2, 1, 1, True, 0),
        )


def test_every_named_criterion_has_a_loss():
    for number in CRITERIA.values():
        check_criterion(number)
