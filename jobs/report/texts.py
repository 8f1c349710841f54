"""Numbers and instants as people read them; what is not known is a dash."""

from __future__ import annotations

import math

from shedding.spec.times import UNITS, as_datetime

DASH = "\u2013"
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_UNITS = [(UNITS[name], name) for name in ("day", "hour", "minute", "second")]


def number(value: float | None) -> str:
    """Three digits that count, thousands as k, M, G.

    >>> number(1234567), number(0.04321), number(12.0), number(None) == DASH
    ('1.23M', '0.0432', '12', True)
    """
    if value is None or not math.isfinite(value):
        return DASH if value is None or math.isnan(value) else "∞"
    size, unit = next(((s, u) for s, u in _LARGE if abs(value) >= s * 0.9995), (1.0, ""))
    return f"{value / size:.3g}{unit}" if abs(value / size) < 999.5 else f"{value / size:.0f}{unit}"


def percent(value: float | None) -> str:
    """A share in percent, three digits that count.

    >>> percent(0.99), percent(0.0123), percent(-1.4107)
    ('99 %', '1.23 %', '-141 %')
    """
    if value is None or not math.isfinite(value):
        return DASH if value is None or math.isnan(value) else "∞"
    return f"{100 * value:.3g} %" if abs(value) < 9.995 else f"{100 * value:.0f} %"


def share(value: float) -> str:
    """A share near 1, with as many digits as its distance from 1 needs.

    >>> share(0.99), share(0.99953), share(1.0)
    ('99 %', '99.953 %', '100 %')
    """
    return DASH if math.isnan(value) else f"{100 * value:.5g} %"


def instant(micros: int | None) -> str:
    """Date and time in UTC, to the minute.

    >>> instant(0)
    '1970-01-01 00:00'
    """
    return DASH if micros is None else as_datetime(micros).strftime("%Y-%m-%d %H:%M")


def duration(micros: float | None) -> str:
    """A length of time in its largest unit.

    >>> duration(5400000000), duration(86400000000), duration(0)
    ('1.5 hours', '1 day', '0 seconds')
    """
    if micros is None or not math.isfinite(micros):
        return DASH
    size, name = next(((s, n) for s, n in _UNITS if abs(micros) >= s), _UNITS[-1])
    count = f"{micros / size:.3g}"
    return f"{count} {name}{'' if count == '1' else 's'}"
