"""Parts that are registered at run time are tried by studies of several processes, too."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

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
