"""What an answer claims of its own errors: their mean, 95th percentile and worst over the keys of a window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shedding.estimates.accuracy import MEAN_OF_NORMAL, MISSING, STATISTICS, WindowErrors
from shedding.estimates.mixture_quantile import mixture_quantile

Floats = NDArray[np.float64]

_WIDEST = 2000
"""Keys of largest claims that the worst one is looked for among: the others would have to be wrong by far more."""
_HALVINGS = 50


def claims(expected: Floats, missing: int = 0) -> WindowErrors:
    """The statistics that keys with these expected errors, E|error| of a normal law each, are claimed to have.

    mean: of the expectations. p95: over keys and chance. worst: the median of the largest error, keys taken as
    independent. A missing key is an error of 1 for sure. An infinite expectation is an infinite claim, never nan.
    Guarantee: all three grow with every expected error, and in proportion where no key is missing.
    """
    if not expected.size + missing:
        return WindowErrors.unknown()
    return WindowErrors(*(claim(statistic, expected, missing) for statistic in STATISTICS))


def claim(statistic: str, expected: Floats, missing: int = 0) -> float:
    """One of the statistics of `claims`, of at least one key."""
    deviation = expected / MEAN_OF_NORMAL
    if statistic == "mean":
        return float((expected.sum() + MISSING * missing) / (expected.size + missing))
    if statistic == "p95":
        every = np.concatenate([deviation, np.full(missing, np.nan)]) if missing else deviation
        return float(mixture_quantile(every))
    return max(_median_of_largest(deviation), MISSING if missing else 0.0)


def effective_keys(expected: Floats) -> float:
    """(sum E)^2 / sum E^2: how many equal errors vary as much in the mean as these do; 0 where there are none.

    >>> effective_keys(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    finite = expected[np.isfinite(expected)]
    largest = float(finite.max(initial=0.0))
    if largest <= 0:
        return 0.0
    scaled = finite / largest
    return float(scaled.sum() ** 2 / np.square(scaled).sum())


def _median_of_largest(deviation: Floats) -> float:
    """x with P(all |error| <= x) = 1/2."""
    if np.any(np.isinf(deviation)):
        return np.inf
    wide = deviation[deviation > 0]
    if not wide.size:
        return 0.0
    if wide.size > _WIDEST:
        wide = np.partition(wide, wide.size - _WIDEST)[-_WIDEST:]
    low, high = 0.0, 10 * float(wide.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):
            inside = float(np.log(special.erf(middle / (wide * np.sqrt(2)))).sum())
        low, high = (middle, high) if inside < np.log(0.5) else (low, middle)
    return high
