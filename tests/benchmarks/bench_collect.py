"""Who sums the rows that a leg keeps: the driver, which collects them, or Spark? Both, at growing numbers of kept rows.

`FEW_ROWS` in `shedding/scan/spark_scans.py` is where the two cross.
"""

from __future__ import annotations

import tempfile
from typing import Any

from shedding.config import Settings
from tests.benchmarks.trips import ROWS, rates, write_apart

FRACTIONS = (0.01, 0.03, 0.1, 0.2)


def run(bench: Any, rows: int = ROWS, repetitions: int = 3) -> None:
    """Ratios `<layout>_<kept rows>_collected_over_summed`, below 1 where the driver is quicker."""
    from shedding.spark.session import start_session
    from tests.benchmarks.trip_legs import TripLegs

    with tempfile.TemporaryDirectory() as directory:
        write_apart(directory, rows)
        spark = start_session(Settings(), "bench collect")
        legs = TripLegs(spark, directory)
        for fraction in FRACTIONS:
            leg = rates("optimal", legs.keys, legs.population, fraction)
            for layout, read in (("ranked", legs.sampled_rows([leg])), ("plain", legs.plain)):
                name = f"{layout}_{fraction * rows / 1e6:g}M"
                work = {
                    f"{name}_collected": lambda read=read, leg=leg: legs.sample(read, leg, few=True),
                    f"{name}_summed": lambda read=read, leg=leg: legs.sample(read, leg, few=False),
                }
                times = bench.measure(work, repetitions=repetitions)
                collected, summed = times.values()
                bench.ratio(f"{name}_collected_over_summed", collected / summed)
        spark.stop()
