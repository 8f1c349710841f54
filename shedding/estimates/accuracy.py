"""How wrong an answer is: measured where the exact one is known, expected from the intervals where it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.moments import Floats, Moments

Flags = NDArray[np.bool_]

STATISTICS = ("mean", "p95", "worst")
"""What the gate limits; the order of `WindowErrors`."""
MISSING = 1.0
"""The relative error of a missing key."""
TAIL = 0.95
MEAN_OF_NORMAL = float(np.sqrt(2 / np.pi))
"""E|error| of a normal law with deviation 1."""


@dataclass(frozen=True, slots=True)
class WindowErrors:
    """The relative errors of a window's keys, summarised: what runs, gate, audits, repairs and comparisons speak of.

    Measured errors are summarised by `of`; the expected, claimed or bounded statistics of `shedding.risk` have the
    same three names. nan where the window has no key.
    """

    mean: float
    p95: float
    worst: float

    @classmethod
    def of(cls, errors: Floats, missing: int = 0) -> WindowErrors:
        """Of the keys' errors and of `missing` keys more, each an error of 1.

        Guarantee: NumPy's mean, quantile and maximum; an infinite error makes a statistic infinite, never nan.

        >>> errors = WindowErrors.of(np.array([0.0, 0.0, 0.0]), missing=1)
        >>> errors.mean, round(errors.p95, 2), errors.worst
        (0.25, 0.85, 1.0)
        """
        every = np.concatenate([errors, np.full(missing, MISSING)])
        if not every.size:
            return cls.unknown()
        with np.errstate(invalid="ignore"):
            p95 = float(np.quantile(every, TAIL))
        return cls(float(every.mean()), np.inf if np.isnan(p95) else p95, float(every.max()))

    @classmethod
    def unknown(cls) -> WindowErrors:
        """Those of a window without keys."""
        return cls(np.nan, np.nan, np.nan)

    def columns(self, suffix: str = "_error") -> dict[str, float | None]:
        """By name, as a run's row holds them: `mean_error`, ...; None where unknown."""
        values = {f"{name}{suffix}": getattr(self, name) for name in STATISTICS}
        return {name: None if np.isnan(value) else value for name, value in values.items()}


def pooled_spread(rows: Moments) -> float:
    """Pooled within-key standard deviation of a row: the floor under |exact| for measures that can be near zero."""
    freedom = float(np.maximum(rows.count - 1, 0.0).sum())
    return float(np.sqrt(rows.m2.sum() / freedom)) if freedom > 0 else 0.0


def relative_errors(exact: Floats, value: Floats, floor: float = 0.0) -> Floats:
    """|value - exact| / max(|exact|, floor) of each key of the exact answer; a missing key (nan) counts as 1.

    `floor` is `pooled_spread` for measures near zero, else 0. An exact 0 with no floor: 0 if the value is 0, else 1.

    >>> relative_errors(np.array([10.0, 10.0, 0.0]), np.array([9.0, np.nan, 0.0]))
    array([0.1, 1. , 0. ])
    """
    scale = np.maximum(np.abs(exact), floor)
    error = np.abs(np.subtract(value, exact, out=np.zeros_like(scale), where=value != exact))  # infinite ones too
    relative = np.where(scale > 0, error / np.where(scale > 0, scale, 1.0), np.where(error > 0, 1.0, 0.0))
    return np.where(np.isnan(value), 1.0, relative)


def checked_intervals(exact: Floats, low: Floats, high: Floats) -> tuple[Flags, Flags]:
    """Which intervals are put to the test, and which intervals hold the exact value; ends may miss it by rounding.

    An interval without width claims to be exact: no estimate where that is true, and a miss where it is not.

    >>> checked_intervals(np.array([2.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 3.0]))
    (array([ True, False,  True]), array([ True,  True, False]))
    """
    slack = 1e-9 * np.abs(exact)
    with np.errstate(invalid="ignore"):  # an infinite value has no neighbourhood: only itself holds it
        inside = np.asarray((low <= exact + slack) & (exact - slack <= high)) | ((low == exact) & (exact == high))
    return np.asarray((high > low) | ~(inside | np.isnan(exact))), inside


def half_widths(value: Floats, low: Floats, high: Floats, floor: float | Floats = 0.0) -> Floats:
    """Half of each interval's width over max(|value|, floor); nan for a key without a value.

    Relative as `relative_errors` are: no width is 0, and without a floor a width around 0 is 1.

    >>> half_widths(np.array([10.0, 0.0, 0.0]), np.array([9.0, 0.0, -3.0]), np.array([11.0, 0.0, 3.0]))
    array([0.1, 0. , 1. ])
    """
    half = np.subtract(high, low, out=np.zeros_like(value), where=high != low) / 2  # infinite ends may be equal
    scale = np.maximum(np.abs(value), floor)
    with np.errstate(invalid="ignore"):  # an endless interval of an infinite value
        relative = np.where(scale > 0, half / np.where(scale > 0, scale, 1.0), np.where(half > 0, 1.0, 0.0))
    return np.where(np.isnan(value), np.nan, relative)


def mean_half_width(widths: Floats) -> float:
    """Mean of the half-widths of the keys that have a value; nan where none has."""
    known = widths[~np.isnan(widths)]
    return float(known.mean()) if known.size else np.nan
