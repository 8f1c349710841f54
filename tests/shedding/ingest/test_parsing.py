"""From what a file holds to the declared value: which texts tell their own zone, and what breaks a constraint."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from shedding.ingest.parsing import column_checks, event_time, micros_of, parsed, raw_name
from shedding.spec.dataset import ColumnSpec, EventTimeSpec

pytestmark = pytest.mark.spark

BERLIN_NOON, UTC_NOON = "11:00", "12:00"


@pytest.mark.parametrize(
    ("pattern", "text", "told"),
    [
        ("MM/dd/yyyy hh:mm:ss a", "11/15/2024 12:00:00 PM", BERLIN_NOON),
        ("HH:mm dd-MM-yyyy", "12:00 15-11-2024", BERLIN_NOON),
        ("yyyyMMdd-HHmm", "20241115-1200", BERLIN_NOON),
        ("yyyy-MM-dd HH:mm:ss", "2024-11-15 12:00:00", BERLIN_NOON),
        ("MM/dd/yyyy hh:mm:ss a X", "11/15/2024 12:00:00 PM Z", UTC_NOON),
        ("yyyy-MM-dd'T'HH:mm:ss'Z'", "2024-11-15T12:00:00Z", UTC_NOON),
        ("HH:mm dd-MM-yyyy[ VV]", "12:00 15-11-2024", BERLIN_NOON),
        ("HH:mm dd-MM-yyyy[ VV]", "14:00 15-11-2024 +02:00", UTC_NOON),
        (None, "2024-11-15 12:00:00", BERLIN_NOON),
        (None, "2024-11-15 14:00:00+02:00", UTC_NOON),
    ],
)
def test_a_pattern_says_whether_its_texts_tell_their_zone(
    spark: SparkSession, pattern: str | None, text: str, told: str
) -> None:
    column = ColumnSpec(name="at", type="timestamp", format=pattern)
    value = parsed(column, fn.lit(text), "string", "Europe/Berlin")
    assert spark.range(1).select(fn.date_format(value, "HH:mm")).first() == (told,)


@pytest.mark.parametrize(
    ("declared", "value", "reason"),
    [
        ({"matches": "[a-z]+"}, "abc", None),
        ({"matches": "[a-z]+"}, "abc\n", "does not match [a-z]+: abc\n"),
        ({"matches": "[a-z]+"}, "abc\u2028", "does not match [a-z]+: abc\u2028"),
        ({"matches": "a|b"}, "ab", "does not match a|b: ab"),
        ({"type": "int", "max": 1234567}, 1234568, "above the maximum 1234567: 1234568"),
        ({"type": "double", "min": 0.1}, 0.05, "below the minimum 0.1: 0.05"),
    ],
)
def test_a_broken_constraint_is_told_with_its_bound(
    spark: SparkSession, declared: dict[str, Any], value: object, reason: str | None
) -> None:
    column = ColumnSpec.model_validate({"name": "x", **declared})
    given = fn.lit(value).cast(column.type)
    row = spark.range(1).select(given.alias("x"), given.alias(raw_name(0)))
    checks = column_checks([column], {"x": column.type})
    assert row.select(*[fn.when(check.broken, check.reason) for check in checks]).first()[-1] == reason


@pytest.mark.parametrize(
    "nanos", [1709287199999999999, 1709287200000007000, -1, -2000, 0, 999, 2**63 - 1, -(2**63) + 808]
)
def test_nanoseconds_are_cut_to_the_microsecond_and_never_leave_their_window(spark: SparkSession, nanos: int) -> None:
    given = spark.range(1).select(fn.lit(nanos).cast("bigint").alias("at"))
    moment = event_time(EventTimeSpec(column="at", unit="nanoseconds"), {"at": "bigint"}, fn.lit(1))
    assert given.select(micros_of(fn.col("at")), fn.unix_micros(moment)).first() == (nanos // 1000, nanos // 1000)
