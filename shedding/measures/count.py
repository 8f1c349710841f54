"""count: the rows of a key."""

from __future__ import annotations

from shedding.arrays import Floats, positive
from shedding.estimates import Estimate, horvitz_thompson_count
from shedding.measures.base import CONFIDENCE, Flags, Measure
from shedding.panes.states import WindowStat
from shedding.panes.windows import WindowSample


class Count(Measure[WindowStat]):
    """The number of rows, which arrival counts: exact, also of a sample, where it did."""

    __slots__ = ()

    def exact(self, sample: WindowSample) -> Floats:
        """The rows."""
        return sample.rows

    def plain(self, sample: WindowSample) -> Estimate:
        """The rows as counted, else Horvitz-Thompson's."""
        if sample.known:
            return Estimate.exact(sample.rows)
        return horvitz_thompson_count(sample.sampled, positive(sample.rate), CONFIDENCE)

    def has_values(self, sample: WindowSample) -> Flags:
        """Every key that is there."""
        return sample.rows > 0 if sample.known else sample.sampled_rows > 0
