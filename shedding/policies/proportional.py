"""proportional: resources by importance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, completeness_floor, one_row_floor, split
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal
from shedding.policies.water_filling import bounded_rates


@dataclass(frozen=True, slots=True)
class Proportional:
    """Resources in proportion to importance (Eq. 11), which is weight times frequency as in Example 1; capped at 1.

    r_k = v_k N_k / sum(v N) * L / c_k, and a grouped query pays c_k = N_k for a key: rates go by the weights, rows by
    the keys' sizes. As far as the budget goes round a key gets at least one row, n_k = max(1, lambda v_k N_k); it is a
    sure one where the key's smallest u is known. What a capped key cannot use goes to the others in the same
    proportion, so that comparisons are made at equal rows.
    """

    goal: Goal
    name: str = "proportional"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """Rates by weight, raised to a row a key, and further where completeness is required."""
        share = split(concept, budget)
        floor = np.maximum(one_row_floor(concept, share.capacity), completeness_floor(concept, budget))
        rates = bounded_rates(concept.weight / concept.cost, concept.full_cost, share.capacity, floor)
        return settle(concept, budget, share, rates, self.goal, certain=True)
