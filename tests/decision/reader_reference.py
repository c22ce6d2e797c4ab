"""Decisions in plain Python: records are looked at one by one, thresholds tried one by one."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import exp, inf, log
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from stakes import CostBaggingClassifier, Costs, CostTreeClassifier, Decision

LEAVES = ["frequency", "laplace", "m_estimate", "curtailment", "curtailment_laplace", "curtailment_m_estimate"]
VOTE_WEIGHTS = ["equal", "log_odds", "accuracy", "exp_odds", "squared_odds"]
CALIBRATIONS = [None, "logistic_bounded", "platt", "isotonic"]
THRESHOLDS = ["half", "cost", "tuned"]


def all_decisions(leaves: list[str], vote_weights: list[str]) -> list[Decision]:
    """Every decision that is valid for bagging."""
    ends = [{"calibration": c, "threshold": t} for c, t in product(CALIBRATIONS, THRESHOLDS)]
    averages = [Decision(output="average", leaf=leaf, **end) for leaf, end in product(leaves, ends)]
    ways = [{"member": "label"}, *({"member": m, "leaf": leaf} for m, leaf in product(("cost", "tuned"), leaves))]
    votes = [
        Decision(output="vote", vote_weight=weight, **way, **end)
        for way, weight, end in product(ways, vote_weights, ends)
    ]
    return averages + votes


# The reference: records are looked at one by one, thresholds tried one by one


class PlainTree:
    """One tree of an ensemble, read node by node."""

    def __init__(self, clf: Any, number: int) -> None:
        trees = clf.members_.trees
        self.nodes, self.root = trees.nodes, int(trees.roots[number])
        self.leaves = [
            node for node in range(self.root, self.root + int(trees.sizes[number])) if self.nodes.feature[node] < 0
        ]
        self.weighted = clf.weighted
        self.probability = cache(self._probability)  # thousands of decisions ask for the same

    def leaf(self, bins: Any) -> int:
        at, nodes = self.root, self.nodes
        while nodes.feature[at] >= 0:
            value = bins[nodes.feature[at]]
            left = nodes.missing_left[at] if value == 0 else value <= nodes.threshold[at]
            at = int(nodes.left[at]) + (0 if left else 1)
        return at

    def label(self, leaf: int) -> bool:
        return bool(self.nodes.weights[leaf, 1] > self.nodes.weights[leaf, 0])

    def _probability(self, leaf: int, kind: str) -> float:
        if self.weighted:
            return self.nodes.weights[leaf, 1] / self.nodes.weights[leaf].sum()
        n = self.nodes.counts
        base_rate = n[self.root, 1] / n[self.root].sum()
        m = 10 / base_rate
        if kind.startswith("curtailment"):
            while n[leaf].sum() < m and leaf != self.root:
                leaf = int(self.nodes.parent[leaf])
        negative, positive = (int(count) for count in n[leaf])
        if kind.endswith("laplace"):
            return (positive + 1) / (positive + negative + 2)
        if kind.endswith("m_estimate"):
            return (positive + 10) / (positive + negative + m)
        return positive / (positive + negative)

    def mean_weight(self, leaf: int) -> float:
        return self.nodes.weights[leaf].sum() / self.nodes.counts[leaf].sum()


class PlainModel:
    """One model of an ensemble of other classifiers: each record is a leaf."""

    def __init__(self, clf: Any, number: int, X: Any) -> None:
        self.p = clf.estimators_[number].predict_proba(X)[:, 1]
        self.leaves = range(len(X))

    def label(self, leaf: int) -> bool:
        return bool(self.p[leaf] > 0.5)

    def probability(self, leaf: int, kind: str) -> float:
        return self.p[leaf]


class Reference:
    """The decisions of an ensemble.

    Parameters
    ----------
    clf : CostBaggingClassifier
    val, new : records
        To choose on, and to decide on.
    judges : ndarray of shape (n_val, n_members)
        Which members judge which validation record.
    """

    def __init__(self, clf: Any, val: Any, judges: Any, new: Any, weight: Any = None) -> None:
        self.m = range(clf.n_estimators)
        if hasattr(clf, "binning_"):
            self.members: list[Any] = [PlainTree(clf, j) for j in self.m]
            at = {
                records: [[tree.leaf(row) for tree in self.members] for row in clf._read(data.X, reset=False)]
                for records, data in (("val", val), ("new", new))
            }
            known = [tree.leaves for tree in self.members]
        else:
            self.members = [PlainModel(clf, j, np.concatenate([val.X, new.X])) for j in self.m]
            rows = [[i] * len(self.m) for i in range(len(val) + len(new))]
            at = {"val": rows[: len(val)], "new": rows[len(val) :]}
            known = [range(len(val)) for _ in self.m]
        self.at, self.known = at, known
        self.y = val.y == 1
        self.loss = np.where(self.y, val.fn, val.fp) * (1.0 if weight is None else weight)
        self.weight = np.ones(len(val)) if weight is None else weight
        # To the last bit as it is elsewhere: a leaf's probability may be the very same fraction.
        self.t_cs = {name: Costs(fp=data.fp, fn=data.fn).threshold() for name, data in (("val", val), ("new", new))}
        self.judges = {"val": judges, "new": np.ones((len(new), len(self.m)), bool)}
        self._memory: dict[Any, Any] = {}

    def once(self, work: Any, *key: Any) -> Any:
        key = (work.__name__, *key)
        if key not in self._memory:
            self._memory[key] = work(*key[1:])
        return self._memory[key]

    def member_threshold(self, leaf: str, j: int) -> float:
        mine = np.flatnonzero(self.judges["val"][:, j])
        p = np.array([self.members[j].probability(self.at["val"][i][j], leaf) for i in mine])
        values = [self.members[j].probability(node, leaf) for node in self.known[j]]
        return cheapest_cut(values, p, self.y[mine], self.loss[mine])

    def outcome(self, member: str, leaf: str, j: int, name: str, i: int) -> bool:
        at = self.at[name][i][j]
        if member == "label":
            return self.members[j].label(at)
        cut = self.t_cs[name][i] if member == "cost" else self.once(self.member_threshold, leaf, j)
        return self.members[j].probability(at, leaf) > cut

    def error(self, member: str, leaf: str, j: int) -> float:
        mine = np.flatnonzero(self.judges["val"][:, j])
        wrong = [self.outcome(member, leaf, j, "val", i) != self.y[i] for i in mine]
        return self.loss[mine][wrong].sum() / self.loss[mine].sum()

    def vote_weights(self, member: str, leaf: str, name: str) -> list[float]:
        if name in ("equal", "node"):
            return [1.0 for _ in self.m]
        error = [self.error(member, leaf, j) for j in self.m]
        odds = [(1 - e) / e if e else inf for e in error]
        return {
            "accuracy": [1 - e for e in error],
            "log_odds": [max(log(o), 0.0) for o in odds],
            "exp_odds": [exp(max(o - max(odds), -600)) for o in odds],
            "squared_odds": [o**2 for o in odds],
        }[name]

    def score(self, output: str, member: str, leaf: str, weights: str, name: str) -> Any:
        found = np.full(len(self.at[name]), np.nan)
        weight = self.once(self.vote_weights, member, leaf, weights) if output == "vote" else []
        for i, row in enumerate(self.at[name]):
            judges = np.flatnonzero(self.judges[name][i])
            if not judges.size:
                continue
            if output == "average":
                found[i] = sum(self.members[j].probability(row[j], leaf) for j in judges) / len(judges)
                continue
            ayes = total = 0.0
            for j in judges:
                vote = weight[j] * (self.members[j].mean_weight(row[j]) if weights == "node" else 1.0)
                total += vote
                if self.outcome(member, leaf, j, name, i):
                    ayes += vote
            found[i] = ayes / total if total else 0.5
        return found

    def calibrated(self, source: tuple[str, ...], calibration: str | None, name: str) -> Any:
        score = self.once(self.score, *source, name)
        if calibration is None:
            return score
        fitted = self.once(self.score, *source, "val")
        known = ~np.isnan(fitted)
        return calibrate(calibration, fitted[known], self.y[known], self.weight[known], score)

    def threshold(self, source: tuple[str, ...], calibration: str | None) -> float:
        score = self.once(self.calibrated, source, calibration, "val")
        known = ~np.isnan(score)
        return cheapest_cut(score[known], score[known], self.y[known], self.loss[known])

    def decide(self, d: Decision) -> tuple[Any, Any, Any]:
        """Return scores, outcomes, and how far each record is from the other outcome."""
        assert d.output is not None
        leaf = "" if d.output == "vote" and d.member == "label" else d.leaf
        source = (d.output, d.member, leaf, d.vote_weight or "")
        score = self.once(self.calibrated, source, d.calibration, "new")
        cut = {
            "half": lambda: 0.5,
            "cost": lambda: self.t_cs["new"],
            "tuned": lambda: self.once(self.threshold, source, d.calibration),
        }[d.threshold]()
        return score, score > cut, np.abs(score - cut)


def cheapest_cut(values: Any, scores: Any, positive: Any, loss: Any) -> float:
    """Try every cut between the values; take the middle of the widest interval of equally cheap ones."""
    ordered = sorted(set(values))
    # Sums in another order than the engine's differ in the last bits: scores this close are one.
    distinct = [v for k, v in enumerate(ordered) if k == 0 or v - ordered[k - 1] > 1e-12]
    bills = [loss[(scores >= v - 1e-12) != positive].sum() for v in distinct] + [loss[positive].sum()]
    ends = [0.0, *distinct, 1.0]
    intervals: list[list[float]] = []
    for k, bill in enumerate(bills):
        if bill == min(bills) and k and bills[k - 1] == bill:
            intervals[-1][1] = ends[k + 1]
        elif bill == min(bills):
            intervals.append([ends[k], ends[k + 1]])
    widest = max(high - low for low, high in intervals)
    # The first of those that are equally wide but for rounding.
    low, high = next(interval for interval in intervals if interval[1] - interval[0] >= widest * (1 - 1e-12))
    # Nothing is below a score of 0 but negative numbers.
    return -1.0 if high == 0.0 else (low + high) / 2


def calibrate(name: str, scores: Any, positive: Any, weight: Any, new: Any) -> Any:
    if name == "logistic_bounded":
        return 1 / (1 + np.exp(-2 * (2 * new - 1)))
    if name == "isotonic":
        fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weight)
        return np.where(np.isnan(new), np.nan, fitted.predict(np.nan_to_num(new)))
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def unlikelihood(ab: Any) -> float:
        z = ab[0] * scores + ab[1]
        return float((weight * (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z))).sum())

    a, b = minimize(unlikelihood, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    return 1 / (1 + np.exp(a * new + b))


N_MEMBERS = 7


def ensemble(estimator: Any = None, **options: Any) -> CostBaggingClassifier:
    tree = CostTreeClassifier(max_depth=4) if estimator is None else estimator
    return CostBaggingClassifier(tree, n_estimators=N_MEMBERS, random_state=0, **options)
