"""FRAMEWORK 7 by the book: one record after the other, plain weights, no logarithms.

Stumps are grown by the engine; everything else, from weights to final outcomes, is worked out here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cosh, exp, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from stakes.costs import Costs
from stakes.metrics import tuned_threshold
from stakes.records import Records
from stakes.table import Table
from stakes.tree.binning import Binning
from stakes.tree.recipe import TreeRecipe
from stakes.tree.trees import Trees

Floats = NDArray[np.float64]


@dataclass
class Task:
    """Records with costs, and what the table of variants says of each of them."""

    X: Floats
    y: NDArray[np.int64]
    fp: Floats
    fn: Floats

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def costs(self) -> dict[str, Any]:
        return {"fp_cost": self.fp, "fn_cost": self.fn}

    @property
    def cost(self) -> list[float]:
        return [self.fn[i] if self.y[i] == 1 else self.fp[i] for i in range(self.n)]

    @property
    def threshold(self) -> Floats:
        return self.fp / (self.fp + self.fn)


def make_task(seed: int, *, record_dependent: bool, n: int = 70) -> Task:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + 0.8 * X[:, 1] + rng.normal(size=n) > 0.5).astype(np.int64)
    if record_dependent:
        return Task(X, y, rng.uniform(0.8, 2.0, n), rng.uniform(1.0, 4.0, n))
    return Task(X, y, np.full(n, 1.3), np.full(n, 4.1))


@dataclass
class Stump:
    """A stump, with the weights of its leaves."""

    trees: Trees
    binning: Binning

    def leaf(self, X: Floats) -> NDArray[np.int32]:
        return self.trees.apply(self.binning.transform(Table(X)))[:, 0]

    @property
    def weights(self) -> Floats:
        """W- and W+ of each leaf."""
        return self.trees.nodes.weights[self.trees.leaves]

    def label(self, X: Floats) -> list[int]:
        return [int(self.weights[leaf, 1] > self.weights[leaf, 0]) for leaf in self.leaf(X)]

    def probability(self, X: Floats) -> list[float]:
        return [self.weights[leaf, 1] / self.weights[leaf].sum() for leaf in self.leaf(X)]


def fit_stump(X: Floats, y: NDArray[np.int64], weight: list[float], binning: Binning) -> Stump:
    records = Records(binning.transform(Table(X)), y == 1, Costs(fp=1, fn=1))
    features = np.arange(X.shape[1], dtype=np.int32)
    recipe = TreeRecipe(max_depth=1)
    nodes = recipe.grow(records, binning.feature_bins_, features=features, seed=0, cost_weight=np.array(weight))
    return Stump(Trees.join([nodes]), binning)


@dataclass
class Run:
    """What happened in each round."""

    fit_weights: list[list[float]]
    errors: list[float]
    alphas: list[float]
    stumps: list[Stump]
    thresholds: list[float]  # of members that tune one


def normalised(weight: list[float]) -> list[float]:
    total = sum(weight)
    return [w / total for w in weight]


def half_log(a: float, b: float) -> float:
    return 0.5 * log(a / b)


def boost(
    task: Task,
    variant: str,
    rounds: int,
    *,
    scale: float = 1.0,
    alpha_by: str = "epsilon",
    exponent: str = "inverse",
    power: float = 1.0,
    costs_per_round: str = "root",
    fit_on: str | None = None,
    member: str = "label",
    samples: Any = None,
    errors: str = "auto",
    margins: str = "confidence",
    tuning: str = "weights",
) -> Run:
    """Run the rounds; `samples` yields rows to fit each member to, synthetic records, and their classes.

    By "cost" AdaBoost judges members by w c. Those that decide by T_cs are then fitted on w (C_FP + C_FN), whose
    products with T_cs and 1 - T_cs are the costs; those of samples that are drawn by the costs, on w.
    """
    X, y, fp, fn, n = task.X, task.y, task.fp, task.fn, task.n
    binning = Binning().fit(Table(X))
    largest = max(task.cost)
    c = [cost / largest for cost in task.cost]
    raw = task.cost
    cheapest = min(cost for cost in raw if cost > 0)
    each = [cost / cheapest for cost in raw]  # what CSB multiplies mistakes with
    if costs_per_round == "root":
        each = [cost ** (1 / rounds) for cost in each]
        if variant in ("adac2", "adac3"):
            c = [cost ** (1 / rounds) for cost in c]
    star = [1 if y[i] == 1 else -1 for i in range(n)]
    n_positive = int(y.sum())

    def ratio(i: int) -> float:
        return fn[i] / fp[i]

    root = 1 / (2 * rounds)
    # Initial weights
    if variant in ("naive", "uboost", "adacost", "adauboost", "csb0", "csb1", "csb2"):
        w = [cost**power for cost in raw]
    elif variant == "asymmetric":
        w = [
            ratio(i) ** (1 / (2 * rounds)) / n if y[i] == 1 else (1 / ratio(i)) ** (1 / (2 * rounds)) / n
            for i in range(n)
        ]
    elif variant == "csab":
        w = [1 / n_positive if y[i] == 1 else 1 / (n - n_positive) for i in range(n)]
    else:
        w = [1.0] * n

    run = Run([], [], [], [], [])
    for t in range(rounds):
        w = normalised(w)
        on_costs = (fit_on or ("costs" if variant in ("adac1", "adac2", "adac3", "csab") else "weights")) == "costs"
        judged_by_cost = variant in ("adaboost", "m2") and (
            errors == "cost" or (errors == "auto" and (member != "label" or samples is not None))
        )
        squared = 2 if variant == "adac3" and costs_per_round == "root" else 1
        fit_weight = normalised([w[i] * c[i] ** squared for i in range(n)]) if on_costs else w
        if judged_by_cost and member != "label":
            fit_weight = normalised([w[i] * (fp[i] + fn[i]) for i in range(n)])
        if samples is None:
            stump = fit_stump(X, y, fit_weight, binning)
        else:
            rows, X_new, y_new = samples[t]
            mean = {k: np.mean([fit_weight[i] for i in range(n) if y[i] == k]) for k in (0, 1)}
            inside = normalised([fit_weight[i] for i in rows] + [mean[k] for k in y_new])
            stump = fit_stump(np.vstack([X[rows], X_new]), np.concatenate([y[rows], y_new]), inside, binning)
        limit = 0.0
        if member == "label":
            h = stump.label(X)
        else:
            p = stump.probability(X)
            if member == "cost":
                h = [int(p[i] > fp[i] / (fp[i] + fn[i])) for i in range(n)]
            else:
                times = w if tuning == "weights" else None
                limit = tuned_threshold(y, p, fp_cost=fp, fn_cost=fn, sample_weight=times)
                h = [int(p[i] > limit) for i in range(n)]
        m = [star[i] * (1 if h[i] == 1 else -1) for i in range(n)]
        if variant == "m2" or (variant == "csb1" and margins == "confidence" and member == "label"):
            m = [star[i] * (2 * p - 1) for i, p in enumerate(stump.probability(X))]
        eps = sum(w[i] * (1 - m[i]) / 2 for i in range(n))
        beta = [(1 - m[i] * scale * c[i]) / 2 for i in range(n)]

        # Alpha
        if variant == "adacost" and alpha_by != "epsilon":
            r = sum(w[i] * m[i] * beta[i] for i in range(n))
            alpha = half_log(1 + r, 1 - r) if alpha_by == "fan" else half_log(1 - r, 1 + r)
        elif variant in ("adac1", "adac2", "adac3"):
            r_t = sum(w[i] * c[i] for i in range(n) if m[i] > 0)
            r_f = sum(w[i] * c[i] for i in range(n) if m[i] < 0)
            r_2t = sum(w[i] * c[i] ** 2 for i in range(n) if m[i] > 0)
            r_2f = sum(w[i] * c[i] ** 2 for i in range(n) if m[i] < 0)
            alpha = {
                "adac1": half_log(1 + r_t - r_f, 1 - r_t + r_f),
                "adac2": half_log(r_t, r_f),
                "adac3": half_log(r_t + r_f + r_2t - r_2f, r_t + r_f - r_2t + r_2f),
            }[variant]
        elif variant == "csab":
            alpha = csab_alpha(w, c, m)
        elif judged_by_cost:
            whole = sum(w[i] * c[i] for i in range(n))
            by_cost = sum(w[i] * c[i] * (1 - m[i]) / 2 for i in range(n)) / whole
            alpha = half_log(1 - by_cost, by_cost)
        else:
            alpha = half_log(1 - eps, eps)

        if alpha <= 1e-12:
            if t == 0:
                run = Run([fit_weight], [eps], [1.0], [stump], [limit])
            return run
        run.fit_weights.append(fit_weight)
        run.errors.append(eps)
        run.alphas.append(alpha)
        run.stumps.append(stump)
        run.thresholds.append(limit)

        # Update
        if variant in ("adaboost", "m2", "naive", "uboost"):
            w = [w[i] * exp(-alpha * m[i]) for i in range(n)]
        elif variant == "adacost":
            w = [w[i] * exp(-alpha * m[i] * beta[i]) for i in range(n)]
        elif variant == "adauboost":
            if exponent == "printed":
                factor = [ratio(i) ** y[i] for i in range(n)]
            else:  # (C_FP / C_FN)^y where positives cost more, and the roles swapped where negatives do
                factor = [min(1.0, 1 / ratio(i)) if y[i] == 1 else min(1.0, ratio(i)) for i in range(n)]
            w = [w[i] * exp(-alpha * m[i] * factor[i]) for i in range(n)]
        elif variant == "asymmetric":
            w = [w[i] * (ratio(i) if y[i] == 1 else 1 / ratio(i)) ** root * exp(-alpha * m[i]) for i in range(n)]
        elif variant in ("csb0", "csb1", "csb2"):
            a = {"csb0": 0.0, "csb1": 1.0, "csb2": alpha}[variant]
            w = [(1 if m[i] >= 0 else each[i]) * w[i] * exp(-a * m[i]) for i in range(n)]
        elif variant in ("adac1", "csab"):
            w = [w[i] * exp(-alpha * m[i] * c[i]) for i in range(n)]
        elif variant == "adac2":
            w = [c[i] * w[i] * exp(-alpha * m[i]) for i in range(n)]
        elif variant == "adac3":
            w = [c[i] * w[i] * exp(-alpha * m[i] * c[i]) for i in range(n)]
    return run


def csab_alpha(w: list[float], c: list[float], m: list[int]) -> float:
    """Return the root of the general form; an upper end for it is found by doubling."""

    def f(a: float) -> float:
        return sum(w[i] * c[i] * (exp(c[i] * a) if m[i] < 0 else -exp(-c[i] * a)) for i in range(len(w)))

    if f(0.0) >= 0:
        return -inf
    upper = 1.0
    while f(upper) < 0:
        upper *= 2
    return float(brentq(f, 0.0, upper, xtol=1e-14))


def csab_as_printed(alpha: float, task: Task, w: list[float], h: list[int]) -> tuple[float, float]:
    """Return both sides of the printed equation, for constant costs scaled by their maximum."""
    c_fn, c_fp = task.fn[0] / max(task.fn[0], task.fp[0]), task.fp[0] / max(task.fn[0], task.fp[0])
    positives = [i for i in range(task.n) if task.y[i] == 1]
    negatives = [i for i in range(task.n) if task.y[i] == 0]
    b = sum(w[i] for i in positives if h[i] == 0)
    d = sum(w[i] for i in negatives if h[i] == 1)
    left = 2 * b * c_fn * cosh(c_fn * alpha) + 2 * d * c_fp * cosh(c_fp * alpha)
    right = c_fn * exp(-c_fn * alpha) * sum(w[i] for i in positives)
    right += c_fp * exp(-c_fp * alpha) * sum(w[i] for i in negatives)
    return left, right


def outcomes_of(run: Run, task: Task, member: str) -> NDArray[np.int64]:
    """Return the outcome of each member on each record."""
    columns = []
    for stump, limit in zip(run.stumps, run.thresholds, strict=True):
        if member == "label":
            columns.append(stump.label(task.X))
        else:
            limits = task.threshold if member == "cost" else np.full(task.n, limit)
            columns.append([int(p > t) for p, t in zip(stump.probability(task.X), limits, strict=True)])
    return np.array(columns, dtype=np.int64).T


def shares(run: Run, variant: str, task: Task, member: str = "label") -> Floats:
    """Return S of each record after each round: the weighted share of positive votes, as the variant casts them.

    Signed votes have no shares: theirs is 1/2 + sum / (2 x the largest possible absolute sum), of costs that sum to 1.
    """
    h = outcomes_of(run, task, member)
    leaves = [stump.leaf(task.X) for stump in run.stumps]
    found = np.empty(h.shape)
    for i in range(task.n):
        positive = total = signed = largest = 0.0
        for k, alpha in enumerate(run.alphas):
            vote = alpha if h[i, k] == 1 else -alpha
            if variant == "m2":
                positive += alpha * run.stumps[k].probability(task.X)[i]
                total += alpha
                found[i, k] = positive / total
                continue
            if variant == "uboost":
                w_negative, w_positive = run.stumps[k].weights[leaves[k][i]]
                vote = alpha * (w_positive * task.fn[i] - w_negative * task.fp[i])
                signed, largest = signed + vote, largest + alpha * max(max(w) for w in run.stumps[k].weights)
                found[i, k] = 0.5 + signed / (task.fn[i] + task.fp[i]) / (2 * largest)
                continue
            if variant in ("csb0", "csb1", "csb2"):
                vote *= task.fn[i] if h[i, k] == 1 else task.fp[i]
            positive, total = positive + max(vote, 0.0), total + abs(vote)
            found[i, k] = positive / total
    return found
