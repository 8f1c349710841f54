"""The preview of a backfill says of each slot what a run would find."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.backfill_plan import CURRENT, NEW, REFUSED, ROWS, SPECIFICATION, plan_backfill
from jobs.cli import main
from shedding.config import Settings
from shedding.ingest.side import sides_of
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import raw_fingerprint
from shedding.spec import Catalog, load_catalog
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.jobs.test_stale_slots import HOUR, arrive
from tests.small_specs import QUERY, write_specs

FIRST, END = 100, 112


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    return write_specs(tmp_path / "specs")


def compute(settings: Settings, catalog: Catalog, hours: range, published: bool = True) -> None:
    """What a run leaves behind: its fingerprints, rows and seconds (2 s and 1 s a row), and a published slot."""
    spec = catalog.query("fares")
    plans = AuditPlans(spec, sides_of(settings, catalog, spec))
    for slot in (hour * HOUR for hour in hours):
        name = slot_name(slot)
        rows = 5.0 if plans.at(slot).is_audited(slot) else 0.5
        row = {
            "slot": [name], "leg": ["uniform"], "published": [True], "total_rows": [rows], "seconds": [2.0 + rows],
            "raw_fingerprint": [raw_fingerprint(plans, slot, "uniform")],
            "spec_fingerprint": [spec_fingerprint(spec, "uniform")],
        }  # fmt: skip
        Table(settings.table("runs", "fares"), ("slot",)).replace(pa.table(row), {"slot": name}, {})
        if published:
            Table(settings.table("published", "fares"), ("slot",)).replace(
                pa.table({"slot": [name], "x": [1]}), {"slot": name}, {}
            )


def states(settings: Settings, catalog: Catalog) -> dict[int, str]:
    slots = [hour * HOUR for hour in range(FIRST, END)]
    return {one.slot // HOUR: one.reason for one in plan_backfill(settings, catalog, catalog.query("fares"), slots)}


def test_each_slot_is_told_why_it_would_be_computed(settings: Settings, specs: Path) -> None:
    catalog = load_catalog(specs)
    arrive(settings, "day", "1", list(range(FIRST, END)))
    assert set(states(settings, catalog).values()) == {NEW}
    compute(settings, catalog, range(FIRST, 108))
    compute(settings, catalog, range(108, 109), published=False)
    found = states(settings, catalog)
    assert {found[hour] for hour in range(FIRST, 108)} == {CURRENT}
    assert found[108] == REFUSED
    assert {found[hour] for hour in range(109, END)} == {NEW}
    arrive(settings, "late", "2", [107])
    assert states(settings, catalog)[107] == ROWS
    assert states(settings, catalog)[FIRST] == CURRENT
    (specs / "queries" / "fares.yaml").write_text(QUERY.replace("fraction: 0.1", "fraction: 0.2"))
    assert states(settings, load_catalog(specs))[FIRST] == SPECIFICATION


def test_rows_and_seconds_are_those_that_earlier_slots_took(settings: Settings, specs: Path) -> None:
    catalog = load_catalog(specs)
    query = catalog.query("fares")
    arrive(settings, "day", "1", list(range(FIRST, END)))
    slots = [hour * HOUR for hour in range(FIRST, END)]
    unknown = plan_backfill(settings, catalog, query, slots)
    assert all(math.isnan(one.seconds) for one in unknown)
    compute(settings, catalog, range(FIRST, 108))
    for one in plan_backfill(settings, catalog, query, slots):
        assert one.rows == (5.0 if one.audited else 0.5)
        assert one.seconds == pytest.approx(2.0 + one.rows)
    assert {one.audited for one in unknown} == {True, False}


def test_a_slot_whose_rows_have_not_come_says_what_it_waits_for_and_is_not_counted(
    settings: Settings, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrive(settings, "day", "1", list(range(FIRST, 104)))
    options = ["--warehouse", settings.warehouse, "--specs", str(specs)]
    span = ["--from", "1970-01-05T04:00:00Z", "--to", "1970-01-05T10:00:00Z"]
    assert main([*options, "plan-backfill", "fares", *span]) == 0
    said = capsys.readouterr().out
    assert "1970-01-05T07:00:00Z waits for trips: has come up to 1970-01-05T07:59:59" in said
    assert "3 of 6 slots to compute" in said
    assert "sluice run fares --from 1970-01-05T04:00:00Z --to 1970-01-05T07:00:00Z" in said
