"""Ten slots of a small city, run in an order of one's choice; as a program, in a process that can be killed.

python -m tests.jobs.slots_in_order DIRECTORY CONNECT_URL SLOT...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.airflow_home import SHORT_JOBS
from shedding.config import Settings
from shedding.spec import load_catalog
from shedding.spec.times import parse_instant
from shedding.tables import Table
from tests.small_specs import generated_trips, small_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = parse_instant("2024-03-04T00:00:00Z")
SLOT = 30 * 60_000_000
SLOTS = [START + i * SLOT for i in range(10)]
END = SLOTS[-1] + SLOT
QUERY = "fares"
VOLATILE = frozenset({"run_id", "revision", "published_at"})
SHARED = ("raw", "concepts", "ingests")
"""What ingest leaves: the same for every order."""

_FARES: dict[str, Any] = {
    "name": QUERY,
    "dataset": "trips",
    "window": {"size": "45 minutes", "slide": "15 minutes"},
    "group_by": ["route"],
    "measures": [{"name": "mean_fare", "agg": "avg", "column": "fare_amount"}, {"name": "trips", "agg": "count"}],
    "schedule": {"every": "30 minutes"},
    "shed": {"policy": "posterior", "budget": {"fraction": 0.3}},
    "audit": {"one_in": 4, "drift_limit": 0.5},
    "gate": {"missing_keys": None, "allow_empty": True},
}


def build(directory: Path) -> Settings:
    """The specifications below `directory`, and settings with a warehouse beside them."""
    trips = generated_trips(rows_per_hour=600, every="6 hours")
    return small_world(directory, [trips], [_FARES], master="local[2]", java_options=SHORT_JOBS)


def build_beside(directory: Path, ingested: Settings) -> Settings:
    """Another warehouse on the same raw rows."""
    settings = build(directory)
    Path(settings.warehouse).mkdir()
    for shared in SHARED:
        (Path(settings.warehouse) / shared).symlink_to(Path(ingested.warehouse) / shared)
    return settings


def run_slots(session: Callable[[], SparkSession], settings: Settings, slots: Iterable[int], run_id: str) -> None:
    """Each slot from raw rows to `published`, in the order given; says which one is done."""
    from jobs.run_slot import run_slot

    catalog = load_catalog(settings.specs)
    for slot in slots:
        outcome = run_slot(session, settings, catalog, QUERY, slot, run_id)
        assert outcome.published, str(outcome)
        print(f"done {slot}", flush=True)


def published(settings: Settings) -> list[str]:
    """What a reader sees, every digit of it, without the columns that tell who wrote it and when."""
    rows = Table(settings.table("published", QUERY)).read().to_pylist()
    return sorted(repr({name: row[name] for name in sorted(row) if name not in VOLATILE}) for row in rows)


def main(directory: Path, connect_url: str, slots: list[int]) -> None:
    """Run the slots with a Spark of its own, or with the one at the URL."""
    from shedding.spark.session import start_session

    settings = build(directory).model_copy(update={"connect_url": connect_url})
    spark = start_session(settings, "slots in order", shared=True)
    run_slots(lambda: spark, settings, slots, f"process-{slots[0]}")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [int(slot) for slot in sys.argv[3:]])
