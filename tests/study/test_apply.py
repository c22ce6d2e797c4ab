"""Decisions on new files: the same as the model's own, in any batches, whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from stakes import CostBaggingClassifier, CostBoostClassifier, Decision
from stakes.datasets import make_churn
from stakes.decision.calibration import Platt
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import ColumnTypeWarning, ModelFileError, StudyError
from stakes.persist import read_info, save
from stakes.study.apply import apply_model
from stakes.study.data import StudyData
from stakes.study.dataset import open_records
from stakes.study.loading import load_data

FP, FN = "2 * monthly_charges", "12 * monthly_charges"
DECISION = Decision(threshold="cost")


def records(n: int = 400, seed: int = 0) -> pl.DataFrame:
    made = make_churn(n, random_state=seed)
    return made.frame.with_columns(churn=pl.Series(np.where(made.target == 1, "yes", "no")))


def study_data(directory: Path, **options: Any) -> StudyData:
    records().write_csv(directory / "train.csv")
    return load_data(directory / "train.csv", **{"target": "churn", "fp_cost": FP, "fn_cost": FN, **options})


def fit_and_save(data: StudyData, path: Path, model: Any, **info: Any) -> Any:
    costs = {} if data.costs is None else {"fp_cost": data.costs.fp, "fn_cost": data.costs.fn}
    model.fit(data.frame, data.positive.astype(int), **costs)
    save(delivered(model, data), path, info={**data.info, **info})
    return model


def delivered(model: Any, data: StudyData, probability: Any = None) -> DeliveredClassifier:
    return DeliveredClassifier(model, data.labels, data.frame.columns, probability)


def platt(model: Any) -> Platt:
    """Return what makes a probability of a score, fitted to the out-of-bag records of a model."""
    readings, records = model.read_validation([model.cut_.decision])
    score, known = model.cut_.scores(readings), readings.known
    return Platt.fit(score[known], records.positive[known], np.ones(int(known.sum())))


def forest(**options: Any) -> CostBaggingClassifier:
    return CostBaggingClassifier(**{"n_estimators": 8, "decision": DECISION, "random_state": 0, **options})


def boosting(**options: Any) -> CostBoostClassifier:
    return CostBoostClassifier(n_estimators=8, random_state=0, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, StudyData]:
    directory = tmp_path_factory.mktemp("model")
    data = study_data(directory)
    return directory / "best.skops", fit_and_save(data, directory / "best.skops", forest()), data


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path, compression="uncompressed")
    else:
        frame.write_csv(path)
    return path


def read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None)


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("new", ["new.csv", "new.parquet"])
@pytest.mark.parametrize("batch_size", [70, 10_000])
def test_decisions_are_those_of_the_model(made: Any, tmp_path: Path, new: str, out: str, batch_size: int) -> None:
    path, model, data = made
    frame = records(300, seed=1)
    counted: list[int] = []
    applied = apply_model(
        path, write(frame, tmp_path / new), tmp_path / out, batch_size=batch_size, progress=counted.append
    )
    found = read(tmp_path / out)
    charge = frame["monthly_charges"].to_numpy()
    fp, fn = 2 * charge, 12 * charge
    X = frame.select(data.frame.columns)
    positive = model.predict(X, fp_cost=fp, fn_cost=fn) == 1
    score = model.predict_proba(X)[:, 1]
    assert found.columns[: frame.width] == frame.columns
    assert found["decision"].to_list() == np.where(positive, "yes", "no").tolist()
    np.testing.assert_array_equal(found["score"], score)
    np.testing.assert_allclose(found["threshold"], np.full(300, 1 / 7), rtol=1e-15)
    act, leave = (1 - score) * fp, score * fn
    np.testing.assert_allclose(found["expected_cost_if_positive"], act, rtol=1e-12)
    np.testing.assert_allclose(found["expected_cost_if_negative"], leave, rtol=1e-12)
    np.testing.assert_allclose(found["expected_saving"], np.where(positive, leave - act, 0), rtol=1e-9, atol=1e-12)
    assert (applied.n_records, applied.n_positive, applied.positive) == (300, positive.sum(), "yes")
    assert 0 < applied.n_positive < 300
    assert applied.expected_cost == pytest.approx(np.where(positive, act, leave).sum())
    assert applied.expected_saving == pytest.approx(leave.sum() - np.where(positive, act, leave).sum())
    assert counted == ([70, 140, 210, 280, 300] if batch_size == 70 else [300])
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([new, out])


def test_decisions_by_expected_cost_are_the_cheaper_ones(made: Any, tmp_path: Path) -> None:
    apply_model(made[0], write(records(200, seed=2), tmp_path / "new.csv"), tmp_path / "out.csv")
    found = read(tmp_path / "out.csv")
    cheaper = found["expected_cost_if_positive"] < found["expected_cost_if_negative"]
    assert (found["decision"] == "yes").to_list() == cheaper.to_list()
    assert (found["expected_saving"] >= 0).all()


def test_todays_costs_change_decisions_without_training(made: Any, tmp_path: Path) -> None:
    path, model, data = made
    frame = records(300, seed=1).with_columns(value=pl.int_range(300) % 7)
    new = write(frame, tmp_path / "new.csv")
    apply_model(path, new, tmp_path / "out.csv", fn_cost="value / 2 * monthly_charges", fp_cost=30)
    fn = frame["value"].to_numpy() / 2 * frame["monthly_charges"].to_numpy()
    expected = model.predict(frame.select(data.frame.columns), fp_cost=30, fn_cost=fn) == 1
    assert (read(tmp_path / "out.csv")["decision"] == "yes").to_list() == expected.tolist()
    dearer = apply_model(path, new, tmp_path / "out.csv", fp_cost="11 * monthly_charges")
    assert 0 < dearer.n_positive < expected.size


@pytest.mark.parametrize(
    ("model", "calibrates"),
    [
        (forest(decision=Decision(threshold="tuned")), True),
        (forest(decision=Decision(member="cost", vote_weight="squared_odds")), True),
        (forest(sampling="cpr"), False),
        (boosting(decision=Decision(calibration="platt", threshold="cost")), False),
        (boosting(validation=0.2, decision=Decision(threshold="cost")), True),
    ],
)
def test_every_kind_of_model_can_be_applied(model: Any, calibrates: bool, tmp_path: Path) -> None:
    data = study_data(tmp_path)
    assert data.costs is not None
    model.fit(data.frame, data.positive.astype(int), fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    save(delivered(model, data, platt(model) if calibrates else None), tmp_path / "best.skops", info=data.info)
    frame = records(150, seed=3)
    applied = apply_model(tmp_path / "best.skops", write(frame, tmp_path / "new.csv"), tmp_path / "out.csv")
    found, charge = read(tmp_path / "out.csv"), frame["monthly_charges"].to_numpy()
    X, costs = frame.select(data.frame.columns), {"fp_cost": 2 * charge, "fn_cost": 12 * charge}
    assert (found["decision"] == "yes").to_list() == (model.predict(X, **costs) == 1).tolist()
    assert ((found["score"] > found["threshold"]) == (found["decision"] == "yes")).all()
    np.testing.assert_array_equal(found["score"], model.predict_proba(X, **costs)[:, 1])
    assert (not found["score"].equals(found["probability"], check_names=False)) == calibrates
    # Calibrated or not, the higher the score, the higher the probability.
    order = found["score"].arg_sort()
    assert found["probability"].gather(order).diff().drop_nulls().min() >= -1e-12
    np.testing.assert_allclose(found["expected_cost_if_negative"], found["probability"] * 12 * charge, rtol=1e-12)
    # Votes and costs that acted in training may act on records whose own expected saving is negative: it is said.
    losing = (pl.read_csv(applied.out)["expected_saving"] < 0).sum()
    assert [f"{losing} of the records to act on" in note for note in applied.notes] == [True] * (losing > 0)


def test_probabilities_by_which_costs_are_expected_are_calibrated(tmp_path: Path) -> None:
    data = study_data(tmp_path)
    assert data.costs is not None
    model = forest(n_estimators=30, sampling="cpr", decision=Decision(threshold="tuned"))
    model.fit(data.frame, data.positive.astype(int), fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    save(delivered(model, data, platt(model)), tmp_path / "best.skops", info=data.info)
    new = write(records(3000, seed=5), tmp_path / "new.csv")
    apply_model(tmp_path / "best.skops", new, tmp_path / "out.csv")
    found = read(tmp_path / "out.csv")
    share = (found["churn"] == "yes").mean()
    assert abs(found["probability"].mean() - share) < 0.1 < abs(found["score"].mean() - share)


def test_a_model_that_no_study_saved_is_refused(tmp_path: Path) -> None:
    data = study_data(tmp_path)
    model = forest().fit(data.frame, data.positive.astype(int), fp_cost=1, fn_cost=5)
    save(model, tmp_path / "best.skops", info=data.info)
    new = write(records(50, seed=3), tmp_path / "new.csv")
    with pytest.raises(StudyError, match="is a CostBaggingClassifier, and no model that was saved by a study"):
        apply_model(tmp_path / "best.skops", new, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_model_of_class_imbalance_has_no_expected_costs(tmp_path: Path) -> None:
    data = study_data(tmp_path, fp_cost=None, fn_cost=None)
    model = forest(fp_cost=1.0, fn_cost=4.0)
    fit_and_save(data, tmp_path / "best.skops", model)
    frame = records(100, seed=1)
    new = write(frame, tmp_path / "new.csv")
    applied = apply_model(tmp_path / "best.skops", new, tmp_path / "out.csv")
    assert (applied.expected_cost, applied.expected_saving) == (None, None)
    found = read(tmp_path / "out.csv")
    assert found.columns == [*frame.columns, "decision", "score", "threshold"]
    expected = model.predict(frame.select(data.frame.columns)) == 1
    assert (found["decision"] == "yes").to_list() == expected.tolist()
    assert found["threshold"].unique().to_list() == [0.2]
    with pytest.raises(StudyError, match="give both"):
        apply_model(tmp_path / "best.skops", new, tmp_path / "out.csv", fp_cost=1)
    assert (
        apply_model(tmp_path / "best.skops", new, tmp_path / "out.csv", fp_cost=1, fn_cost=4).expected_cost is not None
    )


def test_reasons_are_those_of_the_model_in_money(made: Any, tmp_path: Path) -> None:
    path, model, _ = made
    frame = records(60, seed=5).drop("churn")
    apply_model(path, write(frame, tmp_path / "new.csv"), tmp_path / "out.csv", reasons=3, batch_size=25)
    found = read(tmp_path / "out.csv")
    fp, fn = 2 * frame["monthly_charges"].to_numpy(), 12 * frame["monthly_charges"].to_numpy()
    explanation = model.explain(frame, fp_cost=fp, fn_cost=fn)
    expected = explanation.reasons(3)
    assert all(len(mine) == 3 for mine in expected)
    assert found.select("reason_1", "reason_2", "reason_3").rows() == [tuple(mine) for mine in expected]
    assert found.columns[-3:] == ["reason_1", "reason_2", "reason_3"]
    act = found.filter(pl.col("expected_saving") > 0)
    assert act["expected_saving"].to_numpy() == pytest.approx(explanation.saving[explanation.saving > 0])


def test_a_column_that_is_called_like_a_reason_must_not_be_kept(made: Any, tmp_path: Path) -> None:
    new = write(records(10).with_columns(reason_2=pl.lit(1)), tmp_path / "new.csv")
    apply_model(made[0], new, tmp_path / "out.csv", reasons=1)
    with pytest.raises(StudyError, match="reason_2"):
        apply_model(made[0], new, tmp_path / "out.csv", reasons=2)


def test_columns_to_keep_can_be_chosen(made: Any, tmp_path: Path) -> None:
    new = write(records(20).with_columns(id=pl.int_range(20), score=1), tmp_path / "new.csv")
    with pytest.raises(StudyError, match="has a column 'score' itself: say which columns to copy by --keep"):
        apply_model(made[0], new, tmp_path / "out.csv")
    apply_model(made[0], new, tmp_path / "out.csv", keep=["id"])
    assert read(tmp_path / "out.csv").columns[:2] == ["id", "decision"]
    apply_model(made[0], new, tmp_path / "out.csv", keep=[], batch_size=7)
    assert read(tmp_path / "out.csv")["record"].to_list() == list(range(1, 21))


def test_columns_may_come_in_any_order_and_with_gaps(made: Any, tmp_path: Path) -> None:
    path, model, data = made
    frame = records(100, seed=4).with_columns(
        pl.when(pl.int_range(100) % 9 == 0).then(None).otherwise(pl.col(name)).alias(name)
        for name in data.frame.columns
        if name != "monthly_charges"
    )
    shuffled = frame.select(frame.columns[::-1]).drop("churn")
    charge = frame["monthly_charges"].to_numpy()
    expected = model.predict(frame.select(data.frame.columns), fp_cost=2 * charge, fn_cost=12 * charge) == 1
    for name in ("new.csv", "new.parquet"):
        apply_model(path, write(shuffled, tmp_path / name), tmp_path / "out.csv", batch_size=30)
        assert (read(tmp_path / "out.csv")["decision"] == "yes").to_list() == expected.tolist()


def test_a_category_never_seen_is_no_error(made: Any, tmp_path: Path) -> None:
    text = next(name for name, kind in made[2].info["features"].items() if kind == "text")
    new = write(records(20).with_columns(pl.lit("never seen").alias(text)), tmp_path / "new.csv")
    with pytest.warns(ColumnTypeWarning, match="'never seen': they are taken for missing"):
        assert apply_model(made[0], new, tmp_path / "out.csv").n_records == 20


def last(name: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return how to change a column in the last of a hundred records."""
    return lambda frame: frame.with_columns(pl.Series(name, [*frame[name].cast(type_of(value))[:-1], value]))


def type_of(value: Any) -> Any:
    return pl.String if isinstance(value, str) else pl.Float64


CHARGE = "monthly_charges"
BAD = [
    (lambda f: f.drop(CHARGE), {}, "--fp-cost '2 * monthly_charges': new.csv has no column 'monthly_charges'"),
    (lambda f: f.drop(CHARGE), {"fp_cost": 1, "fn_cost": 5}, "new.csv has no column 'monthly_charges'"),
    (lambda f: f.drop("tenure"), {}, "new.csv has no column 'tenure', which is needed"),
    (last("tenure", "long"), {}, "column 'tenure' of new.csv is 'long' in record 100"),
    (last("tenure", float("inf")), {}, "infinite in record 100"),
    (last(CHARGE, None), {}, "named to a study by --after) in record 100"),
    (last(CHARGE, -1.0), {}, "a negative cost (-2) in record 100"),
    (None, {"fn_cost": "1 / (tenure - tenure)"}, "division by zero"),
    (None, {"fn_cost": "read_csv('x')"}, "there is no function 'read_csv'"),
    (None, {"fn_cost": "monthly_charge"}, "did you mean 'monthly_charges'"),
    (None, {"keep": ["tenur"]}, "--keep 'tenur': new.csv has no such column: did you mean 'tenure'"),
    (lambda f: f.head(0), {}, "new.csv has no records"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "options", "message"), BAD)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_left(
    made: Any, tmp_path: Path, change: Any, options: dict[str, Any], message: str
) -> None:
    frame = records(100, seed=1)
    new = write(frame if change is None else change(frame), tmp_path / "new.csv")
    for out in ("out.csv", "out.parquet"):
        with pytest.raises(StudyError) as error:
            apply_model(made[0], new, tmp_path / out, batch_size=40, **options)
        assert message in str(error.value)
        assert "\n" not in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["new.csv"]


def test_a_cluster_is_not_asked_about_no_records(made: Any, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    records(5).clear().write_parquet(tmp_path / "new" / "0.parquet")
    with pytest.raises(StudyError, match="new has no records"):
        apply_model(made[0], tmp_path / "new", tmp_path / "out", dask="tcp://localhost:1")
    assert not (tmp_path / "out").exists()


def test_an_older_output_stays_as_it_is_where_something_fails(made: Any, tmp_path: Path) -> None:
    good = write(records(100), tmp_path / "good.csv")
    bad = write(records(100).with_columns(monthly_charges=pl.Series([1.0] * 99 + [-1.0])), tmp_path / "bad.csv")
    apply_model(made[0], good, tmp_path / "out.csv")
    before = (tmp_path / "out.csv").read_bytes()
    with pytest.raises(StudyError):
        apply_model(made[0], bad, tmp_path / "out.csv", batch_size=10)
    assert (tmp_path / "out.csv").read_bytes() == before


def test_files_that_cannot_be_read_or_written_are_refused(made: Any, tmp_path: Path) -> None:
    new = write(records(20), tmp_path / "new.csv")
    with pytest.raises(StudyError, match="there is no file"):
        apply_model(made[0], tmp_path / "none.csv", tmp_path / "out.csv")
    with pytest.raises(ModelFileError, match="there is no file"):
        apply_model(tmp_path / "none.skops", new, tmp_path / "out.csv")
    with pytest.raises(ModelFileError, match="is not a model file"):
        apply_model(new, new, tmp_path / "out.csv")
    with pytest.raises(StudyError, match="cannot write"):
        apply_model(made[0], new, tmp_path / "no such folder" / "out.csv")
    with pytest.raises(StudyError, match="is the records themselves"):
        apply_model(made[0], new, new)
    with pytest.raises(StudyError, match=r"is the folder that the records are in: .* such as .*decisions\.csv"):
        apply_model(made[0], new, tmp_path)
    before = made[0].read_bytes()
    with pytest.raises(StudyError, match="is the model itself"):
        apply_model(made[0], new, made[0])
    assert made[0].read_bytes() == before
    (tmp_path / "folder").mkdir()
    with pytest.raises(StudyError, match="cannot write"):
        apply_model(made[0], new, tmp_path / "folder")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "new.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_not_replaced_by_a_file(made: Any, tmp_path: Path) -> None:
    new = write(records(20), tmp_path / "new.csv")
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit((tmp_path / "pipe").read_bytes)
        apply_model(made[0], new, tmp_path / "pipe")
    apply_model(made[0], new, tmp_path / "out.csv")
    assert read.result() == (tmp_path / "out.csv").read_bytes()
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_brackets_in_a_name_are_part_of_the_name(made: Any, tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "of [may]"
    folder.mkdir()
    write(records(30, seed=2), folder / f"new1{suffix}")
    new = write(records(20, seed=1), folder / f"new[1]{suffix}")
    assert apply_model(made[0], new, folder / f"out[2]{suffix}").n_records == 20
    assert len(open_records(folder / f"out[2]{suffix}").read()) == 20
    assert open_records(new).columns == list(records(20).columns)


def test_one_stray_quote_takes_no_longer_than_the_file_is_long(tmp_path: Path) -> None:
    # The quote is never closed, so that all lines from there on are one record.
    (tmp_path / "new.csv").write_text('a,b\n5" pipe,1\n' + "pipe,2\n" * 80_000)
    start = time.perf_counter()
    with suppress(StudyError):
        list(open_records(tmp_path / "new.csv").batches(1000))
    assert time.perf_counter() - start < 5


def test_a_model_without_its_columns_is_refused(made: Any, tmp_path: Path) -> None:
    good = read_info(made[0])
    wrong: list[dict[str, Any]] = [
        {"features": wrong} for wrong in (None, [], "tenure", {"tenure": []}, {"tenure": "colour"})
    ]
    wrong += [{"classes": wrong} for wrong in (3, ["yes"], ["no", 1], "no")]
    wrong += [{"cost_columns": ["tenure"]}, {"fp_cost": [1]}, {"features": None, "profile": {"tenure": {}}}]
    cells = ({"counts": [1]}, {"counts": [1, 2, 3], "texts": ["a"]}, {"counts": [1, 2], "cuts": [], "texts": None})
    wrong += [{"profile": {"tenure": wrong}} for wrong in cells]
    for info in [{}, *({**good, **change} for change in wrong)]:
        save(made[1], tmp_path / "other.skops", info=info)
        with pytest.raises(StudyError, match="does not say which columns it needs"):
            apply_model(tmp_path / "other.skops", write(records(20), tmp_path / "new.csv"), tmp_path / "out.csv")


# Not by getrusage, which starts from the peak of the process that started this one.
PEAK = """
import sys
from stakes.study.apply import apply_model
apply_model(sys.argv[1], sys.argv[2], sys.argv[3], batch_size=20_000)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
@pytest.mark.parametrize(("new", "out"), [("new.csv", "out.csv"), ("new.parquet", "out.parquet")])
def test_memory_does_not_grow_with_the_file(made: Any, tmp_path: Path, new: str, out: str) -> None:
    def peak(n: int) -> tuple[float, float]:
        # Columns that nothing can make smaller.
        ballast = pl.from_numpy(np.random.default_rng(0).random((n, 20)))
        write(pl.concat([records(20_000, seed=1)] * (n // 20_000)).hstack(ballast), tmp_path / new)
        arguments = [str(made[0]), str(tmp_path / new), str(tmp_path / out)]
        command = [sys.executable, "-c", PEAK, *arguments]
        # The smaller of two: what the allocators keep differs by some 40 MB from run to run.
        said = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2)]
        return min(map(int, said)) / 1024, (tmp_path / new).stat().st_size / 2**20

    # Both larger than what is read at a time.
    few, size_of_few = peak(400_000)
    many, size_of_many = peak(1_600_000)
    grown, more = many - few, size_of_many - size_of_few
    assert more > 200
    assert grown < 0.25 * more, f"{grown:.0f} MB more in memory for a file that is {more:.0f} MB larger"


def test_a_model_of_a_study_without_costs_asks_for_them(tmp_path: Path) -> None:
    data = study_data(tmp_path, fp_cost=None, fn_cost=None)
    model = forest().fit(data.frame, data.positive.astype(int), fp_cost=1, fn_cost=np.ones(len(data)))
    save(delivered(model, data), tmp_path / "best.skops", info=data.info)
    new = write(records(20, seed=1), tmp_path / "new.csv")
    with pytest.raises(StudyError, match="this model decides by costs: give --fp-cost and --fn-cost"):
        apply_model(tmp_path / "best.skops", new, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(
    made: Any, tmp_path: Path, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    new = write(records(20, seed=1), tmp_path / "new.csv")
    monkeypatch.setattr(pl.DataFrame, "write_csv" if out.endswith("csv") else "write_parquet", full)
    with pytest.raises(StudyError, match="No space left on device"):
        apply_model(made[0], new, tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]
