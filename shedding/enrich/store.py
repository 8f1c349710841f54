"""`enriched/<query>`: what functions made, kept so that no row is computed twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shedding import warehouse
from shedding.config import Settings
from shedding.enrich.calls import Result
from shedding.errors import SpecError
from shedding.spec.enrich import EnrichSpec
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.tables import Table

Ints = npt.NDArray[np.int64]
ROW = ("event_time", "u", "inputs")
"""What tells rows apart: instant (us), place, and a hash of the function's arguments."""


def row_columns(
    entry: EnrichSpec, digest: str, results: Sequence[Result], rows: Sequence[Sequence[Any]], items: Ints
) -> pa.Table:
    """The columns of `enriched` that the function's results decide; `rows` are its arguments."""
    schema, size = warehouse.enriched.schema, len(results)
    kept = entry.on_error == "quarantine"
    refused = [json.dumps(list(row), default=str) if kept and r.error is not None else None
               for row, r in zip(rows, results, strict=True)]  # fmt: skip
    columns: dict[str, Any] = {
        "column": [entry.name] * size, "version": [entry.version] * size, "source": [digest] * size,
        **{kind: [None] * size for kind in ("double", "bigint", "string", "boolean")},
        entry.type: [r.value for r in results], "cost_ns": [r.cost_ns for r in results],
        "cpu_ns": [r.cpu_ns for r in results], "error": [r.error for r in results], "refused": refused, "item": items,
    }  # fmt: skip
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})


class Enriched:
    """The values of one column of one query, by slot."""

    def __init__(self, settings: Settings, query: str, entry: EnrichSpec) -> None:
        self.table: Table = warehouse.enriched(settings, query)
        self.entry, self.digest = entry, entry.source.digest

    def read(self, slots: Sequence[int]) -> pa.Table:
        """The values that are there of these slots, one row each; SpecError where the source changed in silence."""
        schema = warehouse.enriched.schema
        if not self.table.exists():
            return schema.empty_table()
        names = [slot_name(slot) for slot in slots]
        rows = self.table.read([("slot", "in", names), ("column", "=", self.entry.name)])
        rows = _with_item(rows).select(schema.names).cast(schema)
        rows = rows.filter(pc.equal(rows["version"], self.entry.version))
        others = set(rows["source"].unique().to_pylist()) - {self.digest}
        if others:
            raise SpecError(
                f"the source of {self.entry.call} changed, and rows of its version {self.entry.version} are computed "
                f"already; write version: {self.entry.version + 1} in enrich.{self.entry.name}, or change it back"
            )
        return _first_of_each(rows)

    def add(self, slot: int, rows: pa.Table) -> None:
        """Keep new values of a slot; two runs that computed the same row keep one value, the first."""
        name = slot_name(slot)
        metadata = {"column": self.entry.name, "version": self.entry.version}
        named = rows.append_column("slot", pa.array([name] * rows.num_rows)).select(warehouse.enriched.schema.names)
        self.table.append(named, metadata)


def unlike_advice(settings: Settings, query: QuerySpec, slot: int) -> list[str]:
    """The functions that gave rows of an audited slot with equal arguments different values; no call is made for it."""
    found = []
    for entry in query.enrich:
        rows = Enriched(settings, query.name, entry).read([slot])
        rows = rows.filter(pc.is_null(rows["error"])).select(["inputs", entry.type])
        distinct = rows.group_by(["inputs", entry.type]).aggregate([]).group_by("inputs").aggregate([([], "count_all")])
        number = int(pc.sum(pc.greater(distinct["count_all"], 1)).as_py() or 0)
        if number:
            found.append(
                f"{entry.call} is not deterministic: for {number} values of {', '.join(entry.columns)} it gave rows "
                f"different results; the first value of a row is kept, but make it depend on its arguments alone"
            )
    return found


def _with_item(rows: pa.Table) -> pa.Table:
    """Rows of a table from before costs were kept by item: one item for all."""
    there = "item" in rows.column_names
    return rows if there else rows.append_column("item", pa.array(np.zeros(rows.num_rows, dtype=np.int64)))


def _first_of_each(rows: pa.Table) -> pa.Table:
    """One row for each row of raw: where two runs computed it at once, the one with the least value and cost."""
    order = [(name, "ascending") for name in (*ROW, "double", "bigint", "string", "boolean", "cost_ns")]
    if not rows.num_rows:
        return rows
    rows = rows.take(pc.sort_indices(rows, sort_keys=order))
    keys = [rows[name].to_numpy() for name in ROW]
    new = np.ones(rows.num_rows, dtype=bool)
    new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return rows.filter(pa.array(new))
