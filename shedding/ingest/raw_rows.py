"""Raw rows as the jobs see them: only visible sources, only the partitions that the stretches touch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

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
from shedding.spec.times import UNITS, as_datetime, format_date
from shedding.stretches import Interval, Stretches

_MADE = "_made"
MOST_RANGES = 64
"""Ranges of a condition that Delta compares each file's statistics with; more would cost more than they skip."""


def read_raw(
    spark: SparkSession, settings: Settings, dataset: DatasetSpec, stretches: Stretches, arrivals: Arrivals
) -> DataFrame:
    """The visible rows with event time in the stretches; files and partitions that have none are not opened.

    Raises NotReadyError where nothing was ever ingested.
    """
    if arrivals.version is None:
        raise NotReadyError(f"dataset {dataset.name} has no rows yet; run `sluice ingest {dataset.name}` first")
    if not stretches or not any(source.kept for source in arrivals.visible):
        return empty_raw(spark, dataset)
    rows = spark.read.format("delta").load(warehouse.raw(settings, dataset.name).uri)
    check_numbered(settings, dataset.name, dict(rows.dtypes).get("_source", ""))
    rows = rows.where(partitions_of(dataset, stretches)).where(inside(stretches))
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


def partitions_of(dataset: DatasetSpec, stretches: Stretches) -> Column:
    """The condition on partition columns that every row of the stretches meets."""
    day, hour = fn.col("event_date"), fn.concat("event_date", fn.lit("T"), "event_hour")
    dates = _one_of(day, stretches.widened(UNITS["day"]), format_date)
    return dates if dataset.partition == "date" else dates & _one_of(hour, stretches.widened(UNITS["hour"]), _hour)


def inside(stretches: Stretches) -> Column:
    """Whether a row's event time lies in the stretches, as a condition that files are skipped by.

    Up to 64 ranges are compared one after the other. Of more, files are skipped by the 64 that close the smallest gaps,
    and a row is compared with those on its way down a tree.
    """
    moment, ranges = fn.col("event_time"), stretches.coarser(MOST_RANGES)
    coarse = reduce(or_, [_between(moment, *part) for part in ranges])
    return coarse if ranges == stretches else coarse & _found(moment, stretches.parts)


def _one_of(column: Column, stretches: Stretches, text: Callable[[int], str]) -> Column:
    """Whether a partition column lies in one of at most 64 ranges that hold the stretches."""
    return reduce(or_, [column.between(text(low), text(high - 1)) for low, high in stretches.coarser(MOST_RANGES)])


def _hour(instant: int) -> str:
    return f"{format_date(instant)}T{as_datetime(instant):%H}"


def _between(moment: Column, start: int, end: int) -> Column:
    return (moment >= fn.timestamp_micros(fn.lit(start))) & (moment < fn.timestamp_micros(fn.lit(end)))


def _found(moment: Column, parts: Sequence[Interval]) -> Column:
    """The same by halves: as many comparisons as the number of parts has bits."""
    if len(parts) == 1:
        return _between(moment, *parts[0])
    middle = len(parts) // 2
    border = fn.timestamp_micros(fn.lit(parts[middle][0]))
    return fn.when(moment < border, _found(moment, parts[:middle])).otherwise(_found(moment, parts[middle:]))


def empty_raw(spark: SparkSession, dataset: DatasetSpec) -> DataFrame:
    """No rows, with the columns and types that `raw/<dataset>` has."""
    types = {"event_time": "timestamp", "u": "double", "_source": "bigint"}
    types |= {column.name: column.type for column in dataset.columns} | dict.fromkeys(
        partition_columns(dataset), "string"
    )
    rows = spark.range(0).select(*[fn.lit(None).cast(kind).alias(name) for name, kind in types.items()])
    return with_derived(rows, dataset).select(*raw_columns(dataset))
