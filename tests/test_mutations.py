"""The table of wrong formulas fits the source; whether each is caught is a command of its own (tools/mutate.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutations import MUTATIONS

from stakes.boosting import RULES

SOURCE = Path(__file__).parents[1] / "src" / "stakes"


@pytest.mark.parametrize("file", sorted({mutation.file for mutation in MUTATIONS}))
def test_every_wrong_formula_has_one_place_in_the_source(file: str) -> None:
    source = (SOURCE / file).read_text(encoding="utf-8")
    places = {mutation.old: source.count(mutation.old) for mutation in MUTATIONS if mutation.file == file}
    assert {old: n for old, n in places.items() if n != 1} == {}
    assert all(mutation.old != mutation.new for mutation in MUTATIONS)


def test_tests_that_are_named_exist() -> None:
    named = {mutation.tests.split()[0] for mutation in MUTATIONS}
    assert [path for path in sorted(named) if not (SOURCE.parents[1] / path).is_file()] == []


def test_every_rule_of_boosting_is_put_wrong() -> None:
    families = " ".join(mutation.family for mutation in MUTATIONS if mutation.file == "boosting/rules.py").lower()
    assert [name for name in RULES if name.rstrip("012") not in families and name not in families] == []
