"""Trees that pay for features, against exhaustive searches in plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stakes import CostTreeClassifier
from stakes.tree import growing
from stakes.tree.criteria import CRITERIA
from stakes.tree.nodes import Nodes
from stakes.tree.prices import TRADE_OFFS, worth

NAMES = ["x0", "x1", "x2"]
# Two features share a purchase, and each of them costs something on top of it.
PRICES = {"x0": 0.3, "x1": (0.2, "both"), "x2": (0.05, "both"), "both": 0.25}
ITEMS = {"x0": {"x0"}, "x1": {"x1", "both"}, "x2": {"x2", "both"}}
PRICE_OF = {"x0": 0.3, "x1": 0.2, "x2": 0.05, "both": 0.25}


@dataclass
class Data:
    """Few records with missing values and record costs."""

    X: np.ndarray
    y: np.ndarray
    cost: np.ndarray

    def fit(self, **params: Any) -> CostTreeClassifier:
        return CostTreeClassifier(**params).fit(self.X, self.y, fp_cost=self.cost, fn_cost=self.cost)


@st.composite
def few_records(draw: st.DrawFn) -> Data:
    n = draw(st.integers(4, 14))
    value = st.sampled_from([1.0, 2.0, 3.0, np.nan])
    X = np.array(draw(st.lists(st.lists(value, min_size=3, max_size=3), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:2] = 0, 1
    cost = np.array(draw(st.lists(st.sampled_from([1.0, 2.0, 4.0]), min_size=n, max_size=n)))
    return Data(X, y, cost)


def impurity(criterion: str, y: np.ndarray, cost: np.ndarray) -> float:
    """Return the loss of a node, written from the formulas."""
    if criterion == "cost":
        return float(min(cost[y == 1].sum(), cost[y == 0].sum()))
    p = y.mean() if y.size else 0.0
    if criterion == "gini":
        return y.size * (1 - p**2 - (1 - p) ** 2)
    return -y.size * sum(q * log2(q) for q in (p, 1 - p) if q > 0)


def all_splits(column: np.ndarray) -> list[np.ndarray]:
    """Return which records go left, for every cut of a feature and both sides for missing values."""
    known, absent = column[~np.isnan(column)], np.isnan(column)
    found = [(column <= cut) | (absent & left) for cut in np.unique(known) for left in (False, True)]
    return [side for side in found if 0 < side.sum() < side.size]


def best_worths(data: Data, rows: np.ndarray, paid: set[str], criterion: str, rule: str) -> dict[str, float]:
    """Return what the best split of a node on each feature is worth by the trade-off, by trying all of them."""
    y, cost = data.y[rows], data.cost[rows]
    before, found = impurity(criterion, y, cost), {}
    for j, name in enumerate(NAMES):
        column = data.X[rows, j]
        price = sum(PRICE_OF[item] for item in ITEMS[name] - paid) * (~np.isnan(column)).mean()
        for left in all_splits(column):
            after = impurity(criterion, y[left], cost[left]) + impurity(criterion, y[~left], cost[~left])
            if rule == "total_cost":
                net = before - after - price * rows.size
                value = net if price == 0 or net > 0 else -inf
            else:
                value = (2 ** ((before - after) / rows.size) - 1) / (price + 1) ** 0.7
            found[name] = max(found.get(name, -inf), value)
    return found


def nodes_with_records(tree: CostTreeClassifier, data: Data) -> list[tuple[int, np.ndarray, set[str]]]:
    """Return each node with its records and the items that are paid for above it."""
    nodes: Nodes = tree.members_.trees.nodes
    passes = tree.decision_path(data.X).toarray().astype(bool)
    paid: dict[int, set[str]] = {0: set()}
    for node in range(nodes.feature.size):
        if nodes.left[node] >= 0:
            below = paid[node] | ITEMS[NAMES[nodes.feature[node]]]
            paid[nodes.left[node]] = paid[nodes.left[node] + 1] = below
    return [(node, np.flatnonzero(passes[:, node]), paid[node]) for node in range(nodes.feature.size)]


@pytest.mark.parametrize(("criterion", "rule"), [("gini", "eg2"), ("entropy", "eg2"), ("cost", "total_cost")])
@given(data=few_records())
@settings(max_examples=60, deadline=None)
def test_every_split_is_the_best_under_the_priced_criterion_of_all_there_are(criterion, rule, data):
    tree = data.fit(criterion=criterion, trade_off=rule, price_exponent=0.7, feature_costs=PRICES)
    nodes = tree.members_.trees.nodes
    for node, rows, paid in nodes_with_records(tree, data):
        if len(set(data.y[rows])) < 2:
            continue
        worths = best_worths(data, rows, paid, criterion, rule)
        best = max(worths.values(), default=-inf)
        if nodes.feature[node] < 0:
            assert best == -inf or best <= 1e-9
        else:
            assert worths[NAMES[nodes.feature[node]]] == pytest.approx(best, abs=1e-9)


def test_the_trade_offs_are_those_of_the_formulas():
    assert worth(TRADE_OFFS["eg2"], 1.0, 1.0, 3.0) == pytest.approx(1 / 4)
    assert worth(TRADE_OFFS["eg2"], 0.5, 0.5, 3.0) == pytest.approx((2**0.5 - 1) / 2)
    assert worth(TRADE_OFFS["total_cost"], 1.0, 5.0, 3.0) == 2.0
    assert worth(TRADE_OFFS["total_cost"], 1.0, 3.0, 3.0) == -inf
    assert worth(TRADE_OFFS["total_cost"], 1.0, 0.0, 0.0) == 0.0


def some_records(n: int, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random((n, 4)) < 0.05] = np.nan
    y = (np.nan_to_num(X) @ [1, 0.5, 0.2, 0] + rng.normal(size=n) > 1).astype(int)
    return Data(X, y, rng.choice([1.0, 3.0, 7.0], n))


# Few records are listed bin by bin; many have histograms.
few_and_many = pytest.mark.parametrize("n", [60, pytest.param(3000, marks=pytest.mark.compiled)])


def same(tree: CostTreeClassifier, other: CostTreeClassifier) -> bool:
    return all(map(np.array_equal, tree.members_.trees.nodes, other.members_.trees.nodes))


@pytest.mark.parametrize("criterion", CRITERIA)
@few_and_many
def test_prices_of_zero_give_the_tree_without_prices_bit_for_bit(criterion, n):
    data = some_records(n)
    plain = data.fit(criterion=criterion)
    assert same(plain, data.fit(criterion=criterion, feature_costs=[0, 0, 0, 0]))
    assert same(plain, data.fit(criterion=criterion, feature_costs=[1, 2, 3, 4], price_bias=0))


@pytest.mark.parametrize("criterion", CRITERIA)
@few_and_many
@pytest.mark.parametrize("max_features", [None, 2])
def test_a_priced_feature_that_tells_nothing_changes_nothing(criterion, n, max_features):
    # All features but a constant one are free: the whole machinery of prices runs, and finds the same splits.
    data = some_records(n)
    wider = Data(np.column_stack([data.X, np.ones(n)]), data.y, data.cost)
    params = {"criterion": criterion, "max_features": max_features, "random_state": 0}
    assert same(wider.fit(**params), wider.fit(feature_costs={"x4": 5.0}, **params))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_feature_of_infinite_price_is_never_used_and_the_tree_is_that_of_the_others(criterion):
    data = some_records(500)
    tree = data.fit(criterion=criterion, feature_costs=[inf, 0, 0, 0], price_bias={"x0": 0})
    assert 0 not in tree.members_.trees.nodes.feature
    others = Data(data.X[:, 1:], data.y, data.cost).fit(criterion=criterion)
    assert np.array_equal(np.maximum(tree.members_.trees.nodes.feature, 0), others.members_.trees.nodes.feature + 1)
    assert np.array_equal(tree.members_.trees.nodes.threshold, others.members_.trees.nodes.threshold)


def cheap_noisy_and_expensive_clean() -> Data:
    # The free feature is wrong about 5 of 50 negatives and 5 of 50 positives, the other one about none of them.
    y = np.repeat([0, 1], 50)
    noisy = y.copy()
    noisy[[*range(5), *range(50, 55)]] ^= 1
    return Data(np.column_stack([noisy, y]).astype(float), y, np.full(100, 2.0))


@pytest.mark.parametrize("money", [1.0, 1000.0])
def test_the_tree_changes_over_at_the_price_at_which_the_clean_feature_costs_what_it_saves(money):
    # 10 mistakes at 2 each are 20; spread over 100 records the clean feature may cost up to 0.2.
    data = cheap_noisy_and_expensive_clean()
    data.cost *= money
    below = data.fit(criterion="cost", feature_costs=[0, 0.2 * money * (1 - 1e-9)])
    above = data.fit(criterion="cost", feature_costs=[0, 0.2 * money * (1 + 1e-9)])
    assert below.members_.trees.nodes.feature[0] == 1
    assert above.members_.trees.nodes.feature.tolist() == [0, -1, -1]
    for tree, mistakes, tests in ((below, 0, 20), (above, 10, 0)):
        labels = tree.predict(data.X, fp_cost=data.cost, fn_cost=data.cost)
        assert (labels != data.y).sum() == mistakes
        assert tree.acquisition_cost(data.X).sum() == pytest.approx(tests * money)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_eg2_changes_over_at_the_price_computed_by_hand(exponent):
    # (2^1 - 1) / (price + 1)^w = 2^g - 1, with the information gains 1 of the clean feature, g of the noisy one.
    data = cheap_noisy_and_expensive_clean()
    g = 1 + 0.1 * log2(0.1) + 0.9 * log2(0.9)
    price = (1 / (2**g - 1)) ** (1 / exponent) - 1
    for factor, feature in ((1 - 1e-9, 1), (1 + 1e-9, 0)):
        tree = data.fit(
            criterion="entropy",
            max_depth=1,
            price_exponent=exponent,
            feature_costs=[0, price * factor],
            trade_off="eg2",
        )
        assert tree.members_.trees.nodes.feature[0] == feature


def test_a_bias_moves_the_change_over_and_not_what_is_paid():
    data = cheap_noisy_and_expensive_clean()
    for bias in (0.4, {"x1": 0.4}):
        tree = data.fit(criterion="cost", feature_costs=[0, 0.45], price_bias=bias)
        assert tree.members_.trees.nodes.feature[0] == 1
        assert tree.acquisition_cost(data.X).sum() == pytest.approx(45)
    assert data.fit(criterion="cost", feature_costs=[0, 0.45], price_bias=0.5).members_.trees.nodes.feature[0] == 0


def test_what_is_paid_above_is_free_below_and_so_are_features_of_a_group_already_paid():
    # x0 is worth its price at the root only, where it saves 30 for 100 records; x1 comes with it.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (400, 2)).astype(float)
    y = ((X[:, 0] > 3) ^ ((X[:, 0] == 2) & (X[:, 1] > 6))).astype(int)
    data = Data(X, y, np.ones(400))
    together = data.fit(criterion="cost", feature_costs={"x0": (0.3, "test"), "x1": (0.3, "test")})
    assert set(together.members_.trees.nodes.feature) == {-1, 0, 1}
    assert together.acquisition_cost(X) == pytest.approx(0.3)
    assert (together.members_.trees.nodes.feature == 0).sum() > 1
    apart = data.fit(criterion="cost", feature_costs=[0.3, 0.3])
    assert 1 not in apart.members_.trees.nodes.feature
    free = data.fit(criterion="cost")
    assert np.array_equal(together.predict(X, fp_cost=1, fn_cost=1), free.predict(X, fp_cost=1, fn_cost=1))


@pytest.mark.parametrize("weights", ["class", "whole"])
def test_sample_weights_count_records_as_often_as_repeating_them_does(weights):
    data = some_records(300)
    weight = np.where(data.y == 1, 3, 1) if weights == "class" else np.random.default_rng(1).integers(1, 4, 300)
    params = {"criterion": "cost", "feature_costs": [0.05, 0.02, 0.01, 0.0], "max_depth": 4}
    factor = 0.5 if weights == "class" else 1.0  # fractions are not made into repetitions
    weighted = CostTreeClassifier(**params).fit(
        data.X, data.y, fp_cost=data.cost, fn_cost=data.cost, sample_weight=factor * weight
    )
    rows = np.repeat(np.arange(300), weight)
    repeated = Data(data.X[rows], data.y[rows], data.cost[rows]).fit(**params)
    assert np.array_equal(weighted.members_.trees.nodes.feature, repeated.members_.trees.nodes.feature)
    assert np.isin([0, 1, 2], weighted.members_.trees.nodes.feature).sum() > 0


def subtrees(nodes: Nodes, node: int) -> list[frozenset[int]]:
    """Return the sets of nodes that split in all prunings of a subtree."""
    if nodes.left[node] < 0:
        return [frozenset()]
    left, right = subtrees(nodes, nodes.left[node]), subtrees(nodes, nodes.left[node] + 1)
    return [frozenset()] + [frozenset({node}) | a | b for a, b in product(left, right)]


@given(data=few_records())
@settings(max_examples=60, deadline=None)
def test_pruning_by_cost_leaves_the_subtree_that_costs_least_with_what_is_paid(data):
    params = {"criterion": "cost", "feature_costs": PRICES, "price_bias": 0, "max_depth": 3, "validation": None}
    whole = data.fit(**params)
    pruned = data.fit(pruning="reduced_error", pruning_measure="cost", **params)
    nodes = whole.members_.trees.nodes
    positive = nodes.weights[:, 1] > nodes.weights[:, 0]
    paths = [np.flatnonzero(path) for path in whole.decision_path(data.X).toarray()]

    def total(splits: frozenset[int]) -> float:
        money = 0.0
        for i, path in enumerate(paths):
            bought: set[str] = set()
            for node in path:  # in the order of depth: children have larger numbers
                if node not in splits:
                    break
                if not np.isnan(data.X[i, nodes.feature[node]]):
                    bought |= ITEMS[NAMES[nodes.feature[node]]]
            money += data.cost[i] * (positive[node] != data.y[i]) + sum(PRICE_OF[item] for item in bought)
        return money

    least = min(total(splits) for splits in subtrees(nodes, 0))
    labels = pruned.predict(data.X, fp_cost=data.cost, fn_cost=data.cost)
    paid = pruned.acquisition_cost(data.X).sum() + data.cost[labels != data.y].sum()
    assert paid == pytest.approx(least)


def test_cost_complexity_counts_prices_as_well():
    data = cheap_noisy_and_expensive_clean()
    params = {"pruning": "cost_complexity", "pruning_measure": "cost", "validation": None, "price_exponent": 0}
    for price, feature in ((0.15, 0), (0.25, -1)):
        clean = Data(data.X[:, 1:], data.y, np.where(data.y == 1, 0.4, 2.0))  # all alike costs 20 for 100 records
        tree = clean.fit(feature_costs=[price], **params)
        assert tree.members_.trees.nodes.feature[0] == feature


@pytest.mark.compiled
def test_a_whole_number_for_the_exponent_compiles_nothing_anew():
    data = some_records(60)
    data.fit(feature_costs=[1, 2, 3, 4], price_exponent=1.0)
    compiled = list(growing._grow.signatures)
    data.fit(feature_costs=[1, 2, 3, 4], price_exponent=1)
    assert growing._grow.signatures == compiled


def test_errors_name_what_is_wrong():
    data = some_records(60)
    with pytest.raises(ValueError, match="trade_off='total_cost' counts money, and criterion='gini' does not"):
        data.fit(trade_off="total_cost", feature_costs=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="neither features nor a group"):
        data.fit(feature_costs={"age": 1})
    with pytest.raises(ValueError, match="a price for each of the 4 features"):
        data.fit(feature_costs=[1, 2])
    with pytest.raises(ValueError, match="price_bias"):
        data.fit(feature_costs=[1, 2, 3, 4], price_bias={"y": 1})
