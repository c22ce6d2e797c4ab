"""Ours against a peer, on one problem, by one number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import Limits, Unavailable
from benchmarks.contenders import OURS, PEERS, Setting
from benchmarks.data import make_problem
from benchmarks.measure import Run, alternate, best, ratio

__all__ = ["PAIRS", "Pair"]

# Both sides once on little data before anything is timed: kernels are compiled, pools of workers started.
WARM_UP = 2_000


@dataclass(frozen=True)
class Pair:
    """Ours and a peer side by side in one process.

    A slow peer makes `peer_trees` of all `trees`, and its time is scaled up; each of its trees takes the same time.
    Ours makes all of them.
    """

    peer: str
    ours: str
    problem: str
    threads: int
    trees: int
    peer_trees: int
    quick: bool = False

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
        trees = limits.of_trees(self.trees)
        peer_trees = trees if limits.full else min(trees, self.peer_trees)
        train, test = make_problem(self.problem, limits.rows)
        for contender in (ours, peer):
            contender.fit(train.part(slice(WARM_UP)), Setting(2, self.threads))
        quality: dict[str, list[dict[str, float]]] = {"ours": [], "peer": []}

        def judge(side: str, model: Any) -> None:
            quality[side].append((ours if side == "ours" else peer).quality(model, test))

        runs = alternate(
            lambda seed: ours.fit(train, Setting(trees, self.threads, seed)),
            lambda seed: peer.fit(train, Setting(peer_trees, self.threads, seed)),
            limits.effort,
            judge,
        )
        scale = trees / peer_trees
        fair = quality["ours"]
        if scale > 1:
            # Few trees are worse than many: like is compared with like.
            fair = [
                ours.quality(ours.fit(train, Setting(peer_trees, self.threads, seed)), test)
                for seed in range(len(runs["ours"]))
            ]
        return {
            "kind": "pair",
            "peer_name": self.peer,
            "ours_name": self.ours,
            "problem": self.problem,
            "threads": self.threads,
            "rows": len(train),
            "features": train.X.shape[1],
            "ratio": ratio(runs, scale)._asdict(),
            "ours": _side(runs["ours"], trees, quality["ours"]),
            "peer": _side(runs["peer"], peer_trees, quality["peer"]) | {"scaled_by": scale},
            "difference": {measure: _difference(fair, quality["peer"], measure) for measure in ("auc", "savings")},
        }


def _side(runs: list[Run], trees: int, quality: list[dict[str, float]]) -> dict[str, Any]:
    """Return the figures of one side; quality is a mean over the repetitions, which have different seeds."""
    known = [run.megabytes for run in runs if run.megabytes is not None]
    return {
        "trees": trees,
        "seconds": best(runs),
        "all_seconds": [run.seconds for run in runs],
        "megabytes": max(known) if known else None,
        **{measure: float(np.mean([one[measure] for one in quality])) for measure in ("auc", "savings")},
    }


def _difference(ours: list[dict[str, float]], peer: list[dict[str, float]], measure: str) -> dict[str, float]:
    """Return by how much ours is better with the same number of trees, and the standard error of that."""
    each = np.array([o[measure] - p[measure] for o, p in zip(ours, peer, strict=True)])
    error = each.std(ddof=1) / np.sqrt(each.size) if each.size > 1 else 0.0
    return {"mean": float(each.mean()), "error": float(error)}


@dataclass(frozen=True)
class _Rivalry:
    """A peer, our counterpart, and on which problems they meet: by how many trees of the peer's each."""

    peer: str
    ours: str
    peer_trees: dict[str, int]
    threads: tuple[int, ...] = (1, 2)
    quick: tuple[str, ...] = ("churn",)


ALL = 100
# A hundred trees on a million records would take most peers a quarter of an hour.
TREES = {"churn": 100, "rare": 100, "noisy": 100, "big": 20}

_RIVALRIES = [
    _Rivalry("scikit-learn tree", "tree", {"churn": 1, "rare": 1, "noisy": 1, "big": 1}),
    _Rivalry("scikit-learn bagging", "bagging", {"churn": ALL, "rare": 8, "noisy": 8, "big": 2}),
    _Rivalry(
        "scikit-learn forest",
        "forest",
        {"churn": ALL, "rare": 20, "noisy": 20, "big": 6},
        quick=("churn", "rare", "noisy"),
    ),
    _Rivalry("scikit-learn AdaBoost", "AdaBoost", {"churn": ALL, "rare": 20, "noisy": 20, "big": 4}),
    _Rivalry("imbalanced-learn forest", "balanced forest", {"churn": ALL, "rare": ALL, "noisy": 20}),
    _Rivalry("imbalanced-learn bagging", "balanced bagging", {"churn": ALL, "rare": ALL, "noisy": 20}),
    _Rivalry("imbalanced-learn RUSBoost", "RUSBoost", {"churn": ALL, "rare": ALL, "noisy": 20}),
    _Rivalry("imbalanced-learn EasyEnsemble", "EasyEnsemble", {"churn": ALL, "rare": ALL, "noisy": 20}),
    _Rivalry("LightGBM bagging", "bagging", {"churn": ALL, "rare": ALL, "noisy": 20}, quick=("churn", "rare")),
    _Rivalry("LightGBM forest", "forest", {"churn": ALL, "rare": ALL, "noisy": 20, "big": ALL}),
    _Rivalry("LightGBM stumps", "AdaBoost", {"churn": ALL, "rare": ALL, "noisy": ALL, "big": ALL}),
    _Rivalry("YDF bagging", "bagging", {"churn": ALL, "rare": 20, "noisy": 20}),
    _Rivalry("YDF forest", "forest", {"churn": ALL, "rare": ALL, "noisy": 50, "big": ALL}),
    _Rivalry("YDF forest, 255 bins", "forest", {"rare": ALL, "noisy": 50}),
    _Rivalry("empulse tree", "cost tree", {"churn": 1, "rare": 1, "noisy": 1}),
    _Rivalry("empulse forest", "cost forest", {"churn": ALL, "rare": 20, "noisy": 20}),
    _Rivalry("empulse bagging", "cost bagging", {"churn": ALL, "rare": 8, "noisy": 8}),
    _Rivalry("R rpart bagging", "bagging", {"churn": 10, "rare": 3, "noisy": 3}, threads=(1,)),
]


def _pairs() -> Iterator[Pair]:
    for rivalry in _RIVALRIES:
        most = max(rivalry.threads)
        for problem, peer_trees in rivalry.peer_trees.items():
            trees = 1 if rivalry.ours.endswith("tree") else TREES[problem]
            # A million records only by all threads.
            for threads in (most,) if problem == "big" else rivalry.threads:
                share = max(threads, peer_trees * threads // most) if peer_trees < trees else trees
                quick = problem in rivalry.quick and threads == most
                yield Pair(rivalry.peer, rivalry.ours, problem, threads, trees, min(trees, share), quick)


#: All pairs by name.
PAIRS = {pair.name: pair for pair in _pairs()}
