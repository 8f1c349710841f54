"""Parquet as a stranger delivers it: each file ends in rows, in quarantine with the true reason, or in a refusal."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.ingest import IngestReport, ingest
from shedding.config import Settings
from shedding.errors import SourceError
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.batch import BatchReport, store_batch
from shedding.spec import load_catalog
from tests.small_specs import write_specs

pytestmark = pytest.mark.spark

RIDES = """
name: rides
source: {kind: parquet, path: "*.parquet"}
schedule: {every: 1 hour}
event_time: {column: at}
columns:
  - {name: at, type: timestamp}
  - {name: seats, type: int}
  - {name: fare, type: double}
"""
NOON = dt.datetime(2024, 7, 1, 12)
MANY = 20_000


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"specs": write_specs(tmp_path / "specs", [RIDES], [])})


def put(settings: Settings, name: str, rows: int = 1, **columns: Any) -> Path:
    """A file of rides, with these columns in place of sound ones, or without those that are None."""
    sound = {"at": pa.array([NOON] * rows), "seats": pa.array([3] * rows, pa.int32()), "fare": pa.array([1.5] * rows)}
    table = pa.table({key: value for key, value in (sound | columns).items() if value is not None})
    pq.write_table(table, settings.landing / f"{name}.parquet", write_page_checksum=True)
    return settings.landing / f"{name}.parquet"


def run(spark: SparkSession, settings: Settings, **how: Any) -> IngestReport:
    return ingest(spark, settings, load_catalog(settings.specs), "rides", **how)


def refusal(spark: SparkSession, settings: Settings) -> str:
    with pytest.raises(SourceError) as error:
        run(spark, settings)
    return "; ".join(error.value.each) or str(error.value)


def visible(settings: Settings) -> dict[str, tuple[int, int, int]]:
    """Of each visible file the rows read, kept and quarantined."""
    found = Arrivals.load(settings, "rides").visible
    return {source.name: (source.rows_read, source.kept, source.quarantined) for source in found}


def raw(spark: SparkSession, settings: Settings) -> list[Any]:
    return spark.read.format("delta").load(settings.table("raw", "rides")).collect()


def quarantined(spark: SparkSession, settings: Settings) -> set[tuple[Any, ...]]:
    rows = spark.read.format("delta").load(settings.table("quarantine", "rides")).collect()
    return {(row["file"], row["line"], row["column"], row["reason"]) for row in rows}


def test_files_that_are_cut_or_overwritten_inside_leave_no_row_and_their_neighbours_stay(
    spark: SparkSession, own: Settings
) -> None:
    numbers = pa.array([float(number) for number in range(MANY)])
    whole = put(own, "good", MANY, fare=numbers).read_bytes()
    (own.landing / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (own.landing / "text.parquet").write_bytes(b"at,seats,fare\n2024-07-01,3,1.5\n")
    (own.landing / "hole.parquet").write_bytes(whole[:5000] + b"\xde\xad\xbe\xef" * 500 + whole[7000:])
    (own.landing / "gone.parquet").write_bytes(whole[:5000] + whole[9000:])

    words = refusal(spark, own)

    assert "cut.parquet is no Parquet file or is cut short" in words
    assert "text.parquet is no Parquet file or is cut short" in words
    assert "hole.parquet is damaged inside (" in words
    assert "gone.parquet is damaged inside (" in words
    assert words.count("deliver it again") == 4
    assert visible(own) == {"good.parquet": (MANY, MANY, 0)}
    assert len(raw(spark, own)) == MANY
    assert run(spark, own, files=[own.landing / "good.parquet"]).skipped == 1


def test_columns_that_spark_cannot_tell_apart_or_find_are_refused_by_name(spark: SparkSession, own: Settings) -> None:
    put(own, "alike", Seats=pa.array([4], pa.int32()))
    put(own, "upper", at=None, seats=None, AT=[NOON], SEATS=pa.array([4], pa.int32()))

    words = refusal(spark, own)

    assert "alike.parquet has the column 'Seats' and 'seats' more than once; rename or remove one of them" in words
    assert (
        "upper.parquet lacks the declared columns at, seats; it has AT, SEATS, fare; fix the file, or `source:`"
        in words
    )
    assert visible(own) == {}


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("seats", pa.array([{"front": 1}]), "struct<front:bigint>"),
        ("seats", pa.array([["1", "2"]]), "array<string>"),
        ("seats", pa.array([NOON]), "timestamp_ntz"),
        ("fare", pa.array([NOON.date()]), "date"),
        ("fare", pa.array([b"1.5"]), "binary"),
        ("at", pa.array([1719835200]), "bigint"),
    ],
)
def test_what_is_no_value_of_the_declared_type_is_refused_with_the_files_that_have_it(
    spark: SparkSession, own: Settings, column: str, value: pa.Array, kind: str
) -> None:
    for name in ("one", "two"):
        put(
            own, name, **{column: value, "fare" if column == "seats" else "seats": pa.array([len(name) + ord(name[0])])}
        )
    put(own, "sound")

    words = refusal(spark, own)

    assert (
        f"one.parquet (and two.parquet, of the same columns): column {column} is {kind}, which cannot be read" in words
    )
    assert "declare another type in datasets/rides.yaml, or fix the file" in words
    assert visible(own) == {"sound.parquet": (1, 1, 0)}


def test_numbers_and_times_of_other_kinds_are_read_as_declared_or_quarantined_by_row(
    spark: SparkSession, own: Settings
) -> None:
    put(own, "nanos", at=pa.array([NOON], pa.timestamp("ns")))
    put(own, "zoned", at=pa.array([NOON], pa.timestamp("ns", "Europe/Paris")))
    put(own, "millis", at=pa.array([NOON], pa.timestamp("ms")))
    put(own, "decimal", 2, fare=pa.array([Decimal("2.25"), None], pa.decimal128(38, 2)))
    put(own, "wide", 3, seats=pa.array([7, 2**31, None]))
    put(own, "double", 4, seats=pa.array([5.0, 3.7, float("nan"), 1e300]))
    put(own, "endless", 2, fare=pa.array([float("inf"), float("nan")]))

    run(spark, own)

    assert visible(own) == {
        "nanos.parquet": (1, 1, 0), "zoned.parquet": (1, 1, 0), "millis.parquet": (1, 1, 0),
        "decimal.parquet": (2, 2, 0), "wide.parquet": (3, 2, 1), "double.parquet": (4, 2, 2),
        "endless.parquet": (2, 1, 1),
    }  # fmt: skip
    assert quarantined(spark, own) == {
        ("wide.parquet", 2, "seats", "not a whole number that fits 32 bits: 2147483648"),
        ("double.parquet", 2, "seats", "not a whole number that fits 32 bits: 3.7"),
        ("double.parquet", 4, "seats", "not a whole number that fits 32 bits: 1.0E300"),
        ("endless.parquet", 1, "fare", "not a finite number: Infinity"),
    }
    rows = raw(spark, own)
    assert {row["event_time"] for row in rows} == {NOON}
    assert sorted(row["fare"] for row in rows if row["fare"] is not None) == [1.5] * 7 + [2.25]


def test_columns_of_nothing_and_files_of_no_rows_are_known_and_change_nothing(
    spark: SparkSession, own: Settings
) -> None:
    put(own, "null", 2, seats=pa.nulls(2))
    put(own, "typed", 2, seats=pa.nulls(2, pa.int32()), fare=pa.nulls(2, pa.float64()))
    put(own, "timeless", 2, at=pa.nulls(2, pa.timestamp("us")))
    put(own, "empty", 0)
    schema = pq.read_schema(own.landing / "empty.parquet")
    pq.ParquetWriter(own.landing / "groupless.parquet", schema.append(pa.field("more", pa.int8()))).close()

    report = run(spark, own)

    assert (report.read, report.kept, report.quarantined) == (6, 4, 2)
    assert visible(own)["empty.parquet"] == visible(own)["groupless.parquet"] == (0, 0, 0)
    reason = "missing or unreadable event time"
    assert quarantined(spark, own) == {("timeless.parquet", line, "at", reason) for line in (1, 2)}
    again = run(spark, own)
    assert (again.read, again.skipped) == (0, 5)


def test_parquet_of_pandas_is_read_and_types_that_say_nothing_refused(spark: SparkSession, own: Settings) -> None:
    put(own, "nanos", at=pa.array([NOON], pa.timestamp("ns")))
    put(own, "zoned", at=pa.array([NOON], pa.timestamp("ns", "UTC")), seats=pa.array([4], pa.int32()))
    put(own, "number", at=pa.array([1719835200]))
    put(own, "half", more=pa.array([1.5], pa.float32()).cast(pa.float16()))
    put(own, "exact", 2, seats=pa.array([Decimal("5.0"), Decimal("3.7")], pa.decimal128(5, 1)))

    words = refusal(spark, own)

    assert "number.parquet: column at is bigint, which cannot be read as the declared timestamp" in words
    assert "half.parquet has a column that Spark cannot read" in words
    assert {(row["seats"], row["event_time"]) for row in raw(spark, own)} == {(3, NOON), (4, NOON), (5, NOON)}
    assert quarantined(spark, own) == {("exact.parquet", 2, "seats", "not a whole number that fits 32 bits: 3.7")}


def test_columns_are_read_by_whatever_name_the_file_has_for_them(spark: SparkSession, own: Settings) -> None:
    spec = RIDES.replace("name: seats,", 'name: seats, source: "a`b.c",').replace(
        "name: fare,", 'name: fare, source: "x, {}",'
    )
    own = own.model_copy(update={"specs": write_specs(own.landing / "specs", [spec], [])})
    put(own, "odd", seats=None, fare=None, **{"a`b.c": pa.array([4], pa.int32()), "x, {}": pa.array([2.5])})

    assert run(spark, own).kept == 1
    assert [(row["seats"], row["fare"]) for row in raw(spark, own)] == [(4, 2.5)]


def test_timestamps_of_hive_and_of_pandas_are_read_side_by_side(spark: SparkSession, own: Settings) -> None:
    put(own, "pandas", at=pa.array([NOON], pa.timestamp("ns")))
    hive = pa.table({"at": [NOON], "seats": pa.array([3], pa.int32()), "fare": [1.5]})
    pq.write_table(hive, own.landing / "hive.parquet", use_deprecated_int96_timestamps=True)

    assert run(spark, own).kept == 2
    assert {row["event_time"] for row in raw(spark, own)} == {NOON}


def test_files_that_fail_only_together_are_taken_in_one_by_one(
    spark: SparkSession, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(own, "a", rows=1)
    put(own, "b", rows=2)

    def alone(session: Any, settings: Any, dataset: Any, batch: list[Any], *more: Any) -> BatchReport:
        if len(batch) > 1:
            raise PySparkException("they do not go together")
        return store_batch(session, settings, dataset, batch, *more)

    monkeypatch.setattr("jobs.ingest.store_batch", alone)
    run(spark, own)
    assert visible(own) == {"a.parquet": (1, 1, 0), "b.parquet": (2, 2, 0)}
