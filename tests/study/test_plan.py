"""From what a study is asked for to its units, of which each has a file of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stakes.boosting.rules import RULES, AdaBoost
from stakes.datasets import make_churn
from stakes.exceptions import StudyError
from stakes.study import Study, StudyData
from stakes.study import data as data_module
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


def test_pairs_of_costs_that_are_asked_for_are_those_tried_where_there_are_no_costs(tmp_path: Path) -> None:
    data = replace(churn_data(), costs=None)
    found = Study(data, out=tmp_path, methods=["cprbg"], train_costs=["record", "2:7", "1:30"])
    assert found.ratios == ("2:7", "1:30")
    assert {unit.train_costs for unit in found.units if unit.method == "cprbg"} == {"2:7", "1:30"}
    assert {unit.decision_costs for unit in found.units if unit.method == "lr"} == {("2:7", "1:30")}
    assert Study(data, out=tmp_path, train_costs="class means").ratios == ("1:1", "1:2", "1:5", "1:10")


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


def test_records_are_divided_once_by_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = dict.fromkeys(("divide", "random_folds"), 0)

    def counting(name: str) -> Any:
        function = getattr(data_module, name)

        def count(*given: Any) -> Any:
            counted[name] += 1
            return function(*given)

        return count

    for name in counted:
        monkeypatch.setattr(data_module, name, counting(name))
    data = churn_data()
    less: dict[str, Any] = {"trees": 2, "folds": 2, "repeats": 2, "metacost": "none", "teams": False, "jobs": 1}
    Study(data, out=tmp_path, methods="tree", **less).run()
    assert counted == {"divide": 1, "random_folds": 2}
    assert data.split(1)[0].tolist() != data.split(0)[0].tolist()
    assert data.folds(2, repeat=0, seed=0) is not data.folds(2, repeat=1, seed=0)
    data.check_divisible(2, seed=0)
    with pytest.raises(StudyError, match="in fold"):
        data.check_divisible(60, seed=0)
