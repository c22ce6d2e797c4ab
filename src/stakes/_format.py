"""Numbers as people read them: the one place where amounts, shares and scores are written."""

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
    """Return an amount: whole from 1,000 on, with cents below, and with more decimals where it is below 1.

    Examples
    --------
    >>> from stakes._format import money
    >>> money(1069727.4), money(12.345), money(0.5), money(0.01234), money(-5), money(None)
    ('1,069,727', '12.35', '0.50', '0.0123', '−5', '–')
    """
    if not known(value):
        return UNKNOWN
    size = abs(value)
    if size >= LARGEST or 0 < size < SMALLEST:
        return _signed(f"{value:.3g}")
    if size >= 1000 or value == round(value):
        return _signed(f"{value:,.0f}")
    if size >= 1:
        return _signed(f"{value:,.2f}")
    # Three significant digits, but never fewer than two decimals.
    whole, decimals = f"{value:.{2 - math.floor(math.log10(size))}f}".split(".")
    return _signed(f"{whole}.{decimals[:2]}{decimals[2:].rstrip('0')}")


def percent(value: Number) -> str:
    """Return a share.

    Examples
    --------
    >>> from stakes._format import percent
    >>> percent(0.2654), percent(0.00017), percent(1), percent(-0.3), percent(None)
    ('26.5%', '0.017%', '100%', '−30.0%', '–')
    """
    if not known(value):
        return UNKNOWN
    if value in (0, 1):
        return f"{value:.0%}"
    return _signed(f"{100 * value:.2g}%" if abs(value) < 0.001 else f"{value:.1%}")


def score(value: Number) -> str:
    """Return a measure between 0 and 1 that is not thought of as a share.

    Examples
    --------
    >>> from stakes._format import score
    >>> score(0.87654), score(None)
    ('0.877', '–')
    """
    return _signed(f"{value:.3f}") if known(value) else UNKNOWN


def count(n: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> from stakes._format import count
    >>> count(1, "record"), count(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _signed(text: str) -> str:
    return text.replace("-", "−", 1) if text.startswith("-") else text
