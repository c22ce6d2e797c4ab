"""Bins: exact where values are few, of about equal size where they are many, and the same at predict as at fit."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import fit_tree

from stakes.exceptions import ColumnTypeWarning
from stakes.table import Table
from stakes.tree.binning import CUT_SAMPLE, MAX_BINS, Binning

MISSING = 0
any_number = st.floats(allow_nan=True, allow_infinity=False, allow_subnormal=True)


def fit(values, **how):
    """Bin one column; return the binning, its bins, and the cuts between them."""
    table = Table(np.asarray(values)[:, None])
    binning = Binning(**how).fit(table)
    n_bins = int(binning.feature_bins_.n_bins[0])
    return binning, binning.transform(table)[:, 0], binning.cuts_[0, : max(n_bins - 2, 0)]


def categories(values, **how):
    table = Table([pl.Series(values, dtype=pl.String)])
    binning = Binning(**how).fit(table)
    return binning, binning.transform(table)[:, 0]


def bins_of(binning, values):
    return binning.transform(Table(np.asarray(values)[:, None]))[:, 0]


# Numbers


@given(arrays(float, st.integers(1, 60), elements=any_number))
@example(np.array([5e-324, 0.0, -5e-324, 1e-323, 1.5e-323]))
@example(np.array([1e300, -1e300, 1.7e308, -1.7e308, np.nan]))
@example(np.array([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0)]))
def test_few_values_get_a_bin_each_in_their_order(values):
    binning, bins, cuts = fit(values)
    seen = ~np.isnan(values)
    distinct, rank = np.unique(values[seen], return_inverse=True)
    np.testing.assert_array_equal(bins[seen], 1 + rank)
    assert (bins[~seen] == MISSING).all()
    assert binning.feature_bins_.n_bins[0] == 1 + distinct.size
    np.testing.assert_array_equal(binning.feature_bins_.centers[0, 1 : 1 + distinct.size], distinct)
    assert np.isfinite(cuts).all()


@given(
    values=arrays(float, st.integers(30, 200), elements=any_number),
    new=arrays(float, 20, elements=any_number),
    max_bins=st.integers(2, 20),
)
def test_transform_is_a_search_among_the_cuts(values, new, max_bins):
    binning, bins, cuts = fit(values, max_bins=max_bins)
    assert cuts.size <= max_bins - 1
    assert (np.diff(cuts) > 0).all()
    for those in (values, new, cuts):
        expected = np.where(np.isnan(those), MISSING, 1 + np.searchsorted(cuts, those))
        np.testing.assert_array_equal(bins_of(binning, those), expected)
    # Every bin but that of missing values is in use
    assert set(bins[bins != MISSING]) == set(range(1, binning.feature_bins_.n_bins[0]))


def test_255_values_are_exact_and_256_are_not():
    rng = np.random.default_rng(0)
    for n_values, n_bins in ((255, 255), (256, 255)):
        values = rng.permutation(np.repeat(rng.normal(size=n_values), 7))
        binning, bins, _ = fit(values)
        assert np.unique(bins).size == n_bins
        assert binning.feature_bins_.n_bins[0] == 1 + n_bins
        assert bins.max() == 255


@pytest.mark.parametrize("max_bins", [2, 3, 16, 100, MAX_BINS])
@pytest.mark.parametrize("n", [1000, 20_000])
def test_many_values_fall_into_bins_of_equal_size(n, max_bins):
    _, bins, _ = fit(np.random.default_rng(0).lognormal(0, 3, n), max_bins=max_bins)
    sizes = np.bincount(bins)[1:]
    assert sizes.size == max_bins
    assert np.ptp(sizes) <= 1


def plain_cuts(values, max_bins):
    """Return the cuts between more values than bins, and the middles of bins, all values at once."""
    distinct, counts = np.unique(values, return_counts=True)
    heavy = counts > 2 * counts.sum() / max_bins
    share = np.where(heavy, 0, counts).cumsum()
    number = (share * ((max_bins - 2 * heavy.sum()) / share[-1]) - 1e-9).astype(int)
    last = np.flatnonzero((np.diff(number) > 0) | heavy[:-1] | heavy[1:])
    firsts, lasts = np.r_[0, last + 1], np.r_[last, distinct.size - 1]
    return distinct[last] / 2 + distinct[last + 1] / 2, distinct[firsts] / 2 + distinct[lasts] / 2


@pytest.mark.parametrize("seed", range(60))
def test_cuts_are_those_of_a_plain_implementation(seed):
    rng = np.random.default_rng(seed)
    n, max_bins = int(rng.integers(300, 3000)), int(rng.choice([2, 3, 10, 100, MAX_BINS]))
    values = rng.standard_normal(n)
    some = rng.random(n) < rng.choice([0.0, 0.5])
    values[some] = rng.integers(0, 5, some.sum())
    cuts, middles = plain_cuts(values, max_bins)
    binning, _, _ = fit(np.concatenate([values, np.full(7, np.nan)]), max_bins=max_bins)
    np.testing.assert_array_equal(binning.cuts_[0][: cuts.size], cuts)
    assert (binning.cuts_[0][cuts.size :] == np.inf).all()
    np.testing.assert_array_equal(binning.feature_bins_.centers[0][1 : 1 + middles.size], middles)
    assert binning.feature_bins_.n_bins[0] == 1 + middles.size


@pytest.mark.compiled
@given(
    counts=st.lists(st.one_of(st.integers(1, 3), st.integers(1, 500)), min_size=30, max_size=120),
    max_bins=st.integers(2, 29),
)
def test_a_heavy_value_has_a_bin_to_itself_and_bins_of_several_values_are_not_heavy(counts, max_bins):
    values = np.repeat(np.arange(len(counts)), counts)
    share = values.size / max_bins
    binning, bins, _ = fit(values, max_bins=max_bins)
    assert binning.feature_bins_.n_bins[0] <= 1 + max_bins
    of_value = bins[np.unique(values, return_index=True)[1]]
    assert (np.diff(of_value.astype(int)) >= 0).all()
    for value, count in enumerate(counts):
        if count > 2 * share:
            assert (of_value == of_value[value]).sum() == 1
    sizes = np.bincount(bins)
    shared = np.bincount(of_value) > 1
    assert sizes[: shared.size][shared].max(initial=0) <= 3 * share + 1


def test_half_the_records_of_one_value_leave_the_other_bins_to_the_rest():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(20_000) < 0.5, 0.0, rng.normal(size=20_000))
    _, bins, _ = fit(values)
    alone = bins[values == 0][0]
    assert (values[bins == alone] == 0).all()
    sizes = np.bincount(bins[values != 0], minlength=256)
    assert sizes.max() < 1.1 * 10_000 / 253


def test_more_records_than_the_sample_still_give_bins_of_about_equal_size():
    n = CUT_SAMPLE + 30_000
    _, bins, _ = fit(np.random.default_rng(0).normal(size=n))
    sizes = np.bincount(bins)[1:]
    assert sizes.size == MAX_BINS
    assert sizes.min() > 0.6 * n / MAX_BINS
    assert sizes.max() < 1.5 * n / MAX_BINS


def test_few_values_are_exact_even_where_the_sample_misses_some():
    values = np.zeros(CUT_SAMPLE * 3)
    values[:200] = np.arange(200)  # most of these are seen in none but one record
    _, bins, _ = fit(values)
    np.testing.assert_array_equal(bins, values + 1)


def test_constant_and_all_missing_columns_have_one_bin_and_none():
    for value, n_bins, bin_ in ((3.0, 2, 1), (np.nan, 1, MISSING)):
        binning, bins, cuts = fit(np.full(10, value))
        assert binning.feature_bins_.n_bins[0] == n_bins
        assert (bins == bin_).all()
        assert cuts.size == 0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "i8", "u1", "u4", bool])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "read-only"])
def test_any_dtype_and_layout_gives_the_same_bins_and_is_left_alone(dtype, layout):
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 2 if dtype is bool else 100, (300, 5))
    X = whole.astype(dtype)
    if layout == "F":
        X = np.asfortranarray(X)
    if layout == "strided":
        X = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    X.flags.writeable = layout != "read-only"
    before = X.copy()
    bins = Binning().fit(Table(X)).transform(Table(X))
    expected = [np.unique(column, return_inverse=True)[1] + 1 for column in whole.T]
    np.testing.assert_array_equal(bins[:, :5].T, expected)
    np.testing.assert_array_equal(X, before)
    assert X.dtype == before.dtype


def test_single_and_double_precision_agree_on_values_that_both_have():
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    single, double = (fit(x.astype(dtype)) for dtype in (np.float32, np.float64))
    np.testing.assert_array_equal(single[1], double[1])
    np.testing.assert_array_equal(bins_of(single[0], x.astype(np.float64)), double[1])


# Categories


def test_categories_have_a_bin_each_and_missing_and_unseen_share_one():
    binning, bins = categories(["b", None, "a", "b", "c"])
    np.testing.assert_array_equal(bins, [2, MISSING, 1, 2, 3])
    new = Table([pl.Series(["c", "never", None, "a", ""])])
    np.testing.assert_array_equal(binning.transform(new)[:, 0], [3, MISSING, MISSING, 1, MISSING])
    assert binning.feature_bins_.categorical.tolist() == [1]


def test_255_categories_have_a_bin_each_and_of_more_the_rarest_share_one():
    names = [f"c{i:03}" for i in range(255)]
    assert sorted(categories(names)[1]) == list(range(1, 256))
    names = [f"c{i:03}" for i in range(400)]
    counts = np.random.default_rng(0).permutation(np.r_[np.full(254, 3), np.full(146, 2)])
    _, bins = categories(np.repeat(names, counts).tolist())
    of_name = dict(zip(np.repeat(names, counts), bins, strict=True))
    frequent = [of_name[name] for name, count in zip(names, counts, strict=True) if count == 3]
    rare = [of_name[name] for name, count in zip(names, counts, strict=True) if count == 2]
    assert sorted(frequent) == list(range(1, 255))
    assert set(rare) == {255}


def test_order_of_the_records_does_not_change_the_bins_of_categories():
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in rng.integers(0, 500, 3000)]
    one = categories(names)[0].categories_
    assert one == categories(rng.permutation(names).tolist())[0].categories_


@pytest.mark.parametrize("name", ["count", "category", "", "proportion"])
def test_a_column_may_have_any_name(name):
    table = Table([pl.Series(name, ["x", "y", None])], [name])
    np.testing.assert_array_equal(Binning().fit(table).transform(table)[:, 0], [1, 2, MISSING])


def test_all_missing_categories_are_never_split_on():
    binning, bins = categories([None] * 4)
    assert (bins == MISSING).all()
    assert fit_tree(Table([pl.Series([None] * 4, dtype=pl.String)]), [0, 1, 0, 1]).nodes.feature.tolist() == [-1]
    later = binning.transform(Table([pl.Series(["a", None])]))
    assert (later[:, 0] == MISSING).all()


def test_numbers_that_were_text_when_fitted_are_compared_as_text():
    binning, _ = categories(["1", "2", "3"])
    with pytest.warns(ColumnTypeWarning, match="1 of 4 values are none of them, such as '7'"):
        later = binning.transform(Table([np.array([3.0, 1, 7, 3, np.nan])]))
    np.testing.assert_array_equal(later[:, 0], [3, 1, MISSING, 3, MISSING])


def test_text_that_was_a_number_when_fitted_is_an_error():
    binning = Binning().fit(Table([np.array([1.0, 2.0])], ["age"]))
    with pytest.raises(ValueError, match="'age' was numeric when fitted"):
        binning.transform(Table([pl.Series(["1", "2"])], ["age"]))


# All of it


@pytest.mark.parametrize("n", [1, 100, 20_000])
def test_threads_change_nothing(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 7))
    X[rng.random(X.shape) < 0.1] = np.nan
    mixed = [*X.T, pl.Series(rng.choice(["a", "b", None], n).tolist(), dtype=pl.String)]
    for values in (X, mixed):
        one, two = (Binning(n_threads=threads).fit(Table(values)) for threads in (1, 2))
        np.testing.assert_array_equal(one.cuts_, two.cuts_)
        np.testing.assert_array_equal(one.transform(Table(values)), two.transform(Table(values)))


def test_columns_of_a_frame_get_the_bins_of_the_same_array():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((5000, 9)) < 0.1, np.nan, rng.normal(size=(5000, 9)))
    array, columns = Table(X), Table(list(X.T))
    np.testing.assert_array_equal(Binning().fit(array).transform(columns), Binning().fit(columns).transform(array))


def test_bins_are_padded_with_zeros_to_a_multiple_of_eight_columns():
    for d in (1, 7, 8, 9):
        bins = Binning().fit(Table(np.ones((3, d)))).transform(Table(np.ones((3, d))))
        assert bins.shape == (3, 8 if d <= 8 else 16)
        assert (bins[:, :d] == 1).all()
        assert (bins[:, d:] == 0).all()
