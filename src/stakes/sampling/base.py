"""What a sampler is: to an ensemble a draw of multiplicities, to a pipeline `fit_resample` (FRAMEWORK 3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from imblearn.base import BaseSampler
from imblearn.utils import check_target_type
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from stakes._random import generator
from stakes._rows import append_rows, fresh_index, take_rows
from stakes._warn import warn
from stakes.costs import Costs
from stakes.exceptions import ClassMeansWarning, CostsError, SamplingError
from stakes.sampling.rows import drawn_rows

__all__ = ["CostSampler", "Counts", "MemberSampler", "Sample", "split_classes", "with_class_means"]

Counts = NDArray[np.int64]

# A sample is counted in 32 bits by the trees; a larger one could not be held in memory as rows either.
MAX_RECORDS = 2**31 - 1


@dataclass(frozen=True)
class Sample:
    """What a member of an ensemble is trained on.

    Attributes
    ----------
    counts : ndarray of shape (n_records,), dtype=int64
        How often each original record occurs; no row is copied.
    X_new : array-like, sparse matrix or data frame, or None
        Synthetic records to add, in the container of the original ones.
    y_new : ndarray of shape (n_new,), or None
        Their classes, 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import Costs
    >>> from stakes.sampling import OverSampler
    >>> sample = OverSampler().draw(np.array([0, 0, 0, 1]), Costs(fp=1, fn=5), np.random.default_rng(0))
    >>> sample.counts
    array([1, 1, 1, 5])
    """

    counts: Counts
    X_new: Any = None
    y_new: NDArray[np.int64] | None = None

    @property
    def n_new(self) -> int:
        """How many synthetic records there are."""
        return 0 if self.y_new is None else self.y_new.size


class MemberSampler(ABC):
    """What an ensemble asks of a sampler.

    To add a sampler, write `counts` (and `draw` only if the sample has records that are not in the training
    set). Derive from :class:`CostSampler` to get imbalanced-learn's interface with it, and add a row to
    ``stakes.sampling.SAMPLERS`` to give it a name.

    Examples
    --------
    A sampler that keeps all positives, and every other negative:

    >>> import numpy as np
    >>> from stakes import Costs, CostBaggingClassifier
    >>> from stakes.sampling import MemberSampler
    >>> class EveryOther(MemberSampler):
    ...     uses_costs = False
    ...
    ...     def counts(self, y, costs, rng, X=None):
    ...         return np.where(y == 1, 1, (np.cumsum(y == 0) % 2)).astype(np.int64)
    >>> EveryOther().counts(np.array([0, 0, 1, 0]), Costs(fp=1, fn=5), np.random.default_rng(0))
    array([1, 0, 1, 1])
    >>> bagging = CostBaggingClassifier(n_estimators=3, sampling=EveryOther(), random_state=0)
    """

    #: Whether record-dependent costs are reduced to class means. `counts` does so silently: the caller warns once.
    constant_costs_only: bool = False
    #: Whether the costs change the sample. Where they do not, they still have to act later.
    uses_costs: bool = True
    #: Whether a sample lacks records of both classes as a rule, on which its member can then be judged (out-of-bag).
    leaves_records_out: bool = False
    #: Whether one class is repeated so often that a bootstrap of the sample has nearly all of it: what it lacks is then
    #: no fair sample of the records.
    repeats_records: bool = False
    #: What a class grows by, "copies" or "neighbours" (synthetic records); "" if by neither. Leaves of copies are as
    #: pure as the record, and those of neighbours nearly so: see `stakes.tree.leaves.SMOOTHED`.
    grows_by: str = ""

    @abstractmethod
    def counts(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Counts:
        """Draw how often each record occurs in the sample.

        Parameters
        ----------
        y : ndarray of shape (n_records,)
            Classes, 0 or 1.
        costs : Costs
            The costs of these records.
        rng : numpy.random.Generator
            The only source of randomness.
        X : array-like, sparse matrix or data frame of shape (n_records, n_features), default=None
            Looked at only by samplers that go by the features.

        Returns
        -------
        ndarray of shape (n_records,), dtype=int64
        """

    def draw(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> Sample:
        """Draw a whole sample: the multiplicities of `counts` and, for some samplers, synthetic records."""
        return Sample(self.counts(y, costs, rng, X))

    def changes(self, y: NDArray[Any], costs: Costs) -> bool:
        """Return whether a sample of these records can differ from them; if not, all draws are alike."""
        return True

    def prepare(
        self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, n_draws: int, X: Any = None
    ) -> MemberSampler:
        """Do once what many draws from the same records share, and return the sampler to draw with."""
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class CostSampler(MemberSampler, BaseSampler):
    """Base of the cost-sensitive samplers: imbalanced-learn's `fit_resample` around `draw`.

    Parameters
    ----------
    fp_cost, fn_cost : float, default=1
        Constant costs, used where `fit_resample` is not given any. Record-dependent ones go to `fit_resample`.
    pos_label : label, default=None
        The positive class; the larger of the two labels by default. With more than two labels in `y` it must be
        given, and is set against all others.
    random_state : int, RandomState, Generator or None, default=None
        Seed of `fit_resample`. None takes fresh entropy; the global random state is never used.

    Examples
    --------
    A sampler of one's own, for trees and for pipelines: the dearest half of the records.

    >>> import numpy as np
    >>> from stakes.sampling import CostSampler
    >>> class DearestHalf(CostSampler):
    ...     def counts(self, y, costs, rng, X=None):
    ...         cost = costs.of(y)
    ...         return (cost >= np.median(cost)).astype(np.int64)
    >>> sampler = DearestHalf()
    >>> X_res, y_res = sampler.fit_resample(np.arange(4).reshape(4, 1), [0, 1, 0, 1], fp_cost=2, fn_cost=[9, 1, 9, 8])
    >>> sampler.sample_indices_
    array([0, 2, 3])
    """

    # imbalanced-learn's ensembles then leave the class sizes to the sampler.
    _sampling_type = "bypass"
    # Costs passed through a pipeline are meant for the sampler unless it is told otherwise.
    __metadata_request__fit_resample = {"fp_cost": True, "fn_cost": True, "tp_cost": True, "tn_cost": True}  # noqa: RUF012

    fp_cost: float = 1.0
    fn_cost: float = 1.0
    pos_label: Any = None
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> CostSampler:
        """Check the records; use `fit_resample` to sample them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_records, n_features)
            Features.
        y : array-like of shape (n_records,)
            Labels.

        Returns
        -------
        self
        """
        self._check(X, y)
        return self

    def fit_resample(
        self,
        X: Any,
        y: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike = 0.0,
        tn_cost: ArrayLike = 0.0,
    ) -> tuple[Any, Any]:
        """Return a cost-sensitive sample of the records, in the containers they came in.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_records, n_features)
            Features.
        y : array-like of shape (n_records,)
            Labels.
        fp_cost, fn_cost : float or array-like of shape (n_records,), default=None
            Costs of a false positive and of a false negative; those of the constructor by default.
        tp_cost, tn_cost : float or array-like of shape (n_records,), default=0
            Costs of a true positive and of a true negative.

        Returns
        -------
        X_resampled, y_resampled
            The sample. ``sample_indices_`` holds the row number of each of its original records.
        """
        labels, positive = self._check(X, y)
        costs = self._costs(fp_cost, fn_cost, tp_cost, tn_cost).for_records(labels.size)
        if self.constant_costs_only and not costs.constant:
            costs = with_class_means(costs, positive, type(self).__name__)
        sample = self.draw(positive, costs, generator(self.random_state), X)
        return self._fit_resample(X, y, labels=labels, positive=positive, sample=sample)

    def _fit_resample(
        self, X: Any, y: Any, *, labels: NDArray[Any], positive: NDArray[np.int64], sample: Sample
    ) -> tuple[Any, Any]:
        """Gather the rows of a sample and describe it in the fitted attributes."""
        rows = self.sample_indices_ = drawn_rows(sample.counts, getattr(self, "n_features_in_", 1))
        X_res, y_res = take_rows(X, rows), take_rows(y, rows)
        if sample.n_new:
            assert sample.y_new is not None
            label_rows = np.array([np.argmin(positive), np.argmax(positive)])
            if not sample.y_new.all() and np.unique(labels).size > 2:
                raise SamplingError("which of the other labels a synthetic negative has is not known: merge them in y")
            rows = np.concatenate([rows, label_rows[sample.y_new]])
            X_res, y_res = append_rows(X_res, sample.X_new), fresh_index(take_rows(y, rows))
        found, sizes = np.unique(labels[rows], return_counts=True)
        self.sampling_strategy_ = dict(zip(found.tolist(), sizes.tolist(), strict=True))
        return X_res, y_res

    def _check(self, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the labels and the classes in {0, 1} of valid records."""
        with np.errstate(invalid="ignore"):  # what is not finite is refused
            check_classification_targets(y)
        labels = np.asarray(check_target_type(y))
        check_consistent_length(X, labels)
        validate_data(self, X=X, y=labels, skip_check_array=True)
        return labels, self._is_positive(labels)

    def _is_positive(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        found = np.unique(labels)
        if found.size < 2:
            raise SamplingError(f"y has one class only ({found.tolist()}): a sample is drawn from two")
        if self.pos_label is not None and self.pos_label not in found:
            raise SamplingError(f"pos_label={self.pos_label!r} is not a class in y, which has {found.tolist()}")
        if self.pos_label is None and found.size > 2:
            raise SamplingError(
                f"y has {found.size} classes: name the positive one by pos_label, to set it against the others"
            )
        return (labels == (found[1] if self.pos_label is None else self.pos_label)).astype(np.int64)

    def _costs(self, fp: ArrayLike | None, fn: ArrayLike | None, tp: ArrayLike, tn: ArrayLike) -> Costs:
        for name in ("fp_cost", "fn_cost"):
            if np.ndim(getattr(self, name)) > 0:
                raise CostsError(f"{name} of the constructor is one number; give one per record to fit_resample")
        return Costs(fp=self.fp_cost if fp is None else fp, fn=self.fn_cost if fn is None else fn, tp=tp, tn=tn)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Rows are picked by number: what is in them does not matter.
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.sampler_tags.sample_indices = True
        return tags


def with_class_means(costs: Costs, y: NDArray[Any], method: str) -> Costs:
    """Reduce `costs` to class means for a `method` defined on constant ones, and say so (FRAMEWORK 1)."""
    means = costs.class_means(y)
    warn(
        f"{method} is defined for constant costs: the record-dependent ones were replaced by their class means, "
        f"fp_cost={means.fp:g} and fn_cost={means.fn:g}",
        ClassMeansWarning,
    )
    return means


def split_classes(y: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of the positives and those of the negatives, neither of them empty."""
    is_positive = y == 1
    positives, negatives = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    if not (positives.size and negatives.size):
        raise SamplingError(
            f"y has {positives.size} positives and {negatives.size} negatives: a sample needs records of each class"
        )
    return positives, negatives
