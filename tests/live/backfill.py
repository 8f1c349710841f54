"""`python -m tests.live.backfill --slots 24`: backfills through REST, in every order and way, beside what else goes on.

In a live Airflow, while the scheduled runs of a dataset and of two queries on it go on:

1. a backfill of one query newest first, and of the other oldest first, whose gate refuses every slot;
2. `reprocess` none over what is there: nothing may happen;
3. the second query's owner mends its specification, `reprocess` failed: its slots are published;
4. `reprocess` completed: the same rows again, one revision later.

Then the same slots one after another with the functions of `sluice run`, in another warehouse. Prints wall time,
retries and conflicts, and whether the published rows are equal.
"""

from __future__ import annotations

import argparse
import datetime as dt
import logging
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.airflow_api import AirflowApi
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.times import UNITS, as_datetime, format_instant, parse_instant
from shedding.tables import Table
from tests.live.airflow import ROUTE_SUM, live_airflow, live_world, run_dag, tasks_of, wait_for
from tests.small_specs import write_specs

SLOT = 15 * UNITS["minute"]
VOLATILE = ["run_id", "revision", "published_at"]
MENDED = ROUTE_SUM.replace("on_failure: quarantine", "on_failure: repair")
PATIENCE = 7200.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=24, help="slots of the first query; the second has an eighth")
    slots = parser.parse_args().slots
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="sluice-live-") as directory:
        live = live_world(Path(directory) / "live")
        end = parse_instant(dt.datetime.now(dt.UTC)) // SLOT * SLOT
        wanted = {
            query: range(end - count * SLOT, end, SLOT)
            for query, count in {"route_fare": slots, "route_sum": max(1, slots // 8)}.items()
        }
        with live_airflow(live, Path(directory) / "live") as api:
            told = list(Backfills(api, live, wanted).stories())
            report(api)
        apart = in_sequence(Path(directory) / "sequence", wanted)
        told += [equal(live, apart, query, found) for query, found in wanted.items()]
    for story, fine in told:
        print(f"{'passed' if fine else 'FAILED'}: {story}")
    return 0 if all(fine for _, fine in told) else 1


@dataclass
class Backfills:
    """The backfills of two queries, `wanted` slots of each."""

    api: AirflowApi
    live: Settings
    wanted: dict[str, range]

    def stories(self) -> Iterator[tuple[str, bool]]:
        """One after another; a sentence each and whether it is true."""
        fare, total = self.wanted["route_fare"], self.wanted["route_sum"]
        interval = {"from": format_instant(fare.start - 2 * SLOT), "to": format_instant(fare.stop)}
        assert run_dag(self.api, "ingest_trips", interval) == "success"  # unpaused now: its scheduled runs go on
        started = time.monotonic()
        first = self.ask("route_fare", fare, "none", newest_first=True)
        second = self.ask("route_sum", total, "none", newest_first=False)
        states = self.ended("route_fare", first, fare)
        print(f"wall time of {len(fare)} slots, newest first: {time.monotonic() - started:.0f} s", flush=True)
        yield f"newest first: {states}", states == {"success": len(fare)}
        yield self.order("route_fare", newest_first=True)
        states = self.ended("route_sum", second, total)
        yield f"oldest first, every slot refused: {states}", states == {"failed": len(total)}
        yield self.order("route_sum", newest_first=False)
        gates = [t for t in tasks_of(self.api, "query_route_sum") if t["task_id"] == "gate" and t["state"] == "success"]
        yield (
            "no verdict was retried, and nothing is published",
            (
                all(task["try_number"] == 1 for task in gates)
                and not Table(self.live.table("published", "route_sum")).exists()
            ),
        )
        yield from self.again(fare, total)

    def again(self, fare: range, total: range) -> Iterator[tuple[str, bool]]:
        """The three ways to run slots again."""
        few = fare[-2:]
        before = published(self.live, "route_fare", few)
        self.ended("route_fare", self.ask("route_fare", few, "none"), few)
        yield "reprocess none changes nothing", published(self.live, "route_fare", few) == before

        write_specs(self.live.specs, (), [MENDED])
        tasks = "/api/v2/dags/query_route_sum/tasks"
        wait_for(self.api, "the mended DAG", lambda: "repair" in str(self.api.call("GET", tasks)))
        states = self.ended("route_sum", self.ask("route_sum", total, "failed"), total)
        yield f"reprocess failed runs the refused slots again: {states}", states == {"success": len(total)}

        self.ended("route_fare", self.ask("route_fare", few, "completed"), few)
        after = published(self.live, "route_fare", few)
        yield (
            "reprocess completed publishes again, one revision later",
            (
                [row["revision"] for row in after] == [row["revision"] + 1 for row in before]
                and stable(after) == stable(before)
            ),
        )

    def ask(self, query: str, slots: range, reprocess: str, newest_first: bool = True) -> int:
        """Start a backfill as soon as Airflow takes it; its id."""
        dag_id = f"query_{query}"
        self.api.unpause(dag_id)
        span = as_datetime(slots[0]), as_datetime(slots[-1])
        made = wait_for(
            self.api, f"the backfill of {dag_id}",
            lambda: self.api.backfill(dag_id, *span, at_once=2, newest_first=newest_first, reprocess=reprocess),
        )  # fmt: skip
        return int(made)

    def ended(self, query: str, backfill: int, slots: range) -> dict[str, int]:
        """Wait for the backfill's end; how its slots' runs ended."""
        dag_id, shown = f"query_{query}", ""
        span = as_datetime(slots[0]), as_datetime(slots[-1])

        def over() -> bool:
            nonlocal shown
            text = f"{dag_id}: {dict(sorted(self.api.run_states(dag_id, *span).items()))}"
            if text != shown:
                print(f"{dt.datetime.now(dt.UTC):%H:%M:%S} {text}", flush=True)
                shown = text
            return bool(self.api.call("GET", f"/api/v2/backfills/{backfill}")["completed_at"])

        wait_for(self.api, f"the end of backfill {backfill}", over, PATIENCE)
        return dict(self.api.run_states(dag_id, *span))

    def order(self, query: str, newest_first: bool) -> tuple[str, bool]:
        """Whether the first of the backfill's runs to start was the newest or the oldest slot."""
        runs = self.api.call("GET", f"/api/v2/dags/query_{query}/dagRuns?run_type=backfill&limit=200")["dag_runs"]
        starts = {parse_instant(run["logical_date"]): str(run["start_date"]) for run in runs}
        early = sorted(starts, key=lambda slot: starts[slot])[:2]  # two run at once
        end = max(starts) if newest_first else min(starts)
        return f"{query} began with its {'newest' if newest_first else 'oldest'} slot", end in early


def report(api: AirflowApi) -> None:
    """Runs by kind, retries, and the lines of task logs that tell of a conflict."""
    for dag_id in ("query_route_fare", "query_route_sum", "ingest_trips"):
        runs = api.call("GET", f"/api/v2/dags/{dag_id}/dagRuns?limit=200")["dag_runs"]
        kinds: dict[str, int] = {}
        for run in runs:
            kinds[f"{run['run_type']} {run['state']}"] = kinds.get(f"{run['run_type']} {run['state']}", 0) + 1
        tasks = tasks_of(api, dag_id)
        failed = sum(task["state"] == "failed" for task in tasks)
        retried = sum(max(0, task["try_number"] - 1) for task in tasks)
        print(f"{dag_id}: {kinds}, {retried} further tries of tasks (reprocessing included), {failed} failed tasks")
    logs = "\n".join(file.read_text(errors="replace") for file in api.home.logs.rglob("attempt=*.log"))
    print(
        f"conflicts: {logs.count('collided with another')} commits tried again, {logs.count('ConflictError')} gave up"
    )


def in_sequence(directory: Path, wanted: dict[str, range]) -> Settings:
    """The same slots one after another, oldest first, in a session of their own; the settings of their warehouse."""
    from jobs.ingest import ingest
    from jobs.run_slot import run_slot
    from shedding.spark.session import spark_session

    settings = live_world(directory)
    write_specs(settings.specs, (), [MENDED])
    catalog = load_catalog(settings.specs)
    started, longest = time.monotonic(), wanted["route_fare"]
    with spark_session(settings, "in sequence") as spark:
        ingest(spark, settings, catalog, "trips", interval=(longest.start - 2 * SLOT, longest.stop))
        for query, slots in wanted.items():
            for slot in slots:
                run_slot(lambda: spark, settings, catalog, query, slot, "sequence")
    print(f"in sequence, one JVM for all: {time.monotonic() - started:.0f} s")
    return settings


def equal(live: Settings, apart: Settings, query: str, slots: range) -> tuple[str, bool]:
    """Whether the rows published live are those of the sequential run."""
    ours, theirs = (stable(published(settings, query, slots)) for settings in (live, apart))
    found = {row["slot"] for row in ours}
    return f"published/{query}: {len(ours)} rows in {len(found)} slots equal the sequential run's", (
        len(found) == len(slots) and ours == theirs
    )


def published(settings: Settings, query: str, slots: range) -> list[dict[str, Any]]:
    """What a consumer reads of these slots, in one order."""
    rows = Table(settings.table("published", query)).read()
    rows = rows.sort_by([("window_start", "ascending"), ("route", "ascending")]).to_pylist()
    return [row for row in rows if parse_instant(row["slot"]) in slots]


def stable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns that a re-run must not change."""
    return [{name: value for name, value in row.items() if name not in VOLATILE} for row in rows]


if __name__ == "__main__":
    raise SystemExit(main())
