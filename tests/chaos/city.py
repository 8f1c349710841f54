"""A small city: one generated dataset and the queries on it, for tests that run the real jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from infra.airflow_home import SHORT_JOBS
from shedding.config import Settings
from shedding.spec.times import UNITS, format_instant, parse_instant
from tests.small_specs import generated_trips, small_world

HOUR = UNITS["hour"]
START = parse_instant("2024-03-04T00:00:00Z")
HOURS = 4
ROOT = Path(__file__).resolve().parents[2]


def query(name: str, gate: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A query on the trips: half-hour windows every quarter of an hour, hourly slots, one audit in four."""
    return {
        "name": name,
        "dataset": "trips",
        "window": {"size": "30 minutes", "slide": "15 minutes"},
        "group_by": ["route"],
        "measures": [
            {"name": "mean_fare", "agg": "avg", "column": "fare_amount", "magnitude": 20},
            {"name": "trips", "agg": "count"},
        ],
        "schedule": {"every": "1 hour"},
        "shed": {"policy": "uniform", "budget": {"fraction": 0.3}},
        "estimates": "plain",
        "audit": {"one_in": 4},
        "gate": gate,
        **changes,
    }


# Its budget takes all rows of the two quiet hours: those audits pass, and the busy hours fail on some keys only.
MENDED = query(
    "mended_keys",
    {"worst_relative_error": 0.065, "missing_keys": None, "on_failure": "repair"},
    shed={"policy": "uniform", "budget": {"rows": 750}},
)
QUERIES = (
    query("fares", {"mean_relative_error": 0.5, "missing_keys": None}),
    MENDED,
    query("widened", {"worst_relative_error": 0.001, "missing_keys": None, "on_failure": "widen"}),
    query("truth", {}, shed={"policy": "exact", "budget": {"fraction": 1.0}}),
)


def build_city(directory: Path, master: str = "local[2]") -> Settings:
    """Write the city's specifications below `directory`; settings with a warehouse beside them.

    About 600 rows in each of the first two hours, 2,500 in each of the others.
    """
    trips = generated_trips(rows_per_hour=625, every="1 hour")
    busy = {"at": format_instant(START + 2 * HOUR), "lasts": f"{HOURS} hours", "factor": 4}
    trips["source"]["parameters"]["bursts"] = [busy]
    return small_world(directory, [trips], QUERIES, master=master, java_options=SHORT_JOBS)
