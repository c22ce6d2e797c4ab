"""Contributions to the probability of models of any kind: exact where the model knows them, by sampling otherwise."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from stakes._members import ModelMembers
from stakes._rows import take_columns
from stakes._typing import Floats
from stakes.explain.contributions import Contributions, weighted_sum
from stakes.explain.explanation import ExplainMixin
from stakes.explain.permutations import Background, Sampling, sampled_contributions
from stakes.metrics.bill import COST_NAMES

__all__ = ["Margins", "contributions_of", "known_background", "margins_of", "mean_contributions"]


class Margins(NamedTuple):
    """What each feature adds to the log-odds of a model's second class, and the log-odds where none is known."""

    values: Floats  # (n_records, n_features)
    base: float


def margins_of(model: Any, X: Any) -> Margins | None:
    """Return what features add to the log-odds of a fitted model; None where that is not known.

    LightGBM has exact Shapley values, path-dependent. Other models are asked for their `margins(X)`, which is all that
    a model needs to be explained without sampling.
    """
    if hasattr(model, "margins"):
        margins: Margins | None = model.margins(X)
        return margins
    lightgbm = sys.modules.get("lightgbm")  # a model of it would have imported it
    if lightgbm is None or not isinstance(model, lightgbm.LGBMClassifier) or len(model.classes_) != 2:
        return None
    found = np.asarray(model.predict(X, pred_contrib=True), dtype=np.float64)
    return Margins(found[:, :-1], float(found[0, -1]))


def _by_margins(model: Any, X: Any) -> Contributions | None:
    """Return what each feature adds to a model's probability of its second class; None where that is not known."""
    margins = margins_of(model, X)
    if margins is None:
        return None
    base = np.full(len(margins.values), margins.base)
    found = Contributions(margins.values, base, base + margins.values.sum(axis=1)).through(expit)
    probability = np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
    if not np.allclose(found.score, probability, atol=1e-7):  # an objective without log-odds
        return None
    return found._replace(score=probability)


def contributions_of(
    model: Any,
    X: Any,
    positive: Any,
    given: dict[str, Any],
    sampling: Sampling | None = None,
    background: Background | None = None,
) -> Contributions | None:
    """Return what each feature adds to a fitted model's probability of the class `positive`.

    Costs are given to classifiers of this package only. Without `sampling`, None where nothing else is possible.
    """
    column = list(model.classes_).index(positive)
    if isinstance(model, ExplainMixin):
        own: Any = model  # any of the classifiers, which come later
        (found, _), explained = own._contributions(X, given, sampling), own._positive
    else:
        found, explained = _by_margins(model, X), 1
    if found is not None:
        return found if column == explained else found.flipped()
    if sampling is None:
        return None
    return sampled_contributions(
        lambda mixed, _: model.predict_proba(mixed)[:, column], X, known_background(background, model), sampling
    )


def mean_contributions(members: ModelMembers, X: Any, n_features: int) -> Contributions | None:
    """Return what each feature adds to the mean of members, corrected for sampling; None if one does not know."""
    parts = []
    for j, model in enumerate(members.models):
        mine = X if members.columns is None else take_columns(X, members.columns[j])
        part = contributions_of(model, mine, members.positive, dict.fromkeys(COST_NAMES))
        if part is None:
            return None
        if members.columns is not None:
            values = np.zeros((len(part.values), n_features))
            values[:, members.columns[j]] = part.values
            part = part._replace(values=values)
        parts.append(part)
    mean = weighted_sum(parts, np.full(len(parts), 1 / len(parts)))
    return mean.through(None if members.prior is None else members.prior.correct_mean)


def known_background(background: Background | None, model: Any) -> Background:
    """Return the background, or say that there is none."""
    if background is None:
        raise ValueError(
            f"{type(model).__name__} is explained by sampling, and no typical values of its features are known: they "
            "are objects that only models can read, or it was trained by an older version, or outside of this package; "
            "train it again, on numbers and categories"
        )
    return background
