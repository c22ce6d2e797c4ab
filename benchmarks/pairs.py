"""Ours against a peer, on one problem, by one number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import Limits, Unavailable
from benchmarks.contenders import OURS, PEERS, Setting, rounds_made
from benchmarks.data import make_problem
from benchmarks.measure import Run, alternate, best, figures, measure, ratio

__all__ = ["PAIRS", "Pair"]

# Both sides once on little data before anything is timed: kernels are compiled, pools of workers started.
WARM_UP = 2_000
# So many models of each side are judged: prediction is not what is timed here.
JUDGED = 3


@dataclass(frozen=True)
class Pair:
    """Ours and a peer side by side in one process.

    A slow peer makes `peer_trees` of all `trees`, and its time is scaled up; each of its trees takes the same time.
    Ours makes all of them. A pair that only confirms another, by fewer threads, is repeated less.
    """

    peer: str
    ours: str
    problem: str
    threads: int
    trees: int
    peer_trees: int
    quick: bool = False
    confirms: bool = False

    @property
    def name(self) -> str:
        """Peer, problem, threads."""
        return f"{self.peer}/{self.problem}/{self.threads}"

    @property
    def environment(self) -> str:
        """Where the peer is installed."""
        return PEERS[self.peer].environment

    def run(self, limits: Limits) -> dict[str, Any]:
        """Return times, ratio, memory and quality of both."""
        ours, peer = OURS[self.ours], PEERS[self.peer]
        if not peer.available:
            raise Unavailable(peer.needs)
        versions = peer.versions()
        trees = limits.of_trees(self.trees)
        peer_trees = trees if limits.full else min(trees, self.peer_trees)
        train, test = make_problem(self.problem, limits.rows)
        for contender in (ours, peer):
            contender.fit(train.part(slice(WARM_UP)), Setting(2, self.threads))
        quality: dict[str, list[dict[str, float]]] = {"ours": [], "peer": []}
        asked = {"ours": trees, "peer": peer_trees}
        made: dict[str, list[int]] = {"ours": [], "peer": []}

        def judge(side: str, model: Any) -> None:
            made[side].append(rounds_made(model, asked[side]))
            if len(quality[side]) < JUDGED:
                quality[side].append((ours if side == "ours" else peer).quality(model, test))

        runs = alternate(
            lambda seed: ours.fit(train, Setting(trees, self.threads, seed)),
            lambda seed: peer.fit(train, Setting(peer_trees, self.threads, seed)),
            limits.effort.less() if self.confirms else limits.effort,
            judge,
        )
        for side, all_made in made.items():
            runs[side] = [_to_the_end(run, asked[side] / n) for run, n in zip(runs[side], all_made, strict=True)]
        scale, once = trees / peer_trees, 0.0
        fair = quality["ours"]
        if scale > 1:
            if (prepare := peer.prepare) is not None:
                once = best([measure(lambda seed: prepare(train, Setting(0, self.threads))) for _ in runs["peer"]])
            # Few trees are worse than many: like is compared with like.
            fair = [
                ours.quality(ours.fit(train, Setting(peer_trees, self.threads, seed)), test)
                for seed in range(len(quality["peer"]))
            ]

        def whole(seconds: float) -> float:
            return once + scale * (seconds - once)

        return {
            "kind": "pair",
            "versions": versions,
            "peer_name": self.peer,
            "ours_name": self.ours,
            "problem": self.problem,
            "threads": self.threads,
            "rows": len(train),
            "features": train.X.shape[1],
            "ratio": ratio(runs, whole)._asdict(),
            "ours": _side(runs["ours"], trees, quality["ours"]) | {"made": min(made["ours"])},
            "peer": _side(runs["peer"], peer_trees, quality["peer"])
            | {"made": min(made["peer"]), "whole_seconds": whole(best(runs["peer"])), "seconds_once": once},
            "difference": {measure: _difference(fair, quality["peer"], measure) for measure in ("auc", "savings")},
        }


def _to_the_end(run: Run, times: float) -> Run:
    """Return a run as if boosting had not ended early, which would seem fast: all rounds as long as those made."""
    return run._replace(seconds=run.seconds * times, cpu=None if run.cpu is None else run.cpu * times)


def _side(runs: list[Run], trees: int, quality: list[dict[str, float]]) -> dict[str, Any]:
    """Return the figures of one side; quality is a mean over the repetitions, which have different seeds."""
    means = {measure: float(np.mean([one[measure] for one in quality])) for measure in quality[0]}
    return {"trees": trees, **figures(runs), **means}


def _difference(ours: list[dict[str, float]], peer: list[dict[str, float]], measure: str) -> dict[str, float]:
    """Return by how much ours is better with the same number of trees, and the standard error of that."""
    each = np.array([o[measure] - p[measure] for o, p in zip(ours, peer, strict=True)])
    error = each.std(ddof=1) / np.sqrt(each.size) if each.size > 1 else 0.0
    return {"mean": float(each.mean()), "error": float(error)}


@dataclass(frozen=True)
class _Rivalry:
    """A peer, our counterpart, and on which problems they meet.

    `seconds` is what a tree of the peer's takes by one thread, roughly. It gets as many trees as all threads can make
    in BUDGET seconds, and one each at least.
    """

    peer: str
    ours: str
    seconds: dict[str, float]
    threads: tuple[int, ...] = (1, 2)
    quick: tuple[str, ...] = ("churn",)

    def trees(self, problem: str, threads: int) -> tuple[int, int]:
        """Return how many trees ours and the peer make."""
        if self.ours.endswith("tree"):
            return 1, 1
        trees = TREES[problem] if threads == max(self.threads) else FEWER_TREES[problem]
        # Every thread makes as many as the others.
        possible = max(1, int(BUDGET / self.seconds[problem])) * threads
        return trees, min(trees, possible)


BUDGET = 2.0
# A hundred trees on a million records would take most peers a quarter of an hour.
TREES = {"churn": 100, "rare": 100, "noisy": 100, "big": 20}
# By one thread where others have two: what is shown is that the ratio does not depend on threads.
FEWER_TREES = {"churn": 100, "rare": 50, "noisy": 25, "big": 5}
# Where a single tree of a million records takes longer, there is one number of threads only.
PATIENCE = 12.0


def _seconds(churn: float, rare: float, noisy: float, big: float) -> dict[str, float]:
    return {"churn": churn, "rare": rare, "noisy": noisy, "big": big}


_RIVALRIES = [
    _Rivalry("scikit-learn tree", "tree", _seconds(0.04, 5.0, 4.0, 60.0), threads=(1,)),
    _Rivalry("scikit-learn bagging", "bagging", _seconds(0.06, 6.0, 4.5, 60.0)),
    _Rivalry("scikit-learn forest", "forest", _seconds(0.012, 0.9, 0.7, 11.0), quick=("churn", "rare", "noisy")),
    _Rivalry("scikit-learn forest, ours by default", "default forest", {"rare": 0.9, "noisy": 0.7}, threads=(2,)),
    _Rivalry("scikit-learn extra trees", "extra trees", _seconds(0.01, 0.5, 0.5, 8.0)),
    _Rivalry("scikit-learn AdaBoost", "AdaBoost", _seconds(0.01, 0.6, 0.6, 7.0)),
    _Rivalry("imbalanced-learn forest", "balanced forest", _seconds(0.012, 0.02, 0.45, 6.0)),
    _Rivalry("imbalanced-learn bagging", "balanced bagging", _seconds(0.05, 0.04, 2.7, 35.0)),
    _Rivalry("imbalanced-learn RUSBoost", "RUSBoost", _seconds(0.012, 0.035, 0.3, 3.5)),
    _Rivalry("imbalanced-learn RUSBoost, deeper", "RUSBoost, deeper", _seconds(0.04, 0.06, 1.6, 18.0), threads=(2,)),
    _Rivalry("imbalanced-learn EasyEnsemble", "EasyEnsemble", _seconds(0.05, 0.05, 1.6, 18.0)),
    _Rivalry("LightGBM bagging", "bagging", _seconds(0.01, 0.13, 1.0, 4.0), quick=("churn", "rare")),
    _Rivalry("LightGBM forest", "forest", _seconds(0.01, 0.16, 1.0, 4.0)),
    _Rivalry("LightGBM stumps", "AdaBoost", _seconds(0.001, 0.01, 0.015, 0.15)),
    _Rivalry("LightGBM boosting", "gradient boosting", _seconds(0.001, 0.015, 0.02, 0.2)),
    _Rivalry("LightGBM boosting, ours by cost", "cost gradient boosting", {"rare": 0.015, "noisy": 0.02}, threads=(2,)),
    _Rivalry("YDF bagging", "bagging", _seconds(0.02, 0.9, 1.8, 25.0)),
    _Rivalry("YDF forest", "forest", _seconds(0.01, 0.25, 0.5, 9.0)),
    _Rivalry("YDF forest, 255 bins", "forest", {"rare": 0.25, "noisy": 0.5}, threads=(2,)),
    _Rivalry("empulse tree", "saving tree", {"churn": 0.04, "rare": 6.0, "noisy": 4.0}, threads=(1,)),
    _Rivalry("empulse forest", "saving forest", _seconds(0.012, 0.65, 0.55, 9.0)),
    _Rivalry("empulse bagging", "saving bagging", _seconds(0.05, 7.0, 4.5, 60.0)),
    _Rivalry("empulse boosting", "cost gradient boosting", _seconds(0.001, 0.02, 0.03, 0.3)),
    _Rivalry("empulse forest, ours deeper", "cost forest", {"rare": 0.65, "noisy": 0.55}, threads=(2,)),
    _Rivalry("empulse bagging, ours deeper", "cost bagging", {"rare": 7.0, "noisy": 4.5}, threads=(2,)),
    _Rivalry("R rpart bagging", "bagging", {"churn": 0.2, "rare": 3.0, "noisy": 3.0}, threads=(1,)),
]


def _pairs() -> Iterator[Pair]:
    for rivalry in _RIVALRIES:
        most = max(rivalry.threads)
        for problem, seconds in rivalry.seconds.items():
            for threads in (most,) if problem == "big" and seconds > PATIENCE else rivalry.threads:
                quick = problem in rivalry.quick and threads == most
                trees, peer_trees = rivalry.trees(problem, threads)
                yield Pair(rivalry.peer, rivalry.ours, problem, threads, trees, peer_trees, quick, threads < most)


#: All pairs by name.
PAIRS = {pair.name: pair for pair in _pairs()}
