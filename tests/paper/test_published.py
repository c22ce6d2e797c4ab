"""The published figures are those of the specification."""

from __future__ import annotations

import pytest

from stakes import list_methods
from stakes.paper.protocol import APPLICATIONS, PAPER_METHODS
from stakes.paper.published import PUBLISHED
from stakes.paper.tables import published_rows


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
