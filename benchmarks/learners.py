"""What tree sizes, extremely randomised trees, pruning and gradient boosting are worth on public data with costs.

    python -m benchmarks.learners sizes DIRECTORY    # AUC and savings of ensembles by the size of their leaves
    python -m benchmarks.learners leaves DIRECTORY   # the leaf that members vote by, chosen out of the bag or fixed
    python -m benchmarks.learners pruned DIRECTORY   # pruned against whole ensembles: members, cost, time to predict
    python -m benchmarks.learners fraud DIRECTORY    # gradient boosting learnt on one day, judged on the next
    python -m benchmarks.learners boosting DIRECTORY # the same methods, chosen out of fold, on other data
    python -m benchmarks.learners depths DIRECTORY   # AdaBoost's variants by the depth of their trees, and a chosen one

DIRECTORY has the files of `benchmarks.sets`. Half of the records of each split train, the others judge. Savings are
1 - cost / the cheaper of acting on none and on all.
"""

from __future__ import annotations

import argparse
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import Records
from benchmarks.measure import Effort, alternate, ratio
from benchmarks.sets import SETS, load_set, priced_records
from stakes import Decision, make_classifier
from stakes.metrics import cost_reduction, savings_score
from stakes.study import Study

# The default size of leaves was chosen on the first, and is judged on the others.
CHOSEN_ON = ("telco", "hmeq", "polish5", "vehicle", "cards", "thyroid", "staff", "claims")
OTHERS = ("iranian", "german", "bank", "loans", "cell", "polish1", "give", "lending", "mammography", "heart")
NAMES = ("bg", "rf", "rdf", "et", "wbg", "wrf", "dm-bg", "dm-rf", "dm-rdf", "urf", "cprbg", "orf")
LEAVES = (1, 5, 20)
# Votes by T_cs: the ways among which the leaf is chosen were found on the first, and are judged on the others.
LEAF_CHOSEN_ON = (
    "bank", "german", "loans", "iranian", "polish5", "claims", "staff", "heart", "cards", "lending", "hmeq", "vehicle",
)  # fmt: skip
LEAF_JUDGED_ON = ("telco", "mammography", "thyroid", "cell", "give", "polish1")
VOTING = ("dm-bg", "dm-rf", "dm-rdf", "dm-upbg", "dm-uprdf", "dm-wbg", "dm-wrdf", "dm-cprbg", "dm-cprrdf", "dm-cprprf")
FIXED = ("supported", "laplace", "m_estimate")
PRUNED_ON = ("telco", "bank", "vehicle", "cards", "loans", "give", "mammography", "polish5")
BOOSTED_ON = ("telco", "bank", "iranian", "cell", "vehicle", "cards", "polish1", "loans")
BOOSTED = ("gb", "wgb", "csgb")
DEPTHS: tuple[dict[str, Any], ...] = (
    {"max_depth": 1},
    {"max_depth": 2, "learning_rate": 0.3},
    {"max_depth": 4},
    {"max_depth": 8, "min_samples_leaf": 5},
)
BY_DEPTH = ("asb", "acost", "aub", "ncsab", "csb2", "cab")
DAY = 86_399  # seconds: the last of the first day


class Part(Records):
    """Some records with their costs, of which `X` is a data frame."""

    def fit(self, name: str, **params: Any) -> Any:
        """Return a method trained on the records, decided by T_cs where it would ignore costs."""
        by_cost = {"threshold": "cost"} if name in ("bg", "rf", "rdf", "et") else {}
        return make_classifier(name, **by_cost, **params).fit(self.X, self.y, **self.costs)

    def lost(self, model: Any) -> np.ndarray:
        """Return what the decision on each record costs."""
        acted = model.predict(self.X, **self.costs) == 1
        return np.where(self.y == 1, ~acted * self.fn, acted * self.fp)

    def savings(self, model: Any) -> float:
        """Return what the decisions save."""
        return float(savings_score(self.y, model.predict(self.X, **self.costs), **self.costs))


def _load(asked: Namespace, name: str) -> Part:
    data = load_set(asked.directory, name, records=asked.records)
    assert data.costs is not None
    return Part(data.frame, data.positive.astype(np.int64), *data.costs.arrays(len(data.frame)))


def _halves(everything: Part, split: int) -> tuple[Part, Part]:
    order = np.random.default_rng(split).permutation(everything.y.size)
    return everything.part(order[: order.size // 2]), everything.part(order[order.size // 2 :])


def sizes(asked: Namespace) -> Iterator[str]:
    """Yield AUC and savings of each method with each size of leaves: means over data sets, and on how many it is up."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {(name, leaf): [] for name in NAMES for leaf in LEAVES}
    for data in asked.sets:
        everything = _load(asked, data)
        for name, leaf in found:
            figures = []
            for split in asked.splits:
                train, test = _halves(everything, split)
                model = train.fit(name, n_estimators=asked.trees, min_samples_leaf=leaf, random_state=split)
                mean = Decision(leaf=model.default_decision_.leaf, output="average")
                score = model.with_decision(mean).predict_proba(test.X)[:, 1]
                figures.append((roc_auc_score(test.y, score), test.savings(model)))
            found[name, leaf].append(tuple(np.mean(figures, axis=0)))
    yield f"{len(asked.sets)} data sets: {', '.join(asked.sets)}"
    yield "| method | " + " | ".join(f"AUC, leaves of {leaf} | savings" for leaf in LEAVES) + " |"
    yield "|---" * (1 + 2 * len(LEAVES)) + "|"
    for name in NAMES:
        cells = []
        for leaf in LEAVES:
            figures, first = np.array(found[name, leaf]), np.array(found[name, LEAVES[0]])
            better = (figures - first > 5e-4).sum(axis=0), (first - figures > 5e-4).sum(axis=0)
            for which in range(2):
                counted = "" if leaf == LEAVES[0] else f" ({better[0][which]} up, {better[1][which]} down)"
                cells.append(f"{figures[:, which].mean():.4f}{counted}")
        yield f"| `{name}` | " + " | ".join(cells) + " |"


def leaves(asked: Namespace) -> Iterator[str]:
    """Yield Cost% of members that vote by T_cs: by the leaf that is cheapest out of the bag, and by each alone."""
    yield "| data | method | chosen | " + " | ".join(FIXED) + " | the best of them on test records |"
    yield "|---" * (4 + len(FIXED)) + "|"
    found: dict[str, list[list[float]]] = {name: [] for name in VOTING}
    for data in asked.sets:
        everything = _load(asked, data)
        for name in VOTING:
            rows = []
            for split in asked.splits:
                train, test = _halves(everything, split)
                model = train.fit(name, n_estimators=asked.trees, random_state=split)
                decisions = [Decision(member="cost"), *(Decision(member="cost", leaf=leaf) for leaf in FIXED)]
                acted = model.evaluate(decisions, test.X, **test.costs).outcomes
                # Nothing saves where misses are cheap: no figure below -100 counts as more than that.
                rows.append([max(-100.0, 100 * cost_reduction(test.y, each, **test.costs)) for each in acted])
                rows[-1].append(max(rows[-1][1:]))
            found[name].append(list(np.mean(rows, axis=0)))
            yield f"| {data} | `{name}` | " + " | ".join(f"{figure:.1f}" for figure in found[name][-1]) + " |"
    for name in VOTING:
        means = np.mean(found[name], axis=0)
        yield f"| {len(asked.sets)} data sets | `{name}` | " + " | ".join(f"{figure:.1f}" for figure in means) + " |"


def pruned(asked: Namespace) -> Iterator[str]:
    """Yield, for each data set, forests that vote by T_cs: whole, and pruned by cost out of the bag."""
    yield "| data | savings of all | of those kept | kept | difference, in standard errors | times as fast |"
    yield "|---" * 6 + "|"
    for data in asked.sets:
        train, test = _halves(_load(asked, data), asked.splits[0])
        forest = train.fit("dm-rf", n_estimators=asked.trees, random_state=0, n_jobs=1)
        whole, small = (forest.with_decision(Decision(member="cost", vote_weight=w)) for w in ("equal", "pruned"))
        more = test.lost(small) - test.lost(whole)
        error = more.std(ddof=1) / np.sqrt(more.size)
        yield (
            f"| {data} | {test.savings(whole):.3f} | {test.savings(small):.3f} | {small.reader_.members.size} | "
            f"{more.mean() / error if error else 0.0:.1f} | {_times_faster(small, whole, test):.1f} |"
        )


def _times_faster(small: Any, whole: Any, test: Part) -> float:
    """Return how many times faster one model decides than another, by the shortest of some turns."""
    runs = alternate(
        lambda seed: small.predict(test.X, **test.costs),
        lambda seed: whole.predict(test.X, **test.costs),
        Effort(least=7, most=15),
    )
    return ratio(runs).estimate


def fraud(asked: Namespace) -> Iterator[str]:
    """Yield the savings of gradient boosting on the second day of card payments; nothing is tuned on it."""
    X, positive, fp, fn = priced_records(asked.directory, "fraud")
    everything = Part(X, positive.astype(np.int64), fp, fn)
    first = (pl.read_parquet(asked.directory / f"{SETS['fraud'].file}.parquet")["Time"] <= DAY).to_numpy()
    train, test = everything.part(np.flatnonzero(first)), everything.part(np.flatnonzero(~first))
    yield "| method | savings on day 2 |\n|---|---|"
    for name in ("lgbm", *BOOSTED):
        yield f"| `{name}` | {test.savings(train.fit(name, random_state=0)):.3f} |"


def boosting(asked: Namespace) -> Iterator[str]:
    """Yield the savings of LightGBM by T_cs, and of the objective that is best out of fold, on test records."""
    yield "| data | split | LightGBM by T_cs | chosen | savings |"
    yield "|---" * 5 + "|"
    differences = []
    for data in asked.sets:
        for split in asked.splits:
            with tempfile.TemporaryDirectory() as folder:
                study = Study(
                    load_set(asked.directory, data, records=asked.records), out=folder, methods=BOOSTED,
                    measure="savings", metacost="none", teams=False, decisions="follow-costs", seed=split, jobs=1,
                )  # fmt: skip
                board = study.run().leaderboard
            lightgbm = board.filter(
                pl.col("method") == "lgbm", pl.col("threshold") == "cost", pl.col("calibration").is_null()
            )["test_savings"][0]
            best = board.filter(pl.col("method").is_in(BOOSTED)).row(0, named=True)
            differences.append(best["test_savings"] - lightgbm)
            yield f"| {data} | {split} | {lightgbm:.3f} | `{best['name']}` | {best['test_savings']:.3f} |"
    mean, error = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(len(differences))
    yield f"mean difference {mean:+.3f}, standard error {error:.3f}"


def depths(asked: Namespace) -> Iterator[str]:
    """Yield savings of boosting by the depth of its trees, and those of a depth chosen in training by five folds.

    Another one than that of stumps is chosen where it costs less by more than a standard error. Savings below -1 count
    as -1.
    """
    found: dict[str, list[np.ndarray]] = {name: [] for name in BY_DEPTH}
    for data in asked.sets:
        everything = _load(asked, data)
        for name in BY_DEPTH:
            figures = []
            for split in asked.splits:
                train, test = _halves(everything, split)
                options = [{"n_estimators": asked.trees, "random_state": split, **depth} for depth in DEPTHS]
                saved = [max(-1.0, test.savings(train.fit(name, **each))) for each in options]
                lost = np.empty((len(options), train.y.size))
                for others, fold in StratifiedKFold(5, shuffle=True, random_state=split).split(train.y, train.y):
                    for row, each in zip(lost, options, strict=True):
                        row[fold] = train.part(fold).lost(train.part(others).fit(name, **each))
                best = int(lost.sum(axis=1).argmin())
                less = lost[0] - lost[best]
                figures.append([*saved, saved[best if less.sum() > np.sqrt(np.sum(less**2)) else 0]])
            found[name].append(np.mean(figures, axis=0))
    yield f"{len(asked.sets)} data sets: {', '.join(asked.sets)}"
    yield "| name | depth " + " | ".join(str(depth["max_depth"]) for depth in DEPTHS) + " | chosen |"
    yield "|---" * (2 + len(DEPTHS)) + "|"
    for name, figures in found.items():
        more = np.array(figures) - np.array(figures)[:, :1]
        errors = np.std(more, axis=0, ddof=1) / np.sqrt(len(more))
        cells = [f"{mean:+.3f} ({error:.3f})" for mean, error in zip(more.mean(axis=0), errors, strict=True)][1:]
        yield f"| `{name}` | {np.mean(figures, axis=0)[0]:.3f} | " + " | ".join(cells) + " |"


TOPICS: dict[str, tuple[Callable[[Namespace], Iterator[str]], tuple[str, ...]]] = {
    "sizes": (sizes, OTHERS),
    "leaves": (leaves, LEAF_JUDGED_ON),
    "pruned": (pruned, PRUNED_ON),
    "fraud": (fraud, ("fraud",)),
    "boosting": (boosting, BOOSTED_ON),
    "depths": (depths, (*CHOSEN_ON, *OTHERS)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic", choices=TOPICS)
    parser.add_argument("directory", type=Path)
    parser.add_argument(
        "--sets", help="names of benchmarks.sets, or chosen-on: those that the topic's default was chosen on"
    )
    parser.add_argument("--splits", default="0,1", type=lambda text: [int(split) for split in text.split(",")])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--records", type=int, default=16_000, help="of each data set at most")
    asked = parser.parse_args(arguments)
    run, usual = TOPICS[asked.topic]
    named = {None: usual, "chosen-on": LEAF_CHOSEN_ON if asked.topic == "leaves" else CHOSEN_ON}
    asked.sets = named[asked.sets] if asked.sets in named else asked.sets.split(",")
    for line in run(asked):
        print(line, flush=True)


if __name__ == "__main__":
    main()
