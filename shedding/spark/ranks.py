"""How far into ranked files a scan of samples must go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from shedding.keys import align
from shedding.rates import Rates
from shedding.sides import Side
from shedding.spark.layout import rank_limit
from shedding.windows import Timeline


def ranks_fit(side: Side, timeline: Timeline, start: int, end: int) -> bool:
    """Whether ranks bound the samples of [start, end).

    Every source of the stretch must have been ranked by pairs of pane and key each of which lies in one pane and one
    key of the query, no row of a pair may be left out by a condition, and the rows must have been counted.
    """
    layout = side.dataset.layout
    if layout.id is None or layout.pane is None or side.keyset.where is not None:
        return False
    if timeline.pane % layout.pane or not set(side.keyset.keys) <= set(layout.keys):
        return False
    return side.arrivals.counted(layout.id, start, end) and side.known(start, end)


def deepest_rank(counts: pa.Table, names: Sequence[str], legs: Sequence[Rates]) -> int:
    """The largest `_rank` that a row which some leg keeps can have, where ranks fit.

    A kept row has u below its key's rate, and its source no more rows of its pane and key than were counted.
    """
    keys, (place,) = align([counts], names)
    rate = np.max([leg.of(keys) for leg in legs], axis=0)[place]
    return max(map(rank_limit, rate.tolist(), counts.column("rows").to_pylist()), default=1)
