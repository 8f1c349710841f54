"""Which slots are audited, what a slot learns from, and the rates that follow.

Rates of a slot are a function of its own arrival counts and the exact panes of the last J audited slots
before it, never of a calibration: so a slot depends on at most 2 J audited slots (see `priors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.allocation import Allocation, Budget
from shedding.audits import AuditPlan
from shedding.concept import Concept
from shedding.keys import Keys, align
from shedding.memory import Memory
from shedding.policies import get_policy
from shedding.rates import Rates
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SlotConcept:
    """What is known of a slot's keys before a row of it is read."""

    keys: Keys
    concept: Concept
    rows: float
    unseen_share: float


class Planner:
    """The allocator's view of one query: makes the rates that a memory asks for, once per slot and leg."""

    def __init__(self, query: QuerySpec, plan: AuditPlan, memory: Memory) -> None:
        self.query, self.plan, self.memory = query, plan, memory
        self._concepts: dict[int, SlotConcept] = {}
        self._made: dict[tuple[int, str], tuple[Rates, Allocation]] = {}
        memory.allocate = self.rates
        memory.prior_slots = plan.priors

    def rates(self, slot: int, legs: Sequence[str]) -> Mapping[str, Rates]:
        """The rates of shed legs in a slot, all over the same keys."""
        return {leg: self._allocated(slot, leg)[0] for leg in legs}

    def allocation(self, slot: int, leg: str) -> Allocation:
        """What the rates were expected to cost and to lose."""
        return self._allocated(slot, leg)[1]

    def budget(self, slot: int) -> float:
        """Rows that may be processed in the slot."""
        budget = self.query.shed.budget
        rows = self.concept(slot).rows
        return float(budget.rows) if budget.rows is not None else (budget.fraction or 1.0) * rows

    def concept(self, slot: int) -> SlotConcept:
        """The slot's keys with their populations, and what the priors say of their spread."""
        if slot not in self._concepts:
            self._concepts[slot] = self._learn(slot)
        return self._concepts[slot]

    def _allocated(self, slot: int, leg: str) -> tuple[Rates, Allocation]:
        if (slot, leg) not in self._made:
            shed, here = self.query.shed, self.concept(slot)
            policy = get_policy(leg, goal=shed.goal, support=shed.support, groups=shed.groups)
            budget = Budget(
                rows=max(self.budget(slot), 1e-9),
                completeness=shed.completeness,
                unseen_share=here.unseen_share,
                slot_rows=here.rows,
            )
            made = policy.allocate(here.concept, budget)
            self._made[slot, leg] = Rates(leg, here.keys, made.rates, made.unseen_rate), made
        return self._made[slot, leg]

    def _learn(self, slot: int) -> SlotConcept:
        side, names = self.memory.side, self.memory.side.keyset.keys
        end = slot + self.query.timeline.slot
        counts = side.counts(slot, end)
        assert counts is not None
        keys, (place,) = align([counts], names)
        rows = np.bincount(place, counts.column("rows").to_numpy().astype(np.float64), minlength=len(keys))
        return SlotConcept(keys, Concept.grouped(rows), float(rows.sum()), 0.0)
