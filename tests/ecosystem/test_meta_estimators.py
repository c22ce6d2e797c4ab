"""Our classifiers inside the meta-estimators of others, and classifiers of others inside ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
import skops.io
from imblearn.ensemble import BalancedBaggingClassifier
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostStackingClassifier,
    CostTeamClassifier,
    CostTreeClassifier,
    MetaCostClassifier,
)
from stakes.encoded import EncodedClassifier
from stakes.exceptions import CostsNeededError
from stakes.metrics import make_cost_scorer, savings_score, total_cost
from stakes.persist import TRUSTED, dumps, loads
from stakes.sampling import SAMPLERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = (X[:, 0] + RNG.normal(size=240) > 0.5).astype(int)
AMOUNT = RNG.integers(1, 30, 240).astype(float)
FEW: dict[str, Any] = {"n_estimators": 4, "random_state": 0}


@pytest.fixture
def routing() -> Iterator[None]:
    with config_context(enable_metadata_routing=True):
        yield


# Cost scorers


@pytest.mark.usefixtures("routing")
def test_a_threshold_is_tuned_by_a_cost_scorer() -> None:
    scorer = make_cost_scorer(fp_cost=5)
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=scorer, cv=3, random_state=0)
    tuned.fit(X, Y, fn_cost=AMOUNT)
    cost = total_cost(Y, tuned.predict(X), fp_cost=5, fn_cost=AMOUNT)
    assert cost < total_cost(Y, LogisticRegression().fit(X, Y).predict(X), fp_cost=5, fn_cost=AMOUNT)
    whole = TunedThresholdClassifierCV(LogisticRegression().fit(X, Y), scoring=scorer, cv="prefit", refit=False)
    whole.set_params(store_cv_results=True).fit(X, Y, fn_cost=AMOUNT)
    thresholds, scores = whole.cv_results_["thresholds"], whole.cv_results_["scores"]
    chance = whole.estimator_.predict_proba(X)[:, 1]
    expected = [-total_cost(Y, (chance >= cut).astype(int), fp_cost=5, fn_cost=AMOUNT) for cut in thresholds]
    np.testing.assert_allclose(scores, expected)


@pytest.mark.usefixtures("routing")
def test_scikit_learns_own_scores_beside_record_costs_have_a_way_out() -> None:
    params = {"fp_cost": np.full(240, 5.0), "fn_cost": AMOUNT}
    with pytest.raises(CostsNeededError, match=r"write make_cost_scorer\(f1_score\) for 'f1'"):
        CostTreeClassifier().fit(X, Y, **params).predict(X)
    scores = cross_val_score(CostTreeClassifier(), X, Y, scoring=make_cost_scorer(f1_score), params=params)
    assert np.isfinite(scores).all()


@pytest.mark.usefixtures("routing")
def test_costs_may_have_other_names_in_a_pipeline() -> None:
    tree = CostTreeClassifier(max_depth=3).set_fit_request(fn_cost="amount").set_predict_request(fn_cost="amount")
    model = make_pipeline(StandardScaler(), tree)
    scorer = make_cost_scorer(savings_score, fp_cost=5).set_score_request(fn_cost="amount")
    named = cross_validate(model, X, Y, scoring=scorer, params={"amount": AMOUNT})["test_score"]
    plain = make_pipeline(StandardScaler(), CostTreeClassifier(max_depth=3))
    scorer = make_cost_scorer(savings_score, fp_cost=5)
    expected = cross_validate(plain, X, Y, scoring=scorer, params={"fn_cost": AMOUNT})["test_score"]
    np.testing.assert_array_equal(named, expected)


# Pipelines inside


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: CostDecisionClassifier(model, weighted=True, random_state=0),
        lambda model: CostBaggingClassifier(model, weighted=True, **FEW),
        lambda model: CostBoostClassifier(model, **FEW),
    ],
    ids=["decision", "bagging", "boosting"],
)
def test_weights_reach_the_last_step_of_a_pipeline(wrap: Any, enabled: bool) -> None:
    plain = wrap(DecisionTreeClassifier(max_depth=2, random_state=0))
    piped = wrap(make_pipeline("passthrough", DecisionTreeClassifier(max_depth=2, random_state=0)))
    with config_context(enable_metadata_routing=enabled):
        expected = plain.fit(X, Y, fp_cost=1, fn_cost=AMOUNT).predict_proba(X)
        np.testing.assert_array_equal(piped.fit(X, Y, fp_cost=1, fn_cost=AMOUNT).predict_proba(X), expected)


@pytest.mark.parametrize("kind", [CostBaggingClassifier, CostBoostClassifier])
def test_costs_that_acted_in_the_last_step_of_a_pipeline_are_not_counted_again(kind: Any) -> None:
    inside = CostBoostClassifier(variant="naive", **FEW)
    plain, piped = (
        kind(model, **FEW).fit(X, Y, fp_cost=1, fn_cost=6)
        for model in (inside, make_pipeline(make_pipeline("passthrough", inside)))
    )
    assert piped.default_decision_ == plain.default_decision_
    assert plain.costs_acted_
    np.testing.assert_array_equal(piped.predict(X), plain.predict(X))


@pytest.mark.parametrize("wrap", [CostDecisionClassifier, CostBaggingClassifier])
def test_weights_for_a_model_that_takes_none_are_an_error_of_ours(wrap: Any) -> None:
    with pytest.raises(ValueError, match=r"sample_weight was given, and KNeighborsClassifier\(\) does not take it"):
        wrap(KNeighborsClassifier()).fit(X, Y, sample_weight=AMOUNT)


# Labels


class OnlyNumbers(ClassifierMixin, BaseEstimator):
    """Takes the labels 0 and 1 only, as XGBoost does."""

    def fit(self, X: Any, y: Any) -> OnlyNumbers:
        if not np.array_equal(np.unique(y), [0, 1]):
            raise ValueError(f"Invalid classes inferred from unique values of `y`. Expected: [0 1], got {np.unique(y)}")
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2], [-1, 1], [5, 0], [False, True]], ids=str)
@pytest.mark.parametrize("wrap", [CostDecisionClassifier, lambda model: CostBaggingClassifier(model, **FEW)])
def test_labels_are_numbered_for_models_that_need_numbers(wrap: Any, labels: list[Any]) -> None:
    y = np.array(labels)[Y]
    model = wrap(OnlyNumbers()).set_params(pos_label=labels[1]).fit(X, y, fp_cost=1, fn_cost=3)
    expected = wrap(OnlyNumbers()).fit(X, Y, fp_cost=1, fn_cost=3)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[expected.predict(X)])


def test_an_error_that_is_not_about_labels_is_told_as_it_is() -> None:
    with pytest.raises(ValueError, match="contains NaN"):
        CostDecisionClassifier(GaussianNB()).fit(np.full((240, 1), np.nan), np.array(["a", "b"])[Y])


def test_models_of_numbered_labels_are_saved() -> None:
    trusted = [f"{__name__}.OnlyNumbers"]
    model = CostDecisionClassifier(OnlyNumbers()).fit(X, np.array(["no", "yes"])[Y])
    loaded = loads(dumps(model, trusted=trusted), trusted=trusted)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(
        model.estimator_.predict(X), np.array(["no", "yes"])[model.estimator_.model.predict(X)]
    )


# Texts and dicts


@pytest.mark.parametrize("kind", [list, np.array])
@pytest.mark.parametrize("threshold", ["cost", "tuned"])
def test_texts_reach_the_estimator(kind: Any, threshold: str) -> None:
    texts = kind([("win a prize now" if y else "see you at lunch") + f" {i % 7}" for i, y in enumerate(Y)])
    model = CostDecisionClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), threshold=threshold)
    np.testing.assert_array_equal(model.fit(texts, Y, fp_cost=1, fn_cost=3).predict(texts), Y)


def test_dicts_reach_the_estimator_also_prefit() -> None:
    dicts = [{"word": "prize" if y else "lunch", "length": i % 7} for i, y in enumerate(Y)]
    inner = make_pipeline(DictVectorizer(), LogisticRegression()).fit(dicts, Y)
    model = CostDecisionClassifier(inner, prefit=True, threshold="tuned").fit(dicts, Y, fp_cost=1, fn_cost=3)
    np.testing.assert_array_equal(model.predict(dicts), Y)


def test_values_that_only_a_pipeline_can_read_reach_it() -> None:
    gaps = X.astype(object)
    gaps[:3, 0] = np.inf, None, -np.inf
    finite = FunctionTransformer(lambda X: np.nan_to_num(X.astype(float)))
    model = CostBaggingClassifier(make_pipeline(finite, LogisticRegression()), **FEW).fit(gaps, Y)
    assert model.predict(gaps).shape == Y.shape


# Metadata of members


class Consumer(ClassifierMixin, BaseEstimator):
    """Remembers the metadata that it is fitted with."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, group: Any = None, note: Any = None) -> Consumer:
        self.seen_ = X, group, note
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any, place: Any = None) -> Any:
        self.asked_ = X, place
        return self.model_.predict_proba(X)

    def predict(self, X: Any, place: Any = None) -> Any:
        return self.classes_[self.predict_proba(X, place).argmax(axis=1)]


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: CostDecisionClassifier(model, validation=0.3, threshold="tuned", random_state=0),
        lambda model: CostBaggingClassifier(model, sampling="under", **FEW),
        lambda model: CostBoostClassifier(model, **FEW),
    ],
    ids=["decision", "bagging", "boosting"],
)
def test_metadata_goes_with_its_records_to_the_members_that_ask_for_it(wrap: Any) -> None:
    group = X[:, 0] * 2
    model = wrap(Consumer().set_fit_request(group=True, note=True, sample_weight=False))
    model.fit(X, Y, fp_cost=1, fn_cost=3, group=group, note="all")
    fitted = model.estimator_ if isinstance(model, CostDecisionClassifier) else model.estimators_[0]
    shown, groups, note = fitted.seen_
    np.testing.assert_array_equal(groups, 2 * shown[:, 0])
    assert note == "all"
    with pytest.raises(TypeError, match="unexpected argument"):
        model.fit(X, Y, colour=group)
    with pytest.raises(ValueError, match="group"):  # not asked for: scikit-learn's own words
        wrap(Consumer()).fit(X, Y, group=group)


def asking() -> Any:
    with config_context(enable_metadata_routing=True):
        consumer = Consumer().set_fit_request(group=True, note=True, sample_weight=False)
        return consumer.set_predict_proba_request(place=True).set_predict_request(place=True)


NESTED = {
    "decision": (CostDecisionClassifier(asking()), lambda m: [m.estimator_]),
    "bagging": (CostBaggingClassifier(asking(), n_jobs=2, **FEW), lambda m: m.estimators_),
    "boosting": (CostBoostClassifier(asking(), **FEW), lambda m: m.estimators_),
    "ensemble of ensembles": (
        CostBaggingClassifier(CostDecisionClassifier(asking()), n_jobs=2, **FEW),
        lambda m: [inner.estimator_ for inner in m.estimators_],
    ),
    "pipeline": (
        CostDecisionClassifier(make_pipeline("passthrough", asking())),
        lambda m: [m.estimator_.steps[-1][1]],
    ),
    "team": (CostTeamClassifier([("a", asking()), ("b", DummyClassifier())], cv=2), lambda m: m.estimators_[:1]),
    "stack": (CostStackingClassifier([("a", asking())], cv=2), lambda m: m.estimators_),
    "final model": (
        MetaCostClassifier(CostBaggingClassifier(**FEW), final_estimator=asking()),
        lambda m: [m.estimator_],
    ),
}


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", NESTED)
def test_metadata_is_routed_to_the_models_inside_in_fit_and_in_predict(name: str) -> None:
    model, inside = clone(NESTED[name][0]), NESTED[name][1]
    group, place = X[:, 0] * 2, X[:, 1] * 3
    model.fit(X, Y, fp_cost=1, fn_cost=3, group=group, note="all")
    for fitted in inside(model):
        shown, groups, note = fitted.seen_
        np.testing.assert_array_equal(groups, 2 * shown[:, 0])
        assert note == "all"
    for method in ("predict", "predict_proba", "predict_log_proba"):
        getattr(model, method)(X, place=place)
        for fitted in inside(model):
            shown, places = fitted.asked_
            np.testing.assert_array_equal(places, 3 * shown[:, 1])
            del fitted.asked_
    if hasattr(model, "decision_function"):
        model.decision_function(X, place=place)
        np.testing.assert_array_equal(inside(model)[0].asked_[1], place)
    with pytest.raises(TypeError, match="unexpected argument"):
        model.predict(X, colour=group)


class OnlyLabels(ClassifierMixin, BaseEstimator):
    """Has no probabilities, and remembers the metadata that it is asked with."""

    def fit(self, X: Any, y: Any) -> OnlyLabels:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any, place: Any = None) -> Any:
        self.place_ = place
        return self.classes_[(X[:, 0] > 0).astype(int)]


@pytest.mark.usefixtures("routing")
def test_members_without_probabilities_are_asked_for_labels_with_their_metadata() -> None:
    model = CostBaggingClassifier(OnlyLabels().set_predict_request(place=True), **FEW).fit(X, Y)
    for method in ("predict", "predict_proba", "decision_function"):
        getattr(model, method)(X, place=AMOUNT)
        for member in model.estimators_:
            assert member.place_ is AMOUNT
            del member.place_


@pytest.mark.usefixtures("routing")
def test_the_teacher_is_handed_the_metadata_of_its_records() -> None:
    model = MetaCostClassifier(CostDecisionClassifier(asking()), random_state=0)
    model.fit(X, Y, fp_cost=1, fn_cost=3, group=X[:, 0] * 2, note="all")
    shown, groups, _ = model.teacher_.estimator_.seen_
    np.testing.assert_array_equal(groups, 2 * shown[:, 0])
    with pytest.raises(TypeError, match="unexpected argument"):  # the tree that is taught asks for nothing
        model.predict(X, place=X[:, 0])


@pytest.mark.usefixtures("routing")
def test_metadata_travels_through_a_search_to_the_models_inside() -> None:
    search = GridSearchCV(CostDecisionClassifier(asking()), {"threshold": ["half", "cost"]}, cv=2)
    search.fit(X, Y, group=X[:, 0] * 2, fn_cost=AMOUNT, fp_cost=np.full(240, 5.0))
    shown, groups, _ = search.best_estimator_.estimator_.seen_
    np.testing.assert_array_equal(groups, 2 * shown[:, 0])


@pytest.mark.usefixtures("routing")
def test_a_cost_under_another_name_reaches_the_members_that_ask_for_it() -> None:
    inner = CostDecisionClassifier(LogisticRegression(), weighted=True).set_fit_request(fn_cost="amount")
    model = CostBaggingClassifier(inner, **FEW).fit(X, Y, fp_cost=1, fn_cost=1, amount=AMOUNT)
    expected = CostBaggingClassifier(CostDecisionClassifier(LogisticRegression(), weighted=True), **FEW)
    expected.fit(X, Y, fp_cost=1, fn_cost=AMOUNT)
    for one, other in zip(model, expected, strict=True):
        np.testing.assert_array_equal(one.estimator_.coef_, other.estimator_.coef_)


def test_metadata_without_routing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\['group'\] are not understood by fit"):
        CostDecisionClassifier(Consumer()).fit(X, Y, group=AMOUNT)
    with pytest.raises(TypeError, match="unexpected keyword argument 'group'"):
        CostTreeClassifier().fit(X, Y, group=AMOUNT)
    with pytest.raises(TypeError, match=r"predict\(\) got an unexpected keyword argument 'place'"):
        CostTreeClassifier().fit(X, Y).predict(X, place=AMOUNT)


# Ensembles and backends of others


@pytest.mark.parametrize("name", SAMPLERS)
def test_our_samplers_serve_in_the_ensembles_of_imbalanced_learn(name: str) -> None:
    model = BalancedBaggingClassifier(CostTreeClassifier(max_depth=3), sampler=SAMPLERS[name](fn_cost=3), **FEW)
    assert model.fit(X, Y).score(X, Y) > 0.6


@pytest.mark.parametrize("backend", ["multiprocessing", "threading"])
def test_members_are_the_same_by_every_backend_of_joblib(backend: str) -> None:
    model = CostBaggingClassifier(n_jobs=2, **FEW)
    expected = clone(model).fit(X, Y).predict_proba(X)
    with joblib.parallel_config(backend, n_jobs=2):
        np.testing.assert_array_equal(clone(model).fit(X, Y).predict_proba(X), expected)


@pytest.mark.parametrize(
    "model",
    [
        CostBaggingClassifier(**FEW),
        CostBoostClassifier(**FEW),
        CostDecisionClassifier(LogisticRegression(), calibration="isotonic", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_skops_loads_models_by_the_trusted_types_as_mlflow_does(model: Any) -> None:
    fitted = clone(model).fit(X, Y, fp_cost=1, fn_cost=3)
    loaded = skops.io.loads(skops.io.dumps(fitted), trusted=list(TRUSTED))
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(Exception, match="stakes"):  # without them it does not
        skops.io.loads(skops.io.dumps(fitted))


# Tags

LINEAR = get_tags(LogisticRegression()).input_tags


@pytest.mark.parametrize(
    ("model", "nan", "is_sparse"),
    [
        (CostTreeClassifier(), True, True),
        (CostBaggingClassifier(), True, True),
        (CostBaggingClassifier(LogisticRegression()), False, LINEAR.sparse),
        (CostDecisionClassifier(HistGradientBoostingClassifier()), True, False),
        (MetaCostClassifier(), True, True),
        (MetaCostClassifier(CostDecisionClassifier(LogisticRegression())), False, LINEAR.sparse),
        (MetaCostClassifier(final_estimator=HistGradientBoostingClassifier()), True, False),
        (EncodedClassifier(LogisticRegression()), False, LINEAR.sparse),
    ],
    ids=str,
)
def test_tags_are_kept(model: Any, nan: bool, is_sparse: bool) -> None:
    tags = get_tags(model).input_tags
    assert (tags.allow_nan, tags.sparse) == (nan, is_sparse)
    with_gaps = np.where(np.abs(X) < 0.1, np.nan, X)
    for wanted, records in ((nan, with_gaps), (is_sparse, sparse.csr_matrix(X))):
        if wanted:
            model.fit(records, Y).predict(records)
    if not nan:
        with pytest.raises(ValueError, match="NaN"):
            model.fit(with_gaps, Y)
