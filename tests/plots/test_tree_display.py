"""Trees with money in their nodes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import drawn, texts
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from stakes import CostTreeClassifier
from stakes._format import money
from stakes.exceptions import CostsNeededError
from stakes.plots import (
    CostTreeDisplay,
)


@pytest.fixture(scope="module")
def cost_tree(complete_sample):
    X, y, costs = complete_sample
    return CostTreeClassifier(criterion="cost", max_depth=4, min_samples_leaf=5).fit(X, y, **costs)


def test_tree_has_money_in_its_nodes(cost_tree, complete_sample):
    _, y, costs = complete_sample
    display = CostTreeDisplay.from_estimator(cost_tree)
    root = display.texts_[0].get_text()
    all_negative, all_positive = costs["fn_cost"][y == 1].sum(), costs["fp_cost"][y == 0].sum()
    cheap, dear = sorted((all_negative, all_positive))
    assert f"cost {money(cheap)}\n(other label {money(dear)})" in root
    assert "300 records" in root
    assert f"→ {int(all_positive < all_negative)}" in root
    assert not display.ax_.axison
    drawn(display.ax_)


@pytest.mark.parametrize("max_depth", [0, 1, 2, None])
def test_tree_is_drawn_to_its_limit(cost_tree, max_depth):
    display = CostTreeDisplay.from_estimator(cost_tree, max_depth=max_depth)
    depth = {box.node: box.depth for box in display.boxes}
    assert max(depth.values()) == (cost_tree.get_depth() if max_depth is None else max_depth)
    if max_depth is None:
        assert len(display.boxes) == 2 * cost_tree.get_n_leaves() - 1
    assert sum("…" in box.text for box in display.boxes) == (0 if max_depth is None else 2**max_depth)
    assert len(display.texts_) == len(display.boxes)
    for box in display.boxes[1:]:
        assert depth[box.parent] == box.depth - 1
    answers = [text for text in texts(display.ax_) if text in ("yes", "no")]
    assert answers.count("yes") == answers.count("no") == len(display.boxes) // 2


def test_nodes_of_a_tree_are_above_the_middle_of_their_children_and_do_not_overlap(cost_tree):
    display = CostTreeDisplay.from_estimator(cost_tree, max_depth=None)
    display.figure_.canvas.draw()
    children = {}
    for box in display.boxes[1:]:
        children.setdefault(box.parent, []).append(box)
    for box in display.boxes:
        if box.node in children:
            yes, no = children[box.node]
            assert (yes.answer, no.answer) == ("yes", "no")
            assert yes.x < box.x < no.x
            assert box.x == (yes.x + no.x) / 2
    frames = [text.get_window_extent() for text in display.texts_]
    for i, one in enumerate(frames):
        assert not any(one.overlaps(other) for other in frames[:i])


def test_tree_grown_without_costs_shows_the_money_of_records_given(complete_sample):
    X, y, costs = complete_sample
    tree = CostTreeClassifier(max_depth=2).fit(X, y)
    assert not any("cost" in box.text for box in CostTreeDisplay.from_estimator(tree).boxes)
    some = slice(0, 200)
    given = {name: cost[some] for name, cost in costs.items()}
    display = CostTreeDisplay.from_estimator(tree, X[some], y[some], **given)
    assert "200 records" in display.boxes[0].text
    left = X[some][:, tree.members_.trees.nodes.feature[0]]  # who goes left, by the question of the root
    threshold = float(display.boxes[0].text.split("<= ")[1].split()[0].rstrip("?"))
    goes_left = left <= threshold
    cheap, dear = sorted(
        (given["fn_cost"][goes_left & (y[some] == 1)].sum(), given["fp_cost"][goes_left & (y[some] == 0)].sum())
    )
    assert f"cost {money(cheap)}\n(other label {money(dear)})" in display.boxes[1].text


def test_tree_of_one_leaf_is_drawn(complete_sample):
    X, y, _ = complete_sample
    tree = CostTreeClassifier(min_samples_leaf=200).fit(X, y)
    display = CostTreeDisplay.from_estimator(tree)
    assert len(display.texts_) == 1


def test_tree_reuses_axes_and_names_classes(complete_sample):
    X, y, costs = complete_sample
    labels = np.where(y == 1, "bad $", "good $")
    tree = CostTreeClassifier(criterion="cost", max_depth=2, pos_label="bad $").fit(X, labels, **costs)
    _, ax = plt.subplots()
    display = CostTreeDisplay.from_estimator(tree, ax=ax)
    assert display.ax_ is ax
    drawn(ax)
    missed, alarmed = costs["fn_cost"][y == 1].sum(), costs["fp_cost"][y == 0].sum()
    assert ("→ bad $" if missed > alarmed else "→ good $") in display.boxes[0].text


def test_tree_is_written_smaller_on_narrow_axes(cost_tree):
    _, ax = plt.subplots(figsize=(5, 5))
    display = CostTreeDisplay.from_estimator(cost_tree, ax=ax, fontsize=8)
    assert display.texts_[0].get_fontsize() < 8
    frames = [text.get_window_extent() for text in display.texts_]
    for i, one in enumerate(frames):
        assert not any(one.overlaps(other) for other in frames[:i])


def test_sample_weight_counts_in_the_nodes(cost_tree, complete_sample):
    X, y, costs = complete_sample
    doubled = CostTreeDisplay.from_estimator(cost_tree, X, y, **costs, sample_weight=np.full(300, 2.0))
    twice = {name: np.r_[cost, cost] for name, cost in costs.items()}
    repeated = CostTreeDisplay.from_estimator(cost_tree, np.r_[X, X], np.r_[y, y], **twice)
    for one, other in zip(doubled.boxes, repeated.boxes, strict=True):
        assert one.text == other.text


def test_errors_of_trees_are_clear(complete_sample, cost_tree):
    X, y, costs = complete_sample
    with pytest.raises(TypeError, match="LinearRegression is not a CostTreeClassifier"):
        CostTreeDisplay.from_estimator(LinearRegression())
    with pytest.raises(NotFittedError):
        CostTreeDisplay.from_estimator(CostTreeClassifier())
    with pytest.raises(CostsNeededError, match="give all, or none"):
        CostTreeDisplay.from_estimator(cost_tree, X, y, fp_cost=1)
    with pytest.raises(ValueError, match="X has 10 records, y has 300"):
        CostTreeDisplay.from_estimator(cost_tree, X[:10], y, **costs)
