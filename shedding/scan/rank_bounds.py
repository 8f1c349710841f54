"""What a scan of samples will meet, known before a row is read: how many rows, how far into ranked files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.ingest.ranked_layout import rank_limit
from shedding.ingest.side import Side
from shedding.keys import Keys, align
from shedding.rates import Rates
from shedding.spec.timeline import Timeline
from shedding.stretches import Stretches


def deepest_rank(side: Side, timeline: Timeline, stretches: Stretches, legs: Sequence[Rates]) -> int | None:
    """The largest `_rank` that a row of the stretches which some leg keeps can have; None where ranks do not bound it.

    For a bound every source must have been ranked by pairs of pane and key, no row of a pair may be left out by a
    condition, the rows must have been counted, and the panes of ranks and query must not cross. Whole panes of the
    longer kind are looked at, beyond the stretches too.
    """
    layout = side.dataset.layout
    if layout.id is None or layout.pane is None or side.keyset.where is not None:
        return None
    short, long = sorted((layout.pane, timeline.pane))
    if long % short or not set(side.keyset.keys) <= set(layout.keys):
        return None
    whole = stretches.widened(long)
    counts = side.counts(whole) if side.arrivals.counted(layout.id, whole) else None
    return None if counts is None else deepest_of_counts(counts, side.keyset.keys, legs, stretches, long)


def deepest_of_counts(
    counts: pa.Table, names: Sequence[str], legs: Sequence[Rates], stretches: Stretches, pane: int
) -> int:
    """The same from the rows per pane and key, where no pane of ranks or of the counts crosses a border of `pane`.

    A kept row has u below its key's rate, and its source no more rows of its pane and key than were counted. Keys that
    have rows beyond the stretches only are not asked for.
    """
    keys, (key,) = align([counts], names)
    start = counts.column("pane_start").to_numpy().astype(np.int64)
    asked = np.zeros(len(keys), dtype=bool)
    asked[key[stretches.hold(start)]] = True
    rate = np.where(asked, _largest_rates(keys, legs), 0.0)
    groups, (place,) = align([pa.table({"pane": start // pane, "key": key})], ["pane", "key"])
    rows = np.bincount(place, counts.column("rows").to_numpy(), minlength=len(groups)).astype(np.float64)
    return int(rank_limit(rate[groups.columns[1].to_numpy()], rows).max(initial=1))


def expected_rows(counts: pa.Table, names: Sequence[str], legs: Sequence[Rates]) -> float:
    """How many of the counted rows some leg is expected to keep."""
    keys, (key,) = align([counts], names)
    return float(_largest_rates(keys, legs)[key] @ counts.column("rows").to_numpy())


def _largest_rates(keys: Keys, legs: Sequence[Rates]) -> npt.NDArray[np.float64]:
    """Of each key the largest rate that a leg has for it."""
    rates: npt.NDArray[np.float64] = np.max([leg.of(keys) for leg in legs], axis=0)
    return rates
