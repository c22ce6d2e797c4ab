"""CostTeamClassifier and CostStackingClassifier: from records to a blend of models, and its decisions."""

from copy import deepcopy
from functools import cache
from typing import ClassVar
from zipfile import ZipFile

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from stakes import (
    CostBaggingClassifier,
    Costs,
    CostStackingClassifier,
    CostTeamClassifier,
    CostTreeClassifier,
    Decision,
    load,
    save,
)
from stakes.datasets import make_churn
from stakes.decision.calibration import fit_calibration
from stakes.decision.cuts import fit_cuts
from stakes.exceptions import CostsNeededError, DecisionError, ModelFileError, OneClassWarning
from stakes.metrics import make_cost_scorer, savings_score
from stakes.persist import dumps, loads
from stakes.teams.blends import Stack, Team

BOTH = pytest.mark.parametrize("kind", [CostTeamClassifier, CostStackingClassifier])


def records(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (rng.random(n) < 1 / (1 + np.exp(1.2 - 1.5 * X[:, 0] - X[:, 1] * X[:, 2]))).astype(int)
    return X, y, rng.uniform(1, 3, n), rng.exponential(10, n)


def models():
    return [
        ("tree", CostTreeClassifier(max_depth=3)),
        ("bagging", CostBaggingClassifier(n_estimators=8)),
        ("bayes", GaussianNB()),
        ("logistic", LogisticRegression()),
    ]


@cache
def default(kind):
    return fitted(kind, n_jobs=None)


def fitted(kind=CostTeamClassifier, **params):
    if not params:
        return default(kind)
    X, y, fp, fn = records()
    return kind(**{"estimators": models(), "cv": 3, "random_state": 0, **params}).fit(X, y, fp_cost=fp, fn_cost=fn)


class Spy(DecisionTreeClassifier):
    """Remembers which records each copy was trained on; the first feature is the row number."""

    trained: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        Spy.trained.append(set(X[:, 0].astype(int)))
        self.seen_ = Spy.trained[-1]
        return super().fit(X, y, sample_weight=sample_weight)

    def predict_proba(self, X):
        assert not self.seen_ & set(X[:, 0].astype(int)) or len(self.seen_) == 60
        return super().predict_proba(X)


@BOTH
def test_every_record_is_scored_by_models_that_have_not_seen_it(kind):
    Spy.trained = []
    X, y = np.column_stack([np.arange(60), np.arange(60) % 7]).astype(float), np.arange(60) % 2
    kind([("spy", Spy())], cv=4, random_state=0).fit(X, y)
    *folds, last = Spy.trained
    assert len(folds) == 4
    assert all(sum(row not in fold for fold in folds) == 1 for row in range(60))
    assert last == set(range(60))


@BOTH
def test_the_blend_is_that_of_the_out_of_fold_scores_and_of_the_models_trained_on_all_records(kind):
    clf = fitted(kind)
    X, _, fp, fn = records()
    scores = np.column_stack([model.predict_proba(X)[:, 1] for model in clf.estimators_])
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], clf.blend_(scores))
    np.testing.assert_array_equal(clf.predict(X, fp_cost=fp, fn_cost=fn), (clf.blend_(scores) > fp / (fp + fn)) * 1)
    assert (clf.weights_ != 0).all()
    assert len(clf.weights_) == len(clf.calibrations_) == len(clf.estimators_) == len(clf.names_)


def test_a_team_of_one_is_that_model_calibrated():
    X, y, *_ = records()
    team = fitted(estimators=[("bayes", GaussianNB())])
    folds, alone = team.validation_.folds, np.empty(y.size)
    for fold in np.unique(folds):
        alone[folds == fold] = (
            GaussianNB().fit(X[folds != fold], y[folds != fold]).predict_proba(X[folds == fold])[:, 1]
        )
    calibrated = fit_calibration("platt_logit", alone, y)(GaussianNB().fit(X, y).predict_proba(X)[:, 1])
    np.testing.assert_allclose(team.predict_proba(X)[:, 1], calibrated)
    assert team.weights_.tolist() == [1.0]


def test_the_weights_of_a_team_sum_to_one_and_its_size_is_limited():
    team = fitted(size=2)
    assert team.weights_.sum() == pytest.approx(1)
    assert len(team.estimators_) <= 2
    best = fitted(size=3, choose="best")
    np.testing.assert_allclose(best.weights_, 1 / 3)


@BOTH
def test_names_of_the_catalogue_stand_for_their_classifiers(kind):
    data = make_churn(400, random_state=0)
    clf = kind(["rf", ("mine", CostTreeClassifier(max_depth=3))], cv=3, random_state=0)
    clf.fit(data.frame, data.target, fp_cost=1, fn_cost=5)
    assert set(clf.names_) <= {"rf", "mine"}
    assert set(clf.named_estimators_) == set(clf.names_)


@BOTH
def test_the_default_is_a_dozen_different_models_that_can_be_saved(kind, tmp_path):
    data = make_churn(400, random_state=0)
    clf = kind(cv=2, random_state=0).fit(data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    assert clf.validation_.scores.shape == (400, 12)
    assert clf.score(data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn) > 0
    save(clf, tmp_path / "default.skops")
    np.testing.assert_array_equal(
        load(tmp_path / "default.skops").predict_proba(data.frame), clf.predict_proba(data.frame)
    )


@BOTH
def test_costs_of_today_decide_without_training(kind):
    clf = fitted(kind)
    X, _, fp, fn = records()
    few, many = (clf.predict(X, fp_cost=fp, fn_cost=factor * fn).mean() for factor in (0.2, 5))
    assert few < many
    with pytest.raises(CostsNeededError, match="fp_cost was different for each record"):
        clf.predict(X)


@BOTH
def test_costs_times_a_hundred_change_nothing(kind):
    X, y, fp, fn = records()
    hundredfold = kind(models(), cv=3, random_state=0).fit(X, y, fp_cost=100 * fp, fn_cost=100 * fn)
    np.testing.assert_allclose(hundredfold.predict_proba(X), fitted(kind).predict_proba(X), atol=1e-9)


@BOTH
def test_the_order_of_estimators_changes_nothing_where_seeds_are_their_own(kind):
    X = records()[0]
    seeded = [(name, model.set_params(**({"random_state": 0} if "random_state" in model.get_params() else {})))
              for name, model in models()]  # fmt: skip
    straight, reversed_ = fitted(kind, estimators=seeded), fitted(kind, estimators=seeded[::-1])
    np.testing.assert_allclose(straight.predict_proba(X), reversed_.predict_proba(X), atol=1e-6)


@BOTH
def test_results_do_not_depend_on_the_number_of_jobs_and_follow_the_seed(kind):
    X = records()[0]
    one, two, other = fitted(kind), fitted(kind, n_jobs=2), fitted(kind, random_state=1)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert (one.predict_proba(X) != other.predict_proba(X)).any()


@BOTH
def test_labels_of_any_kind_and_either_class_can_be_positive(kind):
    X, y, fp, fn = records()
    names = np.where(y == 1, "left", "stayed")
    clf = kind(models(), cv=3, pos_label="left", random_state=0).fit(X, names, fp_cost=fp, fn_cost=fn)
    plain = fitted(kind)
    assert clf.classes_.tolist() == ["left", "stayed"]
    np.testing.assert_allclose(clf.predict_proba(X)[:, 0], plain.predict_proba(X)[:, 1], atol=1e-9)
    np.testing.assert_array_equal(
        clf.predict(X, fp_cost=fp, fn_cost=fn) == "left", plain.predict(X, fp_cost=fp, fn_cost=fn) == 1
    )


# Decisions


@BOTH
@pytest.mark.parametrize("threshold", ["half", "cost", "scaled", "tuned"])
def test_decisions_are_tuned_on_cross_fitted_probabilities(kind, threshold):
    decision = Decision(output="average", threshold=threshold)
    clf = fitted(kind).with_decision(decision)
    X, _, fp, fn = records()
    readings, out_of_fold = clf.read_validation([decision])
    (cut,) = fit_cuts([decision], readings, out_of_fold)
    expected = clf.predict_proba(X)[:, 1] > cut.thresholds(Costs(fp=fp, fn=fn))
    np.testing.assert_array_equal(clf.predict(X, fp_cost=fp, fn_cost=fn) == 1, expected)
    assert fitted(kind, decision=decision).cut_ == clf.cut_


@BOTH
def test_the_scores_of_a_record_do_not_depend_on_its_class(kind):
    X, y, fp, fn = records(120)
    splits = list(KFold(3).split(X))
    cheap = [("bayes", GaussianNB()), ("logistic", LogisticRegression())]
    flipped = y.copy()
    flipped[splits[0][1]] = 1 - flipped[splits[0][1]]
    before, after = (
        kind(cheap, cv=splits).fit(X, labels, fp_cost=fp, fn_cost=fn).validation_.scores for labels in (y, flipped)
    )
    np.testing.assert_array_equal(before[splits[0][1]], after[splits[0][1]])
    assert (before[splits[0][0]] != after[splits[0][0]]).all()


def test_a_decision_about_votes_is_refused():
    with pytest.raises(DecisionError, match="a blend of models has none"):
        fitted().with_decision(Decision(member="cost"))


@BOTH
def test_evaluating_many_decisions_is_deciding_one_after_the_other(kind):
    clf = fitted(kind)
    X, _, fp, fn = records()
    decisions = [Decision(output="average", threshold=t) for t in ("half", "cost", "scaled", "tuned")]
    outcomes = clf.evaluate(decisions, X, fp_cost=fp, fn_cost=fn).outcomes
    for decision, row in zip(decisions, outcomes, strict=True):
        np.testing.assert_array_equal(clf.with_decision(decision).predict(X, fp_cost=fp, fn_cost=fn) == 1, row)


# Models that are trained already


@BOTH
def test_a_classifier_of_fitted_models_decides_like_the_one_that_trained_them(kind):
    clf = fitted(kind)
    X, _, fp, fn = records()
    models = list(zip(clf.names_, clf.estimators_, strict=True))
    same = kind.from_fitted(models, clf.blend_)
    np.testing.assert_array_equal(same.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(same.predict(X, fp_cost=fp, fn_cost=fn), clf.predict(X, fp_cost=fp, fn_cost=fn))
    with pytest.raises(CostsNeededError):
        same.predict(X)
    assert kind.from_fitted(models, clf.blend_, fp_cost=1, fn_cost=5).predict(X).shape == (500,)
    with pytest.raises(DecisionError, match="none were kept"):
        same.with_decision(Decision(threshold="tuned"))


def test_fitted_models_can_bring_a_cut_along():
    clf = fitted()
    decision = Decision(output="average", threshold="tuned")
    tuned = clf.with_decision(decision)
    named = list(zip(clf.names_, clf.estimators_, strict=True))
    same = CostTeamClassifier.from_fitted(named, clf.blend_, decision=decision, cut=tuned.cut_)
    np.testing.assert_array_equal(same.predict(records()[0]), tuned.predict(records()[0]))


def test_fitted_models_must_fit_the_blend():
    X, y, *_ = records()
    bayes = ("bayes", GaussianNB().fit(X, y))
    with pytest.raises(ValueError, match="1 estimators were given, and the blend has 2 weights"):
        CostTeamClassifier.from_fitted([bayes], Team(np.array([0.5, 0.5]), (None, None)))
    other = ("other", GaussianNB().fit(X, y + 1))
    with pytest.raises(
        ValueError, match=r"'.*' was trained on the classes .*, and 'bayes' on .*: train all on the same two"
    ):
        CostStackingClassifier.from_fitted([bayes, other], Stack(np.array([0.5, 0.5]), (None, None), 0.0))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        CostTeamClassifier.from_fitted([("bayes", GaussianNB())], Team(np.array([1.0]), (None,)))


# Model files


@BOTH
def test_model_files_keep_everything_but_the_records(kind, tmp_path):
    clf = fitted(kind)
    X, _, fp, fn = records()
    save(clf, tmp_path / "blend.skops")
    same = load(tmp_path / "blend.skops")
    np.testing.assert_array_equal(same.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(same.predict(X, fp_cost=fp, fn_cost=fn), clf.predict(X, fp_cost=fp, fn_cost=fn))
    assert same.validation_ is None
    save(clf, tmp_path / "whole.skops", validation=True)
    whole = load(tmp_path / "whole.skops").with_decision(Decision(threshold="tuned"))
    np.testing.assert_array_equal(whole.predict(X), clf.with_decision(Decision(threshold="tuned")).predict(X))


@BOTH
def test_the_file_of_a_classifier_of_fitted_models_has_each_of_them_once(kind, tmp_path):
    clf = fitted(kind)
    X, _, fp, fn = records()
    named = list(zip(clf.names_, clf.estimators_, strict=True))
    made = kind.from_fitted(named, clf.blend_)
    save(made, tmp_path / "made.skops")
    with ZipFile(tmp_path / "made.skops") as archive:
        schema = archive.read("schema.json").decode()
    for model in clf.estimators_:
        assert schema.count(f'"__class__": "{type(model).__name__}"') == 1
    same = load(tmp_path / "made.skops")
    assert [name for name, _ in same.estimators] == [name for name, _ in made.estimators]
    assert all(given is model for (_, given), model in zip(same.estimators, same.estimators_, strict=True))
    np.testing.assert_array_equal(same.predict(X, fp_cost=fp, fn_cost=fn), made.predict(X, fp_cost=fp, fn_cost=fn))
    assert [name for name, _ in made.estimators] == clf.names_  # and the one that was saved is as it was


@pytest.mark.parametrize(
    "change",
    [
        lambda found: setattr(found, "scores", found.scores[:-1]),
        lambda found: setattr(found, "scores", np.where(found.scores > 0.5, np.nan, found.scores)),
        lambda found: setattr(found, "folds", found.folds - 1),
        lambda found: setattr(found, "folds", found.folds.astype(np.float64)),
        lambda found: delattr(found, "folds"),
        lambda found: setattr(found, "_probability", np.zeros(len(found.records))),
    ],
    ids=["fewer scores", "no scores", "folds below 0", "folds in between", "no folds", "derived numbers"],
)
def test_model_files_with_other_out_of_fold_scores_are_refused(change, tmp_path, monkeypatch):
    clf = deepcopy(fitted(CostTeamClassifier))
    monkeypatch.setattr(type(clf.validation_), "__getstate__", lambda self: dict(vars(self)))
    save(clf, tmp_path / "whole.skops", validation=True)
    load(tmp_path / "whole.skops")
    change(clf.validation_)
    save(clf, tmp_path / "whole.skops", validation=True)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "whole.skops")


# scikit-learn


@BOTH
def test_clones_are_fresh_and_equal(kind):
    clf = fitted(kind)
    copy = clone(clf)
    assert not hasattr(copy, "blend_")
    X, y, fp, fn = records()
    np.testing.assert_array_equal(copy.fit(X, y, fp_cost=fp, fn_cost=fn).predict_proba(X), clf.predict_proba(X))


@BOTH
def test_costs_are_routed_through_cross_validation(kind):
    X, y, fp, fn = records(300)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            kind(models()[2:], cv=3, random_state=0), X, y, cv=2, scoring=make_cost_scorer(savings_score),
            params={"fp_cost": fp, "fn_cost": fn},
        )  # fmt: skip
    assert (found["test_score"] > 0).all()


@BOTH
def test_sample_weights_reach_models_and_choice(kind):
    X, y, fp, fn = records()
    clf = kind(models(), cv=3, random_state=0)
    weight = np.where(X[:, 0] > 0, 1.0, 1e-3)
    weighted = clf.fit(X, y, fp_cost=fp, fn_cost=fn, sample_weight=weight).predict_proba(X)
    assert np.abs(weighted - fitted(kind).predict_proba(X)).max() > 0.05


@BOTH
@pytest.mark.parametrize("routing", [False, True])
def test_models_that_vote_by_costs_are_handed_them_also_in_pipelines(kind, routing):
    X, y, fp, fn = records()
    forest = CostBaggingClassifier(n_estimators=5, decision=Decision(member="cost"), random_state=0)
    blends = []
    with sklearn.config_context(enable_metadata_routing=routing):
        for model in (forest, make_pipeline(StandardScaler(), forest)):
            clf = kind([("forest", model)], cv=2, random_state=0).fit(X, y, fp_cost=fp, fn_cost=fn)
            blends.append(clf.predict_proba(X, fp_cost=fp, fn_cost=fn))
    np.testing.assert_allclose(*blends)
    assert not np.allclose(blends[0], clf.predict_proba(X, fp_cost=fp, fn_cost=fn[::-1]))


@BOTH
def test_a_blend_that_decides_all_alike_says_so(kind):
    X, y, _, _ = records()
    with pytest.warns(OneClassWarning, match="all 500 training records are decided to be positive"):
        kind([("tree", CostTreeClassifier(max_depth=2))], cv=2, random_state=0).fit(X, y, fp_cost=1, fn_cost=1e4)


@BOTH
def test_pipelines_are_handed_sample_weights_and_seeds(kind):
    X, y, fp, fn = records()
    weight = np.where(X[:, 0] > 0, 1.0, 1e-3)

    def probabilities(weight):
        pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=5, max_depth=3))
        clf = kind([("forest", pipeline)], cv=2, random_state=0)
        return clf.fit(X, y, fp_cost=fp, fn_cost=fn, sample_weight=weight).predict_proba(X)

    np.testing.assert_array_equal(probabilities(weight), probabilities(weight))
    assert np.abs(probabilities(weight) - probabilities(None)).max() > 0.05


@BOTH
def test_validation_records_of_the_callers_choose_without_folds(kind):
    Spy.trained = []
    X, y, fp, fn = records(400)
    X[:, 0] = np.arange(400)
    clf = kind([("spy", Spy(max_depth=3)), ("bayes", GaussianNB())], random_state=0)
    clf.fit(X[:60], y[:60], fp_cost=fp[:60], fn_cost=fn[:60], X_val=X[60:], y_val=y[60:], fp_cost_val=fp[60:],
            fn_cost_val=fn[60:])  # fmt: skip
    assert len(Spy.trained) == 1
    assert len(clf.validation_.scores) == 340
    assert clf.with_decision(Decision(threshold="tuned")).predict(X[60:]).shape == (340,)


@BOTH
def test_forward_folds_choose_on_the_records_that_were_held_out(kind):
    clf = fitted(kind, cv=TimeSeriesSplit(4))
    assert clf.validation_.scores.shape == (400, 4)
    assert not np.isnan(clf.validation_.scores).any()


@BOTH
def test_a_single_name_is_a_team_of_one(kind):
    X, y, *_ = records(200)
    one, listed = (kind(names, cv=3, random_state=0).fit(X, y) for names in ("bg", ["bg"]))
    assert one.names_ == ["bg"]
    np.testing.assert_array_equal(loads(dumps(one)).predict_proba(X), listed.predict_proba(X))


# Errors


@BOTH
def test_wrong_parameters_are_named(kind):
    X, y, *_ = records(60)
    for params, message in (
        ({"estimators": []}, "estimators is empty"),
        ({"estimators": [("a", GaussianNB()), ("a", GaussianNB())]}, "'a' more than once"),
        ({"estimators": ["rff"]}, "no method is called 'rff'"),
        ({"size": 0}, "size=0 is not valid"),
        ({"cv": 50}, "too few for cv=50"),
        ({"cv": [(np.arange(30), np.arange(30, 60)), (np.arange(30), np.arange(20, 60))]}, "more than once"),
        ({"calibration": "magic"}, "calibration='magic' is not known: choose from None, "),
        ({"calibration": "logistic"}, "calibration='logistic' is not known: choose from None, "),
        ({"estimators": "rff"}, "no method is called 'rff'"),
    ):
        with pytest.raises(ValueError, match=message):
            kind(**{"estimators": models()[2:], **params}).fit(X, y)
    for entry in (GaussianNB(), ("nb", GaussianNB(), 1.0)):
        with pytest.raises(TypeError, match="is neither a name of the catalogue nor a pair of a name and a classifier"):
            kind([entry]).fit(X, y)
    with pytest.raises(TypeError, match=r"svm=LinearSVC\(\) has no predict_proba"):
        kind([("svm", LinearSVC())]).fit(X, y)
    with pytest.raises(TypeError, match="is not a classifier"):
        kind([("text", 3)]).fit(X, y)


def test_wrong_parameters_of_one_kind_are_named():
    X, y, *_ = records(60)
    with pytest.raises(ValueError, match="choose='worst' is not known"):
        CostTeamClassifier(models(), choose="worst").fit(X, y)
    with pytest.raises(ValueError, match="strength=-1 is not valid"):
        CostStackingClassifier(models(), strength=-1).fit(X, y)


@BOTH
def test_a_model_that_fails_is_named(kind):
    X, y, *_ = records(60)
    with pytest.raises(ValueError, match="n_estimators") as caught:
        kind([("forest", RandomForestClassifier(n_estimators=-1))], cv=2).fit(X, y)
    assert "This happened while the estimator 'forest' was trained." in caught.value.__notes__


# Money


def test_together_they_save_more_than_each_alone():
    X, y, fp, fn = records(6000, seed=5)
    train, test = slice(0, 2000), slice(2000, 6000)

    def saved(clf):
        clf.fit(X[train], y[train], fp_cost=fp[train], fn_cost=fn[train])
        return clf.score(X[test], y[test], fp_cost=fp[test], fn_cost=fn[test])

    alone = [saved(CostTeamClassifier([model], random_state=0)) for model in models()]
    assert saved(CostTeamClassifier(models(), random_state=0)) > max(alone) - 0.005
    assert saved(CostStackingClassifier(models(), random_state=0)) > max(alone) - 0.005
