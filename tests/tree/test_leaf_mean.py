"""The mean over leaves in one pass is that of the leaves found first."""

from __future__ import annotations

import numpy as np
import pytest

from stakes import CostBaggingClassifier, Decision
from stakes.datasets import make_churn


@pytest.mark.parametrize("n", [1, 2, 3, 5, 500])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_mean_of_leaf_values_is_that_of_the_leaves_to_the_last_bit(n, n_threads, monkeypatch):
    monkeypatch.setattr("stakes.tree.trees.FEWEST_PATHS_FOR_THREADS", 1)
    data = make_churn(500, random_state=0)
    forest = CostBaggingClassifier(n_estimators=7, random_state=0).fit(data.frame, data.target)
    trees, bins = forest.members_.trees, forest._read(data.frame[:n], reset=False)
    value = np.random.default_rng(0).normal(size=trees.leaves.size)
    for some in (None, np.array([4, 1])):
        expected = np.zeros(n)
        for leaf in trees.apply(bins, trees=some).T:
            expected += value[leaf]
        expected /= 7 if some is None else 2
        np.testing.assert_array_equal(trees.leaf_mean(bins, value, n_threads, some), expected)


@pytest.mark.parametrize("leaf", ["frequency", "laplace"])
@pytest.mark.parametrize("corrected", [False, True])
def test_scores_read_in_one_pass_are_those_of_all_decisions_together(leaf, corrected):
    data = make_churn(400, random_state=0)
    options = {"sampling": "under", "prior_correction": True} if corrected else {}
    forest = CostBaggingClassifier(n_estimators=6, random_state=0, **options)
    forest.fit(data.frame, data.target, fp_cost=1.0, fn_cost=3.0)
    decisions = [Decision(output="average", leaf=leaf), Decision(output="vote")]
    alone, together = (forest.read(some, data.frame) for some in (decisions[:1], decisions))
    source = alone.source(decisions[0])
    np.testing.assert_array_equal(alone.scores[source], together.scores[source])
