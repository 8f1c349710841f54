"""Durations in words and instants in ISO, both exact in microseconds."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.spec.times import as_datetime, format_duration, format_instant, parse_duration, parse_instant

LAWS = settings(max_examples=100, deadline=None, derandomize=True)
INSTANTS = st.integers(-30_000_000_000_000_000, 200_000_000_000_000_000)


@LAWS
@given(st.integers(1, 10**15))
def test_a_duration_in_words_reads_back_as_itself(micros: int) -> None:
    assert parse_duration(format_duration(micros)) == micros


@LAWS
@given(INSTANTS)
def test_an_instant_in_iso_reads_back_as_itself(micros: int) -> None:
    assert parse_instant(format_instant(micros)) == micros
    assert parse_instant(as_datetime(micros)) == micros


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("30 minutes", 1_800_000_000),
        ("1 hour", 3_600_000_000),
        (" 1.5 Hours ", 5_400_000_000),
        ("250 milliseconds", 250_000),
    ],
)
def test_words_are_read_with_either_number_and_case(text: str, micros: int) -> None:
    assert parse_duration(text) == micros


@pytest.mark.parametrize(
    "value",
    [
        "", "minutes", "30", "30 parsecs", "-1 hour", "0 hours", "9999999999 weeks", "9" * 400 + " weeks", "1h", "1:30",
        "0.1 microseconds", "٣ hours", 0, -5, 60, 1.5, True, None, [],
    ],
)  # fmt: skip
def test_what_is_no_duration_says_what_to_write(value: object) -> None:
    with pytest.raises(ValueError, match="30 minutes"):
        parse_duration(value)


@pytest.mark.parametrize(
    "value",
    ["tomorrow", "2026-13-01", "9999-12-31T23:00:00-14:00", "0001-01-01T00:00:00+14:00", 2012, 1.5, True, None],
)
def test_what_is_no_instant_says_what_to_write(value: object) -> None:
    with pytest.raises(ValueError, match="write e\\.g\\. '2026-11-16'"):
        parse_instant(value)


def test_an_instant_without_a_zone_means_utc() -> None:
    assert parse_instant("2026-11-16T01:00:00") == parse_instant("2026-11-16T02:00:00+01:00")
    assert parse_instant(dt.date(1970, 1, 2)) == 86_400_000_000
