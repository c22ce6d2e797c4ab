"""The benchmarks run, at toy size and on the peers that are always there; and the guard tells slow from noisy."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import guard, names, prices  # noqa: E402
from benchmarks.cases import Limits, Unavailable, others  # noqa: E402
from benchmarks.contenders import OURS, PEERS, Setting, rounds_made  # noqa: E402
from benchmarks.data import PROBLEMS, make_problem, make_records  # noqa: E402
from benchmarks.environments import REQUIREMENTS, Environments  # noqa: E402
from benchmarks.measure import Effort, Memory, Run, alternate, cpu_seconds, ratio  # noqa: E402
from benchmarks.options import parse  # noqa: E402
from benchmarks.pairs import PAIRS, Pair  # noqa: E402
from benchmarks.plots import plot  # noqa: E402
from benchmarks.registry import CASES  # noqa: E402
from benchmarks.report import report, same_quality  # noqa: E402
from benchmarks.run import Store, chosen, run_case  # noqa: E402
from benchmarks.targets import TARGETS, Target  # noqa: E402

TOY = Limits(rows=600, trees=4, effort=Effort(least=2, most=2))
ALWAYS_HERE = [
    name
    for name, pair in PAIRS.items()
    if PEERS[pair.peer].needs in ("sklearn", "imblearn") and name.endswith("churn/1")
]


@pytest.fixture(autouse=True, scope="module")
def _no_old_garbage() -> Iterator[None]:
    """Garbage is collected before each measurement: what the other tests left would make that slow."""
    gc.freeze()
    yield
    gc.unfreeze()


def took(seconds: float) -> SimpleNamespace:
    """Return a result that was made elsewhere, in so many seconds."""
    return SimpleNamespace(seconds=seconds, megabytes=None)


def runs_of(ours: list[float], peer: list[float]) -> dict[str, list[Run]]:
    return {"ours": [Run(None, s, None) for s in ours], "peer": [Run(None, s, None) for s in peer]}


class TestData:
    def test_records_are_the_same_every_time(self) -> None:
        one, two = make_records("rare", 1000), make_records("rare", 1000)
        assert all(np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(two).values(), strict=True))

    @pytest.mark.parametrize("name", PROBLEMS)
    def test_share_of_positives_is_that_of_the_problem(self, name: str) -> None:
        records = make_records(name, 4000)
        assert records.y.mean() == pytest.approx(PROBLEMS[name].rate, abs=1 / 4000)
        assert records.X.dtype == np.float32
        assert records.X.shape == (4000, PROBLEMS[name].features)

    def test_costs_differ_from_record_to_record(self) -> None:
        train, test = make_problem("noisy", rows=500)
        assert len(train) == len(test) == 500
        assert np.unique(train.fn).size > 400
        assert (train.fn > 0).all()


class TestMeasure:
    def test_the_shortest_runs_count_and_the_extremes_are_those_of_repetitions(self) -> None:
        found = ratio(runs_of([1.0, 2.0, 4.0], [8.0, 6.0, 20.0]), lambda seconds: 10 * seconds)
        assert found == (60.0, 30.0, 80.0)

    def test_both_sides_take_turns_in_changing_order(self) -> None:
        order: list[str] = []
        alternate(lambda seed: order.append(f"ours {seed}"), lambda seed: order.append(f"peer {seed}"), Effort(3, 3))
        assert order == ["ours 0", "peer 0", "peer 1", "ours 1", "ours 2", "peer 2"]

    def test_repetitions_end_when_the_time_is_spent(self) -> None:
        patient = Effort(least=2, most=50, seconds=35.0, patience=100.0)
        runs = alternate(lambda seed: took(1.0), lambda seed: took(9.0), patient)
        assert len(runs["ours"]) == len(runs["peer"]) == 4
        runs = alternate(lambda seed: took(1.0), lambda seed: took(9.0), Effort(least=2, most=50, seconds=0.0))
        assert len(runs["ours"]) == 2

    def test_runs_that_take_very_long_are_not_repeated(self) -> None:
        runs = alternate(lambda seed: took(1.0), lambda seed: took(9.0), Effort(least=3, most=50, patience=9.0))
        assert len(runs["ours"]) == 1
        runs = alternate(lambda seed: took(1.0), lambda seed: took(9.0), Effort(least=3, most=50, patience=10.0))
        assert len(runs["ours"]) == 2

    def test_results_are_judged_side_by_side(self) -> None:
        judged: list[tuple[str, Any]] = []
        alternate(lambda seed: 1, lambda seed: 2, Effort(1, 1), lambda side, result: judged.append((side, result)))
        assert judged == [("ours", 1), ("peer", 2)]

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells peaks of memory")
    def test_memory_is_seen_although_it_was_freed(self) -> None:
        memory = Memory()
        block = np.ones(8_000_000)
        del block
        growth = memory.growth()
        assert growth is not None
        assert 55 < growth < 90

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what others do")
    def test_work_of_children_is_ours_and_not_that_of_others(self) -> None:
        work = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"]
        begun = cpu_seconds()
        with others() as told:
            busy = subprocess.Popen(work)
            busy.wait()
        assert 0.4 < cpu_seconds() - begun < 2
        assert 0 <= told["others"] <= (os.cpu_count() or 1) + 0.5


class TestPairs:
    @pytest.mark.parametrize("name", ALWAYS_HERE)
    def test_a_pair_gives_times_and_quality_of_both(self, name: str) -> None:
        figures = PAIRS[name].run(TOY)
        assert figures["ratio"]["low"] <= figures["ratio"]["high"]
        for side in ("ours", "peer"):
            assert len(figures[side]["all_seconds"]) == 2
            assert figures[side]["seconds"] == min(figures[side]["all_seconds"]) > 0
            assert 0.5 < figures[side]["auc"] <= 1
            assert figures[side]["savings"] <= 1
        json.dumps(figures)

    def test_a_slow_peer_makes_fewer_trees_and_is_scaled(self) -> None:
        pair = Pair("scikit-learn forest", "forest", "churn", threads=1, trees=4, peer_trees=1)
        figures = pair.run(TOY)
        assert (figures["ours"]["trees"], figures["peer"]["trees"]) == (4, 1)
        seconds = figures["peer"]["seconds"] / figures["ours"]["seconds"]
        assert figures["ratio"]["estimate"] == pytest.approx(4 * seconds)
        full = pair.run(Limits(**{**vars(TOY), "full": True}))
        assert full["peer"]["trees"] == 4

    def test_what_a_peer_does_once_is_not_scaled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forest = PEERS["scikit-learn forest"]

        def prepare(train: Any, setting: Any) -> SimpleNamespace:
            return took(0.5)

        monkeypatch.setitem(PEERS, "scikit-learn forest", replace(forest, prepare=prepare))
        pair = Pair("scikit-learn forest", "forest", "churn", threads=1, trees=4, peer_trees=1)
        peer = pair.run(TOY)["peer"]
        assert peer["whole_seconds"] == pytest.approx(0.5 + 4 * (peer["seconds"] - 0.5))

    def test_boosting_that_ends_early_is_no_faster_for_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pair = PAIRS["scikit-learn AdaBoost/churn/1"]
        monkeypatch.setattr(
            "benchmarks.pairs.rounds_made", lambda model, asked: asked if hasattr(model, "n_jobs") else 1
        )
        monkeypatch.setattr("benchmarks.measure.measure", lambda action, seed=0: Run(action(seed), 1.0, None))
        figures = pair.run(TOY)
        assert (figures["ours"]["made"], figures["peer"]["made"]) == (4, 1)
        assert (figures["ours"]["seconds"], figures["peer"]["seconds"]) == (1.0, 4.0)

    @pytest.mark.parametrize("side", ["ours", "peer"])
    def test_rounds_are_counted(self, side: str) -> None:
        train, _ = make_problem("churn", 600)
        contender = OURS["AdaBoost"] if side == "ours" else PEERS["scikit-learn AdaBoost"]
        assert rounds_made(contender.fit(train, Setting(3, 1)), asked=9) == 3
        forest = OURS["forest"] if side == "ours" else PEERS["scikit-learn forest"]
        assert rounds_made(forest.fit(train, Setting(3, 1)), asked=9) == 9

    def test_threads_never_have_unequal_shares_of_trees(self) -> None:
        for pair in PAIRS.values():
            assert pair.peer_trees == pair.trees or pair.peer_trees % pair.threads == 0
            assert 1 <= pair.peer_trees <= pair.trees

    def test_quality_is_compared_with_as_many_trees(self) -> None:
        few = Pair("scikit-learn forest", "forest", "churn", threads=1, trees=40, peer_trees=1)
        figures = few.run(Limits(rows=600, effort=TOY.effort))
        # Forty trees are much better than one; the difference is that of one and one.
        assert figures["ours"]["auc"] - figures["peer"]["auc"] > 0.05
        assert figures["difference"]["auc"]["mean"] < 0.05

    def test_a_peer_that_is_not_installed_is_said_to_be_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("benchmarks.contenders.find_spec", lambda name: None)
        monkeypatch.setattr("benchmarks.contenders.shutil.which", lambda name: None)
        with pytest.raises(Unavailable, match="ydf"):
            PAIRS["YDF forest/churn/1"].run(TOY)

    def test_every_target_is_that_of_a_case(self) -> None:
        for name in TARGETS:
            assert name.split(": ")[0] in CASES

    def test_every_case_has_an_environment(self) -> None:
        assert {case.environment for case in CASES.values()} == set(REQUIREMENTS)


class TestOtherCases:
    @pytest.mark.parametrize(
        "name",
        [
            *(f"prediction/single row, {kind}" for kind in ("bagging", "forest", "AdaBoost")),
            "prediction/leaf ids",
            "prediction/decisions",
            "prediction/pruned",
            "growth/rows/forest/10000",
            "growth/rows/AdaBoost/10000",
            "growth/input/forest/int32",
        ],
    )
    def test_a_case_gives_figures(self, name: str) -> None:
        figures = CASES[name].run(TOY)
        values = figures["figures"].values() if figures["kind"] == "figures" else [figures["seconds"]]
        assert all(value > 0 for value in values)
        json.dumps(figures)


@pytest.mark.slow  # in processes of their own
class TestRun:
    def test_figures_come_back_from_a_process_and_are_kept_and_reported(self, tmp_path: Path) -> None:
        name = "scikit-learn tree/churn/1"
        figures = run_case(CASES[name], TOY, Environments(None))
        store = Store(tmp_path)
        store.add(name, {**figures, "quick": True})
        again = Store(tmp_path)
        assert again.figures == store.figures
        assert again.keeps(name, quick=True)
        assert not again.keeps(name, quick=False)
        assert not again.keeps("scikit-learn tree/rare/1", quick=True)
        assert "| scikit-learn tree " in report(again.figures)
        plot(again.figures, tmp_path)
        assert "scikit-learn tree" in (tmp_path / "ratios.svg").read_text()

    def test_a_report_says_who_is_absent_who_was_disturbed_and_who_took_more_than_allowed(self) -> None:
        name = "scikit-learn tree/churn/1"
        figures = {**PAIRS[name].run(TOY), "machine": {"cpu": "abacus", "cores": 2, "versions": {}, "others": 1.5}}
        figures["peer"]["cores"] = 1.9
        text = report({name: figures})
        assert "On abacus, 2 cores" in text
        assert "R rpart bagging" in text.split("not installed: ")[1].splitlines()[0]
        assert f"doubtful: {name}." in text
        assert f"more cores than they were allowed threads: {name} (peer)." in text
        quiet = {**figures, "machine": {**figures["machine"], "others": 0.1}, "peer": {**figures["peer"], "cores": 1.0}}
        assert "doubtful" not in report({name: quiet})
        assert "allowed" not in report({name: quiet})

    def test_time_left_is_what_cases_took_before(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        usual = store.seconds("start-up")
        store.add("start-up", {"took": 3.0})
        assert usual > 3.0 == store.seconds("start-up")

    def test_a_case_that_takes_too_long_fails_and_says_so(self) -> None:
        assert "no end after" in run_case(CASES["start-up"], TOY, Environments(None), timeout=0.1)["failed"]

    def test_cases_are_chosen_by_pattern_speed_and_size(self) -> None:
        def names(*arguments: str) -> list[str]:
            return [case.name for case in chosen(parse(arguments))]

        assert names("--only", "scikit-learn forest/*/2") == [
            f"scikit-learn forest/{problem}/2" for problem in ("churn", "rare", "noisy", "big")
        ]
        assert 0 < len(names("--quick")) < len(names()) == len(CASES)
        assert "growth/rows/forest/1000000" in names("--largest", "1000000")
        assert "growth/rows/forest/3000000" not in names("--largest", "1000000")

    @pytest.mark.parametrize("option", ["--list", "--report"])
    def test_nothing_is_installed_where_nothing_is_run(self, option: str, tmp_path: Path) -> None:
        folders = ["--env", str(tmp_path / "env"), "--results", str(tmp_path / "results")]
        command = [sys.executable, "-m", "benchmarks", option, "--quick", *folders]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        assert not list(tmp_path.iterdir())

    def test_toy_figures_are_no_results(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            parse(["--rows", "100"])
        assert "--results" in capsys.readouterr().err

    def test_limits_survive_the_way_to_the_process(self) -> None:
        given = json.loads(json.dumps(asdict(TOY)))
        assert Limits(**{**given, "effort": Effort(**given["effort"])}) == TOY


class TestTargets:
    def test_bounds_are_kept_or_not(self) -> None:
        assert Target(at_least=2).met(2.0)
        assert not Target(at_least=2).met(1.9)
        assert Target(at_most=3).met(3.0)
        assert not Target(at_most=3).met(3.1)

    @pytest.mark.parametrize(
        ("mean", "error", "same"), [(0.01, 0.0, True), (-0.004, 0.0, True), (-0.01, 0.0, False), (-0.01, 0.003, True)]
    )
    def test_quality_is_the_same_up_to_tolerance_and_chance(self, mean: float, error: float, same: bool) -> None:
        assert same_quality({"difference": {"auc": {"mean": mean, "error": error}}}) == same


class TestGuard:
    def test_half_as_fast_as_recorded_is_too_slow(self) -> None:
        assert guard.too_slow({"forest": 5.1}, {"forest": 10.0}) == []
        (line,) = guard.too_slow({"bagging": 30.0, "forest": 4.0}, {"bagging": 30.0, "forest": 10.0})
        assert "forest: 4.0x" in line
        assert "2.5 times slower" in line

    def test_what_is_not_recorded_is_an_error(self) -> None:
        (line,) = guard.too_slow({"new": 9.0}, {})
        assert "--record" in line

    def test_everything_watched_is_recorded(self) -> None:
        assert set(json.loads(guard.RECORD.read_text())) == set(guard.GUARDED)

    def test_a_noisy_run_gets_more_chances(self) -> None:
        seconds = iter([9.0, 5.0, 5.0, 5.0, 0.5, 5.0])
        sides = guard.Sides(lambda seed: took(next(seconds)), lambda seed: took(2.0), scale=1.0)
        assert guard.watch(sides, recorded=4.0) == 4.0
        # The one that compiles, three noisy ones and the good one are behind it.
        assert list(seconds) == [5.0]

    def test_an_engine_that_is_really_slow_gets_no_more_than_all_chances(self) -> None:
        seeds: list[int] = []

        def ours(seed: int) -> SimpleNamespace:
            seeds.append(seed)
            return took(1.0)

        assert guard.watch(guard.Sides(ours, lambda seed: took(0.5), scale=2.0), recorded=4.0, most=5) == 1.0
        assert seeds == [0, 0, 1, 2, 3, 4]

    @pytest.mark.parametrize(("recorded", "code"), [(0.1, 0), (1e6, 1)])
    def test_the_exit_code_says_whether_it_is_slower(
        self, recorded: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(guard, "ROWS", 500)
        guard._records.cache_clear()
        monkeypatch.setattr(guard, "GUARDED", {"forest": guard._fits("forest", "scikit-learn forest", 2, 2)})
        file = tmp_path / "record.json"
        file.write_text(json.dumps({"forest": recorded}))
        assert guard.main(["--file", str(file)]) == code
        guard._records.cache_clear()

    def test_an_engine_made_slower_is_caught(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Everything the guard does for real, on little data; then each fit is done over and over again.

        Thirty times, where twice would do: how busy the machine is must not matter.
        """
        monkeypatch.setattr(guard, "ROWS", 500)
        guard._records.cache_clear()
        monkeypatch.setattr(guard, "GUARDED", {"forest": guard._fits("forest", "scikit-learn forest", 2, 2)})
        arguments = ["--file", str(tmp_path / "record.json")]
        assert guard.main(["--record", *arguments]) == 0
        assert guard.main(arguments) == 0
        forest = guard.OURS["forest"]

        def slow(train: Any, setting: Any) -> Any:
            for _ in range(29):
                forest.fit(train, setting)
            return forest.fit(train, setting)

        monkeypatch.setitem(guard.OURS, "forest", replace(forest, fit=slow))
        assert guard.main(arguments) == 1
        guard._records.cache_clear()

    def test_a_record_is_the_lowest_of_several(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seconds = iter([1.0] * (guard.MOST + 1) + [2.0] * (guard.MOST + 1) + [1.5] * (guard.MOST + 1))
        sides = guard.Sides(lambda seed: took(next(seconds)), lambda seed: took(3.0), scale=4.0)
        monkeypatch.setattr(guard, "GUARDED", {"forest": lambda: sides})
        file = tmp_path / "record.json"
        assert guard.main(["--record", "--file", str(file)]) == 0
        assert json.loads(file.read_text()) == {"forest": 6.0}

    def test_a_record_can_be_made(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        sides = guard.Sides(lambda seed: took(1.0), lambda seed: took(3.0), scale=4.0)
        monkeypatch.setattr(guard, "GUARDED", {"forest": lambda: sides})
        file = tmp_path / "record.json"
        assert guard.main(["--record", "--file", str(file)]) == 0
        assert json.loads(file.read_text()) == {"forest": 12.0}


class TestPrices:
    def test_tests_and_mistakes_add_up_in_the_table_of_the_trade_off(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rng, n = np.random.default_rng(0), 300
        made = {name: rng.normal(size=n) for name in ("age", "TSH", "T3", "TT4", "T4U", "FTI")}
        ill = np.where(made["TSH"] + 0.3 * rng.normal(size=n) > 1, 1, 3)
        frame = pl.DataFrame({**made, "class": ill, "part": np.where(np.arange(n) % 2, "train", "test")})
        frame.write_parquet(tmp_path / "ann_thyroid.parquet")
        monkeypatch.setattr(prices, "WORK_UPS", (1000,))
        monkeypatch.setattr(prices, "MODELS", {"tree": prices.MODELS["tree by total cost"]})
        train, test, given = prices.load_thyroid(tmp_path)
        assert given["age"] == 1
        *_, line = prices.curve(train, test, given)
        together, tests, mistakes = map(float, re.findall(r"[0-9.]+", line.split("|")[3]))
        assert together == pytest.approx(tests + mistakes, abs=0.011)
        assert tests >= 22.78  # worth it where mistakes cost that much
        assert len(list(prices.trade_off(train, test, given, 50))) == 2 + len(prices.BIASES)

    def test_the_time_that_prices_take_is_a_ratio(self) -> None:
        *_, gini, cost = prices.speed(300, 2, Effort(least=1, most=1))
        assert all(float(line.split("|")[2]) > 0 for line in (gini, cost))


class TestNames:
    def test_the_best_name_is_chosen_by_what_is_saved_in_the_other_repeats(self) -> None:
        saved = {"lucky once": np.array([9.0, 1.0, 1.0]), "steady": np.array([2.0, 2.0, 2.0])}
        assert names.best_of(saved).tolist() == [2.0, 1.0, 1.0]

    def test_the_papers_winners_are_cost_sensitive_names_of_its_tables(self) -> None:
        winners = names.winners()
        assert {"acost", "asb", "dm-rf", "dm-cprbg"} <= set(winners) <= set(names.names())
        assert not {"tree", "ab", "rdf"} & set(winners)  # they ignore costs by default
