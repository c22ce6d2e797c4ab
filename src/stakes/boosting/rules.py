"""The variants of AdaBoost: a small rule each, by name in RULES (FRAMEWORK 7.2).

A round of boosting is the same for all of them (see ``loop``): a member is fitted to weighted records, its vote gets
a weight, alpha, and the records get new ones. A rule says what it does differently from AdaBoost: the weights it
starts with, alpha, what it multiplies the weights with, or how votes are cast. Weights of records are logarithms
throughout, so that no cost is too large for them.

To add a variant, write a class and register it. This one leaves records alone that are classified right:

>>> from stakes.boosting import CostBoostClassifier
>>> from stakes.boosting.rules import RULES, AdaBoost
>>> class Forgiving(AdaBoost):
...     def step(self, problem, alpha, margin):
...         return 2 * alpha * problem.scaled * (margin < 0)
>>> RULES["forgiving"] = Forgiving
>>> CostBoostClassifier(variant="forgiving", n_estimators=3).fit([[1], [2], [3], [4]], [0, 1, 0, 1]).n_rounds_
3
>>> del RULES["forgiving"]
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf, log
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from stakes.costs import Costs

__all__ = ["RULES", "AdaBoost", "Problem", "make_rule", "total"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# The logarithm of a ratio of costs where one of them is zero, and the largest there is: far beyond any real one.
LARGEST_LOG_RATIO = log(1e15)


@dataclass(frozen=True)
class Problem:
    """What a rule knows of the training records; all arrays have an entry for each of them.

    Parameters
    ----------
    positive : ndarray of shape (n_records,)
    costs : Costs
    n_rounds : int
        How many rounds were asked for.
    weight : ndarray of shape (n_records,)
        Sample weights, all positive.
    """

    positive: Bools
    costs: Costs
    n_rounds: int
    weight: Floats = field(repr=False)

    @cached_property
    def sign(self) -> Floats:
        """y*: 1 for positives, -1 for negatives."""
        return np.where(self.positive, 1.0, -1.0)

    @cached_property
    def cost(self) -> Floats:
        """The cost of misclassifying each record. Where no mistake costs anything, all cost the same."""
        cost = self.costs.of(self.positive)
        return cost if cost.any() else np.ones_like(cost)

    @cached_property
    def scaled(self) -> Floats:
        """C+ of positives and C- of negatives: the cost as a share of the largest."""
        return self.cost / self.cost.max()

    @cached_property
    def log_cost(self) -> Floats:
        """The logarithm of the cost, -inf for records that cost nothing."""
        return _log(self.cost)

    @cached_property
    def log_scaled(self) -> Floats:
        """The logarithm of the scaled cost."""
        return _log(self.scaled)

    @cached_property
    def log_ratio(self) -> Floats:
        """ln(C_FN / C_FP), and 0 where both are zero."""
        fp, fn = self.costs.arrays(self.positive.size)
        with np.errstate(invalid="ignore"):
            ratio = _log(fn) - _log(fp)
        return np.clip(np.where(np.isnan(ratio), 0.0, ratio), -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)

    @cached_property
    def positives_cost_more(self) -> bool:
        """Whether a positive costs more than a negative, on average."""
        means = self.costs.class_means(self.positive)
        return bool(means.fn > means.fp)

    @cached_property
    def class_sizes(self) -> Floats:
        """N+ for positives, N- for negatives."""
        return np.where(self.positive, self.weight[self.positive].sum(), self.weight[~self.positive].sum())

    @cached_property
    def distinct(self) -> tuple[Floats, NDArray[np.intp]]:
        """The distinct scaled costs, and the number of that of each record."""
        values, number = np.unique(self.scaled, return_inverse=True)
        return values, number


@dataclass(frozen=True)
class AdaBoost:
    """AdaBoost (FRAMEWORK 7.1), and the base of its variants.

    `margin` is y* h*: 1 where the member is right, -1 where it is wrong. `weight` sums to 1.
    """

    uses_costs: ClassVar[bool] = False
    """Whether costs act in training, so that the decision need not count them again."""
    cast: ClassVar[str] = "plain"
    """How votes are cast: see `stakes.decision.reader.Votes`."""

    def start(self, problem: Problem) -> Floats:
        """Return the logarithms of the initial weights, sample weights aside."""
        return np.zeros(problem.positive.size)

    def focus(self, problem: Problem) -> Floats | None:
        """Return the logarithms of what weights are multiplied with before a member is fitted; None for nothing."""
        return None

    def alpha(self, problem: Problem, weight: Floats, margin: Floats) -> float:
        """Return the weight of the member's vote: infinite if it cannot be better, not positive if it is useless."""
        return _half_log(total(weight, margin > 0), total(weight, margin < 0))

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """Return the logarithms of what the weights are multiplied with after a round."""
        return -alpha * margin


class Naive(AdaBoost):
    """Naive cost-sensitive AdaBoost: start from the costs."""

    uses_costs = True

    def start(self, problem: Problem) -> Floats:
        """w+ = C_FN, w- = C_FP."""
        return problem.log_scaled


class UBoost(Naive):
    """UBoost: votes are alpha (W+ C_FN - W- C_FP), by the weights in the leaf."""

    cast = "signed"


@dataclass(frozen=True)
class AdaCost(Naive):
    """AdaCost: dear mistakes raise weights more, dear hits lower them less.

    Parameters
    ----------
    scale : float, default=1
        The largest scaled cost, above 0 and at most 1. With 1, the dearest records add nothing to alpha when they are
        right, and the first member is often found useless.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Real) or not 0 < self.scale <= 1:
            raise ValueError(f"variant_params: scale={self.scale!r} is not above 0 and at most 1")

    # beta is (1 - y* h* c) / 2, and (y* h*)^2 = 1: so y* h* beta is half of y* h* - c.

    def alpha(self, problem: Problem, weight: Floats, margin: Floats) -> float:
        """1/2 ln((1 + r) / (1 - r)), r = sum w y* h* beta."""
        r = total(weight, margin - self.scale * problem.scaled) / 2
        return _half_log(1 + r, 1 - r)

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h* beta."""
        return -alpha / 2 * (margin - self.scale * problem.scaled)


@dataclass(frozen=True)
class AdaUBoost(Naive):
    """AdaUBoost: the exponent of positives is multiplied by the ratio of the costs.

    Parameters
    ----------
    exponent : {"printed", "inverse"}, default="printed"
        The ratio is C_FN / C_FP as printed, or C_FP / C_FN as other sources have it.
    """

    exponent: str = "printed"

    def __post_init__(self) -> None:
        if self.exponent not in ("printed", "inverse"):
            raise ValueError(f"variant_params: exponent={self.exponent!r} is not known: choose 'printed' or 'inverse'")

    def alpha(self, problem: Problem, weight: Floats, margin: Floats) -> float:
        """As AdaBoost, as long as both classes have weight.

        A ratio above 1 makes its class overshoot: alphas double from round to round, and the classes take turns in
        losing all weight. There is nothing to learn from one class; the dearer one is the one to stop with.
        """
        share = total(weight, problem.positive)
        if min(share, 1 - share) < np.finfo(np.float64).eps:
            return inf if (share > 0.5) == problem.positives_cost_more else -inf
        return super().alpha(problem, weight, margin)

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h* (C_FN / C_FP)^y."""
        log_ratio = problem.log_ratio if self.exponent == "printed" else -problem.log_ratio
        return -alpha * margin * np.exp(log_ratio * problem.positive)


class Asymmetric(AdaBoost):
    """Asymmetric AdaBoost: the ratio of the costs, spread over all rounds."""

    uses_costs = True

    def start(self, problem: Problem) -> Floats:
        """(C_FN / C_FP)^(1/2m) for positives, and the inverse for negatives."""
        return problem.sign * problem.log_ratio / (2 * problem.n_rounds)

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h*, and what it started with once more."""
        return self.start(problem) - alpha * margin


class CSB(Naive):
    """CSB0, CSB1, CSB2: mistakes are multiplied by their costs, and so are votes."""

    cast = "by_cost"

    def exponent(self, alpha: float) -> float:
        """a_j, by which weights rise and fall."""
        raise NotImplementedError

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """-a_j where right, ln C + a_j where wrong."""
        return np.where(margin < 0, problem.log_cost, 0.0) - self.exponent(alpha) * margin


class CSB0(CSB):
    """CSB0: costs only."""

    def exponent(self, alpha: float) -> float:
        """0."""
        return 0.0


class CSB1(CSB):
    """CSB1: the same exponent for all members."""

    def exponent(self, alpha: float) -> float:
        """1."""
        return 1.0


class CSB2(CSB):
    """CSB2: AdaBoost's exponent."""

    def exponent(self, alpha: float) -> float:
        """Alpha."""
        return alpha


@dataclass(frozen=True)
class AdaC(AdaBoost):
    """AdaC1, AdaC2, AdaC3 and CSAB: costs in alpha and in the update, not in the initial weights.

    Parameters
    ----------
    fit_on : {"costs", "weights"}, default="costs"
        Members are fitted on w C, by which alpha judges them too; or on w, as AdaC1 to AdaC3 were published. On w
        alone members do not see the costs that count in alpha, and where these differ much, it is soon not positive:
        boosting stops after a round or a few, with members that know nothing of costs.
    """

    fit_on: str = "costs"

    uses_costs = True

    def __post_init__(self) -> None:
        if self.fit_on not in ("weights", "costs"):
            raise ValueError(f"variant_params: fit_on={self.fit_on!r} is not known: choose 'weights' or 'costs'")

    def focus(self, problem: Problem) -> Floats | None:
        """Ln C or nothing."""
        return problem.log_scaled if self.fit_on == "costs" else None


class AdaC1(AdaC):
    """AdaC1: costs inside the exponent."""

    def alpha(self, problem: Problem, weight: Floats, margin: Floats) -> float:
        """1/2 ln((1 + r_t - r_f) / (1 - r_t + r_f))."""
        r = total(weight, margin * problem.scaled)
        return _half_log(1 + r, 1 - r)

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h* C."""
        return -alpha * margin * problem.scaled


class AdaC2(AdaC):
    """AdaC2: costs outside the exponent."""

    def alpha(self, problem: Problem, weight: Floats, margin: Floats) -> float:
        """1/2 ln(r_t / r_f)."""
        return super().alpha(problem, weight * problem.scaled, margin)

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """Ln C - alpha y* h*."""
        return problem.log_scaled - alpha * margin


class AdaC3(AdaC):
    """AdaC3: costs inside and outside the exponent."""

    def alpha(self, problem: Problem, weight: Floats, margin: Floats) -> float:
        """1/2 ln((r_t + r_f + r_2t - r_2f) / (r_t + r_f - r_2t + r_2f))."""
        weight = weight * problem.scaled
        r, r2 = float(weight.sum()), total(weight, margin * problem.scaled)
        return _half_log(r + r2, r - r2)

    def step(self, problem: Problem, alpha: float, margin: Floats) -> Floats:
        """Ln C - alpha y* h* C."""
        return problem.log_scaled - alpha * margin * problem.scaled


class CSAB(AdaC1):
    """Cost-sensitive AdaBoost: the alpha that minimises the cost-sensitive exponential loss.

    Costs are scaled: only their products with alpha enter.
    """

    def start(self, problem: Problem) -> Floats:
        """w+ = 1/N+, w- = 1/N-."""
        return -np.log(problem.class_sizes)

    def alpha(self, problem: Problem, weight: Floats, margin: Floats) -> float:
        """Return the root of sum w C (1[wrong] exp(C alpha) - 1[right] exp(-C alpha))."""
        # Records of equal cost are taken together: with constant costs, four numbers are left.
        cost, number = problem.distinct
        weight = weight * problem.scaled
        right, wrong = (np.bincount(number, weight * (margin == side), cost.size) for side in (1.0, -1.0))
        return _balance(cost, right.astype(np.float64), wrong.astype(np.float64))


def _balance(cost: Floats, right: Floats, wrong: Floats) -> float:
    """Return the a at which sum(wrong exp(cost a)) = sum(right exp(-cost a)); not positive if there is none above 0."""
    if not wrong.any():
        return inf
    if not right.any():
        return -inf
    for_right, for_wrong = right > 0, wrong > 0
    slow, fast = cost[for_right], cost[for_wrong]
    log_right, log_wrong = np.log(right[for_right]), np.log(wrong[for_wrong])

    def excess(a: float) -> float:
        # Of logarithms, so that it cannot overflow; its slope is a mean of `fast` plus one of `slow`.
        return float(logsumexp(log_wrong + fast * a) - logsumexp(log_right - slow * a))

    start = excess(0.0)
    if start >= 0:
        return -start
    lower, upper = -start / (slow.max() + fast.max()), -start / (slow.min() + fast.min())
    # Where all costs are equal the two are one; and no closer than rounding can tell.
    if excess(lower) >= 0:
        return lower
    if excess(upper) <= 0:
        return upper
    return float(brentq(excess, lower, upper, xtol=np.finfo(float).tiny, rtol=4 * np.finfo(float).eps, maxiter=1000))


def total(weight: Floats, factor: NDArray[Any]) -> float:
    """Return the weighted sum of `factor`.

    Not by a scalar product, which is left to a library that adds in the order of its threads.
    """
    return float((weight * factor).sum())


def _half_log(gain: float, loss: float) -> float:
    """Return 1/2 ln(gain / loss), infinite where one of them is zero."""
    if loss <= 0:
        return inf
    if gain <= 0:
        return -inf
    return (log(gain) - log(loss)) / 2


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(values)


RULES: dict[str, type[AdaBoost]] = {
    "adaboost": AdaBoost,
    "naive": Naive,
    "uboost": UBoost,
    "adacost": AdaCost,
    "adauboost": AdaUBoost,
    "asymmetric": Asymmetric,
    "csb0": CSB0,
    "csb1": CSB1,
    "csb2": CSB2,
    "adac1": AdaC1,
    "adac2": AdaC2,
    "adac3": AdaC3,
    "csab": CSAB,
}


def make_rule(variant: str, params: dict[str, Any] | None = None) -> AdaBoost:
    """Return the rule of a variant, with options of its own."""
    if not isinstance(variant, str) or variant not in RULES:
        raise ValueError(f"variant={variant!r} is not known: choose from {', '.join(map(repr, RULES))}")
    if not isinstance(params, dict | None):
        raise TypeError(f"variant_params={params!r} is not a dict of the variant's options")
    rule, params = RULES[variant], params or {}
    known = [option.name for option in fields(rule)]
    unknown = [name for name in params if name not in known]
    if unknown:
        has = f"it has {', '.join(map(repr, known))}" if known else "it has none"
        raise ValueError(f"variant_params: {variant!r} has no option {unknown[0]!r}: {has}")
    return rule(**params)
