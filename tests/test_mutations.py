"""The table of wrong formulas fits the source; whether each is caught is a command of its own (tools/mutate.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.mutations import MUTATIONS, Mutation, mutate, read_table

from stakes.boosting import RULES

ROOT = Path(__file__).parents[1]
# What every part of the library is put wrong in: a family of the table has this in its name.
PARTS = [
    "costs", "sampling: ratios", "sampling: SMOTE", "sampling: rejection", "sampling: prior", "tree: criterion",
    "tree: cuts", "tree: pruning", "tree: leaves", "bagging", "boosting: samples", "calibration", "threshold",
    "vote weights", "votes", "members", "MetaCost", "metrics", "measures", "curves", "teams", "study", "datasets",
]  # fmt: skip


@pytest.mark.parametrize("place", sorted({mutation.place for mutation in MUTATIONS}))
def test_every_wrong_formula_has_one_place_in_the_source(place: str) -> None:
    for mutation in MUTATIONS:
        if mutation.place == place:
            file, wrong = mutate(mutation)
            assert wrong != file.read_text(encoding="utf-8")


def test_a_formula_is_found_however_its_lines_are_broken() -> None:
    mutation = Mutation("", "", "costs:Costs.of", "np.where( y==1 ,\n fn,fp )", "np.where(y == 1, fp, fn)")
    _, wrong = mutate(mutation)
    assert "(np.where(y == 1, fp, fn))" in wrong


@pytest.mark.parametrize(
    ("place", "old", "new", "message"),
    [
        ("costs:Costs.nothing", "fn", "fp", "is defined 0 times"),
        ("costs:Costs.of", "fn + fp", "fn - fp", "has this 0 times"),
        ("costs:Costs.threshold", "both", "fp", "has this [2-9] times"),
        ("costs:Costs.of", "np.where(y == 1, fn, fp)", "np.where(y==1, fn, fp)", "changes nothing"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error(place: str, old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mutate(Mutation("", "", place, old, new))


def test_the_table_is_read_by_family_place_and_formula() -> None:
    table = "# a comment\n[one: two] tests/x.py -k y\na.b:C.d\n    p + q -> p - q\n        -> p\n    r -> s\n"
    common = ("one: two", "tests/x.py -k y", "a.b:C.d")
    assert read_table(table) == [
        Mutation(*common, "p + q", "p - q"),
        Mutation(*common, "p + q", "p"),
        Mutation(*common, "r", "s"),
    ]


def test_tests_that_are_named_exist() -> None:
    named = {path for mutation in MUTATIONS for path in re.findall(r"tests/\S+", mutation.tests)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_part_of_the_library_is_put_wrong() -> None:
    families = {mutation.family for mutation in MUTATIONS}
    assert [part for part in PARTS if not any(part in family for family in families)] == []


def test_every_rule_of_boosting_is_put_wrong() -> None:
    families = " ".join(mutation.family for mutation in MUTATIONS if mutation.place.startswith("boosting:")).lower()
    assert [name for name in RULES if name.rstrip("012") not in families and name not in families] == []
