"""The same values are the same features, whatever they come in: numbers in objects, booleans, categories, frames."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier, MetaCostClassifier
from stakes.encoded import EncodedClassifier
from stakes.exceptions import ColumnTypeWarning
from stakes.table import check_table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(2)
Y = (X[:, 0] + X[:, 1] + RNG.normal(size=300) > 0.5).astype(int)
FOREST = CostBaggingClassifier(n_estimators=10, random_state=0)


def chances(model: Any, X: Any) -> Any:
    return model.predict_proba(X)[:, 1]


# Numbers in columns of objects


@pytest.mark.parametrize("convert", [float, lambda x: Decimal(str(x)), np.float64], ids=["float", "Decimal", "numpy"])
def test_numbers_in_object_columns_are_numbers(convert: Any) -> None:
    objects = pd.DataFrame({f"c{j}": pd.Series([convert(x) for x in X[:, j]], dtype=object) for j in range(4)})
    numbers = pd.DataFrame(X, columns=[f"c{j}" for j in range(4)])
    by_objects, by_numbers = (CostBaggingClassifier(**FOREST.get_params()).fit(F, Y) for F in (objects, numbers))
    np.testing.assert_array_equal(chances(by_objects, objects), chances(by_numbers, numbers))
    np.testing.assert_array_equal(chances(by_numbers, objects), chances(by_numbers, numbers))
    assert roc_auc_score(Y, chances(by_objects, objects)) > 0.8


def test_an_array_of_objects_may_mix_numbers_and_text() -> None:
    kinds = np.where(Y == 1, "a", "b")
    array = np.empty((300, 2), dtype=object)
    array[:, 0], array[:, 1] = X[:, 0], kinds
    frame = pd.DataFrame({"x": X[:, 0], "kind": kinds})
    by_array, by_frame = CostTreeClassifier().fit(array, Y), CostTreeClassifier().fit(frame, Y)
    np.testing.assert_array_equal(chances(by_array, array), chances(by_frame, frame))
    np.testing.assert_array_equal(chances(by_array, array.tolist()), chances(by_frame, frame))


def test_an_array_of_containers_is_refused() -> None:
    array = X.astype(object)
    array[0, 0] = {"a": 1}
    with pytest.raises(TypeError, match="argument must be a string or a number, not 'dict'"):
        CostTreeClassifier().fit(array, Y)


# A column keeps its kind


@pytest.mark.parametrize("fitted", [bool, int, float, object, "boolean", "Int64"], ids=str)
@pytest.mark.parametrize("asked", [bool, int, float, object, "boolean", "Int64", "float32"], ids=str)
def test_booleans_integers_and_floats_of_the_same_values_are_the_same(fitted: Any, asked: Any) -> None:
    flags = pd.DataFrame(X > 0.3, columns=list("abcd"))
    model = CostTreeClassifier(max_depth=4).fit(flags.astype(fitted), Y)
    expected = chances(CostTreeClassifier(max_depth=4).fit(flags.astype(float), Y), flags.astype(float))
    np.testing.assert_array_equal(chances(model, flags.astype(asked)), expected)


@pytest.mark.parametrize("make", [CostTreeClassifier, lambda: EncodedClassifier(CostTreeClassifier())])
def test_a_category_fitted_as_an_integer_is_found_as_a_float(make: Any) -> None:
    codes = np.where(Y == 1, RNG.integers(0, 3, 300), RNG.integers(2, 6, 300))
    model = make().fit(pd.DataFrame({"code": pd.Categorical(codes)}), Y)
    expected = chances(model, pd.DataFrame({"code": pd.Categorical(codes)}))
    for other in (codes, codes.astype(float), pd.Categorical(codes.astype(float)), codes.astype(str).astype(object)):
        np.testing.assert_array_equal(chances(model, pd.DataFrame({"code": other})), expected)
    with_gap = np.append(codes[:-1], np.nan)  # one missing value turns integers into floats
    np.testing.assert_array_equal(chances(model, pd.DataFrame({"code": with_gap}))[:-1], expected[:-1])


def test_text_of_booleans_is_found_as_booleans() -> None:
    flags = X[:, 0] > 0
    model = CostTreeClassifier().fit(pd.DataFrame({"a": flags.astype(str)}), Y)
    expected = chances(model, pd.DataFrame({"a": flags.astype(str)}))
    np.testing.assert_array_equal(chances(model, pd.DataFrame({"a": flags})), expected)


def test_numbers_that_are_none_of_the_categories_are_warned_of() -> None:
    model = CostTreeClassifier().fit(pd.DataFrame({"kind": np.where(Y == 1, "a", "b")}), Y)
    with pytest.warns(ColumnTypeWarning, match="'kind' had the categories 'a', 'b' .* 300 of 300 values"):
        model.predict(pd.DataFrame({"kind": Y}))


def test_text_that_is_all_unknown_is_warned_of() -> None:
    model = CostTreeClassifier().fit(pd.DataFrame({"kind": np.where(Y == 1, "yes", "no")}), Y)
    with pytest.warns(ColumnTypeWarning, match="such as 'YES'"):
        model.predict(pd.DataFrame({"kind": ["YES"] * 20}))
    model.predict(pd.DataFrame({"kind": ["YES", "yes"] * 10}))
    model.predict(pd.DataFrame({"kind": ["YES"]}))
    model.predict(pd.DataFrame({"kind": [f"id {i}" for i in range(20)]}))


def test_text_where_numbers_were_fitted_is_an_error_and_no_values_are_missing_ones() -> None:
    model = CostTreeClassifier().fit(pd.DataFrame({"a": X[:, 0]}), Y)
    with pytest.raises(ValueError, match="'a' was numeric when fitted and is text now, such as '1'"):
        model.predict(pd.DataFrame({"a": ["1", "2"]}))
    missing = chances(model, pd.DataFrame({"a": [np.nan, np.nan]}))
    np.testing.assert_array_equal(chances(model, pd.DataFrame({"a": pd.Series([None, None], dtype=object)})), missing)


def test_categories_of_a_frame_are_found_in_an_array() -> None:
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(Y == 1, "a", "b")})
    model = CostTreeClassifier().fit(frame, Y)
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(chances(model, frame.to_numpy()), chances(model, frame))


def test_text_that_looks_like_numbers_is_text_with_a_warning() -> None:
    ages = RNG.integers(20, 60, 300).astype(str).astype(object)
    ages[:2] = "?"
    with pytest.warns(ColumnTypeWarning, match="column 'age' is text, and .* look like numbers"):
        model = CostTreeClassifier().fit(pd.DataFrame({"age": ages}), Y)
    assert model.binning_.categories_[0] is not None
    CostTreeClassifier().fit(pd.DataFrame({"age": pd.Categorical(ages)}), Y)  # meant to be names
    CostTreeClassifier().fit(pd.DataFrame({"flag": np.where(Y == 1, "1", "0")}), Y)


# Sparse matrices


@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix])
@pytest.mark.parametrize(
    "model",
    [CostTreeClassifier(), FOREST, CostBoostClassifier(n_estimators=5), MetaCostClassifier(FOREST, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_trees_take_sparse_matrices_for_what_they_hold(convert: Any, model: Any) -> None:
    zeros = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = chances(model.fit(zeros, Y), zeros)
    found = chances(model.fit(convert(zeros), Y), zeros)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(chances(model, convert(zeros)), expected)


def test_a_wide_sparse_matrix_is_never_dense_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stakes.tree.binning.VALUES_PER_BLOCK", 4 * 50)
    blocks: list[tuple[int, int]] = []
    whole = sparse.csr_matrix.toarray
    monkeypatch.setattr(sparse.csr_matrix, "toarray", lambda self: blocks.append(self.shape) or whole(self))
    wide = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    CostTreeClassifier().fit(wide, Y)
    assert max(shape[0] for shape in blocks) == 50


def test_trees_learn_from_texts_by_a_pipeline() -> None:
    texts = np.where(Y == 1, "a great film", "a bad film")
    model = make_pipeline(TfidfVectorizer(), CostTreeClassifier()).fit(texts, Y)
    np.testing.assert_array_equal(model.predict(texts), Y)


# Frames whose records are not there yet


class Relation:
    """What a module calls its frames."""


@pytest.mark.parametrize(
    ("package", "advice"), [("dask", "compute()"), ("duckdb", "df()"), ("_duckdb", "df()"), ("polars", "collect()")]
)
def test_lazy_frames_are_told_how_to_fetch_their_records(
    package: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy = pl.DataFrame({"a": [1]}).lazy()
    monkeypatch.setattr(type(lazy), "__module__", f"{package}.somewhere")
    with pytest.raises(TypeError, match=f"give X.{advice}".replace("(", r"\(").replace(")", r"\)")):
        check_table(lazy)


def test_dask_frames_are_told_to_compute() -> None:
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(TypeError, match=r"give X.compute\(\)"):
        check_table(dask.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=1))


# All frames alike


def random_columns(rng: np.random.Generator, n: int) -> dict[str, list[Any]]:
    """Return columns of mixed types as lists, None for missing."""
    makers = {
        "float": lambda: rng.normal(size=n).round(1).tolist(),
        "int": lambda: rng.integers(-3, 4, n).tolist(),
        "bool": lambda: (rng.random(n) < 0.5).tolist(),
        "text": lambda: rng.choice(["a", "b", "ü", ""], n).tolist(),
        "decimal": lambda: [Decimal(int(x)) / 4 for x in rng.integers(0, 9, n)],
        "date": lambda: [dt.date(2020, 1, 1) + dt.timedelta(int(x)) for x in rng.integers(0, 9, n)],
        "time": lambda: [dt.datetime(2020, 1, 1) + dt.timedelta(hours=int(x)) for x in rng.integers(0, 9, n)],
    }
    columns = {}
    for j, kind in enumerate(rng.choice(list(makers), rng.integers(1, 5))):
        share = rng.choice([0.0, 0.2])
        values = [None if rng.random() < share else value for value in makers[kind]()]
        columns[f"{kind}{j}"] = values if any(value is not None for value in values) else makers[kind]()
    return columns


def as_objects(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def as_array(columns: dict[str, list[Any]]) -> Any:
    return as_objects(columns).to_numpy()


CONTAINERS = {
    "pandas": lambda columns: pa.table(columns).to_pandas(),
    "objects": as_objects,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
    "numpy": as_array,
}


def check_frames(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 30
    train, new = (random_columns(np.random.default_rng(seed), n) for _ in range(2))
    for values in new.values():
        rng.shuffle(values)
    y = rng.permutation(np.arange(n) % 2)
    model = CostBaggingClassifier(n_estimators=2, random_state=seed)
    found = {}
    for name, make in CONTAINERS.items():
        fitted = model.fit(make(train), y)
        found[name] = [chances(fitted, make(new))]
        if name != "numpy":  # whose features have no names
            found[name] += [chances(fitted, CONTAINERS[other](new)) for other in CONTAINERS if other != "numpy"]
    for name, answers in found.items():
        for answer in answers:
            np.testing.assert_array_equal(answer, found["pandas"][0], err_msg=f"{name}, {seed}")


@pytest.mark.parametrize("part", range(2))
def test_frames_of_mixed_types_give_the_same_predictions_in_every_container(part: int) -> None:
    for seed in range(25 * part, 25 * part + 25):
        check_frames(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_5000_frames_of_mixed_types_give_the_same_predictions_in_every_container(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        check_frames(seed)


# Records without weight


@pytest.mark.parametrize("model", [CostTreeClassifier(max_bins=8), FOREST, CostBoostClassifier(n_estimators=5)])
def test_zero_weight_records_do_not_shape_bins(model: Any) -> None:
    others = RNG.normal(50, 20, size=(200, 4))
    kept = model.fit(X, Y, sample_weight=np.ones(300))
    cuts, expected = kept.binning_.cuts_, chances(kept, X)
    both, weight = np.concatenate([X, others]), np.repeat([1.0, 0.0], [300, 200])
    model.fit(both, np.append(Y, np.arange(200) % 2), sample_weight=weight)
    np.testing.assert_array_equal(model.binning_.cuts_, cuts)
    np.testing.assert_array_equal(chances(model, X), expected)
