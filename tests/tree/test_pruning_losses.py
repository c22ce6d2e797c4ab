"""Pruning of trees of any shape and losses, against brute force and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pruning_reference import METHODS, REFERENCES, children, leaves_below
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from stakes.tree.nodes import Nodes
from stakes.tree.pruning import PRUNINGS


def made_tree(parents):
    """A tree by the leaf, among those there are, that splits next."""
    feature, left = [-1], [-1]
    for choice in parents:
        leaves = [node for node, f in enumerate(feature) if f < 0]
        node = leaves[choice % len(leaves)]
        feature[node], left[node] = 0, len(feature)
        feature += [-1, -1]
        left += [-1, -1]
    n = len(feature)
    return Nodes(
        feature=np.array(feature, np.int32),
        threshold=np.zeros(n, np.uint8),
        missing_left=np.zeros(n, np.uint8),
        left=np.array(left, np.int32),
        category_set=np.full(n, -1, np.int32),
        categories_left=np.empty((0, 4), np.uint64),
        counts=np.zeros((n, 2), np.int64),
        weights=np.zeros((n, 2)),
        gain=np.zeros(n),
    )


def summed_up(nodes, more):
    """The losses of nodes that lose this much more than their children do."""
    loss, parent = list(more), nodes.parent
    for node in range(len(loss) - 1, 0, -1):
        loss[parent[node]] += loss[node]
    return loss


@st.composite
def trees_with_losses(draw, max_splits):
    nodes = made_tree(draw(st.lists(st.integers(0, 1000), max_size=max_splits)))
    n = nodes.feature.size

    def losses():
        more = st.integers(*draw(st.sampled_from([(-1, 2), (-9, 9), (0, 1000)])))
        return summed_up(nodes, draw(st.lists(more, min_size=n, max_size=n)))

    return nodes, losses(), losses()


def same_leaves(nodes, flags, cut):
    return leaves_below(nodes, set(np.flatnonzero(flags))) == leaves_below(nodes, cut)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=200, deadline=None)
@given(trees_with_losses(max_splits=25))
def test_any_losses_are_pruned_as_by_the_reference(method, tree):
    nodes, train, validation = tree
    flags = PRUNINGS[method](nodes, np.array(train, float), np.array(validation, float))
    assert same_leaves(nodes, flags, REFERENCES[method](nodes, train, validation))


def all_cuts(nodes, node=0):
    """All subtrees with the same root, each by its leaves."""
    if nodes.feature[node] < 0:
        return [[node]]
    left, right = (all_cuts(nodes, child) for child in children(nodes, node))
    return [[node]] + [a + b for a in left for b in right]


@settings(max_examples=100, deadline=None)
@given(trees_with_losses(max_splits=7))
def test_reduced_error_finds_the_smallest_of_all_best_subtrees(tree):
    nodes, train, validation = tree
    flags = PRUNINGS["reduced_error"](nodes, np.array(train, float), np.array(validation, float))
    best = min(all_cuts(nodes), key=lambda leaves: (sum(validation[leaf] for leaf in leaves), len(leaves)))
    assert leaves_below(nodes, set(np.flatnonzero(flags))) == best


@settings(max_examples=100, deadline=None)
@given(trees_with_losses(max_splits=7), st.fractions(-20, 20, max_denominator=6))
def test_cost_complexity_finds_the_smallest_of_all_best_subtrees_for_any_alpha(tree, alpha):
    """With alpha in the validation loss of every leaf, the best subtree on validation is the one for alpha."""
    nodes, train, _ = tree
    scaled = np.array(train, float) * 60  # alpha times 60 is whole: no rounding
    flags = PRUNINGS["cost_complexity"](nodes, scaled, scaled + float(60 * alpha))
    best = min(all_cuts(nodes), key=lambda leaves: (sum(train[leaf] + alpha for leaf in leaves), len(leaves)))
    assert leaves_below(nodes, set(np.flatnonzero(flags))) == best


def best_for(alpha, nodes, loss):
    """The smallest subtree of least loss + alpha x leaves, node by node from the last one up."""
    best, cut = [value + alpha for value in loss], set()
    for node in range(len(loss) - 1, -1, -1):
        if nodes.feature[node] >= 0:
            below = sum(best[child] for child in children(nodes, node))
            if best[node] <= below:
                cut.add(node)
            best[node] = min(best[node], below)
    return cut


# The next leaf to split, of those there are: any, one of the last, the first, the last.
SHAPES = {"bushy": (0, 1000), "deep": (-40, 0), "left": (0, 1), "right": (-1, 0)}


@pytest.mark.parametrize("shape", SHAPES)
def test_large_trees_have_the_best_subtree_for_any_alpha(shape):
    rng = np.random.default_rng(0)
    for _ in range(8):
        nodes = made_tree(rng.integers(*SHAPES[shape], 200))
        more = np.exp(rng.uniform(0, 9, nodes.feature.size)).astype(int)
        loss = summed_up(nodes, more.tolist())
        for alpha in np.exp(rng.uniform(0, 9, 40)).astype(int).tolist():
            flags = PRUNINGS["cost_complexity"](nodes, np.array(loss, float), np.array(loss, float) + alpha)
            assert same_leaves(nodes, flags, best_for(alpha, nodes, loss))


def nodes_of(tree):
    """A tree of scikit-learn as Nodes, and the number that each node has there."""
    old, choices = [0], []
    nodes = made_tree([])
    while True:
        leaves = [node for node, f in enumerate(nodes.feature) if f < 0]
        open_ = [i for i, node in enumerate(leaves) if tree.children_left[old[node]] >= 0]
        if not open_:
            return nodes, np.array(old)
        choices.append(open_[0])
        node = old[leaves[open_[0]]]
        old += [tree.children_left[node], tree.children_right[node]]
        nodes = made_tree(choices)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(3))
def test_subtrees_for_growing_alpha_are_those_of_scikit_learn(seed, criterion):
    """There the training loss is the impurity, so it is here; alpha comes in as above."""
    X, y = make_classification(120, flip_y=0.3, random_state=seed)
    model = DecisionTreeClassifier(criterion=criterion, random_state=seed, max_depth=6)
    alphas = model.cost_complexity_pruning_path(X, y).ccp_alphas
    tree = model.fit(X, y).tree_
    nodes, old = nodes_of(tree)
    loss = (tree.impurity * tree.weighted_n_node_samples / y.size)[old]
    between = [(a + b) / 2 for a, b in zip(alphas, [*alphas[1:], 1.0], strict=True) if b - a > 1e-9]
    assert len(between) > 5
    for alpha in between:
        flags = PRUNINGS["cost_complexity"](nodes, loss, loss + alpha)
        leaves = leaves_below(nodes, set(np.flatnonzero(flags)))
        pruned = DecisionTreeClassifier(criterion=criterion, random_state=seed, max_depth=6, ccp_alpha=alpha).fit(X, y)
        assert len(leaves) == pruned.get_n_leaves()
        np.testing.assert_allclose(
            np.sort(loss[leaves]),
            np.sort((pruned.tree_.impurity * pruned.tree_.weighted_n_node_samples / y.size)[pruned.tree_.feature < 0]),
            atol=1e-12,
        )
