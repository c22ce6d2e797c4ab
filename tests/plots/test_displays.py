"""What all displays share: axes, names, estimators and errors."""

import importlib
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from drawing import curves, drawn, every_display
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import stakes.curves
import stakes.plots
from stakes import CostBaggingClassifier, CostTreeClassifier
from stakes.plots import (
    CostCurveDisplay,
    CostROCDisplay,
    CostSensitivityDisplay,
    GainDisplay,
)


@every_display
def test_models_share_axes_references_and_legend(display_class, scored):
    y, p, costs = scored
    one = display_class.from_predictions(y, p, **costs, name="one")
    references = [line.get_gid() for line in one.ax_.lines if line.get_gid()]
    n = len(curves(one.ax_))
    two = display_class.from_predictions(y, p**2, **costs, name="two", ax=one.ax_)
    assert two.ax_ is one.ax_
    assert two.figure_ is one.figure_
    assert plt.get_fignums() == [one.figure_.number]
    assert len(curves(two.ax_)) == 2 * n
    assert [line.get_gid() for line in two.ax_.lines if line.get_gid()] == references
    legend = drawn(two.ax_)
    assert sum(entry.startswith("one") for entry in legend) == n
    assert sum(entry.startswith("two") for entry in legend) == n
    colors = {line.get_color() for line in curves(two.ax_)}
    assert len(colors) == 2


@every_display
def test_displays_make_their_own_figure_and_can_be_drawn_again(display_class, scored):
    y, p, costs = scored
    display = display_class.from_predictions(y, p, **costs)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    _, ax = plt.subplots()
    assert display.plot(ax, name="renamed", color="red").ax_ is ax
    assert all(line.get_color() == "red" for line in curves(ax))
    assert any(entry.startswith("renamed") for entry in drawn(ax))


@every_display
def test_axes_are_named(display_class, scored):
    y, p, costs = scored
    ax = display_class.from_predictions(y, p, **costs).ax_
    assert ax.get_xlabel()
    assert ax.get_ylabel()


@every_display
def test_names_with_dollars_are_not_formulas(display_class, scored):
    y, p, costs = scored
    display = display_class.from_predictions(y, p, **costs, name="$^$ model")
    assert any("$^$ model" in entry.replace("\\$", "$") for entry in drawn(display.ax_))


@every_display
def test_estimators_are_drawn_as_their_predictions(display_class, complete_sample):
    X, y, costs = complete_sample
    model = LogisticRegression().fit(X, y)
    display = display_class.from_estimator(model, X, y, **costs)
    extra = {"y_pred": model.predict(X)} if display_class in (CostROCDisplay, CostSensitivityDisplay) else {}
    expected = display_class.from_predictions(y, model.predict_proba(X)[:, 1], **costs, **extra)
    for line, other in zip(curves(display.ax_), curves(expected.ax_), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), other.get_xydata())
    assert any(entry.startswith("LogisticRegression") for entry in drawn(display.ax_))


class Follower(ClassifierMixin, BaseEstimator):
    """A classifier that takes costs and remembers what it was given."""

    # Declared as by the classifiers of this package.
    __metadata_request__predict = dict.fromkeys(("fp_cost", "fn_cost"), True)
    __metadata_request__predict_proba = dict.fromkeys(("fp_cost", "fn_cost"), True)

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.given_ = []
        return self

    def predict_proba(self, X, *, fp_cost=None, fn_cost=None):
        self.given_.append((fp_cost, fn_cost))
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack((1 - p, p))

    def predict(self, X, *, fp_cost=None, fn_cost=None):
        p = self.predict_proba(X, fp_cost=fp_cost, fn_cost=fn_cost)[:, 1]
        return self.classes_[(p > fp_cost / (fp_cost + fn_cost)).astype(int)]


def assert_given(follower, costs):
    assert follower.given_
    for fp_cost, fn_cost in follower.given_:
        np.testing.assert_array_equal(fp_cost, costs["fp_cost"])
        np.testing.assert_array_equal(fn_cost, costs["fn_cost"])


@every_display
def test_costs_reach_estimators_that_take_them(display_class, complete_sample):
    X, y, costs = complete_sample
    follower = Follower().fit(X, y)
    display_class.from_estimator(follower, X, y, **costs)
    assert_given(follower, costs)


@pytest.mark.parametrize("routing", [False, True])
def test_costs_reach_the_last_step_of_a_pipeline(routing, complete_sample):
    X, y, costs = complete_sample
    follower = Follower()
    model = make_pipeline(StandardScaler(), follower).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=routing):
        CostROCDisplay.from_estimator(model, X, y, **costs)
    assert_given(follower, costs)


@every_display
def test_classifiers_of_this_package_are_drawn_with_the_costs_of_the_records(display_class, complete_sample):
    X, y, costs = complete_sample
    model = CostBaggingClassifier(n_estimators=5, random_state=0).fit(X, y, **costs)
    display = display_class.from_estimator(model, X, y, **costs)
    assert any(entry.startswith("CostBaggingClassifier") for entry in drawn(display.ax_))


def test_grid_searches_and_pipelines_are_drawn(complete_sample):
    X, y, costs = complete_sample
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [1.0]})
    search.fit(X, y)
    display = CostCurveDisplay.from_estimator(search, X, y, **costs)
    np.testing.assert_array_equal(display.curve.thresholds[1:], np.unique(search.predict_proba(X)[:, 1]))


@pytest.mark.parametrize("positive", ["bad", "good"])
def test_decision_functions_are_turned_to_the_positive_class(positive, complete_sample):
    X, y, costs = complete_sample
    labels = np.where(y == 1, "bad", "good")
    svm = LinearSVC().fit(X, labels)
    display = CostCurveDisplay.from_estimator(svm, X, labels, **costs, pos_label=positive)
    sign = 1 if positive == "good" else -1
    np.testing.assert_array_equal(display.curve.thresholds[1:], np.unique(sign * svm.decision_function(X)))
    assert (display.cs_threshold, display.cs_cost) == (None, None)  # a margin is no probability


@pytest.mark.parametrize(
    "wrap",
    [lambda model: model, make_pipeline, lambda model: make_pipeline(make_pipeline(model))],
    ids=["alone", "in a pipeline", "in a pipeline in a pipeline"],
)
def test_positive_class_is_that_of_the_estimator(wrap, complete_sample):
    X, y, costs = complete_sample
    labels = np.where(y == 1, "bad", "good")
    model = wrap(CostTreeClassifier(max_depth=3, pos_label="bad")).fit(X, labels)
    display = CostCurveDisplay.from_estimator(model, X, labels, **costs)
    assert display.curve.cost[-1] == costs["fn_cost"][labels == "bad"].sum()
    np.testing.assert_array_equal(display.curve.thresholds[1:], np.unique(model.predict_proba(X)[:, 0]))
    model.set_params(**{name: None for name in model.get_params() if name.endswith("pos_label")})  # before another fit
    again = CostCurveDisplay.from_estimator(model, X, labels, **costs)
    np.testing.assert_array_equal(again.curve.cost, display.curve.cost)


# Errors


@pytest.mark.parametrize("display_class", [CostCurveDisplay, CostROCDisplay, GainDisplay, CostSensitivityDisplay])
def test_money_plots_ask_for_costs(display_class, complete_sample):
    X, y, _ = complete_sample
    model = LogisticRegression().fit(X, y)
    with pytest.raises(TypeError, match="fp_cost"):
        display_class.from_estimator(model, X, y, fn_cost=3)


def test_errors_of_estimators_are_clear(complete_sample):
    X, y, costs = complete_sample
    with pytest.raises(NotFittedError):
        CostCurveDisplay.from_estimator(LogisticRegression(), X, y, **costs)
    with pytest.raises(ValueError, match="tells 3 classes apart"):
        CostCurveDisplay.from_estimator(LogisticRegression().fit(X, np.arange(300) % 3), X, y, **costs)
    with pytest.raises(ValueError, match="tells 1 classes apart"):
        CostCurveDisplay.from_estimator(DummyClassifier().fit(X, np.zeros(300)), X, y, **costs)
    with pytest.raises(ValueError, match=r"pos_label=5 is not a class of LogisticRegression: choose from \[.*0.*1.*\]"):
        CostCurveDisplay.from_estimator(LogisticRegression().fit(X, y), X, y, **costs, pos_label=5)

    class Mute(Follower):
        predict_proba = None

        def __getattribute__(self, name):
            if name == "predict_proba":
                raise AttributeError(name)
            return super().__getattribute__(name)

    with pytest.raises(TypeError, match="Mute has neither predict_proba nor decision_function"):
        CostCurveDisplay.from_estimator(Mute().fit(X, y), X, y, **costs)


@pytest.mark.parametrize(("display_class", "known"), [(CostCurveDisplay, "cost"), (GainDisplay, "profit")])
def test_unknown_measures_are_refused(display_class, known, scored):
    y, p, costs = scored
    with pytest.raises(ValueError, match=f"measure='loss' is not known: choose from '{known}', 'savings'"):
        display_class.from_predictions(y, p, **costs, measure="loss")


@every_display
def test_missing_matplotlib_is_said_with_the_remedy(display_class, scored, monkeypatch):
    y, p, costs = scored
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "stakes\[plot\]"'):
        display_class.from_predictions(y, p, **costs)
    with pytest.raises(ImportError, match=r'pip install "stakes\[plot\]"'):
        display_class.from_estimator(None, None, None)


def test_plots_and_curves_are_imported_without_matplotlib(monkeypatch):
    monkeypatch.setattr(stakes, "plots", stakes.plots)  # the second import would replace it for good
    monkeypatch.setattr(stakes, "curves", stakes.curves)
    for module in [module for module in sys.modules if module.startswith(("stakes.plots", "stakes.curves"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert importlib.import_module("stakes.plots").GainDisplay is not GainDisplay
