"""Legs on Spark: sliding windows by panes against Spark's own, all legs in one scan, and a leg of 5 %."""

from __future__ import annotations

import tempfile
from typing import Any

from shedding.config import Settings
from tests.benchmarks.trips import ROWS, write_apart


def run(bench: Any, rows: int = ROWS, repetitions: int = 3) -> None:
    """Ratios `window_over_panes`, `window_over_leg5`, `side_by_side_over_exact` and `panes_over_leg5`.

    The leg of 5 % reads files ranked by the query's key, as a dataset that is read by samples has them;
    `panes_over_plain_leg5` is the same leg on plain files, where it must read every row. The exact legs read plain
    files, which are quicker for them.
    """
    from shedding.spark.session import start_session
    from tests.benchmarks.trip_legs import TripLegs

    with tempfile.TemporaryDirectory() as directory:
        write_apart(directory, rows)
        spark = start_session(Settings(), "bench legs")
        legs = TripLegs(spark, directory)
        work = {"exact_by_panes": legs.exact_by_panes, "side_by_side": legs.side_by_side, "leg5": legs.ranked_leg,
                "window": legs.window}  # fmt: skip
        for once_more in (legs.exact_by_panes, legs.side_by_side, legs.ranked_leg, legs.ranked_leg, legs.ranked_leg):
            once_more()  # the shorter, the more runs until Java has compiled it
        times = bench.measure(work, repetitions=repetitions)
        times |= bench.measure({"plain_leg5": legs.plain_leg, "bare_scan": legs.bare_scan}, repetitions=repetitions)
        bench.ratio("window_over_panes", times["window"] / times["exact_by_panes"])
        bench.ratio("window_over_leg5", times["window"] / times["leg5"])
        bench.ratio("side_by_side_over_exact", times["side_by_side"] / times["exact_by_panes"])
        bench.ratio("panes_over_leg5", times["exact_by_panes"] / times["leg5"])
        bench.ratio("panes_over_plain_leg5", times["exact_by_panes"] / times["plain_leg5"])
        read = legs.sampled_rows().count() / rows
        share = times["bare_scan"] / times["plain_leg5"]
        bench.note(f"{rows:,} rows; ranked: {read:.0%} of them are read; plain: a bare scan is {share:.0%} of the leg")
        spark.stop()
