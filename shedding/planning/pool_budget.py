"""One budget for the members of a pool: what each is allocated in a slot, the same bits whichever member asks.

Everything follows from the specified members: their arrival counts in the slot and the exact panes of the audits before
it. Who is computed, who failed and who came first has no say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shedding.allocation.budget import Allocation, Budget
from shedding.allocation.pool import Member, Pool
from shedding.allocation.problem import Problem
from shedding.ingest.side import rows_fingerprint
from shedding.planning.priors import Priors
from shedding.planning.slot_concept import SlotConcept, learn_side
from shedding.policies.policy import Policy
from shedding.spec.pool import Pooled
from shedding.spec.query import QuerySpec
from shedding.stretches import Stretches


@dataclass(frozen=True, slots=True)
class Part:
    """What a member has of its pool in a slot: its rates, and the rows of the union that it is charged for."""

    allocation: Allocation
    charged_rows: float


class PoolBudget:
    """The parts of a pool's members, made once per slot and policy, from the priors of each, by name."""

    def __init__(self, pool: Pooled, priors: Mapping[str, Priors]) -> None:
        self.pool, self._priors = pool, priors
        self._concepts: dict[tuple[str, int], SlotConcept] = {}
        self._parts: dict[tuple[int, str], dict[str, Part]] = {}

    def concept(self, member: QuerySpec, slot: int) -> SlotConcept:
        """What the slot knows of a member's keys."""
        if (member.name, slot) not in self._concepts:
            priors = self._priors[member.name]
            priors.load(slot)
            self._concepts[member.name, slot] = learn_side(member, priors, slot)
        return self._concepts[member.name, slot]

    def fingerprint(self, slot: int) -> str:
        """Of all raw rows that the slot's rates are a function of: those of the slot and of its priors."""
        priors = list(self._priors.values())
        slots, length = [slot, *priors[0].plan.priors(slot)], priors[0].query.timeline.slot
        return rows_fingerprint([one.side for one in priors], [Stretches.of((at, at + length)) for at in slots])

    def slot_rows(self, slot: int) -> float:
        """Rows of the slot that some member reads: those of one `where` once, those of different ones added up."""
        rows: dict[str | None, float] = {}
        for member in self.pool.members:
            rows[member.where] = max(rows.get(member.where, 0.0), self.concept(member, slot).rows)
        return rows[None] if None in rows else sum(rows.values())

    def rows(self, slot: int) -> float:
        """Rows that the members may keep together, each counted once."""
        budget = self.pool.spec.shed.budget
        return float(budget.rows) if budget.rows is not None else (budget.fraction or 1.0) * self.slot_rows(slot)

    def spot_rows(self, slot: int, member: QuerySpec) -> float:
        """The member's part of the rows that are kept for spot checks, by its weight."""
        pool, rows = self.pool, self.rows(slot)
        if not member.spot_checks or rows >= self.slot_rows(slot):
            return 0.0
        return pool.spec.shed.spot_check * rows * pool.weight(member) / sum(map(pool.weight, pool.members))

    def part(self, slot: int, policy: str, member: str) -> Part:
        """What the member has of the slot's budget under a policy."""
        if (slot, policy) not in self._parts:
            self._parts[slot, policy] = self._shared(slot, policy)
        return self._parts[slot, policy][member]

    def _shared(self, slot: int, policy: str) -> dict[str, Part]:
        shed, members = self.pool.spec.shed, self.pool.members
        concepts = {member.name: self.concept(member, slot) for member in members}
        rows = self.rows(slot)
        if policy == shed.policy:
            rows -= sum(self.spot_rows(slot, member) for member in members)
        asking = [member for member in members if len(concepts[member.name].concept)]
        spendable = max(rows * (1.0 - max(one.unseen_share for one in concepts.values())), 1e-9)
        solver = shed.get_policy(policy)
        pool = Pool(
            tuple(_member(concepts[one.name], solver, self.pool.weight(one)) for one in asking),
            self.slot_rows(slot),
            Budget(spendable, shed.completeness),
        )
        made = _allocated(pool, solver, at_least_alone=self.pool.spec.fairness.at_least_alone)
        charged = pool.charged([one.shares for one in made]) if made else np.zeros(0)
        parts = {one.name: Part(own, float(paid)) for one, own, paid in zip(asking, made, charged, strict=True)}
        unseen = _unseen_rate(rows, self.slot_rows(slot))
        return {name: _finished(parts.get(name), concept, unseen) for name, concept in concepts.items()}


def _member(concept: SlotConcept, policy: Policy, weight: float) -> Member:
    return Member(concept.concept.strata, policy.objective().curve(concept.concept), weight)


def _allocated(pool: Pool, policy: Policy, *, at_least_alone: bool) -> Sequence[Allocation]:
    """The members' allocations; all rows where the budget has room for them."""
    if not pool.members:
        return []
    if pool.budget.rows >= pool.rows:
        problems = [Problem(one.strata, one.curve, pool.budget) for one in pool.members]
        return [problem.settle(1.0, problem.share()) for problem in problems]
    return pool.allocate(policy, at_least_alone=at_least_alone)


def _unseen_rate(rows: float, slot_rows: float) -> float:
    """The rate of rows of keys that no prior knows: that of all rows, were they kept alike; members keep the same."""
    return min(1.0, rows / slot_rows) if slot_rows else 1.0


def _finished(part: Part | None, concept: SlotConcept, unseen_rate: float) -> Part:
    """A member's part with the rate of its unseen keys: whole where none is expected."""
    rate = unseen_rate if concept.unseen_share > 0 else 1.0
    if part is None:
        return Part(Allocation(np.zeros(0), np.zeros(0), rate, 0.0, 0.0, np.zeros(0), 0.0), 0.0)
    return Part(replace(part.allocation, unseen_rate=rate), part.charged_rows)
