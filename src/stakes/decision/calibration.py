"""From a score to a probability (FRAMEWORK 7.5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from stakes._typing import Floats
from stakes.costs import per_record
from stakes.decision.thresholds import record_weights
from stakes.exceptions import DecisionError

__all__ = [
    "CALIBRATIONS",
    "Calibration",
    "Isotonic",
    "Logistic",
    "LogisticBounded",
    "Platt",
    "PlattLogit",
    "fit_calibration",
]


class Calibration(ABC):
    """A fitted way from scores S to probabilities: a small immutable value of plain numbers.

    A new one is a subclass and a line in `CALIBRATIONS`.

    Examples
    --------
    >>> from stakes.decision.calibration import CALIBRATIONS, Calibration, fit_calibration
    >>> CALIBRATIONS["isotonic"].needs_data, CALIBRATIONS["logistic"].needs_data
    (True, False)
    >>> isinstance(fit_calibration("logistic_bounded"), Calibration)
    True
    """

    words: ClassVar[str]
    """What it is called amid words."""
    needs_data: ClassVar[bool] = True
    """Whether it is fitted to scores and classes, and not a closed form."""
    needs_total_weight: ClassVar[bool] = False
    """Whether it must be told the sum of the weights of the votes that S is a share of."""

    @classmethod
    def fit(cls, scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> Calibration:
        """Fit it to checked data in which both classes occur, and all weights are positive; closed forms need none."""
        return cls()

    @abstractmethod
    def __call__(self, scores: ArrayLike, total_weight: ArrayLike | None = None) -> Floats:
        """Return the probability of the positive class for each score."""


@dataclass(frozen=True)
class Logistic(Calibration):
    """Logistic correction (Friedman et al. 2000): 1 / (1 + exp(-2F)), F = sum alpha h* = (2S - 1) sum alpha.

    Examples
    --------
    >>> from stakes.decision.calibration import Logistic
    >>> Logistic()([0.0, 0.75, 1.0], total_weight=2.0).round(2)
    array([0.02, 0.88, 0.98])
    """

    words = "the logistic correction"
    needs_data = False
    needs_total_weight = True

    def __call__(self, scores: ArrayLike, total_weight: ArrayLike | None = None) -> Floats:
        """Return the probability of the positive class for each score and total vote weight (one, or one per score)."""
        if total_weight is None:
            raise DecisionError(
                "calibration 'logistic' needs the total weight of the votes behind each score: "
                "pass total_weight=, or use 'logistic_bounded'"
            )
        return expit(2 * (2 * np.asarray(scores, dtype=np.float64) - 1) * np.asarray(total_weight, dtype=np.float64))


@dataclass(frozen=True)
class LogisticBounded(Calibration):
    """Logistic correction of the share of votes: 1 / (1 + exp(-2 (2S - 1))), which is between 0.12 and 0.88.

    Examples
    --------
    >>> from stakes.decision.calibration import LogisticBounded
    >>> LogisticBounded()([0.0, 0.75, 1.0]).round(2)
    array([0.12, 0.73, 0.88])
    """

    words = "the bounded logistic correction"
    needs_data = False

    def __call__(self, scores: ArrayLike, total_weight: ArrayLike | None = None) -> Floats:
        """Return the probability of the positive class for each score."""
        return expit(2 * (2 * np.asarray(scores, dtype=np.float64) - 1))


@dataclass(frozen=True)
class Platt(Calibration):
    """Platt scaling: 1 / (1 + exp(slope S + intercept)), by maximum likelihood with smoothed targets.

    Examples
    --------
    >>> from stakes.decision.calibration import fit_calibration
    >>> platt = fit_calibration("platt", [0.1, 0.3, 0.4, 0.6, 0.9], [0, 0, 1, 0, 1])
    >>> platt.slope < 0
    True
    >>> platt([0.1, 0.9]).round(2)
    array([0.23, 0.67])
    """

    words = "Platt scaling"

    slope: float
    intercept: float

    @classmethod
    def fit(cls, scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> Platt:
        """Fit both parameters by Newton's method; `weight` counts records."""
        n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
        target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
        # Scores scaled to [0, 1], and to exactly 0 where there is only one, whatever their size.
        lowest, reach = scores.min(), np.ptp(scores) or 1.0
        design = np.column_stack([np.ones_like(scores), (scores - lowest) / reach])
        start = np.array([np.log((n_positive + 1) / (n_negative + 1)), 0.0])
        level, tilt = _logistic_fit(design, target, weight, start)
        return cls(slope=float(-tilt / reach), intercept=float(tilt * lowest / reach - level))

    def __call__(self, scores: ArrayLike, total_weight: ArrayLike | None = None) -> Floats:
        """Return the probability of the positive class for each score."""
        return expit(-(self.slope * np.asarray(scores, dtype=np.float64) + self.intercept))


@dataclass(frozen=True)
class PlattLogit(Platt):
    """Platt scaling of the logit: 1 / (1 + exp(slope logit(S) + intercept)), for scores between 0 and 1.

    Probabilities that are too extreme, too cautious, or shifted by sampling or weights differ from the true ones by a
    factor and a shift of their logits, which two parameters mend. It suits mean probabilities: for shares of votes,
    isotonic regression and Platt scaling of the share saved more (nine data sets). Scores are clipped first: among the
    shares of 100 members, 0 and 0.001 are the same, and their logits are far apart.

    Examples
    --------
    >>> from stakes.decision.calibration import fit_calibration
    >>> logit = fit_calibration("platt_logit", [0.1, 0.3, 0.4, 0.6, 0.9], [0, 0, 1, 0, 1])
    >>> logit([0.0, 0.1, 0.9]).round(2)
    array([0.08, 0.21, 0.69])
    """

    words = "Platt scaling of the logit"

    clip: float

    @classmethod
    def fit(cls, scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> PlattLogit:
        """Fit both parameters by Newton's method; `weight` counts records."""
        share = np.average(positive, weights=weight)
        # 0.01 saves more than less does on mean probabilities (0.526, 0.524 by 0.001; nine data sets), not on votes. It
        # must lie below the scores of a rare class.
        clip = float(min(0.01, min(share, 1 - share) / 5))
        platt = Platt.fit(_clipped_logit(scores, clip), positive, weight)
        return cls(platt.slope, platt.intercept, clip)

    def __call__(self, scores: ArrayLike, total_weight: ArrayLike | None = None) -> Floats:
        """Return the probability of the positive class for each score."""
        return super().__call__(_clipped_logit(scores, self.clip))


def _clipped_logit(scores: ArrayLike, clip: float) -> Floats:
    return logit(np.clip(np.asarray(scores, dtype=np.float64), clip, 1 - clip))


def _logistic_fit(design: Floats, target: Floats, weight: Floats, start: Floats) -> Floats:
    """Return the coefficients of a logistic regression on targets strictly between 0 and 1.

    The likelihood is concave and has a finite maximum. A full Newton step can throw a rare score so far that the
    curvature vanishes; steps that move no logit by more than log(1 + d), where the full one would move it by d, always
    gain and become full ones near the maximum (Sun and Tran-Dinh 2019, generalized self-concordant functions).
    """
    coefficients = start
    for _ in range(100):
        probability = expit(design @ coefficients)
        gradient = design.T @ (weight * (probability - target))
        curvature = (design * (weight * probability * (1 - probability))[:, None]).T @ design
        # Least squares: with a single distinct score the slope is undetermined, and stays 0.
        step = np.linalg.lstsq(curvature, -gradient, rcond=None)[0]
        reach = np.abs(design @ step).max()
        if reach < 1e-8:  # convergence is quadratic: what is left after this step is rounding
            return coefficients + step
        coefficients = coefficients + np.log1p(reach) / reach * step
    return coefficients


@dataclass(frozen=True, eq=False)
class Isotonic(Calibration):
    """Isotonic regression: linear between its knots, as in scikit-learn, and constant beyond them.

    The least-squares fit is only defined at the scores it was fitted to. Between two blocks of equal probability the
    original of Zadrozny and Elkan (2002) has a step; interpolation keeps scores in order that a step would tie.

    Examples
    --------
    >>> from stakes.decision.calibration import fit_calibration
    >>> isotonic = fit_calibration("isotonic", [0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> isotonic.score_knots, isotonic.probability_knots
    (array([0.1, 0.4, 0.6, 0.9]), array([0. , 0.5, 0.5, 1. ]))
    """

    words = "isotonic regression"

    score_knots: Floats
    probability_knots: Floats

    @classmethod
    def fit(cls, scores: Floats, positive: NDArray[np.bool_], weight: Floats) -> Isotonic:
        """Pool adjacent violators."""
        fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, positive, weight)
        return cls(np.asarray(fitted.X_thresholds_, np.float64), np.asarray(fitted.y_thresholds_, np.float64))

    def __call__(self, scores: ArrayLike, total_weight: ArrayLike | None = None) -> Floats:
        """Return the probability of the positive class for each score."""
        return np.interp(np.asarray(scores, dtype=np.float64), self.score_knots, self.probability_knots)


CALIBRATIONS: dict[str, type[Calibration]] = {
    "logistic": Logistic,
    "logistic_bounded": LogisticBounded,
    "platt": Platt,
    "platt_logit": PlattLogit,
    "isotonic": Isotonic,
}


def fit_calibration(
    name: str, scores: ArrayLike = (), y: ArrayLike = (), *, sample_weight: ArrayLike | None = None
) -> Calibration:
    """Return the calibration `name`, fitted where it needs to be.

    `scores` are of records that the members were not trained on, and `y` has their classes, 0 or 1. The two logistic
    corrections are closed forms, and need no data. Called with scores (and, for "logistic", the total vote weight), the
    calibration returns probabilities.
    """
    try:
        kind = CALIBRATIONS[name]
    except (KeyError, TypeError):
        raise DecisionError(f"unknown calibration {name!r}: choose from {', '.join(CALIBRATIONS)}") from None
    if not kind.needs_data:
        return kind()
    positive = np.asarray(y) == 1
    n = positive.size
    weight = record_weights(sample_weight, n, "y")
    for of_class, label in ((positive, "positive"), (~positive, "negative")):
        if not weight[of_class].sum() > 0:
            raise DecisionError(
                f"calibration {name!r} needs records of both classes, and none of the {n} given is {label}: "
                "use a larger validation set, or a calibration without fitting ('logistic')"
            )
    counted = weight > 0
    return kind.fit(per_record(scores, "scores", n, "y")[counted], positive[counted], weight[counted])
