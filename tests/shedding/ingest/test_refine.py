"""Partition columns: the text of every instant's date and hour, as Spark itself would write it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from shedding.ingest.refine import date_text, hour_text
from shedding.spec.times import UNITS, parse_instant

pytestmark = pytest.mark.spark


def test_dates_and_hours_are_written_as_spark_writes_them(spark: SparkSession) -> None:
    edges = ["0001-01-01", "0999-12-31", "1000-01-01", "1582-10-15", "1969-12-31", "1970-01-01", "2000-02-29",
             "2024-02-29", "2100-02-28", "2100-03-01", "9999-12-31"]  # fmt: skip
    moments = [parse_instant(edge) + shift for edge in edges for shift in (-1, 0, 1, UNITS["day"] - 1)]
    draw = random.Random(3)
    moments += [draw.randrange(parse_instant("0001-01-02"), parse_instant("9999-12-31")) for _ in range(500)]
    moments += [parse_instant("2024-01-01") + hour * UNITS["hour"] + edge for hour in range(24) for edge in (0, -1)]
    rows = spark.createDataFrame(pa.table({"micros": [m for m in moments if m >= parse_instant("0001-01-01")]}))
    moment = fn.timestamp_micros("micros")

    wrong = rows.where(
        (date_text(moment) != moment.cast("date").cast("string")) | (hour_text(moment) != fn.date_format(moment, "HH"))
    )

    assert wrong.collect() == []
    assert rows.where(date_text(moment).isNull() | hour_text(moment).isNull()).count() == 0
    assert rows.select(date_text(fn.lit(None).cast("timestamp"))).distinct().collect() == [(None,)]
