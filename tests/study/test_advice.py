"""What a study advises, in sentences for those who decide."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_summary import N_TEST, make_summary

from stakes._format import money
from stakes.decision.wording import decision_words
from stakes.study.advice import advise, headline
from stakes.study.display import study_html
from stakes.study.study import StudyResult
from stakes.study.words import model_words, tree_words


@pytest.fixture
def summary() -> dict[str, Any]:
    found = make_summary()
    found["chosen"].update(acted=0.25, follows_costs=True, threshold="cost")
    return found


def test_the_first_sentence_says_whom_to_act_on_and_how_many_they_are(summary: dict[str, Any]) -> None:
    act = "Act on the records that the model flags, 250 of every 1,000"
    assert advise(summary).act == f"{act}: those where acting is expected to cost less than doing nothing."
    summary["chosen"]["threshold"] = "scaled"
    assert advise(summary).act == f"{act}: those where acting is expected to save most."
    summary["chosen"].update(follows_costs=False, threshold="tuned")
    assert advise(summary).act == f"{act}: those most likely to have Churn = Yes."


@pytest.mark.parametrize(
    ("share", "per_day", "said"),
    [
        (0.25, 40.0, "250 of every 1,000 (about 10 a day)"),
        (0.25, 0.4, "250 of every 1,000 (about 3 a month)"),
        (0.25, 0.02, "250 of every 1,000 (about 2 a year)"),
        (0.0031, 10_000.0, "3.1 of every 1,000 (about 31 a day)"),
        (0.0, 10.0, "0 of every 1,000:"),
    ],
)
def test_where_the_times_are_known_actions_are_counted_per_time(
    summary: dict[str, Any], share: float, per_day: float, said: str
) -> None:
    summary["chosen"]["acted"] = share
    summary["question"]["per_day"] = per_day
    assert said in advise(summary).act


def test_savings_are_told_in_total_per_record_and_per_1000_with_their_interval(summary: dict[str, Any]) -> None:
    other, own = summary["money"]["policies"][1], summary["money"]["chosen"]
    saved = other["cost"] - own["cost"]
    advice = advise(summary)
    assert advice.saves == (
        f"On 1,408 test records this saves {money(saved)} against acting on all, the best one can do without a model: "
        f"{money(saved / N_TEST)} per record, {money(1000 * saved / N_TEST)} per 1,000."
    )
    low, high = (money(other["saved"][end] / N_TEST) for end in ("low", "high"))
    assert advice.sure == f"95% sure: {low} to {high} per record."
    other["saved"]["low"] = -1.0
    assert advise(summary).sure.startswith("That may be chance (95%: ")
    assert advise(summary).act.startswith("It is not sure that a model pays off. With this one, act on the records ")
    other["saved"] = None
    assert advise(summary).sure == ""


def test_a_model_that_does_not_pay_off_is_not_to_be_used(summary: dict[str, Any]) -> None:
    own = summary["money"]["chosen"]["cost"]
    summary["money"]["policies"][1]["cost"] = own - N_TEST
    advice = advise(summary)
    assert advice.act == "Use no model: acting on all is at least as cheap."
    assert advice.saves.endswith("costs 1,408 more than acting on all: 1.00 per record, 1,000 per 1,000.")


def test_what_to_expect_is_told_in_the_terms_of_the_measure(summary: dict[str, Any]) -> None:
    summary["chosen"]["expected"] = {"value": 0.4, "low": 0.3, "high": 0.5}
    cost = (
        "On new records its mistakes are expected to cost 0.40 per record (90% sure: 0.30 to 0.50), 400.00 per 1,000."
    )
    assert advise(summary).expected == cost
    summary["question"]["measure"] = "savings"
    expected = "On new records it is expected to reach savings of 40.0% (90% sure: 30.0% to 50.0%)."
    assert advise(summary).expected == expected
    summary["chosen"]["expected"] = None
    assert advise(summary).expected == ""


def test_without_costs_the_advice_is_about_records() -> None:
    summary = make_summary(imbalance=True)
    summary["chosen"].update(acted=0.25, tpr=0.8, fpr=0.1)
    advice = advise(summary)
    assert advice.act.endswith(": those most likely to have Churn = Yes.")
    assert (
        advice.saves
        == "On 1,408 test records it finds 80.0% of those with Churn = Yes, and disturbs 10.0% of the others."
    )


def test_a_study_in_which_no_model_keeps_to_the_limits_says_so(summary: dict[str, Any]) -> None:
    summary["chosen"] = None
    assert headline(summary).startswith("No model keeps to the limits: allow more by --max-fpr")


def test_the_headline_names_the_model_its_reason_and_what_alternatives_cost(summary: dict[str, Any]) -> None:
    lines = headline(summary).splitlines()
    found, chosen = summary["money"], summary["chosen"]
    assert lines[0] == advise(summary).act
    costs = {
        "the model": found["chosen"],
        "acting on none": found["policies"][0],
        "acting on all": found["policies"][1],
    }
    costs |= {"logistic regression": found["rivals"][0], "gradient boosting": found["rivals"][1]}
    listed = ", ".join(f"{name} {money(row['cost'] / N_TEST)}" for name, row in costs.items())
    assert lines[3] == f"Cost per record on the test records: {listed}."
    assert lines[4].startswith(f"The model: {model_words(chosen['name'])} ({chosen['name']}), {decision_words(chosen)}")
    assert lines[4].endswith(chosen["reason"])
    assert max(len(line) for line in lines) < 300


def test_models_are_told_in_words() -> None:
    assert model_words("dm-uprdf") == "random decision forest after under-sampling"
    assert model_words("mc-lr") == "small tree taught by logistic regression"
    assert tree_words({"tree": "leaves of 20"}) == "trees with leaves of 20 records or more"
    assert model_words("of another package") == "of another package"
    row = {"leaf": "laplace", "member": "tuned", "output": "vote", "vote_weight": "equal", "calibration": None}
    assert decision_words({**row, "threshold": "tuned"}) == "votes by tuned thresholds above a tuned threshold"
    assert decision_words({**row, "threshold": "new"}) == "votes by tuned thresholds above the threshold 'new'"


def test_a_result_prints_itself_in_a_few_lines(summary: dict[str, Any], tmp_path: Path) -> None:
    result = StudyResult(pl.DataFrame({"name": ["lr"] * 3}), pl.DataFrame(), summary, tmp_path)
    assert str(result) == f"{headline(summary)}\nMore: {tmp_path / 'report.html'}"
    assert len(str(result)) < 1500
    assert repr(result).startswith("StudyResult(acost, votes by T_cs")
    assert result._repr_html_() == study_html(summary, tmp_path / "report.html")


def test_a_notebook_shows_the_advice_and_the_best_models(summary: dict[str, Any], tmp_path: Path) -> None:
    new = copy.deepcopy(summary)
    new["question"]["positive"] = "<b>"
    new["chosen"]["follows_costs"] = False
    html = study_html(new, tmp_path / "report.html")
    assert "Churn = &lt;b&gt;" in html
    names = [row["name"] for row in summary["leaderboards"]["out_of_fold"][:5]]
    assert html.count("<tr>") == 1 + len(names)
    assert f"({summary['chosen']['name']}), recommended" in html
    assert str(tmp_path) in html
