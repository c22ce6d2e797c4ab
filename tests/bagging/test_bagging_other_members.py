"""Members that are other classifiers, and samplers of other packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ensembles import SAMPLINGS, Remembering, assert_same_trees, bagging, nodes_of
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from stakes import Decision
from stakes.exceptions import DecisionError, SamplingError
from stakes.sampling import HybridSampler, UnderSampler


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), SVC(), GaussianNB(), DecisionTreeClassifier(max_depth=3), KNeighborsClassifier()],
)
def test_any_classifier_can_be_a_member(estimator: Any, small: Any, fresh: Any) -> None:
    X = np.nan_to_num(fresh.X)
    y = np.array(["no", "yes"])[small.y]
    sampler = Remembering()
    clf = bagging(estimator, sampling=sampler).fit(small.X, y, **small.costs)
    says = []
    for counts, mine in zip(sampler.drawn, clf.estimators_, strict=True):
        rows = np.repeat(np.arange(240), counts)
        alone = clone(estimator)
        if "random_state" in alone.get_params():
            alone.set_params(random_state=mine.random_state)
        alone.fit(small.X[rows], y[rows])
        says.append(alone.predict_proba(X)[:, 1] if hasattr(alone, "predict_proba") else alone.predict(X) == "yes")
    expected = np.mean(says, axis=0)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expected, rtol=1e-6)
    np.testing.assert_array_equal(clf.predict(X, **fresh.costs) == "yes", expected > fresh.fp / (fresh.fp + fresh.fn))
    by_probability = [Decision(member="cost"), Decision(member="tuned", vote_weight="log_odds")]
    for decision in [Decision(threshold="tuned"), *(by_probability if hasattr(estimator, "predict_proba") else [])]:
        assert set(clf.with_decision(decision).predict(X, **fresh.costs)) <= {"no", "yes"}
    assert clf.oob_cost_ > 0
    with pytest.raises(DecisionError, match="is about trees"):
        clf.with_decision(Decision(leaf="laplace", threshold="cost")).predict(X, **fresh.costs)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("presample", [False, True])
def test_samplings_work_with_other_classifiers(sampling: str, presample: bool, small: Any) -> None:
    clf = bagging(GaussianNB(), sampling=sampling, presample=presample).fit(small.X, small.y, fp_cost=1, fn_cost=4)
    assert clf.score(small.X, small.y) > 0
    n = np.array([model.class_count_ for model in clf.estimators_]).mean(axis=0)
    assert n[1] / n[0] == pytest.approx(4 * small.y.sum() / (240 - small.y.sum()), rel=0.25)


def test_members_of_other_kinds_are_weighed_by_cost(small: Any) -> None:
    """In naive Bayes the weights of the classes are its prior."""
    sampler = Remembering()
    weight = 1.0 + np.arange(240) % 3
    cost = np.where(small.y == 1, small.fn, small.fp)
    for sample_weight in (None, weight):
        sampler = Remembering()
        clf = bagging(GaussianNB(), sampling=sampler, weighted=True)
        clf.fit(small.X, small.y, **small.costs, sample_weight=sample_weight)
        for counts, model in zip(sampler.drawn, clf.estimators_, strict=True):
            w = counts * cost * (1.0 if sample_weight is None else sample_weight)
            np.testing.assert_allclose(model.class_prior_[1], w[small.y == 1].sum() / w.sum())
    with pytest.raises(
        ValueError, match=r"weighted=True needs members that take sample_weight: KNeighborsClassifier\(\)"
    ):
        bagging(KNeighborsClassifier(), weighted=True).fit(small.X, small.y)


@pytest.mark.parametrize(
    "sampler", [RandomUnderSampler(sampling_strategy=1.0), RandomOverSampler(), SMOTE(k_neighbors=3)], ids=str
)
@pytest.mark.parametrize("presample", [False, True])
@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_samplers_of_imbalanced_learn_are_accepted(sampler: Any, presample: bool, estimator: Any, small: Any) -> None:
    clf = bagging(estimator, sampling=sampler, presample=presample).fit(small.X, small.y, **small.costs)
    if estimator is None:
        negative, positive = nodes_of(clf).counts[clf.members_.trees.roots].mean(axis=0)
    else:
        negative, positive = np.mean([model.class_count_ for model in clf.estimators_], axis=0)
    assert positive / negative == pytest.approx(1.0, rel=0.15 if presample else 1e-12)
    assert clf.score(small.X, small.y, **small.costs) > 0.2
    assert getattr(sampler, "random_state", None) is None
    assert not hasattr(sampler, "sampling_strategy_")


def test_samplers_of_this_package_are_accepted(small: Any) -> None:
    by_name = bagging(sampling="hybrid").fit(small.X, small.y, fn_cost=4)
    assert_same_trees(by_name, bagging(sampling=HybridSampler()).fit(small.X, small.y, fn_cost=4))
    under = bagging(sampling="under").fit(small.X, small.y, fn_cost=4)
    assert_same_trees(under, bagging(sampling=HybridSampler(share=1.0)).fit(small.X, small.y, fn_cost=4))
    with pytest.raises(SamplingError, match="brings costs of its own"):
        bagging(sampling=UnderSampler(fn_cost=3)).fit(small.X, small.y)
    with pytest.raises(SamplingError, match=r"sampling='bootstrap' is not known.*'under'"):
        bagging(sampling="bootstrap").fit(small.X, small.y)
