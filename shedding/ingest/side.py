"""What one side of a query can read of a slot: visible raw rows, arrival counts, and their fingerprint."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
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
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import Timeline
from shedding.spec.times import as_datetime, format_date

_DEEPEST = b"deepest_rank"


@dataclass(frozen=True)
class Side:
    """A dataset as one side of a query sees it, pinned to one snapshot of its arrivals.

    Guarantee: everything here is a function of the visible raw rows in the stretch asked for.
    """

    settings: Settings
    dataset: DatasetSpec
    keyset: KeySet
    arrivals: Arrivals

    def known(self, start: int, end: int) -> bool:
        """Whether the rows per pane and key of [start, end) were counted at arrival."""
        return self.arrivals.counted(self.keyset.id, start, end)

    def counts(self, start: int, end: int) -> pa.Table | None:
        """The rows per pane and key, or None where they were not counted."""
        if not self.known(start, end):
            return None
        return read_counts(self.settings, self.keyset, start, end, self.arrivals)

    def fingerprint(self, start: int, end: int) -> str:
        """Changes when visible rows of the stretch change, or when they become counted."""
        counted = "counted" if self.known(start, end) else "estimated"
        return f"{self.arrivals.fingerprint(start, end)}-{counted}"

    def rows(self, start: int, end: int) -> float:
        """About how many rows the stretch has: its share of the hours it overlaps."""
        hours = (-(-end // HOUR) - start // HOUR) * HOUR
        return self.arrivals.rows(start, end) * (end - start) / hours

    def bytes(self, start: int, end: int, keys: pa.Table | None = None, deepest: int | None = None) -> int:
        """Bytes of the data files that a scan of [start, end) cannot skip by partition or event-time statistics.

        With `keys` (one row a key) those that a scan of their rows cannot skip by the key's statistics either; with
        `deepest` those that have a rank up to it.
        """
        from deltalake import DeltaTable

        raw = warehouse.raw(self.settings, self.dataset.name)
        if not raw.exists():
            return 0
        files = pa.table(DeltaTable(raw.uri).get_add_actions(flatten=True)).to_pylist()
        dates = format_date(start), format_date(max(start, end - 1))
        low, high = as_datetime(start), as_datetime(end)
        total = 0
        for file in files:
            date = file.get("partition.event_date")
            if date is not None and not dates[0] <= date <= dates[1]:
                continue
            first, last = _utc(file.get("min.event_time")), _utc(file.get("max.event_time"))
            inside = (first is None or first < high) and (last is None or last >= low)
            if inside and _may_hold(file, keys) and _reaches(file, deepest):
                total += file["size_bytes"]
        return total

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
        return {field.name: field.type for field in schema}


def needed_counts(side: Side, timeline: Timeline, start: int, end: int) -> pa.Table | None:
    """The side's counts without the panes that lie in the gaps between windows; None where nobody counted."""
    counts = side.counts(start, end)
    if counts is None or timeline.size >= timeline.slide:
        return counts
    inside = counts.column("pane_start").to_numpy().astype(np.int64) % timeline.slide < timeline.size
    return counts.filter(pa.array(inside))


def rows_fingerprint(sides: Sequence[Side], slots: Sequence[int], length: int) -> str:
    """Of the visible rows that the sides have in the slots, all of one length."""
    return digest([side.fingerprint(slot, slot + length) for side in sides for slot in slots])


def marked(scanned: pa.Table, deepest: int) -> pa.Table:
    """What a scan found, with a note that it read ranked files only down to a rank."""
    return scanned.replace_schema_metadata({_DEEPEST: str(deepest)})


def deepest_of(scanned: pa.Table) -> int | None:
    """The rank down to which a scan read; None where it read all ranks."""
    note = (scanned.schema.metadata or {}).get(_DEEPEST)
    return None if note is None else int(note)


def sides_of(settings: Settings, catalog: Catalog, query: QuerySpec) -> list[Side]:
    """The one dataset that the query reads, or the two that it joins, left first; as they are now."""
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


def _utc(moment: dt.datetime | None) -> dt.datetime | None:
    return moment.replace(tzinfo=dt.UTC) if moment is not None and moment.tzinfo is None else moment
