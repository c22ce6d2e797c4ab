"""What is said of a study on its way."""

from __future__ import annotations

import polars as pl
import pytest

from stakes.study import progress as progress_module
from stakes.study.plan import RIVALS, Config, plan_units
from stakes.study.progress import Progress

CONFIG = Config(methods=("bg",), max_acted=0.5)


def results(cost: float, acted: float = 0.1) -> pl.DataFrame:
    return pl.DataFrame(
        {"name": ["bg"], "out_of_fold_cost": [cost], "out_of_fold_fpr": [0.1], "out_of_fold_acted": [acted]}
    )


def test_lines_come_now_and_then_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    monkeypatch.setattr(progress_module, "FIRST", 2)
    with Progress("plain", 4, CONFIG) as progress:
        now += progress_module.EVERY / 2
        progress.done(results(9.0))
        assert capsys.readouterr().err == ""
        now += progress_module.EVERY
        progress.done(results(8.0))
        assert capsys.readouterr().err == "2 of 4 ensembles, 15 s left, best so far bg (cost 8.00)\n"
    assert capsys.readouterr().err.startswith("2 of 4 ensembles")


def test_the_time_left_is_told_when_it_can_be_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    with Progress("plain", 9, CONFIG) as progress:
        now += progress_module.EVERY
        progress.done(results(9.0))
        assert capsys.readouterr().err == "1 of 9 ensembles, best so far bg (cost 9.00)\n"


def test_a_study_that_was_finished_before_takes_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("plain", 2, CONFIG) as progress:
        for _ in range(2):
            progress.done(results(9.0), again=True)
    assert capsys.readouterr().err == "2 of 2 ensembles, 0 s left, best so far bg (cost 9.00)\n"


def test_the_best_so_far_keeps_to_the_limits() -> None:
    progress = Progress("quiet", 2, CONFIG)
    progress.done(results(5.0, acted=0.9))
    assert progress.best is None
    progress.done(results(7.0, acted=0.5))
    assert progress.best == (7.0, "bg")


def test_a_bar_counts_up_to_all_units(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("live", 2, CONFIG) as progress:
        for _ in range(2):
            progress.done(results(9.0))
    said = capsys.readouterr().err
    assert "2/2" in said
    assert "best so far bg (cost 9.00)" in said


def test_a_study_that_fails_has_no_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), Progress("plain", 2, CONFIG):
        raise RuntimeError
    assert capsys.readouterr().err == ""


def test_members_of_boosting_vote_after_training_as_they_did_in_it() -> None:
    units = plan_units(Config(methods=("dab", "ab"), repeats=1))
    members = {unit.method: unit.members for unit in units if unit.method not in RIVALS}
    assert members == {"ab": ("label",), "dab": ("cost",)}
