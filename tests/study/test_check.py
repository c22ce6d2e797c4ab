"""A look at the data: what gives the class away, and what tells records apart, is found; nothing else is."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from stakes.cli import app
from stakes.datasets import make_churn, make_donors
from stakes.exceptions import StudyError
from stakes.study.check import Check, identity, look
from stakes.study.data import StudyData
from stakes.study.leaks import separation
from stakes.study.loading import load_data
from stakes.study.study import Study

N = 2000
DAYS = pl.date_range(pl.date(2024, 1, 1), pl.date(2029, 6, 22), eager=True)


def base(i: int) -> pl.DataFrame:
    """Records with a column `y`, of a class that is more or less rare."""
    rate = (0.25, 0.1, 0.05)[i % 3]
    made: Any = make_donors(N, response_rate=rate, random_state=i) if i % 4 == 3 else None
    made = make_churn(N, churn_rate=rate, random_state=i) if made is None else made
    return made.frame.with_columns(y=pl.Series(made.target))


def only(values: Any, where: Any) -> pl.Series:
    """Return values, and nothing elsewhere."""
    return pl.Series([value if there else None for value, there in zip(values, where, strict=True)])


Planted = Callable[[np.ndarray, np.random.Generator], Any]
LEAKS: dict[str, Planted] = {
    "a copy": lambda y, rng: y,
    "a copy with mistakes": lambda y, rng: np.where(rng.random(N) < 0.01 * y.mean() / 0.25, 1 - y, y),
    "a reason, where there is one": lambda y, rng: only(rng.choice(["price", "moved", "other"], N), y == 1),
    "an amount, of most positives": lambda y, rng: only(rng.lognormal(3, 1, N), (y == 1) & (rng.random(N) < 0.6)),
    "the day of the end": lambda y, rng: only(DAYS, y == 1),
    "a number that is larger": lambda y, rng: rng.normal(size=N) + 8 * y,
    "a status": lambda y, rng: np.where(y == 1, rng.choice(["lost", "closed"], N), rng.choice(["open", "new"], N)),
    "what is missing of positives": lambda y, rng: only(rng.normal(size=N), y == 0),
    "refunds of half of them": lambda y, rng: np.where((y == 1) & (rng.random(N) < 0.5), rng.integers(1, 99, N), 0),
    "a score made of the class": lambda y, rng: np.round(y + 0.1 * rng.normal(size=N), 3),
}  # fmt: skip
IDS: dict[str, tuple[str, Planted]] = {
    "the row": ("nr", lambda y, rng: np.arange(N)),
    "the row, shuffled": ("x", lambda y, rng: rng.permutation(N) + 5),
    "a UUID": ("token", lambda y, rng: [str(uuid.UUID(int=int(v))) for v in rng.integers(0, 1 << 62, N)]),
    "customers who return": ("CustomerID", lambda y, rng: rng.integers(10_000, 10_500, N)),
    "nearly all names": ("name", lambda y, rng: [f"person {v}" for v in rng.integers(0, 40 * N, N)]),
    "numbers that increase": ("seen", lambda y, rng: np.cumsum(rng.integers(1, 50, N))),
    "cards": ("card", lambda y, rng: rng.choice(rng.integers(10**15, 10**16, 400), N)),
    "accounts, as floats": ("AccountNo", lambda y, rng: rng.integers(10**5, 10**6, N).astype(float)),
    "policies": ("policy_number", lambda y, rng: rng.integers(10**6, 10**7, N)),
    "all different in a small range": ("pin", lambda y, rng: rng.permutation(9_000)[:N] + 1_000),
}


def planted(i: int, path: Path) -> tuple[StudyData, str]:
    """Write a file with a leak and an ID, and return what was read, and the name of the ID."""
    frame, rng = base(i), np.random.default_rng(i)
    y = frame["y"].to_numpy()
    (_, leak), (name, made) = list(LEAKS.items())[i % 10][0:2], list(IDS.values())[(i + i // 10) % 10]
    columns = [pl.Series("leak", leak(y, rng)), pl.Series(name, made(y, rng))]
    pl.DataFrame([*frame.get_columns(), *columns]).write_csv(path)
    return load_data(path, target="y", fp_cost=1, fn_cost=5), name


@pytest.mark.parametrize("i", range(20))
def test_leaks_and_ids_are_found_and_nothing_else_is(i: int, tmp_path: Path) -> None:
    data, name = planted(i, tmp_path / "planted.csv")
    found = look(data, 0)
    assert [check.column for check in found if check.kind == "leak"] == ["leak"]
    assert [check.column for check in found if check.kind == "id"] == [name]
    assert not [check for check in found if check.kind in ("duplicates", "shift", "constant", "empty")]


@pytest.mark.parametrize("i", range(4))
def test_there_is_no_alarm_where_there_is_nothing(i: int, tmp_path: Path) -> None:
    base(i).write_csv(tmp_path / "plain.csv")
    data = load_data(tmp_path / "plain.csv", target="y", positive=1, fp_cost=1, fn_cost=5)
    assert look(data, 0) == []


def data_of(frame: pl.DataFrame, tmp_path: Path, **options: Any) -> StudyData:
    frame.write_parquet(tmp_path / "records.parquet")
    return load_data(tmp_path / "records.parquet", **{"target": "y", "fp_cost": 1, "fn_cost": 5, **options})


def test_a_leak_stops_a_study_until_it_is_dropped_or_allowed(tmp_path: Path) -> None:
    frame = base(0).with_columns(told=pl.col("y") * 10)
    message = "column 'told' gives the class away, alone it explains .*: --drop told if .*, --allow told if"
    with pytest.raises(StudyError, match=message):
        Study(data_of(frame, tmp_path), out=tmp_path / "study").run()
    assert not (tmp_path / "study").exists()
    small: dict[str, Any] = {"methods": ["tree"], "folds": 2, "metacost": "none", "teams": False, "jobs": 1}
    allowed = Study(data_of(frame, tmp_path, allow="told"), out=tmp_path / "allowed", **small).run()
    (check,) = (check for check in allowed.summary["checks"] if check["kind"] == "leak")
    assert (check["column"], check["severity"]) == ("told", "note")
    assert set(check) == {"kind", "column", "evidence", "option", "severity"}
    assert not [c for c in look(data_of(frame, tmp_path, drop="told"), 0) if c.kind == "leak"]


def test_a_leak_by_a_part_of_dates_is_settled_by_their_columns(tmp_path: Path) -> None:
    """Neither date tells the class, but the days from one to the other do."""
    frame, rng = base(0), np.random.default_rng(0)
    opened = pl.Series(rng.integers(0, 3000, N))
    closed = opened + 500 * frame["y"] + pl.Series(rng.integers(0, 400, N))
    frame = frame.with_columns(opened=opened.cast(pl.Date), closed=closed.cast(pl.Date))
    part = "opened: days before closed"
    with pytest.raises(
        StudyError, match=f"column '{part}' .*: --drop opened or closed if .*, --allow opened,closed if"
    ):
        Study(data_of(frame, tmp_path), out=tmp_path / "study").run()
    for options, expected in (
        ({"allow": "opened"}, [(part, "error")]),
        ({"allow": "opened,closed"}, [(part, "note")]),
        ({"drop": "opened"}, []),
        ({"drop": "closed"}, []),
    ):
        found = look(data_of(frame, tmp_path, **options), 0)
        assert [(check.column, check.severity) for check in found if check.kind == "leak"] == expected


def test_a_date_is_allowed_with_its_parts(tmp_path: Path) -> None:
    frame = base(0).with_columns(end=only(DAYS, base(0)["y"] == 1))
    for allow, severity in (((), "error"), ("end", "note")):
        found = look(data_of(frame, tmp_path, allow=allow), 0)
        assert [(check.column, check.severity) for check in found if check.kind == "leak"] == [("end", severity)]


def test_costs_that_give_the_class_away_are_leaks(tmp_path: Path) -> None:
    frame = base(3).with_columns(gift=pl.when(pl.col("y") == 1).then(pl.lit(12.5)))
    costs: dict[str, Any] = {"fp_cost": 0.68, "fn_cost": "coalesce(gift, 0)", "drop": "gift"}
    (check,) = (c for c in look(data_of(frame, tmp_path, **costs), 0) if c.kind == "leak")
    assert "--fn-cost gives the class away" in str(check)
    assert "--after COLUMN" in str(check)
    (check,) = (c for c in look(data_of(frame, tmp_path, **costs, allow="fn_cost"), 0) if c.kind == "leak")
    assert check.severity == "note"


def test_an_id_is_kept_where_it_is_allowed(tmp_path: Path) -> None:
    frame = base(0).with_columns(client_id=pl.int_range(N))
    assert "client_id" not in data_of(frame, tmp_path).frame.columns
    assert "client_id" in data_of(frame, tmp_path, allow=["client_id"]).frame.columns
    with pytest.raises(StudyError, match="--allow 'client': there is no such column: did you mean 'client_id'"):
        data_of(frame, tmp_path, allow="client")


def test_numbers_of_records_are_ids() -> None:
    assert identity(pl.Series("client_id", range(0, 4000, 2))) == "it numbers the records"
    assert identity(pl.Series("age", [20, 31, 31, 44])) is None


def test_a_column_that_is_the_class_explains_it_and_noise_of_many_values_does_not() -> None:
    rng = np.random.default_rng(0)
    rare, fold = rng.random(5000) < 0.1, rng.integers(0, 5, 5000)
    told = separation(rare.astype(np.uint8), rare, fold)
    assert told.explained == pytest.approx(0.999, abs=5e-4)
    assert told.caught == 1.0
    noise = separation(rng.integers(0, 200, 5000).astype(np.uint8), rare, fold)
    assert noise.explained < 0.01
    assert noise.caught == 0.0


def test_what_a_column_explains_is_the_share_of_the_deviance_out_of_fold() -> None:
    rng = np.random.default_rng(0)
    fold, bins = rng.integers(0, 5, 900), rng.integers(0, 4, 900).astype(np.uint8)
    rare = rng.random(900) < np.array([0.02, 0.1, 0.2, 0.8])[bins]

    def deviance(p: float, i: int) -> float:
        return float(np.log(p if rare[i] else 1 - p))

    left = 0.0
    for i in range(900):
        alike = (bins == bins[i]) & (fold != fold[i])
        left += deviance((rare[alike].sum() + rare.mean()) / (alike.sum() + 1), i)
    whole = sum(deviance(float(rare.mean()), i) for i in range(900))
    assert separation(bins, rare, fold).explained == pytest.approx(1 - left / whole)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("amount", np.random.default_rng(0).integers(250, 18_000, 1000)),  # nearly all different, by chance
        pl.Series("rate", np.random.default_rng(0).random(500)),
        pl.Series("n_cards", np.random.default_rng(0).integers(0, 9, 1000)),
        pl.Series("handler_no", np.random.default_rng(0).integers(0, 16, 1000)),
        pl.Series("paid", np.random.default_rng(0).random(1000) < 0.5),
        pl.Series("town", np.random.default_rng(0).choice([f"town {i}" for i in range(300)], 1000)),
    ],
    ids=lambda column: column.name,
)
def test_a_feature_is_no_id(column: pl.Series) -> None:
    assert identity(column) is None


def test_constant_columns_are_left_out(tmp_path: Path) -> None:
    data = data_of(base(0).with_columns(over18=pl.lit("Y"), gap=pl.when(pl.col("y") > 1).then(1)), tmp_path)
    assert not {"over18", "gap"} & set(data.frame.columns)
    assert {check["kind"] for check in data.info["checks"]} == {"classes", "constant", "empty"}


def test_records_in_both_parts_are_told_unless_columns_have_few_values(tmp_path: Path) -> None:
    twice = pl.concat([base(0), base(0)])
    data = data_of(twice, tmp_path)
    (check,) = (c for c in look(data, 0) if c.kind == "duplicates")
    assert check.severity == "warning"
    learning, test = (set(data.frame[rows].iter_rows()) for rows in data.split(0))
    share = sum(record in learning for record in data.frame[data.split(0)[1]].iter_rows()) / data.split(0)[1].size
    assert f"{share:.1%} of the test records" in check.evidence
    assert 0.7 < share < 0.9 < len(learning) / len(test)
    rng = np.random.default_rng(0)
    few = pl.DataFrame({"a": rng.integers(0, 5, N), "b": rng.integers(0, 5, N), "y": rng.random(N) < 0.3})
    assert not [c for c in look(data_of(few, tmp_path), 0) if c.kind == "duplicates"]


def test_a_shift_between_learning_and_test_records_is_told(tmp_path: Path) -> None:
    frame = base(0).with_columns(day=pl.int_range(N) // 2)
    moved = frame.with_columns(tenure=pl.when(pl.col("day") > 800).then(pl.col("tenure") + 60).otherwise("tenure"))
    assert not [c for c in look(data_of(frame, tmp_path, time="day"), 0) if c.kind == "shift"]
    (check,) = (c for c in look(data_of(moved, tmp_path, time="day"), 0) if c.kind == "shift")
    assert (check.column, check.severity) == ("tenure", "warning")
    assert not [c for c in look(data_of(moved, tmp_path, drop="day"), 0) if c.kind == "shift"]  # drawn at random


def test_few_positives_are_told_with_what_they_allow(tmp_path: Path) -> None:
    frame = base(0)
    some = pl.concat([frame.filter(pl.col("y") == 0), frame.filter(pl.col("y") == 1).head(20)])
    (check,) = (c for c in look(data_of(some, tmp_path), 0) if c.kind == "few")
    assert "only 16 records of '1' to learn from" in check.evidence
    assert "to within 24 points" in check.evidence  # 1.96 sqrt(0.25 / 16)


def test_the_command_shows_what_was_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "records.csv"
    base(0).with_columns(told=pl.col("y") * 10, ref_id=pl.int_range(N)).write_csv(path)
    with pytest.raises(SystemExit) as ended:
        app(["check", str(path), "--target", "y"])
    said = capsys.readouterr().out
    assert ended.value.code == 1
    assert "error: column 'told' gives the class away" in said
    assert "warning: column 'ref_id' is left out: it numbers the records: --allow ref_id keeps it." in said
    assert "note: '1' is taken for the positive class of 'y': --positive would change that." in said
    with pytest.raises(SystemExit) as ended:
        app(["check", str(path), "--target", "y", "--drop", "told"])
    assert ended.value.code == 0


def test_a_check_reads_as_a_sentence() -> None:
    check = Check("id", "nr", "is left out: it numbers the records", "--allow nr keeps it", "warning")
    assert str(check) == "column 'nr' is left out: it numbers the records: --allow nr keeps it"


def test_a_column_with_nearly_all_of_the_gain_is_a_leak(tmp_path: Path) -> None:
    """A copy of the class with mistakes says less than a true leak, and no other column adds to it."""
    rng = np.random.default_rng(0)
    frame = pl.concat([base(0), base(12)])
    wrong = rng.random(len(frame)) < 0.03
    told = data_of(frame.with_columns(told=pl.Series(np.where(wrong, 1 - frame["y"], frame["y"]))), tmp_path)
    (check,) = (c for c in look(told, 0) if c.kind == "leak")
    assert check.column == "told"
    assert "and all columns together" in check.evidence
    # As strong a feature among others that add to it is none.
    x = rng.normal(size=(4000, 4))
    y = x[:, 0] + 0.5 * x[:, 1:].sum(axis=1) > 0
    made = pl.DataFrame(x, schema=list("abcd")).with_columns(y=pl.Series(y))
    assert not [c for c in look(data_of(made, tmp_path), 0) if c.kind == "leak"]
