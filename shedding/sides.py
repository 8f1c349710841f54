"""What one side of a query can read of a slot: visible raw rows, arrival counts, and their fingerprint."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import pyarrow as pa

from shedding.arrivals import HOUR, Arrivals
from shedding.concepts import read_counts
from shedding.config import Settings
from shedding.errors import NotReadyError
from shedding.spec.dataset import DatasetSpec
from shedding.spec.durations import as_datetime
from shedding.spec.keyset import KeySet
from shedding.tables import Table


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

    def bytes(self, start: int, end: int) -> int:
        """Bytes of the data files that a scan of [start, end) cannot skip by partition or event-time statistics."""
        from deltalake import DeltaTable

        uri = self.settings.table("raw", self.dataset.name)
        if not Table(uri).exists():
            return 0
        files = pa.table(DeltaTable(uri).get_add_actions(flatten=True)).to_pylist()
        dates = f"{as_datetime(start):%Y-%m-%d}", f"{as_datetime(max(start, end - 1)):%Y-%m-%d}"
        low, high = as_datetime(start), as_datetime(end)
        total = 0
        for file in files:
            date = file.get("partition.event_date")
            if date is not None and not dates[0] <= date <= dates[1]:
                continue
            first, last = _utc(file.get("min.event_time")), _utc(file.get("max.event_time"))
            if (first is None or first < high) and (last is None or last >= low):
                total += file["size_bytes"]
        return total

    def no_keys(self) -> pa.Table:
        """The key columns, typed, without a row."""
        schema = Table(self.settings.table("raw", self.dataset.name)).schema()
        if schema is None:
            name = self.dataset.name
            raise NotReadyError(f"dataset {name} has no rows yet; run `sluice ingest {name}` first")
        return pa.table({name: pa.array([], schema.field(name).type) for name in self.keyset.keys})


def _utc(moment: dt.datetime | None) -> dt.datetime | None:
    return moment.replace(tzinfo=dt.UTC) if moment is not None and moment.tzinfo is None else moment
