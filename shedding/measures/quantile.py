"""quantile: the value that a share q of a column's values is at or below."""

from __future__ import annotations

import numpy as np

from shedding.arrays import Floats, positive
from shedding.errors import DataError
from shedding.estimates import Estimate, Sampled, Strata, sampled_quantile
from shedding.estimates.moments import Moments
from shedding.estimates.quantiles import Ordered
from shedding.measures.base import CONFIDENCE, Learnable, value_rates
from shedding.panes.blocks import levels_of
from shedding.panes.states import WindowValues
from shedding.panes.windows import WindowSample

FEWEST_ROWS = 8.0
"""A sample of fewer rows says nothing of the density."""


class Quantile(Learnable[WindowValues]):
    """SQL's percentile, interpolated; its row has variance q (1 - q) / f^2 with the density f around it."""

    __slots__ = ()

    @property
    def q(self) -> float:
        """Which quantile."""
        assert self.spec.q is not None
        return self.spec.q

    def exact(self, sample: WindowSample) -> Floats:
        """The quantile of the rows seen, as if they were all there are."""
        stat = self.stat(sample)
        assert stat.values is not None
        count, values = stat.moments.count.sum(axis=0), stat.values
        return Ordered.of(values.value, values.key, count, np.ones(values.value.size)).quantile(self.q)

    def plain(self, sample: WindowSample) -> Estimate:
        """By order statistics of the weighted sample."""
        stat = self.stat(sample)
        assert stat.values is not None
        drawn = (stat.moments.count / positive(sample.rate)).sum(axis=0)
        population = stat.population.sum(axis=0) if sample.known else drawn
        values = stat.values
        rate = value_rates(sample, stat)[values.stratum, values.key]
        return sampled_quantile(values.value, values.key, self.q, population, rate=rate, confidence=CONFIDENCE)

    def row_moments(self, stat: WindowValues) -> Moments:
        """The exact quantile that an audit remembers, with the variance that those beside it tell."""
        if stat.levels is None and stat.moments.count.any():
            raise DataError(f"no exact quantiles of {self.spec.name} are remembered; compute its exact panes again")
        nothing = np.full((3, stat.moments.count.shape[1]), np.nan)
        low, value, high = nothing if stat.levels is None else stat.levels
        rows = np.where(np.isfinite(value), stat.moments.count.sum(axis=0), 0.0)
        m2 = self._variance(low, high) * np.maximum(rows - 1, 0.0)
        there = rows > 0
        return Moments(rows[None], np.where(there, value, 0.0)[None], np.where(there, m2, 0.0)[None])

    def sampled_rows(self, stat: WindowValues, population: Floats, rates: Floats) -> Sampled:
        """The weighted sample's quantile; of fewer than FEWEST_ROWS rows no variance."""
        assert stat.values is not None
        drawn, values = Strata(population, stat.moments).combine(), stat.values
        rows = Ordered.of(values.value, values.key, drawn.population, rates[values.stratum, values.key])
        lower, _, upper = levels_of(self.q)
        low, value, high = (rows.quantile(level) for level in levels_of(self.q))
        told = drawn.count >= FEWEST_ROWS
        freedom = np.where(told, (upper - lower) * drawn.count, 0.0)
        variance = np.where(told, self._variance(low, high), 0.0)
        return Sampled(
            population=drawn.population,
            count=drawn.count,
            mean=value,
            rest=value,
            effective=rows.effective,
            m2=variance * freedom,
            freedom=freedom,
        )

    def _variance(self, low: Floats, high: Floats) -> Floats:
        lower, _, upper = levels_of(self.q)
        return np.asarray(self.q * (1 - self.q) * ((high - low) / (upper - lower)) ** 2)
