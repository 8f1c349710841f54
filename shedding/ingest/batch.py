"""One batch of an ingest run, from `begun` to `committed`."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import DataError, FilesError
from shedding.ingest.append import append
from shedding.ingest.arrivals import HOUR, Arrivals
from shedding.ingest.arrivals_log import write_log
from shedding.ingest.key_counts import add_counts
from shedding.ingest.landing import changed
from shedding.ingest.ranked_layout import file_rows, ranked
from shedding.ingest.raw_table import count_each, hours_of, written
from shedding.ingest.records import Part, Records, read_records
from shedding.ingest.refine import LEADING, Refined, partition_columns, refine
from shedding.ingest.source_column import by_source
from shedding.ingest.source_number import source_number
from shedding.ingest.source_plan import Intake
from shedding.ingest.tally import Tally, tally_of
from shedding.ingest.text_lines import blocks
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import KeySet
from shedding.spec.times import parse_instant

SMALL_BATCH = 64 << 20  # bytes below which a batch is shuffled by date, so that it makes few files


@dataclass(frozen=True)
class BatchReport:
    """What became of a batch's records."""

    read: int
    kept: int
    excluded: int
    quarantined: int
    late: int
    sources: list[str]
    uncounted: dict[str, Exception] = field(default_factory=dict)
    """Key sets that could not be counted, and what ended them."""


def store_batch(
    spark: SparkSession,
    settings: Settings,
    dataset: DatasetSpec,
    batch: list[Intake],
    counted: list[KeySet],
    at: dt.datetime,
    attempt: str,
) -> BatchReport:
    """Write a batch and make it visible; nothing of it is where the counts do not add up (DataError) or where a file is
    not what it was when it was inspected (FilesError).
    """
    parts = {_source_id(intake, attempt): intake for intake in batch}
    write_log(settings, dataset.name, [_row("begun", source, intake) for source, intake in parts.items()], at)
    read = [Part(source_number(source), intake.name, intake.file, intake.interval) for source, intake in parts.items()]
    metadata = {"dataset": dataset.name, "attempt": attempt, "sources": len(parts)}
    with blocks(spark):
        records = read_records(spark, dataset, read)
        refined = refine(dataset, records)
        tally = _write_raw(settings, refined, parts, records, metadata)
    rows = written(spark, settings, dataset, list(parts))
    counts, uncounted = count_each(rows, list(parts), counted)
    hours: dict[str, dict[int, Any]] = defaultdict(dict)
    for row in hours_of(rows, list(parts), counts):
        hours[row["_source"]][row["hour"]] = row
    if tally is None and sum(row["rows"] for found in hours.values() for row in found.values()) == records.most:
        tally = Tally(records.total or 0, records.most or 0)
    broken: dict[str, dict[str, int]] = {}
    with blocks(spark):
        if tally is None or tally.broken:
            broken, tally = _write_broken(spark, settings, refined, parts, at, metadata)
        excluded = _excluded(refined, tally, list(parts))
    check_unchanged(batch)
    for keyset, table in counts:
        add_counts(settings, keyset, table)
    newest = Arrivals.load(settings, dataset.name).reached
    known = [keyset.id for keyset, _ in counts] + ([dataset.layout.id] if dataset.layout.id else [])
    entries: list[dict[str, Any]] = []
    late = 0
    for source, intake in parts.items():
        found = hours[source]
        entry = _row("committed", source, intake) | {
            "kept": sum(row["rows"] for row in found.values()),
            "excluded": sum(excluded[source].values()),
            "quarantined": sum(broken.get(source, {}).values()),
            "first_event": min((row["first"] for row in found.values()), default=None),
            "last_event": max((row["last"] for row in found.values()), default=None),
            "reached": reached(found.values(), parse_instant(at)),
            "hours": json.dumps({str(hour): found[hour]["rows"] for hour in sorted(found)}),
            "concepts": known,
            "detail": json.dumps(
                {
                    "excluded": excluded[source],
                    "quarantined": broken.get(source, {}),
                    "late": _late(found, newest, dataset),
                    "derived": list(dataset.derived),
                },
                sort_keys=True,
            ),
        }
        entry["rows_read"] = entry["kept"] + entry["excluded"] + entry["quarantined"]
        late += _late(found, newest, dataset)
        entries.append(entry)
    _check(dataset, batch, entries, tally, records.total)
    gone = sorted({old for intake in batch for old in intake.replaces})
    write_log(settings, dataset.name, entries + [{"state": "superseded", "source_id": old} for old in gone], at)
    sums = {name: sum(entry[name] for entry in entries) for name in ("rows_read", "kept", "excluded", "quarantined")}
    kinds = (sums["rows_read"], sums["kept"], sums["excluded"], sums["quarantined"])
    return BatchReport(*kinds, late, list(parts), uncounted)


def check_unchanged(batch: list[Intake]) -> None:
    """FilesError for the files that changed since they were inspected: what was read may not be what was hashed."""
    words = {
        intake.file.path: f"{intake.file.path} changed while it was read; nothing of it was kept; run again, and let "
        "whoever delivers it write it under another name (.part) and rename it once it is whole"
        for intake in batch
        if intake.file is not None and changed(intake.file)
    }
    if words:
        raise FilesError(words)


def reached(hours: Iterable[Mapping[str, Any]], arrived: int) -> int | None:
    """The newest event time up to `arrived`, of hours with their `first` and `last`; None where all are later.

    Of the hour of the arrival, where it has later rows too, the first row counts.
    """
    return max((row[end] for row in hours for end in ("first", "last") if row[end] <= arrived), default=None)


def _late(hours: dict[int, Any], newest: int | None, dataset: DatasetSpec) -> int:
    """Rows in hours that closed more than `allowed_lateness` before the newest event seen so far."""
    limit = None if newest is None else newest - dataset.allowed_lateness
    return sum(row["rows"] for hour, row in hours.items() if limit is not None and hour + HOUR <= limit)


def _write_raw(
    settings: Settings, refined: Refined, parts: dict[str, Intake], records: Records, metadata: dict[str, Any]
) -> Tally | None:
    """Write the kept rows. All records are counted in the same pass, unless a count of the kept ones may do.

    That is where no record is excluded and as many are kept as the files can hold; counting costs a twentieth.
    """
    dataset, total = refined.dataset, records.total
    seen = Observation("kept") if dataset.exclude or records.most is None else None
    rows = refined.kept(seen)
    partition_by = partition_columns(dataset)
    uri = warehouse.raw(settings, dataset.name).uri
    if dataset.layout.kind == "ranked":
        rows = ranked(rows, dataset, total)
        append(rows, uri, partition_by, metadata, file_rows(total), indexed=len(LEADING) + 1)
    else:
        # A generator, whose sources have no size, cuts its rows by time already.
        small = 0 < sum(intake.size for intake in parts.values()) < SMALL_BATCH
        rows = rows.repartition(*partition_by) if small else rows
        append(rows, uri, partition_by, metadata, indexed=len(LEADING))
    return None if seen is None else tally_of(seen)


def _write_broken(
    spark: SparkSession,
    settings: Settings,
    refined: Refined,
    parts: dict[str, Intake],
    at: dt.datetime,
    metadata: dict[str, Any],
) -> tuple[dict[str, dict[str, int]], Tally]:
    """Quarantine the broken records and count all of them.

    Reads the source again, so it runs only where a record was not kept.
    """
    uri = warehouse.quarantined_rows(settings, refined.dataset.name).uri
    names = by_source({source_number(source): intake.name for source, intake in parts.items()})
    ids = by_source({source_number(source): source for source in parts})
    seen = Observation("broken")
    rows = refined.broken(names, ids, fn.lit(at), seen)
    # Whole-stage codegen of these message expressions would exceed the JVM's limit on a method's size.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        append(rows, uri, [], metadata)
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", "true")
    stored = spark.read.format("delta").load(uri).where(fn.col("_source").isin(list(parts)))
    kind = fn.concat(fn.col("column"), fn.lit(": "), fn.regexp_replace(fn.split("reason", ": ")[0], r" found \d+$", ""))
    return _nested(stored.groupBy("_source", kind.alias("kind")).count()), tally_of(seen)


def _excluded(refined: Refined, tally: Tally, sources: list[str]) -> dict[str, dict[str, int]]:
    """Excluded records per source and reason; only a batch of several sources needs a second look for them."""
    reasons = list(refined.dataset.exclude)
    found = {source: dict.fromkeys(reasons, 0) for source in sources}
    if len(sources) == 1:
        found[sources[0]] = dict(zip(reasons, tally.excluded, strict=True))
    if len(sources) == 1 or not sum(tally.excluded):
        return found
    ids = {source_number(source): source for source in sources}
    # Grouped, not filtered: a filter would be pushed below the parsing and parse a record once per check.
    for row in refined.frame.groupBy("_source", "_verdict").count().collect():
        if row["_verdict"] is not None and row["_verdict"] < 0:
            found[ids[row["_source"]]][reasons[-row["_verdict"] - 1]] = row["count"]
    return found


def _nested(counts: DataFrame) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in sorted(counts.collect(), key=lambda r: (r["_source"], r["kind"])):
        found[row["_source"]][row["kind"]] = row["count"]
    return found


def _check(
    dataset: DatasetSpec,
    batch: list[Intake],
    entries: list[dict[str, Any]],
    tally: Tally,
    total: int | None,
) -> None:
    """Check that the rows stored, read and counted in the files agree."""
    stored = {name: sum(entry[name] for entry in entries) for name in ("rows_read", "kept", "quarantined")}
    seen = {"rows_read": tally.read, "kept": tally.kept, "quarantined": tally.broken}
    wrong = [f"{name}: {seen[name]} seen, {value} stored" for name, value in stored.items() if value != seen[name]]
    if total is not None and tally.rows != total:
        wrong.append(f"{total} lines or rows counted, {tally.rows} seen")
    if wrong:
        names = f"{batch[0].name} and {len(batch) - 1} more"
        raise DataError(
            f"ingest of {dataset.name}, {names}, does not add up ({'; '.join(wrong)}); nothing of it became visible"
        )


def _source_id(intake: Intake, attempt: str) -> str:
    """Of this content and this attempt alone, and short, since every raw row carries it."""
    return hashlib.blake2b(f"{intake.content_hash}@{attempt}".encode(), digest_size=8).hexdigest()


def _row(state: str, source: str, intake: Intake) -> dict[str, Any]:
    interval = intake.interval or (None, None)
    return {
        "state": state, "source_id": source, "name": intake.name, "content_hash": intake.content_hash,
        "bytes": intake.size, "interval_start": interval[0], "interval_end": interval[1],
    }  # fmt: skip
