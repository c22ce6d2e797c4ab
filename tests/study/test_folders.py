"""Records in many files are read like those in one, and what is wrong is told with the file and the column."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stakes.datasets import make_churn
from stakes.exceptions import StudyError
from stakes.study import Study, load_data
from stakes.study.apply import apply_model
from stakes.study.dataset import open_records

OPTIONS = {"target": "left", "fp_cost": "2 * monthly_charges", "fn_cost": "12 * monthly_charges"}


def records(n: int = 300, seed: int = 0) -> pl.DataFrame:
    made = make_churn(n, random_state=seed)
    return made.frame.with_columns(left=pl.Series(made.target))


def in_parts(frame: pl.DataFrame, folder: Path, n: int = 3) -> Path:
    folder.mkdir(parents=True)
    size = -(-len(frame) // n)
    for i, part in enumerate(frame.iter_slices(size)):
        part.write_parquet(folder / f"{i}.parquet")
    return folder


def test_columns_may_be_named_one_by_one_as_they_are_asked_for(tmp_path):
    folder = in_parts(records(), tmp_path / "parts")
    named = {"drop": ["internet"], "after": ["support_calls"], "allow": ["payment"]}
    listed = load_data(folder, **OPTIONS, **named)
    assert {"internet", "support_calls"}.isdisjoint(listed.frame.columns)
    for path in (folder, folder / "0.parquet"):
        found = load_data(path, **OPTIONS, **{option: iter(names) for option, names in named.items()})
        assert {name: found.info["source"][name] for name in named} == named
        assert found.frame.columns == listed.frame.columns


def test_a_folder_and_a_pattern_are_read_like_one_file(tmp_path):
    frame = records()
    folder = in_parts(frame, tmp_path / "all" / "parts")
    (folder / "_SUCCESS").touch()
    (folder / ".0.parquet.crc").write_bytes(b"no data")
    frame.write_parquet(tmp_path / "one.parquet")
    one = load_data(tmp_path / "one.parquet", **OPTIONS)
    for path in (folder, folder / "*.parquet", tmp_path / "all", tmp_path / "**" / "[0-9].parquet"):
        many = load_data(path, **OPTIONS)
        assert many.fingerprint() == one.fingerprint()
        assert_frame_equal(pl.concat(open_records(path).batches(70)), frame)
    assert len(open_records(folder)) == 300


def test_a_pattern_may_begin_in_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "payments" / "day=2024-05-01").mkdir(parents=True)
    pl.DataFrame({"amount": [1, 2]}).write_parquet(tmp_path / "payments" / "day=2024-05-01" / "0.parquet")
    monkeypatch.chdir(tmp_path)
    for pattern in ("payments/*/*.parquet", "payments/day=*", "**/0.parquet"):
        assert open_records(pattern).read()["amount"].to_list() == [1, 2]


def test_names_with_brackets_are_names_where_they_exist(tmp_path):
    records(50).write_parquet(tmp_path / "part[0].parquet")
    assert open_records(tmp_path / "part[0].parquet").read().height == 50


def test_folders_of_hive_partitions_are_columns(tmp_path):
    for day, shop in ((date(2024, 5, 1), "north east"), (date(2024, 5, 2), "south")):
        part = tmp_path / "sales" / f"day={day}" / f"shop={shop.replace(' ', '%20')}" / "size=3"
        part.mkdir(parents=True)
        pl.DataFrame({"amount": [1.0, 2.0]}).write_parquet(part / "data.parquet")
    expected = pl.DataFrame(
        {
            "amount": [1.0, 2.0] * 2,
            "day": [date(2024, 5, 1)] * 2 + [date(2024, 5, 2)] * 2,
            "shop": ["north east"] * 2 + ["south"] * 2,
            "size": [3] * 4,
        }
    )
    assert_frame_equal(open_records(tmp_path / "sales").read(), expected)
    assert_frame_equal(open_records(tmp_path / "sales" / "day=*").read(), expected)
    # Below the folder that was asked for alone: how it is called itself says nothing.
    inner = open_records(tmp_path / "sales" / "day=2024-05-01").read()
    assert inner.columns == ["amount", "shop", "size"]


def test_a_hive_partition_may_be_missing(tmp_path):
    for value in ("7", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"shop={value}").mkdir()
        pl.DataFrame({"amount": [1.0]}).write_parquet(tmp_path / f"shop={value}" / "0.parquet")
    assert open_records(tmp_path).read()["shop"].to_list() == [7, None]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pl.Int32, pl.Int64, pl.Int64),
        (pl.UInt8, pl.Int16, pl.Int64),
        (pl.Int64, pl.Float32, pl.Float64),
        (pl.UInt64, pl.Int64, pl.Float64),
        (pl.Null, pl.String, pl.String),
        (pl.Categorical, pl.String, pl.String),
        (pl.Date, pl.Datetime("ms"), pl.Datetime("us")),
        (pl.Datetime("ns", "Europe/Berlin"), pl.Datetime("us", "UTC"), pl.Datetime("us", "UTC")),
    ],
)
def test_types_are_agreed_over_files(tmp_path, first, second, expected):
    texts = pl.String in (first, second)
    for i, dtype in enumerate((first, second)):
        values = (
            ["a", None] if texts else [datetime(2024, 5, 1, 12), None] if dtype in (pl.Datetime, pl.Date) else [1, None]
        )
        column = pl.Series("x", [None, None]) if dtype == pl.Null else pl.Series("x", values)
        if dtype == pl.Datetime and dtype.time_zone is not None:
            column = column.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
        column.cast(dtype).to_frame().write_parquet(tmp_path / f"{i}.parquet")
    found = open_records(tmp_path).read()["x"]
    assert found.dtype == expected
    if isinstance(expected, pl.Datetime) and expected.time_zone:
        assert found[0] == found[2]


def test_types_that_cannot_be_one_are_told_with_file_and_column(tmp_path):
    pl.DataFrame({"x": [1.0], "y": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": ["1"], "y": [2.5]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(StudyError, match=r"column 'x' is text in .*b\.parquet, and a number in .*a\.parquet.*--drop"):
        open_records(tmp_path).read()
    assert open_records(tmp_path).read(without=["x"])["y"].to_list() == [1.0, 2.5]


def test_a_file_without_a_column_is_told(tmp_path):
    folder = in_parts(records(), tmp_path / "parts")
    pl.read_parquet(folder / "1.parquet").drop("contract").write_parquet(folder / "1.parquet")
    with pytest.raises(StudyError, match=r"1\.parquet has no column 'contract', which other files of parts have"):
        load_data(folder, **OPTIONS)
    assert "contract" not in load_data(folder, **OPTIONS, drop=["contract"]).frame.columns


def test_a_dropped_column_that_a_cost_needs_is_read(tmp_path):
    folder = in_parts(records(), tmp_path / "parts")
    data = load_data(folder, **OPTIONS, drop=["monthly_charges", "tenure"])
    assert not {"monthly_charges", "tenure"} & set(data.frame.columns)
    assert data.costs.fn.std() > 0
    with pytest.raises(StudyError, match=r"--drop 'tenur'.*did you mean 'tenure'"):
        load_data(folder, **OPTIONS, drop=["tenur"])


def test_what_cannot_be_read_is_named(tmp_path):
    folder = in_parts(records(), tmp_path / "parts")
    (folder / "1.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(StudyError, match=r"1\.parquet cannot be read"):
        load_data(folder, **OPTIONS)
    with pytest.raises(StudyError, match="has no Parquet files"):
        open_records((tmp_path / "empty").mkdir() or tmp_path / "empty")
    with pytest.raises(StudyError, match="no file is called like"):
        open_records(tmp_path / "nothing-*.parquet")


def test_decisions_on_a_folder_are_a_folder_with_the_same_content(tmp_path, monkeypatch):
    monkeypatch.setattr("stakes.study.writing.PART", 40)
    frame, new = records(), records(100, seed=1)
    frame.write_parquet(tmp_path / "one.parquet")
    study = Study(
        load_data(tmp_path / "one.parquet", **OPTIONS), out=tmp_path / "study", methods=["tree"], trees=2, folds=2,
        metacost="none", teams=False, jobs=1,
    )  # fmt: skip
    best = study.run().directory / "best.skops"
    new.write_parquet(tmp_path / "new.parquet")
    folder = in_parts(new, tmp_path / "new")
    one = apply_model(best, tmp_path / "new.parquet", tmp_path / "one-out.parquet")
    for _ in range(2):  # decisions may be replaced
        many = apply_model(best, folder, tmp_path / "out", batch_size=30)
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"part-0000{i}.parquet" for i in (0, 1)]
        assert_frame_equal(open_records(tmp_path / "out").read(), pl.read_parquet(one.out))
    assert (many.n_records, many.n_positive) == (one.n_records, one.n_positive)
    apply_model(best, folder, tmp_path / "single.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "single.parquet"), pl.read_parquet(one.out))
    for of_records in (folder, folder / "decisions"):
        with pytest.raises(StudyError, match="the records themselves"):
            apply_model(best, folder, of_records, overwrite=True)
    with pytest.raises(StudyError, match="the folder that the records are in: give a new name in it"):
        apply_model(best, folder, tmp_path, overwrite=True)
    with pytest.raises(StudyError, match="has no decisions in it"):
        apply_model(best, folder, tmp_path / "study")
    assert not list(tmp_path.glob(".*"))
    monkeypatch.chdir(folder)
    for _ in range(2):  # by a pattern, next to the records
        assert apply_model(best, "*.parquet", "new-decisions").n_records == len(new)
    with pytest.raises(StudyError, match="the records themselves"):
        apply_model(best, "*.parquet", "0.parquet")


def test_what_a_file_says_of_itself_is_read_once(tmp_path, monkeypatch):
    folder, opened = in_parts(records(), tmp_path / "parts"), []
    scan = pl.scan_parquet
    monkeypatch.setattr(pl, "scan_parquet", lambda path, **options: opened.append(path) or scan(path, **options))
    found = open_records(folder)
    assert len(found) == len(found) == sum(map(len, found.batches(70)))
    assert len(opened) == 3 * 3  # of each file its columns, its number of records, and the records
