"""What a repair of 5 of 3,000 keys reads, against the exact leg of the same day: seconds, rows processed, bytes."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.arrivals import Arrivals
from shedding.arrivals_log import write_log
from shedding.config import Settings
from shedding.exact_keys import exact_rows
from shedding.sides import Side
from shedding.spark.session import spark_session
from shedding.spark.slot_scan import SlotScan
from shedding.spec.dataset import DatasetSpec
from shedding.spec.durations import UNITS
from shedding.spec.keyset import keyset_of
from shedding.spec.query import QuerySpec
from tests.chaos.city import START, TRIPS, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 4_000_000
KEYS = 3_000
FAILING = [f"route {number}" for number in (40, 300, 900, 1500, 2500)]
DAY, HOUR = UNITS["day"], UNITS["hour"]


def write_day(spark: SparkSession, settings: Settings) -> None:
    """One day of trips over 3,000 routes of heavy-tailed size, as ingest leaves it: a file an hour, not sorted."""
    row = sf.col("id")
    place = sf.pmod(sf.xxhash64(row, sf.lit("key")), sf.lit(1_000_000)) / 1_000_000
    trips = spark.range(0, ROWS, 1, 24).select(
        sf.timestamp_micros(sf.lit(START) + sf.floor(row * sf.lit(DAY / ROWS)).cast("bigint")).alias("event_time"),
        sf.concat(sf.lit("route "), sf.floor(sf.pow(sf.lit(KEYS), place)).cast("string")).alias("route"),
        (sf.lit(5) + 20 * sf.pmod(sf.xxhash64(row), sf.lit(1000)) / 1000).cast("double").alias("fare_amount"),
        (sf.shiftrightunsigned(sf.xxhash64(row, sf.lit("u")), 11) / sf.lit(2.0**53)).alias("u"),
        row.alias("_identity"),
        sf.lit("day").alias("_source"),
        sf.lit("2024-03-04").alias("event_date"),
    )
    trips.write.format("delta").partitionBy("event_date").save(settings.table("raw", "trips"))
    hours = {str(START + hour * HOUR): ROWS // 24 for hour in range(24)}
    source = {"source_id": "day", "name": "day", "content_hash": "day", "kept": ROWS, "hours": json.dumps(hours)}
    moment = dt.datetime(2024, 3, 5, tzinfo=dt.UTC)
    write_log(settings, "trips", [{**source, "state": "begun"}, {**source, "state": "committed"}], moment)


def run(bench: Any) -> None:
    """Both reads on the same table, in turns."""
    spec = QuerySpec.model_validate(query("fares", {}, schedule={"every": "1 day"}))
    dataset = DatasetSpec.model_validate(TRIPS)
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(warehouse=f"{directory}/warehouse", docs=Path(directory) / "docs", master="local[2]")
        with spark_session(settings, "bench repair") as spark:
            write_day(spark, settings)
            side = Side(settings, dataset, keyset_of(spec), Arrivals.load(settings, "trips"))
            scans = SlotScan(spark, settings, spec)
            keys = pa.table({"route": FAILING})
            found: dict[str, tuple[float, int]] = {}

            def mend() -> None:
                made = exact_rows(spec, side, START, scans, keys, "uniform")
                found["repair"] = made.processed, made.bytes

            def exact() -> None:
                table = scans.panes(side, spec.measures, START, START + DAY, (), True)
                found["exact"] = float(table["rows"].to_numpy().sum()), side.bytes(START, START + DAY)

            seconds = bench.measure({"repair": mend, "exact": exact}, repetitions=3)
    for label, (processed, read) in found.items():
        bench.record(label, {"rows_processed": processed, "bytes_of_files": read})
    bench.ratio("exact_over_repair_seconds", seconds["exact"] / seconds["repair"])
    bench.ratio("exact_over_repair_rows_processed", found["exact"][0] / found["repair"][0])
    bench.ratio("exact_over_repair_bytes", found["exact"][1] / found["repair"][1])
    bench.note("files as ingest leaves them, in order of time: each holds every key, so none can be skipped by key")
    bench.note(f"{ROWS:,} rows of one day in 24 files, {KEYS:,} keys, 5 of them repaired; window 30/15 minutes")
