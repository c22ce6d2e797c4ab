"""Data that exceed memory: the same records and bins however they are read, and a study that goes on with them."""

from __future__ import annotations

import json
import pickle
import re
import shutil

import numpy as np
import polars as pl
import pytest

from stakes.datasets import make_transactions
from stakes.exceptions import StudyError
from stakes.pool import Pool
from stakes.study import Study, load_data
from stakes.study.apply import apply_model
from stakes.study.data import StudyData
from stakes.study.large import JUDGED, POOL, SAMPLE, TEST, UNUSED, Parts, bytes_of, opened, records_in_memory
from stakes.study.run import prepare
from stakes.study.study import saved_study
from stakes.table import table_of
from stakes.tree.binning import Binning

N, IN_MEMORY = 6000, 2000
OPTIONS = {"target": "fraud", "fp_cost": "5", "fn_cost": "amount"}
FAST = {"methods": ["rf", "ubg", "tree"], "trees": 4, "folds": 2, "metacost": "none", "jobs": 1}


def records(n: int = N, seed: int = 0) -> pl.DataFrame:
    made = make_transactions(n, fraud_rate=0.1, random_state=seed)
    return made.frame.with_columns(fraud=pl.Series(made.target), customer=pl.Series(np.arange(n) // 7))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("payments") / "parts"
    path.mkdir()
    for i, part in enumerate(records().iter_slices(1500)):
        part.write_parquet(path / f"{i}.parquet")
    return path


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("stakes.study.loading.records_in_memory", lambda *_: IN_MEMORY)
    opened.cache_clear()


def large(folder, bins, **options) -> StudyData:
    return load_data(folder, **OPTIONS, drop=["customer"], memory="1GB", bins=bins, **options)


def as_rows(frame: pl.DataFrame) -> set[tuple]:
    return set(frame.select("amount", *(name for name in frame.columns if name not in ("amount", "fraud"))).iter_rows())


def test_every_record_is_in_one_part_and_the_shares_are_those_asked_for():
    parts = Parts(1_000_000, 100_000, 0.2).of(0, 1_000_000)
    share = np.bincount(parts, minlength=5) / 1e6
    np.testing.assert_allclose(share, [0.015, 0.04, 0.045, 0.9, 0.0], atol=0.002)
    again = np.concatenate([Parts(1_000_000, 100_000, 0.2).of(i * 10, 10) for i in range(1000)])
    np.testing.assert_array_equal(again, parts[:10_000])
    few = Parts(1_000_000, 100_000, 0.001).of(0, 1_000_000)
    assert 900 < np.count_nonzero(few == TEST) < 1100


def test_parts_keep_groups_together_and_test_on_what_is_above():
    customer = pl.Series(np.arange(7000) // 7)
    part = Parts(7000, 3000, 0.2).of(0, 7000, customer)
    assert (part.reshape(-1, 7) == part.reshape(-1, 7)[:, :1]).all()
    assert set(part) == {TEST, JUDGED, SAMPLE, POOL}
    above = np.arange(10_000) >= 6000
    part = Parts(10_000, 3000, None, 4000).of(0, 10_000, above=above)
    assert set(part[above]) == {TEST, UNUSED}
    assert set(part[~above]) == {JUDGED, SAMPLE, POOL}
    np.testing.assert_allclose(np.bincount(part), [450, 1200, 1350, 3450, 3550], atol=150)


def test_bins_classes_and_costs_on_disk_are_those_of_the_records(folder, tmp_path, little_memory, monkeypatch):
    monkeypatch.setattr("stakes.study.large.BATCH", 700)
    data = large(folder, tmp_path / "bins")
    everything = pl.read_parquet(folder / "*.parquet").drop("customer")
    training, pool = data.training, data.training.pool
    assert len(pool) + len(data) + len(training.frame) == N == data.n_records
    assert data.n_positive == everything["fraud"].sum()
    assert abs(len(data) + len(training.frame) - IN_MEMORY) < 200
    # By the definition: bins of all records in the order of the files, of which those in memory are left out.
    in_memory = as_rows(pl.concat([data.frame, training.frame]))
    left = everything.filter([row not in in_memory for row in everything.select(data.frame.columns).iter_rows()])
    binning = Binning().fit(table_of(training.frame))
    np.testing.assert_array_equal(pool.bins, binning.transform(table_of(left.select(data.frame.columns))))
    np.testing.assert_array_equal(pool.positive, left["fraud"].to_numpy() == 1)
    np.testing.assert_array_equal(pool.fn, left["amount"].to_numpy())
    assert pool.fp == 5.0
    assert (
        prepare(data, Study(data, out="none", **FAST).config).learning.X.binning.cuts_.tolist()
        == binning.cuts_.tolist()
    )


def test_what_fits_into_memory_is_studied_as_ever(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("stakes.study.loading.records_in_memory", lambda *_: N)
    found = large(folder, tmp_path / "bins")
    assert found.training is None
    assert not (tmp_path / "bins").exists()
    assert found.fingerprint() == load_data(folder, **OPTIONS, drop=["customer"]).fingerprint()


def test_a_study_of_large_data_runs_reports_resumes_saves_and_applies(folder, tmp_path, little_memory, monkeypatch):
    out = tmp_path / "study"
    data = large(folder, out / "bins")
    found = Study(data, out=out, **FAST).run()
    question = found.summary["question"]
    assert question["n_records"] == N
    assert question["n_learning"] == N - question["n_test"]
    assert "judge the models" in " ".join(question["notes"])
    assert {"rf", "ubg", "tree", "lr", "lgbm"} <= set(found.leaderboard["method"])
    assert found.summary["chosen"]["test"] < 0.9 * found.summary["money"]["policies"][0]["cost"] / question["n_test"]
    files = {name: (out / name).read_bytes() for name in ("leaderboard.csv", "summary.json", "report.html")}
    # The same command again makes nothing twice; workers open the data by name.
    opened.cache_clear()
    before = (out / "bins" / "bins.u1").stat().st_mtime_ns
    Study(large(folder, out / "bins"), out=out, **FAST).run()
    assert (out / "bins" / "bins.u1").stat().st_mtime_ns == before
    assert {name: (out / name).read_bytes() for name in files} == files
    assert len(pickle.dumps(data)) < 1000
    assert pickle.loads(pickle.dumps(data)).fingerprint() == data.fingerprint()
    # So does another process count, or another machine with the folder.
    shutil.rmtree(out / "units")
    again = Study(data, out=out, **(FAST | {"jobs": 2})).run()
    assert (again.directory / "leaderboard.csv").read_bytes() == files["leaderboard.csv"]
    saved_study(out).save("rf", tmp_path / "rf.skops")
    # Bins that were removed are made again where they were.
    shutil.rmtree(out / "bins")
    monkeypatch.chdir(tmp_path)
    saved_study(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rf.skops", "study"]
    for model in (out / "best.skops", tmp_path / "rf.skops"):
        applied = apply_model(model, folder, tmp_path / "decisions")
        assert applied.n_records == N
        assert applied.expected_saving > 0


def test_the_model_of_the_board_is_the_one_delivered(folder, tmp_path, little_memory):
    out = tmp_path / "study"
    data = large(folder, out / "bins")
    study = Study(data, out=out, **FAST)
    found = study.run()
    study.save("rf", tmp_path / "rf.skops")
    row = found.leaderboard.filter(pl.col("name") == "rf").head(1).to_dicts()[0]
    test = data.frame[data.test_rows]
    test.with_columns(fraud=data.positive[data.test_rows]).write_parquet(tmp_path / "test.parquet")
    apply_model(tmp_path / "rf.skops", tmp_path / "test.parquet", tmp_path / "out.parquet")
    decided = pl.read_parquet(tmp_path / "out.parquet")
    acted = decided["decision"].to_numpy() == "1"
    y = decided["fraud"].to_numpy()
    cost = np.where(acted & ~y, 5.0, 0.0).sum() + decided["amount"].to_numpy()[~acted & y].sum()
    np.testing.assert_allclose(cost / y.size, row["test_cost"])


def test_groups_and_later_test_records_are_kept_apart(folder, tmp_path, little_memory):
    data = load_data(folder, **OPTIONS, memory="1GB", bins=tmp_path / "a", groups="customer")
    learning, test = data.split(0)
    assert learning.size
    assert test.size
    assert not set(data.groups[learning]) & set(data.groups[test])
    later = large(folder, tmp_path / "b", test="amount>200")
    assert (later.costs.fn[later.test_rows] > 200).all()
    learnt = np.setdiff1d(np.arange(len(later)), later.test_rows)
    assert (later.costs.fn[learnt] <= 200).all()
    assert later.training.pool.fn.max() <= 200


@pytest.mark.parametrize("name", ["data.json", "records.arrow", "records.npz", "pool.json", "bins.u1"])
@pytest.mark.parametrize("how", ["removed", "cut"])
def test_bins_that_are_damaged_are_refused_and_made_anew(name, how, folder, tmp_path, little_memory):
    made = large(folder, tmp_path / "bins")
    path = tmp_path / "bins" / name
    content = path.read_bytes()
    path.unlink()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    opened.cache_clear()
    with pytest.raises(StudyError, match=r"is damaged: remove it, and the same command|has no bins of a study"):
        large(folder, tmp_path / "bins")
    shutil.rmtree(tmp_path / "bins")
    assert large(folder, tmp_path / "bins").fingerprint() == made.fingerprint()


def test_a_folder_of_the_user_in_place_of_bins_is_left_alone(folder, tmp_path, little_memory):
    (tmp_path / "bins").mkdir()
    with pytest.raises(StudyError, match="has no bins of a study: move it away"):
        large(folder, tmp_path / "bins")
    assert list(tmp_path.iterdir()) == [tmp_path / "bins"]


def test_what_large_data_cannot_do_is_told(folder, tmp_path, little_memory):
    with pytest.raises(StudyError, match="--time needs all records in memory"):
        load_data(folder, **OPTIONS, memory="1GB", bins=tmp_path / "bins", time="customer")
    with pytest.raises(StudyError, match=r"--test .*0.parquet needs all records in memory"):
        large(folder, tmp_path / "bins", test=folder / "0.parquet")
    data = large(folder, tmp_path / "bins")
    with pytest.raises(StudyError, match="--refit all needs all records in memory"):
        Study(data, out=tmp_path / "out", refit="all")
    with pytest.raises(StudyError, match="has bins of other data"):
        large(folder, tmp_path / "bins", test="0.1")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"groups": "custmer"}, "--groups 'custmer': there is no such column: did you mean 'customer'"),
        ({"test": "amuont>3"}, "--test 'amuont>3': there is no column 'amuont': did you mean 'amount'"),
    ],
)
def test_a_column_that_large_data_do_not_have_is_told(asked, told, folder, tmp_path, little_memory):
    with pytest.raises(StudyError, match=re.escape(told)):
        load_data(folder, **OPTIONS | asked, memory="1GB", bins=tmp_path / "bins")


def test_what_is_wrong_with_a_record_on_disk_is_told_with_its_number(tmp_path, little_memory):
    frame = records()
    part = Parts(N, IN_MEMORY, 0.2).of(0, N)
    row = int(np.flatnonzero(part == POOL)[-1])
    for column, value, expected in (
        ("fraud", 7, f"--target 'fraud' is '7' in record {row + 1:,}, and neither '0' nor '1'"),
        ("amount", -3.0, f"a negative cost .* in record {row + 1:,}"),
        ("amount", float("inf"), f"is infinite in record {row + 1:,}"),
    ):
        wrong = frame.with_columns(
            pl.when(pl.int_range(pl.len()) == row).then(value).otherwise(pl.col(column)).alias(column)
        )
        wrong.write_parquet(tmp_path / "wrong.parquet")
        with pytest.raises(StudyError, match=expected):
            large(tmp_path / "wrong.parquet", tmp_path / "bins")
        assert not (tmp_path / "bins").exists()


def test_memory_is_read_in_the_usual_units_and_refused_where_it_is_too_little(folder, tmp_path):
    assert (bytes_of("6GB"), bytes_of("1.5 M"), bytes_of(1000)) == (6442450944, 1572864, 1000)
    assert records_in_memory("6GB", n_features=20, jobs=2) == 1675624
    with pytest.raises(StudyError, match="--memory 'much': give a size such as 6GB"):
        load_data(folder, **OPTIONS, memory="much")
    with pytest.raises(StudyError, match="--memory 1GB is too little for 2 processes"):
        load_data(folder, **OPTIONS, memory="1GB", jobs=2)
    pl.read_parquet(folder).write_csv(tmp_path / "few.csv")
    with pytest.raises(StudyError, match="--memory is for Parquet files"):
        load_data(tmp_path / "few.csv", **OPTIONS, memory="6GB")


def test_text_dates_and_missing_values_come_through_bins(tmp_path, little_memory):
    frame = records().with_columns(
        seen=pl.datetime(2024, 1, 1) + pl.duration(hours=pl.int_range(pl.len())),
        place=pl.when(pl.int_range(pl.len()) % 3 == 0)
        .then(None)
        .otherwise((pl.int_range(pl.len()) % 5).cast(pl.String) + "x"),
    )
    frame.write_parquet(tmp_path / "some.parquet")
    data = large(tmp_path / "some.parquet", tmp_path / "bins")
    columns = data.frame.columns
    assert {"seen", "seen: weekday", "seen: hour", "place"} <= set(columns)
    pool = Pool.open(tmp_path / "bins")
    shares = {name: np.bincount(pool.bins[:, columns.index(name)]) / len(pool) for name in ("place", "seen: weekday")}
    np.testing.assert_allclose(shares["place"], [1 / 3] + [2 / 15] * 5, atol=0.03)
    np.testing.assert_allclose(shares["seen: weekday"][1:], [1 / 7] * 7, atol=0.03)
    assert json.loads((tmp_path / "bins" / "pool.json").read_text())["n_records"] == len(pool)
