"""Public data sets: what of them is no feature, and what mistakes cost, as published or as a business would put it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from stakes import Costs
from stakes.study import StudyData

Pair = tuple[np.ndarray, np.ndarray]  # of a false positive and of a false negative, for each record
CostsOf = Callable[[pl.DataFrame, np.ndarray], Pair]  # from the records and whether they are positive


def credit(line: np.ndarray, positive: np.ndarray, loss: float = 0.75) -> Pair:
    """Return the published costs of granting credit (ICMLA 2014): 4.79% interest, 2.94% funding, 24 months."""
    rate, mean, share = 0.0191533, line.mean(), positive.mean()
    return np.maximum(0, rate * line - (1 - share) * rate * mean + share * loss * mean), loss * line


def churn(value: np.ndarray) -> Pair:
    """Return the published costs of retention: an offer of 5% of the value, a contact at 1, 30% of churners accept."""
    return 0.05 * value + 1, np.maximum(0, 0.285 * value - 1)


def _amounts(frame: pl.DataFrame, column: str) -> np.ndarray:
    return frame[column].to_numpy().astype(float)


def _lent(column: str, loss: float = 0.75) -> CostsOf:
    return lambda frame, positive: credit(_amounts(frame, column), positive, loss)


def _times(column: str, fp: float, fn: float) -> CostsOf:
    return lambda frame, positive: (fp * _amounts(frame, column), fn * _amounts(frame, column))


def _at_stake(column: str, alarm: float) -> CostsOf:
    return lambda frame, positive: (np.full(len(frame), float(alarm)), _amounts(frame, column))


def _constant(fp: float, fn: float) -> CostsOf:
    return lambda frame, positive: (np.full(len(frame), float(fp)), np.full(len(frame), float(fn)))


def _bank(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    return churn(25 + 0.02 * frame["Balance"].to_numpy())


def _cell(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    return churn(12 * np.maximum(0, frame["MonthlyRevenue"].to_numpy()))


def _iranian(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    return churn(_amounts(frame, "Customer Value"))


def _vehicle(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    middle = {"less than 20000": 15.0, "20000 to 29000": 24.5, "30000 to 39000": 34.5, "40000 to 59000": 49.5,
              "60000 to 69000": 64.5, "more than 69000": 80.0}  # fmt: skip
    price = frame["VehiclePrice"].replace_strict(middle, default=30.0).to_numpy()
    return 0 * price + 203, np.maximum(0, 2640 * price / price.mean() - 203)


def _polish(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    assets = frame["Attr29"].fill_null(frame["Attr29"].median())
    debts = (frame["Attr2"].fill_null(0.5) * 10**assets).to_numpy()
    debts = np.clip(debts, 0, np.quantile(debts, 0.99))
    return 0.02 * debts, 0.45 * debts


def _give(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    income, rate, months = _amounts(frame, "MonthlyIncome"), 0.0479 / 12, 24
    annuity = rate / (1 - (1 + rate) ** -months)  # the instalment of one unit
    afford = income * np.minimum(3 * annuity, 1 - frame["DebtRatio"].to_numpy()) / annuity
    return credit(np.minimum(np.minimum(3 * income, 25_000), afford), positive)


def _lending(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    months = frame["term"].cast(pl.String).str.extract(r"(\d+)").cast(pl.Float64)
    lent = _amounts(frame, "loan_amount")
    return np.maximum(0, (frame["installment"] * months).to_numpy() - lent), 0.75 * lent


def _mail(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    sale = 0.3 * frame.filter(positive)["spend"].mean() - 0.1  # a customer's own is known afterwards
    return _constant(0.1, sale)(frame, positive)


def _donors(frame: pl.DataFrame, positive: np.ndarray) -> Pair:
    return _constant(0.68, frame.filter(positive)["TARGET_D"].mean() - 0.68)(frame, positive)


@dataclass(frozen=True)
class PublicSet:
    """A data set: its file and domain, its target with the positive classes, and what mistakes cost.

    By its description some columns are no features: IDs, and what is known only afterwards.
    """

    file: str
    domain: str
    target: str
    positive: tuple[object, ...]
    costs: CostsOf | None = None  # None where nothing says what they are
    ids: tuple[str, ...] = ()
    afterwards: tuple[str, ...] = ()
    undecided: tuple[object, ...] = ()  # labels to leave out
    unused: tuple[str, ...] = ()  # features that are not studied
    records: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame  # those that are studied

    def decided(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the records without those that are not decided yet."""
        return frame.filter(~pl.col(self.target).is_in(list(self.undecided)))

    def is_positive(self) -> pl.Expr:
        """Return which records are positive."""
        return pl.col(self.target).is_in(list(self.positive))


RETENTION = ("RetentionCalls", "RetentionOffersAccepted", "MadeCallToRetentionTeam")
SETS = {
    "telco": PublicSet(
        "telco_churn", "churn", "Churn", ("Yes",), _times("MonthlyCharges", 2, 12), ids=("customerID",)
    ),
    "iranian": PublicSet(
        "iranian_churn", "churn", "Churn", (1,), _iranian,
        records=lambda frame: frame.unique(maintain_order=True),  # a tenth of the records are there twice
    ),
    "staff": PublicSet(
        "hr_attrition", "churn", "Attrition", ("Yes",), _times("MonthlyIncome", 0.75, 6), ids=("EmployeeNumber",)
    ),
    "german": PublicSet("german_credit", "credit", "class", (2,), _lent("credit_amount")),
    "bank": PublicSet("bank_customer_churn", "churn", "Exited", (1,), _bank, ids=("RowNumber", "CustomerId")),
    "hmeq": PublicSet("hmeq", "credit", "BAD", (1,), _lent("LOAN", 0.4)),
    "loans": PublicSet("consumer_loan_risk", "credit", "loan_status", (1,), _lent("loan_amnt")),
    "cards": PublicSet(
        "credit_card_default", "credit", "default.payment.next.month", (1,), _lent("LIMIT_BAL"), ids=("ID",)
    ),
    "cell": PublicSet(
        "cell2cell_churn", "churn", "Churn", ("Yes",), _cell, ids=("CustomerID",), afterwards=RETENTION,
        records=lambda frame: frame.filter(pl.col("MonthlyRevenue").is_not_null()).sample(15_000, seed=0),
    ),
    "vehicle": PublicSet("vehicle_claim_fraud", "fraud", "FraudFound_P", (1,), _vehicle, ids=("PolicyNumber",)),
    "polish1": PublicSet("polish_bankruptcy_1year", "credit", "class", (1,), _polish),
    "polish5": PublicSet("polish_bankruptcy_5year", "credit", "class", (1,), _polish),
    "give": PublicSet(
        "give_me_some_credit", "credit", "SeriousDlqin2yrs", (1,), _give, ids=("id",),
        records=lambda frame: frame.drop_nulls().filter(pl.col("DebtRatio") < 1, pl.col("MonthlyIncome") > 0),
    ),
    "lending": PublicSet(
        "lending_club_2007_2011", "credit", "loan_status", ("Charged Off",), _lending,
        ids=("id", "member_id"), afterwards=("total_payment",), undecided=("Current",),
    ),
    "claims": PublicSet(
        "auto_insurance_claims", "fraud", "fraud_reported", ("Y",), _at_stake("total_claim_amount", 203),
        ids=("policy_number", "incident_location"), unused=("policy_bind_date", "incident_date"),
    ),
    "fraud": PublicSet("creditcard", "fraud", "Class", (1,), _at_stake("Amount", 5), unused=("Time",)),
    "mail": PublicSet(
        "hillstrom_email", "marketing", "conversion", (1,), _mail, afterwards=("visit", "spend"),
        records=lambda frame: frame.filter(pl.col("segment").cast(pl.String) != "No E-Mail"),
    ),
    "donors": PublicSet(
        "kdd98_lrn_partial", "marketing", "TARGET_B", (1,), _donors, afterwards=("TARGET_D",), unused=("ZIP",)
    ),
    "heart": PublicSet("statlog_heart", "medicine", "class", (2,), _constant(1, 5)),
    "thyroid": PublicSet("ann_thyroid", "medicine", "class", (1, 2), _constant(1, 20), afterwards=("part",)),
    "mammography": PublicSet("mammography", "medicine", "class", (1,), _constant(1, 42)),
}  # fmt: skip


def load_set(directory: Path, name: str, *, records: int | None = None) -> StudyData:
    """Return a data set to study; at most some `records`, drawn at random, but as many as have some 150 positives."""
    frame, positive, fp, fn = priced_records(directory, name)
    if records is not None:
        n = min(len(frame), max(records, round(150 / positive.mean())))
        rows = np.sort(np.random.default_rng(0).choice(len(frame), n, replace=False))
        frame, positive, fp, fn = frame[rows], positive[rows], fp[rows], fn[rows]
    return study_data(name, frame, positive, Costs(fp=fp, fn=fn))


def priced_records(directory: Path, name: str) -> tuple[pl.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Return the features of a data set, which of its records are positive, and what mistakes cost on each."""
    known = SETS[name]
    assert known.costs is not None
    frame = known.records(known.decided(pl.read_parquet(directory / f"{known.file}.parquet")))
    positive = frame.select(known.is_positive()).to_series().to_numpy()
    features = frame.drop(known.target, *known.ids, *known.afterwards, *known.unused)
    return features, positive, *known.costs(frame, positive)


def study_data(name: str, frame: pl.DataFrame, positive: np.ndarray, costs: Costs, **more: object) -> StudyData:
    """Return records to study, a quarter of them to test on; what their columns say was known beforehand."""
    made = {"test_rows": None, "test_fraction": 0.25, "allow": (*frame.columns, "fp_cost", "fn_cost")} | more
    return StudyData(
        name=name, frame=frame, positive=positive, classes=("0", "1"), costs=costs, info={}, file_labels=(0, 1), **made
    )
