"""Small datasets and queries, for tests of what is made from specifications and of the jobs that run them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from shedding.config import Settings

DATASET = """
name: trips
source: {kind: csv, path: "trips/*.csv"}
schedule: {every: 1 hour}
event_time: {column: pickup}
columns:
  - {name: pickup, type: timestamp}
  - {name: route}
  - {name: fare, type: double}
"""
QUERY = """
name: fares
dataset: trips
window: {size: 1 hour}
group_by: [route]
measures:
  - {name: mean_fare, agg: avg, column: fare}
schedule: {every: 1 hour}
shed: {policy: uniform, budget: {fraction: 0.1}}
"""


def generated_trips(rows_per_hour: int, every: str, keys: int = 12) -> dict[str, Any]:
    """A dataset `trips` that a generator makes."""
    source = {"kind": "generator", "generator": "taxi", "rows_per_hour": rows_per_hour, "seed": 7}
    return {
        "name": "trips",
        "source": {**source, "parameters": {"keys": keys}},
        "schedule": {"every": every},
        "event_time": {"column": "pickup_datetime"},
        "columns": [
            {"name": "pickup_datetime", "type": "timestamp", "required": True},
            {"name": "route", "required": True},
            {"name": "pickup_zone", "type": "int"},
            {"name": "fare_amount", "type": "double", "min": 0, "max": 10000},
        ],
    }


def write_specs(
    directory: Path,
    datasets: Iterable[str | Mapping[str, Any]] = (DATASET,),
    queries: Iterable[Any] = (QUERY,),
    pools: Iterable[Any] = (),
) -> Path:
    """Write specifications, texts or their contents, below `directory`, each under its own name; the directory."""
    for kind, specs in (("datasets", datasets), ("queries", queries), ("pools", pools)):
        (directory / kind).mkdir(parents=True, exist_ok=True)
        for spec in specs:
            content = yaml.safe_load(spec) if isinstance(spec, str) else dict(spec)
            text = spec if isinstance(spec, str) else yaml.safe_dump(content)
            (directory / kind / f"{content['name']}.yaml").write_text(text, encoding="utf-8")
    return directory


def small_world(
    directory: Path, datasets: Iterable[Any], queries: Iterable[Any], pools: Iterable[Any] = (), **changes: Any
) -> Settings:
    """Specifications below `directory`, and settings of a warehouse for small jobs beside them."""
    return Settings(
        warehouse=str(directory / "warehouse"), specs=write_specs(directory / "specs", datasets, queries, pools),
        landing=directory / "landing", docs=directory / "docs", driver_memory="1g", shuffle_partitions=2, **changes,
    )  # fmt: skip
