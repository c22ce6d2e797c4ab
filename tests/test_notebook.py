"""What notebooks show: classifiers by scikit-learn's own view, decisions in words."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from stakes import CostBaggingClassifier, Decision, make_classifier
from stakes.datasets import make_churn
from stakes.delivered import DeliveredClassifier


@pytest.fixture(scope="module")
def fitted() -> Any:
    data = make_churn(200, random_state=0)
    forest = CostBaggingClassifier(n_estimators=2, decision=Decision(threshold="cost"), random_state=0)
    return forest.fit(data.frame, data.target, fp_cost=1, fn_cost=5)


@pytest.mark.parametrize("name", ["rf", "dm-cprbg", "ac2", "lr", "gb", "mc-rf", "cstree"])
def test_every_kind_of_classifier_shows_itself(name: str) -> None:
    classifier = make_classifier(name)
    html = classifier._repr_html_()
    assert type(classifier).__name__ in html
    assert "fitted" in html


def test_a_classifier_says_whether_it_is_fitted(fitted: Any) -> None:
    assert "<span>Fitted</span>" in fitted._repr_html_()
    assert "<span>Not fitted</span>" in CostBaggingClassifier()._repr_html_()
    assert "CostBaggingClassifier" in make_pipeline(FunctionTransformer(), fitted)._repr_html_()


def test_a_delivered_model_shows_itself_and_its_model(fitted: Any) -> None:
    model = DeliveredClassifier(fitted, ("stays", "leaves"), list("ab"))
    html = model._repr_html_()
    assert "DeliveredClassifier" in html
    assert "CostBaggingClassifier" in html
    assert copy.copy(model)._repr_html_()


def test_a_decision_is_shown_as_code_and_in_words() -> None:
    html = Decision(member="cost", vote_weight="log_odds")._repr_html_()
    assert "<code>Decision(member=&#x27;cost&#x27;" in html
    assert html.endswith("acts on: weighted votes by cost above one half")
