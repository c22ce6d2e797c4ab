"""Tests for many methods over many data sets (Demsar 2006; Benavoli et al. 2017).

`figures` have shape (n_sets, n_methods), and less is better everywhere: callers change signs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from stakes._typing import Bools, Floats

__all__ = ["Bayes", "Friedman", "bayesian_signed_rank", "critical_difference", "friedman", "groups", "holm", "ranks",
           "wilcoxon_holm"]  # fmt: skip


def ranks(figures: Floats) -> Floats:
    """Return the rank of each method on each data set: 1 is the best, and those that are equal share their ranks."""
    return np.asarray(rankdata(figures, axis=1))


class Friedman(NamedTuple):
    """Whether methods differ at all."""

    chi2: float
    p: float
    f: float  # of Iman and Davenport, which is less conservative
    p_f: float


def friedman(figures: Floats) -> Friedman:
    """Test that all methods have the same average rank; three methods or more."""
    n, k = figures.shape
    chi2, p = friedmanchisquare(*figures.T)
    rest = n * (k - 1) - chi2
    f = np.inf if rest <= 0 else (n - 1) * chi2 / rest
    return Friedman(float(chi2), float(p), float(f), float(f_distribution.sf(f, k - 1, (k - 1) * (n - 1))))


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Return by how much average ranks must differ to differ beyond noise (Nemenyi)."""
    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def groups(average: Floats, difference: float) -> list[tuple[int, int]]:
    """Return the bars of a critical-difference diagram: first and last place of methods that do not differ.

    `average` are average ranks in increasing order; a bar inside another is left out.
    """
    bars: list[tuple[int, int]] = []
    for first, rank in enumerate(average):
        last = int(np.searchsorted(average, rank + difference, side="right")) - 1
        if last > first and (not bars or last > bars[-1][1]):
            bars.append((first, last))
    return bars


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for their number (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def wilcoxon_holm(figures: Floats) -> Floats:
    """Return the adjusted p-value of each pair of methods (signed ranks), of shape (n_methods, n_methods).

    Methods that are equal on all data sets have p = 1.
    """
    k = figures.shape[1]
    upper = np.triu_indices(k, 1)
    p = np.ones(upper[0].size)
    for pair, (i, j) in enumerate(zip(*upper, strict=True)):
        if (figures[:, i] != figures[:, j]).any():
            p[pair] = wilcoxon(figures[:, i], figures[:, j]).pvalue
    found = np.ones((k, k))
    found[upper] = holm(p)
    return np.minimum(found, found.T)


class Bayes(NamedTuple):
    """How probable it is that a method is better than another, as good, or worse, on a further data set."""

    better: float
    equal: float
    worse: float


def bayesian_signed_rank(
    one: Floats, other: Floats, rope: float, rng: np.random.Generator, draws: int = 20_000
) -> Bayes:
    """Compare two methods by the Bayesian signed-rank test; differences up to `rope` are equal in practice.

    Data sets have Dirichlet weights, and a pseudo data set without a difference has the prior weight of 1/2.
    """
    difference = np.concatenate([[0.0], one - other])
    means = (difference[:, None] + difference) / 2
    regions: list[Bools] = [means < -rope, np.abs(means) <= rope, means > rope]
    weight = rng.dirichlet(np.concatenate([[0.5], np.ones(one.size)]), size=draws)
    mass = np.stack(
        [np.einsum("di,ij,dj->d", weight, region.astype(float), weight, optimize=True) for region in regions]
    )
    largest = mass == mass.max(axis=0)
    share = (largest / largest.sum(axis=0)).mean(axis=1)
    return Bayes(*map(float, share))
