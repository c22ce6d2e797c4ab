"""The records most worth acting on, where only some can be: decisions on a whole file, in the order of worth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from stakes._typing import Bools, Floats

__all__ = ["Kept", "WorkList"]

ROW, WORTH, ACTED = "_row", "_worth", "_acted"


class Kept(NamedTuple):
    """What a work list keeps."""

    n_acted: int
    n_left: int  # records that were worth acting on, and are beyond the limit
    saving: float  # of those to act on


class WorkList:
    """Decisions that are gathered on disk, in an empty directory, of which the most worthwhile are kept.

    `labels` are the negative and the positive class.
    """

    def __init__(self, directory: Path, labels: tuple[str, ...]) -> None:
        self.directory = directory
        self.labels = labels
        self._worth: list[Floats] = []
        self._candidate: list[Bools] = []

    def add(self, decided: pl.DataFrame) -> None:
        """Add decisions on some records, in the order of the file."""
        positive = (decided.get_column("decision") == self.labels[1]).to_numpy()
        if "expected_saving" in decided.columns:
            worth = (
                decided.get_column("expected_cost_if_negative") - decided.get_column("expected_cost_if_positive")
            ).to_numpy()
            candidate = positive & (worth > 0)
        else:  # what is not known to be a probability is still an order
            worth, candidate = decided.get_column("score").to_numpy(), positive
        decided.write_parquet(self.directory / f"{len(self._worth):09d}.parquet")
        self._worth.append(worth)
        self._candidate.append(candidate)

    def write(self, most: int, write: Callable[[pl.DataFrame], object], *, size: int) -> Kept:
        """Write all records, those to act on first and the most worthwhile first of all.

        Of the records that the model would act on, at most `most` are kept; the others are negative, and save nothing.
        """
        worth, candidate = np.concatenate(self._worth), np.concatenate(self._candidate)
        order = np.lexsort((np.arange(worth.size), -worth, ~candidate))
        acted = np.zeros(worth.size, np.bool_)
        acted[order[: min(most, int(candidate.sum()))]] = True
        parts = sorted(self.directory.glob("*.parquet"))
        added = pl.LazyFrame({WORTH: worth, ACTED: acted, ROW: np.arange(worth.size)})
        everything = pl.concat([pl.scan_parquet(parts, glob=False), added], how="horizontal")
        negative = pl.when(ACTED).then("decision").otherwise(pl.lit(self.labels[0])).alias("decision")
        changes = [negative]
        if "expected_saving" in everything.collect_schema():
            changes.append(pl.when(ACTED).then("expected_saving").otherwise(0.0).alias("expected_saving"))
        ordered = everything.with_columns(changes).sort(ACTED, WORTH, ROW, descending=[True, True, False])
        whole = self.directory / "sorted"
        ordered.drop(ACTED, WORTH, ROW).sink_parquet(whole)
        records = pl.scan_parquet(whole, glob=False)
        for start in range(0, worth.size, size):
            write(records.slice(start, size).collect())
        return Kept(int(acted.sum()), int(candidate.sum() - acted.sum()), float(worth[acted].sum()))
