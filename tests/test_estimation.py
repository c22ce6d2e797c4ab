"""Costs that are estimated from the features where they are not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from shared_classifiers import BOTH, TREE, assert_same_trees, by_cost, make
from stakes.exceptions import CostsError, CostsNeededError


@BOTH
def test_unknown_costs_are_estimated_from_the_known_ones(prototype: Any, small: Any, fresh: Any) -> None:
    """A cost that is a linear function of the features is found exactly."""
    fresh = replace(fresh, X=np.nan_to_num(fresh.X))
    fn, fn_fresh = (np.maximum(2 + X @ [1.0, 2, 0, 0, 0], 0.25) for X in (small.X, fresh.X))
    known = np.where((np.arange(240) % 3 == 0) | (fn == 0.25), np.nan, fn)
    clf = make(prototype, cost_estimator=LinearRegression()).fit(small.X, small.y, fp_cost=2.0, fn_cost=known)
    regressor = clf.cost_estimators_["fn_cost"]
    np.testing.assert_allclose(regressor.coef_, [1, 2, 0, 0, 0], atol=1e-9)
    assert list(clf.cost_estimators_) == ["fn_cost"]  # fp_cost is constant: there is nothing to learn
    estimated = np.maximum(regressor.predict(fresh.X), 0)
    assert (estimated == 0).any()
    np.testing.assert_allclose(estimated, np.where(fn_fresh == 0.25, estimated, fn_fresh))
    np.testing.assert_array_equal(clf.predict(fresh.X), clf.predict(fresh.X, fn_cost=estimated))
    given = clf.predict(fresh.X, fn_cost=50.0)
    assert given.sum() > clf.predict(fresh.X).sum()  # what is given wins
    assert clf.score(fresh.X, fresh.y) == clf.score(fresh.X, fresh.y, fp_cost=2.0, fn_cost=estimated)


@BOTH
def test_training_goes_by_the_estimates_where_costs_are_unknown(prototype: Any, small: Any, fresh: Any) -> None:
    known = np.where(np.arange(240) % 3 == 0, np.nan, small.fn)
    model = DecisionTreeRegressor(max_depth=3, random_state=0)
    options = by_cost(prototype)
    clf = make(prototype, cost_estimator=model, **options).fit(small.X, small.y, fp_cost=small.fp, fn_cost=known)
    rows = ~np.isnan(known)
    filled = np.where(rows, small.fn, clone(model).fit(small.X[rows], small.fn[rows]).predict(small.X))
    told = make(prototype, **options).fit(small.X, small.y, fp_cost=small.fp, fn_cost=filled)
    assert_same_trees(clf, told)
    assert list(clf.cost_estimators_) == ["fp_cost", "fn_cost"]


def test_one_cost_can_be_estimated_and_the_other_not(small: Any, fresh: Any) -> None:
    clf = make(TREE, cost_estimator={"fp_cost": DummyRegressor()}).fit(small.X, small.y, **small.costs)
    with pytest.raises(CostsNeededError, match="fn_cost was different"):
        clf.predict(fresh.X)
    np.testing.assert_array_equal(
        clf.predict(fresh.X, fn_cost=fresh.fn), clf.predict(fresh.X, fn_cost=fresh.fn, fp_cost=small.fp.mean())
    )
    both = make(TREE, cost_estimator={"fp_cost": DummyRegressor(), "fn_cost": DummyRegressor(strategy="median")})
    both.fit(small.X, small.y, **small.costs)
    np.testing.assert_array_equal(
        both.predict(fresh.X), clf.predict(fresh.X, fn_cost=np.median(small.fn), fp_cost=small.fp.mean())
    )


def test_estimated_costs_serve_validation_records_too(small: Any, fresh: Any) -> None:
    clf = make(TREE, cost_estimator=DummyRegressor()).fit(small.X, small.y, **small.costs, X_val=fresh.X, y_val=fresh.y)
    np.testing.assert_allclose(clf.validation_.records.costs.fn, small.fn.mean())


def test_costs_that_cannot_be_estimated_are_errors(small: Any) -> None:
    with pytest.raises(CostsError, match="fn_cost is NaN in all 240 records"):
        make(TREE, cost_estimator=DummyRegressor()).fit(small.X, small.y, fn_cost=np.full(240, np.nan))
    with pytest.raises(CostsError, match=r"has the keys \['amount'\]: give 'fp_cost', 'fn_cost' or both"):
        make(TREE, cost_estimator={"amount": DummyRegressor()}).fit(small.X, small.y)
    with pytest.raises(CostsError, match="fn_cost is not finite"):
        make(TREE, cost_estimator={"fp_cost": DummyRegressor()}).fit(small.X, small.y, fn_cost=np.full(240, np.nan))


def test_the_regressor_given_is_never_fitted(small: Any) -> None:
    model = LinearRegression()
    make(TREE, cost_estimator=model).fit(small.X, small.y, **small.costs)
    with pytest.raises(NotFittedError):
        model.predict(small.X)
