"""Bad input everywhere: each hostile case ends in a correct result or a clear error, for every estimator.

Never is there an internal error, a warning of numpy's, a probability that is none, or a change in what the caller
passed.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from subjects import CLASSIFIERS, LINEAR, READERS, SUBJECTS, Subject

from cases import CASES, FN, THEIRS, WORKS, X0, Y0, Given, N, Refused, Then, having
from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostTreeClassifier,
    MetaCostClassifier,
)
from stakes.encoded import EncodedClassifier
from stakes.exceptions import (
    ClassMeansWarning,
    CostsError,
    CostsNeededError,
    NoEffectWarning,
    SamplingError,
    TrainingWarning,
)
from stakes.metrics import savings_score, total_cost, tuned_threshold
from stakes.sampling import CPRSampler, HybridSampler, OverSampler

# How it is tried

TURNS = 5


def frozen(value: Any) -> Any:
    """Return what tells whether a value has changed; None for what cannot be copied, such as generators."""
    if isinstance(value, dict):
        return {name: frozen(item) for name, item in value.items()}
    if isinstance(value, pd.DataFrame):
        return (
            repr([value.iloc[:, j].to_list() for j in range(value.shape[1])]),
            [*value.dtypes],
            *map(repr, value.axes),
        )
    if isinstance(value, pd.Series | pd.api.extensions.ExtensionArray):
        return repr(list(value)), value.dtype
    if isinstance(value, pl.DataFrame):
        return repr(value.to_dict(as_series=False)), value.schema
    try:
        return pickle.dumps(value)
    except (TypeError, pickle.PicklingError, AttributeError):
        return None


def use(subject: Subject, given: Given) -> None:
    """Fit and predict, or sample, and check what comes out."""
    estimator = clone(subject.estimator)
    if subject.is_sampler:
        X_res, y_res = estimator.fit_resample(given.X, given.y, **given.fit)
        n = X_res.shape[0] if hasattr(X_res, "shape") else len(X_res)
        labels = np.asarray(y_res).ravel()
        assert n == labels.size >= 2
        assert set(labels.tolist()) == set(np.asarray(given.y).ravel().tolist())
        return
    estimator.fit(given.X, given.y, **given.fit)
    shares = estimator.predict_proba(given.X_new, **given.predict)
    outcome = estimator.predict(given.X_new, **given.predict)
    assert shares.shape == (N if len(outcome) == N else len(outcome), 2)
    assert np.isfinite(shares).all()
    assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert outcome.ndim == 1
    assert np.isin(outcome, estimator.classes_).all()
    assert sorted(estimator.classes_.tolist()) == sorted(set(np.asarray(given.y).ravel().tolist()))


def try_out(act: Callable[[], object], then: Then) -> None:
    """Do something and expect it to work or to be refused; warnings of numpy are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sane in (ClassMeansWarning, TrainingWarning, DataConversionWarning, FutureWarning, DeprecationWarning):
            warnings.simplefilter("ignore", sane)
        # All classifiers are given costs when predicting, also those whose decisions do not go by them.
        warnings.filterwarnings("ignore", ".* no effect on these decisions", NoEffectWarning)
        # scikit-learn's own, on names of features and on models that have not converged.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn|imblearn")
        if then is THEIRS:
            warnings.simplefilter("ignore", RuntimeWarning)
        try:
            act()
        except (ValueError, TypeError) as raised:
            error: Exception | None = raised
        else:
            error = None
    if error is None:
        assert then is WORKS or then is THEIRS, f"should have been refused: {then}"
        return
    said = f"{type(error).__name__}: {error}"
    assert then is not WORKS, said
    assert isinstance(error, then.kind), said
    assert str(error).strip(), said
    assert re.search(then.message, str(error), re.DOTALL), said


def try_all(name: str, subjects: Iterable[str]) -> None:
    """Give a case to some estimators."""
    wrong = []
    for subject in subjects:
        if CASES[name].at_predict and SUBJECTS[subject].is_sampler:
            continue
        given = CASES[name].make()
        before = frozen(vars(given))
        try:
            try_out(
                lambda given=given, to=SUBJECTS[subject]: use(to, given), CASES[name].expected(SUBJECTS[subject], given)
            )
            assert frozen(vars(given)) == before, "what the caller passed has changed"
        except Exception as error:
            wrong.append(f"{subject}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", CASES)
def test_hostile_input_gets_a_correct_result_or_a_clear_error(name: str) -> None:
    # Not every estimator each time, but every one for some of the cases: the next test tries them all.
    turn = list(CASES).index(name)
    try_all(name, READERS if CASES[name].exotic else list(SUBJECTS)[turn % TURNS :: TURNS])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_hostile_input_gets_a_correct_result_or_a_clear_error_from_every_estimator(name: str) -> None:
    try_all(name, SUBJECTS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_costs_are_asked_for_where_they_are_needed_and_nowhere_else(name: str) -> None:
    def use() -> None:
        estimator.predict(X0)

    estimator = clone(CLASSIFIERS[name].estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassMeansWarning)
        estimator.fit(X0, Y0, fp_cost=2.0, fn_cost=FN)
    needed = getattr(estimator, "needs_costs_", False)
    try_out(use, Refused("pass fn_cost= along with X; or fit with.*; or", CostsNeededError) if needed else WORKS)


def test_gradient_boosting_takes_a_column_without_a_single_value() -> None:
    # Which scikit-learn's does not, and a study may well draw training records that have none.
    X = having(X0, (slice(None), 2), np.nan)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for given in (X, frame):
        model = EncodedClassifier(HistGradientBoostingClassifier(max_iter=1)).fit(given, Y0)
        np.testing.assert_array_equal(model.predict_proba(given), model.predict_proba(frame.assign(c=1.0)))


# Parameters


PARAMETERS: dict[str, tuple[Any, Refused]] = {
    "True for a number of members": (
        CostBaggingClassifier(n_estimators=True),
        Refused("n_estimators=True is not valid"),
    ),
    "True for a number of rounds": (CostBoostClassifier(n_estimators=True), Refused("n_estimators=True is not valid")),
    "no members": (CostBaggingClassifier(n_estimators=0), Refused("n_estimators=0 is not valid")),
    "half a member": (CostBoostClassifier(n_estimators=2.5), Refused("n_estimators=2.5 is not valid")),
    "NaN features": (CostTreeClassifier(max_features=np.nan), Refused("max_features=nan is not valid: choose from")),
    "a list of leaves": (CostTreeClassifier(leaf=[]), Refused(r"leaf=\[\] is not known: choose from")),
    "a share above 1": (CostTreeClassifier(validation=1.5), Refused("validation=1.5 is not known: choose")),
    "a text for a decision": (CostTreeClassifier(decision="cost"), Refused("is not a Decision")),
    "an unknown positive class": (CostTreeClassifier(pos_label=7), Refused("pos_label=7 is not a class of y")),
    "a number for a member": (CostBaggingClassifier(3), Refused("estimator=3 is not a classifier", TypeError)),
    "a class for a member": (CostBaggingClassifier(LogisticRegression), Refused("is not a classifier", TypeError)),
    "a regressor for a member": (CostBaggingClassifier(LinearRegression()), Refused("is not a classifier", TypeError)),
    "a regressor to boost": (CostBoostClassifier(LinearRegression()), Refused("is not a classifier", TypeError)),
    "a regressor to decide by": (CostDecisionClassifier(LinearRegression()), Refused("is not a classifier", TypeError)),
    "nothing to decide by": (CostDecisionClassifier(), Refused("is not a classifier: give one", TypeError)),
    "a teacher without costs": (MetaCostClassifier(LINEAR), Refused("CostDecisionClassifier", TypeError)),
    "a number to teach": (MetaCostClassifier(final_estimator=3), Refused("final_estimator=3 is not", TypeError)),
    "costs that contradict": (CostBaggingClassifier(sampling=OverSampler(fn_cost=3)), Refused("costs of its own")),
    "an unknown sampler": (
        CostBoostClassifier(sampling="some"),
        Refused("sampling='some' is not known: choose one of"),
    ),
    "costs in a list": (CostTreeClassifier(fp_cost=[1, 2]), Refused("fp_cost has 2 records, X has 40", CostsError)),
    "a share that is none": (HybridSampler(share=2), Refused("share=2 is not between 0", SamplingError)),
    "a quantile that is none": (CPRSampler(quantile=0), Refused("quantile=0 is not above 0", SamplingError)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_hostile_parameters_are_refused_in_fit(name: str) -> None:
    estimator, then = PARAMETERS[name]
    try_out(lambda: clone(estimator).fit_resample(X0, Y0) if "is none" in name else clone(estimator).fit(X0, Y0), then)


# Metrics


METRICS: dict[str, Callable[..., float]] = {
    "total cost": lambda **given: total_cost(Y0, Y0[::-1], **given),
    "savings": lambda **given: savings_score(Y0, Y0[::-1], **given),
    "tuned threshold": lambda **given: tuned_threshold(Y0, X0[:, 0], **given),
}
# These charge what each outcome costs, whatever the matrix; a threshold is tuned only where mistakes cost something.
CHARGE_ANY_MATRIX = ("total cost", "savings")
ABOUT_COSTS = [name for name in CASES if "cost" in name and not re.search("predict|validation", name)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", ABOUT_COSTS)
def test_metrics_refuse_the_same_costs_but_charge_negative_ones(name: str, metric: str) -> None:
    def measure() -> None:
        assert not np.isnan(METRICS[metric](**given))

    given, then = CASES[name].make().fit, CASES[name].then
    if name.startswith("a negative cost") and metric in CHARGE_ANY_MATRIX:
        then = WORKS
    elif then is not WORKS:
        then = Refused(then.message.replace("X has", "y_true has"), then.kind)
    before = frozen(given)
    try_out(measure, then)
    assert frozen(given) == before
