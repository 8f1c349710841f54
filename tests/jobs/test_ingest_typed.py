"""Parquet, baskets, generators and layouts into raw: types that drift, columns too many, intervals, ranks."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs.ingest import IngestReport, ingest
from shedding.config import Settings
from shedding.errors import NotReadyError, SourceError
from shedding.ingest.arrivals import HOUR, Arrivals
from shedding.ingest.key_counts import read_counts
from shedding.ingest.ranked_layout import rank_limit
from shedding.ingest.raw_rows import read_raw
from shedding.spec import load_catalog
from shedding.spec.keyset import keyset_of
from shedding.spec.times import parse_instant
from shedding.stretches import Stretches

pytestmark = pytest.mark.spark

RIDES = """
name: rides
source: {kind: parquet, path: "rides*.parquet"}
schedule: {every: 1 day}
event_time: {column: at, zone: Europe/Berlin}
columns:
  - {name: at, type: timestamp, required: true}
  - {name: seats, type: int, min: 0}
  - {name: fee, source: ehail_fee, type: double}
"""
BASKETS = """
name: shop
source: {kind: transactions, path: "*.dat"}
schedule: {every: 1 hour}
event_time: {arrival: {starts: "2024-01-01T00:00:00Z", per_second: 2}}
columns:
  - {name: transaction, type: bigint, required: true}
  - {name: item, required: true, matches: "[0-9]+"}
"""
TAXI = """
name: cabs
source: {kind: generator, generator: taxi, rows_per_hour: 1200, parameters: {keys: 40}}
schedule: {every: 1 hour}
event_time: {column: pickup_datetime}
partition: hour
layout: {kind: ranked, keys: [route], pane: 10 minutes}
columns:
  - {name: pickup_datetime, type: timestamp, required: true}
  - {name: route, required: true}
  - {name: fare_amount, type: double}
"""
QUERY = """
name: cab_fare
dataset: cabs
window: {size: 20 minutes, slide: 10 minutes}
group_by: [route]
measures: [{name: fare, agg: avg, column: fare_amount}]
schedule: {every: 1 hour}
shed: {budget: {fraction: 0.1}}
"""
START = parse_instant("2024-03-04T00:00:00Z")


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    specs = tmp_path / "specs"
    for kind in ("datasets", "queries", "functions"):
        (specs / kind).mkdir(parents=True)
    for name, text in (("rides", RIDES), ("shop", BASKETS), ("cabs", TAXI)):
        (specs / "datasets" / f"{name}.yaml").write_text(text)
    return settings.model_copy(update={"specs": specs})


def run(spark: SparkSession, settings: Settings, dataset: str, **how: object) -> IngestReport:
    return ingest(spark, settings, load_catalog(settings.specs), dataset, **how)  # type: ignore[arg-type]


def _columns_with_statistics(table: str) -> set[str]:
    """The columns of which every file of a table has least and largest value in the log."""
    files = pa.table(DeltaTable(table).get_add_actions(flatten=True))
    noted = {name.removeprefix("min.") for name in files.column_names if name.startswith("min.")}
    return {name for name in noted if not files[f"min.{name}"].null_count and not files[f"max.{name}"].null_count}


def test_parquet_with_drifting_types_and_times_without_zone(spark: SparkSession, own: Settings) -> None:
    noon = dt.datetime(2024, 7, 1, 12)
    put = own.landing / "rides1.parquet"
    pq.write_table(pa.table({"at": [noon, None], "seats": [2, 3], "ehail_fee": pa.array([1, 2], pa.int32())}), put)
    columns = {"at": [noon, noon], "seats": [1.0, 1.5], "ehail_fee": [0.5, float("nan")], "extra": ["x", "y"]}
    pq.write_table(pa.table(columns), own.landing / "rides2.parquet")
    nothing = {"at": [noon.replace(tzinfo=dt.UTC)], "seats": [9], "ehail_fee": pa.nulls(1)}
    pq.write_table(pa.table(nothing), own.landing / "rides3.parquet")

    report = run(spark, own, "rides")

    assert (report.read, report.kept, report.quarantined) == (5, 3, 2)
    rows = spark.read.format("delta").load(own.table("raw", "rides")).orderBy("seats").collect()
    assert [(row["seats"], row["fee"], row["event_time"].hour) for row in rows] == [
        (1, 0.5, 10),
        (2, 1.0, 10),
        (9, None, 12),
    ]
    bad = spark.read.format("delta").load(own.table("quarantine", "rides")).collect()
    assert {(row["file"], row["line"], row["column"], row["reason"]) for row in bad} == {
        ("rides1.parquet", 2, "at", "missing"),
        ("rides2.parquet", 2, "seats", "not a whole number that fits 32 bits: 1.5"),
    }


def test_baskets_are_exploded_and_arrive_in_the_order_of_their_lines(spark: SparkSession, own: Settings) -> None:
    (own.landing / "a.dat").write_text("1 2 3\n\n7\n4,x\n")

    report = run(spark, own, "shop")

    assert (report.read, report.kept, report.quarantined) == (6, 5, 1)
    rows = spark.read.format("delta").load(own.table("raw", "shop")).collect()
    found = sorted((row["transaction"], row["item"], row["event_time"].microsecond) for row in rows)
    assert found == [(1, "1", 0), (1, "2", 0), (1, "3", 0), (3, "7", 0), (4, "4", 500_000)]
    assert len({row["u"] for row in rows}) == 5
    assert _columns_with_statistics(own.table("raw", "shop")) == {"event_time", "u", "_source"}


def test_a_generator_is_ingested_once_counted_for_its_queries_and_ranked(spark: SparkSession, own: Settings) -> None:
    catalog = load_catalog(own.specs)
    with pytest.raises(SourceError, match="give an interval"):
        run(spark, own, "cabs")
    with pytest.raises(NotReadyError, match="has no rows yet"):
        read_raw(spark, own, catalog.dataset("cabs"), Stretches.of((START, START + HOUR)), Arrivals.load(own, "cabs"))

    first = run(spark, own, "cabs", interval=(START, START + HOUR))
    (own.specs / "queries" / "cab_fare.yaml").write_text(QUERY)
    catalog = load_catalog(own.specs)
    keyset = keyset_of(catalog.query("cab_fare"))
    with pytest.raises(NotReadyError, match="is not counted"):
        read_counts(own, keyset, Stretches.of((START, START + HOUR)), Arrivals.load(own, "cabs"))
    second = run(spark, own, "cabs", interval=(START, START + 3 * HOUR))  # two new hours, and the first caught up

    assert (len(first.sources), len(second.sources), second.watermark) == (1, 2, START + 3 * HOUR)
    arrivals = Arrivals.load(own, "cabs")
    assert arrivals.rows(Stretches.of((START, START + 3 * HOUR))) == first.kept + second.kept
    for low, high in ((START, START + HOUR), (START + HOUR, START + 3 * HOUR)):
        counts = read_counts(own, keyset, Stretches.of((low, high)), arrivals)
        rows = read_raw(spark, own, catalog.dataset("cabs"), Stretches.of((low, high)), arrivals)
        assert sum(counts["rows"].to_pylist()) == rows.count() == arrivals.rows(Stretches.of((low, high)))
        assert counts["rows"].to_pylist() == counts["rows_fare_amount"].to_pylist()
        assert len(set(zip(counts["route"].to_pylist(), counts["pane_start"].to_pylist(), strict=True))) == len(counts)
    ranks = rows.selectExpr("route", "floor(unix_micros(event_time) / 600000000) AS pane", "u", "_rank").toPandas()
    least = ranks.groupby(["pane", "route"]).u.min()
    assert (
        least.to_list() == counts.sort_by([("pane_start", "ascending"), ("route", "ascending")])["least_u"].to_pylist()
    )
    sizes = ranks.groupby(["route", "pane"]).u.transform("size")
    assert (ranks["_rank"] == (ranks["u"] * sizes).astype(int) + 1).all()
    assert _columns_with_statistics(own.table("raw", "cabs")) == {"event_time", "u", "_source", "_rank"}
    kept = ranks[ranks["u"] < 0.2]
    assert (kept["_rank"] <= [rank_limit(0.2, size) for size in sizes[kept.index]]).all()
