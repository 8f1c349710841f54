"""Generated rows for the Spark benchmarks: a day, 3,000 Zipf keys, half-hour windows every ten minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.config import Settings
from shedding.keys import Keys, align
from shedding.panes.from_scan import Scanned
from shedding.panes.windows import PaneRun, WindowSample
from shedding.policies import get_policy
from shedding.rates import Rates
from shedding.spec.dataset import DatasetSpec
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Timeline
from shedding.stretches import Stretches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 20_000_000
KEYS = 3000
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
TIMELINE = Timeline(size=30 * MINUTE, slide=10 * MINUTE, slot=DAY)
RANKED = DatasetSpec.model_validate(
    {
        "name": "trips",
        "source": {"kind": "parquet", "path": "*.parquet"},
        "schedule": {"every": "1 day"},
        "event_time": {"column": "at"},
        "columns": [{"name": "at", "type": "timestamp"}, {"name": "route"}, {"name": "fare", "type": "double"}],
        "layout": {"kind": "ranked", "keys": ["route"], "pane": "1 day"},
    }
)
MEAN = [MeasureSpec(name="mean_fare", agg="avg", column="fare")]


def write_trips(spark: SparkSession, where: Path, rows: int = ROWS) -> DataFrame:
    """Write the rows once as a table with the columns that a raw table has for such a query, and read it back."""
    from pyspark.sql import functions as sf

    def chance(salt: int):
        return sf.shiftrightunsigned(sf.xxhash64("id", sf.lit(salt)), 11) / sf.lit(2.0**53)

    key = sf.floor(sf.pow(sf.lit(float(KEYS)), chance(2))).cast("int")
    step = DAY // rows
    spark.range(rows, numPartitions=8).select(
        sf.timestamp_micros((sf.col("id") * step).cast("bigint")).alias("event_time"),
        chance(1).alias("u"),
        sf.concat(sf.lit("route-"), key).alias("route"),
        (sf.floor((chance(3) * 40 + 2.5 + key % 50) * 100) / 100).alias("fare"),
    ).write.format("delta").save(str(where))
    return spark.read.format("delta").load(str(where))


def write_ranked(trips: DataFrame, where: Path, rows: int = ROWS) -> DataFrame:
    """Write the same rows as ingest does for `layout: ranked` on the query's key and slot, and read them back."""
    from pyspark.sql import functions as sf

    from shedding.ingest.append import append
    from shedding.ingest.ranked_layout import file_rows, ranked

    raw = trips.withColumns({"at": sf.col("event_time"), "_source": sf.lit(0).cast("bigint")})
    made = ranked(raw, RANKED, rows)
    append(made, str(where), ["event_date"], {}, file_rows(rows))
    return made.sparkSession.read.format("delta").load(str(where))


def write_apart(directory: str, rows: int = ROWS) -> None:
    """Write both, as `plain` and `ranked`, by a process of their own: what writing leaves in a JVM slows readers."""
    subprocess.run([sys.executable, "-m", "tests.benchmarks.trips", directory, str(rows)], check=True)


def counts(rows: DataFrame) -> tuple[pa.Table, Keys, np.ndarray]:
    """Rows per pane and key, as ingest counts them, the keys, and each key's rows of the day."""
    from pyspark.sql import functions as sf

    moment = sf.unix_micros("event_time")
    pane = (moment - sf.pmod(moment, sf.lit(TIMELINE.pane))).alias("pane_start")
    table = rows.groupBy(pane, "route").agg(sf.count("*").alias("rows"), sf.count("fare").alias("rows_fare")).toArrow()
    keys, (place,) = align([table], ["route"])
    return table, keys, np.bincount(place, table.column("rows").to_numpy(), minlength=len(keys))


def first_ranks(ranked: DataFrame, counted: pa.Table, legs: list[Rates]) -> DataFrame:
    """The rows of ranked files that the legs may keep, as an aggregate job reads them."""
    from pyspark.sql import functions as sf

    from shedding.scan.rank_bounds import deepest_of_counts

    return ranked.where(sf.col("_rank") <= deepest_of_counts(counted, ["route"], legs, Stretches.of((0, DAY)), DAY))


def rates(policy: str, keys: Keys, population: np.ndarray, fraction: float) -> Rates:
    """A policy's rates for the day."""
    concept = Concept.grouped(population, cv=np.full(len(keys), 0.5))
    made = get_policy(policy).allocate(concept, Budget(rows=fraction * population.sum()))
    return Rates(policy, keys, made.rates, made.rates[0] if policy == "uniform" else 1.0)


def windows_of(scanned: Scanned, bit: int | None, measures: list[MeasureSpec], leg: Rates | None) -> list[WindowSample]:
    """A leg's windows of the day, from a scan."""
    run = PaneRun([scanned.panes(bit, measures, leg)], ["route"])
    return [run.window(*window) for window in TIMELINE.windows(0) if window[0] >= 0]


def _main(directory: str, rows: str) -> None:
    from shedding.spark.session import start_session

    spark = start_session(Settings(), "trips")
    trips = write_trips(spark, Path(directory) / "plain", int(rows))
    write_ranked(trips, Path(directory) / "ranked", int(rows))
    spark.stop()


if __name__ == "__main__":
    _main(*sys.argv[1:])
