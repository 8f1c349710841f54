"""What a batch left behind, read back: its raw rows, counted per pane and key, and per hour."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import SpecError
from shedding.ingest.arrivals import HOUR
from shedding.ingest.source_column import by_source
from shedding.ingest.source_number import source_number
from shedding.spark.expression import matching, with_kept
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import KeySet

REFUSED = (SpecError, AnalysisException)
"""What a key set fails by whatever the rows are."""
_HOURLY = ["_source", "hour", "rows", "first", "last"]


def written(spark: SparkSession, settings: Settings, dataset: DatasetSpec, sources: list[str]) -> DataFrame:
    """The raw rows of some sources, read back from the table as they were stored."""
    rows = spark.read.format("delta").load(warehouse.raw(settings, dataset.name).uri)
    return rows.where(fn.col("_source").isin([source_number(source) for source in sources]))


def count_keys(rows: DataFrame, sources: list[str], keyset: KeySet) -> pa.Table:
    """The sources' raw rows counted per pane, key and source, as `concepts/<dataset>/<key set>` holds them, with event
    times.

    `least_u` is the smallest `u` of those rows: a sample at a higher rate is sure to have the key.

    The counts pass through the driver: they are small against the rows, and a commit without Spark takes 20 ms.
    """
    if keyset.where is not None:
        rows = matching(rows, keyset.where)
    rows = with_kept(rows, keyset.keep)
    keys = [fn.col(f"`{key}`") for key in keyset.keys]
    moment = fn.unix_micros("event_time")
    counts = [fn.count("*").alias("rows")]
    counts += [fn.count(_number(rows, column)).alias(f"rows_{column}") for column in keyset.counted]
    counts += [fn.min("u").alias("least_u"), fn.min(moment).alias("_first"), fn.max(moment).alias("_last")]
    pane = floor_to(moment, keyset.pane).alias("pane_start")
    if len(sources) == 1:  # what all rows share is no part of a group
        counted = rows.groupBy(*keys, pane).agg(*counts).withColumn("_source", fn.lit(sources[0]))
    else:
        counted = rows.groupBy(*keys, pane, "_source").agg(*counts)
        counted = counted.withColumn("_source", by_source({source_number(source): source for source in sources}))
    return counted.withColumn("event_date", fn.timestamp_micros("pane_start").cast("date").cast("string")).toArrow()


def count_each(
    rows: DataFrame, sources: list[str], counted: list[KeySet]
) -> tuple[list[tuple[KeySet, pa.Table]], dict[str, Exception]]:
    """The counts of each key set, and what ended those, by id, that cannot be counted: their queries' problem alone.

    A condition may fail on a single row. Without one only Spark's analysis is the query's: anything else is raised.
    """
    counts: list[tuple[KeySet, pa.Table]] = []
    failed: dict[str, Exception] = {}
    for keyset in counted:
        try:
            counts.append((keyset, count_keys(rows, sources, keyset)))
        except REFUSED as error:
            failed[keyset.id] = error
        except (PySparkException, Py4JJavaError) as error:
            if keyset.where is None and keyset.keep is None:
                raise
            failed[keyset.id] = error
    return counts, failed


def _number(rows: DataFrame, column: str) -> Column:
    """The column with null for NaN, as scans take it: a derived column may hold one."""
    value = fn.col(f"`{column}`")
    return fn.when(~fn.isnan(value), value) if dict(rows.dtypes)[column] in ("double", "float") else value


def hours_of(rows: DataFrame, sources: list[str], counts: list[tuple[KeySet, pa.Table]]) -> list[dict[str, Any]]:
    """Per source and hour: `_source`, `hour` (microseconds), `rows`, `first` and `last` event time.

    Summed from counts of a key set that has every row and whole hours of panes; only without one are rows read again.
    """
    whole = [table for keyset, table in counts if keyset.where is None and HOUR % keyset.pane == 0]
    found = whole[0] if whole else count_keys(rows, sources, KeySet("", (), None, HOUR, ()))
    hour = found["pane_start"].to_numpy() // HOUR * HOUR
    moments = found.select(["_source", "rows", "_first", "_last"])  # without the keys, whatever they are named
    grouped = moments.append_column("hour", pa.array(hour)).group_by(["_source", "hour"])
    summed = grouped.aggregate([("rows", "sum"), ("_first", "min"), ("_last", "max")])
    rows_per_hour: list[dict[str, Any]] = summed.rename_columns(_HOURLY).to_pylist()
    return rows_per_hour


def floor_to(instant: Column, width: int) -> Column:
    """The instant rounded down to a multiple of `width` since the epoch, also before 1970."""
    return instant - fn.pmod(instant, fn.lit(width))
