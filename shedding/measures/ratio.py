"""ratio: the sum of a column over the sum of another."""

from __future__ import annotations

import numpy as np

from shedding.arrays import Floats, positive, quotient
from shedding.estimates import Estimate, Sampled, Strata, ratio_of_sums
from shedding.estimates.moments import Moments
from shedding.measures.base import CONFIDENCE, Learnable
from shedding.panes.states import WindowPair
from shedding.panes.windows import WindowSample


class Ratio(Learnable[WindowPair]):
    """Over the rows that have both parts; its row is (y - R x) / mean x."""

    __slots__ = ()

    def exact(self, sample: WindowSample) -> Floats:
        """The exact sums' quotient; nan where the denominator is 0."""
        stat = self.stat(sample)
        return quotient(stat.total.rounded(), stat.over_total.rounded(), float("nan"))

    def plain(self, sample: WindowSample) -> Estimate:
        """The ratio of the estimated sums."""
        stat = self.stat(sample)
        rows = self.value_rows(sample) if sample.known else stat.moments.count / positive(sample.rate)
        return ratio_of_sums(Strata(rows, stat.moments), Strata(rows, stat.over), stat.cross, CONFIDENCE)

    def value_rows(self, sample: WindowSample) -> Floats:
        """Rows with both parts, which nobody counts at arrival: the share that the sampled ones show, of the stratum's.

        Where all rows were sampled it is exact; strata of different shares weigh rightly.
        """
        count = self.stat(sample).moments.count
        return np.maximum(sample.population * quotient(count, sample.sampled, 1.0), count)

    def row_moments(self, stat: WindowPair) -> Moments:
        """The ratio, and the variance of (y - R x) / mean x."""
        there = (stat.moments.count > 0) & (stat.over.mean != 0)
        bottom = np.where(there, stat.over.mean, 1.0)
        ratio = np.where(there, stat.moments.mean / bottom, 0.0)
        residual = stat.moments.m2 - 2 * ratio * stat.cross + ratio**2 * stat.over.m2
        return Moments(
            np.where(there, stat.moments.count, 0.0), ratio, np.where(there, np.maximum(residual, 0.0) / bottom**2, 0.0)
        )

    def spread_moments(self, stat: WindowPair) -> Moments:
        """Those of a row of the ratio: the numerator's have another unit."""
        return self.row_moments(stat)

    def sampled_rows(self, stat: WindowPair, population: Floats, rates: Floats) -> Sampled:
        """The same of a sample; no row where the denominator is 0."""
        top, bottom = Strata(population, stat.moments).combine(), Strata(population, stat.over).combine()
        usable = (bottom.count > 0) & (bottom.value != 0) & (bottom.rest != 0) & (bottom.mean != 0)
        below = [np.where(usable, part, 1.0) for part in (bottom.mean, bottom.rest, bottom.value)]
        ratio = np.where(usable, top.value / below[2], 0.0)
        residual = stat.moments.m2 - 2 * ratio * stat.cross + ratio**2 * stat.over.m2
        return Sampled(
            population=top.population,
            count=np.where(usable, top.count, 0.0),
            mean=np.where(usable, top.mean / below[0], np.nan),
            rest=np.where(usable, top.rest / below[1], np.nan),
            effective=np.where(usable, top.effective, 0.0),
            m2=np.where(usable, np.maximum(residual.sum(axis=0), 0.0) / below[2] ** 2, 0.0),
            freedom=np.where(usable, top.freedom, 0.0),
        )
