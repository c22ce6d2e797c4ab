"""The methods by their names in the literature: a row for each, with what makes its classifier."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from inspect import signature
from typing import Any, overload

from stakes import _rivals as rivals
from stakes.bagging import PLAIN_TREE, CostBaggingClassifier
from stakes.boosting import CostBoostClassifier
from stakes.boosting.rules import RULES, Rule
from stakes.cost_decision import CostDecisionClassifier
from stakes.cost_tree import CostTreeClassifier
from stakes.decision.decision import Decision
from stakes.decision.reader import CAST_BY_COST
from stakes.gradient_boosting import CostGradientBoostingClassifier
from stakes.metacost import MetaCostClassifier
from stakes.sampling import SAMPLERS, CostSampler

__all__ = ["BAGGING", "Make", "Method", "MethodTable", "list_methods", "make_classifier"]

Samplers = tuple[tuple[str, type[CostSampler]], ...]
Rules = tuple[tuple[str, type[Rule]], ...]

_DECISION = tuple(f.name for f in fields(Decision))


@dataclass(frozen=True, kw_only=True)
class Make:
    """Makes the classifier of a method, and sends each parameter to where it belongs.

    A parameter is a field of the classifier's `decision`, if it has one; or one of the classifier's own; or goes to
    `model`, which makes the `estimator` inside. Any other is an error. A dict is merged with one that is there.
    """

    kind: Callable[..., Any]  # the classifier
    own: Mapping[str, Any] = field(default_factory=dict)  # its parameters, unless the caller gives others
    decision: Mapping[str, Any] = field(default_factory=dict)  # fields of its decision, likewise; nothing: its default
    model: Make | None = None  # makes its `estimator` from parameters that are not the classifier's
    always: bool = False  # whether the model is made even where nobody gives it parameters

    def __call__(self, **params: Any) -> Any:
        """Return the classifier, not fitted."""
        own_names, names = signature(self.kind).parameters, self.names
        own, decision, inner = dict(self.own), dict(self.decision), {}
        for name, value in params.items():
            if name not in names:
                near = difflib.get_close_matches(name, names, n=3)
                known = f"did you mean {', '.join(map(repr, near))}?" if near else f"it takes {', '.join(names)}"
                raise TypeError(f"{self.kind.__name__} and what is inside it have no parameter {name!r}: {known}")
            if "decision" in own_names and name in _DECISION:
                decision[name] = value
            elif name in own_names:
                has = own.get(name)
                own[name] = {**has, **value} if isinstance(has, dict) and isinstance(value, dict) else value
            else:
                inner[name] = value
        if inner and "estimator" in params:
            raise TypeError(f"estimator was given, so {', '.join(inner)} must be set in it")
        if self.model is not None and "estimator" not in params and (self.always or inner):
            own["estimator"] = self.model(**inner)
        if decision:
            own.setdefault("decision", Decision(**decision))
        return self.kind(**own)

    @property
    def names(self) -> list[str]:
        """The parameters that it takes."""
        own = signature(self.kind).parameters
        of_model = () if self.model is None else self.model.names
        return sorted({*own, *(_DECISION if "decision" in own else ()), *of_model})


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to learn and decide by costs.

    Attributes
    ----------
    name : str
        What `make_classifier` and the study call it.
    family : {"tree", "bagging", "boosting", "gradient boosting", "linear", "imbalanced-learn"}
        The kind of model underneath.
    description : str
        In a line.
    when : tuple of {"before", "during", "after"}
        When costs act: before, during or after training. Empty for methods that ignore them.
    costs : {"record", "constant", "none"}
        Whether costs that differ from record to record are used as they are, or reduced to class means.
    needs_costs : bool
        Whether the costs of the records to be predicted are needed.
    make : Make
        Makes the classifier from parameters.
    simple : bool
        Whether it is a single model: among models that are as good, studies prefer it to ensembles.
    trusted : tuple of str
        The types of other packages in its models that are safe to load from a file, by their full names.

    Examples
    --------
    >>> from stakes import list_methods
    >>> method = list_methods().filter(name="cprbg")[0]
    >>> method.when, method.costs, method.needs_costs
    (('before',), 'record', False)
    >>> method.make(n_estimators=10)
    CostBaggingClassifier(n_estimators=10, sampling='cpr')
    """

    name: str
    family: str
    description: str
    when: tuple[str, ...] = ()
    costs: str = "none"
    needs_costs: bool = False
    make: Make = field(repr=False, compare=False)
    simple: bool = False
    trusted: tuple[str, ...] = field(default=(), repr=False)


class MethodTable(Sequence[Method]):
    """Methods, in a table that prints itself and can be filtered.

    Examples
    --------
    >>> from stakes import list_methods
    >>> methods = list_methods()
    >>> "dm-cprbg" in methods.names
    True
    >>> methods.filter(family="boosting", needs_costs=True).names
    ['ub', 'csb0', 'csb1', 'csb2', 'csa', 'adamec', 'cab', 'dab']
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

    @property
    def names(self) -> list[str]:
        """The names of the methods."""
        return [method.name for method in self]

    def filter(self, **wanted: Any) -> MethodTable:
        """Return the methods with these attributes; `name` is a pattern such as ``"dm-*"``, `when` one of the times."""
        unknown = set(wanted) - {f.name for f in fields(Method)}
        if unknown:
            raise TypeError(f"methods have no {sorted(unknown)[0]!r}: choose from {[f.name for f in fields(Method)]}")

        def fits(has: Any, name: str, value: Any) -> bool:
            if name == "name":
                return fnmatchcase(has, value)
            return value in has if isinstance(has, tuple) and not isinstance(value, tuple) else bool(has == value)

        return MethodTable([m for m in self if all(fits(getattr(m, name), name, wanted[name]) for name in wanted)])

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table as text."""
        return [
            (m.name, m.family, "+".join(m.when) or "-", m.costs, "yes" if m.needs_costs else "no", m.description)
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


def list_methods() -> MethodTable:
    """Return all methods: what they are called, when costs act, and what they need.

    Returns
    -------
    methods : MethodTable
        Prints as a table; ``.names``, ``.filter(when="during")`` and iteration serve programs. Samplers and boosting
        rules that are registered at run time have their rows, too.

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
    return _rows(tuple(SAMPLERS.items()), tuple(RULES.items()))


@cache
def _rows(samplers: Samplers, rules: Rules) -> MethodTable:
    plain = [*_trees(), *_bagging(samplers), *_boosting(rules), *_sample_boosting(samplers), *_others()]
    return MethodTable(plain + [_metacost(method) for method in plain])


# Baselines that ignore costs ask for it: a classifier that is given costs does not ignore them by itself.
IGNORES: dict[str, Any] = {"threshold": "half"}
BY_COST_TREE: dict[str, Any] = {"criterion": "cost", "pruning": "cost_complexity", "pruning_measure": "cost"}


def _tree(**own: Any) -> Make:
    return Make(kind=CostTreeClassifier, own=own)


_boosting_of_trees = Make(kind=CostBoostClassifier, model=_tree(max_depth=1))


def _trees() -> Iterator[Method]:
    pruned = replace(_tree(pruning="cost_complexity"), decision=IGNORES)
    yield Method(name="tree", family="tree", description="a single tree, pruned", make=pruned, simple=True)
    yield Method(
        name="cstree",
        family="tree",
        description="a single tree, grown and pruned by cost",
        when=("during",),
        costs="record",
        make=_tree(**BY_COST_TREE),
        simple=True,
    )


# What the literature calls the samplers: the letters before an ensemble, the name in boosting, and the words. One that
# is not here goes by its own name.
SAMPLING = {
    "under": ("u", "usb", "under-sampling"),
    "over": ("o", "osb", "over-sampling"),
    "hybrid": ("h", "hsb", "under- and over-sampling"),
    "smote": ("s", "ssb", "SMOTE"),
    "cpr": ("cpr", "cprb", "cost-proportionate rejection"),
}


def _sampling(name: str) -> tuple[str, str, str]:
    return SAMPLING.get(name, (f"{name}-", f"{name}-sb", name))


# Ensembles of the bagging kind: names, words, parameters of the ensemble and of its trees, and further ones of trees
# where nothing is sampled by cost. With cuts at random leaves of one record cost less.
BAGGING: tuple[tuple[str, str, dict[str, Any], dict[str, Any], dict[str, Any]], ...] = (
    ("bg", "bagging", {}, {}, PLAIN_TREE),
    ("rf", "random forest", {"features": "per_split"}, {}, PLAIN_TREE),
    ("rdf", "random decision forest", {"features": "per_tree"}, {}, PLAIN_TREE),
    ("et", "extremely randomised forest", {"features": "per_split"}, {"splitter": "random"}, {}),
)


def _bagging(samplers: Samplers) -> Iterator[Method]:
    for base, words, features, tree, unsampled in BAGGING:
        make = Make(kind=CostBaggingClassifier, own=features, model=_tree(**tree), always=bool(tree))
        usual = replace(make, model=_tree(**tree, **unsampled))
        plain = Method(name=base, family="bagging", description=words, make=usual)
        before = replace(plain, when=("before",), costs="record", make=make)
        by_weight = replace(usual, own={**features, "weighted": True})
        rows = [(f"w{base}", "of members and votes weighted by cost", before, by_weight)]
        for sampling, sampler in samplers:
            letters, _, how = _sampling(sampling)
            drawn = replace(before, costs="constant" if sampler.constant_costs_only else "record")
            own = {**features, "sampling": sampling}
            for letter, text, more in (("", "of members drawn by", {}), ("p", "after", {"presample": True})):
                by_sample = replace(make, own={**own, **more})
                rows.append((f"{letters}{letter}{base}", f"{text} {how}", drawn, by_sample))
        by_split = replace(make, model=_tree(**tree, **BY_COST_TREE), always=True)
        rows.append((f"cs{base}", "of trees grown and pruned by cost", replace(before, when=("during",)), by_split))
        methods = [
            replace(method, name=name, description=f"{words} {text}", make=made) for name, text, method, made in rows
        ]
        yield replace(plain, make=replace(usual, decision=IGNORES))
        yield from methods
        for method in (plain, *methods):
            # Members that vote by T_cs count the costs, so that their probabilities must not: samples and weights shape
            # the trees, and their share in the probabilities is corrected.
            once = {"prior_correction": True} if "before" in method.when else {}
            yield replace(
                method,
                name=f"dm-{method.name}",
                description=f"{method.description}, voting by T_cs",
                when=(*method.when, "after"),
                costs="record" if method.costs == "none" else method.costs,
                needs_costs=True,
                make=replace(method.make, own={**method.make.own, **once}, decision={"member": "cost"}),
            )


# What the literature calls the boosting rules. A rule that is not here goes by its own name and docstring.
BOOSTING = {
    "adaboost": ("ab", "AdaBoost"),
    "naive": ("ncsab", "AdaBoost that starts from costs"),
    "uboost": ("ub", "UBoost: leaf weights and costs in the votes"),
    "adacost": ("acost", "AdaCost, with costs scaled to at most 0.3"),
    "adauboost": ("aub", "AdaUBoost"),
    "asymmetric": ("asb", "asymmetric AdaBoost"),
    "adac1": ("ac1", "AdaC1"),
    "adac2": ("ac2", "AdaC2"),
    "adac3": ("ac3", "AdaC3"),
    "csab": ("csa", "cost-sensitive AdaBoost (CSAB)"),
}
# What names have besides their rule. AdaCost multiplies the weight of a record by exp(alpha c / 2) in every round,
# right or wrong, so that dear records come to have all weight; with the largest cost scaled to 1, as published, members
# then rank badly. Mean savings of this scale on 18 public data sets with costs, four splits: 0.42 (0.37 by 1, 0.41 by
# 0.5, 0.40 by 0.1).
BOOSTING_PARAMS: dict[str, dict[str, Any]] = {"adacost": {"variant_params": {"scale": 0.3}}}


def _boosting(rules: Rules) -> Iterator[Method]:
    for variant, rule in rules:
        words = (rule.__doc__ or variant).strip().splitlines()[0].rstrip(".")
        name, description = BOOSTING.get(variant, (variant, words))
        own = {"variant": variant, **BOOSTING_PARAMS.get(variant, {})}
        yield Method(
            name=name,
            family="boosting",
            description=description,
            when=() if not rule.uses_costs else ("during", "after") if rule.threshold == "cost" else ("during",),
            costs="record" if rule.uses_costs else "none",
            needs_costs=rule.cast in CAST_BY_COST or rule.threshold == "cost",
            make=replace(_boosting_of_trees, own=own, decision={} if rule.uses_costs else IGNORES),
        )
    votes, calibrated = {"output": "vote", "threshold": "cost"}, {"calibration": "platt", "threshold": "cost"}
    for name, decision, words in (
        ("adamec", votes, "AdaMEC: AdaBoost, whose share of votes, no probability, is compared with T_cs"),
        ("cab", calibrated, "Calibrated AdaBoost: AdaMEC on votes calibrated by Platt scaling"),
        ("dab", {"member": "cost"}, "AdaBoost of members that decide by T_cs"),
        ("dab-thr", {"member": "tuned"}, "AdaBoost of members that decide by T_thr"),
    ):
        yield Method(
            name=name,
            family="boosting",
            description=words,
            when=("during" if "member" in decision else "after",),  # members decide in training already
            costs="record",
            needs_costs=name != "dab-thr",
            make=replace(_boosting_of_trees, decision=decision),
        )


# Synthetic records look like no others: what tells them apart soon says nothing about these, and AdaBoost ends after 11
# rounds of 60, on average over 15 data sets with costs. SMOTEBoost as published, AdaBoost.M2, whose members vote by
# their confidence, keeps 52, and saves as much (0.29, AdaBoost 0.28).
SAMPLE_BOOSTING_PARAMS: dict[str, dict[str, Any]] = {"smote": {"variant": "m2"}}


def _sample_boosting(samplers: Samplers) -> Iterator[Method]:
    for sampling, sampler in samplers:
        _, name, how = _sampling(sampling)
        more = SAMPLE_BOOSTING_PARAMS.get(sampling, {})
        yield Method(
            name=name,
            family="boosting",
            description=f"{'AdaBoost.M2' if more else 'AdaBoost'} with {how} in every round",
            when=("during",),
            costs="constant" if sampler.constant_costs_only else "record",
            make=replace(_boosting_of_trees, own={"sampling": sampling, **more}),
        )


def _others() -> Iterator[Method]:
    members = replace(_boosting_of_trees, own={"n_estimators": 10}, decision=IGNORES, always=True)
    yield Method(
        name="easy",
        family="bagging",
        description="EasyEnsemble: bagging of AdaBoost on members drawn by under-sampling",
        when=("before",),
        costs="constant",
        make=Make(kind=CostBaggingClassifier, own={"sampling": "under"}, model=members, always=True),
    )
    by_threshold = Method(
        name="lr",
        family="linear",
        description="logistic regression, decided by T_cs",
        when=("after",),
        costs="record",
        needs_costs=True,
        make=Make(kind=CostDecisionClassifier, model=Make(kind=rivals.logistic_regression), always=True),
        simple=True,
    )
    yield by_threshold
    theirs = {"num_leaves": 31, "max_delta_step": 0.0, "reg_lambda": 0.0}
    for name, when, words, objective, more in (
        ("gb", ("after",), "gradient boosting of small, bounded trees (LightGBM), decided by T_cs", "logistic", {}),
        ("lgbm", ("after",), "LightGBM with its own defaults, decided by T_cs", "logistic", theirs),
        ("wgb", ("before",), "gradient boosting (LightGBM) on records weighted by cost", "weighted", {}),
        ("csgb", ("during", "after"), "gradient boosting (LightGBM) of the expected cost, decided by T_cs", "cost", {}),
    ):
        yield replace(
            by_threshold,
            name=name,
            family="gradient boosting",
            description=words,
            when=when,
            needs_costs="after" in when,
            simple=name == "lgbm",  # what most people would take in its place
            make=Make(kind=CostGradientBoostingClassifier, own={"objective": objective, **more}),
        )
    for name, kind, words in (
        ("imblearn-brf", "BalancedRandomForestClassifier", "balanced random forest"),
        ("imblearn-rusboost", "RUSBoostClassifier", "RUSBoost"),
        ("imblearn-easyensemble", "EasyEnsembleClassifier", "EasyEnsemble"),
    ):
        yield Method(
            name=name,
            family="imbalanced-learn",
            description=f"imbalanced-learn's {words}, for balanced classes",
            trusted=rivals.OF_IMBALANCED_LEARN,
            make=replace(by_threshold.make, own=IGNORES, model=Make(kind=partial(rivals.balanced_ensemble, kind))),
        )


def _metacost(method: Method) -> Method:
    # The teacher has to decide by cost: where costs act nowhere else, they do in its decision.
    make = method.make
    if not method.when:
        own = {key: value for key, value in make.own.items() if key not in IGNORES}
        if "pruning" in own:  # by errors, rare positives are pruned away
            own["pruning_measure"] = "cost"
        if method.family == "imbalanced-learn":  # for balanced classes: no probabilities of the records as they are
            own["calibration"] = "platt"
        make = replace(make, decision={}, own=own)
    return replace(
        method,
        name=f"mc-{method.name}",
        description=f"MetaCost: a tree taught by {method.name}",
        when=method.when or ("after",),
        costs="record" if method.costs == "none" else method.costs,
        needs_costs=False,
        make=Make(kind=MetaCostClassifier, model=make, always=True),
    )


def make_classifier(name: str, **params: Any) -> Any:
    """Return the classifier that a name of the literature stands for.

    Parameters
    ----------
    name : str
        One of ``list_methods().names``. ``bg``, ``rf``, ``rdf``, ``ab``, ``m2`` and ``tree`` are the baselines that
        ignore costs; ``dm-`` before a name lets members vote by T_cs; ``mc-`` teaches a single tree.
    **params
        Parameters of the classifier; of its trees (``max_depth=3``) or the model inside it; and of its decision
        (``vote_weight="squared_odds"``), in place of those that the name stands for. A dict of options, such as
        `variant_params`, takes the place of those of the same name only; None takes that of all of them.

    Returns
    -------
    classifier
        Not fitted.

    Examples
    --------
    >>> from stakes import make_classifier
    >>> make_classifier("dm-cprbg", vote_weight="squared_odds")
    CostBaggingClassifier(decision=Decision(member='cost', output='vote', vote_weight='squared_odds'),
                          prior_correction=True, sampling='cpr')
    >>> make_classifier("dm-cprbgg")
    Traceback (most recent call last):
        ...
    ValueError: no method is called 'dm-cprbgg': did you mean 'dm-cprbg', ...? list_methods() has them all
    >>> make_classifier("rf", max_dept=3)
    Traceback (most recent call last):
        ...
    TypeError: CostBaggingClassifier and what is inside it have no parameter 'max_dept': did you mean 'max_depth', ...?
    """
    methods = list_methods()
    if name not in methods.names:
        near = difflib.get_close_matches(name.lower(), sorted(methods.names, key=len), n=4, cutoff=0.5)
        hint = f": did you mean {', '.join(map(repr, near))}?" if near else "."
        raise ValueError(f"no method is called {name!r}{hint} list_methods() has them all")
    return methods[methods.names.index(name)].make(**params)
