"""The registered measures, of all decisions at once, are those of plain loops and of `stakes.metrics`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score, roc_auc_score

from stakes import Costs, metrics
from stakes._format import money
from stakes.exceptions import StudyError
from stakes.measures import MEASURES, sums_of
from stakes.study.plan import Config

N = 300


def decisions(seed: int) -> tuple[Any, Any, Any, Any]:
    """Some decisions on records whose costs differ, the misses dear with an odd seed."""
    rng = np.random.default_rng(seed)
    positive = rng.random(N) < 0.3
    fp, fn = rng.lognormal(1, 1, N), rng.lognormal(3 if seed % 2 else 1, 1, N)
    outcome = rng.random((6, N)) < np.array([0, 0.1, 0.3, 0.5, 0.9, 1])[:, None]
    return outcome, positive, fp, fn


@pytest.fixture(scope="module", params=[0, 1])
def decided(request: pytest.FixtureRequest) -> tuple[Any, Any, Any, Any]:
    return decisions(request.param)


def measured(decided: Any, name: str) -> Any:
    outcome, positive, fp, fn = decided
    return MEASURES[name].of_sums(sums_of(outcome, positive, Costs(fp=fp, fn=fn)))


@pytest.mark.parametrize("name", ["cost", "profit", "savings", "f1"])
def test_studies_tell_totals_per_record(decided: tuple[Any, Any, Any, Any], name: str) -> None:
    outcome, positive, fp, fn = decided
    told = MEASURES[name].figure(sums_of(outcome, positive, Costs(fp=fp, fn=fn)))
    np.testing.assert_allclose(told, measured(decided, name) / (N if name in ("cost", "profit") else 1))


def test_to_act_on_none_is_cheaper_in_one_case_and_to_act_on_all_in_the_other() -> None:
    cases = [decisions(seed) for seed in (0, 1)]
    assert [fn[positive].sum() < fp[~positive].sum() for _, positive, fp, fn in cases] == [True, False]


def test_cost_is_that_of_a_loop_over_the_records(decided: Any) -> None:
    outcome, positive, fp, fn = decided
    expected = []
    for row in outcome:
        cost = 0.0
        for i in range(N):
            if positive[i] and not row[i]:
                cost += fn[i]
            if row[i] and not positive[i]:
                cost += fp[i]
        expected.append(cost)
    np.testing.assert_allclose(measured(decided, "cost"), expected)


@pytest.mark.parametrize(
    ("name", "metric"), [("savings", metrics.savings_score), ("cost_reduction", metrics.cost_reduction)]
)
def test_shares_of_cost_are_those_of_the_metrics(decided: Any, name: str, metric: Any) -> None:
    outcome, positive, fp, fn = decided
    expected = [metric(positive.astype(int), row.astype(int), fp_cost=fp, fn_cost=fn) for row in outcome]
    np.testing.assert_allclose(measured(decided, name), expected, atol=1e-12)


def test_amount_detected_is_that_of_the_metrics(decided: Any) -> None:
    outcome, positive, _, fn = decided
    expected = [metrics.amount_detected(positive.astype(int), row.astype(int), amount=fn) for row in outcome]
    np.testing.assert_allclose(measured(decided, "amount_detected"), expected)


def test_profit_and_roi_are_those_of_a_campaign_that_spends_c_fp_on_everyone(decided: Any) -> None:
    # C_FN is what is lost net of the contact: the response brings C_FN + C_FP (FRAMEWORK 12).
    outcome, positive, fp, fn = decided
    for name, metric in (("profit", metrics.profit), ("roi", metrics.roi)):
        expected = [metric(positive.astype(int), row.astype(int), benefit=fn + fp, contact_cost=fp) for row in outcome]
        np.testing.assert_allclose(measured(decided, name), expected, atol=1e-9)


def test_measures_of_imbalance_are_those_of_scikit_learn(decided: Any) -> None:
    outcome, positive, _, _ = decided
    np.testing.assert_allclose(
        measured(decided, "balanced_accuracy"), [balanced_accuracy_score(positive, row) for row in outcome]
    )
    np.testing.assert_allclose(measured(decided, "f1"), [f1_score(positive, row) for row in outcome])
    np.testing.assert_allclose(
        measured(decided, "g_mean"), [metrics.g_mean(positive.astype(int), row.astype(int)) for row in outcome]
    )
    np.testing.assert_allclose(measured(decided, "tpr"), [row[positive].mean() for row in outcome])
    np.testing.assert_allclose(measured(decided, "fpr"), [row[~positive].mean() for row in outcome])
    np.testing.assert_allclose(measured(decided, "acted"), outcome.mean(axis=1))


@pytest.mark.parametrize("distinct", [4, 1000])
def test_measures_of_scores_are_those_of_scikit_learn(distinct: int) -> None:
    rng = np.random.default_rng(2)
    positive = rng.random(N) < 0.3
    score = rng.integers(distinct, size=N) / distinct + 0.1 * positive
    assert MEASURES["auc"].of_scores(positive, score) == pytest.approx(roc_auc_score(positive, score))
    assert MEASURES["average_precision"].of_scores(positive, score) == pytest.approx(
        average_precision_score(positive, score)
    )


def test_measures_of_nothing_are_finite_but_the_auc() -> None:
    positive = np.zeros(3, bool)
    for measure in MEASURES.values():
        if measure.of_sums is not None:
            assert np.isfinite(measure.of_sums(sums_of(np.zeros((1, 3), bool), positive, Costs(fp=0, fn=0)))).all()
    assert np.isnan(MEASURES["auc"].of_scores(positive, np.arange(3.0)))
    assert MEASURES["average_precision"].of_scores(positive, np.arange(3.0)) == 0.0


def test_a_loss_against_a_free_baseline_is_the_same_in_the_registry_as_in_the_metrics() -> None:
    positive = np.array([True, False, False])
    acted = np.array([[False] * 3, [True] * 3])
    for costs, losing in ((Costs(fp=1, fn=0), 1), (Costs(fp=0, fn=1), 0)):
        found = MEASURES["savings"].of_sums(sums_of(acted, positive, costs))
        expected = [metrics.savings_score(positive, row, fp_cost=costs.fp, fn_cost=costs.fn) for row in acted]
        assert found.tolist() == expected
        assert expected[losing] == -1
        assert expected[1 - losing] == 0


def test_every_measure_is_of_sums_or_of_scores_and_has_words() -> None:
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert (measure.of_sums is None) != (measure.of_scores is None)
        assert measure.words
        assert measure.meaning
        assert measure.write(0.25) in ("25.0%", "0.25", "0.250")


def test_a_wrong_name_is_answered_by_all_measures_that_models_can_be_compared_by() -> None:
    names = [name for name, measure in MEASURES.items() if measure.compares]
    with pytest.raises(StudyError, match=f"there is no --measure 'x': choose from {', '.join(names)}$"):
        Config(measure="x")


def test_the_help_of_the_command_names_measures_that_there_are() -> None:
    from inspect import signature

    from stakes import cli

    text = signature(cli.study, eval_str=True).parameters["measure"].annotation.__metadata__[0].help
    listed, _, _ = text.removeprefix("What is compared, such as ").partition(". ")
    with_costs, without = re.sub(r" \(.*?\)", "", listed).split("; without costs ")
    for name in with_costs.split(", "):
        assert MEASURES[name].compares
        assert MEASURES[name].needs_costs
    for name in without.split(", "):
        assert MEASURES[name].compares
        assert not MEASURES[name].needs_costs


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1069727.4, "1,069,727"), (66180.0, "66,180"), (999.996, "1,000"), (12.345, "12.35"), (-1234.5, "-1,234"),
        (0.5, "0.50"), (0.01234, "0.0123"), (0.000012, "0.0000120"), (0, "0.00"), (140, "140.00"),
        (None, "–"), (float("inf"), "–"),
    ],
)  # fmt: skip
def test_money_is_written_in_digits_and_never_in_powers_of_ten(value: Any, text: str) -> None:
    assert money(value) == text


@given(st.floats(1e-6, 1e14))
def test_money_keeps_at_least_three_digits(value: float) -> None:
    assert float(money(value).replace(",", "")) == pytest.approx(value, rel=6e-3)
