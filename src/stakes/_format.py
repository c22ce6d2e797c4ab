"""Numbers as people read them: the one place where amounts, shares and scores are written.

A minus is the character that every console can show; pages set it as a minus sign (`stakes.study.report.wording`).
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

__all__ = ["UNKNOWN", "count", "known", "money", "percent", "score"]

UNKNOWN = "–"
# Beyond these sizes digits are no help, and powers of ten are.
SMALLEST, LARGEST = 1e-6, 1e15

Number = float | int | None


def known(value: Any) -> TypeGuard[float]:
    """Return whether a value is a number that can be shown."""
    return isinstance(value, int | float) and math.isfinite(value)


def money(value: Number) -> str:
    """Return an amount: whole from 1,000 on, with cents below, and with three digits where it is below 1.

    Examples
    --------
    >>> from stakes._format import money
    >>> money(1069727.4), money(140), money(12.345), money(0.5), money(0.01234), money(-5), money(None)
    ('1,069,727', '140.00', '12.35', '0.50', '0.0123', '-5.00', '–')
    """
    if not known(value):
        return UNKNOWN
    size = abs(value)
    if size >= LARGEST or 0 < size < SMALLEST:
        return f"{value:.3g}"
    if round(size, 2) >= 1000:
        return f"{value:,.0f}"
    if size >= 1 or math.isclose(100 * size, round(100 * size), abs_tol=1e-9):
        return f"{value:.2f}"
    return f"{value:.{2 - math.floor(math.log10(size))}f}"


def percent(value: Number) -> str:
    """Return a share.

    Examples
    --------
    >>> from stakes._format import percent
    >>> percent(0.2654), percent(0.00017), percent(1), percent(-0.3), percent(None)
    ('26.5%', '0.017%', '100%', '-30.0%', '–')
    """
    if not known(value):
        return UNKNOWN
    if value in (0, 1):
        return f"{value:.0%}"
    return f"{100 * value:.2g}%" if abs(value) < 0.001 else f"{value:.1%}"


def score(value: Number) -> str:
    """Return a measure between 0 and 1 that is not thought of as a share.

    Examples
    --------
    >>> from stakes._format import score
    >>> score(0.87654), score(None)
    ('0.877', '–')
    """
    return f"{value:.3f}" if known(value) else UNKNOWN


def count(n: int, one: str) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> from stakes._format import count
    >>> count(1, "record"), count(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{n:,} {one}{'' if n == 1 else 's'}"
