"""Growing a tree, against exhaustive search, a plain recursive grower, and scikit-learn."""

import numpy as np
import pytest
from grown_trees import WEIGHTS, criteria, fit, make_noisy
from reference import (
    Problem,
    Tied,
    assert_every_split_is_best,
    categories_of,
    fit_tree,
    grow_tree,
    is_categorical,
    loss_by_the_book,
    nested,
    random_column,
    random_problem,
    reference_share,
    reference_tree,
    table_of,
)
from sklearn.tree import DecisionTreeClassifier

from stakes import CostTreeClassifier
from stakes.table import Table
from stakes.tree import growing
from stakes.tree.binning import Binning
from stakes.tree.criteria import GINI
from stakes.tree.growing import Settings, grow


@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
def test_root_split_is_the_best_of_all(criterion, weights):
    n_splits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, weights=weights)
        min_leaf = int(rng.integers(1, 5)) if rng.random() < 0.5 else 1
        table, grown = fit(problem, weights, criterion=criterion, max_depth=1, min_samples_leaf=min_leaf)
        assert_every_split_is_best(problem, grown, table, criterion, min_leaf, max_depth=1)
        n_splits += grown.nodes.feature[0] >= 0
    assert n_splits > 72


@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_split_of_a_deep_tree_is_the_best_of_its_node(criterion, weights):
    for seed in range(8):
        rng = np.random.default_rng(1000 + seed)
        problem = random_problem(rng, n=40, weights=weights)
        table, grown = fit(problem, weights, criterion=criterion)
        assert_every_split_is_best(problem, grown, table, criterion)


@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_split_of_a_large_node_is_the_best_of_its_node(criterion, weights):
    # Whole histograms from 128 records on, and siblings by subtraction.
    for seed in range(3):
        rng = np.random.default_rng(2000 + seed)
        problem = random_problem(rng, n=1500, weights=weights)
        table, grown = fit(problem, weights, criterion=criterion, max_depth=5)
        assert grown.nodes.counts.sum(axis=1)[grown.trees.depth == 2].max() > 256
        assert_every_split_is_best(problem, grown, table, criterion, max_depth=5)


@pytest.mark.parametrize("weights", ["none", "real"])
def test_every_split_is_best_where_nodes_are_too_large_for_the_cache(weights):
    # 32 columns: records are moved next to each other down to nodes of some 8,000.
    rng = np.random.default_rng(3)
    n = 20_000
    columns = [rng.integers(0, 3, n).astype(float) for _ in range(25)]
    columns.append(np.array([*"abcd", None], object)[rng.integers(0, 5, n)])
    logit = columns[0] - columns[1] + columns[2] * (columns[3] > 1) - 1.5
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    problem = Problem(columns, y, rng.lognormal(0, 1, n) if weights == "real" else np.ones(n), np.ones(n, int))
    table, grown = fit(problem, weights, max_depth=3)
    assert grown.trees.leaves.size == 8
    assert_every_split_is_best(problem, grown, table, "gini", max_depth=3)


# Whole trees


@criteria
def test_predicts_like_a_plain_recursive_grower(criterion):
    compared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(10, 60))
        problem = random_problem(rng, n=n, weights="real")
        limits = {
            "max_depth": int(rng.integers(1, 5)),
            "min_samples_split": int(rng.integers(2, 12)),
            "min_samples_leaf": int(rng.integers(1, 6)),
        }
        try:
            tree = reference_tree(problem, criterion, **limits)
        except Tied:
            continue
        compared += bool(tree.children)
        _, grown = fit(problem, criterion=criterion, **limits)
        # New records of the same values, missing ones, and categories never seen
        columns = []
        for column in problem.columns:
            values = [*categories_of(column), None, "never"] if is_categorical(column) else [*column, np.nan]
            columns.append(np.array(values, dtype=column.dtype)[rng.integers(0, len(values), 200)])
        for those in (problem.columns, columns):
            expected = [reference_share(tree, record) for record in zip(*those, strict=True)]
            np.testing.assert_allclose(grown.share(table_of(those)), expected, rtol=1e-9, atol=1e-12)
    assert compared > 20


@pytest.mark.compiled
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(
    ("n", "limits"),
    [
        (200, {"max_depth": 2, "min_samples_leaf": 20}),
        (600, {"max_depth": 4, "min_samples_split": 100}),
        (3000, {"min_samples_leaf": 100}),
        (12_000, {"max_depth": 7, "min_samples_leaf": 200}),
    ],
)
def test_predicts_like_scikit_learn(n, limits, criterion, weighted, missing):
    # Leaves large enough that no two splits of a node are equally good.
    for seed in range(3 if n < 1000 else 1):
        X, y, rng = make_noisy(seed, n, missing=missing)
        weight = rng.lognormal(0, 1, n) if weighted else None
        theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y, sample_weight=weight)
        ours = fit_tree(Table(X), y, weight=weight, criterion=criterion, **limits)
        new = make_noisy(seed + 100, 2000, missing=missing)[0]
        for values in (X, new):
            np.testing.assert_allclose(ours.share(Table(values)), theirs.predict_proba(values)[:, 1], atol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_fits_the_training_records_like_scikit_learn_where_splits_tie(criterion):
    # Fully grown on few values: ties everywhere, but records that can be told apart are told apart.
    for seed in range(5):
        X, y, _ = make_noisy(seed, 400, d=4, n_values=4)
        theirs = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
        ours = fit_tree(Table(X), y, criterion=criterion)
        np.testing.assert_allclose(ours.share(Table(X)), theirs.predict_proba(X)[:, 1], atol=1e-12)


# One record in many ways


@criteria
def test_weight_two_equals_multiplicity_two_equals_a_record_given_twice(criterion):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        times, once = rng.integers(1, 5, 40), np.ones(40, int)
        problem = random_problem(rng, n=40, weights="real")._replace(multiplicity=times)
        table, many = fit(problem, criterion=criterion)
        _, heavy = fit(problem._replace(weight=problem.weight * times, multiplicity=once), criterion=criterion)
        _, repeated = fit(
            problem._replace(multiplicity=once).take(np.repeat(np.arange(40), times)), criterion=criterion
        )
        np.testing.assert_allclose(many.share(table), heavy.share(table), rtol=1e-9)
        assert nested(many.nodes) == nested(repeated.nodes)


@pytest.mark.parametrize("criterion", ["gini", "cost"])  # where equal splits are equal in both, to the last bit
def test_counting_records_equals_weighing_them_with_one(criterion):
    for seed in range(20):
        problem = random_problem(np.random.default_rng(seed), n=40, weights="none")
        counted, weighed = (fit(problem, weights, criterion=criterion)[1] for weights in ("none", "whole"))
        assert nested(counted.nodes) == nested(weighed.nodes)


@pytest.mark.compiled
@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_small_node_is_split_like_the_same_node_with_all_records_a_hundred_times(criterion, weights):
    # 100 records use a list of their bins, 10,000 use whole histograms, and 25 columns make the cache too small.
    rng = np.random.default_rng(7)
    columns = [random_column(rng, 100) for _ in range(25)]
    problem = random_problem(rng, n=100, weights=weights)._replace(columns=columns, multiplicity=np.full(100, 100))
    hundred = problem._replace(multiplicity=np.ones(100, int)).take(np.tile(np.arange(100), 100))
    few, many = (fit(p, weights, criterion=criterion)[1].nodes for p in (problem, hundred))
    assert few.feature.size > 20
    assert nested(few) == nested(many)


@criteria
def test_multiplicity_zero_is_a_record_that_is_not_there(criterion):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, n=40)._replace(multiplicity=rng.integers(0, 3, 40))
        _, with_them = fit(problem, criterion=criterion)
        alive = problem.take(problem.multiplicity > 0)
        without = fit_tree_on_bins(with_them, alive, problem.multiplicity > 0, criterion)
        assert nested(with_them.nodes) == nested(without)


def fit_tree_on_bins(grown, problem, rows, criterion):
    """Grow on some of the records, in the bins found on all of them."""
    return grow_tree(
        grown.bins[rows],
        grown.binning.feature_bins_,
        problem.y,
        weight=problem.weight,
        multiplicity=problem.multiplicity,
        criterion=criterion,
    )


@pytest.mark.compiled
@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", [40, 2000])
@pytest.mark.parametrize("max_features", [None, 2])
def test_order_of_the_records_does_not_matter(criterion, weights, n, max_features):
    rng = np.random.default_rng(n)
    problem = random_problem(rng, n=n, weights=weights)._replace(columns=[random_column(rng, n) for _ in range(4)])
    how = {"criterion": criterion, "max_features": max_features, "max_depth": 8, "seed": 5}
    _, grown = fit(problem, weights, **how)
    _, shuffled = fit(problem.take(rng.permutation(n)), weights, **how)
    assert grown.nodes.feature.size > 3
    assert nested(grown.nodes) == nested(shuffled.nodes)


@criteria
def test_scaling_all_weights_changes_nothing(criterion):
    rng = np.random.default_rng(0)
    problem = random_problem(rng, n=300, weights="real")
    _, grown = fit(problem, criterion=criterion)
    for scale in (2.0**-600, 2.0**600):
        scaled = fit(problem._replace(weight=problem.weight * scale), criterion=criterion)[1]
        np.testing.assert_array_equal(scaled.nodes.feature, grown.nodes.feature)
        np.testing.assert_array_equal(scaled.nodes.weights, grown.nodes.weights * scale)
        np.testing.assert_array_equal(scaled.nodes.gain, grown.nodes.gain * scale)


# What is recorded of the nodes


@criteria
@pytest.mark.parametrize("weights", WEIGHTS)
def test_gain_is_the_decrease_in_loss(criterion, weights):
    _, grown = fit(random_problem(np.random.default_rng(1), n=300, weights=weights), weights, criterion=criterion)
    nodes = grown.nodes
    losses = np.array([loss_by_the_book(criterion, p, n) for n, p in nodes.weights])
    splits = np.flatnonzero(nodes.feature >= 0)
    left = nodes.left[splits]
    expected = losses[splits] - losses[left] - losses[left + 1]
    np.testing.assert_allclose(nodes.gain[splits], expected, atol=1e-9 * losses[0])
    assert (nodes.gain[nodes.feature < 0] == 0).all()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_children_know_their_parent_and_share_its_records(weights):
    _, grown = fit(random_problem(np.random.default_rng(2), n=300, weights=weights), weights)
    nodes = grown.nodes
    splits = np.flatnonzero(nodes.feature >= 0)
    left = nodes.left[splits]
    assert nodes.parent[0] == -1
    np.testing.assert_array_equal(nodes.parent[left], splits)
    np.testing.assert_array_equal(nodes.parent[left + 1], splits)
    np.testing.assert_array_equal(nodes.counts[left] + nodes.counts[left + 1], nodes.counts[splits])
    np.testing.assert_allclose(nodes.weights[left] + nodes.weights[left + 1], nodes.weights[splits], rtol=1e-12)


def test_gain_of_the_cost_criterion_is_the_money_saved():
    # A node of frauds of 100 + 50 against 4 alarms of 20 costs 80; the cut leaves one alarm and the fraud of 50.
    x = np.array([0.0, 0, 0, 1, 1, 1])
    y = np.array([0, 0, 0, 0, 1, 1])
    grown = fit_tree(Table(x[:, None]), y, weight=[20, 20, 20, 20, 100, 50], criterion="cost")
    assert grown.nodes.gain[0] == 80 - 20
    assert grown.trees.feature_importances(1) == [60]


@pytest.mark.parametrize("weights", ["none", "real"])
def test_records_that_are_in_no_sample_change_nothing(weights):
    # So few of all records that they are picked out, and the same ones by themselves.
    rng = np.random.default_rng(0)
    n, rows = 3000, np.sort(rng.choice(3000, 200, replace=False))
    table = Table(rng.normal(size=(n, 5)))
    binning = Binning().fit(table)
    bins, y = binning.transform(table), (rng.random(n) < 0.4).astype(np.uint8)
    times = np.zeros(n, np.int32)
    times[rows] = rng.integers(1, 4, rows.size)
    weight = rng.random(n) if weights == "real" else np.empty(0)
    features, settings = np.arange(5, dtype=np.int32), Settings(GINI, 100, 2, 1, 5, True, 0)
    sparse = grow(bins, y, times, weight, features, binning.feature_bins_, settings)
    alone = grow(
        bins[rows],
        y[rows],
        times[rows],
        weight[rows] if weight.size else weight,
        features,
        binning.feature_bins_,
        settings,
    )
    assert sparse.feature.size > 50
    for name, one, other in zip(sparse._fields, sparse, alone, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


def test_cuts_of_a_large_node_that_cost_the_same_are_told_apart_by_gini():
    number = np.arange(200)
    x = np.repeat([0.0, 1.0], 200)  # 20% and 40% positives: more of them, but not enough to act on
    other = np.tile(number // 5 % 2, 2).astype(float)  # 30% in both parts
    y = np.concatenate([number % 5 == 0, number % 5 < 2]).astype(np.int64)
    tree = CostTreeClassifier(criterion="cost", max_depth=1).fit(np.column_stack([other, x]), y)
    assert tree.members_.trees.nodes.feature[0] == 1


def test_arrays_that_cannot_be_written_to_compile_nothing_anew():
    X, y, rng = make_noisy(0, 60)
    binning = Binning().fit(Table(X))
    settings = Settings(GINI, 100, 2, 1, 6, True, 0)
    arrays = [binning.transform(Table(X)), y.astype(np.uint8), np.ones(60, np.int32), rng.random(60)]
    arrays.append(np.arange(6, dtype=np.int32))
    written = grow(*arrays, binning.feature_bins_, settings)
    compiled = list(growing._grow.signatures)
    for array in arrays:
        array.flags.writeable = False
    assert all(map(np.array_equal, grow(*arrays, binning.feature_bins_, settings), written))
    assert growing._grow.signatures == compiled


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_grown_in_the_memory_of_others_are_the_same(weighted):
    X, y, rng = make_noisy(0, 3000)
    letters = np.array([*"abcdefghi"], object)[rng.integers(0, 9, 3000)]
    table = table_of(Problem([letters, *X[:, 1:].T], y, np.ones(3000), np.ones(3000, int)).columns)
    binning = Binning().fit(table)
    bins, positive = binning.transform(table), y.astype(np.uint8)
    settings = Settings(GINI, 100, 2, 1, 6, True, 0)
    spare = []
    # The second has fewer records, the third more than there is memory for.
    for n, is_new in ((2000, True), (900, False), (3000, True)):
        times = np.where(np.arange(3000) < n, rng.integers(1, 3, 3000), 0).astype(np.int32)
        weight = rng.random(3000) if weighted else np.empty(0)
        arguments = (bins, positive, times, weight, np.arange(6, dtype=np.int32), binning.feature_bins_, settings)
        before = [*spare]
        grown = grow(*arguments, spare=spare)
        assert len(spare) == 1
        assert is_new == (not before or spare[0] is not before[0])
        assert grown.category_set.max() > 0
        assert all(map(np.array_equal, grown, grow(*arguments)))
