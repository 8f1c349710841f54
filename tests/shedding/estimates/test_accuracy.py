import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.estimates.accuracy import (
    WindowErrors,
    checked_intervals,
    half_widths,
    mean_half_width,
    pooled_spread,
    relative_errors,
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


def test_missing_keys_weigh_as_whole_errors() -> None:
    window = WindowErrors.of(np.array([0.1, 0.0, 0.0]), missing=1)
    assert window.mean == pytest.approx(1.1 / 4)
    assert window.worst == 1
    assert window.p95 == pytest.approx(np.quantile([0.1, 1, 0, 0], 0.95))


@given(st.lists(st.floats(0, 10), max_size=40), st.integers(0, 5))
def test_a_missing_key_is_a_key_with_an_error_of_one(errors: list[float], missing: int) -> None:
    every = np.array(errors + [1.0] * missing)
    window = WindowErrors.of(np.array(errors), missing)
    if not every.size:
        assert window.columns() == {"mean_error": None, "p95_error": None, "worst_error": None}
        return
    assert (window.mean, window.worst) == (every.mean(), every.max())
    assert window.p95 == np.quantile(every, 0.95)
    assert window.mean <= window.worst * (1 + 1e-12)


def test_an_infinite_error_is_infinite_in_every_statistic_and_never_unknown() -> None:
    window = WindowErrors.of(np.array([0.1, np.inf, np.inf]))
    assert (window.mean, window.p95, window.worst) == (np.inf, np.inf, np.inf)


def test_an_end_that_misses_by_rounding_alone_covers() -> None:
    third = np.array([1 / 3])
    assert checked_intervals(third, third + 1e-15, third + 1)[1].all()


def test_half_widths_are_relative_as_errors_are() -> None:
    value = np.array([10.0, 0.0, 0.0, np.nan, 10.0])
    low, high = np.array([8.0, 0.0, -1.0, 1.0, -np.inf]), np.array([12.0, 0.0, 1.0, 2.0, np.inf])
    widths = half_widths(value, low, high)
    assert widths[:3].tolist() == [0.2, 0.0, 1.0]
    assert np.isnan(widths[3])
    assert widths[4] == np.inf
    assert half_widths(value, low, high, floor=20.0)[:3].tolist() == [0.1, 0.0, 0.05]


def test_the_mean_half_width_is_over_the_keys_that_have_a_value() -> None:
    assert mean_half_width(np.array([0.1, np.nan, 0.3])) == pytest.approx(0.2)
    assert np.isnan(mean_half_width(np.array([np.nan])))
    assert np.isnan(mean_half_width(np.empty(0)))


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_half_width_is_the_error_of_an_interval_end(value: float, half: float, floor: float) -> None:
    exact, end = np.array([value]), np.array([value + half])
    width = half_widths(exact, exact - (end - exact), end, floor)
    assert width == pytest.approx(relative_errors(exact, end, floor), rel=1e-6, abs=1e-9)


def test_an_infinite_value_is_held_by_itself_alone_and_without_error():
    endless = np.array([np.inf, -np.inf])
    tested, inside = checked_intervals(endless, endless, endless)
    assert inside.all()
    assert not tested.any()
    assert relative_errors(endless, endless).tolist() == [0.0, 0.0]
    assert not checked_intervals(endless[:1], np.array([1.0]), np.array([2.0]))[1].any()
