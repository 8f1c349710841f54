"""Why a slot was audited, and what its owner should know of its budget, in words."""

from __future__ import annotations

from shedding.planning.audit_plan import AuditPlan
from shedding.planning.planner import Planner
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT


def audit_reason(query: QuerySpec, plan: AuditPlan, slot: int, audited: bool) -> str:
    """Why the slot has an exact leg; empty where it has none."""
    if not audited:
        return ""
    if query.shed.policy == EXACT:
        return "policy exact"
    if slot == plan.first:
        return "first slot"
    if plan.first is not None and slot == plan.first + plan.length:
        return "second slot, the first with a history"
    if slot in plan.extra:
        return f"drift above {query.audit.drift_limit:g} in the slot before"
    return f"one in {query.audit.one_in}"


def too_few_seconds(planner: Planner, slot: int) -> list[str]:
    """What to say where a budget of seconds buys less than a row a key."""
    if planner.spending is None:  # and no prior is asked for
        return []
    concept = planner.concept(slot)
    if not concept.rows:
        return []
    rows = planner.allocation(slot, planner.query.shed.policy).expected_rows
    keys = len(concept.keys)
    if rows >= keys:
        return []
    seconds = 2 * keys * concept.whole / max(concept.rows, 1.0) * planner.reached(slot).speed
    return [
        f"{planner.query.shed.budget} buys about {rows:.0f} rows for {keys} keys, less than one a key; "
        f"write at least {{seconds: {seconds:.2g}}}"
    ]
