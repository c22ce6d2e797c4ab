"""imbalanced-learn's interface: containers, labels, costs, pipelines, and what must not be touched."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.pipeline import Pipeline
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler

from stakes import Costs
from stakes.exceptions import ClassMeansWarning, CostsError, SamplingError
from stakes.sampling import SAMPLERS, CostSampler, CPRSampler, OverSampler, SMOTESampler, UnderSampler

ALL = list(SAMPLERS.values())
BY_ROW = [cls for cls in ALL if cls is not SMOTESampler]

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = np.where(rng.permutation(120) < 30, 1, 0)
AMOUNT = rng.lognormal(2, 0.5, size=120)


def frame(values: NDArray[np.float64]) -> pd.DataFrame:
    return pd.DataFrame(values, columns=["a", "b", "c"], index=np.arange(len(values)) * 10)


CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], NDArray[Any]]]] = {
    "array": (np.array, np.asarray),
    "list": (lambda values: values.tolist(), np.asarray),
    "csr": (sparse.csr_matrix, lambda matrix: matrix.toarray()),
    "csc": (sparse.csc_array, lambda matrix: matrix.toarray()),
    "pandas": (frame, lambda table: table.to_numpy()),
    "polars": (lambda values: pl.DataFrame(values, schema=["a", "b", "c"]), lambda table: table.to_numpy()),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("cls", ALL)
def test_a_sample_comes_in_the_container_of_the_records(cls: type[CostSampler], container: str) -> None:
    there, back = CONTAINERS[container]
    given = there(X)
    sampler = cls(fn_cost=3, random_state=0)
    X_res, y_res = sampler.fit_resample(given, y)
    assert type(X_res) is type(given)
    rows = sampler.sample_indices_
    np.testing.assert_array_equal(back(X_res)[: rows.size], X[rows])
    np.testing.assert_array_equal(y_res[: rows.size], y[rows])
    assert sampler.n_features_in_ == 3
    plain = cls(fn_cost=3, random_state=0).fit_resample(X, y)[0]
    np.testing.assert_allclose(back(X_res), plain)


@pytest.mark.parametrize("cls", BY_ROW)
def test_rows_are_picked_whatever_they_hold(cls: type[CostSampler]) -> None:
    data = pd.DataFrame(
        {
            "text": pd.Series(["x", None, "z"] * 40),
            "category": pd.Categorical(["u", "v"] * 60),
            "number": [np.nan, 1.0, np.inf] * 40,
            "when": pd.date_range("2024-01-01", periods=120),
        },
    )
    sampler = cls(fn_cost=3, random_state=0)
    X_res, _ = sampler.fit_resample(data, y)
    pd.testing.assert_frame_equal(X_res, data.iloc[sampler.sample_indices_])
    picked, _ = cls(fn_cost=3, random_state=0).fit_resample(pl.from_pandas(data), y)
    assert picked.equals(pl.from_pandas(data)[sampler.sample_indices_])


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
@pytest.mark.parametrize("cls", ALL)
def test_labels_come_in_the_container_they_came_in(cls: type[CostSampler], series: type) -> None:
    labels = series(np.where(y == 1, "yes", "no"))
    _, y_res = cls(fn_cost=3, random_state=0).fit_resample(X, labels)
    assert isinstance(y_res, series)
    _, expected = cls(fn_cost=3, random_state=0).fit_resample(X, y)
    np.testing.assert_array_equal(np.asarray(y_res) == "yes", expected == 1)


@pytest.mark.parametrize("cls", ALL)
def test_frame_and_labels_keep_a_common_index(cls: type[CostSampler]) -> None:
    X_res, y_res = cls(fn_cost=3, random_state=0).fit_resample(frame(X), pd.Series(y, index=frame(X).index))
    pd.testing.assert_index_equal(X_res.index, y_res.index)


@pytest.mark.parametrize("cls", ALL)
def test_the_callers_data_and_the_global_random_state_are_not_touched(cls: type[CostSampler]) -> None:
    given_X, given_y, fn = X.copy(), y.copy(), np.full(120, 4.0)
    for array in (given_X, given_y, fn):
        array.setflags(write=False)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the state that must not change)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassMeansWarning)
        X_res, y_res = cls().fit_resample(given_X, given_y, fp_cost=1, fn_cost=fn)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(given_X, X)
    np.testing.assert_array_equal(given_y, y)
    assert not np.shares_memory(X_res, given_X)
    assert not np.shares_memory(y_res, given_y)


@pytest.mark.parametrize("cls", [cls for cls in ALL if not cls().changes(y, Costs(fp=1, fn=1))])
@pytest.mark.parametrize("both", [0, 1, 25.5])
def test_equal_costs_return_the_data_unchanged_unless_the_sampler_draws_anyway(
    cls: type[CostSampler], both: float
) -> None:
    X_res, y_res = cls().fit_resample(X, y, fp_cost=both, fn_cost=both)
    np.testing.assert_array_equal(X_res, X)
    np.testing.assert_array_equal(y_res, y)
    assert not np.shares_memory(X_res, X)


@pytest.mark.parametrize("cls", ALL)
def test_costs_of_nothing_are_equal_costs(cls: type[CostSampler]) -> None:
    nothing, equal = (cls(random_state=0).fit_resample(X, y, fp_cost=cost, fn_cost=cost) for cost in (0, 1))
    np.testing.assert_array_equal(nothing[0], equal[0])
    np.testing.assert_array_equal(nothing[1], equal[1])


@pytest.mark.parametrize("cls", BY_ROW)
def test_fit_resample_draws_what_counts_draws(cls: type[CostSampler]) -> None:
    sampler = cls(random_state=5)
    sampler.fit_resample(X, y, fp_cost=1, fn_cost=6)
    counts = cls().counts(y, Costs(fp=1, fn=6), np.random.default_rng(5))
    np.testing.assert_array_equal(np.bincount(sampler.sample_indices_, minlength=120), counts)
    assert sampler.sampling_strategy_ == {0: counts[y == 0].sum(), 1: counts[y == 1].sum()}


@pytest.mark.parametrize(
    "seed",
    [3, np.random.RandomState(3), np.random.default_rng(3), np.random.SeedSequence(3)],
    ids=lambda s: type(s).__name__,
)
def test_random_state_of_any_kind_seeds_the_sample(seed: Any) -> None:
    first = CPRSampler(random_state=pickle.loads(pickle.dumps(seed))).fit_resample(X, y, fn_cost=2)[0]
    second = CPRSampler(random_state=pickle.loads(pickle.dumps(seed))).fit_resample(X, y, fn_cost=2)[0]
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, CPRSampler(random_state=4).fit_resample(X, y, fn_cost=2)[0])


def test_without_random_state_every_sample_is_another() -> None:
    sampler = CPRSampler(fn_cost=2)
    assert not np.array_equal(sampler.fit_resample(X, y)[0], sampler.fit_resample(X, y)[0])


@pytest.mark.parametrize("cls", ALL)
def test_costs_of_the_constructor_serve_where_none_are_passed(cls: type[CostSampler]) -> None:
    passed = cls(random_state=0, fp_cost=100).fit_resample(X, y, fp_cost=2, fn_cost=6)[0]
    own = cls(random_state=0, fp_cost=2, fn_cost=6).fit_resample(X, y)[0]
    np.testing.assert_array_equal(passed, own)


def test_costs_of_right_decisions_are_subtracted() -> None:
    sampler = UnderSampler()
    sampler.fit_resample(X, y, fp_cost=3, fn_cost=10, tp_cost=4, tn_cost=1)  # rho = 6 / 2
    assert sampler.sampling_strategy_ == {0: 30, 1: 30}


def test_record_dependent_costs_in_the_constructor_are_an_error() -> None:
    with pytest.raises(CostsError, match="fn_cost of the constructor is one number"):
        UnderSampler(fn_cost=AMOUNT).fit_resample(X, y)


def test_costs_of_another_length_are_an_error() -> None:
    with pytest.raises(CostsError, match="fn_cost has 119 records"):
        CPRSampler().fit_resample(X, y, fn_cost=AMOUNT[1:])


@pytest.mark.parametrize("cls", [cls for cls in ALL if cls.constant_costs_only])
def test_class_means_are_warned_of_once(cls: type[CostSampler]) -> None:
    with pytest.warns(ClassMeansWarning, match=rf"{cls.__name__} .* fn_cost={AMOUNT[y == 1].mean():g}") as caught:
        X_res, _ = cls(random_state=0).fit_resample(X, y, fn_cost=AMOUNT)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    means = cls(random_state=0).fit_resample(X, y, fn_cost=AMOUNT[y == 1].mean())[0]
    np.testing.assert_array_equal(X_res, means)


def test_cpr_takes_record_dependent_costs_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CPRSampler().fit_resample(X, y, fn_cost=AMOUNT)


def test_pos_label_says_which_class_is_positive() -> None:
    sampler = UnderSampler(fn_cost=3)
    sampler.fit_resample(X, y)
    assert sampler.sampling_strategy_ == {0: 30, 1: 30}
    sampler.set_params(pos_label=0).fit_resample(X, y)
    assert sampler.sampling_strategy_ == {0: 90, 1: 10}


def test_pos_label_is_set_against_all_others() -> None:
    three = np.where(np.arange(120) % 3 == 0, "a", np.where(y == 1, "b", "c"))
    with pytest.raises(SamplingError, match="3 classes: name the positive one by pos_label"):
        OverSampler(fn_cost=2).fit_resample(X, three)
    sampler = OverSampler(fn_cost=2, pos_label="b").fit(X, three)
    sampler.fit_resample(X, three)
    assert sampler.sampling_strategy_["b"] == 2 * np.sum(three == "b")
    assert sampler.sampling_strategy_["a"] == np.sum(three == "a")
    with pytest.raises(SamplingError, match="pos_label='d' is not a class in y"):
        sampler.set_params(pos_label="d").fit_resample(X, three)
    with pytest.raises(SamplingError, match="merge them"):
        SMOTESampler(fp_cost=2, pos_label="b").fit_resample(X, three)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        UnderSampler().fit_resample(X, y[1:])


@pytest.mark.parametrize("cls", ALL)
def test_samplers_clone_and_pickle(cls: type[CostSampler]) -> None:
    sampler = cls(fn_cost=3, random_state=0)
    expected = sampler.fit_resample(X, y)[0]
    for copy in (clone(sampler), pickle.loads(pickle.dumps(sampler))):
        assert copy.get_params() == sampler.get_params()
        np.testing.assert_array_equal(copy.fit_resample(X, y)[0], expected)


def pipeline(sampler: CostSampler) -> Pipeline:
    return Pipeline([("scale", StandardScaler()), ("sample", sampler), ("model", LogisticRegression())])


@pytest.mark.parametrize("cls", ALL)
def test_samplers_work_in_a_pipeline_with_costs_of_their_own(cls: type[CostSampler]) -> None:
    dear, cheap = (pipeline(cls(fn_cost=cost, random_state=0)).fit(X, y).predict(X).mean() for cost in (20, 0.5))
    assert dear > cheap


def test_a_grid_search_compares_costs_in_a_pipeline() -> None:
    search = GridSearchCV(pipeline(UnderSampler(random_state=0)), {"sample__fn_cost": [1, 20]}, scoring="recall", cv=3)
    assert search.fit(X, y).best_params_ == {"sample__fn_cost": 20}


def test_a_pipeline_routes_costs_to_the_sampler() -> None:
    with config_context(enable_metadata_routing=True):
        routed = pipeline(CPRSampler(random_state=0)).fit(X, y, fp_cost=1.0, fn_cost=AMOUNT)
    sampler = CPRSampler(random_state=0)
    sampler.fit_resample(X, y, fp_cost=1.0, fn_cost=AMOUNT)
    np.testing.assert_array_equal(routed["sample"].sample_indices_, sampler.sample_indices_)


def test_cross_validation_routes_the_costs_of_each_fold() -> None:
    with config_context(enable_metadata_routing=True):
        results = cross_validate(
            pipeline(CPRSampler(random_state=0)), X, y, params={"fn_cost": AMOUNT}, cv=3, return_estimator=True,
            return_indices=True, error_score="raise",
        )  # fmt: skip
    for fitted, rows in zip(results["estimator"], results["indices"]["train"], strict=True):
        alone = CPRSampler(random_state=0)
        alone.fit_resample(X[rows], y[rows], fn_cost=AMOUNT[rows])
        np.testing.assert_array_equal(fitted["sample"].sample_indices_, alone.sample_indices_)


def test_routing_can_be_declined() -> None:
    with config_context(enable_metadata_routing=True):
        sampler = UnderSampler(random_state=0).set_fit_resample_request(fn_cost=False, fp_cost="call_cost")
        pipe = pipeline(sampler).fit(X, y, call_cost=3.0)
    assert pipe["sample"].sampling_strategy_ == {0: 90, 1: 10}


class EveryOther(CostSampler):
    """The least a sampler needs."""

    def counts(self, y: NDArray[Any], costs: Costs, rng: np.random.Generator, X: Any = None) -> NDArray[np.int64]:
        return np.arange(y.size) % 2


def test_a_sampler_is_added_by_one_method() -> None:
    sampler = EveryOther()
    X_res, y_res = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(X_res, X[1::2])
    np.testing.assert_array_equal(y_res, y[1::2])
    assert sampler.draw(y, Costs(fp=1, fn=1), np.random.default_rng(0)).X_new is None
