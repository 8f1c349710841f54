"""Rows as a table for people, or as CSV or JSON for programs."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shedding.spec.times import as_datetime

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table as RichTable

WIDEST = 40


def render(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: str, width: int | None = None) -> str:
    """The rows in one of the forms `table`, `csv`, `json`; JSON is one object a line.

    A table that is wider than `width` becomes a list of its rows, one value a line.
    """
    if form == "json":
        return "\n".join(json_text({c: row[c] for c in columns}) for row in rows)
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell_for_csv(row[c]) for c in columns] for row in rows)
        return text.getvalue().rstrip("\n")
    table = _table(rows, columns)
    return table if width is None or _width(table) <= width else _list(rows, columns, width)


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: str = "table") -> None:
    """Print the rows; on a terminal a table has colours, and becomes a list where it is too wide."""
    width = terminal_width()
    if form == "table" and width is not None and _width(_table(rows, columns)) < width:
        from rich.console import Console

        Console(width=width).print(coloured(rows, columns))
        return
    text = render(rows, columns, form, width)
    if text:  # no rows are no lines of JSON, not an empty one
        print(text)


def coloured(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> RichTable:
    """The same table for a terminal; what did not pass is red."""
    from rich.table import Table as RichTable
    from rich.text import Text  # no cell is markup: a key may hold brackets

    table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, right in zip(columns, _numeric(rows, columns), strict=True):
        table.add_column(Text(name), justify="right" if right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell(row[c])) for c in columns), style="red" if row.get("passed") is False else "")
    return table


def terminal_width() -> int | None:
    """How many signs a line of the terminal has; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def json_text(value: Any) -> str:
    """The value as JSON of the standard, which has no NaN and no infinity: both are null."""
    return json.dumps(_plain(value), default=str, allow_nan=False)


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as Python values, like `to_pylist`, which for instants would import pandas (over a second)."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
            columns[name] = [None if value is None else as_datetime(value) for value in micros]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _plain(value: Any) -> Any:
    """A value JSON can hold; instants as ISO with Z, what is no finite number as null."""
    if isinstance(value, dt.datetime):
        return instant_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _cell_for_csv(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return instant_text(value)
    return json_text(value) if isinstance(value, list | dict) else value


def instant_text(value: dt.datetime) -> str:
    """ISO with Z; a time without a zone is UTC, as everywhere here."""
    aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    return aware.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def cell(value: Any) -> str:
    """A value as a table for people shows it, on one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dt.datetime):
        return instant_text(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "".join(sign if sign.isprintable() else " " for sign in str(value))  # a key may hold ends of lines
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _width(text: str) -> int:
    return max(len(line) for line in text.splitlines())


def _list(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], width: int) -> str:
    """Every row as lines `column  value`, none longer than `width`."""
    longest = max(len(column) for column in columns)
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-- row {number} ".ljust(min(width, longest + 12), "-"))
        lines += [f"{column.ljust(longest)}  {cell(row[column])}".rstrip() for column in columns]
    if not rows:
        lines += columns
    return "\n".join(line if len(line) <= width else line[: max(1, width - 1)] + "…" for line in lines)


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    cells = [[cell(row[column]) for column in columns] for row in rows]
    numeric = _numeric(rows, columns)
    widths = [max(len(name), *(len(line[i]) for line in cells), 0) for i, name in enumerate(columns)]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if n else v.ljust(w) for v, w, n in zip(values, widths, numeric, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, cells)])


def _numeric(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[bool]:
    """Which columns hold numbers alone."""
    return [all(isinstance(r[c], int | float | None) for r in rows) and bool(rows) for c in columns]
