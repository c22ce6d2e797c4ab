"""Which model to recommend, and what to expect of it on new records.

Everything here works on the out-of-fold outcomes of many candidate models: each record was decided on by models, and
by tuned values, that have not seen it. What is left is the optimism of choosing the best of many on the same records
that it is then described by. It is measured by bootstrap bias correction (Tsamardinos et al. 2018): choose on records
drawn with replacement, measure on the records that were not drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from scipy.stats import beta, binom

from stakes._typing import Bools, Floats, Ints
from stakes.costs import Costs
from stakes.measures import Sums

__all__ = [
    "AnyLoss",
    "Bootstrap",
    "Choice",
    "MeanLoss",
    "Rule",
    "allowed_share",
    "block_sums",
    "blocks",
    "choose",
    "upper_bound",
]

MOST_BLOCKS = 2000
DRAWS = 1000
TAILS = (1 - 0.90) / 2, (1 + 0.90) / 2  # of the intervals
CONFIDENCE = 0.95
# Measured by benchmarks/choice.py. Better by more than so many standard errors is better beyond noise.
BEYOND = 3.0
# A simpler candidate is chosen where it is worse than the best by at most so many standard errors ...
WITHIN = 1.0
# ... and by no more than this share of the best one's loss.
AT_MOST = 0.005


def blocks(n_records: int, rng: np.random.Generator, groups: Ints | None = None) -> Ints:
    """Return the block of each record: the units that the bootstrap draws.

    At most 2,000 blocks of records at random, so that a draw costs the same however many records there are. Records
    of a group are in the same block: they are not independent.
    """
    number = np.arange(n_records) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(number.max()) + 1
    return rng.permutation(n_units)[number] % min(n_units, MOST_BLOCKS)


def block_sums(outcomes: Bools, amount: Floats, block: Ints) -> Floats:
    """Return, for each model and block, the sums of amounts over the records acted on.

    From shapes (n_models, n_records), (n_records, n_amounts) and (n_records,) to (n_amounts, n_models, n_blocks).
    """
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=-1))
    ordered = amount[order].T
    found = np.empty((amount.shape[1], len(outcomes), starts.size))
    step = max(1, 4_000_000 // block.size)
    for first in range(0, len(outcomes), step):
        acted = outcomes[first : first + step, order]
        for a, values in enumerate(ordered):
            found[a, first : first + step] = np.add.reduceat(np.where(acted, values, 0.0), starts, axis=1)
    return found


class MeanLoss:
    """Models as sums over blocks of records, whose loss is a mean over records: what their mistakes cost.

    See `blocks` for `block`; `paid` is what each model costs per record besides, for features.
    """

    def __init__(self, outcomes: Bools, positive: Bools, costs: Costs, block: Ints, paid: Floats | float = 0.0) -> None:
        fp, fn = costs.arrays(positive.size)
        saved = np.where(positive, fn, -fp)[:, None]  # by acting on a record
        # Single precision is enough for the sums of blocks, and twice as fast.
        self._saved = block_sums(outcomes, saved, block)[0].astype(np.float32)
        self._none = np.bincount(block, weights=np.where(positive, fn, 0.0))
        self._size = np.bincount(block).astype(np.float64)
        self._paid = paid
        self.n_blocks = self._size.size

    def losses(self, times: Floats) -> Floats:
        """Return the loss of each model when each block is counted so many times: less is better.

        From shape (n_draws, n_blocks) to (n_draws, n_models).
        """
        saved = (times.astype(np.float32) @ self._saved.T).astype(np.float64)
        return ((times @ self._none)[:, None] - saved) / (times @ self._size)[:, None] + self._paid


class AnyLoss:
    """Models whose loss is any function of `Sums`, made of `stakes.measures.amounts`; `paid` as in `MeanLoss`."""

    def __init__(
        self,
        outcomes: Bools,
        amount: Floats,
        block: Ints,
        loss: Callable[[Sums], Floats],
        paid: Floats | float = 0.0,
    ) -> None:
        self._acted = block_sums(outcomes, amount, block)
        self._everyone = block_sums(np.ones((1, block.size), np.bool_), amount, block)[:, 0]
        self._loss = loss
        self._paid = paid
        self.n_blocks = self._everyone.shape[1]

    def losses(self, times: Floats) -> Floats:
        """Return the losses; see `MeanLoss`."""
        acted = np.stack([times @ amount.T for amount in self._acted], axis=-1)
        everyone = times @ self._everyone.T
        sums = (Sums.of(a, e) for a, e in zip(acted, everyone, strict=True))
        return np.array([self._loss(s._replace(paid=(s.positives + s.negatives) * self._paid)) for s in sums])


@dataclass(frozen=True)
class Bootstrap:
    """Losses of all candidates: on all records, on records drawn with replacement, and on those left out of a draw."""

    all: Floats  # (n_models,)
    drawn: Floats  # (n_draws, n_models)
    left_out: Floats

    @classmethod
    def of(cls, candidates: MeanLoss | AnyLoss, rng: np.random.Generator, n_draws: int = DRAWS) -> Bootstrap:
        """Draw blocks with replacement, again and again."""
        n = candidates.n_blocks
        times = rng.multinomial(n, np.full(n, 1.0 / n), size=n_draws).astype(np.float64)
        return cls(
            candidates.losses(np.ones((1, n)))[0],
            candidates.losses(times),
            candidates.losses((times == 0).astype(np.float64)),
        )

    def noise(self, j: int) -> Floats:
        """Return the standard error of the difference between each candidate and candidate `j`."""
        return np.std(self.drawn - self.drawn[:, [j]], axis=0, ddof=1)

    def difference(self, i: int, j: int) -> tuple[float, float, float]:
        """Return by how much the loss of `i` is above that of `j`, and the 90% interval of this."""
        low, high = np.quantile(self.drawn[:, i] - self.drawn[:, j], TAILS)
        return float(self.all[i] - self.all[j]), float(low), float(high)


class Choice(NamedTuple):
    """The recommended candidate, and what to expect of it."""

    chosen: int
    best: int  # the one with the least loss on the out-of-fold records
    follower: int | None  # the one with the least loss among those that follow costs
    expected: float  # the loss of the recommended one on new records, corrected for having been chosen
    low: float  # of its 90% interval
    high: float
    optimism: float  # how much less than expected its out-of-fold loss is


@dataclass(frozen=True, eq=False)
class Rule:
    """How to choose, on any records: on all of them, and in the same way on those that the bootstrap draws.

    The best of thousands on some records is partly lucky, and costs more on others than models that were not picked.
    So the choice starts from a *reference*, a blend of all models. A *rival*, one of the few plain models that most
    people would use, is taken in its place where it is no worse. Any other candidate has to be better than that beyond
    noise, and one that follows costs is preferred.

    Without a reference the choice is the best candidate that follows costs, unless another one is better beyond noise;
    and in its place the simplest one that is as good within noise.
    """

    bootstrap: Bootstrap
    follows: Bools  # which candidates follow costs: their decisions change with the costs of the day
    complexity: Ints  # of candidates: less is simpler
    reference: int | None = None  # the candidate to start from
    rivals: Bools | bool = False  # which candidates are rivals

    @cached_property
    def _noise(self) -> Callable[[int], Floats]:
        return cache(self.bootstrap.noise)

    def choose(self, loss: Floats, *, drawn: bool = False) -> int:
        """Return the candidate to recommend, given the losses of all.

        Losses on records that were `drawn` from a sample have the noise of the draw besides that of the sample: twice
        the variance.
        """
        if self.reference is None:
            return self._simplest(loss)
        return self._from_reference(loss, self.reference, BEYOND * (np.sqrt(2.0) if drawn else 1.0))

    def _from_reference(self, loss: Floats, start: int, beyond: float) -> int:
        no_worse = np.flatnonzero(self.rivals & (loss <= loss[start]))
        if no_worse.size:
            start = int(no_worse[np.argmin(loss[no_worse])])
        better = loss < loss[start] - beyond * self._noise(start)
        for which in (better & self.follows, better):
            if which.any():
                return int(np.argmin(np.where(which, loss, np.inf)))
        return start

    def _simplest(self, loss: Floats) -> int:
        best, allowed = int(np.argmin(loss)), np.ones(loss.size, np.bool_)
        follower = self.follower(loss)
        if follower is not None and loss[follower] - loss[best] <= BEYOND * self._noise(best)[follower]:
            best, allowed = follower, self.follows
        margin = np.minimum(WITHIN * self._noise(best), AT_MOST * abs(loss[best]))
        near = np.flatnonzero(allowed & (loss - loss[best] <= margin))
        return int(near[np.lexsort((loss[near], self.complexity[near]))[0]])

    def follower(self, loss: Floats) -> int | None:
        """Return the best of the candidates that follow costs; None if there is none."""
        return int(np.argmin(np.where(self.follows, loss, np.inf))) if self.follows.any() else None


def choose(bootstrap: Bootstrap, rule: Rule) -> Choice:
    """Choose a candidate, and estimate its loss on new records.

    The estimate is the mean, over all draws, of the loss on the records left out of the candidate that the same rule
    chooses on the records drawn. The interval carries two sources of noise: that of the records, by the spread of the
    recommended candidate's loss over the draws; and that of the choice, by how the loss of the candidate chosen
    differs from draw to draw.
    """
    chosen = rule.choose(bootstrap.all)
    picked = np.array([rule.choose(loss, drawn=True) for loss in bootstrap.drawn])
    each = np.arange(picked.size)
    expected = float(bootstrap.left_out[each, picked].mean())
    spread = bootstrap.drawn[:, chosen] - bootstrap.drawn[:, chosen].mean()
    of_choice = bootstrap.all[picked] - bootstrap.all[picked].mean()
    low, high = expected + np.quantile(spread + of_choice, TAILS)
    best, follower = int(np.argmin(bootstrap.all)), rule.follower(bootstrap.all)
    optimism = expected - float(bootstrap.all[chosen])
    return Choice(chosen, best, follower, expected, float(low), float(high), optimism)


def upper_bound(count: float, n: int) -> float:
    """Return the rate that is not exceeded with 95% confidence, when it was met `count` times of `n` (exact)."""
    return 1.0 if count >= n else float(beta.ppf(CONFIDENCE, count + 1, n - count))


def allowed_share(limit: float, n: int) -> float:
    """Return the largest share of `n` records by which a limit still holds on new records with 95% confidence."""
    if limit >= 1:
        return 1.0
    # Where the rate is the limit, so many or fewer are met with a chance of more than 5%: one too many.
    too_many = int(binom.ppf(1 - CONFIDENCE, n, limit))
    return max(0, too_many - 1) / n
