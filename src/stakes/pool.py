"""Bagging on more records than fit into memory: each member's sample is gathered from bins on disk."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._member_classifier import ValidationRecords
from stakes._random import generator
from stakes._typing import Bytes, Floats
from stakes.bagging import CostBaggingClassifier, given_away
from stakes.costs import Costs
from stakes.exceptions import SamplingError
from stakes.records import Records
from stakes.sampling.base import MemberSampler, Sample
from stakes.sampling.draws import Draws
from stakes.sampling.ratio import RatioSampler
from stakes.sampling.registry import make_sampler
from stakes.sampling.rejection import CPRSampler

__all__ = ["Pool", "PoolWriter", "draws_from_pool", "fit_pool"]

ABOUT, BINS, POSITIVE = "pool.json", "bins.u1", "positive.u1"
COSTS = {"fp": "fp_cost.f8", "fn": "fn_cost.f8"}
# Records of a member's sample; and records that it is drawn from, where that makes few of many, such as under-sampling.
SAMPLE, DRAWN = 1 << 18, 1 << 22
# Records that are summed up at a time.
BLOCK = 1 << 22

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pool:
    """Binned records on disk, with their classes and costs, that the samples of members are drawn from.

    The arrays are memory maps: processes on a machine share them, and what is sent to another process is the name of
    the folder.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from stakes.pool import Pool, PoolWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with PoolWriter(folder) as writer:
    ...         for first in (0, 3):
    ...             bins = np.arange(first, first + 3, dtype=np.uint8)[:, None]
    ...             writer.add(bins, np.array([False, False, True]), 1.0, np.array([2.0, 3.0, 4.0]))
    ...     pool = Pool.open(folder)
    ...     taken = pool.take(np.array([5, 0]))
    ...     means = pool.class_means
    >>> len(pool), taken.X.tolist(), taken.costs.fn.tolist(), means
    (6, [[5], [0]], [4.0, 2.0], Costs(fp=1, fn=4))
    """

    folder: Path
    bins: Bytes
    positive: NDArray[np.bool_]
    fp: float | Floats
    fn: float | Floats

    @classmethod
    def open(cls, folder: str | Path) -> Pool:
        """Return the records that were written to a folder."""
        folder = Path(folder)
        about = json.loads((folder / ABOUT).read_text())
        n, width = about["n_records"], about["width"]

        def array(name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
            return np.memmap(folder / name, dtype, "r", shape=shape) if n else np.empty(shape, dtype)

        fp, fn = (array(COSTS[side], "<f8", (n,)) if about[side] is None else about[side] for side in COSTS)
        return cls(folder, array(BINS, np.uint8, (n, width)), array(POSITIVE, np.bool_, (n,)), fp, fn)

    def __reduce__(self) -> Any:
        constant = {side: cost for side, cost in (("fp", self.fp), ("fn", self.fn)) if isinstance(cost, float)}
        return _reopened, (str(self.folder), constant)

    def __len__(self) -> int:
        return self.positive.size

    def with_costs(self, costs: Costs) -> Pool:
        """Return the same records with a pair of costs that is the same for all."""
        return replace(self, fp=float(costs.fp), fn=float(costs.fn))

    def costs(self, rows: Rows | slice) -> Costs:
        """Return the costs of some of the records."""
        fp, fn = (cost if isinstance(cost, float) else np.asarray(cost[rows]) for cost in (self.fp, self.fn))
        return Costs._of(fp, fn)

    def take(self, rows: Rows) -> Records:
        """Return some of the records, next to each other in memory."""
        return Records(np.asarray(self.bins[rows]), np.asarray(self.positive[rows]), self.costs(rows))

    @cached_property
    def _sums(self) -> Floats:
        """The number of negatives and of positives, and the sums of their costs."""
        sums = np.zeros((2, 2))
        for first in range(0, len(self), BLOCK):
            part = slice(first, first + BLOCK)
            positive, costs = np.asarray(self.positive[part]), self.costs(part)
            fp, fn = costs.arrays(positive.size)
            sums += [
                [np.count_nonzero(~positive), np.count_nonzero(positive)],
                [fp[~positive].sum(), fn[positive].sum()],
            ]
        return sums

    @property
    def base_rate(self) -> float:
        """The share of positives."""
        return float(self._sums[0, 1] / len(self))

    @property
    def class_means(self) -> Costs:
        """The mean cost of missing a positive, and of acting on a negative."""
        if isinstance(self.fp, float) and isinstance(self.fn, float):
            return Costs(fp=self.fp, fn=self.fn)
        fp, fn = self._sums[1] / np.maximum(self._sums[0], 1.0)
        return Costs(fp=fp, fn=fn)


def _reopened(folder: str, constant: dict[str, float]) -> Pool:
    return replace(Pool.open(folder), **constant)  # type: ignore[arg-type]


class PoolWriter:
    """Writes binned records to a folder, some at a time."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.n_records = 0
        self.width = 0
        self._constant: dict[str, float | None] = {}

    def __enter__(self) -> PoolWriter:
        with ExitStack() as files:
            names = (BINS, POSITIVE, *COSTS.values())
            self._files = {name: files.enter_context(open(self.folder / name, "wb")) for name in names}
            self._close = files.pop_all().close
        return self

    def add(self, bins: Bytes, positive: NDArray[np.bool_], fp: float | Floats, fn: float | Floats) -> None:
        """Add some records."""
        self.width = bins.shape[1]
        self.n_records += positive.size
        self._files[BINS].write(np.ascontiguousarray(bins).data)
        self._files[POSITIVE].write(np.ascontiguousarray(positive).data)
        for side, cost in (("fp", fp), ("fn", fn)):
            self._constant[side] = float(cost) if np.ndim(cost) == 0 else None
            if np.ndim(cost):
                self._files[COSTS[side]].write(np.ascontiguousarray(cost, dtype="<f8").data)

    def __exit__(self, kind: Any, *_: object) -> None:
        self._close()
        if kind is None:
            about = {"n_records": self.n_records, "width": self.width, "fp": 0.0, "fn": 0.0, **self._constant}
            (self.folder / ABOUT).write_text(json.dumps(about))


def draws_from_pool(classifier: Any) -> bool:
    """Return whether the members of a classifier are trees, whose samples need no features to be drawn."""
    if not isinstance(classifier, CostBaggingClassifier) or classifier._tree is None:
        return False
    if classifier._class_weight is not None:  # by the shares of classes in all records
        return False
    if classifier.sampling is None:
        return True
    sampler = make_sampler(classifier.sampling, classes=np.array([0, 1]))
    return isinstance(sampler, CPRSampler | RatioSampler) and sampler.grows_by != "neighbours"


def fit_pool(classifier: CostBaggingClassifier, pool: Pool, validation: Records) -> CostBaggingClassifier:
    """Train bagging on records on disk.

    Each member is trained on a sample of its own, drawn as the classifier says: from all records where these are few,
    and otherwise from so many of them, drawn at random with replacement, that the sample has about 262,144. A pool of
    few records gives the members that `fit` makes of them in memory. Samplers that know constant costs only go by the
    means of the classes.

    Parameters
    ----------
    classifier : CostBaggingClassifier
        Of trees, with samples that are drawn by class and cost.
    pool : Pool
        Training records, binned as the validation records.
    validation : Records
        Other records, with features as `Binned`: what decisions choose about members is chosen on them, as on
        out-of-bag records.

    Returns
    -------
    classifier
        The same, fitted.
    """
    classifier._check_parameters()
    if not draws_from_pool(classifier):
        raise SamplingError(
            "samples are drawn from disk for trees only, and by class and cost: choose another sampling"
        )
    rng = generator(classifier.random_state)
    X, costs = validation.X, validation.costs
    classifier._encode(validation.positive.astype(np.int64))
    bins = classifier._read(X, reset=True)
    given: dict[str, Any] = {"fp_cost": costs.fp, "fn_cost": costs.fn, "tp_cost": None, "tn_cost": None}
    classifier._learn_costs(X, len(validation), given, rng)
    classifier.validation_ = ValidationRecords(validation.with_features(bins))
    sampler = classifier._sampler()
    if sampler.constant_costs_only:
        pool, costs = pool.with_costs(pool.class_means), pool.class_means
    classifier._seed = int(rng.integers(2**63))
    first, *seeds = classifier._seeds()
    changes = sampler.changes(validation.positive, costs)
    presample = classifier.presample or not changes
    n_drawn = _n_drawn(sampler, validation.positive, costs, len(pool))
    made = classifier._run(partial(_grow, classifier._maker(), pool, sampler, presample, n_drawn, first), seeds)
    sizes = n_drawn * np.array([1.0 - pool.base_rate, pool.base_rate])
    classifier._set_trees(given_away(made), pool.base_rate, sizes, sampler.grows_by if changes else "")
    classifier._last_fit = classifier.background_ = classifier._also_unseen = None
    classifier._decide_by(classifier.decision)
    return classifier


def _n_drawn(sampler: MemberSampler, positive: NDArray[np.bool_], costs: Costs, n: int) -> int:
    """Return from how many of `n` records like these to draw a sample, so that there are about `SAMPLE` in it."""
    counts = sampler.counts(positive.astype(np.int64), costs, np.random.default_rng(0))
    n_kept = max(1, int(np.count_nonzero(counts)))
    return min(n, DRAWN, SAMPLE * positive.size // n_kept)


def _grow(
    maker: CostBaggingClassifier,
    pool: Pool,
    sampler: MemberSampler,
    presample: bool,
    n_drawn: int,
    first: Any,
    seed: Any,
) -> Any:
    """Return a tree, grown on a sample that was drawn from the pool."""
    rng = np.random.default_rng(seed)
    n = len(pool)
    # In their order: neighbours on disk are read together.
    rows = np.arange(n) if n_drawn >= n else np.sort(rng.integers(n, size=n_drawn))
    records = Records(pool.bins, np.asarray(pool.positive[rows]), pool.costs(rows))
    drawn = Draws(sampler, records, np.random.default_rng(first), 1, presample=presample).draw(rng)
    kept = np.flatnonzero(drawn.counts)
    learner = maker._tree_learner(pool.take(rows[kept]))
    return maker._fit_member(learner, Sample(drawn.counts[kept]), rng, maker._draw_features(rng))
