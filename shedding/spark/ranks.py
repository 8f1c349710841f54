"""What a scan of samples will meet, known before a row is read: how many rows, how far into ranked files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
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
    rate = _largest_rates(counts, names, legs)
    return int(rank_limit(rate, counts.column("rows").to_numpy()).max(initial=1))


def expected_rows(counts: pa.Table, names: Sequence[str], legs: Sequence[Rates]) -> float:
    """How many of the counted rows some leg is expected to keep."""
    return float(_largest_rates(counts, names, legs) @ counts.column("rows").to_numpy())


def _largest_rates(counts: pa.Table, names: Sequence[str], legs: Sequence[Rates]) -> npt.NDArray[np.float64]:
    """Of each counted pane and key, the largest rate that a leg has for the key."""
    keys, (place,) = align([counts], names)
    rates: npt.NDArray[np.float64] = np.max([leg.of(keys) for leg in legs], axis=0)[place]
    return rates
