"""The model card: in the report, and as Markdown beside it."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from report_summary import N_TEST, make_summary, with_strings

from stakes._format import money
from stakes.study.advice import advise
from stakes.study.report import render, render_card
from stakes.study.report.card import model_card


@pytest.fixture
def summary() -> dict[str, Any]:
    return make_summary()


def facts(summary: dict[str, Any], heading: str) -> dict[str, str]:
    return dict(dict(model_card(summary))[heading])


def test_it_has_purpose_data_costs_protocol_figures_checks_and_limits(summary: dict[str, Any]) -> None:
    headings = ["Purpose", "Data", "Costs", "How it was chosen", "Figures", "What was looked at", "Limits"]
    assert [heading for heading, _ in model_card(summary)] == headings
    assert re.findall(r"^## (.*)$", render_card(summary), re.MULTILINE) == headings
    page = render(summary)
    assert [f"<h3>{heading}</h3>" in page for heading in headings] == [True] * 7


def test_it_says_what_the_study_says(summary: dict[str, Any]) -> None:
    assert facts(summary, "Purpose")["Advice"] == advise(summary).act
    assert facts(summary, "Data")["Records"] == "7,043, 1,869 of them with Churn = Yes"
    assert facts(summary, "Costs")["A miss"] == "12 * MonthlyCharges"
    assert "Known only afterwards, and estimated to decide" not in facts(summary, "Costs")
    summary["question"]["after"] = ["donation"]
    assert facts(summary, "Costs")["Known only afterwards, and estimated to decide"] == "donation"
    protocol = facts(summary, "How it was chosen")
    assert (protocol["Seed"], protocol["Version"]) == ("0", "stakes 0.1.0")
    assert protocol["Why this model"] == summary["chosen"]["reason"]


def test_figures_have_their_intervals(summary: dict[str, Any]) -> None:
    own, none = summary["money"]["chosen"], summary["money"]["policies"][0]
    found = facts(summary, "Figures")
    cost, low, high = (money(own[key] / N_TEST) for key in ("cost", "low", "high"))
    assert found["Cost per record, test"] == f"{cost} (95%: {low} to {high})"
    saved = (none["cost"] - own["cost"]) / N_TEST, none["saved"]["low"] / N_TEST, none["saved"]["high"] / N_TEST
    value, low, high = map(money, saved)
    assert found["Saved per record against acting on none"] == f"{value} (95%: {low} to {high})"
    assert found["Expected on new records"] == advise(summary).expected


def test_what_was_looked_at_is_listed_with_the_evidence(summary: dict[str, Any]) -> None:
    assert facts(summary, "What was looked at") == {"Leaks, identifiers and shifts": "not looked for"}
    summary["checks"] = []
    assert facts(summary, "What was looked at") == {"Leaks, identifiers and shifts": "looked for, and none found"}
    assert 'id="checks"' not in render(summary)
    leak = {"kind": "leak", "column": "paid", "evidence": "AUC 1.00", "option": "--drop it", "severity": "error"}
    few = {"kind": "few", "column": None, "evidence": "14", "option": None, "severity": "warning"}
    summary["checks"] = [leak, few]
    assert facts(summary, "What was looked at") == {
        "Leak: paid": "AUC 1.00 (--drop it)", "Few records": "14"
    }  # fmt: skip
    page = render(summary)
    assert 'id="checks"' in page
    assert page.count(">--drop it</td>") == 1
    assert page.count('<tr class="loss">\n  <th scope="row"><strong>Leak</strong> <code>paid</code>') == 1
    summary["question"]["notes"] = ["seen above"]
    assert "Note" not in facts(summary, "Data")


def test_limits_are_those_that_there_are(summary: dict[str, Any]) -> None:
    usual = {"New records", "Costs", "Groups of people"}
    summary["chosen"]["follows_costs"] = True
    assert set(facts(summary, "Limits")) == usual
    summary["money"]["policies"][1]["saved"]["low"] = -1.0
    summary["chosen"]["follows_costs"] = False
    summary["records"]["totals"]["positives"] = 14
    summary["question"]["not_tried"] = ["csrf"]
    found = facts(summary, "Limits")
    assert set(found) == usual | {"Chance", "Few positives", "Fixed threshold", "Not tried, for want of time"}
    assert found["Few positives"] == "only 14 of the test records"


@pytest.mark.parametrize("imbalance", [False, True])
def test_there_is_a_card_without_a_model_and_without_costs(imbalance: bool) -> None:
    summary = make_summary(imbalance=imbalance)
    assert "Balanced accuracy, test" in facts(summary, "Figures") or not imbalance
    summary = {**summary, "chosen": None, "records": None}
    assert "Figures" not in dict(model_card(summary))
    assert "No model keeps to the limits" in render_card(summary)


def test_no_text_of_the_data_becomes_markup(summary: dict[str, Any]) -> None:
    hostile = with_strings(copy.deepcopy(summary), lambda text: "\n# <b>*x*</b> [a](b) `c`")
    card = render_card(hostile)
    assert not re.search(r"(?<!\\)[<>\[\]`]", card)
    assert card.count("\n# ") == 0
