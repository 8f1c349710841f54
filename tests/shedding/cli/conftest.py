"""A small directory of specifications, and a warehouse with published windows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from shedding.tables import Table, slot_name

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
HOUR = 3_600_000_000


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A directory with one dataset and one query."""
    directory = tmp_path / "specs"
    for kind, name, text in (("datasets", "trips", DATASET), ("queries", "fares", QUERY)):
        (directory / kind).mkdir(parents=True)
        (directory / kind / f"{name}.yaml").write_text(text)
    return directory


@pytest.fixture
def published_warehouse(tmp_path: Path) -> Path:
    """A warehouse whose `published/fares` holds three slots of two routes."""
    warehouse = tmp_path / "warehouse"
    table = Table(str(warehouse / "published" / "fares"), ("slot",))
    for slot in range(0, 3 * HOUR, HOUR):
        start = dt.datetime.fromtimestamp(slot / 1e6, dt.UTC)
        rows = pa.table({
            "slot": [slot_name(slot)] * 2,
            "window_start": pa.array([start] * 2, pa.timestamp("us", "UTC")),
            "window_end": pa.array([start + dt.timedelta(hours=1)] * 2, pa.timestamp("us", "UTC")),
            "route": ["b, 'x'", "a"],
            "mean_fare": [slot / HOUR + 0.5, float("nan")],
            "is_exact": [False, True],
        })  # fmt: skip
        table.replace(rows, {"slot": slot_name(slot)}, {})
    return warehouse
