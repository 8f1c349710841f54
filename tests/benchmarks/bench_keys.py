"""Slots of very many keys, end to end: from raw rows to published, exactly, as a sample, and as the cost model decides.

`KEYS_ROWS` (rows a day, default 10,000,000) and `KEYS` (comma-separated numbers of keys) make it smaller for a look.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from jobs.publish import publish
from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.ingest.made_days import DAY, MadeDays
from shedding.ingest.side import sides_of
from shedding.scan.spark_scans import SlotScan
from shedding.spec.query import QuerySpec
from tests.benchmarks.harness import Bench, PeakMemory

ROWS, KEYS = 10_000_000, (1_000, 30_000, 1_000_000, 5_000_000)
REPETITIONS = 3
AUDITS = 2
FRACTION = 0.05


def run(bench: Bench) -> None:
    """By number of keys: seconds of the exact and of the shed slot, of the slot by rule, and the driver's per key."""
    from shedding.spark.session import start_session

    rows = int(os.environ.get("KEYS_ROWS", ROWS))
    spark = start_session(Settings(), "bench keys")
    for keys in [int(text) for text in os.environ.get("KEYS", "").split(",") if text] or KEYS:
        made = MadeDays(rows=rows, keys=keys, days=AUDITS + REPETITIONS)
        with tempfile.TemporaryDirectory() as directory:
            settings = Settings(warehouse=f"{directory}/warehouse", docs=Path(directory) / "docs")
            bench.progress(f"writing {made.days} days of {rows:,} rows of {keys:,} keys")
            made.write(spark, settings)
            _compare(bench, spark, settings, made)
    spark.stop()


def _compare(bench: Bench, spark: Any, settings: Settings, made: MadeDays) -> None:
    kinds = {
        "exact": made.query("exactly", "exact"),
        "shed": made.query("sampled", "posterior", FRACTION),
        "by rule": made.query("by_rule", "posterior", FRACTION, unless_cheaper=True),
    }
    for name in ("shed", "by rule"):
        for day in range(AUDITS):
            bench.progress(f"{made.keys} keys, {name}: audit {day + 1}")
            _published(spark, settings, made, kinds[name], day)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in kinds}
    for day in range(AUDITS, made.days):
        for name, query in kinds.items():
            bench.progress(f"{made.keys} keys, {name}: day {day}")
            found[name].append(_published(spark, settings, made, query, day))
    best = {name: min(lines, key=lambda line: line["seconds"]) for name, lines in found.items()}
    for name, line in best.items():
        bench.record(f"{made.keys} keys, {name}", line)
    bench.ratio(f"{made.keys} keys: shed_over_exact", best["shed"]["seconds"] / best["exact"]["seconds"])
    bench.ratio(f"{made.keys} keys: by_rule_over_exact", best["by rule"]["seconds"] / best["exact"]["seconds"])
    driver = best["shed"]["seconds"] - best["shed"]["scan_seconds"]
    bench.ratio(f"{made.keys} keys: driver seconds a million keys", 1e6 * driver / best["shed"]["keys"])


def _published(spark: Any, settings: Settings, made: MadeDays, query: QuerySpec, day: int) -> dict[str, float]:
    """One slot computed, judged and published: its seconds, their parts, and how far the driver's memory grew."""
    from expectations.gate import judge

    with PeakMemory() as memory:
        begun = time.perf_counter()
        sides = sides_of(settings, made.catalog(query), query)
        answer = answer_sides(settings, query, day * DAY, sides, SlotScan(spark, settings, query))
        answer.write(settings, "bench", 0.0)
        verdict = judge(settings, query, day * DAY, "bench")
        publish(settings, query, day * DAY, verdict, "bench")
        seconds = time.perf_counter() - begun
    parts = answer.watch.columns()
    return {"seconds": seconds, **parts, "keys": answer.shown_keys, "grown_mb": memory.grown_mb,
            "peak_mb": memory.peak_mb}  # fmt: skip
