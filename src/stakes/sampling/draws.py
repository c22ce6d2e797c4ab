"""The samples of an ensemble's members, drawn one after the other from the same records."""

from __future__ import annotations

import numpy as np

from stakes._rows import take_rows
from stakes.records import Records
from stakes.sampling.base import MemberSampler, Sample, with_class_means
from stakes.sampling.rejection import Bootstrap
from stakes.sampling.rows import drawn_rows

__all__ = ["Draws"]


class Draws:
    """Draws samples of the same records, with what they share prepared once, by `rng`.

    The records have their features as given by the user. With `presample` they are sampled once, and bootstraps of the
    result are drawn.
    """

    def __init__(
        self,
        sampler: MemberSampler,
        records: Records,
        rng: np.random.Generator,
        n_draws: int,
        *,
        presample: bool = False,
    ) -> None:
        self.y, self.costs, self.X = records.positive.astype(np.int64), records.costs, records.X
        if sampler.constant_costs_only and not self.costs.constant:
            self.costs = with_class_means(self.costs, records.positive, type(sampler).__name__)
        self.presampled: Sample | None = None
        if presample:
            self.sampler, self.presampled = sampler, sampler.draw(self.y, self.costs, rng, self.X)
        else:
            self.sampler = sampler.prepare(self.y, self.costs, rng, n_draws, self.X)

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw the sample of a member."""
        if self.presampled is None:
            return self.sampler.draw(self.y, self.costs, rng, self.X)
        # Each copy of a record, and each synthetic one, is drawn by itself.
        pre = self.presampled
        rows = drawn_rows(pre.counts, self.X.shape[1])
        new = np.empty(0, np.int64) if pre.y_new is None else pre.y_new
        drawn = Bootstrap().counts(np.concatenate([self.y[rows], new]), self.costs, rng)
        counts = np.bincount(rows, drawn[: rows.size], minlength=self.y.size).astype(np.int64)
        if not new.size:
            return Sample(counts)
        new_rows = np.repeat(np.arange(new.size), drawn[rows.size :])
        return Sample(counts, take_rows(pre.X_new, new_rows), new[new_rows])
