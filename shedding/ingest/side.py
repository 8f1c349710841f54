"""What one side of a query can read of a slot: visible raw rows, arrival counts, and their fingerprint."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.ingest.arrivals import HOUR, Arrivals
from shedding.ingest.key_counts import read_counts
from shedding.spec.catalog import Catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.fingerprints import digest
from shedding.spec.keyset import KeySet, keyset_of
from shedding.spec.query import KEPT, QuerySpec
from shedding.spec.times import parse_instant
from shedding.stretches import Stretches
from shedding.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MILLISECOND = 1_000
"""Delta's statistics cut instants to milliseconds."""
COUNTS_KEPT = 3
"""Stretches whose counts are kept after they were read: a slot, and the one before it."""


@dataclass(frozen=True)
class Side:
    """A dataset as one side of a query sees it, pinned to one snapshot of its arrivals.

    Guarantee: everything here is a function of the visible raw rows in the stretches asked for. `only` are the keys
    (one row a key) that the condition of the key set leaves, where a read is limited to a few.
    """

    settings: Settings
    dataset: DatasetSpec
    keyset: KeySet
    arrivals: Arrivals
    only: pa.Table | None = None

    def known(self, stretches: Stretches) -> bool:
        """Whether the rows per pane and key were counted at arrival."""
        return self.arrivals.counted(self.keyset.id, stretches)

    def counts(self, stretches: Stretches) -> pa.Table | None:
        """The rows per pane and key, or None where they were not counted."""
        if not self.known(stretches):
            return None
        known = stretches.text
        if known not in self._counts:
            while len(self._counts) >= COUNTS_KEPT:
                del self._counts[next(iter(self._counts))]
            self._counts[known] = read_counts(self.settings, self.keyset, stretches, self.arrivals)
        return self._counts[known]

    @cached_property
    def _counts(self) -> dict[str, pa.Table]:
        """The counts that were read last: the snapshot is pinned, so they stay what they are."""
        return {}

    def fingerprint(self, stretches: Stretches) -> str:
        """Changes when visible rows of the stretches change, or when they become counted."""
        counted = "counted" if self.known(stretches) else "estimated"
        return f"{self.arrivals.fingerprint(stretches)}-{counted}"

    def rows(self, stretches: Stretches) -> float:
        """About how many rows the stretches have: their share of the hours they overlap."""
        hours = stretches.widened(HOUR)
        return self.arrivals.rows(hours) * stretches.total / hours.total if hours else 0.0

    def bytes(self, stretches: Stretches, deepest: int | None = None) -> int:
        """Bytes of the data files that a scan of the stretches cannot skip by partition or event-time statistics.

        Files are skipped by the statistics of keys too where the side has a few `only`, and with `deepest` by their
        least rank.
        """
        raw = warehouse.raw(self.settings, self.dataset.name)
        return file_bytes(raw, "event_time", stretches, self.only, deepest)

    def read(self, spark: SparkSession, stretches: Stretches) -> DataFrame:
        """The visible rows of the stretches, as `read_raw` reads them."""
        from shedding.ingest.raw_rows import read_raw

        return read_raw(spark, self.settings, self.dataset, stretches, self.arrivals)

    def no_keys(self) -> pa.Table:
        """The key columns, typed, without a row."""
        types = self.types()
        missing = [name for name in self.keyset.keys if name not in types]
        if missing:
            name = self.dataset.name
            raise NotReadyError(f"raw/{name} has no column {missing[0]} yet; `sluice ingest {name}` adds it")
        return pa.table({name: pa.array([], types[name]) for name in self.keyset.keys})

    def types(self) -> dict[str, pa.DataType]:
        """The type of each raw column; NotReadyError where nothing was ever ingested."""
        schema = warehouse.raw(self.settings, self.dataset.name).schema()
        if schema is None:
            name = self.dataset.name
            raise NotReadyError(f"dataset {name} has no rows yet; run `sluice ingest {name}` first")
        return {field.name: field.type for field in schema} | ({KEPT: pa.int32()} if self.keyset.keep else {})


def file_bytes(
    table: Table, column: str, stretches: Stretches, only: pa.Table | None = None, deepest: int | None = None
) -> int:
    """Bytes of a table's files that may hold rows of the stretches, by their partition and the statistics of a time."""
    from deltalake import DeltaTable

    if not table.exists():
        return 0
    files = pa.table(DeltaTable(table.uri).get_add_actions(flatten=True)).to_pylist()
    unskipped = (file for file in files if stretches.within(_times(file, column)))
    return sum(file["size_bytes"] for file in unskipped if _may_hold(file, only) and _reaches(file, deepest))


def rows_fingerprint(sides: Sequence[Side], several: Iterable[Stretches]) -> str:
    """Of the visible rows that the sides have in each of the stretches."""
    return digest([side.fingerprint(stretches) for side in sides for stretches in several])


def sides_of(settings: Settings, catalog: Catalog, query: QuerySpec) -> list[Side]:
    """The one dataset that the query reads, or the two that it joins, left first; as they are now."""
    if query.source is not None:
        from shedding.ingest.published_side import published_side

        return [published_side(settings, catalog.dataset(query.dataset), keyset_of(query))]
    columns = catalog.dataset(query.dataset).column_names
    keysets = [keyset_of(query, "left", columns)]
    if query.join is not None:
        keysets.append(keyset_of(query, "right", columns))
    return [Side(settings, catalog.dataset(k.dataset), k, Arrivals.load(settings, k.dataset)) for k in keysets]


def _may_hold(file: Mapping[str, Any], keys: pa.Table | None) -> bool:
    """Whether a file's least and largest key leave room for one of the keys; only told for keys of one column."""
    if keys is None or keys.num_columns != 1:
        return True
    name = keys.column_names[0]
    least, largest = file.get(f"min.{name}"), file.get(f"max.{name}")
    if least is None or largest is None:
        return True
    return any(key is None or least <= key <= largest for key in keys.column(0).to_pylist())


def _reaches(file: Mapping[str, Any], deepest: int | None) -> bool:
    """Whether a file may hold a rank up to the deepest that is wanted."""
    least = file.get("min._rank")
    return deepest is None or least is None or least <= deepest


def _times(file: Mapping[str, Any], column: str) -> Stretches:
    """The instants that a file may hold, by its partition and its statistics of a column."""
    date, hour = file.get("partition.event_date"), file.get("partition.event_hour")
    first, last = _micros(file.get(f"min.{column}")), _micros(file.get(f"max.{column}"))
    known = Stretches.of((first, last + _MILLISECOND)) if first is not None and last is not None else None
    if date is None:
        return known or Stretches.of((-(2**63), 2**63))
    start = parse_instant(date) + (int(hour or 0) * HOUR)
    part = Stretches.of((start, start + (24 * HOUR if hour is None else HOUR)))
    return part if known is None else part.within(known)


def _micros(moment: dt.datetime | None) -> int | None:
    """A statistic's instant, which is UTC whether it says so or not."""
    if moment is None:
        return None
    return parse_instant(moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC))
