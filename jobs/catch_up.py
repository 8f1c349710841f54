"""What sources that are visible already lack for today's specifications: counts of key sets, columns derived later."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pyspark.sql import SparkSession

from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.append import append
from shedding.ingest.arrivals import Arrivals, Source
from shedding.ingest.arrivals_log import write_log
from shedding.ingest.key_counts import replace_counts
from shedding.ingest.raw_rows import completed, empty_raw
from shedding.ingest.raw_table import REFUSED, count_each, written
from shedding.ingest.refine import partition_columns
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import KeySet


def catch_up(
    spark: SparkSession,
    settings: Settings,
    dataset: DatasetSpec,
    counted: list[KeySet],
    arrivals: Arrivals,
    at: dt.datetime,
) -> dict[str, Exception]:
    """Count key sets that queries need since a later day than some visible sources came; what ended those that failed.

    Rows that came before a derived column did have it made of their own columns. What fails over all sources is tried
    source by source, so that one row keeps no more than its own source from being counted.
    """
    arrivals, entries = _with_columns(spark, settings, dataset, arrivals)
    failed: dict[str, Exception] = {}
    for keyset in counted:
        missing = [source for source in arrivals.visible if keyset.id not in source.concepts]
        together = _count(spark, settings, dataset, keyset, arrivals, missing)
        tried = [(missing, together)]
        if together is not None and not isinstance(together, REFUSED) and len(missing) > 1:
            tried = [([one], _count(spark, settings, dataset, keyset, arrivals, [one])) for one in missing]
        failed.update((keyset.id, error) for _, error in tried if error is not None)
        for source in (source for sources, error in tried if error is None for source in sources):
            entry = entries.setdefault(source.source_id, source.log_row())
            entry["concepts"] = sorted({*entry["concepts"], keyset.id})
    if entries:
        write_log(settings, dataset.name, list(entries.values()), at)
    return failed


def _count(
    spark: SparkSession,
    settings: Settings,
    dataset: DatasetSpec,
    keyset: KeySet,
    arrivals: Arrivals,
    sources: list[Source],
) -> Exception | None:
    """Count the sources together; what ended it, where it cannot be done, and then none is counted."""
    if not any(source.kept for source in sources):
        return None
    names = [source.source_id for source in sources]
    rows = completed(written(spark, settings, dataset, names), dataset, arrivals)
    counts, failed = count_each(rows, names, [keyset])
    for _, table in counts:
        replace_counts(settings, keyset, table, names)
    return failed.get(keyset.id)


def _with_columns(
    spark: SparkSession, settings: Settings, dataset: DatasetSpec, arrivals: Arrivals
) -> tuple[Arrivals, dict[str, dict[str, Any]]]:
    """Give the raw table the columns it lacks, and note of sources of an older log which derived columns they have."""
    raw = warehouse.raw(settings, dataset.name)
    schema = raw.schema()
    if schema is None:
        return arrivals, {}
    there = [name for name in dataset.derived if name in schema.names]
    noted = arrivals.noting_derived(there)
    fresh = {source.source_id for source in arrivals.visible if source.derived is None}
    missing = [name for name in dataset.column_names if name not in schema.names]
    if missing:
        partitions = partition_columns(dataset)
        none = empty_raw(spark, dataset).select(*partitions, *missing)
        append(none, raw.uri, partitions, {"dataset": dataset.name, "added": missing})
    return noted, {source.source_id: source.log_row() for source in noted.visible if source.source_id in fresh}
