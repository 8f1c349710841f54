"""Every DAG parses fast and light, and has what an engineer expects to see in the UI."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from shedding.config import Settings
from shedding.spec import QuerySpec, load_catalog
from shedding.spec.times import as_datetime, parse_duration, parse_instant
from tests.small_specs import DATASET, QUERY, write_specs

DAGS = Path(__file__).resolve().parent.parent.parent / "dags"
HEAVY = ("pyspark", "delta", "deltalake", "great_expectations", "pandas", "scipy", "matplotlib")
KINDS = {"ingest", "query", "pool", "maintenance", "verify"}
LENGTHS = ["5 minutes", "90 minutes", "6 hours", "7 hours", "1 day", "10 days", "1 week"]
REPAIRED = {"gate": ["publish", "repair"], "repair": ["gate_again"], "gate_again": ["publish", "quarantine"]}
WAYS = {
    "quarantine": {"gate": ["publish", "quarantine"]},
    "repair": REPAIRED,
    "widen": REPAIRED,
    "ask": {"gate": ["ask", "publish"], "ask": ["decision"], "decision": ["publish", "quarantine"]},
}
PARSE = """
import json, sys, time
from pathlib import Path
from airflow.dag_processing.dagbag import BundleDagBag
folder = Path(sys.argv[1])
def parse():
    begin = time.process_time()
    bag = BundleDagBag(dag_folder=str(folder), bundle_path=folder, bundle_name="dags-folder")
    return bag, time.process_time() - begin
parse()
bag, seconds = parse()
def task_facts(task):
    return {"retries": task.retries, "backoff": bool(task.retry_exponential_backoff), "pool": task.pool,
            "type": task.task_type, "downstream": sorted(task.downstream_task_ids), "rule": task.trigger_rule.value,
            "outlets": [asset.name for asset in task.outlets], "in_process": getattr(task, "in_process", None),
            "arguments": getattr(task, "application_args", None)}
def dag_facts(dag):
    from airflow.serialization.encoders import coerce_to_core_timetable
    from airflow.timetables.base import TimeRestriction
    info = coerce_to_core_timetable(dag.timetable).next_dagrun_info(
        last_automated_data_interval=None, restriction=TimeRestriction(earliest=None, latest=None, catchup=False))
    length = None if info is None else (info.data_interval.end - info.data_interval.start).total_seconds()
    start = None if info is None else info.data_interval.start.timestamp()
    return {"owner": dag.owner, "tags": sorted(dag.tags), "doc": dag.doc_md or "", "description": dag.description,
            "catchup": dag.catchup, "length": length, "start": start, "active": dag.max_active_runs,
            "tasks": {task.task_id: task_facts(task) for task in dag.tasks}}
print(json.dumps({"errors": bag.import_errors, "seconds": seconds,
    "heavy": [name for name in sys.argv[2].split(",") if name in sys.modules],
    "dags": {dag_id: dag_facts(dag) for dag_id, dag in bag.dags.items()}}), file=sys.stderr)
"""


def parse(specs: Path | None = None) -> dict[str, Any]:
    """Parse dags/ in a process of its own, as Airflow does, and tell what it found."""
    environment = {**os.environ, **({"SLUICE_SPECS": str(specs)} if specs else {})}
    command = [sys.executable, "-c", PARSE, str(DAGS), ",".join(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stderr.strip().splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def parsed(airflow_home: Settings) -> dict[str, Any]:
    return parse()


@pytest.mark.airflow
def test_every_specification_has_its_dag_and_nothing_fails_to_import(parsed: dict[str, Any]) -> None:
    catalog = load_catalog(Settings().specs)
    assert parsed["errors"] == {}
    wanted = {f"ingest_{name}" for name in catalog.datasets} | {f"query_{name}" for name in catalog.queries}
    wanted |= {f"pool_{name}" for name in catalog.pools}
    assert wanted <= set(parsed["dags"])
    assert {name for name in parsed["dags"] if "invalid" in parsed["dags"][name]["tags"]} == set()


@pytest.mark.airflow
def test_dags_parse_in_under_30_milliseconds_each_without_heavy_packages(parsed: dict[str, Any]) -> None:
    assert parsed["seconds"] < 0.03 * len(parsed["dags"])
    assert parsed["heavy"] == []


@pytest.mark.airflow
def test_every_dag_has_an_owner_a_kind_documentation_and_no_catch_up(parsed: dict[str, Any]) -> None:
    for dag_id, dag in parsed["dags"].items():
        assert dag["owner"] not in ("", "airflow"), dag_id
        assert len(KINDS & set(dag["tags"])) == 1, dag_id
        assert dag["doc"].startswith("# "), dag_id
        assert len(dag["doc"]) > 200, dag_id
        assert dag["catchup"] is False, dag_id
        assert dag["active"] <= 2, dag_id


@pytest.mark.airflow
def test_data_intervals_are_the_epoch_aligned_slots(parsed: dict[str, Any]) -> None:
    catalog = load_catalog(Settings().specs)
    wanted = {f"ingest_{name}": spec.schedule.every for name, spec in catalog.datasets.items()}
    alone = {name: spec for name, spec in catalog.queries.items() if spec.pool is None}
    wanted |= {f"query_{name}": spec.schedule.every for name, spec in alone.items()}
    wanted |= {f"pool_{name}": pool.spec.schedule.every for name, pool in catalog.pools.items()}
    for dag_id, every in wanted.items():
        dag = parsed["dags"][dag_id]
        assert dag["length"] * 1_000_000 == every, dag_id
        assert dag["start"] * 1_000_000 % every == 0, dag_id


@pytest.mark.airflow
def test_every_task_is_retried_with_back_off(parsed: dict[str, Any], odd_ones: dict[str, Any]) -> None:
    for dag_id, dag in (parsed["dags"] | odd_ones["dags"]).items():
        for task_id, task in dag["tasks"].items():
            if "invalid" not in dag["tags"]:
                assert task["retries"] >= 2, (dag_id, task_id)
                assert task["backoff"], (dag_id, task_id)


@pytest.mark.airflow
def test_the_happy_path_of_a_query_uses_spark_once_and_the_one_that_is_up(parsed: dict[str, Any]) -> None:
    for dag_id, dag in parsed["dags"].items():
        if not dag_id.startswith("query_"):
            continue
        happy = [dag["tasks"][name] for name in ("wait_for_raw", "aggregate", "gate", "publish")]
        assert [task["in_process"] for task in happy] == [None, True, None, None], dag_id
        assert dag["tasks"]["aggregate"]["pool"] == "spark"
        planned = "plan" in dag["tasks"]  # of queries that may drop windows
        assert dag["tasks"]["wait_for_raw"]["downstream"] == ["plan" if planned else "aggregate"]
        assert not planned or sorted(dag["tasks"]["plan"]["downstream"]) == ["aggregate", "drop"]
        assert dag["tasks"]["wait_for_raw"]["type"] == "WaitForRawOperator"
        assert dag["tasks"]["aggregate"]["downstream"] == ["gate"]
        assert dag["tasks"]["publish"]["outlets"] == [f"published/{dag_id.removeprefix('query_')}"]


@pytest.mark.airflow
def test_a_pool_computes_its_members_at_once_and_judges_each_by_itself(
    parsed: dict[str, Any], odd_ones: dict[str, Any]
) -> None:
    pool = load_catalog(Settings().specs).pool("city")
    tasks = parsed["dags"]["pool_city"]["tasks"]
    assert [name for name, task in tasks.items() if task["type"] == "AggregateOperator"] == ["aggregate"]
    assert tasks["aggregate"]["downstream"] == sorted(f"{name}.gate" for name in pool.names)
    for name in pool.names:
        assert tasks[f"{name}.gate"]["downstream"] == [f"{name}.publish", f"{name}.repair"]
        assert tasks[f"{name}.gate_again"]["downstream"] == [f"{name}.publish", f"{name}.quarantine"]
        assert tasks[f"{name}.publish"]["outlets"] == [f"published/{name}"]
        assert parsed["dags"][f"query_{name}"]["length"] is None
    asked = odd_ones["dags"]["pool_town"]["tasks"]
    assert asked["asks.gate"]["downstream"] == ["asks.ask", "asks.publish"]
    assert asked["asks.decision"]["downstream"] == ["asks.publish", "asks.quarantine"]
    assert odd_ones["dags"]["pool_wrong"]["tags"] == ["invalid"]
    assert odd_ones["dags"]["query_lost"]["tags"] == ["invalid"]


@pytest.mark.airflow
def test_repair_takes_a_place_among_the_jvms_but_starts_one_only_itself(parsed: dict[str, Any]) -> None:
    repairs = [dag["tasks"]["repair"] for dag in parsed["dags"].values() if "repair" in dag["tasks"]]
    assert repairs
    assert {task["pool"] for task in repairs} == {"spark"}
    assert "SparkJob" not in {task["type"] for task in repairs}


@pytest.mark.airflow
def test_every_ingest_names_its_interval_so_that_the_watermark_moves(parsed: dict[str, Any]) -> None:
    ingests = [
        dag["tasks"]["ingest"]["arguments"] for name, dag in parsed["dags"].items() if name.startswith("ingest_")
    ]
    assert all({"--from", "--to"} <= set(arguments) for arguments in ingests)


@pytest.mark.airflow
def test_late_rows_are_looked_for_though_a_file_was_refused_and_the_run_stays_red(parsed: dict[str, Any]) -> None:
    for dag_id, dag in parsed["dags"].items():
        if dag_id.startswith("ingest_"):
            assert dag["tasks"]["ingest"]["downstream"] == ["all_taken_in", "find_late"]
            assert dag["tasks"]["find_late"]["rule"] == "all_done"
            assert dag["tasks"]["all_taken_in"]["rule"] == "all_success"
            assert not dag["tasks"]["all_taken_in"]["downstream"]


@pytest.fixture(scope="module")
def odd_ones(airflow_home: Settings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a directory gives that has every way to fail a gate, many lengths of slots, and broken files."""
    specs = write_specs(tmp_path_factory.mktemp("odd") / "specs")
    for way in WAYS:
        text = QUERY.replace("name: fares", f"name: {way}_query") + f"gate: {{on_failure: {way}}}\n"
        (specs / "queries" / f"{way}_query.yaml").write_text(text)
    for number, every in enumerate(LENGTHS):
        text = DATASET.replace("name: trips", f"name: every_{number}").replace("every: 1 hour", f"every: {every}")
        (specs / "datasets" / f"every_{number}.yaml").write_text(text)
    (specs / "queries" / "checked.yaml").write_text(
        QUERY.replace("name: fares", "name: checked") + "audit: {verify: 7 days}\n"
    )
    (specs / "queries" / "broken.yaml").write_text("name: broken\ndatset: trips\n")
    (specs / "queries" / "garbled.yaml").write_text("name: [\n")
    (specs / "queries" / "two words é.yaml").write_text(QUERY)
    (specs / "queries" / "chance.yaml").write_text(QUERY.replace("name: fares", "name: chance\nwhere: rand() < 1"))
    (specs / "datasets" / "odd.yaml").write_text("name: other\n")
    joins = QUERY[: QUERY.index("schedule:")]
    for name, pool, gate in (("asks", "town", "ask"), ("lost", "wrong", "repair")):
        text = joins.replace("name: fares", f"name: {name}")
        (specs / "queries" / f"{name}.yaml").write_text(f"{text}shed: {{pool: {pool}}}\ngate: {{on_failure: {gate}}}\n")
    town = "name: town\ndataset: trips\nschedule: {every: 1 hour}\nshed: {policy: uniform, budget: {fraction: 0.1}}\n"
    (specs / "pools" / "town.yaml").write_text(town)
    (specs / "pools" / "wrong.yaml").write_text(town.replace("name: town", "name: wrong").replace("0.1", "7"))
    return parse(specs)


@pytest.mark.airflow
@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_failed_gate_leads_where_the_specification_says(way: str, odd_ones: dict[str, Any]) -> None:
    tasks = odd_ones["dags"][f"query_{way}_query"]["tasks"]
    assert {name: tasks[name]["downstream"] for name in WAYS[way]} == WAYS[way]


@pytest.mark.airflow
def test_a_bad_file_shows_under_its_own_name_and_takes_no_other_down(odd_ones: dict[str, Any]) -> None:
    assert odd_ones["errors"] == {}
    dags = odd_ones["dags"]
    for dag_id, word in (
        ("query_broken", "datset"), ("query_garbled", "YAML"), ("ingest_odd", "columns"),
        ("query_two_words__", "rename the file to fares.yaml"), ("query_chance", "another value in a re-run"),
    ):  # fmt: skip
        assert dags[dag_id]["tags"] == ["invalid"]
        assert word in dags[dag_id]["description"]
        assert word in dags[dag_id]["doc"]
    assert "query" in dags["query_fares"]["tags"]
    assert "ingest" in dags["ingest_trips"]["tags"]


@pytest.mark.airflow
@pytest.mark.parametrize("number", range(len(LENGTHS)), ids=LENGTHS)
def test_any_length_of_slot_gives_whole_aligned_intervals(number: int, odd_ones: dict[str, Any]) -> None:
    dag = odd_ones["dags"][f"ingest_every_{number}"]
    length = parse_duration(LENGTHS[number]) / 1_000_000
    assert dag["length"] == length
    assert dag["start"] % length == 0


@pytest.mark.airflow
def test_a_query_is_verified_where_it_asks_for_it_and_nowhere_else(
    odd_ones: dict[str, Any], parsed: dict[str, Any]
) -> None:
    found = {dag_id: dag for dag_id, dag in odd_ones["dags"].items() if dag_id.startswith("verify_")}
    asked = {f"verify_{name}" for name, query in load_catalog(Settings().specs).queries.items() if query.audit.verify}
    assert {dag_id for dag_id in parsed["dags"] if dag_id.startswith("verify_")} == asked
    assert set(found) == {"verify_checked"}
    dag = found["verify_checked"]
    assert dag["tags"] == ["trips", "verify"]
    assert dag["doc"].startswith("# Verification of checked")
    assert len(dag["doc"]) > 200
    assert (dag["active"], dag["catchup"]) == (1, False)
    assert dag["length"] == parse_duration("7 days") / 1_000_000
    assert dag["start"] % dag["length"] == 0
    (task,) = dag["tasks"].values()
    assert (task["type"], task["pool"], task["outlets"]) == ("SparkJob", "spark", [])
    assert {"--query", "checked", "--from", "--to", "--sample", "--run-id"} <= set(task["arguments"])


@pytest.mark.airflow
def test_the_runs_of_a_verification_share_out_the_slots_and_leave_the_last_one_time(airflow_home: Settings) -> None:
    from factories.verify import span_of_run

    query = QuerySpec.model_validate(yaml.safe_load(QUERY + "audit: {verify: 7 days}\n"))
    week = parse_duration("7 days")
    ends = [2900 * week + place * week for place in range(4)]
    spans = []
    for end in ends:
        run = SimpleNamespace(data_interval_start=as_datetime(end - week), data_interval_end=as_datetime(end))
        spans.append(tuple(map(parse_instant, span_of_run(query, run))))
    for end, (first, last) in zip(ends, spans, strict=True):
        assert (first, last) == (end - week - query.timeline.slot, end - query.timeline.slot)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(spans))
    by_hand = SimpleNamespace(data_interval_start=None, data_interval_end=None, run_after=as_datetime(ends[0] + 7))
    assert tuple(map(parse_instant, span_of_run(query, by_hand))) == spans[0]
