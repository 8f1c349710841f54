"""optimal: Mozafari and Zaniolo's optimum for reciprocal errors."""

from __future__ import annotations

from dataclasses import dataclass

from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, completeness_floor, split
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal
from shedding.policies.water_filling import optimal_rates


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
