"""A warehouse of many slots: those of a small one again and again, each time later."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shedding.config import Settings
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant
from shedding.tables import Table

PARTITIONS = {"runs": ("slot",), "verdicts": ("slot",), "published": ("slot",), "results": ("slot", "leg")}
STAMPS = ("window_start", "window_end", "last_audit", "at", "published_at")


def many_slots(small: Settings, large: Settings, query: QuerySpec, slots: int) -> int:
    """Fill `large` with at least `slots` slots that are copies of those of `small`; how many there are."""
    names = sorted(set(Table(small.table("runs", query.name)).read(columns=["slot"])["slot"].to_pylist()))
    first, last = parse_instant(names[0]), parse_instant(names[-1])
    stretch = last - first + query.timeline.slot
    copies = -(-slots // (stretch // query.timeline.slot))
    for kind, by in PARTITIONS.items():
        rows = Table(small.table(kind, query.name)).read()
        whole = pa.concat_tables([_later(rows, number * stretch) for number in range(copies)])
        Table(large.table(kind, query.name), by).append(whole, {"copies": copies})
    return copies * (stretch // query.timeline.slot)


def _later(rows: pa.Table, shift: int) -> pa.Table:
    names = {name: slot_name(parse_instant(name) + shift) for name in pc.unique(rows["slot"]).to_pylist()}
    moved = {"slot": pa.array([names[name] for name in rows["slot"].to_pylist()], pa.string())}
    for stamp in set(STAMPS) & set(rows.column_names):
        kind = rows.schema.field(stamp).type
        moved[stamp] = pc.add(rows[stamp].cast(pa.int64()), pa.scalar(np.int64(shift))).cast(kind)
    for name, values in moved.items():
        rows = rows.set_column(rows.column_names.index(name), name, values)
    return rows
