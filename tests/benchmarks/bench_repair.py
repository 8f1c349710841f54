"""What a repair of 5 of 3,000 keys reads, against the exact leg of the same day: seconds, rows processed, bytes.

Bytes are what the JVM asked the operating system for (shuffle files too), because Spark's own counters miss vectored
reads. Files are as ingest leaves them, each in order of time.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.answers.exact_keys import exact_rows
from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.arrivals_log import write_log
from shedding.ingest.side import Side
from shedding.ingest.source_number import source_number
from shedding.scan.spark_scans import SlotScan
from shedding.spark.session import spark_session
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import keyset_of
from shedding.spec.query import QuerySpec
from shedding.spec.times import UNITS
from shedding.stretches import Stretches
from tests.chaos.city import START, query
from tests.small_specs import generated_trips

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 20_000_000
KEYS = 3_000
FAILING = [f"route {number}" for number in (40, 300, 900, 1500, 2500)]
DAY, HOUR = UNITS["day"], UNITS["hour"]


def write_day(spark: SparkSession, settings: Settings) -> None:
    """One day of trips over 3,000 routes of heavy-tailed size: a file an hour, in order of time."""
    row = sf.col("id")
    place = sf.pmod(sf.xxhash64(row, sf.lit("key")), sf.lit(1_000_000)) / 1_000_000
    trips = spark.range(0, ROWS, 1, 24).select(
        sf.timestamp_micros(sf.lit(START) + sf.floor(row * sf.lit(DAY / ROWS)).cast("bigint")).alias("event_time"),
        sf.concat(sf.lit("route "), sf.floor(sf.pow(sf.lit(KEYS), place)).cast("string")).alias("route"),
        (sf.lit(5) + 20 * sf.pmod(sf.xxhash64(row), sf.lit(1000)) / 1000).cast("double").alias("fare_amount"),
        (sf.shiftrightunsigned(sf.xxhash64(row, sf.lit("u")), 11) / sf.lit(2.0**53)).alias("u"),
        row.alias("_identity"),
        sf.lit(source_number("day")).alias("_source"),
        sf.lit("2024-03-04").alias("event_date"),
    )
    trips.write.format("delta").partitionBy("event_date").save(settings.table("raw", "trips"))
    hours = {str(START + hour * HOUR): ROWS // 24 for hour in range(24)}
    source = {"source_id": "day", "name": "day", "content_hash": "day", "kept": ROWS, "hours": json.dumps(hours)}
    moment = dt.datetime(2024, 3, 5, tzinfo=dt.UTC)
    write_log(settings, "trips", [{**source, "state": "begun"}, {**source, "state": "committed"}], moment)


@dataclass
class Reads:
    """Exact leg and repair on one table; what each processed and read, of its last run."""

    spark: SparkSession
    settings: Settings
    found: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spec = QuerySpec.model_validate(query("fares", {}, schedule={"every": "1 day"}))
        dataset = DatasetSpec.model_validate(generated_trips(rows_per_hour=2500, every="1 hour"))
        self.side = Side(self.settings, dataset, keyset_of(self.spec), Arrivals.load(self.settings, "trips"))
        self.scans = SlotScan(self.spark, self.settings, self.spec)

    def repair(self) -> None:
        """The five keys' exact rows."""
        before = self._read()
        made = exact_rows(self.spec, self.side, START, self.scans, pa.table({"route": FAILING}), "uniform")
        self.found["repair"] = {"rows": made.processed, "bytes": self._read() - before}

    def exact(self) -> None:
        """The exact leg's scan."""
        before = self._read()
        table = self.scans.panes(self.side, self.spec.measures, Stretches.of((START, START + DAY)), (), True).table
        self.found["exact"] = {"rows": float(table["rows"].to_numpy().sum()), "bytes": self._read() - before}

    def _read(self) -> int:
        pid = self.spark._jvm.java.lang.ProcessHandle.current().pid()
        return int(psutil.Process(pid).io_counters().read_chars)


def run(bench: Any) -> None:
    """Both reads in turns."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(warehouse=directory, master="local[2]")
        with spark_session(settings, "bench repair") as spark:
            write_day(spark, settings)
            bench.progress(f"{ROWS:,} rows written")
            reads = Reads(spark, settings)
            seconds = bench.measure({"exact": reads.exact, "repair": reads.repair}, repetitions=3)
    exact, repair = reads.found["exact"], reads.found["repair"]
    for label, found in reads.found.items():
        bench.record(label, found)
    bench.ratio("exact_over_repair_seconds", seconds["exact"] / seconds["repair"])
    bench.ratio("exact_over_repair_rows", exact["rows"] / repair["rows"])
    bench.ratio("exact_over_repair_bytes", exact["bytes"] / repair["bytes"])
    bench.note("in order of time each file and page holds every key: none can be skipped, so bytes hardly fall")
    bench.note(f"{ROWS:,} rows of one day in 24 files, {KEYS:,} keys, 5 of them repaired; window 30/15 minutes")
