"""What a backfill would do, slot by slot, before anything runs: which are out of date and why, and what that costs.

Reads the arrivals log and `runs` only: no rows, no Spark. The seconds are a straight line through those that earlier
slots of the query took for the rows they processed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jobs.raw_needed import RawNeeded
from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.arrivals import Arrivals
from shedding.ingest.side import Side, sides_of
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import kept_fingerprint, raw_fingerprint
from shedding.planning.slot_plan import by_calendar, recorded
from shedding.spec import Catalog, QuerySpec
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name
from shedding.stretches import Stretches

CURRENT, NEW, REFUSED = "up to date", "not computed yet", "refused"
ROWS, SPECIFICATION = "its rows have changed", "the specification has changed"
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedSlot:
    """One slot of a backfill: why it is out of date, what it waits for, and the rows that it would process."""

    slot: int
    reason: str
    waits_for: str
    audited: bool
    rows: float
    seconds: float

    @property
    def is_stale(self) -> bool:
        """Whether its published rows would change, or come to be."""
        return self.reason != CURRENT


def plan_backfill(settings: Settings, catalog: Catalog, query: QuerySpec, slots: Sequence[int]) -> list[PlannedSlot]:
    """The slots in order, as a run of each would find them now."""
    known = _known(settings, query)
    sides = sides_of(settings, catalog, query)
    plans = AuditPlans(query, sides, settings.costs)
    clock = _clock([row for row in known.values() if row.get("seconds") is not None])
    published = _published(settings, query)
    planned = []
    for slot in slots:
        row = known.get(slot_name(slot))
        audited = query.shed.policy == EXACT or plans.at(slot).is_audited(slot)
        rows = _rows(query, sides, slot, audited)
        missing = RawNeeded.of(catalog, query, slot).missing(partial(Arrivals.load, settings))
        planned.append(
            PlannedSlot(
                slot=slot,
                reason=_reason(settings, query, plans, slot, row, slot_name(slot) in published),
                waits_for="; ".join(f"{name}: {what}" for name, what in missing.items()),
                audited=audited,
                rows=rows,
                seconds=clock(rows),
            )
        )
    return planned


def _known(settings: Settings, query: QuerySpec) -> dict[str, Row]:
    """By slot the row of its last run's published leg."""
    table = warehouse.runs(settings, query.name)
    schema = table.schema()
    if schema is None:
        return {}
    wanted = ["slot", "leg", "raw_fingerprint", "spec_fingerprint", "seconds", "total_rows"]
    columns = [name for name in wanted if name in schema.names]
    return {row["slot"]: row for row in table.read([("published", "=", True)], columns=columns).to_pylist()}


def _published(settings: Settings, query: QuerySpec) -> set[str]:
    table = warehouse.published(settings, query.name)
    return set(table.read(columns=["slot"])["slot"].unique().to_pylist()) if table.exists() else set()


def _reason(
    settings: Settings, query: QuerySpec, plans: AuditPlans, slot: int, row: Row | None, published: bool
) -> str:
    if row is None:
        return NEW
    if query.shed.windows is not None:
        kept = recorded(settings, query, slot) or by_calendar(query, slot)
        now = kept_fingerprint(plans.sides, kept.stretches)
    else:
        now = raw_fingerprint(plans, slot, row["leg"])
    if now != row["raw_fingerprint"]:
        return ROWS
    if row.get("spec_fingerprint") not in (None, spec_fingerprint(query, row["leg"])):
        return SPECIFICATION
    return CURRENT if published or query.gate.allow_empty else REFUSED


def _rows(query: QuerySpec, sides: Sequence[Side], slot: int, audited: bool) -> float:
    """The rows that the slot processes: all where it has an exact leg, the budget otherwise; an upper bound."""
    slot_time = Stretches.of((slot, slot + query.timeline.slot))
    every = float(sum(side.arrivals.rows(slot_time) for side in sides))
    if audited:
        return every
    budget = query.shed.budget
    return min(every, float(budget.rows)) if budget.rows is not None else every * float(budget.fraction or 1.0)


def _clock(rows: Sequence[Row]) -> Callable[[float], float]:
    """Seconds by rows: the line of least squares through what earlier slots took; NaN where there are none."""
    if not rows:
        return lambda _: math.nan
    x, y = np.array([[row.get("total_rows") or 0.0, row["seconds"]] for row in rows], dtype=np.float64).T
    spread = float(np.var(x))
    slope = max(0.0, float(np.mean((x - x.mean()) * (y - y.mean()))) / spread) if spread > 0 else 0.0
    base = max(0.0, float(y.mean() - slope * x.mean()))
    return lambda more: base + slope * more
