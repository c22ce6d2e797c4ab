"""Arithmetic over columns, such as ``12 * MonthlyCharges``.

Expressions come from command lines, so they are read by a grammar of our own: numbers, columns, four operations and a
few functions. Whatever else is written is refused before anything is evaluated. (The SQL of polars would take
subqueries and casts too, and computes in the type of the columns: twice 200 is 144 in a column of bytes.)
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stakes.exceptions import StudyError

__all__ = ["Expression", "did_you_mean", "evaluate", "in_records", "parse"]

# Far beyond any formula of costs, and far below what would exhaust a stack.
MAX_LENGTH = 500
MAX_DEPTH = 30

_TOKEN = re.compile(
    r"""(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
      | (?P<name>[^\W\d]\w*)
      | "(?P<double>(?:[^"]|"")+)"
      | `(?P<back>[^`]+)`
      | (?P<sign>[-+*/(),])""",
    re.VERBOSE,
)


def _known(value: Callable[..., pl.Expr]) -> Callable[..., pl.Expr]:
    """Make a function of several columns missing where one of them is: polars would ignore missing values."""
    return lambda *x: pl.when(pl.any_horizontal(each.is_null() for each in x)).then(None).otherwise(value(*x))


# Name: least and largest number of arguments, and what it computes.
FUNCTIONS: dict[str, tuple[int, int, Callable[..., pl.Expr]]] = {
    "abs": (1, 1, pl.Expr.abs),
    "ceil": (1, 1, pl.Expr.ceil),
    "floor": (1, 1, pl.Expr.floor),
    "round": (1, 1, pl.Expr.round),
    "sqrt": (1, 1, lambda x: x.sqrt().fill_nan(None)),
    "log": (1, 1, lambda x: x.log().fill_nan(None)),
    "greatest": (2, MAX_LENGTH, _known(pl.max_horizontal)),
    "least": (2, MAX_LENGTH, _known(pl.min_horizontal)),
    "coalesce": (2, MAX_LENGTH, pl.coalesce),
}


def evaluate(expression: str | float, frame: pl.DataFrame, *, what: str) -> float | NDArray[np.float64]:
    """Return the value of an expression for each record of a frame; a single number where it has no columns.

    Parameters
    ----------
    expression : str or float
        Numbers and columns, ``+ - * /``, parentheses, and the functions abs, ceil, floor, round, sqrt, log (natural),
        greatest, least and coalesce (the first that is not missing). Columns whose names are not words are written in
        double quotes or backticks.
    frame : polars.DataFrame
    what : str
        What the expression is for, to name it in errors.

    Returns
    -------
    value : float or ndarray of shape (n_records,)
        Always finite: a missing value, or a division by zero, is an error.

    Examples
    --------
    >>> import polars as pl
    >>> from stakes.study.expressions import evaluate
    >>> frame = pl.DataFrame({"charge": [20.0, 55.0], "paid so far": [1, 3]})
    >>> evaluate('12 * charge - "paid so far"', frame, what="--fn-cost")
    array([239., 657.])
    >>> evaluate("12 * charges", frame, what="--fn-cost")
    Traceback (most recent call last):
        ...
    stakes.exceptions.StudyError: --fn-cost '12 * charges': there is no column 'charges': did you mean 'charge'?
    """
    return parse(expression, what=what).evaluate(frame)


@dataclass(frozen=True)
class Expression:
    """An expression that was read, and can be evaluated for any number of frames.

    Attributes
    ----------
    text : str
        As it was given.
    what : str
        What it is for.
    columns : tuple of str
        The columns that it needs.
    """

    text: str
    what: str
    columns: tuple[str, ...]
    # Over columns called "0", "1", ...: polars reads a name such as "*" or "^a.*$" as a pattern.
    _value: pl.Expr
    _divisors: tuple[pl.Expr, ...]

    def evaluate(self, frame: pl.DataFrame, *, first_record: int = 1) -> float | NDArray[np.float64]:
        """Return the value for each record; `first_record` is the number of the first in the user's file."""
        inputs = pl.DataFrame([self._column(frame, name, str(i)) for i, name in enumerate(self.columns)])
        value, *divisors = inputs.select(
            self._value.alias("value"), *(divisor.alias(f"by {i}") for i, divisor in enumerate(self._divisors))
        )
        for divisor in divisors:
            self._refuse(divisor == 0, "division by zero", first_record)
        missing = value.is_null() | value.is_nan()
        if missing.any():
            self._refuse(missing, self._why_missing(inputs, missing), first_record)
        self._refuse(value.is_infinite(), "too large a number", first_record)
        return value.to_numpy().astype(np.float64) if self.columns else float(value.item())

    def _column(self, frame: pl.DataFrame, name: str, alias: str) -> pl.Series:
        if name not in frame.columns:
            self._fail(f"there is no column {name!r}{did_you_mean(name, frame.columns)}")
        column = frame.get_column(name).alias(alias)
        if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            shown = column.drop_nulls().head(1).to_list()
            self._fail(f"column {name!r} is not numeric" + (f", it has {str(shown[0])[:40]!r}" if shown else ""))
        return column.cast(pl.Float64).fill_nan(None)

    def _why_missing(self, inputs: pl.DataFrame, missing: pl.Series) -> str:
        row = missing.arg_true()[0]
        blank = [repr(name) for i, name in enumerate(self.columns) if inputs[str(i)][row] is None]
        if not blank:
            return "not a number"
        return f"{' and '.join(blank)} missing (coalesce(..., 0) would count what is missing as 0)"

    def _refuse(self, where: pl.Series, why: str, first_record: int) -> None:
        if where.any():
            self._fail(why + (f" in {in_records(where.arg_true(), first_record)}" if self.columns else ""))

    def _fail(self, why: str) -> NoReturn:
        raise StudyError(f"{self.what} {self.text!r}: {why}")


def in_records(rows: pl.Series, first_record: int = 1) -> str:
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


def parse(expression: str | float, *, what: str) -> Expression:
    """Read an expression, or say where it is wrong; `evaluate` explains what is understood."""
    text = str(expression)
    if len(text) > MAX_LENGTH:
        raise StudyError(f"{what} is {len(text):,} characters long: write it in at most {MAX_LENGTH}")
    parser = _Parser(text, what)
    value = parser.whole()
    return Expression(text, what, tuple(parser.columns), value, tuple(parser.divisors))


class _Token(NamedTuple):
    kind: str  # number, name, column (a quoted name), sign, or end
    text: str
    start: int


class _Parser:
    """Recursive descent: a sum of products of factors."""

    def __init__(self, text: str, what: str) -> None:
        self.text = text
        self.what = what
        self.columns: list[str] = []
        self.divisors: list[pl.Expr] = []
        self._tokens = self._split()
        self._next = 0
        self._depth = 0

    def _split(self) -> list[_Token]:
        tokens, at = [], 0
        while at < len(self.text):
            if self.text[at] in " \t":
                at += 1
                continue
            match = _TOKEN.match(self.text, at)
            if match is None:
                self._fail(f"{self.text[at]!r} is not understood", at)
            kind = str(match.lastgroup)
            tokens.append(_Token("column" if kind in ("double", "back") else kind, match[kind], at))
            if kind == "double":
                tokens[-1] = tokens[-1]._replace(text=match[kind].replace('""', '"'))
            at = match.end()
        return [*tokens, _Token("end", "its end", len(self.text))]

    def _fail(self, why: str, at: int) -> NoReturn:
        raise StudyError(
            f"{self.what} {self.text!r}: {why} at character {at + 1}; write numbers, columns, + - * / and parentheses, "
            f"columns of several words in double quotes, and the functions {', '.join(FUNCTIONS)}"
        )

    def _unexpected(self) -> NoReturn:
        token = self._tokens[self._next]
        self._fail(
            f"{token.text[:40]!r} is not expected" if token.kind != "end" else "something is missing", token.start
        )

    def _take(self, *signs: str) -> str | None:
        """Return the next sign and go on, if it is one of these."""
        token = self._tokens[self._next]
        if token.kind != "sign" or token.text not in signs:
            return None
        self._next += 1
        return token.text

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            self._unexpected()

    def whole(self) -> pl.Expr:
        value = self._sum()
        if self._tokens[self._next].kind != "end":
            self._unexpected()
        return value

    def _sum(self) -> pl.Expr:
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> pl.Expr:
        value = self._factor()
        while sign := self._take("*", "/"):
            other = self._factor()
            if sign == "/":
                self.divisors.append(other)
            value = value * other if sign == "*" else value / other
        return value

    def _factor(self) -> pl.Expr:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"parentheses are nested more than {MAX_DEPTH} deep", self._tokens[self._next].start)
        value = self._signed() if self._tokens[self._next].kind == "sign" else self._named()
        self._depth -= 1
        return value

    def _signed(self) -> pl.Expr:
        if sign := self._take("+", "-"):
            return -self._factor() if sign == "-" else self._factor()
        self._expect("(")
        value = self._sum()
        self._expect(")")
        return value

    def _named(self) -> pl.Expr:
        token = self._tokens[self._next]
        if token.kind == "end":
            self._unexpected()
        self._next += 1
        if token.kind == "number":
            return pl.lit(float(token.text), dtype=pl.Float64)
        if token.kind == "name" and self._take("("):
            return self._call(token)
        if token.text not in self.columns:
            self.columns.append(token.text)
        return pl.col(str(self.columns.index(token.text)))

    def _call(self, token: _Token) -> pl.Expr:
        if token.text.lower() not in FUNCTIONS:
            self._fail(f"there is no function {token.text[:40]!r}", token.start)
        least, most, function = FUNCTIONS[token.text.lower()]
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._expect(")")
        if not least <= len(values) <= most:
            wanted = "1 value" if most == 1 else f"at least {least} values"
            self._fail(f"{token.text} takes {wanted}, not {len(values)},", token.start)
        return function(*values)
