"""stddev: the standard deviation of a column's values, that of a sample (SQL's stddev_samp)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from shedding.arrays import Floats
from shedding.estimates import Estimate, Sampled
from shedding.estimates.moments import Moments
from shedding.estimates.spread import ROOT, raised, root_rows, sampled_root, sampled_spread
from shedding.measures.base import CONFIDENCE, Flags, Learnable
from shedding.panes.states import WindowPowers
from shedding.panes.windows import WindowSample
from shedding.scan.exact_variance import exact_variance


class Stddev(Learnable[WindowPowers]):
    """Its row has variance s^2 (kurtosis - 1) / 4; no value of fewer than two rows, as in SQL.

    Its root is shrunk to history like a mean: a key's spread is about as stable as its level, and few rows say less of
    it, so that a plain estimate is null or far off where history is near.
    """

    __slots__ = ()
    power: ClassVar[int] = ROOT
    """Of the root that is learnt."""

    def exact(self, sample: WindowSample) -> Floats:
        """The root of the double nearest to the variance."""
        return np.sqrt(self.exact_variance(sample))

    def exact_variance(self, sample: WindowSample) -> Floats:
        """The double nearest to the sample variance of the rows seen."""
        stat = self.stat(sample)
        return exact_variance(stat.moments.count.sum(axis=0), stat.total, stat.squares)

    def plain(self, sample: WindowSample) -> Estimate:
        """The root of the unbiased variance, its interval from the fourth moment."""
        stat = self.stat(sample)
        rows = self.value_rows(sample)
        if not sample.known:
            rows = np.maximum(stat.moments.count / np.where(sample.rate > 0, sample.rate, 1.0), stat.moments.count)
        return sampled_spread(rows, stat.powers, CONFIDENCE)

    def has_values(self, sample: WindowSample) -> Flags:
        """Keys of at least two rows with a value."""
        stat = self.stat(sample)
        rows = stat.population if sample.known else stat.moments.count
        return np.asarray(rows.sum(axis=0) > 1)

    def row_moments(self, stat: WindowPowers) -> Moments:
        """The root of the standard deviation, and the variance of its row."""
        return root_rows(stat.powers)

    def spread_moments(self, stat: WindowPowers) -> Moments:
        """Those of a row of the measure, in its own unit."""
        rows, power = root_rows(stat.powers), self.power
        return Moments(rows.count, rows.mean**power, rows.m2 * (power * rows.mean ** (power - 1)) ** 2)

    def sampled_rows(self, stat: WindowPowers, population: Floats, rates: Floats) -> Sampled:
        """The same of a sample; no row where fewer than two were drawn."""
        return sampled_root(population, stat.powers)

    def of_mean(self, mean: Estimate, rows: Estimate | Floats) -> Estimate:
        """The root's power; no value where a key has fewer than two rows."""
        found = raised(mean, self.power)
        known = np.ones_like(mean.value, dtype=bool) if isinstance(rows, Estimate) else rows > 1
        return replace(found, value=np.where(known, found.value, np.nan))
