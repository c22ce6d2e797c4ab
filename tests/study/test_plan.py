"""From what a study is asked for to its units, of which each has a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from stakes.boosting.rules import RULES, AdaBoost
from stakes.datasets import make_churn
from stakes.study import Study, StudyData
from stakes.study.plan import Config, plan_units


def churn_data() -> StudyData:
    made = make_churn(200, random_state=0)
    return StudyData(
        name="churn",
        frame=made.frame,
        positive=made.target == 1,
        classes=("stays", "leaves"),
        costs=made.costs,
        test_rows=None,
        test_fraction=0.3,
        info={"target": "churn", "positive": "leaves", "fp_cost": None, "fn_cost": None, "notes": []},
    )


def test_methods_whose_names_differ_in_capitals_only_have_files_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("U", "V", "u", "u+", "u_")
    for name in names:
        monkeypatch.setitem(RULES, name, AdaBoost)
    units = [unit for unit in plan_units(Config(methods=names)) if unit.method in names]
    assert len({unit.key.lower() for unit in units}) == len(units) == len(names)
    assert [unit.key for unit in plan_units(Config(methods=names)) if unit.method in names] == [u.key for u in units]


def test_pairs_of_costs_that_are_written_alike_have_files_of_their_own() -> None:
    units = plan_units(Config(methods=("cprbg",), train_costs=("1E5:2", "1:5E2")))
    assert len({unit.key for unit in units}) == len(units)


def test_methods_of_imbalanced_learn_that_are_asked_for_are_trained_once() -> None:
    units = plan_units(Config(methods=("imblearn-*",), measure="balanced_accuracy"), ratios=("1:1", "1:5"))
    assert sorted(unit.method for unit in units if unit.method.startswith("imblearn")) == [
        "imblearn-brf", "imblearn-easyensemble", "imblearn-rusboost",
    ]  # fmt: skip


def test_one_method_and_one_setting_need_no_list(tmp_path: Path) -> None:
    one, listed = (
        Study(churn_data(), out=tmp_path, methods=methods, train_costs=costs)
        for methods, costs in (("urf", "class means"), (["urf"], ["class means"]))
    )
    assert one.config == listed.config
    assert [unit.method for unit in one.units] == ["urf", "lr", "lgbm"]
