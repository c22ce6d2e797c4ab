"""T_cs with scaled odds, against all factors there are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

from stakes import CostDecisionClassifier, Costs, Decision, decisions_for
from stakes.datasets import make_churn
from stakes.decision.cuts import fit_cuts
from stakes.decision.readings import Readings, Source
from stakes.decision.threshold_rules import CostThreshold, Scaled
from stakes.encoded import EncodedClassifier
from stakes.exceptions import CostsNeededError
from stakes.records import Records


def total_cost(scores, records, factor):
    """Return the cost of acting where the odds of the score are above `factor` times those of T_cs, in plain loops."""
    known_fp, known_fn = records.known.arrays(len(records))
    fp, fn = records.costs.arrays(len(records))
    weight = np.ones(len(records)) if records.weight is None else records.weight
    total = 0.0
    for i, p in enumerate(scores):
        # p / (1 - p) > factor fp / fn, without dividing by zero
        acted = p * known_fn[i] > factor * known_fp[i] * (1 - p) and p > 0 and known_fn[i] > 0
        if acted and not records.positive[i]:
            total += weight[i] * fp[i]
        if not acted and records.positive[i]:
            total += weight[i] * fn[i]
    return total


def all_factors(scores, records):
    """Return a factor between each two neighbouring ratios of odds, and one beyond each end."""
    fp, fn = records.known.arrays(len(records))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = scores / (1 - scores) * fn / fp
    ratios = np.unique(ratios[(ratios > 0) & np.isfinite(ratios)])
    if not ratios.size:
        return np.array([1.0])
    return np.concatenate(([ratios[0] / 2], np.sqrt(ratios[1:] * ratios[:-1]), [ratios[-1] * 2]))


def random_records(seed, n=40, *, weighted=False):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    scores = np.clip(np.round(0.3 * positive + rng.uniform(0, 0.7, n), 2), 0, 1)
    known, real = (Costs(fp=rng.integers(1, 5, n), fn=rng.integers(1, 20, n)) for _ in range(2))
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    return scores, Records(None, positive, real, weight, known_costs=known if seed % 2 else None)


@given(st.integers(0, 10**6), st.booleans())
def test_the_factor_is_the_cheapest_of_all_or_one(seed, weighted):
    scores, records = random_records(seed, weighted=weighted)
    factor = Scaled.fit(scores, records).factor
    least = min(total_cost(scores, records, f) for f in all_factors(scores, records))
    if factor == 1:
        # What the best factor gains is two standard errors at most: each record's gain is its loss at most.
        gain = total_cost(scores, records, 1.0) - least
        assert gain <= 2 * np.sqrt((records.loss**2).sum()) + 1e-9
    else:
        assert total_cost(scores, records, factor) == pytest.approx(least)


def test_a_factor_of_one_is_t_cs_to_the_last_bit():
    costs = Costs(fp=np.random.default_rng(0).uniform(0, 1, 1000), fn=np.random.default_rng(1).uniform(0, 9, 1000))
    np.testing.assert_array_equal(Scaled(1.0)(costs), CostThreshold()(costs))


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_the_threshold_is_between_0_and_1_and_scales_the_odds(factor, fp, fn):
    scaled = Scaled(factor)(Costs(fp=fp, fn=fn))
    assert 0 < scaled < 1
    assert scaled / (1 - scaled) == pytest.approx(factor * fp / fn, rel=1e-3)


def test_where_a_mistake_costs_nothing_the_factor_changes_nothing():
    np.testing.assert_array_equal(Scaled(3.0)(Costs(fp=[0, 2], fn=[2, 0])), [0.0, 1.0])


def test_odds_that_are_off_by_a_factor_are_mended():
    rng = np.random.default_rng(0)
    truth = rng.beta(1, 6, 30_000)
    positive = rng.random(truth.size) < truth
    sampled = 8 * truth / (1 - truth + 8 * truth)  # as of a model that has seen an eighth of the negatives
    records = Records(None, positive, Costs(fp=1.0, fn=rng.exponential(8, truth.size)))
    scaled = Scaled.fit(sampled, records)
    assert scaled.factor == pytest.approx(8, rel=0.15)
    best = total_cost(truth, records, 1.0)
    assert total_cost(sampled, records, scaled.factor) < 1.01 * best
    assert total_cost(sampled, records, 1.0) > 1.3 * best


def test_probabilities_that_are_right_keep_the_factor_near_one_and_cost_nothing():
    factors, extra = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.beta(1, 4, 4000)
        positive = rng.random(p.size) < p
        records = Records(None, positive, Costs(fp=1.0, fn=rng.exponential(5, p.size)))
        factor = Scaled.fit(p[:2000], records.take(np.arange(2000))).factor
        factors.append(factor)
        new = records.take(np.arange(2000, 4000))
        extra.append(total_cost(p[2000:], new, factor) / total_cost(p[2000:], new, 1.0) - 1)
    assert np.mean([factor == 1 for factor in factors]) > 0.7
    assert np.abs(np.log(factors)).max() < 0.7
    assert np.mean(extra) < 0.01


def test_scores_of_0_and_1_and_costs_of_nothing_are_decided_as_they_are_by_t_cs():
    scores = np.array([0.0, 1.0, 0.5, 0.5, 0.0, 1.0])
    costs = Costs(fp=[1.0, 1.0, 0.0, 1.0, 0.0, 1.0], fn=[1.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    records = Records(None, np.array([True, False, False, True, True, False]), costs)
    assert Scaled.fit(scores, records).factor == 1
    for factor in (1e-3, 1e3):
        np.testing.assert_array_equal(scores > Scaled(factor)(costs), scores > costs.threshold())


def test_limits_hold_on_the_records_also_where_a_factor_of_one_breaks_them():
    scores, records = random_records(4, 400)
    for at_most, share in ((0.1, np.ones(400, bool)), (0.05, ~records.positive)):
        threshold = Scaled.fit(scores, records, [(share, at_most)])(records.known)
        assert (scores > records.known.threshold())[share].mean() > 0.2
        assert (scores > threshold)[share].mean() <= at_most


@pytest.mark.parametrize("seed", range(6, 36))
def test_weights_count_records(seed):
    scores, records = random_records(seed, 200, weighted=True)
    rows = np.repeat(np.arange(200), records.weight.astype(int))
    repeated = replace(records, weight=None).take(rows)
    assert Scaled.fit(scores, records) == Scaled.fit(scores[rows], repeated)


def test_costs_are_needed_to_decide():
    with pytest.raises(CostsNeededError):
        Scaled(2.0)(None)


def test_a_model_of_balanced_classes_is_mended_and_still_follows_costs():
    train, _, test = make_churn(8000, random_state=0).parts()
    balanced = EncodedClassifier(
        HistGradientBoostingClassifier(class_weight="balanced", max_iter=30, max_depth=3, random_state=0)
    )
    clf = CostDecisionClassifier(balanced, threshold="scaled", random_state=0)
    clf.fit(train.frame, train.target, fp_cost=train.costs.fp, fn_cost=train.costs.fn)
    assert clf.cut_.threshold.factor > 1.5
    plain = clf.with_decision(Decision(output="average", threshold="cost"))
    fp, fn = test.costs.fp, test.costs.fn
    saved = [c.score(test.frame, test.target, fp_cost=fp, fn_cost=fn) for c in (clf, plain)]
    assert saved[0] > saved[1] + 0.03
    few, many = (clf.predict(test.frame, fp_cost=fp, fn_cost=k * fn).mean() for k in (0.5, 5))
    assert few < many
    assert clf.decision_ in [option.decision for option in decisions_for(clf)]


def test_a_cut_has_the_factor():
    scores, records = random_records(1, 300)
    decision = Decision(output="average", threshold="scaled")
    readings = Readings({Source.of(decision, "average"): scores**2}, {})
    (cut,) = fit_cuts([decision], readings, records)
    assert cut.threshold == Scaled.fit(scores**2, records)
    np.testing.assert_array_equal(cut.outcomes(readings, records.known), scores**2 > cut.threshold(records.known))
