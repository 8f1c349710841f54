"""variance: the variance of a column's values, that of a sample (SQL's var_samp)."""

from __future__ import annotations

from typing import ClassVar

from shedding.arrays import Floats
from shedding.estimates import Estimate
from shedding.estimates.spread import ROOT, raised
from shedding.measures.stddev import Stddev
from shedding.panes.windows import WindowSample


class Variance(Stddev):
    """The square of the standard deviation, estimated and learnt as such: both intervals hold or neither does."""

    __slots__ = ()
    power: ClassVar[int] = 2 * ROOT

    def exact(self, sample: WindowSample) -> Floats:
        """The double nearest to the variance."""
        return self.exact_variance(sample)

    def plain(self, sample: WindowSample) -> Estimate:
        """The unbiased variance, its interval from the fourth moment."""
        return raised(Stddev.plain(self, sample), 2)
