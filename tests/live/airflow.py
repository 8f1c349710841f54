"""A whole Airflow on this machine for as long as a block runs: services, REST, Spark pool, two small datasets."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infra.airflow_api import FINISHED, AirflowApi
from infra.airflow_home import AirflowHome, free_port
from infra.services import Services, running
from shedding.config import Settings
from tests.small_specs import generated_trips, small_world

TRIPS = generated_trips(rows_per_hour=6000, every="15 minutes", keys=20)
SALES = """
name: sales
description: Files that somebody drops.
source: {kind: csv, path: "sales/*.csv"}
schedule: {every: 1 day}
event_time: {column: at}
allowed_lateness: 3650 days
columns:
  - {name: at, type: timestamp, required: true}
  - {name: shop, required: true}
  - {name: amount, type: double, min: 0}
"""
ROUTE_FARE = """
name: route_fare
dataset: trips
window: {size: 15 minutes}
group_by: [route]
measures:
  - {name: mean_fare, agg: avg, column: fare_amount, magnitude: 20}
  - {name: trips, agg: count}
schedule: {every: 15 minutes}
shed: {policy: posterior, budget: {fraction: 0.3}}
audit: {one_in: 4}
gate: {mean_relative_error: 0.5, missing_keys: 0, on_failure: repair}
"""
ROUTE_SUM = """
name: route_sum
dataset: trips
window: {size: 30 minutes, slide: 15 minutes}
group_by: [route]
measures:
  - {name: fares, agg: sum, column: fare_amount, magnitude: 20}
schedule: {every: 15 minutes}
shed: {policy: uniform, budget: {fraction: 0.5}}
estimates: plain
audit: {one_in: 4}
gate: {mean_relative_error: 0.0001, missing_keys: 0, on_failure: quarantine}
"""
SHOP_ASK = """
name: shop_ask
dataset: sales
window: {size: 1 hour}
group_by: [shop]
measures:
  - {name: mean_amount, agg: avg, column: amount, magnitude: 20}
schedule: {every: 1 hour}
shed: {policy: uniform, budget: {fraction: 0.5}}
estimates: plain
audit: {one_in: 1}
gate: {mean_relative_error: 0.000001, missing_keys: null, on_failure: ask, approval_timeout: 90 seconds}
"""
SHOP_TOTAL = """
name: shop_total
dataset: sales
window: {size: 1 hour}
group_by: [shop]
measures:
  - {name: total, agg: sum, column: amount, magnitude: 20}
schedule: {every: 1 hour}
shed: {policy: exact, budget: {fraction: 1.0}}
"""
DATASETS = {"trips": TRIPS, "sales": SALES}
QUERIES = {"route_fare": ROUTE_FARE, "route_sum": ROUTE_SUM, "shop_ask": SHOP_ASK, "shop_total": SHOP_TOTAL}


def live_world(directory: Path) -> Settings:
    """The specifications below `directory`, and settings of a warehouse beside them."""
    (directory / "landing" / "sales").mkdir(parents=True)
    return small_world(directory, DATASETS.values(), QUERIES.values())


@contextlib.contextmanager
def live_airflow(settings: Settings, directory: Path) -> Iterator[AirflowApi]:
    """Airflow with these settings; stopped whatever ends the block."""
    home = AirflowHome(directory / "home", free_port(), settings)
    services = Services(home)
    services.migrate()
    with running(services):
        api = AirflowApi(home, services.check)
        api.wait_until_up(patience=600.0)
        api.ensure_pool("spark", os.cpu_count() or 2)
        for name in DATASETS:
            api.wait_for_dag(f"ingest_{name}", patience=600.0)
        for name in QUERIES:
            api.wait_for_dag(f"query_{name}", patience=600.0)
        yield api


def wait_for(api: AirflowApi, what: str, found: Callable[[], Any], patience: float = 600.0) -> Any:
    """The first true value that `found` gives."""
    give_up = time.monotonic() + patience
    while time.monotonic() < give_up:
        api.alive()
        value = found()
        if value:
            return value
        time.sleep(1.0)
    raise TimeoutError(f"{what} did not happen within {patience:.0f} s; see {api.home.logs}")


def run_dag(api: AirflowApi, dag_id: str, conf: dict[str, str]) -> str:
    """Start a run by hand and wait for its end; how it ended."""
    api.unpause(dag_id)
    run_id = api.trigger(dag_id, conf)
    return str(wait_for(api, f"{dag_id} {run_id}", lambda: _ended(api, dag_id, run_id)))


def tasks_of(api: AirflowApi, dag_id: str, run_id: str = "~") -> list[dict[str, Any]]:
    """The task instances of a run, or of all runs."""
    answer = api.call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances?limit=1000")
    found: list[dict[str, Any]] = answer["task_instances"]
    return found


def _ended(api: AirflowApi, dag_id: str, run_id: str) -> str:
    state = api.run_state(dag_id, run_id)
    return state if state in FINISHED else ""
