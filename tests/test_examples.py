"""The examples of the service guide work."""

import numpy as np
import polars as pl
import pytest
from examples.watch import realised_costs

from stakes import make_classifier
from stakes.datasets import make_churn
from stakes.delivered import DeliveredClassifier

DATA = make_churn(600, random_state=0)


@pytest.fixture(scope="module")
def model():
    forest = make_classifier("rf", n_estimators=10, threshold="cost", random_state=0)
    forest.fit(DATA.frame, DATA.target, fp_cost=10, fn_cost=100)
    return DeliveredClassifier(forest, ("stays", "leaves"), DATA.frame.columns)


@pytest.fixture(scope="module")
def client(model):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    pytest.importorskip("httpx", reason="the test client of fastapi needs httpx")
    from examples.serve import make_app
    from fastapi.testclient import TestClient

    return TestClient(make_app(model))


def test_the_service_decides_as_the_model_does(client, model):
    new = make_churn(20, random_state=3).frame
    answers = client.post("/decide", json={"records": new.to_dicts(), "reasons": 2}).json()
    decided = model.decide(new)
    assert [answer["decision"] for answer in answers] == model.predict(new).tolist()
    assert [answer["probability"] for answer in answers] == pytest.approx(decided.probability)
    assert [answer["reasons"] for answer in answers] == model.explain(new).reasons(2)
    acted = [answer for answer in answers if answer["decision"] == "leaves"]
    assert acted
    assert all(answer["expected_saving"] > 0 for answer in acted)


def test_the_service_takes_todays_costs(client):
    new = make_churn(300, random_state=3).frame.to_dicts()

    def acted(**costs):
        answers = client.post("/decide", json={"records": new, **costs}).json()
        return sum(answer["decision"] == "leaves" for answer in answers)

    assert acted(fp_cost=1000.0, fn_cost=10.0) < acted(fp_cost=50.0, fn_cost=[100.0] * 300) < acted()


def test_the_service_says_what_is_wrong_with_a_request(client):
    record = DATA.frame[:1].drop("tenure").to_dicts()
    answer = client.post("/decide", json={"records": record})
    assert answer.status_code == 422
    assert "tenure" in answer.json()["detail"]
    assert client.get("/health").json()["columns"] == DATA.frame.columns


def decided(p, acted, fp=10.0, fn=100.0):
    return pl.DataFrame(
        {
            "decision": np.where(acted, "leaves", "stays"),
            "probability": p,
            "expected_cost_if_positive": (1 - p) * fp,
            "expected_cost_if_negative": p * fn,
        }
    )


def test_costs_are_as_expected_where_probabilities_are_right():
    rng = np.random.default_rng(0)
    p = rng.random(5000) * 0.3
    frame = decided(p, p > 1 / 11)
    watched = realised_costs(frame, rng.random(5000) < p, "leaves").values()
    assert not any(part.alarm for part in watched)
    assert sum(part.n_records for part in watched) == 5000
    # Positives are twice as frequent: there are fewer false positives and more false negatives, for the same money.
    later = realised_costs(frame, rng.random(5000) < 2 * p, "leaves").values()
    assert all(part.alarm for part in later)
    assert sum(part.realised for part in later) == pytest.approx(sum(part.expected for part in later), rel=0.05)


def test_realised_costs_are_those_of_the_mistakes():
    frame = decided(np.array([0.5, 0.5, 0.75, 0.75]), np.array([True, True, False, False]))
    watched = realised_costs(frame, np.array([True, False, True, False]), "leaves")
    assert [(part.realised, part.expected) for part in watched.values()] == [(10.0, 10.0), (100.0, 150.0)]
