"""Raw rows as the jobs see them: only visible sources, only the partitions that the interval touches."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.arrivals import Arrivals
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.source_number import check_numbered, source_number
from shedding.spark.refine import partition_columns, raw_columns, with_derived
from shedding.spec.dataset import DatasetSpec
from shedding.spec.durations import as_datetime


def read_raw(
    spark: SparkSession, settings: Settings, dataset: DatasetSpec, start: int, end: int, arrivals: Arrivals
) -> DataFrame:
    """The visible rows with event time in [start, end); files of other partitions are not opened.

    Raises NotReadyError where nothing was ever ingested.
    """
    if arrivals.version is None:
        raise NotReadyError(f"dataset {dataset.name} has no rows yet; run `sluice ingest {dataset.name}` first")
    if not any(source.kept for source in arrivals.visible):
        return empty_raw(spark, dataset)
    rows = spark.read.format("delta").load(settings.table("raw", dataset.name))
    check_numbered(settings, dataset.name, dict(rows.dtypes).get("_source", ""))
    rows = rows.where(partitions_of(dataset, start, end)).where(
        (fn.col("event_time") >= fn.timestamp_micros(fn.lit(start)))
        & (fn.col("event_time") < fn.timestamp_micros(fn.lit(end)))
    )
    if arrivals.hidden:
        rows = rows.where(~fn.col("_source").isin(sorted(map(source_number, arrivals.hidden))))
    return rows


def partitions_of(dataset: DatasetSpec, start: int, end: int) -> Column:
    """The condition on partition columns that every row of [start, end) meets."""
    first, last = as_datetime(start), as_datetime(max(start, end - 1))
    dates = fn.col("event_date").between(f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}")
    if dataset.partition == "date":
        return dates
    hour = fn.concat("event_date", fn.lit("T"), "event_hour")
    return dates & hour.between(f"{first:%Y-%m-%dT%H}", f"{last:%Y-%m-%dT%H}")


def empty_raw(spark: SparkSession, dataset: DatasetSpec) -> DataFrame:
    """No rows, with the columns and types that `raw/<dataset>` has."""
    types = {"event_time": "timestamp", "u": "double", "_source": "bigint"}
    types |= {column.name: column.type for column in dataset.columns} | dict.fromkeys(
        partition_columns(dataset), "string"
    )
    rows = spark.range(0).select(*[fn.lit(None).cast(kind).alias(name) for name, kind in types.items()])
    return with_derived(rows, dataset).select(*raw_columns(dataset))
