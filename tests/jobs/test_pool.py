"""A pool on Spark: one pass for all members, the bits that each has alone, and a failure that is one member's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from infra.airflow_home import SHORT_JOBS
from shedding.answers.slot_answer import SlotAnswer
from shedding.config import Settings
from shedding.errors import DataError
from shedding.spec import load_catalog
from shedding.spec.times import parse_instant
from shedding.tables import Table
from tests.jobs.slots_in_order import SHARED, VOLATILE
from tests.small_specs import generated_trips, small_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
START = parse_instant("2024-03-04T00:00:00Z")
SLOT = 3_600_000_000
SLOTS = [START + number * SLOT for number in range(4)]
"""The first two are audited, the fourth is not."""
TOWN: dict[str, Any] = {
    "name": "town", "dataset": "trips", "schedule": {"every": "1 hour"},
    "shed": {"policy": "posterior", "budget": {"fraction": 0.2}}, "audit": {"one_in": 50},
}  # fmt: skip
FARES = {"name": "mean_fare", "agg": "avg", "column": "fare_amount"}
MEMBERS: list[dict[str, Any]] = [
    {"name": "by_route", "group_by": ["route"], "window": {"size": "30 minutes", "slide": "15 minutes"},
     "measures": [FARES, {"name": "trips", "agg": "count"}]},
    {"name": "by_zone", "group_by": ["pickup_zone"], "window": {"size": "1 hour"}, "where": "fare_amount > 8",
     "measures": [FARES, {"name": "middle", "agg": "quantile", "q": 0.5, "column": "fare_amount"}]},
    {"name": "in_all", "group_by": [], "window": {"size": "20 minutes"}, "measures": [FARES]},
]  # fmt: skip


def build(directory: Path) -> Settings:
    gate = {"missing_keys": None, "allow_empty": True}
    queries = [{**one, "dataset": "trips", "shed": {"pool": "town"}, "gate": gate} for one in MEMBERS]
    trips = generated_trips(rows_per_hour=900, every="6 hours")
    return small_world(directory, [trips], queries, [TOWN], master="local[2]", java_options=SHORT_JOBS)


def beside(directory: Path, ingested: Settings) -> Settings:
    """Another warehouse on the same raw rows."""
    settings = build(directory)
    Path(settings.warehouse).mkdir()
    for shared in SHARED:
        (Path(settings.warehouse) / shared).symlink_to(Path(ingested.warehouse) / shared)
    return settings


def published(settings: Settings, query: str) -> list[str]:
    rows = Table(settings.table("published", query)).read().to_pylist()
    return sorted(repr({name: row[name] for name in sorted(row) if name not in VOLATILE}) for row in rows)


@pytest.fixture(scope="module")
def town(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A pool whose slots were run together, in order."""
    from jobs.ingest import ingest
    from jobs.run_slot import run_pool_slot

    settings = build(tmp_path_factory.mktemp("town"))
    catalog = load_catalog(settings.specs)
    assert catalog.problems == ()
    ingest(spark, settings, catalog, "trips", interval=(START, START + 6 * SLOT))
    for slot in SLOTS:
        outcomes = run_pool_slot(lambda: spark, settings, catalog, "town", slot, "pooled")
        assert all(outcome.published for outcome in outcomes.values()), outcomes
    return settings


def test_members_publish_the_bits_that_each_has_alone(spark: SparkSession, town: Settings, tmp_path: Path) -> None:
    from jobs.run_slot import run_slot

    settings = beside(tmp_path, town)
    catalog = load_catalog(settings.specs)
    for name in ("in_all", "by_zone", "by_route"):
        assert run_slot(lambda: spark, settings, catalog, name, SLOTS[3], "alone").published
        mine = [row for row in published(town, name) if row in set(published(settings, name))]
        assert mine == published(settings, name)
        assert mine


def test_a_shed_slot_counts_the_rows_of_its_one_pass(town: Settings) -> None:
    found = {}
    for one in MEMBERS:
        runs = Table(town.table("runs", one["name"])).read().to_pandas()
        last = runs[runs.slot == runs.slot.max()].iloc[0]
        assert not last.audited
        found[one["name"]] = last
    assert len({one.union_rows for one in found.values()}) == 1
    route = found["by_route"]
    assert max(one.processed_rows for one in found.values()) <= route.union_rows
    assert route.union_rows <= sum(one.processed_rows for one in found.values())
    assert route.budget_rows == pytest.approx(0.2 * route.slot_rows)
    assert route.union_rows == pytest.approx(route.budget_rows, rel=0.25)  # 180 rows, and keys that are checked whole


def test_a_member_that_breaks_is_told_of_and_the_others_are_published(
    spark: SparkSession, town: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobs.run_slot import run_pool_slot

    settings = beside(tmp_path, town)
    catalog = load_catalog(settings.specs)
    write: Callable[..., tuple[int, int]] = SlotAnswer.write

    def breaks(answer: SlotAnswer, *arguments: Any) -> tuple[int, int]:
        if answer.query.name == "by_zone":
            raise DataError("the disk of by_zone is gone")
        return write(answer, *arguments)

    monkeypatch.setattr(SlotAnswer, "write", breaks)
    outcomes = run_pool_slot(lambda: spark, settings, catalog, "town", SLOTS[3], "broken")
    assert {name: outcome.published for name, outcome in outcomes.items()} == {
        "by_route": True, "by_zone": False, "in_all": True,
    }  # fmt: skip
    assert "the disk of by_zone is gone" in str(outcomes["by_zone"])
    for name in ("by_route", "in_all"):
        assert set(published(settings, name)) <= set(published(town, name))
    monkeypatch.setattr(SlotAnswer, "write", lambda *_: (_ for _ in ()).throw(DataError("no disk at all")))
    with pytest.raises(DataError, match="no disk at all"):
        run_pool_slot(lambda: spark, settings, catalog, "town", SLOTS[3], "all broken")
