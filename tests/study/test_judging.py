"""No record both tunes and judges: the cuts that decide on a fold are chosen on the others."""

from dataclasses import replace

import numpy as np
import pytest

from stakes import Costs, Decision
from stakes.decision.calibration import fit_calibration
from stakes.decision.readings import Readings, Source
from stakes.metrics import tuned_threshold
from stakes.records import Records
from stakes.study.choice import allowed_share
from stakes.study.judging import Read, judge
from stakes.study.plan import Config

TUNED, CALIBRATED = Decision(threshold="tuned"), Decision(calibration="platt", threshold="cost")
fold = np.arange(3000) % 3


def scored(n, seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    score = np.clip(0.3 * positive + rng.uniform(0, 0.7, n), 0, 1)
    costs = Costs(fp=rng.integers(1, 5, n), fn=rng.integers(1, 20, n))
    return Readings({Source("average", "frequency"): score}, {}), score, Records(None, positive, costs)


def threshold_of(score, records, **limits):
    fp, fn = records.costs.arrays(len(records))
    return tuned_threshold(records.positive.astype(int), score, fp_cost=fp, fn_cost=fn, **limits)


def test_a_fold_is_decided_by_what_was_chosen_on_the_others():
    readings, score, records = scored(3000, 0)
    found = judge([TUNED, CALIBRATED], Read(readings, records), fold, Config())
    for k in range(3):
        here, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        tuned = score[here] > threshold_of(score[others], records.take(others))
        calibration = fit_calibration("platt", score[others], records.positive[others])
        calibrated = calibration(score[here]) > records.costs.threshold()[here]
        np.testing.assert_array_equal(found.outcomes[:, here], [tuned, calibrated])
    assert found.tested is None
    assert found.limited is None


def test_new_records_are_decided_by_what_was_chosen_on_all():
    readings, score, records = scored(300, 0)
    test_readings, test_score, test = scored(100, 1)
    found = judge([TUNED], Read(readings, records), fold[:300], Config(), Read(test_readings, test))
    np.testing.assert_array_equal(found.tested[0], test_score > threshold_of(score, records))


@pytest.mark.parametrize(("limit", "counted"), [("max_fpr", "negatives"), ("max_acted", "all")])
def test_limits_are_kept_with_a_margin_for_new_records(limit, counted):
    readings, score, records = scored(3000, 0)
    among = ~records.positive if counted == "negatives" else np.ones(3000, bool)
    allowed = allowed_share(0.1, int(among.sum()))
    assert allowed < 0.1
    found = judge([TUNED], Read(readings, records), fold, replace(Config(), **{limit: 0.1}))
    np.testing.assert_array_equal(found.limited[0], score > threshold_of(score, records, **{limit: allowed}))
    assert found.limited[0][among].mean() <= allowed
