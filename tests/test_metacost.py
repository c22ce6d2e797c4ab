"""MetaCost: relabel by a cost-sensitive teacher, train one model on the new labels (FRAMEWORK 8.4)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
)
from stakes.metacost import clear_threshold
from stakes.metrics import savings_score, total_cost


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + 0.7 * rng.normal(size=400) > 0.5).astype(int)
    return X, y, rng.lognormal(2, 1, size=400)


class Oracle(ClassifierMixin, BaseEstimator):
    """A perfect teacher."""

    def fit(self, X, y, fp_cost=None, fn_cost=None):
        self.classes_, self.known_ = np.unique(y), {tuple(row): label for row, label in zip(X, y, strict=True)}
        return self

    def predict(self, X, fp_cost=None, fn_cost=None):
        return np.array([self.known_[tuple(row)] for row in X])


def test_a_perfect_teacher_and_equal_costs_reproduce_the_single_model(records):
    X, y, _ = records
    final = DecisionTreeClassifier(max_depth=3, random_state=0)
    clf = MetaCostClassifier(Oracle(), final_estimator=final, out_of_bag=False).fit(X, y)
    single = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert clf.relabelled_fraction_ == 0
    np.testing.assert_array_equal(clf.predict(X), single.predict(X))
    np.testing.assert_allclose(clf.predict_proba(X), single.predict_proba(X))


def test_the_labels_are_the_teachers_outcomes_and_the_final_model_is_trained_on_them(records):
    X, y, fn = records
    teacher = CostBaggingClassifier(
        n_estimators=10, decision=Decision(leaf="laplace", threshold="cost"), random_state=1
    )
    clf = MetaCostClassifier(teacher, final_estimator=LogisticRegression(), out_of_bag=False, random_state=0)
    clf.fit(X, y, fp_cost=3.0, fn_cost=fn)
    expected = teacher.fit(X, y, fp_cost=3.0, fn_cost=fn).predict(X, fp_cost=3.0, fn_cost=fn)
    np.testing.assert_array_equal(clf.relabelled_, expected)
    assert clf.relabelled_fraction_ == np.mean(expected != y) > 0
    np.testing.assert_array_equal(clf.predict(X), LogisticRegression().fit(X, expected).predict(X))
    # The costs are in the labels: those of today change nothing.
    np.testing.assert_array_equal(clf.predict(X, fp_cost=100.0, fn_cost=fn), clf.predict(X))


def test_out_of_bag_relabelling_uses_only_members_that_did_not_see_the_record(records):
    X, y, fn = records
    teacher = CostBaggingClassifier(n_estimators=15, random_state=1)
    clf = MetaCostClassifier(teacher, out_of_bag=True, random_state=0).fit(X, y, fp_cost=3.0, fn_cost=fn)
    fitted = clf.teacher_
    unseen = fitted.validation_.out_of_bag
    assigned = fitted.members_.assign(fitted.validation_.records.X)
    p = assigned.leaves.probability("frequency")[assigned.ids]
    expected = []
    for i in range(len(y)):
        mine = p[i][unseen[i]] if unseen[i].any() else p[i]
        expected.append(int(mine.mean() > 3.0 / (3.0 + fn[i])))
    np.testing.assert_array_equal(clf.relabelled_, expected)
    in_bag = MetaCostClassifier(teacher, out_of_bag=False, random_state=0).fit(X, y, fp_cost=3.0, fn_cost=fn)
    assert (clf.relabelled_ != in_bag.relabelled_).any()


def test_out_of_bag_is_the_default_where_the_teacher_has_it(records):
    X, y, fn = records
    clf = MetaCostClassifier(CostBaggingClassifier(n_estimators=100, random_state=1)).fit(X, y, fn_cost=fn)
    np.testing.assert_array_equal(clf.relabelled_, clf.teacher_.predict_oob())
    for teacher in (CostBoostClassifier(n_estimators=3), CostBaggingClassifier(n_estimators=3, sampling="over")):
        with pytest.raises(ValueError, match="out_of_bag=True needs"):
            MetaCostClassifier(teacher, out_of_bag=True).fit(X, y, fn_cost=2.0)
        MetaCostClassifier(teacher).fit(X, y, fn_cost=2.0)


def test_the_default_is_a_small_tree_that_can_be_printed(records):
    X, y, fn = records
    clf = MetaCostClassifier(CostBaggingClassifier(n_estimators=5), random_state=0).fit(X, y, fp_cost=3.0, fn_cost=fn)
    assert isinstance(clf.estimator_, CostTreeClassifier)
    assert clf.estimator_.get_n_leaves() <= 16
    assert "x0 <=" in clf.export_text()


def test_where_the_cheapest_is_to_decide_all_alike_so_does_the_final_model(records):
    X, y, _ = records
    clf = MetaCostClassifier(CostTreeClassifier(max_depth=1), random_state=0).fit(X, y, fp_cost=1e-9, fn_cost=1.0)
    assert (clf.relabelled_ == 1).all()
    assert (clf.predict(X) == 1).all()
    np.testing.assert_array_equal(clf.predict_proba(X)[:, 1], 1.0)
    assert clf.export_text() == "all records are 1"


def test_a_pipeline_as_final_model_is_handed_sample_weights(records):
    X, y, _ = records
    weight = np.where(X[:, 1] > 0, 1.0, 1e-3)
    teacher, final = CostTreeClassifier(max_depth=3), LogisticRegression()
    clf = MetaCostClassifier(teacher, final_estimator=make_pipeline(final), out_of_bag=False)
    plain = MetaCostClassifier(teacher, final_estimator=final, out_of_bag=False)
    expected = plain.fit(X, y, sample_weight=weight).predict_proba(X)
    np.testing.assert_array_equal(clf.fit(X, y, sample_weight=weight).predict_proba(X), expected)


@pytest.mark.parametrize("final", [RandomForestClassifier(n_estimators=3), CostBaggingClassifier(n_estimators=3)])
def test_an_ensemble_as_final_model_has_a_score(records, final):
    X, y, fn = records
    clf = MetaCostClassifier(CostTreeClassifier(max_depth=3), final_estimator=final, random_state=0)
    clf.fit(X, y, fn_cost=fn)
    assert clf.score(X, y, fn_cost=fn) == savings_score(y, clf.predict(X), fp_cost=1.0, fn_cost=fn)


def test_text_export_needs_a_tree(records):
    X, y, _ = records
    clf = MetaCostClassifier(CostTreeClassifier(max_depth=2), final_estimator=LogisticRegression()).fit(X, y)
    with pytest.raises(AttributeError, match="has no export_text"):
        clf.export_text()


def test_the_positive_class_of_the_pupil_is_that_of_the_teacher(records):
    X, y = records[:2]
    named = np.where(y == 1, "a", "b")
    costs = {"fp_cost": 1.0, "fn_cost": 5.0}
    teacher = CostBaggingClassifier(n_estimators=10, random_state=0)
    usual = MetaCostClassifier(teacher, random_state=0).fit(X, y, **costs)
    other = MetaCostClassifier(teacher, pos_label="a", random_state=0).fit(X, named, **costs)
    np.testing.assert_array_equal(other.relabelled_ == "a", usual.relabelled_ == 1)
    assert (usual.relabelled_ == 1).mean() > (y == 1).mean()  # so that costs the wrong way round would show


@pytest.mark.parametrize(
    "teacher", [CostTreeClassifier(), CostBaggingClassifier(n_estimators=5, sampling="over")], ids=["tree", "bagging"]
)
def test_a_teacher_without_a_bag_relabels_out_of_fold(teacher, records):
    """A tree that knows the training records by heart would leave their labels as they are."""
    X, y, _ = records
    fn = 10.0
    clf = MetaCostClassifier(teacher, random_state=0).fit(X, y, fp_cost=3.0, fn_cost=fn)
    by_heart = MetaCostClassifier(teacher, out_of_bag=False, random_state=0).fit(X, y, fp_cost=3.0, fn_cost=fn)
    assert clf.relabelled_fraction_ > by_heart.relabelled_fraction_ + 0.05
    again = MetaCostClassifier(teacher, random_state=0).fit(X, y, fp_cost=3.0, fn_cost=fn)
    np.testing.assert_array_equal(clf.relabelled_, again.relabelled_)


def test_few_members_relabel_out_of_fold_where_all_of_them_vote_so_that_labels_follow_costs():
    """Of fifteen trees with pure leaves some five judge a record out of the bag, and any positive one decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (rng.random(1500) < 1 / (1 + np.exp(4.5 - 2 * X[:, 0]))).astype(int)

    def share(out_of_bag, fn):
        teacher = CostBaggingClassifier(CostTreeClassifier(), n_estimators=15, weighted=True)
        clf = MetaCostClassifier(teacher, out_of_bag=out_of_bag, random_state=0).fit(X, y, fp_cost=1.0, fn_cost=fn)
        return clf.relabelled_.mean()

    assert share(True, 48.0) < share(True, 12.0) + 0.02
    assert share(None, 48.0) > share(None, 12.0) + 0.04


def test_records_too_few_for_folds_are_relabelled_by_the_teacher():
    X, y = np.arange(8.0).reshape(-1, 1), np.array([0, 0, 0, 0, 0, 0, 0, 1])
    clf = MetaCostClassifier(CostTreeClassifier(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.relabelled_, y)


class Timid(Oracle):
    """A teacher that acts on the first three of ten records of a region, which is worth acting on as a whole."""

    def fit(self, X, y, fp_cost=None, fn_cost=None, sample_weight=None):
        return super().fit(X, y)

    def predict(self, X, fp_cost=None, fn_cost=None):
        return ((X[:, 0] > 0) & (np.arange(len(X)) % 10 < 3)).astype(int)


def half_known(n=1000):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.permutation(n) - n / 2 + 0.5, rng.normal(size=n)])
    return X, ((X[:, 0] > 0) & (rng.random(n) < 0.4)).astype(int)


def test_a_leaf_that_the_teacher_acts_on_in_part_is_decided_by_what_that_is_worth():
    """A majority would act on none, however dear the positives are."""
    X, y = half_known()
    acted = MetaCostClassifier(Timid(), out_of_bag=False).fit(X, y, fp_cost=1.0, fn_cost=20.0).predict(X)
    assert (acted[X[:, 0] > 0] == 1).mean() > 0.9
    assert (acted[X[:, 0] < 0] == 0).all()
    cheap = MetaCostClassifier(Timid(), out_of_bag=False).fit(X, y, fp_cost=20.0, fn_cost=1.0).predict(X)
    assert (cheap == 0).all()


def test_the_unit_of_costs_and_the_name_of_the_positive_class_change_no_decision_of_the_pupil():
    X, y = half_known()
    costs = {"fp_cost": 1.0, "fn_cost": np.random.default_rng(1).lognormal(2, 1, y.size)}
    usual = MetaCostClassifier(CostTreeClassifier(min_samples_leaf=5), random_state=0).fit(X, y, **costs)
    for unit in (100.0, 0.01):
        other = MetaCostClassifier(CostTreeClassifier(min_samples_leaf=5), random_state=0)
        other.fit(X, y, **{name: cost * unit for name, cost in costs.items()})
        np.testing.assert_array_equal(other.predict(X), usual.predict(X))
    named = MetaCostClassifier(CostTreeClassifier(min_samples_leaf=5), pos_label="a", random_state=0)
    named.fit(X, np.where(y == 1, "a", "b"), **costs)
    np.testing.assert_array_equal(named.predict(X) == "a", usual.predict(X) == 1)


def test_weights_count_in_what_acting_is_worth():
    X, y = half_known()
    costs = {"fp_cost": 1.0, "fn_cost": 20.0}
    usual = MetaCostClassifier(Timid(), out_of_bag=False, random_state=0).fit(X, y, **costs).predict(X)
    light = MetaCostClassifier(Timid(), out_of_bag=False, random_state=0)
    light.fit(X, y, sample_weight=np.where(y == 1, 0.01, 1.0), **costs)
    assert usual.mean() > 0.45
    assert light.predict(X).mean() < 0.2


def test_the_text_says_what_the_pupil_decides():
    X, y = half_known()
    clf = MetaCostClassifier(Timid(), out_of_bag=False).fit(X, y, fp_cost=1.0, fn_cost=20.0)
    leaves = [line for line in clf.export_text().splitlines() if "-> 1" in line]
    assert any("P+ 0.2" in line or "P+ 0.3" in line for line in leaves)
    tree = clf.estimator_
    acts = {int(leaf): label for leaf, label in zip(tree.apply(X), tree.predict(X), strict=True)}
    drawn, _ = tree._drawn()
    for leaf, label in acts.items():
        assert (drawn.weights[leaf, 1] > drawn.weights[leaf, 0]) == (label == 1)


def test_new_labels_of_records_without_weight_do_not_count():
    X, y = np.arange(60.0)[:, None] / 10, (np.arange(60) % 4 == 0).astype(int)
    y[40:] = 1
    weight = np.where(np.arange(60) >= 40, 0.0, 1.0)
    # The teacher acts on those without weight alone, which lie far out on the side of the positives.
    X[40:] = -100 * np.sign(X[:40][y[:40] == 0].mean() - X[:40][y[:40] == 1].mean())
    teacher = CostDecisionClassifier(LogisticRegression())
    clf = MetaCostClassifier(teacher).fit(X, y, sample_weight=weight, fp_cost=9.0, fn_cost=1.0)
    assert clf.relabelled_.sum() > 0
    assert clf.relabelled_[weight > 0].sum() == 0
    assert not clf.predict(X).any()


def plain_threshold(share, y, fp, fn):
    """Return the places between shares that are allowed by the rule, the closest to one half last, by plain loops."""
    levels = sorted(set(share))
    cuts = [-1.0] + [(a + b) / 2 for a, b in pairwise(levels)] + [1.0]
    bill = [total_cost(y, (share > cut).astype(int), fp_cost=fp, fn_cost=fn) for cut in cuts]
    half = sum(level <= 0.5 for level in levels)
    best = min(range(len(cuts)), key=lambda k: (round(bill[k], 9), abs(k - half), k))

    missed = [fn[i] ** 2 for i in range(len(y)) if y[i]]
    alarmed = [fp[i] ** 2 for i in range(len(y)) if not y[i]]

    def error(k):
        low, high = sorted((cuts[k], cuts[best]))
        seen = sum((fn[i] if y[i] else fp[i]) ** 2 for i in range(len(y)) if low < share[i] <= high)
        usual = missed if k < best else alarmed if k > best else []
        return (seen + sum(usual) / max(len(usual), 1)) ** 0.5

    allowed = [k for k in range(len(cuts)) if bill[k] - bill[best] <= error(k) + 1e-9]
    k = min(allowed, key=lambda k: (abs(k - half), k))
    return 0.5 if k == half else cuts[k]


def test_the_threshold_is_that_of_plain_loops():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        n = int(rng.integers(3, 60))
        share = rng.choice(rng.random(int(rng.integers(1, 7))).round(2), n)
        y = (rng.random(n) < rng.choice([0.1, 0.4, 0.8])).astype(int)
        fp, fn = rng.integers(1, 4, n).astype(float), rng.integers(1, 12, n).astype(float)
        found.append(clear_threshold(share, np.where(y == 1, fn, -fp)))
        assert found[-1] == pytest.approx(plain_threshold(share, y, fp, fn))
        assert clear_threshold(share, 1e200 * np.where(y == 1, fn, -fp)) == found[-1]
    assert len({round(t, 3) for t in found}) > 30
    assert {-1.0, 0.5, 1.0} <= set(found)


@pytest.mark.parametrize("miss", [100.0, 5000.0])
def test_a_leaf_without_positives_is_not_taken_to_have_none(miss):
    share = np.repeat([0.6, 0.9], [90, 10])
    gain = np.where(np.arange(100) >= 97, miss, -1.0)  # three positives, all in the smaller leaf
    assert clear_threshold(share, gain) == 0.5
    many = np.repeat([0.6, 0.9], [90_000, 10])  # so many false alarms cost more than one more miss
    gain = np.where(np.arange(90_010) >= 90_007, miss, -1.0)
    assert clear_threshold(many, gain) == 0.75


def test_values_that_only_the_models_can_read_are_left_to_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "huge": [10**400] * 200})
    y = (frame["x"] + rng.normal(size=200) > 0).astype(int)
    model = make_pipeline(ColumnTransformer([("x", "passthrough", ["x"])]), LogisticRegression())
    clf = MetaCostClassifier(CostDecisionClassifier(model), final_estimator=model).fit(frame, y, fn_cost=3.0)
    assert 0 < clf.predict(frame).sum() < 200
