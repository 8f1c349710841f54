"""No file of a battery of hostile ones ends an ingest: each is refused by its name or read, and the rest goes on."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.ingest import IngestReport, ingest
from jobs.maintain import maintain
from shedding.config import Settings
from shedding.errors import SourceError
from shedding.ingest import records
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.source_number import source_number
from shedding.spec import load_catalog
from shedding.tables import Table
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
  - {name: city}
  - {name: tags, type: "array<string>"}
"""
ODD = """
name: odd
source: {kind: parquet, path: "*.odd"}
schedule: {every: 1 hour}
event_time: {column: at}
columns:
  - {name: at, type: timestamp}
  - {name: origin, source: _source}
  - {name: place, source: _metadata}
  - {name: file, source: _file}
  - {name: line, source: _line, type: int}
"""
ORDERS = """
name: orders
source: {kind: csv, path: "*.csv*"}
schedule: {every: 1 hour}
event_time: {column: at}
columns:
  - {name: id, type: int, required: true}
  - {name: at, type: timestamp}
"""
BASKETS = """
name: baskets
source: {kind: transactions, path: "*.dat"}
schedule: {every: 1 hour}
event_time: {arrival: {starts: "2024-01-01T00:00:00Z", per_second: 2}}
columns:
  - {name: transaction, type: bigint}
  - {name: item, required: true, matches: "[0-9]+"}
"""
NOON = dt.datetime(2024, 7, 1, 12)
INTERNAL = ("_metadata", "_source", "_file", "_line", "_row_index", "_content", "_record", "_identity", "_idle", "_r0",
            "_verdict", "_seal", "_rank", "_mark", "u", "event_time", "event_date", "", " ", "a.b", "`", "at ", "größe",
            "file_path", "value", "col", "*", "x\ny")  # fmt: skip


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    specs = write_specs(tmp_path / "specs", [RIDES, ODD, ORDERS, BASKETS], [])
    return settings.model_copy(update={"specs": specs})


def run(spark: SparkSession, settings: Settings, dataset: str, **how: Any) -> IngestReport:
    return ingest(spark, settings, load_catalog(settings.specs), dataset, **how)


def texts(*values: bytes) -> pa.Array:
    """Texts of whatever bytes, as a careless writer stores them."""
    return pa.array(values, pa.binary()).view(pa.string())


def put(settings: Settings, name: str, how: dict[str, Any] | None = None, **columns: Any) -> None:
    count = len(next(iter(columns.values()))) if columns else 1
    sound = {
        "at": pa.array([NOON] * count),
        "seats": pa.array([3] * count, pa.int32()),
        "city": pa.array([name] * count),
        "tags": pa.array([["a"]] * count),
    }
    pq.write_table(pa.table(sound | columns), settings.landing / f"{name}.parquet", **(how or {}))


def visible(settings: Settings, dataset: str) -> dict[str, tuple[int, int, int]]:
    found = Arrivals.load(settings, dataset).visible
    return {source.name: (source.rows_read, source.kept, source.quarantined) for source in found}


def quarantined(settings: Settings, dataset: str) -> set[tuple[Any, ...]]:
    rows = Table(settings.table("quarantine", dataset)).read().to_pylist()
    return {(row["file"], row["line"], row["column"], row["reason"]) for row in rows}


def test_no_parquet_file_takes_another_with_it(spark: SparkSession, own: Settings) -> None:
    for number, names in enumerate([INTERNAL, INTERNAL[:1]]):
        put(own, f"named{number}", **{name: pa.array([number]) for name in names})
    for packing in ("gzip", "zstd", "lz4", "none"):
        put(own, packing, {"compression": packing})
    put(own, "brotli", {"compression": "brotli"})
    put(own, "partly", {"compression": {"at": "snappy", "seats": "zstd", "city": "zstd", "tags.list.element": "snappy",
                                        "more": "brotli"}}, more=pa.array([1]))  # fmt: skip
    put(own, "latin", city=texts(b"caf\xe9", b"Z\xc3\xbcrich", b"\xff" * 9000))
    put(own, "lists", tags=pa.array([[b"ok"], [b"\xc3"]], pa.list_(pa.binary())).view(pa.list_(pa.string())))
    noon = b"2024-07-01 12:00:00"
    put(own, "written", at=texts(noon, b"\xe9" + noon, noon), seats=texts(b"4", b"4", b"4\xe9"))
    put(own, "bytes", city=pa.array([b"x"]))
    put(own, "struct", seats=pa.array([{"a": 1}]))
    (own.landing / "header.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    (own.landing / "footer.parquet").write_bytes(
        (own.landing / "zstd.parquet").read_bytes()[:-12] + b"\xff" * 8 + b"PAR1"
    )
    (own.landing / "empty.parquet").touch()

    said: list[str] = []
    with pytest.raises(SourceError) as refusal:
        run(spark, own, "rides", progress=said.append)

    words = "; ".join(refusal.value.each) or str(refusal.value)
    assert "brotli.parquet is compressed by Brotli, which Spark does not read; write it with zstd, snappy" in words
    assert "damaged" not in words
    refused = {"brotli", "bytes", "struct", "header", "footer", "empty"}
    assert all(f"{name}.parquet" in words for name in refused)
    assert sum(text.startswith("refused: ") for text in said) == len(refused)
    everything = {file.name for file in own.landing.glob("*.parquet")}
    assert visible(own, "rides").keys() == everything - {f"{name}.parquet" for name in refused}
    reason = "not UTF-8 text"
    assert quarantined(own, "rides") == {
        ("latin.parquet", 1, "city", reason), ("latin.parquet", 3, "city", reason),
        ("lists.parquet", 2, "tags", reason), ("written.parquet", 2, "at", reason),
        ("written.parquet", 3, "seats", reason),
    }  # fmt: skip
    raw = Table(own.table("raw", "rides")).read()
    raw.validate(full=True)
    assert raw.num_rows == sum(kept for _, kept, _ in visible(own, "rides").values())


def test_columns_that_have_names_of_ours_are_read_where_they_are_declared(spark: SparkSession, own: Settings) -> None:
    columns = {"at": [NOON], "_source": ["s"], "_metadata": ["m"], "_file": ["f"], "_line": pa.array([7], pa.int32())}
    pq.write_table(pa.table(columns), own.landing / "a.odd")

    assert run(spark, own, "odd").kept == 1
    (row,) = Table(own.table("raw", "odd")).read().to_pylist()
    assert (row["origin"], row["place"], row["file"], row["line"]) == ("s", "m", "f", 7)


def lines(first: int, count: int) -> bytes:
    return b"id,at\n" + b"".join(b"%d,2024-07-01 12:00:00\n" % number for number in range(first, first + count))


def overwritten(path: Path) -> None:
    path.write_bytes(lines(500, 3))


def replaced_with_its_times(path: Path) -> None:
    status = path.stat()
    overwritten(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def taken_away(path: Path) -> None:
    path.unlink()


def grown(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"77,2024-07-01 12:00:00\n")


def swapped(path: Path) -> None:
    """Another file in its place, which is the first again before anybody looks; see `swapped_back`."""
    path.rename(path.parent / "x.part")
    path.write_bytes(lines(500, 3))


def swapped_back(path: Path) -> None:
    (path.parent / "x.part").rename(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [(replaced_with_its_times, None), (taken_away, None), (grown, None), (swapped, swapped_back)],
)
def test_a_file_that_changes_while_it_is_read_is_refused_and_its_neighbours_stay(
    spark: SparkSession,
    own: Settings,
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[Path], None] | None,
    after: Callable[[Path], None] | None,
) -> None:
    path = own.landing / "b.csv"
    (own.landing / "a.csv").write_bytes(lines(0, 3))
    path.write_bytes(lines(10, 3))
    read, count = records.read_records, 0

    def disturbed(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if before and count == 1:
            before(path)
        return read(*arguments)

    def counted(*arguments: Any) -> Any:
        found = counts(*arguments)
        if after and count == 1:
            after(path)
        return found

    from shedding.ingest import batch

    counts = batch.hours_of
    monkeypatch.setattr(batch, "read_records", disturbed)
    monkeypatch.setattr(batch, "hours_of", counted)

    with pytest.raises(SourceError, match=r"b\.csv changed while it was read; nothing of it was kept; run again"):
        run(spark, own, "orders")

    assert visible(own, "orders") == {"a.csv": (3, 3, 0)}
    if before is replaced_with_its_times:
        expected = [int(line.split(b",")[0]) for line in path.read_bytes().splitlines()[1:]]
        assert run(spark, own, "orders").kept == len(expected)
        hidden = [source_number(source) for source in Arrivals.load(own, "orders").hidden]
        rows = Table(own.table("raw", "orders")).read([("_source", "not in", hidden)] if hidden else [])
        assert sorted(rows["id"].to_pylist()) == sorted([0, 1, 2, *expected])


def test_a_basket_of_many_items_costs_what_its_length_does(spark: SparkSession, own: Settings) -> None:
    many = 200_000
    basket = b" ".join(b"%d" % number for number in range(many))
    (own.landing / "a.dat").write_bytes(basket + b"\n4 x\n" + basket + b" y\n" + b"\xff " * 9 + b"\n")
    (own.landing / "b.dat").write_bytes(b"7\n" * 40_000 + b"1 2\0 3\n")

    began = time.monotonic()
    report = run(spark, own, "baskets")
    seconds = time.monotonic() - began

    kept = 2 * many + 1 + 40_000
    assert (report.read, report.kept, report.quarantined) == (kept + 4, kept, 4)
    assert quarantined(own, "baskets") == {
        ("a.dat", 2, "item", "does not match [0-9]+: x"), ("a.dat", 3, "item", "does not match [0-9]+: y"),
        ("a.dat", 4, "", "not UTF-8 text"), ("b.dat", 40_001, "", "a byte of value 0 in the text"),
    }  # fmt: skip
    broken = Table(own.table("quarantine", "baskets")).read().to_pylist()
    assert max(len(row["record"]) for row in broken) < 5000
    assert seconds < 120  # it took longer than an hour


def test_a_file_that_only_spark_cannot_read_is_refused_by_name(
    spark: SparkSession, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        (own.landing / f"f{number}.csv").write_bytes(lines(10 * number, 2))
    (own.landing / "g.csv.gz").write_bytes(gzip.compress(lines(90, 2)))
    from shedding.ingest import batch

    read = batch.read_records

    def fragile(session: Any, dataset: Any, parts: Any) -> Any:
        if any(part.name == "f3.csv" for part in parts):
            raise KeyError("what nobody thought of")
        return read(session, dataset, parts)

    monkeypatch.setattr(batch, "read_records", fragile)
    with pytest.raises(SourceError, match=r"f3\.csv cannot be ingested \(KeyError: 'what nobody thought of'\)"):
        run(spark, own, "orders")
    assert visible(own, "orders").keys() == {"f0.csv", "f1.csv", "f2.csv", "f4.csv", "g.csv.gz"}


def test_a_warehouse_at_a_url_is_filled_replaced_and_maintained_like_a_directory(
    spark: SparkSession, own: Settings
) -> None:
    own = own.model_copy(update={"warehouse": f"file://{own.warehouse}"})
    path = own.landing / "a.csv"
    for first in (0, 100, 200):
        path.write_bytes(lines(first, 3) + b"bad,line\n")
        assert run(spark, own, "orders").kept == 3
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=400)
    done = {one.table: one for one in maintain(own, load_catalog(own.specs), "orders", later)}
    assert (done["raw/orders"].rows, done["raw/orders"].files_after) == (3, 1)
    assert sorted(Table(own.table("raw", "orders")).read()["id"].to_pylist()) == [200, 201, 202]
    assert spark.read.format("delta").load(own.table("raw", "orders")).count() == 3
    assert Table(own.table("quarantine", "orders")).read().num_rows == 1
    path.write_bytes(lines(300, 2))
    assert run(spark, own, "orders").kept == 2
