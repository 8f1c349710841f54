"""`sluice show`: rows of any table, newest first, without a JVM and in under two seconds."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from jobs.cli.arguments import instant
from jobs.cli.rendering import plain_rows, print_rows
from shedding.config import Settings
from shedding.errors import DataError, SluiceError
from shedding.spec.problems import did_you_mean
from shedding.spec.times import format_instant
from shedding.stores import folders

if TYPE_CHECKING:
    import pyarrow as pa

    from shedding.tables import Table

SORTED_BY = 6
MOST = 2**62
TIMES = ("window_start", "pane_start", "at", "event_time")


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("show", help="rows of a table: published/QUERY, runs/QUERY, quarantine/NAME, ...")
    parser.add_argument("table", metavar="TABLE", help="e.g. published/taxi_route_fare")
    parser.add_argument("--window", type=instant, metavar="T", help="only the window that starts at T")
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="at most N rows (0: all; default 20)")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once the rows are printed, none included."""
    rows = newest_rows(settings, arguments.table, window=arguments.window, limit=arguments.limit)
    print_rows(plain_rows(rows), rows.column_names, arguments.format)
    if arguments.format == "table":
        print(f"({rows.num_rows} rows)")
    return 0


def newest_rows(settings: Settings, name: str, *, window: int | None = None, limit: int = 20) -> pa.Table:
    """The newest rows of a table (0: all): latest partitions and times first, then by the other columns."""
    import pyarrow as pa

    from jobs.cli.quick_table import QuickTable

    stored = _table(settings, name)
    settings.require_warehouse()
    if not stored.exists():
        raise DataError(_nothing_there(settings, name))
    table = QuickTable(stored.uri)
    order = _order(table.schema, window)
    parts: list[pa.Table] = []
    for condition in _conditions(table.delta, window, limit):
        wanted = f" LIMIT {limit - sum(part.num_rows for part in parts)}" if limit else ""
        parts.append(table.select(f"{condition}{order}{wanted}"))
        if limit and sum(part.num_rows for part in parts) >= limit:
            break
    found = pa.concat_tables(parts) if parts else table.schema.empty_table()
    if window is not None and not found.num_rows:
        raise DataError(f"no window starts at {format_instant(window)} in {name}")
    return found


def _table(settings: Settings, name: str) -> Table:
    from shedding import warehouse

    parts = PurePosixPath(name).parts
    if len(parts) < 2 or ".." in parts or name.startswith("/"):
        raise SluiceError(f"{name!r} names no table; write e.g. published/QUERY, runs/QUERY or quarantine/DATASET")
    return warehouse.named(settings, "/".join(parts))


def _nothing_there(settings: Settings, name: str) -> str:
    from shedding import warehouse

    kind, _, owner = name.partition("/")
    of_datasets = [table.name for table in warehouse.OF_DATASET]
    kinds = list(dict.fromkeys([*(table.name for table in warehouse.OF_QUERY), *of_datasets]))
    if kind not in kinds:
        return f"there is no kind of table {kind!r}{did_you_mean(kind, kinds)}; kinds: {', '.join(kinds)}"
    below = [f"{name}/{folder}" for folder in folders(_table(settings, name).uri)]
    below = [table for table in below if warehouse.named(settings, table).exists()]
    if below:  # a dataset has a table of counts for each set of keys
        return f"{name} is several tables; name one: {', '.join(below)}"
    near = did_you_mean(owner, [table for table in folders(warehouse.named(settings, kind).uri) if table != owner])
    if kind == "quarantine":
        return f"{name} holds nothing{near}: no row of a dataset and no slot of a query {owner} was refused"
    if kind in of_datasets:
        return f"{name} holds nothing yet{near}; fill it with: sluice ingest {owner.partition('/')[0]}"
    command = "verify" if kind == "verifications" else "run"
    return f"{name} holds nothing yet{near}; fill it with: sluice {command} {owner} --from T --to T"


def _conditions(table: Any, window: int | None, limit: int) -> Iterator[str]:
    """One condition a partition value, newest first, so that few rows are found in few files."""
    if window is not None:
        yield f" WHERE window_start = to_timestamp_micros({window})"
        return
    columns = table.metadata().partition_columns
    if not limit or not columns or columns[0] not in ("slot", "event_date"):
        yield ""
        return
    for value in sorted({part[columns[0]] for part in table.partitions()}, reverse=True):
        yield f" WHERE {columns[0]} = '{value}'"


def _order(schema: pa.Schema, window: int | None) -> str:
    from pyarrow import types

    if window is not None and "window_start" not in schema.names:
        raise SluiceError("--window works on tables of windows (published, results, runs); leave it out here")
    times = [name for name in TIMES if name in schema.names]
    others = [f.name for f in schema if f.name not in times and not types.is_nested(f.type)][:SORTED_BY]
    order = [f'"{name}" DESC' for name in times] + [f'"{name}"' for name in others]
    return f" ORDER BY {', '.join(order)}" if order else ""


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows; write e.g. 20, or 0 for all")
    return int(text)
