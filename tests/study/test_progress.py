"""What is said of a study on its way."""

from __future__ import annotations

import polars as pl
import pytest

from stakes.study import progress as progress_module
from stakes.study.plan import Config, Unit, plan_units
from stakes.study.progress import Progress

CONFIG = Config(methods=("bg",), repeats=2, max_acted=0.5)


def units() -> list[Unit]:
    return plan_units(CONFIG)


def results(cost: float, acted: float = 0.1) -> pl.DataFrame:
    return pl.DataFrame(
        {"name": ["bg"], "validation_cost": [cost], "validation_fpr": [0.1], "validation_acted": [acted]}
    )


def test_lines_come_now_and_then_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    first, second = units()
    with Progress("plain", 2, CONFIG) as progress:
        now += progress_module.EVERY / 2
        progress.done(first, results(9.0))
        progress.more(2)
        assert capsys.readouterr().err == ""
        now += progress_module.EVERY
        progress.done(second, results(8.0))
        assert capsys.readouterr().err == "2 of 4 ensembles, 15 s left, best so far bg (8)\n"
    assert capsys.readouterr().err.startswith("2 of 4 ensembles")


def test_a_study_that_was_finished_before_takes_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("plain", 2, CONFIG) as progress:
        for unit in units():
            progress.done(unit, results(9.0), again=True)
    assert capsys.readouterr().err == "2 of 2 ensembles, 0 s left, best so far bg (9)\n"


def test_the_best_so_far_keeps_to_the_limits() -> None:
    progress = Progress("quiet", 2, CONFIG)
    first, second = units()
    progress.done(first, results(5.0, acted=0.9))
    assert progress.best is None
    progress.done(second, results(7.0, acted=0.5))
    assert progress.best == (7.0, "bg")


def test_a_bar_counts_up_to_all_units(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("live", 1, CONFIG) as progress:
        progress.more(1)
        for unit in units():
            progress.done(unit, results(9.0))
    said = capsys.readouterr().err
    assert "2/2" in said
    assert "best so far bg (cost 9)" in said


def test_a_study_that_fails_has_no_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), Progress("plain", 2, CONFIG):
        raise RuntimeError
    assert capsys.readouterr().err == ""


def test_members_of_boosting_vote_after_training_as_they_did_in_it() -> None:
    units = plan_units(Config(methods=("dab*", "ab"), repeats=1))
    assert {unit.method: unit.members for unit in units} == {"ab": ("label",), "dab": ("cost",), "dabt": ("tuned",)}
