"""Reading a Delta table by delta-rs's own engine: pyarrow's reader imports pandas, which alone takes over a second."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


class QuickTable:
    """A table at its newest or a pinned version, open for SQL; `schema` has its columns in Arrow's types."""

    def __init__(self, uri: str, version: int | None = None) -> None:
        from deltalake import DeltaTable, QueryBuilder

        self.delta: Any = DeltaTable(uri, version=version)
        self.schema = pa.schema(self.delta.schema().to_arrow())
        self._engine = QueryBuilder().register("rows", self.delta)

    def select(self, clauses: str = "", columns: str = "*") -> pa.Table:
        """The columns of the rows that the clauses after FROM (WHERE, GROUP BY, ORDER BY, LIMIT) leave."""
        stream = self._engine.execute(f"SELECT {columns} FROM rows {clauses}")
        rows = pa.RecordBatchReader.from_stream(stream).read_all()
        # The engine answers in string views, which Arrow's compute functions do not know.
        own = [self.schema.field(f.name) if f.name in self.schema.names else f for f in rows.schema]
        return rows.cast(pa.schema(own))
