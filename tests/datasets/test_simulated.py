import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from stakes import Costs
from stakes.datasets import make_churn, make_donors, make_transactions

MAKERS = [make_transactions, make_churn, make_donors]


def money(y: np.ndarray, decision: np.ndarray, costs: Costs) -> float:
    return float(costs.of(y)[decision != y].sum())


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_data_and_another_one_others(make):
    first, again, other = (make(400, random_state=seed) for seed in (0, 0, 1))
    assert first.frame.equals(again.frame)
    np.testing.assert_array_equal(first.target, again.target)
    assert first.costs == again.costs
    assert not first.frame.equals(other.frame)


@pytest.mark.parametrize("make", MAKERS)
def test_a_random_state_instance_is_drawn_from_and_the_global_one_is_not(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert make(400, random_state=np.random.RandomState(3)).frame.equals(make(400, random_state=3).frame)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("make", "rate"),
    [(make_transactions, "fraud_rate"), (make_churn, "churn_rate"), (make_donors, "response_rate")],
)
def test_the_rate_of_positives_is_met_exactly(make, rate):
    assert make(1000, random_state=0, **{rate: 0.123}).target.sum() == 123
    with pytest.raises(ValueError, match=f"{rate}=0.0001 of 1000 records leaves one of the classes empty"):
        make(1000, random_state=0, **{rate: 0.0001})


@pytest.mark.parametrize("make", MAKERS)
def test_there_are_categories_and_missing_values(make):
    data = make(1000, random_state=0)
    assert any(isinstance(dtype, pl.Enum) for dtype in data.frame.dtypes)
    assert sum(data.frame.null_count().row(0)) > 0
    assert not any(data.frame.select(pl.col(pl.Float64).is_nan().any()).row(0))
    assert data.frame.height == data.target.size == data.amount.size == 1000


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("make", MAKERS)
def test_deciding_by_cost_saves_much_money_compared_with_deciding_by_one_half(make, seed):
    train, _, test = make(random_state=seed).parts()
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(train.frame, train.target)
    probability = model.predict_proba(test.frame)[:, 1]
    plain = money(test.target, probability > 0.5, test.costs)
    by_cost = money(test.target, probability > test.decision_costs.threshold(), test.costs)
    trivial = min(money(test.target, np.full(len(test), decision), test.costs) for decision in (0, 1))
    assert by_cost < 0.85 * plain
    assert by_cost < 0.9 * trivial


def test_costs_of_transactions_are_their_amounts_and_a_constant():
    data = make_transactions(500, fraud_rate=0.1, random_state=0)
    assert data.costs == Costs(fp=5, fn=data.frame["amount"].to_numpy())


def test_costs_of_churn_are_two_and_twelve_monthly_charges():
    data = make_churn(500, random_state=0)
    charges = data.frame["monthly_charges"].to_numpy()
    assert data.costs == Costs(fp=2 * charges, fn=12 * charges)


def test_donations_are_known_of_donors_only():
    data = make_donors(500, random_state=0)
    np.testing.assert_array_equal(data.amount > 0, data.target == 1)
