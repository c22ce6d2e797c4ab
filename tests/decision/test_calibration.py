"""From scores to probabilities (FRAMEWORK 7.5), against closed forms, scipy and scikit-learn."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

from stakes.decision.calibration import CALIBRATIONS, Isotonic, Platt, fit_calibration
from stakes.exceptions import CostsError, DecisionError

FITTED = [name for name, kind in CALIBRATIONS.items() if kind.needs_data]


def noisy_scores(n=400, seed=0, spread=0.2):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return np.clip(0.4 + 0.2 * y + rng.normal(scale=spread, size=n), 0, 1), y


# Closed forms


def test_bounded_logistic_is_as_printed():
    shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    expected = 1 / (1 + np.exp(-2 * (2 * shares - 1)))
    np.testing.assert_allclose(fit_calibration("logistic_bounded")(shares), expected, rtol=1e-15)


def test_bounded_logistic_is_bounded_so_that_costs_beyond_e_squared_make_all_positive():
    smallest = fit_calibration("logistic_bounded")([0.0])[0]
    assert smallest == pytest.approx(0.1192, abs=1e-4)
    assert smallest == pytest.approx(1 / (1 + np.exp(2)))


def test_logistic_is_the_logistic_of_twice_the_sum_of_signed_votes():
    alpha = np.array([0.9, 0.4, 0.2])
    votes = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, -1]])
    share = (alpha * (votes > 0)).sum(axis=1) / alpha.sum()
    expected = 1 / (1 + np.exp(-2 * (votes @ alpha)))
    calibration = fit_calibration("logistic")
    np.testing.assert_allclose(calibration(share, alpha.sum()), expected, rtol=1e-12)
    np.testing.assert_allclose(calibration(share, np.full(4, alpha.sum())), expected, rtol=1e-12)


def test_logistic_takes_a_total_weight_per_record():
    calibration = fit_calibration("logistic")
    both = calibration([0.9, 0.9], [1.0, 3.0])
    np.testing.assert_array_equal(both, [calibration([0.9], 1.0)[0], calibration([0.9], 3.0)[0]])
    assert both[1] > both[0]


def test_logistic_without_the_total_weight_says_what_to_do():
    with pytest.raises(DecisionError, match=r"needs the total weight .*total_weight=, or use 'logistic_bounded'"):
        fit_calibration("logistic")([0.5])


def test_logistic_with_total_weight_one_is_the_bounded_one():
    shares = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(fit_calibration("logistic")(shares, 1.0), fit_calibration("logistic_bounded")(shares))


def test_extreme_votes_do_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(fit_calibration("logistic")([0.0, 1.0], 1e6), [0, 1], atol=1e-300)


# Platt scaling


class ScoreItself(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its only feature."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0.5).astype(int)]


def sigmoid_of_scikit_learn(scores, y, sample_weight=None):
    X = scores[:, None]
    model = CalibratedClassifierCV(FrozenEstimator(ScoreItself().fit(X, y)), method="sigmoid")
    return model.fit(X, y, sample_weight=sample_weight).predict_proba(X)[:, 1]


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear to accept sample_weight")
@pytest.mark.parametrize("spread", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_platt_agrees_with_scikit_learn(spread, weighted):
    scores, y = noisy_scores(spread=spread)
    weight = np.random.default_rng(1).lognormal(size=y.size) if weighted else None
    ours = fit_calibration("platt", scores, y, sample_weight=weight)(scores)
    np.testing.assert_allclose(ours, sigmoid_of_scikit_learn(scores, y, weight), atol=1e-4)


def smoothed_likelihood(parameters, scores, y, weight):
    n_positive, n_negative = weight[y == 1].sum(), weight[y == 0].sum()
    target = np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    p = 1 / (1 + np.exp(parameters[0] * scores + parameters[1]))
    return -(weight * (target * np.log(p) + (1 - target) * np.log1p(-p))).sum()


@pytest.mark.parametrize("seed", range(5))
def test_platt_maximises_the_smoothed_likelihood(seed):
    scores, y = noisy_scores(60, seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=60).astype(float)
    fitted = fit_calibration("platt", scores, y, sample_weight=weight)
    other = minimize(smoothed_likelihood, [0.0, 0.0], args=(scores, y, weight), method="Nelder-Mead", tol=1e-10)
    ours = smoothed_likelihood((fitted.slope, fitted.intercept), scores, y, weight)
    assert ours <= other.fun + 1e-9
    np.testing.assert_allclose([fitted.slope, fitted.intercept], other.x, rtol=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_platt_is_indifferent_to_the_scale_of_scores(scale):
    scores, y = noisy_scores()
    reference = fit_calibration("platt", scores, y)(scores)
    np.testing.assert_allclose(fit_calibration("platt", scale * scores, y)(scale * scores), reference, rtol=1e-8)


def test_platt_of_separated_scores_reaches_the_smoothed_targets():
    scores, y = np.repeat([0.0, 1.0], [20, 10]), np.repeat([0, 1], [20, 10])
    np.testing.assert_allclose(fit_calibration("platt", scores, y)([0.0, 1.0]), [1 / 22, 11 / 12], rtol=1e-9)


def test_platt_of_a_single_score_is_the_mean_target():
    y = np.repeat([0, 1], [20, 10])
    fitted = fit_calibration("platt", np.full(30, 0.7), y)
    assert fitted.slope == 0
    assert fitted == fit_calibration("platt", [*np.full(30, 0.7), 0.1], [*y, 1], sample_weight=[1.0] * 30 + [0.0])
    assert fitted([0.7])[0] == pytest.approx((20 * (1 / 22) + 10 * (11 / 12)) / 30)


def test_platt_converges_on_scores_that_are_nearly_all_equal():
    scores = np.array([0.5] * 999 + [1.0])
    y = np.array([0] * 990 + [1] * 10)
    np.testing.assert_allclose(
        fit_calibration("platt", scores, y)(scores), sigmoid_of_scikit_learn(scores, y), atol=1e-4
    )


# Isotonic regression


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_agrees_with_scikit_learn_inside_and_beyond_the_scores(weighted):
    scores, y = noisy_scores()
    weight = np.random.default_rng(1).lognormal(size=y.size) if weighted else None
    new = np.linspace(-0.5, 1.5, 301)
    reference = IsotonicRegression(out_of_bounds="clip").fit(scores, y, weight)
    np.testing.assert_allclose(
        fit_calibration("isotonic", scores, y, sample_weight=weight)(new), reference.predict(new), rtol=1e-12
    )


# Platt scaling of the logit


def test_platt_logit_takes_back_sampling_and_overconfidence():
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.03, 0.5, 40_000)
    y = (rng.random(truth.size) < truth).astype(int)
    odds = truth / (1 - truth)
    distorted = (8 * odds**1.5) / (1 + 8 * odds**1.5)  # negatives under-sampled by 8, logits times 1.5
    p = fit_calibration("platt_logit", distorted, y)(distorted)
    np.testing.assert_allclose(p, truth, atol=0.01)
    # On the scale of scores no two parameters can.
    assert np.abs(fit_calibration("platt", distorted, y)(distorted) - truth).max() > 0.03


def test_platt_logit_is_finite_at_0_and_1_and_clips_below_a_rare_class():
    scores, y = np.array([0.0, 0.0, 1.0, 1.0, 0.5]), np.array([0, 1, 0, 1, 1])
    assert np.isfinite(fit_calibration("platt_logit", scores, y)([0.0, 1.0])).all()
    rng = np.random.default_rng(0)
    rare = rng.random(50_000) < 0.002
    assert fit_calibration("platt_logit", rng.random(rare.size), rare).clip < 0.001
    assert fit_calibration("platt_logit", rng.random(100), np.arange(100) % 2).clip == 0.01


# Both


@pytest.mark.parametrize("name", FITTED)
@given(st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(1, 3)), min_size=2, max_size=15))
def test_weights_count_records(name, rows):
    scores, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    grid = np.linspace(0, 8, 17)
    weighted = fit_calibration(name, scores, y, sample_weight=weight)(grid)
    repeated = fit_calibration(name, np.repeat(scores, weight), np.repeat(y, weight))(grid)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_probabilities_rise_with_the_score_and_stay_between_0_and_1(name):
    scores, y = noisy_scores()
    p = fit_calibration(name, scores, y)(np.linspace(0, 1, 101), 5.0)
    assert (np.diff(p) >= 0).all()
    assert p[-1] > p[0]
    assert p[0] >= 0
    assert p[-1] <= 1


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibrations_are_small_immutable_values(name):
    scores, y = noisy_scores(50)
    fitted = fit_calibration(name, scores, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again(scores, 2.0), fitted(scores, 2.0))
    assert all(isinstance(value, float | np.ndarray) for value in vars(fitted).values())
    with pytest.raises(AttributeError):
        fitted.slope = 1.0


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_no_records_give_no_probabilities(name):
    scores, y = noisy_scores(50)
    assert fit_calibration(name, scores, y)(np.empty(0), 1.0).shape == (0,)


@pytest.mark.parametrize("name", FITTED)
def test_calibration_data_of_one_class_or_none_is_an_error(name):
    message = f"calibration '{name}' needs records of both classes, and none of the {{}} given is {{}}: use a larger"
    with pytest.raises(DecisionError, match=message.format(2, "positive")):
        fit_calibration(name, [0.1, 0.2], [0, 0])
    with pytest.raises(DecisionError, match=message.format(2, "negative")):
        fit_calibration(name, [0.1, 0.2], [1, 1])
    with pytest.raises(DecisionError, match=message.format(0, "positive")):
        fit_calibration(name, [], [])
    with pytest.raises(DecisionError, match=message.format(2, "positive")):
        fit_calibration(name, [0.1, 0.2], [0, 1], sample_weight=[1, 0])


@pytest.mark.parametrize("name", FITTED)
def test_bad_calibration_data_is_named(name):
    with pytest.raises(CostsError, match="scores is not finite in 1 record: the first is row 1, nan"):
        fit_calibration(name, [0.1, np.nan], [0, 1])
    with pytest.raises(CostsError, match="scores has 3 records, y has 2"):
        fit_calibration(name, [0.1, 0.2, 0.3], [0, 1])
    with pytest.raises(CostsError, match="sample_weight has 3 records, y has 2"):
        fit_calibration(name, [0.1, 0.2], [0, 1], sample_weight=[1, 1, 1])


def test_unknown_names_list_the_known_ones():
    with pytest.raises(DecisionError, match=f"unknown calibration 'beta': choose from {', '.join(CALIBRATIONS)}"):
        fit_calibration("beta")


def test_fitting_leaves_the_callers_arrays_alone():
    scores, y = noisy_scores(50)
    before = scores.copy()
    for kind in (Platt, Isotonic):
        kind.fit(scores, y == 1, np.ones(50))
    np.testing.assert_array_equal(scores, before)
