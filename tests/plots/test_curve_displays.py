"""What each display of a curve draws, and where."""

import numpy as np
import pytest
from drawing import CONSTANT, drawn, texts
from sklearn.linear_model import LogisticRegression

from stakes._format import money
from stakes.curves import decide_by_costs, operating_point
from stakes.exceptions import CostsNeededError
from stakes.metrics import savings_score, total_cost, tuned_threshold
from stakes.plots import (
    CostCurveDisplay,
    CostROCDisplay,
    CostSensitivityDisplay,
    GainDisplay,
    ReliabilityDisplay,
)


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
    saved = CostCurveDisplay.from_predictions(y, p, fp_cost=1, fn_cost=0, measure="savings")
    np.testing.assert_array_equal(saved.line_.get_ydata()[:-1], saved.curve.savings)
    drawn(saved.ax_)


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
    assert display.line_.get_label().endswith(f"{money(display.curve.profit.max())} at {display.curve.share[best]:.1%}")
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
