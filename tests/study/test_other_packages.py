"""A method of another package is studied and delivered if its row in the catalogue says what is safe to load."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from stakes import catalog, persist
from stakes.catalog import Make, Method
from stakes.cost_decision import CostDecisionClassifier
from stakes.datasets import make_churn
from stakes.encoded import EncodedClassifier
from stakes.exceptions import ModelFileError, StakesWarning
from stakes.study import Study, load_data
from stakes.study.columns import schema
from stakes.study.leaderboard import one_row_each
from stakes.study.plan import Config
from stakes.study.study import saved_study

OTHERBOOST = """
from sklearn.ensemble import HistGradientBoostingClassifier


class Boosted(HistGradientBoostingClassifier):
    pass
"""
TYPE = "otherboost.Boosted"


@pytest.fixture
def trusted() -> tuple[str, ...]:
    """What the row of the method says is safe to load."""
    return (TYPE,)


@pytest.fixture
def study(trusted: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Study]:
    """A study of nothing but a method of another package."""
    (tmp_path / "otherboost.py").write_text(OTHERBOOST)
    monkeypatch.syspath_prepend(tmp_path)
    others = catalog._others

    def model() -> EncodedClassifier:
        from otherboost import Boosted  # type: ignore[import-not-found]

        return EncodedClassifier(Boosted(max_iter=5))

    def rows() -> Iterator[Method]:
        make = Make(kind=CostDecisionClassifier, model=Make(kind=model), always=True)
        yield Method(name="ob", family="linear", description="another", when=("after",), make=make, trusted=trusted)
        yield from others()

    monkeypatch.setattr(catalog, "_others", rows)
    monkeypatch.setattr("stakes.study.plan.RIVALS", ())
    catalog._rows.cache_clear()
    made = make_churn(300, random_state=0)
    made.frame.with_columns(churned=pl.Series(made.target)).write_csv(tmp_path / "churn.csv")
    data = load_data(tmp_path / "churn.csv", target="churned", fp_cost=1, fn_cost=5)
    yield Study(data, out=tmp_path / "study", methods="ob", folds=2, metacost="none", teams=False, jobs=1)
    catalog._rows.cache_clear()
    sys.modules.pop("otherboost", None)


def test_the_types_that_rows_name_are_trusted() -> None:
    assert {name for method in catalog.list_methods() for name in method.trusted} <= set(persist.TRUSTED)


def test_a_method_whose_types_are_named_is_delivered(study: Study) -> None:
    result = study.run()
    assert set(result.results["method"]) == {"ob"}
    assert persist.load(result.directory / "best.skops").predict(study.data.frame, fp_cost=1, fn_cost=5).size == 300


@pytest.mark.parametrize("trusted", [()])
def test_that_a_model_cannot_be_saved_is_said_at_once_and_ends_nothing_but_its_file(study: Study) -> None:
    said = rf"ob cannot be delivered: .*{TYPE}.* in the row of the catalogue"
    with pytest.warns(StakesWarning, match=said), pytest.raises(ModelFileError, match=TYPE):
        study.run()
    done = sorted(path.name for path in study.directory.iterdir())
    assert "best.skops" not in done
    assert {"report.html", "source.json", "leaderboard.csv", "summary.json"} <= set(done)
    assert json.loads((study.directory / "summary.json").read_text())["chosen"]["name"] == "ob"
    assert len(saved_study(study.directory).units) == len(study.units)


def test_a_row_says_that_its_models_are_simple(study: Study) -> None:
    """The order of simplicity has single models first, wherever their row stands."""
    rows = [{"method": name, "name": name, "n_tuned": 0, "digest": name} for name in ("rf", "lr", "ob")]
    assert [row["name"] for row in in_order(rows)] == ["lr", "rf", "ob"]
    for method in catalog.list_methods().filter(name="ob"):
        object.__setattr__(method, "simple", True)
    assert [row["name"] for row in in_order(rows)] == ["lr", "ob", "rf"]


def in_order(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return rows of results in the order of simplicity."""
    blank = dict.fromkeys(schema("cost")) | {"repeat": 0, "train_costs": "none", "member": "label", "family": "linear"}
    results = pl.DataFrame([blank | {"leaf": "frequency"} | row for row in rows], schema=schema("cost"))
    return one_row_each(results, Config()).sort("complexity").to_dicts()
