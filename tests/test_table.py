"""Reading X as columns: numbers with NaN for missing, text with None for missing, whatever it came in."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from stakes.table import Table, read_table


class Estimator(BaseEstimator):
    """Whatever has to remember what X looked like."""


def read(X):
    return read_table(Estimator(), X, reset=True)


def only_column(X):
    (column,) = read(X)
    return column


DAY = 86_400_000_000  # microseconds
NEW_YEAR = dt.datetime(2020, 1, 1)
NUMBERS = {
    "pandas float": pd.DataFrame({"a": [1.0, np.nan, 3.0]}),
    "pandas float32": pd.DataFrame({"a": np.array([1, np.nan, 3], "f4")}),
    "pandas Int64": pd.DataFrame({"a": pd.array([1, pd.NA, 3], dtype="Int64")}),
    "pandas UInt8": pd.DataFrame({"a": pd.array([1, pd.NA, 3], dtype="UInt8")}),
    "pandas Float64": pd.DataFrame({"a": pd.array([1, pd.NA, 3], dtype="Float64")}),
    "pandas arrow": pd.DataFrame({"a": pd.array([1, None, 3], dtype="int64[pyarrow]")}),
    "pandas sparse": pd.DataFrame({"a": pd.arrays.SparseArray([1, np.nan, 3])}),
    "polars float": pl.DataFrame({"a": [1.0, None, 3.0]}),
    "polars NaN": pl.DataFrame({"a": [1.0, float("nan"), 3.0]}),
    "polars int": pl.DataFrame({"a": [1, None, 3]}),
    "polars u8": pl.DataFrame({"a": pl.Series([1, None, 3], dtype=pl.UInt8)}),
    "polars i128": pl.DataFrame({"a": pl.Series([1, None, 3], dtype=pl.Int128)}),
    "polars decimal": pl.DataFrame({"a": [Decimal("1.00"), None, Decimal("3.00")]}),
    "pandas objects": pd.DataFrame({"a": pd.Series([1, None, 3], dtype=object)}),
    "pandas mixed objects": pd.DataFrame({"a": pd.Series([True, np.nan, 3.0], dtype=object)}),
    "pandas decimal": pd.DataFrame({"a": pd.Series([Decimal("1.00"), None, Decimal(3)], dtype=object)}),
    "polars objects": pl.DataFrame({"a": pl.Series([1, None, np.float32(3)], dtype=pl.Object)}),
    "arrow": pa.table({"a": [1, None, 3]}),
    "arrow decimal": pa.table({"a": [Decimal("1.00"), None, Decimal("3.00")]}),
    "array": np.array([[1.0], [np.nan], [3.0]]),
    "array of objects": np.array([[1], [None], [3]], dtype=object),
    "list": [[1], [None], [3]],
}
CATEGORIES = {
    "pandas str": pd.DataFrame({"a": ["x", None, "y"]}),
    "pandas object": pd.DataFrame({"a": pd.Series(["x", None, "y"], dtype=object)}),
    "pandas object nan": pd.DataFrame({"a": pd.Series(["x", np.nan, "y"], dtype=object)}),
    "pandas object NA": pd.DataFrame({"a": pd.Series(["x", pd.NA, "y"], dtype=object)}),
    "pandas object NaT": pd.DataFrame({"a": pd.Series(["x", pd.NaT, "y"], dtype=object)}),
    "pandas string": pd.DataFrame({"a": pd.array(["x", pd.NA, "y"], dtype="string")}),
    "pandas arrow": pd.DataFrame({"a": pd.array(["x", None, "y"], dtype="string[pyarrow]")}),
    "pandas categorical": pd.DataFrame({"a": pd.Categorical(["x", None, "y"], categories=["z", "y", "x"])}),
    "polars string": pl.DataFrame({"a": ["x", None, "y"]}),
    "polars categorical": pl.DataFrame({"a": pl.Series(["x", None, "y"], dtype=pl.Categorical)}),
    "polars enum": pl.DataFrame({"a": pl.Series(["x", None, "y"], dtype=pl.Enum(["z", "y", "x"]))}),
    "polars object": pl.DataFrame({"a": pl.Series(["x", None, "y"], dtype=pl.Object)}),
    "arrow": pa.table({"a": ["x", None, "y"]}),
    "arrow dictionary": pa.table({"a": pa.array(["x", None, "y"]).dictionary_encode()}),
    "array of objects": np.array([["x"], [None], ["y"]], dtype=object),
    "list": [["x"], [None], ["y"]],
}
BOOLEANS = {
    "pandas": pd.DataFrame({"a": pd.Series([True, None, False], dtype=object)}),
    "pandas boolean": pd.DataFrame({"a": pd.array([True, pd.NA, False], dtype="boolean")}),
    "pandas arrow": pd.DataFrame({"a": pd.array([True, None, False], dtype="bool[pyarrow]")}),
    "polars": pl.DataFrame({"a": [True, None, False]}),
    "arrow": pa.table({"a": [True, None, False]}),
    "pandas categorical": pd.DataFrame({"a": pd.Categorical([True, None, False])}),
    "array of objects": np.array([[True], [None], [False]], dtype=object),
}
TIMES = {
    "pandas": pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None, "2020-01-02"])}),
    "pandas ns": pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None, "2020-01-02"]).astype("datetime64[ns]")}),
    "pandas s": pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None, "2020-01-02"]).astype("datetime64[s]")}),
    "pandas UTC": pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None, "2020-01-02"], utc=True)}),
    "polars": pl.DataFrame({"a": [NEW_YEAR, None, NEW_YEAR + dt.timedelta(1)]}),
    "polars ms": pl.DataFrame({"a": [NEW_YEAR, None, NEW_YEAR + dt.timedelta(1)]}, schema={"a": pl.Datetime("ms")}),
    "pandas date": pd.DataFrame({"a": pd.Series([dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)], dtype=object)}),
    "polars date": pl.DataFrame({"a": [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)]}),
    "arrow": pa.table({"a": pa.array([NEW_YEAR, None, NEW_YEAR + dt.timedelta(1)])}),
    "array": np.array([["2020-01-01"], ["NaT"], ["2020-01-02"]], dtype="M8[D]"),
}
DURATIONS = {
    "pandas": pd.DataFrame({"a": [dt.timedelta(1), None, dt.timedelta(2)]}),
    "pandas ns": pd.DataFrame({"a": pd.Series([dt.timedelta(1), None, dt.timedelta(2)]).astype("timedelta64[ns]")}),
    "polars": pl.DataFrame({"a": [dt.timedelta(1), None, dt.timedelta(2)]}),
    "array": np.array([[1], ["NaT"], [2]], dtype="m8[D]"),
}


def each(frames):
    return pytest.mark.parametrize("X", frames.values(), ids=frames.keys())


@each(NUMBERS)
def test_numbers_are_numbers_with_nan_for_missing(X):
    column = only_column(X)
    assert isinstance(column, np.ndarray)
    np.testing.assert_array_equal(column.astype(float), [1, np.nan, 3])


@each(CATEGORIES)
def test_text_and_categories_are_text_with_none_for_missing(X):
    column = only_column(X)
    assert isinstance(column, pl.Series)
    assert column.dtype == pl.String
    assert column.to_list() == ["x", None, "y"]


@each(BOOLEANS)
def test_booleans_of_a_frame_are_zeros_and_ones(X):
    np.testing.assert_array_equal(only_column(X), [1, np.nan, 0])


@each(TIMES)
def test_times_are_numbers_of_the_same_unit_with_nan_for_missing(X):
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC).timestamp() * 1e6
    np.testing.assert_array_equal(only_column(X), [start, np.nan, start + DAY])


@each(DURATIONS)
def test_durations_are_numbers_of_the_same_unit_with_nan_for_missing(X):
    np.testing.assert_array_equal(only_column(X), [DAY, np.nan, 2 * DAY])


def test_times_of_day_are_in_order():
    values = only_column(pl.DataFrame({"a": [dt.time(1), None, dt.time(13, 30)]}))
    assert np.isnan(values[1])
    assert values[0] < values[2]


def test_a_column_of_mixed_objects_is_told_apart_by_text():
    mixed = pd.DataFrame({"a": pd.Series(["x", 1, True, 2.5, None, np.float64("nan")], dtype=object)})
    assert only_column(mixed).to_list() == ["x", "1", "True", "2.5", None, None]


def test_categories_that_are_numbers_are_text():
    assert only_column(pd.DataFrame({"a": pd.Categorical([1, None, 20])})).to_list() == ["1", None, "20"]


def test_categories_that_are_equal_numbers_are_spelt_alike():
    for numbers in ([1.0, 2.5], [Decimal("1.0"), Decimal("2.50")], [np.float32(1), np.float32(2.5)]):
        assert only_column(pd.DataFrame({"a": pd.Categorical(numbers)})).to_list() == ["1", "2.5"]


@pytest.mark.parametrize(
    "X",
    [pd.DataFrame({"a": [np.nan] * 3}), pd.DataFrame({"a": [None] * 3}), pl.DataFrame({"a": [None] * 3})],
    ids=["nan", "None", "null"],
)
def test_a_column_may_be_missing_altogether(X):
    column = only_column(X)
    assert len(column) == 3
    assert column.is_null().all() if isinstance(column, pl.Series) else np.isnan(column).all()


# Arrays


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
def test_an_array_of_numbers_is_kept_without_a_copy(dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    X.flags.writeable = False
    table = read(X)
    assert np.shares_memory(table.values, X)
    assert table.values.dtype == X.dtype
    assert len(table) == 4
    assert table.n_features == 3
    assert table.names == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(np.stack(list(table), axis=1), X)


def test_an_array_of_booleans_is_an_array_of_zeros_and_ones():
    np.testing.assert_array_equal(only_column(np.array([[True], [False]])), [1, 0])


def test_the_callers_data_are_left_alone():
    frame = pd.DataFrame({"n": [1.0, np.nan], "s": ["a", None], "t": pd.to_datetime(["2020-01-01", None])})
    before = frame.copy(deep=True)
    read(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert (frame.dtypes == before.dtypes).all()


# Names and errors


def test_a_frame_keeps_the_names_of_its_columns():
    assert read(pl.DataFrame({"b": [1], "a": ["x"]})).names == ["b", "a"]


def test_a_pandas_frame_may_have_numbers_for_names():
    table = read(pd.DataFrame(np.arange(6.0).reshape(2, 3)))
    assert table.names == ["0", "1", "2"]
    np.testing.assert_array_equal(np.stack(list(table), axis=1), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_other_columns_than_those_fitted_are_an_error(make):
    estimator = Estimator()
    read_table(estimator, make({"a": [1.0], "b": [2.0]}), reset=True)
    assert estimator.n_features_in_ == 2
    read_table(estimator, make({"a": [1.0], "b": [2.0]}), reset=False)
    for other in ({"b": [2.0], "a": [1.0]}, {"a": [1.0], "c": [2.0]}):
        with pytest.raises(ValueError, match="feature names"):
            read_table(estimator, make(other), reset=False)
    with pytest.raises(ValueError, match="feature"):
        read_table(estimator, make({"a": [1.0]}), reset=False)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_infinity_in_a_frame_names_the_column_and_the_first_row(make):
    frame = make({"fine": [1.0, 2.0, 3.0], "amount": [1.0, np.inf, -np.inf]})
    with pytest.raises(ValueError, match=r"infinity in 2 records of column 'amount', the first in row 1"):
        read(frame)


@pytest.mark.parametrize(
    "X", [np.array([[1.0], [np.inf]]), np.array([[None], [np.inf]], dtype=object), [[None], [float("inf")]]], ids=repr
)
def test_infinity_in_an_array_is_an_error(X):
    with pytest.raises(ValueError, match="infinity"):
        read(X)


@pytest.mark.parametrize(
    "X",
    [np.ones(3), np.ones((2, 2, 2)), np.ones((0, 3)), np.ones((3, 0)), ["a", "b"], pd.Series([1.0]), 3],
    ids=["1d", "3d", "no rows", "no columns", "text", "series", "number"],
)
def test_what_is_not_a_table_is_an_error(X):
    with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn's own words
        read(X)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("data", "what"), [({}, r"0 feature\(s\)"), ({"a": []}, r"0 sample\(s\)")])
def test_an_empty_frame_is_an_error(make, data, what):
    with pytest.raises(ValueError, match=what):
        read(make(data))


def test_a_table_of_columns_counts_rows_and_features():
    table = Table([np.arange(3), pl.Series(["a", "b", "c"])])
    assert (len(table), table.n_features, table.names) == (3, 2, ["x0", "x1"])
