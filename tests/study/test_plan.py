"""From what a study is asked for to its units, of which each has a file of its own."""

from __future__ import annotations

import pytest

from stakes.boosting.rules import RULES, AdaBoost
from stakes.study.plan import Config, plan_units


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
