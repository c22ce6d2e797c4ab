"""Bad files: commands get them done, or say in a line what is wrong."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from cases import WORKS
from stakes.cli import app

# Commands


ROWS = 80


def file_of(**columns: Any) -> Callable[[Path], object]:
    """Return what writes a CSV file of records, some of whose columns are these."""
    return lambda path: frame_of(**columns).write_csv(path)


def parquet_of(**columns: Any) -> Callable[[Path], object]:
    return lambda path: frame_of(**columns).write_parquet(path)


def frame_of(**columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, ROWS)).round(1)
    y = np.where(x + z + rng.normal(size=ROWS) > 0.7, "yes", "no")
    frame = pl.DataFrame({"x": x, "z": z, "amount": rng.integers(1, 50, ROWS), "y": y})
    return frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def text_of(change: Callable[[str], str] = str, encoding: str = "utf-8") -> Callable[[Path], object]:
    """Return what writes the text of a CSV file, changed."""
    return lambda path: path.write_bytes(change(frame_of().write_csv()).encode(encoding))


def every(*values: Any, **options: Any) -> pl.Series:
    return pl.Series([values[i % len(values)] for i in range(ROWS)], **options)


# The file of records, and what the command says of it.
FILES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "nothing wrong": (file_of(), WORKS),
    "a missing cost": (file_of(amount=every(None, 1.0)), "'amount' missing"),
    "an infinite cost": (file_of(amount=every(np.inf, 1.0)), "too large a number"),
    "a negative cost": (file_of(amount=every(-1.0, 1.0)), "a negative cost"),
    "a text for a cost": (file_of(amount=every("a", "1")), "not numeric"),
    "a date for a cost": (file_of(amount=every("2020-01-01")), "not numeric"),
    "bytes for a cost": (parquet_of(amount=every(b"a")), "no column 'amount'"),
    "huge costs": (file_of(amount=every(1.7e308)), "fn_cost is neither 0 nor between 1e-100 and 1e+100"),
    "denormal costs": (file_of(amount=every(5e-324, 1e-323)), "fn_cost is neither 0 nor between 1e-100 and 1e+100"),
    "no cost of a class": (file_of(amount=every(0.0)), WORKS),
    "one class": (file_of(y=every("no")), "one class only"),
    "three classes": (file_of(y=every("a", "b", "c")), "3 values"),
    "a class missing": (file_of(y=every("a", "b", None)), "missing in 26 records"),
    "one positive": (file_of(y=["yes"] + ["no"] * (ROWS - 1)), "of one class only"),
    "bytes for classes": (parquet_of(y=every(b"a", b"b")), "Binary is not a type that a model can use"),
    "lists for classes": (parquet_of(y=every([1], [2])), "is not a type that a model can use"),
    "numbers for classes": (file_of(y=every(0.0, 1.0, 1.0)), WORKS),
    "one record": (lambda path: frame_of()[:1].write_csv(path), "one class only"),
    "six records": (lambda path: frame_of()[:6].write_csv(path), "of one class only"),
    "no records": (lambda path: frame_of()[:0].write_csv(path), "has no records"),
    "no features": (lambda path: frame_of().select("y", amount="amount").write_csv(path), WORKS),
    "constant features": (file_of(x=every(1.0), z=every("a"), amount=every(3)), "no column is left to learn from"),
    "a column that is missing": (file_of(x=every(None, dtype=pl.Float64)), WORKS),
    "values of all kinds": (file_of(x=every("1", "a", "", "2.5", "True")), WORKS),
    "huge values": (file_of(x=every(1e300, -1.7e308, 5e-324)), WORKS),
    "infinite values": (file_of(x=every(np.inf, 1.0)), "'x' of records.csv is infinite in 40 records"),
    "integers beyond all": (
        text_of(lambda text: re.sub(r"(?m)^[-\d.]+,", "123456789012345678901234567890,", text)),
        WORKS,
    ),
    "names twice": (text_of(lambda text: text.replace("x,z", "x,x", 1)), "more than one column 'x'"),
    "a name missing": (text_of(lambda text: text.replace("x,z", ",z", 1)), WORKS),
    "a value too many": (text_of(lambda text: text + "1,2,3,yes,5\n"), "cannot be read"),
    "a value too few": (text_of(lambda text: text + "1,2\n"), "is missing in record 81"),
    "a quote that stays open": (text_of(lambda text: text + '"1,2,3,yes'), "in line 82, column 'x', that is not"),
    "a quote within a value": (
        text_of(lambda text: text.replace("y\n", 'y\n5" pipe,2,3,no\n', 1)),
        "line 2, column 'x'",
    ),
    "two quotes within values": (
        text_of(lambda text: f'{text}5" pipe,2,3,no\n6" pipe,2,3,no\n'),
        "line 82, column 'x'",
    ),
    "blank lines": (text_of(lambda text: text.replace("\n", "\r\n\r\n")), WORKS),
    "another encoding": (text_of(lambda text: text.replace("yes", "né"), "latin-1"), "save it as UTF-8"),
    "two bytes a letter": (text_of(encoding="utf-16"), "neither CSV nor Parquet"),
    "half a file": (lambda path: path.write_bytes(b"PAR1" + b"x" * 99), "cannot be read"),
    "lists": (parquet_of(x=every([1, 2], [3])), WORKS),
    "decimals": (parquet_of(x=every(Decimal("1.5"), Decimal("2.5"))), WORKS),
}
COMMAND = ["--target", "y", "--fp-cost", "2", "--fn-cost", "amount", "--methods", "tree", "--trees", "1"]
COMMAND += ["--repeats", "1", "--metacost", "none", "--jobs", "1", "--progress", "quiet"]
# For a model to decide by, whatever it is.
QUICKLY = [*COMMAND, "--folds", "2", "--no-teams"]


def said_by(*arguments: object) -> tuple[int, list[str]]:
    """Return the exit code of a command, and what it says is wrong; internal errors are raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, [line for line in result.stderr.splitlines() if not line.startswith("Note: ")]


def some_soon() -> list[Any]:
    """Return the files, of which those that make a whole study wait until there is time, all but a few."""
    soon = ("values of all kinds", "a column that is missing", "blank lines", "lists")
    return [
        pytest.param(name, marks=() if message is not WORKS or name in soon else pytest.mark.slow)
        for name, (_, message) in FILES.items()
    ]


@pytest.mark.parametrize("name", some_soon())
def test_commands_get_hostile_files_done_or_say_in_a_line_what_is_wrong(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write, message = FILES[name]
    write(Path("records.csv"))
    before = Path("records.csv").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        code, said = said_by("study", "records.csv", *COMMAND, "--out", "out")
        if message is not WORKS:
            assert code == 2
            assert len(said) == 1
            assert said[0].startswith("stakes: ")
            assert message in said[0]
            assert [file.name for file in tmp_path.iterdir()] == ["records.csv"]
        else:
            assert (code, said) == (0, [])
            # What was studied can be decided on.
            assert said_by("apply", "out/best.skops", "records.csv", "--out", "done.parquet") == (0, [])
            done = pl.read_parquet("done.parquet")
            assert done.height == ROWS
            assert done["score"].is_between(0, 1).all()
            assert done["decision"].n_unique() <= 2
            assert done.select(pl.col(pl.Float64).is_nan().any()).sum_horizontal().sum() == 0
    assert Path("records.csv").read_bytes() == before


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a study of records without fault."""
    directory = tmp_path_factory.mktemp("model")
    file_of()(directory / "records.csv")
    assert said_by("study", directory / "records.csv", *QUICKLY, "--out", directory / "out") == (0, [])
    return directory / "out" / "best.skops"


# New records, and what is said of them when a model is to decide.
NEW_FILES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "columns in another order": (lambda path: frame_of().select("y", "amount", "z", "x").write_csv(path), WORKS),
    "a column missing": (lambda path: frame_of().drop("x").write_csv(path), "no column 'x', which is needed"),
    "a cost missing": (lambda path: frame_of().drop("amount").write_csv(path), "amount"),
    "a column more": (file_of(more=every("a", "b")), WORKS),
    "text for numbers": (file_of(x=every("a")), "'x' of records.csv is 'a' in 80 records"),
    "infinite values": (file_of(x=every(np.inf)), "infinite"),
    "no values": (file_of(x=every(None, dtype=pl.Float64), z=every(None, dtype=pl.Float64)), WORKS),
    "a missing cost": (file_of(amount=every(None, 1)), "'amount' missing"),
    "a negative cost": (file_of(amount=every(-1)), "a negative cost"),
    "a record": (lambda path: frame_of()[:1].write_csv(path), WORKS),
    "no records": (lambda path: frame_of()[:0].write_csv(path), "has no records"),
    "a quote within a value": (
        text_of(lambda text: text.replace("y\n", 'y\n1,2,3,5" pipe\n', 1)),
        "line 2, column 'y'",
    ),
    "a quote that stays open": (text_of(lambda text: text + '1,"2,3,yes'), "line 82, column 'z'"),
    "lists to be copied": (parquet_of(more=every([1])), "cannot write done.csv"),
    "bytes to be copied": (parquet_of(more=every(b"a")), "cannot write done.csv"),
    "a name that is taken": (file_of(score=every(1)), "has a column 'score' itself"),
}


@pytest.mark.parametrize("name", NEW_FILES)
def test_a_model_decides_on_hostile_files_or_says_in_a_line_what_is_wrong(
    name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write, message = NEW_FILES[name]
    write(Path("records.csv"))
    code, said = said_by("apply", model, "records.csv", "--out", "done.csv")
    if message is WORKS:
        assert (code, said) == (0, [])
        assert pl.read_csv("done.csv")["score"].is_between(0, 1).all()
    else:
        assert code == 2
        assert len(said) == 1
        assert said[0].startswith("stakes: ")
        assert message in said[0]
        assert [file.name for file in tmp_path.iterdir()] == ["records.csv"]
