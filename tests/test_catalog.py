"""Every name of the catalogue makes a classifier that fits, decides by costs, and lives in scikit-learn."""

from __future__ import annotations

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from stakes import CostBoostClassifier, Decision, list_methods, make_classifier
from stakes.datasets import make_churn, make_transactions
from stakes.exceptions import ClassMeansWarning, CostsNeededError
from stakes.metrics import make_cost_scorer, savings_score, total_cost

NAMES = list_methods().names
# MetaCost is the same class around every name: in the fast run one teacher of each kind stands for all.
TEACHERS = ("tree", "bg", "dm-srf", "wrf", "ab", "dab", "gb", "imblearn-brf")


def each(methods):
    """Return the methods as parameters of a test, those that say nothing new marked as slow."""
    return [pytest.param(m, id=m.name, marks=[pytest.mark.slow] if says_nothing_new(m.name) else []) for m in methods]


def says_nothing_new(name):
    """Whether a name differs from one that is tried in what other names have, too: a teacher, or features by chance."""
    if name.startswith("mc-"):
        return name[3:] not in TEACHERS
    base = name.removeprefix("dm-")
    return base.endswith(("rf", "rdf", "et")) and base not in ("rf", "rdf", "et", "wrf", "srf", "cprrdf")


PAPER = [
    "bg", "rf", "rdf", "wbg", "wrf", "wrdf", "ab", "ncsab", "ac1", "ac2", "ac3", "acost", "aub", "csa", "csb0", "csb1",
    "csb2", "asb", "usb", "cprb", "dab", "upbg", "cprpbg", "opbg", "uprf", "cprprf", "oprf", "uprdf", "cprprdf",
    "oprdf",
    "ubg", "cprbg", "obg", "urf", "cprrf", "orf", "urdf", "cprrdf", "ordf",
]  # fmt: skip


@cache
def records():
    # Few records, and no missing numbers, which SMOTE and some others cannot use.
    data = make_churn(240, random_state=0)
    return data.frame.fill_null(0), data.target, data.costs


@pytest.fixture
def churn():
    return records()


def small(name):
    # Leaves of some size: trees that learn all labels by heart leave nothing to decide.
    method = list_methods().filter(name=name)[0]
    sizes = {"min_samples_leaf": 10, "n_estimators": 30 if method.family == "boosting" else 5}
    return method.make(random_state=0, **{size: value for size, value in sizes.items() if size in method.make.names})


def can_route(name):
    return "imblearn-" not in name  # the ensembles of imbalanced-learn do not work where routing is enabled


@cache
def fitted(name):
    """Return the small classifier of a name, fitted once for all tests that only ask it."""
    X, y, costs = records()
    with warnings.catch_warnings(), sklearn.config_context(enable_metadata_routing=can_route(name)):
        warnings.simplefilter("ignore", ClassMeansWarning)
        return small(name).fit(X, y, fp_cost=costs.fp, fn_cost=costs.fn)


def test_the_catalogue_has_all_rows_of_the_papers_table_and_all_prefixes():
    assert set(PAPER) <= set(NAMES)
    dm = {f"dm-{name}" for name in PAPER if name.endswith(("bg", "rf", "rdf"))}
    assert dm <= set(NAMES)
    assert {f"mc-{name}" for name in NAMES if not name.startswith("mc-")} <= set(NAMES)
    letters = {f"{letter}{p}{base}" for letter in "hs" for p in ("", "p") for base in ("bg", "rf", "rdf")}
    assert letters | {
        "ub",
        "osb",
        "hsb",
        "ssb",
        "csbg",
        "csrf",
        "csrdf",
        "gb",
        "wgb",
        "lgbm",
        "csgb",
        "lr",
        "adamec",
        "cab",
        "easy",
    } <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("method", each(list_methods()))
def test_every_name_fits_predicts_clones_pickles_and_searches(method, churn):
    name = method.name
    X, y, costs = churn
    given = {"fp_cost": costs.fp, "fn_cost": costs.fn}
    classifier = fitted(name)
    assert type(classifier).__name__ in repr(classifier)
    routing = can_route(name)
    with warnings.catch_warnings(), sklearn.config_context(enable_metadata_routing=routing):
        warnings.simplefilter("ignore", ClassMeansWarning)
        copy = clone(classifier)
        predicted = classifier.predict(X, **given)
        assert set(np.unique(predicted)) <= {0, 1}
        proba = classifier.predict_proba(X, **given)
        assert proba.shape == (len(y), 2)
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(X, **given), predicted)
        np.testing.assert_array_equal(copy.fit(X, y, **given).predict(X, **given), predicted)
        if not routing:
            return
        scorer = make_cost_scorer(total_cost)
        once = ShuffleSplit(1, test_size=0.5, random_state=0)
        search = GridSearchCV(clone(classifier), {"random_state": [1]}, scoring=scorer, cv=once, refit=False)
        search.fit(X, y, **given)
        assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("method", each(list_methods()))
def test_the_table_says_truly_which_methods_need_costs_to_predict(method, churn):
    X, y, _ = churn
    classifier = fitted(method.name)
    if method.needs_costs:
        with pytest.raises(CostsNeededError, match="pass fp_cost= along with X"):
            classifier.predict(X)
    else:
        assert classifier.predict(X).shape == y.shape


@pytest.mark.slow  # tests/test_promises.py asks for more than this, of all names but MetaCost's
@pytest.mark.parametrize("method", each(m for m in list_methods() if m.costs != "none"))
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


@pytest.mark.parametrize("name", [m.name for m in list_methods() if m.costs == "none"])
def test_the_baselines_ignore_costs(name, churn):
    X, y, _ = churn
    outcomes = [
        small(name).fit(X, y, fp_cost=1.0, fn_cost=ratio).predict(X, fp_cost=1.0, fn_cost=ratio)
        for ratio in (0.1, 10.0)
    ]
    np.testing.assert_array_equal(*outcomes)


def test_adacost_by_its_name_does_not_give_all_weight_to_the_dearest_records():
    data = make_transactions(9_000, fraud_rate=0.03, random_state=0)
    fn, new = data.costs.fn, slice(3_000, None)

    def saved(clf):
        clf.fit(data.frame[:3_000], data.target[:3_000], fp_cost=5, fn_cost=fn[:3_000])
        return savings_score(data.target[new], clf.predict(data.frame[new]), fp_cost=5, fn_cost=fn[new])

    published = CostBoostClassifier(variant="adacost", random_state=0)  # the largest cost is scaled to 1
    assert saved(make_classifier("acost", random_state=0)) > saved(published) + 0.03


def test_parameters_go_to_the_decision_the_trees_and_the_classifier():
    classifier = make_classifier("dm-urf", vote_weight="squared_odds", max_depth=3, n_estimators=7, random_state=1)
    assert classifier.decision == Decision(member="cost", vote_weight="squared_odds")
    assert classifier.estimator.max_depth == 3
    assert (classifier.n_estimators, classifier.sampling, classifier.features) == (7, "under", "per_split")
    stump = make_classifier("acost", max_depth=2, calibration="platt", threshold="cost")
    assert (stump.estimator.max_depth, stump.variant) == (2, "adacost")
    assert stump.decision == Decision(calibration="platt", threshold="cost")


@pytest.mark.parametrize("name", ["acost", "mc-acost"])
@pytest.mark.parametrize(
    ("options", "all_options"),
    [({"redraws": 3}, {"scale": 0.3, "redraws": 3}), ({"scale": 1.0}, {"scale": 1.0}), (None, None)],
    ids=str,
)
def test_options_are_merged_with_those_of_the_name(name, options, all_options):
    classifier = make_classifier(name, variant_params=options)
    boosting = classifier.estimator if name.startswith("mc-") else classifier
    assert boosting.variant_params == all_options
    assert make_classifier("acost").variant_params == {"scale": 0.3}


def test_gradient_boosting_takes_every_calibration_and_threshold(churn):
    X, y, costs = churn
    numbers = X.select("monthly_charges", "tenure").to_numpy()
    for calibration in (None, "platt", "isotonic"):
        for threshold in ("half", "cost", "tuned"):
            for name in ("gb", "lgbm", "wgb", "csgb"):
                classifier = make_classifier(
                    name, n_estimators=3, refinement=1, calibration=calibration, threshold=threshold, random_state=0
                )
                classifier.fit(numbers, y, fp_cost=costs.fp, fn_cost=costs.fn)
                assert classifier.decision_ == Decision(calibration=calibration, threshold=threshold)
                assert classifier.predict(numbers, fp_cost=costs.fp, fn_cost=costs.fn).shape == y.shape


@pytest.mark.parametrize(
    ("wrong", "right"), [("dm-cprbgg", "dm-cprbg"), ("adacost", "acost"), ("RF", "rf"), ("csb3", "csb2")]
)
def test_unknown_names_suggest_the_nearest(wrong, right):
    with pytest.raises(ValueError, match=f"no method is called '{wrong}'.*'{right}'"):
        make_classifier(wrong)


def test_the_table_can_be_read_and_filtered():
    methods = list_methods()
    text = repr(methods)
    assert all(word in text for word in ("costs act", "needed to predict", "dm-cprbg"))
    assert methods.filter(needs_costs=True, family="boosting").names[-3:] == ["adamec", "cab", "dab"]
    assert all("during" in m.when for m in methods.filter(when="during"))
    assert {m.costs for m in methods.filter(name="u*")} <= {"constant", "record"}
    with pytest.raises(TypeError, match="methods have no 'colour'"):
        methods.filter(colour="red")


def test_a_parameter_that_nothing_takes_is_named_with_the_nearest():
    with pytest.raises(TypeError, match="no parameter 'max_dept': did you mean 'max_depth'"):
        make_classifier("mc-dm-urf", max_dept=3)
    with pytest.raises(TypeError, match="no parameter 'colour': it takes calibration, "):
        make_classifier("gb", colour="red")
    with pytest.raises(TypeError, match="estimator was given, so C must be set in it"):
        make_classifier("lr", estimator=make_classifier("lr").estimator, C=2.0)


def test_parameters_of_a_taught_tree_go_to_the_pupil_the_teacher_and_its_trees():
    taught = make_classifier("mc-dm-urf", out_of_bag=False, n_estimators=7, max_depth=3, leaf="laplace")
    assert not taught.out_of_bag
    assert (taught.estimator.n_estimators, taught.estimator.estimator.max_depth) == (7, 3)
    assert taught.estimator.decision == Decision(member="cost", leaf="laplace")


@pytest.mark.parametrize(
    "name", ["lr", "gb", "wgb", "csgb", "imblearn-brf", "imblearn-rusboost", "imblearn-easyensemble"]
)
def test_models_of_other_libraries_take_text_and_missing_values_and_come_back_from_files(name, tmp_path):
    from stakes.persist import load, save

    data = make_churn(400, random_state=0)
    assert sum(data.frame.null_count().row(0)) > 0
    given = {"fp_cost": data.costs.fp, "fn_cost": data.costs.fn}
    classifier = small(name).fit(data.frame, data.target, **given)
    save(classifier, tmp_path / "model.skops")
    same = load(tmp_path / "model.skops").predict_proba(data.frame, **given)
    np.testing.assert_array_equal(same, classifier.predict_proba(data.frame, **given))


def test_logistic_regression_is_scikit_learns_on_scaled_numbers():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1, 10, 100]
    y = (X[:, 0] + X[:, 1] / 20 + rng.normal(size=300) > 0).astype(int)
    ours = make_classifier("lr").fit(X, y, fp_cost=1, fn_cost=2).predict_proba(X)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_rule_and_a_sampler_registered_at_run_time_have_names(monkeypatch):
    from stakes.boosting.rules import RULES, Naive
    from stakes.sampling import SAMPLERS, CPRSampler

    class Halved(Naive):
        """Start from half of the costs."""

    before = list_methods().names
    monkeypatch.setitem(RULES, "halved", Halved)
    monkeypatch.setitem(SAMPLERS, "picky", CPRSampler)
    new = [name for name in list_methods().names if name not in before]
    assert {"halved", "mc-halved", "picky-rf", "picky-pbg", "dm-picky-rdf", "picky-sb"} <= set(new)
    assert list_methods().filter(name="halved")[0].description == "Start from half of the costs"
    assert make_classifier("dm-picky-rf").sampling == "picky"
    monkeypatch.undo()
    assert list_methods().names == before


def test_single_models_say_that_they_are_simple():
    simple = [name for name in list_methods().filter(simple=True).names if not name.startswith("mc-")]
    assert simple == ["tree", "cstree", "lr", "lgbm"]
