"""min and max: the least and the largest value of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shedding.arrays import Floats
from shedding.measures.base import Integers, Measure
from shedding.panes.states import WindowExtreme
from shedding.panes.windows import WindowSample


class MinMax(Measure[WindowExtreme]):
    """Never estimated: no interval of a sample is true for them. Whole numbers stay whole numbers."""

    __slots__ = ()

    def exact(self, sample: WindowSample) -> Floats:
        """The value, infinite ones too; nan where every value is null."""
        return np.where(self.stat(sample).moments.count.sum(axis=0) > 0, self._extreme(sample), np.nan)

    def integers(self, sample: WindowSample) -> Integers | None:
        """The values of a column of whole numbers."""
        extreme = self._extreme(sample)
        return extreme if extreme.dtype == np.int64 else None

    def _extreme(self, sample: WindowSample) -> npt.NDArray[Any]:
        return np.asarray(self.stat(sample).extreme[0 if self.spec.agg == "min" else 1])
