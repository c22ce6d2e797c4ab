"""From what was asked for to units of work: each trains one ensemble, in every fold and on all learning records."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from stakes.catalog import Method, list_methods
from stakes.costs import Costs
from stakes.exceptions import CostsError, StudyError
from stakes.measures import MEASURES

__all__ = [
    "QUICK",
    "REAL",
    "RIVALS",
    "TREES",
    "Config",
    "Unit",
    "by_promise",
    "names_of",
    "plan_units",
    "settings_for",
    "training_costs",
]

# What most people would use instead: part of every study.
RIVALS = ("lr", "lgbm")
# As good as all of them within noise, over some hundred data sets: docs/results/state-of-the-art.md. Each differs from
# the others in kind; the most promising ones first.
QUICK = (*RIVALS, "gb", "rf", "et", "urf", "cprrf", "ab", "acost", "dab")
# Sizes of trees: the parameters that a name stands for.
TREES: dict[str, dict[str, int]] = {f"leaves of {n}": {"min_samples_leaf": n} for n in (1, 20)}
# The sizes that are tried; ensembles that are not here have their own. Of a small and a large one the better is as good
# as of three, and samples drawn by cost are best with their own: measured, docs/benchmarks/forests.md.
SIZES = dict.fromkeys(("bg", "rf", "rdf"), ("leaves of 1", "leaves of 20"))
# Cost ratios that are tried where costs are only a remedy for class imbalance.
RATIOS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
# To decide by the costs of the data.
REAL = "real"
CHOICES = {"metacost": ("best", "none"), "decisions": ("all", "follow-costs"), "refit": ("learning", "all")}


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a study is asked to do."""

    # Names, patterns such as "dm-*", "all" or "quick"; `lr` and `lgbm` are always added.
    methods: tuple[str, ...] = ("quick",)
    trees: int = 100  # members of each ensemble
    folds: int = 5  # into how many the learning records are divided
    repeats: int = 1  # how often they are divided anew
    train_costs: tuple[str, ...] = ("record",)  # "record", "class means", or pairs such as "1:6" of fp_cost and fn_cost
    measure: str = "cost"  # what is compared
    max_fpr: float | None = None  # limits the false positive rate
    max_acted: float | None = None  # limits the share of records acted on
    metacost: str = "best"  # "best" teaches a readable tree by the recommended model, "none" does not
    decisions: str = "all"  # or "follow-costs": those that follow the costs of the day
    teams: bool = True  # whether models may also decide together
    refit: str = "learning"  # what the delivered model is trained on: or "all", with the test records
    feature_costs: dict[str, Any] | None = None  # the prices of features: see `stakes.study.prices`
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("trees", 1), ("folds", 2), ("repeats", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise StudyError(f"--{name} is {getattr(self, name)}: give at least {least}")
        known = [name for name, measure in MEASURES.items() if measure.compares]
        if self.measure not in known:
            raise StudyError(f"there is no --measure {self.measure!r}: choose from {', '.join(known)}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise StudyError(f"--{name} is {getattr(self, name)!r}: choose from {', '.join(choices)}")
        for name in ("max_fpr", "max_acted"):
            limit = getattr(self, name)
            if limit is not None and not 0 < limit <= 1:
                option = f"--{name.replace('_', '-')}"
                raise StudyError(f"{option} is {limit}: give a share above 0 and up to 1")
        for setting in self.train_costs:
            training_costs(setting)
        _wanted(self.methods)

    @classmethod
    def of(
        cls,
        *,
        in_money: bool,
        methods: str | Iterable[str],
        train_costs: str | Iterable[str],
        measure: str | None,
        **others: Any,
    ) -> Config:
        """Return what is asked for on data whose mistakes have costs, or have none; without a measure the usual one."""
        measure = measure or ("cost" if in_money else "balanced_accuracy")
        config = cls(methods=names_of(methods), train_costs=names_of(train_costs), measure=measure, **others)
        if MEASURES[measure].needs_costs and not in_money:
            without = [name for name, each in MEASURES.items() if each.compares and not each.needs_costs]
            raise StudyError(
                f"the measure {measure!r} needs costs: give --fp-cost and --fn-cost, or choose from "
                f"{', '.join(without)}"
            )
        return config

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the measure is better."""
        return MEASURES[self.measure].higher_is_better

    @property
    def limits(self) -> dict[str, float]:
        """The limits that there are, by the measure that they limit."""
        both = {"fpr": self.max_fpr, "acted": self.max_acted}
        return {name: limit for name, limit in both.items() if limit is not None}


@dataclass(frozen=True)
class Unit:
    """One ensemble to train, and what is to be decided by it."""

    repeat: int
    method: str  # a name of the catalogue without dm- and mc-
    train_costs: str  # a setting of `Config`, or "none" for methods that train without costs
    members: tuple[str, ...]  # how members may vote, "label", "cost", "tuned": dm- stands for the last two
    tree: str | None = None  # one of TREES, where several sizes are tried
    decision_costs: tuple[str, ...] = (REAL,)  # what is decided by: the costs of the data, or pairs

    @property
    def entry(self) -> Method:
        """What the catalogue says of the method."""
        return list_methods().filter(name=self.method)[0]

    @property
    def family(self) -> str:
        """The family of the method."""
        return self.entry.family

    @property
    def key(self) -> str:
        """A name for the unit's file: with a digest, because file systems tell few characters apart."""
        parts = [part for part in (str(self.repeat), self.method, self.train_costs, self.tree) if part is not None]
        readable = ".".join(re.sub(r"[^0-9a-z.-]+", "_", part) for part in parts)
        return f"{readable}.{hashlib.sha256(repr(parts).encode()).hexdigest()[:8]}"


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names that may be a single one."""
    return (given,) if isinstance(given, str) else tuple(given)


def training_costs(setting: str) -> Costs | None:
    """Return the pair that a setting stands for; None for those that depend on the records."""
    if setting in ("record", "class means", "none", REAL):
        return None
    fp, _, fn = setting.partition(":")
    try:
        return Costs(fp=float(fp), fn=float(fn))
    except (ValueError, CostsError):
        raise StudyError(
            f"--train-costs {setting!r} are not known: give 'record', 'class means', or a pair such as 1:6 of the "
            "costs of a false positive and a false negative"
        ) from None


def plan_units(config: Config, ratios: Sequence[str] = ()) -> list[Unit]:
    """Return the units of a study, in the order of their results.

    `ratios` are the pairs of costs to be tried where there are no real ones.
    """
    wanted = _wanted(config.methods)
    settings = tuple(ratios) or config.train_costs
    units = []
    for repeat in range(config.repeats):
        for method, members in wanted.items():
            for setting in settings_for(method, settings):
                # What is trained without costs is trained once for all pairs.
                decide = (REAL,) if not ratios else tuple(ratios) if setting == "none" else (setting,)
                units += [
                    Unit(repeat, method.name, setting, members, tree, decide)
                    for tree in SIZES.get(method.name, (None,))
                ]
        if ratios:
            peers = list_methods().filter(name="imblearn-*").names
            units += [Unit(repeat, peer, "none", ("label",), decision_costs=tuple(ratios)) for peer in peers]
    return list(dict.fromkeys(units))  # the last ones may have been asked for by name, too


def by_promise(units: Sequence[Unit]) -> list[Unit]:
    """Return the units in the order in which to run them: where time is short, the most promising come first."""
    order = {name: i for i, name in enumerate(QUICK)}
    return sorted(units, key=lambda unit: (unit.repeat, order.get(unit.method, len(order))))


def _wanted(patterns: Sequence[str]) -> dict[Method, tuple[str, ...]]:
    """Return the ensembles to train, each with the ways in which its members may vote."""
    methods = {method.name: method for method in list_methods() if not method.name.startswith("mc-")}
    chosen: list[str] = [*RIVALS]
    for pattern in patterns:
        if pattern == "all":
            found = list(methods)
        elif pattern == "quick":
            found = [*QUICK]
        else:
            found = [name for name in methods if fnmatchcase(name, pattern.removeprefix("mc-"))]
        if not found:
            raise StudyError(f"no method is called {pattern!r}: `stakes methods` lists them")
        chosen += found
    wanted: dict[Method, tuple[str, ...]] = {}
    for name in methods:
        if name in chosen:
            base = methods[name.removeprefix("dm-")]
            # Members of boosting vote after training as they did in it.
            members = ("cost", "tuned") if name.startswith("dm-") else (base.make.decision.get("member", "label"),)
            wanted[base] = (*wanted.get(base, ()), *members)
    return {method: wanted[method] for method in methods.values() if method in wanted}


def settings_for(method: Method, settings: tuple[str, ...]) -> list[str]:
    """Return the training costs that make a difference to a method."""
    if "before" not in method.when and "during" not in method.when:
        return ["none"]
    if method.costs == "constant":
        settings = tuple("class means" if setting == "record" else setting for setting in settings)
    return list(dict.fromkeys(settings))
