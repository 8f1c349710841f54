"""The exact answer of a few keys of a slot, from a read that is limited to their rows; nothing is remembered."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from shedding.answers import Answer, exact_answer
from shedding.ledger import LegWindow, results_rows
from shedding.memory import EXACT, Scans
from shedding.pane_sums import Scanned
from shedding.scores import measured
from shedding.sides import Side
from shedding.spec.durations import parse_instant
from shedding.spec.query import QuerySpec
from shedding.whole_values import whole_values
from shedding.windowed import PaneRun


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
    narrow = replace(side, keyset=replace(side.keyset, where=where))
    slots = query.timeline.slots_needed(slot)
    length = query.timeline.slot
    scanned = scans.panes(narrow, query.measures, slots[0], slot + length, (), True)
    panes = []
    for one in slots:
        start = scanned.column("pane_start")
        inside = pc.and_(pc.greater_equal(start, one), pc.less(start, one + length))
        part = scanned.filter(inside)
        panes.append(Scanned(part, query.group_by, None).panes(None, query.measures, None))
    run = PaneRun(panes, query.group_by)
    whole = whole_values(query, narrow, scans, slot, run.keys)
    windows = []
    for start, end in query.timeline.windows(slot):
        answer: Answer = exact_answer(run.window(start, end), query.measures, whole.get(start, {}))
        scores = {m.name: measured(answer, answer, m) for m in query.measures}
        windows.append(LegWindow(leg, answer, scores, EXACT))
    processed = float(scanned.column("rows").to_numpy().sum())
    read = side.bytes(slots[0], slot + length, keys)
    return ExactRows(results_rows(slot, windows, query.measures), processed, read)


def key_condition(keys: pa.Table) -> str:
    """The SQL condition that holds for rows of these keys and no others; null is a key like any other.

    One column becomes an IN list, which file statistics and row groups are skipped by.
    """
    names = keys.column_names
    if len(names) == 1:
        values = keys.column(0).to_pylist()
        listed = ", ".join(_literal(value) for value in values if value is not None)
        parts = [f"`{names[0]}` IN ({listed})"] if listed else []
        parts += [f"`{names[0]}` IS NULL"] if None in values else []
        return " OR ".join(parts) or "FALSE"
    rows = [" AND ".join(f"`{name}` <=> {_literal(row[name])}" for name in names) for row in keys.to_pylist()]
    return " OR ".join(f"({row})" for row in rows) or "FALSE"


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
        case _:
            text = "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text
