"""What a reader of the published table gets, whatever it reads with and whenever it looks."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars
import pytest
from deltalake import DeltaTable

from expectations.verdict import Check, Verdict, write_verdict
from jobs.publish import publish
from shedding.config import Settings
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.expectations.answers import HOUR, SLOT, Answer, make_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = Check("mean_relative_error", 0.05, 0.1, "fail", True, "measured", "fine")
COLUMNS = ["window_start", "route", "fare", "fare_low", "fare_high", "is_exact", "policy", "revision", "slot"]


def publish_answer(settings: Settings, answer: Answer, run_id: str) -> int:
    answer.write(settings, run_id)
    versions = [Table(settings.table(t, "fares")).version() or 0 for t in ("results", "runs")]
    verdict = Verdict("fares", answer.slot, run_id, 0, answer.leg, versions[0], versions[1], (GOOD,))
    write_verdict(settings, verdict)
    return publish(settings, answer.query, answer.slot, verdict, run_id)


@pytest.fixture
def location(settings: Settings) -> str:
    """Three slots, one of them published twice, one key null."""
    query = make_query()
    for index in range(3):
        publish_answer(settings, Answer(query, slot=SLOT + index * HOUR, keys=["a", "b", None, "d"]), f"run {index}")
    publish_answer(settings, Answer(query, values=[1.0, 2.0, 3.0, 4.0], keys=["a", "b", None, "d"]), "run 3")
    return settings.table("published", "fares")


def comparable(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows in one order, instants in one notation."""
    return sorted(
        tuple(str(row[name].timestamp()) if name == "window_start" else str(row[name]) for name in COLUMNS)
        for row in rows
    )


@pytest.mark.spark
def test_spark_deltalake_duckdb_and_polars_read_the_same_rows(location: str, spark: SparkSession) -> None:
    by_deltalake = comparable(DeltaTable(location).to_pyarrow_table().to_pylist())
    dataset = DeltaTable(location).to_pyarrow_dataset()
    by_duckdb = comparable(duckdb.from_arrow(dataset).to_arrow_table().to_pylist())
    by_polars = comparable(polars.read_delta(location).to_dicts())
    # Through Arrow, because collect() turns instants into the zone of the machine.
    by_spark = comparable(spark.read.format("delta").load(location).toArrow().to_pylist())
    assert len(by_deltalake) == 24
    assert by_deltalake == by_duckdb == by_polars == by_spark


def test_duckdb_reads_the_active_files_without_any_delta_support(location: str) -> None:
    files = DeltaTable(location).file_uris()
    columns = "window_start, route, fare, revision"
    found = duckdb.sql(f"select {columns} from read_parquet({files!r}, hive_partitioning = true)").fetchall()
    assert len(found) == 24


def test_an_earlier_version_reads_as_it_was(location: str) -> None:
    now, then = DeltaTable(location), DeltaTable(location, version=3)
    assert set(then.to_pyarrow_table()["fare"].to_pylist()) == {10.0}
    assert now.version() == 4
    assert {1.0, 2.0, 3.0, 4.0} < set(now.to_pyarrow_table()["fare"].to_pylist())


def test_what_changed_since_a_version_is_in_the_history(location: str) -> None:
    news = [commit for commit in DeltaTable(location).history() if commit["version"] > 3]
    assert {json.loads(commit["userMetadata"])["slot"] for commit in news} == {slot_name(SLOT)}


def test_the_documented_example_runs(location: str) -> None:
    text = (Path(__file__).resolve().parents[2] / "jobs" / "PUBLISHED.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    scope: dict[str, Any] = {}
    exec(code.replace("warehouse/published/taxi_route_fare", location).replace("table.version()", "3"), scope)
    assert len(scope["changed"]) == 8
    assert len(scope["before"]) == 24


def _publish_thirty_times(settings: Settings) -> None:
    query = make_query()
    for index in range(30):
        keys = [f"k{i}" for i in range(2 + index % 3)]
        publish_answer(settings, Answer(query, slot=SLOT + (index % 2) * HOUR, keys=keys), f"run {index}")


def _polls(location: str, writer: Any) -> Iterator[list[dict[str, Any]]]:
    while writer.is_alive():
        if DeltaTable.is_deltatable(location):
            yield DeltaTable(location).to_pyarrow_table().to_pylist()
    yield DeltaTable(location).to_pyarrow_table().to_pylist()


@pytest.mark.slow
def test_a_reader_that_polls_during_thirty_publications_sees_whole_slots_only(settings: Settings) -> None:
    writer = multiprocessing.get_context("spawn").Process(target=_publish_thirty_times, args=(settings,))
    writer.start()
    polls, seen = 0, {}
    for rows in _polls(settings.table("published", "fares"), writer):
        polls += 1
        for slot in {row["slot"] for row in rows}:
            mine = [row for row in rows if row["slot"] == slot]
            revisions = {row["revision"] for row in mine}
            assert len(revisions) == 1, "half of a slot was of another revision"
            assert min(revisions) >= seen.get(slot, 0), "a revision went back"
            windows = {row["window_start"] for row in mine}
            assert len(windows) == 2, "a window was missing"
            assert len({(row["window_start"], row["route"]) for row in mine}) == len(mine), "a row was there twice"
            assert len(mine) % 2 == 0
            seen[slot] = min(revisions)
        assert set(seen) <= {row["slot"] for row in rows}, "a slot vanished"
    writer.join()
    assert writer.exitcode == 0
    assert polls > 20
    assert set(seen.values()) == {15}
