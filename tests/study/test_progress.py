"""What is said of a study on its way."""

from __future__ import annotations

import polars as pl
import pytest

from stakes.study import progress as progress_module
from stakes.study.plan import RIVALS, Config, Unit, plan_units
from stakes.study.progress import Progress

CONFIG = Config(methods=("bg",), max_acted=0.5)


def results(cost: float, acted: float = 0.1) -> pl.DataFrame:
    return pl.DataFrame(
        {"name": ["bg"], "out_of_fold_cost": [cost], "out_of_fold_fpr": [0.1], "out_of_fold_acted": [acted]}
    )


def unit(method: str) -> Unit:
    return Unit(0, method, "none", ("label",))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still unless it is turned forward."""
    now = [100.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


def test_lines_come_now_and_then_and_at_the_end(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "FIRST", 2)
    with Progress("plain", 4 * [unit("bg")], CONFIG) as progress:
        clock[0] += 5.0
        progress.done(unit("bg"), results(9.0), 5.0)
        assert capsys.readouterr().err == ""
        clock[0] += 10.0
        progress.done(unit("bg"), results(8.0), 10.0)
        assert capsys.readouterr().err == "2 of 4 ensembles, about 15 s left, best so far bg (cost 8.00)\n"
        for _ in range(2):
            clock[0] += 15.0
            progress.done(unit("bg"), results(9.0), 7.0)
        assert capsys.readouterr().err.startswith("3 of 4 ensembles, about 7 s left")
    said = "4 of 4 ensembles in 45 s; now the choice and the report, best so far bg (cost 8.00)\n"
    assert capsys.readouterr().err == said


def test_the_time_left_is_told_when_it_can_be_known(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("plain", 9 * [unit("bg")], CONFIG) as progress:
        clock[0] += progress_module.EVERY
        progress.done(unit("bg"), results(9.0), 10.0)
        assert capsys.readouterr().err == "1 of 9 ensembles, best so far bg (cost 9.00)\n"


def test_slow_families_and_the_compiler_do_not_make_the_others_look_slow(clock: list[float]) -> None:
    waiting = [unit(name) for name in ("gb", "lr", *(30 * ["rf"]), *(10 * ["ab"]))]
    progress = Progress("quiet", waiting, CONFIG, workers=2)
    for name, seconds in (("gb", 60.0), ("rf", 40.0), ("lr", 1.0), ("rf", 2.0), ("rf", 2.0)):
        progress.done(unit(name), results(9.0), seconds)
    # 27 forests of 2 s, and 10 of boosting, of which nothing is known but the median of all; two at a time.
    assert progress._left() == "about 37 s left"
    for seconds in (8.0, 9.0, 10.0):
        progress.done(unit("ab"), results(9.0), seconds)
    assert progress._left() == "about 58 s left"


def test_no_more_time_is_left_than_the_limit_leaves(clock: list[float]) -> None:
    progress = Progress("quiet", 100 * [unit("bg")], CONFIG, time_limit=120.0)
    for _ in range(4):
        progress.done(unit("bg"), results(9.0), 10.0)
    assert progress._left() == "about 2 min left"
    clock[0] += 100.0
    assert progress._left() == "about 20 s left"


def test_a_study_that_was_finished_before_takes_no_time(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("plain", 2 * [unit("bg")], CONFIG) as progress:
        for _ in range(2):
            progress.done(unit("bg"), results(9.0))
    assert capsys.readouterr().err.startswith("2 of 2 ensembles in 0 s; now ")


def test_the_best_so_far_keeps_to_the_limits() -> None:
    progress = Progress("quiet", 2 * [unit("bg")], CONFIG)
    progress.done(unit("bg"), results(5.0, acted=0.9))
    assert progress.best is None
    progress.done(unit("bg"), results(7.0, acted=0.5))
    assert progress.best == (7.0, "bg")


def test_a_bar_counts_up_to_all_units(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("live", 2 * [unit("bg")], CONFIG) as progress:
        for _ in range(2):
            progress.done(unit("bg"), results(9.0), 1.0)
    said = capsys.readouterr().err
    assert "2/2" in said
    assert "best so far" in said


def test_a_study_that_fails_has_no_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), Progress("plain", 2 * [unit("bg")], CONFIG):
        raise RuntimeError
    assert capsys.readouterr().err == ""


def test_members_of_boosting_vote_after_training_as_they_did_in_it() -> None:
    units = plan_units(Config(methods=("dab*", "ab"), repeats=1))
    members = {unit.method: unit.members for unit in units if unit.method not in RIVALS}
    assert members == {"ab": ("label",), "dab": ("cost",), "dab-thr": ("tuned",)}
    assert members.items() <= {unit.method: unit.members for unit in plan_units(Config(methods=("all",)))}.items()
