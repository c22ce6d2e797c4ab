"""What all classifiers share: costs at fit and predict, labels, validation records, decisions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from shared_classifiers import BOTH, BY_COST, FOREST, TREE, assert_same_trees, by_cost, make
from stakes import CostBaggingClassifier, Costs, CostTreeClassifier, Decision
from stakes.datasets import make_churn
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import CostsError, CostsNeededError, DecisionError
from stakes.metrics import savings_score
from stakes.records import Records
from stakes.table import table_of
from stakes.tree.binning import Binned, Binning


@BOTH
def test_costs_passed_to_predict_change_decisions_and_nothing_else(prototype: Any, small: Any, fresh: Any) -> None:
    clf = make(prototype).fit(small.X, small.y)
    members, state = clf.members_, pickle.dumps(clf)
    shares = [clf.predict(fresh.X, fp_cost=1, fn_cost=ratio).mean() for ratio in (0.02, 0.2, 1, 5, 50)]
    assert shares == sorted(shares)
    assert shares[0] < shares[2] < shares[-1]
    assert clf.members_ is members
    assert pickle.dumps(clf) == state


@BOTH
def test_a_probability_above_the_threshold_of_the_record_is_positive(prototype: Any, small: Any, fresh: Any) -> None:
    clf = make(prototype).fit(small.X, small.y)
    p = clf.predict_proba(fresh.X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    for fp, fn in ((fresh.fp, fresh.fn), (2.0, fresh.fn), (fresh.fp, 7.0), (2.0, 7.0)):
        expected = p[:, 1] > np.broadcast_to(fp, 90) / (np.broadcast_to(fp, 90) + np.broadcast_to(fn, 90))
        np.testing.assert_array_equal(clf.predict(fresh.X, fp_cost=fp, fn_cost=fn), expected.astype(int))


@BOTH
def test_constant_costs_are_remembered_and_can_be_overruled(prototype: Any, small: Any, fresh: Any) -> None:
    clf = make(prototype).fit(small.X, small.y, fp_cost=1, fn_cost=8)
    given = clf.predict(fresh.X, fp_cost=1, fn_cost=8)
    np.testing.assert_array_equal(clf.predict(fresh.X), given)
    other = clf.predict(fresh.X, fn_cost=0.5)
    np.testing.assert_array_equal(other, clf.predict(fresh.X, fp_cost=1, fn_cost=0.5))
    assert other.sum() < given.sum()


@BOTH
def test_costs_of_right_decisions_count(prototype: Any, small: Any, fresh: Any) -> None:
    clf = make(prototype).fit(small.X, small.y, fp_cost=3, fn_cost=9, tp_cost=1, tn_cost=2)
    np.testing.assert_array_equal(
        clf.predict(fresh.X), clf.predict(fresh.X, fp_cost=1, fn_cost=8, tp_cost=0, tn_cost=0)
    )
    gains = {"fp_cost": 0.0, "fn_cost": 0.0, "tp_cost": -fresh.fn, "tn_cost": -fresh.fp}
    losses = {"fp_cost": fresh.fp, "fn_cost": fresh.fn, "tp_cost": 0.0, "tn_cost": 0.0}
    np.testing.assert_array_equal(clf.predict(fresh.X, **gains), clf.predict(fresh.X, **losses))
    train = {"fp_cost": 0.0, "fn_cost": 0.0, "tp_cost": -small.fn, "tn_cost": -small.fp}
    one = make(prototype, **by_cost(prototype)).fit(small.X, small.y, **train)
    two = make(prototype, **by_cost(prototype)).fit(small.X, small.y, **small.costs)
    np.testing.assert_array_equal(one.predict(fresh.X, **losses), two.predict(fresh.X, **losses))


@BOTH
def test_costs_of_the_constructor_are_used_and_overruled(prototype: Any, small: Any, fresh: Any) -> None:
    ready = make(prototype, fp_cost=1.0, fn_cost=8.0, **by_cost(prototype)).fit(small.X, small.y)
    told = make(prototype, **by_cost(prototype)).fit(small.X, small.y, fp_cost=1.0, fn_cost=8.0)
    np.testing.assert_array_equal(ready.predict(fresh.X), told.predict(fresh.X))
    assert_same_trees(ready, told)
    overruled = make(prototype, fp_cost=9.0, fn_cost=1.0, **by_cost(prototype)).fit(
        small.X, small.y, fp_cost=1, fn_cost=8
    )
    assert_same_trees(overruled, told)
    assert overruled.constant_costs_ == told.constant_costs_


@BOTH
def test_record_dependent_costs_missing_at_predict_are_an_error_with_ways_out(prototype: Any, small: Any) -> None:
    clf = make(prototype).fit(small.X, small.y, fp_cost=2.0, fn_cost=small.fn)
    with pytest.raises(
        CostsNeededError, match=r"fn_cost.*pass fn_cost=.*cost_estimator=.*constant.*Decision\(threshold='tuned'\)"
    ):
        clf.predict(small.X)
    with pytest.raises(CostsNeededError, match="fn_cost"):
        clf.score(small.X, small.y)
    assert clf.predict(small.X, fn_cost=3.0).shape == (240,)  # fp_cost is remembered
    clf.fit(small.X, small.y, **small.costs)
    with pytest.raises(CostsNeededError, match="fp_cost was different"):
        clf.predict(small.X, fn_cost=small.fn)


@BOTH
def test_probabilities_and_decisions_that_need_no_costs_do_not_ask_for_them(prototype: Any, small: Any) -> None:
    clf = make(prototype).fit(small.X, small.y, **small.costs)
    assert clf.predict_proba(small.X).shape == (240, 2)
    for decision in (Decision(), Decision(output="vote")):
        np.testing.assert_array_equal(
            clf.with_decision(decision).predict(small.X), clf.with_decision(decision).predict(small.X, **small.costs)
        )
    with pytest.raises(CostsNeededError):
        clf.with_decision(Decision(member="cost")).predict_proba(small.X)


@BOTH
@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"fn_cost": [1.0, 2.0]}, "fn_cost has 2 records, X has 240"),
        ({"fp_cost": -1.0}, "fp_cost is negative"),
        ({"fn_cost": "dear"}, "fn_cost is not numeric"),
        ({"fp_cost": np.nan}, "fp_cost is not finite"),
        ({"fp_cost": 1.0, "tn_cost": 2.0}, "fp_cost - tn_cost is negative"),
    ],
)
def test_bad_costs_are_errors_in_fit_predict_and_score(prototype: Any, costs: Any, message: str, small: Any) -> None:
    with pytest.raises(CostsError, match=message):
        make(prototype).fit(small.X, small.y, **costs)
    clf = make(prototype).fit(small.X, small.y)
    with pytest.raises(CostsError, match=message):
        clf.predict(small.X, **costs)
    with pytest.raises(CostsError, match=message):
        clf.score(small.X, small.y, **costs)


@BOTH
def test_costs_come_as_lists_and_columns_too(prototype: Any, small: Any) -> None:
    clf = make(prototype, **by_cost(prototype)).fit(small.X, small.y, **small.costs)
    labels = clf.predict(small.X, **small.costs)
    for convert in (list, pd.Series, pl.Series, lambda column: column.astype(np.float32)):
        costs = {name: convert(column) for name, column in small.costs.items()}
        other = make(prototype, **by_cost(prototype)).fit(small.X, small.y, **costs)
        assert_same_trees(clf, other)
        np.testing.assert_array_equal(other.predict(small.X, **costs), labels)


@BOTH
def test_score_is_the_savings(prototype: Any, small: Any, fresh: Any) -> None:
    clf = make(prototype).fit(small.X, small.y, **small.costs)
    weight = np.arange(90.0)
    for costs in (fresh.costs, {"fp_cost": 1.0, "fn_cost": 4.0}):
        predicted = clf.predict(fresh.X, **costs)
        assert clf.score(fresh.X, fresh.y, **costs) == savings_score(fresh.y, predicted, **costs)
        expected = savings_score(fresh.y, predicted, **costs, sample_weight=weight)
        assert clf.score(fresh.X, fresh.y, sample_weight=weight, **costs) == expected


# Labels


@BOTH
@pytest.mark.parametrize(
    "labels",
    [("no", "yes"), (False, True), (-1, 1), (2, 7), (0.0, 1.0), (np.str_("a"), np.str_("b"))],
    ids=["text", "bool", "signs", "numbers", "floats", "numpy text"],
)
def test_labels_may_be_any_two(prototype: Any, labels: Any, small: Any, fresh: Any) -> None:
    plain = make(prototype).fit(small.X, small.y, **small.costs)
    y = np.array(labels)[small.y]
    clf = make(prototype).fit(small.X, y, **small.costs)
    np.testing.assert_array_equal(clf.classes_, np.array(labels))
    predicted = clf.predict(fresh.X, **fresh.costs)
    assert predicted.dtype == y.dtype
    np.testing.assert_array_equal(predicted, np.array(labels)[plain.predict(fresh.X, **fresh.costs)])
    np.testing.assert_array_equal(clf.predict_proba(fresh.X), plain.predict_proba(fresh.X))
    assert clf.score(small.X, y, **small.costs) == plain.score(small.X, small.y, **small.costs)


@BOTH
def test_the_first_class_may_be_the_positive_one(prototype: Any, small: Any, fresh: Any) -> None:
    plain = make(prototype, decision=BY_COST).fit(small.X, small.y, **small.costs)
    y = np.array(["loyal", "churn"])[small.y]
    clf = make(prototype, decision=BY_COST, pos_label="churn").fit(small.X, y, **small.costs)
    np.testing.assert_array_equal(clf.classes_, ["churn", "loyal"])
    np.testing.assert_array_equal(
        clf.predict(fresh.X, **fresh.costs) == "churn", plain.predict(fresh.X, **fresh.costs) == 1
    )
    np.testing.assert_array_equal(clf.predict_proba(fresh.X), plain.predict_proba(fresh.X)[:, ::-1])
    assert clf.score(small.X, y, **small.costs) == plain.score(small.X, small.y, **small.costs)
    # The other way round the costs change places.
    swapped = make(prototype, decision=BY_COST, pos_label="loyal").fit(small.X, y, fp_cost=small.fn, fn_cost=small.fp)
    p = swapped.predict_proba(fresh.X)
    np.testing.assert_allclose(p, clf.predict_proba(fresh.X))


@BOTH
def test_bad_labels_are_errors(prototype: Any, small: Any) -> None:
    with pytest.raises(ValueError, match=r"one class only, .*records of both classes are needed"):
        make(prototype).fit(small.X, np.ones(240))
    with pytest.raises(ValueError, match=r"Only binary classification.*3 classes; set one against the others"):
        make(prototype).fit(small.X, np.arange(240) % 3)
    with pytest.raises(ValueError, match=r"pos_label='x' is not a class of y, which has \[0, 1\]"):
        make(prototype, pos_label="x").fit(small.X, small.y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make(prototype).fit(small.X, small.y[:-1])
    clf = make(prototype).fit(small.X, small.y)
    with pytest.raises(ValueError, match=r"labels that were not in fit: the first is .*7.* in row 3"):
        clf.score(small.X, np.where(np.arange(240) == 3, 7, small.y))
    with pytest.raises(ValueError, match="y_val has labels that were not in fit"):
        make(prototype).fit(small.X, small.y, X_val=small.X, y_val=small.y + 5)


# Validation records


@BOTH
def test_a_holdout_is_stratified_and_keeps_costs_classes_and_weights_together(prototype: Any, large: Any) -> None:
    fn, weight = 1.0 + np.arange(1500), 1.0 + np.arange(1500) % 7
    clf = make(prototype, validation=0.3).fit(large.X, large.y, fp_cost=large.fp, fn_cost=fn, sample_weight=weight)
    kept = clf.validation_.records
    rows = kept.costs.fn.astype(int) - 1
    assert len(kept) == 450
    assert np.mean(large.y[rows]) == pytest.approx(large.y.mean(), abs=0.002)
    np.testing.assert_array_equal(kept.positive, large.y[rows] == 1)
    np.testing.assert_array_equal(kept.costs.fp, large.fp[rows])
    np.testing.assert_array_equal(kept.weight, weight[rows])
    np.testing.assert_array_equal(kept.X, clf._read(large.X[rows], reset=False))
    # No tree has seen them: the other records are all there is at a root, or were drawn from.
    if isinstance(clf, CostTreeClassifier):
        others = np.delete(np.arange(1500), rows)
        root = clf.members_.trees.nodes.counts[0]
        np.testing.assert_array_equal(root, np.bincount(large.y[others], weight[others]))
    seeds = [make(prototype, validation=0.3, random_state=s).fit(large.X, large.y, fn_cost=fn) for s in (1, 1, 2)]
    one, same, other = (clf.validation_.records.costs.fn for clf in seeds)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@BOTH
def test_an_explicit_validation_set_wins_over_all_others(prototype: Any, small: Any, fresh: Any) -> None:
    val = {"X_val": fresh.X, "y_val": fresh.y, "fp_cost_val": fresh.fp, "fn_cost_val": fresh.fn}
    for validation in ("auto", 0.5, None, *(["oob"] if prototype is FOREST else [])):
        clf = make(prototype, validation=validation).fit(small.X, small.y, **small.costs, **val)
        kept = clf.validation_.records
        np.testing.assert_array_equal(kept.costs.fn, fresh.fn)
        np.testing.assert_array_equal(kept.positive, fresh.y == 1)
        if isinstance(clf, CostTreeClassifier):
            assert clf.members_.trees.nodes.counts[0].sum() == 240  # nothing was held out


@BOTH
def test_costs_of_a_validation_set_are_asked_for_where_they_differ(prototype: Any, small: Any, fresh: Any) -> None:
    clf = make(prototype).fit(small.X, small.y, fp_cost=2, fn_cost=3, X_val=fresh.X, y_val=fresh.y)
    assert (clf.validation_.records.costs.fp, clf.validation_.records.costs.fn) == (2.0, 3.0)
    with pytest.raises(CostsNeededError, match="fp_cost_val= and fn_cost_val="):
        make(prototype).fit(small.X, small.y, **small.costs, X_val=fresh.X, y_val=fresh.y, fn_cost_val=fresh.fn)
    with pytest.raises(CostsNeededError, match="fn_cost - tp_cost"):
        make(prototype).fit(
            small.X, small.y, tp_cost=-small.fn, X_val=fresh.X, y_val=fresh.y, fp_cost_val=1, fn_cost_val=fresh.fn
        )
    with pytest.raises(ValueError, match="X_val was given without y_val"):
        make(prototype).fit(small.X, small.y, X_val=fresh.X)
    with pytest.raises(CostsError, match="fn_cost has 89 records, X has 90"):
        make(prototype).fit(small.X, small.y, X_val=fresh.X, y_val=fresh.y, fn_cost_val=fresh.fn[1:])


@BOTH
@pytest.mark.parametrize("validation", [0.0, 1.0, 1.5, -0.1, 3, "half", "holdout"])
def test_unknown_validations_are_errors(prototype: Any, validation: Any, small: Any) -> None:
    with pytest.raises(ValueError, match=r"validation=.* is not known: choose a fraction between 0 and 1"):
        make(prototype, validation=validation).fit(small.X, small.y)


def test_a_single_tree_has_no_out_of_bag_records(small: Any) -> None:
    with pytest.raises(ValueError, match="validation='oob' is not known"):
        make(TREE, validation="oob").fit(small.X, small.y)


@BOTH
def test_a_class_of_one_record_cannot_be_held_out(prototype: Any, small: Any) -> None:
    y = (np.arange(240) == 5).astype(int)
    with pytest.raises(ValueError, match=r"smaller class has 1 record\(s\).*X_val, or validation=None"):
        make(prototype, validation=0.2).fit(small.X, y)


def test_nothing_is_held_out_where_nothing_needs_it(small: Any) -> None:
    clf = make(TREE).fit(small.X, small.y)
    assert clf.validation_ is None
    with pytest.raises(DecisionError, match="validation= or X_val="):
        clf.with_decision(Decision(threshold="tuned"))
    tuned = make(TREE, decision=Decision(threshold="tuned")).fit(small.X, small.y)
    assert len(tuned.validation_.records) == 48


def test_sample_weights_are_repetitions(small: Any, fresh: Any) -> None:
    weight = np.arange(240) % 4
    val = {"X_val": fresh.X, "y_val": fresh.y, "fp_cost_val": fresh.fp, "fn_cost_val": fresh.fn}
    repeated = small.take(np.repeat(np.arange(240), weight))
    for options in (
        {},
        {"criterion": "cost"},
        {"pruning": "reduced_error"},
        {"pruning": "cost_complexity", "pruning_measure": "cost"},
    ):
        one = make(TREE, **options).fit(small.X, small.y, **small.costs, sample_weight=weight, **val)
        # Scaled weights are not whole, and take another path to the same tree.
        scaled = make(TREE, **options).fit(small.X, small.y, **small.costs, sample_weight=weight / 3, **val)
        two = make(TREE, **options).fit(repeated.X, repeated.y, **repeated.costs, **val)
        for other in (one, scaled):
            assert other.get_n_leaves() == two.get_n_leaves()
            np.testing.assert_array_equal(other.predict(fresh.X, **fresh.costs), two.predict(fresh.X, **fresh.costs))
            np.testing.assert_allclose(other.predict_proba(fresh.X), two.predict_proba(fresh.X))


@BOTH
@pytest.mark.parametrize("unit", [1.0, 0.3])
def test_records_that_do_not_count_leave_no_trace(prototype: Any, unit: float, small: Any, fresh: Any) -> None:
    """Also where most of them do not, so that plain bootstraps would be without any that does."""
    weight = np.where(np.arange(240) % 40 < 2, unit, 0.0)
    prototype = make(prototype, max_depth=None) if prototype is TREE else make(prototype, n_estimators=40)
    clf = make(prototype).fit(small.X, small.y, sample_weight=weight, **small.costs)
    assert np.isfinite(clf.predict_proba(fresh.X)).all()
    kept = weight > 0
    rest = make(prototype).fit(small.X[kept], small.y[kept], sample_weight=weight[kept], **small.take(kept).costs)
    np.testing.assert_allclose(clf.predict_proba(small.X[kept]), rest.predict_proba(small.X[kept]))
    np.testing.assert_array_equal(clf.binning_.cuts_, rest.binning_.cuts_)


@BOTH
def test_bad_sample_weights_are_errors(prototype: Any, small: Any) -> None:
    with pytest.raises(ValueError, match="sample_weight is zero for all records of the positive class"):
        make(prototype).fit(small.X, small.y, sample_weight=1 - small.y)
    with pytest.raises(CostsError, match="sample_weight is negative in row 2"):
        make(prototype).fit(small.X, small.y, sample_weight=np.where(np.arange(240) == 2, -1, 1))
    with pytest.raises(CostsError, match="sample_weight has 3 records, X has 240"):
        make(prototype).fit(small.X, small.y, sample_weight=[1, 1, 1])


# Decisions


@BOTH
def test_with_decision_shares_the_members_and_leaves_the_classifier_alone(prototype: Any, small: Any) -> None:
    clf = make(prototype, validation=0.3).fit(small.X, small.y, **small.costs)
    before, labels = pickle.dumps(clf), clf.predict(small.X, **small.costs)
    other = clf.with_decision(Decision(leaf="laplace", threshold="tuned"))
    assert other.members_ is clf.members_
    assert other.validation_ is clf.validation_
    assert other.decision == other.decision_ == Decision(leaf="laplace", threshold="tuned")
    assert not np.array_equal(other.predict(small.X, **small.costs), labels)
    np.testing.assert_array_equal(clf.predict(small.X, **small.costs), labels)
    assert clf.decision is None
    assert pickle.loads(before).decision_ == clf.decision_
    back = other.with_decision(None)
    assert back.decision_ == clf.decision_
    np.testing.assert_array_equal(back.predict(small.X, **small.costs), labels)
    # Trained with the decision from the start, it is the same classifier.
    trained = make(prototype, validation=0.3, decision=other.decision_).fit(small.X, small.y, **small.costs)
    np.testing.assert_array_equal(trained.predict(small.X), other.predict(small.X))


@BOTH
def test_a_decision_must_be_one(prototype: Any, small: Any) -> None:
    with pytest.raises(DecisionError, match=r"decision='cost' is not a Decision: write Decision\(...\)"):
        make(prototype, decision="cost").fit(small.X, small.y)
    with pytest.raises(DecisionError, match="is not a Decision"):
        make(prototype).fit(small.X, small.y).with_decision("cost")


@BOTH
def test_what_is_not_fitted_says_so(prototype: Any, small: Any) -> None:
    for call in (
        lambda clf: clf.predict(small.X),
        lambda clf: clf.predict_proba(small.X),
        lambda clf: clf.score(small.X, small.y),
        lambda clf: clf.with_decision(None),
        lambda clf: clf.feature_importances_,
    ):
        with pytest.raises(NotFittedError):
            call(make(prototype))


# What must stay as it was


@BOTH
def test_arrays_of_the_caller_are_not_touched_and_may_be_read_only(prototype: Any, small: Any, fresh: Any) -> None:
    arrays = [small.X, small.y, small.fp, small.fn, fresh.X, fresh.y, fresh.fp, fresh.fn, np.ones(240)]
    copies = [array.copy() for array in arrays]
    for array in copies:
        array.setflags(write=False)
    X, y, fp, fn, X_val, y_val, fp_val, fn_val, weight = copies
    clf = make(prototype).fit(
        X,
        y,
        fp_cost=fp,
        fn_cost=fn,
        sample_weight=weight,
        X_val=X_val,
        y_val=y_val,
        fp_cost_val=fp_val,
        fn_cost_val=fn_val,
    )
    clf.predict(X, fp_cost=fp, fn_cost=fn)
    clf.score(X, y, fp_cost=fp, fn_cost=fn)
    clf.with_decision(Decision(threshold="tuned")).predict_proba(X)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@BOTH
def test_the_global_random_state_is_not_touched(prototype: Any, small: Any) -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    make(prototype, random_state=None, validation=0.2).fit(small.X, small.y, **small.costs).predict(
        small.X, **small.costs
    )
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


@BOTH
def test_seeds_may_be_numbers_generators_and_random_states(prototype: Any, small: Any) -> None:
    for seed in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        one, two = (
            make(prototype, max_features=2) if prototype is TREE else make(prototype, estimator__max_features=2)
            for _ in range(2)
        )
        for clf in (one, two):
            clf.set_params(random_state=seed(), validation=0.3).fit(small.X, small.y)
        assert_same_trees(one, two)


def test_limits_belong_to_tuned_thresholds_and_are_shares(small: Any) -> None:
    clf = CostBaggingClassifier(n_estimators=3, random_state=0).fit(small.X, small.y, fp_cost=1, fn_cost=4)
    tuned = Decision(threshold="tuned")
    with pytest.raises(DecisionError, match="max_fpr limits a tuned threshold"):
        clf.with_decision(Decision(threshold="cost"), max_fpr=0.1)
    with pytest.raises(DecisionError, match="max_acted=0 is not a share"):
        clf.with_decision(tuned, max_acted=0)
    acted = [clf.with_decision(tuned, max_acted=limit).predict(small.X).mean() for limit in (0.05, 1.0)]
    assert acted[0] < acted[1]


def test_records_binned_in_another_way_are_refused(small: Any) -> None:
    table = table_of(pl.DataFrame(small.X))
    one, other = (Binning(max_bins).fit(table) for max_bins in (255, 8))
    clf = CostTreeClassifier(max_depth=2).fit(Binned(small.X, one, one.transform(table)), small.y)
    assert (clf.predict(Binned(small.X, one, one.transform(table))) == clf.predict(small.X)).all()
    with pytest.raises(ValueError, match="binned in another way"):
        clf.predict(Binned(small.X, other, other.transform(table)))


@pytest.mark.parametrize("weight", [None, np.array([1.0, 3.0, 2.0, 6.0])])
def test_weights_by_cost_keep_the_number_of_records(weight: Any) -> None:
    records = Records(None, np.array([True, False, True, False]), Costs(fp=2, fn=[5, 5, 9, 9]), weight)
    times = np.ones(4) if weight is None else weight
    expected = times * [5, 2, 9, 2]
    np.testing.assert_allclose(records.cost_weight(), expected * times.sum() / expected.sum())
    free = Records(None, records.positive, Costs(fp=0, fn=0), weight)
    assert free.cost_weight() is weight


def test_the_positive_class_is_that_of_the_last_fit(small: Records) -> None:
    tree = CostTreeClassifier(max_depth=2).fit(small.X, small.y, fp_cost=1, fn_cost=5)
    before = tree.predict(small.X)
    tree.set_params(pos_label=0)
    np.testing.assert_array_equal(tree.predict(small.X), before)
    tree.fit(small.X, small.y, fp_cost=5, fn_cost=1)  # the same costs, told the other way round
    np.testing.assert_array_equal(tree.predict(small.X), before)


def test_the_score_of_a_delivered_model_asks_for_costs_that_differ() -> None:
    data = make_churn(300, random_state=0)
    forest = CostBaggingClassifier(n_estimators=5, sampling="cpr", random_state=0)
    forest = forest.fit(data.frame, data.target, fp_cost=1, fn_cost=data.costs.fn)
    model = DeliveredClassifier(forest, ("stays", "leaves"), data.frame.columns)
    labels = np.where(data.target == 1, "leaves", "stays")
    with pytest.raises(CostsNeededError, match="pass fn_cost= along with X"):
        model.score(data.frame, labels)
    expected = forest.score(data.frame, data.target, fn_cost=data.costs.fn)
    assert model.score(data.frame, labels, fn_cost=data.costs.fn) == expected
