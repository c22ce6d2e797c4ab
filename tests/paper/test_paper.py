"""The paper's applications on small files in the publishers' formats, and the tables and findings made of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stakes import list_methods
from stakes.datasets import kdd98, load_credit_card_fraud, load_kdd98, load_telco_churn, make_donors
from stakes.exceptions import StudyError
from stakes.paper import experiment, protocol
from stakes.paper.command import command
from stakes.paper.experiment import run_paper
from stakes.paper.findings import explained, find
from stakes.paper.page import values
from stakes.paper.protocol import APPLICATIONS, PAPER_METHODS, load, plan_trials
from stakes.paper.published import DECISION_FIELDS, PUBLISHED
from stakes.paper.run import Unit, unfitted, units_of
from stakes.paper.tables import LIKE_PAPER, published_rows, ranking

SMALL = {"trees": 3, "repeats": 2}


# Small files in the formats of the publishers.


def write_churn(folder: Path, n: int = 300) -> None:
    rng = np.random.default_rng(0)
    tenure, contract = rng.integers(0, 60, n), rng.choice(["Month-to-month", "One year", "Two year"], n)
    leaves = rng.logistic(size=n) > 0.05 * tenure + 1.5 * (contract != "Month-to-month") - 0.8
    yes_no = {
        name: rng.choice(["Yes", "No"], n)
        for name in (
            "Partner", "Dependents", "PhoneService", "MultipleLines", "OnlineSecurity", "OnlineBackup",
            "DeviceProtection", "TechSupport", "StreamingTV", "StreamingMovies", "PaperlessBilling",
        )
    }  # fmt: skip
    charge = rng.uniform(20, 110, n).round(2)
    pl.DataFrame(
        {
            "customerID": [f"{i:04d}" for i in range(n)],
            "gender": rng.choice(["Male", "Female"], n),
            "SeniorCitizen": rng.integers(0, 2, n),
            "tenure": tenure,
            **yes_no,
            "InternetService": rng.choice(["DSL", "No"], n),
            "Contract": contract,
            "PaymentMethod": rng.choice(["Mailed check", "Electronic check"], n),
            "MonthlyCharges": charge,
            "TotalCharges": (charge * tenure).round(2),
            "Churn": np.where(leaves, "Yes", "No"),
        }
    ).write_csv(folder / "telco_churn.csv")


def write_fraud(folder: Path, n: int = 900) -> None:
    rng = np.random.default_rng(1)
    table = {"Time": np.linspace(0, 172_000, n).round(), **{f"V{i}": rng.normal(size=n) for i in range(1, 29)}}
    fraud = rng.random(n) < 0.06
    table["V1"] = table["V1"] + 2.0 * fraud
    table["Amount"] = rng.exponential(90, n).round(2)
    table["Class"] = fraud.astype(int)
    pl.DataFrame(table).write_csv(folder / "creditcard.csv")


def write_donors(folder: Path, n: int = 600) -> None:
    rng = np.random.default_rng(2)
    columns = {name: rng.choice(["S4E", "A2G", "L1A", "I3F"], n) for name in kdd98.PAST_STATUS}
    columns |= {name: rng.choice(["a", "b"], n) for name in kdd98.PARTIAL_CATEGORIES}
    columns |= {name: rng.integers(0, 4, n) for name in kdd98.PARTIAL_NUMBERS}
    columns |= {name: rng.choice(["X", ""], n) for name in ("PEPSTRFL", "VETERANS", "PETS")}
    bracket = rng.choice(["D", "E", "G"], n)
    columns |= {"RFA_2": np.char.add("L2", bracket), "DOMAIN": rng.choice(["T2", "S1"], n)}
    gives = rng.random(n) < np.where(columns["RFA_2F"] > 1, 0.3, 0.1)
    gift = np.select([bracket == "D", bracket == "E"], [7.0, 12.0], 28.0) + rng.integers(0, 5, n)
    columns |= {"TARGET_B": gives.astype(int), "TARGET_D": np.where(gives, gift, 0.0)}
    pl.DataFrame(columns).write_parquet(folder / "kdd98_lrn_partial.parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_churn(folder)
    write_fraud(folder)
    write_donors(folder)
    return folder


def run_small(name: str, folder: Path, out: Path, **options):
    """Run an application with the methods of its published rows, and with small ensembles."""
    methods = {row.name.removeprefix("dm-") for row in PUBLISHED if row.application == name} | {"ab"}
    beyond = {"gb"} if name == "churn" else set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "FULL", {"methods": tuple(sorted(methods | beyond)), **SMALL})
        patch.setattr(protocol, "BOOSTING", tuple(sorted(methods & set(protocol.BOOSTING))))
        return run_paper(name, folder, out=out, jobs=1, **options)


@pytest.fixture(scope="module")
def churn(folder, tmp_path_factory):
    return run_small("churn", folder, tmp_path_factory.mktemp("out") / "churn")


@pytest.fixture(scope="module")
def fraud(folder, tmp_path_factory):
    return run_small("fraud", folder, tmp_path_factory.mktemp("out") / "fraud")


@pytest.fixture(scope="module")
def marketing(folder, tmp_path_factory):
    return run_small("marketing", folder, tmp_path_factory.mktemp("out") / "marketing")


# What is published


def test_published_figures_are_those_of_the_specification():
    best = {(row.application, row.limit): row for row in PUBLISHED if row.rank == 1}
    assert best["churn", None].figures["cost_reduction"] == 70.84
    assert best["churn", None].name == "acost"
    assert best["marketing", None].figures["profit"] == 13769.75
    found = [best["fraud", limit] for limit in (0.01, 0.02, 0.03)]
    assert [row.figures["amount_detected"] for row in found] == [80.67, 88.69, 95.64]
    assert [row.name for row in found] == ["dm-upbg", "dm-uprdf", "dm-oprdf"]
    plain = {row.application: row.figures for row in PUBLISHED if row.rank is None}
    assert plain["churn"]["cost_reduction"] == 51.04
    assert plain["marketing"]["profit"] == 94.60
    assert (plain["fraud"]["amount_detected"], plain["fraud"]["fpr"]) == (48.34, 0.10)
    assert max(row.figures.get("roi", 0) for row in PUBLISHED) == 0.38


@pytest.mark.parametrize(("name", "limit", "rows"), [("churn", None, 10), ("marketing", None, 10), ("fraud", 0.02, 5)])
def test_published_tables_are_whole_and_in_order(name, limit, rows):
    table = published_rows(name, limit)
    measure = APPLICATIONS[name].measure
    assert [row.rank for row in table] == [*range(1, rows + 1), None]
    ranked = [row.figures[measure] for row in table[:-1]]
    assert ranked == sorted(ranked, reverse=True)
    if limit is not None:
        assert all(row.figures["fpr"] <= 100 * limit for row in table)


def test_published_models_and_methods_have_names_of_the_catalogue():
    names = list_methods().names
    assert {row.name for row in PUBLISHED} <= set(names)
    assert set(PAPER_METHODS) <= set(names)
    # 36 rows, two of which stand for three methods each and one for a way to decide; and the single tree.
    assert len(PAPER_METHODS) == len(set(PAPER_METHODS)) == 36 + 2 + 2 - 1 + 1


# The protocol


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
    assert [(trial.overhead, trial.stumps) for trial in trials] == [
        (overhead, stumps) for overhead in (1.0, 2.0, 5.0) for stumps in ("depth 1", "depth 2")
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
    settings = {unit.train_costs for unit in units_of(trial, 0) if unit.method.name == "cprbg"}
    assert settings == {"class means", "record"}


def test_all_methods_are_run_with_100_trees_three_times(folder):
    trial = plan_trials(APPLICATIONS["churn"], load_telco_churn(folder))[0]
    assert (trial.trees, trial.repeats) == (100, 3)
    found = {unit.method.name for unit in units_of(trial, 2)}
    assert set(PAPER_METHODS) < found
    assert {"gb", "wgb", "cstree", "srf", "hpbg"} < found
    assert not found & {"dm-bg", "mc-bg", "adamec", "cab", "imblearn-brf"}
    for method in found:
        unfitted(trial, unit_of(method))


def test_members_vote_by_label_by_cost_and_by_their_tuned_thresholds(fraud):
    of_bagging = fraud.models.filter(method="upbg", output="vote")
    assert set(of_bagging.select("name", "member").iter_rows()) == {
        ("upbg", "label"), ("dm-upbg", "cost"), ("dm-upbg", "tuned")
    }  # fmt: skip


def unit_of(method, train_costs="record"):
    return Unit(0, list_methods().filter(name=method)[0], train_costs)


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


def test_boosting_is_run_with_stumps_and_once_more_with_two_levels(folder):
    trials = plan_trials(APPLICATIONS["churn"], load_telco_churn(folder))
    assert [unfitted(trial, unit_of("asb", "1:6")).estimator.max_depth for trial in trials] == [1, 2]
    boosting = {unit.method.name for unit in units_of(trials[0], 0) if unit.method.family == "boosting"}
    assert {unit.method.name for unit in units_of(trials[1], 0)} == boosting


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


# Tables


@pytest.mark.parametrize("name", ["churn", "fraud", "marketing"])
def test_every_published_model_is_found_among_ours(name, request):
    result = request.getfixturevalue(name)
    for table in result.tables:
        for row in published_rows(name, table.limit):
            lines = [line for line in table.same if line.rank == row.rank]
            boosted = row.name in ("acost", "asb", "ab")
            assert [line.trees for line in lines] == (
                ["depth 1", "depth 2"] if boosted else ["deep" if row.name.endswith("rf") else "rpart"]
            )
            assert all(line.printed == row.figures and line.figures is not None for line in lines)
            same = result.models.filter(
                *(pl.col(column).eq_missing(pl.lit(value)) for column, value in row.identity.items())
            )
            measure = APPLICATIONS[name].measure
            shown = same[f"test_{measure}"].to_numpy() * (1 if name == "marketing" else 100)
            assert {round(line.figures[measure], 9) for line in lines} <= set(np.round(shown, 9))


def test_published_costs_of_churn_are_the_printed_ones(churn):
    line = churn.tables[0].same[0]
    assert (line.name, line.train_costs, line.calibration, line.threshold) == ("acost", "(1, 6)", "Platt", "T_cs")
    assert (line.output, line.alpha, line.members) == ("wtMaj(cls)", "own", "")


def test_class_means_are_shown_as_those_of_the_training_records(fraud, folder):
    data = load_credit_card_fraud(folder)
    means = [data.parts(repeat).train for repeat in range(2)]
    expected = np.mean([part.amount[part.target == 1].mean() for part in means])
    shown = fraud.models.filter((pl.col("train_costs") == "class means") & (pl.col("overhead") == 5))["shown_costs"]
    assert set(shown) == {f"(5, {expected:.2f})"}
    record = fraud.models.filter((pl.col("train_costs") == "record") & (pl.col("overhead") == 2))["shown_costs"]
    assert set(record) == {"(2, amt)"}


@pytest.mark.parametrize("part", ["test", "validation"])
def test_models_are_ranked_within_the_limit_on_the_part_they_are_chosen_by(fraud, part):
    for limit in (0.01, 0.02, 0.03):
        found = ranking(fraud.application, fraud.models, limit, part)
        rows = [r for r in fraud.models.to_dicts() if r[f"{part}_fpr"] <= limit]
        assert found.height == len(rows) > 0
        best = max(row[f"{part}_amount_detected"] for row in rows)
        assert found[f"{part}_amount_detected"][0] == best


def test_sections_show_test_figures_of_models_chosen_by_either_part(fraud):
    table = fraud.tables[1]
    like_paper = fraud.models.filter("like_paper")
    for part, section in (("test", "best on test"), ("validation", "chosen on validation")):
        lines = [line for line in table.best if line.section == f"{section}, methods and decisions of the paper"]
        assert [line.rank for line in lines] == [1, 2, 3, 4, 5]
        first = ranking(fraud.application, like_paper, 0.02, part).to_dicts()[0]
        assert lines[0].name == first["name"]
        assert lines[0].figures["amount_detected"] == pytest.approx(100 * first["test_amount_detected"])
        assert lines[0].validation == pytest.approx(100 * first["validation_amount_detected"])


def test_methods_beyond_the_paper_are_told_apart(churn):
    beyond = churn.models.filter(~pl.col("like_paper"))
    assert "gb" in set(beyond["method"])
    assert set(churn.models.filter("like_paper")["method"]) <= set(PAPER_METHODS)
    assert not churn.models.filter("like_paper")["calibration"].is_in(["logistic_bounded"]).any()


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


def test_costs_act_nowhere_in_the_best_model_that_ignores_them(churn):
    lines = [line for line in churn.tables[0].best if line.section.startswith("costs ignored")]
    assert lines
    assert all(line.train_costs == line.members == line.threshold == "" for line in lines)


def test_trivial_rows_are_those_of_acting_on_none_and_on_all(churn, marketing, folder):
    test = load_telco_churn(folder).parts(0).test
    gone = test.target == 1
    none, everyone = churn.tables[0].best[-2:]
    assert none.figures == {"cost_reduction": 0.0, "tpr": 0.0, "fpr": 0.0}
    lost = 1 - 2 * test.amount[~gone].sum() / (12 * test.amount[gone].sum())
    assert everyone.figures["cost_reduction"] == pytest.approx(100 * lost)
    test = load_kdd98(folder, source="partial").parts(0).test
    profit = test.amount.sum() - 0.68 * len(test)
    everyone = marketing.tables[0].best[-1]
    assert everyone.figures["profit"] == pytest.approx(profit)
    assert everyone.figures["roi"] == pytest.approx(profit / (0.68 * len(test)))


# What is written


def test_page_and_values_have_all_lines(fraud):
    text = fraud.page.read_text()
    table = pl.read_csv(fraud.page.with_suffix(".csv"), infer_schema_length=None)
    lines = [line for part in fraud.tables for line in (*part.same, *part.best)]
    assert table.height == len(lines) == values(fraud.tables, fraud.application.shown).height
    assert table["paper_amount_detected"].drop_nulls().max() == 95.64
    for limit in ("1%", "2%", "3%"):
        assert f"## FPR at most {limit}" in text
    for claim in fraud.findings:
        assert claim.claim in text
    assert pl.read_parquet(fraud.page.with_suffix(".parquet")).height == fraud.models.height


def test_page_says_what_was_run_but_not_where(churn, marketing, folder):
    for result in (churn, marketing):
        text = result.page.read_text()
        name = result.application.name
        for needed in (f"stakes paper {name} --data DIR --seed 0", "stakes 0.", "cores", "Python", "Repeats: 2"):
            assert needed in text
        for hidden in (str(folder), str(result.page.parent), os.uname().nodename):
            assert hidden not in text


def test_only_the_mailings_extract_is_called_not_comparable(churn, marketing):
    assert "NOT COMPARABLE WITH THE PAPER" in marketing.page.read_text()
    assert "NOT COMPARABLE" not in churn.page.read_text()


def test_a_finished_application_is_not_run_again(churn, folder, monkeypatch):
    def fail(*args, **options):
        raise AssertionError("a unit was run again")

    monkeypatch.setattr(experiment, "run_unit", fail)
    again = run_small("churn", folder, churn.page.parent)
    assert again.tables == churn.tables
    assert any("minutes" in note for note in churn.notes)
    assert not any("minutes" in note for note in again.notes)


def test_a_quick_look_is_small_and_says_so(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "QUICK", {"methods": ("tree", "ab"), "trees": 2, "repeats": 1})
    monkeypatch.chdir(tmp_path)
    result = run_paper("fraud", folder, quick=True, jobs=1)
    assert result.page == Path("paper-fraud-quick/fraud.md")
    assert result.notes[0].startswith("QUICK LOOK")
    assert set(result.models["overhead"]) == {5.0}
    assert "--quick" in result.page.read_text()


def test_the_command_prints_tables_and_says_what_is_wrong_in_one_line(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "QUICK", {"methods": ("tree", "ab"), "trees": 2, "repeats": 1})
    asked = ["churn", "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(command, [*asked, "--data", str(folder)])
    assert done.exit_code == 0, done.output
    assert "70.84" in done.stdout
    assert "act on all" in done.stdout
    wrong = CliRunner().invoke(command, [*asked, "--data", str(tmp_path / "absent")])
    assert wrong.exit_code == 2
    assert len(wrong.stderr.strip().splitlines()) == 1
    assert "telco_churn.parquet" in wrong.stderr


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


def test_explained_shares_are_those_of_an_analysis_of_variance(churn):
    models = churn.models.filter("like_paper")
    place = models["test_cost_reduction"].rank().to_numpy() / models.height
    for by, share in zip(
        (("overhead", "method", "train_costs", "trees"), DECISION_FIELDS),
        explained(churn.application, models),
        strict=True,
    ):
        groups: dict[tuple, list[float]] = {}
        for key, value in zip(models.select(by).iter_rows(), place, strict=True):
            groups.setdefault(key, []).append(value)
        between = sum(len(g) * (np.mean(g) - place.mean()) ** 2 for g in groups.values())
        assert share == pytest.approx(between / np.square(place - place.mean()).sum())


def test_there_is_no_gap_where_all_models_act_on_costs():
    table = models_table([{**AFTERWARDS, "value": 0.5}, {**AFTERWARDS, "leaf": "laplace", "value": 0.6}])
    finding = find(APPLICATIONS["churn"], table)[0]
    assert not finding.holds
    assert "there is no model to compare" in finding.sentences[0]


def test_an_unknown_application_is_named(folder):
    with pytest.raises(StudyError, match="there is no application 'chess': choose from"):
        run_paper("chess", folder)


def test_a_stopped_command_says_that_it_can_go_on(folder, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("stakes.paper.experiment.run_paper", interrupt)
    stopped = CliRunner().invoke(command, ["churn", "--data", str(folder), "--out", str(tmp_path / "out")])
    assert stopped.exit_code == 130
    assert "the same command goes on from there" in stopped.stderr
