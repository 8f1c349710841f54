"""A small city: one generated dataset and the queries on it, for tests that run the real jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from shedding.config import Settings
from shedding.spec.durations import UNITS, parse_instant

HOUR = UNITS["hour"]
START = parse_instant("2024-03-04T00:00:00Z")
HOURS = 4
ROOT = Path(__file__).resolve().parents[2]

TRIPS: dict[str, Any] = {
    "name": "trips",
    "source": {"kind": "generator", "generator": "taxi", "rows_per_hour": 2500, "seed": 7, "parameters": {"keys": 12}},
    "schedule": {"every": "1 hour"},
    "event_time": {"column": "pickup_datetime"},
    "columns": [
        {"name": "pickup_datetime", "type": "timestamp", "required": True},
        {"name": "route", "required": True},
        {"name": "pickup_zone", "type": "int"},
        {"name": "fare_amount", "type": "double", "min": 0, "max": 10000},
    ],
}


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


QUERIES = (
    query("fares", {"mean_relative_error": 0.5, "missing_keys": None}),
    query("mended", {"worst_relative_error": 0.0165, "missing_keys": None, "on_failure": "repair"}),
    query("widened", {"worst_relative_error": 0.001, "missing_keys": None, "on_failure": "widen"}),
    query("truth", {}, shed={"policy": "exact", "budget": {"fraction": 1.0}}),
)


def build_city(directory: Path, master: str = "local[2]") -> Settings:
    """Write the city's specifications below `directory`; settings with a warehouse beside them."""
    for kind, specs in (("datasets", [TRIPS]), ("queries", QUERIES)):
        (directory / "specs" / kind).mkdir(parents=True, exist_ok=True)
        for spec in specs:
            (directory / "specs" / kind / f"{spec['name']}.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    return Settings(
        warehouse=str(directory / "warehouse"),
        specs=directory / "specs",
        landing=directory / "landing",
        docs=directory / "docs",
        master=master,
        driver_memory="1g",
        shuffle_partitions=2,
    )
