"""Rows that arrive late or are corrected: which slots must be computed and published again.

A slot's run records the fingerprint of all the raw rows behind it (`shedding.planning.fingerprints`). A slot is stale
when the rows that are visible now have another one. No clock is involved.
"""

from __future__ import annotations

from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.side import sides_of
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import answer_fingerprint
from shedding.planning.slot_plan import by_calendar, on_whole_sources, standing
from shedding.spec import Catalog, QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant


def stale_slots(settings: Settings, catalog: Catalog, query: str) -> list[int]:
    """The computed slots whose rows have changed since, oldest first, as far back as `allowed_lateness` says.

    Of a join the rows of both datasets count, each as far back as its own `allowed_lateness`. Runs of another
    `schedule.every` that began where no slot does now are of no slot that could be computed again.
    """
    spec = catalog.query(query)
    runs = warehouse.runs(settings, query)
    sides = sides_of(settings, catalog, spec)
    reach = [s.arrivals.watermark - s.dataset.allowed_lateness for s in sides if s.arrivals.watermark is not None]
    if len(reach) < len(sides):
        return []
    if not runs.exists():
        return sorted(_filled_by_source(settings, spec))
    oldest = min(reach) - spec.timeline.slot  # the first slot that may still end in time
    where = [("published", "=", True), ("slot", ">", slot_name(max(oldest, 0)))]
    rows = runs.read(where, columns=["slot", "leg", "raw_fingerprint"]).to_pylist()
    made_of = {parse_instant(row["slot"]): (row["leg"], row["raw_fingerprint"]) for row in rows}
    slots = sorted(slot for slot in made_of if spec.timeline.slot_of(slot) == slot)
    plans = AuditPlans(spec, sides, settings.costs)
    planned = {slot: standing(settings, spec, slot) for slot in slots}
    stale = {slot for slot in slots if answer_fingerprint(plans, planned[slot], made_of[slot][0]) != made_of[slot][1]}
    return sorted(stale | set(_filled_by_source(settings, spec)))


def _filled_by_source(settings: Settings, query: QuerySpec) -> list[int]:
    """The slots of a query on a query with windows that were dropped for its source's sake, and need not be now."""
    if query.source is None:
        return []
    table = warehouse.windows(settings, query.name)
    rows = table.read([("state", "=", "dropped")], ["slot"]).to_pylist() if table.exists() else []
    decided = {parse_instant(row["slot"]) for row in rows}
    wanted = {slot: on_whole_sources(settings, query, by_calendar(query, slot)) for slot in decided}
    return [slot for slot, plan in wanted.items() if not set(plan.kept) <= set(standing(settings, query, slot).kept)]
