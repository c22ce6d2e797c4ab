"""Simulated records with record-dependent costs, for demonstrations and tests."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from stakes.costs import Costs
from stakes.datasets.dataset import CostDataset
from stakes.datasets.donations import donation_costs
from stakes.datasets.splits import SplitPlan

__all__ = ["make_churn", "make_donors", "make_transactions"]

RandomState = int | np.random.RandomState | None

PLAN = SplitPlan(train=60, validation=20, test=20)
ALARM_COST = 5.0


def make_transactions(
    n_records: int = 20_000, *, fraud_rate: float = 0.01, random_state: RandomState = None
) -> CostDataset:
    """Simulate card payments, a few of them frauds.

    A missed fraud costs its amount, a false alarm an administrative cost of 5. Frauds are likelier at night, far
    from home, in bursts, on young accounts, and at some kinds of merchant; distances and account ages are
    sometimes missing.

    Parameters
    ----------
    n_records : int, default=20_000
        Number of payments.
    fraud_rate : float, default=0.01
        Share of frauds, between 0 and 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the simulation.

    Returns
    -------
    CostDataset
        With the amount of each payment as `amount`.

    Examples
    --------
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(5000, fraud_rate=0.02, random_state=0)
    >>> data.frame.columns
    ['amount', 'hour', 'merchant', 'country', 'distance_km', 'account_age_days', 'transactions_24h']
    >>> int(data.target.sum())
    100
    """
    rng = check_random_state(random_state)
    merchants = {"grocery": -1.0, "fuel": -0.5, "restaurant": -0.5, "travel": 0.5, "electronics": 1.5, "jewellery": 1.5}
    countries = {"home": -0.5, "neighbour": 0.5, "overseas": 1.5}
    merchant = rng.choice(list(merchants), n_records, p=[0.35, 0.2, 0.2, 0.1, 0.1, 0.05])
    country = rng.choice(list(countries), n_records, p=[0.85, 0.1, 0.05])
    amount = np.round(rng.lognormal(3.5, 1.2, n_records), 2)
    hour = rng.randint(24, size=n_records)
    distance = rng.lognormal(1.5 + 2.0 * (country != "home"), 1.0)
    age = rng.exponential(900.0, n_records).astype(np.int64)
    recent = rng.poisson(2.0, n_records)
    night = (hour < 6).astype(float)
    score = (
        _effect(merchant, merchants)
        + _effect(country, countries)
        + 1.5 * night * (amount > 100)
        + 1.5 * (recent > 4)
        + 1.5 * (age < 90)
        + 1.0 * (distance > 50)
        + 0.5 * np.log(amount)
    )
    frame = pl.DataFrame(
        {
            "amount": amount,
            "hour": hour,
            "merchant": _categories(merchant),
            "country": _categories(country),
            "distance_km": _with_gaps(distance.round(1), 0.05, rng),
            "account_age_days": _with_gaps(age, 0.02, rng),
            "transactions_24h": recent,
        }
    )
    target = _classes(2.0 * score, fraud_rate, "fraud_rate", rng)
    costs = Costs(fp=ALARM_COST, fn=amount)
    description = "Simulated card payments. A missed fraud costs its amount, a false alarm 5."
    return CostDataset("transactions", description, frame, target, costs, costs, amount, PLAN)


def make_churn(n_records: int = 5_000, *, churn_rate: float = 0.25, random_state: RandomState = None) -> CostDataset:
    """Simulate customers of a telephone company, some of whom leave.

    A lost customer costs twelve monthly charges, a needless offer two.

    Parameters
    ----------
    n_records : int, default=5_000
        Number of customers.
    churn_rate : float, default=0.25
        Share of those who leave, between 0 and 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the simulation.

    Returns
    -------
    CostDataset
        With the monthly charge of each customer as `amount`.

    Examples
    --------
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(1000, random_state=0)
    >>> data.frame.columns
    ['tenure', 'contract', 'internet', 'payment', 'support_calls', 'monthly_charges', 'total_charges']
    """
    rng = check_random_state(random_state)
    contracts = {"monthly": 1.0, "one year": -0.5, "two years": -1.5}
    internet_services = {"none": -0.5, "dsl": 0.0, "fibre": 0.5}
    payments = {"card": -0.3, "transfer": -0.3, "cheque": 0.6}
    contract = rng.choice(list(contracts), n_records, p=[0.55, 0.2, 0.25])
    internet = rng.choice(list(internet_services), n_records, p=[0.2, 0.35, 0.45])
    payment = rng.choice(list(payments), n_records)
    tenure = rng.randint(73, size=n_records)
    calls = rng.poisson(1.0, n_records)
    charges = (20.0 + 35.0 * (internet == "dsl") + 60.0 * (internet == "fibre") + rng.gamma(2.0, 6.0, n_records)).round(
        2
    )
    score = (
        _effect(contract, contracts)
        + _effect(internet, internet_services)
        + _effect(payment, payments)
        + 1.5 * np.exp(-tenure / 12.0)
        + 1.0 * (calls > 2) * (contract == "monthly")
        + 0.01 * charges
    )
    frame = pl.DataFrame(
        {
            "tenure": tenure,
            "contract": _categories(contract),
            "internet": _categories(internet),
            "payment": _categories(payment),
            "support_calls": calls,
            "monthly_charges": charges,
            "total_charges": pl.Series(np.where(tenure > 0, (charges * tenure).round(2), np.nan), nan_to_null=True),
        }
    )
    target = _classes(1.5 * score, churn_rate, "churn_rate", rng)
    costs = Costs(fp=2 * charges, fn=12 * charges)
    description = "Simulated customers. A lost one costs twelve monthly charges, a needless offer two."
    return CostDataset("churn", description, frame, target, costs, costs, charges, PLAN)


def make_donors(
    n_records: int = 20_000, *, response_rate: float = 0.05, random_state: RandomState = None
) -> CostDataset:
    """Simulate donors to a charity, some of whom answer a mailing.

    A letter costs 0.68, a missed donor the donation less that. The donation is known only of those who gave: for the
    others, and for everybody at the time of the decision, it is estimated from training records. Those
    who give much answer less often.

    Parameters
    ----------
    n_records : int, default=20_000
        Number of people on the list.
    response_rate : float, default=0.05
        Share of those who give, between 0 and 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the simulation.

    Returns
    -------
    CostDataset
        With the donation as `amount`, 0 where there was none.

    Examples
    --------
    >>> from stakes.datasets import make_donors
    >>> data = make_donors(1000, random_state=0)
    >>> train, validation, test = data.parts()
    >>> bool((test.costs.fn == test.decision_costs.fn)[test.target == 0].all())
    True
    >>> bool((test.costs.fn == test.amount - 0.68)[test.target == 1].all())
    True
    """
    rng = check_random_state(random_state)
    areas = {"city": 0.2, "suburb": 0.3, "town": 0.0, "country": -0.3}
    area = rng.choice(list(areas), n_records)
    average = np.maximum(rng.lognormal(2.5, 0.5, n_records), 1.0).round(2)
    last = np.maximum(average * rng.lognormal(0.1, 0.3, n_records), 1.0).round()
    gifts = 1 + rng.poisson(6.0, n_records)
    months = rng.randint(13, 25, size=n_records)
    age = rng.normal(60.0, 15.0, n_records).clip(18, 98).round()
    income = rng.randint(1, 8, size=n_records)
    score = (
        _effect(area, areas)
        + 0.15 * gifts
        - 0.1 * (months - 18)
        - 0.8 * np.log(average)
        + 0.5 * ((age > 45) & (age < 75))
        + 0.05 * income
    )
    target = _classes(1.5 * score, response_rate, "response_rate", rng)
    donation = np.where(target == 1, np.maximum((0.9 * last * rng.lognormal(0.0, 0.3, n_records)).round(), 1.0), 0.0)
    frame = pl.DataFrame(
        {
            "average_gift": average,
            "last_gift": last,
            "n_gifts": gifts,
            "months_since_last_gift": months,
            "age": _with_gaps(age, 0.25, rng),
            "income": _with_gaps(income, 0.2, rng),
            "area": _categories(area),
        }
    )
    estimate = partial(donation_costs, features=("average_gift", "last_gift", "n_gifts", "income"))
    costs, decision_costs = estimate(frame, donation, PLAN.split(target, repeat=0, seed=0).train)
    description = "Simulated donors. A letter costs 0.68, a missed donor the donation less that."
    return CostDataset("donors", description, frame, target, costs, decision_costs, donation, PLAN, estimate)


def _classes(score: NDArray[np.float64], rate: float, name: str, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Return 1 for the share `rate` of records with the largest score after logistic noise.

    That is a logistic model with the intercept chosen to meet the rate exactly.
    """
    n_positive = round(rate * score.size)
    if not 0 < n_positive < score.size:
        raise ValueError(f"{name}={rate} of {score.size} records leaves one of the classes empty")
    noisy = score + rng.logistic(size=score.size)
    target = np.zeros(score.size, dtype=np.int64)
    target[np.argpartition(noisy, -n_positive)[-n_positive:]] = 1
    return target


def _effect(values: NDArray[np.str_], effects: dict[str, float]) -> NDArray[np.float64]:
    return np.select([values == name for name in effects], list(effects.values()))


def _categories(values: NDArray[np.str_]) -> pl.Series:
    return pl.Series(values, dtype=pl.Enum(np.unique(values)))


def _with_gaps(values: NDArray[np.number], share: float, rng: np.random.RandomState) -> pl.Series:
    """Turn a random share of the values into missing ones."""
    return pl.Series(np.where(rng.uniform(size=values.size) < share, np.nan, values), nan_to_null=True)
