"""The data of a study: records with their classes and what mistakes cost, and how they are divided."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from stakes._typing import Bools, Indices, Ints
from stakes.costs import Costs
from stakes.exceptions import StudyError
from stakes.pool import Pool
from stakes.study.after import AfterCosts
from stakes.study.folds import Folds, cut_in_time, divide, forward_folds, random_folds
from stakes.table import table_of
from stakes.tree.binning import Binned, Binning

__all__ = ["StudyData", "Training"]

T = TypeVar("T")

# Streams of random numbers that are drawn from one seed.
TEST, FOLDS = 1, 2


@dataclass(frozen=True, eq=False)
class Training:
    """What models of large data are trained on: a sample of records in memory, and all others on disk."""

    folder: Path
    frame: pl.DataFrame
    positive: Bools
    costs: Costs | None
    digest: str  # of all data
    n_records: int  # in all parts
    n_positive: int

    @property
    def pool(self) -> Pool:
        """All records that are neither in memory nor judge models."""
        return Pool.open(self.folder)


@dataclass(frozen=True, eq=False)
class StudyData:
    """Records to study, with what mistakes cost.

    Attributes
    ----------
    name : str
        The name of the file.
    frame : polars.DataFrame
        The features.
    positive : ndarray of shape (n_records,)
        Whether each record is positive.
    classes : tuple of str
        How the negative and the positive class are called.
    costs : Costs or None
        What mistakes cost; None where the study is about class imbalance alone.
    test_rows : ndarray of row numbers, or None
        The test records, where they are given.
    test_fraction : float
        The share of the records to test on, where they are drawn.
    info : dict
        What was asked for, as plain data: enough to decide on new records.
    groups : ndarray of shape (n_records,) or None
        Records with the same number (those of one customer) are never divided between learning and judging.
    time : ndarray of shape (n_records,) or None
        The order of the records in time: what is judged is then later than what was learnt from.
    file_labels : tuple or None
        The negative and the positive class as values of the target, where these are not texts.
    known_costs : Costs or None
        What is known of the costs when a decision is due, where that is not what mistakes turn out to cost.
    after : AfterCosts or None
        Costs by columns that are known only after the decision, which the study estimates; `costs` then has the mean
        cost where the true one is not known.
    allow : tuple of str
        Columns, or "fp_cost" and "fn_cost", that may give the class away: they are known when deciding.
    training : Training or None
        Where there are more records than memory has room for, those that models are trained on: all others judge.

    Examples
    --------
    From a file by `load_data`. From memory:

    >>> from stakes.datasets import make_churn
    >>> from stakes.study import StudyData
    >>> made = make_churn(1000, random_state=0)
    >>> data = StudyData(
    ...     name="churn",
    ...     frame=made.frame,
    ...     positive=made.target == 1,
    ...     classes=("stays", "leaves"),
    ...     costs=made.costs,
    ...     test_rows=None,
    ...     test_fraction=0.2,
    ...     info={},
    ... )
    >>> learning, test = data.split(seed=0)
    >>> learning.size, test.size
    (800, 200)
    >>> [data.folds(5, repeat=0, seed=0).judged(k).size for k in range(5)]
    [160, 160, 160, 160, 160]
    """

    name: str
    frame: pl.DataFrame
    positive: Bools
    classes: tuple[str, str]
    costs: Costs | None
    test_rows: Indices | None
    test_fraction: float
    info: dict[str, Any]
    groups: Ints | None = None
    time: Ints | None = None
    file_labels: tuple[Any, Any] | None = None
    known_costs: Costs | None = None
    after: AfterCosts | None = None
    allow: tuple[str, ...] = ()
    training: Training | None = None

    def __reduce__(self) -> Any:
        if self.training is None:
            return super().__reduce__()
        from stakes.study.large import opened  # which makes such data

        return opened, (str(self.training.folder),)  # they are on disk already: other processes open them there

    @property
    def n_records(self) -> int:
        """How many records there are, with those that are only trained on."""
        return len(self) if self.training is None else self.training.n_records

    @property
    def n_positive(self) -> int:
        """How many of them are positive."""
        return int(self.positive.sum()) if self.training is None else self.training.n_positive

    @property
    def labels(self) -> tuple[Any, Any]:
        """The negative and the positive class as in the file: numbers, truth values or texts."""
        return self.classes if self.file_labels is None else self.file_labels

    def __len__(self) -> int:
        return self.positive.size

    @cached_property
    def _made(self) -> dict[Any, Any]:
        """What was made when it was asked for: a study asks for the same folds, bins and costs again and again."""
        return {}

    def _once(self, make: Callable[..., T], *asked: Any) -> T:
        """Return what is made of what is asked for, which is made the first time."""
        key = make.__name__, *asked
        if key not in self._made:
            self._made[key] = make(*asked)
        found: T = self._made[key]
        return found

    def split(self, seed: int) -> tuple[Indices, Indices]:
        """Return the rows to learn from, and the rows to test on.

        Parameters
        ----------
        seed : int
            Another seed draws other records, where they are drawn.
        """
        return self._once(self._split, seed)

    def _split(self, seed: int) -> tuple[Indices, Indices]:
        is_test = np.zeros(len(self), np.bool_)
        if self.test_rows is not None:
            is_test[self.test_rows] = True
        elif self.time is not None:
            is_test = cut_in_time(self.time, self.test_fraction)
        else:
            shares = [1.0 - self.test_fraction, self.test_fraction]
            is_test = divide(self.positive, shares, np.random.default_rng([seed, TEST]), self.groups) == 1
        learns = ~is_test
        if self.groups is not None:
            learns &= ~np.isin(self.groups, self.groups[is_test])
        for part, which in (("to learn from", learns), ("to test on", is_test)):
            self._check_classes(which, part)
        return np.flatnonzero(learns), np.flatnonzero(is_test)

    def folds(self, n_folds: int, *, repeat: int, seed: int) -> Folds:
        """Return the folds of the learning records, which are numbered as in ``split(seed)[0]``.

        Parameters
        ----------
        n_folds : int
        repeat : int
            Which repetition: each has other folds, unless they go by time.
        seed : int
        """
        return self._once(self._folds, n_folds, repeat, seed)

    def check_divisible(self, n_folds: int, *, seed: int) -> None:
        """Raise an error if the test records, or a fold, would lack a class; parameters as in `folds`."""
        self.folds(n_folds, repeat=0, seed=seed)

    def _folds(self, n_folds: int, repeat: int, seed: int) -> Folds:
        rows, _ = self.split(seed)
        positive = self.positive[rows]
        if self.time is not None:
            folds = forward_folds(self.time[rows], n_folds)
        else:
            groups = None if self.groups is None else self.groups[rows]
            folds = random_folds(positive, n_folds, np.random.default_rng([seed, FOLDS, repeat]), groups)
        for k in range(len(folds)):
            for part, which in (("judged", folds.judged(k)), ("trained on", folds.trained(k))):
                self._check_classes(rows[which], f"{part} in fold {k + 1} of {len(folds)}")
        if len(folds) < 2:
            raise StudyError(f"{self.name}: there are too few different times for folds: leave out --time")
        return folds

    def binned(self, seed: int) -> Binned:
        """Return all records in bins, which are found on those that are trained on and see no class.

        Parameters
        ----------
        seed : int
            That of `split`.
        """
        return self._once(self._binned, seed)

    def _binned(self, seed: int) -> Binned:
        trained_on = self.frame[self.split(seed)[0]] if self.training is None else self.training.frame
        return Binned.of(self.frame, Binning().fit(table_of(trained_on)))

    def costs_by_fold(self, n_folds: int, *, repeat: int, seed: int) -> tuple[Costs, Costs | None]:
        """Return what mistakes cost, and what is known of that when deciding, which may be estimated in the folds.

        Parameters are those of `folds`. Where there are no costs, all mistakes are alike.
        """
        if self.after is None:
            return self.costs or Costs(fp=1.0, fn=1.0), self.known_costs
        return self._once(self._foreseen_costs, n_folds, repeat, seed)

    def _foreseen_costs(self, n_folds: int, repeat: int, seed: int) -> tuple[Costs, Costs]:
        assert self.after is not None
        learning, _ = self.split(seed)
        return self.after.costs(self.frame, learning, self.folds(n_folds, repeat=repeat, seed=seed))

    def _check_classes(self, rows: Any, part: str) -> None:
        found = self.positive[rows]
        if found.any() and not found.all():
            return
        n = int(self.positive.sum())
        why = f"the records {part} are of one class only" if found.size else f"there are no records {part}"
        raise StudyError(
            f"{self.name}: {why}: of {len(self):,} records {n:,} are {self.classes[1]!r}, and some of both classes are "
            "needed in every part; give more records, fewer --folds, or another --test"
        )

    def fingerprint(self) -> str:
        """Return a digest of everything that results depend on."""
        return self._once(self._digest)

    def _digest(self) -> str:
        if self.training is not None:
            return self.training.digest
        digest = hashlib.sha256(repr((self.classes, self.test_fraction)).encode())
        for column in (*self.frame.iter_columns(), *(() if self.after is None else self.after.frame.iter_columns())):
            digest.update(repr((column.name, column.dtype)).encode())
            _add_values(digest, column)
        costs = [part for c in (self.costs, self.known_costs) for part in ((None, None) if c is None else (c.fp, c.fn))]
        for array in (self.positive, *costs, self.test_rows, self.groups, self.time):
            digest.update(b"none" if array is None else np.asarray(array).tobytes())
            digest.update(b";")
        return digest.hexdigest()


def _add_values(digest: Any, column: pl.Series) -> None:
    """Add the values of a column to a digest, as they are and not as polars happens to keep them."""
    digest.update(column.is_null().to_numpy().tobytes())
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        texts = column.fill_null("")
        digest.update(texts.str.len_bytes().to_numpy().tobytes())
        digest.update(texts.str.join("")[0].encode())
    else:
        digest.update(column.to_physical().fill_null(strategy="zero").to_numpy().tobytes())
