"""Teams and stacks as small values, and their honest probabilities by cross-fitting."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stakes import Costs
from stakes.decision.calibration import fit_calibration
from stakes.exceptions import DecisionError
from stakes.metrics import savings_score
from stakes.teams.blends import BLENDS, Stack, Team, cross_fit, fit_best, fit_stack, fit_team

FITS = pytest.mark.parametrize("fit", BLENDS.values(), ids=BLENDS)


def problem(n=600, n_models=7, seed=0):
    """Return scores that are miscalibrated in different ways, classes, and costs of each record."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, 4))
    positive = rng.random(n) < 1 / (1 + np.exp(1.5 - signal.sum(axis=1)))
    slope = np.linspace(0.3, 3, n_models)
    noise = rng.normal(size=(n, n_models)) * 0.7
    scores = 1 / (1 + np.exp(1 - slope * (signal[:, np.arange(n_models) % 4] + noise)))
    return scores, positive, Costs(fp=rng.uniform(1, 3, n), fn=rng.exponential(10, n))


def savings(p, positive, costs):
    fp, fn = costs.arrays(positive.size)
    return savings_score(positive.astype(int), (p > costs.threshold()).astype(int), fp_cost=fp, fn_cost=fn)


@FITS
def test_probabilities_are_calibrated_ones(fit):
    scores, positive, costs = problem(12000)
    p = fit(scores[:6000], positive[:6000], costs[:6000])(scores[6000:])
    assert p.min() > 0
    assert p.max() < 1
    assert p.mean() == pytest.approx(positive[6000:].mean(), abs=0.02)


@FITS
def test_together_they_save_more_than_the_best_alone(fit):
    gain = []
    for seed in range(6):
        scores, positive, costs = problem(2000, seed=seed)
        train, test = slice(0, 1000), slice(1000, 2000)
        alone = fit_best(scores[train], positive[train], costs[train], size=1)
        together = fit(scores[train], positive[train], costs[train])
        gain.append(
            savings(together(scores[test]), positive[test], costs[test])
            - savings(alone(scores[test]), positive[test], costs[test])
        )
    assert np.mean(gain) > 0.05


@pytest.mark.parametrize("fit", [fit_best, fit_team])
def test_a_team_of_one_is_that_model(fit):
    scores, positive, costs = problem()
    team = fit(scores[:, :1], positive, costs)
    calibration = fit_calibration("platt_logit", scores[:, 0], positive)
    np.testing.assert_allclose(team(scores[:, :1]), calibration(scores[:, 0]), rtol=1e-12)


def test_a_stack_of_one_calibrated_model_is_nearly_that_model():
    scores, positive, costs = problem()
    stack = fit_stack(scores[:, :1], positive, costs)
    p = fit_calibration("platt_logit", scores[:, 0], positive)(scores[:, 0])
    np.testing.assert_allclose(stack(scores[:, :1]), p, atol=0.01)


@FITS
def test_probabilities_may_be_calibrated_already(fit):
    scores, positive, costs = problem()
    blend = fit(scores, positive, costs, calibration=None)
    assert set(blend.calibrations) == {None}
    columns = [fit_calibration("platt_logit", column, positive) for column in scores.T]
    p = np.column_stack([c(column) for c, column in zip(columns, scores.T, strict=True)])
    np.testing.assert_allclose(fit(p, positive, costs, calibration=None)(p), fit(scores, positive, costs)(scores))


@FITS
def test_models_without_a_weight_may_be_left_out(fit):
    scores, positive, costs = problem(n_models=20)
    blend = fit(scores, positive, costs)
    used = blend.used
    assert used.size < 20
    np.testing.assert_array_equal(blend.take(used)(scores[:, used]), blend(scores))
    spoilt = scores.copy()
    spoilt[:, np.setdiff1d(np.arange(20), used)] = np.nan
    np.testing.assert_array_equal(blend(spoilt), blend(scores))


@FITS
def test_order_duplicates_and_the_unit_of_money_change_no_probability(fit):
    scores, positive, costs = problem()
    p = fit(scores, positive, costs)(scores)
    order = np.random.default_rng(1).permutation(scores.shape[1])
    np.testing.assert_allclose(fit(scores[:, order], positive, costs)(scores[:, order]), p, atol=1e-5)
    twice = np.hstack([scores, scores])
    np.testing.assert_allclose(fit(twice, positive, costs)(twice), p, atol=1e-5)
    hundredfold = Costs(fp=100 * costs.fp, fn=100 * costs.fn)
    np.testing.assert_allclose(fit(scores, positive, hundredfold)(scores), p, atol=1e-9)


@pytest.mark.parametrize("fit", [fit_best, fit_stack])
def test_weights_count_records(fit):
    scores, positive, costs = problem(300)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    rows = np.repeat(np.arange(300), weight)
    weighted = fit(scores, positive, costs, sample_weight=weight)(scores)
    repeated = fit(scores[rows], positive[rows], costs[rows])(scores)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_real_costs_choose_the_models():
    scores, positive, _ = problem()
    n = positive.size
    # What is known says nothing of the records; in truth only those that model 0 finds cost anything.
    found = scores[:, 0] > np.median(scores[:, 0])
    real = Costs(fp=np.where(found, 0.0, 50.0), fn=np.where(found, 50.0, 0.0))
    team = fit_best(scores, positive, Costs(fp=np.full(n, 1.0), fn=np.full(n, 3.0)), real_costs=real, size=1)
    assert team.used.tolist() == [0]


def test_a_stack_without_pull_is_a_logistic_regression_on_logits():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(800, 2))
    positive = rng.random(800) < 1 / (1 + np.exp(1 - z @ [1.0, 0.6]))
    p = 1 / (1 + np.exp(-z))
    stack = fit_stack(p, positive, Costs(fp=1, fn=2), calibration=None, strength=0)
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(z, positive)
    np.testing.assert_allclose(stack.weights, oracle.coef_[0], rtol=1e-3)
    assert stack.intercept == pytest.approx(oracle.intercept_[0], rel=1e-3)


def test_a_strong_pull_gives_the_mean_of_the_five_best():
    scores, positive, costs = problem()
    stack = fit_stack(scores, positive, costs, strength=1e9)
    np.testing.assert_allclose(stack.weights, fit_best(scores, positive, costs).weights, atol=1e-4)


def test_weights_of_a_stack_are_not_negative():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(800, 1))
    positive = rng.random(800) < 1 / (1 + np.exp(-2 * z[:, 0]))
    p = 1 / (1 + np.exp(-np.hstack([z, -z, rng.normal(size=(800, 1))])))
    assert (fit_stack(p, positive, Costs(fp=1, fn=2), calibration=None, strength=0.1).weights >= 0).all()


def test_stakes_weight_the_records_of_a_stack():
    scores, positive, costs = problem()
    at_stake = np.add(*costs.arrays(positive.size))
    plain = fit_stack(scores, positive, costs, calibration=None)
    stakes = fit_stack(scores, positive, costs, calibration=None, by_stakes=True)
    # The same models are chosen by cost; the weights are those of records weighted by hand.
    by_hand = fit_stack(scores, positive, costs, calibration=None, sample_weight=at_stake / at_stake.mean(), size=7)
    np.testing.assert_allclose(stakes.intercept, by_hand.intercept, atol=0.05)
    assert abs(stakes.intercept - plain.intercept) > 1e-3


@FITS
def test_cross_fitting_judges_each_record_by_the_others(fit):
    scores, positive, costs = problem(300)
    folds = np.arange(300) % 3
    p = cross_fit(fit, scores, positive, costs, folds)
    for fold in range(3):
        others = folds != fold
        blend = fit(scores[others], positive[others], costs[others])
        np.testing.assert_array_equal(p[folds == fold], blend(scores[folds == fold]))


@FITS
def test_on_noise_the_cross_fitted_blend_saves_nothing(fit):
    promised, honest = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        positive = rng.random(600) < 0.3
        scores, costs = rng.random((600, 20)), Costs(fp=1.0, fn=7 / 3)  # T_cs is the share of positives
        promised.append(savings(fit(scores, positive, costs)(scores), positive, costs))
        honest.append(savings(cross_fit(fit, scores, positive, costs, np.arange(600) % 5), positive, costs))
    assert np.mean(honest) < 0.01
    assert np.mean(promised) > 0.05


@FITS
def test_options_and_weights_reach_every_fold(fit):
    scores, positive, costs = problem(300)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    p = cross_fit(fit, scores, positive, costs, np.arange(300) % 3, sample_weight=weight, real_costs=costs, size=1)
    others = np.arange(300) % 3 != 0
    blend = fit(scores[others], positive[others], costs[others], sample_weight=weight[others], size=1)
    assert blend.used.size == 1
    np.testing.assert_array_equal(p[::3], blend(scores[::3]))


@FITS
def test_scores_of_one_class_are_an_error(fit):
    with pytest.raises(DecisionError, match="needs records of both classes"):
        fit(np.array([[0.1], [0.2]]), np.array([True, True]), Costs(fp=1, fn=1))


def test_blends_are_values_that_can_be_pickled():
    scores, positive, costs = problem()
    for fit, kind in ((fit_team, Team), (fit_stack, Stack)):
        blend = fit(scores, positive, costs)
        assert isinstance(blend, kind)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(blend))(scores), blend(scores))
