import numpy as np
import pytest

from shedding.compare.season import HOUR, found_season


def rows_of(hours, wave, period=24, seed=1):
    rng = np.random.default_rng(seed)
    start = np.arange(hours) * HOUR + 123 * 24 * HOUR
    return start, rng.poisson(200 * np.exp(wave * np.sin(2 * np.pi * np.arange(hours) / period)))


@pytest.mark.parametrize("period", [6, 24, 24 * 7])
def test_the_period_of_the_rows_is_found(period):
    start, rows = rows_of(5 * period, 1.0, period)
    assert found_season(start, rows, HOUR) == period * HOUR


def test_a_shorter_period_is_not_mistaken_for_its_multiples():
    start, rows = rows_of(24 * 21, 1.0, 12)
    assert found_season(start, rows, HOUR) == 12 * HOUR


def test_noise_a_trend_and_too_short_a_past_have_no_season():
    start, rows = rows_of(240, 0.0)
    assert found_season(start, rows, HOUR) is None
    assert found_season(start, np.arange(1, 241) ** 2, HOUR) is None
    start, rows = rows_of(60, 1.0)
    assert found_season(start, rows, HOUR) is None


def test_windows_without_rows_are_part_of_the_season():
    start, rows = rows_of(24 * 6, 1.5)
    day = (np.arange(start.size) % 24) < 12
    assert found_season(start[day], rows[day], HOUR) == 24 * HOUR
