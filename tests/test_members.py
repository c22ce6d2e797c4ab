"""Leaves of records in members, for trees and for any other classifier."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from stakes import CostBaggingClassifier, CostTreeClassifier
from stakes._members import ModelMembers, TreeMembers
from stakes._rows import take_columns
from stakes.exceptions import DecisionError


@pytest.fixture(scope="module")
def forest(small: Any) -> Any:
    clf = CostBaggingClassifier(CostTreeClassifier(max_depth=3), n_estimators=4, random_state=0)
    return clf.fit(small.X, small.y, **small.costs)


def test_trees_assign_a_leaf_of_each_tree_to_each_record(forest: Any, small: Any) -> None:
    members = forest.members_
    assigned = members.assign(forest._read(small.X, reset=False))
    assert assigned.ids.shape == (240, len(members)) == (240, 4)
    for tree in range(4):
        assert set(assigned.leaves.member[assigned.ids[:, tree]]) == {tree}
    # Leaves are numbered through all trees; every one of them is reached.
    assert set(assigned.ids.ravel()) == set(range(assigned.leaves.label.size))
    counts = members.trees.nodes.counts[members.trees.leaves]
    np.testing.assert_array_equal(assigned.leaves.label, counts[:, 1] > counts[:, 0])
    np.testing.assert_array_equal(assigned.leaves.probability("frequency"), counts[:, 1] / counts.sum(axis=1))


def test_leaf_probabilities_are_computed_once(forest: Any) -> None:
    leaves = forest.members_.leaves
    assert forest.members_.leaves is leaves
    assert leaves.probability("laplace") is leaves.probability("laplace")
    assert leaves.mean_weight is None


def test_weighted_trees_count_by_weight_and_smooth_in_units_of_the_mean_weight(small: Any) -> None:
    clf = CostBaggingClassifier(CostTreeClassifier(max_depth=3), n_estimators=4, weighted=True, random_state=0)
    clf.fit(small.X, small.y, **small.costs)
    trees, leaves = clf.members_.trees, clf.members_.leaves
    counts, weights = trees.nodes.counts[trees.leaves], trees.nodes.weights[trees.leaves]
    np.testing.assert_allclose(leaves.probability("frequency"), weights[:, 1] / weights.sum(axis=1))
    np.testing.assert_allclose(leaves.mean_weight, weights.sum(axis=1) / counts.sum(axis=1))
    np.testing.assert_array_equal(leaves.label, weights[:, 1] > weights[:, 0])
    # Weights are normalised within each member's sample.
    np.testing.assert_allclose(trees.nodes.weights[trees.roots].sum(axis=1), 1.0)
    # Laplace in units of the mean weight at the root, which is one over the number of records there.
    n = trees.nodes.counts[trees.roots].sum(axis=1)[trees.tree_of_leaf]
    laplace = (n * weights[:, 1] + 1) / (n * weights.sum(axis=1) + 2)
    np.testing.assert_allclose(leaves.probability("laplace"), laplace)


def test_the_prior_of_a_sample_is_taken_out_of_tree_probabilities(forest: Any) -> None:
    """Odds are divided by the shift of the odds at the root of each tree."""
    trees = forest.members_.trees
    corrected = TreeMembers(trees, base_rate=0.1).leaves.probability("laplace")
    for leaf, tree in enumerate(trees.tree_of_leaf):
        negative, positive = trees.nodes.counts[trees.leaves[leaf]] + 1
        root = trees.nodes.counts[trees.roots[tree]]
        odds = (positive / negative) / (root[1] / root[0]) * (0.1 / 0.9)
        assert corrected[leaf] == pytest.approx(odds / (1 + odds))


def test_members_are_pickled_without_what_can_be_worked_out_again(forest: Any, small: Any) -> None:
    bins = forest._read(small.X, reset=False)
    assigned = forest.members_.assign(bins)
    assigned.leaves.probability("laplace")
    again = pickle.loads(pickle.dumps(forest.members_))
    assert set(vars(again)) == {"trees", "weighted", "base_rate", "grown_by", "growth", "copies", "cheapest_leaf"}
    np.testing.assert_array_equal(again.assign(bins).ids, assigned.ids)
    np.testing.assert_array_equal(again.leaves.probability("laplace"), assigned.leaves.probability("laplace"))


# Any other classifier


def test_answers_of_other_models_are_their_probabilities(small: Any) -> None:
    models = [LogisticRegression(C=c).fit(small.X, small.y) for c in (0.01, 1.0)]
    assigned = ModelMembers(models, 1).assign(small.X)
    for j, model in enumerate(models):
        p = model.predict_proba(small.X)[:, 1]
        np.testing.assert_array_equal(assigned.leaves.probability("frequency")[assigned.ids[:, j]], p)
        np.testing.assert_array_equal(assigned.leaves.label[assigned.ids[:, j]], model.predict(small.X) == 1)
        assert (assigned.leaves.member[assigned.ids[:, j]] == j).all()
    with pytest.raises(DecisionError, match="leaf='laplace' is about trees"):
        assigned.leaves.probability("laplace")


def test_the_positive_label_may_be_the_first(small: Any) -> None:
    y = np.array(["b", "a"])[small.y]
    model = GaussianNB().fit(small.X, y)
    assigned = ModelMembers([model], "a").assign(small.X)
    np.testing.assert_array_equal(assigned.leaves.probability("frequency"), model.predict_proba(small.X)[:, 0])


def test_a_model_without_probabilities_votes(small: Any) -> None:
    model = SVC().fit(small.X, small.y)
    assert not hasattr(model, "predict_proba")
    assigned = ModelMembers([model], 1).assign(small.X)
    np.testing.assert_array_equal(assigned.leaves.probability("frequency"), model.predict(small.X))


def test_models_see_their_own_columns(small: Any) -> None:
    columns = [np.array([0, 3]), np.array([1, 2, 4])]
    models = [GaussianNB().fit(small.X[:, chosen], small.y) for chosen in columns]
    assigned = ModelMembers(models, 1, columns).assign(small.X)
    for j, (model, chosen) in enumerate(zip(models, columns, strict=True)):
        expected = model.predict_proba(small.X[:, chosen])[:, 1]
        np.testing.assert_array_equal(assigned.leaves.probability("frequency")[assigned.ids[:, j]], expected)


def test_the_prior_of_each_sample_is_taken_out_of_model_probabilities(small: Any) -> None:
    models = [GaussianNB().fit(small.X, small.y) for _ in range(2)]
    members = ModelMembers(models, 1, base_rate=0.2, sampled_rates=np.array([0.5, 0.2]))
    assigned = members.assign(small.X)
    p = models[0].predict_proba(small.X)[:, 1]
    odds = p / (1 - p) * 0.25
    corrected = assigned.leaves.probability("frequency")
    np.testing.assert_allclose(corrected[assigned.ids[:, 0]], odds / (1 + odds))
    np.testing.assert_allclose(corrected[assigned.ids[:, 1]], p)


@pytest.mark.parametrize(
    ("container", "back"),
    [
        (np.asarray, np.asarray),
        (sparse.csr_matrix, lambda table: table.toarray()),
        (sparse.csc_array, lambda table: table.toarray()),
        (lambda X: pd.DataFrame(X, columns=list("abcde")), lambda table: table.to_numpy()),
        (pd.DataFrame, lambda table: table.to_numpy()),
        (lambda X: pl.DataFrame(X, schema=list("abcde")), lambda table: table.to_numpy()),
    ],
    ids=["array", "csr", "csc", "pandas", "pandas with numbered columns", "polars"],
)
def test_columns_are_taken_from_any_container(container: Any, back: Any, small: Any) -> None:
    taken = take_columns(container(small.X), np.array([4, 0]))
    assert type(taken) is type(container(small.X))
    np.testing.assert_array_equal(back(taken), small.X[:, [4, 0]])


def test_a_model_whose_probabilities_are_none_is_named_with_one_of_them() -> None:
    class Odd:
        classes_ = np.array([0, 1])

        def predict_proba(self, X: Any) -> Any:
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    X = np.array([[0.5], [1.5], [np.nan]])
    members = ModelMembers([Odd()], 1)
    with pytest.raises(ValueError, match=r"predict_proba of Odd returned 1\.5: give a classifier whose probabilities"):
        members.assign(X)
