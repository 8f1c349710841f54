"""One run of one slot by the scheduler, from queued to published, and how many JVMs it starts."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from infra.airflow_api import FINISHED, AirflowApi
from infra.airflow_home import AirflowHome, free_port
from infra.services import Services, running
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.times import format_instant, parse_instant
from tests.benchmarks.harness import Bench

QUERY = "taxi_route_fare"
RUNS = 2
DRIVER, LAUNCHER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"
DAY = parse_instant("2026-11-02")


class JvmCount:
    """Counts the Spark drivers that descendants of this process start while it is entered."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._before: set[int] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> JvmCount:
        self._before = set(self._drivers())  # the Spark that slots share is up already
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def number(self) -> int:
        """How many there were."""
        return len(self._seen)

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            self._seen |= set(self._drivers()) - self._before

    @staticmethod
    def _drivers() -> Iterator[int]:
        for process in psutil.Process().children(recursive=True):
            try:
                # The launcher, a JVM of a third of a second that prints the command line, is none of them.
                words = process.cmdline()
                if DRIVER in words and LAUNCHER not in words and process.name() == "java":
                    yield process.pid
            except psutil.NoSuchProcess:
                continue


def run(bench: Bench) -> None:
    """Publish two slots one after another where Airflow is up; the first also computes the prior that both need."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        settings = Settings(warehouse=str(root / "warehouse"), landing=root / "landing", docs=root / "docs")
        query = load_catalog(settings.specs).query(QUERY)
        home = AirflowHome(root / "airflow", free_port(), settings)
        slots = [DAY + (1 + number) * query.timeline.slot for number in range(RUNS)]
        _ingest(bench, settings, query.dataset, DAY, slots[-1] + query.timeline.slot)
        services = Services(home)
        bench.progress("starting Airflow")
        services.migrate()
        with running(services):
            api = AirflowApi(home, services.check)
            api.wait_until_up()
            api.ensure_pool("spark", os.cpu_count() or 2)
            api.wait_for_dag(f"query_{QUERY}")
            # Unpausing starts the run of the slot that has just ended; it waits for rows that never come.
            api.unpause(f"query_{QUERY}")
            for slot in slots:
                label = format_instant(slot)
                with JvmCount() as jvms:
                    bench.measure({label: lambda slot=slot: _publish(api, slot)}, repetitions=1, warmup=0)
                bench.record(label, {"jvms": jvms.number, **_tasks(api)})
    bench.seconds["queued_to_published"] = min(bench.seconds.values())
    bench.note("queued_to_published is the faster slot: the first also computes its prior, and may need a repair")


def _ingest(bench: Bench, settings: Settings, dataset: str, start: int, end: int) -> None:
    bench.progress("ingesting")
    interval = ["--from", format_instant(start), "--to", format_instant(end)]
    environment = {**os.environ, **settings.environment()}
    command = [sys.executable, "-m", "jobs.cli", "ingest", dataset, *interval]
    subprocess.run(command, env=environment, check=True, stdout=sys.stderr)


def _publish(api: AirflowApi, slot: int) -> None:
    """Queue a run of the slot and return when it has ended; it must have been published."""
    dag_id = f"query_{QUERY}"
    run_id = api.trigger(dag_id, {"slot": format_instant(slot)})
    while (state := api.run_state(dag_id, run_id)) not in FINISHED:
        api.alive()
        time.sleep(0.2)
    if state != "success":
        raise RuntimeError(f"the run of slot {format_instant(slot)} ended as {state}")


def _tasks(api: AirflowApi) -> dict[str, Any]:
    """Seconds of each task of the newest successful run, and how often it was tried where that is more than once."""
    dag_id = f"query_{QUERY}"
    runs = api.call("GET", f"/api/v2/dags/{dag_id}/dagRuns?state=success&order_by=-id&limit=1")["dag_runs"]
    tasks = api.call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{runs[0]['dag_run_id']}/taskInstances")["task_instances"]
    found: dict[str, Any] = {}
    for task in tasks:
        if task["state"] == "success":
            seconds = (_moment(task["end_date"]) - _moment(task["start_date"])).total_seconds()
            found[task["task_id"]] = seconds
            if task["try_number"] > 1:
                found[f"{task['task_id']}_tries"] = task["try_number"]
    return found


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)
