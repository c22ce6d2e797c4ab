"""Which columns of public data sets `stakes check` takes for leaks and IDs: no feature should be among them.

    python -m benchmarks.checks DIR            # a directory with the Parquet files
    python -m benchmarks.checks DIR --records 50000

What is not a feature, by the description of each data set, is an ID or known only afterwards.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl

from benchmarks.sets import SETS, PublicSet
from stakes.study.check import look
from stakes.study.loading import load_data

# Besides those of `benchmarks.sets`, and by the same description: what is no feature.
OTHERS = (
    PublicSet(
        "kdd98_donor_sample", "marketing", "TARGET_B", (1,), ids=("CONTROL_NUMBER",), afterwards=("TARGET_D",)
    ),
    PublicSet(
        "simulated_card_fraud", "fraud", "TX_FRAUD", (1,),
        ids=("TRANSACTION_ID", "CUSTOMER_ID", "TERMINAL_ID"), afterwards=("TX_FRAUD_SCENARIO",),
    ),
)  # fmt: skip


def main() -> int:
    """Print what is found, and return how many findings are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--records", type=int, default=50_000, help="how many records of each to look at, the first")
    options = parser.parse_args()
    wrong = missed = n_features = 0
    with tempfile.TemporaryDirectory() as directory:
        for about in (*SETS.values(), *OTHERS):
            name, path = about.file, options.directory / f"{about.file}.parquet"
            if not path.exists():
                print(f"{name:24s} SKIPPED: there is no {path}")
                continue
            frame = about.decided(pl.read_parquet(path).head(options.records)).drop(about.afterwards)
            copy = Path(directory) / path.name
            frame.with_columns(about.is_positive()).write_parquet(copy)
            data = load_data(copy, target=about.target)
            alarms = [(check.kind, check.column) for check in look(data, 0) if check.kind in ("leak", "id")]
            n_features += data.frame.width
            false = [(kind, column) for kind, column in alarms if kind == "leak" or column not in about.ids]
            not_found = set(about.ids) - {column for kind, column in alarms if kind == "id"}
            wrong, missed = wrong + len(false), missed + len(not_found)
            wrongly = f"false alarms: {false or 'none'}; IDs missed: {not_found or 'none'}"
            print(f"{name:24s} {data.frame.width:4d} features; {wrongly}")
    print(f"{n_features} features, {wrong} false alarms, {missed} IDs missed")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
