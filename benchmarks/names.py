"""What every name of the paper saves by itself: the classifier as it comes, with no decision chosen and nothing tuned.

    python -m benchmarks.names DIRECTORY [--sets telco,hmeq,vehicle] [--names asb,dm-bg]
        [--repeats 3] [--trees 100] [--records 8000] [--hindsight]

DIRECTORY has the Parquet files of `benchmarks.sets`. Records are divided as the paper divides Telco churn: 4,508 to
train on, 1,127 to validate and 1,408 to test on; in these proportions elsewhere. All three are drawn anew in each
repeat, because a single test set of few positives says little: of 25, each is worth four points. Cost% is the share of
the cost of acting on none that is saved, on test records, averaged over repeats; in brackets is the standard error of
that mean. Acting on all is the other policy without a model, and every cost-sensitive name has to be better than both.

The paper's winners, the names in its tables of best models, are compared with the best of all names: each by itself,
and the best of them, which is another one on other data. The best of many on the same records is partly luck; so in
each repeat the name is taken that is best in the others, and with one repeat nothing is compared.

With --hindsight, the members of the winners are also decided by every decision that they take. The one that is best on
the test records themselves, over all repeats, bounds what another default could save with these members.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.sets import load_set
from stakes import decisions_for, list_methods, make_classifier
from stakes.datasets import Split, SplitPlan
from stakes.exceptions import StakesWarning
from stakes.metrics import cost_reduction
from stakes.paper.protocol import PAPER_METHODS
from stakes.paper.published import PUBLISHED
from stakes.study import StudyData

PAPERS_SPLIT = SplitPlan(4508, 1127, 1408)
ALL = "acting on all"


def names() -> list[str]:
    """Return the names of the paper's table that take costs into account, and AdaBoost as it was calibrated there."""
    methods = list_methods()
    papers = [method for method in methods if method.name.removeprefix("dm-") in (*PAPER_METHODS, "cab")]
    return [method.name for method in papers if method.costs != "none"]


def winners() -> list[str]:
    """Return those of the names that are in the paper's tables of best models, in the order of the tables."""
    known = names()
    return [name for name in dict.fromkeys(row.name for row in PUBLISHED) if name in known]


class Found(NamedTuple):
    """What a name has on the test records of each repeat."""

    name: str
    saved: np.ndarray  # Cost%
    acted: float  # the share acted on, over all repeats


def measure(data: StudyData, asked: Sequence[str], trees: int, repeats: int) -> Iterator[Found]:
    """Yield what names have; first the policy to act on all."""
    splits = _splits(data, repeats)
    yield Found(ALL, np.array([_saved(data, np.ones(split.test.size), split.test) for split in splits]), 1.0)
    for name in asked:
        decided = [
            _fitted(name, data, split, trees).predict(data.frame[split.test], **_costs(data, split.test))
            for split in splits
        ]
        each = [_saved(data, acted, split.test) for acted, split in zip(decided, splits, strict=True)]
        yield Found(name, np.array(each), float(np.mean(decided)))


def best_by_hindsight(data: StudyData, name: str, trees: int, repeats: int) -> tuple[np.ndarray, str]:
    """Return what members save by the decision that is best on the test records of all repeats, and which it is."""
    saved, options = [], []
    for split in _splits(data, repeats):
        classifier = _fitted(name, data, split, trees)
        options = decisions_for(classifier)
        decisions = [option.decision for option in options]
        outcomes = classifier.evaluate(decisions, data.frame[split.test], **_costs(data, split.test)).outcomes
        saved.append([_saved(data, acted, split.test) for acted in outcomes])
    best = int(np.mean(saved, axis=0).argmax())
    return np.array(saved)[:, best], options[best].description


def _splits(data: StudyData, repeats: int) -> list[Split]:
    return [PAPERS_SPLIT.split(data.positive, repeat=repeat, seed=repeat) for repeat in range(repeats)]


def _costs(data: StudyData, rows: np.ndarray) -> dict[str, object]:
    return {"fp_cost": data.costs[rows].fp, "fn_cost": data.costs[rows].fn}


def _saved(data: StudyData, acted: np.ndarray, rows: np.ndarray) -> float:
    return 100 * cost_reduction(data.positive[rows].astype(int), acted.astype(int), **_costs(data, rows))


def _fitted(name: str, data: StudyData, split: Split, trees: int) -> Any:
    """Return a classifier as it comes, trained on the first part of a split and with the second to validate on."""
    target = data.positive.astype(np.int64)
    validation = {f"{cost}_val": value for cost, value in _costs(data, split.validation).items()}
    return make_classifier(name, n_estimators=trees, random_state=0).fit(
        data.frame[split.train], target[split.train], **_costs(data, split.train),
        X_val=data.frame[split.validation], y_val=target[split.validation], **validation,
    )  # fmt: skip


def best_of(saved: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return what the best name has in each repeat, which is the one that is best on average in all others."""
    every = np.stack(list(saved.values()))
    others = every.sum(axis=1, keepdims=True) - every
    return every[others.argmax(axis=0), np.arange(every.shape[1])]


def mean_and_error(values: np.ndarray, digits: int = 2) -> str:
    """Return a mean with its standard error; repeats share records, so that the latter is rough."""
    error = np.std(values, ddof=1) / np.sqrt(values.size) if values.size > 1 else 0.0
    return f"{values.mean():.{digits}f} ({error:.{digits}f})"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sets", default="telco,hmeq,vehicle")
    parser.add_argument("--names", help="some names only, the paper's winners among them or not")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--records", type=int, default=8000, help="how many records of a data set at most")
    parser.add_argument("--hindsight", action="store_true", help="also the best decision, chosen on the test records")
    options = parser.parse_args()
    warnings.simplefilter("ignore", StakesWarning)
    for of_set in options.sets.split(","):
        data = load_set(options.directory, of_set, records=options.records)
        print(f"{of_set}: {len(data.frame):,} records, {data.positive.mean():.1%} positive", flush=True)
        found = {}
        asked = options.names.split(",") if options.names else names()
        for method, saved, acted in measure(data, asked, options.trees, options.repeats):
            found[method] = saved
            print(f"  {method:14s} Cost% {mean_and_error(saved):>14s}   acts on {acted:6.1%}", flush=True)
        trivial = max(0.0, found.pop(ALL).mean())
        beaten = [method for method, saved in found.items() if saved.mean() <= trivial]
        above = f"{len(found) - len(beaten)} of {len(found)} names are above {trivial:.2f}"
        print(f"  {above}; not: {', '.join(beaten) or '-'}")
        best = max(found, key=lambda method: found[method].mean())
        print(f"  best {best} with {found[best].mean():.2f}", flush=True)
        papers = {name: found[name] for name in winners() if name in found}
        if options.repeats > 1 and papers:
            compared = papers | {"the best of them": best_of(papers)}
            distances = (f"{name} {mean_and_error(best_of(found) - saved, 1)}" for name, saved in compared.items())
            print(f"  the paper's winners are behind by {', '.join(distances)}", flush=True)
        for name in papers if options.hindsight else ():
            saved, description = best_by_hindsight(data, name, options.trees, options.repeats)
            print(f"  {name:14s} by hindsight {mean_and_error(saved)}: {description}", flush=True)


if __name__ == "__main__":
    main()
