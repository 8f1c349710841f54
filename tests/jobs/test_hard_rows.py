"""Rows of old dates, keys with nulls in several columns and zeros of either sign, from a file to published numbers."""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.ingest import ingest
from jobs.run_slot import run_slot
from shedding.config import Settings
from shedding.spec import Catalog, load_catalog
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant
from shedding.tables import Table
from tests.small_specs import small_world

pytestmark = pytest.mark.spark
DAYS = ["0999-12-31", "1582-10-04", "1582-10-10", "1582-10-15", "2024-05-01"]
KEYS = list(itertools.product([None, 1, 2], [None, 1, 2], [0.0, -0.0, None]))
DATASET = {
    "name": "facts",
    "source": {"kind": "parquet", "path": "*.parquet"},
    "schedule": {"every": "1 day"},
    "event_time": {"column": "at", "not_before": "0001-01-01"},
    "columns": [
        {"name": "at", "type": "timestamp"}, {"name": "a", "type": "bigint"}, {"name": "b", "type": "bigint"},
        {"name": "c", "type": "double"}, {"name": "n", "type": "bigint"}, {"name": "x", "type": "double"},
    ],
}  # fmt: skip
LAYOUTS = {"plain": {}, "ranked": {"layout": {"kind": "ranked", "keys": ["a", "b", "c"], "pane": "1 day"}}}


def query(name: str, measures: list[dict[str, Any]], policy: str) -> dict[str, Any]:
    return {
        "name": name, "dataset": "facts", "window": {"size": "1 day"}, "group_by": ["a", "b", "c"],
        "measures": measures, "schedule": {"every": "1 day"}, "audit": {"one_in": 1000}, "estimates": "plain",
        "shed": {"policy": policy, "budget": {"fraction": 1.0}},
    }  # fmt: skip


SUMS = query("sums", [{"name": "total", "agg": "sum", "column": "x"}, {"name": "n", "agg": "count"}], "uniform")
LARGEST = query("largest", [{"name": "last", "agg": "max", "column": "n"}], "exact")


@pytest.fixture(scope="module", params=LAYOUTS)
def world(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: Any) -> tuple[Settings, Catalog]:
    root: Path = tmp_path_factory.mktemp(request.param)
    settings = small_world(root, [DATASET | LAYOUTS[request.param]], [SUMS, LARGEST])
    settings.landing.mkdir()
    days = [dt.datetime.fromisoformat(day) for day in DAYS]
    rows = [(day + dt.timedelta(hours=i), *key, 2**53 + i, 0.1) for day in days for key in KEYS for i in range(20)]
    names = ["at", "a", "b", "c", "n", "x"]
    kinds = [pa.timestamp("us"), pa.int64(), pa.int64(), pa.float64(), pa.int64(), pa.float64()]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    pq.write_table(pa.table(columns, names=names), settings.landing / "rows.parquet")
    catalog = load_catalog(settings.specs)
    assert not catalog.problems
    assert ingest(spark, settings, catalog, "facts").kept == len(rows)
    return settings, catalog


def published(spark: Any, world: tuple[Settings, Catalog], name: str, day: str) -> list[dict[str, Any]]:
    settings, catalog = world
    slot = parse_instant(day)
    assert run_slot(lambda: spark, settings, catalog, name, slot, "run").published
    return Table(settings.table("published", name)).read([("slot", "=", slot_name(slot))]).to_pylist()


@pytest.mark.parametrize("day", DAYS)
def test_every_day_and_every_key_is_found_whole(spark: Any, world: tuple[Settings, Catalog], day: str) -> None:
    rows = published(spark, world, "sums", day)
    zero = {(row["a"], row["b"], row["c"]): (row["n"], row["total"]) for row in rows}
    wanted = {(a, b, c): (20, 2.0) if c is None else (40, 4.0) for a, b, c in KEYS}
    assert len(rows) == len(zero)
    assert zero == wanted
    assert all(str(row["c"]) in ("0.0", "None") and row["is_exact"] for row in rows)


def test_the_largest_whole_number_is_published_as_it_is(spark: Any, world: tuple[Settings, Catalog]) -> None:
    rows = published(spark, world, "largest", DAYS[2])
    assert {row["last"] for row in rows} == {2**53 + 19}
    assert {row["last_low"] for row in rows} == {row["last_high"] for row in rows} == {2**53 + 19}
