"""`CostBoostClassifier`: rounds that go wrong, decisions, members, and scikit-learn's manners (FRAMEWORK 7)."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import replace
from math import fsum
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes import CostBaggingClassifier, Costs, CostTreeClassifier, Decision
from stakes._rows import RECORDS_PER_PART
from stakes.boosting import RULES, CostBoostClassifier
from stakes.boosting.learners import BoostedTrees
from stakes.boosting.loop import DONE, LARGE, PERFECT, USELESS, shares
from stakes.boosting.rules import make_rule, total
from stakes.exceptions import CostsNeededError, DecisionError, FewRoundsWarning, OneClassWarning
from stakes.metrics import tuned_threshold
from stakes.records import Records

each_variant = pytest.mark.parametrize("variant", list(RULES))
HALF = Decision(threshold="half")


def few(**params: Any) -> CostBoostClassifier:
    return CostBoostClassifier(**{"n_estimators": 15, "random_state": 0, **params})


# Rounds that are not like the others


def test_member_without_error_is_the_last_and_has_a_large_alpha() -> None:
    X = np.arange(20.0).reshape(20, 1)
    model = few(decision=HALF).fit(X, X[:, 0] > 12)
    assert model.n_rounds_ == 1
    assert model.stop_reason_ == PERFECT
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.estimator_weights_.tolist() == [LARGE]
    assert np.isfinite(LARGE)
    assert_array_equal(model.predict(X), X[:, 0] > 12)


@each_variant
@pytest.mark.parametrize("ratio", [0.2, 1.0, 5.0])
def test_separable_records_are_separated(variant: str, ratio: float) -> None:
    X = np.arange(20.0).reshape(20, 1)
    model = few(variant=variant, decision=HALF, fn_cost=ratio).fit(X, X[:, 0] > 12)
    assert_array_equal(model.predict(X), X[:, 0] > 12)
    assert model.n_rounds_ == 1


def test_perfect_member_outvotes_the_others() -> None:
    # No stump is right about all records, but from the second round on the last one weighs nothing: it costs nothing.
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    y = np.array([0, 0, 1, 1, 1, 0])
    fp = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    model = few(variant="adac2").fit(X, y, fp_cost=fp, fn_cost=1.0)
    assert model.stop_reason_ == PERFECT
    assert model.estimator_weights_[-1] == LARGE
    assert_array_equal(model.predict(X, fp_cost=fp), [0, 0, 1, 1, 1, 1])


def test_useless_first_member_is_kept_with_weight_one() -> None:
    X = np.ones((10, 1))
    y = np.arange(10) % 2
    model = few(decision=HALF).fit(X, y)
    assert model.estimator_weights_.tolist() == [1.0]
    assert model.estimator_errors_.tolist() == [0.5]
    assert model.stop_reason_ == USELESS


def test_useless_later_member_is_dropped() -> None:
    X = np.ones((10, 1))
    y = (np.arange(10) < 3).astype(int)
    model = few(decision=HALF).fit(X, y)
    # The first says negative, and then both classes weigh the same.
    assert_allclose(model.estimator_weights_, [np.log(0.7 / 0.3) / 2])
    assert model.stop_reason_ == USELESS
    assert not model.predict(X).any()


def test_adacost_by_fan_stops_at_once_where_costs_are_equal_and_by_epsilon_or_a_smaller_scale_does_not(
    small: Any,
) -> None:
    def adacost(**options: Any) -> CostBoostClassifier:
        return few(variant="adacost", variant_params=options).fit(small.X, small.y)

    stopped = adacost(alpha="fan")
    assert (stopped.n_rounds_, stopped.stop_reason_) == (1, USELESS)
    for going in (adacost(), adacost(alpha="fan", scale=0.1), adacost(alpha="printed")):
        assert (going.n_rounds_, going.stop_reason_) == (15, DONE)


def test_few_rounds_are_warned_of_unless_a_perfect_member_ended_them(small: Any) -> None:
    plain = {"errors": "plain", "redraws": 0}
    degenerate = CostBoostClassifier(sampling="under", variant_params=plain, random_state=0)
    with pytest.warns(FewRoundsWarning, match=r"kept \d of 100 rounds: the next member was no better than chance"):
        degenerate.fit(small.X, small.y, fn_cost=9.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewRoundsWarning)
        CostBoostClassifier().fit(np.arange(20.0).reshape(20, 1), np.arange(20) > 12)
        degenerate.set_params(n_estimators=degenerate.n_rounds_ * 10).fit(small.X, small.y, fn_cost=9.0)


def test_one_class_for_all_is_warned_of_unless_that_is_free(small: Any) -> None:
    published = CostBoostClassifier(variant="adac2", variant_params={"costs_per_round": "full"})
    with pytest.warns(OneClassWarning, match="all 240 training records are decided to be positive"):
        published.fit(small.X, small.y, fn_cost=9.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OneClassWarning)
        CostBoostClassifier(variant="adac2").fit(small.X, small.y, fn_cost=9.0)
        published.fit(small.X, small.y, fp_cost=0.0, fn_cost=9.0)


def hard_cases() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    number = np.arange(80)
    return {
        "noisy": (X, (X[:, 0] + rng.normal(size=80) > 0).astype(int)),
        "separable": (X, (X[:, 0] > 0).astype(int)),
        "one positive": (X, (number == 3).astype(int)),
        "one negative": (X, (number != 3).astype(int)),
        "constant features": (np.ones((80, 2)), number % 3 == 0),
        "two records": (X[:2], np.array([0, 1])),
    }


def hard_costs(n: int) -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(n)
    some = rng.random(n) < 0.5
    return {
        "1e-6": (1.0, 1e-6),
        "1e6": (1.0, 1e6),
        "as far apart as can be": (1e-100, 1e100),
        "FN cost nothing": (1.0, 0.0),
        "FP cost nothing": (np.zeros(n), np.ones(n)),
        "nothing costs anything": (0.0, 0.0),
        "some cost nothing": (np.where(some, 0.0, 1.0), np.where(some, 3.0, 0.0)),
        "all sizes": (np.exp(rng.normal(0, 5, n)), np.exp(rng.normal(0, 5, n))),
    }


@each_variant
@pytest.mark.parametrize("case", hard_cases())
@pytest.mark.filterwarnings("error", "ignore::stakes.exceptions.TrainingWarning")
def test_ensembles_are_finite_and_not_empty_whatever_the_costs(variant: str, case: str) -> None:
    X, y = hard_cases()[case]
    for fp, fn in hard_costs(len(y)).values():
        model = few(variant=variant).fit(X, y, fp_cost=fp, fn_cost=fn)
        assert 1 <= model.n_rounds_ == len(model.members_) == len(model.estimator_weights_)
        assert np.isfinite(model.estimator_weights_).all()
        assert (model.estimator_weights_ > 0).all()
        assert ((model.estimator_errors_ >= 0) & (model.estimator_errors_ <= 1)).all()
        share = model.predict_proba(X, fp_cost=fp, fn_cost=fn)
        assert ((share >= 0) & (share <= 1)).all()
        assert np.isfinite(model.feature_importances_).all()


@each_variant
def test_class_that_costs_nothing_is_never_predicted_at_the_price_of_the_other(variant: str) -> None:
    X, y = hard_cases()["noisy"]
    cheap = few(variant=variant).fit(X, y, fp_cost=1.0, fn_cost=0.0)
    dear = few(variant=variant).fit(X, y, fp_cost=1.0, fn_cost=1.0)
    assert cheap.predict(X).sum() < dear.predict(X).sum()


# Decisions


def test_default_decision_is_half_where_costs_act_in_training_and_by_calibrated_votes_elsewhere(small: Any) -> None:
    def default(**params: Any) -> Decision:
        return few(n_estimators=2, **params).fit(small.X, small.y).decision_

    assert default() == Decision(calibration="logistic", threshold="cost")
    tuned = {"uboost", "adacost", "csb0", "csb1", "csb2"}
    assert all(default(variant=variant) == Decision(threshold="tuned") for variant in tuned)
    assert default(variant="csab") == Decision(calibration="platt", threshold="cost")
    assert all(default(variant=variant) == HALF for variant in RULES.keys() - tuned - {"adaboost", "m2", "csab"})
    assert default(sampling="under") == HALF
    assert default(estimator=CostTreeClassifier(criterion="cost", max_depth=1)) == HALF


def test_average_of_probabilities_is_refused_before_training_with_a_way_out(small: Any) -> None:
    model = few(decision=Decision(output="average", threshold="cost"))
    with pytest.raises(DecisionError, match=r"choose output='vote', with a calibration \('logistic', 'platt'"):
        model.fit(small.X, small.y)
    assert not hasattr(model, "members_")


def test_score_of_uboost_keeps_the_order_of_the_signed_sum(large: Any) -> None:
    model = few(variant="uboost", n_estimators=30, decision=HALF).fit(large.X, large.y, fp_cost=1.0, fn_cost=6.0)
    score = model.predict_proba(large.X)[:, 1]
    assigned = model.members_.assign(model._read(large.X, reset=False))
    negative, positive = assigned.leaves.weights[assigned.ids].transpose(2, 0, 1)
    votes = (6 * positive - negative) @ model.estimator_weights_
    assert np.corrcoef(score, votes)[0, 1] == pytest.approx(1.0)
    assert_array_equal(model.predict(large.X), votes > 0)
    assert roc_auc_score(large.y, score) == pytest.approx(roc_auc_score(large.y, votes))


def test_other_ways_of_members_to_vote_need_another_training(small: Any) -> None:
    model = few().fit(small.X, small.y)
    for member in ("cost", "tuned"):
        with pytest.raises(DecisionError, match="members were trained with member='label'"):
            model.with_decision(Decision(member=member))
    by_cost = few(decision=Decision(member="cost")).fit(small.X, small.y)
    with pytest.raises(DecisionError, match=r"choose Decision\(member='cost', ...\)"):
        by_cost.with_decision(Decision(threshold="cost"))
    assert by_cost.with_decision(None).decision_ == Decision(member="cost")
    assert by_cost.with_decision(Decision(member="cost", threshold="cost")).members_ is by_cost.members_


def test_costs_can_change_after_training(small: Any, fresh: Any) -> None:
    model = few().fit(small.X, small.y)
    positive = [model.predict(fresh.X, fn_cost=cost).sum() for cost in (0.1, 1.0, 10.0)]
    assert positive[0] < positive[1] < positive[2]


def test_votes_by_cost_need_the_costs_of_the_records(small: Any) -> None:
    for variant in ("csb0", "csb1", "csb2", "uboost"):
        model = few(variant=variant).fit(small.X, small.y, **small.costs)
        with pytest.raises(CostsNeededError):
            model.predict(small.X)
    for variant in ("naive", "adac2"):
        few(variant=variant).fit(small.X, small.y, **small.costs).predict(small.X)


@pytest.fixture(scope="module")
def calibrated(large: Any) -> tuple[CostBoostClassifier, Any, Any]:
    """Return an AdaBoost with validation records, these, and their shares of votes."""
    train, val = large.take(np.arange(0, 1500, 2)), large.take(np.arange(1, 1500, 2))
    model = few(decision=HALF, n_estimators=30)
    model.fit(train.X, train.y, X_val=val.X, y_val=val.y, fp_cost_val=val.fp, fn_cost_val=val.fn, **train.costs)
    return model, val, model.predict_proba(val.X)[:, 1]


def probability(model: CostBoostClassifier, calibration: str, X: Any) -> Any:
    return model.with_decision(Decision(calibration=calibration)).predict_proba(X)[:, 1]


def test_logistic_corrections_are_closed_forms(calibrated: Any) -> None:
    model, val, share = calibrated
    assert_allclose(probability(model, "logistic_bounded", val.X), 1 / (1 + np.exp(-2 * (2 * share - 1))))
    outcome = model.members_.assign(model._read(val.X, reset=False))
    h = np.where(outcome.leaves.label[outcome.ids], 1.0, -1.0)
    assert_allclose(probability(model, "logistic", val.X), expit(2 * h @ model.estimator_weights_))


def test_platt_scaling_is_that_of_scikit_learn(calibrated: Any) -> None:
    model, val, _ = calibrated
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid").fit(val.X, val.y)
    assert_allclose(probability(model, "platt", val.X), theirs.predict_proba(val.X)[:, 1], atol=1e-4)


def test_isotonic_regression_is_that_of_scikit_learn(calibrated: Any) -> None:
    model, val, share = calibrated
    assert_allclose(probability(model, "isotonic", val.X), IsotonicRegression().fit(share, val.y).predict(share))


def test_tuned_threshold_is_the_cheapest_cut_of_the_votes(calibrated: Any) -> None:
    model, val, share = calibrated
    cut = tuned_threshold(val.y, share, fp_cost=val.fp, fn_cost=val.fn)
    tuned = model.with_decision(Decision(threshold="tuned"))
    assert_array_equal(tuned.predict(val.X), share > cut)


@pytest.mark.parametrize("calibration", ["logistic", "logistic_bounded", "platt", "isotonic"])
def test_calibrated_probability_is_decided_on_by_cost(calibrated: Any, calibration: str) -> None:
    model, val, _ = calibrated
    decided = model.with_decision(Decision(calibration=calibration, threshold="cost"))
    expected = probability(model, calibration, val.X) > Costs(val.fp, val.fn).threshold()
    assert_array_equal(decided.predict(val.X, **val.costs), expected)


def test_records_are_held_out_only_where_something_is_chosen_on_them(small: Any) -> None:
    assert few().fit(small.X, small.y).validation_ is None
    assert len(few(variant="csb1").fit(small.X, small.y).validation_.records) == 48
    model = few(decision=Decision(calibration="platt", threshold="cost")).fit(small.X, small.y)
    assert len(model.validation_.records) == 48
    with pytest.raises(DecisionError, match="none were kept"):
        few().fit(small.X, small.y).with_decision(Decision(calibration="platt"))


# Stages


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"variant": "uboost"},
        {"variant": "csb1"},
        {"sampling": "cpr"},
        {"estimator": GaussianNB()},
        {"decision": Decision(member="cost")},
        {
            "decision": Decision(member="tuned", calibration="isotonic", threshold="tuned", vote_weight="log_odds"),
            "variant_params": {"errors": "plain"},
        },
    ],
    ids=str,
)
def test_last_stage_is_the_prediction(small: Any, params: dict[str, Any]) -> None:
    mild = {"fp_cost": small.fp, "fn_cost": small.fp}
    model = few(**params).fit(small.X, small.y, **mild)
    *_, last = stages = list(model.staged_predict(small.X, **small.costs))
    assert len(stages) == model.n_rounds_ > 1
    assert_array_equal(last, model.predict(small.X, **small.costs))


def test_stages_are_smaller_ensembles(small: Any) -> None:
    model = few(decision=HALF).fit(small.X, small.y)
    for rounds, labels in enumerate(model.staged_predict(small.X), start=1):
        assert_array_equal(labels, few(decision=HALF, n_estimators=rounds).fit(small.X, small.y).predict(small.X))


# Members


def test_stumps_of_scikit_learn_make_the_same_ensemble(small: Any) -> None:
    theirs = few(estimator=DecisionTreeClassifier(max_depth=1), decision=HALF).fit(small.X, small.y)
    ours = few(decision=HALF).fit(small.X, small.y)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert_allclose(ours.predict_proba(small.X), theirs.predict_proba(small.X), rtol=1e-9)
    assert len(theirs.estimators_) == theirs.n_rounds_
    with pytest.raises(AttributeError, match="only ensembles of trees"):
        _ = theirs.feature_importances_
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.predict(small.X), other.predict(small.X))


def test_many_records_make_the_ensemble_of_scikit_learn() -> None:
    # More than are computed on at once, and of so few values that both see the same cuts.
    rng = np.random.default_rng(5)
    X = rng.integers(0, 40, (2 * RECORDS_PER_PART + 77, 4)).astype(np.float64)
    y = rng.random(len(X)) < expit(X[:, 0] / 8 - X[:, 1] / 12)
    ours = few(n_estimators=6, decision=HALF).fit(X, y)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=6, random_state=0).fit(X, y)
    assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("n", [1, 1000, RECORDS_PER_PART + 1, 5 * RECORDS_PER_PART + 13])
def test_total_of_many_records_is_their_sum(n: int) -> None:
    rng = np.random.default_rng(n)
    weight, margin = rng.random(n), rng.normal(size=n)
    assert_allclose(total(weight, margin), fsum(weight * margin), rtol=1e-12)
    assert_allclose(total(weight, lambda rows: 1 - margin[rows]), fsum(weight * (1 - margin)), rtol=1e-12)


@pytest.mark.parametrize("sampling", [None, pytest.param("under", marks=pytest.mark.slow), "smote"])
@pytest.mark.parametrize("variant", [name for name in RULES if name != "uboost"])
def test_any_classifier_with_weights_can_be_boosted(small: Any, variant: str, sampling: Any) -> None:
    model = few(estimator=LogisticRegression(), variant=variant, sampling=sampling, n_estimators=3)
    model.fit(small.X, small.y, fp_cost=1.0, fn_cost=4.0)
    assert model.predict(small.X).sum() > small.y.sum() / 2


def test_model_is_told_of_as_many_records_as_there_are(small: Any) -> None:
    alone = LogisticRegression().fit(small.X, small.y)
    first = few(estimator=LogisticRegression(), n_estimators=1).fit(small.X, small.y).estimators_[0]
    assert_allclose(first.coef_, alone.coef_, rtol=1e-3)


def test_members_without_weights_are_refused(small: Any) -> None:
    with pytest.raises(ValueError, match="boosting needs members that take sample_weight: KNeighborsClassifier"):
        few(estimator=KNeighborsClassifier()).fit(small.X, small.y)
    with pytest.raises(ValueError, match="'uboost' votes by the weights in the leaves of trees"):
        few(estimator=GaussianNB(), variant="uboost").fit(small.X, small.y)


@pytest.mark.parametrize(
    "tree",
    [
        {"max_depth": 3},
        {"max_depth": 1, "criterion": "gain_ratio"},
        {"max_depth": 1, "criterion": "entropy"},
        {"max_depth": 2, "criterion": "cost"},
        {"max_depth": 1, "max_features": 2},
        {"pruning": "cost_complexity", "max_depth": 4},
    ],
    ids=str,
)
def test_trees_of_all_kinds_can_be_boosted(small: Any, tree: dict[str, Any]) -> None:
    model = few(estimator=CostTreeClassifier(**tree)).fit(small.X, small.y, fp_cost=1.0, fn_cost=2.0)
    again = few(estimator=CostTreeClassifier(**tree)).fit(small.X, small.y, fp_cost=1.0, fn_cost=2.0)
    assert model.n_rounds_ > 1
    assert_array_equal(model.predict_proba(small.X), again.predict_proba(small.X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "cost"])
def test_short_cut_for_stumps_changes_nothing(criterion: str, small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stump = CostTreeClassifier(criterion=criterion, max_depth=1)
    fast = few(estimator=stump, variant="csab").fit(small.X, small.y, **small.costs)
    monkeypatch.setattr(BoostedTrees, "_stumps", None)
    slow = few(estimator=stump, variant="csab").fit(small.X, small.y, **small.costs)
    assert_array_equal(fast.estimator_weights_, slow.estimator_weights_)
    for mine, its in zip(fast.members_.trees.nodes, slow.members_.trees.nodes, strict=True):
        assert_array_equal(mine, its)


def test_easy_ensemble_is_bagging_of_boosting_on_under_samples(large: Any) -> None:
    easy = CostBaggingClassifier(few(n_estimators=10), sampling="under", n_estimators=4, random_state=0)
    positive = [easy.fit(large.X, large.y, fn_cost=cost).predict(large.X).mean() for cost in (1.0, 3.0, 9.0)]
    assert positive[0] < positive[1] < positive[2]
    assert [type(model) for model in easy.estimators_] == [CostBoostClassifier] * 4


def test_frames_with_categories_and_gaps_are_boosted(mixed: Any, holes: Any) -> None:
    for variant in ("adaboost", "adac1", "csab"):
        model = few(variant=variant).fit(mixed, holes.y, **holes.costs)
        assert model.score(mixed, holes.y, **holes.costs) > 0.2
        assert_array_equal(model.predict(mixed.to_pandas(), **holes.costs), model.predict(mixed, **holes.costs))


# Manners


@pytest.mark.parametrize(
    "params", [{}, {"variant": "csab"}, {"sampling": "under"}, {"sampling": "cpr", "variant": "csb2"}], ids=str
)
def test_results_do_not_depend_on_the_number_of_threads(params: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 20))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=9000) > 1).astype(int)
    one, two = (few(n_jobs=n, **params).fit(X, y, fn_cost=3.0) for n in (1, 2))
    assert_array_equal(one.estimator_weights_, two.estimator_weights_)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize("variant", ["adaboost", "naive", "asymmetric", "csb1", "adac1", "csab"])
def test_sample_weights_count_records(small: Any, variant: str) -> None:
    weight = np.random.default_rng(0).integers(0, 4, len(small))
    rows = np.repeat(np.arange(len(small)), weight)
    copied = small.take(rows)
    weighted = few(variant=variant, decision=HALF).fit(small.X, small.y, sample_weight=weight, **small.costs)
    repeated = few(variant=variant, decision=HALF).fit(copied.X, copied.y, **copied.costs)
    assert_allclose(weighted.estimator_weights_, repeated.estimator_weights_, rtol=1e-9)
    share = weighted.predict_proba(small.X, **small.costs)
    assert_allclose(share, repeated.predict_proba(small.X, **small.costs), rtol=1e-9)


def test_positive_label_turns_the_costs_around(small: Any) -> None:
    ones = few(variant="naive", pos_label=1, fn_cost=5.0).fit(small.X, small.y)
    zeros = few(variant="naive", pos_label=0, fp_cost=5.0).fit(small.X, small.y)
    assert_array_equal(ones.predict(small.X), zeros.predict(small.X))
    assert_allclose(ones.predict_proba(small.X), zeros.predict_proba(small.X))


def test_fitted_models_can_be_pickled_and_cloned(small: Any) -> None:
    model = few(variant="adacost", variant_params={"scale": 0.4}, sampling="under").fit(small.X, small.y, fn_cost=3.0)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(small.X), model.predict(small.X))
    assert clone(model).get_params() == model.get_params()


def test_unfitted_model_has_no_stages() -> None:
    with pytest.raises(NotFittedError):
        next(few().staged_predict([[1.0]]))


def test_number_of_rounds_is_checked(small: Any) -> None:
    for wrong in (0, 2.5, "many"):
        with pytest.raises(ValueError, match="n_estimators="):
            few(n_estimators=wrong).fit(small.X, small.y)


def test_progress_is_shown_to_whoever_asks(small: Any, capsys: pytest.CaptureFixture[str]) -> None:
    few(verbose=1).fit(small.X, small.y)
    assert "15 rounds" in capsys.readouterr().err


def expected_failures(model: CostBoostClassifier) -> dict[str, str]:
    """Return what scikit-learn declares for its own AdaBoostClassifier, and only for members that are its own trees.

    Among equal splits they take one by chance, and rounding tells weights from repetitions. Its AdaBoostClassifier has
    no class_weight; leaves of one class say the same whatever its weight (tests/test_sklearn_checks.py has the check
    for members whose leaves have a least weight). Weights that start anew are drawn, for repetitions one each. By
    default CSAB cuts its calibrated votes, and these are not calibrated in `decision_function`.
    """
    pure = {"check_class_weight_classifiers": "min_weight_fraction_leaf is a parameter of the members."}
    if model.variant == "csab" and model.decision is None:
        pure["check_classifiers_train"] = "decision_function is cut elsewhere than at 0."
    drawn = model.decision is not None and model.variant_params is None
    if not drawn and not isinstance(model.estimator, DecisionTreeClassifier):
        return pure
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return pure | dict.fromkeys(checks, "sample_weight is not equivalent to removing/repeating samples.")


BY_COST: dict[str, Any] = {"estimator": CostTreeClassifier(max_depth=2), "decision": Decision(member="cost")}


@parametrize_with_checks(
    [
        few(n_estimators=5),
        few(n_estimators=5, **BY_COST),
        few(n_estimators=5, **BY_COST, variant_params={"redraws": 0}),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check_passes(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        few(n_estimators=5, variant="csab"),
        few(n_estimators=5, variant="csab", decision=HALF),
        few(n_estimators=3, estimator=DecisionTreeClassifier(max_depth=1)),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check_passes_with_other_options(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_records_without_any_weight_share_it_equally() -> None:
    weight, log_total = shares(np.full(4, -np.inf))
    np.testing.assert_array_equal(weight, 0.25)
    assert log_total == 0.0


@pytest.mark.parametrize("variant", ["adaboost", "adac1", "adac2", "adac3", "adacost", "csab"])
def test_a_member_that_is_always_wrong_or_always_right_has_an_infinite_or_the_largest_alpha(variant: str) -> None:
    positive = np.array([True, False, True])
    records = Records(None, positive, Costs(fp=1, fn=4))
    rule, weight = make_rule(variant), np.full(3, 1 / 3)
    assert rule.vote_weight(records, weight, -np.ones(3)) < 0
    if variant in ("adaboost", "adac2", "csab"):
        assert rule.vote_weight(records, weight, -np.ones(3)) == -np.inf
        assert rule.vote_weight(records, weight, np.ones(3)) == np.inf


def test_votes_by_weight_of_the_first_members_leave_out_the_others(small: Any) -> None:
    clf = CostBoostClassifier(variant="uboost", n_estimators=4, random_state=0)
    clf.fit(small.X, small.y, fp_cost=1, fn_cost=3)
    assignment = clf.members_.assign(clf._read(small.X, reset=False))

    def score(n_members: int) -> Any:
        voting = replace(assignment, ids=assignment.ids[:, :n_members].copy())
        return clf.cut_.scores(clf.reader_.read(voting, Costs(fp=1, fn=3)))

    everyone, first = score(4), score(1)
    np.testing.assert_array_equal(everyone, clf.predict_proba(small.X, fp_cost=1, fn_cost=3)[:, 1])
    assert np.unique(first).size == 2  # a stump has two leaves
    assert not np.array_equal(first, everyone)
