"""Many studies, one for each data set, in one comparison of methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from stakes._typing import Floats
from stakes.exceptions import StudyError
from stakes.measures import MEASURES
from stakes.study.comparison.components import Component, components_of
from stakes.study.comparison.figures import Source, figures_of, read_studies
from stakes.study.comparison.statistics import (
    Bayes,
    Friedman,
    bayesian_signed_rank,
    critical_difference,
    friedman,
    ranks,
    wilcoxon_holm,
)
from stakes.study.plan import names_of

__all__ = ["Comparison", "Place", "compare"]

# Figures that differ by less are equal in practice: one point of savings, or of a rate.
ROPE = 0.01


@dataclass(frozen=True)
class Place:
    """A method in a comparison."""

    name: str
    rank: float  # on average over data sets; 1 is the best
    figure: float  # the mean over data sets
    wins: int  # on how many data sets it is the best, alone or with others
    p: float  # of the Wilcoxon test against the first method, by Holm
    bayes: Bayes  # against the first method: that this one is better, equal, or worse


@dataclass(frozen=True)
class Comparison:
    """Methods over data sets.

    Attributes
    ----------
    measure : str
    places : list of Place
        In the order of average ranks.
    figures : DataFrame
        A row for each data set, a column for each method.
    friedman : Friedman or None
        Whether methods differ at all; None for fewer than three methods or two data sets.
    difference : float or None
        The critical difference of average ranks (Nemenyi, 5%).
    components : list of Component
        What each part of the framework contributes.
    left_out : dict
        Methods that are not in all data sets, with the number of those they are in.
    sources : list of Source
        The studies.
    """

    measure: str
    places: list[Place]
    figures: pl.DataFrame
    friedman: Friedman | None
    difference: float | None
    components: list[Component]
    left_out: dict[str, int]
    sources: list[Source]

    def __repr__(self) -> str:
        n_sets = len(self.figures)
        lines = [f"{len(self.places)} methods on {n_sets} data sets by {MEASURES[self.measure].words}"]
        lines += [f"{place.rank:6.2f}  {place.name}" for place in self.places[:10]]
        return "\n".join(lines)


def compare(
    studies: Iterable[str | Path],
    *,
    measure: str = "savings",
    methods: str | Iterable[str] | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare methods over the data sets of finished studies.

    A method is represented by the decision that was best on its out-of-fold records, and judged by its figure on test
    records. Several studies of a data set are taken together: other splits (seeds) are averaged, and methods that only
    one of them tried are added.

    Parameters
    ----------
    studies : iterable of paths
        Directories of studies, or directories that have such directories in them.
    measure : str, default="savings"
        What is compared; "balanced_accuracy" or "g_mean" where there are no costs.
    methods : str or iterable of str, default=None
        The methods to compare; those that are in all data sets by default.
    seed : int, default=0
        Of the draws behind intervals and Bayesian tests.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> import tempfile
    >>> from stakes.datasets import make_churn
    >>> from stakes.study import Study, StudyData, compare
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     for seed in range(2):
    ...         made = make_churn(300, random_state=seed)
    ...         data = StudyData(
    ...             name=f"churn {seed}", frame=made.frame, positive=made.target == 1, classes=("0", "1"),
    ...             costs=made.costs, test_rows=None, test_fraction=0.3, info={}, file_labels=(0, 1),
    ...         )
    ...         study = Study(data, out=f"{directory}/{seed}", methods=("rf", "ab"), trees=3, folds=2, jobs=1)
    ...         _ = study.run()
    ...     found = compare([directory])
    >>> found.figures.shape[0]
    2
    """
    # Amounts of different data sets are not of the same money, or of as many records.
    comparable = [name for name, known in MEASURES.items() if known.compares and not known.is_total]
    if measure not in comparable:
        raise StudyError(f"methods cannot be compared by {measure!r}: choose one of {', '.join(comparable)}")
    sources = read_studies([Path(study) for study in studies], measure)
    table = figures_of(sources, measure)
    n_sets = table["data"].n_unique()
    counts = dict(table.group_by("name", maintain_order=True).len().iter_rows())
    wanted = [name for name, count in counts.items() if count == n_sets] if methods is None else list(names_of(methods))
    if unknown := [name for name in wanted if counts.get(name) != n_sets]:
        raise StudyError(f"{', '.join(unknown)}: not in all {n_sets} data sets")
    if len(wanted) < 2:
        raise StudyError(f"fewer than two methods are in all {n_sets} data sets: there is nothing to compare")
    wide = (
        table.filter(pl.col("name").is_in(wanted)).pivot("name", index="data", values="figure").select("data", *wanted)
    )
    figures = wide.drop("data").to_numpy()
    enough = len(wanted) > 2 and n_sets > 1
    return Comparison(
        measure,
        _places(wanted, figures, measure, seed),
        wide,
        friedman(figures) if enough else None,
        critical_difference(len(wanted), n_sets) if enough else None,
        components_of(sources, measure, seed),
        {name: count for name, count in counts.items() if name not in wanted},
        sources,
    )


def _places(names: list[str], figures: Floats, measure: str, seed: int) -> list[Place]:
    loss = -figures if MEASURES[measure].higher_is_better else figures
    ranked = ranks(loss)
    average = ranked.mean(axis=0)
    order = np.lexsort((loss.mean(axis=0), average))
    p = wilcoxon_holm(loss)
    first, rng = order[0], np.random.default_rng(seed)
    best = loss.min(axis=1, keepdims=True)
    return [
        Place(
            names[i],
            float(average[i]),
            float(figures[:, i].mean()),
            int((loss[:, i] == best[:, 0]).sum()),
            float(p[first, i]),
            bayesian_signed_rank(loss[:, i], loss[:, first], ROPE, rng),
        )
        for i in order
    ]
