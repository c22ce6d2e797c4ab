"""Every name of the catalogue makes a classifier that fits, decides by costs, and lives in scikit-learn."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from stakes import Decision, MetaCostClassifier, list_methods, make_classifier
from stakes.datasets import make_churn
from stakes.exceptions import ClassMeansWarning, CostsNeededError
from stakes.metrics import make_cost_scorer, total_cost

NAMES = list_methods().names
PAPER = [
    "bg", "rf", "rdf", "wbg", "wrf", "wrdf", "ab", "ncsab", "ac1", "ac2", "ac3", "acost", "aub", "csa", "csb0", "csb1",
    "csb2", "asb", "usb", "cprb", "dab", "upbg", "cprpbg", "opbg", "uprf", "cprprf", "oprf", "uprdf", "cprprdf",
    "oprdf",
    "ubg", "cprbg", "obg", "urf", "cprrf", "orf", "urdf", "cprrdf", "ordf",
]  # fmt: skip


@pytest.fixture(scope="module")
def churn():
    # Few records, and no missing numbers, which SMOTE and some others cannot use.
    data = make_churn(240, random_state=0)
    return data.frame.fill_null(0), data.target, data.costs


def small(name):
    # Leaves of some size: trees that learn all labels by heart leave nothing to decide.
    leaves = {} if name.split("-")[-1] in ("gb", "wgb") else {"min_samples_leaf": 10}
    classifier = make_classifier(name, random_state=0, **leaves)
    teacher = classifier.estimator if isinstance(classifier, MetaCostClassifier) else classifier
    if "n_estimators" in teacher.get_params():
        teacher.set_params(n_estimators=30 if hasattr(teacher, "variant") else 5)
    elif "estimator__estimator__max_iter" in teacher.get_params():
        teacher.set_params(estimator__estimator__max_iter=3)
    return classifier


def test_the_catalogue_has_all_rows_of_the_papers_table_and_all_prefixes():
    assert set(PAPER) <= set(NAMES)
    dm = {f"dm-{name}" for name in PAPER if name.endswith(("bg", "rf", "rdf"))}
    assert dm <= set(NAMES)
    assert {f"mc-{name}" for name in NAMES if not name.startswith("mc-")} <= set(NAMES)
    letters = {f"{letter}{p}{base}" for letter in "hs" for p in ("", "p") for base in ("bg", "rf", "rdf")}
    assert letters | {"ub", "osb", "hsb", "ssb", "csbg", "csrf", "csrdf", "gb", "wgb"} <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_fits_predicts_clones_pickles_and_searches(name, churn):
    X, y, costs = churn
    given = {"fp_cost": costs.fp, "fn_cost": costs.fn}
    classifier = small(name)
    assert type(classifier).__name__ in repr(classifier)
    with warnings.catch_warnings(), sklearn.config_context(enable_metadata_routing=True):
        warnings.simplefilter("ignore", ClassMeansWarning)
        copy = clone(classifier)
        predicted = classifier.fit(X, y, **given).predict(X, **given)
        assert set(np.unique(predicted)) <= {0, 1}
        proba = classifier.predict_proba(X, **given)
        assert proba.shape == (len(y), 2)
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(X, **given), predicted)
        np.testing.assert_array_equal(copy.fit(X, y, **given).predict(X, **given), predicted)
        search = GridSearchCV(clone(classifier), {"random_state": [0, 1]}, scoring=make_cost_scorer(total_cost), cv=2)
        search.fit(X, y, **given)
        assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("method", list_methods(), ids=NAMES)
def test_the_table_says_truly_which_methods_need_costs_to_predict(method, churn):
    X, y, costs = churn
    classifier = small(method.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassMeansWarning)
        classifier.fit(X, y, fp_cost=costs.fp, fn_cost=costs.fn)
    if method.needs_costs:
        with pytest.raises(CostsNeededError, match="pass fp_cost= along with X"):
            classifier.predict(X)
    else:
        assert classifier.predict(X).shape == y.shape


@pytest.mark.parametrize("method", [m for m in list_methods() if m.costs != "none"], ids=lambda m: m.name)
def test_costs_change_predictions_in_every_method_that_takes_them(method, churn):
    X, y, _ = churn
    # Records that no tree has learnt by heart.
    fresh = make_churn(1000, random_state=1).frame.fill_null(0)
    shares = []
    for ratio in (0.02, 50.0):
        classifier = small(method.name)
        classifier.fit(X, y, fp_cost=1.0, fn_cost=ratio)
        shares.append(classifier.predict(fresh, fp_cost=1.0, fn_cost=ratio).mean())
    assert shares[0] < shares[1]


@pytest.mark.parametrize("name", ["bg", "rf", "rdf", "ab", "tree"])
def test_the_baselines_ignore_costs(name, churn):
    X, y, _ = churn
    outcomes = [
        small(name).fit(X, y, fp_cost=1.0, fn_cost=ratio).predict(X, fp_cost=1.0, fn_cost=ratio)
        for ratio in (0.1, 10.0)
    ]
    np.testing.assert_array_equal(*outcomes)


def test_parameters_go_to_the_decision_the_trees_and_the_classifier():
    classifier = make_classifier("dm-urf", vote_weight="squared_odds", max_depth=3, n_estimators=7, random_state=1)
    assert classifier.decision == Decision(member="cost", vote_weight="squared_odds")
    assert classifier.estimator.max_depth == 3
    assert (classifier.n_estimators, classifier.sampling, classifier.features) == (7, "under", "per_split")
    stump = make_classifier("acost", max_depth=2, calibration="platt", threshold="cost")
    assert (stump.estimator.max_depth, stump.variant) == (2, "adacost")
    assert stump.decision == Decision(calibration="platt", threshold="cost")


def test_gradient_boosting_takes_another_estimator_and_every_calibration(churn):
    from lightgbm import LGBMClassifier

    X, y, costs = churn
    numbers = X.select("monthly_charges", "tenure").to_numpy()
    for calibration in (None, "sigmoid", "isotonic"):
        for threshold in ("half", "cost", "tuned"):
            for name in ("gb", "wgb"):
                classifier = make_classifier(
                    name,
                    estimator=LGBMClassifier(n_estimators=3, verbose=-1),
                    calibration=calibration,
                    threshold=threshold,
                    random_state=0,
                )
                classifier.fit(numbers, y, fp_cost=costs.fp, fn_cost=costs.fn)
                assert classifier.predict(numbers, fp_cost=costs.fp, fn_cost=costs.fn).shape == y.shape


@pytest.mark.parametrize(
    ("wrong", "right"), [("dm-cprbgg", "dm-cprbg"), ("adacost", "acost"), ("RF", "rf"), ("csb3", "csb0")]
)
def test_unknown_names_suggest_the_nearest(wrong, right):
    with pytest.raises(ValueError, match=f"no method is called '{wrong}'.*'{right}'"):
        make_classifier(wrong)


def test_the_table_can_be_read_and_filtered():
    methods = list_methods()
    text = repr(methods)
    assert all(word in text for word in ("costs act", "needed to predict", "dm-cprbg"))
    assert methods.filter(needs_costs=True, family="boosting").names[-1] == "dab"
    assert all("during" in m.when for m in methods.filter(when="during"))
    assert {m.costs for m in methods.filter(name="u*")} <= {"constant", "record"}
    with pytest.raises(TypeError, match="methods have no 'colour'"):
        methods.filter(colour="red")
