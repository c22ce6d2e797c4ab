"""How much each part of the framework contributes: when costs act, sampling, ensemble, leaf, votes, threshold, ...

Models are ranked within each data set (0 is the best, 1 the worst), which makes data sets comparable, and ranks are
explained by the components of the models. Data sets, not models, are what is drawn for intervals: models of the same
data set are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from scipy.stats import rankdata

from stakes._typing import Floats
from stakes.catalog import BAGGING, list_methods
from stakes.measures import MEASURES
from stakes.study.columns import TEST
from stakes.study.comparison.figures import Source

__all__ = ["COMPONENTS", "Component", "Level", "components_of"]

# The columns that describe a model, and what they are called.
COMPONENTS = {
    "ensemble": "Ensemble",
    "sampling": "Sampling",
    "when": "When costs act in training",
    "train_costs": "Costs in training",
    "leaf": "Leaf probabilities",
    "member": "How members vote",
    "vote_weight": "Weights of votes",
    "calibration": "Calibration",
    "threshold": "Threshold",
}
DRAWS = 200
INTERVAL = (0.05, 0.95)


@dataclass(frozen=True)
class Level:
    """A choice for a component: the mean rank of models that make it, others being equal, with its 90% interval."""

    name: str
    n_models: int
    rank: float
    low: float
    high: float


@dataclass(frozen=True)
class Component:
    """A component: the share of the variation of ranks that only it explains, with its 90% interval."""

    name: str
    words: str
    share: float
    low: float
    high: float
    levels: list[Level]


def components_of(sources: Sequence[Source], measure: str, seed: int = 0) -> list[Component]:
    """Return the contribution of each component, the largest first."""
    table = _models(sources, measure)
    design = [(name, _indicators(table[name])) for name in COMPONENTS if table[name].n_unique() > 1]
    if not design:
        return []
    number = np.unique(table["data"].to_numpy(), return_inverse=True)[1]
    n_sets = int(number.max()) + 1
    # A data set's contribution to the normal equations: to draw a data set again is to add it again.
    X = np.column_stack([np.ones(len(table)), *(columns for _, (_, columns) in design), table["rank"].to_numpy()])
    moments = np.stack([some.T @ some for some in (X[number == k] for k in range(n_sets))])
    ends = np.cumsum([1, *(columns.shape[1] for _, (_, columns) in design)])
    slices = [slice(start, end) for start, end in pairwise(ends)]
    rng = np.random.default_rng(seed)
    drawn = [np.bincount(rng.integers(n_sets, size=n_sets), minlength=n_sets) for _ in range(DRAWS)]
    shares, ranks = _explain(moments.sum(axis=0), slices)
    again = [_explain(np.tensordot(times, moments, axes=1), slices) for times in drawn]
    share_ends = np.quantile([each for each, _ in again], INTERVAL, axis=0)
    rank_ends = np.quantile([each for _, each in again], INTERVAL, axis=0)
    made = []
    for c, (name, (levels, columns)) in enumerate(design):
        counts, own, ends = columns.sum(axis=0).astype(int), ranks[slices[c]], rank_ends[:, slices[c]]
        rows = [
            Level(levels[i], int(counts[i]), float(own[i]), float(ends[0, i]), float(ends[1, i]))
            for i in np.argsort(own, kind="stable")
        ]
        low, high = share_ends[:, c].tolist()
        made.append(Component(name, COMPONENTS[name], float(shares[c]), low, high, rows))
    return sorted(made, key=lambda component: -component.share)


def _models(sources: Sequence[Source], measure: str) -> pl.DataFrame:
    """Return all single models of all studies, ranked within their study, with their components."""
    sign = -1.0 if MEASURES[measure].higher_is_better else 1.0
    known = {method.name: method for method in list_methods()}
    tables = []
    for source in sources:
        column = f"{TEST}_{measure}"
        # Teams have no components; MetaCost's tree is made of the recommended model alone.
        rows = source.results.filter(pl.col(column).is_not_null(), pl.col("method").is_in(list(known)))
        place = rankdata(sign * rows[column].to_numpy())
        methods = [known[name] for name in rows["method"]]
        told = rows.with_columns(
            data=pl.lit(source.data),
            rank=pl.Series((place - 1) / max(1, len(rows) - 1)),
            ensemble=pl.Series([_ensemble(method.name, method.family) for method in methods]),
            sampling=pl.Series([str(method.make.own.get("sampling") or "none") for method in methods]),
            when=pl.Series([" and ".join(method.when) or "not" for method in methods]),
        )
        tables.append(told.select("data", "rank", pl.col(list(COMPONENTS)).fill_null("none")))
    return pl.concat(tables)


def _ensemble(name: str, family: str) -> str:
    """Return the kind of ensemble: bagging by how features are drawn, others by their family."""
    if family != "bagging":
        return family
    return next((words for end, words, *_ in BAGGING if name.endswith(end)), "bagging")


def _indicators(values: pl.Series) -> tuple[list[str], Floats]:
    """Return the levels of a component, and a column for each that says which models have it."""
    levels = sorted(values.unique().to_list())
    return levels, np.column_stack([(values == level).to_numpy() for level in levels]).astype(np.float64)


def _explain(moments: Floats, slices: list[slice]) -> tuple[Floats, Floats]:
    """Return the share of variation that each component adds to the others, and the mean ranks of all levels."""
    n, total = moments[0, 0], moments[-1, -1]
    variation = total - moments[0, -1] ** 2 / n
    everything = np.arange(moments.shape[0] - 1)
    full = _residual(moments, everything)
    ranks = _solve(moments, everything)
    shares = []
    for part in slices:
        without = np.setdiff1d(everything, np.arange(part.start, part.stop))
        shares.append(max(0.0, _residual(moments, without) - full) / variation if variation > 0 else 0.0)
        ranks[part] += (moments[0, -1] - moments[0, part] @ ranks[part]) / n  # others at their averages
    return np.array(shares), ranks


def _solve(moments: Floats, columns: np.ndarray) -> Floats:
    # Indicators of a component sum to the constant: of all solutions the least one is taken.
    return np.asarray(np.linalg.lstsq(moments[np.ix_(columns, columns)], moments[columns, -1], rcond=1e-10)[0])


def _residual(moments: Floats, columns: np.ndarray) -> float:
    return float(moments[-1, -1] - _solve(moments, columns) @ moments[columns, -1])
