"""From the scores of several models to one probability: a weighted mean (`Team`), or a model on logits (`Stack`).

A blend is fitted to scores of records that the models were not trained on, and is then a small immutable value, which
is called with the scores of other records. `cross_fit` gives its probabilities for the records it is fitted to, each by
a blend that was chosen without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from stakes._typing import Bools, Floats, Indices
from stakes.decision.calibration import Calibration, fit_calibration
from stakes.explain.contributions import Contributions, weighted_sum
from stakes.records import Records
from stakes.teams.selection import Stakes, best_models, greedy_team

__all__ = ["BLENDS", "Blend", "Stack", "Team", "cross_fit", "fit_best", "fit_stack", "fit_team"]

# Two parameters, which few positives can determine. On nine data sets teams of models calibrated so saved 0.589, by
# isotonic regression 0.586, by Platt scaling of the score 0.580; stacks 0.594, 0.593 and 0.585: the first two are equal
# but for noise.
CALIBRATION = "platt_logit"
# Probabilities are clipped to this before logits are taken of them.
CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class Blend(ABC):
    """A fitted way from the scores of several models to one probability."""

    weights: Floats  # of each model; 0 for a model that is not needed
    calibrations: tuple[Calibration | None, ...]  # of each model's score; None where the score is a probability

    @property
    def used(self) -> Indices:
        """The models with a weight, which is all that need to be kept."""
        return np.flatnonzero(self.weights)

    def take(self, models: Indices) -> Self:
        """Return the blend of some of the models; the others must have no weight."""
        return replace(
            self, weights=self.weights[models], calibrations=tuple(self.calibrations[model] for model in models)
        )

    def __call__(self, scores: Floats) -> Floats:
        """Return the probability of the positive class by scores of shape (n_records, n_models).

        Those of models without a weight are ignored.
        """
        used = self.used
        return self._blended(
            _calibrated(scores[:, used], [self.calibrations[model] for model in used]), self.weights[used]
        )

    def explained(self, parts: Sequence[Contributions]) -> Contributions:
        """Return what each feature adds to the probability, from what it adds to the scores of models with weight."""
        used = self.used
        calibrated = [part.through(self.calibrations[model]) for part, model in zip(parts, used, strict=True)]
        return self._explained(calibrated, self.weights[used])

    @abstractmethod
    def _blended(self, probabilities: Floats, weights: Floats) -> Floats:
        """Return the blend of the calibrated probabilities of the models with a weight."""

    @abstractmethod
    def _explained(self, parts: Sequence[Contributions], weights: Floats) -> Contributions:
        """Return what each feature adds to the blend."""


@dataclass(frozen=True, eq=False)
class Team(Blend):
    """A weighted mean of calibrated probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.teams.blends import Team
    >>> team = Team(weights=np.array([0.75, 0.25]), calibrations=(None, None))
    >>> team(np.array([[0.4, 0.8], [0.1, 0.1]]))
    array([0.5, 0.1])
    """

    def _blended(self, probabilities: Floats, weights: Floats) -> Floats:
        return probabilities @ weights

    def _explained(self, parts: Sequence[Contributions], weights: Floats) -> Contributions:
        return weighted_sum(parts, weights)


@dataclass(frozen=True, eq=False)
class Stack(Blend):
    """A logistic model on the logits of calibrated probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.teams.blends import Stack
    >>> stack = Stack(weights=np.array([0.5, 0.5]), calibrations=(None, None), intercept=0.0)
    >>> stack(np.array([[0.5, 0.5], [0.2, 0.8]]))
    array([0.5, 0.5])
    """

    intercept: float

    def _blended(self, probabilities: Floats, weights: Floats) -> Floats:
        return expit(_logits(probabilities) @ weights + self.intercept)

    def _explained(self, parts: Sequence[Contributions], weights: Floats) -> Contributions:
        total = weighted_sum([part.through(_logits) for part in parts], weights)
        return total.through(lambda logits: expit(logits + self.intercept))


def fit_best(scores: Floats, records: Records, *, calibration: str | None = CALIBRATION, size: int = 5) -> Team:
    """Return the plain mean of the models that are the cheapest by themselves, decided by T_cs.

    `scores`, of shape (n_records, n_models), are of records that the models were not trained on; of the `records`
    classes, costs and weights are needed. `calibration` makes probabilities of the scores; None where they are
    calibrated already.
    """
    calibrations, probabilities = _calibrate(scores, records, calibration)
    stakes = Stakes.of(records)
    return Team(best_models(probabilities, stakes, size=size), calibrations)


def fit_team(
    scores: Floats, records: Records, *, calibration: str | None = CALIBRATION, size: int = 5, n_bags: int = 20
) -> Team:
    """Return a weighted mean of a few models, chosen greedily by what its decisions by T_cs cost.

    At most `size` models have a weight; `n_bags` searches, on bootstrapped records, are averaged. The rest is as in
    `fit_best`.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import Costs
    >>> from stakes.records import Records
    >>> from stakes.teams.blends import fit_team
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(500) < 0.3
    >>> scores = np.clip(0.4 * positive[:, None] + rng.uniform(0, 0.6, size=(500, 3)), 0, 1)
    >>> team = fit_team(scores, Records(None, positive, Costs(fp=1, fn=5)))
    >>> bool(team.weights.sum().round(12) == 1)
    True
    """
    calibrations, probabilities = _calibrate(scores, records, calibration)
    stakes = Stakes.of(records)
    return Team(greedy_team(probabilities, stakes, size=size, n_bags=n_bags), calibrations)


def fit_stack(
    scores: Floats,
    records: Records,
    *,
    calibration: str | None = CALIBRATION,
    size: int = 12,
    strength: float = 30.0,
    by_stakes: bool = False,
) -> Stack:
    """Return a regularised logistic model on the logits of the models that are the cheapest by themselves.

    Weights are pulled towards the plain mean of the five best: what the records cannot tell apart is averaged. They may
    be negative: where two models disagree is information, too.

    `strength` is that of the pull: this times the squared distance to the mean is added to the log loss, summed over
    the records. On nine data sets 10 to 100 are as good, and choosing it by cross-validation gained nothing.
    `by_stakes` weights records by what is at stake, fp_cost + fn_cost. The rest is as in `fit_team`.
    """
    calibrations, probabilities = _calibrate(scores, records, calibration)
    stakes = Stakes.of(records)
    models = np.flatnonzero(best_models(probabilities, stakes, size=size))
    weight = records.weights
    if by_stakes:
        at_stake = np.add(*records.costs.arrays(len(records)))
        weight = weight * at_stake / (np.average(at_stake, weights=weight) or 1.0)
    target = best_models(probabilities[:, models], stakes)
    intercept, some = _logistic_near(_logits(probabilities[:, models]), records.positive, weight, target, strength)
    weights = np.zeros(probabilities.shape[1])
    weights[models] = some
    return Stack(weights, calibrations, intercept)


FitBlend = Callable[..., Blend]
BLENDS: dict[str, FitBlend] = {"best": fit_best, "team": fit_team, "stack": fit_stack}


def cross_fit(fit: FitBlend, scores: Floats, records: Records, folds: NDArray[np.integer], **options: Any) -> Floats:
    """Return the probability of each record by a blend that was fitted to the records of the other folds.

    `fit` is `fit_best`, `fit_team`, `fit_stack`, or anything with their first arguments, and takes the options.
    """
    records = records.with_features(None)
    probabilities = np.empty(len(records))
    for fold in np.unique(folds):
        others, here = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        probabilities[here] = fit(scores[others], records.take(others), **options)(scores[here])
    return probabilities


def _calibrate(
    scores: Floats, records: Records, calibration: str | None
) -> tuple[tuple[Calibration | None, ...], Floats]:
    """Return a calibration for each model, and its probabilities."""
    scores = np.asarray(scores, dtype=np.float64)
    calibrations = tuple(
        None
        if calibration is None
        else fit_calibration(calibration, column, records.positive, sample_weight=records.weight)
        for column in scores.T
    )
    return calibrations, _calibrated(scores, calibrations)


def _calibrated(scores: Floats, calibrations: Any) -> Floats:
    columns = [
        column if calibration is None else calibration(column)
        for column, calibration in zip(scores.T, calibrations, strict=True)
    ]
    return np.column_stack(columns)


def _logits(probabilities: Floats) -> Floats:
    return logit(np.clip(probabilities, CLIP, 1 - CLIP))


def _logistic_near(
    logits: Floats, positive: Bools, weight: Floats, target: Floats, strength: float
) -> tuple[float, Floats]:
    """Return intercept and weights of the logistic model with the least penalised log loss."""

    def loss(parameters: Floats) -> tuple[float, Floats]:
        z = logits @ parameters[1:] + parameters[0]
        away = parameters[1:] - target
        residual = weight * (expit(z) - positive)
        value = weight @ (np.logaddexp(0.0, z) - positive * z) + strength * (away @ away)
        return value, np.concatenate(([residual.sum()], logits.T @ residual + 2 * strength * away))

    start = np.concatenate(([0.0], target))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-12}).x
    return float(found[0]), found[1:]
