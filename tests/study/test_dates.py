"""Dates have parts that trees can use, in studies and for new records alike."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from stakes import CostTreeClassifier
from stakes._dates import parts_of, sources_of, with_parts
from stakes.delivered import DeliveredClassifier
from stakes.persist import load
from stakes.study.apply import apply_model
from stakes.study.loading import load_data
from stakes.study.study import Study

N = 400


def visits(seed: int = 0) -> pl.DataFrame:
    """Visits that end badly on Saturdays, at night, and of young customers."""
    rng = np.random.default_rng(seed)
    when = [datetime(2024, 1, 1) + timedelta(hours=int(h)) for h in rng.integers(0, 24 * 400, N)]
    opened = [w.date() - timedelta(days=int(d)) for w, d in zip(when, rng.integers(0, 900, N), strict=True)]
    bad = [w.isoweekday() == 6 or w.hour < 4 or (w.date() - o).days < 90 for w, o in zip(when, opened, strict=True)]
    noise = rng.random(N) < 0.1
    return pl.DataFrame({"when": when, "opened": opened, "x": rng.normal(size=N), "bad": np.array(bad) ^ noise})


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_parts_are_those_of_the_calendar(library: str) -> None:
    frame = visits()
    names = ["when: weekday", "when: hour", "opened: weekday", "opened: days before when"]
    assert parts_of(frame, ["when", "opened"], until=["when"]) == names
    given: Any = frame if library == "polars" else frame.with_columns(pl.col("opened").cast(pl.Datetime)).to_pandas()
    found = with_parts(nw.from_native(given, eager_only=True), names)
    for i, (when, opened) in enumerate(frame.select("when", "opened").iter_rows()):
        age = (when - datetime.combine(opened, datetime.min.time())) / timedelta(days=1)
        expected = (when.isoweekday(), when.hour, opened.isoweekday(), age)
        assert tuple(found[name].to_list()[i] for name in names) == pytest.approx(expected)


def test_names_say_what_parts_are_made_of() -> None:
    assert sources_of("a: b: weekday") == ["a: b"]
    assert sources_of("born: days before seen: at") == ["born", "seen: at"]
    assert sources_of("weekday") == []


def test_missing_dates_have_missing_parts() -> None:
    frame = nw.from_native(pl.DataFrame({"a": [date(2024, 1, 1), None]}))
    assert with_parts(frame, ["a: weekday", "b: weekday", "other"]).rows() == [(date(2024, 1, 1), 1), (None, None)]


def test_ages_go_by_the_time_of_the_record_or_by_other_dates(tmp_path: Path) -> None:
    visits().write_parquet(tmp_path / "visits.parquet")
    options: dict[str, Any] = {"target": "bad", "fp_cost": 1, "fn_cost": 3}
    by_time = load_data(tmp_path / "visits.parquet", time="when", **options)
    assert by_time.frame.columns == ["opened", "x", "opened: weekday", "opened: days before when"]
    assert set(by_time.info["features"]) == {"opened", "x", "when"}  # what new records must have
    plain = load_data(tmp_path / "visits.parquet", **options)
    parts = ["when: weekday", "when: hour", "when: days before opened", "opened: weekday"]
    assert plain.frame.columns == ["when", "opened", "x", *parts]
    assert set(plain.info["features"]) == {"when", "opened", "x"}


def test_the_delivered_model_makes_the_parts_itself(tmp_path: Path) -> None:
    visits().write_csv(tmp_path / "visits.csv")
    data = load_data(tmp_path / "visits.csv", target="bad", fp_cost=1, fn_cost=3)
    study = Study(data, out=tmp_path / "study", methods=["tree"], folds=2, metacost="none", teams=False, jobs=1)
    study.run()
    new = visits(1).drop("bad")
    new.write_csv(tmp_path / "new.csv")
    done = apply_model(tmp_path / "study" / "best.skops", tmp_path / "new.csv", tmp_path / "out.csv")
    assert done.notes == []
    decided = pl.read_csv(tmp_path / "out.csv", infer_schema=False)["decision"].to_list()
    model = load(tmp_path / "study" / "best.skops")
    assert [str(label) for label in model.predict(new)] == decided


def test_parts_are_learnt_from() -> None:
    """A tree finds the weekday, which no cut of the date itself can tell."""
    frame = visits()
    parts = parts_of(frame, ["when", "opened"], until=["when"])
    features = with_parts(nw.from_native(frame), parts).to_native().drop("bad")
    y = frame["bad"].to_numpy().astype(int)
    tree = CostTreeClassifier(max_depth=4, random_state=0).fit(features, y, fp_cost=1, fn_cost=1)
    model = DeliveredClassifier(tree, (False, True), features.columns)
    new = visits(2)
    assert (model.predict(new.drop("bad")) == new["bad"].to_numpy()).mean() > 0.85
