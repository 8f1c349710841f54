"""count_distinct: how many different values a column has."""

from __future__ import annotations

from shedding.arrays import Floats
from shedding.errors import DataError
from shedding.measures.base import Measure
from shedding.panes.states import WindowStat
from shedding.panes.windows import WindowSample


class CountDistinct(Measure[WindowStat]):
    """Never estimated, and computed over whole windows: panes keep nothing of it."""

    __slots__ = ()

    def exact(self, sample: WindowSample) -> Floats:
        """Raise DataError: the value comes from the rows of the whole window."""
        raise DataError(f"{self.spec.name}: distinct values do not merge over panes; compute the window's rows whole")
