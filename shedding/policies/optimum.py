"""Mozafari and Zaniolo's policies: the optimum for reciprocal errors, and its coarsening to k rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.allocation.budget import Allocation, Budget, completeness_floor, split
from shedding.allocation.clustering import group_by_ratio
from shedding.allocation.goals import Goal
from shedding.allocation.outcome import settle
from shedding.allocation.ratios import bounded_rates, optimal_rates
from shedding.concept import Concept
from shedding.errors import BudgetError


@dataclass(frozen=True, slots=True)
class Optimal:
    """The least weighted error of plain estimates: r_k = min(1, lambda sqrt(b_k v_k / c_k)) (Sec. V-C).

    Under the relative goal and flat costs a key's rows are in proportion to its cv. No policy has a smaller
    `total_error` under the same goal (relative, variance) and budget. A key that is given a row and whose smallest u
    is known is not missed (`certain_thresholds`).
    """

    goal: Goal
    name: str = "optimal"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """The optimal rates, within lower bounds where completeness is required."""
        share = split(concept, budget)
        floor = completeness_floor(concept, budget)
        b = self.goal.coefficients(concept)
        rates = optimal_rates(b, concept.weight, concept.full_cost, share.capacity, floor)
        return settle(concept, budget, share, rates, self.goal, certain=True)


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
