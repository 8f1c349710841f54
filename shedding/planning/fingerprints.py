"""The raw rows that an answer is a function of: those of certain slots, as one fingerprint.

A run writes it down, beside that of the specification (`spec.fingerprints`). Rows that arrive late change it, so that
the slots they reach are computed again; and what a run recorded of an audited slot is believed only while both are the
ones of now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shedding.ingest.side import Side
from shedding.planning.audit_plan import RECORD_SLOTS, AuditPlan
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.slot_plan import SlotPlan
from shedding.spec.fingerprints import digest
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.stretches import Stretches


def slots_behind(plans: AuditPlans, slot: int, leg: str) -> list[int]:
    """The slots whose raw rows decide what is published of a leg, oldest first.

    The exact leg: those that its windows reach into. A shed leg: also those that these slots' rates and the
    intervals were learnt from, and the same for the last audits, on which the gate's trust rests. Where the gate
    judges the drift: also the slot before.
    """
    query = plans.query
    before = set() if query.gate.drift is None else {slot - query.timeline.slot}
    if leg == EXACT:
        return sorted({*query.timeline.slots_needed(slot), *before})
    plan = plans.at(slot)
    found = _answered_from(query, plan, slot) | before
    asked = RECORD_SLOTS if not plan.is_audited(slot) else 1 if asks_the_last_audit(query, plan, slot) else 0
    for audit in plan.priors(slot, RECORD_SLOTS)[:asked]:
        found |= _answered_from(query, plans.at(audit), audit)
    return sorted(found)


def asks_the_last_audit(query: QuerySpec, plan: AuditPlan, slot: int) -> bool:
    """Whether the gate looks at the audit before the slot: where the slot has none, or its keys are compared."""
    return not plan.is_audited(slot) or query.gate.row_count_change is not None


def raw_fingerprint(plans: AuditPlans, slot: int, leg: str) -> str:
    """Of the visible rows behind a leg's answer, as they are now.

    The rates of a pool's member follow from all members' counts: whether they were counted counts too.
    Where drift adds audits, rows of many slots decide together whether this one has an exact leg: that counts too.
    """
    needed = {one: plans.query.timeline.slot_needed(one) for one in slots_behind(plans, slot, leg)}
    sides = [*plans.sides, *(plans.others.values() if leg != EXACT else ())]
    content: list[Any] = [[one, *(side.fingerprint(part) for side in sides)] for one, part in needed.items()]
    if leg != EXACT and plans.query.audit.drift_limit is not None:
        content.append(plans.at(slot).is_audited(slot))
    if leg != EXACT and plans.exact_instead(slot):
        content.append("the exact leg costs less")  # an exact answer stays one, whatever costs less
    return digest(content)


def answer_fingerprint(plans: AuditPlans, plan: SlotPlan, leg: str) -> str:
    """Of the visible rows behind what a slot answers: with window drops those of its kept windows, and no others."""
    if plans.query.drops_windows:
        return kept_fingerprint(plans.sides, plan.stretches)
    return raw_fingerprint(plans, plan.slot, leg)


def kept_fingerprint(sides: Sequence[Side], stretches: Stretches) -> str:
    """Of the visible rows in the kept windows of a slot: rows that only dropped windows hold change nothing."""
    parts = {part: Stretches.of(part) for part in stretches}
    return digest([[*part, *(side.fingerprint(one) for side in sides)] for part, one in parts.items()])


def _answered_from(query: QuerySpec, plan: AuditPlan, slot: int) -> set[int]:
    needed = query.timeline.slots_needed(slot)
    return {*needed, *(prior for one in (*needed, *plan.priors(slot)) for prior in plan.priors(one))}
