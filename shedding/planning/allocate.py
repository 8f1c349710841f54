"""From a concept and a budget to rates, by a query's policy."""

from __future__ import annotations

from shedding.allocation.budget import Allocation, Budget
from shedding.planning.error_limits import PlannedErrors
from shedding.planning.slot_concept import SlotConcept
from shedding.spec.query import QuerySpec


def allocate(
    query: QuerySpec, policy: str, concept: SlotConcept, rows: float, planned: PlannedErrors | None = None
) -> Allocation:
    """A policy's rates for a slot within a budget of `rows`; with `planned` errors so that limits are met."""
    shed = query.shed
    needed = None if planned is None or not planned.limited else planned.needed(concept.concept.population)
    budget = Budget(
        rows=max(concept.strata_rows(rows), 1e-9),
        completeness=shed.completeness,
        unseen_share=concept.unseen_share,
        slot_rows=concept.rows,
    )
    return shed.get_policy(policy).allocate(concept.concept, budget, needed)
