"""How much each part of the framework contributes: when costs act, sampling, ensemble, leaf, votes, threshold, ...

Models are ranked within each data set (0 is the best, 1 the worst), which makes data sets comparable, and ranks are
explained by the components of the models. Data sets, not models, are what is drawn for intervals: models of the same
data set are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

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
    parts = [np.flatnonzero(number == k) for k in range(int(number.max()) + 1)]
    # A data set's contribution to the normal equations: to draw a data set again is to add it again.
    X = np.column_stack([np.ones(len(table)), *(columns for _, (_, columns) in design), table["rank"].to_numpy()])
    moments = np.stack([some.T @ some for some in (X[rows] for rows in parts)])
    ends = np.cumsum([1, *(columns.shape[1] for _, (_, columns) in design)])
    slices = [slice(start, end) for start, end in pairwise(ends)]
    rng = np.random.default_rng(seed)
    drawn = [np.bincount(rng.integers(len(parts), size=len(parts)), minlength=len(parts)) for _ in range(DRAWS)]
    found = _explain(moments.sum(axis=0), slices)
    again = [_explain(np.tensordot(times, moments, axes=1), slices) for times in drawn]
    made = []
    for c, (name, (levels, columns)) in enumerate(design):
        shares = np.quantile([each.shares[c] for each in again], INTERVAL)
        ranks = np.quantile([each.levels[c] for each in again], INTERVAL, axis=0)
        counts = columns.sum(axis=0).astype(int)
        rows = [
            Level(str(levels[i]), int(counts[i]), float(found.levels[c][i]), float(ranks[0, i]), float(ranks[1, i]))
            for i in np.argsort(found.levels[c], kind="stable")
        ]
        made.append(Component(name, COMPONENTS[name], found.shares[c], float(shares[0]), float(shares[1]), rows))
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
        tables.append(
            rows.select(
                pl.lit(source.data).alias("data"),
                pl.Series("rank", (place - 1) / max(1, len(rows) - 1)),
                pl.Series("ensemble", [_ensemble(method.name, method.family) for method in methods]),
                pl.Series("sampling", [str(method.make.own.get("sampling") or "none") for method in methods]),
                pl.Series("when", [" and ".join(method.when) or "not" for method in methods]),
                *(
                    pl.col(name).fill_null("none")
                    for name in COMPONENTS
                    if name not in ("ensemble", "sampling", "when")
                ),
            )
        )
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


class _Explained(NamedTuple):
    shares: list[float]
    levels: list[Floats]


def _explain(moments: Floats, slices: list[slice]) -> _Explained:
    """Return the share of variation that each component adds to the others, and the mean ranks of its levels."""
    n, total = moments[0, 0], moments[-1, -1]
    variation = total - moments[0, -1] ** 2 / n
    everything = np.arange(moments.shape[0] - 1)
    full = _residual(moments, everything)
    coefficients = _solve(moments, everything)
    mean = moments[0, -1] / n
    shares, levels = [], []
    for part in slices:
        without = np.setdiff1d(everything, np.arange(part.start, part.stop))
        shares.append(float(max(0.0, _residual(moments, without) - full) / variation) if variation > 0 else 0.0)
        own, weight = coefficients[part], moments[0, part] / n
        levels.append(mean + own - weight @ own)  # others at their averages
    return _Explained(shares, levels)


def _solve(moments: Floats, columns: np.ndarray) -> Floats:
    # Indicators of a component sum to the constant: of all solutions the least one is taken.
    return np.asarray(np.linalg.lstsq(moments[np.ix_(columns, columns)], moments[columns, -1], rcond=1e-10)[0])


def _residual(moments: Floats, columns: np.ndarray) -> float:
    return float(moments[-1, -1] - _solve(moments, columns) @ moments[columns, -1])
