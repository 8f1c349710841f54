"""What an answer is a function of: the raw rows of certain slots, and certain parts of the specification.

A run writes both fingerprints down. Rows that arrive late change the first one, so that the slots they reach are
computed again; and what a run recorded of an audited slot is believed only while both are the ones of now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shedding.ingest.side import Side
from shedding.panes.memory import EXACT, FORMAT, digest
from shedding.planning.audit_plan import RECORD_SLOTS, AuditPlan
from shedding.planning.drift_audits import audit_plan
from shedding.spec.query import QuerySpec

PARTS = ("dataset", "where", "join", "group_by", "measures", "top", "window", "schedule")
SHED_PARTS = ("audit", "estimates")


def slots_behind(query: QuerySpec, sides: Sequence[Side], slot: int, leg: str) -> list[int]:
    """The slots whose raw rows decide what is published of a leg, oldest first.

    The exact leg: those that its windows reach into. A shed leg: also those that these slots' rates and the
    intervals were learnt from, and the same for the last audits, on which the gate's trust rests. Where the gate
    judges the drift: also the slot before.
    """
    before = set() if query.gate.drift is None else {slot - query.timeline.slot}
    if leg == EXACT:
        return sorted({*query.timeline.slots_needed(slot), *before})
    plan = audit_plan(query, sides, slot)
    found = _answered_from(query, plan, slot) | before
    asked = RECORD_SLOTS if not plan.is_audited(slot) else 1 if asks_the_last_audit(query, plan, slot) else 0
    for audit in plan.priors(slot, RECORD_SLOTS)[:asked]:
        found |= _answered_from(query, audit_plan(query, sides, audit), audit)
    return sorted(found)


def asks_the_last_audit(query: QuerySpec, plan: AuditPlan, slot: int) -> bool:
    """Whether the gate looks at the audit before the slot: where the slot has none, or its keys are compared."""
    return not plan.is_audited(slot) or query.gate.row_count_change is not None


def raw_fingerprint(query: QuerySpec, sides: Sequence[Side], slot: int, leg: str) -> str:
    """Of the visible rows behind a leg's answer, as they are now.

    Where drift adds audits, rows of many slots decide together whether this one has an exact leg: that counts too.
    """
    length = query.timeline.slot
    slots = slots_behind(query, sides, slot, leg)
    content: list[Any] = [[one, *(side.fingerprint(one, one + length) for side in sides)] for one in slots]
    if leg != EXACT and query.audit.drift_limit is not None:
        content.append(audit_plan(query, sides, slot).is_audited(slot))
    return digest(content)


def spec_fingerprint(query: QuerySpec, leg: str) -> str:
    """Of what the specification says about a leg's answer; for the exact leg that is not its shedding."""
    spec = query.model_dump(mode="json")
    content: dict[str, Any] = {part: spec[part] for part in PARTS} | query.functions
    if leg != EXACT:
        content |= {part: spec[part] for part in SHED_PARTS}
        content["shed"] = {**spec["shed"], "policy": leg, "compare": []}
    return digest([FORMAT, content])


def _answered_from(query: QuerySpec, plan: AuditPlan, slot: int) -> set[int]:
    needed = query.timeline.slots_needed(slot)
    return {*needed, *(prior for one in (*needed, *plan.priors(slot)) for prior in plan.priors(one))}
