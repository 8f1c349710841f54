"""The exact leg's variance is the nearest double, whatever the values are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.panes.from_scan import Scanned
from shedding.panes.states import PanePowers
from shedding.scan.exact_variance import exact_variance
from shedding.scan.row_sums import row_sums
from shedding.spec.measure import MeasureSpec

SPREAD = MeasureSpec(name="m", agg="variance", column="x", magnitude=62)


def truth(values: list[float]) -> float:
    if len(values) < 2:
        return math.nan
    terms = [Fraction(value) for value in values]
    mean = sum(terms) / len(terms)
    return float(sum((term - mean) ** 2 for term in terms) / (len(terms) - 1))


def state_of_rows(values: pa.Array) -> PanePowers:
    rows = pa.table({"pane_start": pa.array([0] * len(values), pa.int64()), "x": values})
    table = row_sums(rows, ["pane_start"], [SPREAD], {"m": ["x"]})
    state = Scanned(table, [], None).panes(None, [SPREAD], None).measures["m"]
    assert isinstance(state, PanePowers)
    return state


def found(values: pa.Array) -> float:
    state = state_of_rows(values)
    return float(exact_variance(state.moments.count, state.total, state.squares)[0])


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30),
    st.sampled_from([0.01, 1e-9, 1e-60, 1e10]),
    st.sampled_from([0.0, 1.7e9, -3e11]),
)
def test_the_variance_is_the_nearest_double(numbers: list[int], unit: float, offset: float) -> None:
    values = [offset + number * unit for number in numbers]
    np.testing.assert_equal(found(pa.array(values, pa.float64())), truth(values))


@given(st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=20))
def test_whole_numbers_that_no_double_holds_have_their_own_variance(numbers: list[int]) -> None:
    np.testing.assert_equal(found(pa.array(numbers, pa.int64())), truth(list(map(float, []))) if len(numbers) < 2 else
                            float(truth_of_wholes(numbers)))  # fmt: skip


def truth_of_wholes(numbers: list[int]) -> Fraction:
    mean = Fraction(sum(numbers), len(numbers))
    return sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (len(numbers) - 1)


def test_a_variance_that_is_too_small_for_a_double_is_zero() -> None:
    assert str(found(pa.array([1e-300, 3e-300]))) == "0.0"


def test_equal_values_have_no_variance_at_all() -> None:
    assert found(pa.array([0.1] * 7)) == 0.0
    assert found(pa.array([1.7e9 + 0.1] * 3)) == 0.0


@pytest.mark.parametrize(("offset", "unit"), [(0.0, 1.0), (50.0, 0.2), (1000.0, 5.0), (0.0, 1e-3)])
def test_higher_moments_are_those_of_the_values(offset: float, unit: float) -> None:
    values = offset + unit * np.random.default_rng(2).gamma(2.0, 1.0, 500)
    away = values - values.mean()
    state = state_of_rows(pa.array(values))
    np.testing.assert_allclose(state.m3, (away**3).sum(), rtol=1e-4)
    np.testing.assert_allclose(state.m4, (away**4).sum(), rtol=1e-4)


def test_where_fourth_powers_are_lost_to_rounding_a_normal_law_stands_in() -> None:
    values = 1.7e9 + np.random.default_rng(2).gamma(2.0, 1.0, 500)
    state = state_of_rows(pa.array(values))
    np.testing.assert_allclose(state.moments.m2, values.var() * 500, rtol=1e-6)
    np.testing.assert_allclose(state.m4, 3 * state.moments.m2**2 / 500)
    assert state.m3[0] == 0.0
