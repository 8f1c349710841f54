"""Exact sums of whole numbers are whole numbers: what a published double cannot hold is refused, not rounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.errors import DataError
from shedding.ingest.side import Side
from shedding.panes.states import WindowSums
from shedding.panes.windows import WindowSample
from shedding.spec.measure import MeasureSpec


def whole_sums(side: Side, measures: Sequence[MeasureSpec]) -> list[MeasureSpec]:
    """The measures that sum a column of whole numbers."""
    sums = [measure for measure in measures if measure.traits.additive and measure.traits.estimated]
    types = side.types() if sums else {}
    return [measure for measure in sums if pa.types.is_integer(types.get(measure.column or "", pa.float64()))]


def refuse_rounded(sums: Sequence[Sequence[MeasureSpec]], samples: Sequence[WindowSample]) -> None:
    """Raise DataError where a sum of whole numbers over all rows is none that a double holds.

    `sums` and `samples` are lists over the sides of the query; the sum of a join has each row as often as it is joined.
    """
    for at, (sample, own) in enumerate(zip(samples, sums, strict=True)):
        for measure in own:
            kept = sample.measures[measure.name]
            assert isinstance(kept, WindowSums)
            total = kept.total
            if len(samples) > 1:
                total = total.times(samples[1 - at].rows.astype(np.int64))
            nearest, rest = total.pair()
            rounded: npt.NDArray[np.bool_] = rest != 0
            if rounded.any():
                exact = int(nearest[rounded][0]) + int(rest[rounded][0])
                raise DataError(
                    f"measure {measure.name}: a sum of {measure.column} is {exact}, a whole number that no double is, "
                    f"and published sums are doubles; where the nearest one will do, sum a derived column "
                    f"CAST({measure.column} AS DOUBLE) instead"
                )
