"""What is published of a number that was not computed from all rows: value, interval, deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from shedding.errors import DataError
from shedding.estimates.moments import Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """Point estimates with two-sided intervals, one element a key.

    `deviation` is the estimated standard deviation of the error. Where the sample says nothing the value is nan and
    the interval infinite; where it gives a value but no spread (one row), only the interval is infinite. An exact
    number has deviation 0 and low = value = high.

    Guarantee: an interval holds its own value, however it was found. A mean may lie beyond the quantiles of a skewed
    law, which then reach out to it; an end or a deviation that nothing tells is infinite.

    >>> Estimate(*(np.array([x]) for x in (0.5, 0.0, 0.0, 2.0))).high
    array([0.5])
    """

    value: Floats
    low: Floats
    high: Floats
    deviation: Floats

    def __post_init__(self) -> None:
        told = ~np.isnan(self.value)
        for end, sign in (("low", -1.0), ("high", 1.0)):
            given: Floats = getattr(self, end)
            astray = told & ~(sign * given >= sign * self.value)
            if np.any(astray):
                reach = np.where(np.isnan(given), sign * np.inf, self.value)
                object.__setattr__(self, end, np.where(astray, reach, given))
        untold = told & np.isnan(self.deviation)
        if np.any(untold):
            object.__setattr__(self, "deviation", np.where(untold, np.inf, self.deviation))

    @classmethod
    def exact(cls, value: Floats) -> Estimate:
        """Numbers known without error, e.g. COUNT with a known population."""
        return cls(value, value, value, np.zeros_like(value))

    @classmethod
    def student(cls, value: Floats, variance: Floats, freedom: Floats, confidence: float) -> Estimate:
        """Value -+ t * sd with Student's t at `freedom` degrees; infinite where the variance or its freedom is unknown.

        A variance of 0 is certain only where nothing is left to sample; callers say so by a freedom of infinity.
        """
        known = (freedom > 0) & np.isfinite(variance)
        deviation = np.sqrt(np.where(known, np.maximum(variance, 0.0), np.inf))
        quantile = stats.t.ppf(0.5 + confidence / 2, np.where(known, np.maximum(freedom, 0.1), 1.0))
        half = np.where(known, quantile * np.where(known, deviation, 0.0), np.inf)
        return cls._around(value, half, deviation)

    @classmethod
    def _around(cls, value: Floats, half: Floats, deviation: Floats) -> Estimate:
        centre = np.where(np.isfinite(value), value, 0.0)
        return cls(value, centre - half, centre + half, deviation)

    def scaled(self, factor: Floats | float) -> Estimate:
        """The estimate of `factor` times the number, e.g. SUM = N * AVG with N known; relative width unchanged."""
        nothing = np.equal(factor, 0)  # 0 * inf: a key without rows has the sum 0 and no doubt about it
        with np.errstate(invalid="ignore"):
            low, high, deviation = (
                np.where(nothing, 0.0, part)
                for part in (self.low * factor, self.high * factor, self.deviation * np.abs(factor))
            )
        return Estimate(self.value * factor, np.minimum(low, high), np.maximum(low, high), deviation)

    def times(self, other: Estimate, confidence: float = 0.95) -> Estimate:
        """The product of two independent estimates, e.g. SUM = estimated N * AVG.

        Variance of a product of independent factors (Goodman 1960), v1^2 s2^2 + v2^2 s1^2 + s1^2 s2^2. The interval
        keeps the wider of the two factors' quantiles (half-width over deviation), so it is not too narrow where one
        of them has heavy tails.
        """
        variance = (
            (self.value * other.deviation) ** 2
            + (other.value * self.deviation) ** 2
            + (self.deviation * other.deviation) ** 2
        )
        floor = stats.norm.ppf(0.5 + confidence / 2)
        quantile = np.maximum(np.maximum(self._quantile(), other._quantile()), floor)
        deviation = np.sqrt(variance)
        half = np.where(deviation > 0, quantile * deviation, 0.0)
        return self._around(self.value * other.value, half, deviation)

    def _quantile(self) -> Floats:
        half = (self.high - self.low) / 2
        usable = (self.deviation > 0) & np.isfinite(self.deviation) & np.isfinite(half)
        return np.where(usable, half / np.where(usable, self.deviation, 1.0), 0.0)


def check_confidence(confidence: float) -> float:
    """The confidence itself; `DataError` unless it lies in (0, 1)."""
    if not 0 < confidence < 1:
        raise DataError(f"confidence is {confidence}, not in (0, 1); use e.g. 0.95")
    return confidence
