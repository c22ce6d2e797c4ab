"""Two days of card payments, a few of them frauds."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes._validation import check_value, choice
from stakes.costs import Costs
from stakes.datasets.dataset import CostDataset
from stakes.datasets.files import DataDir, Table, typed
from stakes.datasets.splits import Rows, SplitPlan

__all__ = ["load_credit_card_fraud"]

TABLE = Table(
    title="Credit card fraud",
    names=("creditcard.parquet", "creditcard.csv", "creditcard.csv.zip", "creditcardfraud.zip"),
    publisher="https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
    openml_id=1597,
)

FEATURES = ("Time", *(f"V{i}" for i in range(1, 29)), "Amount")
SECONDS_PER_DAY = 86_400
# Records are ordered by time, so the days can also be separated by position where the time is left out.
N_RECORDS, N_DAY_ONE, N_DAY_ONE_FRAUDS = 284_807, 144_786, 281

DESCRIPTION = """\
284,807 card payments of two days in September 2013, 492 of them frauds (Worldline and the ULB Machine Learning Group).

A missed fraud costs its amount, a false alarm a constant overhead. Training and validation sets are drawn from
the first day, the second day is the test set. `amount` is the amount of the payment, which is a feature too."""


def load_credit_card_fraud(data_dir: DataDir = None, *, fp_cost: float = 5.0, source: str = "local") -> CostDataset:
    """Load the credit card fraud data.

    Parameters
    ----------
    data_dir : path, default=None
        The directory with ``creditcard.parquet``, or with the publisher's ``creditcard.csv``, as it is or zipped;
        by default the one that the environment variable STAKES_DATA names.
    fp_cost : float, default=5.0
        Overhead of a false alarm, in euros. The published experiments use 1, 2 and 5.
    source : {"local", "openml"}, default="local"
        Read a local file, or fetch data set 1597 from OpenML with scikit-learn (needs pandas). Where OpenML leaves
        out the feature `Time`, so does the result, and the days are separated by position.

    Returns
    -------
    CostDataset
        30 features; C_FP = `fp_cost`, C_FN = Amount; the first day split into 110,852 and 33,934 records,
        the 140,021 of the second as the test set.

    Examples
    --------
    >>> from stakes.datasets import load_credit_card_fraud
    >>> data = load_credit_card_fraud("my/data", fp_cost=2)  # doctest: +SKIP
    >>> train, validation, test = data.parts(repeat=0)  # doctest: +SKIP
    """
    check_value("source", source, choice("local", "openml"))
    columns = (*FEATURES, "Class")
    raw = TABLE.fetch(columns, optional=("Time",)) if source == "openml" else TABLE.read(data_dir, columns)
    frame = typed(raw.drop("Class"), ())
    target = raw["Class"].cast(pl.Float64).cast(pl.Int64).to_numpy()
    amount = frame["Amount"].to_numpy()
    costs = Costs(fp=fp_cost, fn=amount)
    return CostDataset(
        name="credit_card_fraud",
        description=DESCRIPTION,
        frame=frame,
        target=target,
        costs=costs,
        decision_costs=costs,
        amount=amount,
        plan=SplitPlan(train=110_852, validation=33_934, test=_day_two(frame, target)),
    )


def _day_two(frame: pl.DataFrame, target: NDArray[np.int64]) -> Rows:
    if "Time" in frame.columns:
        return np.flatnonzero(frame["Time"].to_numpy() >= SECONDS_PER_DAY)
    if len(target) != N_RECORDS or target[:N_DAY_ONE].sum() != N_DAY_ONE_FRAUDS:
        raise ValueError(
            "without the column Time the days are separated by position, and these are not the published records "
            "in their order: use the publisher's file"
        )
    return np.arange(N_DAY_ONE, N_RECORDS)
