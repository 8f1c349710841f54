"""Rows of a query's small tables for its page, read by delta-rs alone and cached by the table's version.

A version of a Delta table never changes, so what was read of it is read once in the life of a process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.estimates.accuracy import STATISTICS
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant

KINDS = ("runs", "published", "verdicts", "verifications")
KEPT = 64
"""Versions of tables whose rows are kept in memory."""
_RUN = (
    "slot", "leg", "window_start", "window_end", "run_id", "policy", "published", "audited", "audit_reason",
    "error_kind", "keys", "missing_keys", "imputed_keys", "slot_rows", "budget_rows", "processed_rows",
    "processed_fraction", "total_rows", "bytes_read", "seconds", "distance", "repaired_keys", "repair_rows",
    "repair_bytes", "spec_fingerprint", "reason",
)  # fmt: skip
_VERDICT = (
    "slot", "run_id", "attempt", "check", "observed", "limit", "severity", "passed", "estimate", "kind", "detail", "at",
)  # fmt: skip
_VERIFIED = ("window_end", *(f"{statistic}_over" for statistic in STATISTICS))


def versions(settings: Settings, query: QuerySpec) -> tuple[int | None, ...]:
    """The versions of the tables that a query's page is made of."""
    return tuple(warehouse.named(settings, f"{kind}/{query.name}").version() for kind in KINDS)


def beginning(settings: Settings, query: QuerySpec) -> int | None:
    """The first slot that the page looks at, two of the objective's stretches before the newest; None for no slot."""
    newest = max((max(found) for kind in KINDS[:2] if (found := _slots(settings, kind, query))), default=None)
    return None if newest is None else parse_instant(newest) - 2 * query.objective.over


def runs(settings: Settings, query: QuerySpec, since: int) -> pa.Table:
    """One row per window and leg of every slot from `since` on that was computed."""
    parts = [f"{part}_{kind}" for part in STATISTICS for kind in ("error", "bound")] + ["coverage"]
    own = [f"{measure.name}_{part}" for measure in query.measures for part in parts]
    return rows_of(settings, "runs", query.name, (*_RUN, *own), _since(since))


def verdicts(settings: Settings, query: QuerySpec, since: int) -> pa.Table:
    """One row per check of every verdict on slots from `since` on."""
    return rows_of(settings, "verdicts", query.name, _VERDICT, _since(since))


def verifications(settings: Settings, query: QuerySpec) -> pa.Table:
    """Of every verified window and measure whether it was truly over a limit."""
    return rows_of(settings, "verifications", query.name, _VERIFIED)


def published(settings: Settings, query: QuerySpec, since: int) -> pa.Table:
    """The published rows of the slots from `since` on."""
    own = [f"{measure.name}{end}" for measure in query.measures for end in ("", "_low", "_high")]
    columns = ("slot", "window_start", *query.group_by, *own, "is_exact", "is_imputed", "sampled_rows", "sampling_rate")
    return rows_of(settings, "published", query.name, columns, _since(since))


def results(settings: Settings, query: QuerySpec, slots: Iterable[int]) -> pa.Table:
    """The answers of every leg of some slots."""
    own = [f"{measure.name}{part}" for measure in query.measures for part in ("", "_low", "_high", "_error")]
    columns = ("slot", "leg", "window_start", *query.group_by, *own, "error_kind", "sampled_rows", "population")
    names = ", ".join(f"'{slot_name(slot)}'" for slot in sorted(slots))
    return rows_of(settings, "results", query.name, columns, f"slot IN ({names or repr('')})")


def published_slots(settings: Settings, query: QuerySpec, since: int) -> Mapping[str, int]:
    """The slots from `since` on that are in `published`, with the instant at which each was written last."""
    return {name: at for name, at in _slots(settings, "published", query).items() if name >= slot_name(since)}


def quarantined_rows(settings: Settings, name: str) -> int:
    """How many rows `quarantine/<name>` holds."""
    table = warehouse.quarantined_rows(settings, name)
    version = table.version()
    return 0 if version is None else _count(table.uri, version)


def _slots(settings: Settings, kind: str, query: QuerySpec) -> Mapping[str, int]:
    table = warehouse.named(settings, f"{kind}/{query.name}")
    version = table.version()
    return {} if version is None else _written(table.uri, version)


def _since(slot: int) -> str:
    return f"slot >= '{slot_name(slot)}'"


def rows_of(settings: Settings, kind: str, name: str, columns: Iterable[str], condition: str = "") -> pa.Table:
    """The columns that the table has, instants as microseconds; no rows where there is no table."""
    table = warehouse.named(settings, f"{kind}/{name}")
    version = table.version()
    if version is None:
        return pa.table({column: pa.array([], pa.null()) for column in columns})
    return _read(table.uri, version, tuple(columns), condition)


@lru_cache(maxsize=KEPT)
def _read(uri: str, version: int, columns: tuple[str, ...], condition: str) -> pa.Table:
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(uri, version=version)
    schema = pa.schema(table.schema().to_arrow())
    there = [name for name in columns if name in schema.names]
    # delta-rs's own engine: Arrow's opens one small file after the other and takes more than twice as long.
    wanted = ", ".join(f'"{name}"' for name in there)
    where = f" WHERE {condition}" if condition else ""
    stream = QueryBuilder().register("rows", table).execute(f"SELECT {wanted} FROM rows{where}")
    rows = pa.RecordBatchReader.from_stream(stream).read_all()
    return pa.table({name: _plain(rows[name], schema.field(name).type) for name in there})


def _plain(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column in the table's own type (the engine answers in string views), an instant as microseconds."""
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    return column.cast(kind)


@lru_cache(maxsize=KEPT)
def _written(uri: str, version: int) -> Mapping[str, int]:
    files = _files(uri, version)
    times = files["modification_time"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    found: dict[str, int] = {}
    for name, at, rows in zip(
        files["partition.slot"].to_pylist(), times, files["num_records"].to_pylist(), strict=True
    ):
        if rows is None or rows:
            found[name] = max(at, found.get(name, at))
    return found


@lru_cache(maxsize=KEPT)
def _count(uri: str, version: int) -> int:
    return sum(rows or 0 for rows in _files(uri, version)["num_records"].to_pylist())


def _files(uri: str, version: int) -> pa.Table:
    from deltalake import DeltaTable

    return pa.table(DeltaTable(uri, version=version).get_add_actions(flatten=True))
