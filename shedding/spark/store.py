"""What a batch leaves behind: raw rows, broken rows, counts per pane and key, each in one Delta commit.

None of it is visible before the arrivals log says so, hence the order of the commits does not matter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.arrivals import HOUR
from shedding.config import Settings
from shedding.errors import ConflictError, DataError
from shedding.source_number import source_number
from shedding.spark.source_column import by_source
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import KeySet

ATTEMPTS = 5
INDEXED = 32  # Delta's own default
_HOURLY = ["_source", "hour", "rows", "first", "last"]


def append(
    rows: DataFrame,
    uri: str,
    partition_by: list[str],
    metadata: Mapping[str, Any],
    file_rows: int = 0,
    indexed: int = INDEXED,
) -> None:
    """Add rows in one commit, in files of at most `file_rows` rows if that is not 0.

    A table that is made by this has statistics of its first `indexed` columns in every file. Columns the table lacks
    are added. Raises DataError where a column changed its type, ConflictError where other writers kept colliding.
    """
    from delta.exceptions import DeltaConcurrentModificationException

    writer = rows.write.format("delta").mode("append").partitionBy(*partition_by).option("mergeSchema", "true")
    writer = writer.option("userMetadata", json.dumps(dict(metadata), sort_keys=True))
    writer = writer.option("delta.dataSkippingNumIndexedCols", indexed)
    if file_rows:
        writer = writer.option("maxRecordsPerFile", file_rows)
    for attempt in range(ATTEMPTS):
        try:
            writer.save(uri)
            return
        except DeltaConcurrentModificationException:
            time.sleep(0.2 * 2**attempt)
        except AnalysisException as error:
            if "MERGE" not in (error.getCondition() or "") and "SCHEMA" not in (error.getCondition() or ""):
                raise
            first = str(error).splitlines()[0]
            raise DataError(
                f"the rows do not fit the table at {uri}: {first}; a column cannot change its type: "
                "give it another name, or ingest into a new dataset"
            ) from error
    raise ConflictError(f"{ATTEMPTS} concurrent commits to {uri} collided; run again when it is quieter")


def written(spark: SparkSession, settings: Settings, dataset: DatasetSpec, sources: list[str]) -> DataFrame:
    """The raw rows of some sources, read back from the table."""
    rows = spark.read.format("delta").load(settings.table("raw", dataset.name))
    return rows.where(fn.col("_source").isin([source_number(source) for source in sources]))


def count_keys(rows: DataFrame, sources: list[str], keyset: KeySet) -> pa.Table:
    """The sources' raw rows counted per pane, key and source, as `concepts/<dataset>/<key set>` holds them, with event
    times.

    `least_u` is the smallest `u` of those rows: a sample at a higher rate is sure to have the key.

    The counts pass through the driver: they are small against the rows, and a commit without Spark takes 20 ms.
    """
    if keyset.where is not None:
        rows = rows.where(fn.expr(keyset.where))
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
    grouped = found.append_column("hour", pa.array(hour)).group_by(["_source", "hour"])
    summed = grouped.aggregate([("rows", "sum"), ("_first", "min"), ("_last", "max")])
    rows_per_hour: list[dict[str, Any]] = summed.rename_columns(_HOURLY).to_pylist()
    return rows_per_hour


def floor_to(instant: Column, width: int) -> Column:
    """The instant rounded down to a multiple of `width` since the epoch, also before 1970."""
    return instant - fn.pmod(instant, fn.lit(width))
