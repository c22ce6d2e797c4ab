"""The variants of AdaBoost: a small rule each, by name in RULES (FRAMEWORK 7.2).

A round of boosting is the same for all of them (see ``loop``): a member is fitted to weighted records, its vote gets
a weight, alpha, and the records get new weights. A rule overrides what differs from AdaBoost: the initial weights,
alpha, the factors that the weights are multiplied with, or how votes are cast. Weights of records are logarithms
throughout, so that none overflows. Rules see costs as shares of the largest one: the currency does not matter.

To add a variant, write a class and register it. This one does not lower the weights of records that are classified
correctly:

>>> from stakes.boosting import CostBoostClassifier
>>> from stakes.boosting.rules import RULES, Rule
>>> class Forgiving(Rule):
...     def step(self, records, alpha, margin):
...         return 2 * alpha * records.cost_share * (margin < 0)
>>> RULES["forgiving"] = Forgiving
>>> CostBoostClassifier(variant="forgiving", n_estimators=3).fit([[1], [2], [3], [4]], [0, 1, 0, 1]).n_rounds_
3
>>> del RULES["forgiving"]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from math import inf, log
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from stakes._rows import RECORDS_PER_PART
from stakes._typing import Floats
from stakes.records import LARGEST_LOG_RATIO, Records

__all__ = ["RULES", "AdaBoost", "Rule", "make_rule", "total"]


def choice(*choices: str) -> Any:
    """Return the field of an option that is one of some words, the first by default."""
    known = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
    return field(default=choices[0], metadata={"valid": choices.__contains__, "hint": f"not known: choose {known}"})


def number(default: float, valid: Callable[[float], bool], range_: str) -> Any:
    """Return the field of an option that is a number."""
    return field(
        default=default, metadata={"valid": lambda v: isinstance(v, Real) and valid(float(v)), "hint": f"not {range_}"}
    )


# The fields of rules that are not options of theirs.
CONTEXT = ("n_rounds", "amounts")


@dataclass(frozen=True)
class Rule:
    """The formulas of AdaBoost (FRAMEWORK 7.1): the base of all variants.

    Fields that a subclass adds are options of the variant. `margin` is y* h*: 1 where the member is right, -1 where it
    is wrong, and between the two where votes are confidences. `weight` sums to 1.

    Parameters
    ----------
    redraws : int, default=10
        An option of all variants: how often a round is repeated, if its member is of no use, with another sample, or
        with weights that start anew.
    tuning : {"weights", "validation"}, default="weights"
        An option of all variants: where members decide by T_thr, it is the threshold that is cheapest on the training
        records, whose costs count by the weights of the round; or on validation records, which have no such weights,
        so that boosting ends after a round or a few.
    n_rounds : int
        The number of rounds asked for.
    amounts : ndarray of shape (n_records,) or None
        Where members come about by costs (fitted to samples that are drawn by them, or deciding by them): the factor
        of each record's cost that they do not take into account.
    """

    _: KW_ONLY
    redraws: int = number(10, lambda n: n >= 0 and n == int(n), "a whole number of at least 0")
    tuning: str = choice("weights", "validation")
    n_rounds: int = 100
    amounts: Floats | None = field(default=None, repr=False, compare=False)

    uses_costs: ClassVar[bool] = False
    """Whether costs act in training, so that the decision need not count them again."""
    cast: ClassVar[str] = "plain"
    """How votes are cast: see `stakes.decision.reader.Votes`."""
    confident: ClassVar[bool] = False
    """Whether margins are confidences, 2 P+ - 1 at the leaf times y*, and not 1 and -1."""
    threshold: ClassVar[str] = "half"
    """The threshold of the default decision where costs act in training: "tuned" for rules that count them twice."""
    calibration: ClassVar[str | None] = None
    """The calibration of that decision."""
    spreads_costs: ClassVar[bool] = False
    """Whether `n_rounds` enters the formulas, so that no rounds can be added."""

    @property
    def starts_anew(self) -> bool:
        """Whether a member that decides by its costs, and is of no use, lets the weights start anew."""
        return False

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if option.metadata and not option.metadata["valid"](value):
                raise ValueError(f"variant_params: {option.name}={value!r} is {option.metadata['hint']}")

    def start(self, records: Records) -> Floats:
        """Return the logarithms of the initial weights, sample weights aside."""
        return np.zeros(len(records))

    def focus(self, records: Records) -> Floats | None:
        """Return the logarithms of what weights are multiplied with before a member is fitted; None for nothing."""
        return None

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """Return alpha, the weight of the member's vote.

        Infinite for a member that cannot be better, not positive for one that is of no use.
        """
        return _half_log(total(weight, lambda rows: 1 + margin[rows]), total(weight, lambda rows: 1 - margin[rows]))

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """Return the logarithms of what the weights are multiplied with after a round."""
        return -alpha * margin


@dataclass(frozen=True)
class AdaBoost(Rule):
    """AdaBoost, in which costs act at most in the members.

    Parameters
    ----------
    errors : {"auto", "plain", "cost"}, default="auto"
        Whether the mistakes of a member count by weight, or by weight times cost. "auto" is "cost" where members come
        about by costs, so that they are judged by what they are made for: judged by weight alone, most of them are
        wrong about more than half of the records, and boosting ends after a round or a few.
    """

    errors: str = choice("auto", "plain", "cost")

    @property
    def _by_cost(self) -> bool:
        return self.errors == "cost" or (self.errors == "auto" and self.amounts is not None)

    @property
    def starts_anew(self) -> bool:
        """Where mistakes count by cost, and thresholds of members, if they tune any, go by the weights of the round."""
        return self.amounts is not None and self._by_cost and self.tuning == "weights"

    def focus(self, records: Records) -> Floats | None:
        """Return the logarithms of the amounts, so that members are fitted to what they are judged by."""
        if self.amounts is None or not self._by_cost:
            return None
        with np.errstate(divide="ignore"):
            return np.log(self.amounts)

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """1/2 ln((1 - eps) / eps)."""
        return super().vote_weight(records, weight * records.cost_share if self._by_cost else weight, margin)


class AdaBoostM2(AdaBoost):
    """AdaBoost.M2 of two classes: members vote by their confidence, and alpha goes by the pseudo-loss.

    With samples it is RUSBoost and SMOTEBoost as published.
    """

    cast = "confidence"
    confident = True


@dataclass(frozen=True)
class Naive(Rule):
    """Naive cost-sensitive AdaBoost: start from the costs.

    Parameters
    ----------
    power : float, default=1
        The initial weights are the costs to this power: 0.5 for their square roots, 0 for equal weights.
    """

    power: float = number(1.0, lambda power: 0 <= power < inf, "a number of at least 0")

    uses_costs = True

    def start(self, records: Records) -> Floats:
        """w+ = C_FN, w- = C_FP."""
        return self.power * records.log_cost if self.power else np.zeros(len(records))


class UBoost(Naive):
    """UBoost: votes are alpha (W+ C_FN - W- C_FP), by the weights in the leaf. With power 0 it is "Boosting"."""

    cast = "signed"
    threshold = "tuned"


@dataclass(frozen=True)
class AdaCost(Naive):
    """AdaCost: costly mistakes raise weights more, costly hits lower them less.

    Parameters
    ----------
    alpha : {"epsilon", "fan", "printed"}, default="epsilon"
        1/2 ln((1 - eps) / eps); 1/2 ln((1 + r) / (1 - r)) with r = sum w y* h* beta, as Fan et al. (1999) have it; or
        the inverse of that, as in the text of the paper. Fan's alpha is often not positive in the first round, which
        ends boosting there.
    scale : float, default=1
        The largest scaled cost, above 0 and at most 1.
    """

    alpha: str = choice("epsilon", "fan", "printed")
    scale: float = number(1.0, lambda scale: 0 < scale <= 1, "above 0 and at most 1")

    threshold = "tuned"

    # beta is (1 - y* h* c) / 2, and (y* h*)^2 = 1: so y* h* beta is half of y* h* - c.

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """Return alpha by the option of that name."""
        if self.alpha == "epsilon":
            return super().vote_weight(records, weight, margin)
        r = total(weight, margin - self.scale * records.cost_share) / 2
        return _half_log(1 + r, 1 - r) if self.alpha == "fan" else _half_log(1 - r, 1 + r)

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h* beta."""
        return -alpha / 2 * (margin - self.scale * records.cost_share)


@dataclass(frozen=True)
class AdaUBoost(Naive):
    """AdaUBoost: the exponent of the class that costs more is multiplied by the ratio of the costs.

    Parameters
    ----------
    exponent : {"inverse", "printed"}, default="inverse"
        That of positives is multiplied by C_FP / C_FN as in the original, which is about positives that cost more;
        where negatives do, theirs is multiplied by C_FN / C_FP. As printed in the paper, the factor is C_FN / C_FP for
        positives: if it is above 1, alphas double from round to round until one class has lost all weight.
    """

    exponent: str = choice("inverse", "printed")

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """As AdaBoost; a member fitted to records of one class is of no use."""
        share = total(weight, records.positive)
        if min(share, 1 - share) < np.finfo(np.float64).eps:
            return -inf
        return super().vote_weight(records, weight, margin)

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h* (C_FP / C_FN)^y."""
        if self.exponent == "printed":
            log_factor = records.log_cost_ratio * records.positive
        else:
            log_factor = np.minimum(-records.sign * records.log_cost_ratio, 0.0)
        return -alpha * margin * np.exp(log_factor)


class Asymmetric(Rule):
    """Asymmetric AdaBoost: the ratio of the costs, spread over all rounds."""

    uses_costs = True
    spreads_costs = True

    def start(self, records: Records) -> Floats:
        """(C_FN / C_FP)^(1/2m) for positives, and the inverse for negatives.

        A record whose mistake costs something, and the opposite one nothing, has no ratio. It takes that of the mean
        costs of the classes: as the limit of ratios, a payment of nothing would weigh more than all others together.
        """
        log_ratio = records.sign * records.log_cost_ratio
        endless = log_ratio >= LARGEST_LOG_RATIO
        if endless.any():
            log_ratio[endless] = (records.sign * records.log_mean_cost_ratio)[endless]
        return log_ratio / (2 * self.n_rounds)

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h*, and the initial weight once more."""
        return self.start(records) - alpha * margin


@dataclass(frozen=True)
class CostsPerRound(Rule):
    """Rules in which costs multiply from round to round.

    Parameters
    ----------
    costs_per_round : {"root", "full"}, default="root"
        C^(1/m) in each of m rounds, which make C together, as in asymmetric AdaBoost; or C in every round, as
        published. Then the class that costs more soon has all the weight, and all records are decided alike.
    """

    costs_per_round: str = choice("root", "full")

    @property
    def spreads_costs(self) -> bool:  # type: ignore[override]
        """Whether the costs are spread over all rounds."""
        return self.costs_per_round == "root"

    def log_cost(self, records: Records) -> Floats:
        """Return ln C, or a share of it."""
        return records.log_cost / self.n_rounds if self.costs_per_round == "root" else records.log_cost


@dataclass(frozen=True)
class CSB(Naive, CostsPerRound):
    """CSB0, CSB1, CSB2: mistakes are multiplied by their costs, in units of the smallest one, and so are votes."""

    cast = "by_cost"
    threshold = "tuned"

    def exponent(self, alpha: float) -> float:
        """a_j, by which weights rise and fall."""
        raise NotImplementedError

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """-a_j where right, ln C + a_j where wrong."""
        log_cost = self.log_cost(records)
        smallest = log_cost.min(where=log_cost > -inf, initial=0.0)
        return np.where(margin < 0, log_cost - smallest, 0.0) - self.exponent(alpha) * margin


class CSB0(CSB):
    """CSB0: costs only."""

    def exponent(self, alpha: float) -> float:
        """0."""
        return 0.0


@dataclass(frozen=True)
class CSB1(CSB):
    """CSB1: the same exponent for all members.

    Parameters
    ----------
    margins : {"confidence", "labels"}, default="confidence"
        The exponent is multiplied by the confidence of the member, as in Ting (2000), or by 1 and -1, as printed in the
        paper: too large a step for members that are hardly better than chance, whose votes then rank nothing.
    """

    margins: str = choice("confidence", "labels")

    @property
    def confident(self) -> bool:  # type: ignore[override]
        """Whether margins are confidences."""
        return self.margins == "confidence"

    def exponent(self, alpha: float) -> float:
        """1."""
        return 1.0


class CSB2(CSB):
    """CSB2: AdaBoost's exponent."""

    def exponent(self, alpha: float) -> float:
        """Alpha."""
        return alpha


@dataclass(frozen=True)
class AdaC(Rule):
    """AdaC1, AdaC2, AdaC3 and CSAB: costs in alpha and in the update, not in the initial weights.

    Parameters
    ----------
    fit_on : {"costs", "weights"}, default="costs"
        Members are fitted on w C, by which alpha judges them too; or on w, as AdaC1 to AdaC3 were published. On w
        alone members do not see the costs that count in alpha, and where these differ much, it is soon not positive:
        boosting stops after a round or a few, with members that know nothing of costs.
    """

    fit_on: str = choice("costs", "weights")

    uses_costs = True

    def focus(self, records: Records) -> Floats | None:
        """Ln C or nothing."""
        return records.log_cost if self.fit_on == "costs" else None


class AdaC1(AdaC):
    """AdaC1: costs inside the exponent."""

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """1/2 ln((1 + r_t - r_f) / (1 - r_t + r_f))."""
        r = total(weight, margin * records.cost_share)
        return _half_log(1 + r, 1 - r)

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """-alpha y* h* C."""
        return -alpha * margin * records.cost_share


@dataclass(frozen=True)
class AdaC2(AdaC, CostsPerRound):
    """AdaC2: costs outside the exponent. By roots of constant costs it is asymmetric AdaBoost."""

    def focus(self, records: Records) -> Floats | None:
        """Ln C or nothing."""
        return self.log_cost(records) if self.fit_on == "costs" else None

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """1/2 ln(r_t / r_f)."""
        return super().vote_weight(records, weight * np.exp(self.log_cost(records)), margin)

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """Ln C - alpha y* h*."""
        return self.log_cost(records) - alpha * margin


class AdaC3(AdaC2):
    """AdaC3: costs inside and outside the exponent."""

    def focus(self, records: Records) -> Floats | None:
        """Ln C or nothing; by roots ln C^2, by which alpha judges members, as small edges need it."""
        focus = super().focus(records)
        return focus if focus is None or self.costs_per_round == "full" else 2 * focus

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """1/2 ln((r_t + r_f + r_2t - r_2f) / (r_t + r_f - r_2t + r_2f))."""
        cost = np.exp(self.log_cost(records))
        weight = weight * cost
        r, r2 = float(weight.sum()), total(weight, margin * cost)
        return _half_log(r + r2, r - r2)

    def step(self, records: Records, alpha: float, margin: Floats) -> Floats:
        """Ln C - alpha y* h* C."""
        log_cost = self.log_cost(records)
        return log_cost - alpha * margin * np.exp(log_cost)


class CSAB(AdaC1):
    """Cost-sensitive AdaBoost: the alpha that minimises the cost-sensitive exponential loss.

    Costs are scaled: only their products with alpha enter. Votes count the sizes of the classes besides the costs,
    which is too much where positives are rare: they are calibrated, and decide by T_cs.
    """

    calibration = "platt"
    threshold = "cost"

    def start(self, records: Records) -> Floats:
        """w+ = 1/N+, w- = 1/N-."""
        positive, negative = (records.weights[rows].sum() for rows in (records.positive, ~records.positive))
        return -np.log(np.where(records.positive, positive, negative))

    def vote_weight(self, records: Records, weight: Floats, margin: Floats) -> float:
        """Return the root of sum w C (1[wrong] exp(C alpha) - 1[right] exp(-C alpha))."""
        # Records of equal cost are taken together: with constant costs, four numbers are left.
        cost, number = records.cost_levels
        weight = weight * records.cost_share
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


def total(weight: Floats, factor: NDArray[Any] | Callable[[slice], NDArray[Any]]) -> float:
    """Return the weighted sum of `factor`: an array, or what returns those of some records.

    Not by a scalar product, which is left to a library that adds in the order of its threads. And by parts, so that
    their products stay in the cache, and no memory is asked for: of many records, to get it takes longer than to
    compute. The parts are those that numpy adds up itself.
    """
    part_of = factor if callable(factor) else factor.__getitem__

    def sum_of(start: int, end: int) -> float:
        if end - start > RECORDS_PER_PART:
            middle = start + (end - start) // 16 * 8
            return sum_of(start, middle) + sum_of(middle, end)
        rows = slice(start, end)
        return float((weight[rows] * part_of(rows)).sum())

    return sum_of(0, weight.size)


def _half_log(gain: float, loss: float) -> float:
    """Return 1/2 ln(gain / loss), infinite where one of them is zero."""
    if loss <= 0:
        return inf
    if gain <= 0:
        return -inf
    return (log(gain) - log(loss)) / 2


RULES: dict[str, type[Rule]] = {
    "adaboost": AdaBoost,
    "m2": AdaBoostM2,
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


def make_rule(variant: str, params: dict[str, Any] | None = None, **context: Any) -> Rule:
    """Return the rule of a variant, with options of its own; `context` is what all rules know, such as `n_rounds`."""
    if not isinstance(variant, str) or variant not in RULES:
        raise ValueError(f"variant={variant!r} is not known: choose from {', '.join(map(repr, RULES))}")
    if not isinstance(params, dict | None):
        raise TypeError(f"variant_params={params!r} is not a dict of the variant's options")
    rule, params = RULES[variant], params or {}
    known = [option.name for option in fields(rule) if option.name not in CONTEXT]
    unknown = [name for name in params if name not in known]
    if unknown:
        has = f"it has {', '.join(map(repr, known))}" if known else "it has none"
        raise ValueError(f"variant_params: {variant!r} has no option {unknown[0]!r}: {has}")
    return rule(**params, **context)
