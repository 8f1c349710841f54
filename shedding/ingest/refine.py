"""Records into raw rows: parsed, judged, dated, identified; what is broken or excluded is told apart, never lost."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as fn

from shedding.ingest.identity import identity_of, place_of
from shedding.ingest.normal_form import in_normal_form
from shedding.ingest.parsing import (
    Check,
    column_checks,
    event_checks,
    event_time,
    parsed,
    raw_name,
    verdict_of,
    words_for,
)
from shedding.ingest.records import Records
from shedding.ingest.tally import tallied
from shedding.spark.expression import column_of, with_expression
from shedding.spec.dataset import DatasetSpec
from shedding.spec.times import UNITS

LEADING = ("event_time", "u", "_source")  # first, since Delta keeps statistics of so many columns only
_FIRST = dt.date(1901, 1, 1)
_CYCLE = 4 * 365 + 1


@dataclass(frozen=True)
class Refined:
    """Every record of a batch with its `_verdict`: 0 kept, above 0 the check it breaks, below 0 excluded.

    What is no record (a blank line) has none.
    """

    frame: DataFrame
    dataset: DatasetSpec
    checks: list[Check]

    def kept(self, seen: Observation | None) -> DataFrame:
        """The raw rows, in the raw table's column order; if `seen`, all records are counted on the way (`tally_of`)."""
        return self._where("_verdict = 0", seen).select(*raw_columns(self.dataset))

    def broken(self, names: Column, sources: Column, at: Column, seen: Observation) -> DataFrame:
        """The broken records with file, line, column and reason; all records are counted on the way.

        `names` and `sources` are each source's name and id.
        """
        return self._where("_verdict > 0", seen).select(
            names.alias("file"),
            fn.col("_line").alias("line"),
            words_for(fn.col("_verdict"), self.checks, lambda check: check.column).alias("column"),
            words_for(fn.col("_verdict"), self.checks, lambda check: check.reason).alias("reason"),
            fn.make_valid_utf8("_record").alias("record"),
            sources.alias("_source"),
            at.alias("at"),
        )

    def _where(self, condition: str, seen: Observation | None) -> DataFrame:
        """Records that meet a condition which stays above their parsing: below, it would parse them once per check."""
        if seen is not None:
            return tallied(self.frame, seen, len(self.dataset.exclude)).where(condition)
        sealed = self.frame.withColumn("_seal", fn.monotonically_increasing_id())
        return sealed.where(f"{condition} AND _seal >= 0")


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
    exclusions = [column_of(rows, condition) for condition in dataset.exclude.values()]
    rows = rows.withColumn("_verdict", verdict_of(checks, exclusions, timing))
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

    Looked up: the calendar repeats every four years from 1901 to 2099. Java's formatting would be a tenth of what
    ingest of a file costs.
    """
    micros = fn.unix_micros(moment)
    today = ((micros - fn.pmod(micros, fn.lit(UNITS["day"]))) / UNITS["day"]).cast("int")
    day = today + (dt.date(1970, 1, 1) - _FIRST).days
    parts = fn.concat(
        _text_of(((day * 4 + 3) / _CYCLE).cast("int"), [str(year) for year in range(1901, 2100)]),
        _text_of(fn.pmod(day, fn.lit(_CYCLE)), [f"{_FIRST + dt.timedelta(number):-%m-%d}" for number in range(_CYCLE)]),
    )
    known = day.between(0, (dt.date(2099, 12, 31) - _FIRST).days)
    return fn.when(known, parts).otherwise(fn.date_from_unix_date(today).cast("string"))


def hour_text(moment: Column) -> Column:
    """An instant's hour in UTC, in two digits."""
    hour = fn.pmod(fn.unix_micros(moment), fn.lit(UNITS["day"])) / UNITS["hour"]
    return _text_of(hour.cast("int"), [f"{number:02}" for number in range(24)])


def _text_of(place: Column, texts: list[str]) -> Column:
    return fn.get(fn.split(fn.lit(" ".join(texts)), " "), place)  # one literal, split when the plan is made


def with_derived(rows: DataFrame, dataset: DatasetSpec) -> DataFrame:
    """The rows with the dataset's derived columns in normal form; each is free to use the ones before it."""
    for name, expression in dataset.derived.items():
        rows = with_expression(rows, name, expression)
    return in_normal_form(rows, dataset.derived)


def raw_columns(dataset: DatasetSpec) -> list[str]:
    """The columns of `raw/<dataset>`, in order."""
    return [*LEADING, *dataset.column_names, *partition_columns(dataset)]


def partition_columns(dataset: DatasetSpec) -> list[str]:
    """What `raw/<dataset>` is partitioned by."""
    return ["event_date"] if dataset.partition == "date" else ["event_date", "event_hour"]
