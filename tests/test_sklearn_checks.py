"""scikit-learn's own checks.

The failures expected are those that scikit-learn declares for its own ensembles with bootstraps, `BaggingClassifier`
and `RandomForestClassifier` (``sklearn.utils._test_common.instance_generator.PER_ESTIMATOR_XFAIL_CHECKS``): a sample of
weighted records is not a sample of repeated ones. It declares none for `DecisionTreeClassifier`. The check of class
weights is passed by that tree only because the check sets `min_weight_fraction_leaf`, which ours lack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_class_weight_classifiers, parametrize_with_checks

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostGradientBoostingClassifier,
    CostStackingClassifier,
    CostTeamClassifier,
    CostTreeClassifier,
    Decision,
)

REPEATED = "sample_weight is not equivalent to removing/repeating samples."
SAMPLED = {
    "check_sample_weight_equivalence_on_dense_data": REPEATED,
    "check_sample_weight_equivalence_on_sparse_data": REPEATED,
}
# Folds are sampled, too: repeated records come into different ones. LightGBM bins records and counts those in a leaf
# whatever they weigh.
EXPECTED_FAILURES: dict[type, dict[str, str]] = dict.fromkeys(
    (CostBaggingClassifier, CostGradientBoostingClassifier, CostTeamClassifier, CostStackingClassifier), SAMPLED
)
# Leaves of one class say the same whatever its weight. The check bounds the weight of leaves by a parameter of trees,
# which ensembles leave to their members.
PURE_LEAVES = {"check_class_weight_classifiers": "min_weight_fraction_leaf is a parameter of the members."}

FEW: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
SOME = [("tree", CostTreeClassifier(max_depth=3)), ("bagging", CostBaggingClassifier(**FEW))]
ESTIMATORS = [
    CostTreeClassifier(),
    CostTreeClassifier(criterion="cost", pruning="reduced_error", pruning_measure="cost", validation=None),
    CostBaggingClassifier(**FEW),
    CostBaggingClassifier(features="per_split", weighted=True, **FEW),
    CostBaggingClassifier(decision=Decision(member="tuned", vote_weight="log_odds", threshold="tuned"), **FEW),
    CostBaggingClassifier(CostTreeClassifier(splitter="random"), features="per_split", **FEW),
    CostBaggingClassifier(DecisionTreeClassifier(max_depth=3), **FEW),
    CostGradientBoostingClassifier(refinement=2, **FEW),
    CostTeamClassifier(SOME, cv=2, random_state=0),
    CostStackingClassifier(SOME, cv=2, random_state=0),
]
# The same classes with other options, which do not change how they take their input.
VARIANTS = [
    CostTreeClassifier(criterion="gain_ratio", leaf="laplace"),
    CostTreeClassifier(criterion="cost"),
    CostTreeClassifier(pruning="cost_complexity", validation=None),
    CostBaggingClassifier(features="per_tree", sampling="cpr", **FEW),
    CostBaggingClassifier(sampling="under", presample=True, **FEW),
    CostGradientBoostingClassifier(objective="weighted", **FEW),
]


def expected_failures(estimator: Any) -> dict[str, str]:
    # Decisions that are tuned on weighted validation records make up for pure leaves, and leaves of five are not pure.
    bagging = isinstance(estimator, CostBaggingClassifier) and estimator.decision is None
    pure = bagging and (estimator.estimator is not None or estimator.sampling is not None)
    return EXPECTED_FAILURES.get(type(estimator), {}) | (PURE_LEAVES if pure else {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check_passes(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_scikit_learn_check_passes_with_other_options(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        CostBaggingClassifier(CostTreeClassifier(min_impurity_decrease=1e-6), **FEW),
        CostBaggingClassifier(CostTreeClassifier(min_weight_fraction_leaf=0.01), **FEW),
        CostBaggingClassifier(CostTreeClassifier(min_weight_fraction_leaf=0.01), weighted=True, **FEW),
        CostBoostClassifier(CostTreeClassifier(max_depth=1, min_weight_fraction_leaf=0.01), **FEW),
        CostBaggingClassifier(DecisionTreeClassifier(min_weight_fraction_leaf=0.01), **FEW),
    ],
    ids=str,
)
def test_class_weights_decide_where_leaves_are_not_pure(estimator: Any) -> None:
    check_class_weight_classifiers(type(estimator).__name__, estimator)


def test_class_weights_do_not_decide_in_pure_leaves_of_scikit_learn_either() -> None:
    class FullyGrown(DecisionTreeClassifier):
        def set_params(self, **params: Any) -> FullyGrown:
            params.pop("min_weight_fraction_leaf", None)
            return super().set_params(**params)

    check_class_weight_classifiers("DecisionTreeClassifier", DecisionTreeClassifier())
    with pytest.raises(AssertionError):
        check_class_weight_classifiers("FullyGrown", FullyGrown())


def test_no_other_failure_is_expected_that_scikit_learn_does_not_expect_of_its_own() -> None:
    own = pytest.importorskip("sklearn.utils._test_common.instance_generator").PER_ESTIMATOR_XFAIL_CHECKS
    names = {cls.__name__: set(checks) for cls, checks in own.items()}
    assert "DecisionTreeClassifier" not in names
    declared = names["BaggingClassifier"] | names["RandomForestClassifier"]
    assert set().union(*map(expected_failures, ESTIMATORS + VARIANTS)) - set(PURE_LEAVES) <= declared
