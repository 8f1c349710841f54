"""Exact values of aggregates that do not merge over panes, laid out over a query's keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.ingest.side import Side
from shedding.keys import Keys, align
from shedding.panes.scans import Scans
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import Block

Floats = npt.NDArray[np.float64]


def whole_values(
    query: QuerySpec, side: Side, scans: Scans, windows: Sequence[Block], keys: Keys
) -> dict[int, dict[str, Floats]]:
    """window start -> measure -> values over `keys` (nan where a key has none); empty for queries without such."""
    measures = [m for m in query.measures if m.traits.whole]
    found: dict[int, dict[str, Floats]] = {}
    if not measures or not windows:
        return found
    table = scans.windows(side, measures, windows)
    place = np.zeros(table.num_rows, dtype=np.int64)
    if keys.names:
        _, (place, own) = align([table.select(list(keys.names)), keys.table()], keys.names)
        assert np.array_equal(own, np.arange(len(keys))), "the keys must hold every key of the windows"
    starts = table.column("window_start").to_numpy()
    for start, _ in windows:
        here = starts == start
        found[start] = {m.name: np.full(len(keys), np.nan) for m in measures}
        for measure in measures:
            values = table.column(measure.name).cast(pa.float64()).to_numpy()[here] + 0.0  # a negative zero is zero
            found[start][measure.name][place[here]] = values
    return found
