"""uniform: one rate for all keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, Share, as_rates, completeness_floor, split
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal
from shedding.policies.water_filling import bounded_rates


@dataclass(frozen=True, slots=True)
class Uniform:
    """One rate for all keys, L / sum of costs (Eq. 10), unseen keys included; spends the whole budget."""

    goal: Goal
    name: str = "uniform"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """The common rate, raised where completeness is required."""
        share = split(concept, budget)
        whole = float(concept.full_cost.sum()) + share.unseen_cost
        rate = float(as_rates(budget.rows / whole)) if whole > 0 else 1.0
        shared = Share(budget.rows - rate * share.unseen_cost, rate, share.unseen_rows, share.unseen_cost)
        floor = completeness_floor(concept, budget)
        rates = bounded_rates(np.ones(len(concept)), concept.full_cost, shared.capacity, floor)
        return settle(concept, budget, shared, rates, self.goal)
