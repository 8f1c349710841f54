"""Ingest and the queries of a dataset: what is wrong with one of them is its own problem, and mended by mending it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.ingest import IngestReport, ingest
from jobs.run_slot import run_slot
from shedding.config import Settings
from shedding.errors import DataError, SpecError
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.key_counts import read_counts
from shedding.spec import load_catalog
from shedding.spec.keyset import keysets
from shedding.spec.reserved_names import RESERVED
from shedding.spec.times import parse_instant
from shedding.stretches import Stretches
from shedding.tables import Table
from tests.small_specs import DATASET, QUERY, write_specs

pytestmark = pytest.mark.spark

DAY = parse_instant("2026-11-02")
HOUR = 3_600_000_000
EXACT = QUERY.replace("policy: uniform", "policy: exact")


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    (settings.landing / "trips").mkdir()
    return settings.model_copy(update={"specs": write_specs(tmp_path / "specs", [DATASET], [EXACT])})


def land(settings: Settings, name: str, *lines: str) -> None:
    (settings.landing / "trips" / f"{name}.csv").write_text("\n".join(["pickup,route,fare", *lines, ""]))


def run(spark: SparkSession, settings: Settings) -> IngestReport:
    return ingest(spark, settings, load_catalog(settings.specs), "trips", interval=(DAY, DAY + 4 * HOUR))


def counted(settings: Settings) -> dict[str, int]:
    """The rows that ingest counted for each query."""
    catalog, arrivals = load_catalog(settings.specs), Arrivals.load(settings, "trips")
    found = {}
    for keyset in keysets(catalog, "trips"):
        if arrivals.counted(keyset.id, Stretches.of((DAY, DAY + HOUR))):
            found[keyset.where or "all"] = sum(
                read_counts(settings, keyset, Stretches.of((DAY, DAY + HOUR)), arrivals)["rows"].to_pylist()
            )
    return found


def test_a_query_whose_keys_cannot_be_counted_stops_no_other(spark: SparkSession, own: Settings) -> None:
    wrong = {"refused": "nvl2(fare, 1, 2)", "pattern": "route RLIKE concat('[', route)"}
    wrong["row"] = "element_at(array(1, 2), CAST(fare AS INT)) = 1"
    for name, where in wrong.items():
        text = EXACT.replace("name: fares", f"name: {name}") + f'where: "{where}"\n'
        (own.specs / "queries" / f"{name}.yaml").write_text(text)
    land(own, "first", "2026-11-02 00:10:00,a,1", "2026-11-02 00:20:00,b,2")
    land(own, "second", "2026-11-02 00:30:00,a,0")

    report = run(spark, own)

    assert (report.kept, counted(own)) == (3, {"all": 3})
    assert sorted(problem.split(":")[0] for problem in report.problems) == [
        "queries/pattern.yaml", "queries/refused.yaml", "queries/row.yaml",
    ]  # fmt: skip
    assert all("could not be counted" in problem and "\n" not in problem for problem in report.problems)
    assert any("FILTER_NOT_BOOLEAN" in problem for problem in report.problems)
    with pytest.raises(SpecError, match="is refused by Spark"):
        run_slot(lambda: spark, own, load_catalog(own.specs), "refused", DAY, "r1")

    for name, where in wrong.items():  # mended, they are counted without a new file
        file = own.specs / "queries" / f"{name}.yaml"
        file.write_text(file.read_text().replace(where, "fare > 0"))
    assert run(spark, own).problems == []
    assert counted(own) == {"all": 3, "fare > 0": 2}


def test_one_row_keeps_no_more_than_its_own_source_from_being_counted(spark: SparkSession, own: Settings) -> None:
    land(own, "first", "2026-11-02 00:10:00,a,1")
    land(own, "second", "2026-11-02 01:30:00,a,0")
    run(spark, own)
    where = "element_at(array(1, 2), CAST(fare AS INT)) = 1"
    (own.specs / "queries" / "row.yaml").write_text(EXACT.replace("fares", "row") + f'where: "{where}"\n')

    (problem,) = run(spark, own).problems

    assert problem.startswith("queries/row.yaml: its keys could not be counted: ")
    catalog, arrivals = load_catalog(own.specs), Arrivals.load(own, "trips")
    (keyset,) = [keyset for keyset in keysets(catalog, "trips") if keyset.where]
    both = [Stretches.of((DAY + n * HOUR, DAY + (n + 1) * HOUR)) for n in range(2)]
    hours = [arrivals.counted(keyset.id, one) for one in both]
    assert sorted(hours) in ([False, False], [False, True])  # one batch at first, then each source for itself


def test_a_derived_column_and_a_query_on_it_may_come_together(spark: SparkSession, own: Settings) -> None:
    land(own, "old", "2026-11-02 00:10:00,a,1", "2026-11-02 00:20:00,b,7")
    run(spark, own)
    (own.landing / "trips" / "old.csv").unlink()  # it has no tips, and would be refused
    (own.specs / "datasets" / "trips.yaml").write_text(
        DATASET + "  - {name: tip, type: double}\nderived: {dear: fare > 5, twice: fare * 2}\n"
    )
    query = EXACT.replace("fares", "dear").replace("[route]", "[dear]").replace("column: fare", "column: twice")
    (own.specs / "queries" / "dear.yaml").write_text(query + "where: twice > 0 AND tip IS NULL\n")
    catalog = load_catalog(own.specs)
    assert catalog.problems == ()

    assert run(spark, own).problems == []  # nothing new has landed: the old rows are counted
    assert counted(own)["twice > 0 AND tip IS NULL"] == 2
    before = published(spark, own, "before")
    (own.landing / "trips" / "new.csv").write_text("pickup,route,fare,tip\n2026-11-02 01:10:00,a,9,\n")
    assert run(spark, own).problems == []

    assert published(spark, own, "after") == before == [(False, 2.0), (True, 14.0)]
    assert strange_columns(own, "dear", "mean_fare") == []


def strange_columns(settings: Settings, key: str, measure: str) -> list[str]:
    """Columns of tables that hold the key which a key or a measure could have the name of, and no checker knows."""
    found = []
    for log in Path(settings.warehouse).rglob("_delta_log"):
        schema = Table(str(log.parent)).schema()
        names = schema.names if schema is not None and key in schema.names else []
        declared = {"pickup", "route", "fare", "tip", "twice", key}
        found += [
            f"{log.parent.name}.{name}" for name in names
            if name not in RESERVED | declared and not name.startswith(("_", measure, "rows_"))
        ]  # fmt: skip
    return found


@pytest.mark.parametrize("name", ["hour", "key", "number"])
def test_a_key_may_have_any_name_that_no_table_has(spark: SparkSession, own: Settings, name: str) -> None:
    (own.specs / "datasets" / "trips.yaml").write_text(DATASET + f"derived: {{{name}: route}}\n")
    (own.specs / "queries" / "fares.yaml").write_text(EXACT.replace("[route]", f"[{name}]"))
    assert load_catalog(own.specs).problems == ()
    land(own, "first", "2026-11-02 00:10:00,a,1", "2026-11-02 00:20:00,b,2")
    assert run(spark, own).problems == []
    assert run_slot(lambda: spark, own, load_catalog(own.specs), "fares", DAY, "r1").published


def test_a_slot_before_the_first_row_is_refused_before_it_is_computed(spark: SparkSession, own: Settings) -> None:
    land(own, "first", "2026-11-02 03:10:00,a,1")
    run(spark, own)
    with pytest.raises(DataError, match=r"ends before the first row of trips, at .*T03:10:00Z.* start at .*T03:00:00Z"):
        run_slot(lambda: spark, own, load_catalog(own.specs), "fares", DAY, "r1")
    assert not Table(own.table("quarantine", "fares")).exists()
    assert run_slot(lambda: spark, own, load_catalog(own.specs), "fares", DAY + 3 * HOUR, "r2").published


def published(spark: SparkSession, settings: Settings, run_id: str) -> list[tuple[bool, float]]:
    run_slot(lambda: spark, settings, load_catalog(settings.specs), "dear", DAY, run_id)
    rows = Table(settings.table("published", "dear")).read().to_pylist()
    return sorted((row["dear"], row["mean_fare"]) for row in rows)
