"""Trees of the engine as trees of scikit-learn, which shap and treelite take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier, Decision
from stakes.as_sklearn import as_sklearn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.array(["no", "yes"])[(np.nan_to_num(X[:, 0]) + RNG.normal(size=300) > 0.5).astype(int)]
FEW: dict[str, Any] = {"n_estimators": 6, "random_state": 0}
MODELS = {
    "tree": CostTreeClassifier(),
    "stump of the other class": CostTreeClassifier(max_depth=1, pos_label="no"),
    "bagging": CostBaggingClassifier(**FEW),
    "forest": CostBaggingClassifier(features="per_split", decision=Decision(leaf="laplace"), **FEW),
    "samples": CostBaggingClassifier(CostTreeClassifier(max_leaf_nodes=9), sampling="over", **FEW),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


@each_model
def test_scikit_learns_tree_has_the_same_probabilities(model: Any) -> None:
    model.fit(X, Y, fp_cost=1, fn_cost=3)
    theirs = as_sklearn(model)
    np.testing.assert_allclose(theirs.predict_proba(X), model.predict_proba(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(theirs.classes_, model.classes_)


def test_names_of_features_and_paths_are_kept() -> None:
    frame = pd.DataFrame(np.nan_to_num(X), columns=list("abcd"))
    tree = CostTreeClassifier(max_depth=4).fit(frame, Y)
    theirs = as_sklearn(tree)
    np.testing.assert_array_equal(theirs.feature_names_in_, tree.feature_names_in_)
    np.testing.assert_array_equal(theirs.decision_path(frame).toarray(), tree.decision_path(frame).toarray())
    np.testing.assert_array_equal(theirs.apply(frame), tree.apply(frame))
    assert theirs.get_n_leaves() == tree.get_n_leaves()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CostBoostClassifier(**FEW), "not the mean probability"),
        (CostBaggingClassifier(sampling="under", prior_correction=True, **FEW), "not the mean probability"),
        (CostBaggingClassifier(decision=Decision(calibration="isotonic"), **FEW), "not the mean probability"),
        (CostTreeClassifier(criterion="cost"), "not the mean probability"),
        (CostBaggingClassifier(LogisticRegression(), **FEW), "has no trees of the engine"),
    ],
    ids=str,
)
def test_what_is_no_mean_of_trees_is_refused(model: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        as_sklearn(model.fit(np.nan_to_num(X), Y, fp_cost=1, fn_cost=3))


def test_splits_of_categories_are_refused_by_name() -> None:
    tree = CostTreeClassifier().fit(pd.DataFrame({"kind": np.where(Y == "yes", "a", "b")}), Y)
    with pytest.raises(ValueError, match="encode 'kind' first"):
        as_sklearn(tree)


@each_model
def test_shap_explains_the_trees(model: Any) -> None:
    shap = pytest.importorskip("shap")
    model.fit(X, Y)
    explainer = shap.TreeExplainer(as_sklearn(model))
    found = explainer.shap_values(X[:20], check_additivity=False)
    found = np.stack(found, axis=-1) if isinstance(found, list) else found
    total = found.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.predict_proba(X[:20]), atol=1e-6)


def test_treelite_takes_the_trees() -> None:
    treelite = pytest.importorskip("treelite")
    full = np.nan_to_num(X)
    forest = CostBaggingClassifier(**FEW).fit(full, Y)
    theirs = treelite.gtil.predict(treelite.sklearn.import_model(as_sklearn(forest)), full)
    np.testing.assert_allclose(np.asarray(theirs).reshape(300, -1)[:, -1], forest.predict_proba(full)[:, 1], atol=1e-6)
