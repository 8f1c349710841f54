"""`windows/<query>`: what became of every decided window, so that readers tell dropped from empty.

Written after `published`, by the one who publishes: a state never runs ahead of its rows. No row: not decided yet.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shedding import warehouse
from shedding.config import Settings
from shedding.planning.arrival_counts import counted_windows
from shedding.planning.slot_plan import SlotPlan, standing
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_instant


@dataclass(frozen=True, slots=True)
class Decision:
    """How a slot ended for its kept windows: published at a version, refused, shut or none of them kept."""

    run_id: str
    refused: str | None = None
    published_version: int | None = None


def write_states(settings: Settings, query: QuerySpec, slot: int, answer: pa.Table | None, decision: Decision) -> int:
    """Replace the states of the windows that end in the slot, in one commit; the new version of `windows/<query>`.

    `answer` are the judged rows, by `window_start`; None where no window was kept.
    """
    plan = standing(settings, query, slot)
    counted = counted_rows(settings, query, plan)
    stands = _published_before(settings, query, slot) if decision.refused is not None else {}
    rows = [stands.get(start) or _row(query, plan, start, counted, answer, decision) for start in plan.windows]
    span = (format_instant(slot), format_instant(slot + query.timeline.slot))
    metadata = {
        "run_id": decision.run_id,
        "slot": slot_name(slot),
        "dropped": len(plan.dropped),
        "kept": len(plan.kept),
    }
    table = pa.Table.from_pylist(rows, schema=warehouse.windows.schema)
    return warehouse.windows(settings, query.name).replace(table, {"window_end": span}, metadata)


def _published_before(settings: Settings, query: QuerySpec, slot: int) -> dict[int, dict[str, object]]:
    """By start, the windows whose published rows stand though a later run of the slot was refused."""
    table = warehouse.windows(settings, query.name)
    rows = table.read([("slot", "=", slot_name(slot))]) if table.exists() else warehouse.windows.schema.empty_table()
    starts = rows["window_start"].cast(pa.int64()).to_pylist()
    return {
        start: row
        for start, row in zip(starts, rows.to_pylist(), strict=True)
        if row["state"] in ("published", "empty")
    }


def counted_rows(settings: Settings, query: QuerySpec, plan: SlotPlan) -> Mapping[int, int | None]:
    """The rows of each window as arrival counted them, dropped ones too; None where nobody counted, and for joins."""
    counted = counted_windows(settings, query, plan)
    if counted is None:
        return dict.fromkeys(plan.windows)
    start, rows = counted["window_start"].to_numpy(), counted["rows"].to_numpy()
    return {window: int(rows[start == window].sum()) for window in plan.windows}


def _row(
    query: QuerySpec, plan: SlotPlan, start: int, counted: Mapping[int, int | None], answer: pa.Table | None,
    decision: Decision,
) -> dict[str, object]:  # fmt: skip
    kept = start in plan.kept
    own = _window(answer, start) if kept and answer is not None else None
    keys = 0 if own is None else own.num_rows
    state = "dropped" if not kept else "refused" if decision.refused is not None else "published" if keys else "empty"
    reason = plan.reason if not kept else decision.refused or ""
    return {
        "window_start": start, "window_end": start + plan.size, "state": state, "rows": counted[start],
        "keys": keys if kept else None, "published_version": decision.published_version if kept else None,
        "content": None if own is None else _content(query, own), "plan_revision": plan.revision, "reason": reason,
        "run_id": decision.run_id, "decided_at": dt.datetime.now(dt.UTC), "slot": slot_name(plan.slot),
    }  # fmt: skip


def _window(answer: pa.Table, start: int) -> pa.Table:
    return answer.filter(pc.equal(answer["window_start"].cast(pa.int64()), start))


def _content(query: QuerySpec, rows: pa.Table) -> str:
    """Of the keys and values of a window, not of the run that made them: equal rows are equal contents."""
    measures = [name for m in query.measures for name in (m.name, f"{m.name}_low", f"{m.name}_high")]
    order = [("window_start", "ascending"), *((key, "ascending") for key in query.group_by)]
    wanted = rows.select(["window_start", *query.group_by, *measures])
    wanted = wanted.take(pc.sort_indices(wanted, order)).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, wanted.schema.remove_metadata()) as stream:
        stream.write_table(wanted.replace_schema_metadata(None))
    return hashlib.blake2b(sink.getvalue().to_pybytes(), digest_size=12).hexdigest()
