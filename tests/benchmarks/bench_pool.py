"""Three queries of one dataset: their samples from one pass with one budget, against a scan and a part of it each."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.goal import Goal
from shedding.allocation.pool import Member, Pool
from shedding.config import Settings
from shedding.keys import align
from shedding.policies import get_policy
from shedding.rates import Rates
from shedding.scan.ask import Ask
from shedding.stretches import Stretches
from tests.benchmarks.harness import Bench
from tests.benchmarks.trips import DAY, MEAN, ROWS, TIMELINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEYS = {"route": 3000, "zone": 260, "cab": 13_000}
FRACTION = 0.05


def run(bench: Bench, rows: int = ROWS, repetitions: int = 3) -> None:
    """Ratios `pooled_over_apart` and `pooled_over_alone` of the scans of a shed slot, and `union_over_budget`.

    Both ways run in a Spark that is up: an application of its own for each query adds its start to `apart`.
    """
    from shedding.scan.scan import scan
    from shedding.scan.shared_scan import shared_scan
    from shedding.spark.session import start_session

    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, "-m", "tests.benchmarks.bench_pool", directory, str(rows)], check=True)
        spark = start_session(Settings(), "bench pool")
        trips = spark.read.format("delta").load(directory + "/trips")
        asks = _asks(trips, rows)

        def scanned(ask: Ask, exact: bool = False) -> None:
            legs = [] if exact else ask.legs
            scan(
                spark, trips, timeline=TIMELINE, keys=ask.keys, measures=MEAN, legs=legs, exact=exact, few=not exact,
                counted=not exact,
            )  # fmt: skip

        kept: list[int] = []

        def pooled() -> None:
            found = shared_scan(spark, trips, asks)
            assert found is not None
            kept.append(found[1])

        def apart() -> None:
            for ask in asks:
                scanned(ask)

        def alone() -> None:
            scanned(asks[0])

        for once_more in (pooled, apart):
            once_more()
        times = bench.measure({"pooled": pooled, "apart": apart, "alone": alone}, repetitions=repetitions)
        bench.ratio("pooled_over_apart", times["pooled"] / times["apart"])
        bench.ratio("pooled_over_alone", times["pooled"] / times["alone"])
        bench.ratio("union_over_budget", kept[-1] / (FRACTION * rows))
        bench.note(f"{rows:,} rows, keys {', '.join(f'{size} of {name}' for name, size in KEYS.items())}")
        spark.stop()


def _asks(trips: DataFrame, rows: int) -> list[Ask]:
    """An ask for each key, at the rates that the pool allocates from the counts."""
    found = []
    for name in KEYS:
        counts = trips.groupBy(name).count().toArrow()
        keys, (place,) = align([counts], [name])
        found.append((name, keys, np.bincount(place, counts.column("count").to_numpy(), minlength=len(keys))))
    concepts = [Concept.grouped(population, cv=np.full(population.size, 0.5)) for _, _, population in found]
    members = tuple(Member(one.strata, Goal("relative").curve(one)) for one in concepts)
    parts = Pool(members, float(rows), Budget(FRACTION * rows)).allocate(get_policy("optimal"))
    asks = []
    for (name, keys, _), part in zip(found, parts, strict=True):
        side: Any = SimpleNamespace(keyset=SimpleNamespace(keys=(name,), where=None), known=lambda *_: True)
        query: Any = SimpleNamespace(timeline=TIMELINE)
        asks.append(
            Ask(query, side, MEAN, Stretches.of((0, DAY)), [Rates("optimal", keys, part.rates, 1.0)], exact=False)
        )
    return asks


def _write(directory: str, rows: str) -> None:
    """The day's trips with three independent keys, by a process of its own."""
    from pyspark.sql import functions as sf

    from shedding.spark.session import start_session

    def chance(salt: int) -> Any:
        return sf.shiftrightunsigned(sf.xxhash64("id", sf.lit(salt)), 11) / sf.lit(2.0**53)

    spark = start_session(Settings(), "pool's trips")
    step = DAY // int(rows)
    keys = [
        sf.concat(sf.lit(f"{name}-"), sf.floor(sf.pow(sf.lit(float(size)), chance(2 + salt))).cast("int")).alias(name)
        for salt, (name, size) in enumerate(KEYS.items())
    ]
    spark.range(int(rows), numPartitions=8).select(
        sf.timestamp_micros((sf.col("id") * step).cast("bigint")).alias("event_time"),
        chance(1).alias("u"),
        *keys,
        (sf.floor((chance(9) * 40 + 2.5) * 100) / 100).alias("fare"),
    ).write.format("delta").save(str(Path(directory) / "trips"))
    spark.stop()


if __name__ == "__main__":
    _write(*sys.argv[1:])
