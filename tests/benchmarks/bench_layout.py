"""A 5 % read in both layouts: bytes and seconds of the first rows of every key against a full read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from shedding.config import Settings
from tests.benchmarks.bench_ingest import LAYOUTS, size_of, write_csv, write_specs

ROWS = 6_000_000
ROUTES = 600  # so few that a twentieth of the rows has a row of every route and pane
FRACTION = 0.05


def run(bench: Any, rows: int = ROWS) -> None:
    """Ratios `bytes_ranked_over_fraction` (bytes opened over 5 % of all bytes) and `full_over_ranked_seconds`."""
    from pyspark.sql import functions as fn

    from jobs.ingest import ingest
    from shedding.spark.session import start_session
    from shedding.spec import load_catalog

    spark = start_session(Settings(), "bench layout")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        specs = write_specs(root / "specs")
        file = write_csv(spark, root, rows, ROUTES)
        settings = Settings(warehouse=str(root / "warehouse"), specs=specs, landing=root)
        for name in LAYOUTS:
            ingest(spark, settings, load_catalog(specs), name, files=[file])
        plain, ranked = (spark.read.format("delta").load(settings.table("raw", name)) for name in LAYOUTS)
        # The rank up to which all keys together have the fraction of the rows.
        ranks = ranked.groupBy("_rank").count().orderBy("_rank").toPandas()
        limit = max(1, int((ranks["count"].cumsum() <= FRACTION * rows).sum()))
        first = ranked.where(fn.col("_rank") <= limit)

        def read(frame: Any) -> None:
            frame.select("event_time", "u", "route", "fare").write.format("noop").mode("overwrite").save()

        work = {"full": lambda: read(plain), "plain_5": lambda: read(plain.where(f"u < {FRACTION}")),
                "ranked_5": lambda: read(first)}  # fmt: skip
        seconds = bench.measure(work, repetitions=3)
        opened = opened_bytes(settings.table("raw", "ranked"), limit)
        whole = size_of(settings.table("raw", "ranked"))
        share = first.count() / rows
        bench.record("bytes", {"ranked_5": opened, "ranked": whole, "plain": size_of(settings.table("raw", "plain"))})
    bench.ratio("bytes_ranked_over_fraction", opened / (share * whole))
    bench.ratio("full_over_ranked_seconds", seconds["full"] / seconds["ranked_5"])
    bench.note(f"{rows:,} rows, {ROUTES} routes; the first {limit} of every key and pane are {share:.1%} of the rows")
    spark.stop()


def opened_bytes(table: str, limit: int) -> int:
    """Bytes of the files whose statistics let a filter on rank pass."""
    from deltalake import DeltaTable

    files = DeltaTable(table).get_add_actions(flatten=True)
    columns = [files.column(name).to_pylist() for name in ("size_bytes", "min._rank")]
    return sum(size for size, low in zip(*columns, strict=True) if low <= limit)
