"""What the recommended model of a study saves on test records, against LightGBM by T_cs and against the promise.

    python benchmarks/choice.py DIRECTORY --out RESULTS [--sets telco,hmeq] [--splits 0,1] [--trees 100]

DIRECTORY has public data sets with record costs as Parquet files. A study that is finished is not run again, so that
the benchmark can be interrupted, and run in parts. For each data set and split a line is printed:

    set split | recommended | expected (90% interval) | delivered file | LightGBM by T_cs | lr by T_cs | best on test

All but the promise are on test records, and all are savings: 1 - cost / the cheaper of acting on none and on all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.sets import SETS, load_set
from stakes.metrics import savings_score
from stakes.persist import load
from stakes.study import Study

# Those of the published table: record costs, and small enough for studies as they come.
TWELVE = list(SETS)[:12]


def measure(directory: Path, out: Path, name: str, split: int, trees: int) -> list[float]:
    """Run or resume one study, print its line, and return its savings: delivered, LightGBM, lr, the best on test."""
    data = load_set(directory, name)
    study = Study(data, out=out / f"{name}-{split}", trees=trees, seed=split, measure="savings", metacost="none")
    summary = study.run().summary
    _, test = data.split(split)
    given = {"fp_cost": data.costs.fp[test], "fn_cost": data.costs.fn[test]}
    decided = load(study.directory / "best.skops").predict(data.frame[test], **given)
    found = [savings_score(data.positive[test].astype(int), decided, **given)]
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
    parser.add_argument("--sets", default=",".join(TWELVE))
    parser.add_argument("--splits", default="0,1")
    parser.add_argument("--trees", type=int, default=100)
    asked = parser.parse_args()
    pairs = [(name, split) for name in asked.sets.split(",") for split in map(int, asked.splits.split(","))]
    rows = [measure(asked.directory, asked.out, name, split, asked.trees) for name, split in pairs]
    means = np.nanmean(rows, axis=0)
    print("means: delivered {:.3f}, LightGBM {:.3f}, lr {:.3f}, best on test {:.3f}".format(*means))


if __name__ == "__main__":
    main()
