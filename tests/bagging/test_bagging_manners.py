"""The same results however they come about, and scikit-learn's manners."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from ensembles import BY_CLASS_MEANS, SAMPLINGS, assert_same_trees, bagging, nodes_of
from imblearn.pipeline import Pipeline as SamplingPipeline
from imblearn.under_sampling import RandomUnderSampler
from sklearn import config_context
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from stakes import CostBaggingClassifier, CostTreeClassifier, Decision
from stakes.exceptions import OneClassWarning
from stakes.metrics import make_cost_scorer, savings_score
from stakes.sampling import CPRSampler, UnderSampler


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"features": "per_split", "weighted": True},
        {"sampling": "cpr", "features": "per_tree"},
        {"sampling": "smote"},
        {"sampling": "over", "presample": True},
        {"estimator": CostTreeClassifier(criterion="cost", pruning="cost_complexity", pruning_measure="cost")},
        {"estimator": DecisionTreeClassifier(max_features=2), "sampling": "under"},
        {"decision": Decision(member="tuned", vote_weight="squared_odds", threshold="tuned")},
    ],
    ids=str,
)
@BY_CLASS_MEANS
def test_results_depend_on_the_seed_and_not_on_threads(options: dict[str, Any], small: Any, fresh: Any) -> None:
    def fitted(**more: Any) -> Any:
        clf = bagging(**{"n_estimators": 20, **options, **more})
        return clf.fit(small.X, small.y, **small.costs)

    one, two, again, other = fitted(n_jobs=1), fitted(n_jobs=2), fitted(n_jobs=1), fitted(random_state=1)
    for same in (two, again):
        if one._tree is not None:
            assert_same_trees(one, same)
        np.testing.assert_array_equal(
            one.predict_proba(small.X, **small.costs), same.predict_proba(small.X, **small.costs)
        )
        np.testing.assert_array_equal(one.predict(small.X, **small.costs), same.predict(small.X, **small.costs))
    X, average = np.nan_to_num(fresh.X), Decision(output="average")
    p, q = (clf.with_decision(average).predict_proba(X) for clf in (one, other))
    assert not np.array_equal(p, q)


@pytest.mark.parametrize("estimator", [CostTreeClassifier(), GaussianNB()], ids=str)
def test_members_of_the_last_fit_are_not_sent_to_processes(estimator: Any, small: Any, monkeypatch: Any) -> None:
    sizes, run = [], CostBaggingClassifier._run

    def noting(self: Any, make: Any, seeds: Any, **options: Any) -> Any:
        sizes.append(len(pickle.dumps(make)))
        return run(self, make, seeds, **options)

    monkeypatch.setattr(CostBaggingClassifier, "_run", noting)
    forest = bagging(estimator, n_estimators=20)
    for _ in range(2):
        forest.fit(np.nan_to_num(small.X), small.y)
    assert sizes[1] == sizes[0]


def test_more_members_are_the_old_ones_and_new_ones(small: Any) -> None:
    few, many = (bagging(n_estimators=n).fit(small.X, small.y) for n in (3, 5))
    np.testing.assert_array_equal(nodes_of(few).feature, nodes_of(many).feature[: few.members_.trees.sizes.sum()])


@BY_CLASS_MEANS
@pytest.mark.parametrize("sampling", [None, *SAMPLINGS, RandomUnderSampler()], ids=str)
@pytest.mark.parametrize("presample", [False, True])
def test_no_sampling_touches_the_callers_arrays_or_the_global_random_state(
    sampling: Any, presample: bool, small: Any
) -> None:
    if presample and sampling is None:
        return
    arrays = [array.copy() for array in (small.X, small.y, small.fp, small.fn)]
    for array in arrays:
        array.setflags(write=False)
    X, y, fp, fn = arrays
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for options in ({}, {"weighted": True}, {"estimator": GaussianNB()}, {"random_state": None}):
        clf = bagging(**{"sampling": sampling, "presample": presample, "n_estimators": 2, **options})
        clf.fit(X, y, fp_cost=fp, fn_cost=fn).predict(X, fp_cost=fp, fn_cost=fn)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    for array, original in zip(arrays, (small.X, small.y, small.fp, small.fn), strict=True):
        np.testing.assert_array_equal(array, original)


def test_progress_goes_to_the_standard_error_where_asked_for(small: Any, capfd: pytest.CaptureFixture[str]) -> None:
    bagging().fit(small.X, small.y)
    assert capfd.readouterr() == ("", "")
    for estimator in (None, GaussianNB()):
        bagging(estimator, verbose=1).fit(small.X, small.y)
        out, err = capfd.readouterr()
        assert out == ""
        assert "6 members" in err
        assert "100%" in err


# scikit-learn's manners


def test_clone_and_parameters_go_all_the_way_down(small: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), sampling=CPRSampler(quantile=0.9), decision=Decision(member="cost"))
    twin = clone(clf)
    assert repr(twin) == repr(clf)
    assert twin.get_params()["decision"] == Decision(member="cost")
    twin.set_params(estimator__criterion="cost", sampling__quantile=None, n_estimators=2)
    assert twin.fit(small.X, small.y, **small.costs).estimator.criterion == "cost"
    assert clf.estimator.criterion == "gini"
    assert clf.sampling.quantile == 0.9
    assert len(twin.members_) == 2


def test_fitting_again_forgets_the_past(small: Any, fresh: Any) -> None:
    clf = bagging().fit(fresh.X[:, :2], fresh.y, **fresh.costs).fit(small.X, small.y, fn_cost=3)
    new = bagging().fit(small.X, small.y, fn_cost=3)
    assert_same_trees(clf, new)
    np.testing.assert_array_equal(clf.predict(small.X), new.predict(small.X))
    assert clf.oob_cost_ == new.oob_cost_


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_a_pickled_ensemble_decides_tunes_and_accounts_as_before(estimator: Any, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    clf = bagging(estimator, sampling="cpr").fit(small.X, small.y, **small.costs)
    size = len(pickle.dumps(clf))
    clf.oob_cost_  # noqa: B018 (what members say of the records is kept from now on, but not in a pickle)
    assert len(pickle.dumps(clf)) == size
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(X, **fresh.costs), clf.predict(X, **fresh.costs))
    assert again.oob_cost_ == clf.oob_cost_
    tuned = Decision(member="tuned", vote_weight="log_odds")
    np.testing.assert_array_equal(again.with_decision(tuned).predict(X), clf.with_decision(tuned).predict(X))


@pytest.mark.parametrize("options", [{}, {"sampling": "cpr", "features": "per_tree"}, {"weighted": True}], ids=str)
def test_frames_of_pandas_and_polars_make_the_same_ensemble(options: Any, mixed: pl.DataFrame, holes: Any) -> None:
    frame = mixed.to_pandas()
    one, two = (bagging(**options).fit(X, holes.y, **holes.costs) for X in (mixed, frame))
    assert_same_trees(one, two)
    np.testing.assert_array_equal(one.predict_proba(mixed), two.predict_proba(frame))
    np.testing.assert_array_equal(one.predict(mixed, **holes.costs), one.predict(frame, **holes.costs))
    assert list(one.feature_names_in_) == mixed.columns


def test_a_search_without_routing_finds_costs_of_the_constructor(small: Any) -> None:
    grid = {"estimator__max_depth": [2, 4], "fn_cost": [1.0, 8.0]}
    search = GridSearchCV(bagging(CostTreeClassifier()), grid, scoring="recall", cv=3).fit(small.X, small.y)
    assert search.best_params_["fn_cost"] == 8.0
    assert search.best_estimator_.constant_costs_["fn_cost"] == 8.0
    # Constant costs given to fit are passed on, and remembered by each classifier for its score.
    search = GridSearchCV(bagging(CostTreeClassifier()), {"estimator__max_depth": [1, 4]}, cv=3)
    search.fit(small.X, small.y, fp_cost=1.0, fn_cost=8.0)
    assert search.best_score_ == pytest.approx(np.mean(by_hand(search.best_estimator_, small, 1.0, 8.0)))


def by_hand(prototype: Any, records: Any, fp: Any, fn: Any) -> list[float]:
    """Return the savings in three-fold cross-validation."""
    scores = []
    for train, test in StratifiedKFold(3).split(records.X, records.y):
        costs = [
            {name: np.broadcast_to(cost, len(records))[rows] for name, cost in (("fp_cost", fp), ("fn_cost", fn))}
            for rows in (train, test)
        ]
        clf = clone(prototype).fit(records.X[train], records.y[train], **costs[0])
        scores.append(savings_score(records.y[test], clf.predict(records.X[test], **costs[1]), **costs[1]))
    return scores


@BY_CLASS_MEANS
@pytest.mark.parametrize("sampling", [None, "under", "cpr"])
def test_costs_are_routed_through_cross_validation_and_search(sampling: str | None, small: Any) -> None:
    clf = bagging(CostTreeClassifier(max_depth=3), sampling=sampling)
    expected = by_hand(clf, small, small.fp, small.fn)
    with config_context(enable_metadata_routing=True):
        # The classifier's own score, a scorer, and a search over parameters.
        results = cross_validate(clf, small.X, small.y, params=small.costs, cv=3, error_score="raise")
        np.testing.assert_allclose(results["test_score"], expected)
        scorer = make_cost_scorer(savings_score)
        results = cross_validate(clf, small.X, small.y, params=small.costs, cv=3, scoring=scorer, error_score="raise")
        np.testing.assert_allclose(results["test_score"], expected)
        search = GridSearchCV(clf, {"estimator__max_depth": [1, 3]}, cv=3, error_score="raise")
        search.fit(small.X, small.y, **small.costs)
        np.testing.assert_allclose(search.cv_results_["mean_test_score"][1], np.mean(expected))
        assert search.best_estimator_.predict(small.X, **small.costs).shape == (240,)


def test_a_pipeline_passes_costs_on(holes: Any, fresh: Any) -> None:
    inside = bagging(GaussianNB())
    imputer = SimpleImputer().fit(holes.X)
    alone = clone(inside).fit(imputer.transform(holes.X), holes.y, **holes.costs)
    expected = alone.predict(imputer.transform(fresh.X), **fresh.costs)
    with config_context(enable_metadata_routing=True):
        pipe = Pipeline([("impute", SimpleImputer()), ("clf", inside)]).fit(holes.X, holes.y, **holes.costs)
        np.testing.assert_array_equal(pipe.predict(fresh.X, **fresh.costs), expected)
        assert pipe.score(fresh.X, fresh.y, **fresh.costs) == savings_score(fresh.y, expected, **fresh.costs)
    pipe = Pipeline([("impute", SimpleImputer()), ("clf", clone(inside))])
    pipe.fit(holes.X, holes.y, clf__fp_cost=holes.fp, clf__fn_cost=holes.fn)
    np.testing.assert_array_equal(pipe.predict(fresh.X, **fresh.costs), expected)


def test_a_pipeline_of_imbalanced_learn_samples_before_the_ensemble(small: Any) -> None:
    """With constant costs, which go to both; records that are sampled leave their own costs behind."""
    pipe = SamplingPipeline([("sample", UnderSampler(fn_cost=5.0, random_state=0)), ("clf", bagging())])
    pipe.fit(small.X, small.y)
    X, y = UnderSampler(fn_cost=5.0, random_state=0).fit_resample(small.X, small.y)
    assert_same_trees(pipe[-1], bagging().fit(X, y))
    np.testing.assert_array_equal(pipe.predict(small.X), pipe[-1].predict(small.X))


# Parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0 is not valid: give a whole number of at least 1"),
        ({"n_estimators": 2.5}, "n_estimators=2.5 is not valid"),
        ({"features": "half"}, "features='half' is not known: choose from 'all', 'per_split', 'per_tree'"),
        ({"presample": True}, "presample=True has nothing to do without sampling="),
        ({"estimator": GaussianNB(), "features": "per_split"}, r"'per_split' is about trees.*GaussianNB\(\)"),
        ({"estimator": CostTreeClassifier(criterion="cost"), "weighted": True}, "both count the costs: choose one"),
        ({"estimator": CostTreeClassifier(criterion="x")}, "criterion='x' is not known"),
        ({"estimator": CostTreeClassifier(max_bins=999)}, "max_bins=999 is not valid"),
        ({"estimator": CostTreeClassifier(leaf="x")}, "leaf='x' is not known"),
        ({"decision": Decision(vote_weight="node")}, "only weighted ensembles have one"),
    ],
)
def test_bad_parameters_are_errors_that_name_them(options: dict[str, Any], message: str, small: Any) -> None:
    with pytest.raises(ValueError, match=message):
        bagging(**options).fit(small.X, small.y).predict(small.X)


def test_the_leaves_of_all_trees_are_looked_at_only_where_those_of_few_do_not_tell_two_outcomes(large: Any) -> None:
    assert "leaves" not in vars(bagging(n_estimators=20).fit(large.X, large.y).members_)
    with pytest.warns(OneClassWarning, match="all 1500 training records are decided to be positive"):
        bagging(CostTreeClassifier(max_depth=1, min_samples_leaf=500)).fit(large.X, large.y, fp_cost=1, fn_cost=1e6)
