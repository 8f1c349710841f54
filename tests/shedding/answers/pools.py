"""Pools of queries over rows held in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from shedding.answers.pool import PoolSlot
from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.spec.pool import Pooled, PoolSpec
from shedding.spec.query import QuerySpec
from shedding.tables import Table
from tests.shedding.rows_in_memory import RowsScans, make_rows, side_of

CITY: dict[str, Any] = {
    "name": "city", "dataset": "d", "schedule": {"every": "1 hour"},
    "shed": {"policy": "posterior", "budget": {"fraction": 0.2}}, "audit": {"one_in": 3},
}  # fmt: skip


def city_rows(hours: int = 8, per_hour: int = 200, seed: int = 1) -> pd.DataFrame:
    """Rows with two more keys of other sizes, independent of the first."""
    rows, rng = make_rows(hours, per_hour, seed=seed), np.random.default_rng(seed + 100)
    zone, cab = np.minimum(rng.zipf(1.5, len(rows)), 9), rng.integers(0, 60, len(rows))
    return rows.assign(zone=[f"z{one}" for one in zone], cab=[f"c{one:03d}" for one in cab])


def make_pool(members: dict[str, dict[str, Any]] | None = None, **changes: Any) -> Pooled:
    """A pool of queries by key, zone and cab, each with windows of its own."""
    spec = PoolSpec.model_validate({**CITY, **changes})
    found = {
        "by_key": {"group_by": ["key"], "window": {"size": "1 hour", "slide": "30 minutes"}},
        "by_zone": {"group_by": ["zone"], "window": {"size": "2 hours", "slide": "1 hour"}},
        "by_cab": {"group_by": ["cab"], "window": {"size": "30 minutes"}},
    } if members is None else members  # fmt: skip
    queries = [make_member(spec, name, **content) for name, content in sorted(found.items())]
    return Pooled(spec, tuple(queries))


def make_member(pool: PoolSpec, name: str, **content: Any) -> QuerySpec:
    """A query as the catalog resolves it."""
    shed = {**pool.shed.model_dump(exclude_unset=True), "pool": pool.name, **content.pop("shed", {})}
    measures = [{"name": "mean", "agg": "avg", "column": "value"}, {"name": "n", "agg": "count"}]
    common = {"schedule": pool.schedule.model_dump(), "audit": pool.audit.model_dump(), "shed": shed}
    return QuerySpec.model_validate({"name": name, "dataset": pool.dataset, "measures": measures, **content, **common})


def run_alone(settings: Settings, query: QuerySpec, slots: list[int], rows: pd.DataFrame, known: bool = True) -> None:
    """The slots of one member, as its own DAG computes them."""
    for slot in slots:
        side = side_of(rows, query, known=known)
        answer_sides(settings, query, slot, [side], RowsScans(query)).write(settings, "run", 0.0)  # type: ignore[list-item, arg-type]


def results(settings: Settings, pool: Pooled, table: str = "results") -> dict[str, pd.DataFrame]:
    """The rows of each member's results, sorted."""
    found = {}
    for query in pool.members:
        rows = Table(settings.table(table, query.name)).read().to_pandas()
        order = ["slot", "leg", "window_start", *(query.group_by if table == "results" else [])]
        found[query.name] = rows.sort_values(order).reset_index(drop=True)
    return found


def run_pool(settings: Settings, pool: Pooled, slots: list[int], rows: pd.DataFrame, known: bool = True) -> int:
    """The slots of all members together; how many scans that took."""
    first = pool.queries()[0]
    scans = RowsScans(first)
    for slot in slots:
        work = PoolSlot(settings, pool, slot, side_of(rows, first, known=known), scans)  # type: ignore[arg-type]
        work.fetch()
        for name in pool.names:
            work.answer(name).write(settings, "run", 0.0)
    return scans.calls
