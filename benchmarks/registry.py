"""All benchmarks by name."""

from __future__ import annotations

from benchmarks.cases import Case
from benchmarks.growth import GROWTH
from benchmarks.pairs import PAIRS
from benchmarks.prediction import PREDICTIONS
from benchmarks.startup import STARTUP

__all__ = ["CASES"]

CASES: dict[str, Case] = {**PAIRS, **PREDICTIONS, **STARTUP, **GROWTH}
