"""Trees in which the share of positives must not fall, or not rise, with a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 3)).round(1)
X[RNG.random(X.shape) < 0.05] = np.nan
Y = (np.nan_to_num(X[:, 0]) - np.nan_to_num(X[:, 1]) + RNG.normal(size=500) > 0).astype(int)
CST = [1, -1, 0]


def rises(model: Any, feature: int) -> Any:
    """Changes of P+ along a feature, the others as they are."""
    steps = np.linspace(-3, 3, 60)
    rows = np.repeat(X[:40], steps.size, axis=0)
    rows[:, feature] = np.tile(steps, 40)
    return np.diff(model.predict_proba(rows)[:, 1].reshape(40, -1), axis=1)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "cost"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5}, {"max_features": 1}], ids=str)
def test_probabilities_rise_and_fall_as_asked(criterion: str, weighted: bool, limits: dict[str, Any]) -> None:
    weight = RNG.integers(1, 4, 500) + 0.5 if weighted else None
    tree = CostTreeClassifier(criterion=criterion, monotonic_cst=CST, random_state=0, **limits)
    tree.fit(X, Y, sample_weight=weight)
    assert tree.get_n_leaves() > 5
    assert (rises(tree, 0) >= -1e-12).all()
    assert (rises(tree, 1) <= 1e-12).all()
    free = CostTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, Y, sample_weight=weight)
    assert (rises(free, 0) < 0).any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sign", [-1, 1])
def test_on_one_feature_the_tree_is_that_of_scikit_learn(seed: int, sign: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 12, (150, 1)).astype(float)
    y = (rng.random(150) < 0.2 + 0.05 * x[:, 0]).astype(int)
    ours = CostTreeClassifier(monotonic_cst=[sign]).fit(x, y)
    theirs = DecisionTreeClassifier(monotonic_cst=[sign], random_state=0).fit(x, y)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x))


def test_zeros_change_nothing() -> None:
    free, zeros = CostTreeClassifier().fit(X, Y), CostTreeClassifier(monotonic_cst=[0, 0, 0]).fit(X, Y)
    np.testing.assert_array_equal(free.predict_proba(X), zeros.predict_proba(X))


@pytest.mark.parametrize(
    "model",
    [
        CostBaggingClassifier(CostTreeClassifier(monotonic_cst=CST), n_estimators=5, random_state=0),
        CostBaggingClassifier(CostTreeClassifier(monotonic_cst=CST), features="per_tree", n_estimators=5),
        CostBoostClassifier(CostTreeClassifier(max_depth=1, monotonic_cst=CST), n_estimators=10, random_state=0),
    ],
    ids=["bagging", "per tree", "boosting"],
)
def test_ensembles_rise_and_fall_with_their_trees(model: Any) -> None:
    model.fit(X, Y)
    assert (rises(model, 0) >= -1e-12).all()
    assert (rises(model, 1) <= 1e-12).all()


def test_features_may_be_named() -> None:
    frame = pd.DataFrame(X, columns=["age", "debt", "height"])
    named = CostTreeClassifier(monotonic_cst={"age": 1, "debt": -1}).fit(frame, Y)
    np.testing.assert_array_equal(
        named.predict_proba(frame), CostTreeClassifier(monotonic_cst=CST).fit(X, Y).predict_proba(X)
    )
    with pytest.raises(ValueError, match=r"monotonic_cst has \['size'\], which are no features"):
        CostTreeClassifier(monotonic_cst={"size": 1}).fit(frame, Y)


def test_wrong_constraints_are_refused() -> None:
    for wrong in ([1, -1], [2, 0, 0], "rise"):
        with pytest.raises(ValueError, match=r"monotonic_cst=.* is not valid"):
            CostTreeClassifier(monotonic_cst=wrong).fit(X, Y)
    kinds = pd.DataFrame({"kind": RNG.choice(["a", "b"], 500), "x": X[:, 0]})
    with pytest.raises(ValueError, match="is about feature 0, which has categories"):
        CostTreeClassifier(monotonic_cst=[1, 0]).fit(kinds, Y)
    CostTreeClassifier(monotonic_cst=[0, 1]).fit(kinds, Y)
