"""SMOTE sampling, with imbalanced-learn as the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

from stakes import Costs
from stakes.exceptions import SamplingError
from stakes.sampling import SMOTESampler
from stakes.sampling.smote import _Categories

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
y = np.where(rng.permutation(80) < 20, 1, 0)
MIXED = pd.DataFrame(
    {
        "amount": X[:, 0],
        "kind": pd.Categorical(
            np.array(["x", "y", "z"])[rng.integers(3, size=80)], categories=["z", "y", "x", "unused"]
        ),
        "name": np.array(["ann", "bob"])[rng.integers(2, size=80)],
        "visits": rng.integers(0, 50, size=80),
        "known": rng.random(80) < 0.5,
        "rate": X[:, 1].astype(np.float32),
    }
)
FRAMES = {"pandas": MIXED, "polars": pl.from_pandas(MIXED)}


def seed_of(random_state: int) -> int:
    return int(np.random.default_rng(random_state).integers(2**31 - 1))


@pytest.mark.parametrize(("fp", "fn", "grown", "n"), [(1, 2.5, 1, 50), (2.5, 1, 0, 150)])
def test_extra_records_are_those_of_imbalanced_learn(fp: float, fn: float, grown: int, n: int) -> None:
    sampler = SMOTESampler(random_state=1)
    X_res, y_res = sampler.fit_resample(X, y, fp_cost=fp, fn_cost=fn)
    oracle = SMOTE(sampling_strategy={grown: n}, random_state=seed_of(1)).fit_resample(X, y)
    np.testing.assert_array_equal(X_res, oracle[0])
    np.testing.assert_array_equal(y_res, oracle[1])
    assert sampler.sampling_strategy_[grown] == n
    np.testing.assert_array_equal(sampler.sample_indices_, np.arange(80))


@pytest.mark.parametrize("frame", FRAMES)
def test_extra_records_with_categories_are_those_of_smotenc(frame: str) -> None:
    X_new, y_new = SMOTESampler().synthesize(FRAMES[frame], y, Costs(fp=1, fn=3), np.random.default_rng(2))
    codes = MIXED.assign(
        kind=MIXED["kind"].cat.codes, name=(MIXED["name"] == "bob") * 1, known=MIXED["known"] * 1
    ).to_numpy(dtype=float)
    oracle = SMOTENC([1, 2, 4], sampling_strategy={1: 60}, random_state=seed_of(2)).fit_resample(codes, y)[0][80:]
    X_new = X_new if frame == "pandas" else X_new.to_pandas()
    np.testing.assert_allclose(X_new["amount"], oracle[:, 0])
    np.testing.assert_allclose(X_new["rate"], oracle[:, 5], rtol=1e-6)
    np.testing.assert_array_equal(X_new["visits"], np.rint(oracle[:, 3]))
    # Ties between equally frequent categories are broken among their numbers, which differ; the rest agree.
    assert np.mean(X_new["known"].to_numpy() == (oracle[:, 4] == 1)) > 0.8
    assert set(X_new["kind"]) <= set(MIXED["kind"][y == 1])
    np.testing.assert_array_equal(y_new, np.ones(40))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_keeps_its_types_and_its_records(frame: str) -> None:
    given = FRAMES[frame]
    X_res, y_res = SMOTESampler(fn_cost=3, random_state=0).fit_resample(given, y)
    assert len(X_res) == len(y_res) == 120
    assert list(X_res.columns) == list(given.columns)
    assert list(X_res.dtypes) == list(given.dtypes)
    assert X_res[:80].equals(given)


@pytest.mark.parametrize("columns", [[0, 1, 2], pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])])
def test_a_frame_keeps_its_column_names_whatever_they_are(columns: Any) -> None:
    named = pd.DataFrame(X, columns=columns)
    X_res, _ = SMOTESampler(fn_cost=3, random_state=0).fit_resample(named, y)
    pd.testing.assert_index_equal(X_res.columns, named.columns)
    np.testing.assert_array_equal(X_res, SMOTESampler(fn_cost=3, random_state=0).fit_resample(X, y)[0])


def test_a_synthetic_record_lies_between_a_record_and_a_near_neighbour_of_its_class() -> None:
    """Plain geometry, on the six nearest by brute force."""
    X_new, _ = SMOTESampler(k_neighbors=3).synthesize(X, y, Costs(fp=1, fn=4), np.random.default_rng(0))
    own = X[y == 1]
    distances = np.linalg.norm(own[:, None] - own[None], axis=2)
    near = np.argsort(distances, axis=1)[:, 1:4]
    starts, ends = np.repeat(own, 3, axis=0), own[near.ravel()]
    for record in X_new:
        direction = ends - starts
        step = np.clip(((record - starts) * direction).sum(axis=1) / (direction**2).sum(axis=1), 0, 1)
        gap = np.linalg.norm(starts + step[:, None] * direction - record, axis=1)
        assert gap.min() < 1e-9


def test_equal_costs_make_no_records() -> None:
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    X_new, y_new = SMOTESampler().synthesize(X, y, Costs(fp=2, fn=2), generator)
    assert X_new.shape == (0, 3)
    assert y_new.shape == (0,)
    assert not SMOTESampler().changes(y, Costs(fp=2, fn=2))
    assert SMOTESampler().changes(y, Costs(fp=2, fn=3))
    assert SMOTESampler().changes(y, Costs(fp=3, fn=2))
    assert generator.bit_generator.state == before


def test_draw_keeps_every_record_and_adds_the_synthetic_ones() -> None:
    sample = SMOTESampler().draw(y, Costs(fp=1, fn=2), np.random.default_rng(3), X)
    X_new, y_new = SMOTESampler().synthesize(X, y, Costs(fp=1, fn=2), np.random.default_rng(3))
    np.testing.assert_array_equal(sample.counts, np.ones(80))
    np.testing.assert_array_equal(sample.X_new, X_new)
    np.testing.assert_array_equal(sample.y_new, y_new)


def test_a_small_class_lowers_the_number_of_neighbours() -> None:
    few = np.zeros(80, dtype=int)
    few[[3, 30, 60]] = 1
    X_new, _ = SMOTESampler(k_neighbors=5).synthesize(X, few, Costs(fp=1, fn=9), np.random.default_rng(1))
    same, _ = SMOTESampler(k_neighbors=2).synthesize(X, few, Costs(fp=1, fn=9), np.random.default_rng(1))
    assert len(X_new) == 24
    np.testing.assert_array_equal(X_new, same)


def test_a_class_of_one_record_is_an_error_with_a_way_out() -> None:
    one = (np.arange(80) == 7).astype(int)
    with pytest.raises(SamplingError, match=r"one record only.*OverSampler"):
        SMOTESampler().synthesize(X, one, Costs(fp=1, fn=9), rng)


def with_holes(rows: Any, value: float) -> dict[str, Any]:
    """Return the records with a value in column "rate" of some rows, in every kind of container."""
    holes = MIXED.copy()
    holes.loc[rows, "rate"] = value
    numbers = holes[["visits", "rate"]].to_numpy()
    return {
        "pandas": holes,
        "polars": pl.from_pandas(holes),
        "array": numbers,
        "objects": numbers.astype(object),
        "sparse": sparse.csr_matrix(numbers),
    }


CONTAINERS = ["pandas", "polars", "array", "objects", "sparse"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_records_with_missing_numbers_stay_but_have_no_synthetic_children(container: str) -> None:
    rows = np.flatnonzero(y == 1)[[4, 6]]
    holes = with_holes(rows, np.nan)[container]
    sampler = SMOTESampler(fn_cost=2.5, random_state=0)
    X_res, y_res = sampler.fit_resample(holes, y)
    assert sampler.sampling_strategy_ == {0: 60, 1: 50}
    np.testing.assert_array_equal(sampler.sample_indices_, np.arange(80))
    # Without the two, the 18 complete positives are the parents of the same 30 records, and grow to 48.
    complete = np.setdiff1d(np.arange(80), rows)
    given = holes.iloc[complete] if container == "pandas" else holes[complete]
    same, _ = SMOTESampler(fn_cost=48 / 18, random_state=0).fit_resample(given, y[complete])
    assert len(y_res) == 110
    extra, expected = X_res[80:], same[78:]
    if container == "sparse":
        extra, expected = extra.toarray(), expected.toarray()
    if container in ("pandas", "polars"):
        extra, expected = extra["rate"].to_numpy(), expected["rate"].to_numpy()
    extra, expected = (np.asarray(records, dtype=np.float64) for records in (extra, expected))
    assert np.isfinite(extra).all()
    np.testing.assert_array_equal(extra, expected)


@pytest.mark.parametrize("container", CONTAINERS)
def test_fewer_than_two_complete_records_are_an_error_with_a_way_out(container: str) -> None:
    rows = np.flatnonzero(y == 1)
    two_left = with_holes(rows[2:], np.nan)[container]
    assert SMOTESampler(fn_cost=2, random_state=0).fit_resample(two_left, y)[0].shape[0] == 100
    one_left = with_holes(rows[1:], np.nan)[container]
    column = "'rate'" if container in ("pandas", "polars") else 1
    match = rf"column {column} is missing in row {rows[1]} \(19 of the 20 records.*Impute.*OverSampler"
    with pytest.raises(SamplingError, match=match):
        SMOTESampler(fn_cost=2).fit_resample(one_left, y)


@pytest.mark.parametrize("container", CONTAINERS)
def test_infinite_numbers_are_an_error_with_a_way_out(container: str) -> None:
    rows = np.flatnonzero(y == 1)[[4, 6]]
    column = "'rate'" if container in ("pandas", "polars") else 1
    match = rf"column {column} is infinite in row {rows[0]} \(2 of the 20 records.*Impute.*OverSampler"
    with pytest.raises(SamplingError, match=match):
        SMOTESampler(fn_cost=2).fit_resample(with_holes(rows, np.inf)[container], y)


def test_missing_and_infinite_numbers_in_the_other_class_do_not_matter() -> None:
    for value in (np.nan, np.inf):
        holes = with_holes(np.flatnonzero(y == 0)[:5], value)["array"]
        X_res, _ = SMOTESampler(fn_cost=2, random_state=0).fit_resample(holes, y)
        assert np.isfinite(X_res[80:]).all()


def test_missing_numbers_are_allowed_by_its_tags() -> None:
    assert get_tags(SMOTESampler()).input_tags.allow_nan


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_missing_category_is_a_category(convert: Any) -> None:
    holes = MIXED.copy()
    holes.loc[y == 1, "kind"] = None
    holes.loc[y == 1, "name"] = None
    X_new, _ = SMOTESampler().synthesize(convert(holes), y, Costs(fp=1, fn=2), np.random.default_rng(0))
    new = X_new if isinstance(X_new, pd.DataFrame) else X_new.to_pandas()
    assert new["kind"].isna().all()
    assert new["name"].isna().all()
    assert len(new) == 20


def test_categorical_features_can_be_named_numbered_or_masked() -> None:
    codes = np.column_stack([X[:, 0], rng.integers(4, size=80), X[:, 1]])
    table = pd.DataFrame(codes, columns=["a", "b", "c"])
    by_number = [([1], codes), ([-2], codes), ([False, True, False], codes), ([1], table)]
    by_name = [(["b"], table), (["b"], pl.from_pandas(table))]
    made = []
    for chosen, given in by_number + by_name:
        sampler = SMOTESampler(categorical_features=chosen)
        made.append(np.asarray(sampler.synthesize(given, y, Costs(fp=1, fn=3), np.random.default_rng(0))[0]))
    for other in made:
        assert set(other[:, 1]) <= {0.0, 1.0, 2.0, 3.0}
        np.testing.assert_allclose(other[:, [0, 2]], made[0][:, [0, 2]])
    with pytest.raises(SamplingError, match="'d', which is not a column of X"):
        SMOTESampler(fn_cost=2, categorical_features=["d"]).fit_resample(table, y)
    with pytest.raises(SamplingError, match="mask of 2 columns, X has 3"):
        SMOTESampler(fn_cost=2, categorical_features=[True, False]).fit_resample(table, y)
    with pytest.raises(SamplingError, match="sparse matrix with categorical"):
        SMOTESampler(fn_cost=2, categorical_features=[1]).fit_resample(sparse.csr_matrix(codes), y)


def test_a_missing_code_in_a_matrix_is_a_category() -> None:
    codes = np.column_stack([X[:, 0], np.where(y == 1, np.nan, 1.0)])
    X_new, _ = SMOTESampler(categorical_features=[1]).synthesize(codes, y, Costs(fp=1, fn=2), np.random.default_rng(0))
    assert np.isnan(X_new[:, 1]).all()
    assert np.isfinite(X_new[:, 0]).all()


def test_only_categories_are_the_work_of_smoten() -> None:
    table = MIXED[["kind", "name"]]
    X_new, _ = SMOTESampler().synthesize(table, y, Costs(fp=1, fn=3), np.random.default_rng(0))
    positives_first = np.argsort(-y, kind="stable")
    oracle = SMOTEN(sampling_strategy={1: 60}, random_state=seed_of(0)).fit_resample(
        table.iloc[positives_first].astype(object), y[positives_first]
    )[0][80:]
    np.testing.assert_array_equal(X_new["name"], oracle["name"])
    assert X_new["kind"].dtype == table["kind"].dtype


def test_an_array_of_objects_is_read_column_by_column() -> None:
    objects = MIXED[["amount", "name", "visits"]].to_numpy(dtype=object)
    X_res, _ = SMOTESampler(fn_cost=3, random_state=0).fit_resample(objects, y)
    assert X_res.dtype == object
    assert set(X_res[:, 1]) == {"ann", "bob"}
    assert all(isinstance(value, int | float) for value in X_res[80:, 0])
    as_lists, _ = SMOTESampler(fn_cost=3, random_state=0).fit_resample(objects.tolist(), y)
    assert as_lists == X_res.tolist()


def test_whole_numbers_stay_whole_and_narrow_floats_narrow() -> None:
    whole = (X * 10).astype(np.int32)
    X_res, _ = SMOTESampler(fn_cost=2, random_state=0).fit_resample(whole, y)
    exact, _ = SMOTESampler(fn_cost=2, random_state=0).fit_resample(whole.astype(float), y)
    assert X_res.dtype == np.int32
    np.testing.assert_array_equal(X_res, np.rint(exact))
    assert SMOTESampler(fn_cost=2).fit_resample(X.astype(np.float32), y)[0].dtype == np.float32


def test_a_column_of_dates_is_an_error_that_names_it() -> None:
    for table in (
        MIXED.assign(when=pd.date_range("2024", periods=80)),
        MIXED.assign(when=pd.to_timedelta(np.arange(80), "D")),
    ):
        for given in (table, pl.from_pandas(table)):
            with pytest.raises(SamplingError, match=r"column 'when'.*convert or drop"):
                SMOTESampler(fn_cost=2).fit_resample(given, y)


def test_a_column_of_text_outside_categorical_features_is_an_error_that_names_it() -> None:
    with pytest.raises(SamplingError, match=r"column 'name'.*categorical_features"):
        SMOTESampler(fn_cost=2, categorical_features=["kind"]).fit_resample(MIXED, y)


@pytest.mark.parametrize("k", [0, -1, 2.5, None])
def test_bad_k_neighbors_is_an_error(k: Any) -> None:
    with pytest.raises(SamplingError, match="k_neighbors="):
        SMOTESampler(fn_cost=2, k_neighbors=k).fit_resample(X, y)


def test_growing_without_end_is_an_error() -> None:
    with pytest.raises(SamplingError, match="inf times fp_cost"):
        SMOTESampler(fp_cost=0).fit_resample(X, y)


def test_synthesis_without_features_is_an_error() -> None:
    with pytest.raises(SamplingError, match="X was not given"):
        SMOTESampler().draw(y, Costs(fp=1, fn=2), rng)


def test_categories_are_read_off_stored_entries_as_scikit_learn_reads_them() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 200), rng.integers(0, 2, 200), rng.integers(0, 9, 200)]).astype(float)
    ours, theirs = (kind(handle_unknown="ignore").fit(X) for kind in (_Categories, OneHotEncoder))
    np.testing.assert_array_equal(ours.inverse_transform(ours.transform(X)), X)
    unknown = ours.transform(X + 4)  # some have no entry
    np.testing.assert_array_equal(ours.inverse_transform(unknown), theirs.inverse_transform(unknown))
