"""Parts that are registered at run time are tried by studies of several processes, too."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from stakes.datasets import make_churn
from stakes.measures import MEASURES, MONEY, Sums, cost, measure
from stakes.study import Study, StudyData, StudyResult
from stakes.study.advice import advise
from stakes.study.words import figure_words

# A script, as a user has one: its classes are in no module that a worker could import.
SCRIPT = """
from stakes.boosting.rules import RULES, Rule
from stakes.datasets import make_churn
from stakes.measures import MONEY, measure
from stakes.sampling import SAMPLERS, CostSampler
from stakes.study import Study, StudyData


class Forgiving(Rule):
    uses_costs = True

    def step(self, records, alpha, margin):
        return 2 * alpha * records.cost_share * (margin < 0)


class Roots(CostSampler):
    leaves_records_out = True

    def counts(self, y, costs, rng, X=None):
        root = costs.of(y) ** 0.5
        return rng.multinomial(y.size, root / root.sum())


@measure("waste", "what was spent in vain", higher_is_better=False, **MONEY)
def waste(s):
    return s.wasted


if __name__ == "__main__":
    RULES["forgiving"], SAMPLERS["roots"] = Forgiving, Roots
    made = make_churn(200, random_state=0)
    data = StudyData(
        name="churn", frame=made.frame, positive=made.target == 1, classes=("no", "yes"), costs=made.costs,
        test_rows=None, test_fraction=0.3, info={"target": "churn", "positive": "yes", "notes": []},
    )
    methods, less = ["forgiving", "roots-bg"], {"trees": 3, "folds": 2, "metacost": "none", "teams": False}
    study = Study(data, out="study", methods=methods, measure="waste", jobs=2, **less)
    found = study.run()
    print(sorted(set(found.results["method"])), found.summary["question"]["not_trained"])
    study.save("forgiving", "forgiving.skops")
"""


def test_rules_samplers_and_measures_of_a_script_are_known_to_all_processes(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['forgiving', 'lgbm', 'lr', 'roots-bg'] {}"
    assert (tmp_path / "forgiving.skops").exists()


def studied(out: Path, by: str) -> StudyResult:
    made = make_churn(300, random_state=0)
    data = StudyData(
        name="churn",
        frame=made.frame,
        positive=made.target == 1,
        classes=("no", "yes"),
        costs=made.costs,
        test_rows=None,
        test_fraction=0.3,
        info={"target": "churn", "positive": "yes", "fp_cost": None, "fn_cost": None, "notes": []},
    )
    less: dict[str, Any] = {"trees": 3, "folds": 2, "repeats": 2, "metacost": "none", "teams": False, "jobs": 1}
    return Study(data, out=out / by, methods="rf", measure=by, **less).run()


@pytest.mark.parametrize("like_cost", [False, True])
def test_a_registered_total_is_told_per_record_as_cost_is(like_cost: bool, tmp_path: Path) -> None:
    @measure("loss", "what mistakes cost twice", higher_is_better=False, ranks_like_cost=like_cost, **MONEY)
    def loss(s: Sums) -> Any:
        return 2 * cost(s)

    try:
        own, known = (studied(tmp_path, by) for by in ("loss", "cost"))
        chosen, expected = own.summary["chosen"], known.summary["chosen"]
        assert chosen["name"] == expected["name"]
        assert chosen["description"] == expected["description"]
        for name in ("out_of_fold", "test"):
            assert chosen[name] == pytest.approx(2 * expected[name], rel=1e-5)
        for end in ("value", "low", "high"):
            assert chosen["expected"][end] == pytest.approx(2 * expected["expected"][end], rel=1e-5)
        assert " per record (90% sure" in advise(own.summary).expected
        assert figure_words(MEASURES["loss"]) == "loss per record"
        assert "Loss, per record, on test records" in (own.directory / "report.html").read_text()
    finally:
        del MEASURES["loss"]
