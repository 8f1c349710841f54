"""How wrong an answer is: measured where the exact one is known, expected from the intervals where it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shedding.errors import DataError
from shedding.estimates.moments import Floats, Moments

Flags = NDArray[np.bool_]

TAIL = 0.95
_HALVINGS = 45
MEAN_OF_NORMAL = float(np.sqrt(2 / np.pi))
"""E|error| of a normal law with deviation 1."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Relative errors of one window's answer over its keys: mean, 95th percentile, worst; coverage and half-width.

    `coverage` (share of intervals that hold the exact value) is nan where no exact value is known; `half_width` is
    relative like the errors. `missing` counts keys without an answer.
    """

    mean: float
    p95: float
    worst: float
    coverage: float
    half_width: float
    missing: int


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


def measured_accuracy(
    exact: Floats, value: Floats, low: Floats, high: Floats, *, weight: Floats | None = None, floor: float = 0.0
) -> Accuracy:
    """Accuracy against the exact answer, over its keys; `weight` None: each key alike, populations: by rows.

    A key without a value counts as an error of 1 and as not covered, and not in the half-width. Ends that miss the
    exact value by rounding alone cover it. Guarantee: with equal weights mean and p95 are NumPy's.
    """
    weights = _weights(weight, exact)
    if weights.sum() <= 0:
        return Accuracy(0.0, 0.0, 0.0, np.nan, 0.0, 0)
    errors = relative_errors(exact, value, floor)
    given = ~np.isnan(value)
    covered = given & checked_intervals(exact, low, high)[1]
    scale = np.maximum(np.abs(exact), floor)
    width = np.subtract(high, low, out=np.zeros_like(low), where=given & (high != low))
    half = width / 2 / np.where(scale > 0, scale, 1.0)
    return Accuracy(
        mean=float(np.average(errors, weights=weights)),
        p95=weighted_quantile(errors, weights, TAIL),
        worst=float(errors.max()),
        coverage=float(np.average(covered, weights=weights)),
        half_width=_mean_of(half, weights * given),
        missing=int(np.count_nonzero(~given)),
    )


def estimated_accuracy(
    value: Floats, deviation: Floats, low: Floats, high: Floats, *, weight: Floats | None = None, floor: float = 0.0
) -> Accuracy:
    """Accuracy to be expected where no exact answer is known, the errors taken as normal with the given deviations.

    mean = E|error| = sqrt(2 / pi) sd; p95 the 95 % quantile of |error| over keys and chance (the mixture of the keys'
    half-normal laws); worst the largest half-width. Relative to max(|value|, floor). A key without a value counts
    as an error of 1. Guarantee: right on average as far as the deviations are; audits tell (calibration).
    """
    weights = _weights(weight, value)
    if weights.sum() <= 0:
        return Accuracy(0.0, 0.0, 0.0, np.nan, 0.0, 0)
    given = ~np.isnan(value)
    scale = np.maximum(np.abs(np.where(given, value, 1.0)), floor)
    scale = np.where(scale > 0, scale, 1.0)
    relative = np.where(given, deviation, 0.0) / scale
    half = np.subtract(high, low, out=np.zeros_like(low), where=given & (high != low)) / 2 / scale
    return Accuracy(
        mean=float(np.average(np.where(given, MEAN_OF_NORMAL * relative, 1.0), weights=weights)),
        p95=mixture_quantile(np.where(given, relative, np.nan), weights),
        worst=float(np.where(given, half, 1.0).max()),
        coverage=np.nan,
        half_width=_mean_of(half, weights * given),
        missing=int(np.count_nonzero(~given)),
    )


def weighted_quantile(values: Floats, weights: Floats, level: float) -> float:
    """Quantile of weighted values, linear between them; NumPy's default where weights are equal."""
    order = np.argsort(values, kind="stable")
    data, mass = values[order], weights[order]
    data, mass = data[mass > 0], mass[mass > 0]
    if data.size == 0:
        raise DataError("a quantile of no values; leave windows without keys out")
    place = np.cumsum(mass) - mass
    span = mass.sum() - mass[-1]
    return float(np.interp(level, place / span, data)) if span > 0 else float(data[-1])


def mixture_quantile(deviation: Floats, weights: Floats) -> float:
    """x with sum w P(|error| <= x) = 95 % of sum w; nan deviations are errors of exactly 1."""
    missing = np.isnan(deviation)
    if np.any(np.isinf(deviation) & (weights > 0)):
        unknown = float(weights[np.isinf(deviation)].sum() / weights.sum())
        if unknown >= 1 - TAIL:
            return np.inf
    sd = np.where(missing, 1.0, deviation)
    finite = sd[np.isfinite(sd)]
    low, high = 0.0, max(40 * float(finite.max(initial=0.0)), 1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(sd > 0, special.erf(middle / (sd * np.sqrt(2))), 1.0)
        share = np.average(np.where(missing, float(middle >= 1), inside), weights=weights)
        low, high = (middle, high) if share < TAIL else (low, middle)
    return high


def _weights(weight: Floats | None, values: Floats) -> Floats:
    weights = np.ones(values.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    if weights.shape != values.shape or np.any(weights < 0):
        raise DataError(
            f"weights {weights.shape} for {values.shape} keys must be one number, not negative, for each key"
        )
    return weights


def _mean_of(values: Floats, weights: Floats) -> float:
    return float(np.average(values, weights=weights)) if weights.sum() > 0 else np.nan
