"""What the choice among a few methods saves, against the choice among all: from finished studies, with nothing trained.

    python -m benchmarks.quick imbalance --out RESULTS [--sets glass4,yeast3] [--methods quick] [--methods lr,rf]
    python -m benchmarks.quick costs --data DIRECTORY --out RESULTS
    python -m benchmarks.quick simulated --out RESULTS

RESULTS is what `benchmarks.state_of_the_art` has written for the same kind of data. The rows of the methods asked for
are what a study of these alone would have; the choice is made among them, and judged on the test records.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.state_of_the_art import KINDS, data_of
from stakes.study import Study, StudyData
from stakes.study.findings import find
from stakes.study.plan import plan_units
from stakes.study.store import Store

ALL = "all"


def chosen(data: StudyData, out: Path, asked: Sequence[str], *, trees: int, seed: int) -> Iterator[tuple[float, str]]:
    """Yield what the choice among the methods of each list saves on test records, and its name."""
    study = Study(data, out=out, methods=(ALL,), trees=trees, seed=seed, measure="savings", jobs=1)
    with Store(out, study._fingerprint()).opened() as store:
        units = [store.read(unit.key) for unit in study.units]
        rows = pl.concat([unit for unit in units if unit is not None])
        for methods in asked:
            config = replace(study.config, methods=tuple(methods.split(",")))
            kept = [
                (pl.col("method") == unit.method)
                & (pl.col("train_costs") == unit.train_costs)
                & pl.col("tree").eq_missing(pl.lit(unit.tree))
                & pl.col("member").is_in(unit.members)
                for unit in plan_units(config, study.ratios)
            ]
            found = find(rows.filter(pl.any_horizontal(kept)), data, config, store).recommendation
            if found is not None:
                yield found.row["test_savings"], found.row["name"]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets")
    parser.add_argument("--methods", action="append")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--records", type=int, default=5_000)
    options = parser.parse_args()
    finished = {path.parent.name for path in options.out.glob("*/summary.json")}
    names = [name.removesuffix(f"-{options.seed}") for name in sorted(finished)]
    if options.sets:
        names = [name for name in names if name in options.sets.split(",")]
    asked = [*(options.methods or ["quick"]), ALL]
    saved = []
    for data in data_of(options.kind, options.data, names, options.records):
        out = options.out / f"{data.name}-{options.seed}"
        found = list(chosen(data, out, asked, trees=options.trees, seed=options.seed))
        saved.append([savings for savings, _ in found])
        print(f"{data.name:30s}", "  ".join(f"{savings:7.4f} {name:12s}" for savings, name in found), flush=True)
    figures = np.array(saved)
    for methods, values in zip(asked, figures.T, strict=True):
        behind = values - figures[:, -1]
        error = behind.std(ddof=1) / np.sqrt(behind.size) if behind.size > 1 else np.nan
        print(f"{values.mean():.4f}, against all {behind.mean():+.4f} (standard error {error:.4f}): {methods}")


if __name__ == "__main__":
    main()
