"""Rows that arrive late or are corrected: which slots must be computed and published again.

A slot's run records the fingerprint of all the raw rows that its answer depends on: those of the slots that its windows
reach into, and of the audits it learns from. It is stale when the rows that are visible now have another one. No clock
is involved.
"""

from __future__ import annotations

from collections.abc import Sequence

from shedding.audit_drift import audit_plan
from shedding.config import Settings
from shedding.memory import Memory
from shedding.sides import Side, sides_of
from shedding.spec import Catalog, QuerySpec
from shedding.spec.durations import parse_instant
from shedding.tables import Table, slot_name


def stale_slots(settings: Settings, catalog: Catalog, query: str) -> list[int]:
    """The computed slots whose rows have changed since, oldest first, as far back as `allowed_lateness` says.

    Of a join the rows of both datasets count, each as far back as its own `allowed_lateness`.
    """
    spec = catalog.query(query)
    runs = Table(settings.table("runs", query))
    sides = sides_of(settings, catalog, spec)
    reach = [s.arrivals.watermark - s.dataset.allowed_lateness for s in sides if s.arrivals.watermark is not None]
    if len(reach) < len(sides) or not runs.exists():
        return []
    oldest = min(reach) - spec.timeline.slot  # the first slot that may still end in time
    where = [("published", "=", True), ("slot", ">", slot_name(max(oldest, 0)))]
    rows = runs.read(where, columns=["slot", "leg", "raw_fingerprint"]).to_pylist()
    made_of = {parse_instant(row["slot"]): (row["leg"], row["raw_fingerprint"]) for row in rows}
    return sorted(
        slot for slot, (leg, then) in made_of.items() if raw_fingerprint(settings, spec, sides, slot, leg) != then
    )


def raw_fingerprint(settings: Settings, query: QuerySpec, sides: Sequence[Side], slot: int, leg: str) -> str:
    """The fingerprint that a run of the slot would record now."""
    memory = Memory(settings, query, sides[0], query.measures, scans=None)  # nothing is scanned
    memory.prior_slots = audit_plan(query, sides, slot).priors
    memory.beside = sides[1:]
    return memory.answer_fingerprint(slot, leg)
