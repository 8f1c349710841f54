"""k_optimal: the optimum coarsened to k rates (Mozafari and Zaniolo)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.errors import BudgetError
from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, completeness_floor, split
from shedding.policies.clustering import group_by_ratio
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal
from shedding.policies.water_filling import bounded_rates


@dataclass(frozen=True, slots=True)
class KOptimal:
    """At most `groups` different rates (Sec. VIII-B): keys of like ideal ratio share one, the best for that grouping.

    Costs exactly what the optimum costs. One group is uniform, as many groups as keys the optimum; no grouping is worse
    than uniform. Lower bounds for completeness may add rates beyond `groups`.
    """

    goal: Goal
    groups: int = 8
    name: str = "k_optimal"

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise BudgetError(f"k_optimal needs at least one group, got {self.groups}")

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """Group the keys, then solve for the groups; the paper's mean of the members' rates is a bit worse."""
        share = split(concept, budget)
        floor = completeness_floor(concept, budget)
        b = self.goal.coefficients(concept) * concept.weight
        group = group_by_ratio(b, concept.full_cost, self.groups)
        ideal = np.sqrt(np.bincount(group, b) / np.bincount(group, concept.full_cost))[group]
        rates = bounded_rates(ideal, concept.full_cost, share.capacity, floor)
        return settle(concept, budget, share, rates, self.goal)
