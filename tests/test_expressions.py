"""Arithmetic over columns: what is understood is right, and nothing else can run."""

from __future__ import annotations

import ast
import operator
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes._expressions import MAX_DEPTH, MAX_LENGTH, parse
from stakes.exceptions import StudyError

FRAME = pl.DataFrame(
    {
        "charge": [20.5, 55.0, 0.0],
        "months": pl.Series([200, 3, 7], dtype=pl.UInt8),
        "paid so far": [1, 0, 4],
        'say "so"': [1.0, 2.0, 3.0],
        "abs": [-1.0, -2.0, 4.0],
        "Größe": [1, 2, 3],
        "member": [True, False, True],
        "gap": [1.0, None, 3.0],
        "nan": [1.0, 2.0, float("nan")],
        "plan": ["a", "b", "c"],
        "*": [7, 8, 9],
        "^charge$": [4, 5, 6],
        "cents": pl.Series(["1.10", "2.20", "3.30"]).cast(pl.Decimal(10, 2)),
    }
)


def evaluate(expression: str | float, frame: pl.DataFrame, what: str) -> float | np.ndarray:
    return parse(expression, what=what).evaluate(frame)


def value(expression: str | float) -> list[float] | float:
    found = evaluate(expression, FRAME, what="--fn-cost")
    return found if isinstance(found, float) else found.tolist()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("12", 12.0),
        (12, 12.0),
        (1e-7, 1e-7),
        (" -2.5e1 ", -25.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("1/4", 0.25),
        ("7 / 2 * 2", 7.0),
        ("2 - 3 - 4", -5.0),
        ("2 - (3 - 4)", 3.0),
        ("--3", 3.0),
        ("+-3", -3.0),
        ("2 * -3", -6.0),
        ("12*charge", [246.0, 660.0, 0.0]),
        ("2 + 3 * months", [602.0, 11.0, 23.0]),
        ('charge - "paid so far"', [19.5, 55.0, -4.0]),
        ("charge - `paid so far`", [19.5, 55.0, -4.0]),
        ('"say ""so"""', [1.0, 2.0, 3.0]),
        ("abs(abs)", [1.0, 2.0, 4.0]),
        ("Größe * 2", [2.0, 4.0, 6.0]),
        ("member * 5", [5.0, 0.0, 5.0]),
        ("greatest(charge - 30, 0, months - 5)", [195.0, 25.0, 2.0]),
        ("least(charge, 30)", [20.5, 30.0, 0.0]),
        ("coalesce(gap, 10)", [1.0, 10.0, 3.0]),
        ("coalesce(nan, 0)", [1.0, 2.0, 0.0]),
        ("round(charge / 10)", [2.0, 6.0, 0.0]),
        ("floor(charge / 10) + ceil(charge / 10)", [5.0, 11.0, 0.0]),
        ("sqrt(months + 25)", [15.0, 28**0.5, 32**0.5]),
        ("LOG(Größe)", np.log([1, 2, 3]).tolist()),
        ('"*"', [7.0, 8.0, 9.0]),
        ('"^charge$"', [4.0, 5.0, 6.0]),
        ("cents * 10", [11.0, 22.0, 33.0]),
    ],
)
def test_value(expression: str | float, expected: list[float] | float) -> None:
    assert value(expression) == pytest.approx(expected, rel=1e-14)


def test_small_integer_columns_do_not_overflow() -> None:
    assert value("2 * months") == [400.0, 6.0, 14.0]
    assert value("months + months") == [400.0, 6.0, 14.0]


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def by_python(node: ast.expr) -> float:
    """Evaluate arithmetic by Python's own grammar."""
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp):
        inner = by_python(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    assert isinstance(node, ast.BinOp)
    return OPERATORS[type(node.op)](by_python(node.left), by_python(node.right))


numbers = st.floats(0, 1e6, allow_subnormal=False).map(repr) | st.integers(0, 999).map(str)
formulas = st.recursive(
    numbers,
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/"), inner).map("".join)
        | inner.map(lambda text: f"({text})")
        | inner.map(lambda text: f"- {text}")
    ),
    max_leaves=12,
)


@given(formulas)
def test_arithmetic_is_that_of_python(text: str) -> None:
    try:
        expected = by_python(ast.parse(text.strip(), mode="eval").body)
    except ZeroDivisionError:
        with pytest.raises(StudyError, match="division by zero"):
            evaluate(text, FRAME, what="x")
        return
    if np.isfinite(expected):
        assert evaluate(text, FRAME, what="x") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("12 * charges", "there is no column 'charges': did you mean 'charge'"),
        ("12 * CHARGE", "did you mean 'charge'"),
        ("zebra", "there is no column 'zebra': the columns are 'charge', 'months'"),
        ("plan * 2", "column 'plan' is not numeric, it has 'a'"),
        ("1 / charge", "division by zero in record 3"),
        ("charge / (months - months)", "division by zero in 3 records, the first of them record 1"),
        ("least(5, 1 / charge)", "division by zero in record 3"),
        ("1 / 0", "division by zero"),
        ("gap + 1", "'gap' missing (what is known only afterwards is named to a study by --after) in record 2"),
        ("greatest(gap, 0)", "'gap' missing"),
        ("nan * 2", "'nan' missing (what is known only afterwards is named to a study by --after) in record 3"),
        ("sqrt(abs)", "not a number in 2 records, the first of them record 1"),
        ("log(0 - 1)", "not a number"),
        ("1e308 * 10", "too large a number"),
        ("1e999", "too large a number"),
        ("", "something is missing at character 1"),
        ("   ", "something is missing"),
        ("2 *", "something is missing at character 4"),
        ("(2 + 3", "something is missing at character 7"),
        ("2 + 3)", "')' is not expected at character 6"),
        ("2 3", "'3' is not expected at character 3"),
        ("charge months", "'months' is not expected at character 8"),
        ("* 2", "'*' is not expected at character 1"),
        ("()", "',' or '()' is not expected"),
        ("1,5 * charge", "',' or '()' is not expected"),
        ("2 (3)", "this is not expected at character 1"),
        ("least(*charge, 1)", "this is not expected at character 7"),
        ("2 ** 3", "'*' is not expected at character 4"),
        ("7 // 2", "'/' is not expected at character 4"),
        ("1_000", "'1' is not understood"),
        ("abs()", "abs takes 1 value, not 0"),
        ("least(2 3)", "'3' is not expected at character 9"),
        ("abs(1, 2)", "abs takes 1 value, not 2"),
        ("greatest(1)", "greatest takes at least 2 values, not 1"),
        ("months ^ 2", "'^' is not understood at character 8"),
        ("charge > 2", "'>' is not understood"),
        ("charge % 2", "'%' is not understood"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(expression: str, message: str) -> None:
    with pytest.raises(StudyError) as error:
        evaluate(expression, FRAME, what="--fn-cost")
    assert str(error.value).startswith(f"--fn-cost {expression!r}")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


HOSTILE = [
    "read_csv('{file}')",
    'read_csv("{file}")',
    "read_parquet(charge)",
    "open({file})",
    "__import__('os')",
    "__import__(charge)",
    "eval(charge)",
    "exec(charge)",
    "(select 1)",
    "(SELECT * FROM read_csv('{file}'))",
    "select charge from self",
    "sum(charge) over (partition by plan)",
    "row_number() over ()",
    "count(*)",
    "sum(charge)",
    "max(charge)",
    "cast(charge as int)",
    "charge::int",
    "charge as cost",
    "case when charge > 1 then 2 else 3 end",
    "charge in (1, 2)",
    "not charge",
    "charge is null",
    "charge || months",
    "charge -- a comment",
    "charge /* a comment */",
    "charge # a comment",
    "charge; drop table x",
    "charge\n+ 1",
    "charge\x00",
    "charge.abs()",
    "self.charge",
    "charge[0]",
    "[1, 2]",
    "{{1: 2}}",
    "columns('charge')",
    "*",
    "'charge'",
    "date '2020-01-01'",
    "interval '1 day'",
    "0x10",
    "lambda: 1",
    "charge if charge else 1",
    "charge := 1",
    "charge = 1",
    "$charge",
    "@charge",
    "\\charge",
    "１２",  # full-width digits
    "12 ＊ charge",
    "12 × charge",
    "charge − 1",  # a minus sign that is not a hyphen
    "сharge",  # a Cyrillic first letter
    "charge\u202e",
    "charge\u200b",
    "char\u00adge",
    "١٢",  # Arabic digits
    "ａｂｓ(charge)",
    "\u00a0charge",
    '"" * 2',
    '"charge',
    "`charge",
    "nan(1)",
    "inf",
    "1e",
    "1.2.3",
    "1..2",
    "(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1),
    "-" * (MAX_DEPTH + 1) + "1",
    "-" * (MAX_LENGTH - 1) + "1",
    "abs(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1),
    "(" * 100_000,
    "1" + "+1" * 100_000,
    "9" * (MAX_LENGTH + 1),
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_nothing_but_arithmetic_is_taken(expression: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("charge\n1\n")
    with pytest.raises(StudyError) as error:
        evaluate(expression.format(file=file), FRAME, what="--fp-cost")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < MAX_LENGTH + 700


@given(st.text(max_size=40) | st.text("()+-*/., \"'`_abs01e;[]{}", max_size=40))
def test_any_text_is_a_number_or_a_clear_error(text: str) -> None:
    said = ""
    try:
        assert np.isfinite(evaluate(text, FRAME, what="--fp-cost")).all()
    except StudyError as error:
        said = str(error)
    assert "\n" not in said


def test_the_longest_and_deepest_that_is_allowed_works() -> None:
    assert value("1" + "+1" * (MAX_LENGTH // 2 - 1)) == MAX_LENGTH // 2
    deep = "(" * (MAX_DEPTH - 1) + "charge" + ")" * (MAX_DEPTH - 1)
    assert value(deep) == FRAME["charge"].to_list()


def test_nested_functions_are_computed_once_each() -> None:
    # Sixteen functions of two values each, nested: evaluated anew wherever they are used, they took more than 6 GB.
    frame = pl.DataFrame({"a": np.arange(100_000.0)})
    tracemalloc.start()
    found = evaluate("least(" * 16 + "a" + ",1)" * 16, frame, what="x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(found, np.minimum(frame["a"].to_numpy(), 1))
    assert peak < 10 * 8 * len(frame)


def test_columns_are_known_before_there_is_a_frame() -> None:
    assert parse('12 * charge + charge / "paid so far"', what="x").columns == ("charge", "paid so far")


def test_records_are_numbered_as_in_the_file() -> None:
    with pytest.raises(StudyError, match="in record 1,003"):
        parse("1 / charge", what="x").evaluate(FRAME, first_record=1001)


def test_the_frame_is_not_changed() -> None:
    before = FRAME.clone()
    value("coalesce(gap, 2) * months")
    assert FRAME.equals(before)
