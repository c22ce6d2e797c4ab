"""A warning where a trained classifier decides all of its training records alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from stakes._typing import Bools
from stakes.exceptions import OneClassWarning
from stakes.records import Records

__all__ = ["warn_if_one_class"]

# Two outcomes are nearly always found among so many records; only otherwise all are decided on.
FIRST_LOOK = 256


def warn_if_one_class(records: Records, decide: Callable[[Records], Bools]) -> None:
    """Warn if all records are decided alike, and the mistakes that this makes cost something.

    `decide` takes records to whether each is decided to be positive.
    """
    step = max(1, len(records) // FIRST_LOOK)
    for rows in (np.arange(0, len(records), step), np.arange(len(records))):
        outcome = decide(records.take(rows))
        if outcome.any() and not outcome.all():
            return
    mistakes = records.positive != outcome[0]
    if records.loss[mistakes].sum() > 0:
        word = "positive" if outcome[0] else "negative"
        warnings.warn(
            f"all {len(records)} training records are decided to be {word}: compare with the cost of doing that "
            "without a model",
            OneClassWarning,
            stacklevel=3,
        )
