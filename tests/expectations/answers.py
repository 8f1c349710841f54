"""Answers made by hand, written as the aggregate job writes them: what the gate's tests judge."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from shedding.config import Settings
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.tables import Table

HOUR = 3_600_000_000
SLOT = 480_000 * HOUR  # 2024-10-04T00:00Z
STAMP = pa.timestamp("us", "UTC")


def make_query(gate: Mapping[str, Any] | None = None, **changes: Any) -> QuerySpec:
    """A query over hourly slots with one tumbling half-hour window, keys `route`, measure `fare`."""
    content: dict[str, Any] = {
        "name": "fares",
        "dataset": "taxi",
        "window": {"size": "30 minutes"},
        "group_by": ["route"],
        "measures": [{"name": "fare", "agg": "avg", "column": "fare_amount"}],
        "schedule": {"every": "1 hour"},
        "shed": {"policy": "uniform", "budget": {"fraction": 0.1}},
        "gate": {"mean_relative_error": 0.1, **(gate or {})},
    }
    return QuerySpec.model_validate({**content, **changes})


@dataclass
class Answer:
    """One slot's answer: per window the keys, and per measure the values and errors of every key."""

    query: QuerySpec
    slot: int = SLOT
    keys: Sequence[str | None] = ("a", "b", "c", "d")
    errors: Sequence[float | None] | None = None
    values: Sequence[float | None] | None = None
    widths: float = 0.5
    audited: bool = True
    truth: Sequence[float] | None = None
    missing: int = 0
    leg: str = "uniform"
    omitted: Sequence[str] = ()
    run: dict[str, Any] = field(default_factory=dict)

    def rows(self, leg: str) -> pa.Table:
        """The rows of `results` of one leg."""
        exact = leg == "exact"
        tables = [self._window(start, end, leg, exact) for start, end in self.query.timeline.windows(self.slot)]
        return pa.concat_tables(tables)

    def write(self, settings: Settings, run_id: str = "run") -> None:
        """Write `results` and `runs` of the slot, each in one commit."""
        legs = [self.leg] + (["exact"] if self.audited and self.leg != "exact" else [])
        slot = slot_name(self.slot)
        results = Table(settings.table("results", self.query.name), ("slot", "leg"))
        runs = Table(settings.table("runs", self.query.name), ("slot",))
        whole = pa.concat_tables([*(self.rows(leg) for leg in legs), *self._omitted()], promote_options="default")
        version = results.replace(whole, {"slot": slot}, {"run": run_id})
        rows = [row | {"results_version": version} for leg in legs for row in self._run_rows(leg, run_id)]
        runs.replace(pa.Table.from_pylist(rows, schema=_run_schema(rows)), {"slot": slot}, {"run": run_id})

    def _omitted(self) -> list[pa.Table]:
        """Keys of 50 rows that every window leaves out."""
        count = len(self.omitted)
        columns = {"population": 50.0, "planned_error": 0.4, "error_limit": 0.25, "rows_needed": 9.0}
        return [
            pa.table({
                "slot": pa.array([slot_name(self.slot)] * count, pa.string()),
                "leg": pa.array(["omitted"] * count, pa.string()),
                "window_start": pa.array([start] * count, STAMP),
                "window_end": pa.array([end] * count, STAMP),
                **{key: pa.array(list(self.omitted), pa.string()) for key in self.query.group_by},
                **{name: np.full(count, value) for name, value in columns.items()},
                "reason": pa.array(["fare: planned error 0.4 is above 0.25"] * count, pa.string()),
            })
            for start, end in self.query.timeline.windows(self.slot)
            if count
        ]  # fmt: skip

    def _window(self, start: int, end: int, leg: str, exact: bool) -> pa.Table:
        count = len(self.keys)
        values = list(self.values) if self.values is not None else [10.0] * count
        if exact:
            values = list(self.truth) if self.truth is not None else values
        errors = [0.0] * count if exact or self.errors is None else list(self.errors)
        width = 0.0 if exact else self.widths
        measures: dict[str, Any] = {}
        for measure in self.query.measures:
            numbers = pa.array(values, pa.float64())
            measures |= {
                measure.name: numbers,
                f"{measure.name}_low": pa.array([None if v is None else v - width for v in values], pa.float64()),
                f"{measure.name}_high": pa.array([None if v is None else v + width for v in values], pa.float64()),
                f"{measure.name}_error": pa.array(errors, pa.float64()),
            }
        return pa.table({
            "slot": pa.array([slot_name(self.slot)] * count, pa.string()),
            "leg": pa.array([leg] * count, pa.string()),
            "window_start": pa.array([start] * count, STAMP),
            "window_end": pa.array([end] * count, STAMP),
            **{key: pa.array(list(self.keys), pa.string()) for key in self.query.group_by},
            **measures,
            "error_kind": pa.array(["exact" if exact else self._kind(leg)] * count, pa.string()),
            "confidence": np.full(count, 0.95),
            "is_exact": np.full(count, exact, dtype=bool),
            "is_imputed": np.full(count, False, dtype=bool),
            "sampling_rate": np.full(count, 1.0 if exact else 0.1),
            "sampled_rows": pa.array([100 if exact else 10] * count, pa.int64()),
            "population": np.full(count, 100.0),
        })  # fmt: skip

    def _kind(self, leg: str) -> str:
        return "exact" if leg == "exact" else "measured" if self.audited else "estimated"

    def _run_rows(self, leg: str, run_id: str) -> list[dict[str, Any]]:
        moment = dt.datetime.fromtimestamp(self.slot / 1e6 - 3600, tz=dt.UTC)
        parts = {"mean_error": 0.01, "p95_error": 0.02, "worst_error": 0.03, "coverage": 0.95, "estimates": 1000.0}
        audit = {f"{m.name}_audit_{part}": value for m in self.query.measures for part, value in parts.items()}
        return [
            {
                "slot": slot_name(self.slot), "leg": leg, "window_start": start, "window_end": end, "run_id": run_id,
                "policy": leg, "published": leg == self.leg, "audited": self.audited, "error_kind": self._kind(leg),
                "keys": len(self.keys), "missing_keys": self.missing, "budget_rows": 100.0, "processed_rows": 100,
                "slot_rows": 1000, "total_rows": 1000 if self.audited else 100, "rows_read": 1000, "bytes_read": 9000,
                "distance": None, "last_audit": None if self.audited else moment, "raw_fingerprint": "f",
                "spec_fingerprint": spec_fingerprint(self.query, leg), "audit_missing_keys": 0.0, **audit, **self.run,
            }
            for start, end in self.query.timeline.windows(self.slot)
        ]  # fmt: skip


def _run_schema(rows: Sequence[Mapping[str, Any]]) -> pa.Schema:
    kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    stamps = {"window_start", "window_end", "last_audit"}
    return pa.schema([(k, STAMP if k in stamps else kinds.get(type(v), pa.float64())) for k, v in rows[0].items()])
