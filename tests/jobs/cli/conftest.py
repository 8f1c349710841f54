"""A small directory of specifications, and a warehouse with published windows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.small_specs import write_specs

HOUR = 3_600_000_000


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A directory with one dataset and one query."""
    return write_specs(tmp_path / "specs")


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
