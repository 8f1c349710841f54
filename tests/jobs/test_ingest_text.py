"""Delimited text into raw and quarantine: every broken row with its true reason, every refusal with its remedy."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.ingest import IngestReport, ingest
from shedding.config import Settings
from shedding.errors import SourceError
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.batch import reached
from shedding.ingest.raw_rows import read_raw
from shedding.spec import load_catalog
from shedding.spec.times import parse_instant
from shedding.stretches import Stretches

pytestmark = pytest.mark.spark

ORDERS = """
name: orders
source: {kind: csv, path: "orders*.csv*"}
schedule: {every: 1 day}
event_time: {column: ordered, not_before: 2000-01-01, not_after: 2100-01-01}
columns:
  - {name: id, type: bigint, required: true}
  - {name: ordered, type: timestamp, required: true}
  - {name: city, required: true, matches: "[A-Z].*"}
  - {name: amount, type: double, min: 0, max: 1000}
  - {name: state, one_of: [open, paid]}
derived:
  cents: CAST(round(amount * 100) AS BIGINT)
  inverse: 1 / amount
exclude:
  trial orders: city = 'Testville'
"""
HEADER = "id,ordered,city,amount,state"

# The way a row is broken, the line that is, and the column and reason that quarantine must give.
BROKEN = [
    ("{id},2024-03-01 10:00:00,Paris,5", "", "wrong number of fields, 5 expected, found 4"),
    ("{id},2024-03-01 10:00:00,Paris,5,paid,extra", "", "wrong number of fields, 5 expected, found 6"),
    ('{id},2024-03-01 10:00:00,"Paris,5,paid', "", "unclosed quote"),
    ("x{id},2024-03-01 10:00:00,Paris,5,paid", "id", "not a whole number that fits 64 bits: x{id}"),
    ("{id},2024-02-30 10:00:00,Paris,5,paid", "ordered", "not a timestamp: 2024-02-30 10:00:00"),
    ("{id},2024-03-01 10:00:00,,5,paid", "city", "missing"),
    ("{id},2024-03-01 10:00:00,paris,5,paid", "city", "does not match [A-Z].*: paris"),
    ("{id},2024-03-01 10:00:00,Paris,-5,paid", "amount", "below the minimum 0: -5.0"),
    ("{id},2024-03-01 10:00:00,Paris,1e9,paid", "amount", "above the maximum 1000: 1.0E9"),
    ("{id},2024-03-01 10:00:00,Paris,five,paid", "amount", "not a finite number: five"),
    ("{id},2024-03-01 10:00:00,Paris,1d,paid", "amount", "not a finite number: 1d"),
    ("{id},2024-03-01 10:00:00,Paris,0x1p3,paid", "amount", "not a finite number: 0x1p3"),
    ("{id},2024-03-01 10:00:00,Paris,Infinity,paid", "amount", "not a finite number: Infinity"),
    ("{id},2024-03-01 10:00:00,Paris,5,lost", "state", "not one of open, paid: lost"),
    ("{id},1970-01-01 00:00:00,Paris,5,paid", "ordered",
     "event time before 2000-01-01T00:00:00Z: 1970-01-01 00:00:00"),
    ("{id},2108-01-01 00:00:00,Paris,5,paid", "ordered",
     "event time not before 2100-01-01T00:00:00Z: 2108-01-01 00:00:00"),
    ("{id},2024-03-01 10:00:00,Par\udcffis,5,paid", "", "not UTF-8 text"),
]  # fmt: skip


def good_line(number: int) -> str:
    return f"{number},2024-03-{1 + number % 3:02d} {number % 24:02d}:{number % 60:02d}:00,Paris,{number % 97}.25,paid"


def write(path: Path, lines: list[str]) -> None:
    content = ("\n".join([HEADER, *lines]) + "\n").encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def shop(settings: Settings, tmp_path: Path) -> Settings:
    """Settings whose only dataset is `orders`."""
    specs = tmp_path / "specs"
    (specs / "datasets").mkdir(parents=True)
    (specs / "datasets" / "orders.yaml").write_text(ORDERS)
    return settings.model_copy(update={"specs": specs})


def run(spark: SparkSession, settings: Settings, **how: object) -> IngestReport:
    return ingest(spark, settings, load_catalog(settings.specs), "orders", **how)  # type: ignore[arg-type]


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def visible(spark: SparkSession, settings: Settings) -> list[int]:
    """Identifiers of the rows that a reader sees."""
    rows = read_raw(
        spark, settings, load_catalog(settings.specs).dataset("orders"),
        Stretches.of((parse_instant("2000-01-01"), parse_instant("2100-01-01"))), Arrivals.load(settings, "orders"),
    )  # fmt: skip
    return sorted(row["id"] for row in rows.select("id").collect())


def test_every_broken_row_is_quarantined_with_line_column_and_reason(spark: SparkSession, shop: Settings) -> None:
    count, broken = 20_000, 980
    lines = [good_line(number) for number in range(count)]
    expected = {}
    for turn, number in enumerate(random.Random(7).sample(range(count), broken)):
        line, column, reason = BROKEN[turn % len(BROKEN)]
        lines[number] = line.format(id=number)
        expected[number + 2] = (column, reason.format(id=number))  # line 1 is the header
    write(shop.landing / "orders.csv", lines)

    report = run(spark, shop)

    assert (report.read, report.kept, report.excluded, report.quarantined) == (count, count - broken, 0, broken)
    found = spark.read.format("delta").load(shop.table("quarantine", "orders")).collect()
    assert {row["line"]: (row["column"], row["reason"]) for row in found} == expected
    assert {row["file"] for row in found} == {"orders.csv"}
    assert len(visible(spark, shop)) == count - broken


def test_blank_lines_shift_no_line_number_and_excluded_rows_are_counted_apart(
    spark: SparkSession, shop: Settings
) -> None:
    trial = good_line(3).replace("Paris", "Testville")
    quoted = good_line(4).replace("Paris", '"Paris, ""la ville"""')
    write(shop.landing / "orders.csv.gz", [good_line(1), "", trial, "oops", quoted, good_line(97)])

    report = run(spark, shop)

    assert (report.read, report.kept, report.excluded, report.quarantined) == (5, 3, 1, 1)
    (bad,) = spark.read.format("delta").load(shop.table("quarantine", "orders")).collect()
    assert (bad["line"], bad["record"]) == (5, "oops")
    rows = spark.read.format("delta").load(shop.table("raw", "orders")).orderBy("id").collect()
    assert rows[1]["city"] == 'Paris, "la ville"'
    assert [row["cents"] for row in rows] == [125, 425, 25]
    assert Arrivals.load(shop, "orders").visible[0].detail["excluded"] == {"trial orders": 1}


def test_known_content_changes_nothing_and_a_corrected_file_replaces_its_rows(
    spark: SparkSession, shop: Settings
) -> None:
    write(shop.landing / "orders1.csv", [good_line(n) for n in range(10)])
    write(shop.landing / "orders2.csv", [good_line(n) for n in range(10, 20)])
    run(spark, shop)
    before = Arrivals.load(shop, "orders")
    day = Stretches.of((parse_instant("2024-03-01"), parse_instant("2024-03-02")))

    again = run(spark, shop)
    assert (again.read, again.skipped) == (0, 2)
    assert Arrivals.load(shop, "orders").version == before.version

    write(shop.landing / "orders3.csv", [good_line(n) for n in range(10)])  # the same content under another name
    assert run(spark, shop).skipped == 3
    assert visible(spark, shop) == list(range(20))

    (shop.landing / "orders3.csv").unlink()
    write(shop.landing / "orders1.csv", [good_line(n) for n in range(5)])
    said: list[str] = []
    assert run(spark, shop, progress=said.append).kept == 5
    assert "orders1.csv takes the place of the rows that came by its name or its content before" in said
    assert visible(spark, shop) == [*range(5), *range(10, 20)]
    after = Arrivals.load(shop, "orders")
    assert after.fingerprint(day) != before.fingerprint(day)
    assert len(after.hidden) == 1

    write(shop.landing / "orders1.csv", [good_line(n) for n in range(10)])  # and back again
    run(spark, shop)
    assert visible(spark, shop) == list(range(20))
    assert Arrivals.load(shop, "orders").fingerprint(day) == before.fingerprint(day)


def test_a_job_that_dies_leaves_nothing_visible_and_the_next_run_repairs_it(
    spark: SparkSession, shop: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shedding.ingest import batch

    write(shop.landing / "orders.csv", [good_line(1), "oops"])
    for step in ("append", "_write_broken", "hours_of", "_check"):
        with monkeypatch.context() as patch:
            patch.setattr(batch, step, _die)
            with pytest.raises(KeyboardInterrupt):
                run(spark, shop)
        assert Arrivals.load(shop, "orders").visible == ()
        assert Arrivals.load(shop, "orders").rows(Stretches.of((0, 2**62))) == 0

    report = run(spark, shop)

    assert (report.read, report.kept, report.quarantined) == (2, 1, 1)
    assert visible(spark, shop) == [1]


def test_files_that_are_no_text_or_lack_columns_are_refused_whole_and_the_others_kept(
    spark: SparkSession, shop: Settings
) -> None:
    write(shop.landing / "orders_good.csv", [good_line(1)])
    (shop.landing / "orders_binary.csv").write_bytes(bytes(range(256)) * 10)
    (shop.landing / "orders_empty.csv").write_bytes(b"")
    write(shop.landing / "orders_cut.csv.gz", [good_line(n) for n in range(5000)])
    whole = (shop.landing / "orders_cut.csv.gz").read_bytes()
    (shop.landing / "orders_cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    (shop.landing / "orders_names.csv").write_text("id,when,city\n1,2024-03-01,Paris\n")

    with pytest.raises(SourceError) as refusal:
        run(spark, shop)

    message = "; ".join(refusal.value.each) or str(refusal.value)
    for part in (
        "orders_binary.csv is binary",
        "orders_empty.csv is empty",
        "orders_cut.csv.gz is cut short",
        "orders_names.csv lacks the declared columns ordered, amount, state",
    ):
        assert part in message
    assert visible(spark, shop) == [1]


def test_samples_and_line_numbers_do_not_depend_on_how_files_are_split(
    spark: SparkSession, shop: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [good_line(n) if n % 100 else "" if n % 200 else "broken" for n in range(3000)]
    write(shop.landing / "orders.csv", lines)
    text = (shop.landing / "orders.csv").read_text()
    (shop.landing / "orders_dos.csv").write_bytes(text.replace("\n", "\r\n").replace("Paris", "Rome").encode())

    files = sorted(shop.landing.iterdir())

    def outcome(name: str, *runs: list[Path]) -> list[tuple[object, ...]]:
        settings = shop.model_copy(update={"warehouse": f"{shop.warehouse}-{name}"})
        for files in runs:
            run(spark, settings, files=files)
        rows = spark.read.format("delta").load(settings.table("raw", "orders")).collect()
        bad = spark.read.format("delta").load(settings.table("quarantine", "orders")).collect()
        return sorted([("", row["id"], row["u"]) for row in rows] + [(row["file"], row["line"], 0) for row in bad])

    whole = outcome("whole", files)
    for module in ("landing", "text_lines"):
        monkeypatch.setattr(f"shedding.ingest.{module}.BLOCK", 10_000)
    assert outcome("together", files) == whole
    assert outcome("alone", *([file] for file in files)) == whole

    expected = {(n + 2) for n, line in enumerate(lines) if line == "broken"}
    for name in ("orders.csv", "orders_dos.csv"):
        assert {line for file, line, _ in whole if file == name} == expected
    assert Counter(int(u * 10) for file, _, u in whole if not file).most_common()[-1][1] > 400  # type: ignore[operator]


def test_a_directory_of_500_parts_is_taken_in_two_batches_and_each_file_accounted_for(
    spark: SparkSession, shop: Settings
) -> None:
    for part in range(500):
        write(shop.landing / f"orders_{part:03}.csv", [good_line(2 * part), "broken" if part == 333 else ""])
    said: list[str] = []

    report = ingest(spark, shop, load_catalog(shop.specs), "orders", progress=said.append)

    assert (report.read, report.kept, report.quarantined, len(report.sources)) == (501, 500, 1, 500)
    assert [text for text in said if "read" in text] == [
        "batch 1 of 2: read 256, kept 256, quarantined 0",
        "batch 2 of 2: read 245, kept 244, quarantined 1",
    ]
    sources = Arrivals.load(shop, "orders").visible
    assert {(source.rows_read, source.kept) for source in sources if source.name != "orders_333.csv"} == {(1, 1)}
    (bad,) = spark.read.format("delta").load(shop.table("quarantine", "orders")).collect()
    assert (bad["file"], bad["line"]) == ("orders_333.csv", 3)
    assert ingest(spark, shop, load_catalog(shop.specs), "orders").skipped == 500


def test_an_interval_moves_the_watermark_of_files(spark: SparkSession, shop: Settings) -> None:
    start, end = parse_instant("2024-03-01"), parse_instant("2024-03-02")
    assert not Arrivals.load(shop, "orders").ready(start, end, generator=False)

    report = run(spark, shop, interval=(start, end))

    assert report.watermark == end
    assert Arrivals.load(shop, "orders").ready(start, end, generator=False)


def test_a_row_of_a_far_future_makes_no_slot_ready(spark: SparkSession, shop: Settings) -> None:
    lines = [
        f"{n},{when},Paris,5,paid"
        for n, when in enumerate(["2024-03-01 10:00:00", "2024-03-01 11:30:00", "2099-01-01"])
    ]
    (shop.landing / "orders.csv").write_text("\n".join([HEADER, *lines]) + "\n")

    report = run(spark, shop)

    assert (report.kept, report.watermark) == (3, parse_instant("2024-03-01T11:30:00Z"))
    arrivals = Arrivals.load(shop, "orders")
    assert arrivals.last_event == parse_instant("2099-01-01")
    assert arrivals.ready(parse_instant("2024-03-01T10:00:00Z"), parse_instant("2024-03-01T11:00:00Z"), generator=False)
    assert not arrivals.ready(parse_instant("2024-03-01"), parse_instant("2024-03-02"), generator=False)


def test_of_the_hour_of_an_arrival_what_had_come_by_then_counts() -> None:
    hours = [{"first": 1, "last": 8}, {"first": 11, "last": 19}, {"first": 25, "last": 28}]
    assert [reached(hours, arrived) for arrived in (0, 9, 15, 20, 99)] == [None, 8, 11, 19, 28]
