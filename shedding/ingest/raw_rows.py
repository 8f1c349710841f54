"""Raw rows as the jobs see them: only visible sources, only the partitions that the interval touches."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.refine import partition_columns, raw_columns, with_derived
from shedding.ingest.source_number import check_numbered, source_number
from shedding.spark.expression import with_expression
from shedding.spec.dataset import DatasetSpec
from shedding.spec.times import as_datetime, format_date

_MADE = "_made"


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
    rows = spark.read.format("delta").load(warehouse.raw(settings, dataset.name).uri)
    check_numbered(settings, dataset.name, dict(rows.dtypes).get("_source", ""))
    rows = rows.where(partitions_of(dataset, start, end)).where(
        (fn.col("event_time") >= fn.timestamp_micros(fn.lit(start)))
        & (fn.col("event_time") < fn.timestamp_micros(fn.lit(end)))
    )
    if arrivals.hidden:
        rows = rows.where(~fn.col("_source").isin(sorted(map(source_number, arrivals.hidden))))
    return completed(rows, dataset, arrivals)


def completed(rows: DataFrame, dataset: DatasetSpec, arrivals: Arrivals) -> DataFrame:
    """Raw rows with every column of the dataset, whenever it was added.

    In rows that came before, a declared column is null and a derived one is made of the row's own columns, as it would
    have been then: a backfill finds the same, whatever was ingested since.
    """
    there = set(rows.columns)
    for column in dataset.columns:
        if column.name not in there:
            rows = rows.withColumn(column.name, fn.lit(None).cast(column.type))
    for name, expression in dataset.derived.items():
        older = sorted(map(source_number, arrivals.without(name)))
        if name not in there:
            rows = with_expression(rows, name, expression)
        elif older:
            made = with_expression(rows, _MADE, expression)
            value = fn.when(fn.col("_source").isin(older), fn.col(_MADE)).otherwise(fn.col(f"`{name}`"))
            rows = made.withColumn(name, value).drop(_MADE)
    return rows


def partitions_of(dataset: DatasetSpec, start: int, end: int) -> Column:
    """The condition on partition columns that every row of [start, end) meets."""
    edges = start, max(start, end - 1)
    first, last = map(format_date, edges)
    dates = fn.col("event_date").between(first, last)
    if dataset.partition == "date":
        return dates
    hour = fn.concat("event_date", fn.lit("T"), "event_hour")
    first_hour, last_hour = (f"{format_date(edge)}T{as_datetime(edge):%H}" for edge in edges)
    return dates & hour.between(first_hour, last_hour)


def empty_raw(spark: SparkSession, dataset: DatasetSpec) -> DataFrame:
    """No rows, with the columns and types that `raw/<dataset>` has."""
    types = {"event_time": "timestamp", "u": "double", "_source": "bigint"}
    types |= {column.name: column.type for column in dataset.columns} | dict.fromkeys(
        partition_columns(dataset), "string"
    )
    rows = spark.range(0).select(*[fn.lit(None).cast(kind).alias(name) for name, kind in types.items()])
    return with_derived(rows, dataset).select(*raw_columns(dataset))
