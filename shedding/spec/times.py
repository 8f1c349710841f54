"""Durations as words ("30 minutes") and instants as ISO text, both in whole microseconds UTC."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
LONGEST = 36_525 * 86_400_000_000
_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s+([a-z]+?)s?\s*", re.IGNORECASE | re.ASCII)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_FIRST, _LAST = ((edge.replace(tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND for edge in (dt.datetime.min, dt.datetime.max))


def parse_duration(value: object) -> int:
    """Microseconds of a duration in words.

    >>> parse_duration("30 minutes")
    1800000000
    """
    match = _PATTERN.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2].lower() not in UNITS:
        raise ValueError(f"not a duration; write a number and a unit of {', '.join(UNITS)}, e.g. '30 minutes'")
    exact = Fraction(match[1]) * UNITS[match[2].lower()]
    if not 0 < exact <= LONGEST:
        raise ValueError(f"a duration must be positive and at most {format_duration(LONGEST)}, e.g. '30 minutes'")
    if exact.denominator != 1:
        raise ValueError("a duration must be a whole number of microseconds, e.g. '30 minutes'")
    return int(exact)


def format_duration(micros: int) -> str:
    """The shortest words for a duration, so that `parse_duration` gives it back.

    >>> format_duration(5400000000)
    '90 minutes'
    """
    unit, size = next((u, s) for u, s in reversed(UNITS.items()) if micros % s == 0)
    count = micros // size
    return f"{count} {unit}{'' if count == 1 else 's'}"


def parse_instant(value: object) -> int:
    """Microseconds since the epoch of an ISO date or date-time, of the years 1 to 9999; without a zone it means UTC.

    >>> parse_instant("1970-01-02")
    86400000000
    """
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError("not an instant; write e.g. '2026-11-16' or '2026-11-16T03:00:00Z'") from None
    elif isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime):
        raise ValueError("not an instant; write e.g. '2026-11-16' or '2026-11-16T03:00:00Z'")
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.UTC)
    micros = (value - _EPOCH) // _MICROSECOND
    if not _FIRST <= micros <= _LAST:  # its zone leads out of the calendar
        raise ValueError("not an instant of the years 1 to 9999; write e.g. '2026-11-16' or '2026-11-16T03:00:00Z'")
    return micros


def as_datetime(micros: int) -> dt.datetime:
    """The aware UTC datetime of an instant."""
    return _EPOCH + micros * _MICROSECOND


def format_date(micros: int) -> str:
    """The instant's date in UTC, the year in four digits, as Spark writes dates and texts of dates sort.

    >>> format_date(parse_instant("0999-12-31T23:00:00Z"))
    '0999-12-31'
    """
    return as_datetime(micros).date().isoformat()


def format_instant(micros: int) -> str:
    """ISO text with Z, fractions only where there are any.

    >>> format_instant(86400000000)
    '1970-01-02T00:00:00Z'
    """
    return as_datetime(micros).isoformat().replace("+00:00", "Z")


Duration = Annotated[int, BeforeValidator(parse_duration), PlainSerializer(format_duration)]
Instant = Annotated[int, BeforeValidator(parse_instant), PlainSerializer(format_instant)]
