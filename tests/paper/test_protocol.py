"""The paper's protocol: splits, costs, methods and trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from stakes.datasets import load_credit_card_fraud, load_kdd98, load_telco_churn, make_donors
from stakes.exceptions import StudyError
from stakes.paper import protocol
from stakes.paper.protocol import APPLICATIONS, PAPER_METHODS, load, plan_trials
from stakes.paper.run import unfitted, units_of
from stakes.study.plan import Unit


@pytest.mark.parametrize(
    ("name", "loader", "train", "validation"),
    [("churn", load_telco_churn, 4508, 1127), ("fraud", load_credit_card_fraud, 110_852, 33_934)],
)
def test_split_sizes_are_the_papers(folder, name, loader, train, validation):
    plan = loader(folder).plan
    assert (plan.train, plan.validation) == (train, validation)
    rows = plan_trials(APPLICATIONS[name], loader(folder))[0].dataset.split(0)
    share = rows.validation.size / (rows.train.size + rows.validation.size)
    assert share == pytest.approx(validation / (train + validation), abs=0.002)


def test_the_test_records_stay_while_training_records_change(folder):
    for trial in plan_trials(APPLICATIONS["churn"], load_telco_churn(folder)):
        first, second = (trial.dataset.split(repeat, seed=3) for repeat in (0, 1))
        np.testing.assert_array_equal(first.test, second.test)
        assert not np.array_equal(first.train, second.train)


def test_donations_are_estimated_anew_from_the_training_records_of_each_repeat(folder):
    dataset = plan_trials(APPLICATIONS["marketing"], load_kdd98(folder, source="partial"))[0].dataset
    tests = [dataset.parts(repeat).test for repeat in range(2)]
    donors = tests[0].target == 1
    assert not np.array_equal(tests[0].costs.fn[donors], tests[0].decision_costs.fn[donors])
    np.testing.assert_array_equal(tests[0].costs.fn[donors], tests[1].costs.fn[donors])
    assert not np.array_equal(tests[0].decision_costs.fn, tests[1].decision_costs.fn)


def test_each_overhead_has_its_own_real_costs(folder):
    trials = plan_trials(APPLICATIONS["fraud"], load_credit_card_fraud(folder))
    assert [(trial.overhead, trial.depth) for trial in trials] == [
        (overhead, depth) for overhead in (1.0, 2.0, 5.0) for depth in (1, 2)
    ]
    assert len({trial.directory for trial in trials}) == 6
    amount = pl.read_csv(folder / "creditcard.csv")["Amount"].to_numpy()
    for trial in trials:
        for rows, part in zip(trial.dataset.split(0), trial.dataset.parts(0), strict=True):
            assert part.costs is part.decision_costs
            assert part.costs.fp == trial.overhead
            np.testing.assert_array_equal(part.costs.fn, amount[rows])


def test_training_costs_are_by_class_and_by_record(folder):
    assert APPLICATIONS["churn"].train_costs == ("1:6", "class means", "record")
    for name in ("fraud", "marketing"):
        assert APPLICATIONS[name].train_costs == ("class means", "record")
    trial = plan_trials(APPLICATIONS["fraud"], load_credit_card_fraud(folder))[0]
    settings = {unit.train_costs for unit in units_of(trial, 0) if unit.method == "cprbg"}
    assert settings == {"class means", "record"}


def test_all_methods_are_run_with_100_trees_three_times(folder):
    trial = plan_trials(APPLICATIONS["churn"], load_telco_churn(folder))[0]
    assert (trial.trees, trial.repeats) == (100, 3)
    found = {unit.method for unit in units_of(trial, 2)}
    assert set(PAPER_METHODS) < found
    assert {"gb", "wgb", "cstree", "srf", "hpbg"} < found
    assert not found & {"dm-bg", "mc-bg", "adamec", "cab", "imblearn-brf"}
    for method in found:
        unfitted(trial, unit_of(method))


def unit_of(method, train_costs="record"):
    return Unit(0, method, train_costs, ("label", "cost", "tuned"))


@pytest.mark.parametrize(
    ("method", "limits"), [("bg", (20, 7, 30)), ("uprdf", (20, 7, 30)), ("rf", (2, 1, None)), ("cprprf", (2, 1, None))]
)
def test_trees_are_rparts_but_those_of_random_forests_deep(folder, method, limits):
    trial = plan_trials(APPLICATIONS["churn"], load_telco_churn(folder))[0]
    tree = unfitted(trial, unit_of(method)).estimator
    assert (tree.min_samples_split, tree.min_samples_leaf, tree.max_depth) == limits
    assert tree.pruning is None


def test_the_single_tree_is_not_pruned_either(folder):
    trial = plan_trials(APPLICATIONS["churn"], load_telco_churn(folder))[0]
    tree = unfitted(trial, unit_of("tree", "none"))
    assert (tree.pruning, tree.min_samples_leaf) == (None, 7)


def test_adacost_scales_costs_as_published(folder):
    trial = plan_trials(APPLICATIONS["churn"], load_telco_churn(folder))[0]
    assert unfitted(trial, unit_of("acost", "1:6")).variant_params == {"scale": 1.0}


def test_boosting_is_run_with_stumps_and_once_more_with_two_levels(folder):
    trials = plan_trials(APPLICATIONS["churn"], load_telco_churn(folder))
    assert [unfitted(trial, unit_of("asb", "1:6")).estimator.max_depth for trial in trials] == [1, 2]
    boosting = {unit.method for unit in units_of(trials[0], 0) if unit.family == "boosting"}
    assert {unit.method for unit in units_of(trials[1], 0)} == boosting


def test_the_extract_stands_in_for_the_original_mailing_only_where_that_is_absent(monkeypatch, tmp_path):
    original = make_donors(300, random_state=0)

    def loader(data_dir, source="local"):
        if source == "local" and data_dir == tmp_path / "none":
            raise FileNotFoundError("no cup98LRN.txt")
        return replace(original, name={"local": "kdd98", "partial": "kdd98_partial"}[source])

    monkeypatch.setattr(protocol, "load_kdd98", loader)
    assert load(APPLICATIONS["marketing"], tmp_path).name == "kdd98"
    assert load(APPLICATIONS["marketing"], tmp_path / "none").name == "kdd98_partial"


def test_an_absent_file_is_an_error_of_one_kind(tmp_path):
    for application in APPLICATIONS.values():
        with pytest.raises(StudyError, match="--data"):
            load(application, tmp_path)
