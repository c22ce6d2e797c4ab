"""What a study promises holds on new records, over many simulated files whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from stakes import Costs, load, make_classifier
from stakes.datasets import make_churn
from stakes.metrics import total_cost
from stakes.study import Study, StudyData

pytestmark = pytest.mark.slow

FILES = 40
METHODS = ("rf", "dm-rf", "urf", "ab", "cprbg")


class World:
    """A population: files are drawn from one part of it, record by record, and models are judged on the other."""

    def __init__(self) -> None:
        self.made = make_churn(300_000, random_state=99)
        self.costs = np.stack(self.made.costs.arrays(len(self.made)))
        self.new = np.arange(200_000, 300_000)
        # A fixed model: what it costs on the records of a file, against new ones, is the luck of the draw alone.
        fp, fn = self.costs[:, self.new]
        self.fixed = make_classifier("lr").fit(
            self.made.frame[self.new], self.made.target[self.new], fp_cost=fp, fn_cost=fn
        )

    def draw(self, seed: int, n_records: int = 2000) -> np.ndarray:
        return np.random.default_rng(seed).choice(200_000, n_records, replace=False)

    def study(self, rows: np.ndarray, out, seed: int, **options):
        fp, fn = self.costs[:, rows]
        data = StudyData(
            name="file", frame=self.made.frame[rows], positive=self.made.target[rows] == 1, classes=("0", "1"),
            costs=Costs(fp=fp, fn=fn), test_rows=None, test_fraction=0.25, info={}, file_labels=(0, 1),
        )  # fmt: skip
        result = Study(data, out=out, methods=METHODS, trees=20, jobs=1, metacost="none", seed=seed, **options).run()
        return data, result.summary, load(out / "best.skops")

    def decide(self, model, rows: np.ndarray) -> np.ndarray:
        fp, fn = self.costs[:, rows]
        return model.predict(self.made.frame[rows], fp_cost=fp, fn_cost=fn)

    def cost(self, model, rows: np.ndarray) -> float:
        fp, fn = self.costs[:, rows]
        return total_cost(self.made.target[rows], self.decide(model, rows), fp_cost=fp, fn_cost=fn) / rows.size


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_the_expected_cost_is_that_on_new_records_and_its_interval_covers_it(world, tmp_path):
    ratios, luck, covered = [], [], 0
    for seed in range(FILES):
        rows = world.draw(seed)
        data, summary, model = world.study(rows, tmp_path / str(seed), seed)
        expected, true = summary["chosen"]["expected"], world.cost(model, world.new)
        ratios.append(expected["value"] / true)
        luck.append(world.cost(world.fixed, rows[data.split(seed)[0]]) / world.cost(world.fixed, world.new))
        covered += expected["low"] <= true <= expected["high"]
    corrected = np.array(ratios) - np.array(luck) + 1
    error, left = np.std(ratios) / FILES**0.5, corrected.std() / FILES**0.5
    print(f"expected / true {np.mean(ratios):.3f} +- {error:.3f}, covered {covered} of {FILES}")
    print(f"without the luck of the draw {corrected.mean():.3f} +- {left:.3f}")
    assert abs(corrected.mean() - 1) <= 0.02
    assert 0.8 * FILES <= covered <= 0.97 * FILES


@pytest.mark.parametrize("limit", [{"max_fpr": 0.1}, {"max_acted": 0.2}], ids=lambda limit: next(iter(limit)))
def test_limits_hold_on_new_records_in_nine_of_ten_files(limit, world, tmp_path):
    (name, most), held, rates = next(iter(limit.items())), 0, []
    for seed in range(FILES // 2):
        _, _, model = world.study(world.draw(1000 + seed), tmp_path / str(seed), seed, **limit)
        acted = world.decide(model, world.new) == 1
        rates.append(acted[world.made.target[world.new] == 0].mean() if name == "max_fpr" else acted.mean())
        held += rates[-1] <= most
    print(f"{name} {most}: held in {held} of {FILES // 2}, rates {min(rates):.3f} to {max(rates):.3f}")
    assert held >= 0.9 * FILES // 2
    assert np.mean(rates) > 0.5 * most, "a limit is to be used, not only to be kept"
