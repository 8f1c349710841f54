"""Legs on Spark: sliding windows by panes against Spark's own, all legs in one scan, and a leg of 5 %."""

from __future__ import annotations

import tempfile
from typing import Any

from shedding.config import Settings
from shedding.panes.from_scan import Scanned
from tests.benchmarks.trips import MEAN, ROWS, TIMELINE, counts, first_ranks, rates, windows_of, write_apart


def run(bench: Any, rows: int = ROWS, repetitions: int = 3) -> None:
    """Ratios `window_over_panes`, `side_by_side_over_exact` and `panes_over_leg5`.

    The leg of 5 % reads files ranked by the query's key, as a dataset that is read by samples has them;
    `panes_over_plain_leg5` is the same leg on plain files, where it must read every row. The exact legs read plain
    files, which are quicker for them.
    """
    from pyspark.sql import functions as sf

    from shedding.scan.scan import scan
    from shedding.spark.session import start_session

    with tempfile.TemporaryDirectory() as directory:
        write_apart(directory, rows)
        spark = start_session(Settings(), "bench legs")
        trips, ranked = (spark.read.format("delta").load(f"{directory}/{layout}") for layout in ("plain", "ranked"))
        counted, keys, population = counts(trips)
        three = [rates(policy, keys, population, 0.05) for policy in ("optimal", "cod", "uniform")]

        def scanned(legs: list[Any], exact: bool, read: Any = trips) -> Scanned:
            table = scan(
                spark, read, timeline=TIMELINE, keys=["route"], measures=MEAN, legs=legs, exact=exact,
                few=not exact, counted=bool(legs),
            )  # fmt: skip
            return Scanned(table, ["route"], counted if legs else None)

        def native() -> None:
            sliding = sf.window("event_time", "30 minutes", "10 minutes")
            trips.groupBy(sliding, "route").agg(sf.avg("fare"), sf.count("*")).toArrow()

        def exact_by_panes() -> None:
            windows_of(scanned([], True), None, MEAN, None)

        def side_by_side() -> None:
            found = scanned(three, True)
            windows_of(found, None, MEAN, None)
            for bit, leg in enumerate(three):
                windows_of(found, bit, MEAN, leg)

        def ranked_leg() -> None:
            windows_of(scanned(three[:1], False, first_ranks(ranked, counted, three[:1])), 0, MEAN, three[0])

        def plain_leg() -> None:
            windows_of(scanned(three[:1], False), 0, MEAN, three[0])

        def bare_scan() -> None:
            largest = [sf.max(sf.unix_micros("event_time")), sf.max("u"), sf.max(sf.length("route")), sf.max("fare")]
            trips.agg(*largest).collect()

        work = {"exact_by_panes": exact_by_panes, "side_by_side": side_by_side, "leg5": ranked_leg, "window": native}
        for once_more in (exact_by_panes, side_by_side, ranked_leg, ranked_leg, ranked_leg):
            once_more()  # the shorter, the more runs until Java has compiled it
        times = bench.measure(work, repetitions=repetitions)
        times |= bench.measure({"plain_leg5": plain_leg, "bare_scan": bare_scan}, repetitions=repetitions)
        bench.ratio("window_over_panes", times["window"] / times["exact_by_panes"])
        bench.ratio("side_by_side_over_exact", times["side_by_side"] / times["exact_by_panes"])
        bench.ratio("panes_over_leg5", times["exact_by_panes"] / times["leg5"])
        bench.ratio("panes_over_plain_leg5", times["exact_by_panes"] / times["plain_leg5"])
        read = first_ranks(ranked, counted, three[:1]).count() / rows
        share = times["bare_scan"] / times["plain_leg5"]
        bench.note(f"{rows:,} rows; ranked: {read:.0%} of them are read; plain: a bare scan is {share:.0%} of the leg")
        spark.stop()
