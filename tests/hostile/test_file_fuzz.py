"""Files of records changed at random: read and decided on, or refused in a line; never another error."""

from __future__ import annotations

import io
import random
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_hostile_files import QUICKLY, said_by

from stakes.exceptions import CostsError, StudyError
from stakes.study import load_data
from stakes.study.apply import apply_model
from stakes.study.check import look

ROWS = 60
PIECES = (
    b'"', b'""', b",", b";", b"\t", b"\n", b"\r\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf", b" ", b"'", b"|", b"=1+1",
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"1,5", b"$1,234.50", b"9%", b"2024-02-30", b"true", "ü".encode(),
    b"x" * 5000, b"99999999999999999999999", b"\n\n\n", b",,,,", b'"a\nb"', b"5\" pipe", b"\xed\xa0\x80", b"#", b"\\",
)  # fmt: skip


def frame(rng: random.Random) -> pl.DataFrame:
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    x, z = numbers.normal(size=(2, ROWS)).round(2)
    columns = {
        "x": x,
        "text": numbers.choice(["a", "b, c", 'd "e"', "", "f\ng"], ROWS),
        "amount": numbers.integers(1, 50, ROWS),
        "y": np.where(x + z + numbers.normal(size=ROWS) > 0.5, "yes", "no"),
    }
    return pl.DataFrame(columns)


def changed(content: bytes, rng: random.Random) -> bytes:
    """Return the bytes of a file, some of them changed."""
    made = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(made) + 1)
        how = rng.choice(["insert", "insert", "insert", "replace", "delete", "lines", "repeat", "cut", "flip"])
        if how == "insert":
            made[at:at] = rng.choice(PIECES)
        elif how == "replace":
            made[at : at + rng.randint(1, 9)] = rng.choice(PIECES)
        elif how == "delete":
            del made[at : at + rng.randint(1, 40)]
        elif how == "lines":
            lines = bytes(made).split(b"\n")
            rng.shuffle(lines)
            made = bytearray(b"\n".join(lines[: rng.randint(1, len(lines))]))
        elif how == "repeat":
            made[at:at] = made[at : at + rng.randint(1, 200)]
        elif how == "cut":
            del made[at:]
        elif how == "flip" and made:
            made[min(at, len(made) - 1)] ^= 1 << rng.randrange(8)
        if not made:
            return b""
    return bytes(made)


def odd_parquet(rng: random.Random) -> bytes:
    """Return a Parquet file with columns of odd types, perhaps damaged."""
    made = frame(rng)
    odd = [
        pl.Series("x", [[1.0]] * ROWS), pl.Series("x", [b"a"] * ROWS), pl.Series("x", [{"a": 1}] * ROWS),
        pl.Series("x", [None] * ROWS), pl.Series("x", [2**63] * ROWS, dtype=pl.UInt64),
        pl.Series("amount", ["1"] * ROWS),
        pl.Series("amount", [float("nan"), 1.0] * (ROWS // 2)), pl.Series("y", [True, False] * (ROWS // 2)),
        pl.Series("y", [None, "a"] * (ROWS // 2)), pl.Series("text", ["a", "b"] * (ROWS // 2), dtype=pl.Categorical),
        pl.Series("x", [1, 2] * (ROWS // 2), dtype=pl.Duration), pl.Series("x", ["1.5"] * ROWS).cast(pl.Decimal(10, 2)),
        pl.Series("x", [float("inf")] * ROWS), pl.Series("x", [1, 2] * (ROWS // 2), dtype=pl.Datetime("ns", "UTC")),
        pl.Series("^x$", [1] * ROWS), pl.Series("*", [1] * ROWS), pl.Series("", [1] * ROWS), pl.Series("Y", [1] * ROWS),
    ]  # fmt: skip
    for series in rng.sample(odd, rng.randint(1, 3)):
        made = made.with_columns(series)
    file = io.BytesIO()
    made.write_parquet(file)
    content = file.getvalue()
    return changed(content, rng) if rng.random() < 0.5 else content


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a study of records without fault."""
    directory = tmp_path_factory.mktemp("model")
    frame(random.Random(0)).write_csv(directory / "records.csv")
    assert said_by("study", directory / "records.csv", *QUICKLY, "--out", directory / "out") == (0, [])
    return directory / "out" / "best.skops"


def check(seed: int, model: Path, folder: Path) -> tuple[bool, bool]:
    """Read a file for a study, decide on its records, and return whether these were done."""
    rng = random.Random(seed)
    path, out = folder / "records.csv", folder / "done.csv"
    path.write_bytes(odd_parquet(rng) if rng.random() < 0.3 else changed(frame(rng).write_csv().encode(), rng))
    before = path.read_bytes()
    done, said = [], []
    for action in (
        lambda: look(load_data(path, target="y", fp_cost="2", fn_cost="amount"), 0),
        lambda: apply_model(model, path, out, overwrite=True),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                action()
            done.append(True)
        except (StudyError, CostsError) as error:
            said.append(str(error))
            done.append(False)
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error
    assert all(len(each.splitlines()) == 1 for each in said), (seed, said)
    assert path.read_bytes() == before
    assert {each.name for each in folder.iterdir()} <= {"records.csv", "done.csv"}, seed
    if done[1]:
        assert pl.read_csv(out)["score"].is_between(0, 1).all(), seed
    return done[0], done[1]


def test_files_changed_at_random_are_read_or_refused_in_a_line(model: Path, tmp_path: Path) -> None:
    done = np.array([check(seed, model, tmp_path) for seed in range(60)])
    assert 5 < done[:, 0].sum() < 55
    assert 5 < done[:, 1].sum() < 55


@pytest.mark.slow
def test_many_files_changed_at_random_are_read_or_refused_in_a_line(model: Path, tmp_path: Path) -> None:
    for seed in range(1000, 2000):
        check(seed, model, tmp_path)
