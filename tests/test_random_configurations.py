"""Random configurations of every estimator, on small random records: what must hold does, or a documented error is due.

Some two hundred of them each time, always the same; more than 10,000 others, new ones each time, by
``pytest -m slow tests/test_random_configurations.py``.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imblearn.under_sampling import RandomUnderSampler
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
)
from stakes.boosting.rules import RULES
from stakes.decision.decision import CHOICES
from stakes.exceptions import ClassMeansWarning
from stakes.sampling import SAMPLERS, CPRSampler, HybridSampler, SMOTESampler
from stakes.tree.criteria import CRITERIA
from stakes.tree.leaves import LEAVES

# All that a configuration may be refused for, on records that are as they should be.
DOCUMENTED = (
    # Decisions that have no meaning, by themselves or for an ensemble
    r"output='average' has no votes: leave out",
    r"output='average' needs members' probabilities, and boosting has votes only",
    r"vote_weight='node' is the mean weight in a leaf: only weighted ensembles have one",
    r"calibration='logistic' needs the alphas of boosting",
    r"leaf='\w+' is about trees, and the members are not",
    r"needs records of both classes, and none of the \d+ given is (positive|negative)",
    r"this decision chooses something on validation records, and none were kept",
    # Parameters that contradict each other
    r"presample=True has nothing to do without sampling=",
    r"prior_correction=True is about samples and trees, and the members are weighted models",
    r"weighted=True puts the costs into the probability, and calibration= takes them out again",
    r"features='per_split' is about trees, and the members are",
    r"weighted=True and criterion='cost' both count the costs",
    r"variant='uboost' votes by the weights in the leaves of trees",
    r"variant='m2' votes by the confidence of members, and member='\w+' by their outcomes",
    r"validation='oob' needs records of both classes out of the bag",
    r"out_of_bag=True needs a CostBaggingClassifier that leaves records out",
    # Records from which nothing can be held out, or no sample be drawn
    r"the smaller class has \d+ record\(s\), too few to hold out a validation set of \d+%",
    r"no sample of the \d+ records has both classes",
    r"growing a class to that ratio would take more than \d+ records",
    r"the sample would have [\d,]+ records, and there are",
    r"the sample would have some \S+ records: take a larger quantile",
    r"the class to grow has one record only",
    r"SMOTE makes records between others and needs two with all their numbers",
    r"left one class only: change its parameters",
    r"RandomUnderSampler cannot sample a polars DataFrame .*: give an array or a pandas frame",
    r"quantile=\S+ of the records' costs is 0, which cannot be their ceiling",
)


# Records


@dataclass(frozen=True)
class Records:
    """Records, with everything that goes to fit and to predict."""

    X: Any
    y: Any
    costs: dict[str, Any]
    weight: Any

    @property
    def options(self) -> dict[str, Any]:
        return self.costs if self.weight is None else self.costs | {"sample_weight": self.weight}

    def scaled(self, factor: float) -> dict[str, Any]:
        return self.options | {name: np.multiply(cost, factor) for name, cost in self.costs.items()}


# The last two are more than any class can grow to.
COST_PAIRS = (
    *((1.0, 1.0), (1.0, 5.0), (3.0, 0.5), (1e-3, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)),
    *((1.0, 1e-12), (1e-12, 1.0)),
)


@st.composite
def records(draw: st.DrawFn, numbers_only: bool = False) -> Records:
    """Some records of two classes: with ties, missing values, categories, weights, and costs of wild ratios."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 30))
    y = (rng.random(n) < draw(st.sampled_from([0.1, 0.3, 0.5, 0.9]))).astype(int)
    y[:2] = 0, 1
    X = (rng.normal(size=(n, draw(st.integers(1, 5)))) + y[:, None] * draw(st.sampled_from([0, 1, 3]))).round(
        draw(st.sampled_from([0, 1, 8]))
    )
    kind = "array" if numbers_only else draw(st.sampled_from(["array", "holes", "pandas", "polars"]))
    if kind != "array":
        X[rng.random(X.shape) < draw(st.sampled_from([0.05, 0.5]))] = np.nan
    frame: Any = X
    if kind in ("pandas", "polars"):
        columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        columns["kind"] = np.where(rng.random(n) < 0.2, None, rng.choice(list("abc"), n)).tolist()
        frame = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns, nan_to_null=True)
    fp, fn = draw(st.sampled_from(COST_PAIRS))
    costs: dict[str, Any] = {"fp_cost": fp, "fn_cost": fn}
    if draw(st.booleans()):
        costs["fn_cost"] = fn * rng.lognormal(sigma=2, size=n)
    if draw(st.booleans()):
        costs["fp_cost"] = np.where(rng.random(n) < 0.2, 0.0, fp * rng.integers(1, 4, n))
    if draw(st.integers(0, 3)) == 0:
        costs["tn_cost"] = -1.0
    weight = draw(st.sampled_from([None, None, "whole", "any"]))
    if weight is not None:
        weight = rng.integers(0, 3, n).astype(float) if weight == "whole" else rng.exponential(size=n)
        weight[:2] = 1.0
    labels = draw(st.sampled_from([y, np.where(y == 1, "yes", "no"), y == 1]))
    return Records(frame, labels, costs, weight)


# Configurations


def some(**choices: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Return some of these parameters; each is a strategy, or a sequence to choose from."""
    strategies = {
        name: choice if isinstance(choice, st.SearchStrategy) else st.sampled_from(choice)
        for name, choice in choices.items()
    }
    return st.fixed_dictionaries({}, optional=strategies)


def built(kind: Callable[..., Any], **choices: Any) -> st.SearchStrategy[Any]:
    return some(**choices).map(lambda parameters: kind(**parameters))


# As parameters, made a decision only when an estimator is: not all of them go together.
DECISIONS = some(**CHOICES)
MODELS = (DecisionTreeClassifier(max_depth=2), SGDClassifier(loss="log_loss", max_iter=5, tol=None))
SAMPLINGS = (
    *SAMPLERS, CPRSampler(quantile=0.8), HybridSampler(share=0.3), SMOTESampler(k_neighbors=1), RandomUnderSampler()
)  # fmt: skip
SEEDS = st.integers(0, 2**31 - 1)
TREES = built(
    CostTreeClassifier,
    criterion=tuple(CRITERIA),
    max_depth=(None, 1, 2, 5),
    min_samples_split=(2, 5),
    min_samples_leaf=(1, 3),
    min_weight_fraction_leaf=(0.0, 0.1),
    max_features=(None, 1, 0.5, "sqrt", "log2"),
    pruning=(None, "cost_complexity", "reduced_error"),
    pruning_measure=("error", "cost"),
    leaf=tuple(LEAVES),
    break_ties=(True, False),
    max_bins=(2, 7, 255),
)
# CSB multiplies weights by the costs themselves (FRAMEWORK 7.2); the others go by logarithms of two costs, whose
# difference is rounded in another way in another unit.
UNIT_MATTERS = ("csb0", "csb1", "csb2", "adauboost", "asymmetric")
VALIDATIONS = ("auto", None, 0.2, 0.5)


@dataclass(frozen=True)
class Family:
    """An estimator and its parameters; and for which of them the unit of the costs matters."""

    kind: type
    parameters: dict[str, Any]
    defaults: dict[str, Any] = field(default_factory=dict)
    minds_unit: Callable[[Any], bool] = lambda estimator: False


FAMILIES: dict[str, Family] = {
    "tree": Family(
        CostTreeClassifier,
        {
            "criterion": tuple(CRITERIA),
            "max_depth": (None, 1, 3),
            "min_samples_leaf": (1, 3),
            "min_weight_fraction_leaf": (0.0, 0.1),
            "max_features": (None, 1, 0.5, "sqrt"),
            "pruning": (None, "cost_complexity", "reduced_error"),
            "pruning_measure": ("error", "cost"),
            "leaf": tuple(LEAVES),
            "break_ties": (True, False),
            "max_bins": (2, 255),
            "decision": DECISIONS,
            "validation": VALIDATIONS,
        },
    ),
    "bagging": Family(
        CostBaggingClassifier,
        {
            "estimator": st.one_of(TREES, st.sampled_from(MODELS)),
            "n_estimators": (1, 2, 4, 7),
            "sampling": (None, *SAMPLINGS),
            "presample": (False, False, True),
            "weighted": (False, True),
            "features": ("all", "per_split", "per_tree"),
            "prior_correction": (False, True),
            "decision": DECISIONS,
            "validation": (*VALIDATIONS, "oob"),
        },
        {"n_estimators": 3},
    ),
    "boosting": Family(
        CostBoostClassifier,
        {
            "estimator": st.one_of(TREES, st.sampled_from(MODELS)),
            "variant": tuple(RULES),
            "n_estimators": (1, 3, 7),
            "sampling": (None, None, *SAMPLINGS),
            "decision": DECISIONS,
            "validation": VALIDATIONS,
        },
        {"n_estimators": 3},
        minds_unit=lambda estimator: estimator.variant in UNIT_MATTERS,
    ),
    "decision": Family(
        CostDecisionClassifier,
        {
            "estimator": st.sampled_from(MODELS),
            "calibration": (None, "sigmoid", "platt", "isotonic", "logistic_bounded"),
            "threshold": (None, "cost", "tuned", "half"),
            "weighted": (False, True),
            "validation": VALIDATIONS,
        },
        {"estimator": MODELS[0]},
    ),
    "metacost": Family(
        MetaCostClassifier,
        {
            "estimator": st.one_of(
                TREES,
                TREES.map(lambda tree: CostBaggingClassifier(tree, n_estimators=3)),
                st.sampled_from(tuple(RULES)).map(lambda variant: CostBoostClassifier(variant=variant, n_estimators=3)),
            ),
            "final_estimator": st.one_of(st.none(), TREES),
            "out_of_bag": (None, False, True),
        },
        {"estimator": CostTreeClassifier(max_depth=2)},
        minds_unit=lambda estimator: getattr(estimator.estimator, "variant", None) in UNIT_MATTERS,
    ),
}


@dataclass(frozen=True)
class Configuration:
    """An estimator that is yet to be made: a decision may have no meaning even by itself."""

    kind: type
    parameters: dict[str, Any]

    def make(self) -> Any:
        parameters = dict(self.parameters)
        if "decision" in parameters:
            parameters["decision"] = Decision(**parameters["decision"])
        return self.kind(**parameters)


@st.composite
def configurations(draw: st.DrawFn, family: Family) -> Configuration:
    """Return some parameters of an estimator, and the small defaults of others."""
    parameters = draw(some(**family.parameters))
    return Configuration(family.kind, family.defaults | parameters | {"random_state": draw(SEEDS)})


def takes_numbers_only(estimator: Any) -> bool:
    """Whether members are models that take neither text nor missing values."""
    return type(getattr(estimator, "estimator", None)) in {type(model) for model in MODELS}


# What must hold


def is_documented(error: ValueError) -> bool:
    return any(re.search(pattern, str(error)) for pattern in DOCUMENTED)


def bytes_of(data: Records) -> bytes:
    return pickle.dumps((data.X.to_dict() if isinstance(data.X, pd.DataFrame) else data.X, data.y, data.options))


def check(family: Family, data: st.DataObject) -> None:
    configuration = data.draw(configurations(family), label="configuration")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ClassMeansWarning)
        try:
            estimator = configuration.make()
            told = data.draw(records(takes_numbers_only(estimator)), label="records")
            before = bytes_of(told)
            estimator.fit(told.X, told.y, **told.options)
        except ValueError as error:
            if not is_documented(error):
                raise
            return
        shares = estimator.predict_proba(told.X, **told.costs)
        outcome = estimator.predict(told.X, **told.costs)
        assert bytes_of(told) == before, "what the caller passed has changed"
        assert shares.shape == (len(told.y), 2)
        assert np.isfinite(shares).all()
        assert ((shares >= 0) & (shares <= 1)).all()
        assert np.isin(outcome, np.unique(told.y)).all()
        assert outcome.dtype.kind == estimator.classes_.dtype.kind

        def same(other: Any, costs: dict[str, Any]) -> None:
            np.testing.assert_array_equal(other.predict_proba(told.X, **costs), shares)
            np.testing.assert_array_equal(other.predict(told.X, **costs), outcome)

        same(pickle.loads(pickle.dumps(estimator)), told.costs)
        again = clone(estimator)
        if "n_jobs" in again.get_params():
            again.set_params(n_jobs=2)
        same(again.fit(told.X, told.y, **told.options), told.costs)
        if not family.minds_unit(estimator):
            # A power of two: rounding is the same.
            dearer = clone(estimator).fit(told.X, told.y, **told.scaled(2.0**12))
            same(dearer, {name: np.multiply(cost, 2.0**12) for name, cost in told.costs.items()})


COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}
EXAMPLES = {"tree": 40, "bagging": 60, "boosting": 60, "decision": 20, "metacost": 20}
TIMES = 55


@pytest.mark.parametrize("name", FAMILIES)
def test_random_configurations_hold_what_they_promise(name: str) -> None:
    @settings(max_examples=EXAMPLES[name], derandomize=True, **COMMON)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        check(FAMILIES[name], data)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_many_random_configurations_hold_what_they_promise(name: str) -> None:
    @settings(max_examples=TIMES * EXAMPLES[name], print_blob=True, **COMMON)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        check(FAMILIES[name], data)

    run()


# Samplers


def check_sampler(data: st.DataObject) -> None:
    sampler = clone(data.draw(st.sampled_from([*(kind() for kind in SAMPLERS.values()), *SAMPLINGS[5:8]])))
    sampler.set_params(random_state=data.draw(SEEDS))
    told = data.draw(records())
    before = bytes_of(told)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ClassMeansWarning)
        try:
            X, y = sampler.fit_resample(told.X, told.y, **told.costs)
        except ValueError as error:
            if not is_documented(error):
                raise
            return
        again = clone(sampler).fit_resample(
            told.X, told.y, **told.scaled(2.0**12) if told.weight is None else told.costs
        )
    assert bytes_of(told) == before, "what the caller passed has changed"
    assert type(X) is type(told.X)
    assert len(X) == len(y)
    assert set(y.tolist()) == set(told.y.tolist())
    np.testing.assert_array_equal(y, again[1])
    for mine, its in zip(*(pd.DataFrame(sample).to_numpy().T for sample in (X, again[0])), strict=True):
        pd.testing.assert_series_equal(pd.Series(mine), pd.Series(its))


def test_random_samples_hold_what_they_promise() -> None:
    settings(max_examples=60, derandomize=True, **COMMON)(given(st.data())(check_sampler))()


@pytest.mark.slow
def test_many_random_samples_hold_what_they_promise() -> None:
    settings(max_examples=60 * TIMES, print_blob=True, **COMMON)(given(st.data())(check_sampler))()
