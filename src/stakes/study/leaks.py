"""How well a single column tells the classes apart: those that do so almost perfectly were mostly written afterwards.

A record is scored by the share of positives among the other folds' records in its bin, so that a column with many
values is not taken for a leak. Thresholds are set by 23 public data sets: of 581 features the strongest (the
hormone that defines a disease of the thyroid) explains 0.78 of the class, the next 0.49; and bins in which 98 of 100
records are of the rarer class hold at most 0.15 of it by any feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from stakes._typing import Bools, Bytes, Floats, Ints
from stakes.gradient_boosting import CostGradientBoostingClassifier
from stakes.tree.binning import Binned

__all__ = ["Separation", "explained_by_all", "leaks", "separation"]

FOLDS = 5
BINS = 256
MOST_RECORDS = 100_000
# Fewer records of a class say nothing; and fewer nothing of all columns together.
FEWEST, ENOUGH = 10, 200
# A column is a leak if it explains so much of the class; or so much, and nearly all that all columns explain together;
# or if by it so many records of a rare class are told apart with few mistakes.
EXPLAINED, MOSTLY, NEARLY_ALL = 0.8, 0.5, 0.95
PURE, CAUGHT, RARE = 0.98, 0.25, 0.3
FEWEST_FEATURES = 3


class Separation(NamedTuple):
    """How well a column tells the classes apart."""

    explained: float  # share of the deviance: 0 for nothing, 1 for all
    caught: float  # share of the rarer class in bins that have hardly any record of the other


def separation(bins: Bytes, rare: Bools, fold: Ints) -> Separation:
    """Return how well the bins of a column separate a class from the other."""
    cell = (fold * BINS + bins) * 2 + rare
    count = np.bincount(cell, minlength=FOLDS * BINS * 2).reshape(FOLDS, BINS, 2).astype(np.float64)
    others = count.sum(axis=0) - count
    base = float(rare.mean())
    p = (others[..., 1] + base) / (others.sum(axis=-1) + 1.0)
    other, own = count[..., 0].ravel(), count[..., 1].ravel()
    return Separation(_explained(p.ravel(), own, other), _caught(p.ravel(), own, other))


def _explained(p: Floats, own: Floats, other: Floats) -> float:
    """Return 1 - deviance / deviance of the base rate, for cells of records with the same probability."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    base = own.sum() / (own.sum() + other.sum())
    deviance = (own * np.log(p) + other * np.log1p(-p)).sum()
    return float(1.0 - deviance / (own.sum() * np.log(base) + other.sum() * np.log1p(-base)))


def _caught(p: Floats, own: Floats, other: Floats) -> float:
    """Return the largest share of a class that is found with a precision of at least PURE."""
    order = np.argsort(-p, kind="stable")
    found, wrong = np.cumsum(own[order]), np.cumsum(other[order])
    pure = (found >= PURE * (found + wrong)) & (found >= FEWEST)
    return float(found[pure].max(initial=0.0) / own.sum())


def leaks(X: Binned, positive: Bools, rng: np.random.Generator) -> dict[str, str]:
    """Return the evidence against columns that give the class away, by their names."""
    if positive.size > MOST_RECORDS:
        rows = np.sort(rng.choice(positive.size, MOST_RECORDS, replace=False))
        X, positive = X.take_rows(rows), positive[rows]
    rare = positive if 2 * positive.sum() <= positive.size else ~positive
    if rare.sum() < FEWEST:
        return {}
    fold = rng.integers(0, FOLDS, rare.size)
    found: dict[str, str] = {}
    together = None
    for j, name in enumerate(X.binning.names_):
        explained, caught = separation(X.bins[:, j], rare, fold)
        if explained >= EXPLAINED:
            found[name] = f"alone it explains {explained:.0%} of the class"
        elif caught >= CAUGHT and rare.mean() < RARE:
            found[name] = f"alone it finds {caught:.0%} of the rarer class, with at most 2 mistakes in 100"
        elif explained >= MOSTLY and X.shape[1] >= FEWEST_FEATURES and rare.sum() >= ENOUGH:
            together = explained_by_all(X.X, rare, fold) if together is None else together
            if explained >= NEARLY_ALL * together:
                found[name] = f"alone it explains {explained:.0%} of the class, and all columns together {together:.0%}"
    return found


def explained_by_all(X: pl.DataFrame, rare: Bools, fold: Ints) -> float:
    """Return how much of the class LightGBM explains by all columns, on records that it has not seen."""
    score = np.empty(rare.size)
    for held_out in (fold < FOLDS // 2, fold >= FOLDS // 2):
        model = CostGradientBoostingClassifier(objective="logistic", n_estimators=50, num_leaves=15, random_state=0)
        model.fit(X.filter(~held_out), rare[~held_out].astype(np.int64))
        score[held_out] = model.predict_proba(X.filter(held_out))[:, 1]
    # By bins of its scores, as columns are: few records of a class make probabilities too sure of themselves.
    return separation(Binned.of(pl.DataFrame({"score": score})).bins[:, 0], rare, fold).explained
