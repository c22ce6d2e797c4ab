"""Any other imbalanced-learn sampler, as a sampler for the ensembles."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from stakes._random import seeded
from stakes._rows import as_table, is_sparse, take_rows
from stakes.costs import Costs
from stakes.exceptions import SamplingError
from stakes.sampling.base import Counts, MemberSampler, Sample

__all__ = ["ForeignSampler"]


class ForeignSampler(MemberSampler):
    """Adapt an object with imbalanced-learn's `fit_resample` to the ensembles.

    A clone of it is seeded and fitted for every draw. Costs are not passed on to it. Where it says which records it
    took (``sample_indices_``), the sample is a vector of multiplicities; where it does not, its records are
    looked up among the originals, and those that are not found are synthetic.

    Parameters
    ----------
    sampler : object with fit_resample
        Never changed itself.
    classes : array-like of two labels, default=(0, 1)
        The negative and the positive label that `sampler` is to see, for one whose parameters name them.

    Examples
    --------
    >>> import numpy as np
    >>> from imblearn.under_sampling import RandomUnderSampler
    >>> from stakes import Costs
    >>> from stakes.sampling import ForeignSampler
    >>> X, y = np.arange(6).reshape(6, 1), np.array([0, 0, 0, 0, 1, 1])
    >>> sampler = ForeignSampler(RandomUnderSampler())
    >>> counts = sampler.counts(y, Costs(fp=1, fn=1), np.random.default_rng(0), X)
    >>> counts[y == 0].sum(), counts[y == 1].sum()
    (np.int64(2), np.int64(2))
    """

    uses_costs = False
    repeats_records = True  # for all that is known of it

    def __init__(self, sampler: Any, classes: ArrayLike = (0, 1)) -> None:
        self.sampler = sampler
        self.classes = np.asarray(classes)

    def counts(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Counts:
        """Draw how often each original record occurs. See :meth:`MemberSampler.counts`."""
        return self.draw(y, costs, rng, X).counts

    def draw(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Sample:
        """Draw a whole sample: the original records in it, and synthetic ones if there are any."""
        if X is None:
            raise SamplingError(f"{type(self.sampler).__name__} samples by the features, and X was not given")
        sampler = seeded(self.sampler, rng, overrule=True)
        try:
            X_res, labels = sampler.fit_resample(X, self.classes[np.asarray(y, dtype=np.intp)])
        except TypeError as error:  # most of them know arrays and pandas frames only
            kind = f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"
            raise SamplingError(
                f"{type(self.sampler).__name__} cannot sample a {kind} ({error}): give an array or a pandas frame"
            ) from error
        y_res = (np.asarray(labels) == self.classes[1]).astype(np.int64)
        sample = _by_number(sampler, y.size) or _by_content(X, y, X_res, y_res)
        if y_res.all() or not y_res.any():
            raise SamplingError(f"{type(self.sampler).__name__} left one class only: change its parameters")
        return sample


def _by_number(sampler: Any, n: int) -> Sample | None:
    """Return the sample by ``sample_indices_``, or None if the sampler does not have them.

    A smoothed bootstrap (`shrinkage`) has them too, but moves the records that it numbers.
    """
    rows = getattr(sampler, "sample_indices_", None)
    if rows is None or getattr(sampler, "shrinkage", None) is not None:
        return None
    return Sample(np.bincount(rows, minlength=n))


def _by_content(X: Any, y: NDArray[Any], X_res: Any, y_res: NDArray[np.int64]) -> Sample:
    """Return the sample by looking up each of its records among the originals."""
    unused: dict[Hashable, list[int]] = {}
    for row, record in reversed(list(enumerate(_records(X, y)))):
        unused.setdefault(record, []).append(row)
    counts = np.zeros(y.size, dtype=np.int64)
    new = []
    for row, record in enumerate(_records(X_res, y_res)):
        twins = unused.get(record)
        if twins is None:
            new.append(row)
        else:  # among equal records take one after the other, then the last again and again
            counts[twins.pop() if len(twins) > 1 else twins[0]] += 1
    rows = np.array(new, dtype=np.intp)
    return Sample(counts, take_rows(X_res, rows), y_res[rows])


def _records(X: Any, y: NDArray[Any]) -> list[Hashable]:
    table = as_table(X)
    if isinstance(table, nw.DataFrame):
        rows: list[Any] = table.rows()
    else:
        rows = [tuple(row) for row in (table.toarray() if is_sparse(table) else table).tolist()]
    return list(zip(rows, y.tolist(), strict=True))
