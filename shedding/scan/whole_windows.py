"""Exact aggregates that do not merge over panes: quantiles and distinct counts, over whole windows.

Every row is copied into each window that holds it, which is what a sliding `window()` does too; only exact
legs of queries that ask for such a measure pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def whole_windows(
    rows: DataFrame,
    windows: Sequence[tuple[int, int]],
    timeline: Timeline,
    keys: Sequence[str],
    measures: Sequence[MeasureSpec],
) -> pa.Table:
    """window_start (us), keys, and one column a measure; quantiles interpolate as SQL's `percentile` does."""
    moment = sf.unix_micros(sf.col("event_time"))
    last = moment - sf.pmod(moment, sf.lit(timeline.slide))
    first = last - sf.lit((timeline.size - 1) // timeline.slide * timeline.slide)
    starts = sf.explode(sf.sequence(first, last, sf.lit(timeline.slide)))
    columns = sorted({m.column for m in measures if m.column is not None})
    copied = rows.select(*{*keys, *columns}, moment.alias("_moment"), starts.alias("window_start")).where(
        (sf.col("_moment") < sf.col("window_start") + sf.lit(timeline.size)) & _among(windows, timeline.slide)
    )
    return copied.groupBy("window_start", *keys).agg(*[_aggregate(measure) for measure in measures]).toArrow()


def _among(windows: Sequence[tuple[int, int]], slide: int) -> Column:
    """Whether a window is one of these; a range where none is left out between them."""
    start, starts = sf.col("window_start"), [start for start, _ in windows]
    if starts == list(range(starts[0], starts[-1] + 1, slide)):
        return start.between(starts[0], starts[-1])
    return start.isin(starts)


def whole_blocks(
    rows: DataFrame, blocks: Sequence[tuple[int, int]], keys: Sequence[str], measures: Sequence[MeasureSpec]
) -> pa.Table:
    """The same over blocks that do not overlap, so that no row is copied; all of one length."""
    moment = sf.unix_micros(sf.col("event_time"))
    length = blocks[0][1] - blocks[0][0]
    edges = sf.array(*[sf.lit(start) for start, _ in blocks])
    # the last start that is not after the row: blocks are sorted
    start = sf.array_max(sf.filter(edges, lambda edge: edge <= sf.col("_moment")))
    columns = sorted({m.column for m in measures if m.column is not None})
    placed = rows.select(*{*keys, *columns}, moment.alias("_moment")).withColumn("window_start", start)
    inside = placed.where(sf.col("_moment") < sf.col("window_start") + sf.lit(length))
    return inside.groupBy("window_start", *keys).agg(*[_aggregate(measure) for measure in measures]).toArrow()


def _aggregate(measure: MeasureSpec) -> Column:
    assert measure.column is not None
    column = sf.col(measure.column)
    if measure.q is None:
        return sf.count_distinct(column).cast("double").alias(measure.name)
    value = column.cast("double")
    return sf.percentile(sf.when(~sf.isnan(value), value), sf.lit(measure.q)).alias(measure.name)
