"""Public data sets with what mistakes cost on them, as published or as a business would put it, by domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from stakes import Costs
from stakes.study import StudyData

Made = tuple[pl.DataFrame, np.ndarray, np.ndarray, np.ndarray]


def credit(line: np.ndarray, positive: np.ndarray, loss: float = 0.75) -> tuple[np.ndarray, np.ndarray]:
    """Return the published costs of granting credit (ICMLA 2014): 4.79% interest, 2.94% funding, 24 months."""
    rate, mean, share = 0.0191533, line.mean(), positive.mean()
    return np.maximum(0, rate * line - (1 - share) * rate * mean + share * loss * mean), loss * line


def churn(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the published costs of retention: an offer of 5% of the value, a contact at 1, 30% of churners accept."""
    return 0.05 * value + 1, np.maximum(0, 0.285 * value - 1)


def _telco(frame: pl.DataFrame) -> Made:
    charge = frame["MonthlyCharges"].to_numpy()
    return frame.drop("Churn", "customerID"), (frame["Churn"] == "Yes").to_numpy(), 2 * charge, 12 * charge


def _bank(frame: pl.DataFrame) -> Made:
    costs = churn(25 + 0.02 * frame["Balance"].to_numpy())
    return frame.drop("Exited", "RowNumber", "CustomerId"), (frame["Exited"] == 1).to_numpy(), *costs


def _hmeq(frame: pl.DataFrame) -> Made:
    positive = (frame["BAD"] == 1).to_numpy()
    return frame.drop("BAD"), positive, *credit(frame["LOAN"].to_numpy().astype(float), positive, 0.4)


def _loans(frame: pl.DataFrame) -> Made:
    positive = (frame["loan_status"] == 1).to_numpy()
    return frame.drop("loan_status"), positive, *credit(frame["loan_amnt"].to_numpy().astype(float), positive)


def _cards(frame: pl.DataFrame) -> Made:
    target = "default.payment.next.month"
    positive = (frame[target] == 1).to_numpy()
    return frame.drop(target, "ID"), positive, *credit(frame["LIMIT_BAL"].to_numpy().astype(float), positive)


def _cell(frame: pl.DataFrame) -> Made:
    frame = frame.filter(pl.col("MonthlyRevenue").is_not_null()).sample(15_000, seed=0)
    costs = churn(12 * np.maximum(0, frame["MonthlyRevenue"].to_numpy()))
    afterwards = ("RetentionCalls", "RetentionOffersAccepted", "MadeCallToRetentionTeam")
    return frame.drop("Churn", "CustomerID", *afterwards), (frame["Churn"] == "Yes").to_numpy(), *costs


def _vehicle(frame: pl.DataFrame) -> Made:
    middle = {"less than 20000": 15.0, "20000 to 29000": 24.5, "30000 to 39000": 34.5, "40000 to 59000": 49.5,
              "60000 to 69000": 64.5, "more than 69000": 80.0}  # fmt: skip
    price = frame["VehiclePrice"].replace_strict(middle, default=30.0).to_numpy()
    claim = np.maximum(0, 2640 * price / price.mean() - 203)
    return frame.drop("FraudFound_P", "PolicyNumber"), (frame["FraudFound_P"] == 1).to_numpy(), 0 * price + 203, claim


def _polish(frame: pl.DataFrame) -> Made:
    assets = frame["Attr29"].fill_null(frame["Attr29"].median())
    debts = (frame["Attr2"].fill_null(0.5) * 10**assets).to_numpy()
    debts = np.clip(debts, 0, np.quantile(debts, 0.99))
    return frame.drop("class"), (frame["class"].cast(pl.String) == "1").to_numpy(), 0.02 * debts, 0.45 * debts


def _iranian(frame: pl.DataFrame) -> Made:
    frame = frame.unique(maintain_order=True)  # a tenth of the records are there twice
    costs = churn(frame["Customer Value"].to_numpy().astype(float))
    return frame.drop("Churn"), (frame["Churn"] == 1).to_numpy(), *costs


def _staff(frame: pl.DataFrame) -> Made:
    income = frame["MonthlyIncome"].to_numpy().astype(float)
    return (
        frame.drop("Attrition", "EmployeeNumber"),
        (frame["Attrition"] == "Yes").to_numpy(),
        0.75 * income,
        6 * income,
    )


def _german(frame: pl.DataFrame) -> Made:
    positive = (frame["class"].cast(pl.String) == "2").to_numpy()
    return frame.drop("class"), positive, *credit(frame["credit_amount"].to_numpy().astype(float), positive)


def _thyroid(frame: pl.DataFrame) -> Made:
    ill = frame["class"].is_in([1, 2]).to_numpy()
    return frame.drop("class", "part"), ill, *_constant(len(frame), 1, 20)


def _mammography(frame: pl.DataFrame) -> Made:
    return frame.drop("class"), (frame["class"].cast(pl.String) == "1").to_numpy(), *_constant(len(frame), 1, 42)


def _heart(frame: pl.DataFrame) -> Made:
    return frame.drop("class"), (frame["class"].cast(pl.String) == "2").to_numpy(), *_constant(len(frame), 1, 5)


def _give(frame: pl.DataFrame) -> Made:
    frame = frame.drop("id").drop_nulls().filter(pl.col("DebtRatio") < 1, pl.col("MonthlyIncome") > 0)
    income, rate, months = frame["MonthlyIncome"].to_numpy().astype(float), 0.0479 / 12, 24
    annuity = rate / (1 - (1 + rate) ** -months)  # the instalment of one unit
    afford = income * np.minimum(3 * annuity, 1 - frame["DebtRatio"].to_numpy()) / annuity
    positive = (frame["SeriousDlqin2yrs"] == 1).to_numpy()
    line = np.minimum(np.minimum(3 * income, 25_000), afford)
    return frame.drop("SeriousDlqin2yrs"), positive, *credit(line, positive)


def _lending(frame: pl.DataFrame) -> Made:
    frame = frame.filter(pl.col("loan_status") != "Current")
    months = frame["term"].cast(pl.String).str.extract(r"(\d+)").cast(pl.Float64)
    lent = frame["loan_amount"].to_numpy().astype(float)
    interest = np.maximum(0, (frame["installment"] * months).to_numpy() - lent)
    afterwards = ("loan_status", "total_payment", "id", "member_id")
    return frame.drop(afterwards), (frame["loan_status"] == "Charged Off").to_numpy(), interest, 0.75 * lent


def _claims(frame: pl.DataFrame) -> Made:
    positive = (frame["fraud_reported"] == "Y").to_numpy()
    claim = frame["total_claim_amount"].to_numpy().astype(float)
    identifiers = ("policy_number", "incident_location", "policy_bind_date", "incident_date")
    frame = frame.drop("fraud_reported", *identifiers)
    return frame, positive, 0 * claim + 203, claim


def _fraud(frame: pl.DataFrame) -> Made:
    amount = frame["Amount"].to_numpy()
    return frame.drop("Class", "Time"), (frame["Class"] == 1).to_numpy(), 0 * amount + 5, amount


def _mail(frame: pl.DataFrame) -> Made:
    frame = frame.filter(pl.col("segment").cast(pl.String) != "No E-Mail")
    positive = (frame["conversion"] == 1).to_numpy()
    sale = 0.3 * frame.filter(pl.col("conversion") == 1)["spend"].mean() - 0.1  # a customer's own is known afterwards
    return frame.drop("visit", "conversion", "spend"), positive, *_constant(len(frame), 0.1, sale)


def _donors(frame: pl.DataFrame) -> Made:
    positive = (frame["TARGET_B"] == 1).to_numpy()
    gift = frame.filter(pl.col("TARGET_B") == 1)["TARGET_D"].mean() - 0.68
    return frame.drop("TARGET_B", "TARGET_D", "ZIP"), positive, *_constant(len(frame), 0.68, gift)


def _constant(n: int, fp: float, fn: float) -> tuple[np.ndarray, np.ndarray]:
    return np.full(n, float(fp)), np.full(n, float(fn))


@dataclass(frozen=True)
class PricedSet:
    """A data set: its file, what it is about, and how records and costs are made of it."""

    file: str
    domain: str
    make: Callable[[pl.DataFrame], Made]
    per_record: bool = True  # whether costs differ from record to record


SETS = {
    "telco": PricedSet("telco_churn", "churn", _telco),
    "iranian": PricedSet("iranian_churn", "churn", _iranian),
    "staff": PricedSet("hr_attrition", "churn", _staff),
    "german": PricedSet("german_credit", "credit", _german),
    "bank": PricedSet("bank_customer_churn", "churn", _bank),
    "hmeq": PricedSet("hmeq", "credit", _hmeq),
    "loans": PricedSet("consumer_loan_risk", "credit", _loans),
    "cards": PricedSet("credit_card_default", "credit", _cards),
    "cell": PricedSet("cell2cell_churn", "churn", _cell),
    "vehicle": PricedSet("vehicle_claim_fraud", "fraud", _vehicle),
    "polish1": PricedSet("polish_bankruptcy_1year", "credit", _polish),
    "polish5": PricedSet("polish_bankruptcy_5year", "credit", _polish),
    "give": PricedSet("give_me_some_credit", "credit", _give),
    "lending": PricedSet("lending_club_2007_2011", "credit", _lending),
    "claims": PricedSet("auto_insurance_claims", "fraud", _claims),
    "fraud": PricedSet("creditcard", "fraud", _fraud),
    "mail": PricedSet("hillstrom_email", "marketing", _mail, per_record=False),
    "donors": PricedSet("kdd98_lrn_partial", "marketing", _donors, per_record=False),
    "heart": PricedSet("statlog_heart", "medicine", _heart, per_record=False),
    "thyroid": PricedSet("ann_thyroid", "medicine", _thyroid, per_record=False),
    "mammography": PricedSet("mammography", "medicine", _mammography, per_record=False),
}


def load_set(directory: Path, name: str, *, records: int | None = None, positives: int = 150) -> StudyData:
    """Return a data set to study; at most some `records`, drawn at random, but as many as have some `positives`."""
    known = SETS[name]
    frame, positive, fp, fn = known.make(pl.read_parquet(directory / f"{known.file}.parquet"))
    if records is not None:
        n = min(len(frame), max(records, round(positives / positive.mean())))
        rows = np.sort(np.random.default_rng(0).choice(len(frame), n, replace=False))
        frame, positive, fp, fn = frame[rows], positive[rows], fp[rows], fn[rows]
    return study_data(name, frame, positive, Costs(fp=fp, fn=fn))


def study_data(name: str, frame: pl.DataFrame, positive: np.ndarray, costs: Costs, **more: object) -> StudyData:
    """Return records to study, a quarter of them to test on; what their columns say was known beforehand."""
    made = {"test_rows": None, "test_fraction": 0.25, "allow": (*frame.columns, "fp_cost", "fn_cost")} | more
    return StudyData(
        name=name, frame=frame, positive=positive, classes=("0", "1"), costs=costs, info={}, file_labels=(0, 1), **made
    )
