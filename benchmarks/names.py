"""What every name of the paper saves by itself: the classifier as it comes, with no decision chosen and nothing tuned.

    python -m benchmarks.names DIRECTORY [--sets telco,hmeq,vehicle] [--names asb,dm-bg]
        [--repeats 3] [--trees 100] [--records 8000]

DIRECTORY has the Parquet files of `benchmarks.sets`. Records are divided as the paper divides Telco churn: 4,508 to
train on and 1,127 to validate, drawn anew in each repeat, and 1,408 to test on; in these proportions elsewhere. Cost%
is the share of the cost of acting on none that is saved, on test records, averaged over repeats; in
brackets is the standard error of that mean. Acting on all is the other policy without a model, and every cost-sensitive
name has to be better than both.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.sets import load_set
from stakes import list_methods, make_classifier
from stakes.datasets import Split, SplitPlan
from stakes.exceptions import StakesWarning
from stakes.metrics import cost_reduction
from stakes.paper.protocol import PAPER_METHODS
from stakes.study import StudyData

PAPERS_SPLIT = SplitPlan(4508, 1127, 1408)
# The models of the paper's tables: the first three of churn, then marketing, then fraud.
WINNERS = ("acost", "asb", "dm-bg", "dm-rdf", "dm-upbg", "dm-uprdf", "dm-oprdf")


def names() -> list[str]:
    """Return the names of the paper's table that take costs into account, and AdaBoost as it was calibrated there."""
    methods = list_methods()
    papers = [method for method in methods if method.name.removeprefix("dm-") in (*PAPER_METHODS, "cab")]
    return [method.name for method in papers if method.costs != "none"]


class Found(NamedTuple):
    """The Cost% of a name on test records, its standard error over repeats, and the share acted on."""

    name: str
    saved: float
    error: float
    acted: float


def measure(data: StudyData, asked: Sequence[str], trees: int, repeats: int) -> Iterator[Found]:
    """Yield what names have; first the policy to act on all."""
    target = data.positive.astype(np.int64)
    splits = [PAPERS_SPLIT.split(target, repeat=repeat, seed=0) for repeat in range(repeats)]
    test = splits[0].test
    costs = {"fp_cost": data.costs[test].fp, "fn_cost": data.costs[test].fn}
    yield Found("acting on all", 100 * cost_reduction(target[test], np.ones(test.size), **costs), 0.0, 1.0)
    for name in asked:
        found = [_decide(name, data, target, split, trees) for split in splits]
        saved = [100 * cost_reduction(target[test], acted, **costs) for acted in found]
        error = float(np.std(saved, ddof=1) / np.sqrt(repeats)) if repeats > 1 else 0.0
        yield Found(name, float(np.mean(saved)), error, float(np.mean(found)))


def _decide(name: str, data: StudyData, target: np.ndarray, split: Split, trees: int) -> np.ndarray:
    """Return which test records a classifier acts on."""
    train, validation, test = (data.costs[rows] for rows in split)
    classifier = make_classifier(name, n_estimators=trees, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StakesWarning)
        classifier.fit(
            data.frame[split.train], target[split.train], fp_cost=train.fp, fn_cost=train.fn,
            X_val=data.frame[split.validation], y_val=target[split.validation],
            fp_cost_val=validation.fp, fn_cost_val=validation.fn,
        )  # fmt: skip
        return np.asarray(classifier.predict(data.frame[split.test], fp_cost=test.fp, fn_cost=test.fn))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sets", default="telco,hmeq,vehicle")
    parser.add_argument("--names", help="some names only, the paper's winners among them or not")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--records", type=int, default=8000, help="how many records of a data set at most")
    options = parser.parse_args()
    for name in options.sets.split(","):
        data = load_set(options.directory, name, records=options.records)
        print(f"{name}: {len(data.frame):,} records, {data.positive.mean():.1%} positive", flush=True)
        found = {}
        asked = options.names.split(",") if options.names else names()
        for method, saved, error, acted in measure(data, asked, options.trees, options.repeats):
            found[method] = saved
            print(f"  {method:14s} Cost% {saved:7.2f} ({error:.2f})   acts on {acted:6.1%}", flush=True)
        trivial, best = max(0.0, found.pop("acting on all")), max(found, key=found.__getitem__)
        beaten = [method for method, saved in found.items() if saved <= trivial]
        above = f"{len(found) - len(beaten)} of {len(found)} names are above {trivial:.2f}"
        print(f"  {above}; not: {', '.join(beaten) or '-'}")
        behind = {method: f"{found[best] - found[method]:.2f}" for method in WINNERS if method in found}
        print(f"  best {best} with {found[best]:.2f}; the paper's winners are behind by {behind}", flush=True)


if __name__ == "__main__":
    main()
