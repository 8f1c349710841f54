"""Exact aggregates that do not merge over panes: quantiles and distinct counts, over whole windows.

Every row is copied into each window that holds it, which is what a sliding `window()` does too; only exact
legs of queries that ask for such a measure pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.spec.query import MeasureSpec
from shedding.windows import Timeline

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
        (sf.col("_moment") < sf.col("window_start") + sf.lit(timeline.size))
        & (sf.col("window_start") >= sf.lit(windows[0][0]))
        & (sf.col("window_start") <= sf.lit(windows[-1][0]))
    )
    return copied.groupBy("window_start", *keys).agg(*[_aggregate(measure) for measure in measures]).toArrow()


def _aggregate(measure: MeasureSpec) -> Column:
    assert measure.column is not None
    column = sf.col(measure.column)
    if measure.agg == "count_distinct":
        return sf.count_distinct(column).cast("double").alias(measure.name)
    value = column.cast("double")
    return sf.percentile(sf.when(~sf.isnan(value), value), sf.lit(measure.q)).alias(measure.name)
