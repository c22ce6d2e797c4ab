"""What the report needs to work out savings at other costs: against models that are asked again at those costs."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from stakes import CostBaggingClassifier, Costs, Decision, make_classifier
from stakes.datasets import make_churn, make_donors
from stakes.delivered import Decided, DeliveredClassifier
from stakes.metrics import total_cost
from stakes.records import Records
from stakes.study import playing
from stakes.study.playing import RATIOS, playable


@dataclass
class Table:
    """Features as the records of a study have them."""

    X: Any

    def take_rows(self, rows: Any) -> Table:
        return Table(self.X[rows])


class Known(NamedTuple):
    """A model, its test records, and what a page is given of them."""

    model: DeliveredClassifier
    test: Records
    given: dict[str, Any]

    def array(self, name: str) -> NDArray[Any]:
        dtype = {"positive": "u1", "cost": "<f8"}.get(name, "<f4")
        return np.frombuffer(base64.b64decode(self.given[name]), dtype)


def known(name: str, **params: Any) -> Known:
    train, test = make_churn(800, random_state=0), make_churn(700, random_state=1)
    costs = {"fp_cost": train.costs.fp, "fn_cost": train.costs.fn}
    inner = make_classifier(name, random_state=0, **params).fit(train.frame, train.target, **costs)
    model = DeliveredClassifier(inner, (0, 1), train.frame.columns)
    records = Records(Table(test.frame), test.target == 1, test.costs)
    return Known(model, records, playable(model, records, most=1.0, seed=0))


CASES = {
    "follows costs": ("lr", {}),
    "with ties": ("rf", {"n_estimators": 4, "threshold": "cost"}),
    "does not": ("rf", {"n_estimators": 5}),
    "votes by cost": ("dm-rf", {"n_estimators": 5}),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Known:
    name, params = CASES[request.param]
    return known(name, **params)


def test_a_record_is_acted_on_where_the_ratio_is_above_its_critical_one(case: Known) -> None:
    order = np.random.default_rng([0, playing.SAMPLE]).permutation(700)
    fp, fn = case.test.costs.arrays(700)
    for ratio in (*RATIOS[::4], 1.0):
        expected = case.model.predict(case.test.X.X, fp_cost=fp, fn_cost=ratio * fn)[order] == 1
        np.testing.assert_array_equal(ratio > case.array("critical"), expected)


def test_at_the_costs_given_the_costs_are_those_of_the_model_to_the_cent(case: Known) -> None:
    acted, positive, cost = case.array("critical") < 1, case.array("positive") == 1, case.array("cost")
    fp, fn = case.test.costs.arrays(700)
    outcome = case.model.predict(case.test.X.X, fp_cost=fp, fn_cost=fn)
    expected = total_cost(case.test.positive.astype(int), outcome, fp_cost=fp, fn_cost=fn)
    assert cost[positive != acted].sum() == pytest.approx(expected, rel=1e-12)
    totals = case.given["totals"]
    assert totals["missed"] + totals["wasted"] == pytest.approx(expected, rel=1e-12)
    assert totals["found"] == (acted & positive).sum()
    assert totals["alarms"] == (acted & ~positive).sum()
    assert totals["nothing"] == pytest.approx(cost[positive].sum())
    assert totals["everything"] == pytest.approx(cost[~positive].sum())
    assert case.given["weight"] == {"negative": 1.0, "positive": 1.0}


def test_whether_decisions_follow_costs_is_told() -> None:
    follows = {name: known(case[0], **case[1]).given["follows"] for name, case in CASES.items()}
    assert follows == {"follows costs": True, "with ties": True, "does not": False, "votes by cost": True}


def test_decisions_go_by_what_is_known_and_are_charged_by_what_it_costs() -> None:
    data = make_donors(3000, response_rate=0.05, random_state=0)
    estimated = data.estimated_from(np.arange(len(data))).decision_costs
    inner = make_classifier("lr").fit(data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    model = DeliveredClassifier(inner, (0, 1), data.frame.columns)
    records = Records(Table(data.frame), data.target == 1, data.costs, known_costs=estimated)
    found = Known(model, records, playable(model, records, most=1.0, seed=0))
    outcome = model.predict(data.frame, fp_cost=estimated.fp, fn_cost=estimated.fn)
    expected = total_cost(data.target, outcome, fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    acted, positive = found.array("critical") < 1, found.array("positive") == 1
    assert found.array("cost")[positive != acted].sum() == pytest.approx(expected)
    assert sorted(found.array("fn")) == pytest.approx(sorted(estimated.arrays(3000)[1].astype("f4")))


def test_of_many_records_some_of_both_classes_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "MOST_RECORDS", 100)
    found = known("lr")
    positive, given = found.array("positive"), found.given
    assert (given["n"], given["kept"], positive.size, int(positive.sum())) == (700, 100, 100, 50)
    n_positive = found.test.positive.sum()
    assert given["weight"] == {"positive": n_positive / 50, "negative": (700 - n_positive) / 50}
    few = playing._sample(np.arange(1000) < 20, np.random.default_rng(0))
    assert (few.size, (few < 20).sum(), np.unique(few).size) == (100, 20, 100)
    many = playing._sample(np.arange(1000) >= 20, np.random.default_rng(0))
    assert (many.size, (many < 20).sum()) == (100, 20)


def test_costs_of_nothing_do_no_harm() -> None:
    train = make_churn(500, random_state=0)
    inner = CostBaggingClassifier(n_estimators=3, random_state=0, decision=Decision(threshold="cost"))
    inner.fit(train.frame, train.target, fp_cost=1, fn_cost=5)
    model = DeliveredClassifier(inner, (0, 1), train.frame.columns)
    for fp, fn in ((0.0, 1.0), (1.0, 0.0), (0.0, 0.0)):
        records = Records(Table(train.frame), train.target == 1, Costs(fp=np.full(500, fp), fn=np.full(500, fn)))
        found = Known(model, records, playable(model, records, most=1.0, seed=0))
        outcome = model.predict(train.frame, fp_cost=np.full(500, fp), fn_cost=np.full(500, fn))
        assert (found.array("critical") < 1).sum() == outcome.sum()
        assert not np.isnan(found.array("critical")).any()


class Near:
    """A model whose scores are as near to their thresholds as numbers can be."""

    def decide(self, X: Any, *, fp_cost: Any, fn_cost: Any) -> Decided:
        threshold = fp_cost / (fp_cost + fn_cost)
        score = np.array([np.nextafter(0.2, 1.0), 0.2, np.nextafter(0.2, 0.0)])
        return Decided(score > threshold, score, threshold, score)


def test_decisions_at_the_threshold_are_not_lost_in_rounding() -> None:
    costs = Costs(fp=np.ones(3), fn=np.full(3, 4.0))
    records = Records(Table(np.zeros((3, 1))), np.array([True, False, True]), costs)
    model: Any = Near()
    found = Known(model, records, playable(model, records, most=1.0, seed=0))
    order = np.random.default_rng([0, playing.SAMPLE]).permutation(3)
    np.testing.assert_array_equal(found.array("critical") < 1, np.array([True, False, False])[order])
