"""Bad input everywhere: each hostile case ends in a correct result or a clear error, for every estimator and command.

The table is CASES: what is given, and what comes of it. An estimator has traits ("smote", "models"), and a case says
where these make a difference. Never is there an internal error, a warning of numpy's, a probability that is none, or a
change in what the caller passed.
"""

from __future__ import annotations

import datetime as dt
import pickle
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from imblearn.under_sampling import RandomUnderSampler
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
    make_classifier,
)
from stakes.cli import app
from stakes.encoded import EncodedClassifier
from stakes.exceptions import ClassMeansWarning, CostsError, CostsNeededError, SamplingError
from stakes.metrics import savings_score, total_cost, tuned_threshold
from stakes.sampling import SAMPLERS, CPRSampler, HybridSampler, OverSampler

# What is tried


@dataclass(frozen=True)
class Subject:
    """An estimator, and what sets it apart from others."""

    estimator: Any
    traits: tuple[str, ...] = ()

    @property
    def is_sampler(self) -> bool:
        return "sampler" in self.traits


FEW: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
BY_COST = CostTreeClassifier(criterion="cost", pruning="reduced_error", pruning_measure="cost")
# A few small records can be in all bags, so these are held out.
CHOSEN = Decision(member="tuned", vote_weight="log_odds", calibration="isotonic", threshold="tuned")
LINEAR = SGDClassifier(loss="log_loss", max_iter=10, tol=None, random_state=0)

CLASSIFIERS: dict[str, Subject] = {
    "tree": Subject(CostTreeClassifier()),
    "pruned cost tree": Subject(clone(BY_COST).set_params(validation=0.3, random_state=0), ("holds out",)),
    "bagging": Subject(CostBaggingClassifier(**FEW)),
    "forest": Subject(CostBaggingClassifier(features="per_split", **FEW)),
    "costing of feature trees": Subject(CostBaggingClassifier(features="per_tree", sampling="cpr", **FEW), ("cpr",)),
    "weighted bagging": Subject(CostBaggingClassifier(weighted=True, **FEW)),
    "bagging of cost trees": Subject(CostBaggingClassifier(BY_COST, **FEW)),
    "sampled once": Subject(CostBaggingClassifier(sampling="under", presample=True, prior_correction=True, **FEW)),
    "over": Subject(CostBaggingClassifier(sampling="over", **FEW), ("grows",)),
    "smote": Subject(CostBaggingClassifier(sampling="smote", **FEW), ("smote", "grows")),
    "another sampler": Subject(CostBaggingClassifier(sampling=RandomUnderSampler(), **FEW), ("foreign",)),
    "chosen on held-out records": Subject(
        CostBaggingClassifier(decision=CHOSEN, validation=0.4, **FEW), ("holds out",)
    ),
    "bagging of models": Subject(CostBaggingClassifier(LINEAR, **FEW), ("models",)),
    "weighted models": Subject(CostBaggingClassifier(LINEAR, weighted=True, features="per_tree", **FEW), ("models",)),
    "over of models": Subject(CostBaggingClassifier(LINEAR, sampling="over", **FEW), ("models", "grows", "copies")),
    "adaboost": Subject(CostBoostClassifier(**FEW)),
    "uboost": Subject(CostBoostClassifier(variant="uboost", **FEW)),
    "adacost": Subject(CostBoostClassifier(variant="adacost", **FEW)),
    "adauboost": Subject(CostBoostClassifier(variant="adauboost", **FEW)),
    "csb2": Subject(CostBoostClassifier(variant="csb2", **FEW)),
    "adac2": Subject(CostBoostClassifier(variant="adac2", **FEW)),
    "csab": Subject(CostBoostClassifier(variant="csab", **FEW)),
    "members by cost": Subject(CostBoostClassifier(decision=Decision(member="cost"), **FEW)),
    "rusboost": Subject(CostBoostClassifier(CostTreeClassifier(max_depth=2), sampling="under", **FEW)),
    "boosted models": Subject(CostBoostClassifier(LINEAR, variant="asymmetric", **FEW), ("models",)),
    "decided": Subject(CostDecisionClassifier(LINEAR), ("models",)),
    "calibrated": Subject(
        CostDecisionClassifier(LINEAR, calibration="isotonic", threshold="tuned", random_state=0),
        ("models", "holds out"),
    ),
    "weighted and encoded": Subject(
        CostDecisionClassifier(EncodedClassifier(DecisionTreeClassifier(max_depth=3)), weighted=True, random_state=0),
        ("float32",),
    ),
    "metacost": Subject(MetaCostClassifier(CostBaggingClassifier(**FEW), random_state=0), ("metacost",)),
    "metacost of models": Subject(
        MetaCostClassifier(CostDecisionClassifier(LINEAR), final_estimator=LINEAR), ("models", "metacost")
    ),
    "by its name": Subject(make_classifier("dm-urf", **FEW)),
}
TRAITS_OF_SAMPLERS = {
    "under": (),
    "over": ("grows", "copies"),
    "hybrid": ("grows",),
    "smote": ("smote", "grows"),
    "cpr": ("cpr",),
}
SUBJECTS = CLASSIFIERS | {
    f"{name} sampler": Subject(
        kind(random_state=0),
        ("sampler", *TRAITS_OF_SAMPLERS[name]),
    )
    for name, kind in SAMPLERS.items()
}
# All estimators read X in one of a few ways: for what is exotic, one of each is enough.
READERS = (
    "pruned cost tree",
    "smote",
    "weighted models",
    "adaboost",
    "weighted and encoded",
    "metacost",
    "cpr sampler",
)

# What is given

N = 40
RNG = np.random.default_rng(0)
X0 = RNG.normal(size=(N, 4)).round(1)
Y0 = (X0[:, 0] + X0[:, 1] + RNG.normal(size=N) > 0.6).astype(int)
FN = RNG.integers(1, 20, N).astype(float)
COSTS: dict[str, Any] = {"fp_cost": 2.0, "fn_cost": 5.0}


@dataclass
class Given:
    """What a caller passes."""

    X: Any = field(default_factory=X0.copy)
    y: Any = field(default_factory=Y0.copy)
    fit: dict[str, Any] = field(default_factory=COSTS.copy)
    X_new: Any = None
    predict: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.X_new = self.X if self.X_new is None else self.X_new


@dataclass(frozen=True)
class Refused:
    """An error of a kind, that says something."""

    message: str
    kind: type[Exception] | tuple[type[Exception], ...] = ValueError


WORKS = None
# It is up to the models of others: they work or raise an error of a right type, and may warn.
THEIRS = Refused("", (ValueError, TypeError))
Then = Refused | None


@dataclass(frozen=True)
class Case:
    """What is given, what comes of it, and for which traits something else does: the first of them counts."""

    make: Callable[[], Given]
    then: Then = WORKS
    but: dict[str, Then] = field(default_factory=dict)
    exotic: bool = False
    at_predict: bool = False

    def expected(self, subject: Subject, given: Given) -> Then:
        if "foreign" in subject.traits and isinstance(given.X, pl.DataFrame):
            return Refused("give an array or a pandas frame", SamplingError)  # imbalanced-learn knows these only
        return next((then for trait, then in self.but.items() if trait in subject.traits), self.then)


def case(then: Then = WORKS, *, but: dict[str, Then] | None = None, exotic: bool = False, **given: Any) -> Case:
    """Return a case; what is callable is made anew each time."""
    return Case(
        lambda: Given(**{name: value() if callable(value) else value for name, value in given.items()}),
        then,
        but or {},
        exotic,
        at_predict="X_new" in given or ("predict" in given and then is not WORKS and "fit" not in given),
    )


def costs(fn: Any, fp: Any = 2.0, **others: Any) -> dict[str, Any]:
    """Return the costs of training, and the same for predicting where they differ from record to record."""
    given = {"fp_cost": fp, "fn_cost": fn, **others}
    return {"fit": given, "predict": {name: given[name] for name in ("fp_cost", "fn_cost") if np.ndim(given[name])}}


def weight(sample_weight: Any) -> dict[str, Any]:
    return {"fit": COSTS | {"sample_weight": sample_weight}}


def validation(**given: Any) -> dict[str, Any]:
    return {"fit": COSTS | given}


def having(values: Any, where: Any, value: Any) -> Any:
    changed = np.array(values, dtype=np.float64)
    changed[where] = value
    return changed


def read_only(values: Any) -> Any:
    values = values.copy()
    values.flags.writeable = False
    return values


def pandas(**columns: Any) -> Callable[[], pd.DataFrame]:
    return lambda: pd.DataFrame(X0.copy(), columns=list("abcd")).assign(**columns)


def named(names: Any) -> Callable[[], pd.DataFrame]:
    return lambda: pd.DataFrame(X0.copy()).set_axis(names, axis=1)


def polars(**columns: Any) -> Callable[[], pl.DataFrame]:
    return lambda: pl.DataFrame(X0.copy(), schema=list("abcd")).with_columns(
        **{name: pl.Series(values) for name, values in columns.items()}
    )


def objects(*values: Any) -> pd.Series:
    return pd.Series([values[i % len(values)] for i in range(N)], dtype=object)


NO_NUMBERS = "neither numbers nor categories"
NOT_TEXT = "could not convert string to float"
NOT_FINITE = "fn_cost is not finite in 1 record: the first is row"
OUT_OF_RANGE = "neither 0 nor between 1e-100 and 1e\\+100.*in another unit"
NEGATIVE = "negative in 1 record.*check the signs, or clip it at 0"
ANYTHING = {"sampler": WORKS}  # samplers pick rows by their numbers, whatever is in them
NEEDS_NUMBERS = {"models": THEIRS, **ANYTHING}
FLAT = Refused("Expected a table of 2 dimensions.*Reshape your data")
NO_FEATURES = Refused(r"0 feature\(s\)")
INFINITE = {"smote": Refused("infinit"), **ANYTHING}
BETWEEN = Refused("SMOTE makes records between others", SamplingError)
NARROW = {"float32": THEIRS, **NEEDS_NUMBERS}
NO_DATES = {"smote": Refused(NO_NUMBERS, SamplingError), **NEEDS_NUMBERS}
ONE_POSITIVE = {
    "smote": Refused("one record only.*OverSampler", SamplingError),
    "holds out": Refused("too few to hold out.*X_val, or validation=None"),
}
NO_SAMPLE = {
    "cpr": Refused("no sample of the .* has both classes.*raise its cost or use UnderSampler", SamplingError),
    "grows": Refused("(?i)cut the other class instead", SamplingError),
}
OF_ALL_KINDS = {"sampler": Refused("Unknown label type")}
WEIGHTLESS = {"sampler": Refused("sample_weight", TypeError)}  # fit_resample does not take any

CASES: dict[str, Case] = {
    "nothing wrong": case(),
    # Costs
    "costs of each record": case(**costs(FN)),
    "all four costs": case(**costs(FN + 3, tp_cost=3.0, tn_cost=1.0)),
    "NaN for a cost": case(Refused(NOT_FINITE, CostsError), **costs(np.nan)),
    "NaN for the cost of a record": case(Refused(NOT_FINITE, CostsError), **costs(having(FN, 3, np.nan))),
    "an infinite cost": case(Refused(NOT_FINITE, CostsError), **costs(np.inf)),
    "an infinite cost of a record": case(Refused(NOT_FINITE, CostsError), **costs(having(FN, 3, np.inf))),
    "a negative cost": case(Refused(f"fn_cost is {NEGATIVE}", CostsError), **costs(-1.0)),
    "a negative cost of a record": case(Refused(f"fn_cost is {NEGATIVE}", CostsError), **costs(having(FN, 3, -1))),
    "a hit that costs more than a miss": case(
        Refused(f"fn_cost - tp_cost is {NEGATIVE}", CostsError), **costs(5.0, tp_cost=6.0)
    ),
    "too few costs": case(Refused("fn_cost has 39 records, X has 40", CostsError), **costs(FN[1:])),
    "too many costs": case(Refused("fn_cost has 41 records, X has 40", CostsError), **costs(np.append(FN, 1))),
    "costs of different lengths": case(Refused("fp_cost 40, fn_cost 39", CostsError), **costs(FN[1:], fp=FN)),
    "costs as a column": case(Refused(r"pass np.ravel\(fn_cost\)", CostsError), **costs(FN[:, None])),
    "costs as a matrix": case(Refused(r"fn_cost has shape \(40, 2\)", CostsError), **costs(np.ones((N, 2)))),
    "costs as a frame": case(Refused("np.ravel", CostsError), **costs(pd.DataFrame({"c": FN}))),
    "texts for costs": case(
        Refused("not numeric in 40 records: the first is row 0, '1'", CostsError), **costs(["1"] * N)
    ),
    "a text for a cost": case(Refused("fp_cost is not numeric", CostsError), **costs(5.0, fp="2")),
    "complex costs": case(Refused("not numeric", CostsError), **costs(FN + 0j)),
    "dates for costs": case(Refused("not numeric", CostsError), **costs(np.full(N, "2020-01-01", "M8[D]"))),
    "None among costs": case(Refused(NOT_FINITE, CostsError), **costs([None, *FN[1:]])),
    "NA among costs": case(Refused(NOT_FINITE, CostsError), **costs(pd.array([pd.NA, *[1] * (N - 1)], dtype="Int64"))),
    "a dictionary for a cost": case(Refused("not numeric", CostsError), **costs({"a": 1})),
    "ragged costs": case(Refused("fn_cost is not an array", CostsError), fit={"fp_cost": 1, "fn_cost": [[1], [2, 3]]}),
    "a cost beyond all floats": case(Refused(NOT_FINITE, CostsError), **costs(10**400)),
    "a generator of costs": case(
        Refused("not numeric", CostsError), fit=lambda: COSTS | {"fn_cost": (value for value in FN)}
    ),
    "costs as objects": case(**costs(FN.astype(object))),
    "decimals for costs": case(**costs([Decimal(int(value)) for value in FN], fp=Decimal(2))),
    "booleans for costs": case(**costs(FN > 3, fp=True)),
    "costs in a polars series": case(**costs(pl.Series(FN))),
    "integers as large as can be": case(**costs(np.full(N, 2**63 - 1), fp=np.int64(2**63 - 1))),
    "no cost at all": case(**costs(0.0, fp=0.0)),
    "no cost of any record": case(**costs(np.zeros(N), fp=np.zeros(N))),
    "no cost of false positives": case(but=NO_SAMPLE, **costs(5.0, fp=0.0)),
    "no cost of false negatives": case(but=NO_SAMPLE, **costs(0.0)),
    "no cost of a record": case(**costs(having(FN, slice(5), 0))),
    "costs as large as can be": case(**costs(1e100, fp=9e99)),
    "costs of records as large as can be": case(**costs(FN / FN.max() * 1e100, fp=1e99)),
    "costs beyond the largest": case(Refused(OUT_OF_RANGE, CostsError), **costs(1.1e100)),
    "costs of records beyond the largest": case(Refused(OUT_OF_RANGE, CostsError), **costs(FN * 8e306, fp=8e307)),
    "costs as small as can be": case(**costs(2e-100, fp=1e-100)),
    "costs of records as small as can be": case(**costs(FN * 1e-100, fp=1e-100)),
    "costs below the smallest": case(Refused(OUT_OF_RANGE, CostsError), **costs(1.0, fp=5e-324)),
    "costs far apart": case(
        but={"copies": NO_SAMPLE["grows"], "smote": NO_SAMPLE["grows"], "cpr": NO_SAMPLE["cpr"]}, **costs(1e4, fp=1e-3)
    ),
    "costs as far apart as can be": case(but=NO_SAMPLE, **costs(1e100, fp=1e-100)),
    "NaN for a cost when predicting": case(
        Refused(NOT_FINITE, CostsError), but={"metacost": WORKS}, predict={"fn_cost": having(FN, 3, np.nan)}
    ),
    "too few costs when predicting": case(
        Refused("fn_cost has 39 records, X has 40", CostsError), but={"metacost": WORKS}, predict={"fn_cost": FN[1:]}
    ),
    "negative costs when predicting": case(
        Refused("negative", CostsError), but={"metacost": WORKS}, predict={"fn_cost": -FN}
    ),
    # Labels
    "one class": case(Refused("y has one class only"), y=np.zeros(N, int)),
    "three classes": case(Refused("y has 3 classes"), y=np.arange(N) % 3),
    "text labels": case(y=np.where(Y0, "yes", "no")),
    "text labels as objects": case(y=np.where(Y0, "yes", "no").astype(object)),
    "boolean labels": case(y=Y0.astype(bool)),
    "float labels": case(y=Y0 * 2.0 - 1.0),
    "labels in a frame": case(y=lambda: pd.DataFrame({"y": Y0})),
    "labels in a column": case(y=Y0[:, None]),
    "labels in a polars series": case(y=lambda: pl.Series(Y0)),
    "categories for labels": case(y=lambda: pd.Series(pd.Categorical(np.where(Y0, "yes", "no")))),
    "nullable labels": case(y=lambda: pd.Series(Y0, dtype="Int64")),
    "a list of labels": case(y=Y0.tolist()),
    "labels as large as can be": case(y=np.where(Y0, 2**63 - 1, -(2**63))),
    "labels that are fractions": case(Refused("Unknown label type: continuous"), y=Y0 * 0.5 + 0.25),
    "huge labels": case(Refused("Unknown label type: continuous"), y=np.where(Y0, 1e300, -1e300)),
    "a NaN label": case(Refused("contains NaN"), y=having(Y0, 3, np.nan)),
    "an infinite label": case(Refused("contains infinity"), y=having(Y0, 3, np.inf)),
    "a label missing": case(Refused("contains NaN"), y=lambda: pd.Series([pd.NA, *Y0[1:]], dtype="Int64")),
    "None for a label": case(
        Refused("y has labels of different types", TypeError), but=OF_ALL_KINDS, y=lambda: np.where(Y0, "yes", None)
    ),
    "labels of different types": case(
        Refused("y has labels of different types", TypeError),
        but=OF_ALL_KINDS,
        y=lambda: np.array(["yes" if y else 0 for y in Y0], dtype=object),
    ),
    "bytes for labels": case(
        Refused("Convert the labels to a string or integer", TypeError), y=np.where(Y0, b"y", b"n")
    ),
    "complex labels": case(Refused("Complex data not supported|Unknown label type"), y=Y0 + 0j),
    "two columns of labels": case(
        Refused("y should be a 1d array|multilabel|multioutput|Unknown label type"), y=np.column_stack([Y0, Y0 + Y0])
    ),
    "sparse labels": case(
        Refused("dense data is required|sparse", (TypeError, ValueError)), y=lambda: sparse.csr_matrix(Y0[:, None])
    ),
    "no labels": case(Refused("y"), y=lambda: None),
    "a number for labels": case(Refused("y|sequence", (ValueError, TypeError)), y=1),
    "too few labels": case(Refused(r"inconsistent numbers of samples: \[40, 39\]"), y=Y0[1:]),
    # Few records, and few features
    "no records": case(Refused(r"0 sample|one class only \(\[\]\)"), X=np.empty((0, 4)), y=np.empty(0, int)),
    "no records in a frame": case(
        Refused(r"0 sample|one class only \(\[\]\)"), X=lambda: pandas()().iloc[:0], y=np.empty(0, int)
    ),
    "one record": case(Refused("y has one class only"), X=X0[:1], y=np.array([1])),
    "two records": case(but=ONE_POSITIVE, X=X0[:2], y=np.array([0, 1])),
    "one positive": case(but=ONE_POSITIVE, y=np.eye(N, dtype=int)[0]),
    "one negative": case(but={"holds out": ONE_POSITIVE["holds out"]}, y=1 - np.eye(N, dtype=int)[0]),
    "no features": case(NO_FEATURES, but={"smote": NO_FEATURES, **ANYTHING}, X=np.empty((N, 0))),
    "no features in a frame": case(
        NO_FEATURES, but={"smote": NO_FEATURES, **ANYTHING}, X=lambda: pd.DataFrame(index=range(N))
    ),
    "a single feature": case(X=X0[:, :1]),
    "constant features": case(X=np.ones((N, 4))),
    "the same records again and again": case(X=np.repeat(X0[:2], N // 2, axis=0)),
    "no records to predict": case(Refused(r"0 sample\(s\)"), X_new=np.empty((0, 4))),
    # What is in X
    "a column that is missing": case(but={"smote": BETWEEN, **NEEDS_NUMBERS}, X=having(X0, (slice(None), 2), np.nan)),
    "all that is missing": case(but={"smote": BETWEEN, **NEEDS_NUMBERS}, X=np.full((N, 4), np.nan)),
    "some that is missing": case(but=NEEDS_NUMBERS, X=having(X0, (slice(5), 2), np.nan)),
    "None for a column of a frame": case(but=NEEDS_NUMBERS, X=pandas(d=None)),
    "null for a column of a frame": case(but={"smote": BETWEEN, **NEEDS_NUMBERS}, X=polars(d=[None] * N)),
    "infinity": case(Refused("infinit"), but=INFINITE, X=having(X0, (np.argmax(Y0), 1), np.inf)),
    "infinity in a frame": case(Refused("infinit"), but=INFINITE, X=pandas(b=having(X0[:, 1], np.argmax(Y0), np.inf))),
    "infinity when predicting": case(Refused("infinit"), X_new=having(X0, (3, 1), np.inf)),
    "objects of all kinds": case(but=NEEDS_NUMBERS, X=pandas(d=objects(1, "a", None, 2.5, True, b"x"))),
    "an array of objects": case(X=X0.astype(object)),
    "an array with texts": case(
        Refused(NOT_TEXT), but=ANYTHING, X=lambda: pandas(d=["a", "b"] * (N // 2))().to_numpy()
    ),
    "an array of texts": case(THEIRS, but=ANYTHING, X=np.full((N, 4), "a")),
    "huge numbers": case(but={"smote": BETWEEN, **NARROW}, X=X0 * 1e300),
    "numbers as large as can be": case(but={"smote": BETWEEN, **NARROW}, X=np.where(X0 > 0, 1.7e308, -1.7e308)),
    "one huge number": case(but=NARROW, X=having(X0, (np.argmin(Y0), 1), 1e300)),
    "denormal numbers": case(X=X0 * 5e-323),
    "the largest of float32": case(but=NARROW, X=np.where(X0 > 0, 3.4e38, -3.4e38).astype("f4")),
    "the largest of integers": case(X=np.where(X0 > 0, 2**63 - 1, -(2**63))),
    "the largest of unsigned integers": case(X=np.where(X0 > 0, 2**64 - 1, 0).astype("u8")),
    "bytes": case(X=np.where(X0 > 0, 127, -128).astype("i1")),
    "booleans": case(X=X0 > 0),
    "complex numbers": case(Refused("Complex data not supported"), but=ANYTHING | {"smote": THEIRS}, X=X0 + 1j),
    "half precision": case(X=X0.astype("f2")),
    "more than double precision": case(X=X0.astype("g")),
    "the other byte order": case(X=X0.astype(">f8")),
    # The memory of X
    "what is read-only": case(
        X=read_only(X0),
        y=read_only(Y0),
        but=WEIGHTLESS,
        fit={"fp_cost": 2.0, "fn_cost": read_only(FN), "sample_weight": read_only(FN)},
        predict={"fn_cost": read_only(FN)},
    ),
    "columns first": case(X=np.asfortranarray(X0)),
    "every other row and column": case(
        X=np.repeat(np.repeat(X0, 2, 0), 3, 1)[::2, ::3], y=np.repeat(Y0, 2)[::2], **costs(np.repeat(FN, 2)[::2])
    ),
    "last first": case(X=X0[::-1, ::-1], y=Y0[::-1], **costs(FN[::-1])),
    "one column many times": case(X=np.broadcast_to(X0[:, :1], (N, 4))),
    # Names
    "names twice": case(Refused("unique column names"), X=named(list("aabc"))),
    "names of two levels": case(X=named(pd.MultiIndex.from_product([list("uv"), list("ab")]))),
    "numbers for names": case(X=named([3, 1, 2, 0])),
    "names of all kinds": case(Refused("convert them all to strings", TypeError), X=named([0, "a", 1.5, None])),
    "an index of equal numbers": case(X=lambda: pandas()().set_index(pd.Index([7] * N))),
    "columns in another order": case(Refused("same order"), X=pandas(), X_new=lambda: pandas()()[list("dcba")]),
    "a column missing when predicting": case(
        Refused("now missing:\n- d"), X=pandas(), X_new=lambda: pandas()()[list("abc")]
    ),
    "a column more when predicting": case(Refused("unseen at fit time:\n- e"), X=pandas(), X_new=pandas(e=1)),
    "another name when predicting": case(
        Refused("unseen at fit time:\n- z"), X=pandas(), X_new=lambda: pandas()().rename(columns={"a": "z"})
    ),
    "columns of polars in another order": case(
        Refused("same order"), X=polars(), X_new=lambda: polars()().select(list("dcba"))
    ),
    "fewer columns when predicting": case(Refused("X has 3 features, but .* is expecting 4"), X_new=X0[:, :3]),
    "more columns when predicting": case(Refused("X has 8 features, but .* is expecting 4"), X_new=np.hstack([X0, X0])),
    "another kind of frame when predicting": case(X=pandas(), X_new=polars()),
    "an array after a frame": case(X=pandas(), X_new=X0),
    "a frame after an array": case(X_new=pandas()),
    "text for numbers when predicting": case(
        Refused("'d' was numeric when fitted and is text now"), but=NEEDS_NUMBERS, X=pandas(), X_new=pandas(d=["x"] * N)
    ),
    "numbers for text when predicting": case(but=NEEDS_NUMBERS, X=pandas(d=["x", "y"] * (N // 2)), X_new=pandas()),
    "categories never seen": case(
        but=NEEDS_NUMBERS,
        X=pandas(d=pd.Categorical(["x", "y"] * (N // 2))),
        X_new=pandas(d=pd.Categorical(["z", "y"] * (N // 2))),
    ),
    # Sparse
    "a sparse matrix": case(
        Refused("toarray", TypeError), but={"models": WORKS, **ANYTHING}, X=lambda: sparse.csr_matrix(X0)
    ),
    "a sparse array by coordinates": case(
        Refused("toarray", TypeError), but={"models": WORKS, **ANYTHING}, X=lambda: sparse.coo_array(X0)
    ),
    "a sparse matrix when predicting": case(
        Refused("toarray", TypeError), but={"models": WORKS}, X_new=lambda: sparse.csr_matrix(X0)
    ),
    # Types of columns
    "text": case(but=NEEDS_NUMBERS, X=pandas(d=["x", "y"] * (N // 2)), exotic=True),
    "texts that are all different": case(but=NEEDS_NUMBERS, X=pandas(d=[f"t{i}" for i in range(N)]), exotic=True),
    "lists in cells": case(but=NO_DATES, X=pandas(d=objects([1], {"a": 1}, {1})), exotic=True),
    "arrays in cells": case(but=NO_DATES, X=pandas(d=objects(np.ones(2))), exotic=True),
    "NA among objects": case(but=NEEDS_NUMBERS, X=pandas(d=objects(pd.NA, 1, 2)), exotic=True),
    "nullable integers": case(
        but=NEEDS_NUMBERS, X=pandas(d=pd.array([pd.NA, 1] * (N // 2), dtype="Int64")), exotic=True
    ),
    "nullable booleans": case(
        but=NEEDS_NUMBERS, X=pandas(d=pd.array([pd.NA, True] * (N // 2), dtype="boolean")), exotic=True
    ),
    "decimals": case(but=NEEDS_NUMBERS, X=pandas(d=objects(Decimal(1), Decimal(2))), exotic=True),
    "dates": case(but=NO_DATES, X=pandas(d=pd.date_range("2020", periods=N)), exotic=True),
    "dates of a time zone": case(but=NO_DATES, X=pandas(d=pd.date_range("2020", periods=N, tz="UTC")), exotic=True),
    "no date": case(but=NO_DATES, X=pandas(d=pd.to_datetime([None] * N)), exotic=True),
    "an array of dates": case(
        but={"smote": THEIRS, **NEEDS_NUMBERS}, X=lambda: (X0 * 1000).astype("M8[s]"), exotic=True
    ),
    "durations": case(but=NO_DATES, X=pandas(d=pd.to_timedelta(range(N), unit="h")), exotic=True),
    "periods": case(but=NO_DATES, X=pandas(d=pd.period_range("2020", periods=N)), exotic=True),
    "intervals": case(but=NO_DATES, X=pandas(d=pd.interval_range(0, N)), exotic=True),
    "complex numbers in a frame": case(but=NO_DATES, X=pandas(d=X0[:, 0] + 1j), exotic=True),
    "sparse columns": case(X=lambda: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X0)), exotic=True),
    "lists in a polars column": case(but=NO_DATES, X=polars(d=[[1, 2]] * N), exotic=True),
    "arrays in a polars column": case(
        but=NO_DATES, X=polars(d=pl.Series([[1, 2]] * N, dtype=pl.Array(pl.Int8, 2))), exotic=True
    ),
    "records in a polars column": case(but={"smote": THEIRS, **NEEDS_NUMBERS}, X=polars(d=[{"a": 1}] * N), exotic=True),
    "bytes in a polars column": case(but=NO_DATES, X=polars(d=[b"a", b"\xff"] * (N // 2)), exotic=True),
    "objects in a polars column": case(
        but={"smote": THEIRS, **NEEDS_NUMBERS}, X=polars(d=pl.Series([object()] * N, dtype=pl.Object)), exotic=True
    ),
    "times in a polars column": case(but=NO_DATES, X=polars(d=[dt.time(1), None] * (N // 2)), exotic=True),
    "decimals in a polars column": case(X=polars(d=[Decimal(i) for i in range(N)]), exotic=True),
    "integers of 128 bits": case(X=polars(d=pl.Series([2**100, -(2**100)] * (N // 2), dtype=pl.Int128)), exotic=True),
    "unsigned integers in a polars column": case(
        X=polars(d=pl.Series([2**64 - 1, 0] * (N // 2), dtype=pl.UInt64)), exotic=True
    ),
    "an arrow table": case(X=lambda: pa.table({name: X0[:, j] for j, name in enumerate("abcd")}), exotic=True),
    # Not a table
    "a lazy frame": case(
        Refused(r"X is a LazyFrame.*give X.collect\(\)|sequence", TypeError), X=lambda: polars()().lazy(), exotic=True
    ),
    "a lazy frame when predicting": case(
        Refused(r"give X.collect\(\)", TypeError), X=polars(), X_new=lambda: polars()().lazy(), exotic=True
    ),
    "a generator": case(
        Refused("X is not a table|sequence", (ValueError, TypeError)),
        X=lambda: (row for row in X0),
        X_new=X0,
        exotic=True,
    ),
    "one dimension": case(FLAT, but={"smote": FLAT, **ANYTHING}, X=X0[:, 0], exotic=True),
    "three dimensions": case(FLAT, but={"smote": FLAT, **ANYTHING}, X=np.ones((N, 2, 2)), exotic=True),
    "a series": case(FLAT, but={"smote": FLAT, **ANYTHING}, X=lambda: pd.Series(X0[:, 0]), exotic=True),
    "a number": case(Refused("X is not a table|sequence", (ValueError, TypeError)), X=3.0, X_new=X0, exotic=True),
    "a text": case(Refused("X is not a table|inconsistent"), X="abc", X_new=X0, exotic=True),
    "a dictionary": case(Refused("X is not a table|inconsistent"), X=lambda: {"a": X0[:, 0]}, X_new=X0, exotic=True),
    "records of different lengths": case(THEIRS, X=lambda: [[1, 2]] * 20 + [[1]] * 20, exotic=True),
    "numpy's matrix": case(
        Refused("np.matrix is not supported", TypeError),
        but=ANYTHING | {"smote": THEIRS},
        X=lambda: np.asmatrix(X0),
        exotic=True,
    ),
    "lists": case(X=X0.tolist(), exotic=True),
    "tuples": case(X=lambda: tuple(map(tuple, X0.tolist())), exotic=True),
    "lists with None": case(
        but={"smote": BETWEEN, **NEEDS_NUMBERS}, X=lambda: [[None, *row[1:]] for row in X0.tolist()], exotic=True
    ),
    # Sample weights
    "weights": case(but=WEIGHTLESS, **weight(FN / 7)),
    "some weights of zero": case(but=WEIGHTLESS, **weight(np.where(np.arange(N) % 3, 1.0, 0.0))),
    "a negative weight": case(
        Refused("sample_weight is negative in row 3"), but=WEIGHTLESS, **weight(having(np.ones(N), 3, -1))
    ),
    "a weight of NaN": case(
        Refused("sample_weight is not finite.*row 3"), but=WEIGHTLESS, **weight(having(np.ones(N), 3, np.nan))
    ),
    "no weight": case(
        Refused("sample_weight is zero for all records of the positive class"), but=WEIGHTLESS, **weight(np.zeros(N))
    ),
    "no weight of a class": case(
        Refused("sample_weight is zero for all records of the positive"), but=WEIGHTLESS, **weight(1.0 - Y0)
    ),
    "weights whose sum is not finite": case(
        Refused("sample_weight is up to 1e\\+308.*nearer to 1"), but=WEIGHTLESS, **weight(np.full(N, 1e308))
    ),
    "denormal weights": case(
        Refused("sample_weight is up to 4.*e-324.*nearer to 1"), but=WEIGHTLESS, **weight(np.full(N, 5e-324))
    ),
    "weights far apart": case(but=WEIGHTLESS | {"models": THEIRS}, **weight(np.where(np.arange(N) % 2, 1e-100, 1e100))),
    "too few weights": case(
        Refused("sample_weight has 39 records, X has 40"), but=WEIGHTLESS, **weight(np.ones(N - 1))
    ),
    "weights as a column": case(Refused("sample_weight has shape"), but=WEIGHTLESS, **weight(np.ones((N, 1)))),
    "texts for weights": case(Refused("sample_weight is not numeric"), but=WEIGHTLESS, **weight(["1"] * N)),
    "huge weights and costs": case(but=WEIGHTLESS, **costs(FN * 1e98, fp=1e98, sample_weight=np.full(N, 1e100))),
    # Validation records
    "validation records": case(but={"sampler": THEIRS}, **validation(X_val=X0, y_val=Y0)),
    "validation records without labels": case(
        Refused("X_val was given without y_val"), but={"sampler": THEIRS}, **validation(X_val=X0)
    ),
    "validation labels without records": case(
        Refused("y_val was given without X_val"), but={"sampler": THEIRS}, **validation(y_val=Y0)
    ),
    "validation costs without records": case(
        Refused("fn_cost_val was given without X_val"), but={"sampler": THEIRS}, **validation(fn_cost_val=FN)
    ),
    "too few validation labels": case(
        Refused("inconsistent numbers of samples"), but={"sampler": THEIRS}, **validation(X_val=X0, y_val=Y0[1:])
    ),
    "other validation labels": case(
        Refused("y_val has labels that were not in fit"), but={"sampler": THEIRS}, **validation(X_val=X0, y_val=Y0 + 5)
    ),
    "other validation columns": case(
        Refused("X has 2 features, but .* is expecting 4"),
        but={"sampler": THEIRS},
        **validation(X_val=X0[:, :2], y_val=Y0),
    ),
    "no validation records": case(
        Refused(r"0 sample\(s\)"), but={"sampler": THEIRS}, **validation(X_val=X0[:0], y_val=Y0[:0])
    ),
    "NaN for a validation cost": case(
        Refused("fn_cost_val: fn_cost is not finite", CostsError),
        but={"sampler": THEIRS},
        **validation(X_val=X0, y_val=Y0, fn_cost_val=np.nan),
    ),
}

# How it is tried

TURNS = 5


def frozen(value: Any) -> Any:
    """Return what tells whether a value has changed; None for what cannot be copied, such as generators."""
    if isinstance(value, dict):
        return {name: frozen(item) for name, item in value.items()}
    if isinstance(value, pd.DataFrame):
        return (
            repr([value.iloc[:, j].to_list() for j in range(value.shape[1])]),
            [*value.dtypes],
            *map(repr, value.axes),
        )
    if isinstance(value, pd.Series | pd.api.extensions.ExtensionArray):
        return repr(list(value)), value.dtype
    if isinstance(value, pl.DataFrame):
        return repr(value.to_dict(as_series=False)), value.schema
    try:
        return pickle.dumps(value)
    except (TypeError, pickle.PicklingError, AttributeError):
        return None


def use(subject: Subject, given: Given) -> None:
    """Fit and predict, or sample, and check what comes out."""
    estimator = clone(subject.estimator)
    if subject.is_sampler:
        X_res, y_res = estimator.fit_resample(given.X, given.y, **given.fit)
        n = X_res.shape[0] if hasattr(X_res, "shape") else len(X_res)
        labels = np.asarray(y_res).ravel()
        assert n == labels.size >= 2
        assert set(labels.tolist()) == set(np.asarray(given.y).ravel().tolist())
        return
    estimator.fit(given.X, given.y, **given.fit)
    shares = estimator.predict_proba(given.X_new, **given.predict)
    outcome = estimator.predict(given.X_new, **given.predict)
    assert shares.shape == (N if len(outcome) == N else len(outcome), 2)
    assert np.isfinite(shares).all()
    assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert outcome.ndim == 1
    assert np.isin(outcome, estimator.classes_).all()
    assert sorted(estimator.classes_.tolist()) == sorted(set(np.asarray(given.y).ravel().tolist()))


def try_out(act: Callable[[], object], then: Then) -> None:
    """Do something and expect it to work or to be refused; warnings of numpy are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sane in (ClassMeansWarning, DataConversionWarning, FutureWarning, DeprecationWarning):
            warnings.simplefilter("ignore", sane)
        # scikit-learn's own, on names of features and on models that have not converged.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn|imblearn")
        if then is THEIRS:
            warnings.simplefilter("ignore", RuntimeWarning)
        try:
            act()
        except (ValueError, TypeError) as raised:
            error: Exception | None = raised
        else:
            error = None
    if error is None:
        assert then is WORKS or then is THEIRS, f"should have been refused: {then}"
        return
    said = f"{type(error).__name__}: {error}"
    assert then is not WORKS, said
    assert isinstance(error, then.kind), said
    assert str(error).strip(), said
    assert re.search(then.message, str(error), re.DOTALL), said


def try_all(name: str, subjects: Iterable[str]) -> None:
    """Give a case to some estimators."""
    wrong = []
    for subject in subjects:
        if CASES[name].at_predict and SUBJECTS[subject].is_sampler:
            continue
        given = CASES[name].make()
        before = frozen(vars(given))
        try:
            try_out(
                lambda given=given, to=SUBJECTS[subject]: use(to, given), CASES[name].expected(SUBJECTS[subject], given)
            )
            assert frozen(vars(given)) == before, "what the caller passed has changed"
        except Exception as error:
            wrong.append(f"{subject}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", CASES)
def test_hostile_input_gets_a_correct_result_or_a_clear_error(name: str) -> None:
    # Not every estimator each time, but every one for some of the cases: the next test tries them all.
    turn = list(CASES).index(name)
    try_all(name, READERS if CASES[name].exotic else list(SUBJECTS)[turn % TURNS :: TURNS])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_hostile_input_gets_a_correct_result_or_a_clear_error_from_every_estimator(name: str) -> None:
    try_all(name, SUBJECTS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_costs_are_asked_for_where_they_are_needed_and_nowhere_else(name: str) -> None:
    def use() -> None:
        estimator.predict(X0)

    estimator = clone(CLASSIFIERS[name].estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassMeansWarning)
        estimator.fit(X0, Y0, fp_cost=2.0, fn_cost=FN)
    needed = getattr(estimator, "needs_costs_", False)
    try_out(use, Refused("pass fn_cost= along with X; or fit with.*; or", CostsNeededError) if needed else WORKS)


def test_gradient_boosting_takes_a_column_without_a_single_value() -> None:
    # Which scikit-learn's does not, and a study may well draw training records that have none.
    X = having(X0, (slice(None), 2), np.nan)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for given in (X, frame):
        model = EncodedClassifier(HistGradientBoostingClassifier(max_iter=1)).fit(given, Y0)
        np.testing.assert_array_equal(model.predict_proba(given), model.predict_proba(frame.assign(c=1.0)))


# Parameters


PARAMETERS: dict[str, tuple[Any, Refused]] = {
    "True for a number of members": (
        CostBaggingClassifier(n_estimators=True),
        Refused("n_estimators=True is not valid"),
    ),
    "True for a number of rounds": (CostBoostClassifier(n_estimators=True), Refused("n_estimators=True is not valid")),
    "no members": (CostBaggingClassifier(n_estimators=0), Refused("n_estimators=0 is not valid")),
    "half a member": (CostBoostClassifier(n_estimators=2.5), Refused("n_estimators=2.5 is not valid")),
    "NaN features": (CostTreeClassifier(max_features=np.nan), Refused("max_features=nan is not a share")),
    "a list of leaves": (CostTreeClassifier(leaf=[]), Refused(r"leaf=\[\] is not known: choose from")),
    "a share above 1": (CostTreeClassifier(validation=1.5), Refused("validation=1.5 is not known: choose")),
    "a text for a decision": (CostTreeClassifier(decision="cost"), Refused("is not a Decision")),
    "an unknown positive class": (CostTreeClassifier(pos_label=7), Refused("pos_label=7 is not a class of y")),
    "a number for a member": (CostBaggingClassifier(3), Refused("estimator=3 is not a classifier", TypeError)),
    "a class for a member": (CostBaggingClassifier(LogisticRegression), Refused("is not a classifier", TypeError)),
    "a regressor for a member": (CostBaggingClassifier(LinearRegression()), Refused("is not a classifier", TypeError)),
    "a regressor to boost": (CostBoostClassifier(LinearRegression()), Refused("is not a classifier", TypeError)),
    "a regressor to decide by": (CostDecisionClassifier(LinearRegression()), Refused("is not a classifier", TypeError)),
    "nothing to decide by": (CostDecisionClassifier(), Refused("is not a classifier: give one", TypeError)),
    "a teacher without costs": (MetaCostClassifier(LINEAR), Refused("CostDecisionClassifier", TypeError)),
    "a number to teach": (MetaCostClassifier(final_estimator=3), Refused("final_estimator=3 is not", TypeError)),
    "costs that contradict": (CostBaggingClassifier(sampling=OverSampler(fn_cost=3)), Refused("costs of its own")),
    "an unknown sampler": (
        CostBoostClassifier(sampling="some"),
        Refused("sampling='some' is not known: choose one of"),
    ),
    "costs in a list": (CostTreeClassifier(fp_cost=[1, 2]), Refused("fp_cost has 2 records, X has 40", CostsError)),
    "a share that is none": (HybridSampler(share=2), Refused("share=2 is not between 0", SamplingError)),
    "a quantile that is none": (CPRSampler(quantile=0), Refused("quantile=0 is not above 0", SamplingError)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_hostile_parameters_are_refused_in_fit(name: str) -> None:
    estimator, then = PARAMETERS[name]
    try_out(lambda: clone(estimator).fit_resample(X0, Y0) if "is none" in name else clone(estimator).fit(X0, Y0), then)


# Metrics


METRICS: dict[str, Callable[..., float]] = {
    "total cost": lambda **given: total_cost(Y0, Y0[::-1], **given),
    "savings": lambda **given: savings_score(Y0, Y0[::-1], **given),
    "tuned threshold": lambda **given: tuned_threshold(Y0, X0[:, 0], **given),
}
ABOUT_COSTS = [name for name in CASES if "cost" in name and not re.search("predict|validation", name)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", ABOUT_COSTS)
def test_metrics_take_and_refuse_the_same_costs(name: str, metric: str) -> None:
    def measure() -> None:
        assert not np.isnan(METRICS[metric](**given))

    given, then = CASES[name].make().fit, CASES[name].then
    if then is not WORKS:
        then = Refused(then.message.replace("X has", "y_true has"), then.kind)
    before = frozen(given)
    try_out(measure, then)
    assert frozen(given) == before


# Commands


ROWS = 80


def file_of(**columns: Any) -> Callable[[Path], object]:
    """Return what writes a CSV file of records, some of whose columns are these."""
    return lambda path: frame_of(**columns).write_csv(path)


def parquet_of(**columns: Any) -> Callable[[Path], object]:
    return lambda path: frame_of(**columns).write_parquet(path)


def frame_of(**columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, ROWS)).round(1)
    y = np.where(x + z + rng.normal(size=ROWS) > 0.7, "yes", "no")
    frame = pl.DataFrame({"x": x, "z": z, "amount": rng.integers(1, 50, ROWS), "y": y})
    return frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def text_of(change: Callable[[str], str] = str, encoding: str = "utf-8") -> Callable[[Path], object]:
    """Return what writes the text of a CSV file, changed."""
    return lambda path: path.write_bytes(change(frame_of().write_csv()).encode(encoding))


def every(*values: Any, **options: Any) -> pl.Series:
    return pl.Series([values[i % len(values)] for i in range(ROWS)], **options)


# The file of records, and what the command says of it.
FILES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "nothing wrong": (file_of(), WORKS),
    "a missing cost": (file_of(amount=every(None, 1.0)), "'amount' missing"),
    "an infinite cost": (file_of(amount=every(np.inf, 1.0)), "too large a number"),
    "a negative cost": (file_of(amount=every(-1.0, 1.0)), "a negative cost"),
    "a text for a cost": (file_of(amount=every("a", "1")), "not numeric"),
    "a date for a cost": (file_of(amount=every("2020-01-01")), "not numeric"),
    "bytes for a cost": (parquet_of(amount=every(b"a")), "no column 'amount'"),
    "huge costs": (file_of(amount=every(1.7e308)), "fn_cost is neither 0 nor between 1e-100 and 1e+100"),
    "denormal costs": (file_of(amount=every(5e-324, 1e-323)), "fn_cost is neither 0 nor between 1e-100 and 1e+100"),
    "no cost of a class": (file_of(amount=every(0.0)), WORKS),
    "one class": (file_of(y=every("no")), "one class only"),
    "three classes": (file_of(y=every("a", "b", "c")), "3 values"),
    "a class missing": (file_of(y=every("a", "b", None)), "missing in 26 records"),
    "one positive": (file_of(y=["yes"] + ["no"] * (ROWS - 1)), "too few records"),
    "bytes for classes": (parquet_of(y=every(b"a", b"b")), "Binary is not a type that a model can use"),
    "lists for classes": (parquet_of(y=every([1], [2])), "is not a type that a model can use"),
    "numbers for classes": (file_of(y=every(0.0, 1.0, 1.0)), WORKS),
    "one record": (lambda path: frame_of()[:1].write_csv(path), "one class only"),
    "six records": (lambda path: frame_of()[:6].write_csv(path), "too few records"),
    "no records": (lambda path: frame_of()[:0].write_csv(path), "has no records"),
    "no features": (lambda path: frame_of().select("y", amount="amount").write_csv(path), WORKS),
    "constant features": (file_of(x=every(1.0), z=every("a"), amount=every(3)), WORKS),
    "a column that is missing": (file_of(x=every(None, dtype=pl.Float64)), WORKS),
    "values of all kinds": (file_of(x=every("1", "a", "", "2.5", "True")), WORKS),
    "huge values": (file_of(x=every(1e300, -1.7e308, 5e-324)), WORKS),
    "infinite values": (file_of(x=every(np.inf, 1.0)), "'x' of records.csv is infinite in 40 records"),
    "integers beyond all": (
        text_of(lambda text: re.sub(r"(?m)^[-\d.]+,", "123456789012345678901234567890,", text)),
        WORKS,
    ),
    "names twice": (text_of(lambda text: text.replace("x,z", "x,x", 1)), "more than one column 'x'"),
    "a name missing": (text_of(lambda text: text.replace("x,z", ",z", 1)), WORKS),
    "a value too many": (text_of(lambda text: text + "1,2,3,yes,5\n"), "cannot be read"),
    "a value too few": (text_of(lambda text: text + "1,2\n"), "is missing in record 81"),
    "a quote that stays open": (text_of(lambda text: text + '"1,2,3,yes'), "cannot be read"),
    "blank lines": (text_of(lambda text: text.replace("\n", "\r\n\r\n")), WORKS),
    "another encoding": (text_of(lambda text: text.replace("yes", "né"), "latin-1"), "save it as UTF-8"),
    "two bytes a letter": (text_of(encoding="utf-16"), "neither CSV nor Parquet"),
    "half a file": (lambda path: path.write_bytes(b"PAR1" + b"x" * 99), "cannot be read"),
    "lists": (parquet_of(x=every([1, 2], [3])), WORKS),
    "decimals": (parquet_of(x=every(Decimal("1.5"), Decimal("2.5"))), WORKS),
}
COMMAND = ["--target", "y", "--fp-cost", "2", "--fn-cost", "amount", "--methods", "tree", "--trees", "1"]
COMMAND += ["--repeats", "1", "--metacost", "none", "--jobs", "1", "--progress", "quiet"]


def said_by(*arguments: object) -> tuple[int, list[str]]:
    """Return the exit code of a command, and what it says is wrong; internal errors are raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, [line for line in result.stderr.splitlines() if not line.startswith("Note: ")]


def some_soon() -> list[Any]:
    """Return the files, of which those that make a whole study wait until there is time, all but a few."""
    soon = ("values of all kinds", "a column that is missing", "blank lines", "lists")
    return [
        pytest.param(name, marks=() if message is not WORKS or name in soon else pytest.mark.slow)
        for name, (_, message) in FILES.items()
    ]


@pytest.mark.parametrize("name", some_soon())
def test_commands_get_hostile_files_done_or_say_in_a_line_what_is_wrong(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write, message = FILES[name]
    write(Path("records.csv"))
    before = Path("records.csv").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        code, said = said_by("study", "records.csv", *COMMAND, "--out", "out")
        if message is not WORKS:
            assert code == 2
            assert len(said) == 1
            assert said[0].startswith("stakes: ")
            assert message in said[0]
            assert [file.name for file in tmp_path.iterdir()] == ["records.csv"]
        else:
            assert (code, said) == (0, [])
            # What was studied can be decided on.
            assert said_by("apply", "out/best.skops", "records.csv", "--out", "done.parquet") == (0, [])
            done = pl.read_parquet("done.parquet")
            assert done.height == ROWS
            assert done["score"].is_between(0, 1).all()
            assert done["decision"].n_unique() <= 2
            assert done.select(pl.col(pl.Float64).is_nan().any()).sum_horizontal().sum() == 0
    assert Path("records.csv").read_bytes() == before


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a study of records without fault."""
    directory = tmp_path_factory.mktemp("model")
    file_of()(directory / "records.csv")
    assert said_by("study", directory / "records.csv", *COMMAND, "--out", directory / "out") == (0, [])
    return directory / "out" / "best.skops"


# New records, and what is said of them when a model is to decide.
NEW_FILES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "columns in another order": (lambda path: frame_of().select("y", "amount", "z", "x").write_csv(path), WORKS),
    "a column missing": (lambda path: frame_of().drop("x").write_csv(path), "no column 'x', which is needed"),
    "a cost missing": (lambda path: frame_of().drop("amount").write_csv(path), "amount"),
    "a column more": (file_of(more=every("a", "b")), WORKS),
    "text for numbers": (file_of(x=every("a")), "'x' of records.csv is 'a' in 80 records"),
    "infinite values": (file_of(x=every(np.inf)), "infinite"),
    "no values": (file_of(x=every(None, dtype=pl.Float64), z=every(None, dtype=pl.Float64)), WORKS),
    "a missing cost": (file_of(amount=every(None, 1)), "'amount' missing"),
    "a negative cost": (file_of(amount=every(-1)), "a negative cost"),
    "a record": (lambda path: frame_of()[:1].write_csv(path), WORKS),
    "no records": (lambda path: frame_of()[:0].write_csv(path), "has no records"),
    "lists to be copied": (parquet_of(more=every([1])), "cannot write done.csv"),
    "bytes to be copied": (parquet_of(more=every(b"a")), "cannot write done.csv"),
    "a name that is taken": (file_of(score=every(1)), "has a column 'score' itself"),
}


@pytest.mark.parametrize("name", NEW_FILES)
def test_a_model_decides_on_hostile_files_or_says_in_a_line_what_is_wrong(
    name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write, message = NEW_FILES[name]
    write(Path("records.csv"))
    code, said = said_by("apply", model, "records.csv", "--out", "done.csv")
    if message is WORKS:
        assert (code, said) == (0, [])
        assert pl.read_csv("done.csv")["score"].is_between(0, 1).all()
    else:
        assert code == 2
        assert len(said) == 1
        assert said[0].startswith("stakes: ")
        assert message in said[0]
        assert [file.name for file in tmp_path.iterdir()] == ["records.csv"]
