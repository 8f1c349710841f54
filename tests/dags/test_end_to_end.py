"""The whole way with real Airflow, Spark, Delta and Great Expectations: from the generator to a consumer's reader."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from shedding.config import Settings
from tests.small_specs import QUERY

ROOT = Path(__file__).resolve().parent.parent.parent
DAGS = ROOT / "dags"
SLOT = dt.datetime(2026, 11, 2, 10, tzinfo=dt.UTC)
CITY = """
name: city
source: {kind: generator, generator: taxi, rows_per_hour: 3000, seed: 7}
schedule: {every: 1 hour}
event_time: {column: pickup_datetime}
columns:
  - {name: pickup_datetime, type: timestamp, required: true}
  - {name: route, required: true}
  - {name: fare_amount, type: double, min: 0}
"""
FARES = (
    QUERY.replace("name: fares", "name: city_fares")
    .replace("trips", "city")
    .replace("column: fare", "column: fare_amount")
    + "gate: {mean_relative_error: 5, missing_keys: 0, half_width: 0.000001, warn: [half_width],"
    + " on_failure: quarantine}\n"
)
STRICT = FARES.replace("city_fares", "city_strict").replace("mean_relative_error: 5", "mean_relative_error: 0.000001")
RUN = """
import datetime as dt, sys
from pathlib import Path
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
folder = Path(sys.argv[1])
DagBundlesManager().sync_bundles_to_db()
bag = BundleDagBag(dag_folder=str(folder), bundle_path=folder, bundle_name="dags-folder")
sync_bag_to_db(bag, "dags-folder", None)
for dag_id, date in zip(sys.argv[2::2], sys.argv[3::2]):
    run = bag.dags[dag_id].test(logical_date=dt.datetime.fromisoformat(date))
    print(dag_id, run.state, *sorted(f"{ti.task_id}={ti.state}" for ti in run.get_task_instances()), file=sys.stderr)
with create_session() as session:
    print(*(f"note {run.dag_id} {run.note}" for run in session.query(DagRun) if run.note), sep="\\n", file=sys.stderr)
"""


def run_dags(*runs: tuple[str, dt.datetime]) -> dict[str, list[str]]:
    """Run DAGs one after another as `airflow dags test` does; the states of run and tasks by DAG, and the notes."""
    arguments = [text for dag_id, date in runs for text in (dag_id, date.isoformat())]
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(DAGS), *arguments], capture_output=True, text=True, check=False, env=os.environ
    )
    lines = [line.split() for line in done.stderr.splitlines() if line.startswith(tuple(dag_id for dag_id, _ in runs))]
    assert len(lines) == len(runs), f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    notes = [line for line in done.stderr.splitlines() if line.startswith("note ")]
    return {line[0]: line[1:] for line in lines} | {"notes": notes}


@pytest.fixture(scope="module")
def story(airflow_home: Settings, tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, dict[str, list[str]]]:
    """Ingest one hour, publish it with one query, have it refused for another."""
    specs = tmp_path_factory.mktemp("story")
    for kind, name, text in (
        ("datasets", "city", CITY),
        ("queries", "city_fares", FARES),
        ("queries", "city_strict", STRICT),
    ):
        (specs / kind).mkdir(exist_ok=True)
        (specs / kind / f"{name}.yaml").write_text(text)
    settings = airflow_home.model_copy(update={"specs": specs})
    os.environ.update(settings.environment())
    # The logical date of a run that covers [10:00, 11:00) by hand is its end.
    end = SLOT + dt.timedelta(hours=1)
    return settings, run_dags(("ingest_city", end), ("query_city_fares", end), ("query_city_strict", end))


@pytest.mark.airflow
def test_an_hour_of_rows_is_ingested_judged_and_published(story: tuple[Settings, dict[str, list[str]]]) -> None:
    _, states = story
    assert states["ingest_city"] == [
        "success", "all_taken_in=success", "find_late=success", "ingest=success", "publish_again=skipped",
    ]  # fmt: skip
    assert states["query_city_fares"] == [
        "success", "aggregate=success", "gate=success", "publish=success", "quarantine=skipped", "wait_for_raw=success",
    ]  # fmt: skip


@pytest.mark.airflow
def test_a_check_that_warns_leaves_a_note_on_the_green_run_and_on_no_other(
    story: tuple[Settings, dict[str, list[str]]],
) -> None:
    (note,) = story[1]["notes"]
    assert note.startswith("note query_city_fares Published with a warning: ")
    assert "half-width" in note or "half_width" in note


@pytest.mark.airflow
def test_consumers_read_the_same_rows_with_deltalake_and_duckdb(story: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, _ = story
    rows = DeltaTable(settings.table("published", "city_fares")).to_pyarrow_dataset()
    columns = "route, mean_fare, mean_fare_low, mean_fare_high, revision"
    by_duckdb = duckdb.sql(f"SELECT {columns} FROM rows ORDER BY route").fetchall()
    by_deltalake = rows.to_table(columns=columns.split(", ")).sort_by("route").to_pylist()
    assert by_duckdb == [tuple(row.values()) for row in by_deltalake]
    assert len(by_duckdb) > 100
    assert all(low <= mean <= high and revision == 1 for _, mean, low, high, revision in by_duckdb)
    starts = set(rows.to_table(columns=["window_start"])["window_start"].to_pylist())
    assert starts == {SLOT}


@pytest.mark.airflow
def test_a_refused_slot_ends_red_and_publishes_nothing(story: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, states = story
    assert states["query_city_strict"] == [
        "failed", "aggregate=success", "gate=success", "publish=skipped", "quarantine=failed", "wait_for_raw=success",
    ]  # fmt: skip
    assert not DeltaTable.is_deltatable(settings.table("published", "city_strict"))
    assert DeltaTable(settings.table("quarantine", "city_strict")).to_pyarrow_table().num_rows > 100


@pytest.mark.airflow
def test_asset_events_carry_the_delta_version(story: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, _ = story
    version = DeltaTable(settings.table("published", "city_fares")).version()
    events = asset_events()
    assert events["published/city_fares"] == {"version": version, "slot": "2026-11-02T10:00:00Z"}
    assert events["raw/city"]["version"] == DeltaTable(settings.table("raw", "city")).version()
    assert "published/city_strict" not in events


def asset_events() -> dict[str, Any]:
    """The extra of each asset's last event, by the asset's name, from Airflow's database."""
    code = """
import json, sys
from airflow.models.asset import AssetEvent
from airflow.utils.session import create_session
with create_session() as session:
    events = session.query(AssetEvent).order_by(AssetEvent.id).all()
    print(json.dumps({event.asset.name: event.extra for event in events}), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stderr.strip().splitlines()[-1])
    return found
