"""What a mistake costs: checks, reduction, thresholds, indexing (FRAMEWORK 1 and 2)."""

import copy
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stakes import Costs
from stakes._rows import RECORDS_PER_PART
from stakes.costs import per_record
from stakes.exceptions import CostsError
from stakes.metrics import profit

costs_of_any_size = st.just(0.0) | st.floats(1e-100, 1e100)


# Errors: which argument, how many records, the first offending row, the way out


@pytest.mark.parametrize("name", ["fp", "fn", "tp", "tn"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
def test_not_finite_names_argument_count_and_first_row(name, bad):
    given = {"fp": 1, "fn": 1, name: [1.0, bad, 3.0, bad]}
    found = rf"^{name}_cost is not finite in 2 records: the first is row 1, -?(nan|inf)\. "
    estimated = ", or train with cost_estimator=" if name in ("fp", "fn") else ""  # it estimates no other costs
    with pytest.raises(CostsError, match=f"{found}Fill it in, or leave such records out{estimated}$"):
        Costs(**given)


def test_prices_that_are_not_finite_are_not_said_to_be_estimated():
    with pytest.raises(CostsError, match=r"contact_cost is not finite in 1 record: .* or leave such records out$"):
        profit([0, 1], [1, 1], benefit=[0.0, 5.0], contact_cost=[1.0, np.nan])


@pytest.mark.parametrize("name", ["fp", "fn", "tp", "tn"])
def test_not_numeric_names_argument_count_and_first_row(name):
    given = {"fp": 1, "fn": 1, name: [1.0, 2.0, "x", "3"]}
    with pytest.raises(CostsError, match=f"^{name}_cost is not numeric in 2 records: the first is row 2, 'x'$"):
        Costs(**given)


@pytest.mark.parametrize(
    "bad",
    [
        "5",
        b"5",
        [1, [2]],
        {"a": 1},
        np.array(["2020-01-01"], "M8[D]"),
        np.array([1], "m8[D]"),
        [1 + 2j],
        pytest.param(object(), id="object"),
    ],
    ids=repr,
)
def test_what_is_not_a_number_is_not_a_cost(bad):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CostsError, match=r"^fn_cost is not (numeric|an array)"):
            Costs(fp=1, fn=bad)


def test_integers_beyond_floats_are_not_finite():
    with pytest.raises(CostsError, match=r"^fp_cost is not finite in 1 record: the first is row 0, inf\. Fill it in, "):
        Costs(fp=10**400, fn=1)


@pytest.mark.parametrize("shape", [(3, 1), (3, 2), (1, 3), (2, 2, 2)])
def test_more_than_one_dimension_is_an_error(shape):
    with pytest.raises(CostsError, match=r"^fn_cost has shape \(.*\): give one number, or one per record") as error:
        Costs(fp=1, fn=np.ones(shape))
    assert ("pass np.ravel(fn_cost)" in str(error.value)) == (shape == (3, 1))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_hint_for_one_column_frames_works(frame):
    column = frame({"amount": [1.0, 2.0]})
    with pytest.raises(CostsError, match=r"pass np\.ravel\(fp_cost\)"):
        Costs(fp=column, fn=1)
    assert Costs(fp=np.ravel(column), fn=1).n_records == 2


def test_different_lengths_lists_all_of_them():
    with pytest.raises(CostsError, match=r"different numbers of records \(fp_cost 2, fn_cost 3, tn_cost 2\)"):
        Costs(fp=[1, 2], fn=[1, 2, 3], tn=[0, 0])


def test_negative_says_how_many_and_the_first():
    with pytest.raises(CostsError, match=r"^fp_cost is negative in 2 records: the first is row 1, -2\. "):
        Costs(fp=[1, -2, -3], fn=1)


def test_negative_after_reduction_says_the_formula():
    with pytest.raises(CostsError, match=r"^fp_cost - tn_cost .* row 0, -1\. .*check the signs, or clip it at 0$"):
        Costs(fp=1, fn=1, tn=2)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (np.nan, r"is not finite in 2 records: the first is row 40000, nan"),
        (1e-200, r"is neither 0 nor between .* in 2 records: the first is row 40000, "),
        (-1.0, r"is negative in 2 records: the first is row 40000, -1\."),
    ],
)
def test_rows_are_told_by_their_number_among_many(bad, why):
    many = np.ones(3 * RECORDS_PER_PART)
    many[[40_000, 70_000]] = bad
    with pytest.raises(CostsError, match=rf"^fp_cost {why}"):
        Costs(fp=many, fn=1.0)


@pytest.mark.parametrize("name", ["fp", "fn", "tp", "tn"])
@pytest.mark.parametrize("value", [1.001e100, 1e308, 0.999e-100, 5e-324, -5e-324, -1e308])
def test_costs_out_of_range_are_an_error_that_names_argument_rows_and_way_out(name, value):
    given = {"fp": 1e50, "fn": 1e50, name: [0.0, value, 1e50, value]}
    with pytest.raises(CostsError) as error:
        Costs(**given)
    assert str(error.value) == (
        f"{name}_cost is neither 0 nor between 1e-100 and 1e+100 in 2 records: the first is row 1, {value:g}. "
        "Give all costs in another unit: only their ratios matter"
    )


def test_the_ends_of_the_range_are_in_it():
    costs = Costs(fp=[1e-100, 1e100, 0.0], fn=[1e100, 1e-100, 1e-100])
    np.testing.assert_array_equal(costs.threshold(), [1e-200, 1.0, 0.0])


def test_slices_copies_and_pickles_are_not_validated_again(monkeypatch):
    costs = Costs(fp=[1.0, 2.0, 3.0], fn=5)
    monkeypatch.setattr("stakes.costs._numbers", None)
    chosen = costs[1:]
    again = [chosen, copy.deepcopy(chosen), pickle.loads(pickle.dumps(chosen)), chosen[[True, True]]]
    for same in again:
        np.testing.assert_array_equal(same.fp, [2, 3])
        assert same.fn == 5
        with pytest.raises(ValueError, match="read-only"):
            same.fp[0] = 7


def test_wrong_number_of_records_names_the_argument_and_both_lengths():
    costs = Costs(fp=1, fn=[1, 2, 3])
    message = r"^fn_cost has 3 records, {} has 4: give one number, or one per record$"
    with pytest.raises(CostsError, match=message.format("X")):
        costs.for_records(4)
    with pytest.raises(CostsError, match=message.format("X_val")):
        costs.for_records(4, "X_val")
    with pytest.raises(CostsError, match=message.format("X")):
        costs.arrays(4)
    with pytest.raises(CostsError, match=message.format("X")):
        costs.of([0, 1, 0, 1])
    with pytest.raises(CostsError, match=message.format("y")):
        costs.class_means([0, 1, 0, 1])


def test_costs_errors_are_value_errors():
    with pytest.raises(ValueError, match="fp_cost"):
        Costs(fp=np.nan, fn=1)


# What is accepted, and what becomes of it


@pytest.mark.parametrize(
    "column",
    [
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1, 2, 3], dtype=np.float32),
        np.array([1, 2, 3], dtype=object),
        [Decimal(1), Fraction(2), 3],
        pd.Series([1, 2, 3], index=[7, 8, 9]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="float64[pyarrow]"),
        pl.Series([1, 2, 3]),
        pl.Series(["1", "2", "3"]).cast(pl.Decimal(10, 2)),
    ],
    ids=lambda column: f"{type(column).__module__}.{getattr(column, 'dtype', type(column).__name__)}",
)
def test_any_column_of_numbers_is_accepted(column):
    costs = Costs(fp=column, fn=0)
    assert costs.fp.dtype == np.float64
    np.testing.assert_array_equal(costs.fp, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("column", [pd.Series([1, None, 3], dtype="Int64"), pl.Series([1, None, 3])])
def test_missing_values_of_a_column_are_not_finite(column):
    with pytest.raises(CostsError, match=r"^fp_cost is not (finite|numeric) in 1 record: the first is row 1,"):
        Costs(fp=column, fn=0)


@pytest.mark.parametrize("number", [5, 5.0, np.float32(5), np.array(5), Decimal(5), Fraction(5)], ids=repr)
def test_one_number_is_constant(number):
    costs = Costs(fp=number, fn=1)
    assert costs.fp == 5.0
    assert isinstance(costs.fp, float)
    assert costs.constant
    assert costs.n_records is None


def test_a_list_of_one_is_the_cost_of_one_record():
    costs = Costs(fp=[5], fn=1)
    assert not costs.constant
    assert costs.n_records == 1
    assert repr(costs) == "Costs(fp=<1 record, 5 to 5>, fn=1)"


def test_the_full_matrix_is_reduced_to_what_mistakes_cost_more():
    costs = Costs(fp=[5, 6], fn=10, tp=[-1, 2], tn=1)
    np.testing.assert_array_equal(costs.fp, [4, 5])
    np.testing.assert_array_equal(costs.fn, [11, 8])


def test_zero_and_empty_costs_are_legal():
    assert Costs(fp=0, fn=[0, 0]).n_records == 2
    empty = Costs(fp=[], fn=1)
    assert empty.n_records == 0
    assert empty.threshold().shape == (0,)
    assert repr(empty) == "Costs(fp=<0 records>, fn=1)"


def test_repr_shows_range():
    assert repr(Costs(fp=5, fn=[20, 95.5])) == "Costs(fp=5, fn=<2 records, 20 to 95.5>)"


# Immutability


def test_the_callers_arrays_are_copied_and_left_alone():
    fp, tn = np.array([1.0, 2.0]), np.array([0.5, 0.5])
    costs = Costs(fp=fp, fn=fp, tn=tn)
    np.testing.assert_array_equal(fp, [1, 2])
    np.testing.assert_array_equal(tn, [0.5, 0.5])
    assert fp.flags.writeable
    fp[:] = 99
    np.testing.assert_array_equal(costs.fn, [1, 2])


def test_costs_cannot_be_changed():
    costs = Costs(fp=1, fn=[1.0, 2.0])
    with pytest.raises(AttributeError, match="cannot be changed"):
        costs.fp = 2
    with pytest.raises(AttributeError):
        costs.other = 2
    with pytest.raises(ValueError, match="read-only"):
        costs.fn[0] = 5
    for array in (*costs.arrays(2), costs[:1].fn):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_results_are_fresh_arrays():
    costs = Costs(fp=[1.0, 2.0], fn=1)
    costs.threshold()[:] = 0
    costs.of([0, 0])[:] = 0
    np.testing.assert_array_equal(costs.of([0, 0]), [1, 2])


@pytest.mark.parametrize("costs", [Costs(fp=1, fn=2), Costs(fp=[1, 2], fn=3, tn=1)], ids=repr)
@pytest.mark.parametrize("again", [lambda c: pickle.loads(pickle.dumps(c)), copy.copy, copy.deepcopy])
def test_pickles_and_copies_are_equal_and_read_only(costs, again):
    other = again(costs)
    assert other == costs
    assert other.constant == costs.constant
    if not costs.constant:
        assert not other.fp.flags.writeable


def test_equality_is_of_values():
    assert Costs(fp=1, fn=[1, 2]) == Costs(fp=2, fn=[2, 3], tp=1, tn=1)
    assert Costs(fp=1, fn=1) != Costs(fp=1, fn=[1])
    assert Costs(fp=1, fn=1) != (1, 1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Costs(fp=1, fn=1))


def test_costs_are_not_iterable():
    with pytest.raises(TypeError, match="not iterable"):
        iter(Costs(fp=1, fn=1))


# Rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (slice(1, 3), [2, 3]),
        ([2, 0, 2], [3, 1, 3]),
        (np.array([0, 1]), [1, 2]),
        ([True, False, True], [1, 3]),
        (pd.Series([False, True, False]), [2]),
        (pl.Series([0, 2]), [1, 3]),
        (1, [2]),
        (-1, [3]),
        ([], []),
        ((), []),
    ],
    ids=repr,
)
def test_rows_are_chosen_by_slices_masks_and_numbers(rows, expected):
    chosen = Costs(fp=7, fn=[1, 2, 3])[rows]
    assert chosen.fp == 7
    np.testing.assert_array_equal(chosen.fn, expected)


def test_rows_that_do_not_exist_are_an_error():
    with pytest.raises(IndexError):
        Costs(fp=1, fn=[1, 2])[[2]]


@given(arrays(float, 6, elements=costs_of_any_size), st.lists(st.integers(-6, 5), max_size=10))
def test_thresholds_of_rows_are_rows_of_thresholds(fn, rows):
    costs = Costs(fp=3, fn=fn)
    index = np.array(rows, dtype=int)
    np.testing.assert_array_equal(costs[rows].threshold(), costs.threshold()[index])


# Thresholds


@pytest.mark.parametrize(
    ("fp", "fn", "threshold"),
    [
        (1, 1, 0.5),
        (1, 3, 0.25),
        (3, 1, 0.75),
        (0, 5, 0.0),
        (5, 0, 1.0),
        (0, 0, 0.5),
        (1e100, 1e100, 0.5),
        (1e-100, 3e-100, 0.25),
        (1e-100, 1e100, 1e-200),
        (1e100, 1e-100, 1.0),
        (1, 1e6, 1 / (1 + 1e6)),
    ],
)
def test_threshold_is_the_share_of_the_false_positive(fp, fn, threshold):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constant = Costs(fp=fp, fn=fn).threshold()
        per_record = Costs(fp=[fp, 1], fn=fn).threshold()
    assert isinstance(constant, float)
    assert constant == pytest.approx(threshold, rel=1e-15)
    assert per_record[0] == constant


def test_threshold_is_half_where_both_costs_are_zero():
    np.testing.assert_array_equal(Costs(fp=[0, 0, 1], fn=[0, 1, 0]).threshold(), [0.5, 0, 1])


@given(costs_of_any_size, costs_of_any_size)
def test_threshold_equals_exact_arithmetic(fp, fn):
    exact = Fraction(fp) / (Fraction(fp) + Fraction(fn)) if fp or fn else Fraction(1, 2)
    assert Costs(fp=fp, fn=fn).threshold() == pytest.approx(float(exact), rel=1e-15, abs=1e-300)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(0, 1))
def test_probabilities_above_the_threshold_are_cheaper_to_act_on(fp, fn, p):
    expected_if_positive, expected_if_negative = (1 - p) * fp, p * fn
    threshold = Costs(fp=fp, fn=fn).threshold()
    if p > threshold * (1 + 1e-12):
        assert expected_if_positive <= expected_if_negative
    elif p < threshold * (1 - 1e-12):
        assert expected_if_positive >= expected_if_negative


# Costs of records, class means


def test_cost_of_a_record_is_that_of_misclassifying_it():
    costs = Costs(fp=[1, 2, 3], fn=[10, 20, 30])
    np.testing.assert_array_equal(costs.of([1, 0, 1]), [10, 2, 30])
    np.testing.assert_array_equal(costs.of(np.array([True, False, False])), [10, 2, 3])
    np.testing.assert_array_equal(Costs(fp=1, fn=5).of([1, 0]), [5, 1])


def test_class_means_are_over_the_class_that_can_make_the_mistake():
    means = Costs(fp=[1, 2, 100, 6], fn=[50, 60, 10, 70]).class_means([0, 0, 1, 0])
    assert means.constant
    assert means == Costs(fp=3, fn=10)
    assert Costs(fp=4, fn=[1, 3]).class_means([1, 1]) == Costs(fp=4, fn=2)


def test_class_mean_of_an_absent_class_is_over_all_records():
    assert Costs(fp=[1, 3], fn=[5, 7]).class_means([1, 1]) == Costs(fp=2, fn=6)


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_class_means_neither_overflow_nor_vanish(size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        means = Costs(fp=np.full(64, size), fn=1).class_means(np.zeros(64))
    assert means.fp == size


@given(arrays(float, 8, elements=st.just(0.0) | st.floats(1e-100, 1e6)), arrays(bool, 8))
def test_class_means_keep_the_total_cost_of_mistakes(cost, y):
    costs = Costs(fp=cost, fn=2 * cost)
    total = costs.of(y).sum()
    assert costs.class_means(y).of(y).sum() == pytest.approx(total, rel=1e-12, abs=1e-300)


# One number per record, for whatever is not a cost


def test_per_record_repeats_one_number_and_checks_lengths():
    np.testing.assert_array_equal(per_record(2, "amount", 3), [2, 2, 2])
    np.testing.assert_array_equal(per_record([1, 2, 3], "amount", 3), [1, 2, 3])
    with pytest.raises(CostsError, match=r"^amount has 2 records, y_true has 3: give one number, or one per record$"):
        per_record([1, 2], "amount", 3)
    with pytest.raises(CostsError, match=r"row 1, nan\. Fill it in, or leave such records out$"):
        per_record([1, np.nan], "amount", 2)


@pytest.mark.parametrize("factor", [100.0, 0.01, 1e-9, 7.3])
def test_the_threshold_is_the_same_in_any_currency(factor: float) -> None:
    fp, fn = (side.ravel() for side in np.meshgrid(np.arange(1, 41) / 2, np.arange(1, 41) / 2))
    expected = fp / (fp + fn)  # exact numbers, and one rounding
    short = np.maximum(fp, fn) / np.minimum(fp, fn) * 8 % 1 == 0  # ratios such as 4 or 2.5, which k / n may equal
    threshold = Costs(fp=factor * fp, fn=factor * fn).threshold()
    np.testing.assert_array_equal(threshold[short], expected[short])
    np.testing.assert_allclose(threshold, expected, rtol=1e-15)
    assert Costs(fp=factor, fn=4 * factor).threshold() == 0.2
