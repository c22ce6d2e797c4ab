"""Every decision that is offered works, is different, and is described."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
    decisions_for,
)
from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.weights import BY_ERROR

# Each with the number of decisions that it has at least: parts that are added bring more.
ENSEMBLES = {
    "bagging": (CostBaggingClassifier(n_estimators=7, random_state=0), 274),
    "weighted": (CostBaggingClassifier(n_estimators=7, weighted=True, random_state=0), 307),
    # As dm-wbg has them: probabilities without the share of weights.
    "weighted, corrected": (
        CostBaggingClassifier(n_estimators=7, weighted=True, prior_correction=True, random_state=0),
        274,
    ),
    "models": (CostBaggingClassifier(LogisticRegression(), n_estimators=5, random_state=0), 70),
    "tree": (CostTreeClassifier(max_depth=4, validation=0.3, random_state=0), 41),
    "boosting": (CostBoostClassifier(n_estimators=7, validation=0.3, random_state=0), 38),
    "dmecc boosting": (
        CostBoostClassifier(n_estimators=7, decision=Decision(member="cost"), validation=0.3, random_state=0),
        38,
    ),
    "any": (CostDecisionClassifier(LogisticRegression(), validation=0.3, random_state=0), 16),
}


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0.7).astype(int)
    return X, y, rng.lognormal(2, 1, size=300)


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_all_options_decide_without_training_and_say_what_they_are(kind, records):
    X, y, fn = records
    estimator, least = ENSEMBLES[kind]
    estimator.fit(X, y, fp_cost=3.0, fn_cost=fn)
    options = decisions_for(estimator)
    assert len(options) >= least
    assert len({option.decision for option in options}) == len(options)
    assert len({option.description for option in options}) == len(options)
    members = estimator.members_
    for option in options:
        other = estimator.with_decision(option.decision)
        assert other.members_ is members
        assert set(other.predict(X, fp_cost=3.0, fn_cost=fn)) <= {0, 1}


def test_the_papers_combinations_are_there(records):
    X, y, fn = records
    bagging = decisions_for(ENSEMBLES["bagging"][0].fit(X, y, fp_cost=3.0, fn_cost=fn))
    listed = {option.decision for option in bagging}
    # The rows of the published tables: dm-rdf with m-estimation and squared odds; rdf by T_cs on the mean; MTA on dm-.
    assert Decision(leaf="m_estimate", member="cost", vote_weight="squared_odds") in listed
    assert Decision(output="average", threshold="cost") in listed
    assert Decision(leaf="m_estimate", member="cost", vote_weight="squared_odds", threshold="cost") in listed
    boosting = decisions_for(ENSEMBLES["boosting"][0].fit(X, y, fp_cost=3.0, fn_cost=fn))
    listed = {option.decision for option in boosting}
    assert Decision(output="vote", calibration="platt", threshold="cost") in listed
    assert Decision(output="vote", vote_weight="squared_odds", threshold="cost") in listed


def test_every_part_is_offered_where_it_has_a_meaning(records):
    X, y, fn = records

    def offered(kind, field):
        estimator = ENSEMBLES[kind][0].fit(X, y, fp_cost=3.0, fn_cost=fn)
        return {getattr(option.decision, field) for option in decisions_for(estimator)}

    fitted = {name for name, kind in CALIBRATIONS.items() if kind.needs_data}
    for kind in ("bagging", "models", "tree", "any"):
        assert offered(kind, "calibration") == {None, *fitted}
    assert offered("boosting", "calibration") == {None, *CALIBRATIONS}
    for kind in ("bagging", "models", "boosting"):
        assert offered(kind, "vote_weight") >= set(BY_ERROR)


def test_metacost_has_no_decisions_to_choose_from(records):
    X, y, _ = records
    taught = MetaCostClassifier(CostTreeClassifier(max_depth=2)).fit(X, y)
    with pytest.raises(TypeError, match="its decision is trained in"):
        decisions_for(taught)
