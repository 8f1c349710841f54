"""100 million generated rows in a JVM that could not hold them: Spark makes them in parallel, the driver none."""

from __future__ import annotations

from typing import Any

from shedding.config import Settings
from shedding.spec.times import UNITS, parse_instant

ROWS = 100_000_000
PART = 10_000_000
START = parse_instant("2026-11-02")
ROWS_PER_HOUR = 5_000_000
HEAP = "1g"


def run(bench: Any, rows: int = ROWS, part: int = PART) -> None:
    """Ratio `memory_all_over_part`: peak memory of all rows over that of a tenth of them; rows that are held show."""
    from shedding.ingest.generators.registry import generate
    from shedding.spark.session import start_session
    from shedding.spec.dataset import GeneratorSource

    spark = start_session(Settings(driver_memory=HEAP), "bench generate")
    source = GeneratorSource(kind="generator", generator="packets", rows_per_hour=ROWS_PER_HOUR)

    def make(wanted: int) -> None:
        made = generate(spark, source, START, START + wanted // ROWS_PER_HOUR * UNITS["hour"])
        made.write.format("noop").mode("overwrite").save()

    make(part)
    seconds = bench.measure({"part": lambda: make(part), "all": lambda: make(rows)}, repetitions=1, warmup=0)
    bench.ratio("memory_all_over_part", bench.peak_mb["all"] / bench.peak_mb["part"])
    hours = rows // ROWS_PER_HOUR
    counted = generate(spark, source, START, START + hours * UNITS["hour"]).count()
    bench.record("rows", {"all": counted, "per_second": counted / seconds["all"]})
    bench.note(f"packets, {hours} hours, all columns made; a JVM of {HEAP}, in which driver and tasks live together")
    spark.stop()
