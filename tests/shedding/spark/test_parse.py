"""From what a file holds to the declared value: which texts tell their own zone."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from shedding.spark.parse import parsed
from shedding.spec.dataset import ColumnSpec

pytestmark = pytest.mark.spark

BERLIN_NOON, UTC_NOON = "11:00", "12:00"


@pytest.mark.parametrize(
    ("pattern", "text", "told"),
    [
        ("MM/dd/yyyy hh:mm:ss a", "11/15/2024 12:00:00 PM", BERLIN_NOON),
        ("HH:mm dd-MM-yyyy", "12:00 15-11-2024", BERLIN_NOON),
        ("yyyyMMdd-HHmm", "20241115-1200", BERLIN_NOON),
        ("yyyy-MM-dd HH:mm:ss", "2024-11-15 12:00:00", BERLIN_NOON),
        ("MM/dd/yyyy hh:mm:ss a XXX", "11/15/2024 12:00:00 PM Z", UTC_NOON),
        ("yyyy-MM-dd'T'HH:mm:ss'Z'", "2024-11-15T12:00:00Z", UTC_NOON),
        ("HH:mm dd-MM-yyyy[ XXX]", "12:00 15-11-2024", BERLIN_NOON),
        ("HH:mm dd-MM-yyyy[ XXX]", "14:00 15-11-2024 +02:00", UTC_NOON),
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
