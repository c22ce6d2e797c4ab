"""Costs that `predict` is given, and does not go by: warned of where it is called, and nowhere else."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier, Decision, MetaCostClassifier, _base
from stakes.exceptions import NoEffectWarning
from stakes.metrics import make_cost_scorer, savings_score

UNUSED = {
    "half": CostTreeClassifier(max_depth=2, decision=Decision(threshold="half")),
    "tuned": CostTreeClassifier(max_depth=2, decision=Decision(threshold="tuned"), validation=None),
    "sampled": CostBaggingClassifier(n_estimators=2, sampling="under", random_state=0),
    "boosted": CostBoostClassifier(n_estimators=2, variant="naive"),
    "taught": MetaCostClassifier(CostTreeClassifier(max_depth=2)),
}


@pytest.fixture(autouse=True)
def warn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_base, "_LINES_WARNED", set())


@pytest.mark.parametrize("name", UNUSED)
def test_costs_that_predict_does_not_go_by_are_warned_of_where_it_is_called(name: str, small: Any) -> None:
    clf = clone(UNUSED[name]).fit(small.X, small.y, fp_cost=1.0, fn_cost=4.0)
    with pytest.warns(NoEffectWarning, match="^fn_cost has no effect on these decisions") as caught:
        dearer = clf.predict(small.X, fn_cost=400.0)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoEffectWarning)
        np.testing.assert_array_equal(clf.predict(small.X), dearer)
        clf.predict_proba(small.X, fn_cost=400.0)
    with warnings.catch_warnings(record=True) as repeated:
        warnings.simplefilter("always")
        for _ in range(3):
            clf.predict(small.X, fp_cost=1.0, fn_cost=400.0)
    assert [str(w.message).partition(":")[0] for w in repeated] == [
        "fp_cost and fn_cost have no effect on these decisions"
    ]


@pytest.mark.parametrize("name", UNUSED)
@pytest.mark.filterwarnings("error::stakes.exceptions.NoEffectWarning")
def test_costs_that_measure_decisions_are_not_warned_of(name: str, small: Any) -> None:
    given = {"fp_cost": small.fp, "fn_cost": small.fn}
    clf = clone(UNUSED[name])
    if name == "sampled":
        clf.set_params(sampling="cpr")  # goes by the costs of records
    if name != "taught":
        MetaCostClassifier(clf, out_of_bag=False).fit(small.X, small.y, **given)
    clf.fit(small.X, small.y, **given)
    score = clf.score(small.X, small.y, **given)
    scorer = make_cost_scorer(savings_score)
    assert scorer(clf, small.X, small.y, **given) == pytest.approx(score)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(clf))
        cross_validate(pipeline, small.X, small.y, scoring=scorer, params=given, cv=2, error_score="raise")


@pytest.mark.filterwarnings("error::stakes.exceptions.NoEffectWarning")
def test_costs_that_predict_goes_by_are_handed_on_by_scorers(small: Any) -> None:
    clf = CostTreeClassifier(max_depth=2).fit(small.X, small.y, fp_cost=1.0, fn_cost=4.0)
    costs = {"fp_cost": np.full(len(small), 9.0), "fn_cost": np.full(len(small), 1.0)}
    expected = savings_score(small.y, clf.predict(small.X, **costs), **costs)
    assert make_cost_scorer(savings_score)(clf, small.X, small.y, **costs) == expected
    assert expected != savings_score(small.y, clf.predict(small.X), **costs)
