"""avg: the mean of a column."""

from __future__ import annotations

from shedding.arrays import Floats, positive, quotient
from shedding.estimates import Estimate, Strata, hajek_mean, stratified_mean
from shedding.measures.base import CONFIDENCE, Learnable
from shedding.panes.states import WindowSums
from shedding.panes.windows import WindowSample


class Avg(Learnable[WindowSums]):
    """The mean of the values that are not null."""

    __slots__ = ()

    def exact(self, sample: WindowSample) -> Floats:
        """The exact sum over the number of values, rounded once each."""
        stat = self.stat(sample)
        return quotient(stat.total.rounded(), stat.moments.count.sum(axis=0), float("nan"))

    def plain(self, sample: WindowSample) -> Estimate:
        """Stratified where populations are known, else Hajek's."""
        stat = self.stat(sample)
        if sample.known:
            return stratified_mean(Strata(stat.population, stat.moments), CONFIDENCE)
        return hajek_mean(stat.moments, positive(sample.rate), CONFIDENCE)
