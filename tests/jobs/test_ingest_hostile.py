"""Files as a stranger delivers them: each ends in rows, in quarantine with the true reason, or in a refusal."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.ingest import IngestReport, ingest
from shedding.config import Settings
from shedding.errors import SourceError
from shedding.ingest.arrivals import Arrivals
from shedding.spec import load_catalog
from tests.small_specs import write_specs

pytestmark = pytest.mark.spark

ORDERS = """
name: orders
source: {kind: csv, path: "*.csv*"}
schedule: {every: 1 hour}
event_time: {column: at, zone: America/New_York}
columns:
  - {name: id, type: int, required: true}
  - {name: at, type: timestamp}
  - {name: city}
  - {name: paid, type: boolean}
"""
PACKETS = """
name: packets
source: {kind: csv, path: "*.tl", delimiter: whitespace, header: false, ragged: true}
schedule: {every: 1 hour}
event_time: {column: at, unit: seconds, since: "2024-01-01"}
columns:
  - {name: at, type: double, required: true}
  - {name: size, type: int}
"""
RAGGED = """
name: ragged
source: {kind: csv, path: "*.rag", ragged: true}
schedule: {every: 1 hour}
event_time: {column: at}
columns:
  - {name: at, type: timestamp}
  - {name: city}
  - {name: state}
"""
TABBED = PACKETS.replace("packets", "tabbed").replace("whitespace", "tab").replace("*.tl", "*.tsv")
BASKETS = """
name: baskets
source: {kind: transactions, path: "*.dat"}
schedule: {every: 1 hour}
event_time: {arrival: {starts: "2024-01-01T00:00:00Z", per_second: 2}}
columns:
  - {name: transaction, type: bigint}
  - {name: item, required: true}
"""
HEADER = b"id,at,city,paid\n"
GOOD = b"1,2024-07-01 12:00:00Z,Paris,true\n"


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    specs = write_specs(tmp_path / "specs", [ORDERS, PACKETS, TABBED, BASKETS, RAGGED], [])
    return settings.model_copy(update={"specs": specs})


def run(spark: SparkSession, settings: Settings, dataset: str, **how: Any) -> IngestReport:
    return ingest(spark, settings, load_catalog(settings.specs), dataset, **how)


def raw(spark: SparkSession, settings: Settings, dataset: str) -> list[Any]:
    return spark.read.format("delta").load(settings.table("raw", dataset)).collect()


def quarantined(spark: SparkSession, settings: Settings, dataset: str) -> set[tuple[Any, ...]]:
    rows = spark.read.format("delta").load(settings.table("quarantine", dataset)).collect()
    return {(row["file"], row["line"], row["column"], row["reason"]) for row in rows}


def test_files_that_cannot_be_read_are_named_with_a_remedy_and_the_others_kept(
    spark: SparkSession, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "colon:1.csv": HEADER + GOOD, "star*.csv": HEADER + GOOD, "group{a,b}.csv": HEADER + GOOD,
        "twice.csv": b"id,at,city,city,paid\n1,2024-07-01 12:00:00Z,Paris,Rome,true\n",
        "zeros.csv.gz": gzip.compress(HEADER + GOOD) + bytes(512), "tail.csv.gz": gzip.compress(HEADER + GOOD) + b"x",
        "plain.csv.deflate": HEADER + GOOD, "packed.csv.bz2": bz2.compress(HEADER + GOOD),
        "blank.csv": b"\n" + HEADER + GOOD, "locked.csv": HEADER + GOOD,
        "good #1 100%.csv": HEADER + GOOD + b"2,x\n", "members.csv.gz": gzip.compress(HEADER) + gzip.compress(GOOD * 2),
        "comma.csv": b'id,at,city,paid,"a, b"\n7,2024-07-01 12:00:00Z,Paris,true,z\n',
        "many.csv": HEADER + GOOD + b"," * 30_000 + b'\n9,2024-07-01 12:00:00Z,"' + b"," * 30_000 + b'",true\n',
        "late.csv": HEADER + GOOD * 3000 + b"8,2024-07-01 12:00:00Z,Pa\0ris,true\n",
    }  # fmt: skip
    for name, content in files.items():
        (own.landing / name).write_bytes(content)
    opened = Path.open

    def guarded(path: Path, *how: Any, **more: Any) -> Any:
        if path.name == "locked.csv":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *how, **more)

    monkeypatch.setattr(Path, "open", guarded)

    with pytest.raises(SourceError) as refusal:
        run(spark, own, "orders")

    message = "; ".join(refusal.value.each) or str(refusal.value)
    for words in (
        "colon:1.csv has ':' in its name, which Spark misreads; rename it",
        "star*.csv has '*' in its name",
        "group{a,b}.csv has '{' '}' in its name",
        "twice.csv has the column 'city' more than once; rename or remove one of them",
        "zeros.csv.gz is cut short or damaged",
        "tail.csv.gz is cut short or damaged",
        "plain.csv.deflate ends in .deflate, and of compressed texts gzip is read; deliver it as .gz or plain",
        "packed.csv.bz2 ends in .bz2",
        "blank.csv lacks the declared columns id, at, city, paid; it has none; fix the file",
        "locked.csv cannot be read (Permission denied); fix its permissions, or remove it",
    ):
        assert words in message
    found = {source.name: (source.rows_read, source.kept) for source in Arrivals.load(own, "orders").visible}
    assert found == {
        "good #1 100%.csv": (2, 1),
        "members.csv.gz": (2, 2),
        "comma.csv": (1, 1),
        "many.csv": (3, 2),
        "late.csv": (3001, 3000),
    }
    assert quarantined(spark, own, "orders") == {
        ("good #1 100%.csv", 3, "", "wrong number of fields, 4 expected, found 2"),
        ("many.csv", 3, "", "wrong number of fields, 4 expected, found 30001"),
        ("late.csv", 3002, "", "a byte of value 0 in the text"),
    }


def test_a_zone_in_the_text_wins_over_the_declared_one_and_truths_are_words(spark: SparkSession, own: Settings) -> None:
    noon = "2024-07-01 12:00:00"
    texts = [noon, f"{noon}Z", f"{noon}+02:00", f"{noon}+02", f"{noon} Europe/Paris", f"{noon} PST", "2024-07-01 12:00"]
    lines = [f"{number},{text},x,true" for number, text in enumerate(texts)]
    lines += ["97,,x,yes", "98,,x,1", "NaN,,x,true"]
    (own.landing / "a.csv").write_text(HEADER.decode() + "\n".join(lines) + "\n")

    run(spark, own, "orders")

    hours = {row["id"]: row["event_time"].hour for row in raw(spark, own, "orders")}
    assert hours == {0: 16, 1: 12, 2: 10, 3: 10, 4: 10, 5: 19, 6: 16}
    assert quarantined(spark, own, "orders") == {
        ("a.csv", 9, "paid", "not true or false: yes"),
        ("a.csv", 10, "paid", "not true or false: 1"),
        ("a.csv", 11, "id", "not a whole number that fits 32 bits: NaN"),
    }


def test_tabs_and_blanks_at_the_ends_of_a_line_are_no_fields(spark: SparkSession, own: Settings) -> None:
    (own.landing / "a.tl").write_text("\t0.5\t400\n  1.5   200\t \n2.5\n")
    (own.landing / "a.tsv").write_text("0.5\t400\n1.5\t 7 \n")

    assert run(spark, own, "packets").kept == 3
    assert {(row["at"], row["size"]) for row in raw(spark, own, "packets")} == {(0.5, 400), (1.5, 200), (2.5, None)}
    assert run(spark, own, "tabbed").kept == 1
    assert quarantined(spark, own, "tabbed") == {("a.tsv", 2, "size", "not a whole number that fits 32 bits:  7 ")}


def test_a_mark_in_quotes_counts_as_no_field_of_a_ragged_line(spark: SparkSession, own: Settings) -> None:
    lines = ['2024-07-01,"a,b"', '2024-07-01,"c,,,"', '2024-07-01,"d, ""e""",f,,', '2024-07-01,g,h,"i,"', "2024-07-01"]
    (own.landing / "a.rag").write_text("at,city,state\n" + "\n".join(lines) + "\n")

    assert run(spark, own, "ragged").kept == 4
    found = {(row["city"], row["state"]) for row in raw(spark, own, "ragged")}
    assert found == {("a,b", None), ("c,,,", None), ('d, "e"', "f"), (None, None)}
    assert quarantined(spark, own, "ragged") == {("a.rag", 5, "", "wrong number of fields, 3 expected, found 4")}


def test_a_line_without_items_is_no_basket(spark: SparkSession, own: Settings) -> None:
    (own.landing / "a.dat").write_text("1 2\n , \n,,,\n\t\n,3,\n")

    report = run(spark, own, "baskets")

    assert (report.read, report.kept, report.quarantined) == (3, 3, 0)
    rows = raw(spark, own, "baskets")
    assert {(row["transaction"], row["item"]) for row in rows} == {(1, "1"), (1, "2"), (5, "3")}


def test_two_files_of_one_name_and_different_content_are_refused_together(
    spark: SparkSession, own: Settings, tmp_path: Path
) -> None:
    for folder, content in (("a", GOOD), ("b", GOOD * 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_bytes(HEADER + content)

    with pytest.raises(SourceError, match="rename it, or ingest them one after the other"):
        run(spark, own, "orders", files=[tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv"])

    assert Arrivals.load(own, "orders").visible == ()
