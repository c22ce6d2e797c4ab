"""Displays: what is drawn, where, and under which names."""

import importlib
import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import stakes.curves
import stakes.plots
from stakes import CostBaggingClassifier, CostTreeClassifier
from stakes.curves import decide_by_costs, operating_point
from stakes.exceptions import CostsNeededError
from stakes.metrics import savings_score, total_cost, tuned_threshold
from stakes.plots import (
    CostCurveDisplay,
    CostROCDisplay,
    CostSensitivityDisplay,
    CostTreeDisplay,
    GainDisplay,
    ReliabilityDisplay,
)

PREDICTION_DISPLAYS = [CostCurveDisplay, CostROCDisplay, CostSensitivityDisplay, GainDisplay, ReliabilityDisplay]
every_display = pytest.mark.parametrize("display_class", PREDICTION_DISPLAYS)
CONSTANT = {"fp_cost": 2.0, "fn_cost": 9.0}


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")  # those of other tests, doctests among them
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def scored(complete_sample):
    """Classes, probabilities and record-dependent costs."""
    X, y, costs = complete_sample
    return y, LogisticRegression().fit(X, y).predict_proba(X)[:, 1], costs


@pytest.fixture(scope="module")
def complete_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 1).astype(int)
    return X, y, {"fp_cost": rng.integers(1, 5, 300).astype(float), "fn_cost": rng.integers(2, 30, 300).astype(float)}


def drawn(ax):
    """Draw for real, which is when matplotlib finds most of its errors, and return the entries of the legend."""
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


def texts(ax):
    return [text.get_text() for text in ax.texts]


def curves(ax):
    """Return the lines that are neither references nor single points."""
    return [line for line in ax.lines if line.get_gid() is None and len(line.get_xdata()) > 2]


# All displays


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


@pytest.mark.parametrize("wrap", [lambda model: model, make_pipeline], ids=["alone", "in a pipeline"])
def test_positive_class_is_that_of_the_estimator(wrap, complete_sample):
    X, y, costs = complete_sample
    labels = np.where(y == 1, "bad", "good")
    model = wrap(CostTreeClassifier(max_depth=3, pos_label="bad")).fit(X, labels)
    display = CostCurveDisplay.from_estimator(model, X, labels, **costs)
    assert display.curve.cost[-1] == costs["fn_cost"][labels == "bad"].sum()
    np.testing.assert_array_equal(display.curve.thresholds[1:], np.unique(model.predict_proba(X)[:, 0]))


# Cost against the threshold


def test_cost_curve_marks_the_least_cost_and_the_constant_threshold(scored):
    y, p, _ = scored
    display = CostCurveDisplay.from_predictions(y, p, **CONSTANT, name="model", unit="EUR")
    best = tuned_threshold(y, p, **CONSTANT)
    assert display.best_threshold == best
    assert display.cs_threshold == pytest.approx(2 / 11)
    assert display.cs_cost == total_cost(y, p > 2 / 11, **CONSTANT)
    (dot,) = [line for line in display.ax_.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(dot.get_xydata(), [[best, total_cost(y, p > best, **CONSTANT)]])
    assert "$T_{cs}$ = 0.182" in texts(display.ax_)
    assert display.ax_.get_ylabel() == "Total cost (EUR)"
    assert any(entry.startswith("acting on") for entry in drawn(display.ax_))


def test_cost_curve_shows_what_own_thresholds_cost_where_costs_differ(scored):
    y, p, costs = scored
    display = CostCurveDisplay.from_predictions(y, p, **costs)
    assert display.cs_threshold is None
    assert display.cs_cost == total_cost(y, decide_by_costs(p, **costs), **costs)
    levels = [
        line.get_ydata()[0] for line in display.ax_.lines if line.get_linestyle() == ":" and len(line.get_ydata())
    ]
    assert levels == [display.cs_cost]
    assert "each record by its own $T_{cs}$" in drawn(display.ax_)


def test_cost_curve_can_be_drawn_as_savings(scored):
    y, p, costs = scored
    display = CostCurveDisplay.from_predictions(y, p, **costs, measure="savings", name="model")
    best = savings_score(y, p > display.best_threshold, **costs)
    assert max(display.line_.get_ydata()) == pytest.approx(best)
    assert display.line_.get_label() == f"model: {best:.1%} at {display.best_threshold:.3g}"
    assert display.ax_.get_ylabel().startswith("Savings")


def test_staircase_of_the_cost_curve_spans_all_probabilities(scored):
    y, p, costs = scored
    line = CostCurveDisplay.from_predictions(y, p, **costs).line_
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == (0, 1)
    assert line.get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(
        line.get_ydata()[[0, -1]], [total_cost(y, y >= 0, **costs), total_cost(y, y < 0, **costs)]
    )


def test_ruinous_thresholds_do_not_flatten_the_cost_curve():
    y, p = np.repeat([0, 1], [1000, 5]), np.r_[np.linspace(0, 0.5, 1000), np.linspace(0.4, 0.9, 5)]
    display = CostCurveDisplay.from_predictions(y, p, fp_cost=5, fn_cost=20)
    assert display.curve.cost.max() == 5000
    assert display.ax_.get_ylim()[1] < 2.2 * 100  # acting on nobody costs 100


def test_ruinous_shares_and_costs_do_not_flatten_the_others():
    y, p = np.repeat([0, 1], [1000, 5]), np.r_[np.linspace(0, 0.5, 1000), np.linspace(0.6, 0.9, 5)]
    gain = GainDisplay.from_predictions(y, p, fp_cost=5, fn_cost=20)  # up to 100, down to -4900
    assert -120 < gain.ax_.get_ylim()[0] < gain.ax_.get_ylim()[1] < 120
    assert gain.ax_.get_xlim()[1] < 0.1
    sensitivity = CostSensitivityDisplay.from_predictions(y, y_pred=y == 0, fp_cost=5, fn_cost=20, factors=[0.5, 1])
    assert min(sensitivity.lines_[0].get_ydata()) < -10
    assert sensitivity.ax_.get_ylim()[0] > -2


@pytest.mark.parametrize(("fn_cost", "whom"), [(1, "nobody"), (500, "everybody")])
def test_cost_curve_names_the_cheaper_trivial_decision(fn_cost, whom, scored):
    y, p, _ = scored
    display = CostCurveDisplay.from_predictions(y, p, fp_cost=2, fn_cost=fn_cost)
    assert f"acting on {whom}" in drawn(display.ax_)
    (level,) = [line for line in display.ax_.lines if line.get_gid() == f"acting on {whom}"]
    assert level.get_ydata()[0] == display.curve.baseline


def test_cost_curve_is_drawn_where_a_trivial_decision_is_free(scored):
    y, p, _ = scored
    drawn(CostCurveDisplay.from_predictions(y, p, fp_cost=1, fn_cost=0).ax_)
    drawn(CostCurveDisplay.from_predictions(y, p, fp_cost=0, fn_cost=0, measure="savings").ax_)
    drawn(GainDisplay.from_predictions(y, p, fp_cost=1, fn_cost=0, measure="savings").ax_)


# ROC


def test_roc_marks_decisions(scored):
    y, p, costs = scored
    display = CostROCDisplay.from_predictions(y, p, **costs, y_pred=p > 0.5, name="model")
    decisions = {
        "least cost": p > tuned_threshold(y, p, **costs),
        "$T_{cs}$": decide_by_costs(p, **costs),
        "decisions": p > 0.5,
    }
    assert display.points == {name: operating_point(y, acted) for name, acted in decisions.items()}
    dots = {tuple(line.get_xydata()[0]) for line in display.ax_.lines if line.get_marker() == "o"}
    assert dots == set(display.points.values())
    assert {"least cost", "$T_{cs}$", "decisions"} <= set(texts(display.ax_))
    drawn(display.ax_)


def test_roc_names_decisions_together_where_they_coincide(scored):
    y, p, costs = scored
    display = CostROCDisplay.from_predictions(y, p, **costs, y_pred=decide_by_costs(p, **costs))
    assert "$T_{cs}$, decisions" in texts(display.ax_)


def test_roc_has_labelled_iso_cost_lines(scored):
    y, p, costs = scored
    display = CostROCDisplay.from_predictions(y, p, **costs, unit="EUR")
    lines = [line for line in display.ax_.lines if line.get_gid() in texts(display.ax_)]
    assert len(lines) == 4
    for line, fpr, tpr in zip(lines, display.iso_cost.fpr, display.iso_cost.tpr, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack((fpr, tpr)))
    assert "equal cost (EUR)" in drawn(display.ax_)


def test_roc_of_scores_has_no_cost_threshold(scored):
    y, p, costs = scored
    display = CostROCDisplay.from_predictions(y, 10 * p, **costs)
    assert list(display.points) == ["least cost"]


# Gain


def test_gain_marks_the_best_share(scored):
    y, p, costs = scored
    display = GainDisplay.from_predictions(y, p, **costs, name="model")
    best = display.curve.profit.argmax()
    (dot,) = [line for line in display.ax_.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(dot.get_xydata(), [[display.curve.share[best], display.curve.profit[best]]])
    assert display.line_.get_label().endswith(f"{display.curve.profit.max():,.0f} at {display.curve.share[best]:.1%}")
    assert "random order" in drawn(display.ax_)
    (random,) = [line for line in display.ax_.lines if line.get_gid() == "random order"]
    np.testing.assert_array_equal(random.get_xydata(), [[0, 0], [1, display.curve.profit[-1]]])


def test_gain_takes_an_order_and_a_measure(scored):
    y, p, costs = scored
    display = GainDisplay.from_predictions(y, p, **costs, order="expected_saving", measure="savings")
    np.testing.assert_array_equal(display.line_.get_ydata(), display.curve.savings)
    by_score = GainDisplay.from_predictions(y, p, **costs)
    assert display.curve.profit.max() != by_score.curve.profit.max()


# Reliability


def test_reliability_shows_counts_of_both_models_in_one_strip(scored):
    y, p, _ = scored
    one = ReliabilityDisplay.from_predictions(y, p, n_bins=6, name="one")
    two = ReliabilityDisplay.from_predictions(y, p**2, n_bins=4, name="two", ax=one.ax_)
    assert two.counts_ax_ is one.counts_ax_
    heights = [[segment[1, 1] for segment in sticks.get_segments()] for sticks in two.counts_ax_.collections]
    assert heights == [one.curve.counts.tolist(), two.curve.counts.tolist()]
    assert drawn(two.ax_) == ["one", "two", "as predicted"]


def test_reliability_looks_where_the_probabilities_are():
    rng = np.random.default_rng(0)
    p = rng.random(5000) / 50
    display = ReliabilityDisplay.from_predictions(rng.random(5000) < p, p, pos_label=True)
    assert display.ax_.get_xlim()[1] < 0.1


def test_reliability_counts_money_only_when_asked(complete_sample):
    X, y, costs = complete_sample
    model = LogisticRegression().fit(X, y)
    plain = ReliabilityDisplay.from_estimator(model, X, y, **costs)
    by_cost = ReliabilityDisplay.from_estimator(model, X, y, **costs, by_cost=True)
    without = ReliabilityDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(plain.curve.observed, without.curve.observed)
    assert (plain.curve.observed != by_cost.curve.observed).any()
    assert by_cost.ax_.get_ylabel() == "Share of positives, by money at stake"
    with pytest.raises(CostsNeededError, match="by_cost=True needs fp_cost and fn_cost"):
        ReliabilityDisplay.from_estimator(model, X, y, by_cost=True)


# Sensitivity


def test_sensitivity_of_both_kinds_meets_at_the_costs_of_today(scored):
    y, p, costs = scored
    display = CostSensitivityDisplay.from_predictions(y, p, **costs, factors=[0.5, 1, 2], name="model")
    adapted, kept = (line.get_ydata() for line in display.lines_)
    today = savings_score(y, decide_by_costs(p, **costs), **costs)
    assert adapted[1] == pytest.approx(today)
    assert kept[1] == pytest.approx(today)
    assert drawn(display.ax_) == [
        "model: decided anew by $T_{cs}$",
        "model: today's decisions",
        "deciding without a model",
    ]
    assert "today" in texts(display.ax_)
    assert display.ax_.get_xscale() == "log"
    write = display.ax_.xaxis.get_major_formatter()
    assert [write(factor, 0) for factor in (0.1, 1, 10)] == ["÷10", "×1", "×10"]


def test_sensitivity_of_decisions_alone_is_one_line(scored):
    y, p, costs = scored
    display = CostSensitivityDisplay.from_predictions(y, y_pred=p > 0.3, **costs, vary="fp_cost")
    assert display.adapted is None
    assert len(display.lines_) == 1
    assert "false positive" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="give y_score, y_pred or both"):
        CostSensitivityDisplay.from_predictions(y, **costs)


# Trees


@pytest.fixture(scope="module")
def cost_tree(complete_sample):
    X, y, costs = complete_sample
    return CostTreeClassifier(criterion="cost", max_depth=4, min_samples_leaf=5).fit(X, y, **costs)


def test_tree_has_money_in_its_nodes(cost_tree, complete_sample):
    _, y, costs = complete_sample
    display = CostTreeDisplay.from_estimator(cost_tree)
    root = display.texts_[0].get_text()
    all_negative, all_positive = costs["fn_cost"][y == 1].sum(), costs["fp_cost"][y == 0].sum()
    cheap, dear = sorted((all_negative, all_positive))
    assert f"cost {cheap:,.0f}\n(other label {dear:,.0f})" in root
    assert "300 records" in root
    assert f"→ {int(all_positive < all_negative)}" in root
    assert not display.ax_.axison
    drawn(display.ax_)


@pytest.mark.parametrize("max_depth", [0, 1, 2, None])
def test_tree_is_drawn_to_its_limit(cost_tree, max_depth):
    display = CostTreeDisplay.from_estimator(cost_tree, max_depth=max_depth)
    depth = {box.node: box.depth for box in display.boxes}
    assert max(depth.values()) == (cost_tree.get_depth() if max_depth is None else max_depth)
    if max_depth is None:
        assert len(display.boxes) == 2 * cost_tree.get_n_leaves() - 1
    assert sum("…" in box.text for box in display.boxes) == (0 if max_depth is None else 2**max_depth)
    assert len(display.texts_) == len(display.boxes)
    for box in display.boxes[1:]:
        assert depth[box.parent] == box.depth - 1
    answers = [text for text in texts(display.ax_) if text in ("yes", "no")]
    assert answers.count("yes") == answers.count("no") == len(display.boxes) // 2


def test_nodes_of_a_tree_are_above_the_middle_of_their_children_and_do_not_overlap(cost_tree):
    display = CostTreeDisplay.from_estimator(cost_tree, max_depth=None)
    display.figure_.canvas.draw()
    children = {}
    for box in display.boxes[1:]:
        children.setdefault(box.parent, []).append(box)
    for box in display.boxes:
        if box.node in children:
            yes, no = children[box.node]
            assert (yes.answer, no.answer) == ("yes", "no")
            assert yes.x < box.x < no.x
            assert box.x == (yes.x + no.x) / 2
    frames = [text.get_window_extent() for text in display.texts_]
    for i, one in enumerate(frames):
        assert not any(one.overlaps(other) for other in frames[:i])


def test_tree_grown_without_costs_shows_the_money_of_records_given(complete_sample):
    X, y, costs = complete_sample
    tree = CostTreeClassifier(max_depth=2).fit(X, y)
    assert not any("cost" in box.text for box in CostTreeDisplay.from_estimator(tree).boxes)
    some = slice(0, 200)
    given = {name: cost[some] for name, cost in costs.items()}
    display = CostTreeDisplay.from_estimator(tree, X[some], y[some], **given)
    assert "200 records" in display.boxes[0].text
    left = X[some][:, tree.members_.trees.nodes.feature[0]]  # who goes left, by the question of the root
    threshold = float(display.boxes[0].text.split("<= ")[1].split()[0].rstrip("?"))
    goes_left = left <= threshold
    cheap, dear = sorted(
        (given["fn_cost"][goes_left & (y[some] == 1)].sum(), given["fp_cost"][goes_left & (y[some] == 0)].sum())
    )
    assert f"cost {cheap:,.0f}\n(other label {dear:,.0f})" in display.boxes[1].text


def test_tree_of_one_leaf_is_drawn(complete_sample):
    X, y, _ = complete_sample
    tree = CostTreeClassifier(min_samples_leaf=200).fit(X, y)
    display = CostTreeDisplay.from_estimator(tree)
    assert len(display.texts_) == 1


def test_tree_reuses_axes_and_names_classes(complete_sample):
    X, y, costs = complete_sample
    labels = np.where(y == 1, "bad $", "good $")
    tree = CostTreeClassifier(criterion="cost", max_depth=2, pos_label="bad $").fit(X, labels, **costs)
    _, ax = plt.subplots()
    display = CostTreeDisplay.from_estimator(tree, ax=ax)
    assert display.ax_ is ax
    drawn(ax)
    missed, alarmed = costs["fn_cost"][y == 1].sum(), costs["fp_cost"][y == 0].sum()
    assert ("→ bad $" if missed > alarmed else "→ good $") in display.boxes[0].text


def test_tree_is_written_smaller_on_narrow_axes(cost_tree):
    _, ax = plt.subplots(figsize=(5, 5))
    display = CostTreeDisplay.from_estimator(cost_tree, ax=ax, fontsize=8)
    assert display.texts_[0].get_fontsize() < 8
    frames = [text.get_window_extent() for text in display.texts_]
    for i, one in enumerate(frames):
        assert not any(one.overlaps(other) for other in frames[:i])


def test_sample_weight_counts_in_the_nodes(cost_tree, complete_sample):
    X, y, costs = complete_sample
    doubled = CostTreeDisplay.from_estimator(cost_tree, X, y, **costs, sample_weight=np.full(300, 2.0))
    twice = {name: np.r_[cost, cost] for name, cost in costs.items()}
    repeated = CostTreeDisplay.from_estimator(cost_tree, np.r_[X, X], np.r_[y, y], **twice)
    for one, other in zip(doubled.boxes, repeated.boxes, strict=True):
        assert one.text == other.text


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


def test_errors_of_trees_are_clear(complete_sample, cost_tree):
    X, y, costs = complete_sample
    with pytest.raises(TypeError, match="LinearRegression is not a CostTreeClassifier"):
        CostTreeDisplay.from_estimator(LinearRegression())
    with pytest.raises(NotFittedError):
        CostTreeDisplay.from_estimator(CostTreeClassifier())
    with pytest.raises(CostsNeededError, match="give all, or none"):
        CostTreeDisplay.from_estimator(cost_tree, X, y, fp_cost=1)
    with pytest.raises(ValueError, match="X has 10 records, y has 300"):
        CostTreeDisplay.from_estimator(cost_tree, X[:10], y, **costs)


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
