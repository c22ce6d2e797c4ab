"""The methods by their names in the literature (FRAMEWORK 9)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, overload

from sklearn.ensemble import HistGradientBoostingClassifier

from stakes.bagging import CostBaggingClassifier
from stakes.boosting import CostBoostClassifier
from stakes.cost_decision import CostDecisionClassifier
from stakes.cost_tree import CostTreeClassifier
from stakes.decision.decision import Decision
from stakes.encoded import EncodedClassifier
from stakes.metacost import MetaCostClassifier

__all__ = ["Method", "MethodTable", "list_methods", "make_classifier"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to learn and decide by costs.

    Attributes
    ----------
    name : str
        What `make_classifier` and the study call it.
    description : str
        In a line.
    family : {"tree", "bagging", "boosting", "gradient boosting"}
        The kind of ensemble underneath.
    when : tuple of {"before", "during", "after"}
        When costs act: before, during or after training. Empty for methods that ignore them.
    costs : {"record", "constant", "none"}
        Whether costs that differ from record to record are used as they are, or reduced to class means.
    needs_costs : bool
        Whether the costs of the records to be predicted are needed.

    Examples
    --------
    >>> from stakes import list_methods
    >>> method = list_methods().filter(name="cprbg")[0]
    >>> method.when, method.costs, method.needs_costs
    (('before',), 'record', False)
    """

    name: str
    description: str
    family: str
    when: tuple[str, ...]
    costs: str
    needs_costs: bool


class MethodTable(Sequence[Method]):
    """Methods, in a table that prints itself and can be filtered.

    Examples
    --------
    >>> from stakes import list_methods
    >>> methods = list_methods()
    >>> "dm-cprbg" in methods.names
    True
    >>> methods.filter(family="boosting", needs_costs=True).names
    ['ub', 'csb0', 'csb1', 'csb2', 'dab']
    """

    def __init__(self, methods: Sequence[Method]) -> None:
        self._methods = list(methods)

    @overload
    def __getitem__(self, index: int) -> Method: ...
    @overload
    def __getitem__(self, index: slice) -> MethodTable: ...
    def __getitem__(self, index: Any) -> Any:
        return MethodTable(self._methods[index]) if isinstance(index, slice) else self._methods[index]

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Iterator[Method]:
        return iter(self._methods)

    @property
    def names(self) -> list[str]:
        """The names of the methods."""
        return [method.name for method in self]

    def filter(self, **wanted: Any) -> MethodTable:
        """Return the methods with these attributes; `name` is a pattern such as ``"dm-*"``, `when` one of the times."""
        unknown = set(wanted) - {f.name for f in fields(Method)}
        if unknown:
            raise TypeError(f"methods have no {sorted(unknown)[0]!r}: choose from {[f.name for f in fields(Method)]}")

        def fits(method: Method) -> bool:
            for name, value in wanted.items():
                has = getattr(method, name)
                if name == "name":
                    matches = fnmatchcase(has, value)
                else:
                    matches = value in has if isinstance(has, tuple) and not isinstance(value, tuple) else has == value
                if not matches:
                    return False
            return True

        return MethodTable([method for method in self if fits(method)])

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table as text."""
        return [
            (
                m.name,
                m.family,
                "+".join(m.when) or "-",
                m.costs,
                "yes" if m.needs_costs else "no",
                m.description,
            )
            for m in self
        ]

    def __repr__(self) -> str:
        header = ("name", "family", "costs act", "costs", "needed to predict", "description")
        table = [header, *self.rows()]
        widths = [max(len(row[i]) for row in table) for i in range(len(header) - 1)]
        return "\n".join(
            "  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]])
            for row in table
        )


# The three ensembles of the bagging kind: what their members look at, and what they are called.
ENSEMBLES = {
    "bg": ("all", "bagging"),
    "rf": ("per_split", "random forest"),
    "rdf": ("per_tree", "random decision forest"),
}
SAMPLING = {
    "u": ("under", "under-sampling"),
    "o": ("over", "over-sampling"),
    "h": ("hybrid", "under- and over-sampling"),
    "s": ("smote", "SMOTE"),
    "cpr": ("cpr", "cost-proportionate rejection"),
}
BOOSTING = {
    "ab": ("adaboost", "AdaBoost"),
    "ncsab": ("naive", "AdaBoost that starts from costs"),
    "ub": ("uboost", "UBoost: leaf weights and costs in the votes"),
    "acost": ("adacost", "AdaCost"),
    "aub": ("adauboost", "AdaUBoost"),
    "asb": ("asymmetric", "asymmetric AdaBoost"),
    "csb0": ("csb0", "CSB0"),
    "csb1": ("csb1", "CSB1"),
    "csb2": ("csb2", "CSB2"),
    "ac1": ("adac1", "AdaC1"),
    "ac2": ("adac2", "AdaC2"),
    "ac3": ("adac3", "AdaC3"),
    "csa": ("csab", "cost-sensitive AdaBoost (CSAB)"),
}
SAMPLE_BOOSTING = {"usb": "u", "osb": "o", "hsb": "h", "ssb": "s", "cprb": "cpr"}
VOTES_BY_COST = {"ub", "csb0", "csb1", "csb2"}

_BAGGING_NAME = re.compile(r"(?P<dm>dm-)?(?P<how>w|cs|u|o|h|s|cpr)?(?P<pre>p)?(?P<base>bg|rdf|rf)")
_DECISION_FIELDS = {f.name for f in fields(Decision)}
_TREE_PARAMETERS = {
    "criterion", "max_depth", "min_samples_split", "min_samples_leaf", "max_features", "cp", "pruning",
    "pruning_measure", "break_ties", "max_bins",
}  # fmt: skip


@cache
def list_methods() -> MethodTable:
    """Return all methods: what they are called, when costs act, and what they need.

    Returns
    -------
    methods : MethodTable
        Prints as a table; ``.names``, ``.filter(when="during")`` and iteration serve programs.

    Examples
    --------
    >>> from stakes import list_methods
    >>> print(list_methods().filter(name="*cprbg"))
    name         family   costs act     costs   needed to predict  description
    cprbg        bagging  before        record  no                 bagging of members drawn by ...
    dm-cprbg     bagging  before+after  record  yes                bagging of members ..., voting by T_cs
    mc-cprbg     bagging  before        record  no                 MetaCost: a tree taught by cprbg
    mc-dm-cprbg  bagging  before+after  record  no                 MetaCost: a tree taught by dm-cprbg
    """
    plain = [*_trees(), *_bagging(), *_boosting(), *_gradient_boosting()]
    return MethodTable(plain + [_metacost(method) for method in plain])


def _trees() -> Iterator[Method]:
    yield Method(
        name="tree", description="a single tree, pruned", family="tree", when=(), costs="none", needs_costs=False
    )
    yield Method(
        name="cstree",
        description="a single tree, grown and pruned by cost",
        family="tree",
        when=("during",),
        costs="record",
        needs_costs=False,
    )


def _bagging() -> Iterator[Method]:
    for base, (_, ensemble) in ENSEMBLES.items():
        found = [
            Method(name=base, description=ensemble, family="bagging", when=(), costs="none", needs_costs=False),
            _before(f"w{base}", f"{ensemble} of members and votes weighted by cost", "record"),
        ]
        for letters, (_, sampling) in SAMPLING.items():
            costs = "record" if letters == "cpr" else "constant"
            found.append(_before(f"{letters}{base}", f"{ensemble} of members drawn by {sampling}", costs))
            found.append(_before(f"{letters}p{base}", f"{ensemble} after {sampling}", costs))
        found.append(
            Method(
                name=f"cs{base}",
                description=f"{ensemble} of trees grown and pruned by cost",
                family="bagging",
                when=("during",),
                costs="record",
                needs_costs=False,
            )
        )
        yield from found
        for method in found:
            yield replace(
                method,
                name=f"dm-{method.name}",
                description=f"{method.description}, voting by T_cs",
                when=(*method.when, "after"),
                costs="record" if method.costs == "none" else method.costs,
                needs_costs=True,
            )


def _before(name: str, description: str, costs: str) -> Method:
    return Method(
        name=name,
        description=description,
        family="bagging",
        when=("before",),
        costs=costs,
        needs_costs=False,
    )


def _boosting() -> Iterator[Method]:
    for name, (_, description) in BOOSTING.items():
        acts = name != "ab"
        yield Method(
            name=name,
            description=description,
            family="boosting",
            when=("during",) if acts else (),
            costs="record" if acts else "none",
            needs_costs=name in VOTES_BY_COST,
        )
    for name, letters in SAMPLE_BOOSTING.items():
        yield Method(
            name=name,
            description=f"AdaBoost with {SAMPLING[letters][1]} in every round",
            family="boosting",
            when=("during",),
            costs="record" if letters == "cpr" else "constant",
            needs_costs=False,
        )
    yield Method(
        name="dab",
        description="AdaBoost of members that decide by T_cs",
        family="boosting",
        when=("during",),
        costs="record",
        needs_costs=True,
    )


def _gradient_boosting() -> Iterator[Method]:
    yield Method(
        name="gb",
        description="gradient boosting, decided by T_cs",
        family="gradient boosting",
        when=("after",),
        costs="record",
        needs_costs=True,
    )
    yield Method(
        name="wgb",
        description="gradient boosting on records weighted by cost",
        family="gradient boosting",
        when=("before",),
        costs="record",
        needs_costs=False,
    )


def _metacost(method: Method) -> Method:
    # The teacher has to decide by cost: where costs act nowhere else, they do in its decision.
    return replace(
        method,
        name=f"mc-{method.name}",
        description=f"MetaCost: a tree taught by {method.name}",
        when=method.when or ("after",),
        costs="record" if method.costs == "none" else method.costs,
        needs_costs=False,
    )


def make_classifier(name: str, **params: Any) -> Any:
    """Return the classifier that a name of the literature stands for (FRAMEWORK 9).

    Parameters
    ----------
    name : str
        One of ``list_methods().names``. ``bg``, ``rf``, ``rdf``, ``ab`` and ``tree`` are the baselines that ignore
        costs; ``dm-`` before a name lets members vote by T_cs; ``mc-`` teaches a single tree.
    **params
        Parameters of the classifier; of its trees (``max_depth=3``); and of its decision
        (``vote_weight="squared_odds"``), in place of those that the name stands for.

    Returns
    -------
    classifier
        Not fitted.

    Examples
    --------
    >>> from stakes import make_classifier
    >>> make_classifier("dm-cprbg", vote_weight="squared_odds")
    CostBaggingClassifier(decision=Decision(member='cost', output='vote', vote_weight='squared_odds'),
                          sampling='cpr')
    >>> make_classifier("dm-cprbgg")
    Traceback (most recent call last):
        ...
    ValueError: no method is called 'dm-cprbgg': did you mean 'dm-cprbg', ...? list_methods() has them all
    """
    if name not in _names():
        near = difflib.get_close_matches(name.lower(), sorted(_names(), key=len), n=4, cutoff=0.5)
        hint = f": did you mean {', '.join(map(repr, near))}?" if near else "."
        raise ValueError(f"no method is called {name!r}{hint} list_methods() has them all")
    if name.startswith("mc-"):
        return _make_metacost(name.removeprefix("mc-"), params)
    return _make(name, params)


@cache
def _names() -> frozenset[str]:
    return frozenset(list_methods().names)


def _make(name: str, params: dict[str, Any], *, decides: bool = False) -> Any:
    """Return a classifier; with `decides`, one that decides by cost even if its name stands for one that does not."""
    if name in ("gb", "wgb"):
        weighted = name == "wgb"
        defaults = {"weighted": True} if weighted else {}
        estimator = params.get("estimator") or EncodedClassifier(HistGradientBoostingClassifier())
        return CostDecisionClassifier(**{**defaults, **params, "estimator": estimator})
    chosen = {key: value for key, value in params.items() if key in _DECISION_FIELDS}
    tree = {key: value for key, value in params.items() if key in _TREE_PARAMETERS}
    rest = {key: value for key, value in params.items() if key not in chosen and key not in tree}
    if name in ("tree", "cstree"):
        grown = {"pruning": "cost_complexity"}
        if name == "cstree":
            grown |= {"criterion": "cost", "pruning_measure": "cost"}
        decision = _decision({} if name == "cstree" or decides else {"threshold": "half"}, chosen)
        return CostTreeClassifier(**{**grown, **tree, "decision": decision, **rest})
    if name in BOOSTING or name in SAMPLE_BOOSTING or name == "dab":
        asked: dict[str, Any] = {}
        base: dict[str, str] = {}
        if name in BOOSTING:
            asked["variant"] = BOOSTING[name][0]
        if name in SAMPLE_BOOSTING:
            asked["sampling"] = SAMPLING[SAMPLE_BOOSTING[name]][0]
        if name == "dab":
            base = {"member": "cost"}
        elif name == "ab" and not decides:
            base = {"threshold": "half"}
        if tree:
            asked["estimator"] = CostTreeClassifier(**{"max_depth": 1, **tree})
        return CostBoostClassifier(**{**asked, "decision": _decision(base, chosen), **rest})
    match = _BAGGING_NAME.fullmatch(name)
    assert match is not None
    how, base_name = match["how"], match["base"]
    asked = {} if ENSEMBLES[base_name][0] == "all" else {"features": ENSEMBLES[base_name][0]}
    if how == "w":
        asked["weighted"] = True
    elif how == "cs":
        tree = {"criterion": "cost", "pruning": "cost_complexity", "pruning_measure": "cost"} | tree
    elif how is not None:
        asked["sampling"] = SAMPLING[how][0]
        if match["pre"]:
            asked["presample"] = True
    if tree:
        asked["estimator"] = CostTreeClassifier(**tree)
    base = {}
    if match["dm"]:
        base = {"member": "cost"}
    elif how is None and not decides:
        base = {"threshold": "half"}
    return CostBaggingClassifier(**{**asked, "decision": _decision(base, chosen), **rest})


def _decision(base: dict[str, Any], chosen: dict[str, Any]) -> Decision | None:
    """Return the decision that a name stands for, with what the caller chose in its place; None for the default."""
    return Decision(**{**base, **chosen}) if base or chosen else None


def _make_metacost(teacher: str, params: dict[str, Any]) -> MetaCostClassifier:
    own = {
        key: params[key]
        for key in (
            "final_estimator",
            "out_of_bag",
            "fp_cost",
            "fn_cost",
            "cost_estimator",
            "pos_label",
            "random_state",
        )
        if key in params
    }
    rest = {key: value for key, value in params.items() if key not in own}
    return MetaCostClassifier(_make(teacher, rest, decides=True), **own)
