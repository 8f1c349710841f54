"""How a sample of 5 % grows with the rows, against the exact leg: seconds of each at three sizes, and their slopes."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from shedding.config import Settings
from tests.benchmarks.trips import write_apart

SIZES = (20_000_000, 50_000_000, 100_000_000)


def run(bench: Any, rows: int = SIZES[-1], repetitions: int = 3) -> None:
    """Ratio `leg5_slope_over_exact_slope`, of least squares over a fifth, a half and all of the rows."""
    from shedding.spark.session import start_session
    from tests.benchmarks.trip_legs import TripLegs

    sizes = [rows * size // SIZES[-1] for size in SIZES]
    seconds: dict[str, list[float]] = {"exact": [], "leg5": []}
    for size in sizes:
        with tempfile.TemporaryDirectory() as directory:
            write_apart(directory, size)
            spark = start_session(Settings(), "bench growth")
            legs = TripLegs(spark, directory)
            for _ in range(2):
                legs.ranked_leg()
            name = f"{size / 1e6:g}M"
            work = {f"exact_{name}": legs.exact_by_panes, f"leg5_{name}": legs.ranked_leg}
            for label, median in bench.measure(work, repetitions=repetitions).items():
                seconds[label.split("_")[0]].append(median)
            spark.stop()
    slope = {leg: float(np.polyfit(sizes, found, 1)[0]) for leg, found in seconds.items()}
    bench.ratio("leg5_slope_over_exact_slope", slope["leg5"] / slope["exact"])
    bench.record("seconds_a_million_rows", {leg: found * 1e6 for leg, found in slope.items()})
