"""The exact answer of a few keys of a slot, from a read that is limited to their rows; nothing is remembered."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from shedding.answers.answer import Answer, exact_answer
from shedding.answers.run_record import LegWindow, results_rows
from shedding.answers.scores import measured
from shedding.answers.whole_values import whole_values
from shedding.ingest.side import Side
from shedding.panes.from_scan import Scanned
from shedding.panes.scans import Scans
from shedding.panes.windows import PaneRun
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.times import parse_instant


@dataclass(frozen=True, slots=True)
class ExactRows:
    """Rows of `results/<query>` under the name of some leg, the raw rows they were made from, and the bytes read."""

    rows: pa.Table
    processed: float
    bytes: int


def exact_rows(query: QuerySpec, side: Side, slot: int, scans: Scans, keys: pa.Table, leg: str) -> ExactRows:
    """The exact answer of `keys` (one row a key) in the slot's windows, the same bits as the exact leg's.

    Panes are cut per slot as the exact leg cuts them, so that sums are rounded in the same places.
    """
    wanted = key_condition(keys)
    where = wanted if side.keyset.where is None else f"({side.keyset.where}) AND ({wanted})"
    narrow = replace(side, keyset=replace(side.keyset, where=where), only=keys)
    slots = query.timeline.slots_needed(slot)
    length = query.timeline.slot
    read = scans.panes(narrow, query.measures, query.timeline.needed(slots[0], slot + length), (), True)
    scanned = read.table
    panes = []
    for one in slots:
        start = scanned.column("pane_start")
        inside = pc.and_(pc.greater_equal(start, one), pc.less(start, one + length))
        part = scanned.filter(inside)
        panes.append(Scanned(part, query.group_by, None).panes(None, query.measures, None))
    run = PaneRun(panes, query.group_by)
    whole = whole_values(query, narrow, scans, query.timeline.windows(slot), run.keys)
    windows = []
    for start, end in query.timeline.windows(slot):
        answer: Answer = exact_answer(run.window(start, end), query.measures, whole.get(start, {}))
        scores = {m.name: measured(answer, answer, m) for m in query.measures}
        windows.append(LegWindow(leg, answer, scores, EXACT))
    processed = float(scanned.column("rows").to_numpy().sum())
    return ExactRows(results_rows(slot, windows, query.measures), processed, read.bytes)


def key_condition(keys: pa.Table) -> str:
    """The SQL condition that holds for rows of these keys and no others; null is a key like any other.

    Each column becomes an IN list, which file statistics and row groups are skipped by; several are then looked up
    together in a set of their own, since thousands of alternatives would take Spark minutes to plan.
    """
    if not keys.num_rows:
        return "FALSE"
    names = keys.column_names
    parts = [_one_of(name, pc.unique(keys.column(name)).to_pylist()) for name in names]
    if len(names) > 1:
        types = {name: _sql_type(keys.schema.field(name).type) for name in names}
        together = ", ".join(f"CAST(`{name}` AS {types[name]})" for name in names)
        listed = (", ".join(_typed(value, types[name]) for name, value in row.items()) for row in keys.to_pylist())
        parts.append(f"struct({together}) IN ({', '.join(f'struct({values})' for values in listed)})")
    return " AND ".join(f"({part})" for part in parts)


def _one_of(name: str, values: Sequence[object]) -> str:
    listed = ", ".join(_literal(value) for value in values if value is not None)
    parts = [f"`{name}` IN ({listed})"] if listed else []
    return " OR ".join(parts + ([f"`{name}` IS NULL"] if None in values else []))


def _typed(value: object, kind: str) -> str:
    """The literal of exactly this type; a cast only where there is no shorter way, since each takes time to plan."""
    plain = {"STRING": _literal(value), "INT": _literal(value), "BIGINT": f"{value}L", "BOOLEAN": _literal(value)}
    return plain[kind] if value is not None and kind in plain else f"CAST({_literal(value)} AS {kind})"


def _sql_type(kind: pa.DataType) -> str:
    """What Spark calls an Arrow type of a key; texts are text, however Arrow holds them."""
    named = {pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
             pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN", pa.date32(): "DATE",
             pa.binary(): "BINARY", pa.large_binary(): "BINARY"}  # fmt: skip
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    return str(kind).upper().replace("128", "") if pa.types.is_decimal(kind) else named.get(kind, "STRING")


def _literal(value: object) -> str:
    """A key's value in Spark SQL, whose texts escape with a backslash."""
    match value:
        case None:
            text = "NULL"
        case bool():
            text = str(value).upper()
        case int():
            text = str(value)
        case float():
            text = f"CAST('{value!r}' AS DOUBLE)"
        case dt.datetime():
            text = f"timestamp_micros({parse_instant(value)})"
        case dt.date():
            text = f"DATE '{value.isoformat()}'"
        case bytes():
            text = f"X'{value.hex()}'"
        case _:
            text = "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text
