"""What is given to estimators, and what comes of it.

An estimator has traits ("smote", "models"), and a case says where these make a difference.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from subjects import Subject

from stakes.exceptions import CostsError, SamplingError

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
    "a hit that costs more than a miss": case(**costs(having(FN, 3, 5), tp_cost=6.0)),
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
    "an array with texts": case(but=NEEDS_NUMBERS, X=lambda: pandas(d=["a", "b"] * (N // 2))().to_numpy()),
    "an array of texts": case(THEIRS, but=ANYTHING, X=np.full((N, 4), "a")),
    "huge numbers": case(but={"smote": BETWEEN, **NARROW}, X=X0 * 1e300),
    "numbers as large as can be": case(but={"smote": BETWEEN, **NARROW}, X=np.where(X0 > 0, 1.7e308, -1.7e308)),
    "one huge number": case(but=NARROW, X=having(X0, (np.argmin(Y0), 1), 1e300)),
    "denormal numbers": case(X=X0 * 5e-323),
    "the largest of float32": case(but=NARROW, X=np.where(X0 > 0, 3.4e38, -3.4e38).astype("f4")),
    "the largest of integers": case(X=np.where(X0 > 0, 2**63 - 1, -(2**63))),
    "the largest of unsigned integers": case(X=np.where(X0 > 0, np.uint64(2**64 - 1), np.uint64(0))),
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
    "numbers for text when predicting": case(
        but=NEEDS_NUMBERS, X=pandas(d=["1", "2"] * (N // 2)), X_new=pandas(d=[2.0, 1.0] * (N // 2))
    ),
    "categories never seen": case(
        but=NEEDS_NUMBERS,
        X=pandas(d=pd.Categorical(["x", "y"] * (N // 2))),
        X_new=pandas(d=pd.Categorical(["z", "y"] * (N // 2))),
    ),
    # Sparse
    "a sparse matrix": case(X=lambda: sparse.csr_matrix(X0)),
    "a sparse array by coordinates": case(X=lambda: sparse.coo_array(X0)),
    "a sparse matrix when predicting": case(X_new=lambda: sparse.csr_matrix(X0)),
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
