"""The single tree as a classifier: leaves, labels, pruning, importances and exports (FRAMEWORK 5)."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from stakes import CostTreeClassifier, Decision
from stakes.exceptions import DecisionError

# Leaves


def three_groups() -> tuple[Any, Any]:
    """100 negatives; 10 negatives and 10 positives; 1 negative and 3 positives: each a leaf."""
    X = np.repeat([0.0, 1.0, 2.0], [100, 20, 4]).reshape(-1, 1)
    y = np.concatenate([np.zeros(100), np.repeat([0, 1], 10), [0, 1, 1, 1]]).astype(int)
    return X, y


def test_leaf_probabilities_are_those_worked_out_by_hand() -> None:
    """b = 13 / 124 and m = 10 / b = 95.4: only the first leaf, and the root, have as many records."""
    X, y = three_groups()
    m = 1240 / 13
    by_hand = {
        "frequency": [0, 10 / 20, 3 / 4],
        "laplace": [1 / 102, 11 / 22, 4 / 6],
        "m_estimate": [10 / (100 + m), 20 / (20 + m), 13 / (4 + m)],
        "curtailment": [0, 13 / 124, 13 / 124],
        "curtailment_laplace": [1 / 102, 14 / 126, 14 / 126],
        "curtailment_m_estimate": [10 / (100 + m), 23 / (124 + m), 23 / (124 + m)],
    }
    for leaf, expected in by_hand.items():
        tree = CostTreeClassifier(leaf=leaf).fit(X, y)
        np.testing.assert_allclose(tree.predict_proba([[0], [1], [2]])[:, 1], expected, err_msg=leaf)
        # On T_cs: fp / (fp + fn) on either side of each probability.
        for p, x in zip(expected, [0, 1, 2], strict=True):
            for step in (-1e-6, 1e-6):
                threshold = np.clip(p + step, 0, 1)
                predicted = tree.predict([[x]], fp_cost=threshold, fn_cost=1 - threshold)
                assert predicted[0] == (p > threshold), (leaf, x, step)


def test_the_default_decision_is_the_one_documented() -> None:
    X, y = three_groups()
    by_probability = Decision(leaf="laplace", threshold="cost")
    by_label = Decision(leaf="laplace", output="vote")
    for criterion, (pruning, measure) in product(
        ("gini", "entropy", "gain_ratio", "cost"),
        ((None, "cost"), ("reduced_error", "error"), ("reduced_error", "cost"), ("cost_complexity", "cost")),
    ):
        tree = CostTreeClassifier(criterion=criterion, leaf="laplace", pruning=pruning, pruning_measure=measure)
        acted = criterion == "cost" or (pruning is not None and measure == "cost")
        assert tree.fit(X, y).decision_ == (by_label if acted else by_probability)


@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "cost"},
        {"criterion": "cost", "max_depth": 2, "break_ties": False},
        {"criterion": "gini", "pruning": "reduced_error", "pruning_measure": "cost", "validation": None},
        {"criterion": "cost", "pruning": "cost_complexity", "pruning_measure": "cost", "validation": None},
    ],
)
def test_a_leaf_of_a_cost_tree_has_the_cheaper_label(options: dict[str, Any], holes: Any) -> None:
    tree = CostTreeClassifier(**options).fit(holes.X, holes.y, **holes.costs)
    leaf, labels = tree.apply(holes.X), tree.predict(holes.X)
    for number in np.unique(leaf):
        here = leaf == number
        missed, alarmed = holes.fn[here & (holes.y == 1)].sum(), holes.fp[here & (holes.y == 0)].sum()
        np.testing.assert_array_equal(labels[here], int(missed > alarmed))


def test_a_leaf_of_another_tree_has_the_label_of_the_majority(holes: Any) -> None:
    tree = CostTreeClassifier(max_depth=4, decision=Decision(output="vote")).fit(holes.X, holes.y, **holes.costs)
    leaf, labels = tree.apply(holes.X), tree.predict(holes.X)
    for number in np.unique(leaf):
        np.testing.assert_array_equal(labels[leaf == number], int(holes.y[leaf == number].mean() > 0.5))


def test_a_tuned_threshold_is_the_cheapest_on_the_validation_records(holes: Any, fresh: Any) -> None:
    tree = CostTreeClassifier(max_depth=5, leaf="laplace").fit(
        holes.X, holes.y, **holes.costs, X_val=fresh.X, y_val=fresh.y, fp_cost_val=fresh.fp, fn_cost_val=fresh.fn
    )
    p = tree.predict_proba(fresh.X)[:, 1]

    def bill(acted: Any) -> float:
        return float(np.where(acted, (fresh.y == 0) * fresh.fp, (fresh.y == 1) * fresh.fn).sum())

    tuned = tree.with_decision(Decision(leaf="laplace", threshold="tuned"))
    assert bill(tuned.predict(fresh.X)) == min(bill(p > t) for t in [-1, *p])
    # With one member, tuning its own threshold is the same.
    alone = tree.with_decision(Decision(leaf="laplace", member="tuned"))
    assert bill(alone.predict(fresh.X)) == bill(tuned.predict(fresh.X))


# Growing


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("options", [{"max_depth": 2}, {"min_samples_leaf": 20}, {"min_samples_split": 80}])
def test_it_grows_the_tree_of_scikit_learn(criterion: str, options: dict[str, Any]) -> None:
    """On records of random weights and in large nodes, where no two splits are equally good."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=200) > 1).astype(int)
    weight = rng.uniform(0.5, 1.5, 200)
    mine = CostTreeClassifier(criterion=criterion, **options).fit(X, y, sample_weight=weight)
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X))
    assert mine.get_n_leaves() == theirs.get_n_leaves()
    assert mine.get_depth() == theirs.get_depth()
    np.testing.assert_allclose(mine.feature_importances_, theirs.feature_importances_)
    # Two records share a leaf of one tree iff they share one of the other.
    assert len(set(zip(mine.apply(X), theirs.apply(X), strict=True))) == mine.get_n_leaves()


def test_records_end_in_leaves(holes: Any) -> None:
    tree = CostTreeClassifier(max_depth=3).fit(holes.X, holes.y)
    assert set(tree.apply(holes.X)) == set(np.flatnonzero(tree.members_.trees.nodes.feature < 0))
    assert len(set(tree.apply(holes.X))) == tree.get_n_leaves()
    assert tree.get_n_leaves() <= 8
    assert tree.get_depth() <= 3
    stump = CostTreeClassifier(max_depth=1).fit(holes.X, holes.y)
    assert (stump.get_depth(), stump.get_n_leaves()) == (1, 2)
    root = CostTreeClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert (root.get_depth(), root.get_n_leaves()) == (0, 1)


def test_importances_of_a_cost_tree_are_the_money_saved(holes: Any) -> None:
    tree = CostTreeClassifier(criterion="cost", max_depth=4).fit(holes.X, holes.y, **holes.costs)

    def cheaper(rows: Any) -> float:
        return min(holes.fn[rows & (holes.y == 1)].sum(), holes.fp[rows & (holes.y == 0)].sum())

    leaf = tree.apply(holes.X)
    spent = sum(cheaper(leaf == number) for number in np.unique(leaf))
    saved = cheaper(np.ones(len(holes), bool)) - spent
    assert tree.feature_importances_.sum() == pytest.approx(saved)
    assert saved > 0
    in_cents = CostTreeClassifier(criterion="cost", max_depth=4)
    in_cents.fit(holes.X, holes.y, fp_cost=100 * holes.fp, fn_cost=100 * holes.fn)
    np.testing.assert_allclose(in_cents.feature_importances_, 100 * tree.feature_importances_)
    shares = CostTreeClassifier(criterion="gini").fit(holes.X, holes.y).feature_importances_
    assert shares.sum() == pytest.approx(1.0)


def test_a_cost_tree_without_tie_breaks_stops_where_no_split_saves_money(holes: Any) -> None:
    textbook = CostTreeClassifier(criterion="cost", break_ties=False).fit(holes.X, holes.y, **holes.costs)
    goes_on = CostTreeClassifier(criterion="cost").fit(holes.X, holes.y, **holes.costs)
    assert 1 < textbook.get_n_leaves() < goes_on.get_n_leaves()
    nodes = textbook.members_.trees.nodes
    assert (nodes.gain[nodes.feature >= 0] > 0).all()


def test_costs_shape_a_cost_tree_and_no_other(holes: Any) -> None:
    for criterion in ("gini", "entropy", "gain_ratio", "cost"):
        features = [
            CostTreeClassifier(criterion=criterion, max_depth=3)
            .fit(holes.X, holes.y, fp_cost=1, fn_cost=fn)
            .members_.trees.nodes
            for fn in (1.0, holes.fn)
        ]
        same = all(np.array_equal(one, other) for one, other in zip(*(n[:4] for n in features), strict=True))
        assert same == (criterion != "cost")


def test_features_drawn_at_each_split_depend_on_the_seed_only(holes: Any) -> None:
    def trees(seed: int) -> Any:
        return CostTreeClassifier(max_features=2, random_state=seed).fit(holes.X, holes.y).members_.trees.nodes

    np.testing.assert_array_equal(trees(0).feature, trees(0).feature)
    assert not np.array_equal(trees(0).feature, trees(1).feature)


# Pruning


class Pruner:
    """Pruning by hand, from the tree as grown: records are followed one by one, links broken one by one."""

    def __init__(self, grown: CostTreeClassifier, train: Any, val: Any, *, by_cost: bool) -> None:
        self.nodes = grown.members_.trees.nodes
        self.bins = {"train": grown._read(train.X, reset=False), "val": grown._read(val.X, reset=False)}
        self.y = {"train": train.y, "val": val.y}
        ones = {"train": np.ones(len(train)), "val": np.ones(len(val))}
        costs = {name: np.where(r.y == 1, r.fn, r.fp) for name, r in (("train", train), ("val", val))}
        self.counted = costs if by_cost else ones
        self.labelled_by = costs["train"] if by_cost or grown.criterion == "cost" else ones["train"]

    def path(self, bins: Any, leaves: set[int]) -> int:
        at, nodes = 0, self.nodes
        while nodes.feature[at] >= 0 and at not in leaves:
            value = bins[nodes.feature[at]]
            left = nodes.missing_left[at] if value == 0 else value <= nodes.threshold[at]
            at = int(nodes.left[at]) + (0 if left else 1)
        return at

    def here(self, node: int, name: str) -> Any:
        """Return which records come by a node."""
        return np.array([node in self.ancestors(self.path(row, set())) for row in self.bins[name]])

    def ancestors(self, node: int) -> list[int]:
        return [node] if node <= 0 else [node, *self.ancestors(int(self.nodes.parent[node]))]

    def loss(self, node: int, name: str) -> Fraction:
        rows = self.here(node, "train")
        weigh = [self.labelled_by[rows & (self.y["train"] == side)].sum() for side in (0, 1)]
        label = int(weigh[1] > weigh[0])
        wrong = self.here(node, name) & (self.y[name] != label)
        return Fraction(int(self.counted[name][wrong].sum()))

    def children(self, node: int) -> list[int]:
        return [] if self.nodes.feature[node] < 0 else [int(self.nodes.left[node]), int(self.nodes.left[node]) + 1]

    def leaves_below(self, node: int, cut: set[int]) -> list[int]:
        if node in cut or not self.children(node):
            return [node]
        return [leaf for child in self.children(node) for leaf in self.leaves_below(child, cut)]

    def reduced_error(self, node: int = 0) -> tuple[Fraction, set[int]]:
        own = self.loss(node, "val")
        if not self.children(node):
            return own, set()
        below = [self.reduced_error(child) for child in self.children(node)]
        total = sum(loss for loss, _ in below)
        return (own, {node}) if own <= total else (Fraction(total), set.union(*(cut for _, cut in below)))

    def cost_complexity(self) -> set[int]:
        losses = {node: (self.loss(node, "train"), self.loss(node, "val")) for node in range(self.nodes.feature.size)}
        cut: set[int] = set()
        sequence: dict[Fraction | None, set[int]] = {None: cut}  # by alpha, which never falls
        while self.leaves_below(0, cut) != [0]:
            alive = [n for n in range(self.nodes.feature.size) if self.children(n) and not cut & set(self.ancestors(n))]
            links = {}
            for node in alive:
                leaves = self.leaves_below(node, cut)
                links[node] = (losses[node][0] - sum(losses[leaf][0] for leaf in leaves)) / (len(leaves) - 1)
            weakest = min(links.values())
            cut = cut | {node for node, alpha in links.items() if alpha == weakest}
            sequence[weakest] = cut
        subtrees = list(sequence.values())
        bills = [sum(losses[leaf][1] for leaf in self.leaves_below(0, cut)) for cut in subtrees]
        return subtrees[max(k for k, bill in enumerate(bills) if bill == min(bills))]


@pytest.mark.parametrize("holdout", [False, True])
@pytest.mark.parametrize("measure", ["error", "cost"])
@pytest.mark.parametrize("pruning", ["reduced_error", "cost_complexity"])
@pytest.mark.parametrize("criterion", ["gini", "cost"])
def test_pruning_is_that_of_the_reference(
    criterion: str, pruning: str, measure: str, holdout: bool, holes: Any, fresh: Any
) -> None:
    options = {"criterion": criterion, "max_depth": 5, "validation": 0.3 if holdout else "auto", "random_state": 0}
    # A cost of its own for each record, by which those held out are known again.
    records = replace(holes, fn=2.0 + np.random.default_rng(0).permutation(len(holes)))
    extra: dict[str, Any] = {}
    if not holdout:
        extra = {"X_val": fresh.X, "y_val": fresh.y, "fp_cost_val": fresh.fp, "fn_cost_val": fresh.fn}
    grown = CostTreeClassifier(**options).fit(records.X, records.y, **records.costs, **extra)
    pruned = CostTreeClassifier(**options, pruning=pruning, pruning_measure=measure)
    pruned.fit(records.X, records.y, **records.costs, **extra)
    train, val = records, fresh
    if holdout:
        held_out = np.isin(records.fn, pruned.validation_.records.costs.fn)
        assert held_out.sum() == 72
        train, val = records.take(~held_out), records.take(held_out)
    pruner = Pruner(grown, train, val, by_cost=measure == "cost")
    cut = pruner.reduced_error()[1] if pruning == "reduced_error" else pruner.cost_complexity()
    leaves = pruner.leaves_below(0, cut)
    assert pruned.get_n_leaves() == len(leaves) < grown.get_n_leaves()
    where = [pruner.path(row, set(leaves)) for row in pruner.bins["train"]]
    assert len(set(zip(where, pruned.apply(train.X), strict=True))) == len(set(where))


def test_pruning_on_the_training_records_themselves_takes_the_splits_that_gain_nothing(holes: Any) -> None:
    grown = CostTreeClassifier(max_depth=6, validation=None).fit(holes.X, holes.y)
    pruned = CostTreeClassifier(max_depth=6, validation=None, pruning="reduced_error").fit(holes.X, holes.y)
    label = Decision(output="vote")
    np.testing.assert_array_equal(
        grown.with_decision(label).predict(holes.X), pruned.with_decision(label).predict(holes.X)
    )
    assert pruned.get_n_leaves() < grown.get_n_leaves()


# Data frames


@pytest.mark.parametrize("criterion", ["gini", "cost"])
def test_frames_of_pandas_and_polars_make_the_same_tree(criterion: str, mixed: pl.DataFrame, holes: Any) -> None:
    one = CostTreeClassifier(criterion=criterion).fit(mixed, holes.y, **holes.costs)
    frame = mixed.to_pandas()
    two = CostTreeClassifier(criterion=criterion).fit(frame, holes.y, **holes.costs)
    np.testing.assert_array_equal(one.predict_proba(mixed), two.predict_proba(frame))
    np.testing.assert_array_equal(one.apply(mixed), two.apply(frame))
    assert list(one.feature_names_in_) == list(two.feature_names_in_) == mixed.columns
    assert one.score(mixed, holes.y, **holes.costs) > 0.9


def test_a_frame_without_the_features_of_training_is_an_error(mixed: pl.DataFrame, holes: Any) -> None:
    tree = CostTreeClassifier().fit(mixed.to_pandas(), holes.y)
    with pytest.raises(ValueError, match="feature names should match"):
        tree.predict(mixed.to_pandas().rename(columns={"amount": "sum"}))
    with pytest.raises(ValueError, match="features, but CostTreeClassifier is expecting 5"):
        tree.predict(np.zeros((3, 2)))


# Exports


def test_the_text_has_a_line_for_each_node_with_names_and_money(mixed: pl.DataFrame, holes: Any) -> None:
    y = np.array(["loyal", "churn"])[holes.y]
    tree = CostTreeClassifier(criterion="cost", max_depth=2, pos_label="churn").fit(mixed, y, **holes.costs)
    lines = tree.export_text().splitlines()
    assert len(lines) == 2 * tree.get_n_leaves() - 1
    missed, alarmed = holes.fn[holes.y == 1].sum(), holes.fp[holes.y == 0].sum()
    money = f"cost {min(missed, alarmed):,.2f} (other label {max(missed, alarmed):,.2f})"
    assert lines[0] == f"240 records, {holes.y.sum()} positive, P+ {holes.y.mean():.3g}, {money} -> churn"
    assert any("kind" in line or "amount" in line or "visits" in line for line in lines[1:])
    assert all(line.endswith(("-> churn", "-> loyal")) for line in lines)


def test_money_is_shown_where_costs_acted_only(holes: Any) -> None:
    plain = CostTreeClassifier(max_depth=2).fit(holes.X, holes.y, **holes.costs)
    assert "cost" not in plain.export_text()
    by_cost = CostTreeClassifier(max_depth=2, pruning="reduced_error", pruning_measure="cost", validation=None)
    assert "other label" in by_cost.fit(holes.X, holes.y, **holes.costs).export_text()


@pytest.mark.parametrize(("fp", "fn"), [(1.0, 4.0), (4.0, 1.0), (1.0, 1e6), (1e6, 1.0)])
def test_labels_in_the_text_are_the_decisions_of_a_tuned_threshold(holes: Any, fp: float, fn: float) -> None:
    tree = CostTreeClassifier(max_depth=3, validation=None, decision=Decision(threshold="tuned"))
    acts = tree.fit(holes.X, holes.y, fp_cost=fp, fn_cost=fn).predict(holes.X)
    words = re.findall(r"\n(\d+) \[label=.*\\n([01])\"", tree.export_graphviz())
    labels = {int(node): int(label) for node, label in words}
    assert len(labels) == 2 * tree.get_n_leaves() - 1
    assert [labels[node] for node in tree.apply(holes.X).tolist()] == acts.tolist()


def test_exports_take_the_options_of_the_engine(holes: Any) -> None:
    tree = CostTreeClassifier(max_depth=3).fit(pd.DataFrame(holes.X, columns=list("abcde")), holes.y)
    assert len(tree.export_text(max_depth=1).splitlines()) == 3
    assert "zeta" in tree.export_text(feature_names=["zeta"] * 5)
    assert tree.export_text(class_names=("nay", "aye")).endswith(("nay", "aye"))
    dot = tree.export_graphviz()
    assert dot.startswith("digraph")
    assert dot.count(" -> ") == 2 * tree.get_n_leaves() - 2
    assert tree.export_graphviz(max_depth=1).count(" -> ") < dot.count(" -> ")


# Parameters


def test_the_larger_cp_the_smaller_the_tree_and_each_split_lowers_the_training_error_by_that_much(holes: Any) -> None:
    sizes = []
    for cp in (0.0, 0.01, 0.05, 0.2, 1.0):
        tree = CostTreeClassifier(cp=cp).fit(holes.X, holes.y)
        sizes.append(tree.get_n_leaves())
        saved = np.minimum(*np.bincount(holes.y)) - (tree.predict(holes.X) != holes.y).sum()
        assert saved > cp * np.bincount(holes.y).min() * (sizes[-1] - 1) or sizes[-1] == 1
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[1] > sizes[-1] == 1


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("criterion", "mse", "choose from 'gini', 'entropy', 'gain_ratio', 'cost', 'log_loss'"),
        ("pruning", "alpha", "choose from None, 'cost_complexity', 'reduced_error'"),
        ("pruning_measure", "auc", "choose from 'error', 'cost'"),
        ("leaf", "platt", "choose from 'frequency', 'laplace'"),
        ("max_depth", 0, "whole number of at least 1"),
        ("max_depth", 2.5, "whole number of at least 1"),
        ("min_samples_split", 1, "whole number of at least 2"),
        ("min_samples_leaf", 0, "whole number of at least 1"),
        ("min_samples_leaf", True, "whole number of at least 1"),
        ("min_samples_leaf", 1.5, r"a share in \(0, 1\]"),
        ("min_weight_fraction_leaf", 0.6, "a number from 0 to 0.5"),
        ("max_features", 0, "whole number of at least 1"),
        ("max_features", 1.5, r"share of the features in \(0, 1\]"),
        ("max_features", "auto", "choose from 'sqrt', 'log2'"),
        ("cp", -0.1, "give a number from 0 to 1"),
        ("cp", "0.01", "give a number from 0 to 1"),
        ("break_ties", None, "choose from True, False"),
        ("max_bins", 256, "whole number from 2 to 255"),
        ("max_bins", 1, "whole number from 2 to 255"),
        ("max_bins", 10.5, "whole number from 2 to 255"),
    ],
)
def test_bad_parameters_are_errors_in_fit_that_name_them(parameter: str, value: Any, message: str, holes: Any) -> None:
    tree = CostTreeClassifier(**{parameter: value})
    with pytest.raises(ValueError, match=f"{parameter}={value!r} is not .*{message}"):
        tree.fit(holes.X, holes.y)


@pytest.mark.parametrize(
    ("max_features", "n"), [(None, 9), ("sqrt", 3), ("log2", 3), (0.5, 4), (0.01, 1), (4, 4), (50, 9)]
)
def test_how_many_features_a_split_looks_at(max_features: Any, n: int) -> None:
    assert CostTreeClassifier(max_features=max_features).recipe().n_features(9) == n


def test_decisions_about_ensembles_do_not_fit_a_tree(holes: Any) -> None:
    tree = CostTreeClassifier().fit(holes.X, holes.y)
    for decision in (Decision(vote_weight="node"), Decision(calibration="logistic")):
        with pytest.raises(DecisionError):
            tree.with_decision(decision)
