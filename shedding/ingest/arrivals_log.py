"""Writing the arrivals log: a few rows in one append, in an order that all readers agree on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.spec.times import as_datetime

_SCHEMA = warehouse.ingests.schema
_TIMES = ("first_event", "last_event", "reached", "interval_start", "interval_end")


def write_log(settings: Settings, dataset: str, rows: Sequence[Mapping[str, Any]], at: dt.datetime) -> int:
    """Append rows in one commit; instants are given in microseconds. Returns the log's new version.

    Each row's `seq` is one above the log's version at the time, so whoever read a row writes a later one.
    """
    table = warehouse.ingests(settings, dataset)
    version = table.version()
    seq = 1 if version is None else version + 2
    complete = []
    for row in rows:
        moments = {name: as_datetime(row[name]) for name in _TIMES if row.get(name) is not None}
        complete.append({**dict.fromkeys(_SCHEMA.names), **row, **moments, "at": at, "seq": seq})
    states = sorted({str(row["state"]) for row in rows})
    return table.append(pa.Table.from_pylist(complete, schema=_SCHEMA), {"dataset": dataset, "states": states})


def watermark_row(interval: tuple[int, int]) -> dict[str, Any]:
    """An ingest run looked for files up to the interval's end."""
    return {"state": "watermark", "interval_start": interval[0], "interval_end": interval[1]}
