"""Small files in the formats of the publishers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from stakes.datasets import kdd98


def write_churn(folder: Path, n: int = 300) -> None:
    rng = np.random.default_rng(0)
    tenure, contract = rng.integers(0, 60, n), rng.choice(["Month-to-month", "One year", "Two year"], n)
    leaves = rng.logistic(size=n) > 0.05 * tenure + 1.5 * (contract != "Month-to-month") - 0.8
    yes_no = {
        name: rng.choice(["Yes", "No"], n)
        for name in (
            "Partner", "Dependents", "PhoneService", "MultipleLines", "OnlineSecurity", "OnlineBackup",
            "DeviceProtection", "TechSupport", "StreamingTV", "StreamingMovies", "PaperlessBilling",
        )
    }  # fmt: skip
    charge = rng.uniform(20, 110, n).round(2)
    pl.DataFrame(
        {
            "customerID": [f"{i:04d}" for i in range(n)],
            "gender": rng.choice(["Male", "Female"], n),
            "SeniorCitizen": rng.integers(0, 2, n),
            "tenure": tenure,
            **yes_no,
            "InternetService": rng.choice(["DSL", "No"], n),
            "Contract": contract,
            "PaymentMethod": rng.choice(["Mailed check", "Electronic check"], n),
            "MonthlyCharges": charge,
            "TotalCharges": (charge * tenure).round(2),
            "Churn": np.where(leaves, "Yes", "No"),
        }
    ).write_csv(folder / "telco_churn.csv")


def write_fraud(folder: Path, n: int = 900) -> None:
    rng = np.random.default_rng(1)
    table = {"Time": np.linspace(0, 172_000, n).round(), **{f"V{i}": rng.normal(size=n) for i in range(1, 29)}}
    fraud = rng.random(n) < 0.06
    table["V1"] = table["V1"] + 2.0 * fraud
    table["Amount"] = rng.exponential(90, n).round(2)
    table["Class"] = fraud.astype(int)
    pl.DataFrame(table).write_csv(folder / "creditcard.csv")


def write_donors(folder: Path, n: int = 600) -> None:
    rng = np.random.default_rng(2)
    columns = {name: rng.choice(["S4E", "A2G", "L1A", "I3F"], n) for name in kdd98.PAST_STATUS}
    columns |= {name: rng.choice(["a", "b"], n) for name in kdd98.PARTIAL_CATEGORIES}
    columns |= {name: rng.integers(0, 4, n) for name in kdd98.PARTIAL_NUMBERS}
    columns |= {name: rng.choice(["X", ""], n) for name in ("PEPSTRFL", "VETERANS", "PETS")}
    bracket = rng.choice(["D", "E", "G"], n)
    columns |= {"RFA_2": np.char.add("L2", bracket), "DOMAIN": rng.choice(["T2", "S1"], n)}
    gives = rng.random(n) < np.where(columns["RFA_2F"] > 1, 0.3, 0.1)
    gift = np.select([bracket == "D", bracket == "E"], [7.0, 12.0], 28.0) + rng.integers(0, 5, n)
    columns |= {"TARGET_B": gives.astype(int), "TARGET_D": np.where(gives, gift, 0.0)}
    pl.DataFrame(columns).write_parquet(folder / "kdd98_lrn_partial.parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_churn(folder)
    write_fraud(folder)
    write_donors(folder)
    return folder
