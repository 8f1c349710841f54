"""`sluice compare` on the four real slices: the floors of the default policy, and the table of the README."""

from __future__ import annotations

import tempfile
from typing import Any

from jobs.ingest import ingest
from shedding.compare.comparison import compare_between
from shedding.compare.experiment import Leg
from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.spec import load_catalog
from tests.benchmarks.harness import Bench

BUDGETS = (0.02, 0.05, 0.10)
SHOWN = {
    "uniform": "plain", "proportional": "plain", "cod": "plain", "optimal": "plain", "oracle": "plain",
    "posterior": "shrunk",
}  # fmt: skip
"""Policy -> the estimates that its column shows: baselines with plain means, the default with shrunk ones."""
SLICES = {
    "green_zone_fare": ("green_tripdata_*.parquet", "mean_fare"),
    "taxi_cell_duration": ("nyc_taxi_trips_*.parquet", "mean_duration"),
    "google_user_class_cpu": ("google2011_task_events_*.csv.gz", "mean_cpu"),
    "flights_route_delay": ("us_flights_*.parquet", "mean_delay"),
}
"""Query -> the files of its dataset, and the measure that the table is about."""


def run(bench: Bench) -> None:
    """Mean error, p95, coverage, half-width and fractions of every policy and budget, all slots of each slice."""
    if bench.data is None:
        bench.note("needs the real slices: DATA=<directory>")
        return
    from shedding.spark.session import start_session

    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(warehouse=f"{directory}/warehouse", landing=bench.data)
        spark = start_session(settings, "bench compare")
        lines = ["| query | budget | " + " | ".join(SHOWN) + " | coverage | rows read, audits in |"]
        lines.append("|---" * (4 + len(SHOWN)) + "|")
        for query, (pattern, measure) in SLICES.items():
            found = _compared(spark, settings, bench, query, pattern)
            for budget in BUDGETS:
                kept = {p: found[p, budget, kind, measure] for p, kind in SHOWN.items()}
                for policy, line in kept.items():
                    bench.record(f"{query} / {budget:.0%} / {policy}", line)
                lines.append(_row(query, budget, kept))
                if budget == BUDGETS[1]:
                    for other in (policy for policy in SHOWN if policy != "posterior"):
                        ratio = kept["posterior"]["mean_error"] / kept[other]["mean_error"]
                        bench.ratio(f"{query}: posterior over {other}", ratio)
        bench.progress("\n" + "\n".join(lines))
        spark.stop()


def _compared(spark: Any, settings: Settings, bench: Bench, name: str, pattern: str) -> dict[tuple[Any, ...], Any]:
    catalog = load_catalog(settings.specs)
    query = catalog.query(name)
    assert bench.data is not None
    ingest(spark, settings, catalog, query.dataset, files=sorted(bench.data.glob(pattern)))
    bench.progress(f"{query.dataset} ingested")
    from shedding.scan.spark_scans import SlotScan

    arrivals = Arrivals.load(settings, query.dataset)
    first, last = arrivals.first_event, arrivals.last_event
    assert first is not None
    assert last is not None
    span = query.timeline.slot_of(first), query.timeline.slot_of(last) + query.timeline.slot
    legs = [Leg(policy, budget) for policy in SHOWN for budget in BUDGETS]
    scans = SlotScan(spark, settings, query)
    lines = compare_between(settings, catalog, query, scans, span, legs, ("plain", "shrunk"), bench.progress)
    return {(line["policy"], line["budget"], line["estimates"], line["measure"]): line for line in lines}


def _row(query: str, budget: float, kept: dict[str, Any]) -> str:
    errors = " | ".join(f"{kept[policy]['mean_error']:.3g}" for policy in SHOWN)
    mine = kept["posterior"]
    return f"| `{query}` | {budget:.0%} | {errors} | {mine['coverage']:.1%} | {mine['total_fraction']:.0%} |"
