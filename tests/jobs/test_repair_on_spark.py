"""Repair of slots without an exact leg: only the failing keys' rows are read, and the bits are the exact leg's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from expectations.gate import judge
from jobs.aggregate import aggregate
from jobs.ingest import ingest
from jobs.publish import publish
from jobs.repair import repair
from shedding.answers.exact_keys import key_condition
from shedding.config import Settings
from shedding.planning.audit_plan import AuditPlan
from shedding.spec import Catalog, load_catalog
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.chaos.city import HOUR, HOURS, START, build_city

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def city(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Catalog]:
    settings = build_city(Path(tmp_path_factory.mktemp("city")))
    catalog = load_catalog(settings.specs)
    assert not catalog.problems
    ingest(spark, settings, catalog, "trips", interval=(START, START + HOURS * HOUR))
    return settings, catalog


def unaudited(query: str) -> int:
    plan = AuditPlan(HOUR, 4, query, first=START)
    return next(s for s in range(START + 2 * HOUR, START + HOURS * HOUR, HOUR) if not plan.is_audited(s))


def results(settings: Settings, query: str, slot: int, leg: str) -> dict[tuple[Any, str], dict[str, Any]]:
    rows = Table(settings.table("results", query)).read([("slot", "=", slot_name(slot)), ("leg", "=", leg)])
    return {(row["window_start"], row["route"]): row for row in rows.to_pylist()}


def test_failing_keys_are_mended_to_the_bits_of_the_exact_leg_and_the_others_stay(
    city: tuple[Settings, Catalog], spark: SparkSession
) -> None:
    settings, catalog = city
    slot, query = unaudited("mended_keys"), catalog.query("mended_keys")
    aggregate(spark, settings, catalog, "mended_keys", slot, "run")
    before = results(settings, "mended_keys", slot, "uniform")
    verdict = judge(settings, query, slot, "run")
    assert [check.name for check in verdict.failed] == ["worst_relative_error"]
    assert verdict.failed[0].kind == "estimated"
    report = repair(spark, settings, catalog, "mended_keys", slot, "run")
    assert not report.widened, report.why
    assert 0 < report.keys < 12
    after = results(settings, "mended_keys", slot, "uniform")
    mended = {key for _, key in after if after[_, key]["error_kind"] == "exact"}
    assert len(mended) == report.keys
    aggregate(spark, settings, catalog, "truth", slot, "run")
    truth = results(settings, "truth", slot, "exact")
    for place, row in after.items():
        if place[1] in mended:
            exact = truth[place]
            assert row["is_exact"]
            for column in ("mean_fare", "mean_fare_low", "trips", "population", "sampled_rows"):
                assert row[column] == exact[column], column
        else:
            assert row == before[place]
    rows = Table(settings.table("runs", "mended_keys")).read([("slot", "=", slot_name(slot))]).to_pylist()
    published = [row for row in rows if row["published"]]
    assert {row["repair_rows"] for row in published} == {report.rows}
    assert all(row["total_rows"] >= report.rows for row in published)
    assert report.rows < published[0]["slot_rows"]
    verdict = judge(settings, query, slot, "run", attempt=1)
    assert verdict.passed
    publish(settings, query, slot, verdict, "run")


def test_widening_publishes_every_key_exactly(city: tuple[Settings, Catalog], spark: SparkSession) -> None:
    settings, catalog = city
    slot, query = unaudited("widened"), catalog.query("widened")
    aggregate(spark, settings, catalog, "widened", slot, "run")
    assert not judge(settings, query, slot, "run").passed
    report = repair(spark, settings, catalog, "widened", slot, "run")
    assert report.widened
    assert report.rows > 0
    verdict = judge(settings, query, slot, "run", attempt=1)
    assert verdict.passed, verdict.reason
    publish(settings, query, slot, verdict, "run")
    aggregate(spark, settings, catalog, "truth", slot, "run")
    exact = results(settings, "truth", slot, "exact")
    rows = Table(settings.table("published", "widened")).read().to_pylist()
    assert {(row["window_start"], row["route"]): row["mean_fare"] for row in rows} == {
        place: row["mean_fare"] for place, row in exact.items()
    }
    assert all(row["is_exact"] and row["policy"] == "exact" for row in rows)


def test_the_condition_on_keys_takes_these_keys_and_no_others(spark: SparkSession) -> None:
    names = ["it's", "back\\slash", "percent %", "", None, "line\nbreak", "x", "${env:HOME}", "\\${spark.app.name}"]
    rows = pa.table({"k": names, "n": [1, 2, None, 4, 5, 6, 7, 8, 9]})
    frame = spark.createDataFrame(rows)
    for wanted in (["it's", "back\\slash"], [None], ["", None, "line\nbreak"], names[-2:]):
        condition = key_condition(pa.table({"k": pa.array(wanted, pa.string())}))
        assert {row.k for row in frame.where(condition).collect()} == set(wanted)
    both = key_condition(pa.table({"k": ["it's", "percent %", None], "n": [1, None, 4]}))
    assert {row.k for row in frame.where(both).collect()} == {"it's", "percent %"}
    assert frame.where(key_condition(pa.table({"k": pa.array([], pa.string())}))).count() == 0


def test_the_condition_tells_hundreds_of_keys_of_several_columns_apart(spark: SparkSession) -> None:
    moment = pa.timestamp("us", "UTC")
    number = pa.array(range(4000))
    rows = pa.table({
        "text": pa.array([None if i % 50 == 3 else f"k{i % 50}" for i in range(4000)]),
        "large": pa.array([None if i % 5 == 1 else i % 5 - 2**40 for i in range(4000)]),
        "small": pa.array([None if i % 7 == 1 else i % 7 for i in range(4000)], pa.int32()),
        "real": pa.array([[0.5, None, float("nan"), -1e300][i % 4] for i in range(4000)]),
        "yes": pa.array([[True, False, None][i % 3] for i in range(4000)]),
        "day": pa.array([[None, 19000, 19001][i % 3] for i in range(4000)], pa.int32()).cast(pa.date32()),
        "at": pa.array([None if i % 11 == 0 else i % 11 * 10**6 for i in range(4000)], moment),
        "bytes": pa.array([[None, b"", b"it's\x00\xff"][i % 3] for i in range(4000)]),
    })  # fmt: skip
    frame = spark.createDataFrame(rows.append_column("number", number))
    chosen = rows.slice(0, 300)
    wanted = {tuple(map(str, row.values())) for row in chosen.to_pylist()}
    everyone = [tuple(map(str, row.values())) for row in rows.to_pylist()]
    expected = {place for place, row in enumerate(everyone) if row in wanted}
    assert 300 <= len(expected) < 4000
    assert {row.number for row in frame.where(key_condition(chosen)).select("number").collect()} == expected
