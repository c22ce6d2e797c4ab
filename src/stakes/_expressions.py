"""Arithmetic over columns, such as ``12 * MonthlyCharges``, by which costs are told.

Expressions come from command lines. Their text is split into numbers, columns, functions and signs, and anything else
is refused; Python's own parser then finds the order of operations, in a text in which names stand for the numbers and
columns, so that nothing of the user's text is ever run. Values are computed by numpy from the syntax tree, each part of
it once. (The SQL of polars would take subqueries and casts too, and computes in the type of the columns: twice 200 is
144 in a column of bytes.)
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes.exceptions import StudyError

__all__ = ["Expression", "cost_formulas", "did_you_mean", "in_records", "parse"]

# Far beyond any formula of costs, and far below what would exhaust a stack.
MAX_LENGTH = 500
MAX_DEPTH = 30

TOO_DEEP = f"parentheses or signs are nested more than {MAX_DEPTH} deep"

_TOKEN = re.compile(
    r"""(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
      | (?P<function>[^\W\d]\w*(?=[ \t]*\())
      | (?P<column>[^\W\d]\w* | "(?:[^"]|"")+" | `[^`]+`)
      | (?P<sign>[-+*/(),])
      | (?P<space>[ \t]+)""",
    re.VERBOSE,
)

Value = float | NDArray[np.float64]

# Missing values are NaN, and what is computed of them is missing, too.
OF_ONE: dict[str, Callable[[Value], Value]] = {
    "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "round": np.round, "sqrt": np.sqrt, "log": np.log,
}  # fmt: skip
OF_SEVERAL: dict[str, Callable[[Value, Value], Value]] = {
    "greatest": np.maximum,
    "least": np.minimum,
    "coalesce": lambda first, second: np.where(np.isnan(first), second, first),
}
OPERATORS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.UAdd: np.positive, ast.USub: np.negative,
}  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """An expression that was read, and can be evaluated for any number of frames."""

    text: str  # as it was given
    what: str  # what it is for
    columns: tuple[str, ...]  # that it needs
    _tree: ast.expr
    _leaves: dict[str, float | str]  # numbers and columns, by the names that stand for them

    def evaluate(self, frame: pl.DataFrame, *, first_record: int = 1, may_be_missing: bool = False) -> Value:
        """Return the value for each record of a frame; a single number where the expression has no columns.

        Values are finite: a missing value, or a division by zero, is an error, which names the records as they are
        numbered in the user's file, where the first of them is `first_record`. With `may_be_missing`, what is computed
        of missing values is NaN.
        """
        inputs = {name: self._column(frame, name) for name in self.columns}
        with np.errstate(all="ignore"):
            value = np.asarray(self._compute(self._tree, inputs, first_record))
        if np.isnan(value).any() and not may_be_missing:
            self._refuse(np.isnan(value), self._why_missing(inputs, np.isnan(value)), first_record)
        self._refuse(np.isinf(value), "too large a number", first_record)
        return value if self.columns else float(value)

    def cost_of(self, frame: pl.DataFrame, *, first_record: int = 1) -> Value:
        """Return the value as `evaluate` does; a cost must not be negative."""
        value = self.evaluate(frame, first_record=first_record)
        self.refuse_negative(value, first_record)
        return value

    def refuse_negative(self, value: Value, first_record: int = 1) -> None:
        """Raise an error that names the first records with a negative cost; missing ones are none."""
        negative = np.asarray(value) < 0
        if negative.any():
            why = f"a negative cost ({np.atleast_1d(value)[negative.argmax()]:g})"
            self._refuse(negative, why, first_record, ": check its sign, or write greatest(..., 0)")

    def _compute(self, node: ast.expr, inputs: dict[str, NDArray[np.float64]], first_record: int) -> Any:
        def of(part: ast.expr) -> Any:
            return self._compute(part, inputs, first_record)

        match node:
            case ast.Name(name):
                leaf = self._leaves[name]
                return inputs[leaf] if isinstance(leaf, str) else leaf
            case ast.UnaryOp(operator, operand):
                return OPERATORS[type(operator)](of(operand))
            case ast.BinOp(left, operator, right):
                first, second = of(left), of(right)
                if isinstance(operator, ast.Div):
                    self._refuse(np.asarray(second) == 0, "division by zero", first_record)
                return OPERATORS[type(operator)](first, second)
            case ast.Call(ast.Name(name), arguments, []):
                values = [of(argument) for argument in arguments]
                return OF_ONE[name](*values) if name in OF_ONE else reduce(OF_SEVERAL[name], values)
        raise AssertionError(f"{type(node).__name__} is no arithmetic")

    def _column(self, frame: pl.DataFrame, name: str) -> NDArray[np.float64]:
        if name not in frame.columns:
            self._fail(f"there is no column {name!r}{did_you_mean(name, frame.columns)}")
        column = frame.get_column(name)
        if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            shown = column.drop_nulls().head(1).to_list()
            self._fail(f"column {name!r} is not numeric" + (f", it has {str(shown[0])[:40]!r}" if shown else ""))
        return column.cast(pl.Float64).to_numpy()

    def _why_missing(self, inputs: dict[str, NDArray[np.float64]], missing: NDArray[np.bool_]) -> str:
        blank = [repr(name) for name, column in inputs.items() if np.isnan(column[missing.argmax()])]
        if not blank:
            return "not a number"
        return f"{' and '.join(blank)} missing (what is known only afterwards is named to a study by --after)"

    def _refuse(self, where: NDArray[np.bool_], why: str, first_record: int, way_out: str = "") -> None:
        if where.any():
            in_which = f" in {in_records(np.flatnonzero(where), first_record)}" if where.ndim else ""
            self._fail(why + in_which + way_out)

    def _fail(self, why: str) -> NoReturn:
        raise StudyError(f"{self.what} {self.text!r}: {why}")


def in_records(rows: pl.Series | NDArray[np.intp], first_record: int = 1) -> str:
    """Return row numbers in words: how many, and the first, as counted in the user's file."""
    first = f"record {rows[0] + first_record:,}"
    return first if len(rows) == 1 else f"{len(rows):,} records, the first of them {first}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint at the names nearest to one that does not exist."""
    by_lower = {each.lower(): each for each in reversed(list(names))}
    near = [by_lower[each] for each in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
    if near:
        return f": did you mean {' or '.join(map(repr, near))}?"
    first = ", ".join(map(repr, list(by_lower.values())[::-1][:10]))
    return f": the columns are {first}" + ("..." if len(by_lower) > 10 else "")


def cost_formulas(fp_cost: str | float | None, fn_cost: str | float | None) -> dict[str, Expression]:
    """Read the formulas of the costs that are given."""
    given = {"fp_cost": fp_cost, "fn_cost": fn_cost}
    return {name: parse(cost, what=f"--{name.replace('_', '-')}") for name, cost in given.items() if cost is not None}


def parse(expression: str | float, *, what: str) -> Expression:
    """Read an expression, or say where it is wrong; `what` it is for is named in errors.

    It has numbers and columns, ``+ - * /``, parentheses, and the functions abs, ceil, floor, round, sqrt, log
    (natural), greatest, least and coalesce (the first that is not missing). Columns whose names are not words are
    written in double quotes or backticks.
    """
    text = str(expression)
    if len(text) > MAX_LENGTH:
        raise StudyError(f"{what} is {len(text):,} characters long: write it in at most {MAX_LENGTH}")

    def fail(why: str, at: int) -> NoReturn:
        raise StudyError(
            f"{what} {text!r}: {why} at character {at + 1}; write numbers, columns, + - * / and parentheses, columns "
            f"of several words in double quotes, and the functions {', '.join([*OF_ONE, *OF_SEVERAL])}"
        )

    words, starts = [], []  # for Python's parser, and where they are in the text
    leaves: dict[str, float | str] = {}
    at = depth = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            fail(f"{text[at]!r} is not understood", at)
        word, kind = token[0], token.lastgroup
        depth += (word == "(") - (word == ")")
        if depth > MAX_DEPTH:
            fail(TOO_DEEP, at)
        if kind == "function" and word.lower() not in {*OF_ONE, *OF_SEVERAL}:
            fail(f"there is no function {word[:40]!r}", at)
        if kind in ("number", "column"):
            name = f"_{len(leaves)}"
            leaves[name] = float(word) if kind == "number" else _unquoted(word)
            word = name
        if kind != "space":
            words.append(word.lower())
            starts.append(at)
        at = token.end()
    starts.append(at)
    python = " ".join(words)
    try:
        tree = ast.parse(python, mode="eval").body
    except SyntaxError as error:
        if not error.offset or "never closed" in error.msg:
            fail("something is missing", at)
        wrong = python[: max(error.offset, (error.end_offset or 0) - 1) - 1].count(" ")
        fail(f"{text[starts[wrong] : starts[wrong + 1]].strip()[:40]!r} is not expected", starts[wrong])
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    if sum(isinstance(node, ast.UnaryOp) for node in nodes) > MAX_DEPTH:
        fail(TOO_DEEP, 0)
    for node in nodes:
        if why := _why_not(node):
            fail(why, starts[python[: node.col_offset].count(" ")])
    columns = dict.fromkeys(leaf for leaf in leaves.values() if isinstance(leaf, str))
    return Expression(text, what, tuple(columns), tree, leaves)


def _unquoted(word: str) -> str:
    return word[1:-1].replace('""', '"') if word[0] == '"' else word.strip("`")


def _why_not(node: ast.expr) -> str | None:
    """Return why a node of a syntax tree is not understood; None if it is."""
    match node:
        case ast.Name() | ast.UnaryOp(ast.UAdd() | ast.USub()):
            return None
        case ast.BinOp(_, ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            return None
        case ast.Call(ast.Name(function), values, []) if function in OF_ONE or function in OF_SEVERAL:
            if len(values) == 1 if function in OF_ONE else len(values) > 1:
                return None
            wanted = "1 value" if function in OF_ONE else "at least 2 values"
            return f"{function} takes {wanted}, not {len(values)},"
        case ast.Tuple():
            return "',' or '()' is not expected"
        case _:
            return "this is not expected"
