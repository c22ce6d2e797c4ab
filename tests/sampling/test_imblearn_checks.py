"""imbalanced-learn's own checks.

Their data have three classes, so the instances name the positive one; and equal costs change nothing, so the
instances have unequal ones.
"""

from __future__ import annotations

from collections.abc import Callable

from imblearn.utils.estimator_checks import parametrize_with_checks

from stakes.sampling import SAMPLERS, CostSampler


@parametrize_with_checks([cls(fp_cost=1.0, fn_cost=2.0, pos_label=1, random_state=0) for cls in SAMPLERS.values()])
def test_imbalanced_learn_check_passes(estimator: CostSampler, check: Callable[[CostSampler], None]) -> None:
    check(estimator)
