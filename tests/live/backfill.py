"""`python -m tests.live.backfill --slots 24`: a backfill through REST, newest first, beside what else goes on.

In a live Airflow: a backfill of one query newest first, of a second query on the same dataset oldest first, and the
scheduled runs of the dataset and of both queries. Then the same slots one after another with the functions of
`sluice run`, in another warehouse. Prints wall time, retries and conflicts, and whether the published rows are equal.
"""

from __future__ import annotations

import argparse
import datetime as dt
import logging
import tempfile
import time
from pathlib import Path
from typing import Any

from infra.airflow_api import FINISHED, AirflowApi
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.durations import as_datetime, format_instant, parse_instant
from shedding.tables import Table
from tests.live.airflow import live_airflow, live_world, run_dag, tasks_of, wait_for

SLOT = 300_000_000
VOLATILE = ["run_id", "revision", "published_at"]
BACKFILLS = {"route_fare": True, "route_sum": False}
"""Query: whether its backfill runs newest first."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--slots", type=int, default=24, help="slots of the first query; the second has a sixth of them"
    )
    slots = parser.parse_args().slots
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="sluice-live-") as directory:
        live = live_world(Path(directory) / "live")
        end = parse_instant(dt.datetime.now(dt.UTC)) // SLOT * SLOT
        begin = end - slots * SLOT
        counts = {"route_fare": slots, "route_sum": max(1, slots // 6)}
        with live_airflow(live, Path(directory) / "live") as api:
            seconds = backfill(api, begin, end, counts)
            report(api, seconds)
        wanted = {query: range(end - count * SLOT, end, SLOT) for query, count in counts.items()}
        apart = in_sequence(Path(directory) / "sequence", begin, end, wanted)
        return 1 if differences(live, apart, wanted) else 0


def backfill(api: AirflowApi, begin: int, end: int, counts: dict[str, int]) -> float:
    """Ingest, start the scheduled runs and both backfills, wait for these; seconds from the first request."""
    before = {"from": format_instant(begin - SLOT), "to": format_instant(end)}
    assert run_dag(api, "ingest_trips", before) == "success"  # unpaused now: its scheduled runs go on
    started = time.monotonic()
    spans = {query: (as_datetime(end - count * SLOT), as_datetime(end - SLOT)) for query, count in counts.items()}
    for query, (first, last) in spans.items():
        dag_id = f"query_{query}"
        api.unpause(dag_id)
        wait_for(api, f"the backfill of {dag_id}", lambda d=dag_id, q=query, f=first, t=last: _ask(api, d, q, f, t))
    shown = ""
    while True:
        states = {query: api.run_states(f"query_{query}", *span) for query, span in spans.items()}
        text = "; ".join(f"{query}: {dict(sorted(found.items()))}" for query, found in states.items())
        if text != shown:
            print(f"{time.monotonic() - started:4.0f} s  {text}", flush=True)
            shown = text
        if all(sum(found[s] for s in FINISHED) >= counts[query] for query, found in states.items()):
            return time.monotonic() - started
        api.alive()
        time.sleep(2.0)


def report(api: AirflowApi, seconds: float) -> None:
    """Wall time, runs by kind, retries, and the lines of task logs that tell of a conflict."""
    print(f"wall time {seconds:.0f} s")
    for dag_id in ("query_route_fare", "query_route_sum", "ingest_trips"):
        runs = api.call("GET", f"/api/v2/dags/{dag_id}/dagRuns?limit=200")["dag_runs"]
        kinds: dict[str, int] = {}
        for run in runs:
            kinds[f"{run['run_type']} {run['state']}"] = kinds.get(f"{run['run_type']} {run['state']}", 0) + 1
        tasks = tasks_of(api, dag_id)
        retried = sum(max(0, task["try_number"] - 1) for task in tasks)
        print(f"{dag_id}: {kinds}, {retried} retries, {sum(t['state'] == 'failed' for t in tasks)} failed tasks")
    logs = "\n".join(file.read_text(errors="replace") for file in api.home.logs.rglob("attempt=*.log"))
    print(f"conflicts that outlived their retries: {logs.count('ConflictError')}")


def in_sequence(directory: Path, begin: int, end: int, wanted: dict[str, range]) -> Settings:
    """The same slots one after another, oldest first, in a session of their own; the settings of their warehouse."""
    from jobs.ingest import ingest
    from jobs.slot_run import run_slot
    from shedding.spark.session import spark_session

    settings = live_world(directory)
    catalog = load_catalog(settings.specs)
    started = time.monotonic()
    with spark_session(settings, "in sequence") as spark:
        ingest(spark, settings, catalog, "trips", interval=(begin - SLOT, end))
        for query, slots in wanted.items():
            for slot in slots:
                run_slot(lambda: spark, settings, catalog, query, slot, "sequence")
    print(f"in sequence, one JVM for all: {time.monotonic() - started:.0f} s")
    return settings


def differences(live: Settings, apart: Settings, wanted: dict[str, range]) -> int:
    """How many queries' published rows differ between the two warehouses; a line a query."""
    wrong = 0
    for query, slots in wanted.items():
        ours, theirs = (_published(settings, query, slots) for settings in (live, apart))
        equal = bool(ours) and ours == theirs
        wrong += not equal
        print(f"published/{query}: {len(ours)} rows in {len(slots)} slots, {'equal' if equal else 'NOT EQUAL'}")
    return wrong


def _published(settings: Settings, query: str, slots: range) -> list[dict[str, Any]]:
    rows = Table(settings.table("published", query)).read().drop_columns(VOLATILE)
    rows = rows.sort_by([("window_start", "ascending"), ("route", "ascending")]).to_pylist()
    return [row for row in rows if parse_instant(row["slot"]) in slots]


def _ask(api: AirflowApi, dag_id: str, query: str, first: dt.datetime, last: dt.datetime) -> bool:
    return api.backfill(dag_id, first, last, at_once=2, newest_first=BACKFILLS[query]) is not None


if __name__ == "__main__":
    raise SystemExit(main())
