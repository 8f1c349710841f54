import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.errors import DataError
from shedding.estimates.accuracy import (
    checked_intervals,
    estimated_accuracy,
    measured_accuracy,
    pooled_spread,
    relative_errors,
    weighted_quantile,
)
from shedding.estimates.moments import Moments

EXACT = np.array([10.0, 20.0, -5.0, 0.0])


def test_a_missing_key_counts_as_a_full_error():
    assert relative_errors(EXACT, np.array([11.0, np.nan, -5.0, 0.0])) == pytest.approx([0.1, 1.0, 0.0, 0.0])


def test_an_exact_zero_without_a_floor_is_right_or_wholly_wrong():
    assert relative_errors(np.zeros(2), np.array([0.0, 1e-9])) == pytest.approx([0.0, 1.0])


def test_near_zero_errors_are_relative_to_the_spread_of_rows():
    spread = pooled_spread(Moments([3.0, 3.0], [0.0, 1.0], [8.0, 8.0]))
    assert spread == 2.0
    assert relative_errors(np.array([0.1, 40.0]), np.array([1.1, 42.0]), spread) == pytest.approx([0.5, 0.05])


def test_a_window_is_measured_over_the_keys_of_the_exact_answer():
    value = np.array([11.0, np.nan, -5.0, 0.0])
    found = measured_accuracy(EXACT, value, value - 0.5, value + 2)
    assert found.mean == pytest.approx(1.1 / 4)
    assert found.worst == 1
    assert found.p95 == pytest.approx(np.quantile([0.1, 1, 0, 0], 0.95))
    assert found.coverage == pytest.approx(0.5)  # 10 < 10.5 is missed, nan is missed
    assert found.missing == 1


def test_weights_by_rows_let_big_keys_speak():
    value = np.array([11.0, 20.0])
    found = measured_accuracy(EXACT[:2], value, value, value, weight=np.array([9.0, 1.0]))
    assert found.mean == pytest.approx(0.09)
    assert found.coverage == pytest.approx(0.1)


def test_an_end_that_misses_by_rounding_alone_covers():
    third = np.array([1 / 3])
    assert measured_accuracy(third, third + 1e-15, third + 1e-15, third + 1).coverage == 1


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.floats(0, 10), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_equal_weights_give_numpys_quantile(values, level):
    data = np.array(values)
    assert weighted_quantile(data, np.full(data.size, 3.0), level) == pytest.approx(np.quantile(data, level), abs=1e-9)


def test_expected_errors_agree_with_measured_ones_where_the_deviations_are_true():
    rng = np.random.default_rng(1)
    exact = rng.uniform(50, 150, 20_000)
    deviation = rng.uniform(0, 8, 20_000)
    value = exact + rng.normal(0, 1, 20_000) * deviation
    low, high = value - 1.96 * deviation, value + 1.96 * deviation
    expected = estimated_accuracy(value, deviation, low, high)
    measured = measured_accuracy(exact, value, low, high)
    assert expected.mean == pytest.approx(measured.mean, rel=0.05)
    assert expected.p95 == pytest.approx(measured.p95, rel=0.05)
    assert expected.half_width == pytest.approx(measured.half_width, rel=0.05)
    assert measured.coverage == pytest.approx(0.95, abs=0.01)
    assert np.isnan(expected.coverage)


def test_expected_errors_count_missing_keys_and_endless_intervals():
    value, deviation = np.array([10.0, np.nan]), np.array([0.0, np.nan])
    found = estimated_accuracy(value, deviation, value, value)
    assert (found.mean, found.worst, found.missing) == (0.5, 1.0, 1)
    assert found.p95 == pytest.approx(1)
    endless = estimated_accuracy(np.ones(2), np.array([0.1, np.inf]), np.array([0.8, -np.inf]), np.array([1.2, np.inf]))
    assert endless.p95 == np.inf
    assert endless.mean == np.inf


def test_a_window_without_keys_has_no_error():
    nothing = np.empty(0)
    assert measured_accuracy(nothing, nothing, nothing, nothing).mean == 0
    assert estimated_accuracy(nothing, nothing, nothing, nothing).p95 == 0


def test_weights_that_do_not_fit_the_keys_are_refused():
    with pytest.raises(DataError, match="weights"):
        measured_accuracy(EXACT, EXACT, EXACT, EXACT, weight=np.ones(3))


def test_an_infinite_value_is_held_by_itself_alone_and_without_error():
    endless = np.array([np.inf, -np.inf])
    tested, inside = checked_intervals(endless, endless, endless)
    assert inside.all()
    assert not tested.any()
    assert relative_errors(endless, endless).tolist() == [0.0, 0.0]
    assert not checked_intervals(endless[:1], np.array([1.0]), np.array([2.0]))[1].any()
