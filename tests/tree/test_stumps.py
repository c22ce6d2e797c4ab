"""Stumps on all records, against `grow` with a depth of 1: the same to the last bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from stakes.table import Table
from stakes.tree.binning import Binning
from stakes.tree.criteria import COST, CRITERIA, GAIN_RATIO
from stakes.tree.growing import Settings, grow
from stakes.tree.stumps import FEWEST_FOR_THREADS, Stumps
from stakes.tree.trees import Trees


def random_records(rng, n, n_columns):
    """Numbers and categories with gaps, few and many distinct values, and classes that go with some of them."""
    y = (rng.random(n) < rng.uniform(0.1, 0.6)).astype(np.uint8)
    columns = []
    for j in range(n_columns):
        kind = rng.integers(4)
        if kind == 0:
            column = rng.normal(size=n) + y * (j % 3 == 0)
        elif kind == 1:
            column = rng.integers(0, 4, n) + 1.0 * y * (rng.random(n) < 0.5)
        elif kind == 2:
            column = np.ones(n)
        else:
            column = pl.Series([f"c{k}" for k in (rng.integers(0, 6, n) + 2 * y)])
        gaps = rng.random(n) < rng.choice([0.0, 0.2])
        if isinstance(column, pl.Series):
            column = pl.Series(
                [None if gap else value for gap, value in zip(gaps, column, strict=True)], dtype=pl.String
            )
        else:
            column = np.where(gaps, np.nan, column)
        columns.append(column)
    return Table(columns), y


def weights(rng, n):
    kind = rng.integers(4)
    if kind == 0:
        return np.full(n, 1 / n)
    if kind == 1:
        return rng.integers(1, 4, n) / 1.0
    weight = rng.random(n) ** (1 if kind == 2 else 40)
    return weight / weight.sum()


def both(table, y, weight, *, criterion, min_split=2, min_leaf=1, break_ties=True, each=map):
    binning = Binning().fit(table)
    bins, d = binning.transform(table), table.n_features
    settings = Settings(criterion, 1, min_split, min_leaf, d, break_ties, 0)
    grown = grow(
        bins, y, np.ones(y.size, np.int32), weight, np.arange(d, dtype=np.int32), binning.feature_bins_, settings
    )
    return grown, Stumps(bins, y, binning.feature_bins_, settings, each).grow(weight), bins


def assert_same(grown, stump, bins):
    for name, expected, found in zip(grown._fields, grown, stump.nodes, strict=True):
        assert expected.dtype == found.dtype, name
        assert_array_equal(expected, found, err_msg=name)
    assert_array_equal(Trees.join([grown]).apply(bins)[:, 0], stump.leaf)
    assert stump.leaf.dtype == np.int32


@pytest.mark.parametrize("criterion", [number for number in CRITERIA.values() if number != GAIN_RATIO])
@pytest.mark.parametrize("seed", range(40))
def test_stump_is_the_tree_of_depth_one(criterion, seed):
    rng = np.random.default_rng([seed, criterion])
    table, y = random_records(rng, int(rng.integers(2, 400)), int(rng.integers(1, 20)))
    how = {"min_split": int(rng.choice([2, 50])), "min_leaf": int(rng.choice([1, 3, 30]))}
    assert_same(*both(table, y, weights(rng, y.size), criterion=criterion, break_ties=bool(rng.integers(2)), **how))


def test_records_of_one_class_stay_together():
    table = Table(np.arange(10.0).reshape(10, 1))
    grown, stump, bins = both(table, np.ones(10, np.uint8), np.full(10, 0.1), criterion=0)
    assert stump.nodes.feature.tolist() == [-1]
    assert_same(grown, stump, bins)


def test_class_without_weight_does_not_split():
    table, y = Table(np.arange(10.0).reshape(10, 1)), np.arange(10).astype(np.uint8) % 2
    grown, stump, bins = both(table, y, np.where(y == 1, 0.0, 0.2), criterion=0)
    assert stump.nodes.feature.tolist() == [-1]
    assert_same(grown, stump, bins)


@pytest.mark.parametrize(("break_ties", "n_nodes"), [(False, 1), (True, 3)])
def test_cost_criterion_splits_where_nothing_is_saved_only_to_break_ties(break_ties, n_nodes):
    table, y = Table(np.arange(9.0).reshape(9, 1)), np.array([0, 1, 0, 1, 0, 0, 0, 0, 0], np.uint8)
    grown, stump, bins = both(table, y, np.where(y == 1, 0.01, 1.0), criterion=COST, break_ties=break_ties)
    assert stump.nodes.feature.size == n_nodes
    assert_same(grown, stump, bins)


def test_stump_does_not_depend_on_threads():
    rng = np.random.default_rng(0)
    table, y = random_records(rng, FEWEST_FOR_THREADS + 100, 27)
    weight = weights(rng, y.size)
    with ThreadPoolExecutor(3) as pool:
        assert_same(*both(table, y, weight, criterion=0, each=pool.map))
