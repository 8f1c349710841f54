"""`sluice show`: rows of any table, newest first, without a JVM and in under two seconds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from shedding.cli.arguments import instant
from shedding.cli.rendering import render
from shedding.config import Settings
from shedding.errors import DataError, SluiceError
from shedding.spec.durations import as_datetime, format_instant

if TYPE_CHECKING:
    import pyarrow as pa

TIMES = ("window_start", "pane_start", "at", "event_time")


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("show", help="rows of a table: published/QUERY, runs/QUERY, quarantine/DATASET, ...")
    parser.add_argument("table", metavar="TABLE", help="e.g. published/taxi_route_fare")
    parser.add_argument("--window", type=instant, metavar="T", help="only the window that starts at T")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="at most N rows (0: all; default 20)")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once the rows are printed, none included."""
    rows = newest_rows(settings, arguments.table, window=arguments.window, limit=arguments.limit)
    text = render(rows.to_pylist(), rows.column_names, arguments.format)
    print(text)
    if arguments.format == "table":
        print(f"({rows.num_rows} rows)")
    return 0


def newest_rows(settings: Settings, name: str, *, window: int | None = None, limit: int = 20) -> pa.Table:
    """The newest rows of a table: latest partitions and times first, then by the other columns."""
    import pyarrow as pa
    from deltalake import DeltaTable

    location = _location(settings, name)
    if not DeltaTable.is_deltatable(location):
        raise DataError(_nothing_there(name))
    table = DeltaTable(location)
    parts, found = [], 0
    for condition in _newest_partitions(table, window):
        part = _ordered(table.to_pyarrow_table(filters=condition or None), window)
        parts.append(part)
        found += part.num_rows
        if 0 < limit <= found:
            break
    everything = pa.concat_tables(parts) if parts else pa.schema(table.schema().to_arrow()).empty_table()
    return everything.slice(0, limit or None)


def _location(settings: Settings, name: str) -> str:
    parts = PurePosixPath(name).parts
    if len(parts) < 2 or ".." in parts or name.startswith("/"):
        raise SluiceError(f"{name!r} names no table; write e.g. published/QUERY, runs/QUERY or quarantine/DATASET")
    return settings.table(*parts)


def _nothing_there(name: str) -> str:
    kind, _, owner = name.partition("/")
    if kind in ("raw", "concepts", "quarantine", "ingests"):
        return f"{name} holds nothing yet; fill it with: sluice ingest {owner.partition('/')[0]}"
    return f"{name} holds nothing yet; fill it with: sluice run {owner} --from T --to T"


def _newest_partitions(table: Any, window: int | None) -> Iterator[list[tuple[str, str, Any]]]:
    """One condition a partition value, newest first; one without condition where that is not possible."""
    columns = table.metadata().partition_columns
    if not columns or columns[0] not in ("slot", "event_date") or window is not None:
        yield []
        return
    for value in sorted({part[columns[0]] for part in table.partitions()}, reverse=True):
        yield [(columns[0], "=", value)]


def _ordered(rows: pa.Table, window: int | None) -> pa.Table:
    import pyarrow.compute as pc

    if window is not None:
        if "window_start" not in rows.column_names:
            raise SluiceError("--window works on tables of windows (published, results, runs); leave it out here")
        rows = rows.filter(pc.field("window_start") == as_datetime(window))
        if rows.num_rows == 0:
            raise DataError(f"no window starts at {format_instant(window)} in this table")
    times = [name for name in TIMES if name in rows.column_names]
    others = [
        field.name for field in rows.schema if field.name not in times and not _is_nested(field.type)
    ][:6]  # fmt: skip
    order = [(name, "descending") for name in times] + [(name, "ascending") for name in others]
    return rows.sort_by(order) if order else rows


def _is_nested(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_nested(kind))
