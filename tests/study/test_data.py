"""The user's file: read as meant, and refused in one clear line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stakes.exceptions import StudyError
from stakes.study.data import StudyData
from stakes.study.dataset import open_records
from stakes.study.files import as_kind, conform, tidy
from stakes.study.loading import load_data

N = 60


def churn(n: int = N) -> pl.DataFrame:
    """Records of every type that a file can have."""
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "id": [f"customer {i}" for i in range(n)],
            "charge": rng.integers(20, 100, n) / 2,
            "months": rng.integers(0, 50, n),
            "plan": rng.choice(["basic", "plus", "none"], n),
            "paperless": rng.random(n) < 0.5,
            "since": [date(2020, 1 + i % 12, 1) for i in range(n)],
            "churn": np.where(np.arange(n) % 3 == 0, "Yes", "No"),
        }
    )


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: pl.DataFrame | str | bytes, name: str = "churn.csv") -> Path:
        path = tmp_path / name
        if isinstance(content, pl.DataFrame):
            content.write_parquet(path) if name.endswith("parquet") else content.write_csv(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def load(path: Path, **options: Any) -> StudyData:
    return load_data(path, **{"target": "churn", "fp_cost": "2 * charge", "fn_cost": "12 * charge", **options})


@pytest.mark.parametrize("name", ["churn.csv", "churn.parquet", "churn.data"])
def test_a_file_is_read_with_types_target_and_costs(write: Write, name: str) -> None:
    frame = churn()
    data = load(write(frame, name), drop=["months"])
    assert data.name == name
    assert data.frame.columns == ["charge", "plan", "paperless", "since", "since: weekday"]
    assert data.frame["since"].to_list() == frame["since"].to_list()
    assert data.classes == ("No", "Yes")
    np.testing.assert_array_equal(data.positive, frame["churn"] == "Yes")
    assert data.costs is not None
    np.testing.assert_array_equal(data.costs.fp, 2 * frame["charge"].to_numpy())
    np.testing.assert_array_equal(data.costs.fn, 12 * frame["charge"].to_numpy())
    assert data.info["features"] == {"charge": "number", "plan": "text", "paperless": "boolean", "since": "date"}
    assert data.info["cost_columns"] == {"charge": "number"}
    assert (data.info["fn_cost"], data.info["drop"], data.info["test"]) == ("12 * charge", ["months"], "20% held out")
    assert any("'id' is left out" in note for note in data.info["notes"])
    assert any("'Yes' is taken for the positive class" in note for note in data.info["notes"])


def test_csv_and_parquet_of_the_same_records_give_the_same_data(write: Write) -> None:
    csv, parquet = load(write(churn())), load(write(churn(), "churn.parquet"))
    assert csv.frame.equals(parquet.frame)
    assert csv.fingerprint() == parquet.fingerprint()


def test_costs_may_be_numbers_and_absent(write: Write) -> None:
    path = write(churn())
    constant = load(path, fp_cost=5, fn_cost="100 / 4").costs
    assert constant is not None
    assert (constant.fp, constant.fn) == (5.0, 25.0)
    assert load(path, fp_cost=None, fn_cost=None).costs is None


def test_costs_may_use_columns_that_are_not_features(write: Write) -> None:
    data = load(write(churn()), drop="charge,months")
    assert data.frame.columns == ["plan", "paperless", "since", "since: weekday"]
    assert data.info["drop"] == ["charge", "months"]


def test_numbers_with_gaps_are_numbers(write: Write) -> None:
    text = "x,y,z,churn\n" + "".join(f"{x},{y},{i}k,{i % 2}\n" for i, (x, y) in enumerate([(" ", "NA"), (1.5, 2)] * 20))
    data = load(write(text), fp_cost=1, fn_cost=5, positive=1)
    assert data.frame["x"].to_list() == [None, 1.5] * 20
    assert data.frame["y"].to_list() == [None, 2] * 20
    assert data.frame.columns == ["x", "y"]


def test_a_mark_for_missing_numbers_is_a_category_among_texts(write: Write) -> None:
    frame = churn().with_columns(plan=pl.Series(["none", "NA", "basic"] * (N // 3)))
    assert load(write(frame)).frame["plan"].to_list() == ["none", "NA", "basic"] * (N // 3)


@pytest.mark.parametrize(
    ("texts", "numbers", "shown"),
    [
        (["$1,234.50", "$7"], [1234.5, 7], "'$1,234.50' as 1234.5"),
        (["9.09%", ""], [9.09, None], "'9.09%' as 9.09"),
        (["n/a", "1 200", "-3"], [None, 1200, -3], "'1 200' as 1200"),
        (["-1,234,567", "12"], [-1234567, 12], "'-1,234,567' as -1.23457e+06"),
    ],
)
def test_money_and_percentages_are_read_as_numbers_with_a_note(
    texts: list[str], numbers: list[Any], shown: str
) -> None:
    frame, notes = tidy(pl.DataFrame({"x": texts}))
    assert frame["x"].to_list() == numbers
    assert notes == [f"column 'x' is read as numbers, such as {shown}"]
    again, wrong = as_kind(pl.Series(texts), "number")  # and by a model that is applied
    assert again.to_list() == numbers
    assert not wrong.any()


@pytest.mark.parametrize("texts", [["1,5", "2,25"], ["9.09%", "0.09"], ["1,23,4", "5"]])
def test_numbers_that_can_be_read_in_two_ways_are_texts_with_a_note(texts: list[str]) -> None:
    frame, notes = tidy(pl.DataFrame({"x": texts, "plan": ["a", "1,5"]}))
    assert frame.schema["x"] == pl.String
    assert notes == [f"column 'x' is text, such as {texts[0]!r}: numbers are written as 1234.5"]


def test_a_text_in_the_last_line_makes_the_column_text(write: Write) -> None:
    lines = [f"{i % 7},{i % 2}\n" for i in range(30_000)]
    data = load(write("x,churn\n" + "".join(lines) + "late,1\n"), fp_cost=1, fn_cost=1)
    assert data.frame["x"].dtype == pl.String
    assert data.frame["x"][-1] == "late"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_are_understood(write: Write, separator: str) -> None:
    path = write("")
    churn().write_csv(path, separator=separator)
    assert load(path).frame.equals(load(write(churn(), "other.csv")).frame)


def test_a_compressed_file_is_read(write: Write) -> None:
    packed = gzip.compress(churn().write_csv().encode())
    assert load(write(packed, "churn.csv.gz")).frame.equals(load(write(churn())).frame)


def test_columns_of_no_use_are_left_out_with_a_note(write: Write) -> None:
    frame = churn().with_columns(
        nothing=pl.lit(None, dtype=pl.String), lists=pl.Series([[1]] * N), **{" ": pl.int_range(N)}
    )
    data = load(write(frame, "churn.parquet"))
    assert data.frame.columns == ["charge", "months", "plan", "paperless", "since", "since: weekday"]
    notes = " ".join(data.info["notes"])
    for said in ("'nothing' is left out: it is empty", "'lists' is left out: List", "a column without a name"):
        assert said in notes


def test_blank_lines_are_left_out(write: Write) -> None:
    assert len(load(write(churn().write_csv() + "\n\n"))) == N


@pytest.mark.parametrize("name", ["churn.csv", "churn.parquet"])
def test_a_record_that_has_nothing_but_what_is_dropped_is_not_left_out(write: Write, name: str) -> None:
    others = [column for column in churn().columns if column != "id"]
    frame = churn().with_columns(pl.when(pl.int_range(N) != 7).then(pl.col(others)))
    with pytest.raises(StudyError, match="'churn' is missing in record 8"):
        load(write(frame, name), drop=["id"])


@pytest.mark.parametrize("name", ["*", "^a.*$"])
def test_columns_with_the_names_of_patterns_are_refused(write: Write, name: str) -> None:
    with pytest.raises(StudyError, match="takes for a pattern"):
        load(write(churn().rename({"months": name})))


@pytest.mark.parametrize(
    ("values", "positive", "classes"),
    [
        ([0, 1], None, ("0", "1")),
        ([0, 1], "1", ("0", "1")),
        ([0, 1], "0", ("1", "0")),
        ([0, 1], 1.0, ("0", "1")),
        ([0, 1], "True", ("0", "1")),
        ([0.0, 1.0], "1", ("0", "1")),
        ([0.0, 1.0], "1.0", ("0", "1")),
        ([1, 2], None, ("1", "2")),
        ([False, True], None, ("False", "True")),
        ([False, True], "true", ("False", "True")),
        ([False, True], "1", ("False", "True")),
        ([False, True], "0", ("True", "False")),
        ([False, True], True, ("False", "True")),
        (["No", "Yes"], "yes", ("No", "Yes")),
        (["No", "Yes"], " No ", ("Yes", "No")),
        (["yes", "Yes"], "Yes", ("yes", "Yes")),
        (["bad", "good"], "bad", ("good", "bad")),
        (["0", "1"], 1, ("0", "1")),
    ],
)
def test_the_positive_class_is_found(write: Write, values: list[Any], positive: Any, classes: tuple[str, str]) -> None:
    frame = churn().with_columns(churn=pl.Series(values * (N // 2)))
    data = load(write(frame, "churn.parquet"), positive=positive)
    assert data.classes == classes
    where = [str(value) in (classes[1], f"{classes[1]}.0") for value in values]
    np.testing.assert_array_equal(data.positive, np.tile(where, N // 2))


def one_class(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(churn=pl.lit("No"))


def with_target(values: list[Any]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(churn=pl.Series(values))


BAD = [
    (None, {"target": "Churn"}, "--target 'Churn': churn.csv has no such column: did you mean 'churn'?"),
    (None, {"target": "zebra"}, "the columns are 'id', 'charge', 'months'"),
    (one_class, {}, "--target 'churn' has one class only, 'No'"),
    (with_target(["a", "b", "c"] * (N // 3)), {}, "--target 'churn' has 3 values ('a', 'b', 'c'), and two classes"),
    (with_target([None, "a", "b"] * (N // 3)), {}, "'churn' is missing in 20 records, the first of them record 1"),
    (with_target(["a"] * (N - 1) + ["b"]), {}, "of 60 records 1 are 'b'"),
    (with_target(["a"] * (N - 3) + ["b"] * 3), {"test": 0.05}, "the records to test on are of one class only"),
    (None, {"positive": "maybe"}, "--positive 'maybe' is not a value of 'churn': choose from 'No', 'Yes'"),
    (None, {"fp_cost": "2 * charges"}, "--fp-cost '2 * charges': there is no column 'charges'"),
    (None, {"fn_cost": "2 *"}, "--fn-cost '2 *': something is missing"),
    (None, {"fn_cost": "open('x')"}, '--fn-cost "open(\'x\')": there is no function \'open\''),
    (None, {"fn_cost": "charge / (months - months)"}, "division by zero in 60 records, the first of them record 1"),
    (None, {"fn_cost": "plan"}, "column 'plan' is not numeric"),
    (None, {"fn_cost": "0 - charge"}, "--fn-cost '0 - charge': a negative cost (-"),
    (None, {"fp_cost": -1}, "--fp-cost '-1': a negative cost (-1): check its sign"),
    (None, {"fp_cost": None}, "--fn-cost is given and --fp-cost is not"),
    (None, {"fn_cost": None}, "--fp-cost is given and --fn-cost is not"),
    (None, {"fp_cost": 0, "fn_cost": "0 * charge"}, "no mistake costs anything"),
    (None, {"drop": ["plans"]}, "--drop 'plans': there is no such column: did you mean 'plan'?"),
    (None, {"drop": ["churn"]}, "--drop 'churn': this is the target"),
    (None, {"drop": "charge,months,plan,paperless,since"}, "churn.csv has no features"),
    (None, {"test": "0"}, "--test 0: give a share of the records between 0 and 1"),
    (None, {"test": "1.5"}, "--test 1.5: give a share"),
    (None, {"test": "nan"}, "--test nan: give a share"),
    (None, {"test": "later.csv"}, "--test 'later.csv': there is no such file"),
    (None, {"test": "month>3"}, "--test 'month>3': there is no column 'month': did you mean 'months'"),
    (None, {"test": "months>many"}, "'many' is not a number, as column 'months' is"),
    (None, {"test": "since>later"}, "'later' is not a date, as column 'since' is"),
    (None, {"test": "months>1000"}, "this is so in no records"),
    (None, {"test": "months>=0"}, "this is so in all records"),
    (None, {"groups": "plans"}, "--groups 'plans': there is no such column: did you mean 'plan'?"),
    (None, {"time": "churn"}, "--time 'churn': this is the target"),
    (None, {"groups": "plan", "time": "since"}, "--groups and --time cannot be had together"),
    (
        lambda f: f.with_columns(months=pl.when(pl.arange(0, N) > 1).then("months")),
        {"time": "months"},
        "--time 'months' is missing in 2 records",
    ),
    (
        lambda f: f.with_columns(months=pl.when(pl.arange(0, N) > 1).then("months")),
        {"test": "months>3"},
        "--test 'months>3': column 'months' is missing in 2 records",
    ),
    (lambda f: f.with_columns(charge=f["charge"] / (f["months"] * 0)), {"fp_cost": 1, "fn_cost": 1}, "infinite in 60"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "options", "message"), BAD)
def test_what_is_wrong_is_said_in_one_line(
    write: Write, change: Callable[[pl.DataFrame], pl.DataFrame] | None, options: dict[str, Any], message: str
) -> None:
    path = write(churn() if change is None else change(churn()))
    with pytest.raises(StudyError) as error:
        load(path, **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


FILES = [
    (b"", "churn.csv is empty"),
    (b"\n\n", "churn.csv is empty"),
    (b"charge,churn\n", "churn.csv has no records"),
    (b"charge,churn\n\n\n", "churn.csv has no records"),
    (b"charge,churn,charge\n1,2,3\n", "churn.csv has more than one column 'charge'"),
    (b"charge,churn\n1,2,3,4\n", "cannot be read (found more fields"),
    (b"charge,churn\ncaf\xe9,1\n", "save it as UTF-8"),
    (b"PK\x03\x04\x00\x00\x00", "churn.csv is neither CSV nor Parquet"),
    (b"PAR1 but not really", "churn.csv cannot be read"),
    (b"\x1f\x8b but not packed", "churn.csv cannot be read"),
    (b'charge,churn\n"1,2\n3,4\n', 'churn.csv has a quote (") in line 2'),
]


@pytest.mark.parametrize(("content", "message"), FILES)
def test_files_that_are_none_are_refused_in_one_line(write: Write, content: bytes, message: str) -> None:
    with pytest.raises(StudyError) as error:
        load(write(content))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="there is no file"):
        load(tmp_path / "none.csv")
    with pytest.raises(StudyError, match="has no Parquet files"):
        load(tmp_path)


def check_partition(data: StudyData, seed: int = 0) -> None:
    learning, test = data.split(seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([learning, test])), np.arange(len(data)))
    folds = data.folds(3, repeat=0, seed=seed)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([folds.judged(k) for k in range(3)])), np.arange(learning.size)
    )


def test_test_records_and_folds_are_stratified_and_drawn_by_the_seed(write: Write) -> None:
    data = load(write(churn()), test=0.25)
    check_partition(data)
    (learning, test), (_, other) = data.split(0), data.split(1)
    assert not np.array_equal(test, other)
    assert (learning.size, test.size) == (45, 15)
    assert data.positive[test].sum() == 5
    first, second = (data.folds(3, repeat=repeat, seed=0) for repeat in (0, 1))
    assert not np.array_equal(first.fold, second.fold)
    for k in range(3):
        assert data.positive[learning[first.judged(k)]].sum() == 5


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("months>20", lambda f: f["months"] > 20),
        ("months >= 20", lambda f: f["months"] >= 20),
        ("since>2020-08-31", lambda f: f["since"] > date(2020, 8, 31)),
        ("plan>basic", lambda f: f["plan"] > "basic"),
    ],
)
def test_test_records_can_be_those_above_a_value(
    write: Write, asked: str, expected: Callable[[pl.DataFrame], pl.Series]
) -> None:
    data = load(write(churn()), test=asked)
    check_partition(data)
    np.testing.assert_array_equal(data.split(0)[1], np.flatnonzero(expected(churn()).to_numpy()))
    # What records are divided by says nothing of the records to come.
    by = asked.split(">")[0].strip()
    expected_columns = ("charge", "months", "plan", "paperless", "since", "since: weekday")
    assert data.frame.columns == [name for name in expected_columns if name.split(":")[0] != by]
    assert any(f"column {by!r} is no feature" in note for note in data.info["notes"])
    assert data.info["test"].startswith("records with")


def test_test_records_can_come_from_a_file(write: Write) -> None:
    path, late = write(churn()), churn(90)[60:].with_columns(months=pl.col("months").cast(pl.Float64) + 0.5)
    data = load(path, test=str(write(late, "late.parquet")))
    check_partition(data)
    np.testing.assert_array_equal(data.split(0)[1], np.arange(60, 90))
    assert data.frame["months"][60:90].to_list() == late["months"].to_list()
    assert data.costs is not None
    assert data.costs.n_records == len(data) == 90
    assert data.info["test"] == "the records of late.parquet"


def test_records_of_a_group_stay_together(write: Write) -> None:
    frame = churn(240).with_columns(customer=pl.Series(np.arange(240) // 4 * 7))
    data = load(write(frame), groups="customer")
    check_partition(data)
    assert "customer" not in data.frame.columns
    customer = frame["customer"].to_numpy()
    learning, test = data.split(0)
    assert not set(customer[learning]) & set(customer[test])
    assert abs(test.size - 48) <= 8
    folds = data.folds(3, repeat=0, seed=0)
    for k in range(3):
        assert not set(customer[learning[folds.judged(k)]]) & set(customer[learning[folds.trained(k)]])


def test_test_records_that_are_given_take_their_groups_out_of_learning(write: Write) -> None:
    frame = churn(240).with_columns(customer=pl.Series(np.arange(240) % 60))
    data = load(write(frame), groups="customer", test="months>45")
    learning, test = data.split(0)
    customer = frame["customer"].to_numpy()
    assert test.size
    assert not set(customer[learning]) & set(customer[test])
    assert learning.size + test.size < 240


def test_the_future_is_judged_by_the_past(write: Write) -> None:
    frame = churn(240).with_columns(since=pl.Series(range(240)).map_elements(
        lambda day: date(2020, 1, 1) + timedelta(day), return_dtype=pl.Date))[::-1]  # fmt: skip
    data = load(write(frame), time="since")
    when = frame["since"].to_numpy()
    learning, test = data.split(0)
    assert when[learning].max() < when[test].min()
    assert test.size == 48
    folds = data.folds(3, repeat=0, seed=0)
    assert len(folds) == 3
    for k in range(3):
        assert when[learning[folds.trained(k)]].max() < when[learning[folds.judged(k)]].min()
    assert folds.all_judged.size == 144  # the first of four blocks only trains
    assert data.info["test"] == "the latest records"


def test_row_numbers_and_ids_are_no_features(write: Write) -> None:
    frame = churn().with_columns(
        row=pl.Series(np.arange(N)),
        CustomerID=pl.Series(np.random.default_rng(0).permutation(10 * N)[:N]),
        paid=pl.Series(np.random.default_rng(1).permutation(10 * N)[:N]),
    )
    data = load(write(frame))
    assert "paid" in data.frame.columns
    assert not {"row", "CustomerID"} & set(data.frame.columns)
    assert sum("it numbers the records" in note for note in data.info["notes"]) == 2


@pytest.mark.parametrize(
    ("labels", "positive"),
    [(("Default", "Paid"), "Default"), (("no", "YES"), "YES"), (("0", "1"), "1"), (("2", "1"), "2")],
)
def test_the_positive_class_is_yes_or_the_rarer_one(write: Write, labels: tuple[str, str], positive: str) -> None:
    rare = np.random.default_rng(0).random(N) < 0.3
    common, other = (labels[1], labels[0]) if positive == labels[0] else labels
    frame = churn().with_columns(churn=pl.Series(np.where(rare, other, common)))
    data = load(write(frame), positive=None)
    assert data.classes[1] == positive
    assert {str(label) for label in data.labels} == set(labels)


def test_few_records_of_a_class_are_told(write: Write) -> None:
    data = load(write(churn()))
    assert any("records of 'Yes' to learn from: all figures are uncertain" in note for note in data.info["notes"])


def test_a_test_file_of_another_layout_is_refused(write: Write) -> None:
    path = write(churn())
    with pytest.raises(StudyError, match=r"late\.csv has no column 'plan'"):
        load(path, test=write(churn().drop("plan"), "late.csv"))
    with pytest.raises(
        StudyError, match=r"column 'charge' of late\.csv is 'dear' in 60 records, .* a number is needed"
    ):
        load(path, test=write(churn().with_columns(charge=pl.lit("dear")), "late.csv"))


def test_the_fingerprint_depends_on_everything_that_matters(write: Write) -> None:
    frame = churn()
    other_value = frame.with_columns(charge=frame["charge"].scatter(3, 1.0))
    moved_text = frame.with_columns(plan=frame["plan"].scatter([0, 1], ["ab", "c"]))
    moved_text_back = frame.with_columns(plan=frame["plan"].scatter([0, 1], ["a", "bc"]))
    gap = frame.with_columns(months=frame["months"].scatter(0, 0))
    null = frame.with_columns(months=gap["months"].scatter(0, None))
    found = {
        name: load(write(made, "churn.parquet"), **options).fingerprint()
        for name, made, options in (
            ("plain", frame, {}),
            ("value", other_value, {}),
            ("text", moved_text, {}),
            ("text back", moved_text_back, {}),
            ("zero", gap, {}),
            ("null", null, {}),
            ("name", frame.rename({"plan": "Plan"}), {}),
            ("order", frame[::-1], {}),
            ("positive", frame, {"positive": "No"}),
            ("fp", frame, {"fp_cost": 3}),
            ("fn", frame, {"fn_cost": 3}),
            ("swapped", frame, {"fp_cost": "12 * charge", "fn_cost": "2 * charge"}),
            ("none", frame, {"fp_cost": None, "fn_cost": None}),
            ("drop", frame, {"drop": ["plan"]}),
            ("test", frame, {"test": 0.3}),
            ("rows", frame, {"test": "months>20"}),
            ("groups", frame, {"groups": "months"}),
            ("time", frame, {"time": "months"}),
        )
    }
    assert len(set(found.values())) == len(found)
    assert load(write(frame, "same.parquet")).fingerprint() == found["plain"]


# Batches


@pytest.mark.parametrize("size", [1, 7, 60, 1000])
@pytest.mark.parametrize("name", ["churn.csv", "churn.parquet"])
def test_batches_make_up_the_file(write: Write, name: str, size: int) -> None:
    frame = churn().with_columns(note=pl.Series(['two\nlines, "quoted"', "plain", ""] * (N // 3)))
    path = write(frame, name)
    batches = list(open_records(path).batches(size))
    assert [len(batch) for batch in batches] == [min(size, N - start) for start in range(0, N, size)]
    kinds = load(path).info["features"] | {"note": "text"}
    whole = conform(pl.concat(batches), kinds, source="x")
    assert whole.equals(frame.select(list(kinds)).cast({"months": pl.Float64}))


def test_new_records_come_in_the_types_that_were_learnt() -> None:
    kinds = {"a": "number", "b": "boolean", "c": "text", "d": "date", "e": "datetime", "f": "time"}
    texts = pl.DataFrame(
        {
            "f": ["10:30:00", "", None],
            "e": ["2020-01-01 10:00:00", "2020-01-02 11:00:00", ""],
            "d": ["2020-01-01", "", "2020-02-01"],
            "c": ["1.50", "", "x"],
            "b": ["true", "False", ""],
            "a": [" 1.5 ", "NA", "3"],
            "more": ["x", "y", "z"],
        }
    )
    found = conform(texts, kinds, source="new.csv")
    assert found.columns == list(kinds)
    assert found["a"].to_list() == [1.5, None, 3.0]
    assert found["b"].to_list() == [True, False, None]
    assert found["c"].to_list() == ["1.50", "", "x"]
    assert found["d"].to_list() == [date(2020, 1, 1), None, date(2020, 2, 1)]
    assert [str(value) for value in found["e"]] == ["2020-01-01 10:00:00", "2020-01-02 11:00:00", "None"]
    assert [str(value) for value in found["f"]] == ["10:30:00", "None", "None"]


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("number", ["1", "one"], "column 'x' of new.csv is 'one' in record 102, and a number is needed"),
        ("number", [date(2020, 1, 1)] * 2, "is '2020-01-01' in 2 records"),
        ("boolean", ["true", "perhaps"], "is 'perhaps' in record 102, and a boolean is needed"),
        ("date", ["2020-01-01", "soon"], "is 'soon' in record 102, and a date is needed"),
        ("date", ["soon", "later"], "is 'soon' in 2 records, the first of them record 101"),
        ("date", [True, False], "and a date is needed"),
    ],
)
def test_new_records_of_another_type_are_refused(kind: str, values: list[Any], message: str) -> None:
    with pytest.raises(StudyError) as error:
        conform(pl.DataFrame({"x": values}), {"x": kind}, source="new.csv", first_record=101)
    assert message in str(error.value)


def test_types_that_polars_has_many_of_become_few() -> None:
    frame, notes = tidy(
        pl.DataFrame(
            {
                "decimal": pl.Series(["1.5", "2.5"]).cast(pl.Decimal(10, 2)),
                "huge": pl.Series([1, 2], dtype=pl.Int128),
                "category": pl.Series(["a", "b"], dtype=pl.Categorical),
                "enum": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
                "numbers": pl.Series(["1", "2"], dtype=pl.Categorical),
                "zone": pl.Series([0, 1]).cast(pl.Datetime("ms", "Europe/Paris")),
                "nan": [1.0, float("nan")],
                "byte": pl.Series([1, 2], dtype=pl.UInt8),
                "span": pl.Series([1, 2]).cast(pl.Duration("us")),
            }
        )
    )
    assert notes == ["column 'span' is left out: Duration(time_unit='us') is not a type that a model can use"]
    assert dict(frame.schema) == {
        "decimal": pl.Float64(),
        "huge": pl.Float64(),
        "category": pl.String(),
        "enum": pl.String(),
        "numbers": pl.Float64(),
        "zone": pl.Datetime("us"),
        "nan": pl.Float64(),
        "byte": pl.UInt8(),
    }
    assert frame["nan"].null_count() == 1


CELLS = [
    "1", "0", "-2.5", "1e5", "+3", "yes", "NA", "nan", "?", "", " ", "true", "False", "2020-01-01", "2020-13-45",
    "10:30", "2020-01-01 10:00:00", "2020-01-01T10:00:00Z", '"a,b"', '"two\nlines"', '"say ""so"""', "é", "\u202e",
    "99999999999999999999",
]  # fmt: skip


@given(
    st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4), min_size=1, max_size=3),
    st.integers(1, 50),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_in_batches_is_the_file_as_a_whole(
    write: Write, cells: list[list[str]], size: int, random: Random
) -> None:
    lines = [",".join([*(random.choice(column) for column in cells), str(i % 2)]) for i in range(40)]
    path = write("\n".join([",".join([*(f"c{j}" for j in range(len(cells))), "churn"]), *lines]) + "\n")
    try:
        data = load(path, fp_cost=1, fn_cost=5)
    except StudyError as error:
        assert "no features" in str(error)  # noqa: PT017
        return
    kinds = data.info["features"]
    whole = conform(pl.concat(open_records(path).batches(size)), kinds, source="x")
    # Parts of dates are made of what was read.
    expected = data.frame.select(list(kinds)).cast(
        {name: pl.Float64 for name, kind in kinds.items() if kind == "number"}
    )
    assert whole.equals(expected)


@example(content=b'\r"')  # a header that is no record
@given(content=st.binary(max_size=60) | st.text('ab,;\r\n"01 .*^$', max_size=60).map(str.encode))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_data_or_a_clear_error(write: Write, content: bytes) -> None:
    said = ""
    try:
        load(write(content), target="a", fp_cost="b", fn_cost=1)
    except StudyError as error:
        said = str(error)
    assert "\n" not in said


def test_a_column_of_nothing_at_all_is_a_column_of_missing_numbers() -> None:
    frame, _ = tidy(pl.DataFrame({"charge": [1, 2], "nothing": pl.Series([None, None], dtype=pl.Null)}))
    assert frame["nothing"].dtype == pl.Float64


def test_a_file_that_breaks_off_is_refused_in_batches_too(write: Write) -> None:
    path = write(churn(), "churn.parquet")
    path.write_bytes(path.read_bytes()[:-50] + b"PAR1")
    with pytest.raises(StudyError, match=r"churn\.parquet cannot be read"):
        list(open_records(path).batches(10))


@pytest.mark.parametrize("kind", ["date", "datetime", "time"])
def test_texts_that_are_no_times_are_told_apart_from_missing_ones(kind: str) -> None:
    found, wrong = as_kind(pl.Series(["soon", None]), kind)
    assert found.null_count() == 2
    assert wrong.to_list() == [True, False]


def test_how_many_records_there_are_in_a_day_is_known_where_times_are(write: Write) -> None:
    days = [date(2020, 1, 1) + timedelta(days=i // 3) for i in range(N)]
    by_day = load(write(churn().with_columns(since=pl.Series(days))), time="since")
    assert by_day.info["per_day"] == pytest.approx(3.0)
    moments = pl.Series(days).cast(pl.Datetime("ms")) + pl.Series([timedelta(hours=8 * (i % 3)) for i in range(N)])
    by_hour = load(write(churn().with_columns(since=moments), "hours.parquet"), time="since")
    _, test = by_hour.split(0)
    assert by_hour.info["per_day"] == pytest.approx(test.size / ((test.size - 1) / 3))
    split = load(write(churn().with_columns(since=pl.Series(days))), test="since>2020-01-16")
    assert split.info["per_day"] == pytest.approx(3.0)
    assert load(write(churn()), time="months").info["per_day"] is None
    assert load(write(churn())).info["per_day"] is None
