"""Samplers by name, and samplers from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from imblearn import FunctionSampler
from imblearn.combine import SMOTEENN
from imblearn.over_sampling import ADASYN, SMOTE, RandomOverSampler
from imblearn.under_sampling import ClusterCentroids, NearMiss, RandomUnderSampler
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from stakes import Costs
from stakes.exceptions import SamplingError
from stakes.sampling import (
    SAMPLERS,
    Bootstrap,
    CPRSampler,
    ForeignSampler,
    HybridSampler,
    UnderSampler,
    make_sampler,
)

rng = np.random.default_rng(0)
y = np.where(rng.permutation(60) < 15, 1, 0)
X = rng.normal(size=(60, 2)) + y[:, None]
COSTS = Costs(fp=1, fn=1)


def draw(sampler: Any, records: Any = X, seed: int = 0) -> Any:
    return make_sampler(sampler).draw(y, COSTS, np.random.default_rng(seed), records)


@pytest.mark.parametrize(("name", "cls"), SAMPLERS.items())
def test_a_name_makes_its_sampler(name: str, cls: type) -> None:
    assert type(make_sampler(name)) is cls


def test_no_name_is_the_bootstrap() -> None:
    assert isinstance(make_sampler(None), Bootstrap)


def test_a_sampler_of_ours_is_taken_as_it_is() -> None:
    sampler = HybridSampler(share=0.2)
    assert make_sampler(sampler) is sampler


@pytest.mark.parametrize("unknown", ["undersampling", 3, UnderSampler, RandomUnderSampler, object()])
def test_anything_else_is_an_error_that_lists_the_choices(unknown: Any) -> None:
    with pytest.raises(SamplingError, match=r"'under', 'over', 'hybrid', 'smote', 'cpr'.*fit_resample"):
        make_sampler(unknown)


def test_a_sampler_with_costs_of_its_own_is_an_error_rather_than_ignored() -> None:
    with pytest.raises(SamplingError, match="leave fp_cost and fn_cost out"):
        make_sampler(CPRSampler(fn_cost=10))


@pytest.mark.parametrize("sampler", [RandomUnderSampler(), RandomOverSampler(), NearMiss()], ids=str)
@pytest.mark.parametrize("convert", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_picked_records_are_multiplicities(sampler: Any, convert: Any) -> None:
    sample = draw(sampler, convert(X))
    assert sample.X_new is None
    assert sample.counts[y == 0].sum() == sample.counts[y == 1].sum()
    assert sample.counts.shape == (60,)
    np.testing.assert_array_equal(
        sample.counts, make_sampler(sampler).counts(y, COSTS, np.random.default_rng(0), convert(X))
    )


@pytest.mark.parametrize("sampler", [ADASYN(), SMOTE(k_neighbors=3)], ids=str)
@pytest.mark.parametrize("convert", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_generated_records_come_after_all_originals(sampler: Any, convert: Any) -> None:
    sample = draw(sampler, convert(X))
    np.testing.assert_array_equal(sample.counts, np.ones(60))
    assert type(sample.X_new) is type(convert(X))
    assert sample.X_new.shape[0] == sample.y_new.size > 20
    assert sample.y_new.all()


def test_a_sampler_that_generates_and_cleans_is_told_apart_by_content() -> None:
    sample = draw(SMOTEENN(smote=SMOTE(k_neighbors=3)))
    assert set(np.unique(sample.counts)) == {0, 1}
    assert sample.X_new.shape[0] > 0
    originals = {tuple(row) for row in X.tolist()}
    assert not any(tuple(row) in originals for row in sample.X_new.tolist())


def test_centroids_are_new_records_but_for_clusters_of_one() -> None:
    sample = draw(ClusterCentroids(voting="soft"))
    assert sample.counts[y == 1].sum() == 15
    assert sample.counts[y == 0].sum() + sample.y_new.size == 15
    assert sample.y_new.size > 5
    assert not sample.y_new.any()


def test_a_smoothed_bootstrap_is_not_taken_for_copies() -> None:
    sample = draw(RandomOverSampler(shrinkage=0.5))
    np.testing.assert_array_equal(sample.counts, np.ones(60))
    assert sample.X_new.shape == (30, 2)


def test_copies_without_numbers_are_found_with_their_multiplicity() -> None:
    """Records 0 and 1 are equal: two copies are one each, a third is the second of one of them."""
    twins, rows = X.copy(), [0, 1, 0, 5, 5, 5, *range(10, 60)]
    twins[1] = twins[0]
    labels = y.copy()
    labels[1] = labels[0]
    copier = FunctionSampler(func=lambda X, y: (X[rows], y[rows]))
    sample = make_sampler(copier).draw(labels, COSTS, np.random.default_rng(0), twins)
    assert sorted(sample.counts[:2]) == [1, 2]
    np.testing.assert_array_equal(sample.counts[2:], [0, 0, 0, 3, 0, 0, 0, 0] + [1] * 50)
    assert sample.y_new.size == 0


def test_the_generator_seeds_every_random_state_and_the_object_stays_as_it_was() -> None:
    sampler = SMOTEENN(smote=SMOTE(k_neighbors=3, random_state=1), random_state=1)
    first, again, other = (draw(sampler, seed=seed).X_new for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert sampler.random_state == sampler.smote.random_state == 1
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(sampler, "sampling_strategy_")


def test_a_sampler_can_name_the_labels() -> None:
    sampler = RandomUnderSampler(sampling_strategy={"no": 20, "yes": 10})
    sample = make_sampler(sampler, classes=["no", "yes"]).draw(y, COSTS, np.random.default_rng(0), X)
    assert sample.counts[y == 0].sum() == 20
    assert sample.counts[y == 1].sum() == 10
    sample = make_sampler(SMOTE(sampling_strategy={"yes": 20}), classes=["no", "yes"]).draw(
        y, COSTS, np.random.default_rng(0), X
    )
    np.testing.assert_array_equal(sample.y_new, np.ones(5))


def test_a_sampler_from_elsewhere_needs_the_features() -> None:
    with pytest.raises(SamplingError, match=r"RandomUnderSampler.*X was not given"):
        make_sampler(RandomUnderSampler()).counts(y, COSTS, rng)


def test_a_sampler_that_leaves_one_class_is_an_error() -> None:
    keep_positives = FunctionSampler(func=lambda X, y: (X[y == 1], y[y == 1]))
    with pytest.raises(SamplingError, match="FunctionSampler left one class"):
        draw(keep_positives)


def test_costs_do_not_act_in_a_sampler_from_elsewhere() -> None:
    assert not ForeignSampler(RandomUnderSampler()).uses_costs
    assert make_sampler("under").uses_costs
