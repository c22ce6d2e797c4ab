"""Customers of a telephone company, some of whom leave."""

from __future__ import annotations

import numpy as np

from stakes._validation import check_value, choice
from stakes.costs import Costs
from stakes.datasets.dataset import CostDataset
from stakes.datasets.files import DataDir, Table, typed
from stakes.datasets.splits import SplitPlan

__all__ = ["load_telco_churn"]

TABLE = Table(
    title="Telco customer churn",
    names=(
        "telco_churn.parquet",
        "WA_Fn-UseC_-Telco-Customer-Churn.csv",
        "telco_churn.csv",
        "telco-customer-churn.zip",
    ),
    publisher="https://www.kaggle.com/datasets/blastchar/telco-customer-churn",
    openml_id=42178,
)

WHOLE = ("SeniorCitizen", "tenure")
NUMBERS = (*WHOLE, "MonthlyCharges", "TotalCharges")
# In the order of the file; its customerID is no feature and is left out.
FEATURES = (
    "gender", "SeniorCitizen", "Partner", "Dependents", "tenure", "PhoneService", "MultipleLines", "InternetService",
    "OnlineSecurity", "OnlineBackup", "DeviceProtection", "TechSupport", "StreamingTV", "StreamingMovies", "Contract",
    "PaperlessBilling", "PaymentMethod", "MonthlyCharges", "TotalCharges",
)  # fmt: skip
PLAN = SplitPlan(train=4508, validation=1127, test=1408)

DESCRIPTION = """\
7,043 customers of a telephone company, 26.5% of whom left within the last month (IBM sample data).

The campaign offers two free months to those thought to be leaving. A needless offer costs two monthly charges,
a customer lost for want of an offer twelve. `amount` is the monthly charge, which is a feature too."""


def load_telco_churn(data_dir: DataDir = None, *, source: str = "local") -> CostDataset:
    """Load the Telco customer churn data.

    Parameters
    ----------
    data_dir : path, default=None
        The directory with ``telco_churn.parquet``, or with the publisher's
        ``WA_Fn-UseC_-Telco-Customer-Churn.csv``, as it is or zipped; by default the one that the environment
        variable STAKES_DATA names.
    source : {"local", "openml"}, default="local"
        Read a local file, or fetch data set 42178 from OpenML with scikit-learn (needs pandas).

    Returns
    -------
    CostDataset
        19 features; C_FP = 2 x MonthlyCharges, C_FN = 12 x MonthlyCharges; splits of 4,508, 1,127 and 1,408
        records.

    Examples
    --------
    >>> from stakes.datasets import load_telco_churn
    >>> data = load_telco_churn("my/data")  # doctest: +SKIP
    >>> train, validation, test = data.parts(repeat=0)  # doctest: +SKIP
    """
    check_value("source", source, choice("local", "openml"))
    columns = (*FEATURES, "Churn")
    raw = TABLE.fetch(columns) if source == "openml" else TABLE.read(data_dir, columns)
    frame = typed(raw.drop("Churn"), [name for name in FEATURES if name not in NUMBERS], WHOLE)
    charge = frame["MonthlyCharges"].to_numpy()
    costs = Costs(fp=2 * charge, fn=12 * charge)
    return CostDataset(
        name="telco_churn",
        description=DESCRIPTION,
        frame=frame,
        target=raw["Churn"].replace_strict({"Yes": 1, "No": 0}).to_numpy().astype(np.int64),
        costs=costs,
        decision_costs=costs,
        amount=charge,
        plan=PLAN,
    )
