"""What `make run` prints at the end: the published windows, and how good they are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.cli.rendering import plain_rows, render
from jobs.cli.show import newest_rows
from shedding.config import Settings
from shedding.errors import DataError
from shedding.spec import QuerySpec

WINDOWS, ROWS = 12, 10


def published_report(settings: Settings, query: QuerySpec) -> str:
    """The newest windows with their errors, and the largest keys of the last one with their intervals."""
    try:
        published = newest_rows(settings, f"published/{query.name}", limit=0)
    except DataError:
        return f"published/{query.name} holds nothing yet: no slot has passed its gate; see sluice status"
    runs = newest_rows(settings, f"runs/{query.name}", limit=0)
    return (
        f"published/{query.name}: {published.num_rows} rows in "
        f"{pc.count_distinct(published['window_start']).as_py()} windows; the newest {WINDOWS}:\n\n"
        f"{_windows(query, runs)}\n\nThe largest keys of the newest window, with 95 % intervals:\n\n"
        f"{_newest_window(query, published)}"
    )


def _windows(query: QuerySpec, runs: pa.Table) -> str:
    chosen = runs.filter(pc.field("published")).slice(0, WINDOWS)
    measures = [m.name for m in query.measures]
    rows: list[dict[str, Any]] = [
        {
            "window_start": row["window_start"], "window_end": row["window_end"], "policy": row["policy"],
            "keys": row["keys"], "rows used": row["processed_fraction"], "error is": row["error_kind"],
            **{f"{name} error": row.get(f"{name}_mean_error") for name in measures},
        }
        for row in plain_rows(chosen)
    ]  # fmt: skip
    return render(rows, list(rows[0]) if rows else ["window_start"], "table")


def _newest_window(query: QuerySpec, published: pa.Table) -> str:
    newest = published.filter(pc.field("window_start") == pc.max(published["window_start"]))
    measures = [m.name for m in query.measures]
    size = next((m.name for m in query.measures if m.column is None), measures[0])
    columns = ["window_start", *query.group_by]
    for name in measures:
        columns += [name, f"{name}_low", f"{name}_high"]
    rows = newest.sort_by([(size, "descending")]).slice(0, ROWS)
    return render(plain_rows(rows), [*columns, "is_exact", "is_imputed", "sampling_rate"], "table")
