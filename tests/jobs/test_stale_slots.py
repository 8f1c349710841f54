"""Late and corrected rows: exactly the slots that they reach are computed again."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.stale_slots import stale_slots
from shedding.config import Settings
from shedding.ingest.arrivals_log import write_log
from shedding.ingest.side import sides_of
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import raw_fingerprint
from shedding.spec import Catalog, QuerySpec, load_catalog
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.small_specs import DATASET, QUERY, write_specs

HOUR = 3_600_000_000
NOW = dt.datetime(2026, 11, 16, tzinfo=dt.UTC)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Windows of two hours every hour: a slot's windows reach into the slot before."""
    specs = write_specs(tmp_path / "specs")
    (specs / "queries" / "fares.yaml").write_text(QUERY.replace("{size: 1 hour}", "{size: 2 hours, slide: 1 hour}"))
    (specs / "datasets" / "trips.yaml").write_text(DATASET + "allowed_lateness: 4 hours\n")
    return load_catalog(specs)


def arrive(
    settings: Settings, name: str, content: str, hours: list[int], instead_of: str | None = None, dataset: str = "trips"
) -> None:
    """A file with rows in these hours becomes visible, in place of another one if that is named."""
    rows = [{
        "state": "committed", "source_id": f"{name}@{content}", "name": name, "content_hash": content,
        "first_event": hours[0] * HOUR, "last_event": (hours[-1] + 1) * HOUR - 1,
        "hours": json.dumps({str(hour * HOUR): 5 for hour in hours}),
    }]  # fmt: skip
    gone = [{"state": "superseded", "source_id": instead_of}] if instead_of else []
    write_log(settings, dataset, [*rows, *gone], NOW)


def compute(settings: Settings, catalog: Catalog, hours: range) -> None:
    """What aggregate records of a slot: the fingerprint of the rows it read."""
    spec = catalog.query("fares")
    sides = sides_of(settings, catalog, spec)
    for slot in (hour * HOUR for hour in hours):
        row = {
            "slot": [slot_name(slot)], "leg": ["uniform"], "published": [True],
            "raw_fingerprint": [raw_fingerprint(AuditPlans(spec, sides), slot, "uniform")],
        }  # fmt: skip
        Table(settings.table("runs", "fares"), ("slot",)).replace(pa.table(row), {"slot": slot_name(slot)}, {})


def stale(settings: Settings, catalog: Catalog) -> list[int]:
    return [slot // HOUR for slot in stale_slots(settings, catalog, "fares")]


def test_nothing_computed_is_nothing_stale(settings: Settings, catalog: Catalog) -> None:
    assert stale(settings, catalog) == []
    arrive(settings, "a", "1", [0])
    assert stale(settings, catalog) == []


def test_a_late_file_makes_stale_its_slot_and_what_reaches_into_it(settings: Settings, catalog: Catalog) -> None:
    arrive(settings, "day", "1", list(range(100, 110)))
    compute(settings, catalog, range(100, 110))
    assert stale(settings, catalog) == []
    arrive(settings, "late", "2", [107])
    assert {107, 108} <= set(stale(settings, catalog))
    assert 106 not in stale(settings, catalog)


def test_computing_again_ends_it(settings: Settings, catalog: Catalog) -> None:
    arrive(settings, "day", "1", list(range(100, 110)))
    compute(settings, catalog, range(100, 110))
    arrive(settings, "late", "2", [107])
    compute(settings, catalog, range(100, 110))
    assert stale(settings, catalog) == []


def test_a_corrected_file_counts_as_late_rows(settings: Settings, catalog: Catalog) -> None:
    arrive(settings, "day", "1", list(range(100, 109)))
    arrive(settings, "hour", "2", [109])
    compute(settings, catalog, range(100, 110))
    arrive(settings, "hour", "3", [109], instead_of="hour@2")
    assert stale(settings, catalog) == [109]


def test_rows_later_than_allowed_change_nothing(settings: Settings, catalog: Catalog) -> None:
    arrive(settings, "day", "1", list(range(100, 110)))
    compute(settings, catalog, range(100, 110))
    arrive(settings, "ancient", "2", [101])
    assert not {100, 101, 102} & set(stale(settings, catalog))


def test_runs_of_another_schedule_are_not_stale_for_ever(settings: Settings, catalog: Catalog) -> None:
    arrive(settings, "day", "1", list(range(100, 110)))
    compute(settings, catalog, range(100, 110))
    content = catalog.query("fares").model_dump(mode="json")
    longer = QuerySpec.model_validate(content | {"schedule": {"every": "2 hours"}})
    changed = Catalog(catalog.datasets, {"fares": longer}, ())
    assert stale(settings, changed) == [104, 106, 108]  # slots of two hours, of which one was read
    compute(settings, changed, range(104, 110, 2))
    assert stale(settings, changed) == []


def test_a_late_file_of_either_dataset_makes_a_join_stale(settings: Settings, tmp_path: Path) -> None:
    specs = write_specs(tmp_path / "joined")
    for name in ("trips", "tips"):
        (specs / "datasets" / f"{name}.yaml").write_text(
            DATASET.replace("name: trips", f"name: {name}") + "allowed_lateness: 4 hours\n"
        )
    (specs / "queries" / "fares.yaml").write_text(QUERY + "join: {dataset: tips, on: [route]}\n")
    catalog = load_catalog(specs)
    for name in ("trips", "tips"):
        arrive(settings, "day", f"{name} 1", list(range(100, 110)), dataset=name)
    compute(settings, catalog, range(100, 110))
    assert stale(settings, catalog) == []
    arrive(settings, "late", "2", [107], dataset="tips")
    assert stale(settings, catalog) == [107]
    compute(settings, catalog, range(100, 110))
    arrive(settings, "late", "3", [108])
    assert stale(settings, catalog) == [108]
