"""What the recommended model of a study saves on test records, against LightGBM by T_cs and against the promise.

    python benchmarks/choice.py DIRECTORY --out RESULTS [--sets telco,hmeq] [--splits 0,1] [--trees 100]

DIRECTORY has public data sets with record costs as Parquet files. A study that is finished is not run again, so that
the benchmark can be interrupted, and run in parts. For each data set and split a line is printed:

    set split | recommended | expected (90% interval) | delivered file | LightGBM by T_cs | lr by T_cs | best on test

All but the promise are on test records, and all are savings: 1 - cost / the cheaper of acting on none and on all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from stakes import Costs
from stakes.metrics import savings_score
from stakes.persist import load
from stakes.study import Study, StudyData

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


SETS: dict[str, tuple[str, Callable[[pl.DataFrame], Made]]] = {
    "telco": ("telco_churn", _telco),
    "iranian": ("iranian_churn", _iranian),
    "staff": ("hr_attrition", _staff),
    "german": ("german_credit", _german),
    "bank": ("bank_customer_churn", _bank),
    "hmeq": ("hmeq", _hmeq),
    "loans": ("consumer_loan_risk", _loans),
    "cards": ("credit_card_default", _cards),
    "cell": ("cell2cell_churn", _cell),
    "vehicle": ("vehicle_claim_fraud", _vehicle),
    "polish1": ("polish_bankruptcy_1year", _polish),
    "polish5": ("polish_bankruptcy_5year", _polish),
}


def measure(directory: Path, out: Path, name: str, split: int, trees: int) -> list[float]:
    """Run or resume one study, print its line, and return its savings: delivered, LightGBM, lr, the best on test."""
    file, make = SETS[name]
    frame, positive, fp, fn = make(pl.read_parquet(directory / f"{file}.parquet"))
    data = StudyData(
        name=name, frame=frame, positive=positive, classes=("0", "1"), costs=Costs(fp=fp, fn=fn), test_rows=None,
        test_fraction=0.25, info={}, file_labels=(0, 1),
    )  # fmt: skip
    study = Study(data, out=out / f"{name}-{split}", trees=trees, seed=split, measure="savings", metacost="none")
    summary = study.run().summary
    _, test = data.split(split)
    given = {"fp_cost": fp[test], "fn_cost": fn[test]}
    decided = load(study.directory / "best.skops").predict(frame[test], **given)
    found = [savings_score(positive[test].astype(int), decided, **given)]
    base = min(summary["money"]["nothing"], summary["money"]["everything"])
    costs = {rival["name"]: rival["cost"] for rival in summary["money"]["rivals"]}
    found += [1 - costs[rival] / base if rival in costs else np.nan for rival in ("lgbm", "lr")]
    found.append(summary["leaderboards"]["test"][0]["test"])
    chosen, expected = summary["chosen"], summary["chosen"]["expected"]
    promise = f"{expected['value']:.3f} ({expected['low']:.3f} to {expected['high']:.3f})"
    print(
        f"{name:8} {split} | {chosen['name']:8} | {promise} | " + " | ".join(f"{value:.3f}" for value in found),
        flush=True,
    )
    return found


def main() -> None:
    """Run the data sets that were asked for, and print means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--splits", default="0,1")
    parser.add_argument("--trees", type=int, default=100)
    asked = parser.parse_args()
    pairs = [(name, split) for name in asked.sets.split(",") for split in map(int, asked.splits.split(","))]
    rows = [measure(asked.directory, asked.out, name, split, asked.trees) for name, split in pairs]
    means = np.nanmean(rows, axis=0)
    print("means: delivered {:.3f}, LightGBM {:.3f}, lr {:.3f}, best on test {:.3f}".format(*means))


if __name__ == "__main__":
    main()
