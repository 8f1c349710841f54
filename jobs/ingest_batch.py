"""One batch of an ingest run, from `begun` to `committed`."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

from shedding.arrivals import HOUR, Arrivals
from shedding.arrivals_log import write_log
from shedding.concepts import add_counts, replace_counts
from shedding.config import Settings
from shedding.errors import DataError
from shedding.intake import Intake
from shedding.spark.layout import file_rows, ranked
from shedding.spark.lines import blocks
from shedding.spark.records import Part, read_records
from shedding.spark.refine import LEADING, Refined, partition_columns, refine
from shedding.spark.store import append, count_keys, hours_of, written
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import KeySet

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


def store_batch(
    spark: SparkSession,
    settings: Settings,
    dataset: DatasetSpec,
    batch: list[Intake],
    counted: list[KeySet],
    at: dt.datetime,
    attempt: str,
) -> BatchReport:
    """Write a batch and make it visible; DataError, and nothing visible, where the counts do not add up."""
    parts = {_source_id(intake, attempt): intake for intake in batch}
    write_log(settings, dataset.name, [_row("begun", source, intake) for source, intake in parts.items()], at)
    read = [Part(source, intake.name, intake.file, intake.interval) for source, intake in parts.items()]
    metadata = {"dataset": dataset.name, "attempt": attempt, "sources": len(parts)}
    with blocks(spark):
        records = read_records(spark, dataset, read)
        refined = refine(dataset, records)
        totals = _write_raw(settings, refined, parts, records.total, metadata)
        broken = _write_broken(spark, settings, refined, parts, at, metadata) if totals["broken"] else {}
        excluded = _excluded(refined, totals, list(parts))
    rows = written(spark, settings, dataset, list(parts))
    counts = [(keyset, count_keys(rows, list(parts), keyset)) for keyset in counted]
    hours: dict[str, dict[int, Any]] = defaultdict(dict)
    for row in hours_of(rows, list(parts), counts):
        hours[row["_source"]][row["hour"]] = row
    for keyset, table in counts:
        add_counts(settings, keyset, table)
    newest = Arrivals.load(settings, dataset.name).last_event
    known = [keyset.id for keyset in counted] + ([dataset.layout.id] if dataset.layout.id else [])
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
            "hours": json.dumps({str(hour): found[hour]["rows"] for hour in sorted(found)}),
            "concepts": known,
            "detail": json.dumps(
                {
                    "excluded": excluded[source],
                    "quarantined": broken.get(source, {}),
                    "late": _late(found, newest, dataset),
                },
                sort_keys=True,
            ),
        }
        entry["rows_read"] = entry["kept"] + entry["excluded"] + entry["quarantined"]
        late += _late(found, newest, dataset)
        entries.append(entry)
    _check(dataset, batch, entries, totals, records.total)
    gone = sorted({old for intake in batch for old in intake.replaces})
    write_log(settings, dataset.name, entries + [{"state": "superseded", "source_id": old} for old in gone], at)
    sums = {name: sum(entry[name] for entry in entries) for name in ("rows_read", "kept", "excluded", "quarantined")}
    return BatchReport(sums["rows_read"], sums["kept"], sums["excluded"], sums["quarantined"], late, list(parts))


def _late(hours: dict[int, Any], newest: int | None, dataset: DatasetSpec) -> int:
    """Rows of hours that ended longer before the newest visible event than lateness is allowed."""
    limit = None if newest is None else newest - dataset.allowed_lateness
    return sum(row["rows"] for hour, row in hours.items() if limit is not None and hour + HOUR <= limit)


def catch_up(
    spark: SparkSession,
    settings: Settings,
    dataset: DatasetSpec,
    counted: list[KeySet],
    arrivals: Arrivals,
    at: dt.datetime,
) -> None:
    """Count key sets that queries need since a later day than some visible sources came."""
    entries: dict[str, dict[str, Any]] = {}
    for keyset in counted:
        lacking = [source for source in arrivals.visible if keyset.id not in source.concepts]
        if not lacking:
            continue
        names = [source.source_id for source in lacking]
        if any(source.kept for source in lacking):
            rows = written(spark, settings, dataset, names)
            replace_counts(settings, keyset, count_keys(rows, names, keyset), names)
        for source in lacking:
            entry = entries.setdefault(source.source_id, source.log_row())
            entry["concepts"] = sorted({*entry["concepts"], keyset.id})
    if entries:
        write_log(settings, dataset.name, list(entries.values()), at)


def _write_raw(
    settings: Settings, refined: Refined, parts: dict[str, Intake], total: int | None, metadata: dict[str, Any]
) -> dict[str, int]:
    """Write the kept rows and count all records in the same pass."""
    seen = Observation("records")
    reasons = list(refined.dataset.exclude)
    observed = refined.frame.observe(
        seen,
        fn.count("*").alias("rows"),
        fn.count("_verdict").alias("read"),
        fn.count_if(fn.col("_verdict") > 0).alias("broken"),
        *[fn.count_if(fn.col("_verdict") == -place).alias(f"excluded{place}") for place in range(1, len(reasons) + 1)],
    )
    rows = refined.kept(observed, next(iter(parts)) if len(parts) == 1 else None)
    partition_by = partition_columns(refined.dataset)
    uri = settings.table("raw", refined.dataset.name)
    if refined.dataset.layout.kind == "ranked":
        rows = ranked(rows, refined.dataset, total)
        append(rows, uri, partition_by, metadata, file_rows(total), indexed=len(LEADING) + 1)
        return _totals(seen)
    if 0 < sum(intake.size for intake in parts.values()) < SMALL_BATCH:  # a generator cuts its rows by time already
        rows = rows.repartition(*partition_by)
    append(rows, uri, partition_by, metadata, indexed=len(LEADING))
    return _totals(seen)


def _totals(seen: Observation) -> dict[str, int]:
    """What was observed, and what that leaves for `kept`: a record is kept, broken or excluded."""
    found: dict[str, int] = dict(seen.get)
    apart = sum(count for name, count in found.items() if name not in ("rows", "read"))
    return found | {"kept": found["read"] - apart}


def _write_broken(
    spark: SparkSession,
    settings: Settings,
    refined: Refined,
    parts: dict[str, Intake],
    at: dt.datetime,
    metadata: dict[str, Any],
) -> dict[str, dict[str, int]]:
    """Write the broken records, a second look at the source that only a batch with broken ones pays for."""
    uri = settings.table("quarantine", refined.dataset.name)
    names = fn.create_map(*[fn.lit(text) for source, intake in parts.items() for text in (source, intake.name)])
    # Many words for few rows: as one compiled method they would be too long for the JVM.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        append(refined.broken(names[fn.col("_source")], fn.lit(at)), uri, [], metadata)
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", "true")
    stored = spark.read.format("delta").load(uri).where(fn.col("_source").isin(list(parts)))
    kind = fn.concat(fn.col("column"), fn.lit(": "), fn.regexp_replace(fn.split("reason", ": ")[0], r" found \d+$", ""))
    return _nested(stored.groupBy("_source", kind.alias("kind")).count())


def _excluded(refined: Refined, totals: dict[str, int], sources: list[str]) -> dict[str, dict[str, int]]:
    """Excluded records per source and reason; only a batch of several sources needs a second look for them."""
    reasons = list(refined.dataset.exclude)
    counts = {reason: totals[f"excluded{place}"] for place, reason in enumerate(reasons, 1)}
    if len(sources) == 1 or not sum(counts.values()):
        return {source: counts if len(sources) == 1 else dict.fromkeys(reasons, 0) for source in sources}
    found = {source: dict.fromkeys(reasons, 0) for source in sources}
    # Grouped, not filtered: a filter would be pushed below the parsing and parse a record once per check.
    for row in refined.frame.groupBy("_source", "_verdict").count().collect():
        if row["_verdict"] is not None and row["_verdict"] < 0:
            found[row["_source"]][reasons[-row["_verdict"] - 1]] = row["count"]
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
    totals: dict[str, int],
    total: int | None,
) -> None:
    """What the tables hold must be what was read, and that what its files were found to hold before."""
    claims = {
        "read": sum(entry["rows_read"] for entry in entries),
        "kept": sum(entry["kept"] for entry in entries),
        "broken": sum(entry["quarantined"] for entry in entries),
    }
    wrong = [f"{name}: {totals[name]} seen, {value} stored" for name, value in claims.items() if value != totals[name]]
    if total is not None and totals["rows"] != total:
        wrong.append(f"{total} lines or rows counted, {totals['rows']} seen")
    if wrong:
        names = f"{batch[0].name} and {len(batch) - 1} more"
        raise DataError(
            f"ingest of {dataset.name}, {names}, does not add up ({'; '.join(wrong)}); "
            "nothing became visible; did a file change while it was read? Run again"
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
