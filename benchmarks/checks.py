"""Which columns of public data sets `stakes check` takes for leaks and IDs: no feature should be among them.

    python -m benchmarks.checks DIR            # a directory with the Parquet files
    python -m benchmarks.checks DIR --records 50000

The table says what is not a feature by the description of each data set: IDs, and what is known only afterwards.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import polars as pl

from stakes.study.check import look
from stakes.study.data import load_data


class Public(NamedTuple):
    """A data set: its target and positive class, and what is no feature."""

    target: str
    positive: tuple[object, ...]
    ids: tuple[str, ...] = ()
    afterwards: tuple[str, ...] = ()  # left out before the look: they may be leaks
    undecided: tuple[object, ...] = ()  # labels to leave out


RETENTION = ("RetentionCalls", "RetentionOffersAccepted", "MadeCallToRetentionTeam")
PUBLIC = {
    "telco_churn": Public("Churn", ("Yes",), ("customerID",)),
    "creditcard": Public("Class", (1,)),
    "kdd98_lrn_partial": Public("TARGET_B", (1,), (), ("TARGET_D",)),
    "kdd98_donor_sample": Public("TARGET_B", (1,), ("CONTROL_NUMBER",), ("TARGET_D",)),
    "german_credit": Public("class", (2,)),
    "give_me_some_credit": Public("SeriousDlqin2yrs", (1,), ("id",)),
    "credit_card_default": Public("default.payment.next.month", (1,), ("ID",)),
    "hmeq": Public("BAD", (1,)),
    "mammography": Public("class", (1,)),
    "statlog_heart": Public("class", (2,)),
    "ann_thyroid": Public("class", (1, 2), (), ("part",)),
    "vehicle_claim_fraud": Public("FraudFound_P", (1,), ("PolicyNumber",)),
    "auto_insurance_claims": Public("fraud_reported", ("Y",), ("policy_number", "incident_location")),
    "lending_club_2007_2011": Public(
        "loan_status", ("Charged Off",), ("id", "member_id"), ("total_payment",), ("Current",)
    ),
    "consumer_loan_risk": Public("loan_status", (1,)),
    "simulated_card_fraud": Public(
        "TX_FRAUD", (1,), ("TRANSACTION_ID", "CUSTOMER_ID", "TERMINAL_ID"), ("TX_FRAUD_SCENARIO",)
    ),
    "polish_bankruptcy_5year": Public("class", (1,)),
    "polish_bankruptcy_1year": Public("class", (1,)),
    "cell2cell_churn": Public("Churn", ("Yes",), ("CustomerID",), RETENTION),
    "iranian_churn": Public("Churn", (1,)),
    "bank_customer_churn": Public("Exited", (1,), ("RowNumber", "CustomerId")),
    "hr_attrition": Public("Attrition", ("Yes",), ("EmployeeNumber",)),
    "hillstrom_email": Public("conversion", (1,), (), ("visit", "spend")),
}  # fmt: skip


def main() -> int:
    """Print what is found, and return how many findings are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--records", type=int, default=50_000, help="how many records of each to look at, the first")
    options = parser.parse_args()
    wrong = missed = n_features = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, about in PUBLIC.items():
            path = options.directory / f"{name}.parquet"
            if not path.exists():
                print(f"{name:24s} SKIPPED: there is no {path}")
                continue
            found = checked(pl.read_parquet(path).head(options.records), about, Path(directory) / path.name)
            n_features += found.n_features
            false = [(kind, column) for kind, column in found.alarms if kind == "leak" or column not in about.ids]
            not_found = set(about.ids) - {column for kind, column in found.alarms if kind == "id"}
            wrong, missed = wrong + len(false), missed + len(not_found)
            wrongly = f"false alarms: {false or 'none'}; IDs missed: {not_found or 'none'}"
            print(f"{name:24s} {found.n_features:4d} features; {wrongly}")
    print(f"{n_features} features, {wrong} false alarms, {missed} IDs missed")
    return min(wrong, 1)


class Found(NamedTuple):
    """How many features there are, and which columns were suspected of what."""

    n_features: int
    alarms: list[tuple[str, str | None]]


def checked(frame: pl.DataFrame, about: Public, path: Path) -> Found:
    """Return what is found in a data set, without what is known only afterwards."""
    frame = frame.filter(~pl.col(about.target).is_in(list(about.undecided))).drop(about.afterwards)
    frame.with_columns(pl.col(about.target).is_in(list(about.positive))).write_parquet(path)
    data = load_data(path, target=about.target)
    alarms = [(check.kind, check.column) for check in look(data, 0) if check.kind in ("leak", "id")]
    return Found(data.frame.width, alarms)


if __name__ == "__main__":
    sys.exit(main())
