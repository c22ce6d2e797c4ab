"""The findings of the paper, told from tables of models."""

from __future__ import annotations

import polars as pl
import pytest

from stakes.paper.findings import find
from stakes.paper.protocol import APPLICATIONS
from stakes.paper.tables import LIKE_PAPER


@pytest.mark.parametrize(
    ("model", "like_paper"),
    [
        ({}, True),
        ({"leaf": "laplace", "member": "cost", "vote_weight": "squared_odds", "threshold": "tuned"}, True),
        ({"leaf": "curtailment_laplace", "output": "average", "vote_weight": None}, False),
        ({"output": "average", "vote_weight": None, "calibration": "platt"}, False),
        ({"threshold": "scaled"}, False),
        ({"method": "wbg", "vote_weight": "node"}, True),
        ({"method": "wbg", "leaf": "laplace", "member": "cost"}, False),
        ({"method": "hbg"}, False),
        ({"method": "ab", "family": "boosting", "calibration": "logistic"}, True),
        ({"method": "ab", "family": "boosting", "calibration": "logistic_bounded"}, False),
        ({"method": "ab", "family": "boosting", "calibration": "platt_logit"}, False),
        ({"method": "ab", "family": "boosting", "vote_weight": "accuracy"}, True),
    ],
)
def test_the_models_of_the_paper_are_told_by_its_tables(model, like_paper):
    table = models_table([{"value": 0.5, **model}]).drop("like_paper")
    assert table.select(LIKE_PAPER).item() == like_paper


# Findings


def models_table(rows: list[dict]) -> pl.DataFrame:
    """Return models of churn by a few of their columns, the rest being those of bagging that ignores costs."""
    plain = {
        "method": "bg", "name": "bg", "family": "bagging", "train_costs": "none", "leaf": "frequency",
        "member": "label", "output": "vote", "vote_weight": "equal", "calibration": None, "threshold": "half",
        "like_paper": True, "overhead": None, "trees": "rpart", "test_fpr": 0.1, "validation_fpr": 0.1,
    }  # fmt: skip
    full = [{**plain, **row} for row in rows]
    for row in full:
        row["test_cost_reduction"] = row.pop("value")
        row["validation_cost_reduction"] = row["test_cost_reduction"]
    schema = {"calibration": pl.String, "overhead": pl.Float64}
    return pl.DataFrame(full, schema_overrides=schema, infer_schema_length=None)


IN_TRAINING = {"method": "ubg", "name": "ubg", "train_costs": "1:6"}
AFTERWARDS = {"name": "dm-bg", "member": "cost"}


@pytest.mark.parametrize(("training", "afterwards", "holds"), [(0.5, 0.7, True), (0.7, 0.5, False), (0.69, 0.7, False)])
def test_what_matters_more_is_said_as_it_is(training, afterwards, holds):
    # The decision explains all ranks but for the order of the two; `both` is as good as the better one.
    rows = [
        {"value": 0.3},
        {**IN_TRAINING, "value": training},
        {**AFTERWARDS, "value": afterwards},
        {**IN_TRAINING, **AFTERWARDS, "name": "dm-ubg", "value": 0.71},
    ]
    finding = find(APPLICATIONS["churn"], models_table(rows))[2]
    assert finding.holds == holds
    close = (training - 0.3) / 0.41, (afterwards - 0.3) / 0.41
    assert f"training alone close {close[0]:.0%}, and costs afterwards alone {close[1]:.0%}" in finding.sentences[1]


@pytest.mark.parametrize(("value", "holds"), [(0.6, True), (0.2, False)])
def test_the_gap_is_that_between_the_best_with_and_without_costs(value, holds):
    table = models_table([{"value": 0.4}, {**AFTERWARDS, "value": value}])
    finding = find(APPLICATIONS["churn"], table)[0]
    assert finding.holds == holds
    best = max(0.4, value)
    assert f"has {100 * best:.2f} and the best that ignores costs 40.00" in finding.sentences[0]
    assert "(paper: 70.84 and 51.04)" in finding.sentences[0]


def test_ranks_of_dmecc_ensembles_and_mta_are_counted():
    rows = [{"value": 0.9 - 0.01 * i, "leaf": str(i)} for i in range(12)]
    rows += [{**AFTERWARDS, "value": 0.895}, {"threshold": "cost", "value": 0.5}]
    finding = find(APPLICATIONS["churn"], models_table(rows))[1]
    dmecc, mta = finding.sentences
    assert "7% of the 14 models and 1 of the best 10 and 1 of the best 100" in dmecc
    assert dmecc.endswith("number 2.")
    assert mta.endswith("number 14.")
    assert not finding.holds


@pytest.mark.parametrize(("n_behind", "holds"), [(20, True), (120, False)])
def test_to_rank_high_is_not_a_matter_of_numbers_alone(n_behind, holds):
    # The best model is one of them, and so are all that follow the 50 others.
    by_cost = {**AFTERWARDS, "threshold": "cost"}
    rows = [{**by_cost, "value": 0.9}]
    rows += [{"value": 0.8 - 0.001 * i, "leaf": str(i)} for i in range(50 if not holds else 5)]
    rows += [{**by_cost, "value": 0.5 - 0.001 * i, "leaf": str(i)} for i in range(n_behind)]
    finding = find(APPLICATIONS["churn"], models_table(rows))[1]
    assert all(sentence.endswith("number 1.") for sentence in finding.sentences)
    assert finding.holds == holds


def test_there_is_no_gap_where_all_models_act_on_costs():
    table = models_table([{**AFTERWARDS, "value": 0.5}, {**AFTERWARDS, "leaf": "laplace", "value": 0.6}])
    finding = find(APPLICATIONS["churn"], table)[0]
    assert not finding.holds
    assert "there is no model to compare" in finding.sentences[0]
