"""Verification through the real pipeline: rows ingested, slots published, and then computed exactly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from expectations.verdict import Check, Verdict
from infra.airflow_home import SHORT_JOBS
from jobs.cli.application import main as sluice
from jobs.ingest import ingest
from jobs.run_slot import run_slot
from jobs.verify import JudgedSlot, main, sampled, verify
from shedding.compare.promise import APPROVED, PASSED, REPAIRED
from shedding.config import Settings
from shedding.errors import FINAL_CODE, DataError
from shedding.planning.audit_plan import AuditPlan
from shedding.spec import Catalog, load_catalog
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_instant
from shedding.tables import Table
from tests.chaos.city import HOUR, HOURS, MENDED, START, query
from tests.small_specs import generated_trips, small_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPAN = (START, START + HOURS * HOUR)
INTERVAL = ["--from", format_instant(SPAN[0]), "--to", format_instant(SPAN[1])]
KINDS = ("published", "results", "runs", "verdicts")
FARES = query("fares", {"mean_relative_error": 2.0, "p95_relative_error": 4.0, "missing_keys": None})
WIDENED = query("widened", {"worst_relative_error": 0.001, "missing_keys": None, "on_failure": "widen"})
TOP = query("dearest", {"mean_relative_error": 2.0, "missing_keys": None}, top={"by": "mean_fare", "n": 3})
OTHERS = ("mended_keys", "widened", "dearest")
QUERIES = (FARES, {**MENDED, "audit": {"one_in": 4, "verify": "1 day"}}, WIDENED, TOP)


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Catalog]:
    """Four hours of trips; of one query all slots but the first are published, of each other one unaudited slot."""
    trips = generated_trips(rows_per_hour=625, every="1 hour")
    busy = {"at": format_instant(START + 2 * HOUR), "lasts": f"{HOURS} hours", "factor": 4}
    trips["source"]["parameters"]["bursts"] = [busy]
    directory = Path(tmp_path_factory.mktemp("city"))
    settings = small_world(directory, [trips], QUERIES, master="local[2]", java_options=SHORT_JOBS)
    catalog = load_catalog(settings.specs)
    assert not catalog.problems
    ingest(spark, settings, catalog, "trips", interval=SPAN)
    slots = {"fares": range(START + HOUR, SPAN[1], HOUR), **{name: unaudited(name)[:1] for name in OTHERS}}
    for name, own in slots.items():
        for slot in own:
            outcome = run_slot(lambda: spark, settings, catalog, name, slot, f"run {slot}")
            assert outcome.published, str(outcome)
    return settings, catalog


def unaudited(name: str) -> list[int]:
    """The hours that the query has no audit of."""
    plan = AuditPlan(HOUR, 4, name, first=START)
    return [slot for slot in range(*SPAN, HOUR) if not plan.is_audited(slot)]


@pytest.fixture
def untouched(city: tuple[Settings, Catalog]) -> Iterator[None]:
    """Whatever is verified, nothing that was published or judged has a new version."""
    settings, catalog = city

    def versions() -> dict[tuple[str, str], int | None]:
        places = [(kind, name) for kind in KINDS for name in catalog.queries]
        return {place: Table(settings.table(*place)).version() for place in places}

    before = versions()
    yield
    assert versions() == before


def command(settings: Settings, *words: str) -> int:
    return sluice(["--warehouse", settings.warehouse, "--specs", str(settings.specs), "verify", *words])


def records(settings: Settings, name: str) -> list[dict[str, Any]]:
    return Table(settings.table("verifications", name)).read().to_pylist()


def as_json(text: str) -> list[dict[str, Any]]:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


@pytest.mark.spark
@pytest.mark.usefixtures("untouched")
def test_the_record_is_that_of_pandas_on_the_raw_rows(
    city: tuple[Settings, Catalog], capsys: pytest.CaptureFixture[str]
) -> None:
    settings, _ = city
    assert command(settings, "fares", *INTERVAL, "--format", "json") == 0
    lines = as_json(capsys.readouterr().out)
    rows = [row for row in records(settings, "fares") if row["measure"] == "mean_fare"]
    raw = Table(settings.table("raw", "trips")).read(columns=["event_time", "route", "fare_amount"]).to_pandas()
    published = Table(settings.table("published", "fares")).read().to_pandas()
    assert len(rows) >= 4
    for row in rows:
        inside = raw[(raw.event_time >= row["window_start"]) & (raw.event_time < row["window_end"])]
        truth = inside.groupby("route").fare_amount.mean()
        shown = published[published.window_start == pd.Timestamp(row["window_start"])].set_index("route")
        errors = (shown.mean_fare.reindex(truth.index) / truth - 1).abs().fillna(1.0)
        assert row["mean_truth"] == pytest.approx(errors.mean())
        assert row["p95_truth"] == pytest.approx(np.quantile(errors, 0.95))
        assert row["worst_truth"] == pytest.approx(errors.max())
        shed = shown[~shown.is_exact]
        covered = (shed.mean_fare_low <= truth[shed.index]) & (truth[shed.index] <= shed.mean_fare_high)
        assert (row["estimates"], row["covered"]) == (len(shed), covered.sum())
        assert (row["verdict"], row["revision"]) == (PASSED, 1)
        assert row["mean_estimate"] > 0
        assert (row["mean_limit"], row["p95_limit"], row["worst_limit"]) == (2.0, 4.0, None)
    assert {row["slot"] for row in rows} == {slot_name(slot) for slot in unaudited("fares")}
    limits = [line for line in lines if line["part"] == "limit"]
    assert {(line["measure"], line["group"], line["risk"]) for line in limits} == {
        ("mean_fare", "mean", 0.05), ("mean_fare", "p95", 0.05)
    }  # fmt: skip
    assert {line["windows"] for line in limits} == {len(rows)}
    assert all(line["kept"] for line in limits)
    assert {line["part"] for line in lines} == {"limit", "coverage", "hour", "size", "verdict"}


@pytest.mark.spark
@pytest.mark.usefixtures("untouched")
def test_a_slot_published_after_repair_counts_as_such_and_one_computed_exactly_not_at_all(
    city: tuple[Settings, Catalog], capsys: pytest.CaptureFixture[str]
) -> None:
    settings, _ = city
    assert command(settings, "mended_keys", *INTERVAL, "--format", "csv") == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    kinds = {line["group"]: int(line["windows"]) for line in lines if line["part"] == "verdict"}
    assert kinds[REPAIRED] > 0
    mended = [row for row in records(settings, "mended_keys") if row["verdict"] == REPAIRED]
    exact = sum(row["keys"] - row["estimates"] for row in mended if row["measure"] == "mean_fare")
    assert exact > 0, "the repaired keys are no estimates"

    assert command(settings, "widened", *INTERVAL) == 0
    said = capsys.readouterr().out
    assert "0 slots of widened computed exactly; " in said
    assert "published exactly" in said
    assert not Table(settings.table("verifications", "widened")).exists()


@pytest.mark.spark
@pytest.mark.usefixtures("untouched")
def test_of_a_query_with_top_the_published_keys_are_compared(
    city: tuple[Settings, Catalog], spark: SparkSession
) -> None:
    settings, catalog = city
    found = verify(lambda: spark, settings, catalog, "dearest", SPAN, "check")
    assert found.slots > 0
    rows = found.rows.to_pylist()
    assert {row["keys"] for row in rows} == {3}
    assert {row["missing_keys"] for row in rows} == {0}
    assert {row["is_exact"] for row in rows if row["measure"] == "trips"} == {True}
    assert all(0 < row["worst_truth"] < 1 for row in rows if row["measure"] == "mean_fare")


@pytest.mark.spark
@pytest.mark.usefixtures("untouched")
def test_verifying_again_gives_the_same_record_and_a_sample_is_a_part_of_it(
    city: tuple[Settings, Catalog], spark: SparkSession
) -> None:
    settings, catalog = city

    def without_time(table: pa.Table) -> list[dict[str, Any]]:
        return table.drop_columns(["verified_at"]).to_pylist()

    whole = verify(lambda: spark, settings, catalog, "fares", SPAN, "one")
    again = verify(lambda: spark, settings, catalog, "fares", SPAN, "two")
    assert without_time(again.rows) == without_time(whole.rows)
    part = verify(lambda: spark, settings, catalog, "fares", SPAN, "three", sample=1)
    assert (part.slots, part.not_sampled) == (1, whole.slots - 1)
    assert f"{whole.slots - 1} not in the sample" in str(part)
    slot = part.rows["slot"][0].as_py()
    assert without_time(part.rows) == [row for row in without_time(whole.rows) if row["slot"] == slot]
    assert len(records(settings, "fares")) == whole.rows.num_rows


@pytest.mark.spark
def test_a_published_value_that_was_tampered_with_is_found_over_its_limit(
    city: tuple[Settings, Catalog], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _ = city
    table = Table(settings.table("published", "fares"), ("slot",))
    slot = max(row["slot"] for row in records(settings, "fares"))
    rows = table.read([("slot", "=", slot)])
    value = pc.multiply(rows["mean_fare"], 9.0)
    forged = rows.set_column(rows.column_names.index("mean_fare"), "mean_fare", value)
    table.replace(forged, {"slot": slot}, {})
    try:
        assert command(settings, "fares", *INTERVAL) == 1
        said = capsys.readouterr()
        assert "windows were over the mean limit 2 of mean_fare" in said.err
        assert "Published windows truly over a limit" in said.out
        over = [row for row in records(settings, "fares") if row["mean_over"]]
        assert {row["slot"] for row in over} == {slot}
        assert {row["measure"] for row in over} == {"mean_fare"}
        for name, text in settings.environment().items():
            monkeypatch.setenv(name, text)
        words = ["--query", "fares", "--from", INTERVAL[1], "--to", INTERVAL[3], "--sample", "0", "--run-id", "dag"]
        assert main(words) == FINAL_CODE
        assert "PromiseError: " in capsys.readouterr().err
    finally:
        table.replace(rows, {"slot": slot}, {})
    assert command(settings, "fares", *INTERVAL) == 0
    assert not [row for row in records(settings, "fares") if row["mean_over"]]


@pytest.mark.spark
def test_slots_of_other_rows_or_another_specification_are_left_out_and_told(
    city: tuple[Settings, Catalog], spark: SparkSession
) -> None:
    settings, catalog = city
    spec = catalog.query("fares")
    own = unaudited("fares")
    shed = spec.shed.model_copy(update={"goal": "variance"})
    other = replace(catalog, queries={"fares": spec.model_copy(update={"shed": shed})})
    found = verify(lambda: spark, settings, other, "fares", SPAN, "x")
    assert found.left_out == {"audited": 3 - len(own), "computed under another specification": len(own)}
    assert (found.slots, found.lines) == (0, [])
    runs, where = Table(settings.table("runs", "fares"), ("slot",)), {"slot": slot_name(own[0])}
    rows = runs.read([("slot", "=", slot_name(own[0]))])
    column = rows.column_names.index("raw_fingerprint")
    runs.replace(rows.set_column(column, "raw_fingerprint", pa.array(["f"] * rows.num_rows)), where, {})
    found = verify(lambda: spark, settings, catalog, "fares", SPAN, "x")
    runs.replace(rows, where, {})
    assert found.left_out == {"audited": 3 - len(own), "whose rows have changed since": 1}


def test_asking_for_verification_makes_no_published_slot_one_of_another_specification(tmp_path: Path) -> None:
    specs = small_world(tmp_path, [generated_trips(100, "1 hour")], [FARES, MENDED]).specs
    plain = load_catalog(specs).query("mended_keys")
    asked = plain.model_copy(update={"audit": plain.audit.model_copy(update={"verify": 7 * 24 * HOUR})})
    assert asked.audit.verify is not None
    assert spec_fingerprint(asked, "uniform") == spec_fingerprint(plain, "uniform")


def judged(slot: int, attempt: int = 0, *checks: Check) -> JudgedSlot:
    verdict = Verdict("fares", slot, "run", attempt, "uniform", 1, 1, checks)
    return JudgedSlot(slot, verdict, 1, 1, {})


def test_a_sample_depends_on_the_slots_alone_and_smaller_ones_are_parts_of_larger_ones() -> None:
    slots = [judged(START + i * HOUR) for i in range(200)]
    chosen = [one.slot for one in sampled("fares", slots, 20)]
    assert [one.slot for one in sampled("fares", slots[::-1], 20)] == chosen == sorted(chosen)
    assert {one.slot for one in sampled("fares", slots, 7)} < set(chosen)
    assert chosen != [one.slot for one in sampled("other", slots, 20)]
    assert chosen != [START + i * HOUR for i in range(20)]
    assert sampled("fares", slots, None) == slots


def test_the_kind_of_verdict_is_that_of_the_publication() -> None:
    failed = Check("mean_relative_error", 0.9, 0.1, "fail", False, "estimated", "too wide")
    approval = Check("approval", None, None, "fail", True, "structural", "approved by Ada")
    warned = replace(failed, severity="warn")
    assert judged(0).kind == judged(0, 0, warned).kind == PASSED
    assert judged(0, 1).kind == REPAIRED
    assert judged(0, 0, failed, approval).kind == APPROVED


def test_a_query_that_published_nothing_says_what_to_run(tmp_path: Path) -> None:
    settings = small_world(tmp_path, [generated_trips(100, "1 hour")], [FARES])
    catalog = load_catalog(settings.specs)
    with pytest.raises(DataError, match="nothing of fares is published; run `sluice run fares"):
        verify(pytest.fail, settings, catalog, "fares", SPAN, "x")


@pytest.mark.parametrize("words", [["--sample", "0"], ["--sample", "few"], []])
def test_what_cannot_be_verified_is_refused_before_any_work(tmp_path: Path, words: list[str]) -> None:
    settings = small_world(tmp_path, [generated_trips(100, "1 hour")], [FARES])
    if not words:
        assert command(settings, "nothing", *INTERVAL) == 2
        return
    with pytest.raises(SystemExit, match="2"):
        command(settings, "fares", *INTERVAL, *words)
