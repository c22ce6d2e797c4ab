"""Work lists: the records most worth acting on, in the order of worth, and what has changed since training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stakes.datasets import make_churn
from stakes.exceptions import StudyError
from stakes.persist import read_info
from stakes.study.apply import apply_model
from stakes.study.data import StudyData
from stakes.study.drift import Watch, profile, stability_index
from stakes.study.loading import load_data
from stakes.study.study import Study
from stakes.study.worklist import WorkList

COSTS: dict[str, Any] = {"fp_cost": "2 * monthly_charges", "fn_cost": "12 * monthly_charges"}


def customers(n: int, seed: int) -> pl.DataFrame:
    return make_churn(n, random_state=seed).frame


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """A model that follows costs, and one that does not."""
    directory = tmp_path_factory.mktemp("worklist")
    made = make_churn(600, random_state=0)
    made.frame.with_columns(left=pl.Series(made.target)).write_parquet(directory / "customers.parquet")
    data = load_data(directory / "customers.parquet", target="left", **COSTS)
    study = Study(data, out=directory / "study", methods=["bg"], trees=5, folds=2, metacost="none", teams=False, jobs=1)
    board = study.run().leaderboard.with_row_index("rank", offset=1)
    found = {}
    for follows in (True, False):
        row = board.filter(pl.col("follows_costs") == follows)["rank"][0]
        found[follows] = directory / f"{follows}.skops"
        study.save(int(row), found[follows])
    return found


def decided(model: Path, frame: pl.DataFrame, tmp_path: Path, **options: Any) -> tuple[Any, pl.DataFrame]:
    frame.with_row_index("row").write_parquet(tmp_path / "new.parquet")
    done = apply_model(model, tmp_path / "new.parquet", tmp_path / "out.parquet", **options)
    return done, pl.read_parquet(tmp_path / "out.parquet")


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("limit", [{"budget": 20}, {"max_acted": 0.1}])
def test_the_records_with_the_largest_expected_saving_are_kept(
    models: dict[bool, Path], follows: bool, limit: dict[str, Any], tmp_path: Path
) -> None:
    new = customers(200, 1)
    everything, plain = decided(models[follows], new, tmp_path)
    done, found = decided(models[follows], new, tmp_path, **limit, batch_size=64)
    acted = found.filter(pl.col("decision") == "1")
    assert done.n_positive == len(acted) == 20
    expected = plain.filter(pl.col("decision") == "1").sort("expected_saving", "row", descending=[True, False]).head(20)
    assert found["row"][:20].to_list() == expected["row"].to_list()
    assert acted["expected_saving"].is_sorted(descending=True)
    assert (acted["expected_saving"] > 0).all()
    assert (found["expected_saving"][20:] == 0).all()
    worth = (found["expected_cost_if_negative"] - found["expected_cost_if_positive"]).to_numpy()
    assert done.expected_saving == pytest.approx(acted["expected_saving"].sum())
    assert done.expected_saving + done.expected_cost == pytest.approx(found["expected_cost_if_negative"].sum())
    assert everything.expected_saving >= done.expected_saving
    assert sorted(found["row"].to_list()) == list(range(200))
    assert worth[20:].max() <= worth[:20].min() or not follows
    assert any("beyond the limit of 20" in note for note in done.notes)


def test_a_budget_that_is_not_spent_changes_nothing_but_the_order(models: dict[bool, Path], tmp_path: Path) -> None:
    new = customers(100, 1)
    plain, listed = (decided(models[True], new, tmp_path, **options)[1] for options in ({}, {"budget": 100}))
    assert listed.sort("row").equals(plain)
    none, _ = decided(models[True], new, tmp_path, budget=0)
    assert (none.n_positive, none.expected_saving) == (0, 0)


def test_negative_savings_are_explained(models: dict[bool, Path], tmp_path: Path) -> None:
    """Ten times the price of a false alarm: a tuned threshold acts all the same."""
    new, dear = customers(200, 1), "20 * monthly_charges"
    done, found = decided(models[False], new, tmp_path, fp_cost=dear)
    n = int((found["expected_saving"] < 0).sum())
    assert n > 0
    assert any(f"{n:,} of the records to act on have a negative expected saving" in note for note in done.notes)
    limited, found = decided(models[False], new, tmp_path, fp_cost=dear, max_acted=1.0)
    assert (found["expected_saving"] >= 0).all()
    assert any("left alone, because that costs more than it saves" in note for note in limited.notes)
    follows, found = decided(models[True], new, tmp_path, fp_cost=dear)
    assert (found["expected_saving"] >= 0).all()
    assert not any("negative" in note for note in follows.notes)


def test_new_costs_that_a_model_cannot_follow_are_told_or_refused(models: dict[bool, Path], tmp_path: Path) -> None:
    new = customers(50, 1)
    done, _ = decided(models[False], new, tmp_path, fp_cost=1)
    assert any("--fp-cost changed, and this model decides as by the costs of its study" in note for note in done.notes)
    with pytest.raises(StudyError, match=r"--fp-cost changed.*follow-costs"):
        decided(models[False], new, tmp_path, fp_cost=1, strict=True)
    for model, options in ((True, {"fp_cost": 1}), (False, {}), (False, {"fp_cost": COSTS["fp_cost"]})):
        done, _ = decided(models[model], new, tmp_path, **options, strict=True)
        assert not any("changed" in note for note in done.notes)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"budget": 3, "max_acted": 0.1}, "give one"),
        ({"budget": -1}, "--budget -1: give a number of records"),
        ({"max_acted": 1.5}, "--max-acted 1.5: give a share"),
    ],
)
def test_limits_that_make_no_sense_are_refused(
    models: dict[bool, Path], limit: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match=message):
        decided(models[True], customers(5, 1), tmp_path, **limit)


def test_what_has_changed_since_training_is_told(models: dict[bool, Path], tmp_path: Path) -> None:
    new = customers(400, 1)
    calm, _ = decided(models[True], new, tmp_path)
    assert calm.notes == []
    text = next(name for name, kind in read_info(models[True])["features"].items() if kind == "text")
    moved = new.with_columns(
        pl.col("tenure") + 50,
        pl.when(pl.int_range(400) < 30).then(pl.lit("brand new")).otherwise(pl.col(text).cast(pl.String)).alias(text),
    )
    done, _ = decided(models[True], moved, tmp_path, batch_size=100)
    said = " ".join(done.notes)
    assert f"column {text!r} has texts in 30 records that no training record had, such as 'brand new'" in said
    assert "column 'tenure' has moved since training (stability index" in said


def test_the_stability_index_is_that_of_the_formula() -> None:
    before, now = np.array([50.0, 30, 20]), np.array([10.0, 30, 60])
    p, q = (before + 0.5) / 101.5, (now + 0.5) / 101.5
    assert stability_index(before, now) == pytest.approx(
        sum((b - a) * np.log(b / a) for a, b in zip(p, q, strict=True))
    )
    assert stability_index(before, 10 * before) < 1e-3


@given(st.integers(0, 2**32 - 1), st.integers(20, 300))
@settings(max_examples=30, deadline=None)
def test_records_of_the_same_source_have_not_moved(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)

    def drawn(size: int) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "number": rng.normal(size=size).tolist(),
                "count": rng.poisson(2, size),
                "text": rng.choice(["a", "b", "c"], size),
                "gap": pl.Series(np.where(rng.random(size) < 0.3, np.nan, 1.0)).fill_nan(None),
            }
        )

    watch = Watch(profile(drawn(1000)))
    watch.add(drawn(n))
    assert watch.moved() == []
    assert watch.unseen() == []


def test_records_without_probabilities_are_ordered_by_their_scores(tmp_path: Path) -> None:
    work = WorkList(tmp_path, ("no", "yes"))
    work.add(pl.DataFrame({"id": [1, 2, 3], "decision": ["yes", "no", "yes"], "score": [0.6, 0.1, 0.9]}))
    work.add(pl.DataFrame({"id": [4], "decision": ["yes"], "score": [0.7]}))
    written: list[pl.DataFrame] = []
    kept = work.write(2, written.append, size=3)
    found = pl.concat(written)
    assert (kept.n_acted, kept.n_left) == (2, 1)
    assert found["id"].to_list() == [3, 4, 1, 2]
    assert found["decision"].to_list() == ["yes", "yes", "no", "no"]


def test_a_study_of_records_in_memory_delivers_a_model_without_a_profile(tmp_path: Path) -> None:
    made = make_churn(400, random_state=0)
    data = StudyData(
        name="churn", frame=made.frame, positive=made.target == 1, classes=("stays", "leaves"), costs=made.costs,
        test_rows=None, test_fraction=0.2, info={},
    )  # fmt: skip
    small: dict[str, Any] = {"methods": ["tree"], "folds": 2, "metacost": "none", "teams": False, "jobs": 1}
    Study(data, out=tmp_path / "study", **small).run()
    assert read_info(tmp_path / "study" / "best.skops")["profile"] == {}


@pytest.mark.parametrize(("share", "most"), [(0.29, 29), (0.286, 28), (0.57, 57), (1.0, 100), (0.001, 0)])
def test_a_share_of_the_records_is_as_many_as_it_says(
    models: dict[bool, Path], share: float, most: int, tmp_path: Path
) -> None:
    """0.29 * 100 is less than 29."""
    done, _ = decided(models[True], customers(100, 1), tmp_path, fn_cost="1000 * monthly_charges", max_acted=share)
    assert done.n_positive == most
