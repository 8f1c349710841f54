"""Records into raw rows: parsed, judged, dated, identified; what is broken or excluded is told apart, never lost."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from shedding.spark.identity import identity_of, place_of
from shedding.spark.parse import (
    Check,
    column_checks,
    event_checks,
    event_time,
    parsed,
    raw_name,
    verdict_of,
    words_for,
)
from shedding.spark.records import Records
from shedding.spec.dataset import DatasetSpec
from shedding.spec.durations import UNITS

LEADING = ("event_time", "u", "_source")  # first, since Delta keeps statistics of so many columns only


@dataclass(frozen=True)
class Refined:
    """Every record of a batch with its `_verdict`: 0 kept, above 0 the check it breaks, below 0 excluded.

    What is no record (a blank line) has none.
    """

    frame: DataFrame
    dataset: DatasetSpec
    checks: list[Check]

    def kept(self, frame: DataFrame, source: str | None) -> DataFrame:
        """The raw rows of `frame`, in the raw table's column order; `source` is that of all of them, if they have one.

        What all rows share Spark then adds last, instead of copying and shuffling it with each.
        """
        rows = frame.where("_verdict = 0")
        rows = rows if source is None else rows.withColumn("_source", fn.lit(source))
        return rows.select(*raw_columns(self.dataset))

    def broken(self, names: Column, at: Column) -> DataFrame:
        """The broken records with file, line, column and reason; `names` is each source's name."""
        # The seal keeps the filter above the parsing; pushed below, it would parse a record once per check.
        sealed = self.frame.withColumn("_seal", fn.monotonically_increasing_id())
        return sealed.where("_verdict > 0 AND _seal >= 0").select(
            names.alias("file"),
            fn.col("_line").alias("line"),
            words_for(fn.col("_verdict"), self.checks, lambda check: check.column).alias("column"),
            words_for(fn.col("_verdict"), self.checks, lambda check: check.reason).alias("reason"),
            fn.make_valid_utf8("_record").alias("record"),
            "_source",
            at.alias("at"),
        )


def refine(dataset: DatasetSpec, records: Records) -> Refined:
    """Judge every record by the dataset's declarations.

    The first thing that applies counts: the record as a whole is broken, then a column in its order, then an exclusion
    is met, then event time is broken (so that rows which are no events may have none).
    """
    zone = dataset.event_time.zone
    columns = [
        parsed(column, fn.col(raw_name(index)), records.kinds[column.name], zone).alias(column.name)
        for index, column in enumerate(dataset.columns)
    ]
    rows = records.frame.select("*", *columns)
    types = {column.name: column.type for column in dataset.columns}
    rows = rows.withColumn("event_time", event_time(dataset.event_time, types, fn.col("_line")))
    checks = records.checks + column_checks(dataset.columns, records.kinds)
    timing = event_checks(dataset.event_time)
    rows = with_derived(rows, dataset)
    rows = rows.withColumn("_verdict", verdict_of(checks, list(dataset.exclude.values()), timing))
    checks = checks + timing
    if dataset.identity:
        rows = rows.withColumn("_identity", identity_of(dataset.identity))
    rows = rows.withColumn("u", place_of(fn.col("_identity"), dataset.name))
    return Refined(with_partitions(rows, dataset), dataset, checks)


def with_partitions(rows: DataFrame, dataset: DatasetSpec) -> DataFrame:
    """The rows with the columns that `raw/<dataset>` is partitioned by."""
    moment = fn.col("event_time")
    rows = rows.withColumn("event_date", date_text(moment))
    return rows if dataset.partition == "date" else rows.withColumn("event_hour", hour_text(moment))


def date_text(moment: Column) -> Column:
    """An instant's date in UTC, as casting it to date and then to text gives it.

    Put together from parts: Java's formatting would be a tenth of what ingest of a file costs.
    """
    micros = fn.unix_micros(moment)
    day = fn.date_from_unix_date(((micros - fn.pmod(micros, fn.lit(UNITS["day"]))) / UNITS["day"]).cast("int"))
    parts = fn.concat(
        fn.year(day).cast("string"),
        _text_of(fn.month(day) - 1, [f"-{month:02}" for month in range(1, 13)]),
        _text_of(fn.dayofmonth(day) - 1, [f"-{number:02}" for number in range(1, 32)]),
    )
    return fn.when(fn.year(day).between(1000, 9999), parts).otherwise(day.cast("string"))


def hour_text(moment: Column) -> Column:
    """An instant's hour in UTC, in two digits."""
    hour = fn.pmod(fn.unix_micros(moment), fn.lit(UNITS["day"])) / UNITS["hour"]
    return _text_of(hour.cast("int"), [f"{number:02}" for number in range(24)])


def _text_of(place: Column, texts: list[str]) -> Column:
    return fn.get(fn.array(*map(fn.lit, texts)), place)


def with_derived(rows: DataFrame, dataset: DatasetSpec) -> DataFrame:
    """The rows with the dataset's derived columns, each free to use the ones before it."""
    for name, expression in dataset.derived.items():
        rows = rows.withColumn(name, fn.expr(expression))
    return rows


def raw_columns(dataset: DatasetSpec) -> list[str]:
    """The columns of `raw/<dataset>`, in order."""
    return [*LEADING, *dataset.column_names, *partition_columns(dataset)]


def partition_columns(dataset: DatasetSpec) -> list[str]:
    """What `raw/<dataset>` is partitioned by."""
    return ["event_date"] if dataset.partition == "date" else ["event_date", "event_hour"]
