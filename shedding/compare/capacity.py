"""What a budget would buy: errors, keys within a limit and rows left out, planned for slots that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shedding.errors import DataError
from shedding.planning.allocate import allocate
from shedding.planning.error_limits import PlannedErrors, planned_errors
from shedding.planning.least_budget import LEAST_FRACTION, Planned, Wish, least_fraction
from shedding.planning.planner import Planner
from shedding.planning.slot_concept import SlotConcept
from shedding.spec.query import QuerySpec

MET_IN = 0.9
"""Share of the slots that the least budget is planned to suffice for."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The concepts of some slots of a query, each with what its priors plan."""

    query: QuerySpec
    slots: Sequence[tuple[SlotConcept, PlannedErrors]]

    @classmethod
    def of(cls, planner: Planner, slots: Sequence[int]) -> Capacity:
        """Of slots that have a history; DataError where none of them has one, or nothing is estimated from a sample."""
        query, priors = planner.query, planner.priors[0]
        found = []
        for slot in (slot for slot in slots if priors.plan.priors(slot)):
            concept = planner.concept(slot)
            errors = planned_errors(query, priors, slot, concept)
            if errors is not None and len(concept.concept):
                found.append((concept, errors))
        if not found:
            raise DataError(
                f"{query.name}: no audited slot with a history is known, so there is nothing to plan from; "
                f"run two slots of it first (`sluice run {query.name} --from T --to T`)"
            )
        return cls(query, found)

    @property
    def rows(self) -> float:
        """Rows of a slot, in the mean."""
        return float(np.mean([concept.rows for concept, _ in self.slots]))

    def least(self, wish: Wish) -> float:
        """The least fraction that meets the wish in nine slots of ten, spot checks included; 1 where none does."""
        each = [least_fraction(self.query, *slot, wish) / self._allocated for slot in self.slots]
        return min(1.0, float(np.quantile(each, MET_IN, method="higher")))

    def line(self, fraction: float, error: float) -> dict[str, float]:
        """What a fraction of the rows is planned to give, over all slots."""
        planned = [self._planned(*slot, fraction) for slot in self.slots]
        return {
            "budget": fraction,
            "rows_per_slot": fraction * self.rows,
            "mean_error": float(np.mean([one.mean_error for one in planned])),
            "keys_within": float(np.mean([one.within(error) for one in planned])),
            "omitted_rows": float(np.mean([one.omitted_rows for one in planned])),
            "audits_in": fraction + (1 - fraction) / self.query.audit.one_in,
        }

    @property
    def _allocated(self) -> float:
        """The part of a budget that the policy allocates: what spot checks leave of it."""
        return 1.0 - (self.query.shed.spot_check if self.query.spot_checks else 0.0)

    def _planned(self, concept: SlotConcept, errors: PlannedErrors, fraction: float) -> Planned:
        part = 1.0 if fraction >= 1 else self._allocated
        rows = max(fraction * part, LEAST_FRACTION) * concept.rows
        return Planned.of(concept, errors, allocate(self.query, self.query.shed.policy, concept, rows, errors))
