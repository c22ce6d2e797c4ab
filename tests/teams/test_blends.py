"""Teams and stacks as small values, and their honest probabilities by cross-fitting."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stakes import Costs
from stakes.decision.calibration import fit_calibration
from stakes.exceptions import DecisionError
from stakes.metrics import savings_score
from stakes.records import Records
from stakes.teams.blends import BLENDS, Stack, Team, cross_fit, fit_best, fit_stack, fit_team

FITS = pytest.mark.parametrize("fit", BLENDS.values(), ids=BLENDS)


def problem(n=600, n_models=7, seed=0):
    """Return scores that are miscalibrated in different ways, and records with different costs."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, 4))
    positive = rng.random(n) < 1 / (1 + np.exp(1.5 - signal.sum(axis=1)))
    slope = np.linspace(0.3, 3, n_models)
    noise = rng.normal(size=(n, n_models)) * 0.7
    scores = 1 / (1 + np.exp(1 - slope * (signal[:, np.arange(n_models) % 4] + noise)))
    return scores, Records(None, positive, Costs(fp=rng.uniform(1, 3, n), fn=rng.exponential(10, n)))


def savings(p, records):
    fp, fn = records.costs.arrays(len(records))
    decided = (p > records.known.threshold()).astype(int)
    return savings_score(records.positive.astype(int), decided, fp_cost=fp, fn_cost=fn)


@FITS
def test_probabilities_are_calibrated_ones(fit):
    scores, records = problem(12000)
    train, test = np.arange(6000), np.arange(6000, 12000)
    p = fit(scores[train], records.take(train))(scores[test])
    assert p.min() > 0
    assert p.max() < 1
    assert p.mean() == pytest.approx(records.positive[test].mean(), abs=0.02)


@FITS
def test_together_they_save_more_than_the_best_alone(fit):
    gain = []
    for seed in range(6):
        scores, records = problem(2000, seed=seed)
        train, test = np.arange(1000), np.arange(1000, 2000)
        alone = fit_best(scores[train], records.take(train), size=1)
        together = fit(scores[train], records.take(train))
        saved = [savings(blend(scores[test]), records.take(test)) for blend in (alone, together)]
        gain.append(saved[1] - saved[0])
    assert np.mean(gain) > 0.05


@pytest.mark.parametrize("fit", [fit_best, fit_team])
def test_a_team_of_one_is_that_model(fit):
    scores, records = problem()
    team = fit(scores[:, :1], records)
    calibration = fit_calibration("platt_logit", scores[:, 0], records.positive)
    np.testing.assert_allclose(team(scores[:, :1]), calibration(scores[:, 0]), rtol=1e-12)


def test_a_team_is_the_weighted_mean_of_its_calibrated_models():
    scores, records = problem()
    calibrations = tuple(fit_calibration("platt", column, records.positive) for column in scores.T)
    weights = np.arange(7) / 21
    expected = sum(
        w * calibrated(column) for w, calibrated, column in zip(weights, calibrations, scores.T, strict=True)
    )
    np.testing.assert_allclose(Team(weights, calibrations)(scores), expected, rtol=1e-12)


def test_a_stack_of_one_calibrated_model_is_nearly_that_model():
    scores, records = problem()
    stack = fit_stack(scores[:, :1], records)
    p = fit_calibration("platt_logit", scores[:, 0], records.positive)(scores[:, 0])
    np.testing.assert_allclose(stack(scores[:, :1]), p, atol=0.01)


@FITS
def test_probabilities_may_be_calibrated_already(fit):
    scores, records = problem()
    blend = fit(scores, records, calibration=None)
    assert set(blend.calibrations) == {None}
    columns = [fit_calibration("platt_logit", column, records.positive)(column) for column in scores.T]
    p = np.column_stack(columns)
    np.testing.assert_allclose(fit(p, records, calibration=None)(p), fit(scores, records)(scores))


@FITS
def test_models_without_a_weight_may_be_left_out(fit):
    scores, records = problem(n_models=20)
    blend = fit(scores, records)
    used = blend.used
    assert used.size < 20
    np.testing.assert_array_equal(blend.take(used)(scores[:, used]), blend(scores))
    spoilt = scores.copy()
    spoilt[:, np.setdiff1d(np.arange(20), used)] = np.nan
    np.testing.assert_array_equal(blend(spoilt), blend(scores))


@FITS
def test_order_duplicates_and_the_unit_of_money_change_no_probability(fit):
    scores, records = problem()
    p = fit(scores, records)(scores)
    order = np.random.default_rng(1).permutation(scores.shape[1])
    np.testing.assert_allclose(fit(scores[:, order], records)(scores[:, order]), p, atol=1e-5)
    twice = np.hstack([scores, scores])
    np.testing.assert_allclose(fit(twice, records)(twice), p, atol=1e-5)
    costs = Costs(fp=100 * records.costs.fp, fn=100 * records.costs.fn)
    np.testing.assert_allclose(fit(scores, Records(None, records.positive, costs))(scores), p, atol=1e-9)


@pytest.mark.parametrize("fit", [fit_best, fit_stack])
def test_weights_count_records(fit):
    scores, records = problem(300)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    repeated = np.repeat(np.arange(300), weight)
    weighted = fit(scores, Records(None, records.positive, records.costs, weight.astype(float)))(scores)
    np.testing.assert_allclose(weighted, fit(scores[repeated], records.take(repeated))(scores), atol=1e-5)


def test_real_costs_choose_the_models():
    scores, records = problem()
    # What is known says nothing of the records; in truth only those that model 0 finds cost anything.
    found = scores[:, 0] > np.median(scores[:, 0])
    real = Costs(fp=np.where(found, 0.0, 50.0), fn=np.where(found, 50.0, 0.0))
    team = fit_best(scores, Records(None, records.positive, real, known_costs=Costs(fp=1, fn=3)), size=1)
    assert team.used.tolist() == [0]


def test_a_stack_without_pull_is_a_logistic_regression_on_logits():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(800, 2))
    positive = rng.random(800) < 1 / (1 + np.exp(1 - z @ [1.0, 0.6]))
    records = Records(None, positive, Costs(fp=1, fn=2))
    stack = fit_stack(1 / (1 + np.exp(-z)), records, calibration=None, strength=0)
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(z, positive)
    np.testing.assert_allclose(stack.weights, oracle.coef_[0], rtol=1e-3)
    assert stack.intercept == pytest.approx(oracle.intercept_[0], rel=1e-3)


def test_a_stack_has_the_least_log_loss_and_distance_to_the_mean():
    scores, records = problem(300, 3)
    stack = fit_stack(scores, records, calibration=None, strength=20)
    z = np.log(scores / (1 - scores))

    def penalised(parameters):
        away = z @ parameters[1:] + parameters[0]
        log_loss = np.log1p(np.exp(np.where(records.positive, -away, away))).sum()
        return log_loss + 20 * ((parameters[1:] - 1 / 3) ** 2).sum()

    found = np.r_[stack.intercept, stack.weights]
    least = penalised(found)
    assert min(penalised(found + step) - least for step in np.vstack([np.eye(4), -np.eye(4)]) * 0.01) > 0


def test_a_strong_pull_gives_the_mean_of_the_five_best():
    scores, records = problem()
    stack = fit_stack(scores, records, strength=1e9)
    np.testing.assert_allclose(stack.weights, fit_best(scores, records).weights, atol=1e-4)


def test_a_stack_uses_what_is_known_of_the_error_of_a_model():
    rng = np.random.default_rng(0)
    z, error = rng.normal(size=(2, 4000))
    positive = rng.random(4000) < 1 / (1 + np.exp(-2 * z))
    # The second model knows nothing but the error of the first.
    p = 1 / (1 + np.exp(-np.column_stack([z + error, error])))
    stack = fit_stack(p, Records(None, positive, Costs(fp=1, fn=2)), calibration=None)
    assert stack.weights[1] < -0.5


def test_stakes_weight_the_records_of_a_stack():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3000, 2))
    large = np.arange(3000) % 2 == 0
    # Model 0 is right where much is at stake, model 1 where little is.
    positive = rng.random(3000) < 1 / (1 + np.exp(-3 * np.where(large, z[:, 0], z[:, 1])))
    costs = Costs(fp=np.where(large, 100.0, 1.0), fn=np.where(large, 100.0, 1.0))
    p = 1 / (1 + np.exp(-z))
    plain = fit_stack(p, Records(None, positive, costs), calibration=None).weights
    stakes = fit_stack(p, Records(None, positive, costs), calibration=None, by_stakes=True).weights
    assert plain[0] == pytest.approx(plain[1], rel=0.2)
    assert stakes[0] > 5 * abs(stakes[1])


@FITS
def test_cross_fitting_judges_each_record_by_the_others(fit):
    scores, records = problem(300)
    folds = np.arange(300) % 3
    p = cross_fit(fit, scores, records, folds)
    for fold in range(3):
        others = np.flatnonzero(folds != fold)
        blend = fit(scores[others], records.take(others))
        np.testing.assert_array_equal(p[folds == fold], blend(scores[folds == fold]))


@FITS
def test_on_noise_the_cross_fitted_blend_saves_nothing(fit):
    promised, honest = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        positive, scores = rng.random(600) < 0.3, rng.random((600, 20))
        records = Records(None, positive, Costs(fp=1.0, fn=7 / 3))  # T_cs is the share of positives
        promised.append(savings(fit(scores, records)(scores), records))
        honest.append(savings(cross_fit(fit, scores, records, np.arange(600) % 5), records))
    assert np.mean(honest) < 0.01
    assert np.mean(promised) > 0.05


@FITS
def test_options_and_weights_reach_every_fold(fit):
    scores, plain = problem(300)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    records = Records(None, plain.positive, plain.costs, weight)
    p = cross_fit(fit, scores, records, np.arange(300) % 3, size=1)
    others = np.flatnonzero(np.arange(300) % 3)
    blend = fit(scores[others], records.take(others), size=1)
    assert blend.used.size == 1
    np.testing.assert_array_equal(p[::3], blend(scores[::3]))


@FITS
def test_scores_of_one_class_are_an_error(fit):
    with pytest.raises(DecisionError, match="needs records of both classes"):
        fit(np.array([[0.1], [0.2]]), Records(None, np.array([True, True]), Costs(fp=1, fn=1)))


def test_blends_are_values_that_can_be_pickled():
    scores, records = problem()
    for fit, kind in ((fit_team, Team), (fit_stack, Stack)):
        blend = fit(scores, records)
        assert isinstance(blend, kind)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(blend))(scores), blend(scores))
