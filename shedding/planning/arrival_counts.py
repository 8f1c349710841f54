"""The rows of a slot's windows as arrival counted them: a second witness of what an exact answer must hold."""

from __future__ import annotations

import pyarrow as pa

from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.key_counts import read_counts
from shedding.ingest.published_side import SourceWindows, published_counts
from shedding.planning.slot_plan import SlotPlan
from shedding.spec.keyset import keyset_of
from shedding.spec.query import QuerySpec
from shedding.stretches import Stretches


def counted_windows(
    settings: Settings, query: QuerySpec, plan: SlotPlan, version: int | None = None
) -> pa.Table | None:
    """window_start (us), the keys and rows of every window of the plan, dropped ones too; None where nobody counted.

    `version` is that of the arrivals log: the rows that were visible then. Joins have no such counts.
    """
    if query.join is not None or not plan.windows:
        return None
    keyset, every = keyset_of(query), Stretches.of(*((start, start + plan.size) for start in plan.windows))
    if query.source is not None:
        source = SourceWindows.load(settings, query.dataset, version).published_version
        counts = None if keyset.where else published_counts(settings, keyset, every, source)
        return None if counts is None else by_window(counts, plan, query.group_by)
    arrivals = Arrivals.load(settings, query.dataset, version)
    if arrivals.version is None or not arrivals.counted(keyset.id, every):
        return None
    return by_window(read_counts(settings, keyset, every, arrivals), plan, query.group_by)


def by_window(counts: pa.Table, plan: SlotPlan, keys: list[str]) -> pa.Table:
    """The counts of panes added up over each window."""
    pane, parts = counts["pane_start"].to_numpy(), []
    for start in plan.windows:
        inside = counts.filter(pa.array((pane >= start) & (pane < start + plan.size))).select([*keys, "rows"])
        parts.append(inside.append_column("window_start", pa.array([start] * inside.num_rows, pa.int64())))
    groups = ["window_start", *keys]
    return pa.concat_tables(parts).group_by(groups).aggregate([("rows", "sum")]).rename_columns([*groups, "rows"])
