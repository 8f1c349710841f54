"""What every measure can say of a window, and what those that learn from history can say besides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from shedding.arrays import positive, quotient
from shedding.errors import DataError
from shedding.estimates import Estimate, Sampled, Strata
from shedding.estimates.moments import Moments
from shedding.panes.states import WindowStat
from shedding.panes.windows import WindowSample
from shedding.spec.measure import MeasureSpec

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
S = TypeVar("S", bound=WindowStat)
"""What a window keeps of a measure."""
CONFIDENCE = 0.95
"""Of every interval."""


@dataclass(frozen=True, slots=True)
class Measure(ABC, Generic[S]):
    """One measure of a query; arrays are over the keys of a window's sample."""

    spec: MeasureSpec

    def stat(self, sample: WindowSample) -> S:
        """What the window keeps of the measure, by its state."""
        return cast(S, sample.measures[self.spec.name])

    @abstractmethod
    def exact(self, sample: WindowSample) -> Floats:
        """The value of each key whose rows were all seen; nan where it has none."""

    def plain(self, sample: WindowSample) -> Estimate:
        """The design-based estimate: stratified where populations are known, else by the rates."""
        raise DataError(f"{self.spec.agg} of {self.spec.name} has no estimate from a sample; write shed.policy: exact")

    def has_values(self, sample: WindowSample) -> Flags:
        """Which keys have a value to estimate; where populations are unknown, as far as the sample shows."""
        stat = self.stat(sample)
        known = np.asarray(stat.population.sum(axis=0) > 0)
        return known if sample.known else np.asarray(stat.moments.count.sum(axis=0) > 0)

    def integers(self, sample: WindowSample) -> Integers | None:
        """The exact values as whole numbers, where doubles may not hold them."""
        return None


class Learnable(Measure[S]):
    """A measure that is, to first order, a mean over rows: what history learns of means it learns of it.

    n of N rows know an average with variance sd^2 / n (1 - n / N). So they know a ratio of sums, whose row is
    (y - R x) / mean x, and a quantile, whose row has variance q (1 - q) / f^2 with the density f around it.
    """

    __slots__ = ()

    def row_moments(self, stat: S) -> Moments:
        """A window's exact values (1, K) as moments: rows, value, and row variance times (rows - 1)."""
        return stat.moments

    def sampled_rows(self, stat: S, population: Floats, rates: Floats) -> Sampled:
        """What a sample says of the values, `population` (S, K) rows, of which a share of `rates` (S, K) was drawn."""
        return Strata(population, stat.moments).combine()

    def value_rows(self, sample: WindowSample) -> Floats:
        """(S, K): how many rows of a stratum have a value, where populations are known."""
        stat = self.stat(sample)
        return np.maximum(stat.population, stat.moments.count)

    def spread_moments(self, stat: S) -> Moments:
        """Moments whose spread is that of one row, in the unit of the measure."""
        return stat.moments

    def of_mean(self, mean: Estimate, rows: Estimate | Floats) -> Estimate:
        """The measure from the mean over its rows, their number known or estimated."""
        return mean


def value_rates(sample: WindowSample, stat: WindowStat) -> Floats:
    """(S, K): the share of a stratum's values that was sampled; the rate it was drawn at where nobody counted."""
    if not sample.known:
        return positive(sample.rate)
    share = quotient(stat.moments.count, np.maximum(stat.population, stat.moments.count), 1.0)
    return positive(share)
