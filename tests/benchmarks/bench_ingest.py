"""Ingest against a bare Spark read-parse-write of the same file, and what the ranked layout costs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import psutil

from shedding.config import Settings

ROWS = 20_000_000
SPEC = """
name: {name}
source: {{kind: csv, path: "*.csv"}}
schedule: {{every: 1 day}}
event_time: {{column: at}}
columns:
  - {{name: at, type: timestamp, required: true}}
  - {{name: route, required: true}}
  - {{name: zone, type: int, min: 0}}
  - {{name: fare, type: double, min: 0}}
layout: {layout}
"""
QUERY = """
name: route_fare
dataset: plain
window: {size: 30 minutes, slide: 10 minutes}
group_by: [route]
measures: [{name: fare, agg: avg, column: fare}]
schedule: {every: 1 hour}
shed: {budget: {fraction: 0.05}}
"""
LAYOUTS = {"plain": "{kind: plain}", "ranked": "{kind: ranked, keys: [route], pane: 10 minutes}"}


def write_specs(directory: Path) -> Path:
    """Datasets `plain` and `ranked` of the same file, and one query on the first, so that concepts are counted."""
    for kind in ("datasets", "queries", "functions"):
        (directory / kind).mkdir(parents=True)
    for name, layout in LAYOUTS.items():
        (directory / "datasets" / f"{name}.yaml").write_text(SPEC.format(name=name, layout=layout))
    (directory / "queries" / "route_fare.yaml").write_text(QUERY)
    return directory


def write_csv(spark: Any, directory: Path, rows: int, routes: int = 3000) -> Path:
    """One file of 24 hours in order of time, with routes of Zipf's popularity."""
    start = 1_704_067_200_000_000
    made = spark.range(0, rows, 1, 8).selectExpr(
        f"date_format(timestamp_micros({start} + id * {86_400_000_000 // rows}), 'yyyy-MM-dd HH:mm:ss.SSS') at",
        f"concat('r', cast(floor(pow({routes}D, (xxhash64(id) & 1048575) / 1048576.0)) AS int)) route",
        "cast(pmod(xxhash64(id, 1), 260) AS int) zone",
        "round(2.5 + (xxhash64(id, 2) & 65535) / 1000.0, 2) fare",
    )
    made.write.csv(str(directory / "made"))
    file = directory / "trips.csv"
    with file.open("wb") as whole:
        whole.write(b"at,route,zone,fare\n")
        for part in sorted((directory / "made").glob("part-*.csv")):
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, whole, 1 << 22)
            part.unlink()
    return file


def size_of(table: str) -> int:
    """Bytes of a table's data files."""
    return sum(file.stat().st_size for file in Path(table).rglob("*.parquet"))


def processor_seconds() -> float:
    """Processor time of this process and the JVM below it: what others on the machine do moves it little."""
    me = psutil.Process()
    times = [process.cpu_times() for process in [me, *me.children(recursive=True)]]
    return sum(time.user + time.system for time in times)


def run(bench: Any, rows: int = ROWS) -> None:
    """Ratios `plain_over_bare` and `ranked_over_bare`; plain includes quarantine checks, counts and the log."""
    from jobs.ingest import ingest
    from shedding.spark.session import start_session
    from shedding.spec import load_catalog

    spark = start_session(Settings(), "bench ingest")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        specs = write_specs(root / "specs")
        (root / "small").mkdir()
        (root / "large").mkdir()
        small, large = write_csv(spark, root / "small", 200_000), write_csv(spark, root / "large", rows)
        settings = Settings(warehouse=str(root / "warehouse"), specs=specs, landing=root)
        catalog = load_catalog(specs)

        def bare(file: Path) -> None:
            read = spark.read.csv(str(file), schema="at timestamp, route string, zone int, fare double", header=True)
            dated = read.withColumn("event_date", read["at"].cast("date").cast("string"))
            dated.write.format("delta").partitionBy("event_date").save(settings.table("bare"))

        def ours(name: str, file: Path) -> None:
            ingest(spark, settings, catalog, name, files=[file])

        def all_ways(file: Path) -> dict[str, Any]:
            return {"bare": lambda: bare(file), **{name: lambda n=name: ours(n, file) for name in LAYOUTS}}

        for way in all_ways(small).values():
            way()
        shutil.rmtree(root / "warehouse")
        processor: dict[str, float] = {}

        def metered(name: str, way: Any) -> None:
            before = processor_seconds()
            way()
            processor[name] = processor_seconds() - before

        work = {name: lambda n=name, w=way: metered(n, w) for name, way in all_ways(large).items()}
        seconds = bench.measure(work, repetitions=1, warmup=0)
        tables = {"bare": settings.table("bare")} | {name: settings.table("raw", name) for name in LAYOUTS}
        bench.record("bytes", {name: size_of(table) for name, table in tables.items()} | {"csv": large.stat().st_size})
        over = {f"{name}_over_bare": processor[name] / processor["bare"] for name in LAYOUTS}
        bench.record("processor_seconds", processor | over)
    for name in LAYOUTS:
        bench.ratio(f"{name}_over_bare", seconds[name] / seconds["bare"])
    bench.note(f"{rows:,} rows; one repetition after a warm-up on 200,000 rows; plain counts one key set")
    spark.stop()
