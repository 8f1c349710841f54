"""A quantile by window and key: Spark's exact `percentile` over sliding windows against the leg of 5 %."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from shedding.config import Settings
from shedding.measures import measure_of
from shedding.panes.from_scan import Scanned
from shedding.spec.measure import MeasureSpec
from tests.benchmarks.trips import ROWS, TIMELINE, counts, rates, windows_of, write_trips

P90 = [MeasureSpec(name="p90_fare", agg="quantile", q=0.9, column="fare")]


def run(bench: Any, rows: int = ROWS) -> None:
    """Ratio `exact_over_leg5`; the leg's time includes its estimates and intervals."""
    from pyspark.sql import functions as sf

    from shedding.scan.scan import scan
    from shedding.spark.session import start_session

    spark = start_session(Settings(), "bench quantile")
    with tempfile.TemporaryDirectory() as directory:
        trips = write_trips(spark, Path(directory) / "trips", rows)
        counted, keys, population = counts(trips)
        leg = rates("uniform", keys, population, 0.05)

        def exact() -> None:
            sliding = sf.window("event_time", "30 minutes", "10 minutes")
            trips.groupBy(sliding, "route").agg(sf.percentile("fare", sf.lit(0.9))).toArrow()

        def leg_alone() -> None:
            table = scan(spark, trips, timeline=TIMELINE, keys=["route"], measures=P90, legs=[leg], exact=False)
            for window in windows_of(Scanned(table, ["route"], counted), 0, P90, leg):
                measure_of(P90[0]).plain(window)

        times = bench.measure({"leg5": leg_alone}, repetitions=2, warmup=1)
        times |= bench.measure({"exact": exact}, repetitions=1, warmup=0)
        bench.ratio("exact_over_leg5", times["exact"] / times["leg5"])
        bench.note(f"{rows:,} rows, exact percentile over window() once and cold, the 5 % leg twice")
    spark.stop()
