import pytest
from pyspark.sql import functions as sf

from shedding.ingest.raw_table import count_keys
from shedding.spec.keyset import KeySet

HOUR = 3_600_000_000


@pytest.mark.spark
def test_counts_take_nan_for_no_value_as_scans_do(spark):
    rows = spark.createDataFrame(
        [("a", 1.0, 1), ("a", float("nan"), None), ("a", None, 3), ("b", float("nan"), 4)],
        "key string, number double, whole int",
    ).select(sf.timestamp_micros(sf.lit(0)).alias("event_time"), sf.lit(0.5).alias("u"), "*")
    counted = count_keys(rows, ["s"], KeySet("d", ("key",), None, HOUR, ("number", "whole")))
    found = counted.sort_by("key").select(["key", "rows", "rows_number", "rows_whole"]).to_pylist()
    assert found == [
        {"key": "a", "rows": 3, "rows_number": 1, "rows_whole": 2},
        {"key": "b", "rows": 1, "rows_number": 0, "rows_whole": 1},
    ]
