"""Maintenance changes files and nothing else."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from jobs import maintain as maintenance
from jobs.maintain import maintain, remove_hidden
from shedding.config import Settings
from shedding.errors import FINAL_CODE, DataError
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.arrivals_log import write_log
from shedding.ingest.source_number import source_number
from shedding.spec import Catalog, DatasetSpec
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.expectations.answers import HOUR, SLOT, Answer, make_query
from tests.small_specs import generated_trips

NOW = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
DATASET = DatasetSpec.model_validate({**generated_trips(2500, "1 hour"), "name": "taxi"})
CATALOG = Catalog({"taxi": DATASET}, {"fares": make_query()}, ())


def raw_rows(settings: Settings, source: str, count: int) -> None:
    for place in (("raw", "taxi"), ("concepts", "taxi", "route-1"), ("quarantine", "taxi")):
        named = source_number(source) if place[0] == "raw" else source
        rows = pa.table({"route": ["a"] * count, "_source": [named] * count, "event_date": ["2024-03-04"] * count})
        Table(settings.table(*place), ("event_date",)).append(rows, {})


def test_rows_stay_and_files_become_fewer(anywhere: Settings) -> None:
    for index in range(4):
        Answer(make_query(), slot=SLOT).write(anywhere, f"run {index}")
        Answer(make_query(), slot=SLOT + HOUR).write(anywhere, f"run {index}")
        raw_rows(anywhere, f"s{index}", 5)
    before = {
        kind: Table(anywhere.table(kind, name)).read().num_rows
        for kind, name in (("raw", "taxi"), ("results", "fares"))
    }
    done = {one.table: one for one in maintain(anywhere, CATALOG, "taxi", NOW)}
    assert done["raw/taxi"].files_before == 4
    assert done["raw/taxi"].files_after == 1
    assert done["raw/taxi"].rows == before["raw"] == 20
    assert {"results/fares", "runs/fares", "concepts/taxi/route-1", "quarantine/taxi"} <= set(done)
    after = {
        kind: Table(anywhere.table(kind, name)).read().num_rows
        for kind, name in (("raw", "taxi"), ("results", "fares"))
    }
    assert after == before


def test_versions_younger_than_the_retention_stay_readable(anywhere: Settings) -> None:
    for index in range(3):
        Answer(make_query(), values=[float(index)] * 4).write(anywhere)
    maintain(anywhere, CATALOG, "taxi", NOW)
    old = Table(anywhere.table("results", "fares")).read(version=1)
    assert set(old["fare"].to_pylist()) == {0.0}


def test_a_ranked_layout_is_not_compacted(anywhere: Settings) -> None:
    for index in range(3):
        raw_rows(anywhere, f"s{index}", 5)
    ranked = DATASET.model_copy(update={"layout": DATASET.layout.model_copy(update={"kind": "ranked"})})
    done = {one.table: one for one in maintain(anywhere, Catalog({"taxi": ranked}, {}, ()), "taxi", NOW)}
    assert done["raw/taxi"].files_after == 3
    assert done["concepts/taxi/route-1"].files_after == 1


def test_rows_of_replaced_and_dead_sources_go_once_they_are_old(anywhere: Settings) -> None:
    for source in ("good", "replaced", "died", "running"):
        raw_rows(anywhere, source, 5)
    long_ago, just_now = NOW - dt.timedelta(days=30), NOW - dt.timedelta(minutes=5)
    begun = [{"state": "begun", "source_id": s, "name": s, "content_hash": s} for s in ("good", "replaced", "died")]
    write_log(anywhere, "taxi", begun, long_ago)
    committed = [{**row, "state": "committed"} for row in begun[:2]]
    write_log(anywhere, "taxi", [*committed, {"state": "superseded", "source_id": "replaced"}], long_ago)
    write_log(anywhere, "taxi", [{"state": "begun", "source_id": "running", "name": "r"}], just_now)
    assert Arrivals.load(anywhere, "taxi").hidden == {"replaced", "died", "running"}
    assert remove_hidden(anywhere, DATASET, NOW) == 2
    for place in (("raw", "taxi"), ("concepts", "taxi", "route-1"), ("quarantine", "taxi")):
        kept = Table(anywhere.table(*place)).read()
        names = ["good", "running"] if place[0] != "raw" else [source_number("good"), source_number("running")]
        assert set(kept["_source"].to_pylist()) == set(names)
        assert kept.num_rows == 10
    assert Arrivals.load(anywhere, "taxi").hidden == {"running"}
    assert remove_hidden(anywhere, DATASET, NOW) == 0


def test_a_lost_row_is_found_before_anything_is_deleted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(3):
        raw_rows(settings, f"s{index}", 5)
    counts = iter([15, 14])
    monkeypatch.setattr(maintenance, "_rows", lambda _: next(counts))
    with pytest.raises(DataError, match="OPTIMIZE made 14 rows of 15"):
        maintain(settings, CATALOG, "taxi", NOW)
    assert len(list(Path(settings.table("raw", "taxi")).rglob("*.parquet"))) == 4


def test_maintenance_beside_a_writer_keeps_both(settings: Settings) -> None:
    for index in range(6):
        raw_rows(settings, f"s{index}", 5)
        Answer(make_query(), slot=SLOT + index * HOUR).write(settings)
        maintain(settings, CATALOG, "taxi", NOW)
    assert DeltaTable(settings.table("raw", "taxi")).to_pyarrow_table().num_rows == 30
    slots = Table(settings.table("results", "fares")).read()["slot"].to_pylist()
    assert sorted(set(slots)) == [slot_name(SLOT + index * HOUR) for index in range(6)]


def test_a_dataset_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert maintenance.main(["--dataset", "txi"]) == FINAL_CODE
    assert capsys.readouterr().err.startswith("SpecError: no datasets/txi.yaml (did you mean taxi?); there is: ")
