"""Rows with the columns that users' functions make: looked up where they were made before, else made now, once.

The values stand in `enriched/<query>`. A row is known by its instant, its `u` and a hash of the function's arguments,
so re-runs, repairs, wider samples, audits and late rows call the function only for rows that no run had before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles
from pyspark.sql import functions as sf

from shedding import errors, warehouse
from shedding.config import Settings
from shedding.enrich.calls import Calls
from shedding.enrich.function import load_function
from shedding.enrich.items import items_of
from shedding.enrich.store import ROW, Enriched, row_columns
from shedding.errors import SluiceError
from shedding.spec.enrich import EnrichSpec
from shedding.spec.query import QuerySpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SLOT = "_slot"
_BY = "_by"
_PIECES = 4
"""So that dear rows, which fall where `u` puts them, do not make one long task."""
_SQL = {
    "event_time": "bigint", "u": "double", "inputs": "bigint", "slot": "bigint", "version": "bigint",
    "double": "double", "bigint": "bigint", "boolean": "boolean", "cost_ns": "bigint", "cpu_ns": "bigint",
    "item": "bigint",
}  # fmt: skip


def enriched_rows(
    spark: SparkSession,
    settings: Settings,
    query: QuerySpec,
    rows: DataFrame,
    slots: Sequence[int],
) -> DataFrame:
    """The rows of some slots with every column of the query's `enrich`, in order: one may use those before it."""
    for entry in query.enrich:
        rows = _with_column(spark, settings, query, rows, entry, slots)
    return rows


def spent_on(
    spark: SparkSession, settings: Settings, query: QuerySpec, rows: DataFrame, slots: Sequence[int]
) -> pa.Table:
    """What the functions took for these rows, which are enriched first: by `item` the calls and their nanoseconds."""
    parts = []
    for entry in query.enrich:
        keyed, names, store = _made(spark, settings, query, rows, entry, slots)
        values = store.read(slots).select([*ROW, "item", "cost_ns", entry.type])
        costs = _frame(spark, values.rename_columns([*names, "item", "cost_ns", entry.name]))
        distinct = keyed.select(*names).dropDuplicates(names).join(costs, names)
        parts.append(distinct.groupBy("item").agg(sf.count("*").alias("rows"), sf.sum("cost_ns").alias("ns")).toArrow())
        rows = keyed.join(costs.drop("item", "cost_ns"), names, "left").drop(*names)
    return pa.concat_tables(parts).sort_by("item")


def _with_column(
    spark: SparkSession,
    settings: Settings,
    query: QuerySpec,
    rows: DataFrame,
    entry: EnrichSpec,
    slots: Sequence[int],
) -> DataFrame:
    keyed, names, store = _made(spark, settings, query, rows, entry, slots)
    values = store.read(slots).select([*ROW, entry.type]).rename_columns([*names, entry.name])
    return keyed.join(_frame(spark, values), names, "left").drop(*names)


def _made(
    spark: SparkSession,
    settings: Settings,
    query: QuerySpec,
    rows: DataFrame,
    entry: EnrichSpec,
    slots: Sequence[int],
) -> tuple[DataFrame, list[str], Enriched]:
    """The rows with what tells them apart, under names of their own, and the store, which then has all their values."""
    store = Enriched(settings, query.name, entry)
    names = [f"_{entry.name}_{part}" for part in ROW]
    arguments = [sf.col(f"`{name}`") for name in entry.columns]
    parts = (sf.unix_micros("event_time"), sf.col("u"), sf.xxhash64(*arguments))
    keyed = rows.withColumns(dict(zip(names, parts, strict=True)))
    _make_missing(spark, settings.shuffle_partitions, query, keyed, names, entry, store, slots)
    return keyed, names, store


def _make_missing(
    spark: SparkSession,
    partitions: int,
    query: QuerySpec,
    keyed: DataFrame,
    names: Sequence[str],
    entry: EnrichSpec,
    store: Enriched,
    slots: Sequence[int],
) -> None:
    """Call the function for the rows that the store lacks, and keep what comes of it, slot by slot."""
    length = query.timeline.slot
    known = store.read(slots).select(list(ROW)).rename_columns(list(names))
    slot = sf.col(names[0]) - sf.pmod(sf.col(names[0]), sf.lit(length))
    arguments = [sf.col(f"`{name}`").alias(f"_{i}") for i, name in enumerate(entry.columns)]
    by = entry.cost_by or query.group_by
    costs = [sf.col(f"`{name}`").alias(f"{_BY}{i}") for i, name in enumerate(by)]
    wanted = keyed.select(*names, slot.alias(_SLOT), *arguments, *costs)
    missing = wanted.dropDuplicates(list(names)).join(_frame(spark, known), list(names), "left_anti")
    source = entry.source
    if source.shipped:
        spark.addArtifact(str(source.file), pyfile=True)
    tasks = _PIECES * partitions
    made = missing.repartition(tasks, names[1]).mapInArrow(
        _worker(entry, source.digest, source.file if source.shipped else None, names, len(by)), _schema()
    )
    found = _own_errors(made.toArrow)
    for one in sorted(set(found["slot"].to_pylist())):
        part = found.filter(pc.equal(found["slot"], one)).drop_columns(["slot"])
        store.add(one, part)


def _worker(
    entry: EnrichSpec, digest: str, file: Path | None, names: Sequence[str], by: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        place = file if file is None or file.is_file() else Path(SparkFiles.get(file.name))
        function = load_function(entry.call, place)
        calls = Calls(function, entry.call, entry.type, entry.batch, entry.limit / 1e6, entry.on_error == "fail")
        for batch in batches:
            rows = list(zip(*(batch.column(f"_{i}").to_pylist() for i in range(len(entry.columns))), strict=True))
            items = items_of(entry.name, pa.Table.from_batches([batch]), [f"{_BY}{i}" for i in range(by)])
            made = row_columns(entry, digest, calls.results(rows), rows, items)
            for part, name in zip(ROW, names, strict=True):
                made = made.append_column(part, batch.column(name))
            made = made.append_column("slot", batch.column(_SLOT))
            yield from made.select(_columns()).to_batches()

    return work


def _columns() -> list[str]:
    return list(warehouse.enriched.schema.names)


def _schema() -> str:
    return ", ".join(f"`{name}` {_SQL.get(name, 'string')}" for name in _columns())


def _frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table)


def _own_errors(collect: Callable[[], Any]) -> Any:
    """What a worker raised of ours is raised here as it was, without Spark's frames."""
    try:
        return collect()
    except Exception as error:
        own = re.search(r"shedding\.errors\.(\w+): (.*)", str(error))
        kind = getattr(errors, own.group(1), SluiceError) if own else None
        if own is None or kind is None:
            raise
        raise kind(own.group(2).strip()) from None
