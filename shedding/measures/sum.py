"""sum: the total of a column."""

from __future__ import annotations

import numpy as np

from shedding.arrays import Floats, positive
from shedding.estimates import Estimate, Strata, horvitz_thompson_sum, stratified_mean
from shedding.measures.base import CONFIDENCE, Learnable
from shedding.panes.states import WindowSums
from shedding.panes.windows import WindowSample


class Sum(Learnable[WindowSums]):
    """The total of the values that are not null: their mean times their number."""

    __slots__ = ()

    def exact(self, sample: WindowSample) -> Floats:
        """The double nearest to the exact sum; nan where every value is null."""
        stat = self.stat(sample)
        return np.where(stat.moments.count.sum(axis=0) > 0, stat.total.rounded(), np.nan)

    def plain(self, sample: WindowSample) -> Estimate:
        """A stratified mean scaled up where populations are known, else Horvitz-Thompson's."""
        stat = self.stat(sample)
        if sample.known:
            mean = stratified_mean(Strata(stat.population, stat.moments), CONFIDENCE)
            return mean.scaled(stat.population.sum(axis=0))
        return horvitz_thompson_sum(stat.moments, positive(sample.rate), CONFIDENCE)

    def of_mean(self, mean: Estimate, rows: Estimate | Floats) -> Estimate:
        """The mean times the number of rows, and where that is estimated with its doubt too."""
        return mean.times(rows, CONFIDENCE) if isinstance(rows, Estimate) else mean.scaled(rows)
