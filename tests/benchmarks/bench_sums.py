"""Why fixed point: sums of values and squares by pane and key, as doubles, as DECIMAL and as `scan` makes them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from shedding.config import Settings
from tests.benchmarks.trips import MEAN, ROWS, TIMELINE, write_trips

DECIMAL = "decimal(38,15)"
"""Squares of values up to 2**40 have 25 digits before the point: 13 are left behind it, here 15 of a smaller range."""


def run(bench: Any, rows: int = ROWS, repetitions: int = 3) -> None:
    """Ratios `decimal_over_fixed_point` and `fixed_point_over_doubles`; doubles depend on the order of the rows."""
    from pyspark.sql import functions as sf

    from shedding.scan.scan import scan
    from shedding.spark.session import start_session

    spark = start_session(Settings(), "bench sums")
    with tempfile.TemporaryDirectory() as directory:
        trips = write_trips(spark, Path(directory) / "trips", rows)
        moment = sf.unix_micros("event_time")
        pane = (moment - sf.pmod(moment, sf.lit(TIMELINE.pane))).alias("pane_start")

        def summed(kind: str) -> None:
            values = [sf.col("fare"), sf.col("fare") * sf.col("fare")]
            sums = [sf.sum(value.cast(kind)).alias(f"sum{place}") for place, value in enumerate(values)]
            trips.groupBy(pane, "route").agg(sf.count("fare"), *sums).toArrow()

        def fixed_point() -> None:
            scan(spark, trips, timeline=TIMELINE, keys=["route"], measures=MEAN, legs=[], exact=True)

        work = {"doubles": lambda: summed("double"), "fixed_point": fixed_point, "decimal": lambda: summed(DECIMAL)}
        times = bench.measure(work, repetitions=repetitions)
        bench.ratio("decimal_over_fixed_point", times["decimal"] / times["fixed_point"])
        bench.ratio("fixed_point_over_doubles", times["fixed_point"] / times["doubles"])
        bench.note(f"{rows:,} rows; {DECIMAL} rounds what lies behind its last digit, fixed point rounds nothing")
    spark.stop()
