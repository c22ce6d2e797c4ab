"""How records are divided: at random, by groups, and forward in time."""

import numpy as np
import pytest

from stakes.study.folds import cut_in_time, divide, forward_folds, random_folds


def test_parts_have_their_shares_of_either_class():
    positive = np.arange(1000) % 10 == 0
    part = divide(positive, [0.5, 0.3, 0.2], np.random.default_rng(0))
    assert np.bincount(part).tolist() == [500, 300, 200]
    assert np.bincount(part[positive]).tolist() == [50, 30, 20]


def test_groups_stay_together_and_parts_are_near_their_shares():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 120, 1000)
    positive = rng.random(1000) < np.where(groups % 4 == 0, 0.6, 0.05)
    part = divide(positive, [0.75, 0.25], rng, groups)
    assert all(np.unique(part[groups == group]).size == 1 for group in np.unique(groups))
    assert np.mean(part == 1) == pytest.approx(0.25, abs=0.02)
    assert np.mean(part[positive] == 1) == pytest.approx(0.25, abs=0.03)


def test_each_record_is_judged_once_by_a_model_that_was_not_trained_on_it():
    folds = random_folds(np.arange(50) % 3 == 0, 4, np.random.default_rng(0))
    assert len(folds) == 4
    judged = np.concatenate([folds.judged(k) for k in range(4)])
    assert sorted(judged) == list(range(50)) == folds.all_judged.tolist()
    for k in range(4):
        assert sorted([*folds.judged(k), *folds.trained(k)]) == list(range(50))


def test_forward_in_time_models_are_trained_on_what_came_before():
    time = np.random.default_rng(0).integers(0, 30, 200)
    assert forward_folds(np.array([3, 1, 2, 2, 5, 4]), 2).fold.tolist() == [0, -1, -1, -1, 1, 1]
    folds = forward_folds(time, 4)
    assert len(folds) == 4
    for k in range(4):
        assert time[folds.trained(k)].max() < time[folds.judged(k)].min()
    assert time[np.setdiff1d(np.arange(200), folds.all_judged)].max() < time[folds.all_judged].min()
    assert np.bincount(folds.fold + 1).min() > 20


def test_the_latest_records_are_for_testing():
    time = np.array([3, 1, 2, 5, 4, 5])
    assert cut_in_time(time, 0.3).tolist() == [False, False, False, True, False, True]
