"""The applications, run on small files: tables and the page made of them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stakes.datasets import load_credit_card_fraud, load_kdd98, load_telco_churn
from stakes.exceptions import StakesWarning, StudyError
from stakes.paper import experiment, protocol
from stakes.paper.command import command
from stakes.paper.experiment import run_paper
from stakes.paper.findings import explained
from stakes.paper.page import values
from stakes.paper.protocol import APPLICATIONS, PAPER_METHODS
from stakes.paper.published import PUBLISHED
from stakes.paper.tables import published_rows, ranking
from stakes.study.columns import DECISION

SMALL = {"trees": 3, "repeats": 2}


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


def test_members_vote_by_label_by_cost_and_by_their_tuned_thresholds(fraud):
    of_bagging = fraud.models.filter(method="upbg", output="vote")
    assert set(of_bagging.select("name", "member").iter_rows()) == {
        ("upbg", "label"), ("dm-upbg", "cost"), ("dm-upbg", "tuned")
    }  # fmt: skip


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
            assert all(line.printed == row.figures and line.figures for line in lines)
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


def test_training_that_degenerates_is_a_figure_and_no_warning(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "QUICK", {"methods": ("asb", "csb0", "ac2"), "trees": 2, "repeats": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error", StakesWarning)
        run_paper("churn", folder, out=tmp_path, quick=True, jobs=1)


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


def test_explained_shares_are_those_of_an_analysis_of_variance(churn):
    models = churn.models.filter("like_paper")
    place = models["test_cost_reduction"].rank().to_numpy() / models.height
    for by, share in zip(
        (("overhead", "method", "train_costs", "trees"), DECISION),
        explained(churn.application, models),
        strict=True,
    ):
        groups: dict[tuple, list[float]] = {}
        for key, value in zip(models.select(by).iter_rows(), place, strict=True):
            groups.setdefault(key, []).append(value)
        between = sum(len(g) * (np.mean(g) - place.mean()) ** 2 for g in groups.values())
        assert share == pytest.approx(between / np.square(place - place.mean()).sum())


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
