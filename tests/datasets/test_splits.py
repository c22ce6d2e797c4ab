import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stakes.datasets import SplitPlan


def classes(n: int, rate: float = 0.3) -> np.ndarray:
    return (np.arange(n) < rate * n).astype(np.int64)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(60, 800),
    rate=st.floats(0.1, 0.9),
    sizes=st.tuples(*[st.integers(1, 5)] * 3),
    repeat=st.integers(0, 5),
    seed=st.integers(0, 2**32),
)
def test_parts_are_disjoint_complete_and_stratified(n, rate, sizes, repeat, seed):
    y = classes(n, rate)
    split = SplitPlan(*sizes).split(y, repeat=repeat, seed=seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(n))
    for rows, size in zip(split, sizes, strict=True):
        assert abs(len(rows) - n * size / sum(sizes)) <= 1
        assert abs(y[rows].sum() - len(rows) * y.mean()) <= 2  # two draws, each rounds the class sizes
        assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("sizes", [(4508, 1127, 1408), (50, 20, 30)])
def test_sizes_are_met_exactly_by_the_dataset_they_are_meant_for(sizes):
    assert tuple(map(len, SplitPlan(*sizes).split(classes(sum(sizes)), repeat=1, seed=7))) == sizes


def test_a_repeat_changes_training_and_validation_but_not_the_test_set():
    plan, y = SplitPlan(60, 20, 20), classes(500)
    first, again, second = (plan.split(y, repeat=r, seed=0) for r in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first.test, second.test)
    assert not np.array_equal(first.train, second.train)


def test_another_seed_draws_another_test_set():
    plan, y = SplitPlan(60, 20, 20), classes(500)
    assert not np.array_equal(plan.split(y, repeat=0, seed=0).test, plan.split(y, repeat=0, seed=1).test)


def test_given_test_rows_are_kept_and_the_rest_is_divided():
    test = np.arange(300, 500)
    split = SplitPlan(2, 1, test).split(classes(500), repeat=0, seed=0)
    np.testing.assert_array_equal(split.test, test)
    assert (len(split.train), len(split.validation)) == (200, 100)
    assert max(split.train.max(), split.validation.max()) < 300


def test_splitting_leaves_the_global_random_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    SplitPlan(60, 20, 20).split(classes(500), repeat=0, seed=0)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
