"""Rows as a table for people, or as CSV or JSON for programs."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shedding.spec.durations import as_datetime

if TYPE_CHECKING:
    import pyarrow as pa

WIDEST = 40


def render(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: str) -> str:
    """The rows in one of the forms `table`, `csv`, `json`; JSON is one object a line."""
    if form == "json":
        return "\n".join(json.dumps({c: _plain(row[c]) for c in columns}, default=str) for row in rows)
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell_for_csv(row[c]) for c in columns] for row in rows)
        return text.getvalue().rstrip("\n")
    return _table(rows, columns)


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
    """A value JSON can hold; instants as ISO with Z, not-a-number as null."""
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
    return json.dumps(_plain(value), default=str) if isinstance(value, list | dict) else value


def instant_text(value: dt.datetime) -> str:
    """ISO with Z; a time without a zone is UTC, as everywhere here."""
    aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    return aware.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def _cell(value: Any) -> str:
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


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    numeric = [all(isinstance(r[c], int | float | None) for r in rows) and bool(rows) for c in columns]
    widths = [max(len(name), *(len(line[i]) for line in cells), 0) for i, name in enumerate(columns)]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if n else v.ljust(w) for v, w, n in zip(values, widths, numeric, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, cells)])
