"""What compiled code would take on trust is refused when a model is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from lightgbm import Booster
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from stakes import CostBaggingClassifier, Decision
from stakes._model_checks import BoosterText, TreeState, _walks, _within, check_part
from stakes.exceptions import ModelFileError
from stakes.gradient_boosting import BoostedTrees, bare_text
from stakes.persist import dumps, loads

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=300), rng.integers(0, 6, 300), rng.normal(size=300)])
Y = ((X[:, 0] + 4 * np.isin(X[:, 1], (2, 4)) + rng.normal(size=300)) > 2).astype(int)


def test_children_come_after_their_parents_and_before_the_end() -> None:
    splits, feature = np.array([True, False, False]), np.array([1, -1, -1])

    def walks(left: int, right: int, end: int = 3, n_features: int = 2) -> bool:
        children = np.array([left, -1, -1]), np.array([right, -1, -1])
        return _walks(splits, children, end, feature, n_features)

    assert walks(1, 2)
    assert not walks(0, 2)  # a loop
    assert not walks(1, 3)
    assert not walks(-1, 2)
    assert not walks(1, 2, end=2)
    assert not walks(1, 2, n_features=1)


def test_an_index_is_neither_negative_nor_beyond_the_end() -> None:
    assert _within(np.array([0, 4]), 5)
    assert not _within(np.array([0, 5]), 5)
    assert not _within(np.array([-1, 4]), 5)


@pytest.fixture(scope="module")
def text() -> str:
    import lightgbm

    data = lightgbm.Dataset(X, Y, categorical_feature=[1])
    params = {"objective": "binary", "num_leaves": 6, "verbosity": -1, "min_data_per_group": 5, "cat_smooth": 1}
    made = bare_text(lightgbm.train(params, data, 3).model_to_string())
    assert "num_cat=0" not in made.partition("Tree=1")[0]
    return made


def changed(key: str, change: Callable[[list[str]], list[str]], *, at: int = 0) -> Callable[[str], str]:
    """Return what changes the values of a line of a text, the one in the tree `at`."""

    def edit(text: str) -> str:
        found = list(re.finditer(rf"(?m)^{key}=(.*)$", text))[at]
        return f"{text[: found.start(1)]}{' '.join(change(found[1].split(' ')))}{text[found.end(1) :]}"

    return edit


def put(position: int, value: str) -> Callable[[list[str]], list[str]]:
    return lambda values: [value if i == position % len(values) else each for i, each in enumerate(values)]


LIES: dict[str, Callable[[str], str]] = {
    "a child that is its parent": changed("left_child", put(0, "0")),
    "a split that there is not": changed("right_child", put(0, "99")),
    "a leaf that there is not": changed("left_child", put(-1, "-99")),
    "a feature that there is not": changed("split_feature", put(0, "3")),
    "a negative feature": changed("split_feature", put(0, "-1")),
    "fewer leaves than splits lead to": changed("num_leaves", put(0, "3")),
    "a negative number of leaves": changed("num_leaves", put(0, "-1")),
    "no number of leaves": changed("num_leaves", put(0, "x")),
    "a leaf of no number": changed("leaf_value", put(0, "nan")),
    "a leaf that is infinite": changed("leaf_value", put(0, "inf")),
    "a leaf too many": changed("leaf_value", lambda values: [*values, "0.1"]),
    "a leaf too many of a tree without splits": lambda text: re.sub(
        r"(?s)Tree=0\n.*?\n\n",
        "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=1 2\nis_linear=0\nshrinkage=1\n\n",
        text,
        count=1,
    ),
    "a threshold too few": changed("threshold", lambda values: values[1:]),
    "a threshold of no number": changed("threshold", put(0, "nan")),
    "a decision of another type": changed("decision_type", put(0, "16")),
    "linear leaves": changed("is_linear", put(0, "1")),
    "sets of categories that go backwards": changed("cat_boundaries", put(0, "1")),
    "sets of categories beyond their words": changed("cat_boundaries", put(-1, "99")),
    "words too large": changed("cat_threshold", put(0, str(1 << 33))),
    "more classes": changed("num_class", put(0, "3")),
    "more features than names": changed("max_feature_idx", put(0, "7")),
    "more features than memory": changed("max_feature_idx", put(0, str(1 << 40))),
    "another objective": changed("objective", put(0, "lambdarank")),
    "an option of the objective that is no number": changed("objective", lambda values: [*values, "path:/etc/passwd"]),
    "a line twice": lambda text: text.replace("num_leaves=", "num_leaves=5\nnum_leaves=", 1),
    "a line of another kind": lambda text: text.replace("num_leaves=", "leaf_coeff=1\nnum_leaves=", 1),
    "a tree out of order": lambda text: text.replace("Tree=1", "Tree=7"),
    "no trees": lambda text: text[: text.index("\n\nTree=")] + "\nend of trees\n",
    "a null": lambda text: text.replace("num_leaves", "\x00num_leaves", 1),
    "something else": lambda _: "x",
}


def test_the_text_of_a_trained_model_is_in_order_and_predicts_the_same(text: str) -> None:
    assert BoosterText.check(text) == 3
    state = BoosterText(Booster(model_str=text))
    assert state.text == text
    np.testing.assert_array_equal(state.make().predict(X), Booster(model_str=text).predict(X))


@pytest.mark.parametrize("lie", LIES)
def test_a_text_of_lightgbm_that_lies_is_refused(lie: str, text: str) -> None:
    new = LIES[lie](text)
    assert new != text
    with pytest.raises((ValueError, KeyError)):
        BoosterText.check(new)


def test_offsets_of_trees_and_parameters_are_not_taken_from_a_text(text: str) -> None:
    whole = text.replace("\n\nTree=0", "\ntree_sizes=999999999 -5 1\n\nTree=0") + "\nparameters:\n[device: gpu]\n"
    assert bare_text(whole) == text


def put_nodes(name: str, value: float) -> Callable[[dict[str, Any]], None]:
    return lambda state: state["nodes"][name].put(0, value)


@pytest.mark.parametrize(
    "change",
    [
        put_nodes("left_child", 0),
        put_nodes("right_child", 1 << 40),
        put_nodes("feature", 3),
        lambda state: state["values"].put(0, np.nan),
        lambda state: state.update(node_count=10**6),
        lambda state: state.update(nodes=state["nodes"][:-1]),
        lambda state: state.update(values=state["values"][:-1]),
    ],
)
def test_a_tree_of_scikit_learn_that_lies_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    state = TreeState(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y).tree_)
    assert state.make().node_count == state.state["node_count"]
    state.state = {name: np.copy(part) if isinstance(part, np.ndarray) else part for name, part in state.state.items()}
    change(state.state)
    with pytest.raises(ValueError, match="do not fit together"):
        state.make()


def test_there_are_no_gaps_in_the_nodes_of_trees_that_are_saved() -> None:
    nodes = TreeState(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y).tree_).state["nodes"]
    assert nodes.dtype.itemsize == sum(nodes.dtype[name].itemsize for name in nodes.dtype.names)


@pytest.mark.parametrize("name", ["member_thresholds_", "member_errors_", "member_weights_"])
@pytest.mark.parametrize("values", [np.ones(4), np.ones(2), np.ones(3, np.float32), np.array([1.0, np.nan, 1.0])])
def test_what_was_chosen_about_members_is_of_as_many_as_there_are(name: str, values: Any) -> None:
    chosen = Decision(member="tuned", vote_weight="pruned")
    model = CostBaggingClassifier(n_estimators=3, decision=chosen, random_state=0).fit(X, Y, fp_cost=1.0, fn_cost=3.0)
    assert loads(dumps(model)).reader_.members is not None
    kept = getattr(model.reader_, name)
    assert kept
    kept.update(dict.fromkeys(kept, values))
    with pytest.raises(ModelFileError, match="is damaged"):
        loads(dumps(model))


def test_only_splits_of_categories_go_by_sets_and_by_those_that_there_are() -> None:
    frame = pl.DataFrame({"x": X[:, 0], "z": X[:, 2], "kind": [f"k{value:.0f}" for value in X[:, 1]]})
    model = CostBaggingClassifier(n_estimators=3, random_state=0).fit(frame, Y)
    nodes = model.members_.trees.nodes
    assert (nodes.category_set >= 0).any()
    n_sets = len(nodes.categories_left)
    for at, number in ((nodes.feature < 0, 0), (nodes.feature == 0, 0), (nodes.feature == 2, n_sets)):
        kept = nodes.category_set.copy()
        nodes.category_set[np.flatnonzero(at)[0]] = number
        with pytest.raises(ModelFileError, match="damaged"):
            loads(dumps(model))
        nodes.category_set[:] = kept
    loads(dumps(model))


def test_leaves_have_no_children() -> None:
    model = CostBaggingClassifier(n_estimators=3, random_state=0).fit(X, Y)
    nodes = model.members_.trees.nodes
    nodes.left[np.flatnonzero(nodes.feature < 0)[0]] = 0
    with pytest.raises(ModelFileError, match="damaged"):
        loads(dumps(model))


@pytest.mark.parametrize("options", [{"min_frequency": 10}, {"drop": "first"}, {"max_categories": 3}, {}])
@pytest.mark.parametrize(
    "lie",
    [
        lambda encoder: encoder.categories_.__setitem__(0, np.arange(99.0)),
        lambda encoder: encoder._n_features_outs.__setitem__(0, 0),
        lambda encoder: encoder._n_features_outs.pop(),
        lambda encoder: encoder._n_features_outs.append(1),
        lambda encoder: setattr(encoder, "_default_to_infrequent_mappings", [np.full(7, 99), None]),
        lambda encoder: setattr(encoder, "_infrequent_indices", [np.array([99]), np.array([99])]),
    ],
)
def test_columns_of_categories_are_within_those_of_their_feature(
    options: dict[str, Any], lie: Callable[[OneHotEncoder], None]
) -> None:
    categories = np.column_stack([np.r_[np.zeros(5), rng.integers(1, 7, 300)], rng.integers(0, 2, 305)])
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", **options).fit(categories)
    check_part(encoder)
    lie(encoder)
    with pytest.raises((ModelFileError, ValueError, IndexError)):
        check_part(encoder)


def test_the_trees_of_boosting_are_checked_with_the_model(text: str) -> None:
    check_part(BoostedTrees([text]))
    with pytest.raises(ValueError, match="do not fit together"):
        check_part(BoostedTrees([text, changed("left_child", put(0, "0"))(text)]))
